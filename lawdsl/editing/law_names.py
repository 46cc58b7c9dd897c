"""The laws that a file may name: those beside it, and those that ship."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from lawdsl.core.files import real_path
from lawdsl.editing.names import File, Files
from lawdsl.editing.words import words_of
from lawdsl.language.file_names import header_name
from lawdsl.language.keywords import section_of_text
from lawdsl.language.library import read, shipped

SKIPPED = frozenset(("node_modules", "__pycache__", "site-packages"))


@dataclass(frozen=True)
class Reach:
    """Limits of a search for files.

    Attributes:
        files: the largest number of files.
        folders: the largest number of folders that are listed.
        depth: the largest depth of folders below the first one.
        subfolders: the largest number of subfolders of a folder; with more, all of them are skipped.
    """

    files: int
    folders: int
    depth: int
    subfolders: int


@dataclass(frozen=True)
class Below:
    """The `.law` files of a folder and its subfolders.

    Attributes:
        paths: their paths.
        left_out: why the search may be incomplete; empty if it is complete.
    """

    paths: tuple[Path, ...]
    left_out: str


NAMED = Reach(files=200, folders=1000, depth=3, subfolders=200)  # requests wait meanwhile


def law_names(file: File, kinds: Sequence[str], files: Files) -> Iterator[tuple[str, str]]:
    """Name and title of each law that a file may name, those beside it first.

    Args:
        file: the file.
        kinds: law, question or pipeline.
        files: how files find each other.
    """
    if not file.ships:
        for path in files_below(file.folder, NAMED).paths:
            other = files.read(path) if path != file.path else None
            name = ".".join(path.relative_to(file.folder).with_suffix("").parts)
            if other is not None and other.section in kinds and _may_be_named(other, name):
                yield name, _title(other.text)
    for kind in kinds:
        yield from _shipped(kind)


def _may_be_named(file: File, name: str) -> bool:
    """Whether the law in a file has the name by which others would find it."""
    return file.section != "law" or header_name(file.text) in ("", name)


def files_that_may_name(path: Path, folder: Path) -> Iterator[Path]:
    """The `.law` files that may name a file: a name is resolved from a folder downwards, so they are in
    the folder of the file or in a parent of it.

    Args:
        path: the file, with symbolic links resolved.
        folder: the outermost folder; if the file is not in it, only the folder of the file.

    Yields:
        Their paths, those of a folder by name; a symbolic link only to a file in the outermost folder.

    Raises:
        OSError: a folder cannot be listed.
    """
    root = real_path(folder)
    root = root if path.is_relative_to(root) else path.parent
    for current in path.parents:
        yield from _files_in(current, root)
        if current == root:
            return


def _files_in(folder: Path, root: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            laws = sorted((e.name, e.is_symlink()) for e in entries if e.name.endswith(".law"))
    except FileNotFoundError:  # the folder was removed
        return
    for name, linked in laws:
        path = folder / name
        if not linked or real_path(path).is_relative_to(root):
            yield path


def files_below(folder: Path, reach: Reach) -> Below:
    """The `.law` files of a folder and the folders in it, without hidden ones, by name.

    A symbolic link is followed only to a file in the folder, as where a law is named: edits must not
    reach others.

    Args:
        folder: the folder.
        reach: how far they are looked for.
    """
    paths_below: list[Path] = []
    left_out = ""
    root = real_path(folder)
    unlisted: list[OSError] = []
    for count, (top, folders, names) in enumerate(os.walk(folder, onerror=unlisted.append)):
        if count == reach.folders:
            left_out = f"there are more than {reach.folders:,} folders"
            break
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in SKIPPED)
        if folders and len(Path(top).relative_to(folder).parts) >= reach.depth:
            left_out = f"there are folders more than {reach.depth} deep"
            folders.clear()
        elif len(folders) > reach.subfolders:
            left_out = f"{Path(top).name} contains more than {reach.subfolders:,} folders"
            folders.clear()
        paths = [Path(top, name) for name in sorted(names) if name.endswith(".law")]
        paths_below += [p for p in paths if not p.is_symlink() or real_path(p).is_relative_to(root)]
        if len(paths_below) > reach.files:
            left_out = f"there are more than {reach.files:,} files"
            break
    if unlisted and not left_out:
        left_out = f"{Path(unlisted[0].filename).name} cannot be listed"
    return Below(tuple(paths_below[: reach.files]), left_out)


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
