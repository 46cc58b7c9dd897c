"""Runs over several nodes: the same command on each node, joined over TCP -> an engine.

Node 0 decides. It listens at MASTER_ADDR:MASTER_PORT, tells the other nodes which run begins and
which signal to pass on, and learns how their processes ended: one JSON object a line. The
connection is the sign of life: a node that loses it saves and ends. The processes of a run meet at
a port of their own, as those of torchrun do. Anybody who reaches the port of node 0 could join, as
with torchrun: it belongs into the network of the cluster.
"""

from __future__ import annotations

import json
import signal
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lawdsl import __version__
from lawdsl.core.diagnostics import Diagnostic, LawdslError

from ..run.exit_status import LOST, WRONG
from ..spec import ExecutionConfig
from . import workers
from .local import LocalEngine
from .plan import PlannedRun
from .scheduler import Job, Policy, StopRequest
from .workers import Meeting, Worker, WorkerExit

JOIN_SECONDS = 600.0  # for all nodes to have started their command
POLL = 0.05  # seconds between looks at a worker, and between attempts to join
MAX_MESSAGE_BYTES = 2**16  # of a line: a path, and how a run is run
NODE_NUMBERS = ("NODE_RANK", "GROUP_RANK")
"""Variables that number a node from 0: of schedulers, and of torchrun."""


@dataclass(frozen=True)
class NodeAddress:
    """The number of this node, and where node 0 listens."""

    number: int
    address: str
    port: int


def this_node(environment: Mapping[str, str], nodes: int) -> NodeAddress:
    """Read the place of this node among several from the variables that torchrun uses.

    Args:
        environment: MASTER_ADDR, MASTER_PORT and NODE_RANK (or GROUP_RANK).
        nodes: the largest number of nodes of a run.

    Returns:
        The place.

    Raises:
        LawdslError: R0141, a variable is missing or out of range.
    """
    number = next((environment[name] for name in NODE_NUMBERS if name in environment), "")
    address, port = environment.get("MASTER_ADDR", ""), environment.get("MASTER_PORT", "")
    valid = number.isdecimal() and int(number) < nodes and port.isdecimal() and address
    if valid and 0 < int(port) < 2**16:
        return NodeAddress(int(number), address, int(port))
    first = "MASTER_ADDR=HOST0 MASTER_PORT=29500 NODE_RANK={} lawdsl run SWEEP.toml"
    raise LawdslError(
        Diagnostic(
            "R0141",
            f"a run is to be shared by {nodes} nodes, and the variables do not say which this is",
            notes=(
                f"NODE_RANK is {number or 'not set'}, MASTER_ADDR {address or 'not set'},"
                f" MASTER_PORT {port or 'not set'}",
            ),
            help=f"on each node: {first.format(0)}, with NODE_RANK up to {nodes - 1}",
        )
    )


class Channel:
    """JSON objects over a connection, one a line; nothing here waits."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.closed = False
        self._received = b""
        connection.setblocking(False)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send an object; `closed` is True afterwards where that is not possible."""
        try:
            self.connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError:  # the buffer of a living connection never fills with so few lines
            self.closed = True

    def receive(self) -> dict[str, Any] | None:
        """The next object; None where none has come, or the connection is closed."""
        try:
            while not self.closed and len(self._received) <= MAX_MESSAGE_BYTES:
                part = self.connection.recv(4096)
                self.closed = not part
                self._received += part
        except BlockingIOError:
            pass
        except OSError:
            self.closed = True
        line, end, rest = self._received.partition(b"\n")
        if not end:
            self.closed = self.closed or len(line) > MAX_MESSAGE_BYTES  # whoever speaks is no node
            return None
        self._received = rest
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if isinstance(message, dict):
            return message
        self.closed = True
        return None

    def close(self) -> None:
        """End the connection."""
        self.closed = True
        self.connection.close()


@dataclass
class _SharedWorker:
    """The processes of an active run on all nodes.

    Attributes:
        own: those of this node.
        waiting: nodes whose processes have not ended.
        codes: exit codes of those that have, with the reason.
        exit: how those of this node ended.
        since: the time of the first failure; the others have a limited time to end.
    """

    own: Worker
    waiting: set[int]
    port: socket.socket
    codes: list[tuple[int, str]] = field(default_factory=list)
    exit: WorkerExit | None = None
    since: float | None = None


