"""Bindings that are formulas of columns, or columns with a unit."""

import numpy as np
import pytest

from lawdsl import LawdslError, fit
from lawdsl.data.computed_columns import with_computed_columns
from lawdsl.data.read import read_table

SIZES = np.geomspace(1e8, 1e10, 12)
TOKENS = np.geomspace(2e9, 4e11, 12)[np.argsort(np.sin(np.arange(12.0)))]
COLUMNS = {
    "log10_N": np.log10(SIZES),
    "size_M": SIZES / 1e6,
    "steps": TOKENS / 2048 / 512,
    "batch": np.full(12, 512.0),
    "tokens [Gtoken]": TOKENS / 1e9,
    "domain": ["web"] * 12,
    "loss": 1.7 + 400 / SIZES**0.34 + 1500 / TOKENS**0.3,
}

BOUND = [
    ("10^log10_N", SIZES),
    ("10**log10_N", SIZES),
    ("steps*batch*2048", TOKENS),
    ("np.exp(log10_N*log(10))", SIZES),
    ("1e6*size_M", SIZES),
    ("-steps", -TOKENS / 2048 / 512),
    ("max(size_M, 1e3) - min(size_M, 1e3, batch)", None),
]


@pytest.mark.parametrize(("text", "values"), BOUND)
def test_a_formula_becomes_a_column_of_its_text(text, values):
    table = with_computed_columns(read_table(COLUMNS), {"N": text})
    if values is None:
        size = SIZES / 1e6
        values = np.maximum(size, 1e3) - np.minimum(np.minimum(size, 1e3), 512)
    np.testing.assert_allclose(table.numbers(text), values, rtol=1e-12)
    assert text not in table.units


def test_a_unit_behind_a_column_or_a_formula_is_that_of_the_column():
    bindings = {"N": "size_M [Mparam]", "D": "2048*steps*batch/1e9 [Gtoken]"}
    table = with_computed_columns(read_table(COLUMNS), bindings)
    assert {table.units[text] for text in bindings.values()} == {"Mparam", "Gtoken"}
    np.testing.assert_allclose(table.numbers("size_M [Mparam]"), SIZES / 1e6)


@pytest.mark.parametrize("text", ["size_M", "tokens", "r_*", "loss [web]", "10", "nothing", "+"])
def test_other_bindings_leave_the_table_as_it_is(text):
    table = read_table(COLUMNS)
    assert with_computed_columns(table, {"N": text}) is table


def test_a_column_of_that_very_name_wins():
    table = read_table({**COLUMNS, "steps*batch": SIZES})
    assert with_computed_columns(table, {"N": "steps*batch"}) is table


REFUSED = [
    ("step*batch", "D0104", "did you mean `steps`"),
    ("2*domain", "D0106", "a cell is a plain number"),
    ("tokens [Mtoken]", "D0112", "correct the header"),
    ("2*tokens", "D0112", r"\"N=2\*tokens \[Gtoken\]\""),
]


@pytest.mark.parametrize(("text", "code", "help"), REFUSED)
def test_a_formula_that_the_table_cannot_give_is_refused(text, code, help):
    with pytest.raises(LawdslError, match=help) as raised:
        with_computed_columns(read_table(COLUMNS), {"N": text})
    assert raised.value.diagnostics[0].code == code


def test_a_fit_and_its_predictions_take_them():
    by_formula = fit("chinchilla", COLUMNS, N="10^log10_N", D="steps*batch*2048", L="loss")
    by_unit = fit("chinchilla", COLUMNS, N="size_M [Mparam]", D="tokens", L="loss")
    plain = fit("chinchilla", {"N": SIZES, "D": TOKENS, "L": COLUMNS["loss"]})
    at = {"N": [7e9], "D": [2e11]}
    for other in (by_formula, by_unit):
        np.testing.assert_allclose(other.predict(at), plain.predict(at), rtol=1e-6)
        np.testing.assert_allclose(other.predict(COLUMNS), plain.predict({"N": SIZES, "D": TOKENS}))
    # a value without a number is refused with its row, as a cell would be
    with pytest.raises(LawdslError, match="not a finite number"):
        fit("chinchilla", COLUMNS, N="10^log10_N/(size_M - size_M)", D="tokens", L="loss")
