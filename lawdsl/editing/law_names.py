"""The laws that a file may name: those beside it, and those that ship."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from lawdsl.core.files import real_path
from lawdsl.editing.names import File, Files
from lawdsl.editing.words import words_of
from lawdsl.language.keywords import section_of_text
from lawdsl.language.library import read, shipped

MAX_FILES = 200  # of a folder
MAX_DEPTH = 3  # folders inside each other
MAX_FOLDERS = 1000  # that are looked into: requests wait meanwhile
SKIPPED = frozenset(("node_modules", "__pycache__", "site-packages"))


def law_names(file: File, kinds: Sequence[str], files: Files) -> Iterator[tuple[str, str]]:
    """Name and title of each law that a file may name, those beside it first.

    Args:
        file: the file.
        kinds: law, question or pipeline.
        files: how files find each other.
    """
    if not file.ships:
        for path in files_below(file.folder, MAX_FILES):
            other = files.read(path) if path != file.path else None
            if other is not None and other.section in kinds:
                yield (
                    ".".join(path.relative_to(file.folder).with_suffix("").parts),
                    _title(other.text),
                )
    for kind in kinds:
        yield from _shipped(kind)


def files_below(folder: Path, most: int) -> list[Path]:
    """The `.law` files of a folder and the folders in it, without hidden ones, by name.

    A symbolic link is followed only to a file in the folder, as where a law is named: edits must not
    reach others.

    Args:
        folder: the folder.
        most: how many are looked for.
    """
    paths_below: list[Path] = []
    root = real_path(folder)
    for count, (top, folders, names) in enumerate(os.walk(folder)):
        depth = len(Path(top).relative_to(folder).parts)
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in SKIPPED)
        if depth >= MAX_DEPTH or len(folders) > MAX_FILES:
            folders.clear()
        paths = [Path(top, name) for name in sorted(names) if name.endswith(".law")]
        paths_below += [p for p in paths if not p.is_symlink() or real_path(p).is_relative_to(root)]
        if len(paths_below) >= most or count + 1 >= MAX_FOLDERS:
            break
    return paths_below[:most]


@lru_cache(maxsize=4)
def _shipped(kind: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, _title(read(path).text)) for name, path in shipped(kind).items())


def _title(text: str) -> str:
    """The title in the first lines of a file."""
    head = "\n".join(text.splitlines()[:20])
    for line in words_of(head).lines:
        if line.keyword == section_of_text(text):
            return next((w.name for w in line.words if w.role == "string"), "")
    return ""
