"""A client of the language server, of few lines: messages are plain data, and each has its time of arrival."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

COMMAND = (sys.executable, "-m", "lawdsl", "lsp")
SECONDS = 60.0  # until an answer must have arrived

ROUGH = """law rough
variable  N > 0
parameter E > 0
parameter A, k > 0

L = E + A/N^k

require ∂L/∂N < 0
require L > 10
require L < E + 2*A
"""


def framed(body: bytes) -> bytes:
    """A message with its length before it, as the protocol has it."""
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


class PlainClient:
    """A server process and the messages that it has sent.

    Attributes:
        arrived: the messages, each with the time (s, of `time.perf_counter`) at which it arrived.
    """

    def __init__(
        self,
        folder: Path,
        process_id: int | None = None,
        folders: dict[str, Any] | None = None,
        errors: int | None = None,
        **abilities: Any,
    ) -> None:
        self.folder = folder
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            COMMAND, stdin=pipe, stdout=pipe, stderr=errors, cwd=folder, env=os.environ
        )
        self.arrived: list[tuple[float, dict[str, Any]]] = []
        self.arrival = threading.Condition()
        self.number = 0
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()
        capabilities = {
            "general": {"positionEncodings": ["utf-16"]},
            "workspace": {
                "inlayHint": {"refreshSupport": True},
                "workspaceEdit": {"documentChanges": True},
            },
            **abilities,
        }
        self.begin = self.request(
            "initialize",
            {
                "processId": os.getpid() if process_id is None else process_id,
                "capabilities": capabilities,
                **({"rootUri": folder.as_uri()} if folders is None else folders),
            },
        )
        self.notify("initialized", {})

    def _listen(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while (line := stream.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            if not line:
                break
            message = json.loads(stream.read(length))
            if "id" in message and "method" in message:  # a request of the server
                self.send({"id": message["id"], "result": None})
            with self.arrival:
                self.arrived.append((time.perf_counter(), message))
                self.arrival.notify_all()

    def send(self, *messages: dict[str, Any]) -> None:
        """Send messages in one write; this adds the version of JSON-RPC."""
        self.send_bytes(*(json.dumps({"jsonrpc": "2.0", **m}).encode() for m in messages))

    def send_bytes(self, *bodies: bytes) -> None:
        """Send bytes that need not be messages, each with its length, in one write."""
        self.write(b"".join(map(framed, bodies)))

    def write(self, data: bytes) -> None:
        """Send bytes that need not have a length before them."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def notify(self, method: str, params: Any) -> float:
        """Send a notification; the time at which it was sent."""
        now = time.perf_counter()
        self.send({"method": method, "params": params})
        return now

    def request(self, method: str, params: Any) -> Any:
        """The result of a request."""
        response = self._response(method, params)
        assert "error" not in response, response["error"]
        return response["result"]

    def error_code(self, method: str, params: Any) -> int:
        """The code of the error with which the server refuses a request."""
        response = self._response(method, params)
        assert "error" in response, response
        return int(response["error"]["code"])

    def _response(self, method: str, params: Any) -> dict[str, Any]:
        self.number += 1
        number = self.number
        self.send({"id": number, "method": method, "params": params})
        return self.wait(lambda m: m.get("id") == number and "method" not in m)[1]

    def wait(
        self,
        matches: Callable[[dict[str, Any]], bool],
        seconds: float = SECONDS,
    ) -> tuple[float, dict[str, Any]]:
        """The first message that matches, once it has arrived, and its time; the others remain."""
        until = time.perf_counter() + seconds
        position = 0
        with self.arrival:
            while True:
                for at in range(position, len(self.arrived)):
                    if matches(self.arrived[at][1]):
                        return self.arrived.pop(at)
                position = len(self.arrived)
                remaining = until - time.perf_counter()
                assert remaining > 0, f"no such message within {seconds:g} s"
                self.arrival.wait(remaining)

    def forget(self) -> None:
        """Forget the messages that have arrived."""
        with self.arrival:
            self.arrived.clear()

    # Documents

    def open(self, path: Path, text: str, version: int = 1) -> float:
        """Open a document."""
        item = {"uri": path.as_uri(), "languageId": "law", "version": version, "text": text}
        return self.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, path: Path, version: int, *changes: dict[str, Any]) -> float:
        """Edit a document; a change without a range replaces all of it."""
        identifier = {"uri": path.as_uri(), "version": version}
        params = {"textDocument": identifier, "contentChanges": list(changes)}
        return self.notify("textDocument/didChange", params)

    def published(self, path: Path, version: int) -> tuple[float, list[dict[str, Any]]]:
        """The first messages about a version, and when they arrived."""
        at, message = self.wait(
            lambda m: (
                m.get("method") == "textDocument/publishDiagnostics"
                and m["params"]["uri"] == path.as_uri()
                and m["params"].get("version") == version
            )
        )
        return at, message["params"]["diagnostics"]

    def published_with(self, path: Path, version: int, code: str) -> list[dict[str, Any]]:
        """The messages about a version, as soon as one of them has this code."""
        while True:
            _, diagnostics = self.published(path, version)
            if code in {d["code"] for d in diagnostics}:
                return diagnostics

    def published_without(self, path: Path, version: int, code: str) -> list[dict[str, Any]]:
        """The messages about a version, as soon as none of them has this code."""
        while True:
            _, diagnostics = self.published(path, version)
            if code not in {d["code"] for d in diagnostics}:
                return diagnostics

    def hints(self, path: Path, lines: int = 10_000) -> list[str]:
        """The hints of a document."""
        place = {"start": {"line": 0, "character": 0}, "end": {"line": lines, "character": 0}}
        params = {"textDocument": {"uri": path.as_uri()}, "range": place}
        return [
            hint["label"].strip() for hint in self.request("textDocument/inlayHint", params) or ()
        ]

    def decided(self, path: Path) -> list[str]:
        """The hints of a document that has claims, once all are decided."""
        until = time.perf_counter() + SECONDS
        while True:
            hints = self.hints(path)
            if hints and not any("deciding" in hint or "before" in hint for hint in hints):
                return hints
            assert time.perf_counter() < until, hints
            time.sleep(0.02)

    def end(self) -> int:
        """End the server as an editor does; its exit code."""
        self.request("shutdown", None)
        self.notify("exit", None)
        return self.ended()

    def errors(self) -> str:
        """What the server wrote on standard error, which is a pipe, once it has ended."""
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            return str(stream.read().decode())

    def ended(self) -> int:
        """Wait until the server has ended; its exit code."""
        code = self.process.wait(SECONDS)
        self.listener.join(SECONDS)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()
        return code


# Messages, and what they are about

LAW = 'law rough\nvariable N > 0  "size"\nparameter A, k > 0\nL = A/N^k\nrequire L > 0\n'


def message(number: Any, method: str, params: Any) -> bytes:
    """The body of a request."""
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(request).encode()


def place(uri: str, line: int = 1, character: int = 9) -> dict[str, Any]:
    """The parameters of a request about a place."""
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}


def answers(client: PlainClient) -> bool:
    """Whether a hover on `LAW`, which is open, shows what is declared."""
    uri = (client.folder / "rough.law").as_uri()
    return "variable N > 0" in client.request("textDocument/hover", place(uri))["contents"]["value"]


def edit(first: tuple[int, int], last: tuple[int, int], text: str) -> dict[str, Any]:
    """An edit from one line and column to another."""
    start, end = ({"line": line, "character": column} for line, column in (first, last))
    return {"range": {"start": start, "end": end}, "text": text}
