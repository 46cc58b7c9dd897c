"""How well designs of runs do on tables of finished runs, beside simpler ways to choose them.

    python tests/benchmarks/designs.py                      the tables in ../shared/data and laws/data
    python tests/benchmarks/designs.py --seeds 10 --tables comma,dclm --methods spread,design

The most expensive tenth of the runs (of sizes or budgets, the largest) are the targets; of the others a random 80 % are
candidates. A method spends 1, 2, 5, 10 and 20 % of what all candidates cost, the law is fitted to the runs that it has
chosen, and predicts the targets with the error of the law. The script prints the median error of the predictions, and in
how many seeds it is at most 1.2 times that of a fit to all candidates. All methods begin with the same first runs but
`random`, `cheapest` and `dearest`. `trusting` is the design that takes the law as right.

Then it judges `--stop`: of the targets whose interval is within x % after runs that `design` or `spread` chose, how many
measured losses lie within x % of the prediction.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from extrapolation import Replay, shipped_and_shared
from numpy.typing import NDArray
from rich.console import Console

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.designing.runs.batch import Hypothesis, greedy
from lawdsl.designing.runs.of_fit import posterior_of, surface_of
from lawdsl.designing.runs.spread import grid_coordinates, spread_batch
from lawdsl.fitting.result import Fit
from lawdsl.reporting.terminal import show_rows

Array = NDArray[np.float64]

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2)
CANDIDATES = 0.8  # of the runs that are not targets
MAX_TARGETS = 30
TOLERANCE = 1.2
LEVELS = (0.005, 0.01, 0.02, 0.03, 0.05)  # of `--stop`
STOPPING = ("spread", "design")  # whose stops are judged
MORE_ROWS = 2  # of the first runs, than the law has parameters

out = Console(highlight=False, width=160)


@dataclass(frozen=True)
class Pool:
    """The candidates of one replay.

    Attributes:
        table: the runs, with their law.
        law: that is fitted.
        rows: numbers of rows of the table.
        targets: the same of those that are predicted.
        rng: the source of random numbers.
    """

    table: Replay
    law: lawdsl.Law
    rows: NDArray[np.int64]
    targets: NDArray[np.int64]
    rng: np.random.Generator

    @property
    def costs(self) -> Array:
        """What each candidate costs, shape (candidates,)."""
        return self.table.cost[self.rows]

    def columns(self, rows: NDArray[np.int64]) -> Array:
        """The variables at rows of the table, shape (variables, rows)."""
        return np.array([self.table.columns[q.name][rows] for q in self.law.variables])

    def fit(self, chosen: list[int]) -> Fit | None:
        """The law fitted to some candidates; None where they do not determine it."""
        rows = self.rows[chosen]
        table: dict[str, Any] = {name: x[rows] for name, x in self.table.columns.items()}
        options: dict[str, Any] = {"claims": False, "rolled_check": False}
        options["settings"] = self.table.settings
        if self.table.runs is not None and len(set(self.table.runs[rows])) < len(rows):
            table["run"], options["run"] = self.table.runs[rows], "run"
        try:
            fit = lawdsl.fit(self.law, table, **options)
        except LawdslError:
            return None
        assert isinstance(fit, Fit)
        return fit if fit.rows is not None and fit.spread is not None else None

    def predicted(self, chosen: list[int]) -> tuple[Array, Array]:
        """What the law fitted to some candidates predicts of the targets.

        Returns:
            The relative errors, and half the relative 95 % intervals, each of shape (targets,);
            infinite where the candidates do not determine the law.
        """
        fit = self.fit(chosen)
        if fit is None:
            return np.full((2, len(self.targets)), np.inf)
        points = {q.name: self.table.columns[q.name][self.targets] for q in self.law.variables}
        band = fit.predict_with_errors(points)
        with np.errstate(all="ignore"):
            halves = np.nan_to_num(np.expm1(np.log(band.high / band.low) / 2), nan=np.inf)
        return np.abs(np.log(band.values / self.table.columns["L"][self.targets])), halves


Choice = Callable[[Pool, list[int], NDArray[np.bool_], float], list[int]]
"""Pool, chosen so far, available, what may be spent -> further candidates; none to stop."""


def _one_by(order: Callable[[Pool], Array]) -> Choice:
    """The affordable candidate of the least value."""

    def choose(pool: Pool, chosen: list[int], free: NDArray[np.bool_], left: float) -> list[int]:
        affordable = np.flatnonzero(free & (pool.costs <= left))
        return [int(affordable[np.argmin(order(pool)[affordable])])] if len(affordable) else []

    return choose


def _first(pool: Pool, left: float) -> list[int]:
    """A few cheap candidates that are far from one another."""
    count = len(pool.law.parameters) + MORE_ROWS
    cheap = np.argsort(pool.costs)[: max(count, min(len(pool.rows) // 3, 4 * count))]
    z = grid_coordinates(pool.columns(pool.rows))
    none = np.zeros((0, z.shape[1]))
    return [
        int(cheap[i]) for i in spread_batch(z[cheap], pool.costs[cheap], left, none, most=count)
    ]


def _spread(pool: Pool, chosen: list[int], free: NDArray[np.bool_], left: float) -> list[int]:
    if not chosen:
        return _first(pool, left)
    z = grid_coordinates(pool.columns(pool.rows))
    return spread_batch(z, pool.costs, left, z[chosen], available=free)


def _designed(amplitude: float) -> Choice:
    """The batch of a design."""

    def choose(pool: Pool, chosen: list[int], free: NDArray[np.bool_], left: float) -> list[int]:
        if not chosen:
            return _first(pool, left)
        fit, limit = pool.fit(chosen), max(2, len(chosen) // 4)
        if fit is None:
            z = grid_coordinates(pool.columns(pool.rows))
            return spread_batch(z, pool.costs, left, z[chosen], available=free, most=2)
        count = len(pool.rows)
        law = posterior_of(
            surface_of(fit),
            pool.columns(pool.rows),
            np.arange(count),
            pool.columns(pool.targets),
            amplitude=amplitude,
        )
        start = Hypothesis((law,), np.zeros(len(pool.targets)))
        picks = greedy(
            [start], np.arange(count)[:, None], pool.costs, left, available=free, most=limit
        )
        return [pick.candidate for pick in picks]

    return choose


@dataclass(frozen=True)
class StopRow:
    """The errors and half intervals of the targets of a table, in all replays and at all shares."""

    table: str
    method: str
    errors: Array
    halves: Array

    def share_within(self, level: float) -> str:
        """How many of the targets known to a level are within it, as text."""
        known = self.halves <= level
        within = int(np.sum(self.errors[known] <= level))
        return f"{within} of {np.sum(known)}" if known.any() else ""


METHODS: dict[str, Choice] = {
    "random": _one_by(lambda pool: pool.rng.random(len(pool.rows))),
    "cheapest": _one_by(lambda pool: pool.costs),
    "dearest": _one_by(lambda pool: -pool.costs),
    "spread": _spread,
    "trusting": _designed(0.0),
    "design": _designed(0.02),
}


def pool_of(table: Replay, seed: int) -> Pool:
    """The candidates and targets of a replay."""
    rng = np.random.default_rng(seed)
    held_out = table.largest.held_out
    rows = rng.permutation(np.flatnonzero(~held_out))
    targets = rng.permutation(np.flatnonzero(held_out))[:MAX_TARGETS]
    count = max(10, int(CANDIDATES * len(rows)))
    return Pool(table, law_of(table), rows[:count], targets, rng)


def law_of(table: Replay) -> lawdsl.Law:
    """The law of a table."""
    return lawdsl.load(table.law)


def predictions(pool: Pool, method: str) -> Iterator[tuple[Array, Array]]:
    """The errors and half intervals of the targets at each share of what all candidates cost."""
    chosen: list[int] = []
    total = float(np.sum(pool.costs))
    for share in SHARES:
        while True:
            free = np.ones(len(pool.rows), dtype=np.bool_)
            free[chosen] = False
            left = share * total - float(np.sum(pool.costs[chosen]))
            more = (
                METHODS[method](pool, chosen, free, left)
                if (pool.costs[free] <= left).any()
                else []
            )
            if not more:
                break
            chosen += more
        yield pool.predicted(chosen)


def main() -> None:
    """Replay the tables, and print the errors."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tables", default="", help="parts of the names of tables, with commas")
    parser.add_argument("--methods", default=",".join(METHODS))
    arguments = parser.parse_args()
    methods = arguments.methods.split(",")
    wins = {method: np.zeros(len(SHARES), dtype=int) for method in methods}
    count, stops = 0, list[StopRow]()
    for table in shipped_and_shared():
        if not any(part in table.name for part in arguments.tables.split(",")):
            continue
        start, pools = time.process_time(), [pool_of(table, s) for s in range(arguments.seeds)]
        everything = [pool.predicted(list(range(len(pool.rows))))[0] for pool in pools]
        full = np.array([np.median(errors) for errors in everything])
        rows = []
        for method in methods:
            made = [list(predictions(pool, method)) for pool in pools]
            found = np.array([[np.median(errors) for errors, _ in steps] for steps in made])
            if method in STOPPING:
                steps = [step for replayed in made for step in replayed]
                errors, halves = (np.concatenate(arrays) for arrays in zip(*steps, strict=True))
                stops.append(StopRow(table.name, method, errors, halves))
            won = np.sum(found <= TOLERANCE * full[:, None], axis=0)
            wins[method] += won
            texts = [
                f"{100 * error:.2f} ({n})"
                for error, n in zip(np.median(found, axis=0), won, strict=True)
            ]
            rows.append([method, *texts])
        count += arguments.seeds
        seconds = time.process_time() - start
        title = f"{table.name}: all candidates {100 * np.median(full):.2f} %, {seconds:.0f} s CPU"
        out.print(f"\n{title}")
        show_rows(["method", *(f"{100 * share:g} %" for share in SHARES)], rows, out)
    out.print(f"\nwithin {TOLERANCE} times the error of all candidates, of {count}")
    show_rows(
        ["method", *(f"{100 * share:g} %" for share in SHARES)],
        [[method, *won.tolist()] for method, won in wins.items()],
        out,
    )
    show_stops(stops)


def show_stops(stops: list[StopRow]) -> None:
    """Print how many targets are as near as `--stop` says."""
    out.print("\nof the targets that are known to x %, how many measured losses are within x %")
    together = [
        np.concatenate([getattr(row, name) for row in stops]) for name in ("errors", "halves")
    ]
    rows = [*stops, StopRow("all", "", *together)]
    show_rows(
        ["table", "method", *(f"{100 * level:g} %" for level in LEVELS)],
        [[row.table, row.method, *(row.share_within(level) for level in LEVELS)] for row in rows],
        out,
    )


if __name__ == "__main__":
    main()
