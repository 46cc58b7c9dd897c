"""One process for a batch of inputs, watched: faults, CPU time and memory of each."""

from __future__ import annotations

import gc
import json
import mmap
import os
import resource
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from targets import Case

SECONDS = 10.0  # CPU of one input
BYTES = 1 << 30  # memory that one input may take
CODE = f"{Path(__file__).resolve().parent.parent.parent}/lawdsl/"


@dataclass(frozen=True)
class Watch:
    """Which inputs are watched for what they reach: that takes ten times as long."""

    reaches_more: Callable[[Callable[[], Any]], bool]  # calls what it is given
    every: int  # one input in so many


@dataclass(frozen=True)
class Finding:
    """What is wrong with an input: `kind` is fault, hang, memory or death."""

    kind: str
    where: str  # findings of one kind at one place are taken for the same
    details: str


@dataclass(frozen=True)
class Batch:
    """What came of a batch.

    Attributes:
        done: how many inputs are done.
        outcomes: how often each outcome.
        findings: by the number of the input.
        new: numbers of inputs that reached something new.
        slowest: CPU seconds of the slowest input, and its number.
    """

    done: int
    outcomes: dict[str, int]
    findings: dict[int, Finding]
    new: list[int]
    slowest: tuple[float, int]


def run_batch(
    numbers: Iterable[int],
    make: Callable[[int], Case],
    run: Callable[[Case, Path], str],
    folder: Path,
    watch: Watch | None = None,
) -> Batch:
    """Run inputs in a process of its own until all are done, or one ends it.

    Args:
        numbers: of the inputs.
        make: makes the input of a number, always the same.
        run: runs it; returns its outcome.
        folder: for its files.
        watch: says of some inputs whether they reached anything new.
    """
    numbers = list(numbers)
    at = mmap.mmap(-1, 8)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            with os.fdopen(writing, "w") as out:
                _work(numbers, make, run, folder, watch, at, out)
            os._exit(0)
        finally:  # an error of the campaign's own is one
            traceback.print_exc()
            os._exit(1)
    os.close(writing)
    outcomes: dict[str, int] = {}
    found: dict[int, Finding] = {}
    new: list[int] = []
    slowest = (0.0, -1)
    with os.fdopen(reading) as lines:
        for line in lines:
            if not line.endswith("\n"):
                break  # it was killed while it wrote
            what, number, *more = json.loads(line)
            if what == "finding":
                found[number] = Finding(*more)
            elif what == "new":
                new.append(number)
            elif what == "slowest":
                slowest = (more[0], number)
            else:
                outcomes[more[0]] = outcomes.get(more[0], 0) + 1
    _, status = os.waitpid(child, 0)
    done = struct.unpack("q", at[:8])[0]
    if status != 0:
        found[numbers[done]] = _died(status)
        done += 1
    return Batch(done, outcomes, found, new, slowest)


def _died(status: int) -> Finding:
    number = os.waitstatus_to_exitcode(status)
    if number == -signal.SIGVTALRM:
        return Finding("hang", "", f"more than {SECONDS:g} s of CPU")
    return Finding("death", str(number), f"the process ended with {number}")


def _work(
    numbers: list[int],
    make: Callable[[int], Case],
    run: Callable[[Case, Path], str],
    folder: Path,
    watch: Watch | None,
    at: mmap.mmap,
    out: Any,
) -> None:
    """Run inputs, each answered with a line on `out` where there is something to say of it."""
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    base = _memory()
    _bound_memory()
    gc.freeze()  # what all batches share is neither searched for garbage nor copied
    slowest = (0.0, -1)

    def say(*what: Any) -> None:
        out.write(json.dumps(what) + "\n")
        out.flush()

    for done, number in enumerate(numbers):
        at[:8] = struct.pack("q", done)
        for file in folder.iterdir():
            file.unlink()
        case = make(number)
        outcome = "finding"

        def one(case: Case = case) -> None:
            nonlocal outcome
            outcome = run(case, folder)

        began = time.process_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        try:
            if watch is None or number % watch.every:
                one()
            elif watch.reaches_more(one):
                say("new", number)
        except MemoryError:
            say("finding", number, "memory", _place(), traceback.format_exc())
        except BaseException as error:
            where = f"{type(error).__name__} {_place()}"
            say("finding", number, "fault", where, traceback.format_exc())
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        slowest = max(slowest, (time.process_time() - began, number))
        say("outcome", number, outcome)
        took = _memory() - base
        if took > BYTES:
            say("finding", number, "memory", "", f"{took / 2**20:,.0f} MiB")
            break  # what comes next would be blamed for it
    say("slowest", slowest[1], slowest[0])
    at[:8] = struct.pack("q", done + 1)


def _place() -> str:
    """The innermost line of lawdsl where an exception was raised."""
    frames = traceback.extract_tb(sys.exc_info()[2])
    own = [f for f in frames if f.filename.startswith(CODE)] or frames[-1:]
    return f"{own[-1].filename.removeprefix(CODE)}:{own[-1].lineno}" if own else ""


def _memory() -> int:
    """The peak so far, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _bound_memory() -> None:
    """End what would take the machine's memory, well above the bound that is watched."""
    status = Path("/proc/self/statm")
    if status.exists():
        now = int(status.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + 3 * BYTES, now + 3 * BYTES))
