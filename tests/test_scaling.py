"""Symbols that only set a scale are put at 1, and others are not."""

from __future__ import annotations

import random

import mpmath
import pytest
from proving import algebra, on, sign_of
from quick import some

from lawdsl.proof.rules.scaling import rescaled
from lawdsl.proof.signs.sign import Sign

CASES = [
    # domain, formula, the same in other units
    ("x > 0; parameter a > 0", "x*exp(-a*x) - 1/a", "exp(-a) - 1/a"),
    ("x > 0, y > 0", "x^2 + y^2 - x*y", "1 + y^2 - y"),
    ("x > 0, y > 0", "log(x/y) + 1 - x/y", "log(1/y) + 1 - 1/y"),
    ("x > 0, y > 0", "sin(x/y) + x/y", "sin(1/y) + 1/y"),
    ("x > 0, y > 0, z > 0", "x*y - z^2", "1 - z^2"),
    ("x > 0, y > 0", "x*y - 1", "y - 1"),
    ("x > 0; parameter a, b > 0", "a*x/(1 + b*x) - a/b", "1/(1 + b) - 1/b"),
    # the scale of one symbol alone, the other having none
    ("x > 1; parameter a > 0", "a*x - a", "x - 1"),
    ("setting s = 2; x > 0, y > 0", "s*x - y", "s - y"),
    # nothing that may not be any positive number is put at 1, nor what goes with it
    ("x > 0; parameter a > 1", "x*exp(-a*x) - 1/a", None),
    ("x > 0, y >= 0", "x + y - 2*x*exp(y)", None),
    ("x > 0, y >= 0", "x - 3*y", None),
    ("x in (0, 1), y > 0", "x - y", None),
    ("x > 0, y < 0", "x + y", None),
    ("setting s = 2; x > 0", "s*x - x^2 + 1", None),
    # nothing scales
    ("x > 0; parameter a > 0", "x*exp(-a*x) - 1", None),
    ("x > 0, y > 0", "log(x) - log(y) + 1", None),
    ("x > 0", "x^2 - x", None),
    ("x > 0, y > 0; parameter a > 0", "x^a - y^a", None),
    ("x > 0, y > 0", "max(x, y) - x", None),
]


@pytest.mark.parametrize(("where", "formula", "expected"), CASES)
def test_the_expression_in_other_units(where: str, formula: str, expected: str | None):
    signs, e = on(where, formula)

    assert rescaled(signs, e) == (None if expected is None else algebra(where, expected))


@pytest.mark.parametrize(("where", "formula", "expected"), some(CASES[:8], 2))
def test_it_takes_the_same_signs(where: str, formula: str, expected: str):
    signs, e = on(where, formula)
    smaller = rescaled(signs, e)
    rng = random.Random(4)

    assert smaller is not None
    seen = []
    for one in (e, smaller):
        found = set()
        for _ in range(300):
            at = {s: 1 + 10 ** mpmath.mpf(rng.uniform(-2, 2)) for s in one.free_symbols}
            at = {s: v if signs.box.range(s).lower.value == 1 else v - 1 for s, v in at.items()}
            found.add(int(mpmath.sign(one.subs(at).evalf(30))))
        seen.append(found)
    assert seen[0] == seen[1]


SIGNS = [
    ("x > 0; parameter a > 0", "a*x*exp(-a*x) - 0.4", Sign.NEGATIVE),
    ("x > 0; parameter a > 0", "a*x*exp(-a*x) - 0.3", Sign.REAL),
    ("x > 0; parameter a > 1", "x*exp(-a*x) - 0.4", Sign.NEGATIVE),
    ("x > 0; parameter a, b > 0", "a*x/(1 + b*x) - a/b", Sign.NEGATIVE),
]


@pytest.mark.parametrize(("where", "formula", "expected"), SIGNS)
def test_the_sign_in_all_units(where: str, formula: str, expected: Sign):
    assert sign_of(where, formula) in (expected, Sign.REAL)
