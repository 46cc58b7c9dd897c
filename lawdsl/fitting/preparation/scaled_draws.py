"""Plan + columns -> starting values scaled to the terms of the law on the data.

`start_scales` makes the plan, by algebra; here are numbers only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lawdsl.compiling.arrays import evaluate
from lawdsl.compiling.instructions import Tape
from lawdsl.fitting.preparation.start_plan import (
    Argument,
    Denominator,
    DomainEnd,
    Location,
    StartPlan,
    Step,
    Term,
)

Array = NDArray[np.float64]

MEASURED_ROWS = 64  # rows on which terms are evaluated
# smallest and largest spread of a term inside a function, over the rows
MIN_TERM_SPREAD, MAX_TERM_SPREAD = 0.03, 30.0
# largest spread of a sum of several terms
MAX_SUM_SPREAD = 5.0
# relative to the largest singular value: a combination of terms that varies less is rounding error
COMBINATION_RTOL = 1e-9
# the centre of an exponent is drawn within ± this: exp(3.5) is about 33
MAX_EXPONENT_CENTRE = 3.5


def draw_scaled_to_terms(
    plan: StartPlan,
    columns: Array,
    settings: Sequence[float],
    values: Array,
    rng: np.random.Generator,
) -> Array | None:
    """Draw values of the parameters, scaled to the terms of the law.

    Args:
        plan: how starts of the law are drawn.
        columns: its variables, shape (variables, rows).
        settings: the values of its settings.
        values: the values of the parameters whose scale the expression does not determine, shape
            (draws, parameters).
        rng: the random generator of the draws.

    Returns:
        Values, shape (draws, parameters); None if the expression determines no scale.
    """
    if plan.scales is None:
        return None
    rows = rng.permutation(columns.shape[1])[:MEASURED_ROWS]
    draws = _Draws(plan, columns[:, rows], settings, values.copy(), rng)
    draws.take(plan.scales)
    return draws.values if draws.drawn else None


class _Draws:
    """The values drawn so far, shape (draws, parameters)."""

    def __init__(
        self,
        plan: StartPlan,
        columns: Array,
        settings: Sequence[float],
        values: Array,
        rng: np.random.Generator,
    ) -> None:
        self.values, self.rng, self.drawn = values, rng, set[int]()
        self.domains = plan.domains
        self.rows = columns.shape[1] if len(columns) else 1
        self.inputs = [*columns, *map(np.array, settings)]

    def take(self, steps: Sequence[Step]) -> None:
        """Draw the parameters of some steps, one after another."""
        for step in steps:
            match step:
                case Argument():
                    self._scale_argument(step)
                case Location():
                    self._draw_location(step)
                case Denominator():
                    self._scale_denominator(step)

    def _scale_argument(self, argument: Argument) -> None:
        """Draw the coefficients of the terms inside a function."""
        functions: dict[int, Term] = {}
        for term in argument.terms:
            self.take(term.inside)
            if term.only is not None and term.only not in self.drawn:
                functions[term.only] = term
            else:
                self._scale_term(term)
        self._scale_sum(functions)
        for constant in argument.constants:
            if constant.parameter in self.drawn:
                continue
            others = np.mean(self._on_rows(constant.others), axis=1)
            centre = self.rng.uniform(-MAX_EXPONENT_CENTRE, MAX_EXPONENT_CENTRE, len(self.values))
            self._set(constant.parameter, (centre - others) / constant.slope)

    def _scale_sum(self, functions: dict[int, Term]) -> None:
        """Scale the sum of several functions of the data; similar functions, such as log(x) and its
        square, would otherwise get large values that cancel only by chance.
        """
        if len(functions) < 2:
            for term in functions.values():
                self._scale_term(term)
            return
        slopes = [term.slope for term in functions.values() if term.slope is not None]
        if len(slopes) < len(functions):
            return
        basis = np.stack([self._on_rows(slope)[0] for slope in slopes], axis=1)
        basis = basis - np.mean(basis, axis=0)
        scale = np.std(basis, axis=0)
        if not np.all(np.isfinite(scale)) or not np.all(scale > 0):
            return
        _, widths, directions = np.linalg.svd(basis / scale, full_matrices=False)
        significant = widths > COMBINATION_RTOL * widths[0]
        draws, count = len(self.values), int(significant.sum())
        size = np.exp(self.rng.uniform(np.log(MIN_TERM_SPREAD), np.log(MAX_SUM_SPREAD), (draws, 1)))
        # singular vectors have length 1 over all rows: the square root gives the sum the spread
        # `size`
        components = size * self.rng.normal(size=(draws, count)) * np.sqrt(len(basis) / count)
        values = (components / widths[significant]) @ directions[significant] / scale
        for number, value in zip(functions, values.T, strict=True):
            self._set(number, value)

    def _scale_term(self, term: Term) -> None:
        """Scale a term by drawing one of its factors."""
        factor = next((f for f in term.factors if f.parameter not in self.drawn), None)
        if factor is None:
            return
        spread, order = np.std(self._on_rows(factor.rest), axis=1), factor.power
        size = np.exp(
            self.rng.uniform(np.log(MIN_TERM_SPREAD), np.log(MAX_TERM_SPREAD), len(spread))
        )
        with np.errstate(all="ignore"):
            value = spread ** (-1 / order) * size ** np.sign(order)
        # with an even power the sign of the term does not depend on that of the factor
        if order % 2:
            value = value * self.rng.choice([-1.0, 1.0], len(spread))
        self._set(factor.parameter, value)

    def _draw_location(self, location: Location) -> None:
        """Draw a location within the data."""
        if location.parameter in self.drawn:
            return
        on_rows = self._on_rows(location.data)
        low, high = np.min(on_rows), np.max(on_rows)
        if np.isfinite(low + high) and low < high:
            draws = self.rng.uniform(low, high, len(self.values))
            self._set(location.parameter, -draws / location.factor)

    def _scale_denominator(self, denominator: Denominator) -> None:
        """Scale the terms with coefficients to the sum of the others."""
        scaled, others = {}, list[Tape]()
        for summand in denominator.summands:
            number = summand.coefficient
            if number is None or number in self.drawn or number in scaled:
                others.append(summand.value)
            else:
                scaled[number] = summand
        if not scaled or not others:
            return
        reference = np.mean(np.abs(sum(map(self._on_rows, others))), axis=1)
        for number, summand in scaled.items():
            assert summand.slope is not None
            slope = np.mean(np.abs(self._on_rows(summand.slope)), axis=1)
            size = self.rng.uniform(np.log(MIN_TERM_SPREAD), np.log(MAX_TERM_SPREAD), len(slope))
            with np.errstate(all="ignore"):
                value = reference / slope * np.exp(size)
            self._set(number, value * self.rng.choice([-1.0, 1.0], len(slope)))

    def _on_rows(self, tape: Tape) -> Array:
        """The values of a part of the expression for all draws, shape (draws, rows)."""
        inputs = [*self.inputs, *(column[:, None] for column in self.values.T)]
        return np.broadcast_to(evaluate(tape, inputs)[0], (len(self.values), self.rows))

    def _set(self, number: int, value: Array) -> None:
        """Set a parameter to those drawn values that are in its domain."""
        ends = self.domains[number]
        value = _with_sign_of_domain(ends, value)
        usable = np.isfinite(value) & is_inside(ends, value)
        self.values[usable, number] = value[usable]
        self.drawn.add(number)


def _with_sign_of_domain(ends: Sequence[DomainEnd], value: Array) -> Array:
    """Values with the sign of the domain, if that is one-sided."""
    if any(end.lower and end.is_beyond_zero for end in ends):
        return np.abs(value)
    if any(not end.lower and end.is_beyond_zero for end in ends):
        return -np.abs(value)
    return value


def is_inside(ends: Sequence[DomainEnd], value: Array) -> NDArray[np.bool_]:
    """Whether values are inside the bounds that are numbers, shape (draws,).

    Args:
        ends: the bounds of a parameter.
        value: its values, shape (draws,).
    """
    inside = np.ones(len(value), dtype=bool)
    for end in ends:
        if end.number is not None:
            inside &= value > end.number if end.lower else value < end.number
    return inside
