"""Whether no point of a box keeps all constraints, for certain: intervals on smaller and smaller boxes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import sympy as sp

from lawdsl.solving.several.convexity import ranges
from lawdsl.solving.several.problems import Problem

BOXES = 300  # that are looked at, at most
Box = Mapping[sp.Symbol, tuple[float, float]]


def no_point(problem: Problem, least: Sequence[float]) -> bool:
    """Whether it is proved that no point is feasible; False says nothing.

    On each box some constraint must be violated wherever it has a value; a box on which none is
    known to be is halved.

    Args:
        problem: the problem.
        least: for each constraint, the violation that rounding may cause.
    """
    expressions = [c.expression for c in problem.constraints]
    boxes: list[Box] = [problem.unknowns]
    for _ in range(BOXES):
        if not boxes:
            return True
        box = boxes.pop()
        if _violated(problem, expressions, box, least):
            continue
        halves = _halved(box)
        if halves is None:
            return False
        boxes += halves
    return not boxes


def _violated(
    problem: Problem, expressions: list[sp.Expr], box: Box, least: Sequence[float]
) -> bool:
    found = ranges(expressions, box, problem.values)
    for constraint, within, by in zip(problem.constraints, found, least, strict=True):
        if within is None:
            continue
        if within.low > by or (constraint.equality and within.high < -by):
            return True
    return False


def _halved(box: Box) -> list[Box] | None:
    """Two halves of a box, across its widest side; None of one that is too small."""
    widths = {symbol: _width(*ends) for symbol, ends in box.items()}
    widest = max(widths, key=lambda symbol: widths[symbol])
    low, high = box[widest]
    cut = _middle(low, high)
    if not low < cut < high:
        return None
    return [{**box, widest: (low, cut)}, {**box, widest: (cut, high)}]


def _width(low: float, high: float) -> float:
    """How wide a side is: for ends without bound or over decades as for their logarithms."""
    if math.isinf(high - low):
        return math.inf
    size = max(abs(low), abs(high))
    return 0.0 if size == 0 else (high - low) / size * (1 + math.log2(1 + size))


def _middle(low: float, high: float) -> float:
    if math.isinf(low) and math.isinf(high):
        return 0.0
    if math.isinf(high):
        return max(1.0, 4 * low) if low >= 0 else low / 4 if low < -1 else 1.0
    if math.isinf(low):
        return -_middle(-high, math.inf)
    if low > 0 and high > 16 * low:
        return math.sqrt(low) * math.sqrt(high)
    return low + (high - low) / 2
