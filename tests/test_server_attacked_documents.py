"""Odd edits, addresses, files and folders, over the protocol of the language server."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from language_client import LAW, PlainClient, answers, edit, framed, message, place


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlainClient]:
    client = PlainClient(tmp_path_factory.mktemp("laws"))
    client.open(client.folder / "rough.law", LAW)
    yield client
    assert client.end() == 0


# Texts after edits: an independent model, in units of the encoding

WIDTHS = {"utf-16": ("utf-16-le", 2), "utf-8": ("utf-8", 1), "utf-32": ("utf-32-le", 4)}


def model_offset(text: str, line: int, column: int, encoding: str) -> int:
    """The offset of a position by the rules of the protocol, counted in encoded bytes."""
    codec, width = WIDTHS[encoding]
    lines = text.replace("\r\n", "\n\0").replace("\r", "\n").split("\n")  # one character each
    if line >= len(lines):
        return len(text)
    start = sum(len(each) + 1 for each in lines[:line])
    start += lines[line].startswith("\0")
    content = lines[line].removeprefix("\0")
    before = content.encode(codec, "surrogatepass")[: column * width]
    return start + len(before.decode(codec, "ignore"))


def model(text: str, change: dict[str, Any], encoding: str) -> str:
    if "range" not in change:
        return str(change["text"])
    first, last = change["range"]["start"], change["range"]["end"]
    start = model_offset(text, first["line"], first["character"], encoding)
    end = max(model_offset(text, last["line"], last["character"], encoding), start)
    return text[:start] + str(change["text"]) + text[end:]


def random_edit(rng: random.Random, text: str) -> dict[str, Any]:
    lines = text.count("\n") + text.count("\r") + 2
    first, last = ((rng.randrange(lines), rng.choice([0, 1, 5, 9, 40, 2**31 - 1])) for _ in "ab")
    if rng.random() < 0.8:
        last = (first[0], first[1] + rng.randrange(3)) if first[1] < 99 else first
    return edit(first, last, rng.choice(["", "x", "\r", "\n", "\r\n", "𝜕", "é", "# 𝑁\n", "\ufeff"]))


def shown(client: PlainClient, path: Path, version: int) -> list[Any]:
    """What the server says of a text: each answer has the places of its words."""
    uri = path.as_uri()
    document = {"textDocument": {"uri": uri}}
    found = [
        client.request("textDocument/semanticTokens/full", document),
        client.request("textDocument/documentSymbol", document),
        client.request(
            "textDocument/selectionRange", {**document, "positions": [place(uri)["position"]]}
        ),
        client.request("workspace/executeCommand", {"command": "lawdsl.show", "arguments": [uri]}),
    ]
    diagnostics = client.published(path, version)[1]
    return [*found, [(d["code"], d["range"], d["message"]) for d in diagnostics]]


START = 'law rough  # 𝜕𝑁\r\nvariable N > 0  "é"\rparameter A, k > 0\n\nL = A/N^k + 𝜕\r\n'
EDITS = {
    "inside a surrogate pair": [edit((0, 14), (0, 16), "x"), edit((0, 13), (0, 14), "")],
    "reversed": [edit((3, 0), (1, 2), "# x\n"), edit((1, 8), (1, 4), "y")],
    "outside the text": [edit((99, 0), (999, 5), "M\n"), edit((1, 999), (1, 2**31 - 1), "  # x")],
    "a line end is cut": [edit((0, 2**31 - 1), (1, 0), "\r"), edit((1, 0), (1, 0), "\n")],
    "line ends join": [
        edit((2, 0), (2, 0), "\r"),
        edit((3, 0), (3, 0), "\n"),
        edit((2, 0), (3, 0), ""),
    ],
    "a byte order mark": [edit((0, 0), (0, 0), "\ufeff"), edit((0, 0), (0, 1), "")],
    "half of a pair": [edit((0, 0), (0, 0), "# \ud83d\n"), edit((1, 0), (1, 0), "# \udc00\n")],
    "all, then a part": [
        {"text": LAW},
        edit((3, 4), (3, 5), "M"),
        {"text": ""},
        edit((5, 5), (5, 5), LAW),
    ],
}


@pytest.mark.parametrize(
    "encoding", ["utf-16", *(pytest.param(e, marks=pytest.mark.slow) for e in ("utf-8", "utf-32"))]
)
def test_the_text_after_edits_is_that_of_the_model(tmp_path: Path, encoding: str) -> None:
    general = {"positionEncodings": ["utf-7", encoding, "utf-16"]}
    client = PlainClient(tmp_path, general=general)
    assert client.begin["capabilities"]["positionEncoding"] == encoding
    rng = random.Random(encoding)
    messages = {name: [edits] for name, edits in EDITS.items()} | {"one by one": []}
    for number in range(6):
        text, made = START, []
        for _ in range(8):
            made.append([random_edit(rng, text) for _ in range(rng.choice([1, 1, 3]))])
            for change in made[-1]:
                text = model(text, change, encoding)
        messages[f"random {number}"] = made
    for number, made in enumerate(messages.values()):
        # in folders of one name each: messages show the path
        edited, whole = (tmp_path / f"{kind}{number}" / "rough.law" for kind in ("a", "b"))
        client.open(edited, START)
        text = START
        for version, changes in enumerate(made, start=2):
            client.change(edited, version, *changes)
            for change in changes:
                text = model(text, change, encoding)
        client.open(whole, text, len(made) + 1)
        assert shown(client, edited, len(made) + 1) == shown(client, whole, len(made) + 1)
        client.forget()
    assert client.end() == 0


# Addresses

ADDRESSES = (
    "untitled:Untitled-1",
    "untitled:/a b/é.law",
    "file:///none/with%20space.law",
    "file:///none/with space.law",
    "file:///none/%C3%A9%F0%9D%9C%95.law",
    "file:///none/é.law",
    "file:///none/%FF%FE.law",
    "file:///none/%ZZ%.law",
    "file:///c%3A/Users/a.law",
    "file:///C:/Users/a.law",
    "file://server/share/a.law",
    "file://localhost/none/a.law",
    "file:///usr",
    "file:///dev/zero",
    "file:///dev/stdin",
    "file:///proc/self/mem",
    "file:///",
    "file:///none/a.law?query#part",
    "vscode-notebook-cell:/a.ipynb#W0",
    "git:/a.law?%7B%7D",
    "law\ud800.law",
)


@pytest.mark.parametrize("uri", ADDRESSES, ids=ascii)
def test_a_document_of_any_address_is_answered(client: PlainClient, uri: str) -> None:
    document = {
        "uri": uri,
        "languageId": "law",
        "version": 1,
        "text": "law other\nvariable M > 0\n",
    }
    client.notify("textDocument/didOpen", {"textDocument": document})
    assert "variable M > 0" in client.request("textDocument/hover", place(uri))["contents"]["value"]
    references = {**place(uri), "context": {"includeDeclaration": True}}
    found = client.request("textDocument/references", references)
    assert len(found) == 1
    client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 2}]})
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert client.request("textDocument/hover", place(uri)) is None
    assert answers(client)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_what_cannot_be_read_beside_a_law_stops_no_request(client: PlainClient) -> None:
    folder = client.folder / "odd"
    folder.mkdir()
    os.mkfifo(folder / "fifo.law")
    (folder / "loop.law").symlink_to(folder / "loop.law")
    (folder / "zero.law").symlink_to("/dev/zero")
    (folder / "folder.law").mkdir()
    (folder / "latin.law").write_bytes(b"law latin # \xe9\n")
    (folder / "large.law").write_text("# large\n" * 300_000, encoding="utf-8")
    (folder / "secret.law").write_text("law secret\n", encoding="utf-8")
    (folder / "secret.law").chmod(0)
    uris = {}
    for name in ("fifo", "loop", "zero", "folder", "latin", "large", "secret", "none"):
        path = folder / f"uses_{name}.law"
        text = f"law uses_{name}\nextends {name}\nvariable M > 0\nL = {name} + M\n"
        client.open(path, text)
        assert client.published(path, 1)[1], name
        uris[name] = path.as_uri()
        client.request("textDocument/definition", place(path.as_uri(), 1, 9))
        completion = {**place(path.as_uri(), 1, 9), "context": {"triggerKind": 1}}
        client.request("textDocument/completion", completion)
    references = {**place(uris["fifo"], 2, 9), "context": {"includeDeclaration": True}}
    assert len(client.request("textDocument/references", references)) == 2
    for uri in uris.values():
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert answers(client)


# Documents and their versions


def test_a_document_that_is_opened_twice_or_not_open(client: PlainClient) -> None:
    path = client.folder / "twice.law"
    other = client.folder / "never.law"
    client.change(other, 5, {"text": "law never\nvariable M > 0\n"})
    client.notify("textDocument/didClose", {"textDocument": {"uri": other.as_uri()}})
    assert client.request("textDocument/hover", place(other.as_uri())) is None
    client.open(path, "law twice\nvariable N > 0\nL = P\n", 7)
    client.published_with(path, 7, "L0301")
    client.open(path, "law twice\nvariable M > 0\n", 3)
    client.change(path, 2, edit((1, 9), (1, 10), "Q"))
    hover = client.request("textDocument/hover", place(path.as_uri()))
    assert "variable Q > 0" in hover["contents"]["value"]
    client.published_without(path, 2, "L0301")
    assert answers(client)


@pytest.mark.parametrize(
    "method", ["hover", "references", "completion", "rename", "inlayHint", "check", "codeAction"]
)
def test_a_document_that_is_closed_during_a_request(client: PlainClient, method: str) -> None:
    """The request is answered, and nothing more is shown of the document."""
    path = client.folder / f"closed_{method}.law"
    uri = path.as_uri()
    document = {"uri": uri, "languageId": "law", "version": 1, "text": LAW}
    lines = {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}
    context = {"includeDeclaration": True, "triggerKind": 1, "diagnostics": []}
    params = {**place(uri), "context": context, "newName": "M", "range": lines}
    request = message(method, f"textDocument/{method}", params)
    if method == "check":
        params = {"command": "lawdsl.check", "arguments": [uri]}
        request = message(method, "workspace/executeCommand", params)
    opened = {"jsonrpc": "2.0", "method": "textDocument/didOpen"}
    closed = opened | {"method": "textDocument/didClose", "params": {"textDocument": {"uri": uri}}}
    opened = opened | {"params": {"textDocument": document}}
    parts = [json.dumps(opened).encode(), request, json.dumps(closed).encode()]
    client.write(b"".join(map(framed, parts)) * 2)
    for _ in range(2):
        client.wait(lambda m: m.get("id") == method)
    assert answers(client)
    time.sleep(0.3)  # what is decided by then is not shown
    sent = [m["params"] for _, m in client.arrived if m.get("params", {}).get("uri") == uri]
    assert sent[-1]["diagnostics"] == [] and "version" not in sent[-1]


def test_a_message_with_thousands_of_edits(client: PlainClient) -> None:
    """Each edit costs what its line does, not what the whole text does."""
    seconds = []
    for lines in (1_000, 32_000):
        path = client.folder / f"lines{lines}.law"
        client.open(path, LAW + "# a comment\n" * lines)
        client.published(path, 1)
        began = time.perf_counter()
        client.change(path, 2, *(edit((5 + n, 2), (5 + n, 3), "the") for n in range(990)))
        assert answers(client)
        seconds.append(time.perf_counter() - began)
        client.notify("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})
    assert seconds[1] < 8 * max(seconds[0], 0.05), (
        seconds
    )  # 30 times, if each looks at the whole text


# Folders


MISSING = "file:///none/of/this"
FOLDERS: dict[str, dict[str, Any]] = {
    "missing": {"rootUri": MISSING, "workspaceFolders": [{"uri": MISSING, "name": "x"}]},
    "none": {"rootUri": None, "workspaceFolders": []},
    "impossible": {"rootUri": "file:///%00", "rootPath": "\0"},
    "not a file": {"rootUri": "untitled:x"},
    "empty": {"rootUri": "", "workspaceFolders": None},
}


@pytest.mark.parametrize(
    "name",
    ["missing", *(pytest.param(n, marks=pytest.mark.slow) for n in FOLDERS if n != "missing")],
)
def test_a_folder_that_is_missing_until_another_is_added(tmp_path: Path, name: str) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    for folder in (tmp_path, inner):
        (folder / "base.law").write_text(
            f"law base\nvariable {folder.name[:5]} > 0\n", encoding="utf-8"
        )
    (tmp_path / "empty").mkdir()
    client = PlainClient(tmp_path / "empty", folders=FOLDERS[name])

    def codes(uri: str) -> set[str]:
        text = "law built\nextends base\nL = 1\n"
        document = {"uri": uri, "languageId": "law", "version": 1, "text": text}
        client.notify("textDocument/didOpen", {"textDocument": document})
        _, shown = client.wait(lambda m: m.get("params", {}).get("uri") == uri)
        return {d["code"] for d in shown["params"]["diagnostics"]}

    assert "L0310" in codes("untitled:1")
    for added, removed in ((inner, None), (tmp_path, inner)):
        event = {
            kind: [{"uri": folder.as_uri(), "name": kind}] if folder is not None else []
            for kind, folder in (("added", added), ("removed", removed))
        }
        client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        uri = f"untitled:{added.name}"
        assert "L0310" not in codes(uri)
        target = client.request("textDocument/definition", place(uri, 1, 9))
        assert target["uri"] == (added / "base.law").as_uri()
    assert client.end() == 0
