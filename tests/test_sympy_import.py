"""Formulas of SymPy -> laws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sympy as sp
from test_imports import error_of

import lawdsl
from lawdsl.law.law import Law


def test_an_equation_of_sympy_names_the_output():
    L, N, a = sp.symbols("loss N a")
    law = Law.from_sympy(sp.Eq(L, a / N), name="x")
    assert law.output == "loss" and [q.name for q in law.variables] == ["N"]


def test_assumptions_of_symbols_are_domains():
    N = sp.Symbol("N", nonnegative=True)
    a, b, c = sp.Symbol("a", positive=True), sp.Symbol("b", negative=True), sp.Symbol("c")
    law = Law.from_sympy(a * N + b + c, name="x")
    domains = {q.name: q.domain for q in (*law.variables, *law.parameters)}
    assert domains == {"N": "N >= 0", "a": "a > 0", "b": "b < 0", "c": "c"}
    stated = Law.from_sympy(a * N, name="x", variables=["N > 1"])
    assert stated.variables[0].domain == "N > 1"


NUMBERS = [
    sp.Rational(2, 3),
    sp.Rational(-7, 5),
    sp.Float("0.1"),
    sp.Float("-1e-30"),
    sp.Integer(10) ** 20,
    sp.Integer(2) ** 1000,
    sp.Float("1e300"),
    sp.Float("1e-300"),
    sp.Float("0.1", 50),
    sp.Integer(-4),
    sp.pi,
    sp.E,
    sp.sqrt(2),
    sp.Integer(10) ** 30 + 1,
    sp.Rational(10**400 + 1, 10**400),
    sp.Rational(-(10**400), 3 * 10**399),
    sp.Rational(10**20, 3),
]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: str(number)[:40])
def test_numbers_of_sympy_keep_their_value(number: sp.Expr):
    N = sp.Symbol("N", positive=True)
    law = Law.from_sympy(number * N - number / N**2, name="x")
    value = float(law.expression.subs(law.variables[0].symbol, 1.5))
    assert value == pytest.approx(float(number) * (1.5 - 1 / 2.25), rel=1e-15)


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda N: sp.Piecewise((N, N > 1), (1, N < 0)), "Piecewise"),
        (lambda N: sp.gamma(N), "gamma"),
        (lambda N: sp.Integral(N, (N, 0, 1)) + N, "Integral"),
        (lambda N: sp.Function("f")(N), "f(N)"),
        (lambda N: sp.oo * sp.Symbol("k") + N, "oo"),
        (lambda N: N > 1, "StrictGreaterThan"),
        (lambda N: sp.Sum(N ** sp.Symbol("i"), (sp.Symbol("i"), 0, 3)), "Sum"),
        (lambda N: sp.I * N, "I"),
        (lambda N: sp.Symbol(r"\lambda") * N, "lambda"),
        (lambda N: sp.Symbol("a; import os") * N, "import os"),
        (lambda N: "E + A/N", "str"),
        (lambda N: sp.Eq(N + 1, 2 * N), "Equality"),
    ],
)
def test_what_no_law_is_made_of_is_named(build: Callable[[Any], Any], named: str):
    diagnostic = error_of(lambda: Law.from_sympy(build(sp.Symbol("N")), name="x"))
    assert diagnostic.code == "E0204" and named in diagnostic.message


@pytest.mark.parametrize(
    ("build", "size"),
    [
        (lambda N: sp.Integer(10) ** 400 * N, "large"),
        (lambda N: N - sp.Integer(10) ** 5000, "large"),
        (lambda N: N ** (sp.Integer(10) ** 400), "large"),
        (lambda N: N / sp.Integer(10) ** 400, "small"),
        (lambda N: N + sp.Float("-1e400"), "large"),
        (lambda N: sp.Float("1e-400") * N, "small"),
        (lambda N: N - sp.Float("1e-400"), "small"),
    ],
)
def test_a_number_outside_the_range_of_float64_is_refused(build: Callable[[Any], Any], size: str):
    diagnostic = error_of(lambda: Law.from_sympy(build(sp.Symbol("N")), name="x"))
    assert diagnostic.code == "E0204" and f"too {size} for float64" in diagnostic.message


@pytest.mark.parametrize(
    ("one", "other", "parts"),
    [
        (sp.Symbol("N"), sp.Symbol("N", positive=True), ["Symbol('N')", "positive=True"]),
        (sp.Dummy("N"), sp.Dummy("N"), ["Dummy('N'", "` and `Dummy('N'"]),
        (sp.Symbol("alpha"), sp.Symbol("\N{GREEK SMALL LETTER ALPHA}"), ["'alpha'", "'α'"]),
    ],
)
def test_different_symbols_of_one_name_are_refused(one: sp.Symbol, other: sp.Symbol, parts: Any):
    expression = sp.Symbol("D") + 2 * one + 1 / other
    diagnostic = error_of(lambda: Law.from_sympy(expression, name="x"))
    assert diagnostic.code == "E0204" and all(part in diagnostic.message for part in parts)


def test_huge_numbers_are_not_written_out_in_messages():
    N = sp.Symbol("N")
    for number in (sp.Integer(10) ** 5000, sp.Rational(10**50 + 1, 7)):
        message = error_of(lambda x=number: Law.from_sympy(sp.gamma(N + x), name="x")).message
        assert message.startswith("`gamma(N + …)` (gamma) is nothing")


def test_without_assumptions_variables_have_the_domains_of_custom():
    N, D, r, C = sp.symbols("N D r C")
    law = Law.from_sympy(N + D + r + C, name="x", variables=[N, D, r, C])
    assert {q.domain for q in law.variables} == {"N > 0", "D > 0", "r >= 0, r <= 1", "C"}


def test_a_deep_expression_is_refused():
    e = sp.Symbol("N")
    for _ in range(120):
        e = sp.exp(e, evaluate=False) + 1
    assert error_of(lambda: Law.from_sympy(e, name="x")).code in ("E0204", "L0104")


def test_a_name_that_no_law_can_have_is_refused():
    N = sp.Symbol("N")
    for name in ("a b", "law", "x\nparameter q", "", 'x "y'):
        diagnostic = error_of(lambda name=name: Law.from_sympy(N, name=name))
        assert (
            diagnostic.code.startswith("L") and "cannot be the name of a law" in diagnostic.message
        )
        assert diagnostic.text is None and diagnostic.help
    clash = sp.Symbol("require", positive=True) * N
    assert error_of(lambda: Law.from_sympy(clash, name="x")).code.startswith("L")


def test_a_law_of_sympy_is_fitted_and_gives_its_expression_back():
    N, k, a = sp.symbols("N k a", positive=True)
    law = Law.from_sympy(k / N**a, name="power")
    x = [1.0, 2.0, 4.0, 8.0]
    fit = lawdsl.fit(law, {"N": x, "L": [3 / n**0.5 for n in x]}, starts=2, claims=False)
    assert fit(N=16.0) == pytest.approx(0.75, rel=1e-9)
    again = Law.from_sympy(fit.expression, name="again")
    assert float(again.expression.subs(again.variables[0].symbol, 16)) == pytest.approx(0.75)
