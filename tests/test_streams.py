"""The mixture: exact at every step, the same whoever asks, each window once a pass."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from lawdsl.runners.run import streams

SHARES = st.lists(st.integers(0, 20), min_size=1, max_size=6).filter(any)


def mixed(parts: list[int], batch: int = 4, windows: int = 50, seed: int = 1) -> streams.Mixture:
    names = [f"corpus{i}" for i in range(len(parts))]
    return streams.mixture(
        {name: Fraction(part, sum(parts)) for name, part in zip(names, parts, strict=True)},
        dict.fromkeys(names, windows),
        {name: name for name in names},
        batch,
        seed,
    )


@settings(max_examples=60, deadline=None)
@given(SHARES, st.integers(1, 9))
def test_every_step_has_its_rows_and_no_quota_ever_falls(parts: list[int], batch: int):
    mix = mixed(parts, batch)
    before = streams.rows_drawn(mix, 0)
    assert sum(before) == 0
    for step in range(1, 60):
        now = streams.rows_drawn(mix, step)
        assert sum(now) == step * batch
        assert all(a <= b for a, b in zip(before, now, strict=True))
        assert all(count == 0 for count, part in zip(now, parts, strict=True) if part == 0)
        before = now


@pytest.mark.parametrize("share", ["0", "0.1", "0.2", "0.33", "1/3", "0.5", "0.67", "0.9", "1"])
@pytest.mark.parametrize("batch", [1, 4, 7, 64])
def test_of_two_corpora_none_is_ever_more_than_half_a_row_from_its_share(share: str, batch: int):
    part = Fraction(share)
    mix = streams.mixture(
        {"general": 1 - part, "code": part},
        {"general": 9, "code": 9},
        {"general": "a", "code": "b"},
        batch,
        0,
    )
    for step in [*range(300), 19_999, 200_000]:
        rows = part * step * batch
        assert abs(streams.rows_drawn(mix, step)[1] - rows) <= Fraction(1, 2)


@settings(max_examples=40, deadline=None)
@given(SHARES)
def test_of_several_corpora_none_is_two_rows_from_its_share(parts: list[int]):
    mix = mixed(parts)
    for step in range(100):
        for count, part in zip(streams.rows_drawn(mix, step), parts, strict=True):
            assert abs(count - Fraction(part, sum(parts)) * step * 4) < 2


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5000), st.binary(min_size=1, max_size=8))
def test_a_permutation_meets_everything_once(size: int, key: bytes):
    found = streams.permuted(np.arange(size), size, key)
    assert sorted(found.tolist()) == list(range(size))
    alone = [int(streams.permuted(np.array([i]), size, key)[0]) for i in range(min(size, 5))]
    assert alone == found[:5].tolist()


def test_permutations_pass_for_random():
    size, keys = 13, 4000
    first = Counter(int(streams.permuted(np.array([0]), size, b"%d" % k)[0]) for k in range(keys))
    expected = keys / size
    chi = sum((first[i] - expected) ** 2 / expected for i in range(size))
    assert chi < 32.9  # 99.9 % of chi-squared with 12 degrees of freedom
    neighbours = streams.permuted(np.arange(4096), 4096, b"k")
    assert abs(np.corrcoef(neighbours[:-1], neighbours[1:])[0, 1]) < 0.06


def test_a_window_comes_once_a_pass_and_every_pass_has_another_order():
    mix = mixed([1, 1], windows=20)
    order = streams.windows(mix, 0, np.arange(60))
    passes = [order[i : i + 20].tolist() for i in (0, 20, 40)]
    assert all(sorted(p) == list(range(20)) for p in passes)
    assert passes[0] != passes[1] != passes[2]
    assert streams.epochs(mix, 30) == {"corpus0": 3.0, "corpus1": 3.0}


def test_runs_of_other_shares_meet_the_windows_of_a_corpus_in_the_same_order():
    few, many = mixed([9, 1]), mixed([2, 8])

    def seen(mix: streams.Mixture) -> list[int]:
        return [w for step in range(40) for k, w in streams.rows_of_step(mix, step) if k == 1]

    assert seen(few) == seen(many)[: len(seen(few))]
    assert seen(mixed([2, 8], seed=2)) != seen(many)


def test_rows_do_not_depend_on_what_was_asked_before():
    mix = mixed([3, 5, 2], batch=5)
    forwards = [streams.rows_of_step(mix, step) for step in range(30)]
    assert [streams.rows_of_step(mix, step) for step in reversed(range(30))] == forwards[::-1]


def test_a_batch_holds_the_windows_of_the_corpora_and_the_tokens_that_follow():
    mix = mixed([1, 1], windows=9)
    tokens = [np.arange(0, 91, dtype=np.uint16), np.arange(1000, 1091, dtype=np.uint16)]
    found = streams.batch(mix, tokens, 10, 3)
    assert found.shape == (4, 11)
    for row, (corpus, window) in zip(found, streams.rows_of_step(mix, 3), strict=True):
        assert row.tolist() == list(
            range(1000 * corpus + 10 * window, 1000 * corpus + 10 * window + 11)
        )


def test_the_order_is_the_one_it_has_always_been():
    """Runs that were begun by an earlier version go on as they would have."""
    mix = mixed([2, 1], batch=3, windows=1000, seed=7)
    assert [streams.rows_of_step(mix, step) for step in (0, 1, 500)] == GOLDEN


GOLDEN: list[list[tuple[int, int]]] = [
    [(0, 300), (1, 827), (0, 215)],
    [(0, 964), (1, 908), (0, 473)],
    [(0, 284), (1, 997), (0, 85)],
]
