"""Candidate runs: a table of them, what each costs, and which are done.

A candidate is a run: one row, or several that share a value in the column `run`, as the checkpoints
of a run do. It costs what its dearest row costs: the rows before its end come free. Of a stable run
with decay branches each branch is a candidate: it costs its decay, and the part of the stable run
that no other branch has paid for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.table import Table

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]

RUN_COLUMN = "run"
MAX_ROWS_OF_RUN = 4  # rows of a candidate that are looked at: the last ones of evenly spaced ones
SAME_RTOL = 1e-6  # values that differ by less are those of one setting


@dataclass(frozen=True)
class Pool:
    """Candidate runs.

    Attributes:
        name: of the table or sweep that they are from.
        table: a row for each measurement of each run.
        labels: of the runs, in the order of the table.
        rows: the rows of each run, shape (runs, rows of a run), -1 behind the last.
        costs: of each run, above 0, shape (runs,).
        unit: of the costs.
        done: which runs are done already, as the candidates themselves say; shape (runs,).
        left_out: candidates that cannot be run, with the reason.
        stems: the number of the stable run that each candidate branches from, -1 for none; None where
            there are no branches.
        trunks: the part of each cost that is the stable run until the branch, shape (runs,).
        begun: how much of that is trained already, shape (runs,).
        sunk: the cost of runs that were given up.
    """

    name: str
    table: Table
    labels: tuple[str, ...]
    rows: Numbers
    costs: Array
    unit: str = "FLOP"
    done: Mask | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    stems: Numbers | None = None
    trunks: Array | None = None
    begun: Array | None = None
    sunk: float = 0.0

    def __len__(self) -> int:
        return len(self.labels)

    def point(self, run: int, columns: Iterable[str]) -> dict[str, float]:
        """Column -> its value at the end of a run, as the table has it.

        Args:
            run: its position.
            columns: the columns; one may be given more than once.
        """
        rows = self.rows[run]
        end = int(rows[rows >= 0][-1])
        return {name: float(self.table.numbers(name)[end]) for name in dict.fromkeys(columns)}

    def prices(self, bought: Sequence[int] | Numbers) -> Array:
        """What each run costs once others are done or chosen, shape (runs,).

        Args:
            bought: the numbers of those.
        """
        if self.stems is None or self.trunks is None:
            return self.costs
        paid = np.zeros(len(self)) if self.begun is None else self.begun.copy()
        for number in bought:
            if self.stems[number] >= 0:
                same = self.stems == self.stems[number]
                paid[same] = np.maximum(paid[same], self.trunks[number])
        return np.asarray(self.costs - np.minimum(self.trunks, paid))

    def bill(self, bought: Sequence[int] | Numbers) -> float:
        """What some runs cost together, with stable runs that are begun and runs that were given up.

        Args:
            bought: their numbers.
        """
        total = self.sunk
        if self.stems is None or self.trunks is None:
            return total + float(np.sum(self.costs[list(bought)]))
        for stem in np.unique(self.stems[self.stems >= 0]):
            same = self.stems == stem
            chosen = [number for number in bought if same[number]]
            begun = 0.0 if self.begun is None else float(np.max(self.begun[same]))
            total += max(begun, float(np.max(self.trunks[chosen], initial=0.0)))
        return total + float(np.sum(self.costs[list(bought)] - self.trunks[list(bought)]))


def runs_of_table(table: Table) -> tuple[tuple[str, ...], Numbers]:
    """The runs of a table: their labels, and the rows of each, shape (runs, rows of a run).

    Args:
        table: with a row for each measurement; rows that share a value in `run` are of one run.
    """
    count = len(table.rows)
    if RUN_COLUMN in table.columns and len(set(table.texts(RUN_COLUMN))) < count:
        texts = table.texts(RUN_COLUMN)
        order = tuple(dict.fromkeys(texts))
        of_label = dict[str, list[int]]()
        for number, text in enumerate(texts):
            of_label.setdefault(text, []).append(number)
        members = [of_label[label] for label in order]
    else:
        order = _labels(table, count)
        members = [[i] for i in range(count)]
    kept = [_thinned(rows) for rows in members]
    width = max((len(rows) for rows in kept), default=1)
    padded = np.full((len(kept), width), -1)
    for number, rows in enumerate(kept):
        padded[number, : len(rows)] = rows
    return order, padded


def _thinned(rows: Sequence[int]) -> list[int]:
    """A few rows of a run, the last among them."""
    if len(rows) <= MAX_ROWS_OF_RUN:
        return list(rows)
    places = np.linspace(0, len(rows) - 1, MAX_ROWS_OF_RUN + 1)[1:].round().astype(int)
    return [rows[i] for i in places]


def _labels(table: Table, count: int) -> tuple[str, ...]:
    """Labels of runs that have one row each: those of the table, or their numbers in it."""
    for column in (RUN_COLUMN, "label", "mixture", "name"):
        if column in table.columns:
            texts = tuple(map(str, table.texts(column)))
            if len(set(texts)) == count:
                return texts
    return tuple(f"row {line}" for line in table.rows)


def done_candidates(candidates: Array, rows: Numbers, fitted: Array) -> Mask:
    """Which candidates have been run: those whose values a fitted row has; each row counts once.

    Args:
        candidates: the variables of a law at all candidate rows, shape (variables, rows).
        rows: of each run, shape (runs, rows of a run).
        fitted: the variables at the fitted rows, shape (variables, fitted rows).

    Returns:
        Shape (runs,).
    """
    last = np.array([row[row >= 0][-1] for row in rows])
    left = list(range(fitted.shape[1]))
    done = np.zeros(len(rows), dtype=np.bool_)
    for number, row in enumerate(last):
        point = candidates[:, row, None]
        near = np.all(
            np.abs(fitted[:, left] - point) <= SAME_RTOL * np.maximum(np.abs(point), 1e-300), axis=0
        )
        if near.any():
            done[number] = True
            del left[int(np.argmax(near))]
    return done


def check_budget(pool: Pool, budget: float) -> None:
    """Refuse a budget below the cheapest run.

    Raises:
        LawdslError: N0102.
    """
    cheapest = float(np.min(pool.costs, initial=np.inf))
    if np.isfinite(cheapest) and budget < cheapest * (1 - 1e-9):
        message = f"the budget of {budget:.3g} {pool.unit} is below the cheapest candidate"
        place = pool.labels[int(np.argmin(pool.costs))]
        help = (
            f"`{place}` costs {cheapest:.3g} {pool.unit}: raise --budget, or add cheaper candidates"
        )
        raise LawdslError(Diagnostic("N0102", message, place=pool.name, help=help))
