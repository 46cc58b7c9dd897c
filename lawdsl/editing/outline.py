"""The structure of a document: its declarations, what may be folded, and ranges around a place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lawdsl.core.diagnostics import Span
from lawdsl.editing.document import Document
from lawdsl.editing.words import Line, Words, words_of
from lawdsl.language import tree

MAX_TEXT = 100  # characters of a line in an outline
LISTED = ("require", "minimize", "maximize", "subject", "fix", "tie", "prior", "extends", "step")
"""Statements that an outline lists although they declare no name."""


@dataclass(frozen=True)
class Entry:
    """An entry of an outline.

    Attributes:
        name: a declared name, the label of a line, or its text.
        kind: the kind of what is declared, or the statement.
        detail: the line in which a name is declared, or that has a label.
        span: the whole statement.
        selection: the word that is shown when the entry is chosen.
        inside: the entries in it.
    """

    name: str
    kind: str
    detail: str
    span: Span
    selection: Span
    inside: tuple[Entry, ...] = ()


def outline(document: Document) -> tuple[Entry, ...]:
    """What a document declares, in its order, inside the entry of its first line.

    Args:
        document: the document, in any state.
    """
    words = words_of(document.text)
    header: Entry | None = None
    entries: list[Entry] = []
    for line in words.lines:
        text = _one_line(document.text, line.span)
        title = next((w for w in line.words if w.role == "header"), None)
        if title is not None and header is None:
            whole = Span(line.span.start, max(len(document.text.rstrip()), line.span.end))
            name = line.words[-1].name if line.words[-1].role == "string" else ""
            header = Entry(title.text, line.keyword, name, whole, title.span)
            continue
        declared = [w for w in line.words if w.declares]
        entries += [Entry(w.text, w.declares, text, line.span, w.span) for w in declared]
        if not declared and line.keyword in LISTED:
            entries.append(_of_line(line, text))
    if header is None:
        return tuple(entries)
    inside = tuple(e for e in entries if e.span.start >= header.span.start)
    before = tuple(e for e in entries if e.span.start < header.span.start)
    kind, detail = header.kind, header.detail
    return (*before, Entry(header.name, kind, detail, header.span, header.selection, inside))


def _of_line(line: Line, text: str) -> Entry:
    """The entry of a line that declares no name: under its label, or as a whole; a claim without `require`."""
    label = next((w.name for w in line.words if w.role == "string"), "")
    if label:
        return Entry(label, line.keyword, text, line.span, line.span)
    name = text.removeprefix("require").strip() or text
    return Entry(name, line.keyword, "", line.span, line.span)


def _one_line(text: str, span: Span) -> str:
    line = " ".join(text[span.start : span.end].split())
    return line if len(line) <= MAX_TEXT else f"{line[: MAX_TEXT - 1]}…"


@dataclass(frozen=True)
class Fold:
    """Lines that an editor may fold into the first of them.

    Attributes:
        span: from the first to the last line.
        kind: comment, or region.
    """

    span: Span
    kind: str


def folds(document: Document) -> list[Fold]:
    """Comments of several lines, statements of several lines, and paragraphs of statements.

    Args:
        document: the document, in any state.
    """
    words = words_of(document.text)
    positions = document.positions()
    folds: dict[tuple[int, int], Fold] = {}

    def add(span: Span, kind: str) -> None:
        first, last = positions.position(span.start)[0], positions.position(span.end)[0]
        if last > first:
            folds.setdefault((first, last), Fold(span, kind))

    for line in words.lines:
        add(line.span, "region")
    for block in _blocks(words, positions.position):
        kinds = {kind for _, kind in block}
        whole = Span(block[0][0].start, block[-1][0].end)
        add(whole, "comment" if kinds == {"comment"} else "region")
        comments = [span for span, kind in block if kind == "comment"]
        leading = [s for s in comments if all(s.start < o.start for o, k in block if k == "line")]
        if leading:
            add(Span(leading[0].start, leading[-1].end), "comment")
    return sorted(folds.values(), key=lambda fold: (fold.span.start, -fold.span.end))


def _blocks(words: Words, position: object) -> Iterator[list[tuple[Span, str]]]:
    """Statements and comments between empty lines; comments behind a statement belong to it."""
    assert callable(position)
    parts = [(line.span, "line") for line in words.lines]
    parts += [(comment.span, "comment") for comment in words.comments]
    block: list[tuple[Span, str]] = []
    last = -1
    for span, kind in sorted(parts, key=lambda part: part[0].start):
        first = position(span.start)[0]
        if block and first > last + 1:
            yield block
            block = []
        if not (kind == "comment" and first == last):
            block.append((span, kind))
        last = max(last, position(span.end)[0])
    if block:
        yield block


def ranges_around(document: Document, offset: int) -> list[Span]:
    """What contains a place, from the word to the whole text: formulas, the statement, …

    Args:
        document: the document, in any state.
        offset: the place.
    """
    words = words_of(document.text)
    spans: list[Span] = []
    word = words.at(offset)
    if word is not None:
        spans.append(word.span)
    for statement in document.tree.statements:
        nodes = tree.walk(statement)
        spans += [n.span for n in nodes if n.span.start <= offset <= n.span.end]
    line = _line_at(words, offset)
    if line is not None:
        spans.append(line.span)
    for block in _blocks(words, document.positions().position):
        whole = Span(block[0][0].start, block[-1][0].end)
        if whole.start <= offset <= whole.end:
            spans.append(whole)
    spans.append(Span(0, len(document.text)))
    return _nested(spans)


def _line_at(words: Words, offset: int) -> Line | None:
    lines = (line for line in words.lines if line.span.start <= offset <= line.span.end)
    return next(lines, None)


def _nested(spans: list[Span]) -> list[Span]:
    """Those of the spans that contain each other, each larger than the one before."""
    chain: list[Span] = []
    for span in sorted(set(spans), key=lambda s: s.end - s.start):
        if span.end == span.start:
            continue
        if not chain or (span.start <= chain[-1].start and chain[-1].end <= span.end):
            chain.append(span)
    return chain
