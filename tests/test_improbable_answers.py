"""Answers beside safe answers: their interval under the same error of the laws, and why they may be
improbable."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from answer_fits import LEAST, limit
from rich.console import Console

import lawdsl
from lawdsl.fitting.result import Fit
from lawdsl.reporting.answers_if_laws_are_wrong import show_law_error


def test_a_safe_answer_comes_with_the_interval_under_the_same_error(
    least: lawdsl.Asked, share: Fit
):
    given = limit(share, 0.5)
    plain, safe = least.answer(given), least.answer(given, safe=0.95)
    assert plain.law_error is None  # inside the rows
    assert safe.law_error == least.answer(given, discrepancy=0.02).law_error
    assert safe.safe is not None and safe.law_error is not None
    assert safe.law_error.kept == safe.safe.point_probability
    assert least.answer(given, safe=0.95, discrepancy=0).law_error is None


def test_a_choice_among_numbers_has_it_too(share: Fit, tmp_path: Path):
    path = tmp_path / "least.law"
    text = LEAST.replace("choose    r in [0, 1]", "choose    r in {0.3, 0.5, 0.7, 0.9}")
    path.write_text(text, encoding="utf-8")
    answer = lawdsl.Asked(path, loss=share).answer(limit(share, 0.5), safe=0.6)
    assert answer.law_error is not None and answer.safe is not None and not answer.wrong
    assert answer.safe.point_probability == answer.law_error.kept


def test_an_answer_that_the_residuals_contradict_says_why(
    least: lawdsl.Asked, share: Fit, capsys: pytest.CaptureFixture[str]
):
    answer = least.answer(limit(share, 0.5), safe=0.95)
    assert answer.law_error is not None
    out = Console(width=200)
    show_law_error(answer, out)
    assert "residuals" not in capsys.readouterr().out

    improbable = replace(answer.law_error, kept=0.01, each={"loss": 0.01})
    show_law_error(replace(answer, law_error=improbable), out)
    assert (
        "  so little because the residuals of the fit already show where the law is wrong: with its"
        " estimated error, the law places the best r at "
    ) in capsys.readouterr().out

    # of several losses only a lower bound is known
    show_law_error(replace(answer, law_error=replace(improbable, bound=True)), out)
    assert "residuals" not in capsys.readouterr().out

    # each constraint alone is as probable as noise makes it, both together are not
    both = replace(improbable, each={"loss <= 2": 0.5, "loss >= 2": 0.5})
    show_law_error(replace(answer, law_error=both), out)
    assert "residuals" not in capsys.readouterr().out
