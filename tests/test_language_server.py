"""`lawdsl lsp`, as an editor uses it: over its protocol, on half-written and damaged files too."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from click.testing import CliRunner
from language_client import COMMAND, PlainClient
from lark import Token
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

from lawdsl.cli import cli
from lawdsl.core.diagnostics import LawdslError, Text
from lawdsl.editing.document import read_document
from lawdsl.editing.fixes import all_corrected, corrections
from lawdsl.editing.positions import Positions
from lawdsl.language import tree
from lawdsl.language.edited_tokens import edited_tokens
from lawdsl.language.known_lines import KnownLines
from lawdsl.language.library import OpenFiles
from lawdsl.language.parse_cache import ParseCache
from lawdsl.language.parser import parse
from lawdsl.language.tokens import tokens_of
from lawdsl.messages.table import MESSAGES
from lawdsl.server.conversions import code_block, diagnostic, escaped
from lawdsl.server.open_documents import OpenDocuments, edited

ROOT = Path(__file__).resolve().parent.parent
LAWS = sorted((ROOT / "laws").rglob("*.law"))
FIXTURES = sorted((ROOT / "tests" / "fixtures").rglob("*.law"))
SECONDS = 30.0
server_loop = pytest.mark.asyncio(loop_scope="module")

LAW = """law rough
variable  N > 0
parameter E > 0
parameter A, k > 0

L = E + A/N^k

require ∂L/∂N < 0
require L > 10
require L < E + 2*A
"""


class Editor:
    """What an editor knows: the messages about each version of a document."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.shown: list[types.PublishDiagnosticsParams] = []
        self.refreshes = 0
        self.news = asyncio.Event()
        features = client.protocol.fm.features
        features[types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS] = self.show

    def show(self, params: types.PublishDiagnosticsParams) -> None:
        self.shown.append(params)
        self.news.set()

    def open(self, path: Path, text: str) -> str:
        item = types.TextDocumentItem(path.as_uri(), "law", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return path.as_uri()

    def change(self, uri: str, version: int, *changes: tuple[Any, str] | str) -> None:
        made: list[types.TextDocumentContentChangeEvent] = []
        for change in changes:
            if isinstance(change, str):
                made.append(types.TextDocumentContentChangeWholeDocument(change))
            else:
                made.append(types.TextDocumentContentChangePartial(place(*change[0]), change[1]))
        identifier = types.VersionedTextDocumentIdentifier(version, uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, made))

    def close(self, uri: str) -> None:
        identifier = types.TextDocumentIdentifier(uri)
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(identifier))

    async def published(
        self,
        uri: str,
        version: int | None,
        wanted: Callable[[list[types.Diagnostic]], bool] = lambda found: True,
    ) -> list[types.Diagnostic]:
        """The first messages about a version that are as wanted; earlier ones are forgotten."""
        until = time.monotonic() + SECONDS
        while True:
            for number, params in enumerate(self.shown):
                fits = params.uri == uri and params.version == version
                if fits and wanted(list(params.diagnostics)):
                    del self.shown[: number + 1]
                    return list(params.diagnostics)
            self.news.clear()
            await asyncio.wait_for(self.news.wait(), until - time.monotonic())

    async def hints(self, uri: str) -> list[str]:
        params = types.InlayHintParams(types.TextDocumentIdentifier(uri), place(0, 0, 10_000, 0))
        found = await self.client.text_document_inlay_hint_async(params)
        return [str(hint.label).strip() for hint in found or ()]

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


def place(line: int, column: int, last: int, end: int) -> types.Range:
    return types.Range(types.Position(line, column), types.Position(last, end))


CAPABILITIES = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(
        inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=False),
        workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
        workspace_folders=True,
    ),
)


@pytest_lsp.fixture(
    config=ClientServerConfig(server_command=list(COMMAND), server_env=dict(os.environ)),
    scope="module",
)
async def client(client_: LanguageClient) -> AsyncIterator[None]:
    await client_.initialize_session(types.InitializeParams(CAPABILITIES))
    yield
    await client_.shutdown_session()


@pytest.fixture
def editor(client: LanguageClient) -> Editor:
    return Editor(client)


def by_check(path: Path, *options: str) -> list[dict[str, Any]]:
    """The messages of `lawdsl check --json`."""
    result = CliRunner().invoke(cli, ["check", *options, "--json", str(path)], prog_name="lawdsl")
    if isinstance(result.exception, LawdslError):
        return [d.to_json() for d in result.exception.diagnostics]
    return list(json.loads(result.stdout)["diagnostics"])


