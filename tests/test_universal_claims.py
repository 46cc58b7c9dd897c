"""Claims that are proved once for all parameters: the verdicts at fitted values are those of full proofs."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
from planted import PLANTED, law_of

from lawdsl.fitting import universal_claims
from lawdsl.fitting.preparation.cached_algebra import cached_in
from lawdsl.fitting.universal_claims import proved_at
from lawdsl.law.law import Law, load
from lawdsl.proof.check import check

SCALAR = [name for name in PLANTED if not load(name).indexed]


class Memory:
    """A cache of plain data that ends with the test."""

    def __init__(self) -> None:
        self.entries: dict[str, object] = {}

    def read(self, text: str) -> object:
        return self.entries.get(text)

    def keep(self, text: str, content: object) -> None:
        self.entries[text] = content


def proved_in(memory: Memory, law: Law, values: Mapping[str, float]) -> frozenset[int]:
    with cached_in(memory):
        return proved_at(law, values)


def near_bounds(law: Law, values: Mapping[str, float]) -> list[dict[str, float]]:
    """The values, and these with one parameter after another at, and next to, its first bound."""
    points = [dict(values)]
    for q in law.parameters:
        for bound in q.bounds[:1]:
            if bound.exact is not None:
                limit = float(bound.exact)
                beside = math.nextafter(limit, math.inf if bound.lower else -math.inf)
                points += [{**values, q.name: limit}, {**values, q.name: beside}]
    return points


@pytest.mark.parametrize("name", SCALAR)
def test_a_verdict_by_a_proof_for_all_parameters_is_that_of_the_proof_at_the_values(name: str):
    law = load(name)
    known = PLANTED[name].parameters
    points = near_bounds(law, {q.name: known[q.name] for q in law.parameters})
    memory = Memory()

    for values in (points[0], *points[1:3], *points[-2:]):
        by_all = proved_in(memory, law, values)
        for k, full in enumerate(check(law, values=values, seconds=0.5).claims):
            if k in by_all and full.verdict != "undecided":  # within the time, or near a bound
                assert (full.verdict, full.face) == ("certified", None), (full.claim, values)


def test_proofs_are_made_once_and_hold_inside_the_domain_alone(monkeypatch: pytest.MonkeyPatch):
    text = (
        "variable x > 0\nparameter a > 0\nparameter b\nL = a*x^b\nrequire L > 0\nrequire ∂L/∂x > 0"
    )
    law, memory = law_of(text), Memory()

    assert proved_in(memory, law, {"a": 2.0, "b": 0.5}) == {0, 1}
    monkeypatch.setattr(universal_claims, "_proved", None)  # a second call would fail
    assert proved_in(memory, law, {"a": 5e-324, "b": 5e-324}) == {0, 1}
    assert proved_in(memory, law, {"a": 2.0, "b": -0.5}) == {0}  # its slope needs b > 0
    assert proved_in(memory, law, {"a": 2.0, "b": 0.0}) == {0}
    assert proved_in(memory, law, {"a": 0.0, "b": 0.5}) == set()
    assert proved_in(memory, law, {"a": math.nan, "b": 0.5}) == set()


def test_a_claim_about_points_that_the_parameters_move_is_proved_at_the_values():
    text = (
        "variable x > 0\nparameter a > 0\nL = a*x\nrequire L > 0 for x < a\nrequire L > 0 for x < 1"
    )

    assert proved_in(Memory(), law_of(text), {"a": 2.0}) == {1}


def test_bounds_that_name_other_parameters_are_compared_exactly():
    law = law_of(
        "variable x > 0\nparameter a > 0\nparameter b > a\nparameter c > 2*a\nL = (b - a)*x + c*x\nrequire L > 0"
    )
    inside = {"a": 0.1, "b": math.nextafter(0.1, 1), "c": 0.3}

    assert proved_in(Memory(), law, inside) == {0}
    assert proved_in(Memory(), law, inside | {"b": 0.1}) == set()
    assert proved_in(Memory(), law, inside | {"c": 0.2}) == set()


def test_other_claims_or_bounds_have_proofs_of_their_own():
    text = "variable x > 0\nparameter a{}\nL = a*x\nrequire L > 0"
    memory = Memory()

    assert proved_in(memory, law_of(text.format(" > 0")), {"a": 2.0}) == {0}
    assert proved_in(memory, law_of(text.format("")), {"a": -2.0}) == set()
    assert proved_in(memory, law_of(text.format(" > 0")).without("a > 0"), {"a": -2.0}) == set()
