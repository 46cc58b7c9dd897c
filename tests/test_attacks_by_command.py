"""Attacks on the command `check`: a process of its own, measured from outside."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import limited
import pytest
from test_attacks import GENERATED, LEGAL, ROOT, SECONDS, expected

MEMORY = 512 << 20


def run_check(path: Path, folder: Path) -> tuple[int, str]:
    """Exit code and output of `lawdsl check`; time and memory are looked at here."""
    out, report = folder / "out", folder.with_suffix(".json")
    command = [sys.executable, "-m", "lawdsl", "check", str(path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": ""}
    for _ in range(2):  # what takes too long is measured once more
        with out.open("wb") as file:
            took = limited.run(
                command, report, stdout=file, stderr=subprocess.STDOUT, cwd=folder, env=environment
            )
        text = out.read_text(encoding="utf-8")
        out.unlink()
        if took["seconds"] < SECONDS:
            break

    assert took["seconds"] < SECONDS
    assert took["memory"] < MEMORY
    assert "Traceback" not in text
    assert "\x1b" not in text
    assert list(folder.iterdir()) == []
    return took["code"], text


BY_COMMAND = ("eval_call", "circle", "ansi_in_title")


AT_LEISURE = (
    "tower_four", "nested_extrema",
    "import_call_plain", "attribute_walk", "dunder_names", "sympy_names", "html", "format_string",
    "large_power_by_let", "large_power_by_exp_log", "division_by_hidden_zero", "extends_path",
    "binomial", "mixed_derivative", "question_section",
)  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [*BY_COMMAND, *(pytest.param(name, marks=pytest.mark.slow) for name in AT_LEISURE)],
)
def test_the_command_answers_a_stored_attack(name: str, tmp_path: Path):
    path = ROOT / f"tests/fixtures/attacks/{name}.law"
    status, text = run_check(path, tmp_path)

    assert status in ((3,) if expected(path) else (0, 1))
    for code in expected(path):
        assert code in text


@pytest.mark.parametrize(
    "name",
    [
        "JSON",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in (
                "a sum of 5,000 names",
                *("15,000 functions", "10,000 unknown names", "a sum over 10^16 labels"),
                *("2,000 labels in a claim", "1 MiB of quotes"),
            )
        ),
    ],
)
def test_the_command_answers_a_generated_attack(name: str, tmp_path: Path):
    make, codes = GENERATED[name]
    path = tmp_path / "attack.law"
    path.write_text(make(), encoding="utf-8")
    folder = tmp_path / "empty"
    folder.mkdir()

    assert run_check(path, folder)[0] in ((3,) if codes != LEGAL else (0, 1))


@pytest.mark.parametrize(
    "kind",
    [
        "endless",
        "pipe",
        *(pytest.param(k, marks=pytest.mark.slow) for k in ("folder", "missing", "latin", "link")),
    ],
)
def test_the_command_reads_nothing_but_regular_files(kind: str, tmp_path: Path):
    path = tmp_path / "attack.law"
    if kind == "endless":
        path = Path("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "latin":
        path.write_bytes(b"law \xff\n")
    elif kind == "link":
        path.symlink_to(path.name)
    folder = tmp_path / "empty"
    folder.mkdir()
    status, text = run_check(path, folder)

    assert status == 3
    assert "L0312" in text
