"""Tables as CSV, Parquet and SQLite, mutated."""

from __future__ import annotations

import io
import math
import random
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
from mutating import mutate_text

CELLS = (
    "",
    *"nan inf -inf 1e400 1e-400 -1 0 -0.0 1e308 1e-308 5e-324 1,000 0x10 1_000 TRUE null NA".split(),
    *"2020-01-01 1e5e5 ++1 1. .5 １２ ١٢ 7B 1% =1+1 \ud800 1e18 123456789012345678901234567890".split(),
    *('"', '"a,b"', '"1\n2"', "'1'", "\0", "\x1b[2J", " 1 ", "1 2", "9" * 5000, "a" * 100_000),
)
HEADERS = ("", "L", "N [Gparam]", "N [x]", "D[", "L [nat/token]", "r", "1", "ρ", "a,b", '"', "\0")
TYPES = (
    *(pa.int8(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.string()),
    *(pa.large_string(), pa.binary(), pa.bool_(), pa.null(), pa.date32(), pa.timestamp("ns")),
    *(pa.decimal128(38, 10), pa.decimal256(50, 20), pa.duration("s"), pa.list_(pa.float64())),
    *(pa.dictionary(pa.int8(), pa.float64()), pa.dictionary(pa.int8(), pa.string())),
    *(pa.struct([("a", pa.int64())]), pa.string_view(), pa.binary_view(), pa.time64("ns")),
)


SCALES = (1e-300, 1e-30, 1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.9, 2.0, 1e3, 1e6, 1e12, 1e30, 1e300)
FORMATS = ("{:.3e}", "{:.17g}", "{:.2f}", "{:.30f}", "{:g}", "{:.0f}", "{:.1e}")
UNITS = ("", " [Gparam]", " [Mparam]", " [Gtoken]", " [token]", " [nat/token]", " [bit/token]")
LABELS = ("70M", "a", "a b", "ü", "1", "1e3", "nan", "=1+1", "-", "web", "x" * 300, "'")


def mutate_table(rng: random.Random, corpus: Sequence[str]) -> tuple[bytes, str]:
    """A table's file, and the ending of its name.

    Three tables in four are odd, but can be read: few rows, equal rows, constant columns, numbers
    of all sizes. The others have cells, headers, rows or bytes that may not be read at all.
    """
    form = rng.choices((".csv", ".parquet", ".sqlite"), (6, 2, 2))[0]
    rows = _rows(rng.choice(corpus))
    odd = rng.random() < 0.75
    for _ in range(rng.choice((0, 1, 1, 2, 3)) if odd else 0):
        rng.choice(ODDITIES)(rng, rows)
    for _ in range(0 if odd else rng.choice((1, 1, 2))):
        _change(rng, rows)
    if form == ".csv":
        text = _as_csv(rng, rows, odd=odd)
        if not odd and rng.random() < 0.5:
            text = mutate_text(rng, [text])
        rare = ("utf-8",) if odd else ("utf-16", "latin-1")
        encoding = rng.choice(("utf-8", "utf-8", "utf-8-sig", *rare))
        return text.encode(encoding, "replace" if encoding == "latin-1" else "surrogatepass"), form
    content = (
        _as_parquet(rng, rows, odd=odd) if form == ".parquet" else _as_sqlite(rng, rows, odd=odd)
    )
    if not odd and rng.random() < 0.5:
        content = _flipped(rng, content)
    if rng.random() < 0.02:
        form = rng.choice((".csv", ".parquet", ".sqlite", ".db", ".txt"))
    return content, form


# Tables that are odd, but can be read. Each takes the rows, of which the first is the header.


def _numeric(rng: random.Random, rows: list[list[str]]) -> int:
    """A column of numbers."""
    found = [i for i, cell in enumerate(rows[1]) if _is_number(cell)] if len(rows) > 1 else []
    return rng.choice(found) if found else 0


def _output(rows: list[list[str]]) -> int:
    """The column of a loss, whose numbers have no bounds."""
    return next((i for i, name in enumerate(rows[0]) if name.startswith(("L", "loss"))), -1)


def _mapped(rows: list[list[str]], column: int, change: Callable[[float], float]) -> None:
    for row in rows[1:]:
        if column < len(row) and _is_number(row[column]):
            row[column] = repr(change(float(row[column])))


def _equal_rows(rng: random.Random, rows: list[list[str]]) -> None:
    at = rng.randrange(len(rows))
    if at:
        rows[at:at] = [list(rows[at]) for _ in range(rng.choice((1, 1, 5, 60)))]


def _few_rows(rng: random.Random, rows: list[list[str]]) -> None:
    body = rng.sample(rows[1:], min(len(rows) - 1, rng.choice((1, 2, 3, 4, 5, 6, 7, 8, 10, 12))))
    rows[1:] = body


def _other_order(rng: random.Random, rows: list[list[str]]) -> None:
    body = rows[1:]
    rng.shuffle(body)
    rows[1:] = body
    order = rng.sample(range(len(rows[0])), len(rows[0]))
    if all(len(row) == len(order) for row in rows):
        rows[:] = [[row[i] for i in order] for row in rows]


def _scaled(rng: random.Random, rows: list[list[str]]) -> None:
    scale = rng.choice(SCALES)
    column = _numeric(rng, rows) if rng.random() < 0.5 else _output(rows)
    _mapped(rows, column, lambda x: x * scale)


def _shifted(rng: random.Random, rows: list[list[str]]) -> None:
    """Numbers that hardly differ, or that change their signs."""
    by = rng.choice((1e-9, 1.0, 1e6, 1e12, -1.0, -3.0))
    column = _numeric(rng, rows) if rng.random() < 0.3 else _output(rows)
    _mapped(rows, column, lambda x: x + by)


def _constant(rng: random.Random, rows: list[list[str]]) -> None:
    column, keep = _numeric(rng, rows), rng.choice((0.0, 0.0, 1e-12, 1e-6))
    known = [float(row[column]) for row in rows[1:] if _is_number(row[column])]
    if known:
        _mapped(rows, column, lambda x: known[0] + keep * x)


def _collinear(rng: random.Random, rows: list[list[str]]) -> None:
    """One column a function of another."""
    one, other, power = _numeric(rng, rows), _numeric(rng, rows), rng.choice((1, 1, 2, -1))
    for row in rows[1:]:
        if _is_number(row[one]) and float(row[one]) > 0:
            x = float(row[one])
            row[other] = repr(3 * (x * x if power == 2 else x if power == 1 else 1 / x))


def _noisy(rng: random.Random, rows: list[list[str]]) -> None:
    size = rng.choice((1e-9, 1e-3, 0.1, 1.0, 5.0))
    _mapped(rows, _numeric(rng, rows), lambda x: x * math.exp(size * rng.gauss(0, 1)))


def _exchanged(rng: random.Random, rows: list[list[str]]) -> None:
    """What was measured has nothing to do with where."""
    column = _numeric(rng, rows)
    cells = [row[column] for row in rows[1:]]
    rng.shuffle(cells)
    for row, cell in zip(rows[1:], cells, strict=True):
        row[column] = cell


def _outlier(rng: random.Random, rows: list[list[str]]) -> None:
    column = _numeric(rng, rows)
    for row in rng.sample(rows[1:], min(len(rows) - 1, rng.choice((1, 1, 2, 5)))):
        if _is_number(row[column]):
            row[column] = repr(float(row[column]) * rng.choice((0.0, 0.1, 3.0, 100.0, 1e12, 1e-12)))


def _other_numbers(rng: random.Random, rows: list[list[str]]) -> None:
    """The same numbers written in another way."""
    column, form = _numeric(rng, rows), rng.choice(FORMATS)
    for row in rows[1:]:
        if _is_number(row[column]):
            row[column] = form.format(float(row[column]))


def _further_column(rng: random.Random, rows: list[list[str]]) -> None:
    """A column that the law does not use."""
    cells = rng.choice((LABELS, CELLS[:8], ("", "1"), ("2020-01-01",), ("nan", "1")))
    name = rng.choice(("note", "size", "seed", "run", "ü", "a b", "step", "loss"))
    for row in rows:
        row.append(name if row is rows[0] else rng.choice(cells))


def _other_unit(rng: random.Random, rows: list[list[str]]) -> None:
    column = _numeric(rng, rows)
    rows[0][column] = rows[0][column].partition(" [")[0] + rng.choice(UNITS)


def _missing(rng: random.Random, rows: list[list[str]]) -> None:
    """Cells that `--drop-bad` leaves out."""
    column = _numeric(rng, rows)
    for row in rng.sample(rows[1:], min(len(rows) - 1, rng.choice((1, 2, 5)))):
        row[column] = rng.choice(("", "nan", "inf", "NA", "null"))


ODDITIES = (
    *(_equal_rows, _few_rows, _other_order, _scaled, _shifted, _constant, _collinear, _noisy),
    *(_exchanged, _outlier, _other_numbers, _further_column, _other_unit, _missing),
)


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


# Tables and files


def _rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [line.split(",") for line in lines]


def _change(rng: random.Random, rows: list[list[str]]) -> None:
    """Change cells, headers, rows or columns in place."""
    what, at = rng.randrange(9), rng.randrange(len(rows))
    column = rng.randrange(len(rows[at])) if rows[at] else 0
    if not rows[at] or what == 0:
        rows[at].append(rng.choice(CELLS))
    elif what in (1, 2):
        rows[at][column] = rng.choice(CELLS)
    elif what == 3:
        rows[0][rng.randrange(len(rows[0])) if rows[0] else 0 :] = [rng.choice(HEADERS)]
    elif what == 4:
        new = rng.choice(CELLS)
        for row in rows[1:]:
            row[column % len(row) if row else 0 : 1] = [new]
    elif what == 5:
        rows[at:at] = [list(rows[at]) for _ in range(rng.choice((1, 5, 300)))]
    elif what == 6 and len(rows) > 1:
        del rows[rng.randrange(1, len(rows)) :]
    elif what == 7:
        for row in rows:
            if len(row) > column:
                row.insert(rng.randrange(len(row) + 1), row[column])
    else:
        for row in rows[1:]:
            if len(row) > column:
                row[column] = repr(rng.choice((-1, 1e-300, 1e300, 1e9, 0)) * _number(row[column]))


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return 1.0


def _as_csv(rng: random.Random, rows: list[list[str]], *, odd: bool = False) -> str:
    comma = "," if rng.random() < 0.95 else rng.choice(";\t| ")
    end = "\n" if rng.random() < 0.8 else rng.choice(("\r\n", "\r\n", "\n\n", "\n# c\n", "\r"))
    if odd:
        comma, end = ",", rng.choice(("\n", "\n", "\r\n"))
    return end.join(comma.join(row) for row in rows) + rng.choice((end, ""))


def _columns(rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    width = len(rows[0]) if rows else 0
    return [h or "x" for h in rows[0]], [
        [row[i] if i < len(row) else "" for row in rows[1:]] for i in range(width)
    ]


def _as_parquet(rng: random.Random, rows: list[list[str]], *, odd: bool = False) -> bytes:
    names, columns = _columns(rows)
    arrays = []
    for cells in columns:
        array = pa.array([_number(c) for c in cells], pa.float64())
        if odd and not any(map(_is_number, cells)):
            array = pa.array([c.encode("utf-8", "replace").decode() for c in cells])
        elif odd:
            with suppress(pa.ArrowException):
                array = array.cast(rng.choice((pa.float64(), pa.float64(), pa.float32())))
        elif rng.random() < 0.4:
            kind = rng.choice(TYPES)
            for source in (array, pa.array([c.encode("utf-8", "replace").decode() for c in cells])):
                try:
                    array = source.cast(kind, safe=False)
                    break
                except (pa.ArrowException, NotImplementedError):
                    array = pa.nulls(len(cells), kind)
        arrays.append(array)
    names = [name.encode("utf-8", "replace").decode() for name in names]
    metadata = {
        b"lawdsl": rng.choice((b"", b"{", b'{"notes": 1}', b'{"notes": ["a"]}', b"[" * 9999))
    }
    if odd:
        metadata = {b"lawdsl": b'{"notes": ["a"]}'}
    out = io.BytesIO()
    try:
        table = pa.table(arrays, names=names).replace_schema_metadata(metadata)
        pq.write_table(table, out, compression=rng.choice(("none", "zstd", "snappy")))
    except (pa.ArrowException, NotImplementedError):
        return b"PAR1" + rng.randbytes(50)
    return out.getvalue()


def _as_sqlite(rng: random.Random, rows: list[list[str]], *, odd: bool = False) -> bytes:
    names, columns = _columns(rows)
    some = (
        ("REAL", "NUMERIC") if odd else ("REAL", "INTEGER", "TEXT", "BLOB", "", "NUMERIC", "DATE")
    )
    kinds = [rng.choice(some) for _ in names]
    quoted = ['"' + n.replace('"', '""').replace("\0", "") + f'{i}"' for i, n in enumerate(names)]
    if odd or rng.random() < 0.9:
        quoted = [q[:-2] + '"' if len(str(i)) == 1 else q for i, q in enumerate(quoted)]
    base = sqlite3.connect(":memory:")
    declared = [f"{q} {k}" for q, k in zip(quoted, kinds, strict=True)]
    if not odd and rng.random() < 0.2:
        hidden = rng.choice(("zeroblob(400000000)", "1/0", "random()", "abs(-9223372036854775808)"))
        declared.append(f"made AS ({hidden})")
    name = "runs" if odd else rng.choice(("runs", "runs", "runs", "m", '"a b"', "notes"))
    try:
        base.execute(f"CREATE TABLE {name} ({', '.join(declared)})")
        marks = ", ".join("?" for _ in names)
        data = [
            [
                rng.choice((c.encode("utf-8", "replace"), None, 2**62))
                if not odd and rng.random() < 0.01
                else c
                for c in row
            ]
            for row in zip(
                *([c.encode("utf-8", "replace").decode() for c in cells] for cells in columns),
                strict=True,
            )
        ]
        base.executemany(f"INSERT INTO {name} ({', '.join(quoted)}) VALUES ({marks})", data)
        if not odd and rng.random() < 0.3:
            base.execute(
                rng.choice(
                    (
                        "CREATE TABLE notes (said)",
                        "CREATE TABLE other (x)",
                        "CREATE VIEW runs AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT x FROM c",
                        "CREATE TABLE a (id INTEGER PRIMARY KEY AUTOINCREMENT)",
                    )
                )
            )
        base.commit()
        return base.serialize()
    except (sqlite3.Error, OverflowError, UnicodeError):  # no such table can be made
        return b"SQLite format 3\0" + rng.randbytes(100)


def _flipped(rng: random.Random, content: bytes) -> bytes:
    """Bytes changed, cut off or repeated; ends of files, where formats keep what matters, often."""
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 3, 20))):
        at = (
            rng.randrange(len(changed))
            if rng.random() < 0.6
            else -rng.randrange(1, min(400, len(changed)))
        )
        changed[at] = rng.choice(
            (0, 255, changed[at] ^ (1 << rng.randrange(8)), rng.randrange(256))
        )
    if rng.random() < 0.2:
        del changed[rng.randrange(len(changed)) :]
    return bytes(changed)
