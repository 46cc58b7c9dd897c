"""Input and output queues of a connection, each served by a thread.

An editor that does not read its answers delays neither earlier requests nor the end of the server, and
a request that is cancelled while it is queued is not executed. Both queues are bounded: when one is
full, the server reads no further messages.
"""

from __future__ import annotations

import asyncio
import logging
import select
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import RawIOBase
from typing import Any

from lsprotocol import types

from lawdsl.server.frames import Fault, Frames, Message

MAX_AHEAD = 32 << 20  # bytes of queued messages; a single message may be larger
MAX_MESSAGES_AHEAD = 20_000
MAX_UNREAD = 32 << 20  # bytes of unread answers, beyond which no further message is handled
MAX_LOG = 1 << 20  # bytes of unread log lines, beyond which further ones are dropped
ROOM_SECONDS = 0.02  # s between checks of MAX_UNREAD
FLUSH_SECONDS = 2.0  # s to wait for the last answers to be read

log = logging.getLogger(__name__)


@dataclass
class Waiting:
    """A message that was read and is not yet handled.

    Attributes:
        part: the message, or what is wrong with it; None for the end of the input.
        size: its length (bytes).
        cancelled: whether it is a request that was cancelled since.
    """

    part: Message | Fault | None
    size: int = 0
    cancelled: bool = False


class Input:
    """Messages, which a thread reads ahead of the one that is handled."""

    def __init__(self, frames: Frames) -> None:
        self.ended = False
        self._frames = frames
        self._waiting: deque[Waiting] = deque()
        self._requests: dict[str | int, Waiting] = {}
        self._size = 0
        self._changed = threading.Condition()
        self._arrived = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, daemon=True).start()

    async def next(self) -> Waiting:
        """The next message, once there is one."""
        while True:
            with self._changed:
                if self._waiting:  # in one critical section: another thread may call `end`
                    waiting = self._waiting.popleft()
                    self._size -= waiting.size
                    key = _request(waiting.part)
                    if key is not None and self._requests.get(key) is waiting:
                        del self._requests[key]
                    self._changed.notify()
                    return waiting
                self._arrived.clear()
            await self._arrived.wait()

    def end(self) -> None:
        """Drop the queued messages and end the input, since answers can no longer be written."""
        with self._changed:
            self._waiting.clear()
            self._requests.clear()
            self._waiting.append(Waiting(None))
            self._size = 0
            self._changed.notify()
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._arrived.set)

    def _read(self) -> None:
        part: Message | Fault | None = Fault("")
        while part is not None:
            try:
                part = self._frames.next()
            except (OSError, ValueError):  # the connection is reset, or closed by the server
                part = None
            self.ended = part is None
            if not self._cancels(part):
                self._put(Waiting(part, part.size if isinstance(part, Message) else 0))

    def _put(self, waiting: Waiting) -> None:
        with self._changed:
            while self._waiting and (
                self._size + waiting.size > MAX_AHEAD or len(self._waiting) >= MAX_MESSAGES_AHEAD
            ):
                self._changed.wait()
            self._waiting.append(waiting)
            self._size += waiting.size
            key = _request(waiting.part)
            if key is not None:
                self._requests[key] = waiting
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._arrived.set)

    def _cancels(self, part: Message | Fault | None) -> bool:
        """Cancel a request that waits, if a message says so."""
        value = part.value if isinstance(part, Message) else None
        if not isinstance(value, Mapping) or value.get("method") != types.CANCEL_REQUEST:
            return False
        params = value.get("params")
        key = request_id(params.get("id")) if isinstance(params, Mapping) else None
        with self._changed:
            request = self._requests.get(key) if key is not None else None
            if request is None:
                return False
            request.cancelled = True
        return True


def _request(part: Message | Fault | None) -> str | int | None:
    """The id of a request; None for other messages."""
    value = part.value if isinstance(part, Message) else None
    if not isinstance(value, Mapping) or "method" not in value:
        return None
    return request_id(value.get("id"))


def request_id(value: Any) -> str | int | None:
    """A value as the id of a request; None for one that cannot be an id.

    Args:
        value: plain data.
    """
    return value if isinstance(value, (str, int)) and not isinstance(value, bool) else None


class Output:
    """Answers, or lines of a log, which a thread writes."""

    def __init__(self, write: Callable[[bytes], None], on_lost: Callable[[], None]) -> None:
        """Start the writing thread.

        Args:
            write: writes all of some bytes; may wait.
            on_lost: called in another thread when they can be written no more.
        """
        self._write = write
        self._on_lost = on_lost
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> None:
        """Queue an answer; the caller does not wait."""
        with self._changed:
            if not self._closed:
                self._waiting.append(data)
                self._size += len(data)
                self._changed.notify()

    @property
    def waiting(self) -> int:
        """How much is not yet written (bytes)."""
        return self._size

    async def room(self, needed: Callable[[], bool]) -> None:
        """Wait until the editor has read most of the answers, while that is needed."""
        while self._size > MAX_UNREAD and not self._closed and needed():
            await asyncio.sleep(ROOM_SECONDS)

    def close(self) -> None:
        """Accept no further answers, and wait up to FLUSH_SECONDS for the queued ones to be written."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(FLUSH_SECONDS)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting:
                    if self._closed:
                        return
                    self._changed.wait()
                data = self._waiting.popleft()
            try:
                self._write(data)
            except (OSError, ValueError) as error:
                log.error("answers cannot be written: %s", error)
                with self._changed:
                    self._closed = True
                    self._waiting.clear()
                    self._size = 0
                self._on_lost()
                return
            with self._changed:
                self._size -= len(data)


class Log(logging.Handler):
    """Writes log lines without waiting; lines beyond MAX_LOG unread bytes are dropped."""

    def __init__(self, output: Output) -> None:
        """Log to an output.

        Args:
            output: the output.
        """
        super().__init__(logging.WARNING)
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        """Show a line."""
        if self._output.waiting < MAX_LOG:
            self._output.write(f"{self.format(record)}\n".encode("utf-8", "backslashreplace"))


def reading(stream: RawIOBase) -> Callable[[int], bytes]:
    """The read function of `Frames` for an unbuffered stream, blocking or not.

    Args:
        stream: the stream.
    """

    def read(size: int) -> bytes:
        while (part := stream.read(size)) is None:
            select.select([stream], [], [])
        return part

    return read


def writing(stream: RawIOBase) -> Callable[[bytes], None]:
    """The write function of `Output` for an unbuffered stream, blocking or not.

    Args:
        stream: the stream.
    """

    def write(data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            written = stream.write(rest)
            if written is None:
                select.select([], [stream], [])
            rest = rest[written or 0 :]

    return write
