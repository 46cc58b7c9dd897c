"""The order of edits, cancellations and long requests, as the language server sees them."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from language_client import PlainClient

from lawdsl.editing.positions import Positions
from lawdsl.server.session import LARGE
from lawdsl.server.worker_process import WorkerProcess

LAW = "law rough\nvariable N > 0\nparameter A, k > 0\nL = A/N^k\nrequire L > 0\n"
WRONG = LAW.replace("A/N", "A/M")
CANCELLED = -32800
COMMENTS = "# a comment\n" * (LARGE // 10)


def codes(diagnostics: list[dict[str, Any]]) -> set[str]:
    """The codes of messages."""
    return {d["code"] for d in diagnostics}


@pytest.mark.parametrize("version", [2, 1, 0])
def test_edits_count_in_the_order_of_their_arrival(tmp_path: Path, version: int) -> None:
    """Whatever numbers they have; messages have the number received last."""
    client = PlainClient(tmp_path)
    path = tmp_path / "rough.law"
    client.open(path, LAW, 2)
    assert client.published(path, 2)[1] == []
    client.change(path, version, {"text": WRONG})
    assert codes(client.published_with(path, version, "L0301")) == {"L0301"}
    client.change(path, version, {"text": f"{LAW}# now correct\n"})
    client.published_without(path, version, "L0301")
    assert client.end() == 0


def test_a_request_that_is_cancelled_while_the_worker_starts(tmp_path: Path) -> None:
    client = PlainClient(tmp_path)
    path = tmp_path / "rough.law"
    client.open(path, LAW)
    check = {"command": "lawdsl.check", "arguments": [path.as_uri()]}
    client.send({"id": "a", "method": "workspace/executeCommand", "params": check})
    client.notify("$/cancelRequest", {"id": "a"})
    _, answer = client.wait(lambda m: m.get("id") == "a")
    assert answer["error"]["code"] == CANCELLED
    claims = client.request("workspace/executeCommand", check)["claims"]
    assert [c["verdict"] for c in claims] == ["proved"]
    assert client.end() == 0


def test_work_that_is_cancelled_while_the_worker_starts_is_not_begun() -> None:
    worker = WorkerProcess()

    async def run() -> dict[str, Any]:
        asking = asyncio.create_task(worker.ask("no task of this name", {}, lambda part: None))
        await asyncio.sleep(0)
        worker.cancel()
        try:
            return await asking
        finally:
            process = worker.process
            assert process is not None and process.stdin is not None  # it has started, for others
            worker.end()
            process.stdin.close()
            await process.wait()

    assert asyncio.run(run()) == {"id": 1, "cancelled": True}


def test_a_search_in_many_files_delays_no_other_request(tmp_path: Path) -> None:
    """A hover that is asked for later is answered before; an edit and a cancellation end the search."""
    base = tmp_path / "base.law"
    base.write_text(LAW.replace("rough", "base"), encoding="utf-8")
    for number in range(120):
        built = f"law built{number}\nextends base\nL = base + {number}/N\n"
        uses = "".join(f"require L > {number}.{each}/N^k\n" for each in range(8))
        (tmp_path / f"built{number}.law").write_text(built + uses, encoding="utf-8")
    client = PlainClient(tmp_path)
    client.open(base, LAW.replace("rough", "base"))
    client.published(base, 1)
    place = {
        "textDocument": {"uri": base.as_uri()},
        "position": {"line": 1, "character": 9},
    }
    references = {**place, "context": {"includeDeclaration": True}}
    client.send({"id": "all", "method": "textDocument/references", "params": references})
    client.send(
        {"id": "rename", "method": "textDocument/rename", "params": place | {"newName": "M"}}
    )
    keyword = {**place, "position": {"line": 1, "character": 2}}  # nothing to wait for
    assert client.request("textDocument/hover", keyword) is not None
    arrived = {m.get("id") for _, m in client.arrived}
    assert not arrived & {"all", "rename"}
    _, answer = client.wait(lambda m: m.get("id") == "all")
    assert len(answer["result"]) == 2 + 120 * 9
    _, answer = client.wait(lambda m: m.get("id") == "rename")
    assert len(answer["result"]["documentChanges"]) == 121

    client.send({"id": "gone", "method": "textDocument/references", "params": references})
    client.notify("$/cancelRequest", {"id": "gone"})
    _, answer = client.wait(lambda m: m.get("id") == "gone")
    assert answer["error"]["code"] == CANCELLED
    client.send({"id": "old", "method": "textDocument/rename", "params": place | {"newName": "M"}})
    client.change(base, 2, {"text": LAW.replace("rough", "base") + "# edited\n"})
    _, answer = client.wait(lambda m: m.get("id") == "old")
    assert answer["error"]["code"] == -32801  # ContentModified
    assert client.end() == 0


def test_a_large_file_has_one_message_and_delays_nothing(tmp_path: Path) -> None:
    client = PlainClient(tmp_path)
    small, large = tmp_path / "rough.law", tmp_path / "large.law"
    client.open(small, LAW)
    client.published(small, 1)
    text = "law large\n" + "# no law is as long as this\n" * 75_000
    item = {"uri": large.as_uri(), "languageId": "law", "version": 1, "text": text}
    # a keyword, whose hover waits for nothing
    place = {"textDocument": {"uri": small.as_uri()}, "position": {"line": 1, "character": 2}}
    client.send(
        {"method": "textDocument/didOpen", "params": {"textDocument": item}},
        {"id": "hover", "method": "textDocument/hover", "params": place},
    )
    _, answer = client.wait(lambda m: m.get("id") == "hover")
    assert "variable: " in str(answer["result"])
    assert large.as_uri() not in {
        m["params"]["uri"] for _, m in client.arrived if "uri" in m.get("params", ())
    }
    assert codes(client.published(large, 1)[1]) == {"L0103"}
    assert client.end() == 0


def test_edits_of_a_large_law_reach_those_built_on_it(tmp_path: Path) -> None:
    base, built, large = (tmp_path / f"{name}.law" for name in ("base", "built", "large"))
    text = COMMENTS + LAW.replace("rough", "base")
    client = PlainClient(tmp_path)
    client.open(base, text)
    client.open(built, "law built\nextends base\nL = base + 1/N\n")
    client.open(large, f"{COMMENTS}law large\nextends built\nL = built + 1/N\n")
    for path in (base, built, large):
        client.published_without(path, 1, "L0301")
    for version in range(2, 6, 2):
        client.change(base, version, {"text": text.replace("N", "M")})
        client.published_with(built, 1, "L0301")
        client.published_with(large, 1, "L0301")
        client.change(base, version + 1, {"text": text})
        client.published_without(built, 1, "L0301")
        client.published_without(large, 1, "L0301")
    # an edit while what depends on the one before is read
    client.change(base, 7, {"text": text.replace("N", "M")})
    client.published_with(built, 1, "L0301")
    client.change(base, 8, {"text": f"{text}# again\n"})
    client.published_without(large, 1, "L0301")
    assert client.end() == 0


def test_large_laws_that_extend_each_other_are_not_read_forever(tmp_path: Path) -> None:
    client = PlainClient(tmp_path)
    for name, other in (("first", "second"), ("second", "first")):
        path = tmp_path / f"{name}.law"
        client.open(path, f"{COMMENTS}law {name}\nextends {other}\nL = {other} + 1\n")
    readings = 0
    with suppress(AssertionError):  # no message within the time: none is read any more
        while readings < 20:
            client.wait(lambda m: m.get("method") == "textDocument/publishDiagnostics", 2.0)
            readings += 1
    assert 0 < readings < 20
    assert client.end() == 0


NAMED = """law named "🙂 of A"
variable  N > 0  "size 𝓝"
parameter E > 0
parameter A, α > 0  "A and α"
let part = A/N^α