@dataclass(frozen=True)
class NodesEngine:
    """The engine of node 0: runs one after another, each over as many nodes as it asks for.

    Attributes:
        local: what starts processes here.
        address: of this node, as the others reach it.
        others: number of a node -> the connection to it.
    """

    local: LocalEngine
    address: str
    others: Mapping[int, Channel]

    @property
    def policy(self) -> Policy:
        """What is done about runs that fail."""
        return self.local.policy

    def engine(self, runs: Sequence[PlannedRun]) -> NodesEngine:
        """The nodes themselves, which have joined."""
        return self

    def why_blocked(self, waiting: Sequence[Job]) -> str:
        """Why the waiting runs cannot start: a node is lost."""
        lost = sorted(number for number, channel in self.others.items() if channel.closed)
        return f"node {lost[0]} was lost" if lost else ""

    def ready(self, job: Job, working: Sequence[Job]) -> bool:
        """Decide whether a run can start: one at a time, while all nodes are there."""
        return not working and not self.why_blocked([job])

    def lock_holder(self, job: Job, holder: str) -> str:
        """The process that has locked a run; see `LocalEngine.lock_holder`."""
        return self.local.lock_holder(job, holder)

    def begin(self, job: Job, working: Sequence[Job]) -> None:
        """Start the processes of a run on all its nodes.

        Args:
            job: the run.
            working: the active runs.
        """
        run, how = job.run, job.run.order.how
        port = workers.free_port()
        number = port.getsockname()[1]
        meeting = Meeting(0, self.address, number) if how.processes > 1 else None
        gpus = self.local.gpus_for(how, ())
        own = workers.start_worker(
            run.folder, how, self.local.worker, gpus or None, meeting=meeting
        )
        waiting = set(list(self.others)[: how.nodes - 1])
        job.worker = _SharedWorker(own, waiting, port)
        message = {"folder": str(run.folder), "how": how.model_dump(mode="json"), "port": number}
        for node in waiting:
            self.others[node].send(message)

    def exit(self, job: Job) -> WorkerExit | None:
        """How the processes of all nodes ended; None while one is active."""
        shared: _SharedWorker = job.worker
        shared.exit = shared.exit or shared.own.exit()
        for node in sorted(shared.waiting):
            channel = self.others[node]
            if (message := channel.receive()) is not None:
                shared.codes.append((int(message["code"]), f"node {node}: {message['why']}"))
                shared.waiting.remove(node)
            elif channel.closed:
                shared.codes.append((LOST, f"node {node} was lost"))
                shared.waiting.remove(node)
        ended = [
            *shared.codes,
            *([(shared.exit.code or 0, shared.exit.why)] if shared.exit else []),
        ]
        failed = [(code, why) for code, why in ended if code]
        if shared.exit is None or shared.waiting:
            now = time.monotonic()
            shared.since = shared.since or (now if failed else None)
            if shared.since is not None and now - shared.since > workers.KILL_AFTER_SECONDS:
                self.send_signal(job, signal.SIGKILL)
            return None
        shared.port.close()
        # what one ended of, and not that the others then lost it
        code, why = next((pair for pair in failed if pair[0] != LOST), (failed or [(0, "")])[0])
        return replace(shared.exit, code=code, why=why) if code else shared.exit

    def send_signal(self, job: Job, number: int) -> None:
        """Send a signal to the processes of a run on all its nodes.

        Args:
            job: the run.
            number: the number of the signal.
        """
        shared: _SharedWorker = job.worker
        shared.own.send_signal(number)
        for node in shared.waiting:
            self.others[node].send({"signal": int(number)})

    def dismiss(self) -> None:
        """Tell the other nodes that all is done."""
        for channel in self.others.values():
            channel.send({"end": True})
            channel.close()


def lead(place: NodeAddress, nodes: int, local: LocalEngine, stop: StopRequest) -> NodesEngine:
    """Wait on node 0 until the others have joined.

    Args:
        place: of this node.
        nodes: how many there are.
        local: what starts processes on this node.
        stop: ends the wait.

    Returns:
        The engine.

    Raises:
        LawdslError: R0142, the port is taken, or not all nodes joined in time or have this version.
    """
    others: dict[int, Channel] = {}
    until = time.monotonic() + JOIN_SECONDS
    try:
        listener = socket.create_server(("", place.port), backlog=nodes)
    except OSError as error:
        text = f"node 0 cannot listen at port {place.port}: {error.strerror}"
        raise LawdslError(Diagnostic("R0142", text, help="choose another MASTER_PORT")) from None
    waiting: list[Channel] = []  # connected, and their number not known yet
    with ExitStack() as failing, listener:
        listener.settimeout(POLL)
        while len(others) < nodes - 1 and not stop.count:
            with suppress(TimeoutError):
                waiting.append(Channel(listener.accept()[0]))
                failing.callback(waiting[-1].close)
            for channel in list(waiting):
                if (message := channel.receive()) is not None:
                    waiting.remove(channel)
                    others[_joined(message, nodes, others)] = channel
            if time.monotonic() > until:
                lacking = sorted(set(range(1, nodes)) - set(others))
                text = f"{nodes} nodes share a run, and node {lacking[0]} has not joined"
                help = "start the same command there, with its NODE_RANK; all see one file system"
                raise LawdslError(Diagnostic("R0142", text, help=help))
        failing.pop_all()
    _close(waiting)
    return NodesEngine(local, place.address, dict(sorted(others.items())))


