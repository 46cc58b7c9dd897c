"""How the language server and its worker end."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path

import pytest
from click.testing import CliRunner
from language_client import ROUGH, PlainClient
from test_server_races import Silent

from lawdsl.cli import cli
from lawdsl.core.diagnostics import LawdslError
from lawdsl.server.protocol_server import make_server
from lawdsl.server.session import Session
from lawdsl.server.worker_process import WorkerLost

SECONDS = 30.0
REQUEST_FAILED = -32803


def test_the_server_ends_with_its_input(tmp_path: Path) -> None:
    client = PlainClient(tmp_path)
    client.open(tmp_path / "rough.law", ROUGH)
    children = children_of(client.process.pid)
    assert client.process.stdin is not None
    client.process.stdin.close()
    client.ended()
    wait_until_gone(children)


def test_the_server_ends_with_its_input_while_it_starts_the_worker(tmp_path: Path) -> None:
    client = PlainClient(tmp_path)
    assert client.process.stdin is not None
    client.process.stdin.close()
    client.ended()


def test_the_server_and_its_worker_end_when_the_editor_is_gone(tmp_path: Path) -> None:
    editor = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    client = PlainClient(tmp_path, process_id=editor.pid)
    children = children_of(client.process.pid)
    assert children
    editor.kill()
    editor.wait()
    client.ended()  # its input was open until then
    wait_until_gone(children)


SLOW = ROUGH.replace("/N^k", "/N^k + exp(-k*N)*log(1 + A*N^k) + A*E/(N + k)^A")
MOMENTS = ("begun", "starting", "deciding", "derivatives", "edited", "idle", "replaced")


@pytest.mark.parametrize("moment", MOMENTS)
def test_the_server_ends_silently_whatever_the_worker_does(tmp_path: Path, moment: str) -> None:
    client = PlainClient(tmp_path, errors=subprocess.PIPE)
    path = tmp_path / "rough.law"
    if moment != "begun":
        children = children_of(client.process.pid)
    if moment in ("deciding", "edited"):
        client.open(path, SLOW)
        client.wait(lambda m: m.get("method") == "workspace/inlayHint/refresh")
    if moment == "edited":
        client.change(path, 2, {"text": SLOW.replace("A*E", "2*A*E")})
    if moment == "derivatives":
        client.open(path, SLOW.partition("require")[0])
        client.published(path, 1)
        time.sleep(0.4)
    if moment in ("idle", "replaced"):
        client.open(path, ROUGH)
        client.decided(path)
    if moment == "replaced":
        where = {"textDocument": {"uri": path.as_uri()}, "position": {"line": 1, "character": 10}}
        while "∂L/∂N" not in client.request("textDocument/hover", where)["contents"]["value"]:
            time.sleep(0.02)  # claims and warnings are decided before derivatives are computed
        os.kill(children[0], signal.SIGKILL)
        client.change(path, 2, {"text": ROUGH.replace("L = E", "L = 2*E")})
        client.decided(path)
    assert client.end() == 0
    assert client.errors() == ""


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8, 12])
def test_nothing_is_left_of_a_worker_that_is_ended_while_it_starts(
    steps: int, capfd: pytest.CaptureFixture[str]
) -> None:
    async def run() -> None:
        session = Session(Silent())
        session.warm_up()
        for _ in range(steps):
            await asyncio.sleep(0)
        await session.finished()
        assert session.worker.process is None
        with pytest.raises(WorkerLost):  # a request of before does not start another
            await session.worker.start()

    for _ in range(3):
        asyncio.run(run())
    gc.collect()
    assert capfd.readouterr().err == ""


def test_a_refused_request_is_a_line_of_the_log_and_a_fault_has_its_traceback(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client = PlainClient(tmp_path, errors=subprocess.PIPE)
    path = tmp_path / "rough.law"
    client.open(path, ROUGH)
    place = {"textDocument": {"uri": path.as_uri()}, "position": {"line": 1, "character": 10}}
    keyword = {**place, "position": {"line": 1, "character": 2}}
    assert client.error_code("textDocument/prepareRename", keyword) == REQUEST_FAILED
    assert client.error_code("textDocument/rename", {**place, "newName": "E"}) == REQUEST_FAILED
    assert client.end() == 0
    first, second = client.errors().splitlines()
    assert first.startswith("refused: ") and "parameter already" in second

    failed: Future[None] = Future()
    failed.set_exception(ZeroDivisionError("a fault"))
    server, _ = make_server(lambda process: None)
    server.protocol._send_handler_result(failed, msg_id=1)
    assert "Traceback" in caplog.text and "ZeroDivisionError: a fault" in caplog.text


@pytest.mark.slow
def test_a_worker_ends_when_the_server_is_killed(tmp_path: Path) -> None:
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
        if numbers := [int(number) for text in texts for number in text.split()]:
            return numbers
        time.sleep(0.02)
    return []


def wait_until_gone(processes: list[int]) -> None:
    """Wait until processes have ended."""
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


def test_without_its_packages_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lawdsl.core.optional_packages.missing", lambda *names: ["pygls"])
    result = CliRunner().invoke(cli, ["lsp"], prog_name="lawdsl")
    assert isinstance(result.exception, LawdslError)
    assert "pip install 'lawdsl[lsp]'" in str(result.exception)
