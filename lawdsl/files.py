"""Files whole or not at all, and JSON that cannot surprise: the one reader and what may be written."""

from __future__ import annotations

import errno
import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any

LARGEST_JSON = 64 * 2**20  # bytes of a JSON file; parsed it takes some ten times as much


def read_json(path: Path, *, limit: int = LARGEST_JSON, finite: bool = False) -> Any:
    """The content of a JSON file from anywhere.

    Args:
        path: the file.
        limit: how many bytes are read at most.
        finite: refuse NaN and Infinity, which are not JSON but Python reads them.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is too large, is not UTF-8, is not JSON, or is nested too deeply; the text
            begins with the file's name and is one line.
    """
    with path.open("rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"{path.name} is larger than the limit of {limit:,} bytes")
    return parse_json(content, path.name, finite=finite)


def parse_json(content: str | bytes, name: str, *, finite: bool = False) -> Any:
    """Parse JSON from anywhere; `name` says in the error what it is, as `config.json`.

    Raises:
        ValueError: it is not UTF-8, is not JSON, or is nested too deeply.
    """
    try:
        text = content.decode("utf-8") if isinstance(content, bytes) else content
        return json.loads(text, parse_constant=_not_finite if finite else None)
    except json.JSONDecodeError as error:
        why = f"is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})"
    except UnicodeDecodeError as error:
        why = f"is not UTF-8 text: byte {error.start:,} cannot be decoded"
    except ValueError as error:  # a number of too many digits, or one that is not finite
        why = f"is not valid JSON: {str(error).partition(';')[0]}"
    except RecursionError:
        why = "is nested too deeply"
    except MemoryError:
        why = "takes more memory than there is"
    raise ValueError(f"{name} {why}")


def _not_finite(constant: str) -> float:
    raise ValueError(f"{constant} is not a JSON number")


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
