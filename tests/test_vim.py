"""The syntax file of Vim agrees with the lexer on every token of every file that parses."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from test_highlighting import FILES, parsed_tokens, text_of

from lawdsl.highlighting.token_classes import CLASSES

ROOT = Path(__file__).resolve().parent.parent
EDITOR = next(filter(None, map(shutil.which, ("nvim", "vim"))), None)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(EDITOR is None, reason="needs nvim or vim"),
]


def groups(path: Path, output: Path) -> list[str]:
    """The highlight group of each character of a file; `` for line ends."""
    folder = ROOT / "editors/vim"
    assert EDITOR is not None
    headless = ["--headless"] if "nvim" in EDITOR else ["-es", "-T", "dumb"]
    done = subprocess.run(
        [EDITOR, *headless, "-u", "NONE", "-i", "NONE", "-n"]
        + ["--cmd", f"set runtimepath^={folder} encoding=utf-8", "--cmd", "filetype plugin on"]
        + [str(path), "-S", str(ROOT / "tests/groups_of_vim.vim")],
        env={**os.environ, "GROUPS": str(output), "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert output.exists(), done.stdout + done.stderr
    lines = output.read_text(encoding="utf-8").split("\n")
    return [name for line in lines for name in [*(line.split(",") if line else ()), ""]]


def test_vim_shows_the_classes_of_the_lexer(tmp_path: Path) -> None:
    # one file, so that Vim starts once
    texts = [text_of(path) for path in FILES]
    texts = [text.rstrip() + "\n" for text in texts if "\r" not in text and parsed_tokens(text)]
    path = tmp_path / "all.law"
    path.write_text("".join(texts), encoding="utf-8")
    shown = groups(path, tmp_path / "groups")
    wrong: Counter[str] = Counter()
    count = start = 0
    for text in texts:
        for token in parsed_tokens(text):
            expected = f"law{token.kind.capitalize()}" if CLASSES[token.kind].vim else "lawName"
            actual = set(shown[start + token.start : start + token.end])
            count += 1
            if actual != {expected}:
                wrong[f"{expected} {text[token.start : token.end]} {sorted(actual)}"] += 1
        start += len(text)
    assert count > 25_000
    assert not wrong
