"""Starts the server on standard input and output, or on a port of this machine."""

from __future__ import annotations

import gc
import os
import socket
import sys
import threading
import time
from contextlib import suppress
from typing import Any, BinaryIO

from lsprotocol import types

from lawdsl.language.tokens import grammar
from lawdsl.server.protocol_server import Server, make_server
from lawdsl.server.session import Session

PARENT_SECONDS = 2.0  # between looks at whether the editor still runs
END_SECONDS = (
    3.0  # after the end of the input or `exit`, until the process ends whatever it is waiting for
)
SWITCH_SECONDS = 0.001  # between threads: a large text is read in one of its own
GARBAGE = 20_000  # new records after which garbage is looked for
HOST = "127.0.0.1"


def serve_stdio() -> int:
    """Answer on standard output what is asked on standard input, until it ends.

    Returns:
        The exit code: 0 if the editor asked for the end by `shutdown`, 1 otherwise.
    """
    _prepare()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing else may write among the answers
    server, session = _server()
    try:
        with suppress(ValueError):  # an answer to nobody: the connection is closed
            server.start_io(_EndingInput(sys.stdin.buffer), answers)  # type: ignore[arg-type]
    finally:
        session.end()
    return 0 if server.protocol.is_shut_down else 1


def serve_tcp(port: int) -> int:
    """Answer one editor that connects to a port of this machine.

    Args:
        port: its number.

    Returns:
        The exit code: 0 if the editor asked for the end by `shutdown`, 1 otherwise.
    """
    _prepare()
    with socket.create_server((HOST, port)) as listener:
        connection, _ = listener.accept()
    server, session = _server()
    try:
        with connection, suppress(ValueError, OSError):  # the editor is gone
            source = _EndingInput(connection.makefile("rb"))
            server.start_io(source, connection.makefile("wb"))  # type: ignore[arg-type]
    finally:
        session.end()
    return 0 if server.protocol.is_shut_down else 1


def _server() -> tuple[Server, Session]:
    """A server whose process ends after the notification `exit`, whatever it is waiting for."""
    server, session = make_server(_end_with)

    @server.feature(types.EXIT)
    def ended(*_: object) -> None:
        _end_soon(0 if server.protocol.is_shut_down else 1)

    return server, session


def _end_soon(code: int) -> None:
    """End the process in a few seconds, if it has not ended by then.

    Where its input ends, or `exit` arrives, while the worker is being started, asyncio (Python 3.11)
    waits for the worker forever.
    """
    timer = threading.Timer(END_SECONDS, os._exit, (code,))
    timer.daemon = True
    timer.start()


def _prepare() -> None:
    """Keep pauses short: what is loaded stays, and trees of texts are many small records."""
    grammar()
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE, 20, 50)
    sys.setswitchinterval(SWITCH_SECONDS)


class _EndingInput:
    """An input after whose end the process ends soon."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def readline(self, size: int = -1) -> bytes:
        """A line; empty at the end."""
        return self._noticed(self.stream.readline(size))

    def read(self, size: int = -1) -> bytes:
        """So many bytes; fewer at the end."""
        return self._noticed(self.stream.read(size))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def _noticed(self, part: bytes) -> bytes:
        if not part:
            _end_soon(1)
        return part


def _end_with(process: int | None) -> None:
    """End this process when that of the editor is gone, which cannot close the connection then."""
    if process is None or not _runs(process):  # one that is never seen has numbers of its own
        return

    def watch() -> None:
        while _runs(process):
            time.sleep(PARENT_SECONDS)
        os._exit(1)  # the worker ends when its input does

    threading.Thread(target=watch, daemon=True).start()


def _runs(process: int) -> bool:
    """Whether a process exists."""
    if sys.platform == "win32":
        return True  # there, asking would end it
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
