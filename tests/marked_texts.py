"""Texts of laws with the cursor of an editor at `|`, and what is answered there."""

from __future__ import annotations

from pathlib import Path

from lawdsl.core.diagnostics import Edit
from lawdsl.editing.completion import completions
from lawdsl.editing.completion_place import Completion
from lawdsl.editing.document import Document, read_document
from lawdsl.editing.hover import Hover, Known, hover
from lawdsl.editing.names import Files
from lawdsl.language import keywords
from lawdsl.language.library import OpenFiles, shipped

SHIPPED = {name: path for kind in keywords.SECTIONS for name, path in shipped(kind).items()}
SECONDS = 60.0  # until the worker has an answer
SAMPLE = 23  # one word in so many is tried in the default run
HALF = 'law half\nvariable N > 0  unit param  "size"\nvariable D > 0\nparameter E, A, alpha > 0\n'
LAW = HALF + "L = E + A/N^alpha\nrequire L > E\n"
NOTHING = Known()


def at_cursor(marked: str) -> tuple[str, int]:
    """A text without its `|`, and where that stood."""
    return marked.replace("|", ""), marked.index("|")


def opened(texts: dict[Path, str]) -> Files:
    """Files of which these texts are open."""
    return Files(OpenFiles({path.resolve(): text for path, text in texts.items()}))


def document_of(text: str, path: Path, last: str = "") -> Document:
    """A document; `last` is its text before an edit."""
    before = read_document(last, path) if last else None
    return read_document(text, path, last=before)


def offered(marked: str, path: Path, texts: dict[Path, str] | None = None) -> list[Completion]:
    """What is proposed at the cursor, after an edit of LAW."""
    text, offset = at_cursor(marked)
    files = opened({**(texts or {}), path: text})
    return completions(document_of(text, path, LAW), offset, files)


def names(proposals: list[Completion], *kinds: str) -> set[str]:
    return {c.text for c in proposals if not kinds or c.kind in kinds}


def shown(marked: str, path: Path, known: Known = NOTHING) -> Hover | None:
    """The hover at the cursor."""
    text, offset = at_cursor(marked)
    return hover(document_of(text, path), offset, opened({}), known)


def words_shown(marked: str, path: Path, known: Known = NOTHING) -> str:
    answer = shown(marked, path, known)
    return "\n".join(block.text for block in answer.blocks) if answer else ""


def applied(text: str, edits: tuple[Edit, ...]) -> str:
    """A text after edits."""
    for edit in sorted(edits, key=lambda e: -e.span.start):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text
