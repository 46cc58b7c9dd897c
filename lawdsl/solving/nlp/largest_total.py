"""Upper bounds of single unknowns -> the largest sum of them, such as that of capped shares."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import sympy as sp

from lawdsl.solving.formulate.problem import AlgebraicConstraint, Unknown
from lawdsl.solving.inputs import computed_at


def largest_total(
    margin: sp.Expr,
    conditions: Sequence[AlgebraicConstraint],
    unknowns: Sequence[Unknown],
    values: Mapping[sp.Symbol, float],
) -> float | None:
    """The largest sum of unknowns under the conditions on single unknowns, such as r <= cap.

    Args:
        margin: the margin of an equation, a sum of unknowns minus a number.
        conditions: all conditions.
        unknowns: the unknowns.
        values: symbol -> value of all symbols but the unknowns.

    Returns:
        The sum; None for another equation, or where one of its unknowns has no upper bound of its
        own.
    """
    symbols = [u.symbol for u in unknowns]
    terms = sp.Poly(margin, *symbols).as_dict() if margin.is_polynomial(*symbols) else {}
    used = [power for power in terms if sum(power)]
    same = {terms[power] for power in used}
    if not used or any(sum(power) != 1 for power in used) or not (same <= {1} or same <= {-1}):
        return None
    upper = dict.fromkeys((symbols[power.index(1)] for power in used), math.inf)
    for condition in conditions:
        free = condition.margin.free_symbols.intersection(symbols)
        if condition.equality or len(free) != 1:
            continue
        (symbol,) = free
        slope = sp.diff(condition.margin, symbol)
        if symbol in upper and slope == -1:
            bound = computed_at([condition.margin + symbol], values)[0]
            upper[symbol] = min(upper[symbol], bound)
    total = sum(upper.values())
    return total if math.isfinite(total) else None
