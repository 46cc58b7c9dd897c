"""Questions with numbers of extreme size, bounds that were given, and files by other names."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from click.testing import CliRunner

import lawdsl
from lawdsl.cli import cli


def load_question(folder: Path, *lines: str, name: str = "plain") -> lawdsl.Asked:
    path = folder / f"{name}.law"
    path.write_text("\n".join((f'question {name} "A question"', *lines, "")), encoding="utf-8")
    return lawdsl.Asked(path)


@pytest.mark.parametrize(
    ("goal", "best"),
    [
        ("minimize x^1.0001 - x", 1.0001**-10000),
        ("minimize x^1.00001 - x", 1.00001**-100000),
        ("maximize log(x)/x^0.01", math.exp(100)),
        ("maximize log(x)/x^0.0123456789", math.exp(1 / 0.0123456789)),
        ("minimize 1e300*x^2 - 1e290*x", 5e-11),
    ],
)
def test_extreme_exponents_and_coefficients_are_answered(goal: str, best: float, tmp_path: Path):
    answer = load_question(tmp_path, "choose x > 0", goal).answer()

    assert answer.ok and answer["x"] == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize(
    ("a", "b"), [(3, 2), (0.3, 0.1), (7.1, 5.3), (2 / 3, 1 / 3), (1e-9, 3e-10), (9, 123.456789e-2)]
)
def test_a_bound_that_was_given_stays_that_number(a: float, b: float, tmp_path: Path):
    lines = ("given a, b", "choose x in [0, 10]", "minimize x")
    ready = load_question(tmp_path, *lines, 'subject to x >= a "A"', 'subject to x <= b "B"')
    answer = ready.answer(a=a, b=b)
    lower, upper = answer.relaxations

    assert answer.status == "infeasible"
    assert lower.at == {"x": b} and lower.instead == {"a": b}
    assert upper.at == {"x": a} and upper.instead == {"b": a}
    assert lower.written["a"] == pytest.approx(b, rel=1e-5) and lower.written["a"] <= b
    assert upper.written["b"] == pytest.approx(a, rel=1e-5) and upper.written["b"] >= a
    assert ready.answer(a=lower.written["a"], b=b).ok
    assert ready.answer(a=a, b=upper.written["b"]).ok


def test_a_round_bound_is_advised_as_it_is(tmp_path: Path):
    lines = (
        "given a, b",
        "choose x in [0, 10]",
        "minimize x",
        "subject to x >= a",
        "subject to x <= b",
    )
    lower, upper = load_question(tmp_path, *lines).answer(a=3, b=2).relaxations

    assert lower.written == {"a": 2.0} and upper.written == {"b": 3.0}


def test_the_printed_command_has_the_file_that_was_given(tmp_path: Path):
    path = tmp_path / "fewest.law"
    path.write_text("question smallest\ngiven k\nchoose x >= 0\nminimize x + k\n", encoding="utf-8")
    shown = CliRunner().invoke(cli, ["solve", str(path)])
    asked_by_name = CliRunner().invoke(cli, ["solve", "smallest", "k=1"])

    assert f"lawdsl solve {path} k=…" in shown.output
    assert "L0340" in shown.output and "is called fewest.law" in shown.output
    assert "unknown question `smallest`" in str(asked_by_name.exception)
    assert CliRunner().invoke(cli, ["solve", str(path), "k=1"]).exit_code == 0


def test_a_file_that_is_called_like_its_question_is_not_warned_of(tmp_path: Path):
    path = tmp_path / "smallest.law"
    path.write_text("question smallest\ngiven k\nchoose x >= 0\nminimize x + k\n", encoding="utf-8")

    assert "L0340" not in CliRunner().invoke(cli, ["solve", str(path)]).output
