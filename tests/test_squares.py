"""Polynomials that are sums of squares, and expressions that are products."""

from __future__ import annotations

import pytest
import sympy as sp
from judging import formula_of
from proving import domain, on

from lawdsl.proof.rules.squares import by_factors, by_square
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.signs.sign import Sign

NEGATIVE, POSITIVE = Sign.NEGATIVE, Sign.POSITIVE
NONNEGATIVE, NONPOSITIVE = Sign.NONNEGATIVE, Sign.NONPOSITIVE

SQUARES = [
    # one symbol: the discriminant decides
    ("x", "x^2 + 1", POSITIVE),
    ("x", "x^2 - x + 1", POSITIVE),
    ("x", "x^2 - 2*x + 1", NONNEGATIVE),
    ("x", "2*x - x^2 - 1", NONPOSITIVE),
    ("x", "x - x^2 - 1", NEGATIVE),
    ("x", "x^2 - 2*x + 0.999", None),
    ("x", "x^2", NONNEGATIVE),
    # several
    ("x, y", "x^2 + y^2 - x*y", NONNEGATIVE),
    ("x, y", "x^2 + y^2 - x*y + 1", POSITIVE),
    ("x, y", "x^2 + y^2 - 2*x*y", NONNEGATIVE),
    ("x, y", "x^2 + y^2 - 2.01*x*y", None),
    ("x, y", "x^2 + y^2 - x*y - x", None),  # it is -1/4 at x = 1/2, y = 0
    ("x, y", "x*y", None),
    ("x, y", "x^2 + x*y", None),  # no pivot for y, but x·y beside it
    ("x, y", "x^2 + y", None),
    ("x, y", "x^2 - 2*x + 2", POSITIVE),
    ("x, y, z", "x^2 + y^2 + z^2 - x*y - y*z - z*x", NONNEGATIVE),
    ("x, y, z", "x^2 + y^2 + z^2 - x*y - y*z - z*x + 0.1", POSITIVE),
    ("x, y, z", "x^2 + y^2 + z^2 - 1.1*(x*y + y*z + z*x)", None),
    # settings have their values
    ("setting s = 3; x", "x^2 - s*x + 2.26", POSITIVE),
    ("setting s = 3; x", "x^2 - s*x + 2.25", NONNEGATIVE),
    ("setting s = 3; x", "x^2 - s*x + 2.24", None),
    # not of degree two
    ("x", "x^4 + 1", None),
    ("x; parameter a > 0", "a*x^2 + 1", None),
    ("x > 0", "x + 1", None),
    ("x > 0", "x - sqrt(x) + 1", None),
]


@pytest.mark.parametrize(("where", "formula", "expected"), SQUARES)
def test_a_sum_of_squares(where: str, formula: str, expected: Sign | None):
    law, box = domain(where)
    e = sp.expand(box.independent(law.to_sympy(formula_of(formula))))

    assert by_square(SignCalculus(box, valued=True), e) == expected


FACTORS = [
    ("x > 0", "x^3 - 2*x^2 + x", NONNEGATIVE),
    ("x > -2", "x^3 - 3*x + 2", NONNEGATIVE),
    ("x > 1", "x^3 - 3*x + 2", POSITIVE),
    ("x < -2", "x^3 - 3*x + 2", NEGATIVE),
    ("x", "x^3 - 3*x + 2", None),
    ("x", "x^4 - 2*x^2 + 1", NONNEGATIVE),
    ("x > 2", "x^2 - 3*x + 2", POSITIVE),
    ("x in (1, 2)", "x^2 - 3*x + 2", NEGATIVE),
    ("x > 1, y > 1", "x*y - x - y + 1", POSITIVE),
    ("x > 1, y < 1", "x*y - x - y + 1", NEGATIVE),
    ("x, y", "x*y - x - y + 1", None),
    ("x > 1", "x^2 - 2", None),  # no rational factors
    # fractions
    ("x > 0", "x + 1/x - 2", NONNEGATIVE),
    ("x > 0, y > 0", "x/y + y/x - 2", NONNEGATIVE),
    ("x > 0, y > 0", "1/x + 1/y - 4/(x + y)", NONNEGATIVE),
    ("x < 0", "x + 1/x + 2", NONPOSITIVE),
    # parts that are no polynomials
    ("x", "exp(2*x) - 2*exp(x) + 1", NONNEGATIVE),
    ("x > 0; parameter a", "x^(2*a) - 2*x^a + 1", NONNEGATIVE),
    ("x > 1; parameter a > 0", "x^(2*a) - 1", POSITIVE),
    ("x > 0", "exp(2*x) - exp(x)", POSITIVE),
]


@pytest.mark.parametrize(("where", "formula", "expected"), FACTORS)
def test_a_product(where: str, formula: str, expected: Sign | None):
    signs, e = on(where, formula)

    assert by_factors(signs, sp.expand(e)) == expected
