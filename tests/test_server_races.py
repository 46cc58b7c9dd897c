"""Edits that arrive while the language server reads a document, decides its claims or waits."""

from __future__ import annotations

import asyncio
import random
import threading
from pathlib import Path
from typing import Any

import pytest
from language_client import PlainClient
from lsprotocol import types

from lawdsl.editing.document import Document, read_document
from lawdsl.editing.hover import Block
from lawdsl.editing.positions import Positions
from lawdsl.language.library import shipped
from lawdsl.server.open_documents import OpenDocuments
from lawdsl.server.reading_features import COMPUTING, completion, hover_at, markdown
from lawdsl.server.session import LARGE, Session
from lawdsl.server.tasks import check, law_of

BASE = "law base\nvariable N > 0\nparameter E > 5\nL = E + 1/N\n"
BUILT = "law built\nextends base\nL = base\nrequire L > 1\n"


class Silent:
    """An editor that shows nothing."""

    def publish(
        self, uri: str, version: int | None, diagnostics: list[types.Diagnostic]
    ) -> None: ...

    def refresh_hints(self) -> None: ...

    def warn(self, message: str) -> None: ...


def whole(text: str) -> list[types.TextDocumentContentChangeEvent]:
    """An edit that replaces the whole text."""
    return [types.TextDocumentContentChangeWholeDocument(text)]


def test_claims_are_decided_on_the_texts_that_were_read(tmp_path: Path):
    """An edit of the law that is extended must not give its verdicts to the version before it."""
    documents = OpenDocuments(tmp_path)
    base, built = (tmp_path / "base.law").as_uri(), (tmp_path / "built.law").as_uri()
    documents.open(base, 1, BASE)
    read = documents.read(documents.open(built, 1, BUILT))
    documents.change(base, 2, whole(BASE.replace("> 5", "> 0")))
    request = Session(Silent(), documents).request_for(read)
    assert law_of(request).declarations.laws["base"].text.text == BASE
    sent: list[dict[str, Any]] = []
    check({**request, "limits": [1.0, None], "known": [None]}, sent.append)
    assert [part["verdict"]["verdict"] for part in sent] == ["proved"]


def test_a_text_edited_while_a_thread_reads_it_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """What the thread has read by then is of an earlier version, and dropped."""
    uri = (tmp_path / "base.law").as_uri()
    begun, edited = threading.Event(), threading.Event()

    def slow(text: str, *arguments: Any, **options: Any) -> Document:
        if threading.current_thread() is not threading.main_thread():
            begun.set()
            assert edited.wait(30)
        return read_document(text, *arguments, **options)

    monkeypatch.setattr("lawdsl.server.open_documents.read_document", slow)

    async def run() -> None:
        session = Session(Silent(), OpenDocuments(tmp_path))
        document = session.documents.open(uri, 1, BASE)
        reading = asyncio.create_task(session._read_in_thread(document))
        await asyncio.to_thread(begun.wait, 30)
        session.documents.change(uri, 2, whole(BUILT))
        now = session.documents.read(document)
        edited.set()
        await reading
        assert document.document is now and now.text == BUILT and not document.stale

    asyncio.run(run())


