"""Folders that are created atomically: written beside their targets, then renamed."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from ..run.disk import discard, replace_folder, restore_folder, sync
from .corpus import is_corpus

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def new_folders(folders: Iterable[Path], force: bool = False) -> Iterator[dict[Path, Path]]:
    """Create folders atomically: each is written beside its target, synced, and renamed at the end.

    Until then the targets are unchanged. Partial folders left by processes that died are removed.

    Args:
        folders: the targets.
        force: replace corpora that exist; nothing else is ever replaced.

    Returns:
        A context manager of target -> the empty folder to write in.

    Raises:
        LawdslError: a folder that exists (R0205), a disk that is full or a place that cannot be
            written (R0209, R0211), another process that makes it (R0212).
    """
    targets = {folder: folder.resolve() for folder in folders}
    partial_folders = {folder: _sibling(target, "partial") for folder, target in targets.items()}
    with ExitStack() as exit_stack, writing(partial_folders.values()):
        for target in targets.values():
            _check(target, force)
        for folder, partial in partial_folders.items():
            exit_stack.enter_context(_locked(partial, targets[folder]))
            _check(targets[folder], force)  # another process may have made it meanwhile
        yield partial_folders
        for partial in partial_folders.values():
            for path in (*partial.iterdir(), partial):
                sync(path)
        for folder, partial in partial_folders.items():
            replace_folder(partial, targets[folder])


@contextmanager
def writing(partial: Iterable[Path], done: Callable[[], float] = lambda: 0.0) -> Iterator[None]:
    """Turn errors of writing into a message with the number of bytes that are needed.

    Args:
        partial: the folders that are written.
        done: returns the fraction of the work that is done, 0 to 1.

    Returns:
        A context manager.

    Raises:
        LawdslError: the disk is full (R0209), or the place cannot be written (R0211).
    """
    try:
        yield
    except OSError as error:
        folders = [folder for folder in partial if folder.is_dir()]
        location = str(folders[0].parent) if folders else str(error.filename or "")
        if error.errno in FULL:
            raise _full(error, folders, done(), location) from None
        message = f"the folder cannot be written: {error.strerror or error}"
        help = "choose another place with -o"
        raise LawdslError(Diagnostic("R0211", message, place=location, help=help)) from None


def _check(target: Path, force: bool) -> None:
    """Raise an error where a folder may not be created or replaced."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not force:
        message, help = "the folder exists", "choose another one, or replace it with --force"
    elif not is_corpus(target):
        message, help = (
            "what is there is not a corpus, and is not replaced",
            "choose another folder",
        )
    else:
        return
    raise LawdslError(Diagnostic("R0205", message, place=str(target), help=help))


def _sibling(target: Path, what: str) -> Path:
    """The path of a hidden folder beside a target."""
    return target.parent / f".{target.name}.{what}"


@contextmanager
def _locked(partial: Path, target: Path) -> Iterator[None]:
    """Lock an empty partial folder while the block runs; it is removed if the block fails."""
    partial.mkdir(parents=True, exist_ok=True)
    handle = os.open(partial, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # a file system without locks
            _lock(handle, partial)
        # the lock is on the opened folder, whichever folder has its name now
        if not partial.exists() or not os.path.samestat(partial.stat(), os.fstat(handle)):
            raise _made_by_another(
                target
            )  # it was renamed to its target before this process had the lock
        try:
            restore_folder(target)
            for path in partial.iterdir():
                discard(path)
            yield
        except BaseException:
            discard(partial)
            raise
    finally:
        os.close(handle)


def _lock(handle: int, partial: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _made_by_another(partial) from None


def _full(error: OSError, folders: list[Path], done: float, location: str) -> LawdslError:
    written = sum(path.stat().st_size for folder in folders for path in folder.iterdir())
    notes = []
    with suppress(OSError):
        free = (
            shutil.disk_usage(location).free + written
        )  # after the partial folders have been removed
        notes.append(f"{free:,} bytes are free")
    if done > 0:
        notes.append(f"about {int(written / done):,} bytes are needed")
    message = "the disk is full" if error.errno == errno.ENOSPC else f"{error.strerror}"
    help = "make room, or write elsewhere with -o"
    return LawdslError(Diagnostic("R0209", message, place=location, notes=tuple(notes), help=help))


def _made_by_another(path: Path) -> LawdslError:
    message, help = "another process is making this corpus", "wait for it, or end it"
    return LawdslError(Diagnostic("R0212", message, place=str(path), help=help))
