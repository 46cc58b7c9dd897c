"""The worker process as the server sees it: requests, one at a time, and their cancellation."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

log = logging.getLogger(__name__)

MAX_LINE = 1 << 24  # bytes of one answer
GRACE_SECONDS = 0.3  # after a cancellation, until the process is ended
MAX_MEMORY = 180 << 20  # bytes; a worker that takes more is replaced when it is idle
COMMAND = (sys.executable, "-P", "-m", "lawdsl.server.worker")
"""`-P`: no module is loaded from the folder in which the editor started the server."""


class WorkerLost(Exception):
    """The worker ended before its answer."""


@dataclass
class WorkerProcess:
    """One worker, started when it is needed.

    Attributes:
        process: the process; None before the first request, and after it ended.
        last: the number of the last request.
        running: the number of the request that is being worked on, or waits for the process to start.
        cancelled: whether that one was cancelled before it was sent.
        closed: whether the server ends: no process is started any more.
    """

    process: asyncio.subprocess.Process | None = None
    last: int = 0
    running: int | None = None
    cancelled: bool = False
    closed: bool = False
    _sent: bool = field(default=False, repr=False)
    _timer: asyncio.TimerHandle | None = field(default=None, repr=False)
    _creating: asyncio.Task[asyncio.subprocess.Process] | None = field(default=None, repr=False)
    _unfinished: list[asyncio.subprocess.Process] = field(default_factory=list, repr=False)

    async def start(self) -> asyncio.subprocess.Process:
        """The process, started if there is none, and ready for requests.

        Raises:
            WorkerLost: it could not be started.
        """
        running = self.process
        # the end of a process closes its output at once; its exit status may be known later
        if running is not None and running.returncode is None and not _is_at_end(running):
            return running
        if self.closed:
            raise WorkerLost("the server ends")
        self._creating = asyncio.get_running_loop().create_task(self._create())
        try:
            # shielded: a process whose creation is cancelled halfway could not be killed
            process = await asyncio.shield(self._creating)
        except OSError as error:
            raise WorkerLost(str(error)) from None
        await self._read(process)  # its first line says that it is ready
        return process

    async def _create(self) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *COMMAND, stdin=pipe, stdout=pipe, limit=MAX_LINE
        )
        self._unfinished = [p for p in self._unfinished if p.returncode is None]
        self._unfinished.append(process)
        self.process = process
        if self.closed:
            self.end()
        return process

    async def ask(
        self, kind: str, arguments: dict[str, Any], on_part: Callable[[dict[str, Any]], None]
    ) -> dict[str, Any]:
        """The last answer to a request.

        Args:
            kind: its task.
            arguments: plain data.
            on_part: called with each answer before the last.

        Raises:
            WorkerLost: the worker ended, or was ended.
        """
        self.last += 1
        number = self.running = self.last
        self.cancelled = self._sent = False
        try:
            process = await self.start()
            if self.cancelled:
                return {"id": number, "cancelled": True}
            self._sent = True
            self._send(process, {"id": number, "kind": kind, **arguments})
            while True:
                answer = await self._read(process)
                if answer.get("id") != number:
                    continue
                if answer.get("done"):
                    break
                on_part(answer)
        finally:
            self.running = None
            self._stop_timer()
        if answer.get("memory", 0) > MAX_MEMORY:
            self.end()
        return answer

    def cancel(self) -> None:
        """End the work on the current request; the process too, if it does not stop at once.

        A process that is starting is left to start: the request is not sent to it.
        """
        if self.running is not None and not self._sent:
            self.cancelled = True
            return
        if self.running is None or self.process is None or self._timer is not None:
            return
        with suppress(WorkerLost):
            self._send(self.process, {"cancel": self.running})
        self._timer = asyncio.get_running_loop().call_later(GRACE_SECONDS, self._end_unresponsive)

    def _end_unresponsive(self) -> None:
        log.warning("the worker does not stop, and is replaced")
        self.end()

    def end(self) -> None:
        """End the process."""
        self._stop_timer()
        process = self.process
        # `kill` would take the exit status of a process that has ended from asyncio, which reports that
        if process is not None and process.returncode is None and not _is_at_end(process):
            with suppress(ProcessLookupError):
                process.kill()
        self.process = None

    def close(self) -> None:
        """End the process, and start no other."""
        self.closed = True
        self.end()

    async def finished(self) -> None:
        """Wait until no process is left, nor anything that asyncio does for one, once this is closed.

        If the event loop closes earlier, asyncio reports unclosed transports on standard error.
        """
        if self._creating is not None:
            await asyncio.wait([self._creating])
        for process in self._unfinished:
            assert process.stdin is not None and process.stdout is not None
            await process.wait()
            with suppress(OSError):
                process.stdin.close()
                await process.stdin.wait_closed()
            await process.stdout.read()  # no task reads any more
        await asyncio.sleep(0)  # their transports are closed

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _send(self, process: asyncio.subprocess.Process, message: dict[str, Any]) -> None:
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(message).encode() + b"\n")
        except (OSError, RuntimeError) as error:
            raise WorkerLost(str(error)) from None

    async def _read(self, process: asyncio.subprocess.Process) -> dict[str, Any]:
        assert process.stdout is not None
        try:
            line = await process.stdout.readline()
            answer = json.loads(line) if line else None
        except ValueError:  # a line beyond the limit, or cut off
            answer = None
        if not isinstance(answer, dict):
            if self.process is process:
                self.end()
            raise WorkerLost("the worker ended")
        return answer


def _is_at_end(process: asyncio.subprocess.Process) -> bool:
    """Whether nothing more can be read from a process."""
    return process.stdout is None or process.stdout.at_eof()
