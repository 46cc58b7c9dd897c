"""The mixture: which windows of which corpora a step trains on, a pure function of seed and step.

Nothing is drawn from a generator and nothing has to be saved: rows follow each other in one fixed
order, in which every corpus has its exact quota at every step, and the windows of a corpus follow a
keyed permutation, another one in each pass over it. How many processes share a batch changes
nothing.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..spec import Run

ROUNDS = 6  # of the Feistel network; four are enough to pass for random

Windows = NDArray[np.int64]


@dataclass(frozen=True)
class Mixture:
    """Corpora, mixed.

    Attributes:
        names: of the corpora.
        weights: whole numbers in proportion to their shares.
        windows: how many windows each has.
        keys: the hash of seed and fingerprint of each; runs of other shares or models that have
            the same keys meet the windows of a corpus in the same order, so that the difference
            of two runs has less noise than either.
        batch: rows a step.
    """

    names: tuple[str, ...]
    weights: tuple[int, ...]
    windows: tuple[int, ...]
    keys: tuple[bytes, ...]
    batch: int


def mixture(
    shares: Mapping[str, Fraction],
    windows: Mapping[str, int],
    fingerprints: Mapping[str, str],
    batch: int,
    seed: int,
) -> Mixture:
    """The mixture of corpora in given shares, which add up to 1."""
    common = math.lcm(*(share.denominator for share in shares.values()))
    names = tuple(shares)
    return Mixture(
        names,
        tuple(int(shares[name] * common) for name in names),
        tuple(windows[name] for name in names),
        tuple(_key(f"{seed}:{fingerprints[name]}") for name in names),
        batch,
    )


def mixture_of(run: Run, windows: Mapping[str, int]) -> Mixture:
    """The mixture of a run, in the order of the names, whatever that of the run's order is.

    Args:
        windows: corpus -> how many rows of the run's length it has.
    """
    corpora = dict(sorted(run.corpora.items()))
    return mixture(
        {name: source.fraction for name, source in corpora.items()},
        windows,
        {name: source.fingerprint for name, source in corpora.items()},
        run.training.batch,
        run.seed,
    )


def drawn(mix: Mixture, step: int) -> tuple[int, ...]:
    """How many rows of each corpus the first `step` steps have, in all step * batch.

    The j-th row of a corpus of share p is due at (j + 1/2)/p, and rows come in the order in which
    they are due (Webster's method). So counts never fall; of two or three corpora none is ever more
    than half a row, or one, from its share.
    """
    rows = step * mix.batch
    total = sum(mix.weights)
    counts = [(2 * w * rows + total) // (2 * total) for w in mix.weights]
    while (surplus := sum(counts) - rows) != 0:
        late = [_due(mix, k, counts[k] - (surplus > 0)) for k in range(len(counts))]
        if surplus > 0:
            k = max((k for k in range(len(counts)) if counts[k]), key=lambda k: late[k])
            counts[k] -= 1
        else:
            k = min((k for k in range(len(counts)) if mix.weights[k]), key=lambda k: late[k])
            counts[k] += 1
    return tuple(counts)


def rows(mix: Mixture, step: int) -> list[tuple[int, int]]:
    """The rows of the update after `step` updates: number of the corpus, number of the window."""
    before, after = drawn(mix, step), drawn(mix, step + 1)
    rows_of_corpora = []
    for k, (first, last) in enumerate(zip(before, after, strict=True)):
        if last > first:
            chosen = windows(mix, k, np.arange(first, last))
            due = (_due(mix, k, j) for j in range(first, last))
            rows_of_corpora += [(d, k, int(w)) for d, w in zip(due, chosen, strict=True)]
    return [(k, window) for _, k, window in sorted(rows_of_corpora)]


def windows(mix: Mixture, corpus: int, positions: Windows) -> Windows:
    """The windows that stand at some positions of a corpus's endless order."""
    size = mix.windows[corpus]
    passes = positions // size
    indices = np.empty_like(positions)
    for number in np.unique(passes):
        in_pass = passes == number
        key = _key(f"{mix.keys[corpus].hex()}:{int(number)}")
        indices[in_pass] = permuted(positions[in_pass] % size, size, key)
    return indices


def epochs(mix: Mixture, step: int) -> dict[str, float]:
    """How often each corpus has been gone through after `step` steps."""
    counts = drawn(mix, step)
    return {n: c / w for n, c, w in zip(mix.names, counts, mix.windows, strict=True)}


def batch(
    mix: Mixture, tokens: Sequence[NDArray[np.unsignedinteger]], sequence: int, step: int
) -> Windows:
    """The rows of a step, (batch, sequence + 1): each a window and the token that follows it.

    Args:
        tokens: of each corpus, in the order of the mixture; may be memory-mapped.
    """
    tokens_of_batch = np.empty((mix.batch, sequence + 1), np.int64)
    for row, (corpus, window) in enumerate(rows(mix, step)):
        begin = window * sequence
        tokens_of_batch[row] = tokens[corpus][begin : begin + sequence + 1]
    return tokens_of_batch


def permuted(positions: Windows, size: int, key: bytes) -> Windows:
    """Where a keyed permutation of 0 … size - 1 puts some of them, without ever holding it whole.

    A Feistel network on the next even number of bits, followed until it lands inside. Its numbers
    are those of this file alone: no library's generator may change them.
    """
    half = max(1, (max(size - 1, 1).bit_length() + 1) // 2)
    mask = np.uint64((1 << half) - 1)
    salts = [
        np.uint64(int.from_bytes(_key(f"{key.hex()}:{i}")[:8], "little")) for i in range(ROUNDS)
    ]
    permuted_positions = positions.astype(np.uint64)
    outside = np.ones(len(permuted_positions), bool)
    while outside.any():
        low_half, high_half = (
            permuted_positions[outside] >> np.uint64(half),
            permuted_positions[outside] & mask,
        )
        for salt in salts:
            low_half, high_half = high_half, low_half ^ (_mixed(high_half ^ salt) & mask)
        permuted_positions[outside] = (low_half << np.uint64(half)) | high_half
        outside = permuted_positions >= np.uint64(size)
    return permuted_positions.astype(np.int64)


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit of the result depends on every bit of x (the finaliser of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _due(mix: Mixture, corpus: int, row: int) -> tuple[Fraction, int]:
    """When a row of a corpus is due, in rows; corpora that are due together come in their order."""
    weight = mix.weights[corpus]
    return (Fraction(2 * row + 1, 2 * weight) if weight else Fraction(0), corpus)


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
