"""How fast `lawdsl lsp` answers while a law of 200 lines is typed, and how much memory it takes.

    python tests/benchmarks/language_server.py              one minute of typing
    python tests/benchmarks/language_server.py --minutes 60

A simulated editor changes one character at a time, asks for hover and completion after edits, and
rests now and then so that claims are decided; then it hovers over names. Times are wall-clock times over the protocol, from the
edit or the request to the arrival of the answer.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from language_client import PlainClient  # noqa: E402

from lawdsl.server.reading_features import COMPUTING  # noqa: E402

TYPING = 0.08  # s between characters
REST = 2.0  # s without an edit, once claims are decided
HOVERS = 3  # after each rest
LIMITS = {"messages": 50, "completion": 50, "hover": 30, "first verdict": 1000}  # ms, of 95 %
MEMORY_LIMIT = 300  # MB, of all processes


def large_law() -> str:
    """A law of 200 lines: 40 parameters, 60 claims, comments."""
    lines = ['law large "Forty terms"', "", 'variable N > 0 unit param "model size"']
    terms = range(40)
    lines.append("parameter E > 0  # the limit")
    lines += [f'parameter a{k} > 0  "the price of part {k}"' for k in terms]
    lines.append("parameter k > 0")
    lines.append("")
    lines += [f"let part{k} = a{k}/N^k" for k in terms]
    lines.append("")
    lines.append("L = E + " + " + ".join(f"part{k}" for k in terms))
    lines.append("")
    lines += [f"require L > part{k}" for k in terms]
    lines += ["require ∂L/∂N < 0", "require L convex in N", "require L -> E as N -> oo"]
    while len(lines) < 200:
        lines.append(f"# comment {len(lines)}")
    return "\n".join(lines) + "\n"


def memory(process: int) -> float:
    """The resident memory (MB) of a process and of those that it has started."""
    total = 0
    waiting = [process]
    while waiting:
        number = waiting.pop()
        try:
            statm = Path(f"/proc/{number}/statm").read_text(encoding="ascii")
            tasks = Path(f"/proc/{number}/task")
            for task in tasks.iterdir():
                waiting += map(int, (task / "children").read_text(encoding="ascii").split())
        except OSError:
            continue
        total += int(statm.split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return total / 1e6


class Typist:
    """Types in a document, and keeps the times of all answers (ms)."""

    def __init__(self, client: PlainClient, path: Path, text: str, seed: int) -> None:
        self.client, self.path, self.random = client, path, random.Random(seed)
        self.lines = text.split("\n")
        self.version = 1
        self.unfinished = 0  # hovers that lacked a derivative
        self.times: dict[str, list[float]] = defaultdict(list)
        began = client.open(path, text)
        self.record("messages when opened", began, client.published(path, 1)[0])
        self.provides = client.begin["capabilities"]

    def record(self, kind: str, began: float, ended: float) -> None:
        self.times[kind].append((ended - began) * 1e3)

    def edit(self, line: int, start: int, end: int, new: str) -> float:
        """Replace a part of a line; the time at which it was sent."""
        old = self.lines[line]
        self.lines[line] = old[:start] + new + old[end:]
        self.version += 1
        where = {
            "start": {"line": line, "character": start},
            "end": {"line": line, "character": end},
        }
        return self.client.change(self.path, self.version, {"range": where, "text": new})

    def request(self, kind: str, line: int, column: int) -> None:
        """Ask for hover or completion at a place."""
        if f"{kind}Provider" not in self.provides:
            return
        place = {"line": line, "character": column}
        began = time.perf_counter()
        params = {"textDocument": {"uri": self.path.as_uri()}, "position": place}
        answer = self.client.request(f"textDocument/{kind}", params)
        ended = time.perf_counter()
        self.record(kind, began, ended)
        if kind == "hover":
            self.unfinished += answer is not None and COMPUTING in answer["contents"]["value"]

    def rest(self) -> None:
        """Read for a while, and hover over names."""
        time.sleep(REST)
        for _ in range(HOVERS):
            line = self.random.randrange(len(self.lines) - 1)
            name = re.search(r"\b(?:N|E|k|a\d+|part\d+)\b", self.lines[line])
            self.request("hover", line, name.start() if name is not None else 0)

    def type_line(self) -> None:
        """Delete the end of a line, and type it again."""
        line = self.random.randrange(len(self.lines) - 1)
        whole = self.lines[line]
        first = self.random.randrange(len(whole) + 1)
        first = max(first, len(whole) - 15)
        self.edit(line, first, len(whole), "")
        for column in range(first, len(whole)):
            began = self.edit(line, column, column, whole[column])
            chosen = self.random.random()
            if chosen < 0.3:
                self.request("completion", line, column + 1)
            elif chosen < 0.4:
                self.request("hover", line, max(column - 1, 0))
            at, _ = self.client.published(self.path, self.version)
            self.record("messages", began, at)
            time.sleep(max(0.0, TYPING - (time.perf_counter() - began)))
        self.client.forget()

    def decide(self) -> None:
        """Change the formula, and wait for the first verdict."""
        line = next(n for n, text in enumerate(self.lines) if text.startswith("L = "))
        old = self.lines[line]
        self.client.forget()
        began = self.edit(line, 4, 5, f"{self.random.randrange(2, 10**6)}*E")
        at, _ = self.client.wait(lambda m: m.get("method") == "workspace/inlayHint/refresh")
        self.record("first verdict", began, at)
        self.request("hover", line, 1)
        self.rest()
        self.edit(line, 4, len(self.lines[line]) - len(old) + 5, "E")


def main() -> int:
    """Type for some minutes and print the times; 1 if one is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        client = PlainClient(Path(folder))
        time.sleep(3.0)  # an editor is open for a while before somebody types
        typist = Typist(client, Path(folder) / "large.law", large_law(), options.seed)
        before = memory(client.process.pid)
        until = time.monotonic() + 60 * options.minutes
        largest = before
        while time.monotonic() < until:
            for _ in range(3):
                typist.type_line()
            typist.decide()
            largest = max(largest, memory(client.process.pid))
        code = client.end()
    print(f"{typist.version} edits of a law of {len(typist.lines) - 1} lines")
    print(f"{'':22}{'number':>8}{'p50':>8}{'p95':>8}{'limit':>8}  ms")
    missed = code != 0
    for kind, times in typist.times.items():
        times.sort()
        p50, p95 = times[len(times) // 2], times[min(len(times) - 1, int(0.95 * len(times)))]
        limit = LIMITS.get(kind)
        missed |= limit is not None and p95 > limit
        print(f"{kind:22}{len(times):8}{p50:8.1f}{p95:8.1f}{limit or '':>8}")
    print(f"{typist.unfinished} hovers while the law was typed lack a derivative")
    print(
        f"memory {before:.0f} MB at the beginning, at most {largest:.0f} MB (limit {MEMORY_LIMIT})"
    )
    return int(missed or largest > MEMORY_LIMIT)


if __name__ == "__main__":
    raise SystemExit(main())
