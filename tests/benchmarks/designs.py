"""How well designs of runs do on tables of finished runs, beside simpler ways to choose them.

    python tests/benchmarks/designs.py                      the tables in ../shared/data and laws/data
    python tests/benchmarks/designs.py --seeds 10 --tables comma,dclm --methods spread,design
    python tests/benchmarks/designs.py --worlds 10          simulated worlds, in which the law is nearly right
    python tests/benchmarks/designs.py --time               what a design takes, beside the fit it starts from

The most expensive tenth of the runs (of sizes or budgets, the largest) are the targets; of the others a random 80 % are
candidates. A method spends 1, 2, 5, 10 and 20 % of what all candidates cost, the law is fitted to the runs that it has
chosen, and predicts the targets with the error of the law. The script prints the median error of the predictions, and in
how many seeds it is at most 1.2 times that of a fit to all candidates. All methods begin with the same first runs but
`random`, `cheapest` and `dearest`. `trusting` is the design that takes the law as right.

Of mixtures a fifth is chosen, and the law ranks others: mixtures that were held out (RegMix), all mixtures at the next
model size (5Mix), or a random quarter (3Mix). The script prints the rank correlations with what was measured.

Then it judges `--stop`: of the targets whose interval is within x % after runs that `design` or `spread` chose, how many
measured losses lie in that interval.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from extrapolation import WORLDS, Replay, shipped_and_shared, world
from ranked_mixtures import mixtures, replay_ranks
from replayed_pools import METHODS, Array, Numbers, Pool, bought
from rich.console import Console

import lawdsl
from lawdsl.reporting.terminal import show_rows

PHASES = (0.01, 0.02, 0.05, 0.1, 0.2)
JUDGED = (0.05, 0.1, 0.2)
CANDIDATES = 0.8  # of the runs that are not targets
MAX_TARGETS = 30
TOLERANCE = 1.2
LEVELS = (0.005, 0.01, 0.02, 0.03, 0.05)  # of `--stop`
RIVAL = "spread"
STOPPING = ("spread", "design")  # whose stops are judged

out = Console(highlight=False, width=160)


# ---- losses of larger runs


@dataclass(frozen=True)
class StopRow:
    """The errors and half intervals of the targets of a table, in all replays and at all shares."""

    table: str
    method: str
    errors: Array
    halves: Array

    def share_within(self, level: float) -> str:
        """How many of the targets known to a level are in their interval, as text."""
        known = self.halves <= level
        count = int(np.sum(known))
        inside = int(np.sum(self.errors[known] <= self.halves[known]))
        return f"{100 * inside / count:.0f} % of {count}" if count else ""


@dataclass
class Wins:
    """In how many seeds each method is nearly as good as all candidates, at each share.

    Attributes:
        replays: of all tables.
        by_method: in how many of them, shape (shares,).
        errors: of each method, one array of shape (seeds, shares) for each table.
        stops: one row for each table and method whose stops are judged.
    """

    replays: int = 0
    by_method: dict[str, Numbers] = field(default_factory=dict)
    errors: dict[str, list[Array]] = field(default_factory=dict)
    stops: list[StopRow] = field(default_factory=list)

    def add(self, method: str, found: Array, won: Numbers) -> None:
        """Count further seeds."""
        self.by_method[method] = won + self.by_method.get(method, 0)
        self.errors.setdefault(method, []).append(found)


def pool_of(table: Replay, seed: int) -> Pool:
    """The candidates and targets of a replay."""
    rng = np.random.default_rng(seed)
    held_out = table.largest.held_out
    rows = rng.permutation(np.flatnonzero(~held_out))
    targets = rng.permutation(np.flatnonzero(held_out))[:MAX_TARGETS]
    count = max(10, int(CANDIDATES * len(rows)))
    return Pool(table, lawdsl.load(table.law), rows[:count], targets, rng)


def replay_losses(name: str, pools: Sequence[Pool], methods: Sequence[str], wins: Wins) -> None:
    """Replay pools of one table, and print the errors.

    Args:
        name: of the table.
        pools: one for each seed.
        methods: names of METHODS.
        wins: in which what is found is entered.
    """
    start = time.process_time()
    everything = [pool.predicted(range(len(pool.rows)))[0] for pool in pools]
    full, rows = np.array([np.median(errors) for errors in everything]), []
    for method in methods:
        made = [
            [
                pool.predicted(chosen)
                for share, chosen in zip(PHASES, bought(pool, method, PHASES), strict=True)
                if share in JUDGED
            ]
            for pool in pools
        ]
        found = np.array([[np.median(errors) for errors, _ in steps] for steps in made])
        if method in STOPPING:
            steps = [step for replayed in made for step in replayed]
            errors, halves = (np.concatenate(arrays) for arrays in zip(*steps, strict=True))
            wins.stops.append(StopRow(name, method, errors, halves))
        won = np.sum(found <= TOLERANCE * full[:, None], axis=0)
        wins.add(method, found, won)
        pairs = zip(np.median(found, axis=0), won, strict=True)
        rows.append([method, *(f"{100 * error:.2f} ({n})" for error, n in pairs)])
    wins.replays += len(pools)
    seconds = time.process_time() - start
    title = f"{name}: all candidates {100 * np.median(full):.2f} %, {seconds:.0f} s CPU"
    out.print(f"\n{title}")
    show_rows(["method", *_shares()], rows, out)


def _shares() -> list[str]:
    return [f"{100 * share:g} %" for share in JUDGED]


def _against_rival(wins: Wins, method: str) -> Iterator[str]:
    """The errors of a method over those of the rival in the same replays, for each share, as text."""
    mine, rival = (np.concatenate(wins.errors[m]).T for m in (method, RIVAL))
    for pair in zip(mine, rival, strict=True):
        both = np.isfinite(pair).all(axis=0)
        logs = np.log(pair[0][both] / pair[1][both])
        yield f"{np.exp(np.mean(logs)):.2f} ({np.sum(logs < 0)} of {len(logs)})"


def show_wins(wins: Wins) -> None:
    """Print how often each method is as good as all candidates, and how good the stops are."""
    if not wins.replays:
        return
    out.print(f"\nwithin {TOLERANCE} times the error of all candidates, of {wins.replays} replays")
    rows = [[method, *won.tolist()] for method, won in wins.by_method.items()]
    show_rows(["method", *_shares()], rows, out)
    if RIVAL in wins.errors:
        out.print(
            f"\nerror relative to that of `{RIVAL}`: geometric mean (in how many of the seeds in which both are finite "
            "it is smaller)"
        )
        rows = [[m, *_against_rival(wins, m)] for m in wins.errors if m != RIVAL]
        show_rows(["method", *_shares()], rows, out)
    if not wins.stops:
        return
    out.print(
        "\nof the targets that are known to x %, how many measured losses are in the interval"
    )
    together = [
        np.concatenate([getattr(r, name) for r in wins.stops]) for name in ("errors", "halves")
    ]
    stops = [*wins.stops, StopRow("all", "", *together)]
    show_rows(
        ["table", "method", *(f"{100 * level:g} %" for level in LEVELS)],
        [[row.table, row.method, *(row.share_within(level) for level in LEVELS)] for row in stops],
        out,
    )


# ---- the time of a design


def show_time() -> None:
    """Print what choosing from 500 candidates takes with 256 fitted rows, beside that fit."""
    rng = np.random.default_rng(0)
    N, ratio = 10 ** rng.uniform(7, 9.5, 800), 10 ** rng.uniform(0.7, 2, 800)
    L = (1.82 + 482 / N**0.348 + 2085 / (N * ratio) ** 0.366) * np.exp(rng.normal(0, 0.004, 800))
    table = {"N": N, "D": N * ratio, "L": L}
    runs = {name: values[:300] for name, values in table.items()}
    candidates = {name: values[300:] for name, values in table.items()}
    begun = time.process_time()
    fit = lawdsl.fit("chinchilla", runs)
    fitted = time.process_time()
    lawdsl.design(fit, candidates, target={"N": 7e9, "D": 1.4e11}, budget=1e23)
    designed = time.process_time()
    out.print(
        f"500 candidates, 300 rows: a design takes {(designed - fitted) / (fitted - begun):.2f} times the fit, "
        f"{designed - fitted:.2f} s CPU"
    )


def main() -> None:
    """Replay the tables, and print the errors."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--tables", default="", help="parts of the names of tables, with commas")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--worlds", type=int, default=0, help="simulated worlds of each kind")
    parser.add_argument("--time", action="store_true", help="the time of a design")
    arguments = parser.parse_args()
    methods, wins = arguments.methods.split(","), Wins()
    if arguments.time:
        show_time()
        return
    if arguments.worlds:
        for name, loss in WORLDS.items():
            seeds = range(arguments.worlds)
            pools = [pool_of(world(name, loss, seed), seed) for seed in seeds]
            replay_losses(name, pools, methods, wins)
        show_wins(wins)
        return
    parts = arguments.tables.split(",")
    for table in shipped_and_shared():
        if any(part in table.name for part in parts):
            pools = [pool_of(table, seed) for seed in range(arguments.seeds)]
            replay_losses(table.name, pools, methods, wins)
    show_wins(wins)
    ranked = [each for each in mixtures() if any(part in each.table.name for part in parts)]
    # of runs that cost the same the cheapest and the dearest are any
    if ranked:
        by_cost = ("cheapest", "dearest")
        replay_ranks(ranked, arguments.seeds, [m for m in methods if m not in by_cost], out)


if __name__ == "__main__":
    main()
