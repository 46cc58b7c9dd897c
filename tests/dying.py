"""Processes that die while they write checkpoints or rows of a run, and the state of the files after it.

A program of its own, for it forks: `python dying.py WHAT FOLDER SEED COUNT` prints JSON.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
STEP = struct.Struct("<q")
WATCHED = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.scandir", "os.truncate"}


def run(what: str, folder: Path, seed: int = 0, count: int = 0) -> dict[str, Any]:
    """Run this file; for a test."""
    command = [sys.executable, __file__, what, str(folder), str(seed), str(count)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def forked(child: Callable[[int], None]) -> tuple[int, int]:
    """A process that calls `child` with the end of a pipe: its number, and the other end."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        try:
            child(writing)
            os._exit(0)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            os._exit(1)
    os.close(writing)
    return process, reading


def next_number(reading: int) -> list[int]:
    """The next number that the child sends, once it does; none if it has died."""
    content = os.read(reading, STEP.size)
    return list(STEP.unpack(content)) if content else []


def numbers_sent(reading: int) -> list[int]:
    """All that the child sent before it died, and has not been read; closes the pipe."""
    with open(reading, "rb") as pipe:
        content = pipe.read()
    return [number for (number,) in STEP.iter_unpack(content[: len(content) // 8 * 8])]


# --- what is saved


def tensors(step: int) -> dict[str, Any]:
    """Tensors of several types that depend on the step alone; not-a-numbers too."""
    import torch

    drawn = torch.Generator().manual_seed(step)
    odd = torch.tensor([float("nan"), -float("inf"), -0.0, 1e-42])
    model = {
        "w": torch.randn(300, 77, generator=drawn),
        "b": torch.randn(129, generator=drawn).bfloat16(),
        "none": torch.empty(0, 4),
    }
    optimizer = {"step": torch.tensor(float(step)), "m": torch.randn(300, 77, generator=drawn)}
    return {"model": model, "optimizer": {**optimizer, "odd": odd}}


def state(step: int) -> dict[str, Any]:
    return {"step": step, "rows_bytes": step * 17, "loss": 0.1 * step, "run": "0123456789abcdef"}


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two lots of tensors are the same, bit for bit."""
    import torch

    def bits(state: dict[str, Any]) -> dict[str, Any]:
        return {
            f"{of}/{name}": (
                str(t.dtype),
                tuple(t.shape),
                t.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes(),
            )
            for of, named in state.items()
            for name, t in named.items()
        }

    return bits(one) == bits(other)


def faults(folder: Path, allowed: set[int]) -> tuple[list[str], int]:
    """What is wrong with what `latest` finds, and its step; one of the allowed, 0 for none."""
    from lawdsl.runners.training import checkpoints

    checkpoint, warnings = checkpoints.latest(folder)
    step = checkpoint.step if checkpoint else 0
    wrong = [f"{d.message} (though nothing was flipped)" for d in warnings]
    if step not in allowed:
        wrong.append(f"step {step}, not one of {sorted(allowed)}")
    if checkpoint and checkpoint.state != state(step):
        wrong.append(f"the state {checkpoint.state}")
    if checkpoint and not same(checkpoints.load(checkpoint), tensors(step)):
        wrong.append(f"other tensors at step {step}")
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        match = checkpoints.NAME.fullmatch(path.name)
        if not match:
            wrong.append(f"{path.name} is left")
        elif isinstance(fault := checkpoints._examine(path, int(match[1])), str):
            wrong.append(f"{path.name} has the name of a checkpoint, and {fault}")
    return wrong, step


# --- killed at a moment


def moments(folder: Path, seed: int, count: int) -> dict[str, Any]:
    """Kill a process that saves one checkpoint after the other, `count` times, and look."""
    from lawdsl.runners.training import checkpoints

    tensors(0)  # loads torch, which each child has then
    draw = random.Random(seed)
    wrong: list[str] = []
    last = acknowledged = partial = 0

    def child(writing: int) -> None:
        checkpoint, _ = checkpoints.latest(folder)
        step = checkpoint.step if checkpoint else 0
        while True:
            step += 1
            checkpoints.save(folder, step, tensors(step), state(step))
            os.write(writing, STEP.pack(step))

    begun = time.monotonic()
    for step in (1, 2, 3):
        checkpoints.save(folder / "timed", step, tensors(step), state(step))
    longest = time.monotonic() - begun
    shutil.rmtree(folder / "timed")
    for kill in range(count):
        process, reading = forked(child)
        time.sleep(draw.uniform(0, longest))
        os.kill(process, signal.SIGKILL)
        if not os.WIFSIGNALED(os.waitpid(process, 0)[1]):
            wrong.append(f"kill {kill}: the process ended before")
        steps = numbers_sent(reading)
        least = max([last, *steps])
        partial += folder.is_dir() and any(n.startswith(".tmp") for n in os.listdir(folder))
        faulty, last = faults(folder, {least, least + 1})
        wrong += [f"kill {kill}: {fault}" for fault in faulty]
        acknowledged += len(steps)
    return {"wrong": wrong, "saved": acknowledged, "partial": partial}


# --- killed, failed or cut off from power at an operation


def prepared(folder: Path) -> None:
    """Checkpoints 1 and 2, and what a process that died left behind."""
    from lawdsl.runners.training import checkpoints

    for step in (1, 2):
        checkpoints.save(folder, step, tensors(step), state(step))
    unfinished = folder / ".tmp-1"
    unfinished.mkdir()
    (unfinished / "model.safetensors").write_bytes(b"half")


def first(folder: Path) -> None:
    from lawdsl.runners.training import checkpoints

    checkpoints.save(folder, 1, tensors(1), state(1))


def following(folder: Path) -> None:
    from lawdsl.runners.training import checkpoints

    checkpoints.latest(folder)
    checkpoints.save(folder, 3, tensors(3), state(3))


def again(folder: Path) -> None:
    """The checkpoint that is there, and the only one to be kept."""
    from lawdsl.runners.training import checkpoints

    checkpoints.save(folder, 2, tensors(2), state(2), keep=1)


ACTIONS = ((first, {0, 1}), (following, {2, 3}), (again, {2}))  # and the steps found then


@dataclass
class Watch:
    """Counts operations on files, and calls `end` before the one that is the last."""

    last: int = 0
    done: int = 0
    end: Callable[[], None] = lambda: None
    synced: Callable[[int], None] = lambda inode: None

    def __call__(self) -> None:
        self.done += 1
        if self.done == self.last:
            self.end()


def watched() -> Watch:
    """From now on each operation on a file is counted, for as long as the process runs."""
    import safetensors.torch

    watch = Watch()
    fsync, save_file = os.fsync, safetensors.torch.save_file

    def synced(handle: int) -> None:
        watch()
        fsync(handle)
        watch.synced(os.fstat(handle).st_ino)
        watch()

    def saved(named: dict[str, Any], path: Path) -> None:
        watch()
        save_file(named, path)
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])  # as if it were still being written
        watch()
        path.write_bytes(whole)

    os.fsync, safetensors.torch.save_file = synced, saved
    sys.addaudithook(lambda event, _: watch() if event in WATCHED else None)
    return watch


def full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def fails(action: Callable[[Path], None], folder: Path, last: int, watch: Watch) -> list[str]:
    """What is wrong when that operation finds the disk full and the process goes on."""
    from lawdsl.core.diagnostics import LawdslError

    watch.last, watch.done, watch.end = last, 0, full
    try:
        action(folder)
    except LawdslError as error:
        message = str(error)
    else:
        message = ""
    watch.last = 0
    if message and (folder / f".tmp-{os.getpid()}").exists():
        return ["its temporary folder is left"]
    return [] if not message or "No space left" in message else [message]


def dies(
    action: Callable[[Path], None], folder: Path, last: int, watch: Watch
) -> tuple[int, set[int]]:
    """The exit code of a process that dies at that operation, and the inodes it synced."""

    def child(writing: int) -> None:
        watch.last, watch.done, watch.end = last, 0, lambda: os._exit(9)
        watch.synced = lambda inode: os.write(writing, STEP.pack(inode))
        action(folder)

    process, reading = forked(child)
    synced = set(numbers_sent(reading))
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), synced


def unplug(folder: Path, synced: set[int]) -> None:
    """Halve the files that were not synced: all a power cut may leave of them."""
    for path in folder.rglob("*"):
        if path.is_file() and path.stat().st_ino not in synced:
            os.truncate(path, path.stat().st_size // 2)


def operations(folder: Path) -> dict[str, Any]:
    """At the first operation of each action on a file, at its second, and so on: it fails; the
    process dies; the process dies and what it did not sync is lost."""
    wrong: list[str] = []
    counts: dict[str, int] = {}
    prepared(folder / "pristine")
    watch = watched()
    for action, allowed in ACTIONS:
        for last in itertools.count(1):
            copies = [folder / f"{action.__name__}-{last}-{of}" for of in ("fails", "dies")]
            for copy in copies if action is not first else ():
                shutil.copytree(folder / "pristine", copy)
            inodes = {path.stat().st_ino for path in copies[1].rglob("*")}

            faulty = [f"fails: {fault}" for fault in fails(action, copies[0], last, watch)]
            faulty += [f"fails: {fault}" for fault in faults(copies[0], allowed)[0]]
            code, synced = dies(action, copies[1], last, watch)
            faulty += [f"dies: {fault}" for fault in faults(copies[1], allowed)[0]]
            unplug(copies[1], inodes | synced)
            faulty += [f"power: {fault}" for fault in faults(copies[1], allowed)[0]]

            wrong += [f"{action.__name__}, operation {last} {fault}" for fault in faulty]
            for copy in copies:
                shutil.rmtree(copy, ignore_errors=True)
            if code == 0:
                counts[action.__name__] = last - 1
                break
            if code != 9:
                wrong.append(f"{action.__name__}, operation {last}: exit code {code}")
    return {"wrong": wrong, "operations": counts}


# --- rows


def row(number: int) -> dict[str, Any]:
    losses = {"code": {"loss": 1 / (number + 3), "se": float("inf") if number % 5 == 0 else 0.1}}
    return {"step": number, "losses": losses, "note": "ρ" * (number % 700)}


def rows(folder: Path, seed: int, count: int) -> dict[str, Any]:
    """Kill a process that appends rows, `count` times; it cuts back to a checkpoint now and then.

    The moment of a kill does not depend on the speed of the machine: it comes after a number of
    rows drawn at random, 0 to 19, and then within about the time that a row takes.
    """
    from lawdsl.runners.run import metrics_log

    draw = random.Random(seed)
    path = folder / "points.jsonl"
    wrong: list[str] = []
    least = appended = awaited = 0

    def child(writing: int) -> None:
        with metrics_log.open_points(path) as file:
            while True:
                file.append(row(file.lines))
                os.write(writing, STEP.pack(file.lines))

    begun = time.monotonic()
    with metrics_log.open_points(folder / "timed") as file:
        for number in range(20):
            file.append(row(number))
    seconds = (time.monotonic() - begun) / 20
    for kill in range(count):
        first_rows = draw.randrange(20)
        process, reading = forked(child)
        acknowledged = [number for _ in range(first_rows) for number in next_number(reading)]
        time.sleep(draw.uniform(0, seconds))
        os.kill(process, signal.SIGKILL)
        if not os.WIFSIGNALED(os.waitpid(process, 0)[1]):
            wrong.append(f"kill {kill}: the process ended before")
        before, least = least, max([least, *acknowledged, *numbers_sent(reading)])
        read = metrics_log.read(path)
        if read != [row(i) for i in range(len(read))]:
            wrong.append(f"kill {kill}: other rows")
        if not least <= len(read) <= least + 1:
            wrong.append(f"kill {kill}: {len(read)} rows of {least}")
        appended += len(read) - before
        awaited += first_rows
        least = len(read)
        if kill % 10 == 9:  # back to a checkpoint
            remaining = draw.randrange(least + 1)
            size = sum(len(line) for line in path.read_bytes().splitlines(True)[:remaining])
            cut = metrics_log.cut(path, size)
            if cut != least - remaining or len(metrics_log.read(path)) != remaining:
                wrong.append(f"kill {kill}: {cut} rows cut of {least}, to leave {remaining}")
            least = remaining
    return {"wrong": wrong, "appended": appended, "awaited": awaited}


if __name__ == "__main__":
    what, place, seed, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    programs: dict[str, Callable[[], dict[str, Any]]] = {
        "moments": lambda: moments(place, seed, count),
        "rows": lambda: rows(place, seed, count),
        "operations": lambda: operations(place),
    }
    print(json.dumps(programs[what]()))
