"""Protocol + rows -> folds, each of which is fitted on some rows and tested on others.

A protocol is written KIND or KIND:COLUMN, where COLUMN is a variable of the laws or a column of the
table; the names in papers are aliases of some of them.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from lawdsl.comparing.common_rows import CommonRows
from lawdsl.comparing.largest_first import RATIOS, largest_runs
from lawdsl.comparing.run_cost import COST, check_costs, costs
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.language.keywords import did_you_mean, nearest

Rows = NDArray[np.int64]

SEGMENTS = ("early", "middle", "late")
QUARTERS = 4
SPLIT_COUNT = 10
MAX_FOLDS = 1000  # greatest number of folds


@dataclass(frozen=True)
class Fold:
    """One fit and its test.

    Attributes:
        label: a description of the tested rows.
        fit: positions of the rows that are fitted, ascending.
        test: positions of the rows that are predicted, ascending.
        part: the part of the protocol; each part has its own ranking.
    """

    label: str
    fit: Rows
    test: Rows
    part: str = ""


@dataclass(frozen=True)
class ProtocolKind:
    """A kind of protocol: a method of splitting rows into folds.

    Attributes:
        folds: the function from the rows and the column, if any, to the folds.
        description: a description in one line.
        column: whether it requires a column.
        along: whether it splits curves along the column.
        held_out: whether the tested rows are not used by the fit.
        intervals: whether laws are ranked by the intervals of their predictions; then a fold may
            have no rows to fit.
    """

    folds: Callable[[CommonRows, str], list[Fold]]
    description: str
    column: bool = True
    along: bool = False
    held_out: bool = True
    intervals: bool = False


@dataclass(frozen=True)
class Protocol:
    """A kind of protocol and its column; `name` is its textual form."""

    name: str
    kind: ProtocolKind
    column: str

    @property
    def held_out(self) -> bool:
        """Whether the tested rows are not used by the fit."""
        return self.kind.held_out

    def folds(self, data: CommonRows) -> list[Fold]:
        """Split rows into the folds of the protocol: at least one fold, each with rows to fit and
        to test.

        Raises:
            LawdslError: the protocol cannot be applied to the rows; F0202.
        """
        folds = self.kind.folds(data, self.column)
        testable = [fold for fold in folds if len(fold.fit) or not self.kind.intervals]
        problem = _problem_of(testable, data.rows, held_out=self.held_out)
        if problem:
            help = "measure more, or choose another protocol"
            raise LawdslError(Diagnostic("F0202", problem, place=data.table.name, help=help))
        return folds

    def along(self, data: CommonRows) -> str | None:
        """The variable that changes along a training run; other variables are constant within a
        run.
        """
        if self.kind.along:
            return self.column
        return next((name for name in TRAINING_AXES if name in data.variables), None)


def all_rows(data: CommonRows, column: str = "") -> list[Fold]:
    """One fold, fitted to all rows and evaluated on them.

    Args:
        data: the rows.
        column: not used.
    """
    rows = np.arange(data.rows)
    return [Fold("all rows", rows, rows)]


def splits(data: CommonRows, column: str = "") -> list[Fold]:
    """Ten folds: a random quarter of the rows, or of the runs, is predicted from the others.

    Rows of one run stay together. The random ones are the same for every table with as many rows,
    or runs, and so for all labels of a law.

    Args:
        data: the rows.
        column: not used.
    """
    unit = np.arange(data.rows) if data.runs is None else data.runs
    count = int(unit.max()) + 1
    if count < QUARTERS:
        what = "rows" if data.runs is None else "runs"
        message = f"{count} {what}: this takes {QUARTERS} or more"
        help = "measure more, or choose another protocol"
        raise LawdslError(Diagnostic("F0202", message, place=data.table.name, help=help))
    folds = []
    for seed in range(SPLIT_COUNT):
        # seeded by the index of the split, not by the user's seed, so that all labels and laws have
        # the same rows
        order = np.random.default_rng(seed).permutation(count)
        is_tested = np.isin(unit, order[: count // QUARTERS])
        rows = np.flatnonzero(~is_tested), np.flatnonzero(is_tested)
        folds.append(Fold(f"split {seed + 1}", *rows))
    return folds


def leave_out(count: int, data: CommonRows, column: str) -> list[Fold]:
    """A fold for every choice of `count` distinct values of a column, predicted from the others.

    Args:
        count: the number of values that are left out at once.
        data: the rows.
        column: the name of a variable or column.
    """
    label, texts = _groups_at_least(data, column, count + 2)
    _check_fold_count(data, column, math.comb(len(texts), count))
    folds = []
    for chosen in itertools.combinations(range(len(texts)), count):
        is_left_out = np.isin(label, chosen)
        name = f"{column} = {', '.join(texts[i] for i in chosen)}"
        folds.append(Fold(name, np.flatnonzero(~is_left_out), np.flatnonzero(is_left_out)))
    return folds


def segments(data: CommonRows, column: str) -> list[Fold]:
    """Folds that predict one of three segments of each curve, with equal numbers of values.

    Args:
        data: the rows.
        column: the variable along the curves.
    """
    part = _curve_parts(data, column, len(SEGMENTS))
    return [
        Fold(f"{column} {name}", np.flatnonzero(part != i), np.flatnonzero(part == i), name)
        for i, name in enumerate(SEGMENTS)
    ]


def growing(data: CommonRows, column: str) -> list[Fold]:
    """A fold for each value above the two smallest ones, predicted from all smaller values.

    Args:
        data: the rows.
        column: the name of a variable or numeric column.
    """
    data.values(column)  # raises an error for a column of text, which has no numerical order
    label, texts = _groups_at_least(data, column, 3)
    _check_fold_count(data, column, len(texts) - 2)
    return [
        Fold(
            f"{column} = {texts[k]} from {column} <= {texts[k - 1]}",
            np.flatnonzero(label < k),
            np.flatnonzero(label == k),
        )
        for k in range(2, len(texts))
    ]


def continuing(data: CommonRows, column: str) -> list[Fold]:
    """Folds that predict the rest of each curve from its first quarter, half, and three quarters.

    Args:
        data: the rows.
        column: the variable along the curves.
    """
    part = _curve_parts(data, column, QUARTERS)
    return [
        Fold(
            f"{column} beyond {k}/{QUARTERS} of each curve",
            np.flatnonzero(part < k),
            np.flatnonzero(part >= k),
        )
        for k in range(1, QUARTERS)
    ]


def largest(data: CommonRows, column: str) -> list[Fold]:
    """Folds that predict the largest runs from those that cost at most 1/R of them, R = 1, 3, 10.

    Rows of one run stay together.

    Args:
        data: the rows.
        column: the size of a run: a variable, a numeric column, or `cost`.
    """
    if np.any(data.target <= 0):
        message = "some measured value is not above 0: intervals are scored in logarithms"
        help = "choose rows with --where, or choose another protocol"
        raise LawdslError(Diagnostic("F0202", message, place=data.table.name, help=help))
    size = costs(data) if column == COST else check_costs(data, column, data.values(column))
    cost = costs(data) if data.cost is not None and column != COST else None
    split = largest_runs(size, data.runs, cost)
    if split.held_out.all():
        message = f"{column} has 1 value: this takes 2 or more"
        help = "measure more of them, or choose another protocol"
        raise LawdslError(Diagnostic("F0202", message, place=data.table.name, help=help))
    test = np.flatnonzero(split.held_out)
    folds = []
    for ratio in RATIOS:
        limit = f"cost <= {split.smallest / ratio:.4g}"
        label = f"{column} >= {np.min(size[test]):.4g} from {limit if ratio > 1 else 'all others'}"
        folds.append(Fold(label, np.flatnonzero(split.fitted(ratio)), test, f"R = {ratio:g}"))
    return folds


KINDS: Mapping[str, ProtocolKind] = {
    "all": ProtocolKind(
        all_rows, "one fit to all rows, judged by AICc", column=False, held_out=False
    ),
    "splits": ProtocolKind(splits, "ten times a random quarter of the rows", column=False),
    "leave-one-out": ProtocolKind(partial(leave_out, 1), "each value is predicted from the others"),
    "leave-two-out": ProtocolKind(
        partial(leave_out, 2), "each two values are predicted from the others"
    ),
    "segments": ProtocolKind(segments, "each third of each curve from the other two", along=True),
    "growing": ProtocolKind(growing, "each value from all that are smaller, two at least"),
    "continuing": ProtocolKind(
        continuing, "the rest of each curve from its first 1, 2, 3 quarters", along=True
    ),
    "largest": ProtocolKind(
        largest, "the largest runs from those that cost 1/R of them at most", intervals=True
    ),
}
"""The kinds of protocols, by name."""

PAPER_NAMES: Mapping[str, str] = {
    "leave-one-N-out": "leave-one-out:N",
    "D-segments": "segments:D",
    "r-7-of-9": "leave-two-out:r",
    "domains-4-of-6": "leave-two-out:domain",
    "growing-N": "growing:N",
    "growing-D": "continuing:D",
}
"""The names that papers use -> protocol."""

DEFAULT_PROTOCOLS = ("all", "leave-one-out:N", "segments:D", "leave-two-out:r")
"""The default protocols: Tables 1 to 4 of the D-CPT paper."""

TRAINING_AXES = ("D", "S", "T")
"""Names of the variable along which a training run is measured: tokens, steps, time."""


OTHER_NAMES: Mapping[str, str] = {
    "leave-one-out": "loo loocv loo-cv leaveoneout leave1out leave-1-out l1o jackknife logo "
    "leave-one-group-out holdout hold-out held-out",
    "leave-two-out": "lto leave2out leave-2-out l2o leave-p-out",
    "splits": "kfold k-fold kfolds cv crossvalidation cross-validation random split shuffle "
    "monte-carlo random-split",
    "all": "none aic aicc bic in-sample full train",
    "growing": "expanding forward walk-forward rolling time-series incremental",
    "largest": "extrapolation extrapolate biggest large big",
}
"""Protocol -> what it is called elsewhere."""


def _meant_kind(name: str) -> str | None:
    """The protocol that another name stands for; None if it is not known."""
    word = re.sub(r"[\s_]+", "-", name.lower())
    for kind, others in OTHER_NAMES.items():
        if word in others.split() or word == kind:
            return kind
    return nearest(word, KINDS)


def parse_protocol(text: str) -> Protocol:
    """Parse a protocol: `leave-one-out:N`, or its alias in papers.

    Raises:
        LawdslError: an unknown protocol, or a missing column; F0201.
    """
    name = PAPER_NAMES.get(text.strip(), text.strip())
    kind_name, colon, column = (piece.strip() for piece in name.partition(":"))
    kind = KINDS.get(kind_name)
    if kind is None:
        meant = _meant_kind(kind_name)
        if meant is not None:
            along = f":{column or 'N'}" if KINDS[meant].column else ""
            help = f"did you mean {meant}{along}?"
            raise LawdslError(Diagnostic("F0201", f"`{text}` is not a protocol", help=help))
        names = [*KINDS, *PAPER_NAMES]
        help = did_you_mean(kind_name, names, f"there are {', '.join(names)}")
        notes = tuple(f"{name}: {kind.description}" for name, kind in KINDS.items())
        message = f"`{text}` is not a protocol"
        raise LawdslError(Diagnostic("F0201", message, notes=notes, help=help))
    if kind.column and not column:
        message = f"`{text}` does not say along which column"
        raise LawdslError(
            Diagnostic("F0201", message, help=f"write it behind a colon: {kind_name}:N")
        )
    if colon and not kind.column:
        message = f"`{kind_name}` takes no column"
        raise LawdslError(Diagnostic("F0201", message, help=f"write `{kind_name}` alone"))
    return Protocol(f"{kind_name}:{column}" if column else kind_name, kind, column)


def _problem_of(folds: Sequence[Fold], rows: int, *, held_out: bool) -> str:
    """The reason why folds cannot be fitted and tested; empty if they can.

    Args:
        folds: the folds.
        rows: the number of rows of the table.
        held_out: whether fitted and tested rows must be disjoint.
    """
    if not folds:
        return "no fold can be made of these rows"
    for fold in folds:
        for numbers, use in ((fold.fit, "fit"), (fold.test, "test")):
            if not len(numbers):
                return f"the fold {fold.label} has no rows to {use}"
            if not np.issubdtype(numbers.dtype, np.integer):
                return f"the fold {fold.label} does not {use} rows by their numbers"
            if numbers.min() < 0 or numbers.max() >= rows:
                first = next(i for i in numbers.tolist() if not 0 <= i < rows)
                return f"the fold {fold.label} is to {use} row {first}: rows are 0 to {rows - 1}"
        both = np.intersect1d(fold.fit, fold.test)
        if held_out and len(both):
            plural = "s" if len(both) > 1 else ""
            return f"the fold {fold.label} tests {len(both)} row{plural} that it fits"
    names = Counter((fold.part, fold.label) for fold in folds)
    repeated = next((label for (_, label), count in names.items() if count > 1), None)
    return "" if repeated is None else f"two folds have the label {repeated}"


def _groups_at_least(data: CommonRows, column: str, fewest: int) -> tuple[Rows, tuple[str, ...]]:
    """The groups of a column; an error if there are fewer than `fewest`."""
    label, texts = data.groups(column)
    if len(texts) >= fewest:
        return label, texts
    plural = "s" if len(texts) > 1 else ""
    message = (
        f"{column} has {len(texts)} value{plural}, {', '.join(texts)}: this takes {fewest} or more"
    )
    help = "measure more of them, or choose another protocol"
    raise LawdslError(Diagnostic("F0202", message, place=data.table.name, help=help))


def _check_fold_count(data: CommonRows, column: str, folds: int) -> None:
    if folds > MAX_FOLDS:
        message = f"{column} has so many values that there are {folds:,} folds"
        help = f"cut it into parts: segments:{column}, or give a column of fewer values"
        raise LawdslError(Diagnostic("F0202", message, place=data.table.name, help=help))


def _curve_parts(data: CommonRows, column: str, count: int) -> Rows:
    """The index of the part of its curve to which each row belongs, from 0; equal values are in one
    part.
    """
    values = data.values(column)
    curves = data.curves(column)
    part = np.empty(data.rows, dtype=np.int64)
    for curve in range(int(curves.max()) + 1):
        rows = np.flatnonzero(curves == curve)
        distinct, positions = np.unique(values[rows], return_inverse=True)
        if len(distinct) < count:
            raise _short_curve_error(data, column, rows, len(distinct), count)
        lengths = [len(piece) for piece in np.array_split(distinct, count)]
        part[rows] = np.repeat(np.arange(count), lengths)[positions]
    return part


def _short_curve_error(
    data: CommonRows, column: str, rows: Rows, value_count: int, count: int
) -> LawdslError:
    """The error for a curve with too few values."""
    coordinates = [
        f"{name} = {values[rows[0]]:g}"
        for name, values in data.variables.items()
        if column not in (name, data.bound[name])
    ]
    plural = "s" if value_count > 1 else ""
    message = (
        f"the curve at {', '.join(coordinates) or 'hand'} has {value_count} value{plural} of {column}: "
        f"this takes {count} or more"
    )
    help = "leave it out with --where, or choose another protocol"
    return LawdslError(Diagnostic("F0202", message, place=data.table.name, help=help))
