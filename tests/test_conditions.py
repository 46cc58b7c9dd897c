"""Conditions on the parameters: sufficient always, necessary where they are called exact."""

from __future__ import annotations

import pytest
from proving import decide, on

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
        assert (found.shown, found.exact) == (shown, exact)


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
