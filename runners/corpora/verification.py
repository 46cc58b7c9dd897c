"""Verify corpora by their hashes; these are cached by size, times and inode of the files."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterable
from pathlib import Path

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.files import read_json, write

from .corpus import HASHED, Corpus, check_hash, file_hash

CACHE = ".verified.json"
# seconds: within so many a file may change again and keep its time of change
UNCERTAIN_MTIME_SECONDS = 2.0


def verify(corpora: Iterable[Corpus]) -> None:
    """Compare every file of corpora that decides losses with the hash that was written with it.

    A file is read once: its hash is cached in the folder of the corpus, for as long as its size,
    its modification times and its inode are unchanged. Where the cache cannot be written, files are
    read each time.

    Raises:
        LawdslError: for each file that has been altered (R0208).
    """
    problems: list[Diagnostic] = []
    for corpus in {corpus.folder.resolve(): corpus for corpus in corpora}.values():
        cache = corpus.folder / CACHE
        cached = _known(cache)
        hashes: dict[str, object] = {}
        for name in HASHED:
            path = corpus.folder / name
            try:
                mark, digest = _hash(path, cached.get(name))
                check_hash(path, digest, corpus.facts["sha256"][name])
                hashes[name] = [mark, digest]
            except LawdslError as error:
                problems += error.diagnostics
        if hashes != cached:
            with contextlib.suppress(OSError):
                write(cache, json.dumps(hashes) + "\n")
    if problems:
        raise LawdslError(problems)


def _hash(path: Path, entry: object) -> tuple[list[int] | None, str]:
    """The hash of a file and a mark of its state; None if it changed too recently to be cached.

    Args:
        entry: both of them as they were when it was last read, if it was.
    """
    mark = _mark(path)
    if mark is not None and isinstance(entry, list) and len(entry) == 2 and entry[0] == mark:
        return mark, str(entry[1])
    digest = file_hash(path)
    # a file that changed while it was read has a hash of neither state
    return (mark if mark == _mark(path) else None), digest


def _mark(path: Path) -> list[int] | None:
    try:
        about = path.stat()
    except OSError:
        return None
    if time.time() - max(about.st_mtime, about.st_ctime) < UNCERTAIN_MTIME_SECONDS:
        return None
    return [about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino]


def _known(cache: Path) -> dict[str, object]:
    """The cached hashes; empty where the cache cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        cached = read_json(cache)
        if isinstance(cached, dict):
            return cached
    return {}
