"""Runs that are killed and go on, many of them from one process that has loaded torch once.

A program of its own, for it forks: it answers [what, folder, seed, count], a line of JSON each. The
folder has the order of a run, `ordered/spec.json`.
"""

from __future__ import annotations

import atexit
import errno
import json
import mmap
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import runs

WATCHED = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "os.scandir"}


def ask(what: str, folder: Path, seed: int = 0, count: int = 0) -> dict[str, Any]:
    """Ask the process that runs this file; for a test."""
    server = _server()
    assert server.stdin and server.stdout
    server.stdin.write(json.dumps([what, str(folder), seed, count]) + "\n")
    server.stdin.flush()
    answer = json.loads(server.stdout.readline() or '{"error": "it has ended"}')
    assert "error" not in answer, answer["error"]
    return answer


@cache
def _server() -> subprocess.Popen[str]:
    server = subprocess.Popen(
        [sys.executable, __file__],
        env=runs.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(server.communicate)
    return server


def preload() -> None:
    """Import what a run imports, and compute nothing, for this process forks."""
    import torch._dynamo  # noqa: F401
    from transformers.models.qwen2 import modeling_qwen2  # noqa: F401

    from lawdsl.runners import cpt  # noqa: F401


def forked(folder: Path, before: Callable[[], None]) -> int:
    """The number of a process that does a run, or goes on with it; it speaks to log.txt."""
    process = os.fork()
    if process:
        return process
    code = 99
    try:
        log = os.open(folder / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        before()
        from lawdsl.runners import cpt

        code = cpt.main([str(folder)])
    except BaseException:
        traceback.print_exc()
    sys.stderr.flush()
    os._exit(code)


def ended(process: int) -> int:
    """The exit code of a process, less than 0 for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def at_operation(folder: Path, last: int, counter: mmap.mmap, end: Callable[[], None]) -> None:
    """Call `end` before operation `last` on a file of a run; the counter is shared."""
    import safetensors.torch

    from lawdsl.runners.training import export

    fsync, save_file, place = os.fsync, safetensors.torch.save_file, str(folder)

    def count() -> None:
        done = int.from_bytes(counter[:8], "little") + 1
        counter[:8] = done.to_bytes(8, "little")
        if done == last:
            end()

    def audited(event: str, values: tuple[Any, ...]) -> None:
        if event in WATCHED and place in str(values[0]):
            count()

    def synced(handle: int) -> None:
        count()
        fsync(handle)

    def saved(named: dict[str, Any], path: Path, **rest: Any) -> None:
        save_file(named, path, **rest)
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])  # as if it were still being written
        count()
        path.write_bytes(whole)

    counter[:8] = bytes(8)
    os.fsync = synced
    safetensors.torch.save_file = export.save_file = saved
    sys.addaudithook(audited)


def together(folder: Path, world: int, before: Callable[[], None]) -> list[int]:
    """Processes that share a run as those of torchrun do; `before` is called in the first."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def ranked(rank: int) -> Callable[[], None]:
        def told() -> None:
            os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world)}
            os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            if rank == 0:
                before()

        return told

    return [forked(folder, ranked(rank)) for rank in range(world)]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


# --- what is looked at


def ordered(folder: Path, name: str) -> Path:
    """A new folder with the same order."""
    place = folder / name
    place.mkdir()
    shutil.copy(folder / "ordered" / "spec.json", place)
    return place


def torn(place: Path, wanted: Path) -> list[str]:
    """Whether the rows of a run that was killed are not the first ones of the other."""
    if not (place / "points.jsonl").exists():
        return []
    whole = (place / "points.jsonl").read_bytes().split(b"\n")[:-1]
    found = [{k: v for k, v in json.loads(line).items() if k not in runs.VARYING} for line in whole]
    return [] if found == runs.rows(wanted)[: len(found)] else ["rows that the other has not"]


# --- what a test asks for


