"""CPU time and memory of fits as rows and parameters grow, beside SciPy by hand.

    python tests/benchmarks/sizes.py [rows] [labels] [wide] [--rows 1000000] [--labels 999]

rows: Chinchilla's law on 1,000 rows and more. labels: exponents shared by 1 to 999 labels, each with three
parameters of its own and twenty rows. wide: laws of 22 and of 19 parameters, on 2,702 and 1,748 rows. Every
fit runs in a process of its own with one thread: CPU time is that of the fit, without imports, and memory
is the peak of the whole process. `lawdsl` searches from as many starts as it takes until five agree, and
computes intervals, diagnostics and claims; SciPy takes exact gradients by hand, logarithms as parameters,
starts near the data, and stops when five agree.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from labelled import SHARED_EXPONENTS
from rivals import CHINCHILLA, Objective, tuned

Array = NDArray[np.float64]
Table = dict[str, Array]

ROWS = (1_000, 10_000, 100_000, 1_000_000)
LABELS = (1, 6, 26, 99, 999)
NOISE = 0.004
# starts that must agree, at most how many, and how nearly, relative to the objective
AGREE, MOST, SAME = 5, 60, 1e-6
TIGHT = {"maxiter": 20_000, "maxfun": 20_000, "maxcor": 20, "ftol": 1e-13, "gtol": 1e-9}
SHARES, DOMAINS = 16, 7  # of the two wide laws

SHARED = SHARED_EXPONENTS.format(objective="squared(log(L))")
MIXED = """law mixed "22 parameters"
variable  N, D > 0
variable  {shares} >= 0
parameter c, k, A, alpha, B, beta > 0
parameter {effects}
L = c + A/N^alpha + B/D^beta + k*exp({sum})
minimize  squared(log(L))
"""


# Tables


def of_chinchilla(rows: int) -> Table:
    """Runs at random sizes."""
    rng = np.random.default_rng(1)
    n, d = 10 ** rng.uniform(7.8, 10.2, rows), 10 ** rng.uniform(8.5, 11.5, rows)
    exact = 1.8172 + 482.01 / n**0.3478 + 2085.43 / d**0.3658
    return {"N": n, "D": d, "L": exact * np.exp(rng.normal(0, NOISE, rows))}


def of_labels(labels: int) -> Table:
    """Twenty runs for each label: five sizes and four numbers of tokens."""
    rng = np.random.default_rng(2)
    n, d = (x.ravel() for x in np.meshgrid(np.geomspace(0.1, 10, 5), np.geomspace(2, 200, 4)))
    e, a, b = (rng.uniform(*ends, (labels, 1)) for ends in ((1, 2.5), (0.3, 1.5), (0.5, 3)))
    exact = e + a / n**0.34 + b / d**0.28
    loss = exact * np.exp(rng.normal(0, NOISE, exact.shape))
    return {
        "domain": np.repeat([f"d{k:04}" for k in range(labels)], len(n)),  # type: ignore[dict-item]
        "N": np.tile(n, labels),
        "D": np.tile(d, labels),
        "L": loss.ravel(),
    }


def of_shares(rows: int) -> Table:
    """Runs at random mixtures of 17 domains, of which 16 shares are in the law."""
    rng = np.random.default_rng(3)
    shares = rng.dirichlet(np.ones(SHARES + 1), rows)[:, :SHARES].T
    n, d = 10 ** rng.uniform(-1, 1, rows), 10 ** rng.uniform(0.3, 2.3, rows)
    effects = rng.normal(0, 1.5, SHARES)
    exact = 1.5 + 0.5 / n**0.34 + 0.8 / d**0.28 + 0.7 * np.exp(effects @ shares)
    loss = exact * np.exp(rng.normal(0, NOISE, rows))
    return {"N": n, "D": d, **{f"r{j}": r for j, r in enumerate(shares)}, "L": loss}


def of_domains(rows: int) -> Table:
    """Runs at random mixtures of seven domains."""
    rng = np.random.default_rng(4)
    shares = rng.dirichlet(np.ones(DOMAINS), rows).T
    n, d = 10 ** rng.uniform(-1, 1, rows), 10 ** rng.uniform(0.3, 2.3, rows)
    worth, exponents = rng.uniform(0.5, 2, (DOMAINS, 1)), rng.uniform(0.2, 0.9, (DOMAINS, 1))
    mixed = 1 / np.sum(worth * shares**exponents, axis=0)
    exact = 1.5 + mixed + 0.5 / n**0.34 + 0.8 / d**0.28
    table = {"N": n, "D": d, **{f"h_{j}": h for j, h in enumerate(shares)}}
    return {**table, "L_target": exact + rng.normal(0, 0.01, rows)}


# SciPy by hand: the objective in logarithmic parameters and starts near the data


def squares(log_residual: Array, total: Array) -> tuple[float, Array]:
    """Σ r²/2, and its derivatives by the predictions."""
    return float(log_residual @ log_residual) / 2, log_residual / total


def shared_by_hand(table: Table, labels: int) -> tuple[Objective, Callable[[int], Array]]:
    n, d = (np.log(table[x]).reshape(labels, -1) for x in "ND")
    target = np.log(table["L"]).reshape(labels, -1)

    def objective(x: Array) -> tuple[float, Array]:
        e, a, b = np.exp(x[2:]).reshape(3, labels, 1)
        of_n, of_d = a * np.exp(-x[0] * n), b * np.exp(-x[1] * d)
        total = e + of_n + of_d
        residual = np.log(total) - target
        value, slope = squares(residual.ravel(), total.ravel())
        slope = slope.reshape(total.shape)
        by_n, by_d = slope * of_n, slope * of_d
        own = (e[:, 0] * slope.sum(axis=1), by_n.sum(axis=1), by_d.sum(axis=1))
        return value, np.concatenate([[-np.sum(by_n * n), -np.sum(by_d * d)], *own])

    def start(seed: int) -> Array:
        rng = np.random.default_rng(seed)
        exponents = rng.uniform(0.1, 1, 2)
        least = np.log(0.7) + target.min(axis=1)
        return np.concatenate([exponents, least, *rng.uniform(-1, 0.5, (2, labels))])

    return objective, start


def mixed_by_hand(table: Table) -> tuple[Objective, Callable[[int], Array]]:
    n, d = np.log(table["N"]), np.log(table["D"])
    shares = np.stack([table[f"r{j}"] for j in range(SHARES)])
    target = np.log(table["L"])

    def objective(x: Array) -> tuple[float, Array]:
        c, a, b, k = np.exp(x[:4])
        of_n, of_d = a * np.exp(-x[4] * n), b * np.exp(-x[5] * d)
        mixed = k * np.exp(x[6:] @ shares)
        total = c + of_n + of_d + mixed
        value, slope = squares(np.log(total) - target, total)
        by_n, by_d, by_mix = slope * of_n, slope * of_d, slope * mixed
        own = [c * slope.sum(), by_n.sum(), by_d.sum(), by_mix.sum(), -(by_n @ n), -(by_d @ d)]
        return value, np.concatenate([own, shares @ by_mix])

    def start(seed: int) -> Array:
        rng = np.random.default_rng(seed)
        prices, exponents = rng.uniform(-1, 0.5, 4), rng.uniform(0.1, 1, 2)
        return np.concatenate([prices, exponents, rng.normal(0, 1, SHARES)])

    return objective, start


def additive_by_hand(table: Table) -> tuple[Objective, Callable[[int], Array]]:
    n, d, target = np.log(table["N"]), np.log(table["D"]), table["L_target"]
    logs = np.log(np.stack([table[f"h_{j}"] for j in range(DOMAINS)]))

    def objective(x: Array) -> tuple[float, Array]:
        e, a, b = np.exp(x[:3])
        of_n, of_d = a * np.exp(-x[3] * n), b * np.exp(-x[4] * d)
        exponents = np.exp(x[5 + DOMAINS :])
        parts = np.exp(x[5 : 5 + DOMAINS, None] + exponents[:, None] * logs)
        mixed = 1 / parts.sum(axis=0)
        residual = e + of_n + of_d + mixed - target
        slope = np.clip(residual, -1e-3, 1e-3)
        by_n, by_d, by_mix = slope * of_n, slope * of_d, -slope * mixed**2 * parts
        own = [e * slope.sum(), by_n.sum(), by_d.sum(), -(by_n @ n), -(by_d @ d)]
        bends = exponents * np.sum(by_mix * logs, axis=1)
        return float(slope @ (residual - slope / 2)), np.concatenate(
            [own, by_mix.sum(axis=1), bends]
        )

    def start(seed: int) -> Array:
        rng = np.random.default_rng(seed)
        prices, exponents = rng.uniform(-1, 0.5, 3), rng.uniform(0.1, 1, 2)
        return np.concatenate([prices, exponents, *rng.uniform(-1, 0.5, (2, DOMAINS))])

    return objective, start


def until_agreed(objective: Objective, start: Callable[[int], Array]) -> float:
    """The best objective, when several starts have reached it."""
    from scipy.optimize import minimize

    def scaled(x: Array) -> tuple[float, Array]:
        value, gradient = objective(x)
        if not (np.isfinite(value) and np.all(np.isfinite(gradient))):
            return 1e12, np.zeros(len(x))  # the line search steps back
        return 1e3 * value, 1e3 * gradient

    reached: list[float] = []
    for seed in range(MOST):
        with np.errstate(all="ignore"):
            end = minimize(scaled, start(seed), jac=True, method="L-BFGS-B", options=TIGHT)
        reached.append(end.fun / 1e3)
        if sum(x <= min(reached) * (1 + SAME) for x in reached) >= AGREE:
            break
    return min(reached)


def by_hand(kind: str, size: int) -> Callable[[], float]:
    """The search of a careful user of SciPy."""
    if kind == "rows":
        table = of_chinchilla(size)
        low, high = np.array(CHINCHILLA.near).T

        def search() -> float:
            objective, reached = CHINCHILLA.of(table), []
            for seed in range(MOST):
                start = np.random.default_rng(seed).uniform(low, high)
                for price, exponent, column in CHINCHILLA.prices:
                    start[price] += start[exponent] * np.mean(np.log(table[column]))
                reached.append(tuned(CHINCHILLA, objective, start)[0])
                if sum(x <= min(reached) * (1 + SAME) for x in reached) >= AGREE:
                    break
            return min(reached)

        return search
    if kind == "labels":
        table = of_labels(size)
        return lambda: until_agreed(*shared_by_hand(table, size))
    if kind == "mixed":
        table = of_shares(size)
        return lambda: until_agreed(*mixed_by_hand(table))
    table = of_domains(size)
    return lambda: until_agreed(*additive_by_hand(table))


# lawdsl


def by_lawdsl(kind: str, size: int) -> Callable[[], float]:
    """A whole fit: search, intervals, diagnostics, claims."""
    import tempfile
    import warnings

    import lawdsl

    def law_of(text: str) -> lawdsl.Law:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "simulated.law"
            path.write_text(text)
            return lawdsl.load(path)

    warnings.simplefilter("ignore")
    if kind == "rows":
        table, law = of_chinchilla(size), lawdsl.load("chinchilla")
        return lambda: lawdsl.fit(law, table).objective.sum
    if kind == "labels":
        table, law = of_labels(size), law_of(SHARED)

        def fit() -> float:
            return sum(part.objective.sum for part in lawdsl.fit(law, table).parts) / 2

        return fit
    if kind == "mixed":
        names = [f"r{j}" for j in range(SHARES)]
        effects = [f"t{j}" for j in range(SHARES)]
        total = " + ".join(f"{t}*{r}" for t, r in zip(effects, names, strict=True))
        text = MIXED.format(shares=", ".join(names), effects=", ".join(effects), sum=total)
        table, law = of_shares(size), law_of(text)
        return lambda: lawdsl.fit(law, table).objective.sum / 2
    table, law = of_domains(size), lawdsl.load("mixing.additive")
    columns = {"h": "h_*", "L": "L_*"}
    return lambda: sum(x.objective.sum for x in lawdsl.fit(law, table, columns=columns).parts)


# Measuring


def child(who: str, kind: str, size: int) -> None:
    """Run one fit in this process; print its CPU time, the peak of memory, and the objective."""
    work = (by_lawdsl if who == "lawdsl" else by_hand)(kind, size)
    began = time.process_time()
    reached = work()
    cpu = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"cpu": cpu, "peak": peak, "reached": reached}))


def measured(who: str, kind: str, size: int, limit: float) -> dict[str, float]:
    """The figures of one fit in a process of its own; nan where it took too long."""
    command = [sys.executable, __file__, "--child", who, kind, str(size)]
    threads: Mapping[str, str] = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, env={**os.environ, **threads}, capture_output=True, text=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return {"cpu": np.nan, "peak": np.nan, "reached": np.nan}
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def compared(kind: str, size: int, label: str, limit: float) -> None:
    """One line of the table."""
    ours, hand = (measured(who, kind, size, limit) for who in ("lawdsl", "scipy"))
    line = f"{label:34}{ours['cpu']:9.2f}{hand['cpu']:9.2f}{ours['cpu'] / hand['cpu']:8.2f}"
    line += f"{ours['peak']:10.0f}{hand['peak']:9.0f}"
    print(f"{line}{ours['reached'] / hand['reached'] - 1:12.1e}", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", choices=["rows", "labels", "wide", []])
    parser.add_argument("--rows", type=int, default=max(ROWS), help="at most so many rows")
    parser.add_argument("--labels", type=int, default=max(LABELS), help="at most so many labels")
    parser.add_argument("--limit", type=float, default=900.0, help="s for each fit")
    parser.add_argument("--child", nargs=3)
    options = parser.parse_args()
    if options.child:
        who, kind, size = options.child
        return child(who, kind, int(size))
    parts = options.parts or ["rows", "labels", "wide"]
    print(
        f"{'':34}{'CPU s':>9}{'SciPy':>9}{'ratio':>8}{'peak MiB':>10}{'SciPy':>9}{'objective':>12}"
    )
    if "rows" in parts:
        for rows in ROWS:
            if rows <= options.rows:
                compared("rows", rows, f"{rows:,} rows", options.limit)
    if "labels" in parts:
        for labels in LABELS:
            if labels <= options.labels:
                label = f"{labels} labels, {3 * labels + 2:,} parameters"
                compared("labels", labels, label, options.limit)
    if "wide" in parts:
        compared("mixed", 2_702, "22 parameters, 2,702 rows", options.limit)
        compared("additive", 1_748, "mixing.additive, 1,748 rows", options.limit)


if __name__ == "__main__":
    main()
