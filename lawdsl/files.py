"""What is written to disk or printed as JSON: files whole or not at all, data without infinities."""

from __future__ import annotations

import errno
import math
import os
import tempfile
from pathlib import Path
from typing import Any


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all, keeping its permissions and the links that lead to it.

    Raises:
        OSError: it cannot be written; a file that was there before is as it was.
    """
    # names of files may hold bytes that are no UTF-8, which JSON writes as \udc80
    write_bytes(path, text.encode("utf-8", errors="backslashreplace"))


def write_bytes(path: Path, content: bytes) -> None:
    """The same for what is no text.

    Raises:
        OSError: as `write` does.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "this is no regular file")
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def plain(value: Any) -> Any:
    """The same plain data with null for numbers that JSON lacks, and lists for tuples."""
    if isinstance(value, dict):
        return {str(key): plain(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
