"""Files written completely or not at all, and JSON read within bounds.

A file is written beside its target and then renamed to it, which replaces it atomically on POSIX
systems. JSON is that of RFC 8259 (Bray (2017), https://www.rfc-editor.org/rfc/rfc8259).
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import fcntl
import glob
import itertools
import json
import math
import os
import tempfile
from pathlib import Path
from typing import IO, Any

# bytes of a JSON file; its parsed form takes about ten times as much memory
MAX_JSON_BYTES = 64 * 2**20
PARTIAL_SUFFIX = ".lawdsl-part"  # suffix of files that are still being written


def similar_file(path: Path) -> Path | None:
    """A file beside a path that does not exist, whose name is nearly the same; None without one.

    Args:
        path: the path.
    """
    try:
        names = [entry.name for entry in itertools.islice(os.scandir(path.parent), 1000)]
    except (OSError, ValueError):
        return None
    same = [name for name in names if Path(name).suffix == path.suffix or not path.suffix]
    alike = difflib.get_close_matches(path.name, same, n=1, cutoff=0.75)
    return path.parent / alike[0] if alike else None


def read_json(path: Path, *, limit: int = MAX_JSON_BYTES, finite: bool = False) -> Any:
    """Read a JSON file of any origin.

    Args:
        path: the file.
        limit: the largest permitted size (bytes).
        finite: refuse NaN and Infinity, which Python accepts although JSON has no such numbers.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is too large, is not UTF-8, is not JSON, or is nested too deeply; the
            message begins with the file's name and is one line.
    """
    with path.open("rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"{path.name} is larger than the limit of {limit:,} bytes")
    return parse_json(content, path.name, finite=finite)


class PageEncoder(json.JSONEncoder):
    """Encodes JSON for a script of an HTML page, such that no text in it can end the script."""

    def encode(self, o: Any) -> str:
        return super().encode(o).replace("<", "\\u003c")


def json_in_page(content: Any, **options: Any) -> str:
    """Plain data as JSON that is safe inside a script of an HTML page.

    Args:
        content: plain data.
        options: further options of `json.dumps`.

    Raises:
        TypeError: content that JSON cannot represent.
    """
    return json.dumps(content, cls=PageEncoder, **options)


def parse_json(content: str | bytes, name: str, *, finite: bool = False) -> Any:
    """Parse JSON of any origin.

    Args:
        content: the JSON document.
        name: its name in error messages, such as `config.json`.
        finite: refuse NaN and Infinity.

    Raises:
        ValueError: the content is not UTF-8, is not JSON, or is nested too deeply.
    """
    try:
        text = content.decode("utf-8") if isinstance(content, bytes) else content
        return json.loads(text, parse_constant=_not_finite if finite else None)
    except json.JSONDecodeError as error:
        why = f"is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})"
    except UnicodeDecodeError as error:
        why = f"is not UTF-8 text: byte {error.start:,} cannot be decoded"
    except ValueError as error:  # a number with too many digits, or one that is not finite
        why = f"is not valid JSON: {str(error).partition(';')[0]}"
    except RecursionError:
        why = "is nested too deeply"
    except MemoryError:
        why = "takes more memory than there is"
    raise ValueError(f"{name} {why}")


def _not_finite(constant: str) -> float:
    raise ValueError(f"{constant} is not a JSON number")


def write(path: Path, text: str) -> None:
    """Write a text file completely or not at all, preserving its permissions and symbolic links to
    it.

    Args:
        path: the file.
        text: its new content.

    Raises:
        OSError: the file cannot be written; an existing file is unchanged.
    """
    # file names may contain bytes that are not UTF-8, which JSON writes as \udc80
    write_bytes(path, text.encode("utf-8", errors="backslashreplace"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a binary file completely or not at all, preserving its permissions and symbolic links
    to it.

    Args:
        path: the file.
        content: its new content.

    Raises:
        OSError: the file cannot be written; an existing file is unchanged.
    """
    # a symbolic link is resolved, so that replacing the file does not replace the link
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "this is not a regular file")
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    _remove_leftovers(path)
    file, temporary = _temporary(path)
    with file:  # with its lock, until it is renamed
        try:
            file.write(content)
            file.flush()
            # before the rename: after a crash the new name must not lead to an empty file
            os.fsync(file.fileno())
            os.chmod(temporary, mode)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def check_writable(path: Path) -> None:
    """Check before a long computation that a file can be written; nothing is left or changed.

    Args:
        path: the file.

    Raises:
        OSError: it cannot be written.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "this is not a regular file")
    file, temporary = _temporary(path)
    with file:
        temporary.unlink()


def _temporary(path: Path) -> tuple[IO[bytes], Path]:
    """A new locked file in the folder of another file; unlocked ones were left behind by ended
    processes.
    """
    while True:
        handle, name = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name}.", suffix=PARTIAL_SUFFIX
        )
        try:
            file = os.fdopen(handle, "wb")
        except BaseException:
            os.close(handle)
            os.unlink(name)
            raise
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return file, Path(name)
        file.close()  # another writer removed it as a leftover before it was locked


def _remove_leftovers(path: Path) -> None:
    """Remove partial files of killed writers of this file; active writers lock theirs."""
    for partial in path.parent.glob(f".{glob.escape(path.name)}.*{PARTIAL_SUFFIX}"):
        with contextlib.suppress(OSError), partial.open("rb") as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            partial.unlink()


def plain(value: Any) -> Any:
    """Plain data for JSON: None for numbers that are not finite, and lists for tuples."""
    if isinstance(value, dict):
        return {str(key): plain(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def real_path(path: Path) -> Path:
    """A path without symbolic links; those that lead in a circle are left, where `resolve` would fail.

    Args:
        path: the path, of which nothing need exist.
    """
    return Path(os.path.realpath(path))
