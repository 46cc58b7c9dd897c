"""Protocols of comparison: rows -> folds, each of which is fitted on some rows and tested on others.

A protocol is written KIND or KIND:COLUMN, where COLUMN is a variable of the laws or a column of the
table; the names that papers use stand for some of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from lawdsl.comparing.common_rows import Measured
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.language.keywords import nearest

Rows = NDArray[np.int64]

SEGMENTS = ("early", "middle", "late")
QUARTERS = 4
SPLITS = 10
MOST = 1000  # folds


@dataclass(frozen=True)
class Fold:
    """One fit and its test.

    Attributes:
        label: what is tested.
        fit: numbers of the rows that are fitted, ascending.
        test: numbers of the rows that are predicted, ascending.
        part: folds of different parts ask different questions: each has a ranking of its own.
    """

    label: str
    fit: Rows
    test: Rows
    part: str = ""


@dataclass(frozen=True)
class Kind:
    """How rows become folds.

    Attributes:
        folds: the rows, and the column where there is one -> folds.
        says: what is done, in a line.
        column: whether it takes a column.
        along: whether it cuts curves along that column.
        held_out: whether the tests are on rows that the fit has not seen.
    """

    folds: Callable[[Measured, str], list[Fold]]
    says: str
    column: bool = True
    along: bool = False
    held_out: bool = True


@dataclass(frozen=True)
class Protocol:
    """A kind and its column; `name` is how it is written."""

    name: str
    kind: Kind
    column: str

    @property
    def held_out(self) -> bool:
        """Whether the tests are on rows that the fit has not seen."""
        return self.kind.held_out

    def folds(self, data: Measured) -> list[Fold]:
        """The folds of some rows.

        Raises:
            LawdslError: the protocol cannot be run on them; F0202.
        """
        return self.kind.folds(data, self.column)

    def along(self, data: Measured) -> str | None:
        """The variable along which a training run is measured: of one run's rows, all but this
        are the same."""
        if self.kind.along:
            return self.column
        return next((name for name in ALONG if name in data.variables), None)


def all_rows(data: Measured, column: str = "") -> list[Fold]:
    """One fit, judged on the rows it was fitted to."""
    rows = np.arange(data.rows)
    return [Fold("all rows", rows, rows)]


def splits(data: Measured, column: str = "") -> list[Fold]:
    """Ten times a quarter of the rows, drawn by lot, is predicted from the others.

    The lots are the same for every table of as many rows, and so for all labels of a law.
    """
    if data.rows < QUARTERS:
        message = f"{data.rows} rows: this takes {QUARTERS} or more"
        help = "measure more, or choose another protocol"
        raise LawdslError(Diagnostic("F0202", message, place=data.table.name, help=help))
    folds = []
    for seed in range(SPLITS):
        order = np.random.default_rng(seed).permutation(data.rows)
        tested = data.rows // QUARTERS
        rows = np.sort(order[tested:]), np.sort(order[:tested])
        folds.append(Fold(f"split {seed + 1}", *rows))
    return folds


def leave_out(count: int, data: Measured, column: str) -> list[Fold]:
    """Every choice of `count` of the distinct values is left out once and predicted."""
    label, texts = _at_least(data, column, count + 2)
    _not_too_many(data, column, math.comb(len(texts), count))
    folds = []
    for chosen in itertools.combinations(range(len(texts)), count):
        out = np.isin(label, chosen)
        name = f"{column} = {', '.join(texts[i] for i in chosen)}"
        folds.append(Fold(name, np.flatnonzero(~out), np.flatnonzero(out)))
    return folds


def segments(data: Measured, column: str) -> list[Fold]:
    """Each curve in three segments of equally many values: each is predicted from the other two."""
    part = _parts(data, column, len(SEGMENTS))
    return [
        Fold(f"{column} {name}", np.flatnonzero(part != i), np.flatnonzero(part == i), name)
        for i, name in enumerate(SEGMENTS)
    ]


def growing(data: Measured, column: str) -> list[Fold]:
    """From the two smallest values on, each larger one is predicted from all that are smaller."""
    data.values(column)  # refuses a column of words, which has no smaller and larger
    label, texts = _at_least(data, column, 3)
    _not_too_many(data, column, len(texts) - 2)
    return [
        Fold(
            f"{column} = {texts[k]} from {column} <= {texts[k - 1]}",
            np.flatnonzero(label < k),
            np.flatnonzero(label == k),
        )
        for k in range(2, len(texts))
    ]


def continuing(data: Measured, column: str) -> list[Fold]:
    """What follows on each curve is predicted from its first quarter, half, three quarters."""
    part = _parts(data, column, QUARTERS)
    return [
        Fold(
            f"{column} beyond {k}/{QUARTERS} of each curve",
            np.flatnonzero(part < k),
            np.flatnonzero(part >= k),
        )
        for k in range(1, QUARTERS)
    ]


KINDS: Mapping[str, Kind] = {
    "all": Kind(all_rows, "one fit to all rows, judged by AICc", column=False, held_out=False),
    "splits": Kind(splits, "ten times a quarter of the rows, drawn by lot", column=False),
    "leave-one-out": Kind(partial(leave_out, 1), "each value is predicted from the others"),
    "leave-two-out": Kind(partial(leave_out, 2), "each two values are predicted from the others"),
    "segments": Kind(segments, "each third of each curve from the other two", along=True),
    "growing": Kind(growing, "each value from all that are smaller, two at least"),
    "continuing": Kind(
        continuing, "the rest of each curve from its first 1, 2, 3 quarters", along=True
    ),
}
"""What a protocol may be."""

NAMED: Mapping[str, str] = {
    "leave-one-N-out": "leave-one-out:N",
    "D-segments": "segments:D",
    "r-7-of-9": "leave-two-out:r",
    "domains-4-of-6": "leave-two-out:domain",
    "growing-N": "growing:N",
    "growing-D": "continuing:D",
}
"""What the papers do: name -> protocol."""

USUAL = ("all", "leave-one-out:N", "segments:D", "leave-two-out:r")
"""What is done where nothing is asked for: Tables 1 to 4 of the D-CPT paper."""

ALONG = ("D", "S", "T")
"""What the variable is called along which a training run is measured: tokens, steps, time."""


def protocol(text: str) -> Protocol:
    """A protocol as it is written: `leave-one-out:N`, or by a paper's name.

    Raises:
        LawdslError: there is none of this name, or it lacks its column; F0201.
    """
    name = NAMED.get(text.strip(), text.strip())
    word, colon, column = (piece.strip() for piece in name.partition(":"))
    kind = KINDS.get(word)
    if kind is None:
        known = [*KINDS, *NAMED]
        alike = nearest(word, known)
        help = f"did you mean `{alike}`?" if alike else f"there are {', '.join(known)}"
        notes = tuple(f"{name}: {kind.says}" for name, kind in KINDS.items())
        message = f"`{text}` is not a protocol"
        raise LawdslError(Diagnostic("F0201", message, notes=notes, help=help))
    if kind.column and not column:
        message = f"`{text}` does not say along which column"
        raise LawdslError(Diagnostic("F0201", message, help=f"write it behind a colon: {word}:N"))
    if colon and not kind.column:
        message = f"`{word}` takes no column"
        raise LawdslError(Diagnostic("F0201", message, help=f"write `{word}` alone"))
    return Protocol(f"{word}:{column}" if column else word, kind, column)


def _at_least(data: Measured, column: str, fewest: int) -> tuple[Rows, tuple[str, ...]]:
    """The groups of a column, which must be so many."""
    label, texts = data.groups(column)
    if len(texts) >= fewest:
        return label, texts
    plural = "s" if len(texts) > 1 else ""
    message = (
        f"{column} has {len(texts)} value{plural}, {', '.join(texts)}: this takes {fewest} or more"
    )
    help = "measure more of them, or choose another protocol"
    raise LawdslError(Diagnostic("F0202", message, place=data.table.name, help=help))


def _not_too_many(data: Measured, column: str, folds: int) -> None:
    if folds > MOST:
        message = f"{column} has so many values that there are {folds:,} folds"
        help = f"cut it into parts: segments:{column}, or give a column of fewer values"
        raise LawdslError(Diagnostic("F0202", message, place=data.table.name, help=help))


def _parts(data: Measured, column: str, count: int) -> Rows:
    """The part of its curve in which each row lies, from 0; equal values lie in one part."""
    values = data.values(column)
    curves = data.curves(column)
    part = np.empty(data.rows, dtype=np.int64)
    for curve in range(int(curves.max()) + 1):
        rows = np.flatnonzero(curves == curve)
        distinct, place = np.unique(values[rows], return_inverse=True)
        if len(distinct) < count:
            raise _short(data, column, rows, len(distinct), count)
        lengths = [len(piece) for piece in np.array_split(distinct, count)]
        part[rows] = np.repeat(np.arange(count), lengths)[place]
    return part


def _short(data: Measured, column: str, rows: Rows, found: int, count: int) -> LawdslError:
    """The refusal of a curve that cannot be cut."""
    at = [
        f"{name} = {values[rows[0]]:g}"
        for name, values in data.variables.items()
        if column not in (name, data.bound[name])
    ]
    plural = "s" if found > 1 else ""
    message = (
        f"the curve at {', '.join(at) or 'hand'} has {found} value{plural} of {column}: "
        f"this takes {count} or more"
    )
    help = "leave it out with --where, or choose another protocol"
    return LawdslError(Diagnostic("F0202", message, place=data.table.name, help=help))
