"""Output files of commands: the error for a file that cannot be written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lawdsl.core import files
from lawdsl.core.diagnostics import Diagnostic, LawdslError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert an operating-system error in the block into a `LawdslError`.

    Args:
        path: the file that is written.

    Raises:
        LawdslError: it cannot be written (L0313).
    """
    try:
        yield
    except OSError as error:
        raise LawdslError(_unwritable(path, error)) from None


def _unwritable(path: Path, error: OSError) -> Diagnostic:
    """The message about a file that cannot be written."""
    folder = path.parent
    if path.is_dir():
        message = "this is a folder, and cannot be written as a file"
        help = f"add the name of a file in it: {path / 'NAME'}"
    elif not folder.exists():
        message = f"the folder `{folder}` does not exist"
        help = "make it first, or give the path of a file in a folder that exists"
    else:
        message = f"the file cannot be written: {error.strerror}"
        help = "give the path of a file in a folder that exists and may be written to"
    return Diagnostic("L0313", message, place=str(path), help=help)


def check_writable(path: Path) -> None:
    """Check before a long computation that its result can be written.

    Args:
        path: the path of the file.

    Raises:
        LawdslError: it cannot be written (L0313).
    """
    with writing(path):
        files.check_writable(path)
