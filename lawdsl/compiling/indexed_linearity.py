"""Law with index sets -> the parameters in which it is linear, from its syntax tree."""

from __future__ import annotations

from collections.abc import Set

from lawdsl.compiling.indexed_leaves import Leaves
from lawdsl.language import tree
from lawdsl.language.symbols import Declarations
from lawdsl.language.tree import Formula

NONLINEAR = 2  # stands for every degree above 1


def linear_in(leaves: Leaves) -> tuple[int, ...]:
    """Numbers of the free parameters in which a law is jointly linear: whole families, in the order
    of the declarations, without those that have two bounds."""
    declared = leaves.declared
    formula = declared.output.formula
    assert formula is not None
    families = [name.partition("[")[0] for name in leaves.parameters]
    chosen: set[str] = set()
    for name, symbol in declared.symbols.items():
        sides = {relation[0] for relation, _ in symbol.bounds}
        if name not in families or symbol.simplex or len(sides) > 1:
            continue
        if _degree(declared, formula, chosen | {name}) <= 1:
            chosen.add(name)
    chosen -= _tied_across(leaves)
    return tuple(k for k, family in enumerate(families) if family in chosen)


def _tied_across(leaves: Leaves) -> set[str]:
    """Families with an element that is tied to an element of another family."""
    tied: set[str] = set()
    for name, form in leaves.forms.items():
        families = {part.partition("[")[0] for part in (name, *form) if part}
        tied |= families if len(families) > 1 else set()
    return tied


def _degree(declared: Declarations, node: Formula, names: Set[str]) -> int:
    """The degree of a formula in some names: 0, 1, or NONLINEAR."""

    def inner(part: Formula) -> int:
        return _degree(declared, part, names)

    match node:
        case tree.Name(name) | tree.Element(name):
            if name in names:
                return 1
            symbol = declared.symbols.get(name)
            if symbol is None or symbol.formula is None:
                return 0
            return inner(symbol.formula)
        case tree.Aggregate(function, body):
            degree = inner(body)
            return degree if function == "sum" or not degree else NONLINEAR
        case tree.Negative(operand):
            return inner(operand)
        case tree.Sum(terms):
            return max(inner(term) for _, term in terms)
        case tree.Product(factors):
            if any(sign == "/" and inner(factor) for sign, factor in factors):
                return NONLINEAR
            return min(NONLINEAR, sum(inner(factor) for _, factor in factors))
        case tree.Power(base, exponent):
            return NONLINEAR if inner(base) or inner(exponent) else 0
        case tree.Conditional(lhs, _, rhs, yes, no):
            return NONLINEAR if inner(lhs) or inner(rhs) else max(inner(yes), inner(no))
        case tree.Call(_, arguments):
            return NONLINEAR if any(inner(part) for part in arguments) else 0
    return 0
