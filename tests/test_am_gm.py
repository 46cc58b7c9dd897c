"""Good terms that pay for a bad one together, by the arithmetic and the geometric mean."""

from __future__ import annotations

import pytest
import sympy as sp
from judging import formula_of
from proving import domain, on

from lawdsl.proof.rules.am_gm import am_gm
from lawdsl.proof.rules.dominance import dominated
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.signs.sign import Sign

NEGATIVE, POSITIVE = Sign.NEGATIVE, Sign.POSITIVE
NONNEGATIVE, NONPOSITIVE = Sign.NONNEGATIVE, Sign.NONPOSITIVE

CASES = [
    # two terms, equal weights; three; other weights
    ("x > 0, y > 0", "x + y - 2*sqrt(x*y)", NONNEGATIVE),
    ("x > 0, y > 0", "x + y - 1.9*sqrt(x*y)", POSITIVE),
    ("x > 0, y > 0", "x + y - 2.1*sqrt(x*y)", None),
    ("x > 0, y > 0", "2*sqrt(x*y) - x - y", NONPOSITIVE),
    ("x > 0, y > 0", "x^2 + y^2 - 2*x*y + 1", POSITIVE),
    ("x > 0, y > 0, z > 0", "x^3 + y^3 + z^3 - 3*x*y*z", NONNEGATIVE),
    ("x > 0, y > 0, z > 0", "x^3 + y^3 + z^3 - 3.01*x*y*z", None),
    ("x > 0, y > 0, z > 0", "2.99*x*y*z - x^3 - y^3 - z^3", NEGATIVE),
    ("x > 0", "x^2 + 2/x - 3", NONNEGATIVE),
    ("x > 0", "x^2 + 2/x - 3.01", None),
    ("x > 0, y > 0", "x^2*y + x*y^2 + 1 - 3*x*y", NONNEGATIVE),
    ("x > 0, y > 0", "x^4 + y^4 + 2 - 4*x*y", NONNEGATIVE),
    ("x > 0, y > 0", "x^4 + y^4 + 1 - 4*x*y", None),  # it is negative at x = y = 1
    # exponentials
    ("x", "exp(x) + exp(-x) - 2", NONNEGATIVE),
    ("x", "exp(x) + exp(-x) - 1", POSITIVE),
    ("x", "exp(2*x) + 2*exp(-x) - 3", NONNEGATIVE),
    ("x", "exp(2*x) + 2*exp(-x) - 3.1", None),
    # weights and coefficients that are parameters
    ("x > 0, y > 0; parameter a in (0, 1)", "a*x + (1 - a)*y - x^a*y^(1 - a)", NONNEGATIVE),
    ("x > 0, y > 0; parameter a > 0", "a*x^2 + y^2/a - 2*x*y", NONNEGATIVE),
    ("x > 0, y > 0; parameter a > 0", "a*x^2 + y^2/a - x*y", POSITIVE),
    ("x > 0, y > 0; parameter a, b > 0", "a*x^2 + b*y^2 - 2*x*y", None),  # a·b may be below 1
    ("x > 0, y > 0; parameter a > 1", "a*x - (a - 1)*y - x^a/y^(a - 1)", NONPOSITIVE),
    ("x > 0, y > 0", "x + y - 0.1*x^2/y", None),  # a weight below 0
    ("x > 0, y > 0; parameter a > 1", "x + y - x^a/y^(a - 1)", None),
    # a good term pays once, and one that may be 0 with nobody
    ("x > 0, y > 0", "x + y - 1.5*sqrt(x*y) - 1.5*sqrt(x*y)*(1 + x)/(2 + x)", None),
    ("x >= 0, y >= 0", "x^2 + y^2 - 2*x*y", None),
]


@pytest.mark.parametrize(("where", "formula", "expected"), CASES)
def test_the_sign_of_a_sum(where: str, formula: str, expected: Sign | None):
    assert dominated(*on(where, formula)) == expected


RATIOS = [
    # domain, good terms, bad term, who pays, the ratio of the bad term to the mean
    ("x > 0, y > 0", "x; y", "sqrt(x*y)", (0, 1), "1/2"),
    ("x > 0, y > 0", "x^3; y^3; 1", "x*y", (0, 1, 2), "1/3"),
    ("x > 0", "x^2; 1/x", "1", (0, 1), "2^(2/3)/3"),
    ("x > 0, y > 0; parameter a in (0, 1)", "x; y", "x^a*y^(1 - a)", (0, 1), "a^a*(1 - a)^(1 - a)"),
]


@pytest.mark.parametrize(("where", "good", "bad", "who", "ratio"), RATIOS)
def test_the_mean_changes_as_the_bad_term_does(
    where: str, good: str, bad: str, who: tuple[int, ...], ratio: str
):
    law, box = domain(where)
    terms = [law.to_sympy(formula_of(text)) for text in good.split("; ")]
    found = am_gm(SignCalculus(box), terms, law.to_sympy(formula_of(bad)))

    assert [chosen for chosen, _ in found] == [who]
    assert sp.simplify(found[0][1] / law.to_sympy(formula_of(ratio))) == 1


@pytest.mark.parametrize(
    ("where", "good", "bad"),
    [("x > 0", "x^2; x^3", "1"), ("x > 0", "x; x^2", "x^3"), ("x > 0, y > 0", "x; y", "x*y")],
)
def test_no_weights_make_the_mean_of_others(where: str, good: str, bad: str):
    law, box = domain(where)
    terms = [law.to_sympy(formula_of(text)) for text in good.split("; ")]

    assert am_gm(SignCalculus(box), terms, law.to_sympy(formula_of(bad))) == []
