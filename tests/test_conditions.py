"""Conditions on the parameters: sufficient always, necessary where they are called exact."""

from __future__ import annotations

import pytest
from judging import claims_on
from proving import decide, on

from lawdsl.proof import check_claim
from lawdsl.proof.signs.conditions import condition_for

CASES = [
    # domain, what is to be positive, strictly, the condition, whether it is exact
    ("x > 0; parameter a", "a*x", True, "a > 0", True),
    ("x > 0; parameter a", "-a*x", True, "a < 0", True),
    ("x > 0; parameter a", "a*x", False, "a >= 0", True),
    ("x > 0; parameter a, b", "a*b*x^(b - 1)", True, "a*b > 0", True),
    ("x >= 0; parameter a", "a*x", True, None, None),  # it is 0 at x = 0 whatever a is
    ("x in [0, 1]; parameter a", "a - x", True, "a > 1", True),
    ("x in [0, 1); parameter a", "a - x", True, "a >= 1", True),  # 1 is not reached
    ("x in [0, 1]; parameter a", "a - x", False, "a >= 1", True),
    ("x in [0, 1]; parameter a > 0", "a - x^2", True, "a > 1", True),
    ("x in [0, 1); parameter a > 0", "a - x^2", True, "a >= 1", True),
    ("x > 0; parameter a", "a - x", True, None, None),  # x has no upper end
    ("x in (0, 1]; parameter a > 0", "a - 1/x", True, None, None),
    ("x >= 1; parameter a, b > 0", "a - b/x", True, "b < a", True),
    ("x > 1; parameter a, b > 0; parameter c >= 0", "a - b/x^c", True, "b < a", False),
    ("x > 1; parameter a, b > 0; parameter c >= 0", "a - b/x^c", False, "b <= a", True),
    ("setting s = 0.5; x >= s; parameter a > 0", "x - a", True, "a < s", True),
    ("x in [0, 1], y in [0, 1]; parameter a", "a - x - y", True, "a > 2", True),
    ("x in [0, 1]; parameter a, b", "a + b*x", True, None, None),  # which end depends on b
    # a coefficient that must not be negative: needed where its term outgrows all others
    ("x > 0; parameter a", "1 + a*x", True, "a >= 0", True),
    ("x > 0; parameter a", "x^2 + a*x", True, "a >= 0", True),  # for x -> 0
    ("x > 0; parameter a, b", "x + a*b*x^2", False, "a*b >= 0", True),
    ("x in (0, 1); parameter a", "1 + a*x", True, "a >= 0", False),  # a >= -1 is enough
    ("x > 0; parameter a", "x^2 + a*x + 1", True, "a >= 0", False),  # a > -2 is enough
    ("x > 0; parameter a", "exp(x) + a*x", True, "a >= 0", False),
    ("parameter a; parameter b > a", "1 - b", True, "b < 1", True),
    ("parameter a > 0; parameter b < a", "b", True, "b > 0", True),
]


@pytest.mark.parametrize(("where", "formula", "strict", "shown", "exact"), CASES)
def test_the_condition(
    where: str, formula: str, strict: bool, shown: str | None, exact: bool | None
):
    signs, e = on(where, formula)
    found = condition_for(signs, e, strict)

    if shown is None:
        assert found is None
    else:
        assert found is not None
        assert (found.inequality, found.exact) == (shown, exact)


