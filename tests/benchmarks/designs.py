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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from extrapolation import SHARED, WORLDS, Replay, shipped_and_shared, world
from numpy.typing import NDArray
from planted import law_of
from rich.console import Console
from scipy.stats import spearmanr

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.designing.runs.batch import Hypothesis, greedy
from lawdsl.designing.runs.choice import choose_batch
from lawdsl.designing.runs.of_fit import posterior_of, surface_of
from lawdsl.designing.runs.predictions_as_targets import estimates
from lawdsl.designing.runs.spread import grid_coordinates, spread_batch
from lawdsl.fitting.result import Fit
from lawdsl.reporting.terminal import show_rows

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]

PHASES = (0.01, 0.02, 0.05, 0.1, 0.2)
JUDGED = (0.05, 0.1, 0.2)
FIFTH = 0.2
CANDIDATES = 0.8  # of the runs that are not targets
MAX_TARGETS = 30
TOLERANCE = 1.2
RANK_TOLERANCE = 0.01
LEVELS = (0.005, 0.01, 0.02, 0.03, 0.05)  # of `--stop`
STOPPING = ("spread", "design")  # whose stops are judged
MORE_ROWS = 2  # of the first runs, than the law has parameters
STARTS = 4  # of every fit

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
        starts: of a fit.
    """

    table: Replay
    law: lawdsl.Law
    rows: Numbers
    targets: Numbers
    rng: np.random.Generator
    starts: int = STARTS

    @property
    def costs(self) -> Array:
        """What each candidate costs, shape (candidates,)."""
        return self.table.cost[self.rows]

    @cached_property
    def points(self) -> Array:
        """The variables at the candidates, shape (variables, candidates)."""
        return self.columns(self.rows)

    @cached_property
    def coordinates(self) -> Array:
        """Those of a spread grid, shape (candidates, variables)."""
        return grid_coordinates(self.points)

    def columns(self, rows: Numbers) -> Array:
        """The variables at rows of the table, shape (variables, rows)."""
        return np.array([self.table.columns[q.name][rows] for q in self.law.variables])

    @property
    def measured(self) -> Array:
        """What was measured of the targets, shape (targets,)."""
        return self.table.columns["L"][self.targets]

    @property
    def target_points(self) -> list[dict[str, float]]:
        """The variables of each target."""
        columns = self.at_targets
        return [
            {name: float(values[i]) for name, values in columns.items()}
            for i in range(len(self.targets))
        ]

    def fit(self, chosen: Sequence[int], rolled: bool = False) -> Fit | None:
        """The law fitted to some candidates; None where they do not determine it."""
        rows = self.rows[list(chosen)]
        table: dict[str, Any] = {name: x[rows] for name, x in self.table.columns.items()}
        options: dict[str, Any] = {"claims": False, "rolled_check": rolled, "starts": self.starts}
        options["settings"] = self.table.settings
        if self.table.runs is not None and len(set(self.table.runs[rows])) < len(rows):
            table["run"], options["run"] = self.table.runs[rows], "run"
        try:
            fit = lawdsl.fit(self.law, table, **options)
        except LawdslError:
            return None
        assert isinstance(fit, Fit)
        return fit if fit.rows is not None and fit.spread is not None else None

    def predicted(self, chosen: Sequence[int]) -> tuple[Array, Array]:
        """What a design would say of the targets after some candidates.

        Returns:
            The relative errors, and half the relative 95 % intervals, each of shape (targets,);
            infinite where the candidates do not determine the law.
        """
        fit = self.fit(chosen, rolled=True)
        if fit is None:
            return np.full(len(self.targets), np.inf), np.full(len(self.targets), np.inf)
        with np.errstate(all="ignore"):
            known, _ = estimates(fit, self.target_points, None)
        values = np.array([e.value for e in known], dtype=np.float64)
        halves = np.array([e.half for e in known], dtype=np.float64)
        errors = np.expm1(np.abs(np.log(values / self.measured)))
        return errors, halves

    def determined(self, fit: Fit) -> bool:
        """Whether a fit determines the law at some target."""
        with np.errstate(all="ignore"):
            band = fit.predict_with_errors(self.at_targets)
        return bool(np.isfinite(band.high).any())

    @property
    def at_targets(self) -> dict[str, Array]:
        """The variables at the targets, each shape (targets,)."""
        names = [q.name for q in self.law.variables]
        return dict(zip(names, self.columns(self.targets), strict=True))

    def rank_correlation(self, chosen: Sequence[int]) -> float:
        """Of the targets by the fitted law, with what was measured; 0 where it is not determined."""
        fit = self.fit(chosen)
        if fit is None:
            return 0.0
        found = float(spearmanr(fit.predict(self.at_targets), self.measured).statistic)
        return found if np.isfinite(found) else 0.0


Choice = Callable[[Pool, list[int], Mask, float], list[int]]
"""Pool, chosen so far, available, what may be spent -> further candidates; none to stop."""


def _one_by(order: Callable[[Pool], Array]) -> Choice:
    """The affordable candidate of the least value."""

    def choose(pool: Pool, chosen: list[int], free: Mask, left: float) -> list[int]:
        affordable = np.flatnonzero(free & (pool.costs <= left))
        return [int(affordable[np.argmin(order(pool)[affordable])])] if len(affordable) else []

    return choose


def _first(pool: Pool, left: float) -> list[int]:
    """A few cheap candidates that are far from one another."""
    count = len(pool.law.parameters) + MORE_ROWS
    cheap = np.argsort(pool.costs, kind="stable")
    cheap = cheap[: max(count, min(len(pool.rows) // 3, 4 * count))]
    z = pool.coordinates
    none = np.zeros((0, z.shape[1]))
    return [
        int(cheap[i]) for i in spread_batch(z[cheap], pool.costs[cheap], left, none, most=count)
    ]


def _spread(pool: Pool, chosen: list[int], free: Mask, left: float) -> list[int]:
    if not chosen:
        return _first(pool, left)
    z = pool.coordinates
    return spread_batch(z, pool.costs, left, z[chosen], available=free)


def _designed(amplitude: float) -> Choice:
    """The batch of a design; with an amplitude of 0 the law is taken as right, and has no rival."""

    def choose(pool: Pool, chosen: list[int], free: Mask, left: float) -> list[int]:
        if not chosen:
            return _first(pool, left)
        fit, limit, z = pool.fit(chosen), max(2, len(chosen) // 4), pool.coordinates
        if fit is None:
            return spread_batch(z, pool.costs, left, z[chosen], available=free, most=2)
        numbers = np.arange(len(pool.rows))
        targets = pool.columns(pool.targets)
        law = posterior_of(surface_of(fit), pool.points, numbers, targets, amplitude=amplitude)
        now, runs = [Hypothesis((law,), np.zeros(len(pool.targets)))], numbers[:, None]
        if amplitude:
            picks, _ = choose_batch(
                now,
                runs,
                z,
                z[chosen],
                left,
                lambda _: pool.costs,
                available=free,
                most=limit,
                determined=pool.determined(fit),
            )
        else:
            picks = greedy(now, runs, pool.costs, left, available=free, most=limit)
        return [pick.candidate for pick in picks]

    return choose


METHODS: dict[str, Choice] = {
    "random": _one_by(lambda pool: pool.rng.random(len(pool.rows))),
    "cheapest": _one_by(lambda pool: pool.costs),
    "dearest": _one_by(lambda pool: -pool.costs),
    "spread": _spread,
    "trusting": _designed(0.0),
    "design": _designed(0.02),
}


def bought(pool: Pool, method: str, shares: Sequence[float]) -> Iterator[list[int]]:
    """What a method has chosen at each share of what all candidates cost."""
    chosen: list[int] = []
    total = float(np.sum(pool.costs))
    for share in shares:
        while True:
            free = np.ones(len(pool.rows), dtype=np.bool_)
            free[chosen] = False
            left = share * total * (1 + 1e-9) - float(np.sum(pool.costs[chosen]))
            more = list[int]()
            if (pool.costs[free] <= left).any():
                more = METHODS[method](pool, chosen, free, left)
            if not more:
                break
            chosen = chosen + more
        yield chosen


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
    """In how many seeds each method is nearly as good as all candidates, at each share."""

    replays: int = 0
    by_method: dict[str, Numbers] = field(default_factory=dict)
    stops: list[StopRow] = field(default_factory=list)

    def add(self, method: str, won: Numbers) -> None:
        """Count further seeds."""
        self.by_method[method] = won + self.by_method.get(method, 0)


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
        wins.add(method, won)
        pairs = zip(np.median(found, axis=0), won, strict=True)
        rows.append([method, *(f"{100 * error:.2f} ({n})" for error, n in pairs)])
    wins.replays += len(pools)
    seconds = time.process_time() - start
    title = f"{name}: all candidates {100 * np.median(full):.2f} %, {seconds:.0f} s CPU"
    out.print(f"\n{title}")
    show_rows(["method", *_shares()], rows, out)


def _shares() -> list[str]:
    return [f"{100 * share:g} %" for share in JUDGED]


def show_wins(wins: Wins) -> None:
    """Print how often each method is as good as all candidates, and how good the stops are."""
    if not wins.replays:
        return
    out.print(f"\nwithin {TOLERANCE} times the error of all candidates, of {wins.replays} replays")
    rows = [[method, *won.tolist()] for method, won in wins.by_method.items()]
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


# ---- ranks of mixtures


@dataclass(frozen=True)
class Mixtures:
    """A table of mixtures, some of which are ranked by a law that is fitted to a fifth of the others.

    Attributes:
        table: the mixtures; its cost is 1 for each.
        law: that is fitted.
        ranked: those that are ranked, shape (rows,); None for a random quarter.
        starts: of a fit.
        seeds: at most so many replays.
    """

    table: Replay
    law: lawdsl.Law
    ranked: Mask | None
    starts: int = STARTS
    seeds: int = 1000

    def pool(self, seed: int) -> Pool:
        """The candidates of a replay, in a random order."""
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(self.table.cost))
        ranked = self.ranked
        if ranked is None:
            ranked = np.zeros(len(order), dtype=np.bool_)
            ranked[order[: len(order) // 4]] = True
        return Pool(
            self.table, self.law, order[~ranked[order]], order[ranked[order]], rng, self.starts
        )


def mixtures() -> Iterator[Mixtures]:
    """The tables of mixtures in ../shared/data."""
    if not SHARED.exists():
        return
    import pandas as pd

    frame = pd.read_parquet(SHARED / "mixing_laws" / "5Mix.parquet")
    frame = frame[(frame["step"] == 30_000) & frame["size"].isin(list(SIZES))]
    shares = [name for name in frame.columns if name.startswith("r_")]
    for domain in sorted(frame["valid_domain"].unique())[::4]:
        rows = frame[frame["valid_domain"] == domain]
        columns = _shares_of(rows[shares].to_numpy(float)) | {
            "N": rows["size"].map(SIZES).to_numpy(float),
            "L": rows["loss"].to_numpy(float),
        }
        largest = (rows["size"] == max(SIZES, key=lambda name: SIZES[name])).to_numpy()
        table = Replay(f"5Mix, {domain}", "", columns, np.ones(len(rows)))
        yield Mixtures(table, law_of(_exponential(len(shares) - 1, sizes=True)), largest)
    frame = pd.read_csv(SHARED / "mixing_laws" / "3Mix.csv")
    frame = frame[(frame["step"] == 60_000) & (frame["size"] == "410M")]
    shares = [name for name in frame.columns if name.startswith("r_")]
    for domain in sorted(frame["valid_domain"].unique()):
        rows = frame[frame["valid_domain"] == domain]
        columns = _shares_of(rows[shares].to_numpy(float)) | {"L": rows["loss"].to_numpy(float)}
        table = Replay(f"3Mix, {domain}", "", columns, np.ones(len(rows)))
        yield Mixtures(table, law_of(_exponential(len(shares) - 1)), None)
    parts = [
        pd.read_csv(SHARED / "regmix" / f"{kind}_{what}_1m.csv").drop(columns="index")
        for what in ("mixture", "pile_loss")
        for kind in ("train", "test")
    ]
    whole = np.vstack([part.to_numpy(float) for part in parts[:2]])
    loss = np.concatenate([part[REGMIX_LOSS].to_numpy(float) for part in parts[2:]])
    columns = _shares_of(whole / whole.sum(axis=1, keepdims=True), every=True) | {"L": loss}
    ranked = np.arange(len(loss)) >= len(parts[0])
    table = Replay("RegMix, pile_cc", "", columns, np.ones(len(loss)))
    # one start suffices for these powers, whose fit takes many seconds
    yield Mixtures(table, law_of(_powers(whole.shape[1])), ranked, starts=1, seeds=4)


SIZES = {"70M": 18.9e6, "160M": 85e6, "305M": 201e6, "410M": 302e6}  # without embeddings
REGMIX_LOSS = "metric/the_pile_pile_cc_val_loss"


def _shares_of(shares: Array, every: bool = False) -> dict[str, Array]:
    """Columns r1, r2, ...; without the last, which the others determine."""
    count = shares.shape[1] if every else shares.shape[1] - 1
    return {f"r{i + 1}": shares[:, i] for i in range(count)}


def _exponential(count: int, sizes: bool = False) -> str:
    """The law M4 of the Data Mixing Laws with that many free shares, and a power of the size."""
    r = [f"r{i + 1}" for i in range(count)]
    t = [f"t{i + 1}" for i in range(count)]
    exponent = " + ".join(f"{a}*{b}" for a, b in zip(t, r, strict=True))
    lines = [f"variable {', '.join(r)} in [0, 1]", f"parameter {', '.join(t)}"]
    lines += ["parameter E, k > 0", *(["variable N > 0", "parameter A, alpha > 0"] * sizes)]
    return "\n".join([*lines, f"L = E + {'A/N^alpha + ' * sizes}k*exp({exponent})"])


def _powers(count: int) -> str:
    """The law `mixing.powers` of one loss, with that many shares."""
    numbers = range(1, count + 1)
    lines = [
        f"variable {', '.join(f'r{i}' for i in numbers)} in [0, 1]",
        "parameter E >= 0",
        f"parameter w, {', '.join(f'C{i}' for i in numbers)} > 0",
        f"parameter {', '.join(f'g{i}' for i in numbers)} in [0.1, 1]",
    ]
    total = " + ".join(f"C{i}*r{i}^g{i}" for i in numbers)
    return "\n".join([*lines, f"L = E + 1/(w + {total})", "minimize squared(log(L))"])


def replay_ranks(tables: Sequence[Mixtures], seeds: int, methods: Sequence[str]) -> None:
    """Replay tables of mixtures, and print the rank correlations."""
    rows, total = [], np.zeros((len(methods), 2))
    for each in tables:
        start, pools = time.process_time(), [each.pool(s) for s in range(min(seeds, each.seeds))]
        found = np.zeros((len(methods), len(pools)))
        # the order of candidates does not matter to a fit: where the ranked rows do not change, one
        # fit to all is that of each seed
        fits = pools if each.ranked is None else pools[:1]
        full = np.array([pool.rank_correlation(range(len(pool.rows))) for pool in fits])
        for k, method in enumerate(methods):
            for j, pool in enumerate(pools):
                (chosen,) = bought(pool, method, [_fifth(pool)])
                found[k, j] = pool.rank_correlation(chosen)
            reached = np.mean(found[k] >= full - RANK_TOLERANCE)
            total[k] += np.mean(found[k]) - np.mean(full), reached
        texts = [
            f"{mean:.3f} ({n})"
            for mean, n in zip(
                np.mean(found, axis=1), np.sum(found >= full - RANK_TOLERANCE, axis=1), strict=True
            )
        ]
        cells = (each.table.name, len(pools), len(pools[0].rows), f"{np.mean(full):.3f}")
        rows.append([*cells, *texts, f"{time.process_time() - start:.0f}"])
    differences = [f"{mean:+.3f} ({100 * share:.0f} %)" for mean, share in total / len(tables)]
    rows.append(["mean difference", "", "", "", *differences, ""])
    out.print(
        f"\nrank correlation by a fifth of the runs (in how many seeds at most {RANK_TOLERANCE} below that by all)"
    )
    show_rows(["mixtures", "seeds", "runs", "all runs", *methods, "s CPU"], rows, out)


def _fifth(pool: Pool) -> float:
    """A fifth of the candidates, or the fewest to which the law is fitted at first."""
    count = max(round(FIFTH * len(pool.rows)), len(pool.law.parameters) + MORE_ROWS)
    return count / len(pool.rows)


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
        replay_ranks(ranked, arguments.seeds, [m for m in methods if m not in by_cost])


if __name__ == "__main__":
    main()
