"""Runs on several nodes: the same command on each node, connected by TCP -> an engine.

Node 0 is the leader. It listens at MASTER_ADDR:MASTER_PORT, sends the runs to start and the signals
to forward to the other nodes, and receives the exit codes of their processes: one JSON object per
line. A node that loses the connection sends SIGTERM to its processes, and ends. The processes of a
run have a rendezvous at a separate port, as with torchrun. Anybody who reaches the port of node 0
can join, as with torchrun: it must be open only within the cluster.
"""

from __future__ import annotations

import json
import signal
import socket
import time
from collections.abc import Mapping, Sequence
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
from .workers import Rendezvous, Worker, WorkerExit

JOIN_SECONDS = 600.0  # time within which all nodes must have joined
HELLO_SECONDS = 1.0  # time within which a connected node must send its number
SAVE_SECONDS = 300.0  # time for the processes of a node to save and end after node 0 is lost
POLL = 0.05  # seconds between checks of a worker, and between attempts to join
LOST_CONNECTION = "the connection to node 0 was lost"
MAX_MESSAGE_BYTES = 2**16  # maximum size of a line: a path, and execution settings
NODE_NUMBERS = ("NODE_RANK", "GROUP_RANK")
"""Environment variables with the number of the node, from 0: of schedulers, and of torchrun."""
KEEPALIVE = {
    "TCP_KEEPIDLE": 60,
    "TCP_KEEPINTVL": 60,
    "TCP_KEEPCNT": 4,
    "TCP_USER_TIMEOUT": 300_000,  # ms
}
"""Options of a connection, on systems that have them: a machine that does not answer is considered
lost after five minutes instead of the two hours that are the default on Linux.
"""


@dataclass(frozen=True)
class NodeAddress:
    """The number of a node, and the address at which node 0 listens."""

    number: int
    address: str
    port: int


def this_node(environment: Mapping[str, str], nodes: int) -> NodeAddress:
    """Read which of several nodes this is from the variables that torchrun uses.

    Args:
        environment: MASTER_ADDR, MASTER_PORT and NODE_RANK (or GROUP_RANK).
        nodes: the maximum number of nodes of a run.

    Returns:
        The node.

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
            f"a run needs {nodes} nodes, and the environment does not say which one this is",
            notes=(
                f"NODE_RANK is {number or 'not set'}, MASTER_ADDR {address or 'not set'},"
                f" MASTER_PORT {port or 'not set'}",
            ),
            help=f"on each node: {first.format(0)}, with NODE_RANK up to {nodes - 1}",
        )
    )


class Channel:
    """JSON objects over a connection, one per line; no method blocks."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.closed = False
        self._received = b""
        connection.setblocking(False)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in KEEPALIVE.items():
            if hasattr(socket, option):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send an object; if that fails, `closed` is True afterwards."""
        try:
            self.connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError:  # the buffer of an open connection never fills with so few lines
            self.closed = True

    def receive(self) -> dict[str, Any] | None:
        """The next object; None if none has arrived, or the connection is closed."""
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
            self.closed = self.closed or len(line) > MAX_MESSAGE_BYTES  # not sent by a node
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
        own: the processes on this node.
        waiting: the other nodes with active processes.
        codes: exit codes and reasons of the nodes whose processes have ended, in that order.
        exit: how the processes of this node ended; None while one is active.
        since: the time of the first failure, after which the others have a limited time to end.
    """

    own: Worker
    waiting: set[int]
    port: socket.socket
    codes: list[tuple[int, str]] = field(default_factory=list)
    exit: WorkerExit | None = None
    since: float | None = None


