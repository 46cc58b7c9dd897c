"""What a trend says of a claim on the data, and verdicts on it."""

from __future__ import annotations

import numpy as np
import pytest
from planted import grid
from trend_cases import HEAD, claim, counts, cpt, law, rising

import lawdsl
from lawdsl.data.trends.hypotheses import Slope, claimed_slope
from lawdsl.language import tree

# ---- claims


FORMS = {
    "∂L/∂r < 0": Slope(("r",), -1),
    "0 > ∂L/∂r": Slope(("r",), -1),
    "-∂L/∂r >= 0": Slope(("r",), -1),
    "∂L/∂r > 0": Slope(("r",), 1),
    "L decreasing in r": Slope(("r",), -1),
    "L increasing in r": Slope(("r",), 1),
    "L convex in r": Slope(("r", "r"), 1),
    "∂²L/∂r² >= 0": Slope(("r", "r"), 1),
    "L concave in r": Slope(("r", "r"), -1),
    "∂²L/∂D∂r < 0": Slope(("D", "r"), -1),
    "L finite": None,
    "L > E": None,
    "∂L/∂r < E": None,
    "L -> E as N -> oo": None,
}


@pytest.mark.parametrize("text", FORMS)
def test_claims_on_derivatives_of_the_output_are_understood(text: str):
    read = law(text)

    assert claimed_slope(read, read.claims[0].claim) == FORMS[text]


def test_a_derivative_of_something_else_is_no_trend_of_the_output():
    read = law("L finite")
    other = tree.ComparisonNode(tree.Derivative("E", ("r",), 1), "<", tree.Number("0"))

    assert claimed_slope(read, other) is None


def test_conditions_are_respected():
    table = rising(cpt())
    inside = lawdsl.trends(law("∂L/∂D < 0 for r > 0.125"), table).trends[0]
    edge = lawdsl.trends(law("∂L/∂D < 0 for r >= 0.125"), table).trends[0]
    both = lawdsl.trends(law("∂L/∂D < 0 for r in [0.125, 0.25], N > 1"), table).trends[0]

    assert (inside.verdict, counts(inside.series[0])) == ("holds", (112, 112, 0, 0))
    assert counts(edge.series[0]) == (128, 112, 0, 16)
    assert counts(both.series[0]) == (24, 12, 0, 12)


def test_a_condition_may_name_a_setting():
    head = f"setting least = 0.125\n{HEAD}"
    read = law("∂L/∂D < 0 for r > least", head=head)

    assert lawdsl.trends(read, rising(cpt())).trends[0].series[0].pairs == 112
    given = lawdsl.trends(read, rising(cpt()), settings={"least": 0.9})
    assert given.trends[0].series[0].pairs == 16


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("∂L/∂N < 0", "N has one value, 2"),
        ("∂L/∂D < 0", "no two rows differ in D alone"),
        ("L convex in r", "no three rows differ in r alone"),
        ("∂²L/∂D∂r < 0", "no four rows differ in D and r alone"),
        ("∂L/∂D < 0 for r > 0.9", "no row meets its condition"),
        ("∂L/∂E > 0", "E is not a variable"),
        ("∂L/∂D < 0 for r > E", "its condition has no value"),
        ("∂³L/∂D²∂r < 0", "a derivative of order 3"),
    ],
)
def test_it_says_why_there_is_nothing_to_compare(text: str, why: str):
    table = {"N": [2.0, 2.0, 2.0], "D": [1.0, 1.0, 2.0], "r": [0.1, 0.2, 0.3], "L": [3.0, 2.9, 2.8]}
    found = lawdsl.trends(law(text), table)

    assert [(t.verdict, t.why) for t in found.trends] == [("nothing to compare", why)]
    assert found.ok and [d.code for d in found.diagnostics] == ["F0303"]


def test_a_law_that_claims_no_trend_is_told_so():
    found = lawdsl.trends(law("L finite"), cpt())

    assert found.trends == () and [d.code for d in found.diagnostics] == ["F0303"]


# ---- verdicts


def test_a_rise_with_d_contradicts_the_law_and_the_message_says_where():
    found = lawdsl.trends("dcpt.l3", rising(cpt(0.005, 3)))
    (message,) = found.diagnostics

    assert message.code == "F0301" and not found.ok
    assert message.message == "the table contradicts ∂L/∂D < 0"
    assert "all with r <= 0.125 (none from 0.25 on)" in message.notes[0]
    assert message.help is not None and "(r >= 0.25)" in message.help
    assert [trend.verdict for trend in found.trends].count("contradicted") == 1


def test_those_beyond_chance_are_located_among_stray_ones():
    """In a hundred differences of nothing but noise two or three exceed two standard errors."""
    flat = {**cpt(), "L": 3 + 0.01 * np.random.default_rng(0).normal(size=180)}
    flat = rising({**flat, "se": np.full(180, 0.01)}, slope=0.2)
    near = lawdsl.trends(law("∂L/∂D <= 0"), flat, se="se").trends[0].series[0]
    stray = near.against - near.beyond_chance

    assert near.beyond_chance == 32 and stray > 0
    assert [r.text for r in near.sure_ranges] == ["r <= 0.125"]
    assert near.sure_ranges[0].above == 0.25


def test_exceptions_of_unknown_noise_are_a_warning():
    found = lawdsl.trends("dcpt.l3", rising(cpt()))

    assert found.ok and [d.code for d in found.diagnostics] == ["F0302"]
    assert claim(found, "∂L/∂D < 0").verdict == "exceptions"


def test_what_goes_against_a_claim_nearly_everywhere_contradicts_it_without_noise():
    table = cpt()
    table["L"] = 6 - table["L"]
    found = lawdsl.trends("dcpt.l3", table)

    assert claim(found, "∂L/∂r < 0").verdict == "contradicted"
    assert {d.code for d in found.diagnostics} >= {"F0301"} and not found.ok


def test_one_curve_is_too_little_to_contradict_without_noise():
    table = grid(N=[1.0], D=np.arange(1.0, 9.0), r=[0.5]) | {"L": np.arange(1.0, 9.0)}

    assert lawdsl.trends(law("∂L/∂D < 0"), table).trends[0].verdict == "exceptions"


def test_a_claim_that_the_law_itself_denies_is_contradicted_as_expected():
    table = cpt()
    table["L"] = 6 - table["L"]
    found = lawdsl.trends(law("∂L/∂r < 0  expect refuted"), table)

    assert found.trends[0].verdict == "contradicted"
    assert found.ok and found.diagnostics == ()
