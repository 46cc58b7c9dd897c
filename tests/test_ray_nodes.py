"""Nodes of a Ray cluster: what they have room for, and the locks of nodes that are gone."""

from __future__ import annotations

import fcntl
import json
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.run.locks import holder
from lawdsl.runners.spec import ExecutionConfig
from lawdsl.runners.sweeps import ray, ray_cluster
from lawdsl.runners.sweeps.machine import Machine
from lawdsl.runners.sweeps.ray_cluster import ClusterNode, Resources
from lawdsl.runners.sweeps.scheduler import Job, Policy

HERE, THERE = (
    ClusterNode("a", "here", True, 4, 0, ""),
    ClusterNode("b", "there", True, 8, 2, "H100"),
)
GONE = ClusterNode("c", "gone", False, 64, 8, "H100")


@pytest.mark.parametrize(
    ("how", "per_gpu", "needs", "times"),
    [
        ({"device": "cpu"}, 1, Resources(1, 0), 12),
        ({"device": "cpu", "threads": 3, "processes": 2}, 1, Resources(6, 0), 1),
        ({"device": "cpu", "threads": 9}, 1, Resources(9, 0), 0),
        ({}, 1, Resources(1, 1), 2),  # on a GPU, since the cluster has some
        ({"device": "cuda", "processes": 2}, 4, Resources(2, 2), 1),  # they have a GPU each
        ({"device": "cuda"}, 3, Resources(1, 1 / 3), 6),
        ({"device": "cuda", "threads": 4}, 3, Resources(4, 1 / 3), 2),
    ],
)
def test_a_run_is_done_on_one_node_that_lives(
    how: dict[str, Any], per_gpu: int, needs: Resources, times: int
):
    nodes = [HERE, THERE, GONE]
    machine = ray_cluster.machine_of(nodes)
    assert machine == Machine(12, {"b/0": "H100", "b/1": "H100"})
    assert ray_cluster.needs_of(ExecutionConfig(**how), machine, per_gpu) == needs
    assert ray_cluster.capacity(nodes, needs) == times


def test_runs_at_once_are_as_many_as_the_nodes_bear_and_no_more_than_are_asked_for():
    nodes = [HERE, THERE]
    assert ray_cluster.at_once(nodes, [Resources(1, 0)]) == 12
    assert ray_cluster.at_once(nodes, [Resources(1, 0), Resources(5, 0)]) == 1
    assert ray_cluster.at_once(nodes, [Resources(1, 0)], jobs=3) == 3
    assert ray_cluster.at_once(nodes, [Resources(1, 0)], jobs=30) == 12
    with pytest.raises(LawdslError) as error:
        ray_cluster.at_once(nodes, [Resources(9, 0), Resources(1, 3), Resources(1, 0)])
    messages = [d.message for d in error.value.diagnostics]
    assert messages == [f"no node of the cluster has {n}" for n in ("9 CPUs", "1 CPU and 3 GPUs")]
    notes = ("here: 4 CPUs", "there: 8 CPUs, 2 GPUs H100")
    assert all(d.notes == notes for d in error.value.diagnostics)


def test_a_gpu_that_a_run_names_is_not_its_own_to_take():
    with pytest.raises(LawdslError) as error:
        ray_cluster.needs_of(ExecutionConfig(device="cuda:1"), Machine(1, {}))
    assert [d.code for d in error.value.diagnostics] == ["R0114"]


def test_only_the_thread_of_the_command_writes_to_its_output(capsys: pytest.CaptureFixture[str]):
    with redirect_stdout(ray_cluster._ThreadStdout(sys.stdout)):
        print("ours")
        thread = threading.Thread(target=print, args=("theirs",))
        thread.start()
        thread.join()
    assert capsys.readouterr().out == "ours\n"


# --- locks of processes that are gone


@dataclass
class Lost:
    """A run that was lost, in the folder of it that a process of `host` held."""

    path: Path
    cluster: ray._Cluster
    job: Job


