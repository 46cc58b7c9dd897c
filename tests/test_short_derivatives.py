"""Derivatives in terms of lets are the derivatives, and shorter."""

from __future__ import annotations

import random

import pytest
import sympy as sp

from lawdsl.language import tree
from lawdsl.language.library import shipped
from lawdsl.law.law import Law, load
from lawdsl.law.short_derivatives import short_derivative
from lawdsl.law.text import text

LAWS = [name for name in shipped() if not load(name).indexed]


def expanded(expression: sp.Expr, law: Law, but: str) -> sp.Expr:
    """An expression with all its lets written out, but for one."""
    for name, symbol in reversed(law.declarations.symbols.items()):
        if symbol.kind == "let" and name != but:
            opaque = (but,) if law.declarations.symbols[but].kind == "let" else ()
            whole = law.to_sympy(tree.Name(name), opaque)
            expression = expression.subs(law.symbols[name], whole)
    return expression


@pytest.mark.parametrize("every", [17, pytest.param(1, marks=pytest.mark.slow)])
def test_a_short_derivative_equals_the_derivative(every: int):
    rng = random.Random(0)
    cases = [
        (law, symbol.name)
        for law in map(load, LAWS)
        for symbol in law.declarations.symbols.values()
        if symbol.kind in ("variable", "parameter", "let")
        and any(s.kind == "let" for s in law.declarations.symbols.values())
    ]
    compared = shorter = 0
    for law, name in cases[::every]:
        short, exact = short_derivative(law, name), law.derivative(name)
        assert len(text(short)) <= len(text(exact)) + 2, (law.name, name)
        shorter += len(text(short)) < len(text(exact))
        whole = expanded(short, law, name)
        for _ in range(3):
            point = {s: sp.Float(rng.uniform(0.5, 2.5), 30) for s in law.symbols.values()}
            one, other = (sp.N(e.subs(point), 20) for e in (whole, exact))
            if one.is_number and other.is_number and one.is_finite and other.is_finite:
                assert abs(one - other) <= 1e-12 * (1 + abs(other)), (law.name, name)
                compared += 1
    assert compared > len(cases) // every and shorter


def test_lets_that_hold_the_argument_are_differentiated():
    law = load("moe.joint")
    assert "H" in text(short_derivative(law, "N")) and "E_start" not in text(
        short_derivative(law, "N")
    )
    assert "E_start" in text(short_derivative(law, "E"))
    with pytest.raises(KeyError):
        short_derivative(law, "nothing")
