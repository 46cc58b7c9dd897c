"""The time of whole tables of scores: wall and CPU seconds, with the number of fits.

    python tests/benchmarks/score_tables.py [grid] [splits] [--threads 2]

`grid` is that of Que et al. (2024), Tables 2 to 4, on the runs of laws/data/cross_domain.csv: five
laws by three protocols, two losses and three domains. `splits` are the fifteen ways to fit the
cross-domain laws to four of six domains (Table 8), on simulated losses of three sizes, nine shares
and seven numbers of tokens.
"""

from __future__ import annotations

import argparse
import itertools
import math
import resource
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from lawdsl.comparing.score_table import score_table
from lawdsl.comparing.score_table_result import ScoreTable

RUNS = Path(__file__).resolve().parent.parent.parent / "laws" / "data" / "cross_domain.csv"
LOSSES = ("general", "domain")
# k1, k2 and k3 of each domain
DOMAINS = (
    (2.9, 0.42, 0.011),
    (2.2, 0.66, 0.017),
    (3.1, 0.35, 0.009),
    (1.8, 0.81, 0.022),
    (2.5, 0.53, 0.013),
    (2.0, 0.72, 0.019),
)
SIZES = (0.5, 1.8, 4.0)  # Gparam
SHARES = (0.0, 0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 0.9, 1.0)
TOKENS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 26.0)  # Gtoken
NOISE = 0.003  # standard deviation of the logarithm of a loss


def grid(threads: int) -> ScoreTable:
    """The D-CPT laws L1 to L5 on the shipped runs."""
    return score_table(
        [f"dcpt.l{k}" for k in range(1, 6)],
        RUNS,
        protocols=("all", "D", "r"),
        losses=LOSSES,
        by="domain",
        starts=4,
        where="phase = end",
        settings={"D_min": 0.00012288},
        processes=threads,
    )


def splits(threads: int) -> ScoreTable:
    """The four cross-domain laws, fitted to four of six simulated domains."""
    return score_table(
        [f"dcpt.cross_k{k}" for k in range(1, 5)],
        simulated_runs(),
        protocols=("all", "domain"),
        losses=LOSSES,
        starts=8,
        processes=threads,
    )


def simulated_runs() -> dict[str, np.ndarray]:
    """Losses that follow the cross-domain law with K = 1/k1, with noise; shape of a column (1134,)."""
    random = np.random.default_rng(0)
    rows = []
    for number, (k1, k2, k3) in enumerate(DOMAINS):
        for size, share, tokens in itertools.product(SIZES, SHARES, TOKENS):
            losses = [
                (1.2 + 0.3 / size**0.3 + 0.2 * r**1.5 / tokens**0.3 + 0.25 / (r + 0.1) ** 0.4)
                + 0.3 * k1**0.8
                for r in (share, 1 - share)
            ]
            noisy = [loss * math.exp(random.normal(0, NOISE)) for loss in losses]
            rows.append((number, size, tokens, share, 1 - share, *noisy, k1, k2, k3))
    names = ("N", "D", "r_domain", "r_general", "L_domain", "L_general", "k1", "k2", "k3")
    columns = np.array(rows).T
    table = dict(zip(names, columns[1:], strict=True))
    return {"domain": np.array([f"domain{int(k)}" for k in columns[0]]), **table}


TABLES: dict[str, Callable[[int], ScoreTable]] = {"grid": grid, "splits": splits}


def cpu_seconds() -> float:
    """CPU time of this process and of those that have ended, in s."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def main() -> None:
    """Print the times of the chosen tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []], metavar="TABLE")
    parser.add_argument("--threads", type=int, default=2, help="processes that share the fits")
    args = parser.parse_args()
    for name in args.tables or TABLES:
        begin, cpu = time.perf_counter(), cpu_seconds()
        table = TABLES[name](args.threads)
        wall, cpu = time.perf_counter() - begin, cpu_seconds() - cpu
        fits = sum(len(cell.folds) for cell in table.cells)
        print(f"{name}: {fits} fits, {wall:.0f} s with {args.threads} processes, {cpu:.0f} s CPU")


if __name__ == "__main__":
    main()
