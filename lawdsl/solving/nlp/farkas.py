"""Affine constraints and weights -> whether these prove a contradiction, in exact arithmetic.

If sum_k w_k c_k(x) > 0 on the whole box of the unknowns, with w_k >= 0 for conditions c_k <= 0 and
any w_k for equations c_k = 0, then no point satisfies them all (the lemma of Farkas (1902), Journal
fuer die reine und angewandte Mathematik 124). A linear programme proposes the weights in float64.
Here coefficients are converted to fractions, so that unknowns without a bound cancel exactly, and
the remainder is summed in Arb intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp
from flint import arb
from numpy.typing import NDArray

from lawdsl.compiling.interval_evaluation import VERIFICATION_BITS, evaluate
from lawdsl.compiling.intervals import Interval, as_interval, precision
from lawdsl.compiling.tape import compile_tape
from lawdsl.solving.nlp.problem import NlpProblem

Array = NDArray[np.float64]
Bounds = list[tuple[float, float]]

ZERO_WEIGHT_SHARE = 1e-12  # relative to the largest share: a smaller one is rounding error


def is_farkas_certificate(
    problem: NlpProblem, rows: Sequence[int], weights: Array, sizes: Array | None = None
) -> bool:
    """Verify that a weighted sum of affine constraints proves that no point satisfies them.

    Args:
        problem: the problem in the units of its expressions.
        rows: positions of constraints that are affine.
        weights: an approximate weight for each row, shape (rows,); those of inequalities are >= 0.
        sizes: the size of the terms of each row, shape (rows,), relative to which its weight is
            tested for 0; 1 if not given.

    Returns:
        True if it is proved; False if it is not known.
    """
    shares = np.abs(weights) * (1.0 if sizes is None else sizes)
    largest = float(np.max(shares, initial=0.0))
    if not 0 < largest < np.inf:
        return False
    used = [k for k in range(len(rows)) if shares[k] > ZERO_WEIGHT_SHARE * largest]
    numbers = [rows[k] for k in used]
    # the floats proposed by the linear programme are used as they are: any weights can serve for a
    # proof
    exact = [Fraction(float(weights[k])) for k in used]
    unknowns = list(problem.unknowns)
    slopes = [_slopes(problem, number, unknowns) for number in numbers]
    if any(slope is None for row in slopes for slope in row):
        return False
    matrix = [[slope for slope in row if slope is not None] for row in slopes]
    ends = list(problem.unknowns.values())
    balanced = _cancel_unbounded(matrix, exact, ends)
    signs = [problem.constraints[number].equality for number in numbers]
    # the cancellation may have made the weight of an inequality negative
    if balanced is None or any(
        w < 0 and not equal for w, equal in zip(balanced, signs, strict=True)
    ):
        return False
    return _lower_bound(problem, numbers, matrix, balanced, ends) > 0


def _slopes(
    problem: NlpProblem, number: int, unknowns: Sequence[sp.Symbol]
) -> list[Fraction | None]:
    """The coefficients of an affine constraint; None for one that is not a fraction."""
    constants = {s: sp.Rational(v) for s, v in problem.values.items() if np.isfinite(v)}
    expression = problem.constraints[number].expression
    coefficients: list[Fraction | None] = []
    for unknown in unknowns:
        slope = sp.expand(sp.diff(expression, unknown).xreplace(constants))
        coefficients.append(Fraction(int(slope.p), int(slope.q)) if slope.is_Rational else None)
    return coefficients


def _cancel_unbounded(
    matrix: list[list[Fraction]], weights: list[Fraction], ends: Bounds
) -> list[Fraction] | None:
    """Weights close to the given ones with which the sum does not decrease along unbounded
    unknowns; else None.
    """
    endless: list[int] = []
    for _ in range(len(ends) + 1):
        more = [i for i in _unbounded(matrix, weights, ends) if i not in endless]
        if not more:
            return None if _unbounded(matrix, weights, ends) else weights
        endless += more
        system = sp.Matrix([[_rational(row[i]) for row in matrix] for i in endless])
        reduced, pivots = system.rref()
        adjusted = list(weights)
        for row_number, pivot in enumerate(pivots):
            free = (k for k in range(len(weights)) if k not in pivots)
            adjusted[pivot] = -sum(
                (_fraction(reduced[row_number, k]) * weights[k] for k in free), Fraction(0)
            )
        weights = adjusted
    return None


def _unbounded(matrix: list[list[Fraction]], weights: list[Fraction], ends: Bounds) -> list[int]:
    """The unknowns along which the weighted sum has no lower bound."""
    unbounded = []
    for i, (low, high) in enumerate(ends):
        slope = sum((w * row[i] for w, row in zip(weights, matrix, strict=True)), Fraction(0))
        if (slope > 0 and np.isinf(low)) or (slope < 0 and np.isinf(high)):
            unbounded.append(i)
    return unbounded


def _lower_bound(
    problem: NlpProblem,
    numbers: Sequence[int],
    matrix: list[list[Fraction]],
    weights: list[Fraction],
    ends: Bounds,
) -> Any:
    """A lower bound on the weighted sum over the box; -1 if none is known."""
    unknowns = list(problem.unknowns)
    # an affine function is determined by its value at any point and its slopes; 0 has the smallest
    # rounding error
    start = [Fraction(min(max(0.0, low), high)) for low, high in ends]
    inputs = [*start, *(Fraction(v) for v in problem.values.values())]
    tape = compile_tape(
        [problem.constraints[k].expression for k in numbers], [*unknowns, *problem.values]
    )
    with precision(VERIFICATION_BITS):
        results = evaluate(tape, [as_interval(value) for value in inputs])
        total: Any = arb(0)
        for weight, output in zip(weights, tape.outputs, strict=True):
            value = results[output]
            if value is None:
                return arb(-1)
            factor = as_interval(weight)
            total += _product_lower_bound(factor, value)
        for i, (low, high) in enumerate(ends):
            slope = sum((w * row[i] for w, row in zip(weights, matrix, strict=True)), Fraction(0))
            if slope:
                distance = Fraction(low if slope > 0 else high) - start[i]
                total += as_interval(slope * distance).low
        return total.lower()


def _product_lower_bound(weight: Interval, value: Interval) -> Any:
    """A lower bound on a product."""
    return min((a * b).lower() for a in weight for b in value)


def _rational(value: Fraction) -> sp.Rational:
    return sp.Rational(value.numerator, value.denominator)


def _fraction(value: sp.Rational) -> Fraction:
    return Fraction(int(value.p), int(value.q))
