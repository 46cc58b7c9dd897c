"""Covariance of a fit -> warnings about parameters and predictions that the rows do not determine.

The results do not depend on the units of the variables. The value of a linear parameter does, as A
in A/N^alpha, so only the other parameters are tested, with the linear ones re-estimated;
predictions never depend on the units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.fitting.diagnostics.design import design_cause_texts
from lawdsl.fitting.diagnostics.design_coverage import (
    MAX_BLOCKS,
    comparison_problem,
    problem_at_corners,
    variable_blocks,
)
from lawdsl.fitting.intervals.covariance import Covariance
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.transforms import Transform

Array = NDArray[np.float64]

# level of the intervals whose widths are tested, whichever level the user chose
INTERVAL_LEVEL = 0.95
# half width of an interval in logarithms: the ends of a wider one differ by more than a factor of
# 100
WIDE_LOG_HALF = np.log(10.0)
# relative to the range of the output: a prediction with a larger half width is undetermined
OPEN_RANGE_SHARE = 0.25
# relative to the widest interval at a row: if a prediction is less wide, the cause is the noise
BEYOND_ROWS_RATIO = 3.0


@dataclass(frozen=True)
class PrecisionInputs:
    """A fit whose precision is assessed.

    Attributes:
        law: the law, with all parameters that were fitted or chosen from the rows.
        problem: the objective to be minimised, with its data.
        theta: the parameters, shape (parameters,).
        covariance: their covariance.
        skipped: names of parameters on a bound, and of those in other findings.
        on_bound: names of parameters on a bound, which count as free in the covariance.
        by_profile: whether the intervals of the fit are profiles, which differ from those that are
            assessed here.
    """

    law: PreparedLaw
    problem: Problem
    theta: Array
    covariance: Covariance
    skipped: frozenset[str]
    on_bound: tuple[str, ...] = ()
    by_profile: bool = False


@np.errstate(all="ignore")  # a law may overflow at combined extremes
def weak_parameters(
    fitted: PrecisionInputs, *, with_linear: bool = False
) -> dict[str, tuple[float, float]]:
    """The parameters whose intervals span orders of magnitude, and the ends of these.

    Args:
        fitted: the fit.
        with_linear: whether to include linear parameters.
    """
    names = [q.name for q in fitted.law.parameters]
    law, problem = fitted.law, fitted.problem
    linear = () if with_linear else problem.linear if law.on_arrays else law.linear()
    is_undetermined = np.any(np.abs(fitted.covariance.null_space) > 1e-3, axis=0)
    half = fitted.covariance.quantile(INTERVAL_LEVEL) * fitted.covariance.errors(np.eye(len(names)))
    weak = {}
    for i, transform in enumerate(problem.transforms):
        skipped = i in linear or is_undetermined[i] or names[i] in fitted.skipped
        if not skipped and (
            ends := _uninformative_ends(transform, fitted.theta, i, float(half[i]))
        ):
            weak[names[i]] = ends
    return weak


def weak_parameter_findings(fitted: PrecisionInputs) -> list[Diagnostic]:
    """A warning that names the parameters whose intervals span orders of magnitude."""
    weak = weak_parameters(fitted)
    if not weak:
        return []
    ranges = ", ".join(f"{name} ({low:.3g} to {high:.3g})" for name, (low, high) in weak.items())
    message = f"the rows hardly determine {ranges}: {100 * INTERVAL_LEVEL:g} % intervals"
    if fitted.by_profile:
        message += " by the delta method"
    notes = design_cause_texts(fitted.law, fitted.problem, list(weak))
    if fitted.on_bound:
        bound = ", ".join(fitted.on_bound)
        message += f" with {bound} free"
        which = "its bound" if len(fitted.on_bound) == 1 else "their bounds"
        narrower = f"with {bound} held on {which} they would be narrower than the rows allow"
        if fitted.by_profile:
            narrower = f"profile intervals keep {bound} within {which}, and may be narrower"
        notes = (narrower, *notes)
    help = "measure more, and further apart, or fit a law without one of them"
    return [Diagnostic("F0130", message, "warning", notes=notes, help=help)]


def _uninformative_ends(
    transform: Transform, theta: Array, i: int, half: float
) -> tuple[float, float] | None:
    """The ends of an interval too wide to be informative; None for an informative one.

    A parameter with one bound is assessed by the logarithm of its distance from the bound; one with
    two bounds relative to the width of its domain; one without bounds may be 0, and is not assessed
    by its size.
    """
    lower, upper = (
        None if side is None else float(side.at(theta[None])[0]) for side in transform.sides
    )
    value = float(theta[i])
    if lower is not None and upper is not None:
        return (lower, upper) if half > (upper - lower) / 2 else None
    limit = lower if lower is not None else upper
    if limit is None:
        return None
    distance = value - limit
    # near a bound other than 0, the logarithm of the distance is not informative about the value
    size = abs(distance) if limit == 0 else max(abs(distance), abs(value))
    if not half > WIDE_LOG_HALF * size:
        return None
    # exp overflows beyond 709
    factor = np.exp(min(half / abs(distance), 700.0))
    ends = sorted((limit + distance / factor, limit + distance * factor))
    return ends[0], ends[1]


@np.errstate(all="ignore")
def undetermined_prediction_findings(fitted: PrecisionInputs) -> list[Diagnostic]:
    """A warning if the rows do not determine predictions at values of the variables that each occur
    in the rows, but not together: most often because two variables are collinear.
    """
    law, problem, spread = fitted.law, fitted.problem, fitted.covariance
    if law.on_arrays:
        return []  # a single label cannot be recombined
    blocks = variable_blocks(law, problem)
    if not 2 <= len(blocks) <= MAX_BLOCKS:
        return []
    problem = comparison_problem(law, problem)
    corners = problem_at_corners(law, problem, blocks)
    points = corners.columns
    factor = spread.quantile(INTERVAL_LEVEL)
    at_rows = factor * np.concatenate(
        [spread.errors(slopes) for slopes in problem.slopes_in_pieces(fitted.theta)]
    )
    half = factor * spread.errors(corners.slopes(fitted.theta[None])[1][0])
    values = corners.predictions(fitted.theta[None])[0]
    # points at which the law has no value are ignored
    half = np.where(np.isfinite(values), half, 0.0)
    compared = np.log(problem.target) if problem.objective.log else problem.target
    worst = int(np.argmax(half))
    if not half[worst] > max(
        OPEN_RANGE_SHARE * float(np.ptp(compared)), BEYOND_ROWS_RATIO * float(np.max(at_rows))
    ):
        return []
    single = [i for block in blocks for i in block if len(block) == 1]
    point = ", ".join(f"{law.variables[i].name} = {points[i, worst]:.3g}" for i in single)
    low, high = values[worst] - half[worst], values[worst] + half[worst]
    if problem.objective.log:
        low, high = (values[worst] * np.exp(sign * half[worst]) for sign in (-1, 1))
    is_finite = np.isfinite(half[worst]) and low < high  # equal if both underflow
    range_text = f"from {low:.3g} to {high:.3g}" if is_finite else "anything"
    message = (
        "predictions away from the rows are open, though each variable stays in its range: "
        f"{law.output} at {point} is {range_text} ({100 * INTERVAL_LEVEL:g} %)"
    )
    help = (
        "measure at combinations that lie off the line of the rows, or predict near the rows only"
    )
    return [Diagnostic("F0131", message, "warning", help=help)]
