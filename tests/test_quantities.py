"""Numbers as people write them: 7B, 70M tokens, 1%, 1.5e21 FLOP, lists and ranges."""

import math

import pytest
from hypothesis import given, strategies as st

from lawdsl.core.quantities import UnreadableQuantity, parse_quantities, parse_quantity

PARAM, GPARAM, GTOKEN = (("param", 1),), (("Gparam", 1),), (("Gtoken", 1),)
RATIO = (("Gtoken", 1), ("Mparam", -1))

ONE = [
    ("2.5", None, 2.5),
    ("-.5", None, -0.5),
    ("7_000_000_000", PARAM, 7e9),
    ("7B", PARAM, 7e9),
    ("7B", GPARAM, 7),
    ("7b params", None, None),
    ("7B params", GPARAM, 7),
    ("7Bparam", GPARAM, 7),
    ("7 Gparam", PARAM, 7e9),
    ("70M", GPARAM, 0.07),
    ("125 million", PARAM, 125e6),
    ("1.4T", GTOKEN, 1400),
    ("1.4 trillion tokens", GTOKEN, 1400),
    ("300K", GTOKEN, 3e-4),
    ("1.5e21 FLOP", (("FLOP", 1),), 1.5e21),
    ("2 byte", (("byte", 1),), 2),
    ("2", (("bit", 1),), 2),
    ("2k", (("bit", 1),), 2000),
    ("20k", RATIO, 20e3 / 1e3),  # a prefix of 1e9/1e6
    ("1%", None, 0.01),
    ("12.5 percent", None, 0.125),
    ("1%", PARAM, None),
    ("7B tokens", PARAM, None),
    ("7x", PARAM, None),
    ("1e400", None, None),
    ("٧", None, None),
    ("", None, None),
    ("B", None, None),
    ("1e9B9", None, None),
]


@pytest.mark.parametrize(("text", "unit", "value"), ONE)
def test_a_number_is_read_in_the_unit_of_the_quantity(text, unit, value):
    if value is None:
        with pytest.raises(UnreadableQuantity):
            parse_quantity(text, unit)
    else:
        assert parse_quantity(text, unit) == pytest.approx(value, rel=1e-15)


MANY = [
    ("1%,2%, 5%", None, [0.01, 0.02, 0.05]),
    ("0:1:0.1", None, [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
    ("0%:3%:1%", None, [0, 0.01, 0.02, 0.03]),
    ("3:1:-1", None, [3, 2, 1]),
    ("0:1:.4", None, [0, 0.4, 0.8]),
    ("1B:8B:x2", GPARAM, [1, 2, 4, 8]),
    ("1e9:1e12:x10,5e12", None, [1e9, 1e10, 1e11, 1e12, 5e12]),
    ("5:5:1", None, [5]),
]


@pytest.mark.parametrize(("text", "unit", "values"), MANY)
def test_lists_and_ranges(text, unit, values):
    assert parse_quantities(text, unit) == values


REFUSED = [
    ("7,000,000,000", "7_000_000_000"),
    ("1,000", "commas separate values"),
    ("0:1", "FIRST:LAST:STEP"),
    ("0:1:0", "is not 0"),
    ("0:1:-1", "sign of the step"),
    ("0:1:1e-9", "values, at most"),
    ("-1:1:x2", "one sign"),
    ("1:8:x1", "not 1"),
]


@pytest.mark.parametrize(("text", "advice"), REFUSED)
def test_what_could_mean_two_things_is_refused_with_advice(text, advice):
    with pytest.raises(UnreadableQuantity, match=advice):
        parse_quantities(text, None)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_printed_float_is_read_as_itself(number):
    assert parse_quantity(repr(number), None) == number


@given(st.text(max_size=12))
def test_any_text_is_read_or_refused(text):
    try:
        numbers = parse_quantities(text, GTOKEN)
    except UnreadableQuantity:
        return
    finite = "nan" not in text.lower() and "inf" not in text.lower()
    assert numbers and (not finite or all(map(math.isfinite, numbers)))
