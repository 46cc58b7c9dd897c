"""The rows of a run: one line of JSON for each evaluation, on the disk before the run continues.

A number that is not finite is stored as the string "nan", "inf" or "-inf", so that the rows of a
diverged run are preserved and every line is valid JSON; `read` returns the number. null stands for
an unknown value.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.files import write_bytes

from ..spec import canonical_json
from .disk import room_text, sync

POINTS = "points.jsonl"
WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class MetricsLog:
    """The open file of a run's rows, written only by the process that has locked the run.

    Attributes:
        size: bytes of all rows so far, stored in checkpoints as the argument of `cut`.
        lines: the number of rows so far.
    """

    def __init__(self, path: Path, file: BinaryIO, size: int, lines: int) -> None:
        self.path = path
        self.size = size
        self.lines = lines
        self._file = file

    def append(self, record: dict[str, Any]) -> None:
        """Append a row; when this returns it is on the disk.

        Raises:
            LawdslError: R0407, it cannot be written; the earlier rows are unchanged.
            ValueError, TypeError: the record is not plain data.
        """
        line = canonical_json(_encode_numbers(record)).encode() + b"\n"
        try:
            remaining = memoryview(line)
            while remaining:
                # an unbuffered write may write only a part, as on a disk that is nearly full
                remaining = remaining[self._file.write(remaining) :]
            os.fsync(self._file.fileno())
            self.size += len(line)
            self.lines += 1
        # for any exception, including KeyboardInterrupt: no incomplete row may precede the next one
        except BaseException as error:
            with contextlib.suppress(OSError):
                self._file.truncate(self.size)
            if isinstance(error, OSError):
                raise LawdslError(_unwritten(self.path, len(line), error)) from None
            raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> MetricsLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_points(path: Path) -> MetricsLog:
    """Open the rows of a run to append to them; an incomplete last line is removed.

    Raises:
        LawdslError: R0407, the file cannot be opened to be written.
    """
    try:
        new = not path.exists()
        content = b"" if new else path.read_bytes()
        file = open(path, "ab", buffering=0)
        if new:
            # the name of a new file is on disk only after its folder is synced
            sync(path.parent)
        # a line without its end was being written when the process died
        size = content.rfind(b"\n") + 1
        if size < len(content):
            file.truncate(size)
            os.fsync(file.fileno())
    except OSError as error:
        raise LawdslError(_unwritten(path, 0, error)) from None
    return MetricsLog(path, file, size, content.count(b"\n"))


def head(path: Path, size: int) -> tuple[bytes, list[dict[str, Any]]]:
    """Read the first rows of a run, up to a checkpoint.

    Args:
        path: the path of the file.
        size: the bytes of these rows.

    Returns:
        The bytes, and the rows in them.

    Raises:
        LawdslError: R0405, rows are missing or damaged; R0406, the file cannot be read.
    """
    content = _content(path) if size else b""
    if size and content[size - 1 : size] != b"\n":
        raise LawdslError(_missing(path, len(content), size))
    return content[:size], _rows(path, content[:size])


def begin_with(path: Path, rows: bytes) -> None:
    """Replace the rows of a run by those of the run that it continues.

    Args:
        path: the path of the file.
        rows: whole lines.

    Raises:
        LawdslError: R0407, the file cannot be written; the earlier rows are unchanged.
    """
    try:
        write_bytes(path, rows)
    except OSError as error:
        raise LawdslError(_unwritten(path, len(rows), error)) from None


def cut(path: Path, size: int) -> int:
    """Remove the rows that were appended after a checkpoint, so that each row is present once.

    Args:
        path: the path of the file.
        size: the bytes of all rows when the checkpoint was saved; 0 for the run's beginning.

    Returns:
        The number of complete rows that are removed.

    Raises:
        LawdslError: R0405, rows of the checkpoint are missing; R0407, the file cannot be written.
    """
    try:
        content = path.read_bytes() if path.exists() else b""
        if size and content[size - 1 : size] != b"\n":
            raise LawdslError(_missing(path, len(content), size))
        if len(content) > size:
            with path.open("r+b") as file:
                file.truncate(size)
                os.fsync(file.fileno())
    except OSError as error:
        raise LawdslError(_unwritten(path, 0, error)) from None
    return content.count(b"\n", size)


def read(path: Path) -> list[dict[str, Any]]:
    """All rows, without an incomplete last line; none if the file does not exist.

    Raises:
        LawdslError: R0405, a line is damaged; R0406, the file cannot be read.
    """
    return _rows(path, _content(path))


def _content(path: Path) -> bytes:
    """The bytes of a file; none if it does not exist."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        message = f"the rows cannot be read: {error.strerror}"
        raise LawdslError(Diagnostic("R0406", message, place=str(path))) from None


def _rows(path: Path, content: bytes) -> list[dict[str, Any]]:
    return [_row(path, i, line) for i, line in enumerate(content.split(b"\n")[:-1], 1)]


def _row(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise LawdslError(
            Diagnostic(
                "R0405",
                "the line is damaged: it is not a JSON object",
                place=f"{path}, line {number}",
                help="bring the file back from a copy, or remove the run's folder to run it again",
            )
        )
    return _decode_numbers(row)


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _encode_numbers(value: Any) -> Any:
    """Data with strings in place of the numbers that JSON lacks."""
    if isinstance(value, dict):
        return {key: _encode_numbers(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encode_numbers(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(float(value))
    # it would be read as a number
    if isinstance(value, str) and value in WORDS:
        raise ValueError(f"the word {value!r} stands for a number")
    return value


def _decode_numbers(value: Any) -> Any:
    """The inverse of `_encode_numbers`."""
    if isinstance(value, dict):
        return {key: _decode_numbers(v) for key, v in value.items()}
    if isinstance(value, list):
        return [_decode_numbers(v) for v in value]
    return WORDS.get(value, value) if isinstance(value, str) else value


def _missing(path: Path, size: int, expected: int) -> Diagnostic:
    short = f"{size:,} bytes of {expected:,}" if size < expected else "no row ends where it counts"
    return Diagnostic(
        "R0405",
        f"rows that the checkpoint counts are missing: {short}",
        place=str(path),
        help="bring the file back from a copy, or remove the run's folder to run it again",
    )


def _unwritten(path: Path, needed: int, error: OSError) -> Diagnostic:
    return Diagnostic(
        "R0407",
        f"the rows cannot be written: {error.strerror}",
        place=str(path),
        notes=(
            *([room_text(path.parent, needed)] if needed else []),
            "the rows from before are as they were",
        ),
        help="make room or mend the permissions, then start the run again: it goes on",
    )
