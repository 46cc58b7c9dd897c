"""Smaller inputs with the same finding."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from targets import Case
from working import Finding, run_batch

SECONDS = 60.0  # for one finding


def minimised(case: Case, finding: Finding, run: Callable[[Case, Path], str], folder: Path) -> Case:
    """An input from which no line and no word can be left out, or what there is in the time."""
    until = time.monotonic() + SECONDS

    def same(content: bytes) -> bool:
        if time.monotonic() > until:
            return False
        smaller = replace(case, content=content)
        found = run_batch([0], lambda _: smaller, run, folder).findings
        return 0 in found and (found[0].kind, found[0].where) == (finding.kind, finding.where)

    content = case.content
    for pattern in (rb"[^\n]*\n?", rb"\w+|\s+|[^\w\s]"):
        content = _fewer(re.findall(pattern, content), same)
    return replace(case, content=content)


def _fewer(pieces: list[bytes], same: Callable[[bytes], bool]) -> bytes:
    """Leave pieces out, halves of them first."""
    size = max(1, len(pieces) // 2)
    while True:
        at, left_out = 0, False
        while at < len(pieces):
            rest = pieces[:at] + pieces[at + size :]
            if rest and same(b"".join(rest)):
                pieces, left_out = rest, True
            else:
                at += size
        if size == 1 and not left_out:
            return b"".join(pieces)
        size = max(1, size // 2) if size > 1 else 1
