"""`lawdsl check` keeps its verdicts: the second run of a command prints the same without proofs."""

from __future__ import annotations

import json
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lawdsl.cli import cli
from lawdsl.core import entry_cache
from lawdsl.law.law import Law
from lawdsl.proof import Check, whole_check as checking

FIXTURES = Path(__file__).parent / "fixtures"
LAW = """law half
variable  N > 0
parameter E > 0
parameter A > 0
parameter k, unused > 0

L = E + A/N^k

require ∂L/∂N < 0
require L > 2*E expect refuted
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a law, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("LAWDSL_NO_CACHE", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "half.law").write_text(LAW, encoding="utf-8")
    return tmp_path


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the laws whose claims are decided."""
    names: list[str] = []
    check = checking.check_unknown

    def counted(law: Law, known: Any, **options: Any) -> Check:
        names.append(law.name)
        return check(law, known, **options)

    monkeypatch.setattr(checking, "check_unknown", counted)
    return names


def run(*arguments: str) -> str:
    done = CliRunner().invoke(cli, ["check", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_a_second_check_prints_the_same_without_deciding_anything(
    folder: Path, decided: list[str]
) -> None:
    first = run("half.law")
    assert "PROVED" in first and "REFUTED" in first and "unused" in first
    assert run("half.law") == first and decided == ["half"]
    again = json.loads(run("half.law", "--json"))
    assert again["result"]["laws"][0]["digest"] and decided == ["half"]
    # no proof is read from another law, under other limits, or with a change
    run("half.law", "--time-limit", "2")
    run("half.law", "--fix", "E=1")
    (folder / "half.law").write_text(LAW.replace("2*E", "3*E"), encoding="utf-8")
    assert "3*E" in run("half.law")
    assert decided == ["half"] * 4


def test_a_damaged_entry_and_an_undecided_claim_are_decided_again(
    folder: Path, decided: list[str]
) -> None:
    first = run("half.law")
    (entry,) = (folder / "cache" / "lawdsl" / "checks").iterdir()
    kept = json.loads(entry.read_text(encoding="utf-8"))
    kept["ready"]["claims"][1]["verdict"] = "true"
    entry.write_text(json.dumps(kept), encoding="utf-8")
    assert run("half.law") == first and len(decided) == 2
    undecided = (FIXTURES / "natural" / "kinked.law").read_text(encoding="utf-8")
    (folder / "kinked.law").write_text(undecided, encoding="utf-8")
    for _ in range(2):
        assert "UNDECIDED" in run("kinked.law")
    assert len(decided) == 4


def test_another_version_of_the_algebra_decides_again(
    folder: Path, decided: list[str], monkeypatch: pytest.MonkeyPatch
):
    run("half.law")
    other = folder / "sympy.py"
    other.write_text("", encoding="utf-8")
    spec = entry_cache.find_spec
    monkeypatch.setattr(
        entry_cache,
        "find_spec",
        lambda name: spec_from_file_location(name, other) if name == "sympy" else spec(name),
    )
    entry_cache._made_by.cache_clear()
    try:
        run("half.law")
    finally:
        entry_cache._made_by.cache_clear()
    assert decided == ["half", "half"]
