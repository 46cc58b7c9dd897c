"""What answers cost beside SciPy set up by hand, in the same run, and how that grows with the work.

    python tests/benchmarks/bench_answers.py [--domains 5,10,20,40]

The first table asks each question about fits to simulated runs, for one value of its givens after
another. The rival is what is written by hand today: `scipy.optimize.brentq`, or `minimize_scalar`,
on the formula in NumPy for the answer, and the same again for each of 1,000 draws of the parameters
for its interval; it certifies nothing. Fits are loaded, and the question asked once, before the clock
starts; `first` is that first answer. The second table asks for the best mixture of more and more
domains, beside SciPy's SLSQP with the differences that it takes itself. CPU times of one thread.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from scipy.optimize import brentq, minimize, minimize_scalar

import lawdsl
from lawdsl.reporting.terminal import show_rows

Array = NDArray[np.float64]
Values = Mapping[str, float]

DRAWS = 1000
REPEATS = 20
GENERAL = dict(E=1.6, A=0.35, alpha=0.35, B=0.12, beta=0.3, eta=1.3, gamma=0.5, epsilon=0.1, C=1.2)
DOMAIN = dict(E=1.1, A=0.3, alpha=0.4, B=0.6, beta=0.35, eta=1.6, gamma=0.6, epsilon=0.12, C=0.8)

out = Console(highlight=False, width=120)


def dcpt(p: Values, N: Any, D: Any, r: Any) -> Any:
    """The D-CPT Law."""
    share = p["B"] * r ** p["eta"] / D ** p["beta"]
    return p["E"] + p["A"] / N ** p["alpha"] + share + p["C"] / (r + p["epsilon"]) ** p["gamma"]


def fit_of(parameters: Values, seed: int) -> lawdsl.Fit:
    """A fit to noisy runs of a known law."""
    grid = np.meshgrid([0.5, 1.8, 4.0], [0.5, 2.0, 8.0, 25.0], np.linspace(0, 1, 9))
    N, D, r = (x.ravel() for x in grid)
    noise = np.exp(0.004 * np.random.default_rng(seed).normal(size=N.size))
    table = {"N": N, "D": D, "r": r, "L": dcpt(parameters, N, D, r) * noise}
    found = lawdsl.fit("dcpt.l3", table, without="C > C0", claims=False)
    assert isinstance(found, lawdsl.Fit)
    return found


def drawn(fit: lawdsl.Fit) -> list[Values]:
    """Parameters within the errors of a fit."""
    assert fit.spread is not None
    values = np.array([fit.values[name] for name in fit.spread.names])
    moved = np.abs(values + fit.spread.draws(DRAWS, 0))
    return [dict(zip(fit.spread.names, row, strict=True)) for row in moved]


def tradeoff(general: Values, limit: float) -> float:
    def margin(r: float) -> float:
        return float(dcpt(general, 1.8, 10.0, 1 - r)) - limit

    low, high = margin(0.0), margin(1.0)
    return 1.0 if high <= 0 else 0.0 if low > 0 else float(brentq(margin, 0.0, 1.0))


def limited(domain: Values) -> float:
    def goal(r: float) -> float:
        return float(dcpt(domain, 1.8, 2.0 / r, r))

    return float(minimize_scalar(goal, bounds=(1e-6, 1.0), method="bounded").x)


def allocation(domain: Values) -> float:
    def goal(log_n: float) -> float:
        n = np.exp(log_n)
        return float(dcpt(domain, n, 50.0 / (6 * n), 0.5))

    return float(np.exp(minimize_scalar(goal, bounds=(-3.0, 6.0), method="bounded").x))


def cpu(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Milliseconds of one run."""
    begin = time.process_time()
    for _ in range(repeats):
        work()
    return 1e3 * (time.process_time() - begin) / repeats


