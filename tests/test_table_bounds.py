"""One table costs little time and memory, whatever its file says: bounds, each named in a message."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import limited
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data import size_limits
from lawdsl.data.read import read_table

MEMORY = 600 * 2**20  # bytes of a command, of which the libraries take 200


def refused(path: Path) -> Diagnostic:
    with pytest.raises(LawdslError) as caught:
        read_table(path)
    (found,) = caught.value.diagnostics
    assert found.place.startswith(str(path)) and found.help
    return found


def parquet(path: Path, columns: dict[str, pa.Array], times: int = 1) -> Path:
    batch = pa.table(columns)
    with pq.ParquetWriter(path, batch.schema, compression="zstd") as file:
        for _ in range(times):
            file.write_table(batch)
    return path


def database(path: Path, *statements: str) -> Path:
    with sqlite3.connect(path) as base:
        for statement in statements:
            base.execute(statement)
    base.close()
    return path


# Parquet


def test_a_parquet_file_is_refused_by_its_footer(tmp_path: Path):
    many = parquet(tmp_path / "many.parquet", {"r": np.full(4_000_000, 0.5)}, times=6)

    found = refused(many)

    assert found.code == "D0150"
    assert "24,000,000 rows of 1 columns" in found.message and "20,000,000" in found.message


def test_lists_count_as_many_cells_as_they_hold(tmp_path: Path):
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(2_100_000, np.int8)), 21_000)
    path = parquet(tmp_path / "lists.parquet", {"r": lists}, times=10)

    assert "21,000,000 cells" in refused(path).message


def test_a_text_that_is_repeated_is_counted_as_often_as_it_stands(tmp_path: Path):
    index = pa.array(np.zeros(300_000, np.int32))
    column = pa.DictionaryArray.from_arrays(index, pa.array(["x" * 100_000]))
    path = parquet(tmp_path / "texts.parquet", {"name": column, "r": np.zeros(300_000)})

    found = refused(path)

    assert path.stat().st_size < 2**20
    assert (found.code, found.message) == ("D0150", "the table has more than 256 MiB of text")


def test_a_large_parquet_file_takes_little_memory(tmp_path: Path):
    batch = {name: np.full(2_000_000, 0.5) for name in "rL"}
    path = parquet(tmp_path / "bomb.parquet", batch, times=15)
    command = ["-m", "lawdsl", "fit", "dcpt.share", str(path)]

    took = limited.run(
        [limited.sys.executable, *command], tmp_path / "report.json", capture_output=True
    )

    assert took["code"] == 3 and took["memory"] < MEMORY and took["seconds"] < 8


def test_texts_of_a_parquet_file_are_read_as_before(tmp_path: Path):
    columns = {"r": np.arange(3.0), "size": pa.array(["70M", None, "70M"])}
    table = read_table(parquet(tmp_path / "small.parquet", columns))

    assert table.texts("size") == ["70M", "", "70M"]
    assert table.numbers("r").tolist() == [0, 1, 2]


# SQLite


@pytest.mark.parametrize(
    ("column", "function"),
    [
        ("x TEXT AS (hex(zeroblob(400000000)))", "zeroblob"),
        ("x TEXT AS (printf('%.*c', 900000000, 'x')) STORED CHECK (x > 0)", ""),
        ("x TEXT AS (printf('%.*c', 900000000, 'x'))", "printf"),
        ("x TEXT AS (L LIKE '%a%a%a%a%a%a')", "like"),
        ("x REAL CHECK (length(printf('%.*c', 900000000, 'x')) > 0)", ""),
    ],
)
def test_a_computed_column_that_may_take_any_time_is_refused(
    column: str, function: str, tmp_path: Path
):
    path = database(tmp_path / "computed.sqlite", f"CREATE TABLE runs(r REAL, L REAL, {column})")

    if function:
        assert f"with the function {function}" in refused(path).message
    else:  # what is stored is read, and not computed
        assert list(read_table(path).columns) == ["r", "L", "x"]


def test_a_cell_that_is_too_long_is_refused_with_its_column(tmp_path: Path):
    path = database(
        tmp_path / "long.sqlite",
        "CREATE TABLE runs(r REAL, x BLOB)",
        "INSERT INTO runs VALUES (0.5, zeroblob(1048577))",
    )

    assert "a cell of column x has more than 1,048,576 bytes" in refused(path).message


def test_many_long_cells_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(size_limits, "MAX_TABLE_BYTES", 10 * 2**20)
    path = database(
        tmp_path / "long.sqlite",
        "CREATE TABLE runs(r REAL, x TEXT, y TEXT AS (x), z TEXT AS (upper(x)))",
        *["INSERT INTO runs VALUES (0.5, hex(zeroblob(500000)))"] * 4,
    )

    assert refused(path).message == "the table has more than 10 MiB of text"


COUNTED = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO runs(r) SELECT i FROM n"  # fmt: skip
LONG = "a" * 500_000
DOUBLED = ", ".join(f"x{i} TEXT AS (x{i - 1} || x{i - 1})" for i in range(1, 10))
AMPLIFIED = {
    "a text in the formula": [f"CREATE TABLE runs(r REAL, x TEXT AS (r || '{LONG}'))", COUNTED],
    "a text doubled nine times": [
        f"CREATE TABLE runs(r REAL, x0 TEXT AS ('{LONG[:1000]}'), {DOUBLED})", COUNTED
    ],
    "texts in many columns": [
        "CREATE TABLE runs(r REAL, "
        + ", ".join(f"x{i} TEXT AS ('{LONG[:450]}' || r)" for i in range(1500)) + ")", COUNTED
    ],
    "a text that rows have by default": [
        "CREATE TABLE runs(r REAL)", COUNTED, f"ALTER TABLE runs ADD COLUMN x TEXT DEFAULT '{LONG}'"
    ],
    "bytes that rows have by default": [
        "CREATE TABLE runs(r REAL)", COUNTED,
        f"ALTER TABLE runs ADD COLUMN x BLOB DEFAULT x'{'00' * 400_000}'",
    ],
}  # fmt: skip
"""Files of less than 2 MB, whose rows would be more than a GB."""


SLOW = (
    "texts in many columns",
    "a text doubled nine times",
    "bytes that rows have by default",
)


@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=pytest.mark.slow if c in SLOW else ()) for c in AMPLIFIED]
)
def test_text_that_the_file_does_not_store_is_counted_row_by_row(case: str, tmp_path: Path):
    path = database(tmp_path / "small.sqlite", *AMPLIFIED[case])
    assert path.stat().st_size < 2 * 2**20
    code = (
        "import sys; from lawdsl.data.read import read_table\n"
        "try: read_table(sys.argv[1])\n"
        "except Exception as error: sys.exit(7 * ('more than 256 MiB of text' in str(error)))"
    )

    took = limited.run([limited.sys.executable, "-c", code, str(path)], tmp_path / "report.json")

    assert took["code"] == 7 and took["memory"] < MEMORY


def test_one_long_note_does_not_make_every_cell_as_long(tmp_path: Path):
    path = database(
        tmp_path / "note.sqlite",
        "CREATE TABLE runs(r REAL, x TEXT, y BLOB)",
        COUNTED.replace("3000", "20000"),
        "UPDATE runs SET x = 'short', y = x'00ff00'",
        "UPDATE runs SET x = hex(zeroblob(500000)) WHERE r = 3",
    )

    table = read_table(path)

    assert pa.total_allocated_bytes() < 100 * 2**20
    assert len(table.texts("x")[2]) == 1_000_000 and table.texts("x")[3] == "short"
    assert table.columns["y"][0].as_py() == b"\0\xff\0"


def test_a_cell_is_shorter_where_there_are_very_many(tmp_path: Path):
    columns = ", ".join(f"x{i} TEXT" for i in range(1000))
    path = database(
        tmp_path / "wide.sqlite",
        f"CREATE TABLE runs({columns})",
        "INSERT INTO runs(x7) VALUES (hex(zeroblob(100000)))",
    )

    assert "a cell of column x7 has more than 131,072 bytes" in refused(path).message


def test_a_view_is_not_read_and_no_other_table_in_its_place(tmp_path: Path):
    path = database(
        tmp_path / "view.sqlite",
        "CREATE TABLE m(r REAL)",
        "CREATE VIEW runs AS SELECT a.r, hex(zeroblob(400000000)) AS x FROM m a, m b",
    )

    found = refused(path)

    assert found.code == "D0102" and "`runs` is a view" in found.message


def test_reading_a_database_ends_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(size_limits, "MAX_DATABASE_SECONDS", 0.0)
    path = database(
        tmp_path / "slow.sqlite",
        "CREATE TABLE runs(r REAL, x REAL AS (r*r))",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
        "INSERT INTO runs(r) SELECT i FROM n",
    )

    assert refused(path).message == "reading the database takes more than 0 s"


def test_a_computed_column_of_numbers_is_a_column(tmp_path: Path):
    path = database(
        tmp_path / "made.sqlite",
        "CREATE TABLE runs(steps REAL, D REAL AS (steps*2048))",
        "INSERT INTO runs(steps) VALUES (1), (2)",
    )

    assert read_table(path).numbers("D").tolist() == [2048, 4096]


@pytest.mark.parametrize("more", ["", "ANALYZE"])
def test_the_tables_of_sqlite_itself_are_no_tables_of_the_user(more: str, tmp_path: Path):
    path = database(
        tmp_path / "numbered.sqlite",
        "CREATE TABLE m(id INTEGER PRIMARY KEY AUTOINCREMENT, r REAL UNIQUE)",
        "INSERT INTO m(r) VALUES (0.5)",
        *filter(None, [more]),
    )

    assert list(read_table(path).columns) == ["id", "r"]


# CSV


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("r,L," + ",".join(f"c{i}" for i in range(200_000)) + "\n0.5,2\n", 1, "the line has"),
        ("r,L\n0.5,2\n0.5," + "9" * 5_000_000 + "\n", 3, "the line has 5,000,004 bytes"),
        ("# top\nr,L\n\n" + "1," * 600_000 + "\n", 4, "the line has 1,200,000 bytes"),
        ('r,L\n1,"' + "a\n" * 600_000 + '"\n', 2, "the row, with the lines of its quoted cell,"),
        ("r," + "," * 20_000 + "\n", 1, "20,002 columns; at most 10,000"),
        ("r,L\n1,2\n" + "3" * 1_100_000, 3, "the line has 1,100,000 bytes"),
    ],
)
def test_a_line_that_is_too_long_is_named(content: str, line: int, message: str, tmp_path: Path):
    path = tmp_path / "wide.csv"
    path.write_text(content, encoding="utf-8")

    found = refused(path)

    assert found.code == "D0150" and message in found.message
    assert found.place in (f"{path}:{line}", str(path)) and "at most" in found.message


def test_the_longest_line_is_read(tmp_path: Path):
    path = tmp_path / "wide.csv"
    cell = "x" * (size_limits.MAX_CELL_BYTES - 4)
    path.write_text(f"r,name\n1.5,{cell}\n2.5,{cell}\n" * 1, encoding="utf-8")

    assert read_table(path).numbers("r").tolist() == [1.5, 2.5]


def test_a_quote_that_is_never_closed_is_what_is_wrong_with_a_long_rest(tmp_path: Path):
    path = tmp_path / "open.csv"
    path.write_text('r,L\n1,"2\n' + "3,4\n" * 500_000, encoding="utf-8")

    assert refused(path).message == "a quote is opened and never closed"


# Every form


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.sqlite"])
def test_a_file_beyond_the_bound_is_not_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(size_limits, "MAX_TABLE_BYTES", 2**20)
    path = tmp_path / name
    path.write_bytes(b"1,2\n" * 2**19)

    assert refused(path).message == "the file is larger than 1 MiB"


def test_an_endless_pipe_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(size_limits, "MAX_TABLE_BYTES", 2**20)
    with pytest.raises(LawdslError, match="larger than 1 MiB|neither a file nor a pipe"):
        read_table("/dev/zero")


@pytest.mark.parametrize("columns", [10_001, 20_000])
def test_many_columns_are_counted_at_once(columns: int, tmp_path: Path):
    path = tmp_path / "columns.csv"
    path.write_text(",".join(f"c{i}" for i in range(columns)) + "\n", encoding="utf-8")

    assert refused(path).code == "D0150"
