"""Runs -> workers on the nodes of a Ray cluster. Ray only schedules; the state is in the run
folders.

No result is lost if the driver dies; `lawdsl run` resumes from the folders. Ray: Moritz et al.
(2018), arXiv:1712.05889.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import ActorUnavailableError, RayError, RayTaskError

from ..run.locks import named, release
from . import workers
from .machine import Machine
from .plan import PlannedRun
from .ray_cluster import ClusterNode, Resources, capacity, check, needs_of, nodes, pinned
from .ray_nodes import Watch
from .scheduler import Job, Policy
from .workers import WorkerExit

NODE_PATIENCE = 600.0  # seconds that runs wait for a suitable node after the last one is lost
GRACE = 90.0  # seconds for a lost worker to release its run; a node that loses the cluster ends after 60
NODE_CACHE_SECONDS = 1.0  # seconds for which the state of nodes and locks is cached
NODE = "ray.io/node-id"  # Ray's label of a node


@dataclass(eq=False)
class _Slot:
    """Resources reserved on a node, in which runs are executed one after another.

    Attributes:
        needs: the resources of its runs.
        watch: the actor that reserves the resources and supervises the workers.
        location: a future of its node and host.
        node, host: the result of `location`; empty until it is ready.
    """

    needs: Resources
    watch: Any
    location: Any
    node: str = ""
    host: str = ""


@dataclass
class _RemoteWorker:
    """An active run on a node of the cluster.

    Attributes:
        exit: a future of how the worker ended.
        lost_since: when it was lost.
        next_check: the time of the next check whether it has released the lock.
    """

    slot: _Slot
    exit: Any
    lost_since: float | None = None
    next_check: float = 0.0


@dataclass(frozen=True)
class RayEngine:
    """The engine that executes runs on a cluster, to which this process must be connected.

    Attributes:
        machine: the cores and GPUs of all nodes together.
        jobs: the maximum number of runs at once; None for no limit but the resources.
        jobs_per_gpu: how many of them may share a GPU.
        policy: the handling of failed runs.
        worker: an interpreter, which each node replaces by its own, and its arguments.
    """

    machine: Machine
    jobs: int | None = None
    jobs_per_gpu: int = 1
    policy: Policy = Policy()
    worker: tuple[str, ...] = workers.WORKER
    patience: float = NODE_PATIENCE
    grace: float = GRACE

    def engine(self, runs: Sequence[PlannedRun]) -> _Cluster:
        """The cluster, after a check that the nodes with enough resources see the folders of the
        runs.

        Args:
            runs: at least one.

        Raises:
            LawdslError: nodes that do not see the folders (R0115).
        """
        kinds = {needs_of(run.order.how, self.machine, self.jobs_per_gpu) for run in runs}
        able = [n for n in nodes() if n.alive and any(n.times(needs) for needs in kinds)]
        return _Cluster(self, check(able, runs))


class _Cluster:
    """The nodes while a sweep is carried out.

    Attributes:
        locks: whether locks are visible on all hosts.

    A slot is kept for the next run unless another slot is requested, which may need its resources.
    """

    def __init__(self, engine: RayEngine, locks: bool) -> None:
        self.engine, self.locks = engine, locks
        self.policy = engine.policy
        self._nodes_checked_at, self._nodes = 0.0, list[ClusterNode]()
        self._idle: list[_Slot] = []
        self._pending: list[_Slot] = []
        self._blocked_since: float | None = None

    def why_blocked(self, waiting: Sequence[Job]) -> str:
        if not waiting:
            self._release_idle()
        if not waiting or any(capacity(self._current_nodes(), self._needs(job)) for job in waiting):
            self._blocked_since = None
            return ""
        now = time.monotonic()
        self._blocked_since = self._blocked_since or now
        lacking = self._needs(waiting[0])
        over = now - self._blocked_since > self.engine.patience
        return f"no node is left in the cluster that has {lacking}" if over else ""

    def ready(self, job: Job, working: Sequence[Job]) -> bool:
        most = capacity(self._current_nodes(), self._needs(job))
        if len(working) >= min(most, self.engine.jobs or most):
            return False
        last = job.worker
        if last is None or last.lost_since is None:
            return True
        now = time.monotonic()
        if now < last.next_check:
            return False
        last.next_check = now + NODE_CACHE_SECONDS
        return self._lock_is_free(job) or now - last.lost_since > self.engine.grace

    def lock_holder(self, job: Job, holder: str) -> str:
        return "" if self._lock_is_free(job) else holder or "another process"

    def begin(self, job: Job, working: Sequence[Job]) -> None:
        needs, last = self._needs(job), job.worker
        failed_node = last.slot.node if last is not None and last.lost_since is not None else ""
        fitting = [s for s in self._idle if s.needs == needs and s.node != failed_node]
        if fitting:
            self._idle.remove(slot := fitting[0])
        else:
            self._release_idle()
            slot = self._slot(needs, failed_node)
        exit = slot.watch.execute.remote(job.run.folder, job.run.order.how, self.engine.worker)
        job.worker = _RemoteWorker(slot, exit)

    def exit(self, job: Job) -> WorkerExit | None:
        remote: _RemoteWorker = job.worker
        slot = remote.slot
        try:
            if slot in self._pending and _is_ready(slot.location):
                self._pending.remove(slot)
                slot.node, slot.host = ray.get(slot.location)
            if not _is_ready(remote.exit):
                return None
            status: WorkerExit = ray.get(remote.exit)
        except RayTaskError as error:  # the worker could not be started
            status = WorkerExit(None, f"on {slot.host}: {_last_line(error)}")
        except RayError as error:
            ray.kill(slot.watch)  # it may be alive but unreachable
            self._nodes_checked_at, remote.lost_since = 0.0, time.monotonic()
            self._pending = [other for other in self._pending if other is not slot]
            return WorkerExit(None, f"{slot.host or 'the node'} was lost: {_cause(error)}")
        self._idle.append(slot)
        if self._pending:
            self._release_idle()
        return status

    def send_signal(self, job: Job, number: int) -> None:
        slot = job.worker.slot
        if slot.host or _is_ready(slot.location):
            slot.watch.send_signal.remote(number)
        else:
            ray.kill(slot.watch)  # it waits for a node

    def _slot(self, needs: Resources, failed_node: str) -> _Slot:
        """Request a slot from Ray, on another node than the lost one if possible."""
        options: dict[str, Any] = {"num_cpus": needs.cpus, "num_gpus": needs.gpus}
        if failed_node and capacity(
            (n for n in self._current_nodes() if n.id != failed_node), needs
        ):
            options["label_selector"] = {NODE: f"!{failed_node}"}
        else:
            options["scheduling_strategy"] = "SPREAD"
        # two threads: one executes the run, one receives signals
        watch = ray.remote(Watch).options(max_concurrency=2, **options).remote()
        slot = _Slot(needs, watch, watch.location.remote())
        self._pending.append(slot)
        return slot

    def _release_idle(self) -> None:
        """Release idle slots, so that their resources are available to others."""
        for slot in self._idle:
            ray.kill(slot.watch)
        self._idle = []

    def _needs(self, job: Job) -> Resources:
        return needs_of(job.run.order.how, self.engine.machine, self.engine.jobs_per_gpu)

    def _current_nodes(self) -> list[ClusterNode]:
        """The nodes, cached for a moment."""
        now = time.monotonic()
        if now - self._nodes_checked_at > NODE_CACHE_SECONDS:
            self._nodes_checked_at, self._nodes = now, nodes()
        return self._nodes

    def _lock_is_free(self, job: Job) -> bool:
        """Whether a run is free; the lock of a process that has ended is emptied.

        Workers on other hosts rely on the host name in it. Whether a process has ended is best
        determined on its host; by the lock on any host, if locks are visible on all; and for a lost
        host by a timeout only.
        """
        folder, last = job.run.folder, job.worker
        host = named(folder).get("host", "")
        if not host:
            return True
        if self.locks or host == socket.gethostname():
            return release(folder)
        node = next((n for n in self._current_nodes() if n.alive and n.host == host), None)
        if node is not None:
            try:
                released: bool = ray.get(ray.remote(release).options(**pinned(node)).remote(folder))
                return released
            except RayError:
                return False
        if last is None or last.lost_since is None:
            return self.policy.steal and release(folder)
        over = time.monotonic() - last.lost_since > self.engine.grace
        return last.slot.host == host and over and release(folder)


def _is_ready(answer: Any) -> bool:
    ready, _ = ray.wait([answer], timeout=0)
    return bool(ready)


def _last_line(error: Exception) -> str:
    return str(error).strip().split("\n")[-1]


def _cause(error: RayError) -> str:
    """Shorten Ray's reason for the end of an actor: `its node has died`."""
    if isinstance(error, ActorUnavailableError):
        return "nothing is heard of it"
    lines = str(error).splitlines()
    causes = [line.partition("because ")[2] for line in lines if "because " in line]
    return (causes or lines or ["nobody knows why"])[0].split(". ")[0].rstrip(".")
