"""Runs that several nodes share: the same command on each, here on one machine."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest
from sweeps import TEXT, engine, made, planned, with_lines

from lawdsl.cli.run_clusters import all_nodes, listening
from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.run.exit_status import WRONG
from lawdsl.runners.sweeps import nodes, workers
from lawdsl.runners.sweeps.nodes import (
    Channel,
    NodeAddress,
    NodesEngine,
    _SharedWorker,
    dismiss_joining,
    follow,
    lead,
    listen,
    this_node,
)
from lawdsl.runners.sweeps.scheduler import Job, StopRequest
from lawdsl.runners.sweeps.sweep import read_sweep
from lawdsl.runners.sweeps.workers import WorkerExit

ROOT = Path(__file__).resolve().parent.parent
SHARED = with_lines(TEXT, run="processes = 4\nnodes = 2")
LIMIT = 60


def free_port() -> int:
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return some.getsockname()[1]


def started(path: Path, node: int, port: int, **fake: Any) -> subprocess.Popen[str]:
    """The command `lawdsl run` on a node, with the fake worker."""
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "NODE_RANK": str(node)}
    return subprocess.Popen(
        [sys.executable, str(ROOT / "tests" / "sweep_command.py"), "run", str(path)],
        env={**os.environ, **place, "FAKE": json.dumps(fake), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def until(path: Path, pattern: str) -> None:
    end = time.monotonic() + LIMIT
    while not list(path.parent.glob(pattern)):
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.slow
def test_two_nodes_do_each_run_together(tmp_path: Path):
    path, port = made(tmp_path, SHARED), free_port()
    both = [started(path, node, port) for node in (1, 0)]
    ended = [process.communicate(timeout=LIMIT) for process in both]
    assert [process.returncode for process in both] == [0, 0], ended
    assert {run.state.status for run in planned(path).runs} == {"done"}
    for run in planned(path).runs:
        first = [json.loads(line) for line in ranks(run.folder / "log.txt")]
        second = [json.loads(line) for line in ranks(run.folder / "log-1.txt")]
        assert [one["RANK"] for one in first] == ["1"]
        assert sorted(one["RANK"] for one in second) == ["2", "3"]
        assert sorted(one["LOCAL_RANK"] for one in second) == ["0", "1"]
        assert {one["WORLD_SIZE"] for one in first + second} == {"4"}
        assert {one["LOCAL_WORLD_SIZE"] for one in first + second} == {"2"}


def ranks(log: Path) -> list[str]:
    return [line for line in log.read_text().splitlines() if line.startswith('{"RANK"')]


@pytest.mark.slow
def test_a_sweep_that_cannot_be_planned_ends_on_all_nodes(tmp_path: Path):
    path, port = made(tmp_path, SHARED), free_port()
    shutil.rmtree(tmp_path / "corpora" / "code")
    other = started(path, 1, port)
    first = started(path, 0, port)
    _, error = first.communicate(timeout=LIMIT)
    assert first.returncode == 3 and "R0142" not in error
    # one that connects after node 0 has ended waits for it to be started again
    other.send_signal(signal.SIGTERM)
    _, error = other.communicate(timeout=LIMIT)
    assert other.returncode in (3, 75), error


@pytest.mark.slow
def test_a_signal_to_the_first_node_saves_and_ends_all_and_they_go_on(tmp_path: Path):
    path, port = made(tmp_path, SHARED), free_port()
    both = [started(path, node, port, small={"seconds": 0.2}) for node in (0, 1)]
    until(path, "runs/small*/points.jsonl")
    both[0].send_signal(signal.SIGTERM)
    ended = [process.communicate(timeout=LIMIT) for process in both]
    assert [process.returncode for process in both] == [75, 0], ended
    both = [started(path, node, port) for node in (0, 1)]
    ended = [process.communicate(timeout=LIMIT) for process in both]
    assert [process.returncode for process in both] == [0, 0], ended
    assert {run.state.status for run in planned(path).runs} == {"done"}


@pytest.mark.slow
def test_where_the_first_node_is_lost_the_others_say_so(tmp_path: Path):
    path, port = made(tmp_path, SHARED), free_port()
    both = [started(path, node, port, small={"seconds": 0.2}) for node in (0, 1)]
    until(path, "runs/small*/points.jsonl")
    both[0].kill()
    both[0].communicate(timeout=LIMIT)
    _, error = both[1].communicate(timeout=LIMIT)
    assert both[1].returncode != 0 and "error[R0142]: the connection to node 0 was lost" in error
    assert "Traceback" not in error


@pytest.mark.slow
def test_where_another_node_is_lost_the_rest_is_left(tmp_path: Path):
    path, port = made(tmp_path, SHARED), free_port()
    fake = {"small": {"seconds": 0.02}, "large": {"seconds": 0.02}}
    both = [started(path, node, port, **fake) for node in (0, 1)]
    until(path, "runs/*/points.jsonl")
    both[1].kill()
    both[1].communicate(timeout=LIMIT)
    _, error = both[0].communicate(timeout=LIMIT)
    assert both[0].returncode == 1, error
    assert "warning[R0116]" in error and "node 1 was lost" in error


# --- which node this is


@pytest.mark.parametrize("name", ["NODE_RANK", "GROUP_RANK"])
def test_a_node_is_told_by_the_variables_of_torchrun(name: str):
    said = {name: "1", "MASTER_ADDR": "host", "MASTER_PORT": "29500"}
    assert this_node(said, 2) == NodeAddress(1, "host", 29500)


@pytest.mark.parametrize(
    "wrong",
    [{"NODE_RANK": "2"}, {"NODE_RANK": "-1"}, {"MASTER_ADDR": ""}, {"MASTER_PORT": "70000"}],
    ids=lambda wrong: "=".join(*wrong.items()),
)
def test_variables_that_say_no_node_are_refused(wrong: dict[str, str]):
    said = {"NODE_RANK": "1", "MASTER_ADDR": "host", "MASTER_PORT": "29500"} | wrong
    with pytest.raises(LawdslError) as error:
        this_node(said, 2)
    assert error.value.diagnostics[0].code == "R0141"
    assert "NODE_RANK=0 lawdsl run" in error.value.diagnostics[0].help


def joined(node: NodeAddress, number: object) -> Channel:
    """A connection to node 0, which may not listen yet, of a node with a number."""
    end = time.monotonic() + LIMIT
    while True:
        try:
            channel = Channel(socket.create_connection((node.address, node.port)))
        except ConnectionRefusedError:
            assert time.monotonic() < end
            time.sleep(0.01)
            continue
        channel.send({"node": number, "version": nodes.__version__})
        return channel


@pytest.mark.parametrize("number", [0, 2, "1", None])
def test_what_is_no_node_of_the_run_is_refused(number: object):
    node = NodeAddress(0, "127.0.0.1", free_port())
    with ThreadPoolExecutor() as thread, StopRequest() as stop:
        stranger = thread.submit(joined, node, number)
        with pytest.raises(LawdslError) as error:
            lead(listen(node, 2), node, 2, engine(), stop)
        stranger.result().close()
    assert "a node joined as number" in error.value.diagnostics[0].message
    assert error.value.diagnostics[0].code == "R0142"


@pytest.mark.parametrize(
    "words", [b'{"health": "ok"}\n', b'{"node": 1}\n', b"GET / HTTP/1.1\r\n\r\n"]
)
def test_whoever_else_speaks_to_the_port_does_not_end_node_0(words: bytes):
    node = NodeAddress(0, "127.0.0.1", free_port())
    listener = listen(node, 2)
    stranger = socket.create_connection((node.address, node.port))
    stranger.sendall(words)
    with ThreadPoolExecutor() as thread, StopRequest() as stop, stranger:
        other = thread.submit(joined, node, 1)
        every = lead(listener, node, 2, engine(), stop)
        assert list(every.others) == [1]
        every.dismiss()
        other.result().close()


def test_where_nothing_is_left_to_do_nodes_that_have_joined_end_and_no_other_is_awaited():
    node = NodeAddress(1, "127.0.0.1", free_port())
    listener = listen(node, 3)
    with ThreadPoolExecutor() as thread, StopRequest() as stop:
        other = thread.submit(follow, node, engine(), stop)
        readable, _, _ = select.select([listener], [], [], LIMIT)
        assert readable
        begun = time.monotonic()
        dismiss_joining(listener)
        assert time.monotonic() - begun < 5
        assert other.result(LIMIT) is None


def test_node_0_of_a_finished_sweep_waits_for_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(nodes, "JOIN_SECONDS", 20.0)
    sweep = read_sweep(made(tmp_path, SHARED))
    node = NodeAddress(0, "127.0.0.1", free_port())
    local = engine()
    with StopRequest() as stop, listening(sweep, node) as listener:
        with all_nodes(sweep, local, node, listener, stop, idle=True) as executor:
            assert executor is local


@pytest.mark.parametrize("where", ["create_connection", "Channel"])
def test_a_connection_that_is_reset_at_once_is_that_of_a_node_0_that_has_ended(
    where: str, monkeypatch: pytest.MonkeyPatch
):
    node = NodeAddress(1, "127.0.0.1", free_port())

    def reset(*_: object, **__: object) -> None:
        raise ConnectionResetError(104, "Connection reset by peer")

    with listen(node, 2), StopRequest() as stop:
        monkeypatch.setattr(nodes.socket if where == "create_connection" else nodes, where, reset)
        with pytest.raises(LawdslError, match="R0142.*the connection to node 0 was lost"):
            follow(node, engine(), stop)


def test_a_node_may_be_started_again_before_the_last_one_joins():
    node = NodeAddress(0, "127.0.0.1", free_port())

    def restarted() -> list[Channel]:
        joined(node, 1).close()
        return [joined(node, 1), joined(node, 2)]

    with ThreadPoolExecutor() as thread, StopRequest() as stop:
        channels = thread.submit(restarted)
        every = lead(listen(node, 3), node, 3, engine(), stop)
        every.others[1].send({"end": True})
        again, _ = channels.result()
        end = time.monotonic() + LIMIT
        while (message := again.receive()) is None:
            assert time.monotonic() < end
        assert message == {"end": True}
        every.dismiss()
        for channel in channels.result():
            channel.close()


# --- how a run ended


class Ended:
    """Stands in for the processes of a node, which have ended."""

    def __init__(self, code: int) -> None:
        self.code = code
        self.signals: list[int] = []

    def exit(self) -> WorkerExit:
        return WorkerExit(self.code, f"exit code {self.code}")

    def send_signal(self, number: int) -> None:
        self.signals.append(number)


def test_the_first_failure_is_the_reason_and_not_the_kill_that_follows(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(workers, "KILL_AFTER_SECONDS", -1.0)
    with socket.create_server(("127.0.0.1", 0)) as port:
        theirs = Channel(socket.create_connection(port.getsockname()))
        ours = Channel(port.accept()[0])
        every = NodesEngine(engine(), "127.0.0.1", {1: ours})
        job = Job(cast(Any, None), worker=_SharedWorker(cast(Any, Ended(WRONG)), {1}, port))
        assert every.exit(job) is None  # the processes of node 1 wait for those of node 0
        assert theirs.receive() == {"signal": signal.SIGKILL}
        theirs.send({"code": -signal.SIGKILL, "why": "its worker was killed by SIGKILL"})
        ended = every.exit(job)
        assert ended is not None and (ended.code, ended.why) == (WRONG, f"exit code {WRONG}")
        theirs.close()
        every.dismiss()


def test_where_node_0_ends_before_it_accepts_them_the_others_end():
    node = NodeAddress(1, "127.0.0.1", free_port())
    listener = listen(node, 2)
    with ThreadPoolExecutor() as thread, StopRequest() as stop:
        other = thread.submit(follow, node, engine(), stop)
        connection, _ = listener.accept()
        assert b"version" in connection.recv(4096)
        connection.close()
        listener.close()
        with pytest.raises(LawdslError, match="R0142.*the connection to node 0 was lost"):
            other.result(LIMIT)


@pytest.mark.slow
def test_nodes_that_never_come_are_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(nodes, "JOIN_SECONDS", 0.1)
    place = NodeAddress(0, "127.0.0.1", free_port())
    with StopRequest() as stop, pytest.raises(LawdslError) as error:
        lead(listen(place, 3), place, 3, engine(), stop)
    assert "node 1 has not joined" in error.value.diagnostics[0].message
    with StopRequest() as stop, pytest.raises(LawdslError) as error:
        follow(NodeAddress(1, "127.0.0.1", place.port), engine(), stop)
    assert "node 0 cannot be reached" in error.value.diagnostics[0].message


def test_processes_that_nodes_cannot_share_are_a_mistake_in_the_sweep(tmp_path: Path):
    path = made(tmp_path, with_lines(TEXT, run="processes = 3\nnodes = 2"))
    with pytest.raises(LawdslError) as error:
        read_sweep(path)
    assert "processes = 3 is not a multiple of nodes = 2" in str(error.value)
