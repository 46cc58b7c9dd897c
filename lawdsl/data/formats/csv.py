"""CSV <-> table: read strictly, with cells kept as text until a column is used.

CSV readers differ in how they treat a short row, a duplicate header or `1,000,000`, and most of
them do so silently; here such files are refused. The format is that of RFC 4180 (Shafranovich
(2005), https://www.rfc-editor.org/rfc/rfc4180) with comment lines above the header.
"""

from __future__ import annotations

import csv
import io
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data import size_limits

if TYPE_CHECKING:
    from lawdsl.data.table import Table

SEPARATORS = ((";", "semicolons"), ("\t", "tabs"), ("|", "bars"))
_TOP = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\n)*(?:[ \t]*#[^\n]*\Z)?")  # comments and blank lines
_BLANK = re.compile(rb"^[ \t]+$", re.MULTILINE)
_CELL = re.compile(rb'(^|,)"(?:[^"]|"")*"')  # a quoted cell that ends on its line
_TWO_POINTS = re.compile(r"[-+]?[0-9]+\.[0-9]+\.[0-9]+(?:[eE][-+]?[0-9]+)?")
_OPEN = re.compile(rb'(?:^|,)"')


def read(content: bytes, name: str) -> Table:
    """Read a CSV table: comma-separated, with quotes, one header line, and comment lines above it.

    Args:
        content: the bytes of the file.
        name: its name in messages.

    Raises:
        LawdslError: a malformed table, with the line.
    """
    # Arrow and NumPy are imported only here: any command may write CSV, also those without
    # numerical work
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv as pc

    from lawdsl.data.columns import names_and_units
    from lawdsl.data.table import MAX_ROWS_NAMED, Table

    content = _plain(content, name)
    top = _TOP.match(content)
    assert top is not None  # the pattern matches the empty string, so there is always a match
    first, body = top[0].count(b"\n"), content[top.end() :]
    starts, unclosed = _record_lines(body, first, name)
    if not starts:
        help = "a table has a line of column names and a line for each measurement"
        raise LawdslError(Diagnostic("D0103", "the table is empty", place=name, help=help))
    if unclosed:
        message = "a quote is opened and never closed"
        raise _bad_line("D0102", message, name, unclosed, "close it, or remove it")
    end = body.find(b"\n")
    header_line = body[: end if end >= 0 else None].decode("utf-8")
    try:
        header = next(csv.reader([header_line]))
    except csv.Error as error:
        message = f"the line of column names cannot be read: {error}"
        raise _bad_line("D0102", message, name, starts[0], "shorten the names") from None
    _check_header(header, header_line, name, starts[0])
    rows = len(starts) - 1
    size_limits.check_shape(rows, len(header), rows * len(header), name)
    ragged: list[Any] = []

    def skip(row: Any) -> str:
        ragged.append(row)
        return "skip"

    try:
        table = pc.read_csv(
            io.BytesIO(body),
            # with threads the rows would have no numbers; a block holds many records of the largest
            # size
            read_options=pc.ReadOptions(
                use_threads=False, block_size=4 * size_limits.MAX_CELL_BYTES
            ),
            parse_options=pc.ParseOptions(
                invalid_row_handler=skip, newlines_in_values=b'"' in content
            ),
            convert_options=pc.ConvertOptions(
                column_types={h: pa.string() for h in header}, strings_can_be_null=False
            ),
        )
    except pa.ArrowException as error:
        message = f"this is not a readable table: {str(error).splitlines()[0]}"
        raise LawdslError(Diagnostic("D0102", message, place=name)) from None
    if ragged:
        raise LawdslError([_ragged(row, name, starts) for row in ragged[:MAX_ROWS_NAMED]])
    if table.num_rows == 0:
        message = "the table has column names but no rows"
        raise _bad_line("D0103", message, name, starts[0], "add a line for each measurement")
    named = names_and_units(header, f"{name}:{starts[0]}")
    notes = tuple(
        line.strip().lstrip("#").strip()
        for line in top[0].decode("utf-8").splitlines()
        if line.strip()
    )
    return Table(
        name,
        {h: table.column(i) for i, (h, _) in enumerate(named)},
        {h: unit for h, unit in named if unit},
        np.array(starts[1:], dtype=np.int64),
        notes,
        typed=False,
    )


OTHER_CONTENTS = (
    (b"PK\x03\x04", "a zip archive, as an Excel workbook is", "save the table as CSV"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", "save the table as CSV"),
    (b"\x1f\x8b", "compressed with gzip", "unpack it first"),
    (b"%PDF", "a PDF document", "save the table as CSV"),
    (b"<!DOCTYPE", "a web page", "download the table itself"),
    (b"<html", "a web page", "download the table itself"),
)
"""First bytes of files that are no CSV -> what they are, and what to do."""


def _other_content(content: bytes) -> tuple[str, str] | None:
    """The message and the advice for a file that is no text in UTF-8, if its first bytes tell."""
    wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    start = content[:200]
    if (
        wide
        or len(start) > 3
        and 2 * max(start[0::2].count(0), start[1::2].count(0)) > 0.8 * len(start)
    ):
        message = "the table is UTF-16, not UTF-8 text"
        return message, "save it as UTF-8 (in Excel: CSV UTF-8)"
    for first, what, help in OTHER_CONTENTS:
        if (
            content.lower().startswith(first.lower())
            if first[:1] == b"<"
            else content.startswith(first)
        ):
            return f"the file is {what}, not UTF-8 text", help
    return None


def _plain(content: bytes, name: str) -> bytes:
    """UTF-8 text with one kind of line end, and blank lines that are empty."""
    other = _other_content(content)
    if other is not None:
        message, help = other
        raise _bad_line("D0101", message, name, 1, help)
    content = content.removeprefix(b"\xef\xbb\xbf")
    content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    help = "save the table as UTF-8 text"
    if b"\0" in content:
        line = content[: content.index(b"\0")].count(b"\n") + 1
        raise _bad_line("D0101", "the table is not text: it has a NUL byte", name, line, help)
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        message = f"the table is not UTF-8 (byte {error.start})"
        raise _bad_line("D0101", message, name, line, help) from None
    # the pattern scans every line, which is the slowest step for a long file
    blanks = [blank for blank in (b" ", b"\t") if blank in content]
    if not any(blank + b"\n" in content or content.endswith(blank) for blank in blanks):
        return content
    return _BLANK.sub(b"", content)


def _record_lines(body: bytes, before: int, name: str) -> tuple[Sequence[int], int]:
    """The line number at which each record begins, and that of an unclosed quote, else 0.

    Blank lines are not records, and a quoted cell may contain line breaks.

    Raises:
        LawdslError: a record is too long; D0150.
    """
    import numpy as np

    characters = np.frombuffer(body + b"\n", dtype=np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))
    lengths = np.diff(ends, prepend=-1) - 1
    if np.max(lengths) <= size_limits.MAX_CELL_BYTES:
        quoted = np.unique(np.searchsorted(ends, np.flatnonzero(characters == ord('"'))))
        lines = (body[ends[k] - lengths[k] : ends[k]] for k in quoted.tolist())
        if not any(map(_leaves_open, lines)):
            numbers = before + 1 + np.flatnonzero(lengths).astype(np.int64)
            return array("q", numbers.tobytes()), 0
    starts = array("q")  # a compact array, since a file may have millions of lines
    line_number, begin, opened, size = before, 0, 0, 0
    while begin <= len(body):
        end = body.find(b"\n", begin)
        end = len(body) if end < 0 else end
        line_number += 1
        size = (size + 1 if opened else 0) + end - begin
        first = opened or line_number
        if end - begin > size_limits.MAX_CELL_BYTES:
            raise _too_long("line", end - begin, f"{name}:{line_number}")
        line = body[begin:end]
        if line and not opened:
            starts.append(line_number)
        if b'"' in line:
            opened = first if _leaves_open(b'"' + line if opened else line) else 0
        if size > size_limits.MAX_CELL_BYTES and not opened:
            raise _too_long("row, with the lines of its quoted cell,", size, f"{name}:{first}")
        begin = end + 1
    return starts, opened


def _leaves_open(line: bytes) -> bool:
    """Whether a line that begins outside of quotes ends in a quoted cell."""
    return _OPEN.search(_CELL.sub(rb"\1", line)) is not None


def _too_long(what: str, size: int, location: str) -> LawdslError:
    message = f"the {what} has {size:,} bytes; at most {size_limits.MAX_CELL_BYTES:,} are read"
    return size_limits.too_large(message, location)


def _check_header(header: Sequence[str], line: str, name: str, number_: int) -> None:
    for char, word in SEPARATORS:
        if len(header) == 1 and char in line:
            help = "save the table with commas between the cells and points in the numbers"
            raise _bad_line("D0102", f"the cells are separated by {word}", name, number_, help)
    from lawdsl.data.table import number

    if all(number(cell) is not None for cell in header):
        help = "name the columns in the first line; a line that begins with # is a comment"
        message = "the first line holds numbers, not the names of columns"
        raise _bad_line("D0105", message, name, number_, help)


def _row_advice(row: Any) -> str:
    for char, word in SEPARATORS:
        repaired = row.text.replace(char, ",")
        if char in row.text and repaired.count(",") + 1 == row.expected_columns:
            return f"write a comma for {word}: `{repaired.strip()[:80]}`"
    doubled = [cell for cell in row.text.split(",") if _TWO_POINTS.fullmatch(cell.strip())]
    if doubled and row.actual_columns + len(doubled) == row.expected_columns:
        cells = " and ".join(f"`{cell.strip()}`" for cell in doubled)
        return f"a comma is missing in {cells}, which has two points"
    if row.actual_columns < row.expected_columns:
        missing = row.expected_columns - row.actual_columns
        return f"add the missing cell{'s' if missing > 1 else ''}, or remove the row"
    return "correct the row; a comma inside a number needs quotes"


def _ragged(row: Any, name: str, starts: Sequence[int]) -> Diagnostic:
    cells = f"{row.actual_columns} cell{'s' if row.actual_columns != 1 else ''}"
    return Diagnostic(
        "D0102",
        f"the row has {cells}, the header {row.expected_columns}",
        place=f"{name}:{starts[row.number - 1]}",
        notes=(f"it reads: {row.text[:80]}",),
        help=_row_advice(row),
    )


def _bad_line(code: str, message: str, name: str, line: int, help: str) -> LawdslError:
    return LawdslError(Diagnostic(code, message, place=f"{name}:{line}", help=help))


def write(columns: Mapping[str, Sequence[Any]], notes: Sequence[str]) -> bytes:
    """The content of a CSV file: comments, a header, and one line per row; None is an empty cell.

    Args:
        columns: header, with its unit -> a value for each row; None where it is not known.
        notes: the lines of comment on the table.
    """
    return csv_text(notes, columns, zip(*columns.values(), strict=True)).encode()


def csv_text(
    notes: Iterable[str], header: Iterable[object], rows: Iterable[Iterable[object]]
) -> str:
    """Write a table as CSV: RFC 4180 (Shafranovich (2005)), but with line feeds as line ends.

    Args:
        notes: the comment lines above the header.
        header: the names of the columns.
        rows: the cells.
    """
    text = io.StringIO()
    text.writelines(f"# {note}\n" for note in notes)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
