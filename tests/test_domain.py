"""A law and a claim -> the box that the claim speaks of."""

from __future__ import annotations

import pytest
import sympy as sp
from judging import claims_on
from proving import decide

from lawdsl.proof.box import Box, Endpoint, SymbolRange
from lawdsl.proof.domain import domain_of


def box_of(text: str, claim: str) -> tuple[dict[str, sp.Symbol], Box]:
    law, (stated,) = claims_on(f"law test\n{text}", claim)
    box = domain_of(law, stated)
    return {s.name: s for s in [*box.ranges, *box.slack]}, box


def range_text(found: SymbolRange) -> str:
    low, high = found.lower, found.upper
    left = "(" if low is None or not low.closed else "["
    right = ")" if high is None or not high.closed else "]"
    return f"{left}{low and low.value}, {high and high.value}{right}"


CASES = [
    # declared, condition, the range of x, the fact
    ("x in [0, 1]", "", "[0, 1]", "x in [0, 1]"),
    ("x in [0, 1]", "for x > 0", "(0, 1]", "x in (0, 1]"),
    ("x in [0, 1]", "for x <= 0.5", "[0, 1/2]", "x in [0, 0.5]"),
    ("x in [0, 1]", "for x >= 0", "[0, 1]", "x in [0, 1]"),
    ("x in [0, 1]", "for x in (0, 1)", "(0, 1)", "x in (0, 1)"),
    ("x >= s", "", "[s, None)", "x >= s"),
    ("x >= s", "for x >= 1", "[1, None)", "x >= 1"),  # s is 0.1311
    ("x >= s", "for x >= 0.1", "[s, None)", "x >= s"),
    ("x >= s", "for x > s", "(s, None)", "x > s"),
    ("x >= s", "for x > 0.1311", "(1311/10000, None)", "x > 0.1311"),
    ("x", "", "(None, None)", None),
    ("x < 0", "for x > -1", "(-1, 0)", "x in (-1, 0)"),
    ("x in [0, 1]", "for x >= 1", "[1, 1]", "x = 1"),
]


@pytest.mark.parametrize(("declared", "condition", "expected", "fact"), CASES)
def test_the_range_of_a_variable(declared: str, condition: str, expected: str, fact: str | None):
    symbols, box = box_of(f"setting s = 0.1311\nvariable {declared}\nL = x", f"L > 0 {condition}")

    assert range_text(box.range(symbols["x"])) == expected
    assert box.facts.get(symbols["x"]) == fact


@pytest.mark.parametrize(
    ("law", "claim", "nothing"),
    [
        ("variable x in [0, 1]\nL = x", "L > 0 for x > 1", "x in (1, 1]"),
        ("variable x in [0, 1]\nL = x", "L >= 0 for x > 2", "x in (2, 1]"),
        ("variable x in [0, 1]\nL = x", "L finite for x < 0", "x in [0, 0)"),
        ("variable x in [0, 1]\nL = x", "L -> 0 as x -> 0 for x >= 3", "x in [3, 1]"),
        ("setting s = 0.5\nvariable x > s\nL = x", "L > 0 for x <= s", "x in (s, s]"),
    ],
)
def test_nothing_is_said_of_an_empty_domain(law: str, claim: str, nothing: str):
    found = decide(law, claim)

    assert (found.verdict, found.blame) == (
        "undecided",
        f"the domain is empty: there is no {nothing}",
    )


EXCLUDING = [
    # declared, the claim, which bounds are named
    (
        "parameter a > 2\nparameter b > a^2\nparameter b < 1\nL = b - a",
        "L > 0",
        "the domain is empty: b > a^2 and b < 1 exclude each other",
    ),
    (
        "parameter a >= 1\nparameter b > a\nvariable x in [0, 1]\nL = x + b",
        "L > 0 for b < 1",
        "the domain is empty: a >= 1, b > a and b < 1 exclude each other",
    ),
    (
        "parameter a > 0\nparameter b > 0\nvariable x > 0\nL = x + b",
        "L > 0 for a < -b",
        "the domain is empty: a > 0 and a < -b exclude each other",
    ),
    (
        "variable x in [0, 1]\nL = x",
        "L > 0 for x > 2",
        "the domain is empty: there is no x in (2, 1]",
    ),
]


@pytest.mark.parametrize(("law", "claim", "blame"), EXCLUDING)
def test_bounds_that_exclude_each_other_are_named(law: str, claim: str, blame: str):
    found = decide(law, claim)

    assert (found.verdict, found.blame) == ("undecided", blame)