def kills(folder: Path, seed: int, count: int) -> dict[str, Any]:
    """Kill runs, `count` times in all; half at a moment, half at an operation on a file.

    Each goes on, and is killed again or not, until it is done.
    """
    draw = random.Random(seed)
    counter = mmap.mmap(-1, 8)
    whole = ordered(folder, "unbroken")
    begun = time.monotonic()
    code = ended(forked(whole, lambda: at_operation(whole, -1, counter, die)))
    seconds, operations = time.monotonic() - begun, int.from_bytes(counter[:8], "little")
    wrong = [] if code == 0 else [f"unbroken: exit code {code}"]
    killed = {"moment": 0, "operation": 0}
    done = tries = 0
    while sum(killed.values()) < count and not wrong:
        place = ordered(folder, f"run-{done}")
        while True:
            tries += 1
            how = draw.choice(("moment", "operation"))
            last = draw.randint(1, operations) if how == "operation" else -1
            process = forked(place, lambda p=place, n=last: at_operation(p, n, counter, die))
            if how == "moment":
                time.sleep(draw.uniform(0, seconds))
                os.kill(process, signal.SIGKILL)  # nothing happens where it has ended
            code = ended(process)
            if code == 0:
                break
            if code != -signal.SIGKILL:
                wrong.append(f"try {tries}: exit code {code}: {(place / 'log.txt').read_text()}")
                break
            killed[how] += 1
            wrong += [f"try {tries}: {fault}" for fault in torn(place, whole)]
        done += 1
        wrong += [f"after try {tries}: {fault}" for fault in runs.differences(place, whole)]
    answer = {"wrong": wrong, "killed": killed, "runs": done, "operations": operations}
    return answer | {"rows": len(runs.rows(whole)), "traces": traces(folder)}


def traces(folder: Path) -> int:
    """How many tracebacks there are in all logs."""
    logs = [path.read_text(errors="replace") for path in folder.glob("*/log.txt")]
    return sum("Traceback" in log for log in logs)


def every(folder: Path, seed: int, count: int) -> dict[str, Any]:
    """Kill a run at every `count`-th operation on a file, and let it go on to its end."""
    counter = mmap.mmap(-1, 8)
    whole = ordered(folder, "unbroken")
    wrong = []
    if code := ended(forked(whole, lambda: at_operation(whole, -1, counter, die))):
        wrong.append(f"unbroken: exit code {code}")
    operations = int.from_bytes(counter[:8], "little")
    numbers = range(1 + seed % count, operations + 1, count)
    for last in numbers:
        place = ordered(folder, f"run-{last}")
        codes = [
            ended(forked(place, lambda p=place, n=n: at_operation(p, n, counter, die)))
            for n in (last, -1)
        ]
        if codes != [-signal.SIGKILL, 0]:
            wrong.append(f"operation {last}: exit codes {codes}")
        wrong += [f"operation {last}: {fault}" for fault in runs.differences(place, whole)]
        shutil.rmtree(place)
    return {"wrong": wrong, "killed": len(numbers), "operations": operations}


def signals(folder: Path, seed: int, count: int) -> dict[str, Any]:
    """Exit codes of runs that two signals reach in update `count`, and what they become after it."""
    whole = ordered(folder, "unbroken")
    wrong = [f"exit code {code}"] if (code := ended(forked(whole, lambda: None))) else []
    codes = []
    for number, both in enumerate(((signal.SIGTERM, signal.SIGUSR1), (signal.SIGINT,) * 2)):
        place = ordered(folder, f"run-{number}")

        def sent(both: tuple[signal.Signals, ...] = both) -> None:
            for one in both:
                os.kill(os.getpid(), one)

        with runs.at_step(count - 1, sent):  # the process that is forked has it for good
            codes.append(ended(forked(place, lambda: None)))
        if runs.saved(place) != ["step-00000007"]:
            wrong.append(f"{both}: {runs.saved(place)}")
        if code := ended(forked(place, lambda: None)):
            wrong.append(f"{both}: then exit code {code}")
        wrong += runs.differences(place, whole)
    return {"wrong": wrong, "codes": codes}


def memory(folder: Path, seed: int, count: int) -> dict[str, Any]:
    """A run that is allowed `count` megabytes more than it has; then one with smaller pieces."""
    place = ordered(folder, "run")

    def limited() -> None:
        held = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
        resource.setrlimit(resource.RLIMIT_AS, (held + (count << 20), resource.RLIM_INFINITY))

    first = ended(forked(place, limited))
    told = runs.done(place)
    order = json.loads((place / "spec.json").read_text())
    order["how"]["micro_batch"] = seed
    (place / "spec.json").write_text(json.dumps(order))
    second = ended(forked(place, limited))
    answer = {"codes": [first, second], "told": told, "log": (place / "log.txt").read_text()}
    return answer | {"after": runs.done(place), "rows": runs.rows(place)}


