"""Expressions as text: as a paper would print them, and such that they read back."""

from __future__ import annotations

import pytest
import sympy as sp
from judging import formula_of, law_of
from labelled import apart, element, read_at
from quick import without

import lawdsl
from lawdsl.language.instances.sample_labels import few_labels
from lawdsl.language.library import shipped
from lawdsl.law.text import text

LAW = law_of("law test\nvariable x, y\nparameter a, b > 0\nL = x")
x, y, a, b = (LAW.symbols[name] for name in "xyab")

CASES = [
    (a / x**b, "a/x^b"),
    (-a * b / x ** (b + 1), "-a*b/x^(b + 1)"),
    (a * x ** (b - 1) / y**2, "a*x^(b - 1)/y^2"),
    (x / (a * b), "x/(a*b)"),
    (1 / x, "1/x"),
    (-1 / (3 * x), "-1/(3*x)"),
    (x / 2, "x/2"),
    (sp.Rational(1311, 10000) * x, "0.1311*x"),
    (sp.Rational(-1, 3), "-1/3"),
    (x ** sp.Rational(1, 3), "x^(1/3)"),
    (sp.sqrt(x), "sqrt(x)"),
    (1 / sp.sqrt(a + x), "1/sqrt(a + x)"),
    (-x - y, "-x - y"),
    (1 - x, "1 - x"),
    (y - x, "y - x"),
    (x - (x - 2) * (y - 1), "x - (x - 2)*(y - 1)"),
    (a * x * (-x - 1) * (-y - 2), "a*x*(x + 1)*(y + 2)"),
    ((-x - y) ** 2, "(-x - y)^2"),
    ((a * x) ** b, "(a*x)^b"),
    ((x**2 + 1) ** y, "(x^2 + 1)^y"),
    (x ** (y**2), "x^(y^2)"),
    ((x**y) ** a, "(x^y)^a"),
    ((-x) ** y, "(-x)^y"),
    (sp.exp(-a * x), "exp(-a*x)"),
    (sp.E, "exp(1)"),
    (sp.log(x) / sp.log(10), "log(x)/log(10)"),
    (sp.Abs(x - y), "abs(x - y)"),
    (sp.Max(x, y, 1), "max(1, x, y)"),
    (sp.pi * x, "pi*x"),
    (sp.sign(x), "sign(x)"),
    (sp.Heaviside(x), "step(x)"),
    (sp.oo, "oo"),
]


@pytest.mark.parametrize(("e", "expected"), CASES)
def test_an_expression_as_text(e: sp.Expr, expected: str):
    assert text(e) == expected


@pytest.mark.parametrize(
    "e", [e for e, shown in CASES if not {"sign", "step", "oo"} & {*shown.split("(")}]
)
def test_the_text_reads_back_as_the_expression(e: sp.Expr):
    assert sp.expand(LAW.to_sympy(formula_of(text(e))) - e) == 0


INDEXED = [name for name in sorted(shipped()) if lawdsl.load(name).indexed]


@pytest.mark.parametrize("name", without(sorted(set(shipped()) - set(INDEXED)), ["repeated"]))
def test_laws_and_their_derivatives_read_back(name: str):
    """But for the derivatives of kinks, which the language has no word for."""
    law = lawdsl.load(name)
    for q in (*law.variables, *law.parameters):
        e = law.derivative(q.name)
        if e.has(sp.Heaviside):
            assert name in ("repeated", "quality.utility") and "step(" in text(e)
            continue
        assert sp.expand(law.to_sympy(formula_of(text(e))) - e) == 0


@pytest.mark.parametrize("name", INDEXED)
def test_laws_with_index_sets_and_their_derivatives_read_back(name: str):
    """At a few labels; and with their sums, which are written out when they are read."""
    law = lawdsl.load(name)
    declared = law.declarations
    labels = few_labels(declared)
    plain = apart(law.sample)
    for q in (*plain.variables, *plain.parameters):
        e = plain.derivative(q.name)
        assert sp.expand(read_at(plain, text(e), labels, {}) - e) == 0
    places = {index.name: labels.of(declared, index.name)[0] for index in declared.indices.values()}
    for q in (*law.variables, *law.parameters):
        read = read_at(plain, text(law.derivative(q.name)), labels, places)
        assert sp.expand(read - plain.derivative(element(q.name, places))) == 0
