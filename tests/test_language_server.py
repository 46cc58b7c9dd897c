"""`lawdsl lsp`, as an editor uses it, over its protocol."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from language_client import COMMAND, ROUGH
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient
from shown_messages import as_shown, by_check, of_editor, place

from lawdsl.editing.positions import Positions
from lawdsl.messages.table import MESSAGES
from lawdsl.server.conversions import code_block, escaped

SECONDS = 30.0
server_loop = pytest.mark.asyncio(loop_scope="module")


class Editor:
    """What an editor knows: the messages about each version of a document."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.shown: list[types.PublishDiagnosticsParams] = []
        self.arrival = asyncio.Event()
        features = client.protocol.fm.features
        features[types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS] = self.show
        features[types.WORKSPACE_INLAY_HINT_REFRESH] = lambda params: None

    def show(self, params: types.PublishDiagnosticsParams) -> None:
        self.shown.append(params)
        self.arrival.set()

    def open(self, path: Path, text: str) -> str:
        item = types.TextDocumentItem(path.as_uri(), "law", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return path.as_uri()

    def change(self, uri: str, version: int, *changes: tuple[Any, str] | str) -> None:
        events: list[types.TextDocumentContentChangeEvent] = []
        for change in changes:
            if isinstance(change, str):
                events.append(types.TextDocumentContentChangeWholeDocument(change))
            else:
                events.append(types.TextDocumentContentChangePartial(place(*change[0]), change[1]))
        identifier = types.VersionedTextDocumentIdentifier(version, uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, events))

    def close(self, uri: str) -> None:
        identifier = types.TextDocumentIdentifier(uri)
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(identifier))

    async def published(
        self,
        uri: str,
        version: int | None,
        matches: Callable[[list[types.Diagnostic]], bool] = lambda diagnostics: True,
    ) -> list[types.Diagnostic]:
        """The first messages about a version that match; earlier ones are forgotten."""
        until = time.monotonic() + SECONDS
        while True:
            for number, params in enumerate(self.shown):
                fits = params.uri == uri and params.version == version
                if fits and matches(list(params.diagnostics)):
                    del self.shown[: number + 1]
                    return list(params.diagnostics)
            self.arrival.clear()
            await asyncio.wait_for(self.arrival.wait(), until - time.monotonic())

    async def hints(self, uri: str) -> list[str]:
        params = types.InlayHintParams(types.TextDocumentIdentifier(uri), place(0, 0, 10_000, 0))
        hints = await self.client.text_document_inlay_hint_async(params)
        return [str(hint.label).strip() for hint in hints or ()]

    async def decided(self, uri: str) -> list[str]:
        """The hints, once all claims are decided."""
        until = time.monotonic() + SECONDS
        while True:
            hints = await self.hints(uri)
            if hints and not any("deciding" in hint or "before" in hint for hint in hints):
                return hints
            assert time.monotonic() < until, hints
            await asyncio.sleep(0.02)

    async def actions(
        self, uri: str, where: types.Range, only: list[str] | None = None
    ) -> list[types.CodeAction]:
        context = types.CodeActionContext([], only=only)
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), where, context)
        return list(await self.client.text_document_code_action_async(params) or ())  # type: ignore[arg-type]


CAPABILITIES = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(
        inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=True),
        workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
        workspace_folders=True,
    ),
)


@pytest_lsp.fixture(
    config=ClientServerConfig(server_command=list(COMMAND), server_env=dict(os.environ)),
    scope="module",
)
async def client(client_: LanguageClient) -> AsyncIterator[None]:
    """A connection of an editor to the server, for all tests."""
    await client_.initialize_session(types.InitializeParams(CAPABILITIES))
    yield
    await client_.shutdown_session()


@pytest.fixture
def editor(client: LanguageClient) -> Editor:
    """The editor, with the messages that it has received."""
    return Editor(client)


# Messages


@server_loop
async def test_an_error_is_shown_with_place_code_and_help(editor: Editor, tmp_path: Path) -> None:
    text = ROUGH.replace("L = E + A/N^k", "L = E + A/M^k")
    uri = editor.open(tmp_path / "rough.law", text)
    (diagnostic,) = await editor.published(uri, 1, bool)
    assert diagnostic.code == "L0301" and diagnostic.source == "lawdsl"
    assert diagnostic.range == place(5, 10, 5, 11)
    assert "unknown name `M`" in diagnostic.message and "\n" in diagnostic.message
    assert diagnostic.data["meaning"] == MESSAGES["L0301"].meaning
    editor.change(uri, 2, ((5, 10, 5, 11), "N"))
    assert await editor.published(uri, 2) == []
    editor.close(uri)
    assert await editor.published(uri, None) == []


