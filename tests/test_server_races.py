"""Edits that arrive while the language server reads a document, decides its claims or waits."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from lawdsl.editing.document import Document, read_document
from lawdsl.editing.hover import Block
from lawdsl.server.open_documents import OpenDocuments
from lawdsl.server.reading_features import hover_at, markdown
from lawdsl.server.session import Session
from lawdsl.server.tasks import check, law_of

BASE = "law base\nvariable N > 0\nparameter E > 5\nL = E + 1/N\n"
BUILT = "law built\nextends base\nL = base\nrequire L > 1\n"


class Silent:
    """An editor that shows nothing."""

    def publish(self, uri: str, version: int | None, found: list[types.Diagnostic]) -> None: ...

    def refresh_hints(self) -> None: ...


def whole(text: str) -> list[types.TextDocumentContentChangeEvent]:
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
        session.documents.open(uri, 1, BASE)

        async def ask_worker(kind: str, arguments: dict[str, Any]) -> dict[str, Any]:
            session.closed(uri)
            return {"text": "∂L/∂N = -1/N^2", "latex": ""}

        session.ask_worker = ask_worker  # type: ignore[method-assign]
        session.current(uri)
        params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(1, 9))
        return await hover_at(session, params)

    assert asyncio.run(run()) is None


def test_control_characters_are_escaped_in_markdown():
    assert markdown((Block("text", "a\rb\u202ec"),)) == r"a\\rb\\u202ec"