def shared(folder: Path, seed: int, count: int) -> dict[str, Any]:
    """A run on `count` processes: twice, then stopped, and killed at an operation and a moment."""
    draw = random.Random(seed)
    counter = mmap.mmap(-1, 8)
    wrong: list[str] = []
    killed = 0

    def go(place: Path, last: int = -1, after: float | None = None) -> list[int]:
        found = together(place, count, lambda: at_operation(place, last, counter, die))
        if after is not None:
            time.sleep(after)
            for process in found:
                os.kill(process, signal.SIGKILL)
        first = ended(found[0])
        for process in found[1:]:
            if first:
                os.kill(process, signal.SIGKILL)  # torchrun ends those that are left
        return [first, *map(ended, found[1:])]

    places = [ordered(folder, name) for name in ("unbroken", "again", "broken")]
    begun = time.monotonic()
    codes = go(places[0])
    seconds, operations = time.monotonic() - begun, int.from_bytes(counter[:8], "little")
    codes += go(places[1])
    if any(codes):
        return {"wrong": [f"exit codes {codes}: {(places[0] / 'log.txt').read_text()}"]}
    # asked to stop in the update before an evaluation, it saves just after that
    evaluated = json.loads((places[2] / "spec.json").read_text())["run"]["evaluate"][1]
    if (codes := stopped(places[2], evaluated, count)["codes"]) != [75] * count:
        wrong.append(f"stopped: exit codes {codes}")
    for number in range(2):
        if number % 2:
            codes = go(places[2], after=draw.uniform(0.3, 0.9) * seconds)
        else:
            codes = go(places[2], last=draw.randint(operations // 4, operations))
        if codes[0] == 0:
            break
        killed += 1
    else:
        codes = go(places[2])
    wrong += [f"again: {fault}" for fault in runs.differences(places[1], places[0])]
    wrong += [f"killed: {fault}" for fault in runs.differences(places[2], places[0])]
    losses = runs.losses(places[0]).tolist()
    return {"wrong": wrong, "killed": killed, "losses": losses, "codes": codes}


def stopped(place: Path, seed: int, count: int) -> dict[str, Any]:
    """Exit codes of a run on `count` processes whose last one is asked to stop in update `seed`."""
    with runs.at_step(seed - 1, lambda: last_one(count)):
        return {"codes": [ended(process) for process in together(place, count, lambda: None)]}


def apart(folder: Path, seed: int, count: int) -> dict[str, Any]:
    """A run on `count` processes whose last one dies, and sees other checkpoints than the first."""
    from lawdsl.runners.training import checkpoints

    def codes(place: Path) -> list[int]:
        return [ended(process) for process in together(place, count, lambda: None)]

    whole, place = ordered(folder, "unbroken"), ordered(folder, "run")
    said: dict[str, Any] = {"unbroken": codes(whole)}
    with runs.at_step(5, lambda: last_one(count, signal.SIGKILL)):
        said["lost"] = codes(place)
    said["stopped"] = stopped(place, 9, count)["codes"]
    said["saved"] = runs.saved(place)
    examine = checkpoints._examine

    def unseen(path: Path, *rest: Any) -> Any:
        last = os.environ["RANK"] == str(count - 1)
        return "state.json is missing" if last else examine(path, *rest)

    with mock.patch.object(checkpoints, "_examine", unseen):
        said["unseen"] = codes(place)
    said["left"] = runs.saved(place)
    (place / "checkpoints" / "step-00000009" / "model.safetensors").write_bytes(b"")
    latest = checkpoints.latest

    def once(at: Path) -> Any:
        assert os.environ["RANK"] == "0", "more than one process looks for checkpoints"
        return latest(at)

    with mock.patch.object(checkpoints, "latest", once):
        said["fell back"] = codes(place)
    log = (place / "log.txt").read_text()
    return said | {"log": log, "wrong": runs.differences(place, whole)}


def full(folder: Path, seed: int, count: int) -> dict[str, Any]:
    """A sharded run on `count` processes, the disk of whose last one is full at its second save."""
    import safetensors.torch

    place, save_file = ordered(folder, "run"), safetensors.torch.save_file
    saves = [0]

    def failing(named: dict[str, Any], path: Path) -> None:
        saves[0] += 1
        if os.environ["RANK"] == str(count - 1) and saves[0] > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        save_file(named, path)

    with mock.patch.object(safetensors.torch, "save_file", failing):
        codes = [ended(process) for process in together(place, count, lambda: None)]
    return {"codes": codes, "saved": runs.saved(place), "log": (place / "log.txt").read_text()}


def last_one(world: int, number: signal.Signals = signal.SIGTERM) -> None:
    if os.environ["RANK"] == str(world - 1):
        os.kill(os.getpid(), number)


if __name__ == "__main__":
    known = (kills, every, signals, memory, shared, stopped, apart, full)
    asked = {each.__name__: each for each in known}
    preload()
    for request in sys.stdin:
        what, folder, seed, count = json.loads(request)
        try:
            answer = asked[what](Path(folder), seed, count)
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), flush=True)