@server_loop
async def test_columns_are_those_of_the_editor(editor: Editor, tmp_path: Path) -> None:
    """An emoji counts two columns in UTF-16, and a mark at the beginning one."""
    uri = editor.open(tmp_path / "rough.law", 'law rough "🙂🙂" oops\n')
    diagnostics = await editor.published(uri, 1, bool)
    assert place(0, 17, 0, 21) in [d.range for d in diagnostics]
    editor.change(uri, 2, ((0, 17, 0, 21), ""), ((0, 13, 0, 15), "x"))
    diagnostics = await editor.published(uri, 2, bool)
    assert {d.code for d in diagnostics} == {"L0402"}  # no equation


@server_loop
async def test_warnings_about_claims_are_those_of_check(editor: Editor, tmp_path: Path) -> None:
    text = ROUGH.replace("parameter A, k > 0", "parameter A, k > 0\nparameter B\n").replace(
        "E + A/N^k", "E + log(B)*A/N^k"
    )
    path = tmp_path / "rough.law"
    path.write_text(text, encoding="utf-8")
    expected = as_shown([*by_check(path, "--syntax"), *by_check(path)], text)
    assert "L0503" in {code for code, *_ in expected}
    uri = editor.open(path, text)
    diagnostics = await editor.published(uri, 1, lambda d: "L0503" in {each.code for each in d})
    assert of_editor(diagnostics) == expected


# Corrections


@server_loop
async def test_a_correction_is_offered_where_its_mistake_is(editor: Editor, tmp_path: Path) -> None:
    text = ROUGH.replace("E + A/N^k", "E + A/N**k")
    uri = editor.open(tmp_path / "rough.law", text)
    (diagnostic,) = await editor.published(uri, 1, bool)
    assert await editor.actions(uri, place(0, 0, 0, 0)) == []
    first, *_ = await editor.actions(uri, diagnostic.range)
    assert first.kind == types.CodeActionKind.QuickFix and first.is_preferred
    assert [d.code for d in first.diagnostics or ()] == [diagnostic.code]
    assert first.edit is not None and first.edit.document_changes is not None
    (change,) = first.edit.document_changes
    assert isinstance(change, types.TextDocumentEdit) and change.text_document.version == 1
    assert apply(text, change.edits) == ROUGH


@server_loop
async def test_all_corrections_are_one_edit(editor: Editor, tmp_path: Path) -> None:
    text = ROUGH.replace("E + A/N^k", "E + A/N**k").replace("variable  N > 0", "variable  N ⩾ 0")
    uri = editor.open(tmp_path / "rough.law", text)
    await editor.published(uri, 1, bool)
    (action,) = await editor.actions(uri, place(0, 0, 0, 0), ["source.fixAll"])
    assert action.kind == "source.fixAll.lawdsl" and action.edit is not None
    (change,) = action.edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    assert apply(text, change.edits) == ROUGH.replace("N > 0", "N >= 0")


def apply(text: str, edits: Any) -> str:
    """A text after the edits of an answer."""
    positions = Positions(text)
    spans = [
        (
            positions.offset(e.range.start.line, e.range.start.character),
            positions.offset(e.range.end.line, e.range.end.character),
            e.new_text,
        )
        for e in edits
    ]
    for start, end, new in sorted(spans, reverse=True):
        text = text[:start] + new + text[end:]
    return text


# Verdicts


@server_loop
async def test_verdicts_stand_beside_their_claims(editor: Editor, tmp_path: Path) -> None:
    uri = editor.open(tmp_path / "rough.law", ROUGH)
    hints = await editor.decided(uri)
    assert hints[0] == "proved" and hints[1] == "proved where E >= 10"
    assert hints[2].startswith("refuted at A = ")
    diagnostics = await editor.published(uri, 1, bool)
    shown = {(d.code, d.range.start.line) for d in diagnostics}
    assert {("claim-conditional", 8), ("claim-refuted", 9)} <= shown