def as_shown(expected: list[dict[str, Any]], text: str) -> set[tuple[Any, ...]]:
    """Messages of `check` as an editor shows them: places from 0, notes beside, help below."""
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


def of_editor(found: list[types.Diagnostic]) -> set[tuple[Any, ...]]:
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
        for d in found
        if not str(d.code).startswith("claim-")
    }


def read_as_shown(path: Path) -> set[tuple[Any, ...]]:
    """The messages about a file as the server shows them while its claims are not yet decided."""
    document = read_document(path.read_text(encoding="utf-8"), path)
    positions = document.positions()
    uri = path.absolute().as_uri()
    return of_editor([diagnostic(d, document, uri, positions) for d in document.diagnostics])


# Messages


@server_loop
async def test_an_error_is_shown_with_place_code_and_help(editor: Editor, tmp_path: Path):
    text = LAW.replace("L = E + A/N^k", "L = E + A/M^k")
    uri = editor.open(tmp_path / "rough.law", text)
    (found,) = await editor.published(uri, 1, bool)
    assert found.code == "L0301" and found.source == "lawdsl"
    assert found.range == place(5, 10, 5, 11)
    assert "unknown name `M`" in found.message and "\n" in found.message
    assert found.data["meaning"] == MESSAGES["L0301"].meaning
    editor.change(uri, 2, ((5, 10, 5, 11), "N"))
    assert await editor.published(uri, 2) == []
    editor.close(uri)
    assert await editor.published(uri, None) == []


@server_loop
async def test_columns_are_those_of_the_editor(editor: Editor, tmp_path: Path):
    """An emoji counts two columns in UTF-16, and a mark at the beginning one."""
    uri = editor.open(tmp_path / "rough.law", 'law rough "🙂🙂" oops\n')
    found = await editor.published(uri, 1, bool)
    assert place(0, 17, 0, 21) in [d.range for d in found]
    editor.change(uri, 2, ((0, 17, 0, 21), ""), ((0, 13, 0, 15), "x"))
    found = await editor.published(uri, 2, bool)
    assert {d.code for d in found} == {"L0402"}  # no equation


@pytest.mark.parametrize("path", LAWS[::12] + FIXTURES[::20], ids=lambda path: path.stem)
def test_messages_are_those_of_check(path: Path):
    text = path.read_text(encoding="utf-8")
    assert read_as_shown(path) == as_shown(by_check(path, "--syntax"), text)


def test_messages_about_every_mistake_are_those_of_check(tmp_path: Path):
    seen = set()
    for number, (code, message) in enumerate(sorted(MESSAGES.items())[::2]):
        for example in message.bad[:1]:
            path = tmp_path / f"mistake{number}.law"
            path.write_text(example, encoding="utf-8")
            shown = read_as_shown(path)
            assert shown == as_shown(by_check(path, "--syntax"), example), code
            seen |= {d[0] for d in shown}
    assert len(seen) > 30


@pytest.mark.slow
@pytest.mark.parametrize("path", [*LAWS, *FIXTURES], ids=lambda path: path.stem)
def test_messages_about_every_file_are_those_of_check(path: Path):
    text = path.read_text(encoding="utf-8")
    assert read_as_shown(path) == as_shown(by_check(path, "--syntax"), text)


@server_loop
async def test_warnings_about_claims_are_those_of_check(editor: Editor, tmp_path: Path):
    text = LAW.replace("parameter A, k > 0", "parameter A, k > 0\nparameter B\n").replace(
        "E + A/N^k", "E + log(B)*A/N^k"
    )
    path = tmp_path / "rough.law"
    path.write_text(text, encoding="utf-8")
    expected = as_shown([*by_check(path, "--syntax"), *by_check(path)], text)
    assert "L0503" in {code for code, *_ in expected}
    uri = editor.open(path, text)
    found = await editor.published(uri, 1, lambda found: "L0503" in {d.code for d in found})
    assert of_editor(found) == expected


