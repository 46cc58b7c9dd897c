"""A point and multipliers -> rigorous bounds of the violations and of the duality gap.

A search in float64 finds a point and its multipliers. Cancellation can cause arbitrarily large
errors in its values and slopes, so everything that is reported is recomputed in Arb intervals that
contain the exact values (Johansson (2017), IEEE Transactions on Computers 66): one evaluation of
the tape, and one reverse accumulation for the slopes of the Lagrangian.
"""

from __future__ import annotations

import math

import numpy as np
from flint import arb
from numpy.typing import NDArray

from lawdsl.compiling.interval_evaluation import VERIFICATION_BITS, evaluate
from lawdsl.compiling.interval_slopes import ONE, ZERO, require, reverse_slopes
from lawdsl.compiling.intervals import Interval, NoInterval, add, multiply, precision
from lawdsl.solving.nlp.problem import NlpProblem

Array = NDArray[np.float64]

# Relative to the range of the unknown: more than the rounding error of a tightened bound.
BOUND_WIDENING = 1e-6


def certain_violations(problem: NlpProblem, x: Array) -> Array:
    """Bound the violation of each constraint from above: max(c_k, 0), or |c_k| of an equality.

    Args:
        problem: the problem, in any units.
        x: the unknowns, shape (n,), in the units of the expressions.

    Returns:
        Shape (constraints,), in the units of the constraints; inf where no bound is known.
    """
    unscaled = problem.original or problem
    tape = unscaled.functions.tape
    with precision(VERIFICATION_BITS):
        results = evaluate(tape, _point_intervals(unscaled, x))
        constraint_values = [results[k] for k in tape.outputs[1:]]
        return np.array(
            [
                _violation(value, equality)
                for value, equality in zip(
                    constraint_values, unscaled.equality.tolist(), strict=True
                )
            ],
            dtype=np.float64,
        )


def certain_gap(problem: NlpProblem, x: Array, multipliers: Array) -> float | None:
    """Bound f(x) - min f from above, for a convex problem.

    A convex Lagrangian L = f + m·c is bounded below by its tangents, and m·c <= 0 wherever the
    constraints hold, so that min f >= min over the box of L(x) + grad L(x)·(z - x): weak duality
    (Boyd and Vandenberghe (2004), Convex Optimization, section 5.2.2) with the linear bound of
    Frank and Wolfe (1956). The bound is f(x) minus that minimum; it holds for any m with the right
    signs.

    Args:
        problem: a convex problem, in any units.
        x: the unknowns, shape (n,), in the units of the expressions.
        multipliers: the multipliers of the constraints, in these units; those of inequalities are
            >= 0.

    Returns:
        The bound, in the unit of the objective; None if no finite one is known.
    """
    unscaled = problem.original or problem
    tape = unscaled.functions.tape
    with precision(VERIFICATION_BITS):
        inputs = _point_intervals(unscaled, x)
        results = evaluate(tape, inputs)
        weights = [ONE, *(Interval(arb(m), arb(m)) for m in multipliers.tolist())]
        try:
            terms = [
                multiply(w, require(results[k]))
                for w, k in zip(weights, tape.outputs, strict=True)
                if w != ZERO
            ]
            slopes = reverse_slopes(tape, results, weights, len(x))
        except NoInterval:
            return None
        low, high = _widened_box(unscaled)
        bound = ZERO
        for term in terms:
            bound = add(bound, term)
        for slope, coordinate, a, b in zip(slopes, inputs, low, high, strict=False):
            displacement = Interval(
                (arb(a) - coordinate.low).lower(), (arb(b) - coordinate.low).upper()
            )
            bound = add(bound, multiply(slope, displacement))
        value = require(results[tape.outputs[0]])
        gap = (value.high - bound.low).upper()
        # outward rounding may make a gap of 0 negative
        return max(float(gap), 0.0) if gap.is_finite() else None


def _point_intervals(problem: NlpProblem, x: Array) -> list[Interval]:
    numbers = [*x.tolist(), *problem.values.values()]
    return [Interval(arb(value), arb(value)) for value in numbers]


def _widened_box(problem: NlpProblem) -> tuple[list[float], list[float]]:
    """Bounds implied by all conditions, widened by more than the rounding error of their
    computation: the duality bound remains valid on a larger box.
    """
    low, high = problem.polytope.tightened
    between = np.isfinite(low) & np.isfinite(high)
    with np.errstate(invalid="ignore"):
        size = np.where(between, high - low, np.maximum(np.abs(low), np.abs(high)))
    room = BOUND_WIDENING * np.where(np.isfinite(size), size, 0.0)
    return np.maximum(problem.low, low - room).tolist(), np.minimum(
        problem.high, high + room
    ).tolist()


def _violation(value: Interval | None, equality: bool) -> float:
    if value is None:
        return float("inf")
    most = max(float(value.high), -float(value.low)) if equality else float(value.high)
    return max(most, 0.0) if not math.isnan(most) else float("inf")
