"""Law -> its parameters that decide which part of a piecewise formula holds."""

from __future__ import annotations

from lawdsl.language.pieces import conditionals, depends_on
from lawdsl.law.law import Law


def breakpoints(law: Law) -> tuple[str, ...]:
    """The free parameters on which the conditions of a law depend.

    Args:
        law: the law, with the labels of its index sets.
    """
    declared = law.declarations
    symbols = {**declared.symbols, declared.output.name: declared.output}
    formula = declared.output.formula
    assert formula is not None
    sides = [side for node in conditionals((formula,), symbols) for side in (node.lhs, node.rhs)]
    if not sides:
        return ()
    return tuple(q.name for q in law.parameters if depends_on(sides, (q.name,), declared))
