"""A condition that compares a variable without a unit with one that has a unit -> a warning.

A parameter without a unit may have any; a variable is a column of a table, whose unit is known or none.
"""

from __future__ import annotations

from lawdsl.core.diagnostics import Span
from lawdsl.language import tree
from lawdsl.language.dimensions import powers_text
from lawdsl.language.printer import print_formula
from lawdsl.language.scope import Scope
from lawdsl.language.tree import Formula


def warn_of_compared(scope: Scope, formula: Formula) -> None:
    """Warn where a condition compares a variable that has no unit with one that has one.

    Args:
        scope: the names declared so far.
        formula: the formula in which the condition stands.
    """
    for node in tree.walk(formula):
        if not isinstance(node, tree.Conditional):
            continue
        sides = (node.lhs, node.rhs)
        names = [print_formula(s) for s in sides if isinstance(s, (tree.Name, tree.Element))]
        symbols = [scope.symbols.get(name.partition("[")[0]) for name in names]
        if len(symbols) != 2 or any(s is None or s.kind != "variable" for s in symbols):
            continue
        units = [scope.units.get(s.name) for s in symbols if s is not None]
        for (name, other), (unit, powers) in (
            (names, units),
            (names[::-1], units[::-1]),
        ):
            if unit is None and powers:
                message = f"`{name}` has no unit, `{other}` is in {powers_text(powers)}"
                help = f"compare `{name}` with what has no unit, or declare its unit"
                span = Span(sides[0].span.start, sides[1].span.end)
                scope.report("L0410", message, span, help, severity="warning")
