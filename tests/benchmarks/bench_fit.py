"""How long a fit takes, beside SciPy on the same work in the same run, and how it grows.

    python tests/benchmarks/bench_fit.py

The rival is `scipy.optimize.minimize` as well as it can be set up by hand: L-BFGS-B with bounds, exact
gradients, the objective times 1e6 and tight tolerances, from random starts of the published range.
Both fit Chinchilla with Huber's loss (1e-3) of log residuals to simulated runs; a start succeeds
when it reaches the best objective of all to 1e-6. Figures are CPU seconds of this process.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from scipy.optimize import minimize
from scipy.special import huber, logsumexp

import lawdsl
from lawdsl.fitting.fit import fit
from lawdsl.reporting.terminal import show_rows

DELTA = 1e-3
TRUE = {"E": 1.8172, "A": 482.01, "alpha": 0.3478, "B": 2085.43, "beta": 0.3658}


def simulated(rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Runs of Chinchilla's published refit, with noise of 1 % of the loss."""
    rng = np.random.default_rng(seed)
    size = 10 ** rng.uniform(7.8, 10.2, rows)
    tokens = 10 ** rng.uniform(8.5, 11.5, rows)
    loss = TRUE["E"] + TRUE["A"] / size ** TRUE["alpha"] + TRUE["B"] / tokens ** TRUE["beta"]
    return {"N": size, "D": tokens, "L": loss * np.exp(rng.normal(0, 0.01, rows))}


def seconds(work: Callable[[], object]) -> tuple[float, object]:
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def rival(table: dict[str, np.ndarray], starts: int, seed: int) -> np.ndarray:
    """The objectives that SciPy reaches from random starts, written by hand for this one law."""
    n, d, y = np.log(table["N"]), np.log(table["D"]), np.log(table["L"])

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        e, a, alpha, b, beta = x
        terms = np.array([np.full_like(n, e), a - alpha * n, b - beta * d])
        fitted = logsumexp(terms, axis=0)
        share = np.exp(terms - fitted)
        slopes = np.array([share[0], share[1], -n * share[1], share[2], -d * share[2]])
        residual = fitted - y
        gradient = slopes @ np.clip(residual, -DELTA, DELTA)
        return 1e6 * float(np.sum(huber(DELTA, residual))), 1e6 * gradient

    rng = np.random.default_rng(seed)
    low, high = np.array([-1.0, 0, 0, 0, 0]), np.array([1.0, 25, 2, 25, 2])
    bounds = [(None, None), (None, None), (0, None), (None, None), (0, None)]
    reached = []
    for start in rng.uniform(low, high, (starts, 5)):
        options = {"maxiter": 5000, "maxfun": 5000, "ftol": 1e-15, "gtol": 1e-9}
        found = minimize(
            objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        reached.append(found.fun / 1e6)
    return np.array(reached)


def against_scipy() -> list[tuple[object, ...]]:
    table = simulated(240)
    ours, found = seconds(lambda: fit("chinchilla", table, starts=24))
    theirs, reached = seconds(lambda: rival(table, 24, seed=1))
    assert isinstance(found, lawdsl.Fit) and isinstance(reached, np.ndarray)
    best = min(found.objective.sum, float(reached.min()))
    hits = int(np.sum(reached <= best * (1 + 1e-6)))
    own = found.agreement.agreed if found.objective.sum <= best * (1 + 1e-6) else 0
    return [
        ("lawdsl, any law", ours / 24, f"{own} of 24", 1.0),
        ("SciPy by hand, this law", theirs / 24, f"{hits} of 24", theirs / ours),
    ]


def growth() -> list[tuple[object, ...]]:
    found = []
    base = None
    for rows, starts in ((240, 24), (960, 24), (3840, 24), (15360, 24), (240, 72)):
        table = simulated(rows)
        taken, _ = seconds(lambda t=table, s=starts: fit("chinchilla", t, starts=s))
        base = base or taken
        found.append((rows, starts, taken, taken / base))
    return found


def main() -> None:
    out = Console(highlight=False)
    fit("chinchilla", simulated(50), starts=2)  # load everything first
    out.print("240 simulated runs, one start")
    show_rows(("method", "CPU s a start", "reached the best", "of lawdsl"), against_scipy(), out)
    out.print("\nlawdsl: growth with the work")
    show_rows(("rows", "starts", "CPU s", "of the first"), growth(), out)


if __name__ == "__main__":
    main()
