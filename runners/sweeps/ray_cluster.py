"""A Ray cluster -> its nodes, their resources, and the visibility of the sweep's folders."""

from __future__ import annotations

import fcntl
import logging
import os
import socket
import sys
import threading
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import ray
from ray.exceptions import GetTimeoutError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from lawdsl import __version__
from lawdsl.core.diagnostics import Diagnostic, LawdslError

from ..spec import ExecutionConfig
from .machine import Machine, this_machine
from .plan import PlannedRun
from .ray_nodes import NodeReport, node_report

REACH = 10  # seconds within which an address must answer
NODE_ANSWER_SECONDS = 120  # seconds within which a node must answer: it may have to start Python
CURRENT = "ray/ray_current_cluster"  # file in which Ray stores the address of a local cluster


@dataclass(frozen=True)
class Resources:
    """The resources of a node that a run requires."""

    cpus: int
    gpus: float

    def __str__(self) -> str:
        cpus = f"{self.cpus} CPU{'' if self.cpus == 1 else 's'}"
        return f"{cpus} and {_count(self.gpus, 'GPU')}" if self.gpus else cpus


@dataclass(frozen=True)
class ClusterNode:
    """A node: its identifier in Ray, its host name, and the resources that Ray may assign."""

    id: str
    host: str
    alive: bool
    cpus: float
    gpus: float
    kind: str

    def times(self, needs: Resources) -> int:
        """The number of runs with such requirements that fit on it at once."""
        times = int(self.cpus // needs.cpus)
        # a third of a GPU is a float: three must fit
        return min(times, int(self.gpus / needs.gpus + 1e-6)) if needs.gpus else times

    def __str__(self) -> str:
        gpus = f", {_count(self.gpus, 'GPU')} {self.kind}".rstrip() if self.gpus else ""
        return f"{self.host}: {_count(self.cpus, 'CPU')}{gpus}"


@contextmanager
def joined(address: str) -> Iterator[None]:
    """Connect to a cluster as a driver while the block runs.

    Args:
        address: `auto`, the one on this machine; `local`, one that is started here and ends
            with the block; `host:6379`; `ray://host:10001`.

    Returns:
        A context manager.

    Raises:
        LawdslError: no cluster is there (R0113).
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # otherwise Ray sends usage statistics
    _check_reachable(address)
    more: dict[str, Any] = {}
    if address == "local":
        os.environ.setdefault(
            "RAY_memory_monitor_refresh_ms", "0"
        )  # it kills processes because of the memory of others
        more = {"include_dashboard": False, "num_cpus": this_machine().cores}
    with redirect_stdout(_ThreadStdout(sys.stdout)):
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **more)
        except (OSError, RuntimeError, ValueError, ImportError, SystemExit) as error:
            raise LawdslError(_no_cluster(address, str(error).strip().split("\n")[0])) from None
        try:
            yield
        finally:
            ray.shutdown()


def nodes() -> list[ClusterNode]:
    """All current and former nodes of the cluster."""
    alive = []
    for node in ray.nodes():
        has = node["Resources"]
        kinds = [name.partition(":")[2] for name in has if name.startswith("accelerator_type:")]
        alive.append(
            ClusterNode(
                node["NodeID"],
                node["NodeManagerHostname"],
                node["Alive"],
                has.get("CPU", 0),
                has.get("GPU", 0),
                kinds[0] if kinds else "",
            )
        )
    return alive


def machine_of(nodes: Iterable[ClusterNode]) -> Machine:
    """The nodes combined into one machine, for the estimates of a plan."""
    living = [node for node in nodes if node.alive]
    gpus = {f"{n.id}/{i}": n.kind for n in living for i in range(int(n.gpus))}
    return Machine(int(sum(node.cpus for node in living)), gpus)


def needs_of(how: ExecutionConfig, machine: Machine, jobs_per_gpu: int = 1) -> Resources:
    """Return the resources that a run needs of a node.

    Args:
        how: the execution settings of the run.
        machine: the cluster as one machine.
        jobs_per_gpu: the number of runs that may share a GPU.

    Returns:
        Cores and GPUs; a fraction of a GPU if runs share it.

    Raises:
        LawdslError: it names a GPU, which Ray has to assign (R0114).
    """
    if ":" in how.device:
        message = f"device = {how.device!r} names a GPU, and on a cluster Ray gives the GPUs"
        raise LawdslError(Diagnostic("R0114", message, help='set run.device = "cuda"'))
    cpus = how.threads * how.processes
    if not machine.on_gpu(how):
        return Resources(cpus, 0)
    shared = how.processes == 1
    return Resources(cpus, 1 / jobs_per_gpu if shared else how.processes)


def capacity(nodes: Iterable[ClusterNode], needs: Resources) -> int:
    """Return the number of runs that the active nodes can execute at once.

    Args:
        nodes: the nodes of the cluster.
        needs: the needs of each run.

    Returns:
        The number.
    """
    return sum(node.times(needs) for node in nodes if node.alive)


def at_once(
    nodes: Sequence[ClusterNode], kinds: Iterable[Resources], jobs: int | None = None
) -> int:
    """Return the number of runs at once.

    Args:
        nodes: the nodes of the cluster.
        kinds: the requirements of the runs.
        jobs: the number chosen by the user.

    Returns:
        The number, at least 1.

    Raises:
        LawdslError: no node has the resources of a run (R0114), which would wait indefinitely.
    """
    limits = {needs: capacity(nodes, needs) for needs in kinds}
    lacking = [needs for needs, times in limits.items() if not times]
    if lacking:
        has = tuple(str(node) for node in nodes if node.alive)
        help = "add a node, or set run.threads, run.processes and run.device as the nodes are"
        raise LawdslError(
            Diagnostic("R0114", f"no node of the cluster has {needs}", notes=has, help=help)
            for needs in lacking
        )
    most = min(limits.values(), default=1)
    return min(jobs, most) if jobs else most


def check(able: Iterable[ClusterNode], runs: Sequence[PlannedRun]) -> bool:
    """Raise an error for nodes that cannot execute runs; nodes that are lost meanwhile are ignored.

    Args:
        able: the nodes with enough cores and GPUs.
        runs: the runs.

    Returns:
        Whether a lock on a file in the sweep's folder is visible on all hosts.

    Raises:
        LawdslError: a node does not see a folder, lacks a package or has another lawdsl (R0115);
            the sweep's folder cannot be written (R0107).
    """
    folder = runs[0].folder.parent
    marker = folder / f".seen-{uuid.uuid4().hex}"
    paths = [run.order.paths for run in runs]
    read = {f for p in paths for f in (*p.corpora.values(), *p.validation.values())}
    read |= {p.model for p in paths if isinstance(p.model, str)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(marker, "wb") as file:
            # each node tries to lock it: if one succeeds, locks are not visible across hosts
            fcntl.flock(file, fcntl.LOCK_EX)
            requests = [(node, _ask(node, marker, sorted(read))) for node in able]
            answers = {node: _answer(answer) for node, answer in requests}
    except OSError as error:
        message = f"{folder} cannot be written: {error.strerror}"
        help = "make room, or choose another `folder` for the sweep"
        raise LawdslError(Diagnostic("R0107", message, place=str(folder), help=help)) from None
    finally:
        with suppress(OSError):
            marker.unlink()
    living = {node.id for node in nodes() if node.alive}
    answers = {
        n: report
        for n, report in answers.items()
        if isinstance(report, NodeReport) or n.id in living
    }
    wrong = [d for node, report in answers.items() for d in _node_problem(node, report)]
    if wrong:
        raise LawdslError(wrong)
    return all(isinstance(report, NodeReport) and report.locks for report in answers.values())


def pinned(node: ClusterNode) -> dict[str, Any]:
    """Options with which Ray runs a task on this node, using none of its cores."""
    return {"num_cpus": 0, "scheduling_strategy": NodeAffinitySchedulingStrategy(node.id, False)}


def _ask(node: ClusterNode, marker: Path, read: Sequence[str]) -> Any:
    return ray.remote(node_report).options(max_retries=0, **pinned(node)).remote(marker, read)


def _answer(answer: Any) -> NodeReport | str:
    """The report of a node, or why there is none."""
    try:
        report: NodeReport = ray.get(answer, timeout=NODE_ANSWER_SECONDS)
        return report
    except GetTimeoutError:
        return f"it does not answer within {NODE_ANSWER_SECONDS} s"
    except RayError as error:
        return str(error).strip().split("\n")[-1]


def _node_problem(node: ClusterNode, report: NodeReport | str) -> Iterator[Diagnostic]:
    if isinstance(report, str):
        help = "install lawdsl[ray] there as here, or remove the node"
        message = f"the node {node.host} cannot do runs"
        yield Diagnostic("R0115", message, notes=(report,), help=help)
        return
    if report.missing:
        message = f"the node {node.host} does not see {', '.join(report.missing)}"
        help = "put runs, corpora and models on a file system that all nodes share"
        yield Diagnostic("R0115", message, help=help)
    if report.version != __version__:
        message = f"the node {node.host} has lawdsl {report.version}, and here is {__version__}"
        yield Diagnostic("R0115", message, help="install the same version on all nodes")
    if report.lacking:
        message = f"{', '.join(report.lacking)} cannot be imported on the node {node.host}"
        yield Diagnostic("R0115", message, help="pip install 'lawdsl[ray]' there")


def _check_reachable(address: str) -> None:
    """Raise an error for an address at which no process listens; Ray would try for minutes and end
    the process.
    """
    target = address.removeprefix("ray://")
    if address == "auto":
        current = Path(os.environ.get("RAY_TMPDIR", "/tmp"), CURRENT)
        target = os.environ.get("RAY_ADDRESS", "").removeprefix("ray://")
        target = target or (current.read_text().strip() if current.exists() else "")
    host, _, port = target.rpartition(":")
    if address == "local" or (address == "auto" and not port.isdigit()):
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH).close()
    except ValueError:
        raise LawdslError(_no_cluster(address, "that is not an address")) from None
    except OSError as error:
        raise LawdslError(_no_cluster(address, f"{target}: {error.strerror or error}")) from None


def _no_cluster(address: str, why: str) -> Diagnostic:
    return Diagnostic(
        "R0113",
        f"no Ray cluster can be joined at {address}",
        notes=(why,) if why else (),
        help="auto, local, HOST:6379 or ray://HOST:10001; `ray start --head` starts one",
    )


def _count(number: float, what: str) -> str:
    return f"{number:g} {what}{'' if number == 1 else 's'}"


class _ThreadStdout:
    """Standard output of this thread only: Ray's threads print events of nodes there."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._owner = threading.get_ident()

    def write(self, text: str) -> int:
        is_owner = threading.get_ident() == self._owner
        return self._stream.write(text) if is_owner else len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
