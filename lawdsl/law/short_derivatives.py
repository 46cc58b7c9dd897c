"""Derivatives of a law in terms of its lets, which are shorter than with the lets expanded."""

from __future__ import annotations

import sympy as sp

from lawdsl.language import tree
from lawdsl.language.declarations import names_in
from lawdsl.law import algebra
from lawdsl.law.law import Law


def short_derivative(law: Law, name: str) -> sp.Expr:
    """The exact partial derivative of a law in terms of its lets.

    It equals `law.derivative(name)` once the lets that it names are expanded. Laws with index sets
    have no shorter form.

    Args:
        law: the law.
        name: the variable, parameter or let of the derivative, as declared.

    Raises:
        KeyError: a name that the law does not have.
    """
    declared = law.declarations
    formula = declared.output.formula
    if law.indexed or formula is None:
        return law.derivative(name)
    lets = [s.name for s in declared.symbols.values() if s.kind == "let" and s.name != name]
    uses: dict[
        str, set[str]
    ] = {}  # let -> all names in its formula, directly or by way of earlier lets
    for let in lets:
        inside = declared.symbols[let].formula
        direct = set(names_in(inside)) if inside is not None else set()
        uses[let] = direct.union(*(uses.get(each, ()) for each in direct))
    constant = [let for let in lets if name not in uses[let]]
    names = (*constant, name) if declared.symbols[name].kind == "let" else (*constant,)
    with algebra.bounded(declared):
        expression = law.to_sympy(formula, names)
        derivative = algebra.derivative(expression, law.symbols[name])
    for let in reversed([each for each in lets if each not in constant]):
        whole = law.to_sympy(tree.Name(let, span=declared.symbols[let].span), names)
        if whole.args:  # xreplace compares trees: what it replaces equals the let exactly
            derivative = derivative.xreplace({whole: law.symbols[let]})
    return derivative
