"""Limits by rules: what they are, and the forms that have no rule."""

from __future__ import annotations

import pytest
from proving import algebra, limit_of

CASES = [
    ("x > 0; parameter a > 0", "1 + a/x", {"x": "oo"}, "1"),
    ("x > 0; parameter a, b > 0", "a/x^b", {"x": "oo"}, "0"),
    ("x > 0; parameter a, b > 0", "a*x^b", {"x": "oo"}, "oo"),
    ("x > 0; parameter a < 0; parameter b > 0", "a*x^b", {"x": "oo"}, "-oo"),
    ("x > 0; parameter b > 0; parameter a", "a*x^b", {"x": "oo"}, None),  # a may be 0
    ("x > 0; parameter b", "x^b", {"x": "oo"}, None),  # oo^0
    ("x > 0", "x - x^2", {"x": "oo"}, "-oo"),
    ("x > 0; parameter a, b > 0", "x^a - x^b", {"x": "oo"}, None),  # oo - oo
    ("x > 0, y > 0", "x - y", {"x": "oo", "y": "oo"}, None),
    ("x > 0", "x - 1/x", {"x": "oo"}, "oo"),
    ("x > 0", "x*exp(-x)", {"x": "oo"}, "0"),
    ("x > 0, y > 0", "x*exp(-y)", {"x": "oo", "y": "oo"}, None),  # oo·0
    ("x > 0, y > 0", "x/y", {"x": "oo", "y": "oo"}, None),
    ("x > 0, y > 0", "1/(x*y)", {"x": "oo", "y": "oo"}, "0"),
    ("x > 0; parameter a > 0", "(1 + a/x)^x", {"x": "oo"}, "exp(a)"),  # 1^oo
    ("x > 0; parameter a > 1", "a^x", {"x": "oo"}, "oo"),
    ("x > 0; parameter a > 1", "a^(-x)", {"x": "oo"}, "0"),
    ("x > 0; parameter a in (0, 1)", "a^x", {"x": "oo"}, "0"),
    ("x > 0; parameter a > 0", "a^x", {"x": "oo"}, None),
    # of two names at once: how fast each grows is not asked
    ("x > 0, y > 0; parameter a in (0, 1)", "a^(x + y)", {"x": "oo", "y": "oo"}, "0"),
    ("x > 0, y > 0; parameter a in (0, 1)", "a^(-x - y)", {"x": "oo", "y": "oo"}, "oo"),
    ("x > 0, y > 0; parameter a > 1", "a^(x + y)", {"x": "oo", "y": "oo"}, "oo"),
    ("x > 0, y > 0; parameter a > 1", "a^(-x - y)", {"x": "oo", "y": "oo"}, "0"),
    ("x > 0, y > 0; parameter a >= 1", "a^(x + y)", {"x": "oo", "y": "oo"}, None),
    ("x > 0, y > 0; parameter a in [0, 1)", "a^(x + y)", {"x": "oo", "y": "oo"}, None),
    ("x > 0, y > 0; parameter a in (0, 1]", "a^(x + y)", {"x": "oo", "y": "oo"}, None),
    ("x > 0", "exp(x)", {"x": "oo"}, "oo"),
    ("x", "exp(x)", {"x": "-oo"}, "0"),
    ("x", "tanh(x)", {"x": "-oo"}, "-1"),
    ("x", "atan(x)", {"x": "oo"}, "pi/2"),
    ("x", "abs(x)", {"x": "-oo"}, "oo"),
    ("x", "sin(x)", {"x": "oo"}, None),
    ("x > 0", "log(x)", {"x": "oo"}, "oo"),
    ("x > 0", "log(x)", {"x": "0"}, "-oo"),
    ("x > 0", "1/log(x)", {"x": "oo"}, "0"),
    ("x >= 0", "log(1 + x)", {"x": "0"}, "0"),
    ("x > 0; parameter a > 0", "x^a", {"x": "0"}, "0"),
    ("x > 0; parameter a > 0", "x^(-a)", {"x": "0"}, "oo"),
    ("x > 0; parameter a", "x^a", {"x": "0"}, None),
    ("x > 0", "x^x", {"x": "0"}, "1"),  # 0^0
    ("x > 0", "x*log(x)", {"x": "0"}, "0"),
    ("x > 0, y > 0", "x*log(y)", {"x": "0", "y": "0"}, None),  # 0·oo
    ("x", "1/x", {"x": "0"}, None),  # from either side
    ("x > 0", "1/x", {"x": "0"}, "oo"),
    ("x < 0", "1/x", {"x": "-oo"}, "0"),
    ("x < 0", "x^3", {"x": "-oo"}, "-oo"),
    ("x < 0", "x^2", {"x": "-oo"}, "oo"),
    ("x in [0, 1]", "1/(1 + x)", {"x": "1"}, "1/2"),
    ("x in [0, 1)", "1/(1 - x)", {"x": "1"}, "oo"),
    ("x > 0, y", "1/x + log(y)", {"x": "oo"}, None),  # log(y) may have no value
    ("x > 0, y > 0", "1/x + log(y)", {"x": "oo"}, "log(y)"),
    (
        "N > 0, D > 0; parameter E, A, B, a, b > 0",
        "E + A/N^a + B/D^b",
        {"N": "oo", "D": "oo"},
        "E",
    ),
    (
        "N > 0, D > 0; parameter p, q, a, b > 0",
        "((p/N)^(a/b) + q/D)^b",
        {"N": "oo", "D": "oo"},
        "0",
    ),
]


@pytest.mark.parametrize(("where", "formula", "places", "expected"), CASES)
def test_the_limit(where: str, formula: str, places: dict[str, str], expected: str | None):
    found = limit_of(where, formula, places)

    assert found == (None if expected is None else algebra(where, expected))
