"""CPU time of many small fits: `fit_many` beside a loop over `fit` and a loop over SciPy.

    python tests/benchmarks/bench_many_fits.py [NUMBER OF TABLES]

Each table has 30 rows of the Chinchilla law with 0.3 % noise, and other parameters. The loop over
SciPy is what one writes by hand: logarithms of the parameters, exact derivatives, Huber's loss of
log residuals, six starts; it gives the parameters alone, without errors, diagnostics or verdict.
"""

from __future__ import annotations

import os
import sys
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

import lawdsl

Array = NDArray[np.float64]
Table = dict[str, Array]

ROWS = 30
DELTA = 1e-3
STARTS = 6
HIT = 1e-6  # relative: nearer to the best objective is a success


def tables(count: int, seed: int = 0) -> list[Table]:
    """Tables of the Chinchilla law with noise."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        N, D = 10 ** rng.uniform(7.5, 10.2, ROWS), 10 ** rng.uniform(9, 11.5, ROWS)
        E, A, B = np.array([1.8, 480, 2000]) * np.exp([0.1, 0.2, 0.2] * rng.standard_normal(3))
        alpha, beta = 0.36 + 0.02 * rng.standard_normal(2)
        noise = np.exp(0.003 * rng.standard_normal(ROWS))
        made.append({"N": N, "D": D, "L": (E + A / N**alpha + B / D**beta) * noise})
    return made


def by_hand(table: Table, rng: np.random.Generator) -> float:
    """The minimum of Huber's loss of log residuals, by log E, log A, log B, alpha and beta."""
    n, d, target = np.log(table["N"]), np.log(table["D"]), np.log(table["L"])

    def parts(p: Array) -> tuple[Array, Array, Array]:
        return np.full(len(n), np.exp(p[0])), np.exp(p[1] - p[3] * n), np.exp(p[2] - p[4] * d)

    def residuals(p: Array) -> Array:
        return np.log(sum(parts(p))) - target

    def slopes(p: Array) -> Array:
        e, a, b = parts(p)
        total = e + a + b
        return np.stack([e, a, b, -a * n, -b * d], axis=1) / total[:, None]

    found = []
    for _ in range(STARTS):
        low, high = [-1, 0, 0, 0.1, 0.1], [1, 12, 12, 0.8, 0.8]
        search = least_squares(
            residuals, rng.uniform(low, high), slopes, loss="huber", f_scale=DELTA, x_scale="jac"
        )
        found.append(float(search.cost))
    return min(found)


def main(count: int) -> None:
    """Print the CPU time of each way."""
    warnings.simplefilter("ignore")
    law, made = lawdsl.load("chinchilla"), tables(count)
    lawdsl.fit(law, made[0])  # what is loaded and compiled once
    began = time.process_time()
    many = lawdsl.fit_many(law, made)
    batch = (time.process_time() - began) / count
    few = made[: max(1, count // 5)]
    began = time.process_time()
    loop = [lawdsl.fit(law, table) for table in few]
    single = (time.process_time() - began) / len(few)
    rng = np.random.default_rng(1)
    began = time.process_time()
    hand = [by_hand(table, rng) for table in few]
    scipy = (time.process_time() - began) / len(few)
    began = time.process_time()
    lean = lawdsl.fit_many(law, made, claims=False, rolled_check=False)
    without = (time.process_time() - began) / count
    print(f"{count} tables of {ROWS} rows, CPU time for each fit:")
    print(f"  fit_many                                   {1e3 * batch:7.1f} ms")
    print(f"  fit_many, claims and rolled check disabled {1e3 * without:7.1f} ms")
    print(f"  a loop over fit                            {1e3 * single:7.1f} ms")
    print(f"  a loop over SciPy, {STARTS} starts                {1e3 * scipy:7.1f} ms")
    equal = all(many[k].values == fit.values for k, fit in enumerate(loop))
    print(f"  equal to the loop over fit: {equal}; not fitted: {len(many.failures)}")
    print(
        f"  same parameters without checks: {all(many[k].values == lean[k].values for k in many)}"
    )
    worse = sum(cost > fit.objective.sum * (1 + HIT) for fit, cost in zip(loop, hand, strict=True))
    print(f"  of {len(few)}, SciPy ended above the minimum in {worse}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
