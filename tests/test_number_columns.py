"""Values to predict that are given as plain numbers are those of a table of Arrow."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lawdsl
from lawdsl.data.number_columns import NumberColumns, plain_numbers
from lawdsl.data.read import read_table

LISTS = {"N [Gparam]": [1, 2**60 + 1, -3], "D": [0.5, 1e300, math.nan]}


def test_columns_of_numbers_have_the_numbers_units_and_cells_of_arrow():
    plain = read_table(LISTS)
    arrow = read_table({name: np.array(values) for name, values in LISTS.items()})

    assert isinstance(plain.columns, NumberColumns) and not isinstance(arrow.columns, NumberColumns)
    assert plain.units == arrow.units == {"N": "Gparam"} and list(plain.columns) == ["N", "D"]
    assert "N" in plain.columns and "r" not in plain.columns
    for name in plain.columns:
        np.testing.assert_array_equal(plain.numbers(name), arrow.numbers(name))
        assert plain.columns[name].type == arrow.columns[name].type
        assert plain.texts(name) == arrow.texts(name)
    assert plain.keep(np.array([True, False, True])).numbers("N").tolist() == [1, -3]
    assert plain.rows.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "values", [[], [1, None], ["1"], [True, 2.0], [2**70], 3.0, np.array([1.0]), [[1.0]]]
)
def test_other_values_are_converted_by_arrow(values: object):
    assert plain_numbers(values) is None


def test_tables_of_numbers_are_refused_as_others_are():
    with pytest.raises(lawdsl.LawdslError, match="different lengths"):
        read_table({"N": [1.0], "D": [1.0, 2.0]})
    with pytest.raises(lawdsl.LawdslError, match="two columns are called N"):
        read_table({"N": [1.0], "N [Gparam]": [2.0]})


@pytest.mark.parametrize("values", [[2**64], [2**64, 1], [2**64, "x"], [-(2**70)]])
def test_integers_beyond_64_bits_have_a_message(values: list[object]):
    table = read_table({"N": values})
    with pytest.raises(lawdsl.LawdslError, match="D0106"):
        table.numbers("N")
