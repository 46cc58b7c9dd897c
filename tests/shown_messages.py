"""Messages of `check` and of an editor in one form, to be compared; texts after random edits."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from lsprotocol import types

from lawdsl.cli import cli
from lawdsl.core.diagnostics import LawdslError

ROOT = Path(__file__).resolve().parent.parent
LAWS = sorted((ROOT / "laws").rglob("*.law"))
FIXTURES = sorted((ROOT / "tests" / "fixtures").rglob("*.law"))


def place(line: int, column: int, last: int, end: int) -> types.Range:
    """The range from a line and column to another line and column, from 0."""
    return types.Range(types.Position(line, column), types.Position(last, end))


def by_check(path: Path, *options: str) -> list[dict[str, Any]]:
    """The messages of `lawdsl check --json`."""
    result = CliRunner().invoke(cli, ["check", *options, "--json", str(path)], prog_name="lawdsl")
    if isinstance(result.exception, LawdslError):
        return [d.to_json() for d in result.exception.diagnostics]
    return list(json.loads(result.stdout)["diagnostics"])


def as_shown(expected: list[dict[str, Any]], text: str) -> set[tuple[Any, ...]]:
    """Messages of `check` as an editor shows them: lines and columns from 0, help below the message."""
    lines = text.split("\n")

    def column(at: list[int]) -> tuple[int, int]:
        before = lines[at[0] - 1][: at[1] - 1]
        return at[0] - 1, len(before.encode("utf-16-le")) // 2

    shown = set()
    for d in expected:
        first = len(lines[0].rstrip("\r").encode("utf-16-le")) // 2
        start, end = (column(d["start"]), column(d["end"])) if d["start"] else ((0, 0), (0, first))
        message = f"{d['message']}\n{d['help']}" if d["help"] else d["message"]
        shown.add((d["code"], d["severity"], message, start, end, tuple(d["notes"])))
    return shown


def of_editor(messages: list[types.Diagnostic]) -> set[tuple[Any, ...]]:
    """The messages of the language among those that the editor shows."""
    return {
        (
            d.code,
            "error" if d.severity == types.DiagnosticSeverity.Error else "warning",
            d.message,
            (d.range.start.line, d.range.start.character),
            (d.range.end.line, d.range.end.character),
            tuple(related.message for related in d.related_information or ()),
        )
        for d in messages
        if not str(d.code).startswith("claim-")
    }


def damaged(text: str, rng: random.Random) -> str:
    """A text after an edit that an editor could send."""
    start = rng.randrange(len(text) + 1)
    end = min(len(text), start + rng.choice((0, 0, 1, 1, 5, 40)))
    pieces = ("", " ", "\n", *'()]"#^L', "require ", "\r\n", "\x0c", *"𝒩é∂")
    start, end = (start, end) if rng.random() < 0.8 else (start, start)
    new = rng.choice(pieces) if rng.random() < 0.8 else text[end : end + 30]
    return text[:start] + new + text[end:]
