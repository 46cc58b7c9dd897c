"""The claims of a law that a table can speak of: signs of derivatives of the output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.data.binding import Runs
from lawdsl.data.row_filter import RELATIONS
from lawdsl.language import tree
from lawdsl.language.constants import TooLarge, Undefined, value
from lawdsl.language.symbols import Claim
from lawdsl.law.law import Law

FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Slope:
    """`sense` times the derivative of the output by these variables is claimed not to be below 0."""

    by: tuple[str, ...]
    sense: int


def slope_of(law: Law, claim: tree.Claim) -> Slope | None:
    """What a claim says of a derivative of the output; None where it says something else."""
    match claim:
        case tree.TrendNode(tree.Name(of), word, name) if of == law.output:
            by = (tree.name_of(name),) * (2 if word in ("convex", "concave") else 1)
            return Slope(by, 1 if word in ("increasing", "convex") else -1)
        case tree.ComparisonNode(left, relation, right):
            if _number(law, left) == 0:
                left, relation, right = right, FLIPPED[relation], left
            sense = 1 if relation.startswith(">") else -1
            if isinstance(left, tree.Negative):
                left, sense = left.operand, -sense
            if (
                isinstance(left, tree.Derivative)
                and left.of == law.output
                and _number(law, right) == 0
            ):
                return Slope(tuple(map(tree.name_of, left.wrt)), sense)
    return None


def untold(law: Law, slope: Slope, claim: Claim) -> str:
    """Why no table of the law's variables can speak of a claim; empty where it can."""
    names = {q.name for q in law.variables}
    for name in (*slope.by, *(tree.name_of(name) for name, _ in claim.conditions)):
        if name not in names:
            return f"{name} is not a variable"
    if len(slope.by) > 2:
        return f"a derivative of order {len(slope.by)}"
    limits = [at for _, relations in claim.conditions for _, at in relations]
    return (
        "" if all(_number(law, at) is not None for at in limits) else "its condition has no value"
    )


def rows_of(law: Law, claim: Claim, runs: Runs) -> NDArray[np.bool_]:
    """The rows that meet the conditions of a claim, shape (rows,)."""
    names = [q.name for q in law.variables]
    found = np.ones(runs.columns.shape[1], dtype=bool)
    for name, relations in claim.conditions:
        column = runs.columns[names.index(tree.name_of(name))]
        for relation, at in relations:
            found &= RELATIONS[relation](column, _number(law, at))
    return found


def _number(law: Law, formula: tree.Formula) -> float | None:
    """The value of a formula of numbers and settings; None where it has none."""
    try:
        found = value(formula, {s.name: s.value for s in law.settings})
    except (Undefined, TooLarge):
        return None
    return None if found is None else float(found)
