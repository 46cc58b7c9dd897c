"""Places at which an expression of one symbol is 0 without crossing it."""

from __future__ import annotations

import pytest
import sympy as sp
from judging import formula_of
from proving import algebra, decide, domain

from lawdsl.proof.branch_and_bound.double_roots import double_root
from lawdsl.proof.branch_and_bound.subdivision import sign_by_boxes
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.signs.sign import Sign

CASES = [
    # domain, formula, between, the place
    ("x > 0", "x - 1 - log(x)", (0.6, 1.7), "1"),
    ("x", "exp(x) - 1 - x", (-1, 2), "0"),
    ("x in [0, 3]", "x^3 - 3*x + 2", (0.5, 2), "1"),
    ("x in [0, 3]", "(x - 2/7)^2", (0.1, 2), "2/7"),
    ("x > 0", "x/exp(1) - log(x)", (2, 4), "exp(1)"),
    ("x > 0", "x/exp(0.5) - log(x) - 0.5", (1, 2), "exp(1/2)"),
    ("setting s = 0.1311; x > 0", "x/s - 1 - log(x/s)", (0.1, 0.2), "s"),
    ("setting s = 0.1311; x > 0", "(x - s)^2", (0.1, 0.2), "s"),
    # it does not vanish there, or not exactly, or has no such place
    ("x > 0", "x - 1 - log(x) + 10^(-12)", (0.6, 1.7), None),
    ("x > 0", "x - 0.999999 - log(x)", (0.6, 1.7), None),
    ("x", "x^2 - 2*sqrt(2)*x + 1.9999999", (1, 2), None),
    ("x > 0", "1 + log(x) - x", (0.6, 1.7), None),  # it is greatest there
    ("x", "x", (-1, 1), None),
    ("x", "x^3 + x", (-1, 1), None),
    ("x > 0", "x - 1 - log(x)", (1.1, 1.7), None),
]


@pytest.mark.parametrize(("where", "formula", "within", "expected"), CASES)
def test_the_place(where: str, formula: str, within: tuple[float, float], expected: str | None):
    law, box = domain(where)
    found = double_root(law.to_sympy(formula_of(formula)), law.symbols["x"], within, box.settings)

    assert found == (None if expected is None else algebra(where, expected))


def sign_there(where: str, formula: str) -> Sign:
    law, box = domain(where)
    return sign_by_boxes(SignCalculus(box), sp.expand(law.to_sympy(formula_of(formula))), limit=400)


SIGNS = [
    # 0 with slope 0, but it falls again on one side, or on both
    ("x in [0, 2]", "(x - 1)^3", Sign.REAL),
    ("x in [-1, 1]", "x^3", Sign.REAL),
    ("x in [-1, 1]", "x^3 + x^4/2", Sign.REAL),
    ("x in [-2, 2]", "x^4 - x^2", Sign.REAL),
    ("x in [-2, 2]", "x^2 - x^4", Sign.REAL),
    ("x in [0.5, 1.5]", "(x - 1)^2 - 50*(x - 1)^4", Sign.REAL),
    ("x in [0.5, 1.5]", "(x - 1)^3*exp(x)", Sign.REAL),
    ("x in [0.65, 1.45]", "(x - 1)^2*((x - 0.68)^2 - 0.0001)", Sign.REAL),
    # it stays above
    ("x in [-1, 3]", "x^2 - 2*x + 1", Sign.NONNEGATIVE),
    ("x in [0.5, 3]", "log(x)^2", Sign.NONNEGATIVE),
    ("x in [0.5, 3]", "-log(x)^2", Sign.NONPOSITIVE),
    ("setting s = 0.1311; x > 0", "x/s - 1 - log(x/s)", Sign.NONNEGATIVE),
    ("x > 0", "x*log(x) - x + 1", Sign.NONNEGATIVE),
    ("x > 0", "x*log(x) - x + 0.9999999", Sign.REAL),
]


@pytest.mark.parametrize(("where", "formula", "expected"), SIGNS)
def test_the_sign_around_it(where: str, formula: str, expected: Sign):
    assert sign_there(where, formula) == expected


ZERO_SOMEWHERE = [
    # 0 at one point, which is irrational: no witness is an exact number
    "variable x in [0, 2]\nL = (x^2 - 2)^2",
    "variable x in [0, 3]\nL = x^3 - 6*x + 4*sqrt(2)",
    "variable x in [0, 4]\nL = cos(x) + 1",
]


@pytest.mark.parametrize("law", ZERO_SOMEWHERE)
def test_what_is_0_at_a_point_is_not_proved_positive(law: str):
    assert decide(law, "L > 0", seconds=0.5).verdict == "undecided"
    assert decide(law, "L >= 0", seconds=0.5).verdict in ("proved", "undecided")
