"""Mistakes on the command line have one message, and documents are documents also where a command fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lawdsl import cli
from lawdsl.fitting import fit, fit_processes

LAW = "law power\nvariable r > 0\nparameter C > 0\nL = C/r\n"


def left(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        cli.main(list(arguments))
    return int(stop.value.code or 0)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "power.law").write_text(LAW, encoding="utf-8")
    (tmp_path / "bad law.law").write_text("law bad\nvariable N >\nL = N\n", encoding="utf-8")
    (tmp_path / "runs.csv").write_text("r,L\n0.5,2\n0.6,2.1\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ("fit runs.csv power.law", "fit power.law runs.csv"),
        ("fit runs.csv dcpt.share L=loss -q", "fit dcpt.share runs.csv L=loss -q"),
        ("fit -q runs.csv power.law --where r=1", "fit -q power.law runs.csv --where r=1"),
        ("trends runs.csv power.law", "trends power.law runs.csv"),
        ("compare runs.csv power.law dcpt.share", "compare power.law dcpt.share runs.csv"),
        ("predict runs.csv FIT.json", "predict FIT.json runs.csv"),
        ("pipeline runs.csv mixing.nested", "pipeline mixing.nested runs.csv"),
        ("mixtures select runs.csv mixing.m4", "mixtures select mixing.m4 runs.csv"),
    ],
)
def test_a_table_before_its_law_has_one_message_with_the_right_command(
    written: str, right: str, here: Path, capsys: pytest.CaptureFixture[str]
):
    assert left(*written.split()) == 2
    said = capsys.readouterr().err
    assert said.count("error[") == 1 and f"runs.csv is a table; write `lawdsl {right}`" in said


@pytest.mark.parametrize(
    "written",
    [
        "check runs.csv",
        "fit runs.csv nowhere",
        "show runs.csv",
        "solve runs.csv",
        "fmt --check runs.csv",
        "fmt power.law runs.csv",
        "check power.law runs.csv",
        "check runs.csv power.law --json",
    ],
)
def test_a_table_alone_is_no_law(written: str, here: Path, capsys: pytest.CaptureFixture[str]):
    assert left(*written.split()) == 2
    said = capsys.readouterr()
    message = "runs.csv is a table, where a law"
    if "--json" in written:
        assert json.loads(said.out)["diagnostics"][0]["message"].startswith(message)
    else:
        assert said.err.count(f"error[C0007]: {message}") == said.err.count("error") == 1


@pytest.mark.parametrize(
    "written",
    ["export runs.csv --to python", "report runs.csv -o page.html", "predict runs.csv N=1"],
)
def test_where_a_fit_is_used_a_table_is_to_be_fitted_first(
    written: str, here: Path, capsys: pytest.CaptureFixture[str]
):
    assert left(*written.split()) == 2
    said = capsys.readouterr().err
    assert said.count("error[") == 1 and "error[C0007]: runs.csv is a table" in said
    assert "fit a law to it first: `lawdsl fit LAW runs.csv -o fit.json`" in said


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("nowhere/x.svg", "the folder `nowhere` does not exist"),
        (".", "this is a folder"),
        ("x", "a figure cannot be written as 'x'"),
    ],
)
@pytest.mark.parametrize("command", ["plot dcpt.share -o", "check dcpt.share -q --plot"])
def test_a_figure_that_cannot_be_written_is_refused_with_the_reason(
    command: str, file: str, said: str, here: Path, capsys: pytest.CaptureFixture[str]
):
    assert left(*command.split(), file) == 3
    printed = capsys.readouterr()
    assert said in printed.err and printed.err.count("error[") == 1 and not printed.out


def test_a_fit_is_not_computed_where_it_cannot_be_written(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    for module in (fit_processes, fit):  # the first has it from the second
        monkeypatch.setattr(module, "fit_with", lambda *_: pytest.fail("it was computed"))
    for output in ("nowhere/fit.json", "."):
        assert left("fit", "power.law", "runs.csv", "-o", output) == 3
        assert "error[L0313]" in capsys.readouterr().err


def test_a_table_to_be_written_is_no_law(here: Path, capsys: pytest.CaptureFixture[str]):
    assert left("solve", "nowhere", "-o", "runs.csv", "--curve", "curve.csv") == 3
    assert "C0007" not in capsys.readouterr().err


def test_tables_in_options_are_where_they_belong(here: Path, capsys: pytest.CaptureFixture[str]):
    assert left("predict", "--runs", "runs.csv", "nowhere.json", "N=1") == 3
    assert "C0007" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "rule"),
    [
        (("bad law.law",), 3, "L0207"),
        (("nowhere.law",), 3, "L0312"),
        (("nowhere",), 3, "L0310"),
        ((), 2, "C0001"),
        (("power.law", "--time-limit", "x"), 2, "C0001"),
        (("runs.csv",), 2, "C0007"),
        (("power.law", "--json", "--set", "x=1"), 3, None),
        (("bad law.law", "--json"), 3, "L0207"),
    ],
)
def test_sarif_is_a_document_whatever_is_wrong(
    arguments: tuple[str, ...],
    code: int,
    rule: str | None,
    here: Path,
    capsys: pytest.CaptureFixture[str],
):
    assert left("check", "--sarif", *arguments) == code
    (run,) = read(capsys.readouterr().out)["runs"]
    assert run["tool"]["driver"]["name"] == "lawdsl"
    assert run["invocations"] == [{"executionSuccessful": False}]
    (result,) = run["results"]
    assert rule is None or result["ruleId"] == rule
    for place in result.get("locations", ()):
        location = place["physicalLocation"]
        assert location["artifactLocation"]["uri"] == "bad%20law.law"
        assert location["region"]["startLine"] == 2


def read(text: str) -> Any:
    content = json.loads(text)
    assert content["version"] == "2.1.0"
    return content
