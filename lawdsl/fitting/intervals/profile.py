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
from lawdsl.core.enumerations import conjunction
from lawdsl.fitting.bound_distances import bound_distances
from lawdsl.fitting.intervals.constrained_profile import ConstrainedFit, with_untransformed
from lawdsl.fitting.intervals.delta import linearised_errors
from lawdsl.fitting.intervals.end_search import EndSearch, width_from_bound
from lawdsl.fitting.intervals.interval_method import IntervalEnds, IntervalMethod, IntervalTask
from lawdsl.fitting.intervals.m_estimator import Groups, noise_of
from lawdsl.fitting.intervals.near_bounds import most_evaluations
from lawdsl.fitting.options import AUTO
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.transforms import to_free

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# relative to half the width of the linearised interval: an end that is closer to the fit was not
# found
MIN_END_DISTANCE = 0.02
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
        open_low, open_high: the masks of ends that are not determined since refits of the other
            parameters beyond the last accepted value did not converge, shape (parameters,).
        left_out: the number of active sets that were not tried, with which intervals might be
            wider.
        is_finished: whether the search ended within its number of evaluations.
    """

    low: Array
    high: Array
    lower: Array | None
    open_low: Mask
    open_high: Mask
    left_out: int = 0
    is_finished: bool = True


@np.errstate(all="ignore")  # a step may reach points where a law overflows
def profile(
    problem: Problem,
    theta: Array,
    excluded: Mask,
    level: float,
    groups: Groups = None,
    bounded: Problem | None = None,
    evaluations: float = np.inf,
    undetermined: Mask | None = None,
) -> Profile:
    """Compute profile intervals.

    Args:
        problem: the minimisation problem, in which no bound may depend on other parameters.
        theta: the fitted parameters, shape (parameters,).
        excluded: the mask of parameters on a bound, shape (parameters,), which are fixed there in
            the linearised fit, and have no interval. With `bounded`, a parameter on a numeric bound
            has an interval that starts at the bound.
        level: 0.95 for 95 % intervals.
        groups: the training run of each row, shape (rows,).
        bounded: the problem with the bounds that depend on other parameters, which are enforced.
        evaluations: the number of evaluations for all intervals after which the search is given up.
        undetermined: the mask of parameters that are refitted, but whose ends are not searched for,
            shape (parameters,); None for none.
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
    search = EndSearch(
        problem,
        linearised.free,
        width,
        base,
        rise * linearised.inflation,
        bounds,
        directions=_directions(linearised.covariance, len(theta)),
        evaluations=evaluations,
    )
    skipped = np.zeros(len(theta), dtype=bool) if undetermined is None else undetermined
    searched = np.flatnonzero(~(excluded | skipped))
    search.run(np.repeat(searched, 2), np.tile([-1.0, 1.0], len(searched)))
    low, high = search.low, search.high
    open_low, open_high = search.open_low, search.open_high
    best = [(search.lowest, search.lowest_theta)]
    left = search.evaluations
    for j in map(int, np.flatnonzero(excluded & ~skipped)):
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
        open_low[j], open_high[j] = side.open_low[j], side.open_high[j]
        best.append((side.lowest, side.lowest_theta))
    lowest, lower = min(best, key=lambda pair: pair[0])
    # a profile that falls below the fit has found a better minimum, which is reported
    better = lowest < base * (1 - LOWER_OBJECTIVE_RTOL) - problem.exact
    left_out = 0 if bounds is None else bounds.left_out
    found = lower if better else None
    return Profile(low, high, found, open_low, open_high, left_out, is_finished=left > 0)


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
) -> EndSearch:
    """The search for the end of an interval that starts on a bound."""
    free = to_free(untransformed.transforms, theta[None])
    width = width_from_bound(untransformed, free, number, rise)
    widths = np.where(np.arange(len(theta)) == number, width, np.nan)
    bounds = None if bounded is None else ConstrainedFit(untransformed, bounded, theta)
    rises = np.full(len(theta), rise)
    return EndSearch(
        untransformed, free[0], widths, base, rises, bounds, np.inf, evaluations=evaluations
    )


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


def _notes_on_open_ends(task: IntervalTask, found: Profile) -> list[Diagnostic]:
    """A warning that names the ends that are open, since no refit beyond them has converged."""
    ends = [
        f"the {side} end of {task.names[i]}"
        for i in np.flatnonzero(~task.undetermined)
        for side, is_open in (("lower", found.open_low[i]), ("upper", found.open_high[i]))
        if is_open
    ]
    if not ends:
        return []
    message = (
        f"the profile does not determine {conjunction(ends)}: beyond the last accepted value, refits of "
        "the other parameters did not converge or reached lower minima; the interval is open"
    )
    help = (
        "measure where these parameters have separate effects, --fix one that is known, or compare "
        "with --intervals bootstrap"
    )
    return [Diagnostic("F0122", message, "warning", help=help)]


def _profile_ends(task: IntervalTask) -> IntervalEnds | Diagnostic:
    if task.problem.penalty is not None and task.groups is not None:
        # by runs the increase of the objective at an end differs between parameters
        message = "profile intervals by run do not take priors"
        help = "ask for --intervals delta or bootstrap, or leave --run out"
        return Diagnostic("F0138", message, "warning", help=help)
    level, groups = task.options.level, task.groups
    most = most_evaluations(task.problem) if task.options.intervals == AUTO else np.inf
    ends = profile(
        task.uncoupled,
        task.theta,
        task.on_bound,
        level,
        groups,
        task.problem,
        most,
        task.undetermined,
    )
    if not ends.is_finished:
        message = "the search for profile intervals was given up, as it takes too long; those by the delta method may be too narrow"
        help = "ask for --intervals profile and wait, or for --intervals bootstrap"
        return Diagnostic("F0122", message, "warning", help=help)
    low, high = _without_unfound_ends(task, ends)
    notes = [*_notes_on_missing_intervals(task, low, high), *_notes_on_open_ends(task, ends)]
    if ends.left_out:
        message = (
            f"{ends.left_out:,} sets of active bounds were not tried: intervals by profile may be "
            "too narrow"
        )
        help = "compare them with --intervals bootstrap, or let fewer bounds depend on parameters"
        notes.append(Diagnostic("F0122", message, "warning", help=help))
    return IntervalEnds(task.linearised.errors, low, high, ends.lower, notes=tuple(notes))


METHOD = IntervalMethod(_profile_ends, on_bounds=True)
