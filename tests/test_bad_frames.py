"""Bad data frames and mappings: each is refused by a code, the row, the column, and what to do."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from written_tables import CHINCHILLA, COLUMNS, refusal, refusals, with_cell

from lawdsl.data.binding import bind
from lawdsl.data.read import read_table

FRAMES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "lists": dict,
    "arrays": lambda c: {k: np.array(v) for k, v in c.items()},
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "a lazy polars frame": lambda c: pl.DataFrame(c).lazy(),
    "arrow": pa.table,
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_every_kind_are_read_to_the_same_numbers(kind: str):
    runs = bind(CHINCHILLA, read_table(FRAMES[kind](COLUMNS)), {})

    assert runs.digest == bind(CHINCHILLA, read_table(dict(COLUMNS)), {}).digest


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize(
    ("column", "cell", "code", "message"),
    [
        ("D", 0.0, "D0108", "is outside the domain D > 0"),
        ("D", -2e9, "D0108", "is outside the domain D > 0"),
        ("L", -1.0, "D0109", "is not above 0, so it has no logarithm"),
        ("L", float("nan"), "D0107", "nan is not a finite number"),
        ("L", float("inf"), "D0107", "inf is not a finite number"),
        ("D", 200.0, "D0113", "nothing lies between 200 and 2e+09"),
    ],
)
def test_a_bad_cell_of_a_frame_is_named_by_its_row(
    kind: str, column: str, cell: float, code: str, message: str
):
    diagnostic = refusal(FRAMES[kind](with_cell(column, cell)))

    assert diagnostic.code == code and message in diagnostic.message
    assert diagnostic.place.endswith(f":4 column {column}")


@pytest.mark.parametrize("kind", FRAMES)
def test_numbers_as_strings_are_refused_at_the_first(kind: str):
    """In a CSV all cells are text; in a frame a column of text is a mistake made before."""
    text = {**COLUMNS, "D": [str(x) for x in COLUMNS["D"]]}
    diagnostic = refusal(FRAMES[kind](text))

    assert diagnostic.code == "D0106" and diagnostic.place.endswith(":1 column D")
    assert diagnostic.message == 'column D: "2000000000.0" is text, not a number'
    assert diagnostic.help == "turn the column into numbers first"


@pytest.mark.parametrize("kind", ["lists", "pandas"])
def test_a_word_among_numbers_is_named_by_its_row(kind: str):
    diagnostic = refusal(FRAMES[kind](with_cell("D", "oops")))

    assert diagnostic.code == "D0106" and diagnostic.place.endswith(":4 column D")
    assert '"oops" is not a number' in diagnostic.message


@pytest.mark.parametrize("kind", ["lists", "polars", "arrow"])
def test_a_missing_value_is_an_empty_cell(kind: str):
    diagnostic = refusal(FRAMES[kind](with_cell("L", None)))

    assert (diagnostic.code, diagnostic.message) == ("D0106", "column L: the cell is empty")
    assert diagnostic.place.endswith(":4 column L")


MIXED = [1, [1, 2], *[1] * 7]
NOT_TABLES: dict[str, tuple[Any, str, str]] = {
    "a list": ([1, 2], "D0102", "a list is not a table"),
    "nothing": (None, "D0102", "a NoneType is not a table"),
    "a series": (pd.Series([1]), "D0102", "a Series is not a table"),
    "an array": (np.ones((3, 3)), "D0102", "a ndarray is not a table"),
    "no columns": ({}, "D0104", "no values of the variable `N`"),
    "no rows": (pl.DataFrame({"N": [], "D": [], "L": []}), "D0103", "the table has no rows"),
    "lengths": ({**COLUMNS, "L": [1.0, 2.0]}, "D0102", "different lengths: N 9, D 9, L 2"),
    "a matrix": ({**COLUMNS, "L": np.ones((9, 2))}, "D0102", "column L is not a list"),
    "nested lists": ({**COLUMNS, "L": MIXED}, "D0102", "column L is not a list"),
    "complex": ({**COLUMNS, "L": [1j] * 9}, "D0106", '"1j" is not a number'),
    "bytes": ({**COLUMNS, "L": [b"1"] * 9}, "D0106", "holds binary"),
    "dates": ({**COLUMNS, "L": [datetime.date(2025, 5, 1)] * 9}, "D0106", "holds date32"),
    "a mask": (
        {**COLUMNS, "L": np.ma.array(COLUMNS["L"], mask=[0] * 8 + [1])}, "D0106", "L: the cell is empty",
    ),
    "two columns D": (pd.DataFrame([[1, 2, 3]], columns=list("NDD")), "D0105", "'D' 2 times"),
    "two arrow columns D": (pa.table([[1], [2], [3]], names=list("NDD")), "D0105", "'D' 2 times"),
    "two keys 1": ({**COLUMNS, 1: COLUMNS["N"], "1": COLUMNS["N"]}, "D0105", "called 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_TABLES)
def test_what_is_no_clean_frame_is_refused(name: str):
    table, code, message = NOT_TABLES[name]
    found = refusals(table)

    assert found[0].code == code and message in found[0].message
    assert found[0].help


def test_units_in_the_names_of_a_frames_columns_are_converted():
    frame = pd.DataFrame({"N [Mparam]": [100.0], "D [Gtoken]": [2.0], "L [bit/token]": [3.0]})
    runs = bind(CHINCHILLA, read_table(frame), {})

    np.testing.assert_allclose(runs.columns, [[1e8], [2e9]], rtol=1e-15)
    np.testing.assert_allclose(runs.target, [3 * np.log(2)], rtol=1e-14)
    assert runs.bound == {"N": "N", "D": "D", "L": "L"}