@dataclass(frozen=True)
class NodesEngine:
    """The engine of node 0: runs one after another, each on its requested number of nodes.

    Attributes:
        local: the engine that starts processes on this node.
        address: the address of this node for the others.
        others: number of a node -> the connection to it.
    """

    local: LocalEngine
    address: str
    others: Mapping[int, Channel]

    @property
    def policy(self) -> Policy:
        """The handling of failed runs."""
        return self.local.policy

    def engine(self, runs: Sequence[PlannedRun]) -> NodesEngine:
        """The engine for some runs: this one, with the nodes that have joined."""
        return self

    def why_blocked(self, waiting: Sequence[Job]) -> str:
        """Why the waiting runs cannot start: a node is lost."""
        lost = sorted(number for number, channel in self.others.items() if channel.closed)
        return f"node {lost[0]} was lost" if lost else ""

    def ready(self, job: Job, working: Sequence[Job]) -> bool:
        """Whether a run can start: one at a time, while all nodes are connected."""
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
        rendezvous = Rendezvous(0, self.address, number) if how.processes > 1 else None
        gpus = self.local.gpus_for(how, ())
        try:
            own = workers.start_worker(
                run.folder, how, self.local.worker, gpus or None, rendezvous=rendezvous
            )
        except OSError:
            port.close()
            raise
        waiting = set(list(self.others)[: how.nodes - 1])
        job.worker = _SharedWorker(own, waiting, port)
        message = {"folder": str(run.folder), "how": how.model_dump(mode="json"), "port": number}
        for node in waiting:
            self.others[node].send(message)

    def exit(self, job: Job) -> WorkerExit | None:
        """How the processes of all nodes ended; None while one is active."""
        shared: _SharedWorker = job.worker
        if shared.exit is None and (own := shared.own.exit()) is not None:
            shared.exit = own
            shared.codes.append((own.code or 0, own.why))
        for node in sorted(shared.waiting):
            channel = self.others[node]
            if (message := channel.receive()) is not None:
                why = f"node {node}: {message['why']} ({workers.log_name(node)})"
                shared.codes.append((int(message["code"]), why))
                shared.waiting.remove(node)
            elif channel.closed:
                shared.codes.append((LOST, f"node {node} was lost"))
                shared.waiting.remove(node)
        failed = [(code, why) for code, why in shared.codes if code]
        if shared.exit is None or shared.waiting:
            now = time.monotonic()
            shared.since = shared.since or (now if failed else None)
            if shared.since is not None and now - shared.since > workers.KILL_AFTER_SECONDS:
                self.send_signal(job, signal.SIGKILL)
            return None
        shared.port.close()
        # the first failure: later ones follow from lost peers, or are kills from here
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
        """Notify the other nodes that all runs are done."""
        for channel in self.others.values():
            channel.send({"end": True})
            channel.close()


def listen(node: NodeAddress, nodes: int) -> socket.socket:
    """Let other nodes connect to node 0, which accepts them in `lead`.

    To be called before slow or fallible operations: the others wait while the socket is open, and
    end when it is closed.

    Args:
        node: this node.
        nodes: how many there are.

    Returns:
        The socket.

    Raises:
        LawdslError: R0142, the port is taken.
    """
    try:
        return socket.create_server(("", node.port), backlog=nodes)
    except OSError as error:
        text = f"node 0 cannot listen at port {node.port}: {error.strerror}"
        raise LawdslError(Diagnostic("R0142", text, help="choose another MASTER_PORT")) from None


def lead(
    listener: socket.socket,
    node: NodeAddress,
    nodes: int,
    local: LocalEngine,
    stop: StopRequest,
) -> NodesEngine:
    """Wait on node 0 until the others have joined.

    Args:
        listener: see `listen`; is closed.
        node: this node.
        nodes: how many there are.
        local: what starts processes on this node.
        stop: ends the wait.

    Returns:
        The engine.

    Raises:
        LawdslError: R0142, not all nodes joined in time or have this version.
    """
    others: dict[int, Channel] = {}
    until = time.monotonic() + JOIN_SECONDS
    unknown: list[Channel] = []  # connected nodes of still unknown number
    with ExitStack() as on_error, listener:
        listener.settimeout(POLL)
        while len(others) < nodes - 1 and not stop.count:
            with suppress(TimeoutError):
                unknown.append(Channel(listener.accept()[0]))
                on_error.callback(unknown[-1].close)
            for channel in list(unknown):
                message = channel.receive()
                if message is not None and _asks_to_join(message):
                    unknown.remove(channel)
                    # a node that has ended may be restarted before the last one joins
                    others = _connected_nodes(others)
                    others[_node_number(message, nodes, others)] = channel
                elif channel.closed or message is not None:
                    unknown.remove(channel)
                    channel.close()
            if time.monotonic() > until:
                lacking = sorted(set(range(1, nodes)) - set(others))
                text = f"{nodes} nodes share a run, and node {lacking[0]} has not joined"
                help = "start the same command there, with its NODE_RANK; all see one file system"
                raise LawdslError(Diagnostic("R0142", text, help=help))
        on_error.pop_all()
    for channel in unknown:
        channel.close()
    return NodesEngine(local, node.address, dict(sorted(others.items())))


def dismiss_joining(listener: socket.socket) -> None:
    """Notify the nodes that have connected to node 0 that all runs are done, without waiting for
    others.

    Args:
        listener: see `listen`; is closed.
    """
    with listener:
        listener.settimeout(0)
        while True:
            try:
                channel = Channel(listener.accept()[0])
            except OSError:  # no node waits
                return
            # read received data first: otherwise closing resets the connection, and the message may
            # be lost
            until = time.monotonic() + HELLO_SECONDS
            while channel.receive() is None and not channel.closed and time.monotonic() < until:
                time.sleep(POLL)
            channel.send({"end": True})
            channel.close()


