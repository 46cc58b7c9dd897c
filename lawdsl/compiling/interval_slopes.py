"""Tape -> certified slopes of its outputs, in Arb intervals that contain the exact values.

Griewank and Walther (2008), Evaluating Derivatives, chapter 3: reverse accumulation for a weighted
sum of the outputs, forward accumulation for affine outputs. Intervals: Johansson (2017), IEEE
Transactions on Computers 66.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from flint import arb
from numpy.typing import NDArray

from lawdsl.compiling.interval_derivatives import derivative
from lawdsl.compiling.interval_evaluation import VERIFICATION_BITS, evaluate
from lawdsl.compiling.intervals import (
    OPERATIONS,
    Interval,
    NoInterval,
    add,
    multiply,
    precision,
    sign_of,
)
from lawdsl.compiling.tape import Instruction, Tape
from lawdsl.core.functions import CHOICE, EXTREMA, FUNCTIONS

Array = NDArray[np.float64]

# Of an interval of relative width at most 2^-60 the midpoint, rounded to float64, is within 0.51 ulp.
MAX_RELATIVE_WIDTH_BITS = 60
KINKED = (CHOICE, *EXTREMA, *(name for name, row in FUNCTIONS.items() if not row.smooth))
ZERO, ONE = Interval(arb(0), arb(0)), Interval(arb(1), arb(1))


def reverse_slopes(
    tape: Tape, results: list[Interval | None], weights: Sequence[Interval], count: int
) -> list[Interval]:
    """The slopes of the weighted sum of the outputs by the first inputs (reverse accumulation).

    Args:
        tape: the compiled expressions.
        results: the value of each instruction; None where it has none.
        weights: the weights of the outputs.
        count: the number of inputs by which the slopes are, from the first.

    Raises:
        NoInterval: an operation without a certain slope.
    """
    adjoints = [ZERO] * len(tape.instructions)
    for weight, k in zip(weights, tape.outputs, strict=True):
        adjoints[k] = add(adjoints[k], weight)
    slopes = [ZERO] * count
    moving = _depends_on_unknowns(tape, count)
    for i in range(len(tape.instructions) - 1, -1, -1):
        step, adjoint = tape.instructions[i], adjoints[i]
        # 0 times an unbounded partial derivative would be undecided
        if adjoint == ZERO or not moving[i]:
            continue
        if step.op == "input":
            number = int(step.value)  # type: ignore[arg-type]
            slopes[number] = add(slopes[number], adjoint)
            continue
        for position, k in enumerate(step.arguments):
            if moving[k]:
                partial = _partial(step, position, results, require(results[i]))
                adjoints[k] = add(adjoints[k], multiply(adjoint, partial))
    return slopes


def affine_rows(
    tape: Tape, rows: Sequence[int], inputs: Sequence[float], count: int
) -> list[tuple[Array, float] | None]:
    """Give slopes and offsets of affine outputs, to within 0.51 ulp of float64.

    Forward accumulation stores for each instruction the slopes by the unknowns on which it depends,
    so that the work is proportional to the number of non-zero coefficients.

    Args:
        tape: the compiled expressions.
        rows: positions of outputs that are affine in the first inputs.
        inputs: a point, the unknowns first.
        count: the number of unknowns.

    Returns:
        For each row its slopes, shape (count,), and its offset; None where the enclosures are too
        wide at that point, as at a kink of a part.
    """
    slopes: dict[int, dict[int, Interval]] = {}
    affine: list[tuple[Array, float] | None] = []
    with precision(VERIFICATION_BITS):
        exact = [Interval(arb(value), arb(value)) for value in inputs]
        results = evaluate(tape, exact)
        for output in (tape.outputs[row] for row in rows):
            try:
                parts = _ancestors(tape, output)
                for i in (i for i in parts if i not in slopes):
                    slopes[i] = _forward_slopes(
                        tape.instructions[i], require(results[i]), results, slopes
                    )
                    slopes[i] = {k: slope for k, slope in slopes[i].items() if k < count}
                values = [require(results[i]) for i in parts]
                affine.append(_rounded_row(values, slopes[output], exact, count))
            except NoInterval:
                affine.append(None)
    return affine


def _ancestors(tape: Tape, output: int) -> list[int]:
    """An instruction and those on which it depends, in the order of the tape."""
    ancestors, waiting = {output}, [output]
    while waiting:
        new = set(tape.instructions[waiting.pop()].arguments) - ancestors
        ancestors |= new
        waiting += new
    return sorted(ancestors)


def _forward_slopes(
    step: Instruction,
    result: Interval,
    results: list[Interval | None],
    slopes: Mapping[int, Mapping[int, Interval]],
) -> dict[int, Interval]:
    """The slopes of an instruction by the inputs, from those of its arguments.

    Raises:
        NoInterval: it has no certain slope there.
    """
    if step.op == "input":
        return {int(step.value): ONE}  # type: ignore[arg-type]
    by_input: dict[int, Interval] = {}
    for position, k in enumerate(step.arguments):
        if not slopes[k]:
            continue
        if step.op in KINKED and _at_kink(step.op, [require(results[j]) for j in step.arguments]):
            raise NoInterval
        partial = _partial(step, position, results, result)
        for number, slope in slopes[k].items():
            by_input[number] = add(by_input.get(number, ZERO), multiply(partial, slope))
    return by_input


def _rounded_row(
    parts: Sequence[Interval], slopes: Mapping[int, Interval], point: Sequence[Interval], count: int
) -> tuple[Array, float] | None:
    """Slopes and offset of an affine function; None of wide intervals.

    Args:
        parts: values at a point, the last of them that of the function.
        slopes: those that are not 0.
        point: the point.
        count: of the unknowns.
    """
    coefficients, value = np.zeros(count), parts[-1]
    for k, slope in slopes.items():
        value = add(value, _negative(multiply(slope, point[k])))
        coefficients[k] = _rounded(slope)
    offset = _rounded(value)
    if value.low <= 0 <= value.high:  # 0.1 + 0.2 - 0.3
        size = max(abs(end) for part in parts for end in part if end.is_finite())
        # an interval about 0 has no relative width: it counts as 0 where its terms are far wider
        offset = (
            0.0
            if value.high - value.low <= size * arb(2) ** -MAX_RELATIVE_WIDTH_BITS
            else float("nan")
        )
    return (
        (coefficients, offset) if np.isfinite(coefficients).all() and np.isfinite(offset) else None
    )


def _at_kink(op: str, arguments: Sequence[Interval]) -> bool:
    """Whether a modulus, maximum or minimum may have a kink at a point."""
    if op not in EXTREMA:  # a choice changes with the sign of its first argument
        return sign_of(arguments[0]) not in (1, -1)
    chosen = arguments[_certain_extremum(op, arguments)]
    return any(
        other.low <= chosen.high and chosen.low <= other.high
        for other in arguments
        if other is not chosen
    )


def _rounded(x: Interval) -> float:
    """The float64 in the middle of a narrow interval; nan of one that is wider than rounding."""
    if x.low == x.high:
        return float(x.low)
    middle = ((x.low + x.high) / 2).mid()
    narrow = x.high - x.low <= abs(middle) * arb(2) ** -MAX_RELATIVE_WIDTH_BITS
    return float(middle) if narrow else float("nan")


def _depends_on_unknowns(tape: Tape, unknown_count: int) -> list[bool]:
    """For each instruction whether it depends on one of the first inputs."""
    depends: list[bool] = []
    for instruction in tape.instructions:
        is_unknown = instruction.op == "input" and int(instruction.value) < unknown_count  # type: ignore[arg-type]
        depends.append(is_unknown or any(depends[k] for k in instruction.arguments))
    return depends


def _partial(
    step: Instruction, position: int, results: list[Interval | None], result: Interval
) -> Interval:
    """The derivative of an operation by one of its arguments."""
    if step.op == "add":
        return ONE
    arguments = [require(results[k]) for k in step.arguments]
    if step.op == "multiply":
        product = ONE
        for k, factor in enumerate(arguments):
            # not the result divided by the factor, which may contain 0
            product = multiply(product, factor) if k != position else product
        return product
    if step.op == "power":
        base, exponent = arguments
        if position == 0:
            less = add(exponent, Interval(arb(-1), arb(-1)))
            return multiply(exponent, OPERATIONS["power"](base, less))
        return multiply(result, OPERATIONS["log"](base))
    if step.op == CHOICE:
        sign = sign_of(arguments[0])
        if sign not in (-1, 1):  # no slope is bounded over a jump
            raise NoInterval
        return ONE if position == (1 if sign == 1 else 2) else ZERO
    if step.op in EXTREMA:
        return ONE if position == _certain_extremum(step.op, arguments) else ZERO
    return derivative(step.op, arguments[0], result)


def _certain_extremum(op: str, arguments: Sequence[Interval]) -> int:
    """The position of the first argument that is certainly the extremum; NoInterval if none is."""
    for k, argument in enumerate(arguments):
        if op == "max" and all(
            argument.low >= other.high for other in arguments if other is not argument
        ):
            return k
        if op == "min" and all(
            argument.high <= other.low for other in arguments if other is not argument
        ):
            return k
    raise NoInterval


def require(value: Interval | None) -> Interval:
    """The interval itself.

    Raises:
        NoInterval: it is None.
    """
    if value is None:
        raise NoInterval
    return value


def _negative(x: Interval) -> Interval:
    return Interval(-x.high, -x.low)