BOTH_SIDES = [
    # law, claim, the condition, parameters with which it holds, and some with which it fails
    ("variable x > 0\nparameter a\nL = a*x + x^2", "L > 0", "a >= 0", {"a": 0}, {"a": -0.001}),
    ("variable x > 0\nparameter a\nL = a*x^2 + x", "L >= 0", "a >= 0", {"a": 0}, {"a": -0.001}),
    ("variable x > 0\nparameter a\nL = 1 + a*x", "L > 0", "a >= 0", {"a": 0}, {"a": -1}),
    ("variable x > 0\nparameter a\nL = (a - 1)*x^2 + x", "L > 0", "a >= 1", {"a": 1}, {"a": 0.99}),
    ("variable x > 0\nparameter t\nL = exp(t*x)", "L decreasing in x", "t < 0", {"t": -1}, {"t": 0}),
    ("variable x > 0\nparameter a\nL = x^a", "L convex in x", "a*(a - 1) >= 0", {"a": 1}, {"a": 0.5}),
    ("variable x in [0, 1]\nparameter a, b > 0\nL = a - b*x", "L > 0", "b < a", {"a": 2, "b": 1.9}, {"a": 2, "b": 2}),
    ("variable x in [0, 1)\nparameter a, b > 0\nL = a - b*x", "L > 0", "b <= a", {"a": 2, "b": 2}, {"a": 2, "b": 2.1}),
    ("variable x > 0\nparameter a > 0\nparameter b in (0, 2*a)\nL = b - 1 + x", "L > 0", "b >= 1", {"a": 1, "b": 1}, {"a": 1, "b": 0.9}),
    ("variable x in [0, 1]\nparameter a in (0, 2)\nL = a - x", "L >= 0", "a >= 1", {"a": 1}, {"a": 0.99}),
    ("setting s = 0.5\nvariable x >= s\nparameter a > 0\nL = x - a", "L > 0", "a < s", {"a": 0.49}, {"a": 0.51}),
    ("variable x > 0\nparameter a > 0\nparameter b > a\nL = 2*a - b + 0*x", "L > 0", "b < 2*a", {"a": 1, "b": 1.5}, {"a": 1, "b": 2}),
    ("variable x > 0, y > 0\nparameter a\nL = a*x*y + x^2*y", "∂²L/∂x∂y > 0", "a >= 0", {"a": 0}, {"a": -1}),
]  # fmt: skip


@pytest.mark.parametrize(("law", "claim", "condition", "holding", "failing"), BOTH_SIDES)
def test_on_both_sides_of_an_exact_condition(
    law: str, claim: str, condition: str, holding: dict[str, float], failing: dict[str, float]
):
    read, (stated,) = claims_on(f"law test\n{law}", claim)
    found = check_claim(read, stated, seconds=2)

    assert (found.verdict, found.condition, found.exact) == ("conditional", condition, True)
    assert check_claim(read.at(**holding), stated, seconds=2).verdict == "proved"
    assert check_claim(read.at(**failing), stated, seconds=2).verdict in ("refuted", "inside")


def test_a_condition_names_no_variable():
    verdict = decide("variable x > 0, y > 0\nL = x - y", "L > 0")

    assert verdict.verdict == "refuted"


def test_a_condition_on_a_domain_that_depends_on_parameters_is_not_called_necessary():
    """x > b leaves no x in [0, 1] for b >= 1: there the claim holds whatever a is."""
    law = "variable x in [0, 1]\nparameter a\nparameter b > 0\nL = a*x"
    verdict = decide(law, "L > 0 for x > b")

    assert (verdict.verdict, verdict.condition, verdict.exact) == ("conditional", "a > 0", False)


def test_the_slack_of_a_variable_is_no_parameter():
    verdict = decide("variable x > 0\nparameter b > 0\nL = x", "L > 5 for x > b")

    assert (verdict.verdict, verdict.condition, verdict.exact) == ("conditional", "b >= 5", True)


def test_a_condition_that_no_parameters_satisfy_is_none():
    verdict = decide("variable x in [0, 1]\nparameter a in (0, 1)\nL = a - 2*x", "L > 0")

    assert verdict.verdict == "refuted"


def test_a_let_that_varies_by_itself_gives_no_exact_condition():
    """K = k + q > 1, but as a symbol of its own it may come near to 0."""
    law = "variable k > 0, q > 1\nparameter a > 0\nlet K = k + q\nL = K^2 - a*K"
    verdict = decide(law, "∂L/∂K > 0")

    assert (verdict.verdict, verdict.condition, verdict.exact) == ("conditional", "a <= 2", True)
