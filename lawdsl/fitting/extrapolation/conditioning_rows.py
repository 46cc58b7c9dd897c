"""Rows of a fit -> the subset that a discrepancy is conditioned on, which fit files store.

Conditioning on n rows takes n³/3 operations. Checkpoints of one run are strongly correlated, so
only a few per run are kept, evenly spaced in the logarithm of the variable that changes along the
run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.records import MAY_BE_ABSENT
from lawdsl.data.row_codes import row_codes
from lawdsl.fitting.intervals.m_estimator import rows_by_run
from lawdsl.fitting.losses import with_slope
from lawdsl.fitting.problem import Problem, rho_curvature

Array = NDArray[np.float64]

MAX_ROWS = 256
MAX_CHECKPOINTS = 6  # checkpoints kept per run
SEED = 0


@dataclass(frozen=True)
class ConditioningRows:
    """Fitted rows, in the law's units.

    Attributes:
        columns: variable -> its values, one per row.
        target: the measured output, one value per row.
        runs: the index of each row's run; None if the runs are unknown.
        weights: the weight of each row in the fit, that of the table times rho'(r)/r of the loss;
            None if all are equal.
        table_weights: the weights of the table; None if all are equal.
    """

    columns: Mapping[str, tuple[float, ...]]
    target: tuple[float, ...]
    runs: tuple[int, ...] | None = None
    weights: Annotated[tuple[float, ...] | None, MAY_BE_ABSENT] = None
    table_weights: Annotated[tuple[float, ...] | None, MAY_BE_ABSENT] = None

    def arrays(self, names: Sequence[str]) -> tuple[Array, Array]:
        """Variables, shape (variables, rows), and the output, shape (rows,).

        Args:
            names: the variables.
        """
        target = np.array(self.target, dtype=np.float64)
        columns = np.array([self.columns[name] for name in names], dtype=np.float64)
        return columns.reshape(len(names), len(target)), target

    @property
    def run_numbers(self) -> NDArray[np.int64] | None:
        """The index of each row's run, shape (rows,), if some run has several rows; else None."""
        if self.runs is None or len(set(self.runs)) == len(self.runs):
            return None
        return np.array(self.runs, dtype=np.int64)


def rows_of_fit(
    names: tuple[str, ...], problem: Problem, theta: Array, runs: NDArray[np.int64] | None
) -> ConditioningRows | None:
    """Choose the rows of a fit that a discrepancy is conditioned on.

    Args:
        names: the variables.
        problem: the objective that was minimised, with its data.
        theta: the fitted parameters, shape (parameters,).
        runs: the number of each row's run, shape (rows,); None where they are unknown.

    Returns:
        The rows; None if the output or the law is not positive at some row, so that its logarithm
        is not defined, or if residuals of the loss are not centered at 0.
    """
    if not problem.objective.is_centered:
        return None
    predicted = problem.predictions(theta[None])[0]
    if not np.all((problem.target > 0) & (predicted > 0) & np.isfinite(predicted)):
        return None
    weights = problem.weights
    if not problem.objective.row.quadratic:
        residuals = problem.residuals_of(problem.model.value(theta[None]))[0]
        # a smoothed loss, since at a kink a residual of 0 would have an infinite weight
        objective = with_slope(problem.objective, residuals)
        by_loss = rho_curvature(residuals, objective, exact=False)
        weights = by_loss if weights is None else weights * by_loss
    return conditioning_rows(names, problem.columns, problem.target, runs, weights, problem.weights)


def conditioning_rows(
    names: tuple[str, ...],
    columns: Array,
    target: Array,
    runs: NDArray[np.int64] | None,
    weights: Array | None = None,
    table_weights: Array | None = None,
) -> ConditioningRows:
    """Choose the rows that a discrepancy is conditioned on.

    Args:
        names: the variables.
        columns: their values, shape (variables, rows).
        target: the measured output, shape (rows,).
        runs: the number of each row's run, shape (rows,); None where they are unknown.
        weights: the weights of the rows in the fit, shape (rows,); None where all are equal.
        table_weights: the weights of the table.
    """
    if runs is None and table_weights is None:
        # a copy of a row adds no information
        chosen = np.sort(
            np.unique(row_codes([*columns, target], len(target)), return_index=True)[1]
        )
    elif runs is None:
        chosen = np.arange(len(target))
    else:
        chosen = np.sort(
            np.concatenate([_checkpoints(columns, rows) for rows in rows_by_run(runs)])
        )
    if len(chosen) > MAX_ROWS:
        chosen = _spread_over(columns, chosen)
    return ConditioningRows(
        {name: tuple(values[chosen].tolist()) for name, values in zip(names, columns, strict=True)},
        tuple(target[chosen].tolist()),
        None if runs is None else tuple(int(x) for x in runs[chosen]),
        None if weights is None else tuple(weights[chosen].tolist()),
        None if table_weights is None else tuple(table_weights[chosen].tolist()),
    )


def _checkpoints(columns: Array, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """A few rows of one run, evenly spaced in the logarithm of the variable that varies most along
    it.
    """
    if len(rows) <= MAX_CHECKPOINTS:
        return rows
    along = columns[:, rows]
    # a positive variable by its logarithm, whose range does not depend on the unit
    logs = np.where(np.all(along > 0, axis=1)[:, None], np.log(np.maximum(along, 1e-300)), along)
    position = logs[np.argmax(np.ptp(logs, axis=1))]
    even = np.linspace(position.min(), position.max(), MAX_CHECKPOINTS)
    nearest = np.argmin(np.abs(position[:, None] - even), axis=0)
    return rows[np.unique(nearest)]


def _spread_over(columns: Array, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """A random sample that includes the rows with the smallest and the largest value of each
    variable.
    """
    extreme_rows = [rows[end(values[rows])] for values in columns for end in (np.argmin, np.argmax)]
    extremes = np.unique(extreme_rows)[:MAX_ROWS]
    others = np.setdiff1d(rows, extremes)
    sample = np.random.default_rng(SEED).choice(others, MAX_ROWS - len(extremes), replace=False)
    return np.sort(np.concatenate([extremes, sample]))
