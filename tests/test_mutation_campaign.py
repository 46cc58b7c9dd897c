"""The mutation campaign: what it changes in a source, and that it tells caught from survived."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "mutation"

SOURCE = textwrap.dedent(
    '''
    """Docstring with 1 < 2."""
    LIMIT = 3

    def clamp(x: int | None, low: float = 0.5) -> float:
        """Says x < low."""
        if x < low and not x:
            return max(x, -LIMIT)
        raise ValueError(f"{x + 1}")
    '''
).encode()


@pytest.fixture
def sites(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(FOLDER)
    import sites

    yield sites
    del sys.modules["sites"]


def test_mutations_of_a_source(sites) -> None:
    shown = {(m.operator, m.line, m.after) for m in sites.sites("a.py", SOURCE)}
    assert shown == {
        ("constant", 3, "(4)"),
        ("constant", 5, "(1.0)"),
        ("branch never taken", 7, "(False)"),
        ("branch always taken", 7, "(True)"),
        ("connective", 7, "(x < low or not x)"),
        ("connective", 7, "(not x)"),
        ("connective", 7, "(x < low)"),
        ("comparison", 7, "(x <= low)"),
        ("comparison", 7, "(x > low)"),
        ("negation dropped", 7, "(x)"),
        ("returns None", 8, "return None"),
        ("opposite function", 8, "(min(x, -LIMIT))"),
        ("negation dropped", 8, "(LIMIT)"),
    }


def test_a_mutation_changes_nothing_but_its_place(sites) -> None:
    for mutation in sites.sites("a.py", SOURCE):
        mutated = mutation.apply(SOURCE)
        assert mutated.startswith(SOURCE[: mutation.start])
        assert mutated.endswith(SOURCE[mutation.end :])
        compile(mutated, "a.py", "exec")


def test_blocks_say_which_tests_concern_a_mutation(sites) -> None:
    by_line = {m.line: m.block for m in sites.sites("a.py", SOURCE)}
    assert by_line == {3: 0, 5: 0, 7: 6, 8: 8}


def test_every_equivalent_mutation_is_one_place_of_the_code(sites) -> None:
    entries = tomllib.loads((FOLDER / "equivalent.toml").read_text())["mutation"]
    for file in {entry["file"] for entry in entries}:
        source = (ROOT / file).read_bytes()
        places = Counter(mutation.identity(source)[1:] for mutation in sites.sites(file, source))
        for entry in entries:
            if entry["file"] == file:
                assert places[entry["line"], entry["change"]] == 1, entry
                assert len(entry["reason"]) > 10, entry


@pytest.mark.slow
def test_a_campaign_tells_caught_from_survived(tmp_path: Path) -> None:
    """On a copy with one function and one test that looks at half of it."""
    for file in FOLDER.glob("*.py"):
        _write(tmp_path / "tests" / "mutation" / file.name, file.read_text())
    line, change = "if x < 0:", "comparison:  x < 0  ->  (x <= 0)"
    entry = {"file": "lawdsl/small.py", "line": line, "change": change, "reason": "for a test"}
    lines = [f"{key} = {json.dumps(text)}" for key, text in entry.items()]
    equivalent = "\n".join(["[[mutation]]", *lines])
    _write(tmp_path / "tests" / "mutation" / "equivalent.toml", equivalent)
    _write(tmp_path / "lawdsl" / "__init__.py", "")
    _write(
        tmp_path / "lawdsl" / "small.py",
        "def sign(x):\n    if x < 0:\n        return -1\n    return 1\n",
    )
    test = "from lawdsl.small import sign\ndef test_sign():\n    assert sign(-2) == -1\n"
    _write(tmp_path / "tests" / "test_small.py", test + "    assert sign(1) == 1\n")
    campaign = [sys.executable, "tests/mutation/campaign.py"]
    options = ["--out", "out", "--folders", "lawdsl"]
    for command in (["record"], ["run", "--count", "100"]):
        done = subprocess.run(
            [*campaign, *command, *options], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "9 mutations: 7 caught, 1 survived, 1 equivalent; 77.8 % caught" in done.stdout, (
        done.stdout
    )
    results = map(json.loads, (tmp_path / "out" / "results.jsonl").read_text().splitlines())
    survived = {r["shown"] for r in results if r["status"] != "caught"}
    assert survived == {
        "lawdsl/small.py:2  comparison:  x < 0  ->  (x <= 0)",
        "lawdsl/small.py:2  constant:  0  ->  (1)",
    }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
