"""Processes that die, fail or grow while they make corpora, and what is found after them.

A program of its own, for it forks: `python making_corpora.py WHAT FOLDER NUMBER...` prints JSON. FOLDER has
text.jsonl and tokenizer.json.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WATCHED = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.scandir", "os.listdir"}
NAMES = ("train", "validation")


def ask(what: str, folder: Path, *numbers: int) -> dict[str, Any]:
    """Run this file; for a test."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TOKENIZERS_PARALLELISM": "false"}
    command = [sys.executable, __file__, what, str(folder), *map(str, numbers)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def make(text: Path, home: Path, force: bool, last: int | None = None) -> list[str]:
    """Two corpora, the second for validation; their fingerprints."""
    from lawdsl.runners.corpora.build import CorpusPart, write_corpora

    parts = {
        home / "train": CorpusPart("train", Fraction(4, 5), max_tokens=last),
        home / "validation": CorpusPart("validation", Fraction(1, 5), first=True),
    }
    tokenizer = text.parent / "tokenizer.json"
    return [c.fingerprint for c in write_corpora([text], parts, tokenizer, force=force)]


def found(home: Path) -> list[str | None]:
    """The fingerprints of the corpora that open, None where none does."""
    from lawdsl.core.diagnostics import LawdslError
    from lawdsl.runners.corpora.corpus import open_corpus

    fingerprints: list[str | None] = []
    for name in NAMES:
        try:
            fingerprints.append(open_corpus(home / name, verify=True).fingerprint)
        except LawdslError as error:
            missing = error.diagnostics[0].code == "R0207" and not (home / name).exists()
            fingerprints.append(None if missing else str(error))
    return fingerprints


class Watch:
    """Counts operations on files from now on, and calls `end` before the one that is the last.

    Nothing is synced: that matters where the power fails, and takes most of the time.
    """

    def __init__(self) -> None:
        self.left = -1
        self.only_writing = False
        self.end: Callable[[], None] = lambda: None
        os.fsync = lambda handle: self.count(writes=True)
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            flags = arguments[2] or 0
            self.count(writes=bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)))
        elif event in WATCHED:
            self.count(writes=event in ("os.mkdir", "os.rename"))

    def count(self, writes: bool) -> None:
        if writes or not self.only_writing:
            self.left -= 1
            if self.left == 0:
                self.end()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def dies(watch: Watch, last: int, action: Callable[[], object]) -> bool:
    """Whether a process of its own is killed at that operation."""
    process = os.fork()
    if process == 0:
        watch.left, watch.end = last, die
        try:
            action()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(process, 0)[1])


def fails(watch: Watch, last: int, action: Callable[[], object]) -> str | None:
    """What is said when the disk is full at that operation; None if there is none."""
    from lawdsl.core.diagnostics import LawdslError

    watch.left, watch.end, watch.only_writing = last, full, True
    try:
        action()
    except LawdslError as error:
        return error.diagnostics[0].code
    finally:
        unused, watch.left, watch.only_writing = watch.left > 0, -1, False
    return None if unused else "done"


def operations(folder: Path, step: int) -> dict[str, Any]:
    """At the first operation on a file, and at every `step`th after it, the process is killed; at
    the first that writes, and so on, the disk is full. While corpora are made, and replaced."""
    text = folder / "text.jsonl"
    new = make(text, folder / "new", force=False)
    old = make(text, folder / "old", force=False, last=300)
    watch = Watch()
    wrong: list[str] = []
    counts = {"killed": 0, "full": 0}
    for before in (None, old):
        was = before or [None, None]
        for last in itertools.count(1, step):
            home = begun(folder, before is not None)
            killed = dies(watch, last, lambda h=home: make(text, h, force=True))
            states = zip(found(home), new, was, strict=True)
            wrong += [f"killed at {last}: {f}" for f, *good in states if f not in (None, *good)]
            if make(text, home, force=True) != new or sorted(os.listdir(home)) != sorted(NAMES):
                wrong.append(f"killed at {last}: {os.listdir(home)} after the next time")
            if not killed:
                break
            counts["killed"] += 1
        for last in itertools.count(1, step):
            home = begun(folder, before is not None)
            code = fails(watch, last, lambda h=home: make(text, h, force=True))
            now, left = found(home), os.listdir(home)
            # one or both may be in their places already: each is whole by itself
            if now not in (was, [new[0], was[1]], new) or (code in ("done", None) and now != new):
                wrong.append(f"full at {last}: {code}, {now}")
            if not set(left) <= set(NAMES) or code not in ("R0209", "done", None):
                wrong.append(f"full at {last}: {code}, {left}")
            if code is None:
                break
            counts["full"] += 1
    return {"wrong": wrong, "counts": counts}


def begun(folder: Path, replacing: bool) -> Path:
    """An empty folder, or one with corpora in it."""
    home = folder / "home"
    shutil.rmtree(home, ignore_errors=True)
    if replacing:
        shutil.copytree(folder / "old", home)
    else:
        home.mkdir()
    return home


def peak(action: Callable[[], object]) -> int:
    """The most memory, in bytes, that a process of its own has held while it did something."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            action()
            code = 0
        finally:
            os._exit(code)
    _, status, usage = os.wait4(process, 0)
    assert status == 0
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def memory(folder: Path) -> dict[str, Any]:
    """The memory it takes to make corpora of some text, and of eight times as much."""
    lines = (folder / "text.jsonl").read_text(encoding="utf-8").splitlines()
    sizes = {}
    for times in (1, 8):
        path = folder / f"{times}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for copy, line in itertools.product(range(times), lines):
                text = json.loads(line)["text"].replace(" ", f" {copy}")  # another one
                file.write(json.dumps({"text": text}) + "\n")
        home = folder / f"made-{times}"
        sizes[path.stat().st_size] = peak(lambda p=path, h=home: make(p, h, force=False))
    (small, less), (large, more) = sizes.items()
    return {"text": large - small, "memory": more - less}


if __name__ == "__main__":
    import lawdsl.runners.corpora.build  # noqa: F401  which each child has then

    programs: dict[str, Callable[..., dict[str, Any]]] = {
        "operations": operations,
        "memory": memory,
    }
    print(json.dumps(programs[sys.argv[1]](Path(sys.argv[2]), *map(int, sys.argv[3:]))))
