"""Common mistakes have one message each, at the right place, with the right advice."""

from __future__ import annotations

import json
import shlex
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from mistaken_commands import LEAST, exit_of

import lawdsl
from lawdsl.core.diagnostics import Diagnostic, Text
from lawdsl.language.fixes import diagnostics_of, fix_text
from lawdsl.language.library import warnings_of
from lawdsl.language.parser import parse

HERE = Path(__file__).resolve().parent
MISTAKES = HERE / "fixtures" / "mistakes"
BANKS = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in MISTAKES.glob("*.toml")}
FILES = [
    (bank["bases"][mistake["in"]], mistake)
    for bank in BANKS.values()
    for mistake in bank.get("mistakes", ())
]
COMMANDS = BANKS["commands"]


def cases(kind: str) -> list[dict[str, Any]]:
    return [case for bank in BANKS.values() for case in bank.get(kind, ())]


LARGE = """\
pipeline large "The largest model from smaller ones"
given     N_target > 0          unit param
given     r_target in [0, 1]
step      mixing.size  by r  where phase = "end"  at N = N_target
step      dcpt.share                              at r = r_target
"""


def read(text: Text) -> list[Diagnostic]:
    return warnings_of(text, Path())


def file_of(base: str, mistake: dict[str, Any]) -> str:
    if "add" in mistake:
        return f"{base}{mistake['add']}\n" if "new" not in mistake else f"{base}{mistake['new']}"
    assert mistake["old"] in base
    return base.replace(mistake["old"], mistake["new"], 1)


@pytest.mark.parametrize("base", sorted({base for base, _ in FILES}), ids=lambda b: b.split()[1])
def test_the_files_have_no_mistakes_before_they_are_changed(base: str):
    assert not diagnostics_of(Text("a.law", base), read)


@pytest.mark.parametrize(("base", "mistake"), FILES, ids=[f"{i}" for i in range(len(FILES))])
def test_a_mistake_in_a_file_is_found_at_its_place_with_the_right_advice(
    base: str, mistake: dict[str, Any]
):
    text = Text("a.law", file_of(base, mistake))
    found = diagnostics_of(text, read)
    first = found[0]
    assert first.text is not None and first.span is not None
    line, column = first.text.position(first.span.start)

    assert f"{line}:{column}" == mistake["place"], first
    assert first.code == mistake["code"]
    assert mistake.get("says", "") in f"{first.message}\n{first.help}"
    assert first.message == mistake.get("message", first.message)
    assert first.help == mistake.get("help", first.help)
    assert len(found) == mistake.get("messages", 1) <= 2

    assert not any(d.edits and "did you mean" in (d.help or "") for d in found)
    fixed = fix_text(text, read)
    checks = bool(fixed.fixed) and not [d for d in fixed.left if d.severity == "error"]
    assert checks == mistake.get("fixed", False)
    if "becomes" in mistake:
        assert fixed.text.text == file_of(base, {**mistake, "new": mistake["becomes"]})


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("choose 0.1 <= N <= 70 unit Gparam", "choose N in [0.1, 70] unit Gparam"),
        ("index s over {wiki, arxiv-papers}", "index s over {wiki, arxiv_papers}"),
        ("require L tends to E when N → ∞", "require L -> E as N -> oo"),
        ("step mixing.size at N = 10 by r", "step mixing.size by r at N = 10"),
        ("variable N (number of parameters) > 0", 'variable N > 0 "number of parameters"'),
        ("start A in np.logspace(0, 4, 3)", "start A in {1, 100, 10000}"),
        ("start A in geomspace(1, 100, 3)", "start A in {1, 10, 100}"),
        ("start A in logspace(0, 400, 3)", None),
        ("start A in geomspace(1e-300, 1e300, 3)", None),
        ("start A in range(0, 1e308, 1e-300)", None),
        ("variable N > 0 unit 10^999 param", None),
        (f"L = {'if A < 1 and A < 2 then 1 else ' * 60}2", None),
        (f"L = if {'not ' * 480}A < 1 then 1 else 2", None),
        (f'log(L) = 2{" unit a" * 200} "x" unit', None),
        (f"parameter A{' ' * 1500}x y", None),
        ("require for all N,", None),
        ("prior ~", None),
        ("parameter c[i >= 0", None),
        ("minimize: ", None),
        ("prior alpha in,[+0.2. 0 5]", None),
    ],
)
def test_a_suggested_line_parses_and_keeps_names_and_numbers(line: str, meant: str | None):
    found = parse(f"law a\n{line}\n")[1]
    if meant is None:
        assert found
    else:
        assert found[0].help == f"write `{meant}`" or meant.endswith('"')
        assert not parse(f"law a\n{meant}\n")[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, a fit, a question, a pipeline and files that are none of these."""
    path = tmp_path_factory.mktemp("mistakes")
    table = path / "runs.csv"
    shutil.copy(HERE.parent / "laws" / "data" / "c4_share.csv", table)
    shutil.copy(table, path / "runs.xlsx")
    lawdsl.fit("dcpt.share", table).save(path / "c4.json")
    (path / "least.law").write_text(LEAST, encoding="utf-8")
    (path / "large.law").write_text(LARGE, encoding="utf-8")
    (path / "study.law").write_text(BANKS["files"]["bases"]["study"], encoding="utf-8")
    (path / "sweep.toml").write_text(COMMANDS["sweep"], encoding="utf-8")
    undeclared = LARGE.replace("given     r_target in [0, 1]\n", "")
    (path / "no_r_target.law").write_text(undeclared, encoding="utf-8")
    (path / "answer.txt").write_text("least: The smallest share\n  loss: dcpt.share\n", "utf-8")
    (path / "empty.csv").touch()
    (path / "broken.json").write_text('{"a":\n', encoding="utf-8")
    return path


@pytest.mark.parametrize("case", cases("commands"), ids=lambda case: case["run"])
def test_a_mistake_on_the_command_line_is_answered_with_the_right_advice(
    case: dict[str, Any],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(folder)
    code, _, said = exit_of(shlex.split(case["run"]), capsys)

    assert code == case["exit"]
    assert case["says"] in said
    assert said.count("error[") + said.count("Error: ") == 1


@pytest.mark.parametrize("case", cases("tables"), ids=lambda case: json.dumps(case["text"][:25]))
def test_a_mistake_in_a_table_is_found_at_its_place(
    case: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(case["text"], encoding="utf-8")
    code, _, said = exit_of(["fit", "dcpt.share", "t.csv", "--starts", "4"], capsys)

    assert code == 3 and said.count("error[") == 1
    assert f"--> {case['place']}\n" in said and case["says"] in said


@pytest.mark.parametrize("case", cases("sweeps"), ids=lambda case: case["new"])
def test_a_mistake_in_a_sweep_is_found_at_its_place(
    case: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    assert case["old"] in COMMANDS["sweep"]
    text = COMMANDS["sweep"].replace(case["old"], case["new"], 1)
    Path("s.toml").write_text(text, encoding="utf-8")
    code, _, said = exit_of(["run", "s.toml", "--dry-run"], capsys)

    assert code == 3 and said.count("error[") == 1
    assert f"--> {case['place']}\n" in said and case["says"] in said
