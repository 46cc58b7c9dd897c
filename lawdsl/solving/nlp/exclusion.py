"""A problem -> whether interval arithmetic on bisected boxes proves that no point is feasible.

A box is discarded where an enclosure of some constraint excludes 0 and all values below; otherwise
it is bisected (Moore, Kearfott and Cloud (2009), Introduction to Interval Analysis).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import sympy as sp
from flint import arb

from lawdsl.compiling.interval_evaluation import VERIFICATION_BITS
from lawdsl.compiling.intervals import precision
from lawdsl.solving.nlp.convexity import ranges
from lawdsl.solving.nlp.problem import NlpProblem

MAX_BOXES = 300  # largest number of boxes that are examined
TERM_RTOL = 1e-9  # relative to each term of a constraint: the rounding error of its constants
Box = Mapping[sp.Symbol, tuple[float, float]]


def is_infeasible(problem: NlpProblem, boxes: int = MAX_BOXES) -> bool:
    """Try to prove that no point of a problem is feasible.

    On each box some constraint must be violated wherever it is defined; a box on which no such
    constraint is found is bisected. A constraint counts as violated if sum_i t_i - TERM_RTOL sum_i
    |t_i| > 0 for its terms t_i, so that 0.1 + 0.2 <= 0.3 is not a contradiction.

    Args:
        problem: the problem, in the units of its expressions.
        boxes: the largest number of boxes that are examined.

    Returns:
        True if it is proved; False if it is not known.
    """
    if not problem.constraints:
        return False
    waiting: list[Box] = [problem.unknowns]
    for _ in range(boxes):
        if not waiting:
            return True
        # depth first: memory stays small, and a proof requires all boxes anyway
        box = waiting.pop()
        if _violates_constraint(problem, box):
            continue
        halves = _bisect(box)
        if halves is None:
            return False
        waiting += halves
    return not waiting


def _violates_constraint(problem: NlpProblem, box: Box) -> bool:
    every = [term for terms in problem.terms for term in terms]
    term_ranges = iter(ranges(every, box, problem.values))
    for constraint, terms in zip(problem.constraints, problem.terms, strict=True):
        of_constraint = [next(term_ranges) for _ in terms]
        finite_ranges = [term_range for term_range in of_constraint if term_range is not None]
        # a constraint that is undefined somewhere on the box cannot exclude it
        if len(finite_ranges) < len(of_constraint):
            continue
        with precision(VERIFICATION_BITS):
            least = sum((x.low - TERM_RTOL * abs(x.low) for x in finite_ranges), arb(0))
            most = sum((x.high + TERM_RTOL * abs(x.high) for x in finite_ranges), arb(0))
        if least > 0 or (constraint.equality and most < 0):
            return True
    return False


def _bisect(box: Box) -> list[Box] | None:
    """The two halves of a box, split across its widest side; None if it is too small."""
    widths = {symbol: _relative_width(*ends) for symbol, ends in box.items()}
    widest = max(widths, key=lambda symbol: widths[symbol])
    low, high = box[widest]
    cut = _bisection_point(low, high)
    # there is no float between neighbouring floats
    if not low < cut < high:
        return None
    return [{**box, widest: (low, cut)}, {**box, widest: (cut, high)}]


def _relative_width(low: float, high: float) -> float:
    """The width of a side; in logarithms if it is unbounded or ranges over decades."""
    if math.isinf(high - low):
        return math.inf
    size = max(abs(low), abs(high))
    return 0.0 if size == 0 else (high - low) / size * (1 + math.log2(1 + size))


def _bisection_point(low: float, high: float) -> float:
    if math.isinf(low) and math.isinf(high):
        return 0.0
    if math.isinf(high):
        return max(1.0, 4 * low) if low >= 0 else low / 4 if low < -1 else 1.0
    if math.isinf(low):
        return -_bisection_point(-high, math.inf)
    if low > 0 and high > 16 * low:
        # the square root of each, since the product of two large ends overflows
        return math.sqrt(low) * math.sqrt(high)
    return low + (high - low) / 2
