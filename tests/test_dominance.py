"""Sums whose terms pay for one another, and the largest ratio of two terms."""

from __future__ import annotations

import pytest
import sympy as sp
from proving import algebra, domain, on

from lawdsl.proof.rules.dominance import dominated, supremum
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.signs.monomials import expand_products, merge_bases
from lawdsl.proof.signs.sign import Sign

NEGATIVE, POSITIVE = Sign.NEGATIVE, Sign.POSITIVE
NONNEGATIVE, NONPOSITIVE = Sign.NONNEGATIVE, Sign.NONPOSITIVE

CASES = [
    ("x in [0, 1]", "1 - x^2", NONNEGATIVE),
    ("x in [0, 1)", "1 - x^2", POSITIVE),
    ("x in [0, 1]", "2 - x^2", POSITIVE),
    ("x in [0, 1]", "x^2 - 1", NONPOSITIVE),
    ("x in [0, 1]", "x^2 - 2", NEGATIVE),
    ("x in [0, 1]", "x + x^2 - 2*x^3", None),  # a bad term is paid by one good term alone
    ("x in (0, 1]", "x + x^2 - x^3", POSITIVE),  # one good term is left over
    ("x > 0", "1 - x", None),
    ("x > 1", "x - 1", POSITIVE),
    ("x >= 1", "x - 1", NONNEGATIVE),
    # where both terms are 0
    ("x in [0, 1]; parameter a > 1", "x - x^a", NONNEGATIVE),
    ("x in (0, 1); parameter a > 1", "x - x^a", POSITIVE),
    ("x in (0, 1]; parameter a > 1", "x - x^a", NONNEGATIVE),
    ("x in (0, 1]; parameter a > 0", "x - x^a", None),
    ("x in [0, 1], y in [0, 1]", "x - x*y", NONNEGATIVE),
    ("x in [0, 1], y in [0, 1]", "x - y", None),
    # the ratio is unbounded towards an open end
    ("x in (0, 1]", "1 - 1/x^0.5", NONPOSITIVE),
    ("x in (0, 1]", "2 - 1/x^0.5", None),
    # exponents that are coupled
    ("x in (0, 1); parameter a; parameter b > a", "x^a - x^b", POSITIVE),
    ("x in (0, 1]; parameter a; parameter b > a", "x^a - x^b", NONNEGATIVE),
    ("x > 1; parameter a; parameter b >= a", "x^b - x^a", NONNEGATIVE),
    ("x > 1; parameter a; parameter b > a", "x^b - x^a", POSITIVE),
    # the ratio stops changing at most at the closed end, and rises to the open one
    ("x in [0, 1); parameter a, c > 0", "(1 + c)^a - (x + c)^a", POSITIVE),
    ("x in [0, 1]; parameter a, c > 0", "(1 + c)^a - (x + c)^a", NONNEGATIVE),
    ("x in [0, 1); parameter a >= 0; parameter c > 0", "(1 + c)^a - (x + c)^a", NONNEGATIVE),
    # the end point names a setting
    ("setting s = 0.5; x >= s; parameter a > 0", "1 - (s/x)^a", NONNEGATIVE),
    ("setting s = 0.5; x > s; parameter a > 0", "1 - (s/x)^a", POSITIVE),
    # one good term cannot pay twice
    ("x in [0, 1], y in [0, 1]", "1 - x - y", None),
    ("x in [0, 1), y in [0, 1)", "2 - x - y", None),  # it is positive, but 2 is one term
    ("x in (0, 1], y in (0, 1]", "1 + x - x*y - x^2*y", NONNEGATIVE),
    # two good terms pay together, by their geometric mean, for a term that is positive
    ("x > 0, y > 0", "x^2 + y^2 - x*y", POSITIVE),
    ("x > 0, y > 0", "x^2 + y^2 - 2*x*y", NONNEGATIVE),
    ("x > 0, y > 0", "x^2 + y^2 - 3*x*y", None),
    ("x > 0, y >= 0", "x^2 + y^2 - x*y", None),  # y^2 may be 0
    # a variable range below 0
    ("x < -1", "x^2 + x", POSITIVE),
    ("x <= -1", "x^2 + x", NONNEGATIVE),
    ("x < 0", "x^2 + x", None),
]


