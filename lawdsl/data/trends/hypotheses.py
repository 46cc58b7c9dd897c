"""Claims of a law -> those that a table can test: signs of derivatives of the output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.data.binding import Runs
from lawdsl.data.row_filter import ORDER_RELATIONS
from lawdsl.language import tree
from lawdsl.language.constants import TooLarge, Undefined, value
from lawdsl.language.symbols import Claim
from lawdsl.law.law import Law

FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Slope:
    """The claim that `sense` times the derivative of the output with respect to these variables is
    nonnegative.
    """

    wrt: tuple[str, ...]
    sense: int


def claimed_slope(law: Law, claim: tree.Claim) -> Slope | None:
    """The sign of a derivative of the output that a claim states; None for other claims.

    Args:
        law: the law.
        claim: the claim.
    """
    match claim:
        case tree.TrendNode(tree.Name(of), word, name) if of == law.output:
            wrt = (tree.name_of(name),) * (2 if word in ("convex", "concave") else 1)
            return Slope(wrt, 1 if word in ("increasing", "convex") else -1)
        case tree.ComparisonNode(lhs, relation, rhs):
            if _number(law, lhs) == 0:
                lhs, relation, rhs = rhs, FLIPPED[relation], lhs
            sense = 1 if relation.startswith(">") else -1
            if isinstance(lhs, tree.Negative):
                lhs, sense = lhs.operand, -sense
            if isinstance(lhs, tree.Derivative) and lhs.of == law.output and _number(law, rhs) == 0:
                return Slope(tuple(map(tree.name_of, lhs.wrt)), sense)
    return None


def why_untestable(law: Law, slope: Slope, claim: Claim) -> str:
    """The reason why a table of the law's variables cannot test a claim; empty where it can.

    Args:
        law: the law.
        slope: the sign of a derivative that it states.
        claim: the claim.
    """
    names = {q.name for q in law.variables}
    for name in (*slope.wrt, *(tree.name_of(name) for name, _ in claim.conditions)):
        if name not in names:
            return f"{name} is not a variable"
    if len(slope.wrt) > 2:
        return f"a derivative of order {len(slope.wrt)}"
    limits = [limit for _, relations in claim.conditions for _, limit in relations]
    return (
        ""
        if all(_number(law, limit) is not None for limit in limits)
        else "its condition has no value"
    )


def rows_of_claim(law: Law, claim: Claim, runs: Runs) -> NDArray[np.bool_]:
    """The mask of the rows that satisfy the conditions of a claim, shape (rows,).

    Args:
        law: the law.
        claim: the claim.
        runs: the rows, bound to the law.
    """
    names = [q.name for q in law.variables]
    met = np.ones(runs.columns.shape[1], dtype=bool)
    for name, relations in claim.conditions:
        column = runs.columns[names.index(tree.name_of(name))]
        for relation, limit in relations:
            met &= ORDER_RELATIONS[relation](column, _number(law, limit))
    return met


def _number(law: Law, formula: tree.Formula) -> float | None:
    """The value of a formula of numbers and settings; None where it has none."""
    try:
        number = value(formula, {s.name: s.value for s in law.settings})
    except (Undefined, TooLarge):
        return None
    return None if number is None else float(number)
