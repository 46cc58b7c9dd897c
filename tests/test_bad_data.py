"""Bad tables: each is refused by a code, the file, the row, the column, and what to do; and clean
tables are not."""

from __future__ import annotations

import datetime
import decimal
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from written_tables import (
    CHINCHILLA,
    COLUMNS,
    LINES,
    csv,
    parquet,
    refusal,
    refusals,
    with_cell,
    written,
)

import lawdsl
from lawdsl.core.diagnostics import render
from lawdsl.data.binding import bind, sorted_order
from lawdsl.data.read import read_table

# ---- CSV: what the table says -> code, place, and words of the message and of the help

CASES: dict[str, tuple[str | bytes, str, str, str, str]] = {
    "a short row": (csv({4: "1e8,2e11"}), "D0102", ":4", "2 cells, the header 3", "remove the row"),
    "a row of one cell": (csv({4: "1e8"}), "D0102", ":4", "1 cell, the header 3", "remove the row"),
    "a long row": (csv({4: "1e8,2e11,2.7,9"}), "D0102", ":4", "4 cells", "comma inside a number"),
    "a comma at the end": (csv({4: "1e8,2e11,2.7,"}), "D0102", ":4", "4 cells", "correct"),
    "semicolons": (csv().replace(",", ";"), "D0102", ":1", "by semicolons", "with commas"),
    "tabs": (csv().replace(",", "\t"), "D0102", ":1", "by tabs", "with commas"),
    "bars": (csv().replace(",", "|"), "D0102", ":1", "by bars", "with commas"),
    "an open quote": (csv({4: '1e8,"2e11,2.7'}), "D0102", ":4", "never closed", "close it"),
    "a comment below": (csv({4: "# here"}), "D0102", ":4", "1 cell", "remove the row"),
    "a doubled header": (csv({1: "N,D,D"}), "D0105", ":1", "two columns are called D", "own"),
    "two units of one": (csv({1: "N,D [token],D"}), "D0105", ":1", "called D", "own"),
    "two nameless": (csv({1: "N,,"}), "D0105", ":1", "called (nothing)", "own"),
    "no header": ("\n".join(LINES[1:]), "D0105", ":1", "holds numbers", "first line"),
    "a header behind #": ("# " + csv(), "D0105", ":2", "holds numbers", "# is a comment"),
    "oops": (csv({4: "1e8,oops,2.7"}), "D0106", ":4 column D", '"oops" is not', "`D [Gtoken]`"),
    "commas in a number": (
        csv({4: '"100,000,000",2e11,2.7'}), "D0106", ":4 column N", '"100,000,000"', "separators",
    ),
    "a decimal comma": (csv({4: '1e8,2e11,"2,7"'}), "D0106", ":4 column L", '"2,7"', "a point"),
    "1B": (csv({4: "1e8,200B,2.7"}), "D0106", ":4 column D", '"200B"', "write it out"),
    "70M": (csv({2: "70M,2e9,3.4"}), "D0106", ":2 column N", '"70M"', "write it out, as the other numbers: `70000000`"),
    "a unit in a cell": (csv({4: "1e8,2 Gtoken,3"}), "D0106", ":4 column D", "Gtoken", "header"),
    "n/a": (csv({4: "1e8,2e11,n/a"}), "D0106", ":4 column L", '"n/a" is not', "--drop-bad"),
    "an empty cell": (csv({4: "1e8,2e11,"}), "D0106", ":4 column L", "L: the cell is empty", "--drop-bad"),
    "spaces only": (csv({4: "1e8,  ,2.7"}), "D0106", ":4 column D", "D: the cell is empty", "fill it in"),
    "an underscore": (csv({4: "1_000,2e11,2.7"}), "D0106", ":4 column N", '"1_000"', "separators"),
    "hexadecimal": (csv({4: "0x10,2e11,2.7"}), "D0106", ":4 column N", '"0x10"', "plain number"),
    "other digits": (csv({4: "١٢,2e11,2.7"}), "D0106", ":4 column N", "١٢", "without separators"),
    "full-width digits": (csv({4: "１２,2e11,2.7"}), "D0106", ":4 column N", "１２", "number"),
    "a long cell": (csv({4: f"1e8,2e11,{'x' * 999}"}), "D0106", ":4 column L", "xxx", "number"),
    "NaN": (csv({4: "1e8,2e11,NaN"}), "D0107", ":4 column L", "NaN is not a finite", "--drop-bad"),
    "inf": (csv({4: "1e8,2e11,inf"}), "D0107", ":4 column L", "inf is not a finite", "correct"),
    "1e400": (csv({4: "1e8,1e400,2.7"}), "D0107", ":4 column D", "1e400 is not", "correct"),
    "a negative loss": (csv({4: "1e8,2e11,-2.7"}), "D0109", ":4 column L", "-2.7", "--drop-bad"),
    "a loss of 0": (csv({4: "1e8,2e11,0"}), "D0109", ":4 column L", "0 is not above 0", "squared"),
    "D = 0": (csv({4: "1e8,0,2.7"}), "D0108", ":4 column D", "0 is outside", "--where"),
    "D < 0": (csv({4: "1e8,-2e11,2.7"}), "D0108", ":4 column D", "the domain D > 0", "--where"),
    "-0": (csv({4: "-0,2e11,2.7"}), "D0108", ":4 column N", "-0 is outside", "--where"),
    "1e-400": (csv({4: "1e-400,2e11,2.7"}), "D0108", ":4 column N", "1e-400 is", "--where"),
    "an unknown unit": (csv({1: "N [parrot],D,L"}), "D0112", " column N", "`parrot`", "prefixes"),
    "half a unit": (csv({1: "N,D,L [nat/]"}), "D0112", " column L", "`nat/` is not a unit", "units"),
    "a power too high": (csv({1: "N,D [Gtoken^400],L"}), "D0112", " column D", "400", "units"),
    "tokens for parameters": (
        csv({1: "N [Mtoken],D,L"}), "D0112", " column N", "in Mtoken, the law's `N` in param", "bind",
    ),
    "a column missing": (csv({1: "N,D,loss"}), "D0104", "", "no column is bound to the output `L`", "L=loss"),
    "a unit in words": (
        csv({1: "N (B),D,L"}), "D0104", "", "unknown column `N`", "write the header `N [Gparam]`, or"
        " bind 'N=N (B) [Gparam]'",
    ),
    "another case": (csv({1: "N,d,L"}), "D0104", "", "the variable `D`", "did you mean `d`?"),
    "not UTF-8": (csv({1: "N,D,größe"}).encode("latin-1"), "D0101", ":1", "(byte 6)", "UTF-8"),
    "not UTF-8 below": (csv({4: "1e8,ä,2"}).encode("latin-1"), "D0101", ":4", "UTF-8", "UTF-8"),
    "UTF-16": (csv().encode("utf-16"), "D0101", ":1", "", "UTF-8"),
    "a NUL": (csv({4: "1e8,2e11,2\0.7"}), "D0101", ":4", "a NUL byte", "save"),
    "an empty file": ("", "D0103", "", "the table is empty", "line of column names"),
    "blank lines only": ("\n \n\n", "D0103", "", "the table is empty", "line of column names"),
    "comments only": ("# a\n# b", "D0103", "", "the table is empty", "line of column names"),
    "a header only": ("N,D,L\n", "D0103", ":1", "no rows", "a line for each measurement"),
    "three rows": ("\n".join(LINES[:4]), "D0110", "", "3 rows, 5 parameters", "measure more"),
    "a constant loss": (
        re.sub(r",[\d.]+$", ",2.5", csv(), flags=re.MULTILINE), "D0111", "", "no variation", "bind",
    ),
    "half of D in billions": (
        csv({3: "1e8,20,2.9684", 4: "1e8,200,2.777", 7: "1e9,200,2.3183", 9: "1e10,20,2.3426"}),
        "D0113", ":3 column D", "nothing lies between 200 and 2e+09", "one unit",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_bad_csv_is_refused_at_its_place(name: str, tmp_path: Path):
    content, code, place, message, help = CASES[name]
    path = written(tmp_path, content)
    diagnostic = refusal(path)

    assert diagnostic.code == code
    assert diagnostic.place == f"{path}{place}"
    assert message in diagnostic.message
    assert help in (diagnostic.help or "")
    assert len(diagnostic.message) < 200
    assert f"{path}{place}" in render(diagnostic)


GOOD = {
    "as it is": csv(),
    "a byte-order mark and Windows line ends": ("\ufeff" + csv(end="\r\n")).encode(),
    "old Macintosh line ends": csv(end="\r"),
    "no line end at the end": csv().rstrip("\n"),
    "quoted names": csv({1: '"N","D","L"'}),
    "quoted names, and blanks at line ends": csv({1: '"N","D","L"', 4: "1e8,2e11,2.7770 \n \t"}),
    "quoted cells": csv({4: '"1e8","2e11","2.7770"'}),
    "spaces around numbers": csv({4: " 1e8 ,\t2e11 , 2.7770 "}),
    "blank lines": csv({4: "\n  \n" + LINES[3] + "\n"}),
    "comment lines on top": "# runs of May\n\n  # and June\n" + csv(),
    "units": csv({1: "N [param],D [token],L [nat/token]"}),
    "spaces in the header": csv({1: ' N ,\t"D" , "L [nat/token]" '}).replace('"', ""),
    "more columns than are used": "\n".join(
        f"{line},{text}" for line, text in zip(LINES, ["note", *"abcdefghi"], strict=True)
    ),
    "text with line ends in it": "note," + "\n".join(
        [LINES[0], *(f'"one\ntwo, ""three""",{line}' for line in LINES[1:])]
    ),
    "brackets that only tell columns apart": "\n".join(
        f"{line},{text}"
        for line, text in zip(LINES, ["loss [code],loss [text]", *["1,1"] * 9], strict=True)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_a_good_csv_is_read_to_the_same_numbers(name: str, tmp_path: Path):
    table = read_table(written(tmp_path, GOOD[name]))
    runs = bind(CHINCHILLA, table, {})

    assert runs.digest == bind(CHINCHILLA, read_table(COLUMNS), {}).digest
    assert runs.warnings == ()


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("", 4),
        ("\n\n", 6),
        ("# one\n# two\n", 6),
        ("\n# one\n\n", 7),
        ("\ufeff# one\r\n\r\n", 6),
    ],
)
def test_rows_keep_the_number_of_their_line(before: str, line: int, tmp_path: Path):
    """Below comments, blank lines, and in a ragged row as in a bad cell."""
    bad_cell = written(tmp_path, before + csv({4: "1e8,oops,2.7"}))
    assert refusal(bad_cell).place == f"{bad_cell}:{line} column D"
    ragged = written(tmp_path, before + csv({4: "1e8"}))
    assert refusal(ragged).place == f"{ragged}:{line}"


def test_rows_below_cells_with_line_ends_keep_their_number(tmp_path: Path):
    rows = [f'"a\nb",{line}' for line in LINES[1:4]]
    path = written(tmp_path, "\n".join(["note,N,D,L", *rows, "x,1e8,oops,2", ""]))

    assert refusal(path).place == f"{path}:8 column D"


def test_several_bad_rows_are_counted_and_the_first_are_listed(tmp_path: Path):
    path = written(tmp_path, csv({n: "1e8,2e11,-1" for n in range(2, 10)}))
    diagnostic = refusal(path)

    assert diagnostic.place == f"{path}:2 column L"
    assert diagnostic.notes == ("rows 2, 3, 4, 5, 6 and 3 more",)


def test_all_bad_columns_are_reported_at_once(tmp_path: Path):
    path = written(tmp_path, csv({3: "x,2e10,2", 4: "1e8,0,2", 5: "1e9,2e9,nan"}))
    found = refusals(path)

    assert [(d.code, d.place.rpartition(":")[2]) for d in found] == [
        ("D0106", "3 column N"),
        ("D0108", "4 column D"),
        ("D0107", "5 column L"),
    ]


def test_a_cell_cannot_write_to_the_terminal(tmp_path: Path):
    path = written(tmp_path, csv({4: "1e8,\x1b[2J\x07,2.7"}))

    assert "\x1b" not in render(refusal(path)) and "\\x1b[2J" in render(refusal(path))


def test_a_thousand_comment_lines_are_read_in_no_time(tmp_path: Path):
    path = written(tmp_path, "# a line of notes\n" * 200_000 + csv())
    begun = time.process_time()
    table = read_table(path)

    assert time.process_time() - begun < 5
    assert table.rows[0] == 200_002 and len(table.notes) == 200_000


# ---- files


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("runs.xlsx", b"PK\3\4", "not .xlsx"),
        ("runs.tsv", b"N\tD\tL\n", "not .tsv"),
        ("runs.csv.gz", b"\x1f\x8b\x08", "not .gz"),
        ("runs.csv", b"\x1f\x8b\x08\xff", "not UTF-8"),
        ("runs.parquet", b"", "not a readable Parquet file"),
        ("runs.parquet", b"PAR1", "not a readable Parquet file"),
        ("runs.csv", b"PAR1 and more", "not a readable Parquet file"),
    ],
)
def test_a_file_of_another_kind_is_refused(name: str, content: bytes, message: str, tmp_path: Path):
    diagnostic = refusal(written(tmp_path, content, name))

    assert diagnostic.code == "D0101" and message in diagnostic.message


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere.csv", "No such file"),
        (".", "a folder, not a table"),
        ("/dev/zero", "neither a file nor a pipe"),
        ("a\0b.csv", "null byte"),
    ],
)
def test_a_path_that_is_no_table_is_refused(path: str, message: str):
    diagnostic = refusal(path)

    assert diagnostic.code == "D0101" and message in diagnostic.message


