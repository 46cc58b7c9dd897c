"""An answer with one unknown -> its derivatives, from the equations that hold there.

An answer x(s) satisfies F(x, s) = 0, where F is an active constraint, the goal's slope, or the
difference of two branches at a kink; by the implicit function theorem dx/ds = -F_s/F_x (Krantz and
Parks (2002), The Implicit Function Theorem). An answer at an end of the range does not move. Where
several of these coincide it follows one of them on one side and another on the other side, unless
all have equal derivatives: it then has no derivative.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.law.algebra import derivative
from lawdsl.solving.formulate.closed_form import try_algebra
from lawdsl.solving.inputs import evaluated
from lawdsl.solving.univariate.interval_functions import UnivariateExpression
from lawdsl.solving.univariate.kinks import COINCIDENCE_RTOL, is_root
from lawdsl.solving.univariate.line_functions import LineValues
from lawdsl.solving.univariate.state import SolverState, UnivariateSolution

Array = NDArray[np.float64]

MAX_TIES = 20  # greatest number of equally good points whose derivatives are compared
RATE_RTOL = 1e-6  # relative to the largest rate: rates that differ by no more agree


@dataclass(frozen=True)
class Root:
    """A root at the answer.

    Attributes:
        by_parameters: its derivative with respect to each fitted parameter, shape (parameters,).
        by_symbol: its derivative with respect to givens and settings; 0 by those that are missing.
        of_goal: whether the goal has a kink there.
    """

    by_parameters: Array
    by_symbol: Mapping[sp.Symbol, float]
    of_goal: bool = False


@dataclass(frozen=True)
class AnswerDerivatives:
    """The derivatives of an answer.

    Attributes:
        roots: what determines it.
        untied: symbols whose change may break a tie with another optimum.
    """

    roots: tuple[Root, ...]
    untied: frozenset[sp.Symbol] = frozenset()

    @property
    def at_kink(self) -> bool:
        """Whether the goal has a kink at the answer."""
        return any(root.of_goal for root in self.roots)

    def by_symbol(self, symbol: sp.Symbol) -> float | None:
        """The derivative of the unknown with respect to a given or setting; None where it has none,
        nan where it is unknown.
        """
        if symbol in self.untied:
            return None
        rates = [root.by_symbol.get(symbol, 0.0) for root in self.roots] or [math.nan]
        common = _common_rates(np.array(rates)[:, None])
        return rates[0] if len(rates) == 1 else None if common is None else float(common[0])

    def by_parameters(self) -> Array | None:
        """Its derivatives with respect to the fitted parameters, shape (parameters,); None where it
        has none.
        """
        return (
            _common_rates(np.array([root.by_parameters for root in self.roots]))
            if self.roots
            else None
        )


def _common_rates(rates: Array) -> Array | None:
    """The rates on which all roots agree, shape (roots, symbols); None where they differ."""
    if not np.isfinite(rates).all():
        return None
    spread = rates.max(axis=0) - rates.min(axis=0)
    first_rates: Array = rates[0]
    return first_rates if np.all(spread <= RATE_RTOL * np.abs(rates).max(axis=0)) else None


def answer_derivatives(state: SolverState, solution: UnivariateSolution) -> AnswerDerivatives:
    """Differentiate an answer with respect to givens, settings and fitted parameters.

    By the implicit function theorem a root x(s) of F(x, s) = 0 has dx/ds = -(dF/ds)/(dF/dx).

    Args:
        state: the question.
        solution: its answer.

    Returns:
        The derivatives, and the symbols by which ties with other optima break.
    """
    derivatives = AnswerDerivatives(tuple(roots_at(state, solution)))
    others = solution.minimum.others if solution.best is solution.minimum.best else ()
    if not others or _only_tie_is_mirror_image(state, solution):
        return derivatives
    symbols = list(state.formulated.names.values())
    goal_slopes = [_goal_slopes(state, solution, derivatives, symbols)]
    for other in others[:MAX_TIES]:
        which = tuple(solution.bounding[k] for k in other.constraints)
        other_solution = replace(solution, best=replace(other, constraints=which))
        goal_slopes.append(
            _goal_slopes(
                state,
                other_solution,
                AnswerDerivatives(tuple(roots_at(state, other_solution))),
                symbols,
            )
        )
    table = np.array(goal_slopes)
    spread = table.max(axis=0) - table.min(axis=0)
    agree = (spread <= RATE_RTOL * np.abs(table).max(axis=0)) & (len(others) <= MAX_TIES)
    return replace(
        derivatives, untied=frozenset(s for s, k in zip(symbols, agree, strict=True) if not k)
    )


@np.errstate(all="ignore")
def _goal_slopes(
    state: SolverState,
    solution: UnivariateSolution,
    derivatives: AnswerDerivatives,
    symbols: Sequence[sp.Symbol],
) -> list[float]:
    """The derivatives of the goal at a solution with respect to symbols; nan where it has none."""
    if not math.isfinite(solution.best.point):
        return [math.nan] * len(symbols)
    points = state.functions.evaluate(np.array([solution.best.point]), solution.values)
    size, slopes = abs(points.values[0, 0]), []
    for symbol in symbols:
        partial = 0.0
        if symbol in state.functions.others:
            partial = points.by_others[0, state.functions.others.index(symbol), 0]
        unknown_rate = derivatives.by_symbol(symbol)
        slope = (
            math.nan if unknown_rate is None else partial + points.by_unknown[0, 0] * unknown_rate
        )
        value = solution.values[symbol]
        rounding = value != 0 and abs(slope * value) <= COINCIDENCE_RTOL * size
        # a slope that cancels to rounding would differ from that of the tied answer
        slopes.append(0.0 if rounding else float(slope))
    return slopes


def _only_tie_is_mirror_image(state: SolverState, solution: UnivariateSolution) -> bool:
    """Whether the only tied optimum mirrors the answer, for all values of the symbols."""
    x, goal = state.unknown.symbol, state.functions.outputs[0]
    other_points = [other.point for other in solution.minimum.others]
    if (
        solution.best.constraints
        or any(tied.constraints for tied in solution.minimum.others)
        or len(other_points) > 1
    ):
        return False
    if not math.isclose(other_points[0], -solution.best.point, rel_tol=COINCIDENCE_RTOL):
        return False
    return try_algebra(lambda: sp.expand(goal.xreplace({x: -x}) - goal)) == 0


def roots_at(state: SolverState, solution: UnivariateSolution) -> Iterator[Root]:
    """Yield the equations that hold at an answer, with their derivatives.

    Args:
        state: the question.
        solution: its answer.

    Returns:
        An iterator over roots; empty for an answer on a plateau or from sampling.
    """
    if solution.best.kind in ("plateau", "sampled"):
        return
    x, best = np.array([solution.best.point]), solution.best
    points = state.functions.evaluate(x, solution.values)
    tolerance = COINCIDENCE_RTOL * _reference_scale(solution)
    equal = any(state.conditions[i].equality for i in best.constraints)
    margins = list(best.constraints)
    for i in solution.bounding:
        is_on = is_root(points.values[2 + i, 0], points.by_unknown[2 + i, 0], tolerance)
        margins += [i] * (is_on and i not in margins)
    yield from (_root_of_output(state, points, 2 + i) for i in margins)
    yield from _end_roots(state, solution, tolerance)
    kinked = False
    if state.kinks is not None:
        later = range(state.functions.count, len(state.functions.outputs))
        relevant = {0, *(2 + i for i in margins), *later}
        for kink in state.kinks.near(best.point, solution.values, tolerance):
            if len(best.sides) == 1 and best.kind == "stationary":
                relevant -= {0}  # the kink is of a branch that the goal does not take
            if kink.owners & relevant:
                kinked |= 0 in kink.owners & relevant
                slopes = kink.by_parameters, kink.by_others, kink.by_unknown
                yield _root(state, *slopes, of_goal=0 in kink.owners & relevant)
    if best.kind == "stationary":
        yield _root_of_output(state, points, 1)
    elif not equal and kinked:
        yield from _one_sided_slope_roots(state, solution, tolerance)
    elif not equal and is_root(points.values[1, 0], points.by_unknown[1, 0], tolerance):
        yield _root_of_output(state, points, 1)


def _reference_scale(solution: UnivariateSolution) -> float:
    """The scale with which a distance of the unknown is compared."""
    width = solution.domain.high - solution.domain.low
    return abs(solution.best.point) or (width if math.isfinite(width) else 1.0)


def _root_of_output(state: SolverState, line_values: LineValues, row: int) -> Root:
    """The derivatives of the root of an output."""
    slopes = line_values.by_parameters[row, :, 0], line_values.by_others[row, :, 0]
    return _root(state, *slopes, line_values.by_unknown[row, 0])


@np.errstate(all="ignore")  # a slope may be 0, or infinite
def _root(
    state: SolverState,
    by_parameters: Array,
    by_others: Array,
    by_unknown: float,
    of_goal: bool = False,
) -> Root:
    rates = dict(zip(state.functions.others, (-by_others / by_unknown).tolist(), strict=True))
    return Root(-by_parameters / by_unknown, rates, of_goal)


def _end_roots(
    state: SolverState, solution: UnivariateSolution, tolerance: float
) -> Iterator[Root]:
    """The ends of the range at the answer."""
    zeros = np.zeros(len(state.functions.parameters))
    for _, limit in state.unknown.bounds:
        if abs(evaluated(limit, solution.values) - solution.best.point) <= tolerance:
            free = sorted(limit.free_symbols, key=str)
            rates = {s: evaluated(derivative(limit, s), solution.values) for s in free}
            yield Root(zeros, rates)


def _one_sided_slope_roots(
    state: SolverState, solution: UnivariateSolution, tolerance: float
) -> Iterator[Root]:
    """The slopes of the goal that are 0 on one side of a kink."""
    slopes = [
        UnivariateExpression(side, state.unknown.symbol).slope.expression
        for side in solution.best.sides
    ]
    if not slopes:
        return
    line_values = state.functions.with_outputs(slopes).evaluate(
        np.array([solution.best.point]), solution.values
    )
    for row in range(len(slopes)):
        if is_root(line_values.values[row, 0], line_values.by_unknown[row, 0], tolerance):
            yield _root_of_output(state, line_values, row)
