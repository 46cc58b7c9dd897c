"""Each of the 35 traps of the three papers is said by the command that docs/traps.md names."""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path

import commands
import pytest
from test_readme import FILE, ROOT

PAGE = (ROOT / "docs" / "traps.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([TDC]\d+) \| .*? \| `(lawdsl .*?)` \| `(.*?)` \|$", PAGE, re.M)
NAMES = [
    *(f"T{k}" for k in range(1, 19)),
    *(f"D{k}" for k in range(1, 9)),
    *(f"C{k}" for k in range(1, 10)),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the page and the shipped tables."""
    place = tmp_path_factory.mktemp("traps")
    (place / "laws").symlink_to(ROOT / "laws")
    for name, text in FILE.findall(PAGE):
        (place / name).write_text(text, encoding="utf-8")
    return place


@cache
def printed(command: str, folder: Path) -> str:
    """What a command prints, on one line with single spaces."""
    run = commands.run(*shlex.split(command)[1:], cwd=folder, together=True)
    return " ".join(run.stdout.split())


def test_the_page_has_every_trap_once():
    assert [name for name, _, _ in ROWS] == NAMES


@pytest.mark.parametrize(("name", "command", "line"), ROWS, ids=NAMES)
def test_a_trap_is_said(name: str, command: str, line: str, folder: Path):
    for file in re.findall(r"=(\w+\.json)", command):  # made by the command of an earlier row
        maker = next(c for _, c, _ in ROWS if f"-o {file}" in c)
        printed(maker, folder)
    assert line in printed(command, folder), name
