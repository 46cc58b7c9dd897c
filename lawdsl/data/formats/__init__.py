"""File formats of tables: a module each that reads and writes one, imported on first use.

A format is a module of this package and its row in FORMATS. The module has
`read(content: bytes, name: str) -> Table` and, where the row says that it is written,
`write(columns: Mapping[str, Sequence[Any]], notes: Sequence[str]) -> bytes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import disjunction
from lawdsl.core.registry import by_name

if TYPE_CHECKING:
    from lawdsl.data.table import Table

RUN_TABLE_SCHEMA = 1  # version of tables of runs in every format; the first note states it, too


@dataclass(frozen=True)
class Format:
    """A file format of tables.

    Attributes:
        module: its module in this package.
        title: its name in messages.
        suffixes: the file extensions that identify a table; the usual one first.
        written: the extensions with which a table can be written.
        generic: further extensions with which a table is read, although other kinds of files have
            them, too.
        magic: the first bytes of every such file; empty where it has none.
        journals: suffixes of files beside it that would alter its content when it is read.
        typed: whether cells have types; otherwise all of them are text.
    """

    module: str
    title: str
    suffixes: tuple[str, ...]
    written: tuple[str, ...] = ()
    generic: tuple[str, ...] = ()
    magic: bytes = b""
    journals: tuple[str, ...] = ()
    typed: bool = False

    def read(self, content: bytes, name: str) -> Table:
        """Read a table.

        Args:
            content: the bytes of the file.
            name: its path, which is also its name in messages.

        Raises:
            LawdslError: a malformed table, with the place.
        """
        table: Table = self._loaded().read(content, name)
        return table

    def write(self, columns: Mapping[str, Sequence[Any]], notes: Sequence[str] = ()) -> bytes:
        """The content of a file with a table.

        Args:
            columns: header, with its unit -> a value for each row; None where it is not known.
            notes: the lines of comment on the table.
        """
        content: bytes = self._loaded().write(columns, notes)
        return content

    def _loaded(self) -> Any:
        return import_module(f"{__name__}.{self.module}")


FORMATS = (
    # in the order of recommendation for writing: Parquet has types, CSV has none
    Format(
        "parquet", "Parquet", (".parquet", ".pq"), (".parquet", ".pq"), magic=b"PAR1", typed=True
    ),
    Format("csv", "CSV", (".csv",), (".csv",), generic=(".txt", "")),
    Format(
        "sqlite",
        "SQLite",
        (".sqlite", ".db", ".sqlite3"),
        (".sqlite", ".db"),
        magic=b"SQLite format 3\0",
        journals=("-journal", "-wal", "-shm"),
        typed=True,
    ),
)

READ: Mapping[str, Format] = by_name(
    (suffix, form) for form in FORMATS for suffix in (*form.suffixes, *form.generic)
)
"""File extension, in lower case -> the format in which it is read."""

WRITTEN: Mapping[str, Format] = by_name(
    (suffix, form) for form in FORMATS for suffix in form.written
)
"""File extension, in lower case -> the format in which it is written."""

SUFFIXES = frozenset(suffix for form in FORMATS for suffix in form.suffixes)
"""File extensions that identify a table."""


def format_of(suffix: str, content: bytes) -> Format:
    """The format of a file by its first bytes, else by its extension.

    Args:
        suffix: its extension, in lower case; one of READ.
        content: its bytes.
    """
    # extensions are often wrong; a file that starts like Parquet is neither CSV nor a database
    by_content = (form for form in FORMATS if form.magic and content.startswith(form.magic))
    return next(by_content, READ[suffix])


def text_instead(content: bytes, name: str, title: str, or_else: str = "") -> LawdslError | None:
    """The error for a text table whose name says that it has another format; None for other files.

    Args:
        content: the bytes of the file.
        name: its path.
        title: the format that its name states.
        or_else: further advice.
    """
    try:
        start = content[:4096].decode("utf-8", errors="strict" if len(content) < 4096 else "ignore")
    except UnicodeDecodeError:
        return None
    if not start.strip() or "\0" in start or "," not in start:
        return None
    message = f"this is a text table, not {title}"
    help = f"rename it to {Path(name).stem}.csv"
    return unreadable(message, name, f"{help}; {or_else}" if or_else else help)


def unreadable(message: str, name: str, help: str = "") -> LawdslError:
    """The error for a file that is not a readable table; D0101.

    Args:
        message: the problem.
        name: the file.
        help: what to do about it; by default, to give the path of a table.
    """
    titles = disjunction(sorted(form.title for form in FORMATS))
    advice = help or f"give the path of a table saved as {titles}"
    return LawdslError(Diagnostic("D0101", message, place=name, help=advice))
