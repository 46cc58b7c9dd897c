"""Objective + parameters to be moved -> the ends of their profile intervals.

Each end is bracketed by the last value that the rows accept and the first that they reject, with the
other parameters refitted. The two are not alike: a refit that ends below the threshold proves that a
value is accepted, but one that has not converged, or lies in another valley, may end above it by
itself. So a value is rejected only by refits that have converged, whose predicted decrease is small, or
that reach no finite objective; and an end is accepted only after further refits just beyond it, from
other starts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.diagnostics.diagnose import ROUNDING_ENDS
from lawdsl.fitting.intervals.constrained_profile import ConstrainedFit, with_untransformed
from lawdsl.fitting.intervals.delta import open_ends_at_infinity
from lawdsl.fitting.intervals.refits import Refit, Refits, refit, refit_exactly
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.irls import COARSE_RTOL
from lawdsl.fitting.solvers.projected_problem import project
from lawdsl.fitting.transforms import to_free, to_parameters

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]

MAX_PROFILE_EVALUATIONS = 12  # evaluations to bracket an end, and further ones to find it
# tolerance of an end, relative to the half width of the interval
END_RTOL = 1e-3
# largest distance of the next point from the fit, relative to the last one
MAX_EXTENSION = 3.0
# of an unconstrained parameter: further out the data determine no end
MAX_PROFILE_FREE = 40.0
# of an unconstrained parameter with a bound: longest predicted move from one point to the next
MAX_PREDICTED_MOVE = 2.0
# relative to the excess over the threshold: a refit whose predicted decrease is larger rejects nothing
MAX_GAIN_SHARE = 0.5
# relative to the distance of an end: the point at which refits confirm it, far enough that its excess
# is not a rounding error; the next one if they do not converge
CONFIRMED_DISTANCES = (1.05, 1.3, 2.0)
MAX_CONFIRMATIONS = 6  # how often ends are confirmed, or searched for again beyond
CONFIRMING_STARTS = 2  # starts in other valleys from which a refit confirms an end
SCATTER = 4.0  # of an unconstrained parameter: distance of these starts
MAX_RANKED_RESIDUALS = 5_000_000  # residuals of starts that are compared at once
# the root of the increase, relative to that of an end, from which the next point is half as far again
REOPENED_ROOT = 0.68
# work of an evaluation of one start, relative to that of one of many
EXACT_WORK = 2


class EndSearch:
    """The state of the search for the ends of intervals, one row per end.

    Args:
        problem: the objective to be minimised, with its data.
        free: its unconstrained parameters, shape (parameters,).
        width: an estimate of the half width of each interval, shape (parameters,).
        base: the objective of the fit.
        rise: the increase of the objective at the ends of each interval, shape (parameters,).
        bounds: the problem with bounds that depend on other parameters, if there are any.
        widest: the distance beyond which the data do not determine an end; for a parameter without
            bounds, in half widths if these are above 1.
        directions: the moves of all parameters for a unit move of each, in the linearised fit, shape
            (parameters, parameters); None if the others do not move.
        evaluations: the number of evaluations that are left; the search ends where there are none.

    Attributes:
        low, high: the ends, shape (parameters,).
        open_low, open_high: the masks of ends that are infinite, or the bound, because no
            value beyond the last accepted one is reliably rejected, shape (parameters,).
    """

    def __init__(
        self,
        problem: Problem,
        free: Array,
        width: Array,
        base: float,
        rise: Array,
        bounds: ConstrainedFit | None = None,
        widest: float = MAX_PROFILE_FREE,
        directions: Array | None = None,
        evaluations: float = np.inf,
    ) -> None:
        self.evaluations = evaluations
        self.problem, self.fit, self.base, self.bounds = problem, free, base, bounds
        self.width = np.where(np.isfinite(width) & (width > 0), width, 1.0)
        # without bounds the unconstrained value is the parameter itself, whose scale depends on its
        # unit
        unbounded = np.array([t.lower is t.upper and not t.coupled for t in problem.transforms])
        self.longest = np.where(unbounded, np.inf, MAX_PREDICTED_MOVE)
        self.directions = np.eye(len(free)) if directions is None else directions
        self.rises = rise
        self.widest_of = np.where(unbounded, widest * np.maximum(1.0, self.width), widest)
        self.lowest, self.lowest_free = base, free
        self.low, self.high = (np.full(len(free), np.nan) for _ in range(2))
        self.open_low, self.open_high = (np.zeros(len(free), dtype=bool) for _ in range(2))
        self.released = _inside_bounds(problem, free, rise)

    @property
    def lowest_theta(self) -> Array:
        """The parameters with the lowest objective that the search has found."""
        return to_parameters(self.problem.transforms, self.lowest_free[None])[0]

    def run(self, numbers: Numbers, side: Array) -> None:
        """Search for the ends of intervals, one per number and side.

        Args:
            numbers: the positions of the parameters, shape (ends,).
            side: -1 or 1 for the lower or upper end, shape (ends,).
        """
        self.number, self.side, self.centre = numbers, side, self.fit[numbers]
        # sqrt(increase) is nearly linear in the distance; here it is scaled to 1 at the end
        self.rise = self.rises[numbers]
        self.widest = self.widest_of[numbers]
        self.away = 2.0 * side * np.minimum(self.width[numbers], self.widest / 4)
        # the bracket: the largest distance with too small an increase, and the smallest with too
        # large a one
        self.inside = np.zeros(len(side))
        self.inside_root = np.zeros(len(side))
        self.outside = np.full(len(side), np.nan)
        self.outside_root = np.full(len(side), np.nan)
        # the last accepted point, and its distance, from which the next point is predicted: a search
        # that starts at a point with a large increase may stay in another valley, whose profile does
        # not reach the fit
        self.accepted_free = np.repeat(self.fit[None], len(side), axis=0)
        self.accepted = np.zeros(len(side))
        self.last_free = self.accepted_free.copy()
        self.end = self.centre + self.away
        self.was_small = np.zeros(len(side), dtype=bool)
        # how often refits that do not converge have moved an end outwards
        self.doubts = np.zeros(len(side), dtype=np.int64)
        self.evaluated = [(self.fit[None], np.array([self.base]))]
        self.active = np.arange(len(side))
        unconfirmed = self.active
        for _ in range(MAX_CONFIRMATIONS):
            self._bracket()
            unconfirmed = self._unconfirmed(unconfirmed)
            if not len(unconfirmed) or self.evaluations <= 0:
                break
        self.end[unconfirmed] = self.side[unconfirmed] * np.inf
        self.doubts[unconfirmed] = len(CONFIRMED_DISTANCES)
        self._store()

    def _store(self) -> None:
        """The ends, as values of the parameters."""
        is_open = self.doubts >= len(CONFIRMED_DISTANCES)
        fitted = to_parameters(self.problem.transforms, self.fit[None])[0]
        for k, j in enumerate(self.number):
            row = self.fit.copy()
            row[j] = self.end[k]
            value = to_parameters(self.problem.transforms, row[None])[0, j]
            low, high = open_ends_at_infinity(value, value, fitted[j])
            # fmin and fmax ignore the nan of ends that are not known yet
            self.low[j], self.high[j] = np.fmin(self.low[j], low), np.fmax(self.high[j], high)
            (self.open_low if self.side[k] < 0 else self.open_high)[j] |= is_open[k]

    def _bracket(self) -> None:
        """Search for every end in `active`, until it is determined or its evaluations are used up."""
        for count in range(2 * MAX_PROFILE_EVALUATIONS):
            if count == MAX_PROFILE_EVALUATIONS:
                # where no point with a larger increase was found, the data determine no end
                is_endless = np.isnan(self.outside[self.active])
                endless = self.active[is_endless]
                self.end[endless] = self.side[endless] * np.inf
                self.active = self.active[~is_endless]
            if not self.step():
                return
        # of a bracket that is left, the rejected side
        self.end[self.active] = self.centre[self.active] + self.outside[self.active]

    def step(self) -> bool:
        """Evaluate the profile for every end that has not converged; return whether there was any."""
        active = self.active
        if not len(active):
            return False
        refits = self._refitted(active, self._predicted(active)[None], self.away[active])[0]
        if self.evaluations <= 0:
            return False
        losses = refits.losses
        with np.errstate(all="ignore"):
            root = np.sqrt(np.maximum(losses - self.base, 0.0) / self.rise[active])
        # a point without a value is treated as far beyond the end, so that the bracket closes
        # towards the fit
        root = np.where(np.isfinite(root), root, 1e6)
        self.end[active] = self.centre[active] + self.away[active]
        small = root < 1
        self.inside[active[small]] = self.away[active[small]]
        self.inside_root[active[small]] = root[small]
        self._accept(active[small], refits.free[small])
        self.outside[active[~small]] = self.away[active[~small]]
        self.outside_root[active[~small]] = root[~small]
        # Illinois: a side that stays twice counts half, as its profile is far from the secant
        twice = small == self.was_small[active]
        repeated = active[twice & small]
        self.outside_root[repeated] = 1 + (self.outside_root[repeated] - 1) / 2
        repeated = active[twice & ~small]
        self.inside_root[repeated] = 1 - (1 - self.inside_root[repeated]) / 2
        self.was_small[active] = small
        # the last secant through the fit costs nothing and yields the remaining digits
        done = np.abs(root - 1) <= END_RTOL
        self.end[active[done]] = self.centre[active[done]] + self.away[active[done]] / root[done]
        unbounded = small & (np.abs(self.away[active]) >= self.widest[active])
        self.end[active[unbounded]] = self.side[active[unbounded]] * np.inf
        self._next(active)
        self.active = active[~(done | unbounded)]
        return True

    def _accept(self, ends: Numbers, free: Array) -> None:
        """Predict the next points of some ends from accepted points, shape (ends, parameters)."""
        self.accepted_free[ends] = free
        self.accepted[ends] = free[np.arange(len(ends)), self.number[ends]] - self.centre[ends]

    def _refitted(self, ends: Numbers, starts: Array, away: Array) -> tuple[Refits, Mask]:
        """The lowest refit of each end with its parameter at a distance from the fit, and whether the
        rows reject this value.

        Args:
            ends: the ends.
            starts: starts of the other parameters, shape (starts, ends, parameters).
            away: the distances of the parameters from the fit, shape (ends,).
        """
        count, numbers, rows = len(starts), self.number[ends], np.arange(len(ends))
        starts = starts.copy()
        starts[:, rows, numbers] = self.centre[ends] + away
        flat = starts.reshape(-1, starts.shape[2])
        every = self._least(flat, np.tile(numbers, count))
        losses = np.where(np.isfinite(every.losses), every.losses, np.inf).reshape(count, -1)
        best = np.argmin(losses, axis=0) * len(ends) + rows
        refits, start = every.at(best), flat[best]
        threshold = self.base + self.rise[ends] * (1 + 2 * END_RTOL)

        def repeated(chosen: Numbers, start: Array, by: Refit) -> Refits:
            start = start[chosen]
            start[np.arange(len(chosen)), numbers[chosen]] = flat[chosen, numbers[chosen]]
            return self._least(start, numbers[chosen], by)

        # before values are rejected, another valley is tried: that of the last point, wherever it is
        outside = np.flatnonzero(~(refits.losses <= threshold))
        if len(outside) and count == 1:
            refits = refits.lowest(repeated(outside, self.last_free[ends], refit), outside)
        # a refit that has not converged, or only slowly decreases, rejects nothing
        doubtful = np.flatnonzero(_is_doubtful(refits, threshold))
        if len(doubtful) and self.evaluations > 0:
            refits = refits.lowest(repeated(doubtful, start, refit_exactly), doubtful)
        doubtful = np.flatnonzero(_is_doubtful(refits, threshold))
        if len(doubtful) and self.evaluations > 0:
            refits = refits.continued(repeated(doubtful, refits.free, refit_exactly), doubtful)
        finite = np.isfinite(refits.losses)
        self.last_free[ends[finite]] = refits.free[finite]
        self.evaluated.append((refits.free[finite], refits.losses[finite]))
        if finite.any() and np.min(refits.losses[finite]) < self.lowest:
            k = int(np.argmin(np.where(finite, refits.losses, np.inf)))
            self.lowest, self.lowest_free = float(refits.losses[k]), refits.free[k]
        return refits, ~(refits.losses <= threshold) & ~_is_doubtful(refits, threshold)

    def _predicted(self, ends: Numbers) -> Array:
        """Starts at the next points: linear continuation of the profile from the fit through its
        last accepted point.
        """
        numbers = self.number[ends]
        inside, last = self.accepted[ends], self.accepted_free[ends]
        steps = (self.away[ends] - inside)[:, None]
        with np.errstate(all="ignore"):
            secant = (last - self.fit) / inside[:, None]
        slopes = np.where((inside == 0)[:, None], self.directions[numbers], secant)
        return np.asarray(last + np.clip(slopes * steps, -self.longest, self.longest))

    def _unconfirmed(self, ends: Numbers) -> Numbers:
        """The ends, of those given, that are not confirmed yet. If a value beyond an end is accepted,
        the end is searched for again; if refits there do not converge, it moves outwards.
        """
        ends = ends[np.isfinite(self.end[ends])]
        self.active = ends[:0]
        if not len(ends) or self.evaluations <= 0:
            return ends[:0]
        surpassed = self._surpassed(ends)
        rest = ends[~np.isin(ends, surpassed)]
        if not len(rest):
            return surpassed
        distance = np.abs(self.end - self.centre)[rest]
        factors = np.array(CONFIRMED_DISTANCES)[self.doubts[rest]]
        self.away[rest] = self.side[rest] * np.minimum(factors * distance, self.widest[rest])
        starts = np.concatenate([self._predicted(rest)[None], self._other_valleys(rest)])
        refits, rejects = self._refitted(rest, starts, self.away[rest])
        accepted = refits.losses <= self.base + self.rise[rest]
        self._accept(rest[accepted], refits.free[accepted])
        self._reopen(rest[accepted])
        moved = rest[rejects & (self.doubts[rest] > 0)]
        self.end[moved] = self.centre[moved] + self.away[moved]
        doubted = rest[~accepted & ~rejects]
        self.doubts[doubted] += 1
        given_up = doubted[self.doubts[doubted] >= len(CONFIRMED_DISTANCES)]
        self.end[given_up] = self.side[given_up] * np.inf
        again = np.concatenate([surpassed, rest[accepted], np.setdiff1d(doubted, given_up)])
        return np.sort(again)

    def _surpassed(self, ends: Numbers) -> Numbers:
        """The ends, of those given, beyond which a point of any search is accepted."""
        free = np.concatenate([points for points, _ in self.evaluated])
        losses = np.concatenate([each for _, each in self.evaluated])
        furthest = np.empty(len(ends), dtype=np.int64)
        reached = np.empty(len(ends))
        for k, end in enumerate(ends):  # one at a time, since all together take much memory
            beyond = (free[:, self.number[end]] - self.centre[end]) * self.side[end]
            beyond = np.where(losses <= self.base + self.rise[end], beyond, -np.inf)
            furthest[k] = np.argmax(beyond)
            reached[k] = beyond[furthest[k]]
        distance = np.abs(self.end - self.centre)[ends]
        is_surpassed = reached > distance * (1 + 2 * END_RTOL)
        surpassed = ends[is_surpassed]
        self._accept(surpassed, free[furthest[is_surpassed]])
        self.away[surpassed] = self.accepted[surpassed]
        self._reopen(surpassed)
        return surpassed

    def _reopen(self, ends: Numbers) -> None:
        """Search for some ends again, beyond their points `away`, which are accepted."""
        self.inside[ends], self.inside_root[ends] = self.away[ends], REOPENED_ROOT
        nearer = ends[~(np.abs(self.outside[ends]) > np.abs(self.away[ends]))]
        self.outside[nearer] = self.outside_root[nearer] = np.nan
        self.was_small[ends], self.doubts[ends] = True, 0
        at_limit = np.abs(self.away[ends]) >= self.widest[ends]
        self.end[ends[at_limit]] = self.side[ends[at_limit]] * np.inf
        self.active = np.sort(np.concatenate([self.active, ends[~at_limit]]))
        self._next(ends)

    def _other_valleys(self, ends: Numbers) -> Array:
        """Starts at the points `away` of some ends with the lowest objective after the linear
        parameters are solved for: of the accepted points of all ends, which are neighbours on their
        profiles, and of points with one nonlinear parameter far from its fitted value, shape (starts,
        ends, parameters).
        """
        projected = project(self.problem)
        moving = np.flatnonzero(projected.moving)
        scattered = np.repeat(self.fit[None], 2 * len(moving), axis=0)
        scale = np.where(np.isinf(self.longest), self.width, 1.0)[moving] * SCATTER
        scattered[np.arange(len(scattered)), np.tile(moving, 2)] += np.concatenate([scale, -scale])
        candidates = np.concatenate([self.accepted_free, scattered])
        count = min(CONFIRMING_STARTS, len(candidates))
        candidates = candidates[: max(count, MAX_RANKED_RESIDUALS // self.problem.rows)]
        starts = np.empty((count, len(ends), len(self.fit)))
        ends_per_batch = max(1, MAX_RANKED_RESIDUALS // (self.problem.rows * len(candidates)))
        for first in range(0, len(ends), ends_per_batch):
            chosen = ends[first : first + ends_per_batch]
            at_end = np.tile(candidates, (len(chosen), 1))
            rows, moved = np.arange(len(at_end)), np.repeat(self.number[chosen], len(candidates))
            at_end[rows, moved] = np.repeat(
                self.centre[chosen] + self.away[chosen], len(candidates)
            )
            fixed = np.zeros(at_end.shape, dtype=bool)
            fixed[rows, moved] = True
            objective, none = self.problem.objective, np.zeros(len(at_end))
            point = projected.by_minimisation(at_end.copy(), fixed, objective, none, COARSE_RTOL)
            losses = point.state.loss.reshape(len(chosen), -1)
            losses = np.where(np.isfinite(losses), losses, np.inf)
            best = np.argsort(losses, axis=1, kind="stable")[:, :count].T
            each = at_end.reshape(len(chosen), len(candidates), -1)
            starts[:, first : first + ends_per_batch] = each[np.arange(len(chosen)), best]
        self.evaluations -= len(ends) * len(candidates)
        return starts

    def _least(self, start: Array, numbers: Numbers, by: Refit = refit) -> Refits:
        """Minimise over all unconstrained parameters but one."""
        refits = self._least_from(start, numbers, by)
        if self.released:
            # on a bound an unconstrained parameter has no slope, from which a search would leave it
            start = start.copy()
            for i, u in self.released.items():
                start[:, i] = np.where(numbers == i, start[:, i], u)
            refits = refits.lowest(self._least_from(start, numbers, by))
        return refits

    def _least_from(self, start: Array, numbers: Numbers, by: Refit) -> Refits:
        """Minimise from one start of each row."""
        if self.bounds is not None:
            refits = self.bounds.minimise(start, numbers, by)
        else:
            fixed = np.zeros(start.shape, dtype=bool)
            fixed[np.arange(len(fixed)), numbers] = True
            refits = by(self.problem, start, fixed)
        self.evaluations -= refits.evaluations * (EXACT_WORK if by is refit_exactly else 1)
        return refits

    def _next(self, active: Numbers) -> None:
        inside, outside = self.inside[active], self.outside[active]
        low, high = self.inside_root[active], self.outside_root[active]
        bracketed = np.isfinite(outside)
        with np.errstate(all="ignore"):
            # at least a tenth of the bracket is removed in each round, however curved the profile
            # is
            share = np.clip((1 - low) / (high - low), 0.1, 0.9)
            between = inside + share * (outside - inside)
            # 2 % beyond the secant, so that the end is bracketed even if the profile is slightly
            # concave
            further = np.where(low > 1 / MAX_EXTENSION, 1.02 / low, MAX_EXTENSION)
        away = np.where(bracketed, between, inside * further)
        away = np.where(~bracketed & (inside == 0), self.away[active] * MAX_EXTENSION, away)
        self.away[active] = np.clip(away, -self.widest[active], self.widest[active])


def _is_doubtful(refits: Refits, threshold: Array) -> Mask:
    """Which refits above a threshold may have a minimum below it, shape (starts,)."""
    excess = refits.losses - threshold
    return np.isfinite(excess) & (excess > 0) & ~(refits.gains <= MAX_GAIN_SHARE * excess)


def _inside_bounds(problem: Problem, free: Array, rise: Array) -> dict[int, float]:
    """The positions of nonlinear parameters on a bound that is a number, and for each an
    unconstrained value inside its domain, at the distance at which the objective rises by about that
    at the end of an interval. Linear parameters are solved for, and leave their bounds by themselves.
    """
    inside = {}
    theta = to_parameters(problem.transforms, free[None])[0]
    for i, transform in enumerate(problem.transforms):
        is_on_bound = not transform.coupled and abs(free[i]) >= ROUNDING_ENDS - 1
        if not is_on_bound or transform.lower is transform.upper or i in problem.linear:
            continue
        untransformed = with_untransformed(problem, i)
        free_on_bound = to_free(untransformed.transforms, theta[None])
        width = width_from_bound(untransformed, free_on_bound, i, float(rise[i]))
        both = transform.lower is not None and transform.upper is not None
        inwards = -1.0 if transform.lower is None or (both and free[i] > 0) else 1.0
        moved = theta.copy()
        moved[i] += inwards * width
        u = float(to_free(problem.transforms, moved[None])[0, i])
        inside[i] = u if np.isfinite(u) else 0.0
    return inside


def width_from_bound(untransformed: Problem, free: Array, number: int, rise: float) -> float:
    """The distance from the bound of a parameter at which the objective, with the others fixed,
    rises by a given amount.
    """
    local = untransformed.local_model(free, exact=False)
    # on a bound the objective has a slope in addition to a curvature: the nearer of both ends is
    # used
    slope = abs(float(local.gradient[0, number])) / rise
    curvature = max(float(local.hessian[0, number, number]), 0.0) / rise
    return float(1 / max(slope, np.sqrt(curvature / 2), 1e-300))