def _close(channels: Iterable[Channel]) -> None:
    for channel in channels:
        channel.close()


def _joined(message: Mapping[str, Any], nodes: int, others: Mapping[int, Channel]) -> int:
    """The number of a node that asks to join."""
    number, version = message.get("node"), message.get("version")
    free = isinstance(number, int) and 0 < number < nodes and number not in others
    if not isinstance(number, int) or not free or version != __version__:
        text = f"a node joined as number {number} with lawdsl {version}"
        help = f"nodes are numbered below {nodes}, each once, and have lawdsl {__version__}"
        raise LawdslError(Diagnostic("R0142", text, help=help))
    return number


def follow(place: NodeAddress, local: LocalEngine, stop: StopRequest) -> None:
    """Start what node 0 starts on this node, until it says that all is done.

    Args:
        place: of this node.
        local: what starts processes here.
        stop: signals; the first is left to node 0, which gets it too, a second ends all at once.

    Raises:
        LawdslError: R0142, node 0 cannot be reached or is lost; what ran is saved.
    """
    channel = _connected(place, stop)
    if channel is None:
        return
    with closing(channel):
        channel.send({"node": place.number, "version": __version__})
        is_done = _obey(place, local, stop, channel)
    if not is_done and stop.count < 2:
        raise LawdslError(_lost(place, "the connection to node 0 was lost"))


def _obey(place: NodeAddress, local: LocalEngine, stop: StopRequest, channel: Channel) -> bool:
    """Start and signal what node 0 says; whether it said that all is done."""
    worker: Worker | None = None
    while stop.count < 2:
        message = channel.receive()
        if message is not None and "folder" in message:
            worker = _begin(message, place, local, channel)
        elif message is not None and "signal" in message and worker is not None:
            worker.send_signal(message["signal"])
        elif message is not None and message.get("end"):
            return True
        exit = None if worker is None else worker.exit()
        if exit is not None:
            worker = None
            channel.send({"code": exit.code, "why": exit.why})
        if channel.closed and message is None:
            break
        time.sleep(POLL)
    if worker is not None:
        worker.send_signal(signal.SIGKILL if stop.count > 1 else signal.SIGTERM)
        until = time.monotonic() + workers.KILL_AFTER_SECONDS
        while worker.exit() is None:
            if time.monotonic() > until:
                worker.send_signal(signal.SIGKILL)
            time.sleep(POLL)
    return False


def _begin(
    message: Mapping[str, Any], place: NodeAddress, local: LocalEngine, channel: Channel
) -> Worker | None:
    """Start the processes of this node; None where that fails, which node 0 is told."""
    how = ExecutionConfig.model_validate(message["how"])
    meeting = Meeting(place.number, place.address, int(message["port"]))
    gpus = local.gpus_for(how, ()) or None
    try:
        folder = Path(message["folder"])
        return workers.start_worker(folder, how, local.worker, gpus, meeting=meeting)
    except OSError as error:
        why = f"no process can be started there: {error.strerror} ({error.filename})"
        channel.send({"code": WRONG, "why": why})
        return None


def _connected(place: NodeAddress, stop: StopRequest) -> Channel | None:
    """A connection to node 0, which may start later; None where a signal came first."""
    until, why = time.monotonic() + JOIN_SECONDS, ""
    while time.monotonic() < until and not stop.count:
        try:
            return Channel(socket.create_connection((place.address, place.port), timeout=5))
        except OSError as error:
            why = str(error.strerror or error)
            time.sleep(POLL)
    if stop.count:
        return None
    raise LawdslError(_lost(place, f"node 0 cannot be reached: {why}"))


def _lost(place: NodeAddress, message: str) -> Diagnostic:
    help = "start the same command on all nodes: runs go on from where they were saved"
    return Diagnostic("R0142", message, place=f"{place.address}:{place.port}", help=help)