@pytest.mark.parametrize(("where", "formula", "expected"), CASES)
def test_the_sign_of_a_sum(where: str, formula: str, expected: Sign | None):
    signs, e = on(where, formula)

    assert dominated(signs, e) == expected


RATIOS = [
    # domain, ratio, its supremum, whether it is attained
    ("x in [0, 1]", "x^2", "1", True),
    ("x in [0, 1)", "x^2", "1", False),
    ("x in [0, 2]; parameter a > 0", "a*x", "2*a", True),
    ("x >= 1; parameter a > 0", "x^(-a)", "1", True),
    ("x > 1; parameter a > 0", "x^(-a)", "1", False),
    ("x > 1; parameter a >= 0", "x^(-a)", "1", None),  # attained only for a = 0
    ("x in [0, 1), y in [0, 1]", "x*y", "1", False),
    ("x in [0, 1], y in (0, 1]", "x*(1 + y)", "2", True),
    ("x > 0", "x", None, None),
    ("x in (0, 1]", "1/x", None, None),
    ("x in [0, 1]; parameter a", "exp(a*x)", None, None),  # the slope's sign is not known
    ("x in [0, 1]; parameter a > 0", "exp(-a*x)", "1", True),
    ("x in [0, 1]; parameter a > 1", "a^(-x)", "1", True),
]


@pytest.mark.parametrize(("where", "ratio", "value", "attained"), RATIOS)
def test_the_largest_ratio(where: str, ratio: str, value: str | None, attained: bool | None):
    signs, e = on(where, ratio)
    found = supremum(signs, e, only=signs.box.variables)

    if value is None:
        assert found is None
    else:
        assert found is not None
        assert (found.value, found.attained) == (algebra(where, value), attained)


def test_no_variable_is_left_in_a_supremum():
    signs, e = on("x in [0, 1], y > 0", "x*y")

    assert supremum(signs, e, only=signs.box.variables) is None
    assert supremum(signs, e).value == e.xreplace({next(iter(sorted(e.free_symbols, key=str))): 1})


# Monomials


def test_powers_of_products_are_taken_apart_where_the_bases_are_positive():
    signs, e = on("x > 0, y > 0; parameter a", "(x*y^2)^a")

    assert merge_bases(signs, e) == algebra("x > 0, y > 0; parameter a", "x^a*y^(2*a)")


def test_a_square_is_not_taken_apart_where_its_base_may_be_negative():
    """(x^2·y)^a is not x^(2a)·y^a for a negative x."""
    x, a = sp.Symbol("x", real=True), sp.Symbol("a", real=True)
    y = sp.Symbol("y", positive=True)
    signs = SignCalculus(domain("y > 0")[1])

    assert merge_bases(signs, (x**2 * y) ** a) == (x**2 * y) ** a


def test_like_terms_of_a_sum_are_merged():
    where = "x > 0; parameter a, b > 0"
    signs, e = on(where, "(x + a)^(b - 1)*x + (x + a)^(b - 1)*a - (x + a)^b")

    assert expand_products(signs, e) == (algebra(where, "(x + a)^(b - 1)"), [])


def test_exponentials_are_merged():
    signs, e = on("x > 0, y > 0", "exp(x)*exp(y) - exp(x + y)")

    assert expand_products(signs, e) == (1, [])


def test_too_many_monomials_are_not_taken_for_none():
    signs, e = on("x > 0, y > 0, z > 0", "(x + y + z + 1)^4*(x + 2*y + 3*z + 4)^4*(x + 5*y + 6)^4")

    assert expand_products(signs, e + 1) is None or expand_products(signs, e + 1)[1]
    assert dominated(signs, e + 1) in (None, POSITIVE)
