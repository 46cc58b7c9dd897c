"""Verify corpora by their hashes, once on each machine.

Hashes are cached by size, times and inode of the files: in the folder of the corpus, or in a cache
of the user where that folder cannot be written.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.files import read_json, write
from lawdsl.core.user_cache import user_cache

from .corpus import HASHED, Corpus, check_hash, file_hash

CACHE = ".verified.json"
# seconds within which a file may change again without a new modification time
UNCERTAIN_MTIME_SECONDS = 2.0
MAX_CACHED_MACHINES = 256  # bounds the cache of a folder that many short-lived machines share

Marks = dict[str, object]  # name of a file -> its mark and its hash


def verify(corpora: Iterable[Corpus]) -> None:
    """Compare the hashes of all files of corpora that determine losses with the recorded ones.

    A machine reads a file once: its hash is cached for as long as its size, its modification times
    and its inode are unchanged. The cache is a file in the folder of the corpus; where the folder
    is read-only, a file in `$XDG_CACHE_HOME/lawdsl`, by default `~/.cache/lawdsl`; where that
    cannot be written either, files are read each time.

    Raises:
        LawdslError: for each file that has been altered (R0208).
    """
    problems: list[Diagnostic] = []
    for folder, corpus in {corpus.folder.resolve(): corpus for corpus in corpora}.items():
        caches = {path: _read(path) for path in _cache_paths(folder)}
        cached = _cached(caches.values())
        hashes: Marks = {}
        for name in HASHED:
            path = corpus.folder / name
            try:
                mark, digest = _hash(path, [marks.get(name) for marks in cached])
                check_hash(path, digest, corpus.facts["sha256"][name])
                hashes[name] = [mark, digest]
            except LawdslError as error:
                problems += error.diagnostics
        if hashes not in cached:
            _store(caches, hashes)
    if problems:
        raise LawdslError(problems)


def _hash(path: Path, entries: Iterable[object]) -> tuple[list[int] | None, str]:
    """The hash of a file and a mark of its state; the mark is None if the file changed too recently
    to be cached.

    Args:
        entries: mark and hash from an earlier reading, from each cache that has them.
    """
    mark = _mark(path)
    for entry in entries:
        if mark is not None and isinstance(entry, list) and len(entry) == 2 and entry[0] == mark:
            return mark, str(entry[1])
    digest = file_hash(path)
    # the hash of a file that changed while it was read belongs to neither state
    return (mark if mark == _mark(path) else None), digest


def _mark(path: Path) -> list[int] | None:
    try:
        about = path.stat()
    except OSError:
        return None
    if time.time() - max(about.st_mtime, about.st_ctime) < UNCERTAIN_MTIME_SECONDS:
        return None
    return [about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino]


def _cache_paths(folder: Path) -> Iterator[Path]:
    """The files that may store the hashes of a corpus, in the order in which they are tried."""
    yield folder / CACHE
    cache = user_cache("verified")
    if cache is not None:
        name = hashlib.blake2b(os.fsencode(folder), digest_size=16).hexdigest()
        yield cache / f"{name}.json"


def _read(cache: Path) -> dict[str, object]:
    """Machine -> its hashes; empty where the cache cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        cached = read_json(cache)
        if isinstance(cached, dict):
            return cached
    return {}


def _cached(caches: Iterable[Mapping[str, object]]) -> list[Marks]:
    """The hashes that this machine has cached, for each cache that has some."""
    of_machine = (cache.get(socket.gethostname()) for cache in caches)
    return [hashes for hashes in of_machine if isinstance(hashes, dict)]


def _store(caches: Mapping[Path, dict[str, object]], hashes: Marks) -> None:
    """Write the hashes of this machine to the first cache that can be written."""
    machine = socket.gethostname()
    for path, cached in caches.items():
        others = [(n, of) for n, of in cached.items() if n != machine and isinstance(of, dict)]
        newest = dict(others[1 - MAX_CACHED_MACHINES :])
        with contextlib.suppress(OSError):
            if path.name != CACHE:
                path.parent.mkdir(parents=True, exist_ok=True)
            write(path, json.dumps({**newest, machine: hashes}) + "\n")
            return