L = E + part + 0*A

require ∂L/∂A > 0 expect inside
require part < 2*A for A in [1, 2]
"""


@pytest.mark.parametrize(("ends", "at_once"), [("\n", True), ("\r\n", False)])
def test_after_a_rename_the_outline_is_that_of_the_new_text(
    tmp_path: Path, ends: str, at_once: bool
) -> None:
    """The edits arrive from the last to the first, as editors make them, in one message or in many."""
    text = NAMED.replace("\n", ends)
    path, fresh = tmp_path / "named.law", tmp_path / "fresh.law"
    client = PlainClient(tmp_path)
    client.open(path, text)
    version = 1
    for before, new in (
        ("parameter ", "much_longer"),
        ("let ", "p"),
        ("much_longer, ", "beta"),
        ("parameter ", "B"),
    ):
        positions = Positions(text, "utf-16")
        offset = text.rindex(before) + len(before)
        line, column = positions.position(offset)
        place = {
            "textDocument": {"uri": path.as_uri()},
            "position": {"line": line, "character": column},
        }
        edit = client.request("textDocument/rename", {**place, "newName": new})
        (part,) = edit["documentChanges"]
        assert part["textDocument"] == {"uri": path.as_uri(), "version": version}
        edits = sorted(part["edits"], key=lambda e: _start(e["range"]), reverse=True)
        changes = [{"range": e["range"], "text": e["newText"]} for e in edits]
        for change in changes:
            start, end = (
                positions.offset(*_start({"start": change["range"][end]}))
                for end in ("start", "end")
            )
            text = text[:start] + change["text"] + text[end:]
        for group in [changes] if at_once else [[change] for change in changes]:
            version += 1
            client.change(path, version, *group)
        client.open(fresh, text.replace("law named", "law fresh"))
        for method in ("documentSymbol", "foldingRange", "semanticTokens/full"):
            answers = [
                client.request(f"textDocument/{method}", {"textDocument": {"uri": p.as_uri()}})
                for p in (path, fresh)
            ]
            if method == "documentSymbol":
                (outline,) = answers[0]
                places = [_start(e["selectionRange"]) for e in outline["children"]]
                assert places == sorted(places) and new in [e["name"] for e in outline["children"]]
                answers = [json.loads(json.dumps(a).replace("named", "fresh")) for a in answers]
            assert answers[0] == answers[1]
        hover = client.request("textDocument/hover", place)
        assert hover["range"]["start"] == place["position"] and new in hover["contents"]["value"]
        client.notify("textDocument/didClose", {"textDocument": {"uri": fresh.as_uri()}})
    assert client.end() == 0


def _start(part: dict[str, Any]) -> tuple[int, int]:
    return part["start"]["line"], part["start"]["character"]
