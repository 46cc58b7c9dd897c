"""An answer -> warnings about laws that are evaluated beyond their fitted rows.

As for predictions, a value known within 2 %, at 95 %, needs no warning.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.distributions import student_quantile
from lawdsl.fitting.extrapolation.horizon import LEVEL
from lawdsl.fitting.extrapolation.range_warnings import departure_warning, known_departures, outside
from lawdsl.solving.formulate.problem import FormulatedQuestion, LawInput
from lawdsl.solving.law_error.law_values import PointValues

Array = NDArray[np.float64]
Values = Mapping[sp.Symbol, float]


def leaves_rows(formulated: FormulatedQuestion, values: Values) -> bool:
    """Whether some fitted law is evaluated outside its measured ranges.

    Args:
        formulated: the question.
        values: symbol -> value of all symbols, unknowns at the answer.
    """
    for inputs in _calls(formulated, values).values():
        for law_input, value in inputs:
            assert law_input.source.fit is not None
            ranges = law_input.source.fit.data.ranges
            if outside(np.array([value]), ranges[law_input.quantity.name])[0]:
                return True
    return False


def departure_warnings(
    formulated: FormulatedQuestion,
    values: Values,
    at: PointValues | None,
    discrepancy: float | Literal["learned"] | None,
) -> Iterator[Diagnostic]:
    """At most one warning (F0109) for each call of a law.

    Args:
        formulated: the question.
        values: symbol -> value of all symbols, unknowns at the answer.
        at: the laws at these values, with the covariance of their errors; None if that is not
            known.
        discrepancy: the error of the laws, as for `Asked.answer`.
    """
    widths = None if at is None else _half_widths(at)
    for number, inputs in _calls(formulated, values).items():
        source = inputs[0][0].source
        assert source.fit is not None
        found, widest = known_departures(
            [law_input.quantity for law_input, _ in inputs],
            np.array([[value] for _, value in inputs]),
            source.fit.data.ranges,
            None if widths is None else widths[[number]],
        )
        if found:
            advice = source.fit.advice_beyond(widest, discrepancy)
            yield from (replace(d, place=source.use) for d in departure_warning(found, advice))


def _calls(
    formulated: FormulatedQuestion, values: Values
) -> dict[int, list[tuple[LawInput, float]]]:
    """Index of a call of a fit -> its variables that have a measured range, with their values."""
    calls: dict[int, list[tuple[LawInput, float]]] = {}
    inputs = zip(formulated.law_inputs, formulated.law_input_values(values), strict=True)
    for law_input, value in inputs:
        fit = law_input.source.fit
        if fit is None or law_input.quantity.name not in fit.data.ranges or math.isnan(value):
            continue
        calls.setdefault(law_input.call, []).append((law_input, value))
    return calls


def _half_widths(at: PointValues) -> Array:
    """The half-width of the 95 % interval of each call at the only point, in the logarithm, shape
    (calls,); infinite if the rows do not determine it.
    """
    widths = np.empty(len(at.values))
    deviations = at.deviations[:, 0]
    for fit in at.laws.fits:
        for number in fit.calls:
            half = student_quantile((1 + LEVEL) / 2, fit.dof) * deviations[number]
            value = at.values[number, 0]
            if not fit.of_logs:
                half = math.log1p(half / abs(value)) if value else math.inf
            widths[number] = half if math.isfinite(value) else math.inf
    return widths