def _asks_to_join(message: Mapping[str, Any]) -> bool:
    """Whether a message was sent by a node; anybody may connect to an open port."""
    return {"node", "version"} <= message.keys()


def _connected_nodes(channels: Mapping[int, Channel]) -> dict[int, Channel]:
    """The nodes whose connection is open; the other connections are closed."""
    connected = {}
    for number, channel in channels.items():
        channel.receive()  # a node that has joined sends nothing yet: finds closed connections
        if channel.closed:
            channel.close()
        else:
            connected[number] = channel
    return connected


def _node_number(message: Mapping[str, Any], nodes: int, others: Mapping[int, Channel]) -> int:
    """The number of a node that asks to join.

    Raises:
        LawdslError: R0142, the number is invalid or taken, or the node has another version of lawdsl.
    """
    number, version = message.get("node"), message.get("version")
    free = isinstance(number, int) and 0 < number < nodes and number not in others
    if not isinstance(number, int) or not free or version != __version__:
        text = f"a node joined as number {number} with lawdsl {version}"
        help = f"nodes are numbered below {nodes}, each once, and have lawdsl {__version__}"
        raise LawdslError(Diagnostic("R0142", text, help=help))
    return number


def follow(node: NodeAddress, local: LocalEngine, stop: StopRequest) -> None:
    """Execute the requests of node 0 on this node until it announces the end.

    Args:
        node: this node.
        local: the engine that starts processes on this node.
        stop: signals; the first is handled by node 0, which also receives it from schedulers; a
            second one kills the processes of this node.

    Raises:
        LawdslError: R0142, node 0 cannot be reached or is lost; the processes here were requested
            to save, and have ended.
    """
    channel = _connect(node, stop)
    if channel is None:
        return
    with closing(channel):
        channel.send({"node": node.number, "version": __version__})
        is_done = _serve(node, local, stop, channel)
    if not is_done and stop.count < 2:
        raise LawdslError(_lost_connection(node, LOST_CONNECTION))


def _serve(node: NodeAddress, local: LocalEngine, stop: StopRequest, channel: Channel) -> bool:
    """Start and signal processes on request of node 0; return whether it has announced the end."""
    worker: Worker | None = None
    while stop.count < 2:
        message = channel.receive()
        if message is not None and "folder" in message:
            worker = _begin(message, node, local, channel)
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
        until = time.monotonic() + SAVE_SECONDS
        while worker.exit() is None:
            if time.monotonic() > until or stop.count > 1:
                worker.send_signal(signal.SIGKILL)
            time.sleep(POLL)
    return False


def _begin(
    message: Mapping[str, Any], node: NodeAddress, local: LocalEngine, channel: Channel
) -> Worker | None:
    """Start the processes of this node; None on failure, which is reported to node 0."""
    how = ExecutionConfig.model_validate(message["how"])
    rendezvous = Rendezvous(node.number, node.address, int(message["port"]))
    gpus = local.gpus_for(how, ()) or None
    try:
        folder = Path(message["folder"])
        return workers.start_worker(folder, how, local.worker, gpus, rendezvous=rendezvous)
    except OSError as error:
        why = f"no process can be started there: {error.strerror} ({error.filename})"
        channel.send({"code": WRONG, "why": why})
        return None


def _connect(node: NodeAddress, stop: StopRequest) -> Channel | None:
    """Connect to node 0, which may start later; None if a signal arrives first."""
    until, why = time.monotonic() + JOIN_SECONDS, ""
    while time.monotonic() < until and not stop.count:
        try:
            connection = socket.create_connection((node.address, node.port), timeout=5)
        except ConnectionResetError:  # node 0 existed, and has ended
            raise LawdslError(_lost_connection(node, LOST_CONNECTION)) from None
        except OSError as error:
            why = str(error.strerror or error)
            time.sleep(POLL)
            continue
        try:
            return Channel(connection)
        except OSError:  # some systems reject options of a connection that was reset
            connection.close()
            raise LawdslError(_lost_connection(node, LOST_CONNECTION)) from None
    if stop.count:
        return None
    raise LawdslError(_lost_connection(node, f"node 0 cannot be reached: {why}"))


def _lost_connection(node: NodeAddress, message: str) -> Diagnostic:
    help = "start the same command on all nodes: runs go on from where they were saved"
    return Diagnostic("R0142", message, place=f"{node.address}:{node.port}", help=help)
