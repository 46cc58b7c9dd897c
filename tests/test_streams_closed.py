"""Who reads the output may close it at any time; it may also be closed from the start, or full."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lawdsl import cli

BAD = "law bad\nvariable N >\nL = N\n"
COMMANDS = [
    ("--help",),
    ("check", "--json", "bad.law"),
    ("check", "bad.law"),
    ("fmt", "-"),
    *(
        pytest.param(words, marks=pytest.mark.slow)
        for words in (("frob",), ("laws",), ("show", "chinchilla"), ("solve", "dcpt.tradeoff"))
    ),
]


def run(folder: Path, *arguments: str, shell: str) -> str:
    (folder / "bad.law").write_text(BAD, encoding="utf-8")
    command = shell.format(" ".join([sys.executable, "-m", "lawdsl", *arguments]))
    text = "law a\nvariable N > 0\nL = N\n"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, input=text, capture_output=True, text=True, check=False
    )
    return f"{done.stdout}|{done.stderr}"


@pytest.mark.parametrize("arguments", COMMANDS)
def test_a_reader_that_has_enough_ends_a_command_quietly(
    arguments: tuple[str, ...], tmp_path: Path
):
    said = run(tmp_path, *arguments, shell="{} 2>&1 | true; echo ${{PIPESTATUS[0]}}")

    assert said == "0\n|"


def test_a_reader_of_one_stream_leaves_the_other(tmp_path: Path):
    said = run(tmp_path, "check", "bad.law", shell="{} | true; echo ${{PIPESTATUS[0]}}")

    assert said.startswith("3\n|error[L0207]")


def test_streams_closed_from_the_start_are_no_fault(tmp_path: Path):
    assert run(tmp_path, "laws", shell="{} >&- 2>&-; echo $?") == "0\n|"
    assert run(tmp_path, "check", "bad.law", shell="{} 2>&-; echo $?") == "3\n|"


def test_a_full_disk_is_said(tmp_path: Path):
    said = run(tmp_path, "laws", shell="{} > /dev/full; echo $?")

    assert said.startswith("3\n|error[C0003]: the output cannot be written: No space left")


def test_letters_that_the_stream_lacks_are_written_as_escapes(tmp_path: Path):
    said = run(tmp_path, "show", "chinchilla", shell="PYTHONIOENCODING=ascii {}; echo $?")

    assert said.endswith("0\n|") and "\\u2202" in said


def test_too_little_memory_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("lawdsl.language.library.locate", full)
    with pytest.raises(SystemExit) as left:
        cli.main(["check", "chinchilla"])

    assert left.value.code == 3 and "error[C0006]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "code"), [("printf 'law a\\xff\\n'", "L0312"), ("cat /dev/zero", "L0103")]
)
def test_standard_input_is_untrusted_too(source: str, code: str, tmp_path: Path):
    said = run(tmp_path, "fmt", "-", shell=source + " | {}; echo $?")

    assert said.startswith(f"3\n|error[{code}]")
