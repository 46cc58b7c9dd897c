"""An answer -> its derivative with respect to each given, and the response curve along the unknown.

An output y(x(s), s) has the total derivative dy/ds + (dy/dx) (dx/ds); dx/ds is implicit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.solving.result import Response, Sensitivity
from lawdsl.solving.uncertainty import interval
from lawdsl.solving.univariate.implicit_derivatives import AnswerDerivatives
from lawdsl.solving.univariate.kinks import COINCIDENCE_RTOL
from lawdsl.solving.univariate.line_functions import LineValues
from lawdsl.solving.univariate.roots import UnknownRange
from lawdsl.solving.univariate.state import SolverState, UnivariateSolution

Array = NDArray[np.float64]

RESPONSE_STEPS = 9  # points of a response curve, besides the answer


def sensitivities(
    state: SolverState,
    line_values: LineValues,
    solution: UnivariateSolution,
    derivatives: AnswerDerivatives,
) -> Iterator[Sensitivity]:
    """Yield the derivatives of the answer with respect to each given and setting, where they exist.

    Args:
        state: the question.
        line_values: the formulas at the answer.
        solution: the answer.
        derivatives: the derivatives of the unknown.

    Returns:
        An iterator over sensitivities; empty for an answer on a plateau or from sampling.
    """
    if solution.best.kind in ("plateau", "sampled"):
        return  # the place is one of many, or not certain
    for name, symbol, partial in _symbols_with_partials(state, line_values):
        unknown_rate = derivatives.by_symbol(symbol)
        if unknown_rate is None:
            continue
        with np.errstate(all="ignore"):
            output_rates = partial + line_values.by_unknown[:, 0] * unknown_rate
        if not np.isfinite([unknown_rate, output_rates[0]]).all():
            continue
        if name not in state.formulated.givens and not unknown_rate and not output_rates[0]:
            continue  # a setting that nothing depends on
        unknowns = {state.unknown.name: float(unknown_rate) + 0.0}
        for i, other in enumerate(state.followers):
            unknowns[other.name] = float(output_rates[state.functions.count + i])
        yield Sensitivity(
            name, solution.values[symbol], unknowns, state.formulated.sign * float(output_rates[0])
        )


def describe_missing_derivatives(
    state: SolverState,
    line_values: LineValues,
    solution: UnivariateSolution,
    derivatives: AnswerDerivatives,
) -> Iterator[str]:
    """Yield a line that names the givens by which the answer has no derivative.

    Args:
        state: the question.
        line_values: the formulas at the answer.
        solution: the answer.
        derivatives: the derivatives of the unknown.

    Returns:
        An iterator over at most one line.
    """
    if solution.best.kind in ("plateau", "sampled"):
        return
    without_derivative = {
        n: s
        for n, s, _ in _symbols_with_partials(state, line_values)
        if derivatives.by_symbol(s) is None
    }
    names = [name for name in without_derivative if name in state.formulated.givens]
    if names:
        reason = "conditions that move apart coincide there"
        if derivatives.untied & set(without_derivative.values()):
            reason = "another choice is as good"
        yield f"no derivative by {', '.join(names)} at {state.unknown.name} = {solution.best.point:.6g}: {reason}"


def _symbols_with_partials(
    state: SolverState, line_values: LineValues
) -> Iterator[tuple[str, sp.Symbol, Array]]:
    """The givens and settings that may move an answer, and the derivatives of the formulas with
    respect to each, the unknown being fixed.
    """
    for name, symbol in state.formulated.names.items():
        if symbol in state.functions.others:
            yield name, symbol, line_values.by_others[:, state.functions.others.index(symbol), 0]
        elif any(symbol in limit.free_symbols for _, limit in state.unknown.bounds):
            yield name, symbol, np.zeros(len(line_values.values))


def response_curve(state: SolverState, solution: UnivariateSolution) -> Iterator[Response]:
    """Yield the goal and the constraints at some values of the unknown, the answer among them.

    Args:
        state: the question.
        solution: the answer.

    Returns:
        An iterator over points with finite goal, in ascending order of the unknown.
    """
    x = _response_grid(solution.domain, solution.best.point)
    line_values = state.functions.evaluate_exactly(x, solution.values)
    half = state.noise.half_widths(line_values.by_parameters[0], solution.level)
    others = [unknown.name for unknown in state.followers]
    for n, point in enumerate(x):
        value = float(line_values.values[0, n])
        if not math.isfinite(value):
            continue
        value = state.formulated.sign * value + 0.0  # no -0
        follow = line_values.values[state.functions.count :, n]
        named = {
            state.unknown.name: float(point),
            **dict(zip(others, map(float, follow), strict=True)),
        }
        margins = {
            c.text: 0.0
            if _is_active_at(i, point, solution)
            else float(line_values.values[2 + i, n])
            for i, c in enumerate(state.conditions)
            if not c.law and not c.equality
        }
        ends = None if _has_kink(state, solution, point) else interval(value, float(half[n]))
        yield Response(named, value, ends, margins)


def _has_kink(state: SolverState, solution: UnivariateSolution, point: float) -> bool:
    """Whether the goal has a kink at a value of the unknown, and no slope with respect to the fits."""
    kinks = (
        state.kinks.near(point, solution.values, COINCIDENCE_RTOL * abs(point))
        if state.kinks
        else []
    )
    return any(0 in kink.owners for kink in kinks)


def _is_active_at(i: int, point: float, solution: UnivariateSolution) -> bool:
    """Whether a value of the unknown is the answer and a constraint is active there."""
    return bool(point == solution.best.point and i in solution.best.constraints)


def _response_grid(domain: UnknownRange, best: float) -> NDArray[np.float64]:
    """Round values of the unknown over its range, and the answer."""
    low, high = domain.low, domain.high
    if math.isinf(low) or math.isinf(high):
        if best > 0 and low >= 0:
            x = best * np.array([0.1, 0.2, 0.4, 0.6, 0.8, 1.25, 1.7, 2.5, 5.0, 10.0])
        else:
            x = best + np.linspace(-1, 1, RESPONSE_STEPS) * max(abs(best), 1.0)
        x = np.array([float(f"{v:.2g}") for v in x])
    else:
        x = low + (high - low) * np.linspace(0, 1, RESPONSE_STEPS + 2)
        x = np.array([float(f"{v:.4g}") for v in x])
    x = x[(x >= low) & (x <= high)]
    x = x[(x > low) | (not domain.low_open)]
    x = x[(x < high) | (not domain.high_open)]
    grid: NDArray[np.float64] = np.unique(np.append(x, best))
    return grid