@pytest.mark.slow
def test_all_messages_and_verdicts_are_those_of_check(tmp_path: Path):
    """Every shipped law and every fixture, over the protocol, with its claims."""
    client = PlainClient(tmp_path)
    for path in [*LAWS, *FIXTURES]:
        text = path.read_text(encoding="utf-8")
        client.open(path, text)
        arguments = {"command": "lawdsl.check", "arguments": [path.as_uri()]}
        answer = client.ask("workspace/executeCommand", arguments)
        _, found = client.published(path, 1)
        while any(m["params"]["uri"] == path.as_uri() for _, m in client.arrived if "params" in m):
            _, found = client.published(path, 1)
        expected = as_shown([*by_check(path, "--syntax"), *by_check(path)], text)
        shown = {
            (
                d["code"],
                "error" if d["severity"] == 1 else "warning",
                d["message"],
                tuple(d["range"]["start"].values()),
                tuple(d["range"]["end"].values()),
                tuple(r["message"] for r in d.get("relatedInformation", ())),
            )
            for d in found
            if not str(d["code"]).startswith("claim-")
        }
        assert shown == expected, path
        result = CliRunner().invoke(cli, ["check", "--json", str(path)], prog_name="lawdsl")
        if not isinstance(result.exception, LawdslError):
            claims = json.loads(result.stdout)["result"]["claims"]
            assert [(c["claim"], c["verdict"], c["expect"]) for c in answer["claims"]] == [
                (c["claim"], c["verdict"], c["expect"]) for c in claims
            ], path
        client.tell("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})
        client.forget()
    assert client.end() == 0


# Corrections


@server_loop
async def test_a_correction_is_offered_where_its_mistake_is(editor: Editor, tmp_path: Path):
    text = LAW.replace("E + A/N^k", "E + A/N**k")
    uri = editor.open(tmp_path / "rough.law", text)
    (found,) = await editor.published(uri, 1, bool)
    assert await editor.actions(uri, place(0, 0, 0, 0)) == []
    first, *_ = await editor.actions(uri, found.range)
    assert first.kind == types.CodeActionKind.QuickFix and first.is_preferred
    assert [d.code for d in first.diagnostics or ()] == [found.code]
    assert first.edit is not None and first.edit.document_changes is not None
    (change,) = first.edit.document_changes
    assert isinstance(change, types.TextDocumentEdit) and change.text_document.version == 1
    assert apply(text, change.edits) == LAW


@server_loop
async def test_all_corrections_are_one_edit(editor: Editor, tmp_path: Path):
    text = LAW.replace("E + A/N^k", "E + A/N**k").replace("variable  N > 0", "variable  N ⩾ 0")
    uri = editor.open(tmp_path / "rough.law", text)
    await editor.published(uri, 1, bool)
    (action,) = await editor.actions(uri, place(0, 0, 0, 0), ["source.fixAll"])
    assert action.kind == "source.fixAll.lawdsl" and action.edit is not None
    (change,) = action.edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    assert apply(text, change.edits) == LAW.replace("N > 0", "N >= 0")


def apply(text: str, edits: Any) -> str:
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


def test_every_correction_of_a_mistake_makes_the_text_that_check_makes(tmp_path: Path):
    corrected = 0
    for number, message in enumerate(MESSAGES.values()):
        for example in message.bad[:1]:
            path = tmp_path / f"mistake{number}.law"
            document = read_document(example, path)
            edit = all_corrected(document, OpenFiles())
            if edit is None:
                continue
            path.write_text(example, encoding="utf-8")
            CliRunner().invoke(cli, ["check", "--syntax", "--fix", str(path)], prog_name="lawdsl")
            after = example[: edit.span.start] + edit.text + example[edit.span.end :]
            assert path.read_text(encoding="utf-8") == after
            for d in document.diagnostics:
                if d.edits and d.span is not None:
                    assert d in [c.diagnostic for c in corrections(document, d.span)]
            corrected += 1
    assert corrected > 5


# Verdicts


@server_loop
async def test_verdicts_stand_beside_their_claims(editor: Editor, tmp_path: Path):
    uri = editor.open(tmp_path / "rough.law", LAW)
    hints = await editor.decided(uri)
    assert hints[0] == "proved" and hints[1] == "proved where E >= 10"
    assert hints[2].startswith("refuted at A = ")
    found = await editor.published(uri, 1, bool)
    shown = {(d.code, d.range.start.line) for d in found}
    assert {("claim-conditional", 8), ("claim-refuted", 9)} <= shown


@server_loop
async def test_a_verdict_is_shown_as_outdated_until_it_is_decided_again(
    editor: Editor, tmp_path: Path
):
    uri = editor.open(tmp_path / "rough.law", LAW)
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
async def test_verdicts_hold_after_edits_that_they_do_not_depend_on(editor: Editor, tmp_path: Path):
    uri = editor.open(tmp_path / "rough.law", LAW)
    before = await editor.decided(uri)
    editor.change(uri, 2, ((1, 0, 1, 0), "# a comment\n"), ((8, 0, 8, 0), "require L finite\n"))
    hints = await editor.hints(uri)
    assert hints == [before[0], "deciding", *before[1:]] or hints == ["deciding", *before]
    assert "proved" == (await editor.decided(uri))[hints.index("deciding")]


@server_loop
async def test_edits_of_a_law_reach_those_built_on_it(editor: Editor, tmp_path: Path):
    """The text in the editor counts, not the file; after it is closed, the file."""
    (tmp_path / "base.law").write_text(LAW.replace("law rough", "law base"), encoding="utf-8")
    built = "law built\nextends base\nparameter c > 0\nL = base + c*N^-1\n"
    (tmp_path / "built.law").write_text(built, encoding="utf-8")
    uri = editor.open(tmp_path / "built.law", built)
    assert await editor.published(uri, 1) == []
    base = editor.open(tmp_path / "base.law", LAW.replace("law rough", "law base"))
    await editor.published(base, 1)
    editor.change(base, 2, ((1, 10, 1, 11), "M"), ((5, 10, 5, 11), "M"), ((7, 12, 7, 13), "M"))
    await editor.published(base, 2)
    found = await editor.published(uri, 1, bool)
    assert {d.code for d in found} == {"L0301"} and found[0].range.start.line == 3
    editor.close(base)
    assert not [d for d in await editor.published(uri, 1, lambda f: not f) if d.severity == 1]


@server_loop
async def test_commands_give_verdicts_and_the_formula(editor: Editor, tmp_path: Path):
    uri = editor.open(tmp_path / "rough.law", LAW)

    async def run(command: str) -> Any:
        params = types.ExecuteCommandParams(command, arguments=[uri])
        return await editor.client.workspace_execute_command_async(params)

    checked = await run("lawdsl.check")
    verdicts = [c["verdict"] for c in checked["claims"]]
    assert verdicts == ["proved", "conditional", "refuted"]
    assert (await run("lawdsl.show"))["latex"] == r"L = E + \frac{A}{N^{k}}"


# Damaged and large texts


def prefixes(paths: list[Path], step: int) -> list[tuple[Path, str]]:
    made = []
    for path in paths:
        text = path.read_text(encoding="utf-8")
        made += [(path, text[:end]) for end in range(0, len(text), step)]
    return made


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


def test_half_written_laws_are_read():
    opened = OpenFiles(parsed=ParseCache(10_000, edited=True))
    for path, text in prefixes(LAWS[::29], 17):
        ask_everything(path, text, opened)


@pytest.mark.slow
@pytest.mark.parametrize("path", LAWS, ids=lambda path: path.stem)
def test_every_prefix_of_every_law_is_read(path: Path):
    opened = OpenFiles(parsed=ParseCache(10_000, edited=True))
    for _, text in prefixes([path], 1):
        ask_everything(path, text, opened)


def damaged(text: str, rng: random.Random) -> str:
    """A text after an edit that an editor could send."""
    start = rng.randrange(len(text) + 1)
    end = min(len(text), start + rng.choice((0, 0, 1, 1, 5, 40)))
    pieces = (
        "",
        " ",
        "\n",
        "(",
        ")",
        "]",
        '"',
        "#",
        "^",
        "L",
        "require ",
        "\r\n",
        "\x0c",
        "𝒩",
        "é",
        "∂",
    )
    start, end = (start, end) if rng.random() < 0.8 else (start, start)
    new = rng.choice(pieces) if rng.random() < 0.8 else text[end : end + 30]
    return text[:start] + new + text[end:]


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
        assert edited(text, change, documents.encoding) == after
        opened = documents.change(uri, version, [change])
        assert opened is not None and opened.text == after
        ask_everything(path, after)
        documents.read(opened)
        text = after


@pytest.mark.parametrize("seed", range(3))
def test_random_edits_are_read(seed: int):
    edit_at_random(seed, 15)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 150))
