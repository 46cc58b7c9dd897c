"""Columns between NumPy and Arrow: what pyarrow itself would make of them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lawdsl
from lawdsl.data.arrow_arrays import texts_to_arrow, to_arrow, to_numpy

ARRAYS = [
    np.array([1.5, np.nan, -np.inf, 0.0]),
    np.arange(7, dtype=np.int32)[::-2],
    np.arange(5, dtype=np.float32),
    np.array([2**63], dtype=np.uint64),
    np.array([1, 2, 3], dtype=">f8"),
    np.array([True, False, True] * 9),
    np.array([], dtype=float),
    np.ma.masked_array([1.0, 2.0], mask=[False, True]),
    np.array(["one", "", "zwölf", "十"]),
    np.array([], dtype=str),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{type(a).__name__}-{a.dtype}-{len(a)}")
def test_arrays_become_what_pyarrow_makes_of_them(array: Any):
    if array.dtype.byteorder == ">":
        with pytest.raises(pa.ArrowNotImplementedError):
            to_arrow(array)
        return
    made = to_arrow(array)
    made.validate(full=True)
    assert made.type == pa.array(array).type
    assert repr(made.to_pylist()) == repr(pa.array(array).to_pylist())


@pytest.mark.parametrize(
    "values",
    [
        [1.5, 2.5, float("nan")],
        [3, 4],
        [True, False, True],
        [],
        [1.0, None],
        [1, None],
        ["text", "more"],
    ],
    ids=str,
)
def test_columns_become_what_pyarrow_makes_of_them(values: list[Any]):
    column = pa.array(values, type=pa.float64() if not values else None)
    for each in (column, pa.chunked_array([column, column]), column[1:]):
        made = to_numpy(each)
        options = {} if isinstance(each, pa.ChunkedArray) else {"zero_copy_only": False}
        expected = each.to_numpy(**options)
        assert made.dtype == expected.dtype
        np.testing.assert_array_equal(made, expected)


def test_tables_of_numbers_and_texts_are_read_without_pandas():
    code = (
        "import sys, numpy as np; from lawdsl.data.read import read_table;"
        "read_table({'x': np.ones(2), 'd': np.array(['a', 'b']), 'e': ['a', 'b']});"
        "sys.exit('pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("texts", [["half \ud800 pair"], ["whole", "\udfff"]])
def test_texts_that_arrow_cannot_represent_are_refused_as_by_pyarrow(texts: list[str]):
    with pytest.raises((pa.ArrowException, UnicodeError)) as expected:
        pa.array(texts)
    with pytest.raises(expected.type):
        texts_to_arrow(texts)


def test_a_masked_value_of_a_table_is_missing_and_not_its_number():
    x = np.ma.masked_array([1.0, 2.0, 3.0, 4.0, 5.0], mask=[0, 1, 0, 0, 0])
    with pytest.raises(lawdsl.LawdslError) as caught:
        lawdsl.fit("dcpt.share", {"r": x / 10, "L": np.ones(5)})
    assert caught.value.diagnostics[0].code == "D0106"
