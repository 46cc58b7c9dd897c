"""Intervals by profile likelihood: how far a parameter can go before no choice of the others keeps
the objective within what noise explains. All ends are looked for at once, as one array."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.intervals.delta import Scatter, delta, endless
from lawdsl.fitting.intervals.noise import Groups, noise_of
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.search import finely
from lawdsl.fitting.transforms import to_parameters

Array = NDArray[np.float64]

SETTLED = 1e-9  # relative: an end of an interval need not be known to the last digit
ROUNDS = 12  # of looking for an end
CLOSE = 1e-3  # how near to the end, relative to the half width of the interval
FARTHEST = 3.0  # times the last distance from the fit: the next look goes no further
WIDEST = 40.0  # of a free number: beyond, the data set no end
LOWER = 1e-6  # relative: a minimum that much lower than the fit is another one


@dataclass(frozen=True)
class Profile:
    """Ends of profile intervals.

    Attributes:
        low, high: shape (parameters,); nan for a parameter that is held, infinite or the bound
            itself where the data set no end.
        lower: parameters at which the objective is lower than at the fit, if there are any.
    """

    low: Array
    high: Array
    lower: Array | None


@np.errstate(all="ignore")  # a step may lead where a law overflows
def profile(
    problem: Problem, theta: Array, held: NDArray[np.bool_], level: float, groups: Groups = None
) -> Profile:
    """Profile intervals.

    Args:
        problem: the fit; no bound may depend on other parameters.
        theta: the fitted parameters, shape (parameters,).
        held: those that lie on a bound, or that the data do not determine: they have no interval.
        level: 0.95 for 95 % intervals.
        groups: which training run each row is of, shape (rows,).
    """
    spread = delta(problem, theta, held, level, groups)
    base = float(problem.losses(spread.free[None])[0])
    residual = problem.residuals(spread.free[None])[0]
    noise = noise_of(problem, residual, int(np.sum(~held)), groups)
    search = _Ends(problem, spread, np.flatnonzero(~held), base, noise.rise(level))
    for _ in range(ROUNDS):
        if not search.step():
            break
    low, high = np.full(len(theta), np.nan), np.full(len(theta), np.nan)
    for k, j in enumerate(search.number):
        row = spread.free.copy()
        row[j] = search.end[k]
        value = endless(to_parameters(problem.transforms, row[None])[0, j])
        low[j] = np.fmin(low[j], value)
        high[j] = np.fmax(high[j], value)
    lower = None
    if search.lowest < base * (1 - LOWER) - problem.exact:
        lower = to_parameters(problem.transforms, search.lowest_free[None])[0]
    return Profile(low, high, lower)


class _Ends:
    """The state of the search: one row an end, two a parameter."""

    def __init__(
        self, problem: Problem, spread: Scatter, kept: NDArray[np.int64], base: float, rise: float
    ) -> None:
        self.problem, self.base = problem, base
        self.number = np.repeat(kept, 2)
        self.centre = spread.free[self.number]
        # the root of the rise is nearly linear in the distance: 1 at the end that is looked for
        self.rise = rise * spread.inflation[self.number]
        side = np.tile([-1.0, 1.0], len(kept))
        width = np.sqrt(np.diag(spread.covariance))[self.number]
        width = np.where(np.isfinite(width) & (width > 0), width, 1.0)
        self.away = 2.0 * side * np.minimum(width, WIDEST / 4)
        self.inside = np.zeros(len(side))  # distances with a rise too small, and too large
        self.inside_root = np.zeros(len(side))
        self.outside = np.full(len(side), np.nan)
        self.outside_root = np.full(len(side), np.nan)
        self.free = np.repeat(spread.free[None], len(side), axis=0)
        self.end = self.centre + self.away
        self.going = np.arange(len(side))
        self.lowest, self.lowest_free = base, spread.free

    def step(self) -> bool:
        """Look once at every end that is not found yet; whether any is left."""
        going = self.going
        if not len(going):
            return False
        fixed = np.zeros(self.free.shape, dtype=bool)
        fixed[np.arange(len(fixed)), self.number] = True
        start = self.free[going]
        start[np.arange(len(going)), self.number[going]] = self.centre[going] + self.away[going]
        reached, losses, _ = finely(self.problem, start, fixed[going], settled_at=SETTLED)
        if np.min(losses) < self.lowest:
            self.lowest, self.lowest_free = float(np.min(losses)), reached[np.argmin(losses)]
        with np.errstate(all="ignore"):
            root = np.sqrt(np.maximum(losses - self.base, 0.0) / self.rise[going])
        root = np.where(np.isfinite(root), root, 1e6)
        usable = np.isfinite(losses)
        self.free[going[usable]] = reached[usable]
        self.end[going] = self.centre[going] + self.away[going]
        small = root < 1
        self.inside[going[small]] = self.away[going[small]]
        self.inside_root[going[small]] = root[small]
        self.outside[going[~small]] = self.away[going[~small]]
        self.outside_root[going[~small]] = root[~small]
        done = np.abs(root - 1) <= CLOSE
        self.end[going[done]] = self.centre[going[done]] + self.away[going[done]] / root[done]
        unbounded = small & (np.abs(self.away[going]) >= WIDEST)
        self.end[going[unbounded]] = np.sign(self.away[going[unbounded]]) * np.inf
        self._next(going)
        self.going = going[~(done | unbounded)]
        return True

    def _next(self, going: NDArray[np.int64]) -> None:
        near, far = self.inside[going], self.outside[going]
        low, high = self.inside_root[going], self.outside_root[going]
        bracketed = np.isfinite(far)
        with np.errstate(all="ignore"):
            share = np.clip((1 - low) / (high - low), 0.1, 0.9)
            between = near + share * (far - near)
            further = np.where(low > 1 / FARTHEST, 1.02 / low, FARTHEST)
        away = np.where(bracketed, between, near * further)
        away = np.where(~bracketed & (near == 0), self.away[going] * FARTHEST, away)
        self.away[going] = np.clip(away, -WIDEST, WIDEST)
