"""Fit -> intervals by profile likelihood: the values of a parameter that the data do not reject.

The profile of theta_j is F(v) = min of the objective over the other parameters with theta_j = v. An
interval ends where F(v) - F(theta*) = t²·mean(psi²)/(2·mean(psi')), t a quantile of Student's t
(Bates and Watts (1988), Nonlinear Regression Analysis and Its Applications, chapter 6). All ends
are searched for at once, as one array.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.fitting.bound_distances import bound_distances
from lawdsl.fitting.diagnostics.diagnose import ROUNDING_ENDS
from lawdsl.fitting.intervals.constrained_profile import (
    INTERVAL_END_RTOL,
    ConstrainedFit,
    with_untransformed,
)
from lawdsl.fitting.intervals.delta import linearised_errors, open_ends_at_infinity
from lawdsl.fitting.intervals.interval_method import IntervalEnds, IntervalMethod, IntervalTask
from lawdsl.fitting.intervals.m_estimator import Groups, noise_of
from lawdsl.fitting.intervals.near_bounds import most_evaluations
from lawdsl.fitting.options import AUTO
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.newton import newton_batch
from lawdsl.fitting.solvers.projected_problem import project
from lawdsl.fitting.transforms import to_free, to_parameters

Array = NDArray[np.float64]

MAX_PROFILE_EVALUATIONS = 12  # evaluations for one end
# tolerance of an end, relative to the half width of the interval
END_RTOL = 1e-3
# relative to half the width of the linearised interval: an end that is closer to the fit was not
# found
MIN_END_DISTANCE = 0.02
# largest distance of the next point from the fit, relative to the last one
MAX_EXTENSION = 3.0
# of an unconstrained parameter: further out the data determine no end
MAX_PROFILE_FREE = 40.0
# of an unconstrained parameter with a bound: longest predicted move from one point to the next
MAX_PREDICTED_MOVE = 2.0
# relative to the objective of the fit: an objective that is lower by more belongs to another
# minimum
LOWER_OBJECTIVE_RTOL = 1e-6


@dataclass(frozen=True)
class Profile:
    """Ends of profile intervals.

    Attributes:
        low, high: the ends, shape (parameters,); nan for a parameter without interval, infinite or
            the bound itself if the data do not determine an end.
        lower: parameters with a lower objective than the fit, shape (parameters,); None if none
            were found.
        left_out: the number of active sets that were not tried, with which intervals might be
            wider.
        is_finished: whether the search ended within its number of evaluations.
    """

    low: Array
    high: Array
    lower: Array | None
    left_out: int = 0
    is_finished: bool = True


@np.errstate(all="ignore")  # a step may reach points where a law overflows
def profile(
    problem: Problem,
    theta: Array,
    excluded: NDArray[np.bool_],
    level: float,
    groups: Groups = None,
    bounded: Problem | None = None,
    evaluations: float = np.inf,
) -> Profile:
    """Compute profile intervals.

    Args:
        problem: the minimisation problem, in which no bound may depend on other parameters.
        theta: the fitted parameters, shape (parameters,).
        excluded: the mask of parameters on a bound, or not determined by the data, shape
            (parameters,), which have no interval. With `bounded`, a parameter on a numeric bound
            has an interval that starts at the bound.
        level: 0.95 for 95 % intervals.
        groups: the training run of each row, shape (rows,).
        bounded: the problem with the bounds that depend on other parameters, which are enforced.
        evaluations: the number of evaluations for all intervals after which the search is given up.
    """
    linearised = linearised_errors(problem, theta, excluded, level, groups)
    base = float(problem.losses(linearised.free[None])[0])
    residual = problem.residuals(linearised.free[None])[0]
    rise = noise_of(problem, residual, int(np.sum(~excluded)), groups).rise(level)
    # bounds between parameters were relaxed for the search, but an interval must satisfy them
    coupled = bounded if bounded and any(t.coupled for t in bounded.transforms) else None
    bounds = None if coupled is None else ConstrainedFit(problem, coupled, theta)
    # the ends by the delta method are the initial guess of the search
    width = np.sqrt(linearised.variances)
    search = _EndSearch(
        problem,
        linearised.free,
        width,
        base,
        rise * linearised.inflation,
        bounds,
        directions=_directions(linearised.covariance, len(theta)),
        evaluations=evaluations,
    )
    searched = np.flatnonzero(~excluded)
    search.run(np.repeat(searched, 2), np.tile([-1.0, 1.0], len(searched)))
    low, high = search.low, search.high
    best = [(search.lowest, search.lowest_theta)]
    left = search.evaluations
    for j in map(int, np.flatnonzero(excluded)):
        active_bound = None if bounded is None else _active_numeric_bound(bounded, theta, j)
        if active_bound is None:
            continue
        bound, inwards = active_bound
        untransformed, others = with_untransformed(problem, j), excluded.copy()
        others[j] = False
        inflation = float(
            linearised_errors(untransformed, theta, others, level, groups).inflation[j]
        )
        if inflation == np.inf:  # only one run determines the parameter
            low[j], high[j] = (bound, np.inf) if inwards > 0 else (-np.inf, bound)
            continue
        side = _search_from_bound(untransformed, coupled, theta, j, base, rise * inflation, left)
        side.run(np.array([j]), np.array([inwards]))
        left = side.evaluations
        low[j], high[j] = (bound, side.high[j]) if inwards > 0 else (side.low[j], bound)
        best.append((side.lowest, side.lowest_theta))
    lowest, lower = min(best, key=lambda pair: pair[0])
    # a profile that falls below the fit has found a better minimum, which is reported
    better = lowest < base * (1 - LOWER_OBJECTIVE_RTOL) - problem.exact
    left_out = 0 if bounds is None else bounds.left_out
    return Profile(low, high, lower if better else None, left_out, is_finished=left > 0)


def _directions(covariance: Array, parameters: int) -> Array:
    """The moves of all unconstrained parameters for a unit move of each, by the linearised fit,
    shape (parameters, parameters); 0 where the covariance is not known.
    """
    if not covariance.size:
        return np.eye(parameters)
    moves = (covariance / np.diag(covariance)).T
    moves = np.where(np.isfinite(moves), moves, 0.0)
    np.fill_diagonal(moves, 1.0)
    return moves


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
        there = to_free(untransformed.transforms, theta[None])
        width = _width_from_bound(untransformed, there, i, float(rise[i]))
        both = transform.lower is not None and transform.upper is not None
        inwards = -1.0 if transform.lower is None or (both and free[i] > 0) else 1.0
        moved = theta.copy()
        moved[i] += inwards * width
        u = float(to_free(problem.transforms, moved[None])[0, i])
        inside[i] = u if np.isfinite(u) else 0.0
    return inside


def _active_numeric_bound(
    bounded: Problem, theta: Array, number: int
) -> tuple[float, float] | None:
    """The numeric bound on which a parameter lies, and the direction into its domain; None without
    an active bound.
    """
    transform = bounded.transforms[number]
    if transform.coupled or transform.lower is transform.upper:
        return None
    values = {t.name: float(x) for t, x in zip(bounded.transforms, theta, strict=True)}
    on_lower = bound_distances(bounded.transforms, values)[transform.name][0] == "lower"
    limit = transform.lower if on_lower else transform.upper
    assert limit is not None
    return limit.number, 1.0 if on_lower else -1.0


def _search_from_bound(
    untransformed: Problem,
    bounded: Problem | None,
    theta: Array,
    number: int,
    base: float,
    rise: float,
    evaluations: float,
) -> _EndSearch:
    """The search for the end of an interval that starts on a bound."""
    free = to_free(untransformed.transforms, theta[None])
    width = _width_from_bound(untransformed, free, number, rise)
    widths = np.where(np.arange(len(theta)) == number, width, np.nan)
    bounds = None if bounded is None else ConstrainedFit(untransformed, bounded, theta)
    rises = np.full(len(theta), rise)
    return _EndSearch(
        untransformed, free[0], widths, base, rises, bounds, np.inf, evaluations=evaluations
    )


def _width_from_bound(untransformed: Problem, free: Array, number: int, rise: float) -> float:
    """The distance from the bound of a parameter at which the objective, with the others fixed,
    rises by a given amount.
    """
    local = untransformed.local_model(free, exact=False)
    # on a bound the objective has a slope in addition to a curvature: the nearer of both ends is
    # used
    slope = abs(float(local.gradient[0, number])) / rise
    curvature = max(float(local.hessian[0, number, number]), 0.0) / rise
    return float(1 / max(slope, np.sqrt(curvature / 2), 1e-300))


class _EndSearch:
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
        directions: how all parameters move with each, near the fit, shape (parameters, parameters);
            None where the others stay.
        evaluations: the number of evaluations that are left; the search ends where there are none.
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
        self.released = _inside_bounds(problem, free, rise)

    @property
    def lowest_theta(self) -> Array:
        """The parameters with the lowest objective that the search has found."""
        return to_parameters(self.problem.transforms, self.lowest_free[None])[0]

    def run(self, numbers: NDArray[np.int64], side: Array) -> None:
        """Search for the ends of intervals, one per number and side.

        Args:
            numbers: the positions of the parameters, shape (ends,).
            side: -1 or 1 for the lower or upper end, shape (ends,).
        """
        self.number, self.centre = numbers, self.fit[numbers]
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
        # the profile at `inside`, from which the next point is predicted: a search that starts at a
        # point with a large increase may stay in another valley, whose profile does not reach the fit
        self.inside_free = np.repeat(self.fit[None], len(side), axis=0)
        self.end = self.centre + self.away
        self.last_free = self.inside_free.copy()
        self.was_small = np.zeros(len(side), dtype=bool)
        self.going = np.arange(len(side))
        for _ in range(MAX_PROFILE_EVALUATIONS):
            if not self.step():
                break
        # where no point with a larger increase was found, the data determine no end
        endless = self.going[np.isnan(self.outside[self.going])]
        self.end[endless] = np.sign(self.away[endless]) * np.inf
        fitted = to_parameters(self.problem.transforms, self.fit[None])[0]
        for k, j in enumerate(self.number):
            row = self.fit.copy()
            row[j] = self.end[k]
            value = to_parameters(self.problem.transforms, row[None])[0, j]
            low, high = open_ends_at_infinity(value, value, fitted[j])
            # fmin and fmax ignore the nan of ends that are not known yet
            self.low[j], self.high[j] = np.fmin(self.low[j], low), np.fmax(self.high[j], high)

    def step(self) -> bool:
        """Evaluate the profile for every end that has not converged; return whether there was any."""
        going = self.going
        if not len(going):
            return False
        start = self._predicted(going)
        reached, losses = self._least(start, self.number[going])
        if self.evaluations <= 0:
            return False
        # before values are rejected, another valley is tried: that of the last point, wherever it is
        outside = np.flatnonzero(~(losses - self.base <= self.rise[going] * (1 + 2 * END_RTOL)))
        if len(outside):
            other = self.last_free[going[outside]]
            rows = np.arange(len(outside))
            numbers = self.number[going[outside]]
            other[rows, numbers] = start[outside, numbers]
            other, other_losses = self._least(other, numbers)
            lower = other_losses < losses[outside]
            reached[outside[lower]], losses[outside[lower]] = other[lower], other_losses[lower]
        found = np.isfinite(losses)
        self.last_free[going[found]] = reached[found]
        if np.min(losses) < self.lowest:
            self.lowest, self.lowest_free = float(np.min(losses)), reached[np.argmin(losses)]
        with np.errstate(all="ignore"):
            root = np.sqrt(np.maximum(losses - self.base, 0.0) / self.rise[going])
        # a point without a value is treated as far beyond the end, so that the bracket closes
        # towards the fit
        root = np.where(np.isfinite(root), root, 1e6)
        self.end[going] = self.centre[going] + self.away[going]
        small = root < 1
        self.inside[going[small]] = self.away[going[small]]
        self.inside_root[going[small]] = root[small]
        self.inside_free[going[small]] = reached[small]
        self.outside[going[~small]] = self.away[going[~small]]
        self.outside_root[going[~small]] = root[~small]
        # Illinois: a side that stays twice counts half, as its profile is far from the secant
        twice = small == self.was_small[going]
        kept = going[twice & small]
        self.outside_root[kept] = 1 + (self.outside_root[kept] - 1) / 2
        kept = going[twice & ~small]
        self.inside_root[kept] = 1 - (1 - self.inside_root[kept]) / 2
        self.was_small[going] = small
        # the last secant through the fit costs nothing and yields the remaining digits
        done = np.abs(root - 1) <= END_RTOL
        self.end[going[done]] = self.centre[going[done]] + self.away[going[done]] / root[done]
        unbounded = small & (np.abs(self.away[going]) >= self.widest[going])
        self.end[going[unbounded]] = np.sign(self.away[going[unbounded]]) * np.inf
        self._next(going)
        self.going = going[~(done | unbounded)]
        return True

    def _predicted(self, going: NDArray[np.int64]) -> Array:
        """Starts at the next points: linear continuation of the profile from the fit through its
        last point inside the interval.
        """
        numbers, rows = self.number[going], np.arange(len(going))
        inside, last = self.inside[going], self.inside_free[going]
        steps = (self.away[going] - inside)[:, None]
        with np.errstate(all="ignore"):
            secant = (last - self.fit) / inside[:, None]
        slopes = np.where((inside == 0)[:, None], self.directions[numbers], secant)
        start = last + np.clip(slopes * steps, -self.longest, self.longest)
        start[rows, numbers] = self.centre[going] + self.away[going]
        return start

    def _least(self, start: Array, numbers: NDArray[np.int64]) -> tuple[Array, Array]:
        """Minimise over all unconstrained parameters but one; return points and objectives."""
        reached, losses = self._least_from(start, numbers)
        if self.released:
            # on a bound an unconstrained parameter has no slope, from which a search would leave it
            start = start.copy()
            for i, u in self.released.items():
                start[:, i] = np.where(numbers == i, start[:, i], u)
            others, other_losses = self._least_from(start, numbers)
            lower = other_losses < losses
            reached = np.where(lower[:, None], others, reached)
            losses = np.where(lower, other_losses, losses)
        return reached, losses

    def _least_from(self, start: Array, numbers: NDArray[np.int64]) -> tuple[Array, Array]:
        """Minimise from one start of each row."""
        if self.bounds is not None:
            before = self.bounds.evaluations
            reached, losses = self.bounds.minimise(start, numbers)
            self.evaluations -= self.bounds.evaluations - before
            return reached, losses
        fixed = np.zeros(start.shape, dtype=bool)
        fixed[np.arange(len(fixed)), numbers] = True
        reached, losses, _, steps = newton_batch(
            project(self.problem), start, fixed, rtol=INTERVAL_END_RTOL
        )
        self.evaluations -= int(np.sum(steps))
        return reached, losses

    def _next(self, going: NDArray[np.int64]) -> None:
        near, far = self.inside[going], self.outside[going]
        low, high = self.inside_root[going], self.outside_root[going]
        bracketed = np.isfinite(far)
        with np.errstate(all="ignore"):
            # at least a tenth of the bracket is removed in each round, however curved the profile
            # is
            share = np.clip((1 - low) / (high - low), 0.1, 0.9)
            between = near + share * (far - near)
            # 2 % beyond the secant, so that the end is bracketed even if the profile is slightly
            # concave
            further = np.where(low > 1 / MAX_EXTENSION, 1.02 / low, MAX_EXTENSION)
        away = np.where(bracketed, between, near * further)
        away = np.where(~bracketed & (near == 0), self.away[going] * MAX_EXTENSION, away)
        self.away[going] = np.clip(away, -self.widest[going], self.widest[going])


def _without_unfound_ends(task: IntervalTask, found: Profile) -> tuple[Array, Array]:
    """The ends, nan where an end coincides with the fit: that of a search that did not converge."""
    linearised, transforms = task.linearised, task.uncoupled.transforms
    half = linearised.half_width * np.sqrt(linearised.variances)
    low, high = found.low.copy(), found.high.copy()
    for i in np.flatnonzero(~(task.on_bound | task.undetermined) & np.isfinite(half)):
        for ends in (low, high):
            at_end = task.theta.copy()
            at_end[i] = ends[i]
            with np.errstate(all="ignore"):
                distance = abs(to_free(transforms, at_end[None])[0, i] - linearised.free[i])
            if distance < MIN_END_DISTANCE * half[i]:
                ends[i] = np.nan
    return low, high


def _notes_on_missing_intervals(task: IntervalTask, low: Array, high: Array) -> list[Diagnostic]:
    """Warnings that name the parameters without an interval, and say why."""
    missing = (np.isnan(low) | np.isnan(high)) & ~task.undetermined
    coupled = np.array([t.coupled for t in task.problem.transforms]) & task.on_bound
    notes = []
    for chosen, cause, help in (
        (
            missing & ~task.on_bound,
            "the search for its ends did not converge",
            "compare with --intervals bootstrap or delta, or measure more",
        ),
        (
            missing & coupled,
            "on a bound that depends on other parameters",
            "--tie the parameter to its bound, for the interval that it has there",
        ),
    ):
        names = ", ".join(task.names[i] for i in np.flatnonzero(chosen))
        if names:
            message = f"no profile interval of {names}: {cause}"
            notes.append(Diagnostic("F0122", message, "warning", help=help))
    return notes


def _profile_ends(task: IntervalTask) -> IntervalEnds | Diagnostic:
    if task.problem.penalty is not None and task.groups is not None:
        # by runs the increase of the objective at an end differs between parameters
        message = "profile intervals by run do not take priors"
        help = "ask for --intervals delta or bootstrap, or leave --run out"
        return Diagnostic("F0138", message, "warning", help=help)
    level, groups = task.options.level, task.groups
    most = most_evaluations(task.problem) if task.options.intervals == AUTO else np.inf
    ends = profile(task.uncoupled, task.theta, task.on_bound, level, groups, task.problem, most)
    if not ends.is_finished:
        message = "the search for profile intervals was given up, as it takes too long; those by the delta method may be too narrow"
        help = "ask for --intervals profile and wait, or for --intervals bootstrap"
        return Diagnostic("F0122", message, "warning", help=help)
    low, high = _without_unfound_ends(task, ends)
    notes = _notes_on_missing_intervals(task, low, high)
    if ends.left_out:
        message = (
            f"{ends.left_out:,} sets of active bounds were not tried: intervals by profile may be "
            "too narrow"
        )
        help = "compare them with --intervals bootstrap, or let fewer bounds depend on parameters"
        notes.append(Diagnostic("F0122", message, "warning", help=help))
    return IntervalEnds(task.linearised.errors, low, high, ends.lower, notes=tuple(notes))


METHOD = IntervalMethod(_profile_ends, on_bounds=True)