def test_a_hover_on_a_document_that_is_closed_meanwhile_has_no_answer(tmp_path: Path):
    uri = (tmp_path / "base.law").as_uri()

    async def run() -> types.Hover | None:
        session = Session(Silent(), OpenDocuments(tmp_path))
        session.documents.open(uri, 1, BASE + "# a comment\n" * (LARGE // 10))
        params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(1, 9))
        waiting = asyncio.create_task(hover_at(session, params))
        await asyncio.sleep(0)  # it is being read now
        assert not waiting.done()
        session.closed(uri)
        return await waiting

    assert asyncio.run(run()) is None


# A hover in the same moment as an edit

HEAD = 'law edited\nvariable N > 0 unit param "size"\n'
PRICED = HEAD + 'parameter A, k > 0  "the price"\nL = A/N^k\nrequire L > 0\n'


def at_word(text: str, word: str) -> types.Position:
    """The place of the last mention of a word."""
    offset = text.rindex(word)
    line = text.count("\n", 0, offset)
    return types.Position(line, offset - text.rfind("\n", 0, offset) - 1)


def session_of(folder: Path, *documents: tuple[str, str]) -> Session:
    """A connection without a worker, with documents that are read."""
    session = Session(Silent(), OpenDocuments(folder), markdown=True)

    async def ask_worker(kind: str, arguments: dict[str, Any]) -> None:
        return None

    session.ask_worker = ask_worker  # type: ignore[method-assign]
    session._decide_soon = lambda document: None  # type: ignore[method-assign]
    for uri, text in documents:
        session.documents.open(uri, 1, text)
        session.current(uri)
    return session


async def shown(session: Session, uri: str, at: types.Position) -> tuple[str, Any]:
    """What a hover shows, without what the worker is asked for, and its range."""
    params = types.HoverParams(types.TextDocumentIdentifier(uri), at)
    answer = await hover_at(session, params)
    if answer is None:
        return "", None
    assert isinstance(answer.contents, types.MarkupContent)
    return answer.contents.value.removesuffix(COMPUTING).rstrip(), answer.range


@pytest.mark.parametrize(
    ("before", "after", "word", "expected", "gone"),
    [
        ("parameter A, k > 0", "parameter B, k > 0", "k", "parameter k > 0", "A"),
        ("A, k > 0", "A, k >= 0.5", "k", "parameter k >= 0.5", "k > 0\n"),
        ("A, k > 0", "A > 0, k in (0, 1)", "k", "parameter k in (0, 1)", "k > 0"),
        ("unit param", "unit token", "N", "unit token", "parameters of a model"),
        ("unit param", "unit Gparam", "N", "unit Gparam", "unit param"),
        ('"size"', '"width"', "N", "width", "size"),
        ("N > 0", "N >= 1", "N", "variable N >= 1", "N > 0"),
        ("L = A/N^k", "L = A/N^k + 1", "L", "L = A/N^k + 1", "L = A/N^k\n"),
        ("parameter A, k", "setting k = 2\nparameter A", "k", "setting k = 2", "parameter"),
        ("A, k > 0", "A, k > ", "N", "variable N > 0", "L0"),
        ("law edited", "# a comment above\nlaw edited", "N", "variable N > 0", "comment"),
    ],
)
def test_a_hover_in_the_moment_of_an_edit_shows_the_text_after_it(
    tmp_path: Path, before: str, after: str, word: str, expected: str, gone: str
):
    uri = (tmp_path / "edited.law").as_uri()
    text = PRICED.replace(before, after, 1)
    assert text != PRICED

    async def run() -> None:
        session = session_of(tmp_path, (uri, PRICED))
        old, _ = await shown(session, uri, at_word(PRICED, word))
        assert old
        session.changed(uri, 2, whole(text))
        new, where = await shown(session, uri, at_word(text, word))
        assert expected in new and gone not in f"{new}\n" and where.start == at_word(text, word)
        # a name that is declared no more has no declaration
        if "B" in after:
            of_a, _ = await shown(session, uri, at_word(text, "A"))
            assert of_a.startswith("L0301") and "parameter A" not in of_a

    asyncio.run(run())


def test_a_published_value_is_not_shown_of_an_edited_law(tmp_path: Path):
    path = shipped()["chinchilla"]
    text = path.read_text(encoding="utf-8")
    uri = (tmp_path / path.name).as_uri()

    async def run() -> None:
        session = session_of(tmp_path, (uri, text))
        at = at_word(text, "E + A")
        assert "published" in (await shown(session, uri, at))[0]
        changed = text.replace("A/N", "2*A/N", 1)
        assert changed != text
        session.changed(uri, 2, whole(changed))
        now = (await shown(session, uri, at_word(changed, "E + 2*A")))[0]
        assert now and "published" not in now
        session.changed(uri, 3, whole(text))
        assert "published" in (await shown(session, uri, at))[0]

    asyncio.run(run())


def test_answers_after_random_edits_are_those_of_a_server_that_saw_no_others(tmp_path: Path):
    rng = random.Random(5)
    laws = sorted(shipped().values())[::40]

    async def run(path: Path) -> None:
        uri = (tmp_path / path.name).as_uri()
        text = path.read_text(encoding="utf-8")
        edited = session_of(tmp_path, (uri, text))
        for version in range(2, 12):
            start = rng.randrange(len(text))
            end = min(len(text), start + rng.choice([0, 0, 1, 5, 40]))
            new = rng.choice(["", "x", "\n", '"', "# ", " > 1", "N", "parameter q > 0\n", "$", "("])
            text = text[:start] + new + text[end:]
            edited.changed(uri, version, whole(text))
            settled = session_of(tmp_path, (uri, text))
            positions = Positions(text, "utf-16")
            for number in range(4):
                offset = start + len(new) if number == 0 else rng.randrange(len(text) + 1)
                at = types.Position(*positions.position(offset))
                assert await shown(edited, uri, at) == await shown(settled, uri, at)
                params = types.CompletionParams(types.TextDocumentIdentifier(uri), at)
                assert await completion(edited, params) == await completion(settled, params)

    for path in laws:
        asyncio.run(run(path))


def test_a_hover_in_a_large_document_waits_for_the_text_after_an_edit(tmp_path: Path):
    uri = (tmp_path / "edited.law").as_uri()
    comments = "# a comment\n" * (LARGE // 10)
    text = f"{comments}{PRICED}"
    changed = f"# one line more\n{comments}{PRICED.replace('A, k > 0', 'A, k >= 2')}"

    async def run() -> None:
        session = session_of(tmp_path)
        session.opened(uri, 1, text)
        assert (await shown(session, uri, at_word(text, "k")))[0].find("k > 0") > 0
        session.changed(uri, 2, whole(changed))
        new, where = await shown(session, uri, at_word(changed, "k"))
        assert "k >= 2" in new and where.start == at_word(changed, "k")
        # an edit while the text is read: what was read is of an earlier version
        session.changed(uri, 3, whole(text))
        waiting = asyncio.create_task(shown(session, uri, at_word(text, "k")))
        await asyncio.sleep(0)
        session.changed(uri, 4, whole(changed))
        assert await waiting == ("", None)

    asyncio.run(run())


def test_an_edit_and_a_hover_in_one_write(tmp_path: Path):
    """Both are read from the input before the server does anything."""
    path = tmp_path / "edited.law"
    client = PlainClient(tmp_path)
    client.open(path, PRICED)
    client.published(path, 1)
    text = PRICED.replace("A, k > 0", "A, k in [1, 3]").replace("unit param", "unit token")
    for version, now in enumerate((text, PRICED, text), start=2):
        for word in ("k", "N"):
            at = at_word(now, word)
            place = {"line": at.line, "character": at.character}
            document = {"uri": path.as_uri(), "version": version}
            edit = {"textDocument": document, "contentChanges": [{"text": now}]}
            hover = {"textDocument": document, "position": place}
            number = f"{version}{word}"
            client.send(
                {"method": "textDocument/didChange", "params": edit},
                {"id": number, "method": "textDocument/hover", "params": hover},
            )
            _, answer = client.wait(lambda m, number=number: m.get("id") == number)
            content = answer["result"]["contents"]["value"]
            declared = ("k in [1, 3]", "unit token") if now == text else ("k > 0", "unit param")
            assert declared[word == "N"] in content
    assert client.end() == 0


def test_control_characters_are_escaped_in_markdown():
    assert markdown((Block("text", "a\rb\u202ec"),)) == r"a\\rb\\u202ec"
