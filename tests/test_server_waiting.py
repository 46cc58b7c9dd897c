"""Answers that wait for verdicts, and answers that must not wait."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from language_client import ROUGH, PlainClient
from lsprotocol import types
from test_server_order import CANCELLED
from test_server_races import Silent, session_of

from lawdsl.server import inlay_hints as hints_module
from lawdsl.server.inlay_hints import inlay_hints
from lawdsl.server.open_documents import OpenDocuments
from lawdsl.server.reading_features import COMPUTING, hover_at
from lawdsl.server.session import LARGE, Session
from lawdsl.server.worker_process import MAX_MEMORY

WHOLE = {"start": {"line": 0, "character": 0}, "end": {"line": 100, "character": 0}}


def ask_for_hints(client: PlainClient, path: Path, number: str) -> None:
    params = {"textDocument": {"uri": path.as_uri()}, "range": WHOLE}
    client.send({"id": number, "method": "textDocument/inlayHint", "params": params})


def answer_to(client: PlainClient, number: str) -> dict[str, Any]:
    return client.wait(lambda m: m.get("id") == number and "method" not in m)[1]


def labels(answer: dict[str, Any]) -> list[str]:
    return [hint["label"].strip() for hint in answer["result"]]


def place(path: Path, text: str, part: str, by: int = 0) -> dict[str, Any]:
    """The parameters of a request about the first character of a part, or one so many behind it."""
    offset = text.index(part) + by
    line = text.count("\n", 0, offset)
    position = {"line": line, "character": offset - text.rfind("\n", 0, offset) - 1}
    return {"textDocument": {"uri": path.as_uri()}, "position": position}


def arrived(client: PlainClient) -> list[Any]:
    return [m.get("id", m.get("method")) for _, m in client.arrived]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("waiting")


@pytest.fixture(scope="module")
def old_client(folder: Path):
    """An editor that does not ask for hints again when it is asked to."""
    client = PlainClient(folder, workspace={})
    yield client
    assert client.end() == 0


# Hints


def test_hints_wait_for_verdicts_where_the_editor_does_not_ask_again(
    old_client: PlainClient, folder: Path
):
    path = folder / "first.law"
    old_client.open(path, ROUGH)
    ask_for_hints(old_client, path, "hints")
    first, second, third = labels(answer_to(old_client, "hints"))
    assert (first, second) == ("proved", "proved where E >= 10") and third.startswith("refuted")
    assert "workspace/inlayHint/refresh" not in arrived(old_client)


def test_after_an_edit_hints_are_those_of_the_text_after_it(old_client: PlainClient, folder: Path):
    """Also those that were asked for before it: Helix would show them beside the text after it."""
    path = folder / "edited.law"
    old_client.open(path, ROUGH.replace("L = E", "L = 5*E"))  # whose verdicts are not known yet
    ask_for_hints(old_client, path, "before")
    old_client.change(path, 2, {"text": ROUGH.replace("L = E", "L = 2*E")})
    ask_for_hints(old_client, path, "after")
    assert labels(answer_to(old_client, "before"))[1] == "proved where E >= 5"
    assert labels(answer_to(old_client, "after"))[1] == "proved where E >= 5"
    # in a text with mistakes nothing is decided: there is nothing to wait for
    old_client.change(path, 3, {"text": ROUGH.replace("L = E", "L = 3 +* E")})
    assert [hint.endswith("(before the last edit)") for hint in old_client.hints(path)] == [
        True
    ] * 3


def test_only_claims_that_are_visible_are_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(hints_module, "HINT_SECONDS", 1e6)

    async def run() -> None:
        session, uri = undecided(tmp_path)
        whole = types.Range(types.Position(0, 0), types.Position(100, 0))
        params = types.InlayHintParams(types.TextDocumentIdentifier(uri), whole)
        waiting = asyncio.create_task(inlay_hints(session, params))
        await hovered(session, uri, 1, 10)  # other requests are answered meanwhile
        assert not waiting.done()
        waiting.cancel()
        claims = session.claims(uri)
        claims.current.add(claims.lines["require L > 10"])
        assert claims.deciding
        part = types.Range(types.Position(8, 0), types.Position(8, 20))
        params = types.InlayHintParams(types.TextDocumentIdentifier(uri), part)
        await asyncio.wait_for(inlay_hints(session, params), 60.0)

    asyncio.run(run())


def test_a_request_for_hints_is_cancelled_while_it_waits(old_client: PlainClient, folder: Path):
    path = folder / "cancelled.law"
    old_client.open(path, ROUGH.replace("L = E", "L = 7*E"))
    ask_for_hints(old_client, path, "cancelled")
    old_client.notify("$/cancelRequest", {"id": "cancelled"})
    assert answer_to(old_client, "cancelled")["error"]["code"] == CANCELLED
    ask_for_hints(old_client, path, "closed")
    old_client.notify("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})
    assert answer_to(old_client, "closed")["result"] is None


def test_hints_do_not_wait_where_the_editor_asks_again(tmp_path: Path):
    path = tmp_path / "rough.law"
    client = PlainClient(tmp_path)
    client.open(path, ROUGH)
    assert len(client.hints(path)) == 3  # at once, decided or not
    client.wait(lambda m: m.get("method") == "workspace/inlayHint/refresh")
    while "deciding" in client.hints(path):
        client.wait(lambda m: m.get("method") == "workspace/inlayHint/refresh")
    assert client.end() == 0


def undecided(folder: Path) -> tuple[Session, str]:
    """A document whose claims are never decided, and whose derivatives take forever."""
    uri = (folder / "rough.law").as_uri()
    session = session_of(folder, (uri, ROUGH))

    async def ask_worker(
        kind: str, arguments: dict[str, Any], until_edit_of: str | None = None
    ) -> None:
        await asyncio.Event().wait()

    session.ask_worker = ask_worker  # type: ignore[method-assign]
    return session, uri


def test_hints_do_not_wait_longer_than_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hints_module, "HINT_SECONDS", 0.1)

    async def run() -> None:
        session, uri = undecided(tmp_path)
        part = types.Range(types.Position(0, 0), types.Position(100, 0))
        params = types.InlayHintParams(types.TextDocumentIdentifier(uri), part)
        hints = await asyncio.wait_for(inlay_hints(session, params), 60.0)
        assert hints is not None
        assert [str(hint.label).strip() for hint in hints] == ["deciding"] * 3

    asyncio.run(run())


# Hovers


async def hovered(session: Session, uri: str, line: int, column: int) -> str:
    """What a hover shows."""
    params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line, column))
    answer = await asyncio.wait_for(hover_at(session, params), 60.0)
    assert answer is not None and isinstance(answer.contents, types.MarkupContent)
    return answer.contents.value


def test_a_hover_does_not_wait_and_says_what_is_missing(tmp_path: Path):
    async def run() -> None:
        session, uri = undecided(tmp_path)
        shown = await hovered(session, uri, 1, 10)
        assert shown.endswith(COMPUTING) and "variable N" in shown
        for column in (10, 11, 12):  # the relation, and what is around it
            assert "verdict\\: deciding" in await hovered(session, uri, 8, column)

    asyncio.run(run())


def test_derivatives_are_computed_before_a_hover_needs_them(tmp_path: Path):
    async def run() -> None:
        session = Session(Silent(), OpenDocuments(tmp_path), markdown=True)
        uri = (tmp_path / "rough.law").as_uri()
        session.opened(uri, 1, ROUGH)
        for version in (1, 2):
            document = await session.once_read(uri)
            assert document is not None
            async with asyncio.timeout(60):
                while len(session.derivatives.of(document)) < 4:
                    await asyncio.sleep(0.01)
            assert f"∂L/∂E = {version}" in await hovered(session, uri, 2, 10)
            assert "∂L/∂N = -A*k/N^(k + 1)" in await hovered(session, uri, 1, 10)
            whole = types.TextDocumentContentChangeWholeDocument(ROUGH.replace("L = E", "L = 2*E"))
            session.changed(uri, 2, [whole])
        process = session.worker.process
        assert process is not None
        session.end()
        await process.wait()
        await asyncio.sleep(0)  # the transport of its output is closed

    asyncio.run(run())


@pytest.mark.parametrize("ends", ["edit", "close"])
def test_all_derivatives_of_a_large_law_are_computed_in_a_pause(tmp_path: Path, ends: str):
    """Those of 32 names, each of which a first hover shows; what follows the pause ends the computation."""
    terms = [(f"a{n}", f"k{n}") for n in range(15)]
    names = ", ".join(name for pair in terms for name in pair)
    formula = " + ".join(f"{a}/(N + D)^{k}" for a, k in terms)
    text = f"law big\nvariable N, D > 0\nparameter {names} > 0\nL = {formula}\n"

    async def run() -> None:
        session = Session(Silent(), OpenDocuments(tmp_path), markdown=True)
        uri = (tmp_path / "big.law").as_uri()
        session.opened(uri, 1, text)
        document = await session.once_read(uri)
        assert document is not None
        async with asyncio.timeout(60):
            while len(session.derivatives.of(document)) < 32:
                await asyncio.sleep(0.01)
        for line, column in [
            (1, 9),
            (1, 12),
            *((2, text.splitlines()[2].index(a)) for a, _ in terms),
        ]:
            shown = await hovered(session, uri, line, column)
            assert "∂L/∂" in shown and COMPUTING not in shown
        process = session.worker.process
        assert process is not None
        memory = Path(f"/proc/{process.pid}/statm")
        if memory.exists():
            pages = int(memory.read_text(encoding="ascii").split()[1])
            assert pages * os.sysconf("SC_PAGE_SIZE") < MAX_MEMORY
        changed = text.replace("L = ", "L = 1 + ")
        session.changed(uri, 2, [types.TextDocumentContentChangeWholeDocument(changed)])
        async with asyncio.timeout(60):
            while not session.deciding:
                await asyncio.sleep(0.001)
        if ends == "edit":
            session.changed(uri, 3, [types.TextDocumentContentChangeWholeDocument("law big\n")])
        else:
            session.closed(uri)
        async with asyncio.timeout(60):
            while session.worker_is_busy:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.5)
        assert not session.worker_is_busy
        await session.finished()

    asyncio.run(run())


def test_an_edit_ends_the_computation_of_derivatives(tmp_path: Path):
    async def run() -> None:
        session, uri = undecided(tmp_path)
        names: list[str] = []

        async def ask_worker(
            kind: str, arguments: dict[str, Any], until_edit_of: str | None = None
        ) -> dict[str, Any]:
            assert until_edit_of == uri
            names.append(arguments["of"])
            session.changed(uri, 2, [types.TextDocumentContentChangeWholeDocument("law other\n")])
            return {"text": "", "latex": ""}

        session.ask_worker = ask_worker  # type: ignore[method-assign]
        document = session.current(uri)
        assert document is not None
        current = session.documents.by_uri[uri]
        await session.derivatives.compute_all(
            session, document, uri, lambda: current.document is document and not current.stale
        )
        assert names == ["N"]

    asyncio.run(run())


# Large documents


def test_completion_in_a_large_document_is_about_the_present_text(tmp_path: Path):
    path = tmp_path / "large.law"
    comments = "# a comment\n" * (LARGE // 10)
    client = PlainClient(tmp_path)
    client.open(path, comments + ROUGH)
    client.published(path, 1)
    text = comments + ROUGH.replace("L = E", "parameter brand_new > 0\nL = bra + E")
    client.change(path, 2, {"text": text})
    answer = client.request("textDocument/completion", place(path, text, "bra + E", 3))
    (item,) = [item for item in answer["items"] if item["label"] == "brand_new"]
    where = place(path, text, "bra + E")["position"]
    assert item["textEdit"]["range"]["start"] == where
    assert item["textEdit"]["range"]["end"]["character"] == where["character"] + 3
    assert client.end() == 0
