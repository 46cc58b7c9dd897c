"""The mixture: the windows of the corpora that a step trains on, a pure function of seed and step.

No random generator has a state to save: rows have a fixed order, in which every corpus has its
exact quota at every step (Webster's method: Balinski and Young (1982), Fair Representation), and
the windows of a corpus follow a keyed permutation, another one in each pass over it (a Feistel
network: Luby and Rackoff (1988), SIAM Journal on Computing 17). The number of processes that share
a batch has no effect.
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

# of the Feistel network; four suffice for pseudo-randomness (Luby and Rackoff (1988))
FEISTEL_ROUNDS = 6

Windows = NDArray[np.int64]


@dataclass(frozen=True)
class Mixture:
    """A mixture of corpora.

    Attributes:
        names: the names of the corpora.
        weights: integers in proportion to their shares.
        windows: the number of windows of each corpus.
        keys: the hash of seed and fingerprint of each corpus; runs with the same keys but other
            shares or models use the windows of a corpus in the same order, so that the difference
            of two runs has less noise than either.
        batch: rows per step.
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
    """Create a mixture of corpora.

    Args:
        shares: corpus -> share of the rows; they sum to 1.
        windows: corpus -> number of windows.
        fingerprints: corpus -> fingerprint.
        batch: rows per step.
        seed: the seed of the order of the windows.

    Returns:
        The mixture.
    """
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
    """Create the mixture of a run, with corpora sorted by name, whatever their order in the run.

    Args:
        run: the run.
        windows: corpus -> number of windows of the run's length.

    Returns:
        The mixture.
    """
    corpora = dict(sorted(run.corpora.items()))
    return mixture(
        {name: source.fraction for name, source in corpora.items()},
        windows,
        {name: source.fingerprint for name, source in corpora.items()},
        run.training.batch,
        run.seed,
    )


def rows_drawn(mix: Mixture, step: int) -> tuple[int, ...]:
    """Count the rows of each corpus in the first `step` steps.

    The j-th row of a corpus of share p is due at (j + 1/2)/p, and rows are in the order of their
    due positions: Webster's method (Balinski and Young (1982), Fair Representation). So counts
    never decrease; with two (three) corpora, each count is within half a row (one row) of its
    share.

    Args:
        mix: the mixture.
        step: the number of steps.

    Returns:
        A count for each corpus; they sum to step * batch.
    """
    rows = step * mix.batch
    total = sum(mix.weights)
    # whole numbers throughout: a rounded share would drift away from its quota
    counts = [(2 * w * rows + total) // (2 * total) for w in mix.weights]
    while (surplus := sum(counts) - rows) != 0:
        # rounding changes the total by fewer rows than there are corpora
        late = [_due_position(mix, k, counts[k] - (surplus > 0)) for k in range(len(counts))]
        if surplus > 0:
            k = max((k for k in range(len(counts)) if counts[k]), key=lambda k: late[k])
            counts[k] -= 1
        else:
            k = min((k for k in range(len(counts)) if mix.weights[k]), key=lambda k: late[k])
            counts[k] += 1
    return tuple(counts)


def rows_of_step(mix: Mixture, step: int) -> list[tuple[int, int]]:
    """Return the rows of the update after `step` updates.

    Args:
        mix: the mixture.
        step: the number of updates before it.

    Returns:
        For each row the number of its corpus and the number of its window there.
    """
    before, after = rows_drawn(mix, step), rows_drawn(mix, step + 1)
    rows_of_corpora = []
    for k, (first, last) in enumerate(zip(before, after, strict=True)):
        if last > first:
            chosen = windows(mix, k, np.arange(first, last))
            due = (_due_position(mix, k, j) for j in range(first, last))
            rows_of_corpora += [(d, k, int(w)) for d, w in zip(due, chosen, strict=True)]
    return [(k, window) for _, k, window in sorted(rows_of_corpora)]


def windows(mix: Mixture, corpus: int, positions: Windows) -> Windows:
    """Return the windows at some positions of a corpus's endless order.

    Args:
        mix: the mixture.
        corpus: the number of the corpus.
        positions: the positions in the order of the corpus, shape (rows,); each pass has as many as
            windows.

    Returns:
        Numbers of windows, shape (rows,).
    """
    size = mix.windows[corpus]
    passes = positions // size
    indices = np.empty_like(positions)
    for number in np.unique(passes):
        in_pass = passes == number
        key = _key(f"{mix.keys[corpus].hex()}:{int(number)}")
        indices[in_pass] = permuted(positions[in_pass] % size, size, key)
    return indices


def epochs(mix: Mixture, step: int) -> dict[str, float]:
    """Return the number of passes over each corpus after `step` steps, rows / windows.

    Args:
        mix: the mixture.
        step: the number of steps.

    Returns:
        Corpus -> passes.
    """
    counts = rows_drawn(mix, step)
    return {n: c / w for n, c, w in zip(mix.names, counts, mix.windows, strict=True)}


def batch(
    mix: Mixture, tokens: Sequence[NDArray[np.unsignedinteger]], sequence: int, step: int
) -> Windows:
    """Return the rows of a step: each a window and the token that follows it.

    Args:
        mix: the mixture.
        tokens: the tokens of each corpus, in the order of the mixture; may be memory-mapped.
        sequence: tokens of a window.
        step: the number of updates before it.

    Returns:
        Tokens, shape (batch, sequence + 1), int64.
    """
    tokens_of_batch = np.empty((mix.batch, sequence + 1), np.int64)
    for row, (corpus, window) in enumerate(rows_of_step(mix, step)):
        begin = window * sequence
        # a window ends with the first token of the next, which is its last target
        tokens_of_batch[row] = tokens[corpus][begin : begin + sequence + 1]
    return tokens_of_batch


def permuted(positions: Windows, size: int, key: bytes) -> Windows:
    """Apply a keyed permutation of 0 … size - 1 to some positions, without storing it.

    A Feistel network on the next even number of bits (Luby and Rackoff (1988)), applied until the
    value is less than `size` (cycle walking: Black and Rogaway (2002), Ciphers with Arbitrary
    Finite Domains). It uses no random generator of a library, which may change between versions.

    Args:
        positions: numbers below `size`, shape (n,).
        size: the size of the permuted set.
        key: selects the permutation.

    Returns:
        Shape (n,).
    """
    half = max(1, (max(size - 1, 1).bit_length() + 1) // 2)
    mask = np.uint64((1 << half) - 1)
    salts = [
        np.uint64(int.from_bytes(_key(f"{key.hex()}:{i}")[:8], "little"))
        for i in range(FEISTEL_ROUNDS)
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
        # the network is a permutation, so iterating from outside the range always returns to it
        outside = permuted_positions >= np.uint64(size)
    return permuted_positions.astype(np.int64)


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits, so that every bit of the result depends on every bit of x (the finaliser of
    SplitMix64).
    """
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _due_position(mix: Mixture, corpus: int, row: int) -> tuple[Fraction, int]:
    """When a row of a corpus is due, in rows; ties are broken by the number of the corpus."""
    weight = mix.weights[corpus]
    return (Fraction(2 * row + 1, 2 * weight) if weight else Fraction(0), corpus)


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
