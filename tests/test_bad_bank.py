"""Every case of the bank of bad inputs is answered with its code and its evidence."""

from __future__ import annotations

from typing import Any

import pytest
from bad_data import BANK, Bad
from quick import without

import lawdsl
from lawdsl.core.diagnostics import Diagnostic


def answer(case: Bad) -> tuple[str, tuple[Diagnostic, ...]]:
    """The verdict, and all that is said."""
    if case.ask is not None:
        return "", case.ask(case.law, case.table())
    options: dict[str, Any] = {"starts": 8, **case.options}
    try:
        fit = lawdsl.fit(case.law, case.table(), **options)
    except lawdsl.LawdslError as error:
        return "refused", error.diagnostics
    return fit.verdict, fit.diagnostics


def test_the_bank_is_as_large_as_it_should_be():
    assert len(BANK) == 60  # as docs/fits.md says
    assert {case.code for case in BANK.values()} >= {
        f"F01{n:02}" for n in (1, 3, 4, 9, *range(15, 20))
    }


@pytest.mark.parametrize(
    "name",
    without(
        BANK,
        [
            *("noise and nothing else", "a share that acts the other way round"),
            *("one ray, D = 20 N", "nearly one ray"),  # of rays too: test_fit, test_verdicts
        ],
    ),
)
def test_a_bad_input_is_flagged_with_its_evidence(name: str):
    case = BANK[name]
    verdict, found = answer(case)
    said = [
        "\n".join((d.place, d.message, *d.notes, d.help or ""))
        for d in found
        if d.code == case.code
    ]

    assert said, [(d.code, d.message) for d in found]
    assert any(all(words in text for words in case.evidence) for text in said), said
    assert verdict == case.verdict
    assert all(d.help for d in found)
