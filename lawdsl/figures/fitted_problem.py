"""Fit, and the table it was fitted to -> the minimisation problem of the fit, at its minimum."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import counted
from lawdsl.core.objectives import Objective
from lawdsl.data.binding import Runs, bind
from lawdsl.data.read import IN_MEMORY, read_table
from lawdsl.fitting.intervals.m_estimator import Groups
from lawdsl.fitting.preparation.prepare import prepare
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.result import Fit
from lawdsl.fitting.stored_penalty import penalty_of
from lawdsl.law.law import Law

Array = NDArray[np.float64]

MAD_TO_SIGMA = 1.4826
"""Factor from the median absolute deviation to the standard deviation of a normal distribution."""

UNNAMED = "another table"


@dataclass(frozen=True)
class FittedProblem:
    """The minimisation problem of a fit, at its minimum.

    Attributes:
        law: the fitted law.
        prepared: the law as prepared for diagnostics and intervals.
        problem: the objective with its data.
        theta: the fitted parameters, shape (parameters,).
        groups: the training run of each row, shape (rows,); None where rows are independent.
        numbers: the number of each row in the table, shape (rows,); None where it is not known.
        total: the number of rows that were fitted, or the number drawn from another table.
        other: the name of the table if it is not the fitted one, else "".
    """

    law: Law
    prepared: PreparedLaw
    problem: Problem
    theta: Array
    groups: Groups
    numbers: NDArray[np.int64] | None
    total: int
    other: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variables."""
        return tuple(q.name for q in self.law.variables)

    @property
    def note(self) -> str:
        """A note on which rows of the fit these are; "" for all of them."""
        return kept_rows_note(self.problem.rows, self.total)


def fitted_problem(fit: Fit, law: Law, data: Any = None) -> FittedProblem:
    """Rebuild the minimisation problem of a fit.

    Args:
        fit: the fit.
        law: its law.
        data: the table that was fitted: a path, a data frame or a mapping of arrays; by default the
            rows that the fit keeps.

    Raises:
        LawdslError: no table for a fit that stores no rows (G0103); a table that the fit cannot be
            applied to.
    """
    prepared, objective = prepare(law), fitted_objective(fit)
    theta = np.array([fit.values[q.name] for q in law.parameters])
    names = [q.name for q in law.variables]
    if data is not None:
        runs = rows_of_table(fit, law, data)
        assert runs.target is not None
        problem = prepared.problem(runs.columns, runs.target, objective, runs.weights)
        groups, numbers, total = runs.groups, runs.rows, len(runs.target)
        other = other_table(fit, runs)
    else:
        if fit.rows is None:
            raise LawdslError(no_rows(fit))
        weights = fit.rows.table_weights
        problem = prepared.problem(
            *fit.rows.arrays(names), objective, None if weights is None else np.array(weights)
        )
        groups = fit.rows.run_numbers if fit.intervals.by == "runs" else None
        numbers, total, other = None, fit.data.rows, ""
    penalty = penalty_of(fit, law, problem.rows / total)
    return FittedProblem(
        law, prepared, replace(problem, penalty=penalty), theta, groups, numbers, total, other
    )


def fitted_objective(fit: Fit) -> Objective:
    """The objective that a fit minimised."""
    recorded = fit.objective
    return Objective(recorded.loss, recorded.of_logs).with_parameters(*recorded.parameters.values())


def rows_of_table(fit: Fit, law: Law, data: Any, where: tuple[str, ...] | None = None) -> Runs:
    """The rows of a table that a fit used, with their weights and runs.

    Args:
        fit: the fit.
        law: its law.
        data: the table.
        where: the conditions on its rows; by default those of the fit.

    Raises:
        LawdslError: a table that the fit cannot be applied to.
    """
    return bind(
        law,
        read_table(data, fit.data.columns),
        dict(fit.data.columns),
        where=fit.data.where if where is None else where,
        drop_bad=True,
        positive=fit.objective.of_logs,
        weights=fit.data.weights,
        run=fit.data.runs,
        warn=False,  # the fit has issued the warnings already
    )


def other_table(fit: Fit, runs: Runs) -> str:
    """The name of a table if its numbers are not those that were fitted, else ""."""
    if runs.digest == fit.data.digest:
        return ""
    is_named = runs.name not in (*IN_MEMORY, fit.data.name)
    return Path(runs.name).name if is_named else UNNAMED


def rows_text(law: str, fitted: str, rows: int, other: str) -> str:
    """Describe a law and the rows that it is drawn with.

    Args:
        law: the name of the law.
        fitted: the name of the fitted table.
        rows: the number of rows.
        other: the name of their table if it is not the fitted one, else "".
    """
    name, count = Path(fitted).name, counted(rows, "row")
    return (
        f"{law}, fitted to {name}, and {count} of {other}"
        if other
        else f"{law} and {count} of {name}"
    )


def other_table_notes(other: str) -> list[str]:
    """The note on rows that are not those of the fit."""
    name = "the table" if other == UNNAMED else other
    return [f"{name} is not the one that was fitted"] if other else []


def no_rows(fit: Fit) -> Diagnostic:
    """The error for a fit that stores no rows, if its table is not given."""
    message = f"this fit of {fit.law.name} keeps no rows"
    help = "give the table that was fitted: --data TABLE, in Python data=table"
    return Diagnostic("G0103", message, help=help)


def kept_rows_note(kept: int, total: int) -> str:
    """The note on which rows of a fit are drawn, if these are not all of them; else ""."""
    return "" if kept == total else f"{kept:,} of {total:,} rows, those that the fit keeps"
