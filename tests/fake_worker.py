"""A worker that trains nothing and keeps the contract of a run's folder; it starts in no time.

    python tests/fake_worker.py FOLDER
    python tests/fake_worker.py --serve

Its losses are those of a law. What it does besides is said by the environment variable FAKE, JSON:
part of a label -> {"seconds": a step takes, "dies": [at steps], "diverges": at a step,
"memory": rows of a micro-batch that are too many, "wrong": a message, "loses": a process that dies
once, of several, "waits": [at a step, until a file beside its folder exists, as a pattern]}. The
first of several does all the work.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

E, A, ALPHA, B, BETA, ETA, C, GAMMA, EPSILON = 1.7, 2e-2, 0.5, 1e-4, 0.4, 1.3, 0.9, 0.3, 0.2


def loss(n: float, d: float, r: float) -> float:
    """The D-CPT Law of billions of parameters and tokens, whose C is above C0 from D = 1e-6 on."""
    falls = B * r**ETA / d**BETA if d else 0.1
    return E + A / n**ALPHA + falls + C / (r + EPSILON) ** GAMMA


def main(folder: Path) -> int:
    order = json.loads((folder / "spec.json").read_text())
    told = json.loads(os.environ.get("FAKE", "{}"))
    does = next((what for part, what in told.items() if part in order["label"]), {})
    if rank := int(os.environ.get("RANK", 0)):
        names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR")
        print(json.dumps({name: os.environ[name] for name in names}), file=sys.stderr)
        if does.get("loses") == rank and not (folder / "lost").exists():
            (folder / "lost").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 0
    with open(folder / "lock", "a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("error[R0408]: run is held", file=sys.stderr)
            return 3
        lock.truncate(0)
        holder = {"host": socket.gethostname(), "pid": os.getpid(), "since": "now"}
        lock.write(json.dumps(holder))
        lock.flush()
        code = work(folder, order, does)
        lock.truncate(0)
        return code


def work(folder: Path, order: dict[str, Any], does: dict[str, Any]) -> int:
    signals: list[int] = []
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
        signal.signal(number, lambda n, frame: signals.append(n))
    with contextlib.suppress(FileNotFoundError):
        status = json.loads((folder / "done.json").read_text())["status"]
        if status in ("done", "diverged"):
            return 0 if status == "done" else 1
    if "wrong" in does:
        print(does["wrong"], file=sys.stderr)
        return 3
    run, training = order["run"], order["run"]["training"]
    micro = order["how"]["micro_batch"] or training["batch"]
    if micro >= does.get("memory", 10**9):
        return end(folder, "oom", None, 4, f"a micro-batch of {micro} rows is too much")
    (folder / "done.json").unlink(missing_ok=True)
    step, size = resumed(folder)
    if step == 0 and order.get("prefix"):
        step, size = begun_from(folder, order["prefix"])
    rows = folder / "points.jsonl"
    rows.touch()
    os.truncate(rows, size)
    seen = {name: os.environ.get(name, "") for name in ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES")}
    print(f"begins at step {step} with {json.dumps(seen)}", file=sys.stderr, flush=True)
    if step == 0:
        measure(folder, order, 0)
    while step < training["steps"]:
        time.sleep(does.get("seconds", 0))
        step += 1
        if "waits" in does and step == does["waits"][0]:
            until(folder.parent, does["waits"][1])
        if step in does.get("dies", ()) and not (folder / f"died-{step}").exists():
            (folder / f"died-{step}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if step == does.get("diverges"):
            return end(folder, "diverged", step, 1, f"the loss is not finite after step {step}")
        if step in run["evaluate"]:
            measure(folder, order, step)
        if step in order.get("branch_steps", ()):
            save_for_branches(folder, step)
        if step == order.get("until"):
            return end(folder, "paused", step, 0)
        stopped = bool(signals) or orphaned()
        if stopped or step % order["how"]["checkpoint_every"] == 0:
            saved = {"step": step, "size": rows.stat().st_size}
            temporary = folder / "checkpoint.part"
            temporary.write_text(json.dumps(saved))
            temporary.rename(folder / "checkpoint.json")
        if stopped and step < training["steps"]:
            return 130 if signal.SIGINT in signals else 75
    if order["how"]["save_final"]:
        (folder / "model").mkdir(exist_ok=True)
        (folder / "model" / "config.json").write_text(json.dumps({"trained": order["label"]}))
    return end(folder, "done", step, 0)


def until(folder: Path, pattern: str) -> None:
    """Wait until a file exists, but not forever where it never will."""
    end = time.monotonic() + 60
    while not list(folder.glob(pattern)) and time.monotonic() < end:
        time.sleep(0.01)


def orphaned() -> bool:
    """Whether the sweep that this process works for is gone."""
    if "LAWDSL_SWEEP" in os.environ:
        try:
            os.kill(int(os.environ["LAWDSL_SWEEP"]), 0)
        except ProcessLookupError:
            return True
    return False


def resumed(folder: Path) -> tuple[int, int]:
    with contextlib.suppress(FileNotFoundError):
        saved = json.loads((folder / "checkpoint.json").read_text())
        return saved["step"], saved["size"]
    return 0, 0


def save_for_branches(folder: Path, step: int) -> None:
    """A checkpoint of a stable run, as far as branches of this worker need one."""
    place = folder / "checkpoints" / f"step-{step:08d}"
    temporary = place.with_name(f".tmp-{step}")
    temporary.mkdir(parents=True, exist_ok=True)
    (temporary / "state.json").write_text(str((folder / "points.jsonl").stat().st_size))
    if not place.exists():
        temporary.rename(place)


def begun_from(folder: Path, prefix: dict[str, Any]) -> tuple[int, int]:
    """The step and the rows of the stable run, taken over; 0 where it has no checkpoint."""
    stable = folder.parent / prefix["folder"]
    place = stable / "checkpoints" / f"step-{prefix['step']:08d}"
    if not place.exists():
        return 0, 0
    size = int((place / "state.json").read_text())
    (folder / "points.jsonl").write_bytes((stable / "points.jsonl").read_bytes()[:size])
    return prefix["step"], size


def measure(folder: Path, order: dict[str, Any], step: int) -> None:
    run, training = order["run"], order["run"]["training"]
    a_step = training["batch"] * training["sequence"]
    tokens = step * a_step
    shares = {name: float(Fraction(source["share"])) for name, source in run["corpora"].items()}
    n, d = order["columns"]["N"] / 1e9, tokens / 1e9
    point = {
        "step": step,
        "tokens": tokens,
        "learning_rate": training["learning_rate"],
        "S1": step * training["learning_rate"],
        "S2": 0.0,
        "rows": {name: round(share * step * training["batch"]) for name, share in shares.items()},
        "epochs": {name: share * step / 100 for name, share in shares.items()},
        "losses": {
            name: {"loss": loss(n, d, shares.get(name, 0)), "se": 0.01, "tokens": 1000}
            for name in run["validation"]
        },
        "train_loss": 3.0 if step else None,
        "tokens_per_second": 1e4 if step else None,
        "mfu": None,
        "peak_memory_bytes": 10**8,
        "device": "cpu",
        "seconds": tokens / 1e4,
    }
    with open(folder / "points.jsonl", "a") as rows:
        rows.write(json.dumps(point) + "\n")
        rows.flush()
        os.fsync(rows.fileno())


def end(folder: Path, status: str, step: int | None, code: int, message: str = "") -> int:
    done = {"status": status, "step": step, "message": message, "peak_memory_bytes": 10**8}
    temporary = folder / "done.part"
    temporary.write_text(json.dumps(done | {"seconds": 1.0}))
    temporary.rename(folder / "done.json")
    return code


def serve() -> int:
    """Execute one run after another, as the true worker does with --serve."""
    replies = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        request = json.loads(line)
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 2)
        os.close(log)
        print(f"process {os.getpid()}", file=sys.stderr, flush=True)
        code = main(Path(request["folder"]))
        print(code, file=replies, flush=True)
        if code not in (0, 1):
            return code
    return 0


if __name__ == "__main__":
    sys.exit(serve() if sys.argv[1] == "--serve" else main(Path(sys.argv[1])))