def test_many_random_edits_are_read(seed: int):
    edit_at_random(seed, 100)


@pytest.mark.slow
def test_random_edits_over_the_protocol(tmp_path: Path):
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
        _, found = client.published(path, 101)
        path.write_bytes(text.encode("utf-8"))
        codes = {str(d["code"]) for d in found if not str(d["code"]).startswith("claim-")}
        assert codes == {d["code"] for d in by_check(path, "--syntax")}
        client.forget()
    assert client.end() == 0


@server_loop
async def test_a_large_file_has_one_message_and_delays_nothing(editor: Editor, tmp_path: Path):
    small = editor.open(tmp_path / "rough.law", LAW)
    await editor.published(small, 1)
    large = editor.open(
        tmp_path / "large.law", "law large\n" + "# no law is as long as this\n" * 75_000
    )
    slowest = 0.0
    found: list[types.Diagnostic] = []
    until = time.monotonic() + SECONDS
    while not found and time.monotonic() < until:
        began = time.monotonic()
        await editor.hints(small)
        slowest = max(slowest, time.monotonic() - began)
        found = [d for p in editor.shown if p.uri == large for d in p.diagnostics]
        await asyncio.sleep(0.005)
    assert [d.code for d in found] == ["L0103"] and slowest < 2.0
    editor.close(large)


