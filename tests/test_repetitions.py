"""What a law file says twice is pointed at: names in one line, claims, parameters misspelt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run

from lawdsl.core.diagnostics import LawdslError, Text
from lawdsl.language.library import declared

HEAD = "law example\nvariable N > 0\n"
TAIL = "L = A/N^alpha\nrequire L finite\n"


def said(text: str) -> list[tuple[str, int, str]]:
    """(code, line, message) of the messages about a law."""
    try:
        _, diagnostics = declared(Text("example.law", text), Path())
    except LawdslError as error:
        diagnostics = list(error.diagnostics)
    return [
        (d.code, d.text.position(d.span.start)[0], d.message)
        for d in diagnostics
        if d.text is not None and d.span is not None
    ]


def test_a_name_that_stands_twice_in_a_line_is_one_error():
    found = said(f"{HEAD}parameter A, alpha, A > 0\n{TAIL}")
    assert found == [("L0302", 3, "`A` stands twice in this line")]


def test_a_second_domain_on_a_line_of_its_own_is_none():
    assert said(f"{HEAD}parameter A, alpha > 0\nparameter A < 100\n{TAIL}") == []


@pytest.mark.parametrize(
    ("claims", "line"),
    [
        ("require L > 0\nrequire L > 0\n", 7),
        ("require L > 0\nrequire  L>0  # again\n", 7),
        ("require L finite\n", 6),
    ],
)
def test_a_claim_made_twice_is_a_warning(claims: str, line: int):
    found = said(f"{HEAD}parameter A, alpha > 0\n{TAIL}{claims}")
    assert [(code, where) for code, where, _ in found] == [("L0323", line)]


def test_claims_under_other_conditions_are_others():
    claims = "require L > 0 for N > 1\nrequire L > 0 for N > 2\n"
    assert said(f"{HEAD}parameter A, alpha > 0\n{TAIL}{claims}") == []


def test_domains_of_their_own_are_no_repetition():
    assert said(f"{HEAD}parameter A > 0, A < 100, alpha > 0\n{TAIL}") == []


def test_an_unused_parameter_may_be_another_misspelt(tmp_path: Path):
    path = tmp_path / "example.law"
    path.write_text(f"{HEAD}parameter A, alhpa, alpha > 0\n{TAIL}", encoding="utf-8")
    done = run("check", path, "--json")
    (warning,) = json.loads(done.stdout)["diagnostics"]
    assert warning["code"] == "F0114"
    assert warning["help"] == "is `alhpa` a misspelling of `alpha`? leave alhpa out of the law"
