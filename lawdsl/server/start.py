"""Starts the server on standard input and output, or on a port of this machine."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from lsprotocol import types

from lawdsl.language.tokens import grammar
from lawdsl.server.connection import Input, Log, Output, reading, writing
from lawdsl.server.frames import Frames
from lawdsl.server.protocol_server import Server, make_server
from lawdsl.server.session import Session

PARENT_SECONDS = 2.0  # s between checks that the editor still runs
# s after the end of the input or `exit`, after which the process is ended
END_SECONDS = 3.0
SWITCH_SECONDS = 0.001  # s between switches of threads: large texts are read in a second thread
GARBAGE = 20_000  # new objects after which the garbage collector runs
HOST = "127.0.0.1"


def serve_stdio() -> int:
    """Answer requests from standard input on standard output, until the input ends.

    Returns:
        The exit code: 0 if the editor asked for the end by `shutdown`, 1 otherwise.
    """
    _prepare()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing else may write among the answers
    # without a buffer, for which the end of the process would wait while a thread reads
    requests = os.fdopen(sys.stdin.fileno(), "rb", buffering=0, closefd=False)
    return _serve(reading(requests), writing(answers))


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
    with connection:
        return _serve(connection.recv, connection.sendall)


def _serve(read: Callable[[int], bytes], write: Callable[[bytes], None]) -> int:
    """Answer one editor, until its input ends or it cannot read the answers."""
    server, session = _server()
    errors = os.fdopen(sys.stderr.fileno(), "wb", buffering=0, closefd=False)
    shown = Output(writing(errors), lambda: None)
    logging.basicConfig(handlers=[Log(shown)], format="%(message)s")
    try:
        with suppress(KeyboardInterrupt):
            asyncio.run(_answer(server, session, Frames(read), write))
    finally:
        shown.close()
    return 0 if server.protocol.is_shut_down else 1


async def _answer(
    server: Server, session: Session, frames: Frames, write: Callable[[bytes], None]
) -> None:
    source = Input(frames)
    output = Output(write, source.end)
    server.protocol.set_writer(output)
    try:
        with suppress(SystemExit):
            while (waiting := await source.next()).part is not None:
                await output.room(lambda: not source.ended)
                server.protocol.receive(waiting)
                await asyncio.sleep(0)  # a request starts before the next message is handled
    finally:
        _end_soon(0 if server.protocol.is_shut_down else 1)
        output.close()
        await session.finished()


def _server() -> tuple[Server, Session]:
    """A server whose process ends a few seconds after `exit`, even if a thread still runs."""
    server, session = make_server(_end_with)

    @server.feature(types.EXIT)
    def ended(*_: object) -> None:
        _end_soon(0 if server.protocol.is_shut_down else 1)

    return server, session


def _end_soon(code: int) -> None:
    """End the process in a few seconds, if it has not ended by then: a thread may read a large text."""
    timer = threading.Timer(END_SECONDS, os._exit, (code,))
    timer.daemon = True
    timer.start()


def _prepare() -> None:
    """Configure garbage collection and thread switching for short pauses."""
    grammar()
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE, 20, 50)
    sys.setswitchinterval(SWITCH_SECONDS)


def _end_with(process: int | None) -> None:
    """End this process when that of the editor is gone, which cannot close the connection then."""
    if process is None or not _runs(process):  # the id may be of another PID namespace
        return

    def watch() -> None:
        while _runs(process):
            time.sleep(PARENT_SECONDS)
        os._exit(1)  # the worker ends when its input does

    threading.Thread(target=watch, daemon=True).start()


def _runs(process: int) -> bool:
    """Whether a process exists."""
    if sys.platform == "win32":
        return True  # there, os.kill would end the process
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