@pytest.fixture
def lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Lost]:
    def make(
        host: str, *, locks: bool, node_of: str = "", seconds: float = 0.0, steal: bool = False
    ) -> Lost:
        (tmp_path / "lock").write_text(json.dumps({"host": host, "pid": 1, "since": "then"}))
        monkeypatch.setattr(ray, "nodes", lambda: [HERE, THERE, GONE])
        cluster = ray._Cluster(
            ray.RayEngine(Machine(1, {}), policy=Policy(steal=steal), grace=60), locks
        )
        job = Job(SimpleNamespace(folder=tmp_path))  # type: ignore[arg-type]
        slot = ray._Slot(Resources(1, 0), None, None, "c", node_of)
        job.worker = ray._RemoteWorker(slot, None, time.monotonic() - seconds)
        return Lost(tmp_path, cluster, job)

    return make


@pytest.mark.parametrize(
    ("locks", "node_of", "seconds", "free"),
    [
        (True, "", 0, True),  # the lock is seen from everywhere, and it is free
        (False, "gone", 61, True),  # its node is gone, and had time to let go
        (False, "gone", 59, False),
        (False, "", 61, False),  # it is not this sweep that lost it
    ],
    ids=["seen", "lost", "just-lost", "anothers"],
)
def test_the_lock_of_a_host_that_is_gone_is_emptied_if_that_is_safe(
    locks: bool, node_of: str, seconds: float, free: bool, lost: Callable[..., Lost]
):
    found = lost("gone", locks=locks, node_of=node_of, seconds=seconds)
    by = "gone/1 since then"
    assert found.cluster.lock_holder(found.job, by) == ("" if free else by)
    assert holder(found.path) == ("" if free else by)


@pytest.mark.parametrize("begun", [False, True])
def test_a_run_of_a_host_that_is_no_node_is_stolen_if_it_is_asked_for(
    begun: bool, lost: Callable[..., Lost]
):
    """But not one that this very sweep has lost: it says itself when that is safe."""
    by = "gone/1 since then"
    for steal in (False, True):
        found = lost("gone", locks=False, node_of="gone", seconds=1, steal=steal)
        if not begun:
            found.job.worker = None
        free = steal and not begun
        assert found.cluster.lock_holder(found.job, by) == ("" if free else by)
        assert holder(found.path) == ("" if free else by)


def test_the_lock_of_a_process_of_this_host_is_emptied_for_workers_on_others(
    lost: Callable[..., Lost],
):
    found = lost(socket.gethostname(), locks=False)
    assert found.cluster.lock_holder(found.job, "") == ""
    assert (found.path / "lock").read_text() == ""


@pytest.mark.parametrize("locks", [True, False])
def test_a_lock_that_a_process_has_is_left_alone_however_long_it_takes(
    locks: bool, lost: Callable[..., Lost]
):
    found = lost("gone", locks=locks, node_of="gone", seconds=10_000)
    with open(found.path / "lock", "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert found.cluster.lock_holder(found.job, "gone/1 since then")


def test_runs_that_no_node_is_left_for_are_given_up_in_time(monkeypatch: pytest.MonkeyPatch):
    nodes = [HERE]
    monkeypatch.setattr(ray, "nodes", lambda: nodes)
    monkeypatch.setattr(ray, "NODE_CACHE_SECONDS", -1.0)
    cluster = ray._Cluster(ray.RayEngine(Machine(1, {}), patience=0.05), True)
    order = SimpleNamespace(how=ExecutionConfig(device="cpu", threads=2))
    waiting = [Job(SimpleNamespace(order=order))]  # type: ignore[arg-type]
    assert cluster.why_blocked(waiting) == ""
    nodes = [GONE]
    assert cluster.why_blocked(waiting) == ""
    time.sleep(0.06)
    assert cluster.why_blocked(waiting) == "no node is left in the cluster that has 2 CPUs"
    nodes = [HERE]
    assert cluster.why_blocked(waiting) == ""
    assert cluster.why_blocked([]) == ""
