"""A fit and its rows -> the residuals that are drawn, with their systematic structure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.figures.fitted_problem import MAD_TO_SIGMA, FittedProblem
from lawdsl.figures.fitted_variables import axis_title
from lawdsl.fitting.diagnostics.residual_structure import ResidualStructure, residual_structure

Array = NDArray[np.float64]

LIMIT_SCALES = 6.0
"""End of the axis in robust standard deviations, if some rows lie further out."""
FIT, ORDER = "fitted", "row"
"""Names of the prediction, and of the number of a row in its table, among the variables."""


@dataclass(frozen=True)
class DrawnResiduals:
    """The contents of the figure.

    Attributes:
        fitted: the problem of the fit.
        residual: the residuals on the scale of the objective, shape (rows,): in percent of the
            output if the objective compares logarithms, else in the unit of the output.
        prediction: the fitted output, shape (rows,).
        structure: the systematic structure of the residuals; None where they cannot be tested.
        scale: a robust standard deviation of the residuals.
        limit: the end of the axis of the residuals.
    """

    fitted: FittedProblem
    residual: Array
    prediction: Array
    structure: ResidualStructure | None
    scale: float
    limit: float

    @property
    def log(self) -> bool:
        """Whether the objective compares logarithms."""
        return self.fitted.problem.objective.log

    @property
    def factor(self) -> float:
        """The factor from residuals of the objective to drawn ones."""
        return 100.0 if self.log else 1.0

    @property
    def unit(self) -> str:
        """The unit of drawn residuals, preceded by a space; "" for none."""
        if self.log:
            return " %"
        _, _, unit = axis_title(self.fitted.law, self.fitted.law.output).partition(" [")
        return f" {unit[:-1]}" if unit else ""

    @property
    def axis(self) -> str:
        """The title of the axis of the residuals."""
        output = self.fitted.law.output
        if self.log:
            return f"log({output} / fitted) [%]"
        return f"{output} − fitted" + (f" [{self.unit.strip()}]" if self.unit else "")

    def values(self, name: str) -> Array:
        """A variable, the prediction, or the number of the row in its table, shape (rows,)."""
        if name == FIT:
            return self.prediction
        if name == ORDER:
            assert self.fitted.numbers is not None
            return self.fitted.numbers.astype(np.float64)
        return self.fitted.problem.columns[self.fitted.names.index(name)]

    def size(self, value: float) -> str:
        """A drawn residual as text."""
        return f"{value:+.2g}{self.unit}"


def drawn_residuals(fitted: FittedProblem) -> DrawnResiduals:
    """The residuals of a fit and their systematic structure."""
    problem, theta = fitted.problem, fitted.theta
    prediction = problem.predictions(theta[None])[0].copy()
    with np.errstate(all="ignore"):
        residual = (
            100 * np.log(problem.target / prediction)
            if problem.objective.log
            else problem.target - prediction
        )
    # of a table that was not fitted, patterns are not those of a misfit alone
    structure = (
        None if fitted.other else residual_structure(fitted.prepared, problem, theta, fitted.groups)
    )
    centre = float(np.median(residual))
    scale = MAD_TO_SIGMA * float(np.median(np.abs(residual - centre)))
    sizes = np.abs(residual[np.isfinite(residual)])
    limit = float(np.max(sizes, initial=0.0))
    # a few rows far out would compress all others
    if scale and limit > 1.5 * LIMIT_SCALES * scale:
        limit = max(LIMIT_SCALES * scale, float(np.quantile(sizes, 0.97)))
    return DrawnResiduals(fitted, residual, prediction, structure, scale, 1.05 * limit or 1.0)


def far_rows(drawn: DrawnResiduals) -> NDArray[np.bool_]:
    """The rows that diagnostics of the fit name as outliers or exchanged, shape (rows,)."""
    structure = drawn.structure
    far = np.zeros(drawn.fitted.problem.rows, dtype=bool)
    if structure is not None:
        outlying = structure.outlying
        if outlying is not None and outlying.outliers.is_separated:
            far[outlying.view.rows[outlying.outliers.rows]] = True
        for exchange in structure.exchanges:
            far[exchange.rows] = True
        if structure.cluster is not None:
            view, members = structure.cluster
            far[view.rows[members]] = True
    return far
