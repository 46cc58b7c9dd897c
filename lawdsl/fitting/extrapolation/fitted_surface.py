"""A fitted law and its rows, from which the error of the law is estimated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.objectives import Objective
from lawdsl.fitting.extrapolation.conditioning_rows import ConditioningRows
from lawdsl.fitting.extrapolation.law_error import LawErrorModel, prior_rows
from lawdsl.fitting.extrapolation.run_size import RunSize, SizeVariable, run_size
from lawdsl.fitting.penalty import Penalty
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem

if TYPE_CHECKING:
    from lawdsl.law.law import Law

Array = NDArray[np.float64]

MAX_WEIGHT_RATIO = 1e9  # largest ratio of a row's weight to the median weight


@dataclass(frozen=True)
class FittedSurface:
    """A fitted law, and the rows that its error is estimated from.

    Attributes:
        variables: the variables of the law.
        columns: their values at the rows, in the law's units, shape (variables, rows).
        target: the measured output, shape (rows,).
        runs: the run of each row, shape (rows,), if some run has several rows; else None.
        theta: the fitted parameters, shape (parameters,).
        of_logarithms: the function (columns, target) -> problem of the law on other rows, with
            residuals of logarithms.
        penalty: the penalty of the declared priors of its parameters; None without.
        weights: the weights of the table's rows, shape (rows,); None if all are equal.
    """

    variables: tuple[SizeVariable, ...]
    columns: Array
    target: Array
    runs: NDArray[np.int64] | None
    theta: Array
    of_logarithms: Callable[[Array, Array], Problem]
    penalty: Penalty | None = None
    weights: Array | None = None

    @classmethod
    def of(
        cls,
        variables: tuple[SizeVariable, ...],
        rows: ConditioningRows,
        theta: Array,
        of_logarithms: Callable[[Array, Array], Problem],
        penalty: Penalty | None = None,
    ) -> FittedSurface:
        """A fitted law at the rows that its fit stores; the arguments are as the attributes."""
        columns, target = rows.arrays([v.name for v in variables])
        weights = None
        if rows.table_weights is not None:
            weights = np.array(rows.table_weights)
            usual = float(np.median(weights))
            # beyond a billion times the usual weight only rounding errors change
            weights = np.clip(weights, usual / MAX_WEIGHT_RATIO, usual * MAX_WEIGHT_RATIO)
        runs = rows.run_numbers
        return cls(variables, columns, target, runs, theta, of_logarithms, penalty, weights)

    @classmethod
    def of_prepared(
        cls,
        law: PreparedLaw,
        variables: tuple[SizeVariable, ...],
        rows: ConditioningRows,
        theta: Array,
        penalty: Penalty | None = None,
    ) -> FittedSurface:
        """A fitted law from its prepared form; the arguments are as those of `of`."""
        logs = Objective(log=True)
        return cls.of(variables, rows, theta, lambda c, t: law.problem(c, t, logs, None), penalty)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variables."""
        return tuple(v.name for v in self.variables)

    @property
    def size(self) -> RunSize:
        """The formula of the size of a run."""
        return run_size(self.variables, self.columns)

    def at(self, columns: Array) -> Problem:
        """The law at points, shape (variables, points), without measurements."""
        return self.of_logarithms(columns, np.ones(columns.shape[1]))

    def law_error(self, amplitude: float) -> LawErrorModel:
        """The error of the law, conditioned on all rows; it is kept, since several tasks ask for it."""
        if amplitude not in self._law_errors:
            rows = np.arange(len(self.target))
            self._law_errors[amplitude] = self.law_error_of_rows(rows, self.theta, amplitude)
        return self._law_errors[amplitude]

    @cached_property
    def _law_errors(self) -> dict[float, LawErrorModel]:
        return {}

    def law_error_of_rows(
        self, rows: NDArray[np.int64], theta: Array, amplitude: float
    ) -> LawErrorModel:
        """The error of the law with other parameters, conditioned on some of the rows.

        Args:
            rows: the positions of these rows.
            theta: parameters that were fitted to them, shape (parameters,).
            amplitude: standard deviation of log L per decade.
        """
        problem = self.of_logarithms(self.columns[:, rows], self.target[rows])
        shares = tuple(v.is_share for v in self.variables)
        runs = None if self.runs is None else self.runs[rows]
        priors = prior_rows(self.penalty, theta)
        weights = None if self.weights is None else self.weights[rows]
        return LawErrorModel.of(
            problem, theta, self.names, shares, runs, amplitude, priors, weights
        )


def size_variables(law: Law) -> tuple[SizeVariable, ...]:
    """The variables of a law, with the properties that determine the size of a run."""
    return tuple(SizeVariable(q.name, q.unit, q.is_share) for q in law.variables)
