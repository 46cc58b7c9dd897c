"""Attacks on the language server over its protocol: after each it answers a hover as before."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from language_client import COMMAND, LAW, PlainClient, answers, edit, framed, message, place

INVALID, NOT_JSON, CANCELLED = -32600, -32700, -32800
SECONDS = 60.0


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlainClient]:
    client = PlainClient(tmp_path_factory.mktemp("laws"))
    client.open(client.folder / "rough.law", LAW)
    yield client
    assert client.end() == 0


def refusals(client: PlainClient) -> list[dict[str, Any]]:
    """The errors that answer no request of a number, so far."""
    with client.arrival:
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
    "empty": (b"Content-Length: 0\r\n\r\n", [NOT_JSON], "cannot be read as JSON"),
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
    document = {"textDocument": {"uri": (tmp_path / "a.law").as_uri()}}
    parts.append(message("end", "textDocument/documentSymbol", document))
    server.stdin.write(b"".join(map(framed, parts)))  # more than the pipes of the answers hold
    server.stdin.flush()
    time.sleep(0.5)
    server.stdin.write(framed(message("over", "shutdown", None)))
    server.stdin.close()
    written = server.stdout.read()
    assert written.count(b'"error"') == 2999 and b'"name": "rough"' in written
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


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """A port, and the server that waits there."""
    port = free_port()
    with subprocess.Popen([*COMMAND, "--tcp", str(port)], cwd=tmp_path) as server:
        yield port, server
        server.kill()


BEGIN = message(1, "initialize", {"processId": None, "capabilities": {}})


def test_a_port_serves_one_editor(served: tuple[int, subprocess.Popen[bytes]]) -> None:
    port, server = served
    with connected(port) as first:
        first.sendall(framed(BEGIN))
        assert b"capabilities" in first.recv(100_000)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        first.sendall(framed(message(2, "shutdown", None)))
        assert b'"id": 2' in first.recv(100_000)
    assert server.wait(SECONDS) == 0


@pytest.mark.slow
def test_a_port_serves_no_browser(served: tuple[int, subprocess.Popen[bytes]]) -> None:
    port, server = served
    with connected(port) as browser:
        browser.sendall(b"POST / HTTP/1.1\r\nHost: x\r\n" + framed(BEGIN))
        browser.settimeout(SECONDS)
        received = b"".join(iter(lambda: browser.recv(4096), b""))
    assert b"this is HTTP" in received and b"capabilities" not in received
    assert server.wait(SECONDS) == 1


# Sizes


def memory(server: subprocess.Popen[bytes]) -> float:
    """The resident memory of a server (MB)."""
    try:
        pages = Path(f"/proc/{server.pid}/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        pytest.skip("needs /proc")
    return int(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.slow
def test_a_text_of_50_megabytes(tmp_path: Path) -> None:
    client = PlainClient(tmp_path)
    client.open(tmp_path / "rough.law", LAW)
    assert answers(client)
    before = memory(client.process)
    for version in range(3):
        path = tmp_path / f"large{version}.law"
        client.open(path, "# a comment line of forty-one characters\n" * 1_220_000)
        assert answers(client)
        assert {d["code"] for d in client.published(path, 1)[1]} == {"L0103"}
        client.change(path, 2, edit((7, 3), (7, 3), "x"))
        assert {d["code"] for d in client.published(path, 2)[1]} == {"L0103"}
        client.notify("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})
        assert answers(client)
    client.write(b"Content-Length: 200000000\r\n\r\n" + b"x" * 200_000_000)
    assert answers(client)
    assert [error["code"] for error in refusals(client)] == [INVALID]
    assert memory(client.process) < before + 400
    assert client.end() == 0


@pytest.mark.slow
def test_edits_leave_nothing_behind(tmp_path: Path) -> None:
    client = PlainClient(tmp_path)
    path = tmp_path / "rough.law"
    client.open(path, LAW)
    used = []
    for _ in range(4):
        for version in range(5000):
            client.change(path, version, edit((5, 0), (5, version % 2), "#"[version % 2 :]))
        assert answers(client)
        used.append(memory(client.process))
        client.forget()
    assert used[-1] < used[1] + 3, used
    assert client.end() == 0


@pytest.mark.slow
def test_what_an_editor_does_not_read_is_limited(tmp_path: Path) -> None:
    """Beyond a limit the editor has to wait; the server ends when the editor is gone."""
    server = begun(tmp_path, stderr=subprocess.DEVNULL)
    assert server.stdin is not None and server.stdout is not None
    before = memory(server)
    params = {**place((tmp_path / "a.law").as_uri(), 4, 8), "context": {"triggerKind": 1}}
    stream = server.stdin

    def flood() -> None:
        with suppress(OSError):
            for number in range(1, 200_000):
                stream.write(framed(message(number, "textDocument/completion", params)))

    writer = threading.Thread(target=flood, daemon=True)
    writer.start()
    used = before
    for _ in range(30):
        time.sleep(0.5)
        used = max(used, memory(server))
    assert writer.is_alive() and used < before + 250
    server.stdout.close()
    assert server.wait(SECONDS) == 1
    writer.join(SECONDS)
    with suppress(OSError):
        stream.close()
