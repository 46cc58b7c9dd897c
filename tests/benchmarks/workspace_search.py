"""How the language server searches a workspace of many files, beside reading and lexing each of them once.

    python tests/benchmarks/workspace_search.py [--files 125 500 2000] [--rounds 3]

The files of laws are in one folder, in which all may name each other, beside 20,000 files of other kinds;
most are built on one law, in chains or beside each other (`tests/large_workspace.py`). All times are CPU
times of the server, answers over the protocol included, each of a server that has answered nothing before.
`texts` is the time in which another process reads all files and lexes them once, the least of the rounds.
The last table is about twenty files of 45,000 tokens each, every one of which mentions the name 2,600
times. The exit code is 1 where an answer takes more times as long as `texts` than the goals allow, grows
faster than the number of files, or the server takes more than 300 MB.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from language_client import PlainClient
from language_server import MEMORY_LIMIT, memory
from large_workspace import write_workspace

from lawdsl.core.diagnostics import LawdslError
from lawdsl.language.library import read
from lawdsl.language.tokens import tokens_of

GOALS = {"references to N": 3.0, "references to alpha": 0.7, "rename E": 2.5, "definition": 0.1}
LONG_GOALS = {"references to N": 5.0, "rename N": 8.0}
GROWTH = 1.3  # of an answer from the second largest workspace to the largest, by that of the files
LONG_BASE = "law base\nvariable N > 0\nparameter E > 0\nL = E/N\n"


def cpu(process: int) -> float:
    """User and system time of a process so far, in s."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def lexed(folder: Path) -> float:
    """CPU time (s) of reading all files and lexing them once."""
    began = time.process_time()
    for path in folder.rglob("*.law"):
        try:
            tokens_of(read(path))
        except LawdslError:  # the file that is too large
            continue
    return time.process_time() - began


class Editor:
    """An editor that has a file open and asks about names in it."""

    def __init__(self, folder: Path, path: Path) -> None:
        self.client = PlainClient(folder)
        self.path, self.text = path, path.read_text(encoding="utf-8")
        self.client.open(path, self.text)
        self.client.published(path, 1)
        time.sleep(3.0)  # until claims are decided, by another process
        self.largest = memory(self.client.process.pid)

    def ask(self, method: str, name: str, **more: Any) -> Callable[[], Any]:
        """What asks about the first mention of a name."""
        offset = self.text.index(f" {name} ") + 1
        line = self.text.count("\n", 0, offset)
        place = {"line": line, "character": offset - (self.text.rfind("\n", 0, offset) + 1)}
        params = {"textDocument": {"uri": self.path.as_uri()}, "position": place, **more}
        return lambda: self.client.ask(f"textDocument/{method}", params)

    def timed(self, ask: Callable[[], Any]) -> float:
        """The CPU time (s) of the server for one request."""
        before = cpu(self.client.process.pid)
        ask()
        after = cpu(self.client.process.pid)
        self.largest = max(self.largest, memory(self.client.process.pid))
        return after - before

    def opened(self, path: Path) -> float:
        """The CPU time (s) until the first messages about a file."""
        before = cpu(self.client.process.pid)
        self.client.open(path, path.read_text(encoding="utf-8"))
        self.client.published(path, 1)
        return cpu(self.client.process.pid) - before


def measured(folder: Path, path: Path, rename: str) -> tuple[dict[str, float], float]:
    """Answer -> CPU time (s) of a server that has answered nothing before, and the largest memory (MB)."""
    requests: dict[str, tuple[str, str, dict[str, Any]]] = {
        f"rename {rename}": ("rename", rename, {"newName": "renamed"}),
        "definition": ("definition", "N", {}),
    }
    text = path.read_text(encoding="utf-8")
    for name in ("N", "alpha"):
        if f" {name} " in text:
            more = {"context": {"includeDeclaration": True}}
            requests[f"references to {name}"] = "references", name, more
    times = {}
    largest = 0.0
    for request, (method, name, more) in requests.items():
        editor = Editor(folder, path)
        times[request] = editor.timed(editor.ask(method, name, **more))
        question = path.parent / "together.law"
        if question.is_file():
            times["first messages of 55 laws"] = editor.opened(question)
        editor.client.end()
        largest = max(largest, editor.largest)
    return times, largest


def write_long(folder: Path) -> Path:
    """Twenty files of 45,000 tokens, and the law on which they are built."""
    for number in range(20):
        lines = (
            f'parameter p{k} > 0  "{number}"\nrequire L + p{k}*N > E - {number}\n'
            for k in range(2600)
        )
        text = f"law long{number}\nextends base\n{''.join(lines)}"
        (folder / f"long{number}.law").write_text(text, encoding="utf-8")
    (folder / "base.law").write_text(LONG_BASE, encoding="utf-8")
    return folder / "base.law"


def shown(title: str, times: dict[str, float], texts: float, goals: dict[str, float]) -> bool:
    """Print a table; whether a goal is missed."""
    print(f"{title}: texts {texts:.2f} s\n{'':28}{'s':>8}{'/ texts':>9}{'goal':>7}")
    missed = False
    for name, seconds in times.items():
        goal = goals.get(name)
        missed |= goal is not None and seconds > goal * texts + 0.02  # two ticks of its clock
        print(f"{name:28}{seconds:8.2f}{seconds / texts:9.2f}{goal or '':>7}")
    return missed


def main() -> int:
    """Print the tables; the exit code is 1 where a goal is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, nargs="+", default=[125, 500, 2000])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    missed = False
    largest = 0.0
    ends = []
    for files in sorted(options.files):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name).resolve()
            path = write_workspace(folder, files, team=files)
            (path.parent / "line.law").unlink()  # a pipeline, which passes N on by its name
            texts = min(lexed(folder) for _ in range(options.rounds))
            times, used = measured(folder, path, "E")
        missed |= shown(f"{files} files", times, texts, GOALS)
        largest = max(largest, used)
        ends.append((times, files))
    for (first, few), (last, many) in pairwise(ends[-2:]):
        for name in ("references to N", "rename E"):
            growth = last[name] / max(first[name], 0.01) / (many / few)
            missed |= growth > GROWTH
            print(f"{name} grows {growth:.2f} times as fast as the files (goal {GROWTH})")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        path = write_long(folder)
        texts = lexed(folder)
        times, used = measured(folder, path, "N")
    missed |= shown("twenty files of 45,000 tokens", times, texts, LONG_GOALS)
    largest = max(largest, used)
    print(f"memory at most {largest:.0f} MB (limit {MEMORY_LIMIT})")
    return int(missed or largest > MEMORY_LIMIT)


if __name__ == "__main__":
    raise SystemExit(main())
