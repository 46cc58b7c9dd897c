"""Fit from a file + its law -> an error if its numbers are inconsistent.

Files may have been edited. The parameters must be in the domains of the law, the sums must be
consistent with each other, and the predictions with the stored ranges of the rows. Predictions,
questions and proofs all apply this check.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.core.diagnostics import LawdslError
from lawdsl.fitting.fit_record import FitRecord
from lawdsl.fitting.fixed_parameters import fixed_values
from lawdsl.fitting.preparation.build_problem import is_large, problem_of
from lawdsl.fitting.storage import altered
from lawdsl.law.law import Bound, Law, Quantity

Array = NDArray[np.float64]

# relative to the bound: a fit on an open bound other than 0 stores the rounded bound itself
BOUND_RTOL = 1e-9
# relative to the sum: two sums of the same residuals differ by less
SUM_RTOL = 1e-6
MAX_EXACT_ROWS = 2**53  # whole numbers up to here are exact in float64
# relative to the measurements: residuals of an exact fit, and their sums, are smaller
EXACT_RESIDUAL_RTOL = 1e-9


def check_stored(fit: FitRecord, law: Law) -> None:
    """Raise an error for a fit whose numbers are inconsistent with each other or with its law.

    Args:
        fit: as read from a file.
        law: its law, rebuilt from the file.

    Raises:
        LawdslError: F0108, with each inconsistency.
    """
    contradictions = [
        *domain_contradictions(fit, law),
        *_fixed_contradictions(fit, law),
        *_sum_contradictions(fit, law),
        *_interval_contradictions(fit),
        *_level_contradictions(fit),
        *_prior_contradictions(fit, law),
    ]
    # predictions are the expensive check, which is performed only if nothing else is wrong
    if not contradictions:
        contradictions = [*_prediction_contradictions(fit, law)]
    if contradictions:
        raise LawdslError(
            [d for contradiction in contradictions for d in altered(contradiction).diagnostics]
        )


def domain_contradictions(fit: FitRecord, law: Law) -> Iterator[str]:
    """Parameters outside of the domains that the law declares."""
    values = fit.values | {name: fixed.value for name, fixed in fit.held.items()}
    point = {s.symbol: s.value for s in law.settings if s.value is not None}
    point |= {law.symbols[name]: x for name, x in values.items() if name in law.symbols}
    for q in law.parameters:
        value = values[q.name]
        for bound in q.bounds:
            limit = _limit(bound, point)
            if limit is not None and not _satisfies(bound, value, limit):
                limit_text = "" if bound.limit.is_number else f" = {limit:.6g}"
                yield f"{q.name} = {value:.6g} lies outside the law's domain, {_bound_text(q, bound)}{limit_text}"


def _prior_contradictions(fit: FitRecord, law: Law) -> Iterator[str]:
    """Priors other than those of the law."""
    recorded = [] if fit.priors is None else [prior.text for prior in fit.priors.priors]
    if recorded != [prior.text for prior in law.priors]:
        yield "its priors are not those of its law"
    elif fit.priors is not None and not fit.priors.kappa > 0:
        yield "the noise that its priors are weighed against is not positive"


def _limit(bound: Bound, point: Mapping[sp.Symbol, float]) -> float | None:
    """Evaluate a bound as a float; None if it has no finite value."""
    try:
        limit = float(bound.limit.xreplace({s: sp.Float(x, 17) for s, x in point.items()}))
    except (TypeError, ValueError, OverflowError):
        return None
    return limit if math.isfinite(limit) else None


def _satisfies(bound: Bound, value: float, limit: float) -> bool:
    """Whether a value satisfies a bound, or equals it up to rounding."""
    inwards = value - limit if bound.lower else limit - value
    # at 0 a relative tolerance is 0: a rounded value retains its sign
    if limit == 0 and bound.relation in (">", "<"):
        return inwards > 0
    return inwards >= -BOUND_RTOL * abs(limit)


def _bound_text(q: Quantity, bound: Bound) -> str:
    return f"{q.name} {bound.relation} {bound.text}"


def _fixed_contradictions(fit: FitRecord, law: Law) -> Iterator[str]:
    """Fixed and tied parameters whose values differ from those that the law defines."""
    if is_large(law):
        return
    for name, expected in fixed_values(law, fit.values).items():
        stored = fit.held.get(name)
        if stored is None:
            yield f"it has no value of {name}, which the law holds"
        elif not math.isclose(stored.value, expected.value, rel_tol=SUM_RTOL, abs_tol=1e-300):
            yield f"{name} = {stored.value:.6g}, but the law holds it at {expected.value:.6g}"


def _sum_contradictions(fit: FitRecord, law: Law) -> Iterator[str]:
    """Sums and means of the residuals that are inconsistent."""
    objective, data = fit.objective, fit.data
    for name, (low, high) in data.ranges.items():
        if low > high:
            yield f"the range of {name} is from {low:.6g} to {high:.6g}"
    if (
        not 1 <= data.rows <= MAX_EXACT_ROWS
        or data.dropped < 0
        or not 0 <= fit.agreement.agreed <= fit.agreement.starts
    ):
        yield "its counts of rows or starts are impossible"
    # reported already; a product with such a count may overflow
    if data.rows > MAX_EXACT_ROWS:
        return
    totals = (objective, objective.log, objective.raw)
    if any(total.sum < 0 or total.mean < 0 for total in totals) or fit.metrics.mae < 0:
        yield "a sum of losses is below 0"
    if max(fit.metrics.r2, fit.metrics.r2_log, -math.inf) > 1 + EXACT_RESIDUAL_RTOL:
        yield "an R² is above 1"
    compared = objective.log if objective.of_logs else objective.raw
    rounding = _rounding_of_sums(fit, law)
    if not _are_equal_sums(compared.sum, objective.sum, rounding):
        yield (
            f"the objective is {objective.sum:.6g}, but that of its parameters is stored as "
            f"{compared.sum:.6g}"
        )
    if data.weights is None:
        for total in totals:
            if not _are_equal_sums(total.mean * data.rows, total.sum, rounding):
                yield f"a mean of {total.mean:.6g} over {data.rows} rows contradicts a sum of {total.sum:.6g}"


def _rounding_of_sums(fit: FitRecord, law: Law) -> float:
    """A sum of losses that can be due to rounding: it depends on the size of the output, not on the
    units of the variables.
    """
    size = 1.0
    if not fit.objective.of_logs:
        size = max(map(abs, fit.data.ranges.get(law.output, (1.0, 1.0))))
    return fit.data.rows * EXACT_RESIDUAL_RTOL * max(size, size**2) * EXACT_RESIDUAL_RTOL


def _are_equal_sums(one: float, other: float, least: float) -> bool:
    if not (math.isfinite(one) and math.isfinite(other)):
        return True  # an undefined sum contradicts nothing
    return abs(one - other) <= SUM_RTOL * max(abs(one), abs(other)) + least


def _interval_contradictions(fit: FitRecord) -> Iterator[str]:
    """Report intervals that do not contain their parameter, which is possible only with resamples."""
    intervals = fit.intervals
    for name, (low, high) in intervals.ends_with_law_error.items():
        inner = intervals.ends.get(name)
        if inner is None or not low <= inner[0] <= inner[1] <= high:
            yield f"its interval of {name} with the error of the law is narrower than without"
    values = fit.values | {name: fixed.value for name, fixed in fit.held.items()}
    for name, (low, high) in intervals.ends.items():
        value = values.get(name)
        if value is None:
            yield f"it has an interval of {name}, which is not a parameter"
            continue
        tolerance = BOUND_RTOL * max(abs(value), abs(low) if math.isfinite(low) else 0.0)
        if low > high or (
            intervals.method != "bootstrap" and not low - tolerance <= value <= high + tolerance
        ):
            yield f"{name} = {value:.6g} is not in its interval, {low:.6g} to {high:.6g}"


def _level_contradictions(fit: FitRecord) -> Iterator[str]:
    """Levels of intervals outside their permitted range."""
    if not 0 < fit.intervals.level < 1:
        yield f"{fit.intervals.level:g} is not the level of an interval"


def _prediction_contradictions(fit: FitRecord, law: Law) -> Iterator[str]:
    """Parameters that contradict the ranges of the rows and the mean absolute error.

    No residual exceeds the mean absolute error times the number of rows. There is a row at each end
    of the range of each variable, so the prediction of a law of one variable is known there up to
    that error. With several variables the rows may be anywhere in the box of the ranges: the
    enclosure of the law on this box, by interval arithmetic, must intersect the range of the output
    widened by that error.
    """
    data, names = fit.data, [q.name for q in law.variables]
    has_range = law.output in data.ranges and math.isfinite(fit.metrics.mae)
    if data.weights is not None or not names or not has_range or is_large(law):
        return
    if any("[" in name for name in names):
        return
    ends = [data.ranges[name] for name in names]
    low, high = data.ranges[law.output]
    tolerance = data.rows * fit.metrics.mae * (1 + SUM_RTOL) + SUM_RTOL * max(abs(low), abs(high))
    if len(names) == 1:
        worst = max(_end_predictions(fit, law, ends[0]), key=lambda y: max(low - y, y - high))
        is_contradicted, predicted_text = (
            worst > high + tolerance or worst < low - tolerance,
            f"= {worst:.6g}",
        )
    else:
        least, largest = _enclosure_on_box(fit, law, ends)
        is_contradicted = least > high + tolerance or largest < low - tolerance
        predicted_text = f"from {least:.6g} to {largest:.6g}"
    if is_contradicted:
        yield (
            f"its parameters give {law.output} {predicted_text} in the range of its rows, which have "
            f"{low:.6g} to {high:.6g} and a mean absolute error of {fit.metrics.mae:.3g}"
        )


@np.errstate(all="ignore")
def _end_predictions(fit: FitRecord, law: Law, ends: tuple[float, float]) -> list[float]:
    """The predictions at both ends of the range of the only variable, where they are finite."""
    theta = np.array([[fit.values[q.name] for q in law.parameters]])
    problem = problem_of(law, np.array([ends]), np.ones(2), law.objective)
    predicted = [float(y) for y in problem.predictions(theta)[0]]
    # comparisons with nan are false, so that an undefined law is not reported
    return predicted if all(map(math.isfinite, predicted)) else [math.nan]


def _enclosure_on_box(
    fit: FitRecord, law: Law, ends: list[tuple[float, float]]
) -> tuple[float, float]:
    """Bounds of the law on the box of its variables' ranges; infinite if none are known."""
    from flint import arb

    from lawdsl.compiling.interval_evaluation import Prepared
    from lawdsl.compiling.intervals import Interval, NoInterval
    from lawdsl.compiling.tape import compile_tape

    fixed = {law.symbols[q.name]: fit.values[q.name] for q in law.parameters}
    fixed |= {q.symbol: q.value for q in law.settings if q.value is not None}
    variables = [q.symbol for q in law.variables]
    boxes = [Interval(arb(low), arb(high)) for low, high in ends]
    try:
        tape = compile_tape([law.expression], [*variables, *fixed])
        points = [Interval(arb(x), arb(x)) for x in fixed.values()]
        constants = dict(enumerate(points, start=len(variables)))
        enclosure = Prepared(tape, constants).run([*boxes, *points])
    except NoInterval:
        return -math.inf, math.inf
    return float(enclosure.low), float(enclosure.high)
