"""Witnesses: short rational points that lie in the domain and are what they are said to be."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
import sympy as sp
from hyperdual import Exact
from judging import Judge, bounds_of, claims_on, formula_of, inside
from proving import decide

from lawdsl.proof.counterexample import WitnessQuery, find_point
from lawdsl.proof.domain import domain_of

CASES = [
    # law, claim, the conditions of the claim, the formula and signs that are looked for
    ("variable x in [0, 1]\nL = x", "", "x - 0.5", (-1,)),
    ("variable x in [0, 1]\nL = x", "for x > 0", "x - 0.5", (-1,)),
    ("variable x in [0, 1]\nL = x", "", "x", (0,)),
    ("variable x in (0, 1)\nL = x", "", "x*(1 - x)", (1,)),
    ("setting s = 0.1311\nvariable x >= s\nL = x", "", "x - s", (0,)),
    ("setting s = 0.1311\nvariable x >= s\nL = x", "for x >= 1", "x - 1.5", (-1,)),
    ("parameter a > 0\nparameter b > a\nL = b", "", "b - a", (1,)),
    ("parameter a > 0\nparameter b > a\nparameter c > b*a\nL = c", "", "c - 10*b", (-1,)),
    ("parameter a > 0\nparameter b < a^2\nL = b", "", "b - a", (1,)),
    ("parameter a > 1\nparameter b in (0, a)\nL = b", "", "b - 1", (1,)),
    ("parameter a > 0\nparameter b in (a, a + 1]\nL = b", "", "b - a - 0.9", (1,)),
    ("variable x > 0\nparameter a > 0\nL = x", "for x > a^a", "x - 2*a^a", (-1,)),
    ("variable k > 0, q > 0\nlet K = k + q\nL = K", "for K > 5", "k - q", (1,)),
    ("variable x > 0\nparameter a, b > 0\nL = x", "", "x^a - x^b", (-1,)),
    ("variable x in [0, 1], y in [0, 1]\nL = x", "", "x^2*y", (0,)),
]


@pytest.mark.parametrize(("text", "where", "formula", "signs"), CASES)
def test_a_point_is_in_the_domain_and_has_the_sign(
    text: str, where: str, formula: str, signs: tuple[int, ...]
):
    law, (claim,) = claims_on(f"law test\n{text}", f"L > 0 {where}")
    e = law.to_sympy(formula_of(formula))
    point = find_point(domain_of(law, claim), [WitnessQuery(e, signs)])

    assert point is not None
    named = {s.name: v for s, v in point.items()}
    named |= {q.name: Fraction(repr(q.value)) for q in law.settings if q.value is not None}
    stated = {n: b for n, b in bounds_of(law, claim).items() if n in named or n == "K"}
    assert inside(law, stated, named)
    with mpmath.workdps(60):
        on = Exact()
        judge = Judge(law, {n: on.number(v) for n, v in named.items()}, on)
        assert mpmath.sign(judge.value(formula_of(formula))) in signs


@pytest.mark.parametrize(
    ("text", "where", "formula", "signs"),
    [
        ("variable x in [0, 1]\nL = x", "", "x - 2", (1,)),
        ("variable x in (0, 1]\nL = x", "", "x", (0,)),
        ("variable x in [0, 1]\nL = x", "for x > 0", "x", (0,)),
        ("setting s = 0.1311\nvariable x >= s\nL = x", "for x >= 1", "x - 1", (-1,)),
        ("parameter a > 0\nparameter b > a\nL = b", "", "b - a", (-1, 0)),
        ("setting a = 2\nvariable b > a\nL = b", "for b < 1", "a - b", (-1, 0, 1)),
        ("variable x > 0\nL = x", "", "log(x) - log(x^2)/2", (-1, 1)),
    ],
)
def test_there_is_no_such_point(text: str, where: str, formula: str, signs: tuple[int, ...]):
    law, (claim,) = claims_on(f"law test\n{text}\nparameter zz", f"L > 0 {where}")
    e = law.to_sympy(formula_of(formula))

    assert find_point(domain_of(law, claim), [WitnessQuery(e, signs)]) is None


def test_a_witness_leaves_room_for_what_it_does_not_name():
    """Where a is 1 or more, b must still have a value between a and 3/2."""
    text = "parameter a > 0\nparameter b > a\nparameter b < 1.5\nL = a"
    law, (claim,) = claims_on(f"law test\n{text}", "L > 0")
    point = find_point(domain_of(law, claim), [WitnessQuery(law.expression - 1, (0, 1))])

    assert point is not None
    named = {s.name: v for s, v in point.items()}
    assert 1 <= named["a"] < named["b"] < Fraction(3, 2)


def test_a_witness_does_not_name_what_has_room_anyway():
    found = decide("variable x > 0\nparameter a > 0\nparameter b > a\nL = a - x", "L < 0")

    assert found.verdict == "refuted"
    assert [n for n, _ in found.witness] == ["a", "x"]


def test_a_symbol_that_is_no_quantity_of_the_law_gives_no_witness():
    law, (claim,) = claims_on("law test\nvariable x > 0\nL = x", "L > 0")

    assert (
        find_point(domain_of(law, claim), [WitnessQuery(sp.Symbol("other", real=True), (-1,))])
        is None
    )


def test_what_cannot_be_computed_gives_no_witness():
    law, (claim,) = claims_on("law test\nvariable x\nL = x", "L > 0")
    e = sp.DiracDelta(law.symbols["x"])

    assert find_point(domain_of(law, claim), [WitnessQuery(e, (0,))]) is None


def test_the_search_is_the_same_every_time():
    law, (claim,) = claims_on("law test\nvariable x, y in [-3, 3]\nL = x*y", "L > 0")
    box, wanted = domain_of(law, claim), [WitnessQuery(law.expression, (-1,))]

    assert find_point(box, wanted) == find_point(box, wanted)
