"""Expressions and a box -> their curvature on it, by the rules of composition.

The curvature of each part follows from the range of its argument (rigorous intervals), and from
whether that argument is convex, concave, affine or log-convex: disciplined convex programming
(Grant, Boyd and Ye (2006)). A convex function may be +oo at an end of the box, a concave one -oo.
None means that the rules are not sufficient, not that the expression is neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

import sympy as sp
from flint import arb

from lawdsl.compiling.interval_evaluation import VERIFICATION_BITS, apply, constant
from lawdsl.compiling.intervals import (
    Interval,
    precision,
)
from lawdsl.compiling.tape import Instruction, Tape, compile_tape
from lawdsl.solving.nlp.dcp_rules import RULES, Curvature

CurvatureName = Literal["affine", "convex", "concave"]


def curvatures(
    expressions: Sequence[sp.Expr],
    unknowns: Mapping[sp.Symbol, tuple[float, float]],
    values: Mapping[sp.Symbol, float] | None = None,
) -> list[CurvatureName | None]:
    """The curvatures of expressions in all unknowns jointly, on a box.

    Equal subexpressions are analysed once.

    Args:
        expressions: the expressions.
        unknowns: their least and greatest values, which may be infinite.
        values: those of the other symbols.

    Returns:
        For each expression affine, convex or concave, as certified; None if the rules do not
        decide.

    Raises:
        LawdslError: an expression without a real value, or a symbol without a value.
    """
    return [
        _curvature_name(curvature)
        for curvature in _all_curvatures(expressions, unknowns, values or {})
    ]


def ranges(
    expressions: Sequence[sp.Expr],
    unknowns: Mapping[sp.Symbol, tuple[float, float]],
    values: Mapping[sp.Symbol, float],
) -> list[Interval | None]:
    """Enclose the values of expressions on a box.

    Args:
        expressions: the expressions.
        unknowns: their least and greatest values, which may be infinite.
        values: those of the other symbols.

    Returns:
        For each expression an interval that contains all its values; None if none is known, or the
        expression is undefined somewhere.
    """
    return [curvature.range for curvature in _all_curvatures(expressions, unknowns, values)]


def _all_curvatures(
    expressions: Sequence[sp.Expr],
    unknowns: Mapping[sp.Symbol, tuple[float, float]],
    constants: Mapping[sp.Symbol, float],
) -> list[Curvature]:
    tape = _compiled(tuple(expressions), (*unknowns, *constants))
    with precision(VERIFICATION_BITS):
        boxes = [Interval(arb(low), arb(high)) for low, high in unknowns.values()]
        boxes += [Interval(arb(value), arb(value)) for value in constants.values()]
        per_step: list[Curvature] = []
        for step in tape.instructions:
            per_step.append(_step_curvature(step, boxes, [per_step[k] for k in step.arguments]))
    return [per_step[k] for k in tape.outputs]


@lru_cache(maxsize=32)
def _compiled(expressions: tuple[sp.Expr, ...], inputs: tuple[sp.Symbol, ...]) -> Tape:
    return compile_tape(expressions, inputs)


def _curvature_name(curvature: Curvature) -> CurvatureName | None:
    if curvature.affine:
        return "affine"
    return "convex" if curvature.convex else "concave" if curvature.concave else None


def _step_curvature(
    step: Instruction, boxes: Sequence[Interval], arguments: list[Curvature]
) -> Curvature:
    if step.op == "input":
        return _input_curvature(boxes[step.value])  # type: ignore[index]
    if step.op == "constant":
        return _constant_curvature(constant(step.value))
    value_range = apply(step.op, [x.range for x in arguments])
    if value_range is None:
        return Curvature(None)
    # a part with a single value on the whole box is a constant, whatever it consists of
    if value_range.low == value_range.high or all(x.fixed for x in arguments):
        return _constant_curvature(value_range)
    return RULES[step.op](value_range, arguments)


def _input_curvature(value_range: Interval) -> Curvature:
    if value_range.low == value_range.high:
        return _constant_curvature(value_range)
    return Curvature(value_range, convex=True, concave=True)


def _constant_curvature(value_range: Interval) -> Curvature:
    return Curvature(
        value_range, convex=True, concave=True, log_convex=bool(value_range.low > 0), fixed=True
    )
