"""Attacks on the language server over its protocol: after each it answers a hover as before."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from language_client import COMMAND, PlainClient, framed

LAW = 'law rough\nvariable N > 0  "size"\nparameter A, k > 0\nL = A/N^k\nrequire L > 0\n'
INVALID, NOT_JSON, CANCELLED = -32600, -32700, -32800
SECONDS = 60.0


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlainClient]:
    client = PlainClient(tmp_path_factory.mktemp("laws"))
    client.open(client.folder / "rough.law", LAW)
    yield client
    assert client.end() == 0


def message(number: Any, method: str, params: Any) -> bytes:
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(request).encode()


def place(uri: str, line: int = 1, character: int = 9) -> dict[str, Any]:
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}


def answers(client: PlainClient) -> bool:
    """Whether a hover shows what is declared."""
    uri = (client.folder / "rough.law").as_uri()
    return "variable N > 0" in client.ask("textDocument/hover", place(uri))["contents"]["value"]


def refusals(client: PlainClient) -> list[dict[str, Any]]:
    """The errors that answer no request of a number, so far."""
    with client.news:
        found = [m["error"] for _, m in client.arrived if m.get("id", 0) is None]
        client.arrived.clear()
    return found


# Headers: name -> bytes, the codes of their refusals, and words of the reason

UNKNOWN = message("x", "no/method", None)
SIZE = len(UNKNOWN)
HEADERS: dict[str, tuple[bytes, list[int], str]] = {
    "negative": (b"Content-Length: -5\r\n\r\n" + UNKNOWN, [INVALID], "`Content-Length: -5`"),
    "not a number": (b"Content-Length: five\r\n\r\n" + UNKNOWN, [INVALID], "not a length"),
    "absent": (b"Content-Type: text\r\n\r\n" + UNKNOWN, [INVALID], "no `Content-Length"),
    "no headers": (b"\r\n" + UNKNOWN, [INVALID], "is not a header"),
    "more digits than an integer": (
        b"Content-Length: 1%s\r\n\r\n%s" % (b"0" * 5000, UNKNOWN),
        [INVALID],
        "too large",
    ),
    "a terabyte": (b"Content-Length: 1%s\r\n\r\n" % (b"0" * 12), [INVALID], "too large"),
    "empty": (b"Content-Length: 0\r\n\r\n", [NOT_JSON], "not JSON"),
    "two lengths": (
        b"Content-Length: 9\r\nContent-Length: %d\r\n\r\n%s" % (SIZE, UNKNOWN),
        [INVALID],
        "several lengths",
    ),
    "too short": (framed(UNKNOWN).replace(b"%d" % SIZE, b"%d" % (SIZE - 9)), [NOT_JSON], "JSON"),
    "random bytes": (random.Random(3).randbytes(200_000), [INVALID], "is not a header"),
    "a long line": (b"x" * 300_000, [INVALID], "is not a header"),
    "a body of several lines": (b"\r\n" + b'{\n\n  "id":\r\n\r\n 5}\n', [INVALID], "header"),
    "numbers that are too long": (framed(b'{"id": 1%s}' % (b"0" * 9999)), [NOT_JSON], "JSON"),
    "half a character": (framed(b'{"id": "\xc3"}'), [NOT_JSON], "JSON"),
}
ACCEPTED = {
    "lower case": b"content-length:%d\r\n\r\n%s" % (SIZE, UNKNOWN),
    "line feeds": b"Content-Length: %d\n\n%s" % (SIZE, UNKNOWN),
    "the same length twice": b"Content-Length: %d\r\n" % SIZE + framed(UNKNOWN),
    "a type": b"Content-Type: application/json; charset=utf8\r\n" + framed(UNKNOWN),
    "empty lines before": b"\r\n\r\n" + framed(UNKNOWN),
    "UTF-16": framed(UNKNOWN.decode().encode("utf-16")),
    "a byte order mark": framed(b"\xef\xbb\xbf" + UNKNOWN),
    "too long": framed(UNKNOWN).replace(b"%d" % SIZE, b"%d" % (SIZE + 9)),
}


@pytest.mark.parametrize("name", HEADERS)
def test_bytes_that_are_no_message_are_refused_and_the_next_message_is_read(
    client: PlainClient, name: str
) -> None:
    data, codes, reason = HEADERS[name]
    client.forget()
    client.write(data)
    assert answers(client)
    found = refusals(client)
    assert [error["code"] for error in found] == codes
    assert reason in found[0]["message"] and found[0]["message"].isprintable()


@pytest.mark.parametrize("name", ACCEPTED)
def test_other_spellings_of_headers_are_read(client: PlainClient, name: str) -> None:
    client.forget()
    client.write(ACCEPTED[name])
    assert answers(client)
    _, answer = client.wait(lambda m: m.get("id") == "x")
    assert "no/method" in answer["error"]["message"] and not refusals(client)


def test_messages_in_single_bytes_and_many_in_one_write(client: PlainClient) -> None:
    for byte in framed(UNKNOWN):
        client.write(bytes([byte]))
    client.write(b"".join(framed(message(f"m{n}", "no/method", None)) for n in range(50)))
    assert answers(client)
    for number in ("x", *(f"m{n}" for n in range(50))):
        client.wait(lambda m, number=number: m.get("id") == number)


def test_a_refusal_names_the_parameters_as_the_protocol_does(client: PlainClient) -> None:
    client.write(framed(message("p", "textDocument/hover", {"position": {"line": 0}})))
    _, answer = client.wait(lambda m: m.get("id") == "p")
    reason = answer["error"]["message"]
    assert "`params.textDocument`" in reason and "`params.position.character`" in reason


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


def edit(first: tuple[int, int], last: tuple[int, int], text: str) -> dict[str, Any]:
    start, end = ({"line": line, "character": column} for line, column in (first, last))
    return {"range": {"start": start, "end": end}, "text": text}


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
        client.ask("textDocument/semanticTokens/full", document),
        client.ask("textDocument/documentSymbol", document),
        client.ask(
            "textDocument/selectionRange", {**document, "positions": [place(uri)["position"]]}
        ),
        client.ask("workspace/executeCommand", {"command": "lawdsl.show", "arguments": [uri]}),
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


@pytest.mark.parametrize("encoding", WIDTHS)
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
    "file:///tmp/with%20space.law",
    "file:///tmp/with space.law",
    "file:///tmp/%C3%A9%F0%9D%9C%95.law",
    "file:///tmp/é.law",
    "file:///tmp/%FF%FE.law",
    "file:///tmp/%ZZ%.law",
    "file:///c%3A/Users/a.law",
    "file:///C:/Users/a.law",
    "file://server/share/a.law",
    "file://localhost/tmp/a.law",
    "file:///tmp",
    "file:///dev/zero",
    "file:///dev/stdin",
    "file:///proc/self/mem",
    "file:///",
    "file:///tmp/a.law?query#part",
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
    client.tell("textDocument/didOpen", {"textDocument": document})
    assert "variable M > 0" in client.ask("textDocument/hover", place(uri))["contents"]["value"]
    references = {**place(uri), "context": {"includeDeclaration": True}}
    found = client.ask("textDocument/references", references)
    assert len(found) == 1
    client.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 2}]})
    client.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert client.ask("textDocument/hover", place(uri)) is None
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
        client.ask("textDocument/definition", place(path.as_uri(), 1, 9))
        completion = {**place(path.as_uri(), 1, 9), "context": {"triggerKind": 1}}
        client.ask("textDocument/completion", completion)
    references = {**place(uris["fifo"], 2, 9), "context": {"includeDeclaration": True}}
    assert len(client.ask("textDocument/references", references)) == 2
    for uri in uris.values():
        client.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert answers(client)


# Documents and their versions


def test_a_document_that_is_opened_twice_or_not_open(client: PlainClient) -> None:
    path = client.folder / "twice.law"
    other = client.folder / "never.law"
    client.change(other, 5, {"text": "law never\nvariable M > 0\n"})
    client.tell("textDocument/didClose", {"textDocument": {"uri": other.as_uri()}})
    assert client.ask("textDocument/hover", place(other.as_uri())) is None
    client.open(path, "law twice\nvariable N > 0\nL = P\n", 7)
    client.published_with(path, 7, "L0301")
    client.open(path, "law twice\nvariable M > 0\n", 3)
    client.change(path, 2, edit((1, 9), (1, 10), "Q"))
    hover = client.ask("textDocument/hover", place(path.as_uri()))
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


# Requests that wait, and editors that do not read


def test_requests_that_are_cancelled_while_they_wait_are_not_worked_on(client: PlainClient) -> None:
    params = {**place((client.folder / "rough.law").as_uri(), 4, 8), "context": {"triggerKind": 1}}
    cancel = b'{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "q%d"}}'
    parts = [message(f"q{n}", "textDocument/completion", params) for n in range(1000)]
    parts += [cancel % n for n in range(1000)]
    client.write(b"".join(map(framed, parts)))
    assert answers(client)
    client.write(framed(cancel % 1) + framed(cancel % 5555))  # answered; never asked
    assert answers(client)
    found = {m["id"]: m for _, m in client.arrived if str(m.get("id", "")).startswith("q")}
    assert len(found) == 1000
    codes = {m["error"]["code"] for m in found.values() if "error" in m}
    assert codes == {CANCELLED}
    client.forget()


def begun(folder: Path, **streams: Any) -> subprocess.Popen[bytes]:
    """A server that has begun, whose answers nobody reads."""
    pipe = subprocess.PIPE
    server = subprocess.Popen(COMMAND, stdin=pipe, stdout=pipe, cwd=folder, **streams)
    parameters = {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}}
    document = {"uri": (folder / "a.law").as_uri(), "languageId": "law", "version": 1, "text": LAW}
    opened = {"method": "textDocument/didOpen", "params": {"textDocument": document}}
    assert server.stdin is not None
    server.stdin.write(framed(message(0, "initialize", parameters)))
    server.stdin.write(framed(json.dumps({"jsonrpc": "2.0", **opened}).encode()))
    return server


def test_an_editor_that_reads_neither_answers_nor_the_log(tmp_path: Path) -> None:
    """Its requests are read and answered all the same, and the server ends when it is asked to."""
    server = begun(tmp_path, stderr=subprocess.PIPE)
    assert server.stdin is not None and server.stdout is not None and server.stderr is not None
    parts = [message(n, "no/method", {"text": "x" * 300}) for n in range(1, 3000)]
    parts.append(message("end", "textDocument/hover", place((tmp_path / "a.law").as_uri())))
    server.stdin.write(b"".join(map(framed, parts)))  # more than the pipes of the answers hold
    server.stdin.flush()
    time.sleep(0.5)
    server.stdin.write(framed(message("over", "shutdown", None)))
    server.stdin.close()
    written = server.stdout.read()
    assert written.count(b'"error"') == 2999 and b"variable N > 0" in written
    assert server.wait(SECONDS) == 0
    server.stdout.close()
    server.stderr.close()


def test_an_editor_that_is_gone_in_the_middle_of_a_message(tmp_path: Path) -> None:
    server = begun(tmp_path, stderr=subprocess.DEVNULL)
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(b"Content-Length: 500\r\n\r\n{")
    server.stdin.flush()
    server.stdout.close()
    server.stdin.close()
    assert server.wait(SECONDS) == 1


def test_shutdown_while_claims_are_checked(tmp_path: Path) -> None:
    client = PlainClient(tmp_path)
    path = tmp_path / "rough.law"
    client.open(path, LAW)
    check = {"command": "lawdsl.check", "arguments": [path.as_uri()]}
    for number in range(3):
        client.write(framed(message(f"check{number}", "workspace/executeCommand", check)))
    assert client.end() == 0
    for number in range(3):
        client.wait(lambda m, wanted=f"check{number}": m.get("id") == wanted)


# A port


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def connected(port: int) -> socket.socket:
    until = time.monotonic() + SECONDS
    while True:
        with suppress(ConnectionRefusedError):
            return socket.create_connection(("127.0.0.1", port))
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_port_serves_one_editor_and_no_browser(tmp_path: Path) -> None:
    port = free_port()
    servers = [subprocess.Popen([*COMMAND, "--tcp", str(port)], cwd=tmp_path)]
    first = connected(port)
    with pytest.raises(OSError):  # nobody listens while the first is connected
        with socket.create_connection(("127.0.0.1", port)) as second:
            second.settimeout(SECONDS)
            second.sendall(framed(message(1, "shutdown", None)))
            assert second.recv(100) == b""
            raise ConnectionResetError
    parameters = {"processId": None, "capabilities": {}}
    first.sendall(framed(message(1, "initialize", parameters)))
    assert b"capabilities" in first.recv(100_000)
    first.close()
    assert servers[0].wait(SECONDS) == 1
    with subprocess.Popen([*COMMAND, "--tcp", str(port)], cwd=tmp_path) as server:
        body = message(1, "initialize", parameters)
        with connected(port) as browser:
            browser.sendall(b"POST / HTTP/1.1\r\nHost: x\r\n" + framed(body))
            browser.settimeout(SECONDS)
            received = b"".join(iter(lambda: browser.recv(4096), b""))
        assert b"this is HTTP" in received and b"capabilities" not in received
        assert server.wait(SECONDS) == 1


# Folders


MISSING = "file:///none/of/this"
FOLDERS: dict[str, dict[str, Any]] = {
    "missing": {"rootUri": MISSING, "workspaceFolders": [{"uri": MISSING, "name": "x"}]},
    "none": {"rootUri": None, "workspaceFolders": []},
    "impossible": {"rootUri": "file:///%00", "rootPath": "\0"},
    "not a file": {"rootUri": "untitled:x"},
    "empty": {"rootUri": "", "workspaceFolders": None},
}


@pytest.mark.parametrize("name", FOLDERS)
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
        client.tell("textDocument/didOpen", {"textDocument": document})
        _, shown = client.wait(lambda m: m.get("params", {}).get("uri") == uri)
        return {d["code"] for d in shown["params"]["diagnostics"]}

    assert "L0310" in codes("untitled:1")
    for added, removed in ((inner, None), (tmp_path, inner)):
        event = {
            kind: [{"uri": folder.as_uri(), "name": kind}] if folder is not None else []
            for kind, folder in (("added", added), ("removed", removed))
        }
        client.tell("workspace/didChangeWorkspaceFolders", {"event": event})
        uri = f"untitled:{added.name}"
        assert "L0310" not in codes(uri)
        target = client.ask("textDocument/definition", place(uri, 1, 9))
        assert target["uri"] == (added / "base.law").as_uri()
    assert client.end() == 0
