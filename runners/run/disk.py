"""Paths -> their state on disk: synced, removed, and the free space there."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path


def sync(path: Path) -> None:
    """Wait until a file, or the list of names in a folder, is on the disk (fsync).

    Raises:
        OSError: it does not exist, or the disk fails.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def discard(path: Path) -> None:
    """Remove a file, a link or a folder with its content; errors are ignored."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def replace_folder(new: Path, target: Path) -> None:
    """Rename a folder to a target, replacing a folder: at every moment one of them is complete.

    Args:
        new: the complete folder, on the same file system.
        target: its later path.

    Raises:
        OSError: it cannot be renamed, or the target is a file; the target is then unchanged.
    """
    if target.is_dir():  # the rename below fails on a file, which is never replaced
        # a rename does not replace a folder that has content
        discard(_replaced(target))
        os.rename(target, _replaced(target))
    try:
        os.rename(new, target)
        sync(target.parent)
    finally:
        restore_folder(target)


def restore_folder(target: Path) -> None:
    """Undo a replacement of a folder that was interrupted, or complete it.

    Raises:
        OSError: the folder cannot be renamed.
    """
    old = _replaced(target)
    if old.exists() and not target.exists():
        os.rename(old, target)
    discard(old)


def _replaced(target: Path) -> Path:
    return target.with_name(f".{target.name}.replaced")


def free_bytes(folder: Path) -> int:
    """The free space where a folder is or would be created, in bytes.

    Raises:
        OSError: the file system does not report it.
    """
    existing = next(path for path in (folder, *folder.parents) if path.is_dir())
    return shutil.disk_usage(existing).free


def room_text(folder: Path, needed: int) -> str:
    """Describe the required and the free space.

    Args:
        folder: a folder, which need not exist yet.
        needed: the required bytes.

    Returns:
        A note.
    """
    note = f"it needs about {needed:,} bytes"
    with contextlib.suppress(OSError, StopIteration):
        note += f"; {free_bytes(folder):,} are free"
    return note


def bytes_text(number: int) -> str:
    """A number of bytes to three digits: `1.23 MB`."""
    size, unit = float(number), "bytes"
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if size < 999.5 or unit == "TB":
            break
        size /= 1000
    return f"{size:.3g} {unit}"
