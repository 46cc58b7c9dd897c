"""The process that decides claims: requests on standard input, answers on standard output.

Each line is a JSON object. A request has a number, a kind of `TASKS` and its arguments; the answers
to it have its number, and the last of them `"done": true`. `{"cancel": number}` ends the work on a
request, if it is the one that is being worked on. The process ends when its input does, whatever it
is doing: when the server ends, or dies.

It is a process and not a thread, since proofs would slow the answers of the server down, and since it
can be ended when it does not stop.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, TextIO

RETRY_SECONDS = 0.001  # until a cancellation is tried again, where it came in an unsuitable moment
REPEAT_SECONDS = 0.05  # until it is tried again, where it may have been lost

Send = Callable[[dict[str, Any]], None]


class Cancelled(BaseException):
    """The request that is being worked on is cancelled; no handler of errors catches this."""


class _State:
    """What the two threads share."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.current: int | None = None  # the request that is being worked on
        self.cancelled: set[int] = set()
        self.writing = False  # a line that is cut off would spoil the next


def main() -> None:
    """Answer requests until the input ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8", newline="\n")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing else may write among the answers
    state = _State()
    requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    if hasattr(signal, "SIGUSR1"):
        signal.signal(signal.SIGUSR1, lambda number, frame: _cancel(state, frame))
        signal.signal(signal.SIGALRM, lambda number, frame: _cancel(state, frame))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this too
    threading.Thread(target=_listen, args=(sys.stdin, requests, state), daemon=True).start()
    from lawdsl.server.tasks import TASKS, prepare

    prepare()
    _write(answers, {"ready": True})
    while True:
        _answer(requests.get(), TASKS, answers, state)


def _listen(source: TextIO, requests: queue.SimpleQueue[dict[str, Any]], state: _State) -> None:
    """Pass requests on, and cancel the one that is being worked on; at the end, end the process."""
    for line in source:
        message = json.loads(line)
        if "cancel" not in message:
            requests.put(message)
            continue
        with state.lock:
            state.cancelled.add(message["cancel"])
            if state.current == message["cancel"] and hasattr(signal, "pthread_kill"):
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
    os._exit(0)


def _cancel(state: _State, frame: FrameType | None) -> None:
    """Raise `Cancelled` in the work on a cancelled request."""
    from lawdsl.core.time_limit import interruptible

    if state.current not in state.cancelled:
        return
    suitable = interruptible(frame) and not state.writing
    # an exception raised inside a callback of the garbage collector is lost
    signal.setitimer(signal.ITIMER_REAL, REPEAT_SECONDS if suitable else RETRY_SECONDS)
    if suitable:
        raise Cancelled


def _answer(
    request: dict[str, Any],
    tasks: dict[str, Callable[[dict[str, Any], Send], dict[str, Any]]],
    answers: TextIO,
    state: _State,
) -> None:
    """Work on one request; a fault in it is an answer, too."""
    number = request["id"]

    def send(part: dict[str, Any]) -> None:
        state.writing = True
        try:
            _write(answers, {"id": number, **part})
        finally:
            state.writing = False

    result: dict[str, Any]
    try:
        try:
            state.current = number
            if number in state.cancelled:
                raise Cancelled
            result = tasks[request["kind"]](request, send)
        finally:
            state.current = None
    except Cancelled:
        result = {"cancelled": True}
    except Exception as error:  # one request must not end the process
        result = {"fault": f"{type(error).__name__}: {error}"}
    state.current = None
    state.cancelled.discard(number)
    _write(answers, {"id": number, "done": True, "memory": _memory(), **result})


def _write(answers: TextIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def _memory() -> int:
    """The resident memory of this process (bytes); 0 where it cannot be known."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


if __name__ == "__main__":
    main()
