"""The domain of an unknown, as relations and formulas -> numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import sympy as sp

from lawdsl.solving.inputs import evaluated

Values = Mapping[sp.Symbol, float]


def bounds_and_positivity(
    bounds: Sequence[tuple[str, sp.Expr]], values: Values
) -> tuple[float, float, bool]:
    """The range of an unknown, and whether it is always positive."""
    low, high, positive = -math.inf, math.inf, False
    for relation, limit in bounds:
        end = evaluated(limit, values)
        if relation.startswith(">"):
            low = max(low, end)
            positive |= end > 0 or (end == 0 and relation == ">")
        else:
            high = min(high, end)
    return low, high, positive


def strict_bounds(bounds: Sequence[tuple[str, sp.Expr]], values: Values) -> tuple[bool, bool]:
    """Whether the lower and the upper bound of an unknown are strict."""
    ends = [(relation, evaluated(limit, values)) for relation, limit in bounds]
    low = max((end for relation, end in ends if relation.startswith(">")), default=-math.inf)
    high = min((end for relation, end in ends if relation.startswith("<")), default=math.inf)
    return (">", low) in ends, ("<", high) in ends
