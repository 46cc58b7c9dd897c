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

from lawdsl.language.tokens import grammar
from lawdsl.server.protocol_server import make_server

PARENT_SECONDS = 2.0  # between looks at whether the editor still runs
END_SECONDS = 3.0  # after the end of the input, until the process ends whatever it is waiting for
SWITCH_SECONDS = 0.001  # between threads: a large text is read in one of its own
GARBAGE = 20_000  # new records after which garbage is looked for
HOST = "127.0.0.1"


def serve_stdio() -> None:
    """Answer on standard output what is asked on standard input, until it ends."""
    _prepare()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing else may write among the answers
    server, session = make_server(_end_with)
    try:
        with suppress(ValueError):  # an answer to nobody: the connection is closed
            server.start_io(_EndingInput(sys.stdin.buffer), answers)  # type: ignore[arg-type]
    finally:
        session.end()


def serve_tcp(port: int) -> None:
    """Answer one editor that connects to a port of this machine.

    Args:
        port: its number.
    """
    _prepare()
    with socket.create_server((HOST, port)) as listener:
        connection, _ = listener.accept()
    server, session = make_server(_end_with)
    try:
        with connection, suppress(ValueError, OSError):  # the editor is gone
            source = _EndingInput(connection.makefile("rb"))
            server.start_io(source, connection.makefile("wb"))  # type: ignore[arg-type]
    finally:
        session.end()


def _prepare() -> None:
    """Keep pauses short: what is loaded stays, and trees of texts are many small records."""
    grammar()
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE, 20, 50)
    sys.setswitchinterval(SWITCH_SECONDS)


class _EndingInput:
    """An input after whose end the process ends soon.

    Where it ends while the worker is being started, asyncio (Python 3.11) waits for it forever.
    """

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
            timer = threading.Timer(END_SECONDS, os._exit, (1,))
            timer.daemon = True
            timer.start()
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
