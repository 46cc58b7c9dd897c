"""Fit + options -> IntervalEstimate: intervals and covariance of its parameters by a method."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.objectives import Objective
from lawdsl.fitting.intervals.covariance import Covariance, parameter_covariance
from lawdsl.fitting.intervals.delta import linearised_errors
from lawdsl.fitting.intervals.interval_method import (
    IntervalEnds,
    IntervalMethod,
    IntervalTask,
)
from lawdsl.fitting.intervals.linearisation import is_nearly_linear
from lawdsl.fitting.intervals.m_estimator import Groups, noise_of
from lawdsl.fitting.intervals.near_bounds import MAX_PROFILE_NUMBERS, is_near_bound
from lawdsl.fitting.linearity_criterion import LinearityCriterion
from lawdsl.fitting.options import AUTO, METHODS, FitOptions
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.result_parts import Intervals
from lawdsl.fitting.transforms import Transforms, without_coupled_limits

Array = NDArray[np.float64]

# distance from a bound within which an end is not determined by the data
END_ON_BOUND_DISTANCE = 1e-100


@dataclass(frozen=True)
class IntervalEstimate:
    """The precision with which the data determine the parameters of a fit.

    Attributes:
        intervals: the intervals of the parameters.
        covariance: the covariance of their errors; None where it cannot be computed.
        lower: parameters with a lower objective than the fit, if the search for intervals found
            some.
        notes: the diagnostics.
    """

    intervals: Intervals
    covariance: Covariance | None
    lower: Array | None
    notes: tuple[Diagnostic, ...]

    def without(self, names: Container[str]) -> IntervalEstimate:
        """A copy without the standard errors and intervals of some parameters."""
        errors = {name: x for name, x in self.intervals.errors.items() if name not in names}
        ends = {name: x for name, x in self.intervals.ends.items() if name not in names}
        return replace(self, intervals=replace(self.intervals, errors=errors, ends=ends))


def intervals(
    problem: Problem,
    theta: Array,
    on_bound: NDArray[np.bool_],
    undetermined: NDArray[np.bool_],
    options: FitOptions,
    groups: Groups = None,
    criterion: LinearityCriterion | None = None,
) -> IntervalEstimate:
    """Compute intervals of the parameters of a fit, and their covariance.

    Args:
        problem: the objective to be minimised, with its data.
        theta: the fitted parameters, shape (parameters,).
        on_bound: the mask of parameters on a bound, shape (parameters,), which are fixed there and
            have no intervals.
        undetermined: the mask of parameters that the data do not determine, shape (parameters,),
            which have no intervals, but contribute to the uncertainty of the others.
        options: the options of the fit: the method, level, resamples, seed and progress of the
            intervals.
        groups: the training run of each row, shape (rows,).
        criterion: the criterion by which a parameter is chosen before the fit; None for none.
    """
    by_delta = options.intervals == AUTO
    method = method_of("delta" if by_delta else options.intervals)
    names = tuple(t.name for t in problem.transforms)
    free = int(np.sum(~on_bound))
    missing_reason, linearised_covariance = (
        _too_few_units(problem, free, method.min_excess_units, groups),
        None,
    )
    if missing_reason is None and problem.objective.row.kinked:
        missing_reason = _unknown_noise(problem, theta, free, groups)
    is_known = missing_reason is None or not problem.objective.row.kinked
    if is_known and criterion is None and _too_few_units(problem, free, 0, groups) is None:
        linearised_covariance = parameter_covariance(problem, theta, names, free, groups)
    unit = "rows" if groups is None else "runs"
    if missing_reason is None and criterion is not None and not method.repeats_choice:
        missing_reason = [_choice_needs_bootstrap(problem, free, criterion, groups)]
    used = "delta" if by_delta else options.intervals
    without_ends = Intervals(used, options.level, unit, {}, {})
    if missing_reason is not None:
        return IntervalEstimate(without_ends, linearised_covariance, None, tuple(missing_reason))
    # a profile is searched without the bounds between parameters, which are enforced by active sets
    uncoupled = replace(
        problem, transforms=without_coupled_limits(problem.transforms) or problem.transforms
    )
    linearised = linearised_errors(
        with_active_bounds(problem, on_bound), theta, on_bound, options.level, groups
    )
    task = IntervalTask(
        problem,
        uncoupled,
        theta,
        names,
        on_bound,
        undetermined,
        options,
        linearised,
        groups,
        criterion,
    )
    if (
        by_delta
        and linearised_covariance is not None
        and _needs_profile(task, linearised_covariance)
    ):
        used, method = "profile", method_of("profile")
    ends = method.ends(task)
    unusable: list[Diagnostic] = []
    if by_delta and used == "profile" and not _is_usable_profile(ends, task):
        # a lower minimum is none that the starts of the search have agreed on
        unusable = _unusable_profile_warnings(ends)
        used, method = "delta", method_of("delta")
        ends = method.ends(task)
    if isinstance(ends, Diagnostic):
        return IntervalEstimate(without_ends, linearised_covariance, None, (ends,))
    low, high = _ends_in_domain(problem, ends.low, ends.high)
    excluded = undetermined if method.on_bounds else on_bound | undetermined
    listed = [
        i for i in range(len(names)) if not (excluded[i] or np.isnan(low[i]) or np.isnan(high[i]))
    ]
    # a method that finds no end says so itself
    has_finite_end = np.isfinite(low) | np.isfinite(high)
    if method.on_bounds:
        has_finite_end |= np.isnan(low) | np.isnan(high)
    without_end = [names[i] for i in np.flatnonzero(~(excluded | on_bound | has_finite_end))]
    # a profile moves a parameter off its bound, where the others have no standard error
    has_errors = not (by_delta and method.on_bounds and on_bound.any())
    errors = ends.errors if has_errors else np.full(len(names), np.nan)
    result = Intervals(
        used,
        options.level,
        unit,
        {names[i]: float(errors[i]) for i in listed if np.isfinite(errors[i])},
        {names[i]: (float(low[i]), float(high[i])) for i in listed},
        ends.resamples,
        ends.failed,
    )
    covariance = linearised_covariance if criterion is None else ends.covariance
    notes = (*ends.notes, *unusable, *_unbounded_interval_warnings(without_end, groups))
    return IntervalEstimate(result, covariance, ends.lower, notes)


def _is_usable_profile(ends: IntervalEnds | Diagnostic, task: IntervalTask) -> bool:
    """Whether the search found all ends, and no lower minimum."""
    if isinstance(ends, Diagnostic) or ends.lower is not None:
        return False
    searched = ~(task.on_bound | task.undetermined) & np.isfinite(task.linearised.variances)
    return not np.any(searched & (np.isnan(ends.low) | np.isnan(ends.high)))


def _unusable_profile_warnings(ends: IntervalEnds | Diagnostic) -> list[Diagnostic]:
    """A warning if the search for a profile was given up, or has found a lower objective than that
    of the fit.
    """
    if isinstance(ends, Diagnostic):
        return [ends]
    if ends.lower is None:
        return []
    message = "the search for profile intervals has found a lower objective than the search for the optimum"
    help = "more --starts may find that minimum; --intervals profile continues from it"
    return [Diagnostic("F0104", message, "warning", help=help)]


def _needs_profile(task: IntervalTask, covariance: Covariance) -> bool:
    """Whether a parameter on or near a bound, or a law that is far from linear in its parameters,
    calls for profile intervals, which must be possible.
    """
    problem, fitted = task.problem, task.free
    if problem.objective.row.kinked or task.criterion is not None:
        return False
    if problem.arrow is not None:  # a refit of so many parameters for each end would take too long
        return False
    if problem.penalty is not None and task.groups is not None:
        return False
    residual = problem.residuals_of(problem.model.value(task.theta[None]))[0]
    noise = noise_of(problem, residual, fitted, task.groups)
    if problem.rows * problem.parameters > MAX_PROFILE_NUMBERS:
        return False
    linearised = task.linearised
    excluded = task.on_bound | task.undetermined
    if problem.penalty is None and not is_nearly_linear(
        task.uncoupled,
        linearised.free,
        linearised.variances,
        excluded,
        linearised.half_width,
        float(noise.dof),
    ):
        return True
    rise = noise.square / noise.curvature / 2 * linearised.inflation
    return is_near_bound(
        problem,
        task.theta,
        task.on_bound,
        task.undetermined,
        covariance,
        rise,
        task.linearised.half_width,
    )


def _unknown_noise(
    problem: Problem, theta: Array, free: int, groups: Groups
) -> list[Diagnostic] | None:
    """The reason why the residuals do not determine the noise; None if they do."""
    residual = problem.residuals_of(problem.model.value(theta[None]))[0]
    if noise_of(problem, residual, free, groups).is_known:
        return None
    message = (
        "more than half of the rows lie exactly on the fit: the density of the errors at 0, which"
        f" intervals of the loss {problem.objective.loss} need, is not known"
    )
    help = "measurements that are rounded or repeated do this: give more digits, or use huber"
    return [Diagnostic("F0122", message, "warning", help=help)]


def check_method(objective: Objective, method: str) -> None:
    """Raise an error for a method that requires a differentiable loss, if the loss is not.

    Args:
        objective: the objective that was minimised.
        method: one of METHODS, or auto.

    Raises:
        LawdslError: F0156.
    """
    if not objective.row.kinked or method in (AUTO, "delta"):
        return
    message = (
        f"intervals by {method} need a loss with a slope everywhere, which {objective.loss} is not"
    )
    help = "use --intervals delta, or a loss such as huber"
    raise LawdslError(Diagnostic("F0156", message, help=help))


def method_of(name: str) -> IntervalMethod:
    """Import a method of intervals.

    Args:
        name: one of METHODS.
    """
    method = import_module(METHODS[name]).METHOD
    assert isinstance(method, IntervalMethod)
    return method


def with_active_bounds(problem: Problem, on_bound: NDArray[np.bool_]) -> Problem:
    """The problem with only those bounds between parameters that are active: there a parameter
    moves with the others.

    Args:
        problem: the objective to be minimised, with its data.
        on_bound: the mask of parameters on a bound, shape (parameters,).
    """
    free = without_coupled_limits(problem.transforms)
    if free is None:
        return problem
    each = zip(problem.transforms, free, on_bound, strict=True)
    return replace(
        problem,
        transforms=Transforms(coupled if on else uncoupled for coupled, uncoupled, on in each),
    )


def _too_few_units(
    problem: Problem, parameters: int, min_excess_units: int, groups: Groups
) -> list[Diagnostic] | None:
    """The reason why the rows or runs are too few for intervals; empty if another finding reports
    it, None if they are enough.
    """
    rows = problem.rows if problem.weights is None else float(np.sum(problem.weights))
    # a fit with priors has an estimate of the noise from the fit without them
    if rows <= parameters and problem.penalty is None:
        return []  # F0102 reports it
    units = problem.rows if groups is None else len(np.unique(groups))
    what = "rows" if groups is None else "training runs"
    if units < 2:
        message = "all rows are of one training run: how far another would lie is not known"
        help = "give --run none, and read intervals as those of this run; or measure another run"
        return [Diagnostic("F0122", message, "warning", help=help)]
    if min_excess_units and units < parameters + min_excess_units:
        message = f"{units} {what} are too few to draw from for {parameters} parameters"
        help = "ask for --intervals profile, or measure more"
        return [Diagnostic("F0122", message, "warning", help=help)]
    return None


def _unbounded_interval_warnings(names: list[str], groups: Groups) -> list[Diagnostic]:
    """A warning that names the parameters without any known end of an interval."""
    if not names:
        return []
    message = f"the data set no end of an interval of {', '.join(names)}"
    help = "measure where the parameters have separate effects, or fit a law without one of them"
    if groups is not None:
        help = "measure more runs, or fit a law without one of them"
    return [Diagnostic("F0122", message, "warning", help=help)]


def _choice_needs_bootstrap(
    problem: Problem, parameters: int, criterion: LinearityCriterion, groups: Groups
) -> Diagnostic:
    """The diagnostic that a parameter chosen before the fit has intervals only by a bootstrap."""
    name = criterion.choice.name
    message = (
        f"{name} is chosen before the fit: only a bootstrap, which repeats both, gives intervals"
    )
    few = _too_few_units(problem, parameters, method_of("bootstrap").min_excess_units, groups)
    help = "measure more, and ask" if few else "ask"
    return Diagnostic("F0122", message, "warning", help=f"{help} for --intervals bootstrap")


def _ends_in_domain(problem: Problem, low: Array, high: Array) -> tuple[Array, Array]:
    """Ends of intervals; those that the data do not determine are replaced by the bounds of the
    domain.
    """
    low, high = low.copy(), high.copy()
    for i, transform in enumerate(problem.transforms):
        if transform.coupled:
            continue
        if transform.lower is not None and low[i] <= transform.lower.number + END_ON_BOUND_DISTANCE:
            low[i] = transform.lower.number
        if (
            transform.upper is not None
            and high[i] >= transform.upper.number - END_ON_BOUND_DISTANCE
        ):
            high[i] = transform.upper.number
    return low, high