@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 0.9, 0.999])
def test_a_truncated_parquet_file_is_refused(share: float, tmp_path: Path):
    path = parquet(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])

    assert refusal(path).code == "D0101"


def test_a_damaged_parquet_file_is_refused_or_read_but_never_a_fault(tmp_path: Path):
    """Bytes flipped all over the file: a checksum, a length or a value is wrong."""
    path = parquet(tmp_path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    outcomes = set()
    for _ in range(200):
        damaged = bytearray(whole)
        for at in rng.integers(4, len(whole), 8):
            damaged[at] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        try:
            bind(CHINCHILLA, read_table(path), {})
            outcomes.add("read")
        except lawdsl.LawdslError as error:
            outcomes |= {d.code for d in error.diagnostics}
    assert "D0101" in outcomes


def test_a_pipe_is_read_like_a_file(tmp_path: Path):
    import os
    import threading

    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(csv(),))
    writer.start()
    table = read_table(path)
    writer.join()

    assert len(table) == 9


@pytest.mark.parametrize(
    ("columns", "code", "place", "message"),
    [
        ({"L": with_cell("L", None)["L"]}, "D0106", ":4 column L", "L: the cell is empty"),
        ({"L": with_cell("L", float("nan"))["L"]}, "D0107", ":4 column L", "nan is not"),
        ({"N": [datetime.datetime(2025, 5, 1)] * 9}, "D0106", " column N", "timestamp[us]"),
        ({"N": [[1.0]] * 9}, "D0106", " column N", "holds list"),
        ({"N": [True] * 9}, "D0106", " column N", "holds bool"),
        ({"N": pa.nulls(9)}, "D0106", ":1 column N", "N: the cell is empty"),
        ({"N": [str(x) for x in COLUMNS["N"]]}, "D0106", ":1 column N", "is text, not a number"),
    ],
)
def test_a_parquet_column_of_another_kind_is_refused(
    columns: dict[str, Any], code: str, place: str, message: str, tmp_path: Path
):
    path = parquet(tmp_path, **columns)
    diagnostic = refusal(path)

    assert (diagnostic.code, diagnostic.place) == (code, f"{path}{place}")
    assert message in diagnostic.message


@pytest.mark.parametrize(
    "column",
    [
        pa.array([int(x) for x in COLUMNS["N"]]),
        pa.array([int(x) for x in COLUMNS["N"]], pa.uint64()),
        pa.array(COLUMNS["N"]).dictionary_encode(),
        pa.array([decimal.Decimal(int(x)) for x in COLUMNS["N"]]),
        pa.array(COLUMNS["N"], pa.float32()),
    ],
    ids=lambda a: str(a.type),
)
def test_a_parquet_column_of_any_kind_of_number_is_read(column: pa.Array, tmp_path: Path):
    table = read_table(parquet(tmp_path, N=column))

    np.testing.assert_array_equal(table.numbers("N"), COLUMNS["N"])


@pytest.mark.parametrize("digits", [0, 1, 6])
def test_rows_are_sorted_by_all_their_values_however_many_are_equal(digits: int):
    rng = np.random.default_rng(digits)
    keys = [rng.normal(size=400).round(digits) for _ in range(3)]
    assert np.array_equal(sorted_order(keys), np.lexsort(keys))
    assert len(sorted_order([key[:0] for key in keys])) == 0
