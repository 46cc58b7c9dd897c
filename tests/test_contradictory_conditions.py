"""A claim whose conditions no parameters satisfy together is never called conditional."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from proving import domain

import lawdsl
from lawdsl.law.law import Law
from lawdsl.proof.box import Relation
from lawdsl.proof.satisfiability import contradiction, has_point

M4 = """\
law example
index i over validation
index j over {}
variable r[j] in simplex
parameter c[i], k[i] > 0
parameter t[i, j]
L[i] = c[i] + k[i]*exp(sum(t[i, j]*r[j] for j))
identify sum(t[i, j] for j) = 0
require L[i] decreasing in r[p] against r[q] expect conditional
"""
SUM = """\
law example
index d over {}
variable x > 0
parameter a[d], t[d], k
L = k + sum(a[d]*x + t[d] for d)
require {}
"""


def check(text: str, folder: Path) -> lawdsl.Verdict:
    path = folder / "example.law"
    path.write_text(text, encoding="utf-8")
    (verdict,) = lawdsl.check(path, seconds=20).claims
    return verdict


@pytest.mark.parametrize(
    "labels", ["training", "{web, code}", "{web, code, math}", "1..5", "{l1, l2, l3, l4, l5, l6}"]
)
def test_an_exchange_both_ways_is_refuted_whatever_the_labels(labels: str, tmp_path: Path):
    verdict = check(M4.format(labels), tmp_path)
    assert (verdict.verdict, verdict.ok, verdict.condition) == ("refuted", False, None), verdict
    assert verdict.witness


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ("training", "no parameters satisfy t[i, p] < t[i, q] and t[i, q] < t[i, p]"),
        (
            "{web, code}",
            "no parameters satisfy t[i, web] < t[i, code] and t[i, code] < t[i, web]",
        ),
    ],
)
def test_the_refutation_gives_the_contradictory_conditions(
    labels: str, reason: str, tmp_path: Path
):
    verdict = check(M4.format(labels), tmp_path)
    assert verdict.value is not None and verdict.value.endswith(f"; {reason}")


def test_the_refuting_point_is_one_at_which_the_claim_fails(tmp_path: Path):
    verdict = check(M4.format("{web, code}"), tmp_path)
    at = {name: Fraction(value) for name, value in verdict.witness}
    assert at["t[i, web]"] >= at["t[i, code]"]  # so the loss does not fall from code to web


AT_ALL_LABELS = [
    # sets, claim, verdict, condition
    ("domain", "x*(a[p] - a[q]) > 0", "refuted", None),
    ("{web, code}", "x*(a[p] - a[q]) > 0", "refuted", None),
    ("domain", "x*(a[p] - a[q]) >= 0", "conditional", "a[q] <= a[p]"),  # where all are equal
    ("domain", "x*(a[p] + a[q] - 2*a[m]) > 0", "refuted", None),  # each is below a mean of others
    ("domain", "x*(a[p] + a[q] - a[m]) > 0", "conditional", "a[m] < a[p] + a[q]"),
    ("domain", "x*(a[p] - a[q] - 1) > 0", "refuted", None),
    ("domain", "x*(a[p] - a[q] + 1) > 0", "conditional", "a[q] < a[p] + 1"),
    ("domain", "x*(k - a[p]) > 0", "conditional", "a[p] < k"),
    ("{web, code}", "x*(k - a[p]) > 0", "conditional", "a[web] < k and a[code] < k"),
    # what a claim assumes may hold at p and q without holding at q and p
    ("domain", "x*(a[p] - a[q]) > 0 for a[p] > a[q]", "proved", None),
    ("domain", "x*(a[p] - a[q]) > 0 for t[p] > t[q]", "conditional", "a[q] < a[p]"),
    ("domain", "x*(a[p] - a[q]) > 0 for t[p] > 0, t[q] > 0", "refuted", None),
]


@pytest.mark.parametrize(("labels", "claim", "word", "condition"), AT_ALL_LABELS)
def test_a_claim_is_made_for_all_labels(
    labels: str, claim: str, word: str, condition: str | None, tmp_path: Path
):
    verdict = check(SUM.format(labels, claim), tmp_path)
    assert (verdict.verdict, verdict.condition) == (word, condition), verdict


def test_many_labels_with_conditions_of_their_own_are_satisfiable(tmp_path: Path):
    labels = "{l1, l2, l3, l4, l5, l6, l7, l8, l9, l10}"
    text = SUM.format(labels, "x*a[p] > 0 for x < 2").replace(
        "parameter a[d]", "parameter a[d] > -9"
    )
    verdict = check(text, tmp_path)
    assert verdict.verdict == "conditional" and "a[l10] > 0" in str(verdict.condition), verdict


def test_conditions_at_too_many_labels_are_not_called_satisfiable(tmp_path: Path):
    """Five names stand for labels in 120 orders; not all of them are examined."""
    claim = "x*(a[p] + 2*a[q] + 3*a[m] + 4*a[n] + 5*a[o]) > 0"
    verdict = check(SUM.format("domain", claim), tmp_path)
    assert verdict.verdict == "undecided", verdict
    assert "for all labels; no parameters are known that satisfy this" in str(verdict.blame)


def relations(law: Law, texts: list[str]) -> list[Relation]:
    """Conditions such as `a < b` as relations of the law."""
    found = []
    for text in texts:
        less, sign, more = text.split()
        symbols = law.symbols
        found.append(Relation(symbols[more] - symbols[less], sign == "<"))
    return found


@pytest.mark.parametrize(
    ("where", "texts", "holds"),
    [
        ("a, b", ["a < b"], True),
        ("a, b", ["a < b", "b < a"], False),
        ("a, b", ["a <= b", "b <= a"], True),
        ("a, b", ["a <= b", "b < a"], False),
        ("a, b, c", ["a < b", "b < c"], True),
        ("a, b, c", ["a < b", "b < c", "c < a"], False),
        ("a, b, c, d", ["a < b", "b < c", "c < d", "d < a"], False),
        ("a, b, c, d", ["a < b", "b < c", "c < d", "a < d"], True),
        ("a, b, c, d", ["a <= b", "b <= c", "c <= d", "d <= a"], True),
        ("a in (0, 1), b in (2, 3)", ["a < b"], True),
        ("a in (0, 1), b in (2, 3)", ["b < a"], False),  # against the declared bounds
        ("a in (0, 1), b in [1, 3)", ["b <= a"], False),
        ("a in (0, 2), b in (0, a)", ["a < b"], False),
    ],
)
def test_conditions_on_a_domain(where: str, texts: list[str], holds: bool):
    """A point or a contradiction is known, never both."""
    law, box = domain(f"x > 0; parameter {where}")
    needed = relations(law, texts)
    assert has_point(box, needed) is holds
    assert (contradiction(box, needed) is None) is holds