@server_loop
async def test_fifty_documents_are_open(editor: Editor, tmp_path: Path):
    uris = [editor.open(tmp_path / f"rough{k}.law", LAW + f"# {k}\n") for k in range(50)]
    for uri in uris:
        assert [
            d for d in await editor.published(uri, 1) if not str(d.code).startswith("claim")
        ] == []
    assert len(await editor.decided(uris[-1])) == 3
    for uri in uris:
        editor.close(uri)


# What comes from files is shown as text


def test_text_of_files_is_no_markdown():
    assert escaped("[a](http://b) <img> `x` **y**") == (
        r"\[a\]\(http\:\/\/b\) \<img\> \`x\` \*\*y\*\*".replace(r"\/", "/")
    )
    assert code_block("a\n```\nb").startswith("````law\n")


# The end


def test_the_server_ends_with_its_input(tmp_path: Path):
    client = PlainClient(tmp_path)
    client.open(tmp_path / "rough.law", LAW)
    children = children_of(client.process.pid)
    assert client.process.stdin is not None
    client.process.stdin.close()
    client.ended()
    wait_until_gone(children)


def test_the_server_ends_with_its_input_while_it_starts_the_worker(tmp_path: Path):
    client = PlainClient(tmp_path)
    assert client.process.stdin is not None
    client.process.stdin.close()
    client.ended()


def test_the_server_and_its_worker_end_when_the_editor_is_gone(tmp_path: Path):
    editor = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    client = PlainClient(tmp_path, process_id=editor.pid)
    children = children_of(client.process.pid)
    assert children
    editor.kill()
    editor.wait()
    client.ended()  # its input was open until then
    wait_until_gone(children)


@pytest.mark.slow
def test_a_worker_ends_when_the_server_is_killed(tmp_path: Path):
    client = PlainClient(tmp_path)
    children = children_of(client.process.pid)
    assert children
    client.process.send_signal(signal.SIGKILL)
    client.ended()
    wait_until_gone(children)


def children_of(process: int) -> list[int]:
    """The processes that a server has started, once there are some."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        tasks = Path(f"/proc/{process}/task")
        if not tasks.is_dir():
            pytest.skip("needs /proc")
        texts = [(t / "children").read_text(encoding="ascii") for t in tasks.iterdir()]
        if found := [int(number) for text in texts for number in text.split()]:
            return found
        time.sleep(0.02)
    return []


def wait_until_gone(processes: list[int]) -> None:
    until = time.monotonic() + SECONDS
    while any(runs(process) for process in processes):
        assert time.monotonic() < until, processes
        time.sleep(0.02)


def runs(process: int) -> bool:
    """Whether a process exists and is no zombie, which nobody has asked about yet."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_without_its_packages_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("lawdsl.core.optional_packages.missing", lambda *names: ["pygls"])
    result = CliRunner().invoke(cli, ["lsp"], prog_name="lawdsl")
    assert isinstance(result.exception, LawdslError)
    assert "pip install 'lawdsl[lsp]'" in str(result.exception)


# Lines that an edit leaves as they are


def spans(parsed: tree.SyntaxTree) -> list[Any]:
    return [[(type(n), n.span) for n in tree.walk(s)] for s in parsed.statements]


def places(tokens: list[Token]) -> list[tuple[Any, ...]]:
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


def test_tokens_of_edited_texts_are_those_of_texts_that_are_new():
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


def test_lines_known_from_the_text_before_have_the_trees_of_a_text_that_is_new():
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