def test_a_coupled_parameter_is_its_bound_and_a_slack():
    symbols, box = box_of("parameter a > 0\nlet C0 = 2*a\nparameter C > C0\nL = C", "L > 0")
    s = symbols["(C - C0)"]

    assert box.slack[symbols["C"]] == 2 * symbols["a"] + s
    assert range_text(box.range(s)) == "(0, None)"
    assert box.independent(symbols["C"]) == 2 * symbols["a"] + s
    assert box.declared(s) == symbols["C"] - 2 * symbols["a"]
    assert box.facts[s] == "C > C0"
    assert not box.tied


@pytest.mark.parametrize(
    ("declared", "range", "fact"),
    [
        ("b >= a, b > a", "(0, None)", "b > a"),
        ("b > a, b >= a", "(0, None)", "b > a"),
        ("b > a, b > 0", "(0, None)", "b > a"),
        ("b > 0, b >= a", "[0, None)", "b >= a"),
    ],
)
def test_a_bound_that_another_one_implies_is_left_out(declared: str, range: str, fact: str):
    symbols, box = box_of(f"parameter a > 0\nparameter {declared}\nL = b", "L > 0")
    s = symbols["(b - a)"]

    assert (range_text(box.range(s)), box.facts[s], box.tied) == (range, fact, False)


def test_a_slack_below_a_bound_says_so():
    symbols, box = box_of("parameter a > 0\nparameter C <= a + 1\nL = C", "L > 0")
    s = symbols["((a + 1) - C)"]

    assert box.slack[symbols["C"]] == symbols["a"] + 1 - s
    assert range_text(box.range(s)) == "[0, None)"


def test_bounds_may_build_on_one_another_in_any_order():
    """x > c stands before c in the law, and c > b > a."""
    law = "variable x > 0\nparameter a > 0\nparameter b > a\nparameter c > b\nL = x"

    assert decide(law, "L > a for x > c").verdict == "proved"
    assert decide(law, "L > c for x >= c").face == "x = c"
    assert decide(law, "L > c for x >= b").verdict == "refuted"


def test_the_slack_of_a_variable_may_not_stand_in_a_condition():
    _, box = box_of("variable x > 0\nparameter c > 0\nL = x", "L > 0 for x > c")

    assert {s.name for s in box.variables} == {"x", "(x - c)"}
    assert not box.ragged


def test_two_bounds_of_which_one_is_kept_are_remembered():
    _, tied = box_of("parameter a, c\nparameter b > a, b > c\nL = b", "L > 0")
    _, ragged = box_of("variable x in [0, 1]\nparameter b > 0\nL = x", "L > 0 for x > b")

    assert tied.tied and not tied.ragged
    assert ragged.tied and ragged.ragged


BETWEEN = [
    # declared, b in the independent symbols, the range of the share
    ("parameter a > 0\nparameter b in (0, a)", "a*u", "(0, 1)"),
    ("parameter a > 0\nparameter b in [0, a]", "a*u", "[0, 1]"),
    ("parameter a > 0\nparameter b in (a, 3*a]", "a + 2*a*u", "(0, 1]"),
    ("parameter a\nparameter b in [a - 1, a + 1)", "a - 1 + 2*u", "[0, 1)"),
    ("parameter a > 0\nparameter b >= 0\nparameter c in (a, a + b + 1)", "a + (b + 1)*u", "(0, 1)"),
]


@pytest.mark.parametrize(("declared", "formula", "expected"), BETWEEN)
def test_a_parameter_between_two_bounds_is_a_share_of_the_way(
    declared: str, formula: str, expected: str
):
    last = declared.split("\n")[-1].split()[1]
    symbols, box = box_of(f"{declared}\nL = 1", "L > 0")
    (share,) = box.meaning
    written = sp.sympify(formula, locals={**symbols, "u": share})

    assert sp.expand(box.slack[symbols[last]] - written) == 0
    assert sp.expand(box.declared(written) - symbols[last]) == 0
    assert range_text(box.range(share)) == expected
    assert not box.tied


def test_without_sure_room_between_two_bounds_one_is_kept():
    """a may be 0, or b: then no share of the way says where b is."""
    for declared in (
        "parameter a >= 0\nparameter b in [0, a]",
        "parameter a, c\nparameter b in (a, c)",
    ):
        _, box = box_of(f"{declared}\nL = b", "L > 0")

        assert box.tied