@server_loop
async def test_a_verdict_is_shown_as_outdated_until_it_is_decided_again(
    editor: Editor, tmp_path: Path
) -> None:
    uri = editor.open(tmp_path / "rough.law", ROUGH)
    assert (await editor.decided(uri))[0] == "proved"
    editor.change(uri, 2, ((5, 4, 5, 5), "E +"))  # half-written: L = E + + A/N^k
    assert (await editor.hints(uri))[0] == "proved (before the last edit)"
    editor.change(uri, 3, ((5, 4, 5, 7), "2*E"))
    hints = await editor.hints(uri)
    assert hints[1] == "proved where E >= 10 (before the last edit)"
    assert (await editor.decided(uri))[1] == "proved where E >= 5"
    editor.change(uri, 4, ((5, 4, 5, 7), "E"))  # as it was: nothing is decided again
    assert (await editor.hints(uri))[1] == "proved where E >= 10"


@server_loop
async def test_verdicts_hold_after_edits_that_they_do_not_depend_on(
    editor: Editor, tmp_path: Path
) -> None:
    uri = editor.open(tmp_path / "rough.law", ROUGH)
    before = await editor.decided(uri)
    editor.change(uri, 2, ((1, 0, 1, 0), "# a comment\n"), ((8, 0, 8, 0), "require L finite\n"))
    hints = await editor.hints(uri)
    assert hints == [before[0], "deciding", *before[1:]] or hints == ["deciding", *before]
    assert "proved" == (await editor.decided(uri))[hints.index("deciding")]


@server_loop
async def test_edits_of_a_law_reach_those_built_on_it(editor: Editor, tmp_path: Path) -> None:
    """The text in the editor counts, not the file; after it is closed, the file."""
    (tmp_path / "base.law").write_text(ROUGH.replace("law rough", "law base"), encoding="utf-8")
    built = "law built\nextends base\nparameter c > 0\nL = base + c*N^-1\n"
    (tmp_path / "built.law").write_text(built, encoding="utf-8")
    uri = editor.open(tmp_path / "built.law", built)
    assert await editor.published(uri, 1) == []
    base = editor.open(tmp_path / "base.law", ROUGH.replace("law rough", "law base"))
    await editor.published(base, 1)
    editor.change(base, 2, ((1, 10, 1, 11), "M"), ((5, 10, 5, 11), "M"), ((7, 12, 7, 13), "M"))
    await editor.published(base, 2)
    diagnostics = await editor.published(uri, 1, bool)
    assert {d.code for d in diagnostics} == {"L0301"} and diagnostics[0].range.start.line == 3
    editor.close(base)
    assert not [d for d in await editor.published(uri, 1, lambda f: not f) if d.severity == 1]


@server_loop
async def test_commands_give_verdicts_and_the_formula(editor: Editor, tmp_path: Path) -> None:
    uri = editor.open(tmp_path / "rough.law", ROUGH)

    async def run(command: str) -> Any:
        params = types.ExecuteCommandParams(command, arguments=[uri])
        return await editor.client.workspace_execute_command_async(params)

    checked = await run("lawdsl.check")
    verdicts = [c["verdict"] for c in checked["claims"]]
    assert verdicts == ["proved", "conditional", "refuted"]
    assert (await run("lawdsl.show"))["latex"] == r"L = E + \frac{A}{N^{k}}"


# Many documents


@server_loop
async def test_fifty_documents_are_open(editor: Editor, tmp_path: Path) -> None:
    uris = [
        editor.open(tmp_path / f"rough{k}.law", ROUGH.replace("law rough", f"law rough{k}"))
        for k in range(50)
    ]
    for uri in uris:
        assert [
            d for d in await editor.published(uri, 1) if not str(d.code).startswith("claim")
        ] == []
    assert len(await editor.decided(uris[-1])) == 3
    for uri in uris:
        editor.close(uri)


# What comes from files is shown as text


def test_text_of_files_is_no_markdown() -> None:
    assert escaped("[a](http://b) <img> `x` **y**") == (
        r"\[a\]\(http\:\/\/b\) \<img\> \`x\` \*\*y\*\*".replace(r"\/", "/")
    )
    assert code_block("a\n```\nb").startswith("````law\n")
