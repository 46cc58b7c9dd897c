"""Half-written, damaged and edited texts, as the language server reads them."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
from language_client import PlainClient
from lark import Token
from lsprotocol import types
from shown_messages import LAWS, by_check, damaged, place

from lawdsl.core.diagnostics import Text
from lawdsl.editing.document import read_document
from lawdsl.editing.positions import Positions
from lawdsl.language import tree
from lawdsl.language.edited_tokens import edited_tokens
from lawdsl.language.known_lines import KnownLines
from lawdsl.language.library import OpenFiles
from lawdsl.language.parse_cache import ParseCache
from lawdsl.language.parser import parse
from lawdsl.language.tokens import tokens_of
from lawdsl.server.conversions import diagnostic
from lawdsl.server.open_documents import OpenDocuments, edited


def prefixes(paths: list[Path], step: int) -> list[tuple[Path, str]]:
    """The beginnings of files, of lengths that differ by `step`."""
    beginnings = []
    for path in paths:
        text = path.read_text(encoding="utf-8")
        beginnings += [(path, text[:end]) for end in range(0, len(text), step)]
    return beginnings


def ask_everything(path: Path, text: str, opened: OpenFiles | None = None) -> None:
    """Read a text and ask all that an editor asks about it; nothing may fail."""
    document = read_document(text, path, opened=opened)
    positions = document.positions()
    uri = path.absolute().as_uri()
    for d in document.diagnostics:
        shown = diagnostic(d, document, uri, positions)
        assert shown.range.start <= shown.range.end
        assert shown.range.end.line < positions.lines
    assert document.tokens or not text.strip("\ufeff \t\n\r\f") or document.too_large
    for offset in (0, len(document.text) // 2, len(document.text)):
        line, column = positions.position(offset)
        assert positions.offset(line, column) == offset or "\r" in text
        document.token_at(offset)


def test_half_written_laws_are_read() -> None:
    opened = OpenFiles(parsed=ParseCache(10_000, edited=True))
    for path, text in prefixes(LAWS[::29], 17):
        ask_everything(path, text, opened)


@pytest.mark.slow
@pytest.mark.parametrize("path", LAWS, ids=lambda path: path.stem)
def test_every_prefix_of_every_law_is_read(path: Path) -> None:
    opened = OpenFiles(parsed=ParseCache(10_000, edited=True))
    for _, text in prefixes([path], 1):
        ask_everything(path, text, opened)


def edit_at_random(seed: int, edits: int) -> None:
    """Edits, sent as positions; the text of the server is that of the editor, and is read."""
    rng = random.Random(seed)
    path = rng.choice(LAWS)
    documents = OpenDocuments(path.parent)
    text = path.read_text(encoding="utf-8")
    documents.encoding = rng.choice(("utf-16", "utf-8", "utf-32"))
    uri = path.absolute().as_uri()
    documents.open(uri, 0, text)
    for version in range(1, edits):
        after = damaged(text, rng)
        start = len(os.path.commonprefix((text, after)))
        end = min(len(os.path.commonprefix((text[::-1], after[::-1]))), len(after) - start)
        end = min(end, len(text) - start)
        # a position inside of a line end is not one
        while start and text[start - 1 : start] == "\r":
            start -= 1
        while end and text[len(text) - end - 1 : len(text) - end] == "\r":
            end -= 1
        positions = Positions(text, documents.encoding)
        first, last = positions.position(start), positions.position(len(text) - end)
        change = types.TextDocumentContentChangePartial(
            place(*first, *last), after[start : len(after) - end]
        )
        assert edited(text, [change], documents.encoding) == after
        opened = documents.change(uri, version, [change])
        assert opened is not None and opened.text == after
        ask_everything(path, after)
        documents.read(opened)
        text = after


@pytest.mark.parametrize("seed", range(3))
def test_random_edits_are_read(seed: int) -> None:
    edit_at_random(seed, 15)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 150))
def test_many_random_edits_are_read(seed: int) -> None:
    edit_at_random(seed, 100)


@pytest.mark.slow
def test_random_edits_over_the_protocol(tmp_path: Path) -> None:
    """1,000 edits of ten laws; after them the server shows what `check` says of the last text."""
    client = PlainClient(tmp_path)
    for seed in range(10):
        rng = random.Random(seed)
        text = rng.choice(LAWS).read_text(encoding="utf-8")
        path = tmp_path / f"edited{seed}.law"
        client.open(path, text)
        for version in range(2, 102):
            text = damaged(text, rng)
            client.change(path, version, {"text": text})
            if rng.random() < 0.1:
                client.hints(path)
        _, diagnostics = client.published(path, 101)
        path.write_bytes(text.encode("utf-8"))
        codes = {str(d["code"]) for d in diagnostics if not str(d["code"]).startswith("claim-")}
        assert codes == {d["code"] for d in by_check(path, "--syntax")}
        client.forget()
    assert client.end() == 0


# Lines that an edit leaves as they are


def spans(parsed: tree.SyntaxTree) -> list[Any]:
    """The places of all nodes of each statement."""
    return [[(type(n), n.span) for n in tree.walk(s)] for s in parsed.statements]


def places(tokens: list[Token]) -> list[tuple[Any, ...]]:
    """All fields of tokens, of which `==` compares the text alone."""
    return [
        (t.type, t.value, t.start_pos, t.end_pos, t.line, t.column, t.end_line, t.end_column)
        for t in tokens
    ]


ODD = (
    'law x\r\nL = "a\n" + `b`; c\n',
    "# \u202e\nL = a\u2212b \ud800\n\n",
    'note "never closed\n"closed" \r "\n',
    'L = ‘a’ + "b\t"\x00 # \x07',
    "L = N⁻¹² + 2 \r\n\n\r",
    "$ $ $\n$ $\n" * 30,
    f"L = {'a + ' * 600}a $\n# {'c' * 2000}\x01\n",
)


def test_tokens_of_edited_texts_are_those_of_texts_that_are_new() -> None:
    rng = random.Random(11)
    texts = [*ODD]
    for path in LAWS[::20]:
        text = path.read_text(encoding="utf-8")
        for _ in range(12):
            texts.append(text)
            text = damaged(text, rng)
    for text in texts:
        for name in ("x", "y"):
            source = Text(name, text)
            edited, messages = edited_tokens(source)
            new, expected = tokens_of(source)
            assert places(edited) == places(new)
            assert messages == expected and all(m.text is source for m in messages)


def test_lines_known_from_the_text_before_have_the_trees_of_a_text_that_is_new() -> None:
    rng = random.Random(7)
    for path in LAWS[::40]:
        text = path.read_text(encoding="utf-8")
        known: KnownLines = {}
        for _ in range(12):
            edited_tree, mistakes = parse(text, "x", known)
            new_tree, expected = parse(text, "x")
            assert edited_tree == new_tree and mistakes == expected
            assert spans(edited_tree) == spans(new_tree)
            text = damaged(text, rng)
