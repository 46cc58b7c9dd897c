"""Tables of finished runs -> candidates and targets, and the runs that each method chooses.

All methods begin with the same first runs but `random`, `cheapest` and `dearest`. `trusting` is the
design that takes the law as right.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from extrapolation import Replay
from numpy.typing import NDArray
from scipy.stats import spearmanr

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.designing.runs.batch import Hypothesis, greedy
from lawdsl.designing.runs.choice import choose_batch
from lawdsl.designing.runs.of_fit import posterior_of, surface_of
from lawdsl.designing.runs.predictions_as_targets import estimates
from lawdsl.designing.runs.spread import grid_coordinates, spread_batch
from lawdsl.fitting.result import Fit

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]

MORE_ROWS = 2  # of the first runs, than the law has parameters
STARTS = 4  # of every fit


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
    """The batch of a design; with an amplitude of 0 the law is taken as right."""

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
