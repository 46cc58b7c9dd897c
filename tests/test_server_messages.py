"""Malformed, misplaced and unexpected messages to the language server, over its protocol."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from language_client import COMMAND, PlainClient, framed

LAW = "law rough\nvariable N > 0\nparameter A, k > 0\nL = A/N^k\nrequire L > 0\n"
INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, NOT_JSON = -32600, -32601, -32602, -32700
NOT_INITIALIZED = -32002


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlainClient]:
    """A connection for all malformed messages; the server must end well after them."""
    client = PlainClient(tmp_path_factory.mktemp("laws"))
    yield client
    assert client.end() == 0


def at(path: Path, line: Any, character: Any) -> dict[str, Any]:
    """The parameters of a request about a place."""
    document = {"uri": path.as_uri()}
    return {"textDocument": document, "position": {"line": line, "character": character}}


def answers(client: PlainClient) -> bool:
    """Whether the server still answers, after all messages before."""
    return client.request("textDocument/hover", at(client.folder / "closed.law", 0, 0)) is None


@pytest.mark.parametrize(
    "position",
    [
        {"line": -1, "character": 0},
        {"line": "x", "character": 0},
        {"line": 0, "character": 10**30},
        {"line": 0},
        {"line": None, "character": 0},
        {"line": [], "character": {}},
        [0, 0],
        None,
    ],
    ids=repr,
)
def test_a_malformed_position_is_refused(client: PlainClient, position: Any) -> None:
    path = client.folder / "rough.law"
    client.open(path, LAW)
    for method in ("hover", "completion", "definition", "rename", "prepareRename"):
        params = {"textDocument": {"uri": path.as_uri()}, "position": position, "newName": "B"}
        assert client.error_code(f"textDocument/{method}", params) == INVALID_PARAMS
    assert client.request("textDocument/hover", at(path, 1, 9)) is not None


@pytest.mark.parametrize("params", [None, [], {}, "x", 1, {"textDocument": {"uri": 5}}], ids=repr)
def test_malformed_parameters_are_refused(client: PlainClient, params: Any) -> None:
    for method in ("hover", "codeAction", "inlayHint", "selectionRange", "references"):
        assert client.error_code(f"textDocument/{method}", params) == INVALID_PARAMS
    assert answers(client)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"id": "a", "method": "no/method"}, NO_METHOD),
        ({"id": "a", "method": "textDocument/moniker", "params": {}}, NO_METHOD),
        ({"id": "a", "method": "$/unknown", "params": None}, NO_METHOD),
        ({"id": "a", "method": "textDocument/didOpen", "params": {}}, INVALID_REQUEST),
        ({"id": "a", "method": "initialize", "params": {}}, INVALID_REQUEST),
        ({"id": "a", "method": ["textDocument/hover"]}, INVALID_REQUEST),
        ({"id": "a", "method": "workspace/executeCommand", "params": {}}, INVALID_PARAMS),
    ],
    ids=repr,
)
def test_a_request_that_is_not_one_of_the_server_is_refused(
    client: PlainClient, message: dict[str, Any], code: int
) -> None:
    client.send(message)
    _, answer = client.wait(lambda m: m.get("id") == "a")
    assert answer["error"]["code"] == code
    assert answers(client)


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe", b"[1, 2]", b"5", b'{"id": 1}', b"[" * 50_000])
def test_what_is_no_message_is_refused(client: PlainClient, body: bytes) -> None:
    client.send_bytes(body)
    _, answer = client.wait(lambda m: m.get("id", 0) is None)
    assert answer["error"]["code"] in (NOT_JSON, INVALID_REQUEST)
    assert answers(client)


@pytest.mark.parametrize(
    "message",
    [
        {"method": "no/method", "params": 1},
        {"method": "textDocument/hover", "params": {}},
        {"method": "textDocument/didOpen", "params": None},
        {"method": "textDocument/didChange", "params": {"textDocument": {}}},
        {"method": "textDocument/didClose"},
        {"method": "$/cancelRequest", "params": {"id": "nothing"}},
        {"method": "$/cancelRequest", "params": {"id": [1]}},
        {"method": "workspace/didChangeWatchedFiles", "params": {"changes": [{}]}},
        {"id": "nothing", "result": {}},
        {"id": ["nothing"], "result": {}},
        {"id": "nothing", "error": 5},
        {},
    ],
    ids=repr,
)
def test_a_malformed_notification_or_answer_is_ignored(
    client: PlainClient, message: dict[str, Any]
) -> None:
    client.send(message)
    assert answers(client)


def test_a_message_within_a_message_is_not_one(client: PlainClient) -> None:
    """Objects within the parameters may have the fields of a message."""
    inner = {"jsonrpc": "2.0", "id": 7, "method": "textDocument/hover"}
    path = client.folder / "rough.law"
    client.open(path, LAW)
    assert client.request(
        "textDocument/hover", {**at(path, 1, 9), "workDoneToken": "x", "more": inner}
    )


def test_documents_that_are_not_open_or_not_files_are_answered(client: PlainClient) -> None:
    uris = ["untitled:Untitled-1", "http://host/a.law", "", "file:", "file:///\x00.law", "x" * 9999]
    for uri in uris:
        params = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}}
        assert client.request("textDocument/hover", params) is None
        item = {"uri": uri, "languageId": "law", "version": 1, "text": LAW}
        client.notify("textDocument/didOpen", {"textDocument": item})
        params["position"] = {"line": 1, "character": 9}
        assert client.request("textDocument/hover", params) is not None, uri
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert answers(client)


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("untitled:Untitled-1", "Untitled-1"),
        ("untitled:/a%20b/new.law", "new.law"),
        ("git:/a/b.law?%7B%7D#x", "b.law"),
        ("http://[", "http://["),
    ],
)
def test_a_document_without_a_file_has_the_name_that_the_editor_shows(
    client: PlainClient, uri: str, shown: str
) -> None:
    texts = (LAW + "require 2*L > L\n", LAW + "require L > Q\n", "question best\n")
    places: list[dict[str, Any]] = []
    for version, text in enumerate(texts):
        item = {"uri": uri, "languageId": "law", "version": version, "text": text}
        client.notify("textDocument/didOpen", {"textDocument": item})
        command = {"command": "lawdsl.check", "arguments": [uri]}
        answer = client.request("workspace/executeCommand", command)
        places += [*answer["claims"], *answer["diagnostics"]]
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert {place["file"] for place in places} == {shown}
    assert "untitled_" not in str(places)


@pytest.mark.parametrize("command", ["lawdsl.check", "lawdsl.show", "lawdsl.none"])
@pytest.mark.parametrize("arguments", [None, [], [5], [[]], [None], ["a", "b"]], ids=repr)
def test_commands_with_malformed_arguments_are_answered(
    client: PlainClient, command: str, arguments: Any
) -> None:
    client.send(
        {
            "id": "a",
            "method": "workspace/executeCommand",
            "params": {"command": command, "arguments": arguments},
        }
    )
    _, answer = client.wait(lambda m: m.get("id") == "a")
    assert answer.get("result", 0) is None or "error" in answer
    assert answers(client)


# The life of a server


def test_the_exit_code_says_whether_the_end_was_asked_for(tmp_path: Path) -> None:
    client = PlainClient(tmp_path)
    client.notify("exit", None)
    assert client.ended() == 1
    client = PlainClient(tmp_path)
    client.request("shutdown", None)
    assert client.error_code("textDocument/hover", at(tmp_path / "a.law", 0, 0)) == INVALID_REQUEST
    assert client.error_code("shutdown", None) == INVALID_REQUEST
    client.notify("exit", None)
    assert client.ended() == 0


def test_before_the_beginning_requests_are_refused(tmp_path: Path) -> None:
    """The answer has the code that the protocol gives for it, and the server can begin after it."""
    request = b'{"jsonrpc": "2.0", "id": 1, "method": "textDocument/hover", "params": {}}'
    leave = b'{"jsonrpc": "2.0", "method": "exit"}'
    text = framed(request) + framed(leave)
    ended = subprocess.run(COMMAND, input=text, capture_output=True, cwd=tmp_path, timeout=60)
    assert b'"code": %d' % NOT_INITIALIZED in ended.stdout
    assert ended.returncode == 1