def one_unknown() -> None:
    general, domain = fit_of(GENERAL, 0), fit_of(DOMAIN, 1)
    draws = {"general": drawn(general), "domain": drawn(domain)}
    cases: list[tuple[str, dict[str, Any], dict[str, float], Callable[[Values], float], str]] = [
        (
            "dcpt.tradeoff",
            {"general": general, "domain": domain},
            {"N": 1.8, "D": 10.0, "L0": 3.5, "T": 0.03},
            lambda p: tradeoff(p, 3.605),
            "general",
        ),
        ("dcpt.limited_data", {"domain": domain}, {"N": 1.8, "D_d": 2.0}, limited, "domain"),
        ("dcpt.allocation", {"domain": domain}, {"r": 0.5, "C": 50.0}, allocation, "domain"),
    ]
    rows = []
    for name, fits, given, rival, use in cases:
        asked = lawdsl.Asked(name, **fits)
        first = cpu(lambda a=asked, g=given: a.answer(g, proofs=False), 1)  # type: ignore[misc]
        own = cpu(lambda a=asked, g=given: a.answer(g, proofs=False))  # type: ignore[misc]
        theirs = cpu(lambda r=rival, u=use: [r(p) for p in draws[u]], 1)  # type: ignore[misc]
        point = cpu(lambda r=rival, p=fits[use].values: r(p))  # type: ignore[misc]
        rows.append(
            [
                name,
                f"{first:.0f}",
                f"{own:.0f}",
                f"{theirs:.0f}",
                f"{theirs / own:.1f}",
                f"{point:.2f}",
            ]
        )
    headers = [
        "question",
        "first, ms",
        "answer, ms",
        "by hand, ms",
        "ratio",
        "by hand, no interval",
    ]
    show_rows(headers, rows, out)


def mixture(count: int) -> list[str]:
    """The best mixture of so many domains by a law of five losses."""
    rng = np.random.default_rng(count)
    labels, losses = [f"d{k}" for k in range(count)], [f"l{k}" for k in range(5)]
    C, gamma = rng.uniform(0.05, 1.0, (5, count)), rng.uniform(0.2, 0.9, (5, count))
    shares = rng.dirichlet(np.full(count, 0.7), size=12 * count)
    table: dict[str, Array] = {f"r[{d}]": s for d, s in zip(labels, shares.T, strict=True)}
    for k, loss in enumerate(losses):
        value = 1.5 + 1 / (0.2 + shares ** gamma[k] @ C[k])
        table[f"L[{loss}]"] = value * np.exp(0.002 * rng.normal(size=len(shares)))
    fits = lawdsl.fit("mixing.powers", table, claims=False, starts=1)
    assert isinstance(fits, lawdsl.Fits)
    cap = 3.0 / count
    begin = time.process_time()
    asked = lawdsl.Asked("mixing.best", loss=fits)
    ready = 1e3 * (time.process_time() - begin)
    asked.answer(cap=cap)
    own = cpu(lambda: asked.answer(cap=cap), 3)
    answer = asked.answer(cap=cap)
    values = [dict(part.values) for part in fits.parts]

    def goal(r: Array) -> float:
        total = 0.0
        for k, p in enumerate(values):
            loss = losses[k]
            worth = sum(
                p[f"C[{loss}, {d}]"] * max(x, 0.0) ** p[f"gamma[{loss}, {d}]"]
                for d, x in zip(labels, r, strict=True)
            )
            total += p[f"E[{loss}]"] + 1 / (p[f"w[{loss}]"] + worth)
        return total / len(values)

    def by_hand() -> Any:
        whole = {"type": "eq", "fun": lambda r: np.sum(r) - 1}
        start = np.full(count, 1 / count)
        bounds = [(0.0, cap)] * count
        return minimize(goal, start, method="SLSQP", bounds=bounds, constraints=[whole])

    theirs = cpu(by_hand, 1)
    assert answer.goal is not None
    behind = goal(by_hand().x) - answer.goal.value
    return [
        str(count),
        f"{ready:.0f}",
        f"{own:.0f}",
        f"{theirs:.0f}",
        f"{theirs / own:.1f}",
        f"{behind:.1e}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--domains", default="5,10,20")
    asked = parser.parse_args()
    one_unknown()
    headers = ["domains", "ask, ms", "answer, ms", "SLSQP, ms", "ratio", "SLSQP is worse by"]
    show_rows(headers, [mixture(int(n)) for n in asked.domains.split(",")], out)


if __name__ == "__main__":
    main()
