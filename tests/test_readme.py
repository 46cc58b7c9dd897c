"""The README tells the truth: every command and program in it runs and prints what stands there."""

from __future__ import annotations

import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import commands
import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the README's law file, and the tables as they lie in a checkout."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "laws" / "data", folder / "laws" / "data")
    for name, text in re.findall(r"\(`(\S+\.law)`\):\n\n```\n(.*?)```", README, re.S):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def shown() -> list[tuple[str, str]]:
    """(command, output) of every console block, in the README's order."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", README, re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output.strip("\n")))
    return found


def lines(printed: str) -> str:
    return "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())


def run(program: str, folder: Path) -> str:
    """What a program prints."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return lines(done.stdout)


def same(shown: str, printed: str) -> bool:
    """Equal but for the last digits of numbers, and for how many starts agree."""
    agree = re.compile(r"\d+ of (\d+)\b(?! claims)(?: starts agree; .*)?")
    shown, printed = (agree.sub(r"of \1 starts", text) for text in (shown, printed))
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=2e-4) for a, b in pairs)


def test_the_first_screen_holds_a_law_and_three_commands():
    screen = "\n".join(README.splitlines()[:52])
    law = re.search(r"```\n(law .*?)```", screen, re.S)
    assert law is not None and len(law[1].splitlines()) <= 11
    assert re.findall(r"^\$ lawdsl (\w+)", screen, re.M) == ["check", "fit", "predict"]


def test_every_command_prints_what_the_readme_shows(folder: Path):
    assert len(shown()) >= 6
    for command, output in shown():
        assert command.startswith("lawdsl ")
        done = commands.run(*shlex.split(command)[1:], cwd=folder, together=True)
        printed = lines(done.stdout)
        assert same(output, printed), f"{command}\n{printed}"


def test_every_program_prints_what_the_readme_shows(folder: Path):
    programs = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", README, re.S)
    assert programs
    for program, output in programs:
        assert run(program, folder) == output.strip("\n")


def test_every_command_is_documented_and_has_help():
    from lawdsl.cli import cli

    for name, command in cli.commands.items():
        assert command.help, name
        assert f"lawdsl {name}" in README or f"`{name}`" in README, name


def test_every_path_it_names_exists():
    for path in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / path).exists(), path
    top = ""
    for indent, name in re.findall(r"^( {0,2})(\w+(?:/|\.py))(?= |$)", README, re.M):
        assert (ROOT / (top if indent else "") / name).exists(), name
        top = top if indent else name
