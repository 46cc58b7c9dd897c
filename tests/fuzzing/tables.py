"""Tables as CSV, Parquet and SQLite, mutated."""

from __future__ import annotations

import io
import random
import sqlite3
from collections.abc import Sequence

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


def mutate_table(rng: random.Random, corpus: Sequence[str]) -> tuple[bytes, str]:
    """A table's file, and the ending of its name."""
    form = rng.choices((".csv", ".parquet", ".sqlite"), (6, 2, 2))[0]
    rows = _rows(rng.choice(corpus))
    for _ in range(rng.choice((0, 1, 1, 1, 2))):
        _change(rng, rows)
    if form == ".csv":
        text = _as_csv(rng, rows)
        if rng.random() < 0.25:
            text = mutate_text(rng, [text])
        encoding = rng.choices(("utf-8", "utf-16", "utf-8-sig", "latin-1"), (20, 1, 1, 1))[0]
        return text.encode(encoding, "replace" if encoding == "latin-1" else "surrogatepass"), form
    content = _as_parquet(rng, rows) if form == ".parquet" else _as_sqlite(rng, rows)
    if rng.random() < 0.25:
        content = _flipped(rng, content)
    if rng.random() < 0.05:
        form = rng.choice((".csv", ".parquet", ".sqlite", ".db", ".txt"))
    return content, form


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


def _as_csv(rng: random.Random, rows: list[list[str]]) -> str:
    comma = "," if rng.random() < 0.9 else rng.choice(";\t| ")
    end = "\n" if rng.random() < 0.9 else rng.choice(("\r\n", "\r", "\n\n", "\n# c\n"))
    return end.join(comma.join(row) for row in rows) + rng.choice((end, ""))


def _columns(rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    width = len(rows[0]) if rows else 0
    return [h or "x" for h in rows[0]], [
        [row[i] if i < len(row) else "" for row in rows[1:]] for i in range(width)
    ]


def _as_parquet(rng: random.Random, rows: list[list[str]]) -> bytes:
    names, columns = _columns(rows)
    arrays = []
    for cells in columns:
        array = pa.array([_number(c) for c in cells], pa.float64())
        if rng.random() < 0.4:
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
    out = io.BytesIO()
    try:
        table = pa.table(arrays, names=names).replace_schema_metadata(metadata)
        pq.write_table(table, out, compression=rng.choice(("none", "zstd", "snappy")))
    except (pa.ArrowException, NotImplementedError):
        return b"PAR1" + rng.randbytes(50)
    return out.getvalue()


def _as_sqlite(rng: random.Random, rows: list[list[str]]) -> bytes:
    names, columns = _columns(rows)
    kinds = [rng.choice(("REAL", "INTEGER", "TEXT", "BLOB", "", "NUMERIC", "DATE")) for _ in names]
    quoted = ['"' + n.replace('"', '""').replace("\0", "") + f'{i}"' for i, n in enumerate(names)]
    if rng.random() < 0.9:
        quoted = [q[:-2] + '"' if len(str(i)) == 1 else q for i, q in enumerate(quoted)]
    base = sqlite3.connect(":memory:")
    declared = [f"{q} {k}" for q, k in zip(quoted, kinds, strict=True)]
    if rng.random() < 0.1:
        hidden = rng.choice(("zeroblob(400000000)", "1/0", "random()", "abs(-9223372036854775808)"))
        declared.append(f"made AS ({hidden})")
    name = rng.choice(("runs", "runs", "runs", "m", '"a b"', "notes"))
    try:
        base.execute(f"CREATE TABLE {name} ({', '.join(declared)})")
        marks = ", ".join("?" for _ in names)
        data = [
            [
                rng.choice((c.encode("utf-8", "replace"), None, 2**62))
                if rng.random() < 0.01
                else c
                for c in row
            ]
            for row in zip(
                *([c.encode("utf-8", "replace").decode() for c in cells] for cells in columns),
                strict=True,
            )
        ]
        base.executemany(f"INSERT INTO {name} ({', '.join(quoted)}) VALUES ({marks})", data)
        if rng.random() < 0.2:
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