def test_a_name_of_the_claim_has_the_domain_of_what_it_stands_for():
    symbols, box = box_of("variable x in [0, 1]\nL = x", "L(x = x0) > 0 for x > 0")

    assert range_text(box.range(symbols["x0"])) == "(0, 1]"
    assert symbols["x0"] in box.variables
    assert decide("variable x in [0, 1]\nL = x", "L(x = x0) > 0 for x > 0").verdict == "proved"
    assert decide("variable x in [0, 1]\nL = x", "L(x = x0) >= 0").verdict == "proved"
    assert decide("variable x in [0, 1]\nL = x", "L(x = x0) > 0").face == "x0 = 0"
    refuted = decide("variable x in [0, 1]\nL = x", "L(x = x0) > 0.5")
    assert refuted.witness == (("x0", "0"),)


LETS = "variable k > 0\nvariable q > 0\nparameter F, mu, w > 0\nlet K = 1/k + w*q\n"


@pytest.mark.parametrize(
    ("law", "claim", "verdict"),
    [
        (LETS + "L = F/K^mu", "∂L/∂K < 0", "proved"),
        (LETS + "L = F/K^mu", "∂L/∂q < 0", "proved"),
        (LETS + "L = F/K^mu", "∂L/∂k > 0", "proved"),
        # each derivative holds its own let fixed, and no other
        (LETS + "L = F/K^mu + k", "∂L/∂K < ∂L/∂k", "proved"),
        (LETS + "L = F/K^mu + k", "∂L/∂k > 0", "proved"),
        (LETS + "L = F/K^mu + k", "∂L/∂K > ∂L/∂k", "refuted"),
        # K alone may be anything above 0; k + q with q > 1 may not
        ("variable k > 0\nvariable q > 1\nlet K = k + q\nL = K^2 - K", "∂L/∂K > 0", "proved"),
        ("variable k > 0\nvariable q > 1\nlet K = k + q\nL = K^2 - 3*K", "∂L/∂K > 0", "refuted"),
        ("variable k > 0\nvariable q > 1\nlet K = k + q\nL = K", "L(K = K0) > 0.5", "proved"),
        # K0 is any value of the let, not the one at the point of the other variables
        ("variable k > 0\nlet K = k + 1\nL = 1/K", "L(K = K0) <= L", "undecided"),
        ("variable k > 0\nlet K = k + 1\nL = 1/K", "L(K = K0) >= L", "undecided"),
        ("variable k > 0\nvariable q > 0\nlet K = k + 1\nL = q/K", "L(K = K0) < q", "proved"),
        (
            "variable k > 0\nvariable q > 0\nlet K = k + 1\nL = q/K",
            "L(K = K0) < k + q",
            "undecided",
        ),
        # a let that may have either sign, with a condition on it
        ("variable k > 0\nvariable q\nlet K = 1/k + q\nL = 1/K", "∂L/∂K < 0", "undecided"),
        ("variable k > 0\nvariable q\nlet K = 1/k + q\nL = 1/K", "∂L/∂K < 0 for K > 0", "proved"),
        ("variable k > 0\nvariable q\nlet K = 1/k + q\nL = 1/K", "∂L/∂q < 0 for K > 0", "proved"),
        ("variable k > 0\nvariable q\nlet K = 1/k + q\nL = 1/K", "L < 1 for K > 0", "refuted"),
    ],
)
def test_a_let_as_a_symbol_of_its_own(law: str, claim: str, verdict: str):
    assert decide(law, claim).verdict == verdict


def test_a_claim_that_fails_at_equal_values_of_a_let_may_hold_at_others():
    found = decide("variable k > 0\nlet K = k + 1\nL = 1/K", "L(K = K0) < L")

    assert (found.verdict, found.never) == ("refuted", False)


def test_a_witness_of_a_claim_on_a_let_is_one_of_the_laws_quantities():
    law = "variable k > 0\nvariable q > 1\nlet K = k + q\nL = K^2 - 3*K"

    assert {name for name, _ in decide(law, "∂L/∂K > 0").witness} == {"k", "q"}


def test_the_ends_of_a_range_are_not_moved():
    s, x = sp.symbols("s x", positive=True)

    assert Box({x: SymbolRange(Endpoint(s, True))}).fixed() == {s}


def test_settings_count_by_their_values_where_their_sign_is_not_enough():
    law = "setting s = 0.5\nvariable x >= s\nL = x - 0.4"

    found = decide(law, "L > 0")

    assert found.verdict == "proved"
    assert "with s = 0.5" in found.proof
    assert decide("setting s = 0.5\nvariable x >= s\nL = x - 0.6", "L > 0").verdict == "refuted"
