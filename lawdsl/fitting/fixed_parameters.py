"""Law + fitted values -> the values of its fixed and tied parameters, and the errors of tied ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from lawdsl.core.lazy_modules import lazy_module
from lawdsl.core.records import read
from lawdsl.fitting.intervals.covariance import Covariance
from lawdsl.fitting.preparation.cached_algebra import CachedAlgebra, algebra_at
from lawdsl.fitting.result_parts import FixedParameter, Intervals, Parameter
from lawdsl.language import tree
from lawdsl.law.law import Law

if TYPE_CHECKING:
    import sympy as sp
else:
    sp = lazy_module("sympy")

_Slopes = tuple[tuple[str, float, Mapping[str, float]], ...]

# numbers of a parameter between its value and each end, and how far those towards infinity go
POINTS, FAR = 33, 1e6


def fixed_values(law: Law, values: Mapping[str, float]) -> dict[str, FixedParameter]:
    """Evaluate the fixed and tied parameters of a law, in the order of their declarations.

    Args:
        law: a law with fixed or tied parameters.
        values: parameter name -> fitted value.
    """
    values_of_fixed = {}
    ties, fixed = law.ties, law.fixed
    tied: Mapping[str, float] = {}
    if ties:
        tied = algebra_at(law, values).get(
            "tied values",
            partial(_tied_values, law, values),
            dict,
            lambda content: {name: read(float, content[name]) for name in ties},
        )
    for name in law.declarations.symbols:
        if name in ties:
            values_of_fixed[name] = FixedParameter(tied[name], ties[name])
        elif name in fixed:
            values_of_fixed[name] = FixedParameter(fixed[name])
    return values_of_fixed


def _tied_values(law: Law, values: Mapping[str, float]) -> Mapping[str, float]:
    """Tied parameter -> its value."""
    point = _point(law, values)
    return {name: float(law.to_sympy(tree.Name(name)).xreplace(point)) for name in law.ties}


def _point(law: Law, values: Mapping[str, float]) -> dict[sp.Symbol, sp.Float]:
    """The values of settings and parameters, for substitution."""
    point = {q.symbol: sp.Float(q.value, 17) for q in law.settings if q.value is not None}
    return point | {law.symbols[name]: sp.Float(x, 17) for name, x in values.items()}


def with_tied_intervals(
    law: Law,
    parameters: Mapping[str, Parameter],
    intervals: Intervals,
    covariance: Covariance | None,
) -> Intervals:
    """The intervals, with those of tied parameters, and of those that follow from `identify`.

    A monotone function of one parameter has its interval. One of several has the error |∇g·F| of the
    delta method, F the factor of the covariance, and with delta intervals the interval of that error;
    with profiles, the distances of the ends of the parameters are combined as if they were errors, with
    the correlations of the covariance (Zou and Donner (2008), Statistics in Medicine 27). It has none
    where a parameter that it depends on has none, or with a bootstrap.

    Args:
        law: the law.
        parameters: the fitted parameters.
        intervals: their intervals.
        covariance: their covariance; None where there is none.
    """
    errors, ends = dict(intervals.errors), dict(intervals.ends)
    values = {name: parameter.value for name, parameter in parameters.items()}
    algebra = algebra_at(law, values)
    tied: _Slopes = ()
    if law.ties:
        compute = partial(_tied_slopes, law, values)
        tied = algebra.get("tied slopes", compute, list, partial(read, _Slopes))
    for name, value, slopes in tied:
        if any(part not in intervals.errors or part not in intervals.ends for part in slopes):
            continue
        if len(slopes) == 1:
            ((part, slope),) = slopes.items()
            images = _images(algebra, law, name, values, part, intervals.ends[part])
            if _is_monotone(images):
                errors[name] = abs(slope) * intervals.errors[part]
                ends[name] = min(images[0], images[-1]), max(images[0], images[-1])
        elif slopes and covariance is not None and intervals.method in ("delta", "profile"):
            gradient = np.array([[slopes.get(part, 0.0) for part in covariance.names]])
            error = float(covariance.errors(gradient)[0])
            half = covariance.quantile(intervals.level) * error
            low, high = half, half
            if intervals.method == "profile":
                low, high = _combined_distances(values, intervals.ends, covariance, slopes)
            if np.isfinite([half, low, high]).all():
                errors[name], ends[name] = error, (value - low, value + high)
    return replace(intervals, errors=errors, ends=ends)


def _combined_distances(
    values: Mapping[str, float],
    ends: Mapping[str, tuple[float, float]],
    covariance: Covariance,
    slopes: Mapping[str, float],
) -> tuple[float, float]:
    """The distances of both ends of a function of several parameters, from the ends of these."""
    numbers = [covariance.names.index(part) for part in slopes]
    matrix = covariance.covariance[np.ix_(numbers, numbers)]
    size = np.sqrt(np.diag(matrix))
    with np.errstate(all="ignore"):
        correlations = matrix / np.outer(size, size)
        below, above = np.array(
            [[values[p] - ends[p][0], ends[p][1] - values[p]] for p in slopes]
        ).T
        slope = np.array(list(slopes.values()))
        # a falling function has its lower end where its argument has the upper one
        low, high = np.where(slope > 0, [below, above], [above, below]) * slope
        return float(np.sqrt(low @ correlations @ low)), float(np.sqrt(high @ correlations @ high))


def _tied_slopes(law: Law, values: Mapping[str, float]) -> _Slopes:
    """Tied parameters, their values, and their slopes in the fitted parameters."""
    return tuple(_each_tied(law, values))


def _each_tied(
    law: Law, values: Mapping[str, float]
) -> Iterator[tuple[str, float, Mapping[str, float]]]:
    point = _point(law, values)
    fitted = {law.symbols[name]: name for name in values}
    for name in law.ties:
        formula = law.to_sympy(tree.Name(name))
        symbols = sorted(formula.free_symbols & fitted.keys(), key=str)
        slopes = {fitted[s]: float(formula.diff(s).xreplace(point)) for s in symbols}
        if all(np.isfinite(slope) for slope in slopes.values()):
            yield name, float(formula.xreplace(point)), slopes


def _images(
    algebra: CachedAlgebra,
    law: Law,
    name: str,
    values: Mapping[str, float],
    part: str,
    ends: tuple[float, float],
) -> tuple[float, ...]:
    """A tied parameter along the interval of the one that it depends on, from its lower end on; nan
    where it has no value.
    """
    return algebra.get(
        f"{name} along {part} from {ends[0]!r} to {ends[1]!r}",
        lambda: tuple(_computed_images(law, name, values, part, ends)),
        list,
        partial(read, tuple[float, ...]),
    )


def _computed_images(
    law: Law, name: str, values: Mapping[str, float], part: str, ends: tuple[float, float]
) -> list[float]:
    formula, value = law.to_sympy(tree.Name(name)), values[part]
    steps = np.linspace(0.0, 1.0, POINTS)
    far = max(abs(value), 1.0) * np.array([0.0, *np.geomspace(1e-3, FAR, POINTS - 1), np.inf])
    below, above = (
        far if np.isinf(end) else np.array([*(steps * abs(end - value))[:-1], abs(end - value)])
        for end in ends
    )
    images = []
    for x in (ends[0], *(value - below[1:-1][::-1]), *(value + above[:-1]), ends[1]):
        number = sp.Float(x, 17) if np.isfinite(x) else sp.oo * int(np.sign(x))
        image = formula.xreplace({**_point(law, values), law.symbols[part]: number})
        has_value = image.is_extended_real and image is not sp.nan
        images.append(float(image) if has_value else float("nan"))
    return images


def _is_monotone(images: Sequence[float]) -> bool:
    """Whether values along an interval only rise or only fall: a square has an extreme inside."""
    with np.errstate(invalid="ignore"):  # of two infinite values
        steps = np.diff(images)
    steps = steps[~np.isnan(steps)]
    known = not np.any(np.isnan(images))
    return known and bool(np.all(steps >= 0) or np.all(steps <= 0))
