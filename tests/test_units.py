"""Units: prefixes, spellings, products; one closed table."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from lawdsl.core.units import (
    PREFIXES,
    SPELLINGS,
    UNITS,
    canonical,
    is_unit,
    known,
    parse_unit,
    size_and_dimension,
)

names = st.builds(
    str.__add__, st.sampled_from(("", *PREFIXES)), st.sampled_from((*UNITS, *SPELLINGS))
)
factors = st.tuples(names, st.integers(-9, 9).filter(bool))


@pytest.mark.parametrize(
    ("text", "size", "dimension"),
    [
        ("token", 1, (("token", 1),)),
        ("Gtokens", 1e9, (("token", 1),)),
        ("Mparams", 1e6, (("param", 1),)),
        ("EFLOPs", 1e18, (("FLOP", 1),)),
        ("bit", math.log(2), (("nat", 1),)),
        ("nats/token", 1, (("nat", 1), ("token", -1))),
        (" kstep ^2 ".replace(" ^", "^"), 1e6, (("step", 2),)),
        ("token^-1", 1, (("token", -1),)),
        ("bit/byte*byte", math.log(2), (("nat", 1),)),
        ("token/token", 1, ()),
        ("FLOP/param/token", 1, (("FLOP", 1), ("param", -1), ("token", -1))),
    ],
)
def test_a_unit_has_a_size_and_a_dimension(text: str, size: float, dimension: object):
    found = size_and_dimension(parse_unit(text))

    assert found[0] == pytest.approx(size, rel=1e-15)
    assert found[1] == dimension


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "/", "parrot", "token/", "/token", "token token", "token//byte", "token^"),
        *("token^x", "token^2.5", "token^٣", "token^999999999", "token^0", "GGtoken", "G", "1"),
        *("tok en", "Xtoken", "gtoken", "token**2", "token\0"),
    ],
)
def test_what_is_no_unit_is_refused(text: str):
    assert not is_unit(text)
    with pytest.raises((KeyError, ValueError)):
        parse_unit(text)


@given(names)
def test_every_spelling_is_known_and_has_one_canonical_name(name: str):
    found = canonical(name)

    assert known(name) and found is not None
    assert canonical(found) == found
    assert parse_unit(name) == ((name, 1),)
    one, other = size_and_dimension([(name, 1)]), size_and_dimension([(found, 1)])
    assert one == other


@given(st.lists(factors, min_size=1, max_size=4))
def test_a_unit_that_is_written_out_is_read_back(parts: list[tuple[str, int]]):
    text = " * ".join(f"{name}^{power}" for name, power in parts)

    assert parse_unit(text) == tuple(parts)


@given(names, names)
def test_sizes_multiply_and_cancel(a: str, b: str):
    size_a, size_b = size_and_dimension([(a, 1)])[0], size_and_dimension([(b, 1)])[0]
    size, dimension = size_and_dimension([(a, 1), (b, 1), (a, -1)])

    assert size == pytest.approx(size_b)
    assert dimension == size_and_dimension([(b, 1)])[1]
    assert size_and_dimension([(a, 1), (b, -1)])[0] == pytest.approx(size_a / size_b)
