"""Group of rows -> GroupFit: the fit of its law, and the prediction at its point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.binding import bind
from lawdsl.data.table import Table
from lawdsl.fitting.diagnostics.diagnose import (
    bound_findings,
    insufficient_data_errors,
    worse_than_mean_findings,
)
from lawdsl.fitting.fit import fit_with
from lawdsl.fitting.intervals.m_estimator import noise_of
from lawdsl.fitting.intervals.prediction_errors import Predictions, predict_with_errors
from lawdsl.fitting.options import FitOptions
from lawdsl.fitting.preparation.prepare import prepare
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.result import Fit
from lawdsl.fitting.solvers.multistart import optimum
from lawdsl.law.law import Law
from lawdsl.pipelines.parts import StepPart

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

# relative to the median error of a group: smallest error, so that no row dominates
ERROR_FLOOR = 0.3
MIN_ROW_ERROR = 1e-9  # below it, an error is rounding error


@dataclass(frozen=True)
class GroupFit:
    """The fit of a group.

    Attributes:
        law: the law.
        rows: the positions of its rows in the table of the step, in the order of the fit.
        labels: column -> the value that all its rows have.
        sigma: standard errors of the rows in the scale of the residuals, shape (rows,); None where
            unknown.
        point: the variables at the point of its prediction, shape (variables, 1); None for no
            prediction.
        problem: the objective with its data, rows weighted by their errors; None if not fittable.
        theta: the fitted parameters, shape (parameters,).
        bounds: parameter -> the bound on which it lies, lower or upper.
        prediction: the prediction at the point, with its error.
        fit: the complete fit, in the last step.
        left_out: the reason why it is not used; empty if it is used.
        stopped_early: the reason why the search stopped before it converged; empty if it converged.
    """

    law: Law
    rows: Rows
    labels: Mapping[str, str]
    sigma: Array | None = None
    point: Array | None = None
    problem: Problem | None = None
    theta: Array = field(default_factory=lambda: np.zeros(0))
    bounds: Mapping[str, str] = field(default_factory=dict)
    prediction: Predictions | None = None
    fit: Fit | None = None
    left_out: str = ""
    stopped_early: str = ""

    @property
    def weights(self) -> Array | None:
        """The weights of its rows, proportional to 1/sigma² with mean 1, shape (rows,); None where
        errors are unknown."""
        if self.sigma is None:
            return None
        weights = 1 / self.sigma**2
        # a mean of 1, since the sum of weights counts as the number of rows
        return weights / float(np.mean(weights))

    @property
    def unit_variance(self) -> float:
        """The variance of a row of weight 1 if the known errors are its only noise."""
        assert self.sigma is not None
        return 1 / float(np.mean(1 / self.sigma**2))

    @property
    def noise(self) -> tuple[float, float]:
        """The residual degrees of freedom, and the estimated variance of a row of weight 1."""
        assert self.problem is not None
        free = self.problem.parameters - len(self.bounds)
        residual = self.problem.slopes(self.theta[None])[0][0]
        noise = noise_of(self.problem, residual, free)
        # shrinking ignores the variance of a group without degrees of freedom
        return float(self.problem.rows - free) if noise.is_known else 0.0, noise.tau2


def floor_errors(sigma: Array) -> Array:
    """Errors of the rows of a group, bounded below so that no single row dominates the fit."""
    return np.maximum(sigma, max(ERROR_FLOOR * float(np.median(sigma)), MIN_ROW_ERROR))


def prediction_point(
    part: StepPart, rows: Rows, point_values: Mapping[str, float], labels: Mapping[str, str]
) -> Array:
    """The variables at the point of a group: those given by `at`, and those constant in its rows.

    Args:
        part: the part that the group belongs to.
        rows: the group's rows among those of the part.
        point_values: variable -> value.
        labels: column -> the value that all its rows have.

    Returns:
        Shape (variables, 1).

    Raises:
        LawdslError: a variable neither given nor constant, or a point outside the law's domain.
    """
    law, values = part.law, {}
    for q, column in zip(law.variables, part.runs.columns, strict=True):
        if q.name not in point_values and np.ptp(column[rows]) > 0:
            group = ", ".join(f"{k} = {v}" for k, v in labels.items())
            message = f"`{law.name}` predicts at one point, and {q.name} has several values"
            message += f" where {group}" if group else ""
            help = f"say which: `at {q.name} = …`; or tell groups apart by it: `by {q.name}`"
            raise LawdslError(Diagnostic("F0402", message, place=part.runs.name, help=help))
        values[q.name] = pa.chunked_array([[point_values.get(q.name, float(column[rows[0]]))]])
    point_table = Table(f"the point of `{law.name}`", values, rows=np.arange(1, 2))
    return bind(law, point_table, {}, target=False).columns


def fit_group(
    group: GroupFit,
    part_problem: Problem,
    part: StepPart,
    rows: Rows,
    options: FitOptions,
    *,
    last: bool,
    lenient: bool = False,
) -> GroupFit:
    """Fit a group and predict at its point, or record the reason why this is not possible.

    Args:
        group: without its fit.
        part_problem: the objective with its data, all rows of the part.
        part: the part that it belongs to.
        rows: its rows among those of the part.
        options: the options of the fit.
        last: whether the fit is complete, with intervals and diagnostics.
        lenient: whether a fit is used whose search stopped early.
    """
    law, problem = group.law, replace(part_problem.subset(rows), weights=group.weights)
    too_few_rows = insufficient_data_errors(prepare(law), problem)
    if too_few_rows:
        return replace(group, left_out=too_few_rows[0].message)
    try:
        group = (
            _fit_completely(group, part, rows, options)
            if last
            else _fit_parameters(group, problem, options, lenient)
        )
    except LawdslError as error:
        return replace(group, left_out=error.diagnostics[0].message)
    if group.left_out:
        return group
    with np.errstate(all="ignore"):
        _, bounds = bound_findings(prepare(law), problem, group.theta)
    group = replace(group, problem=problem, bounds=bounds)
    return group if group.point is None else _with_prediction(group, problem, group.point)


def _fit_completely(group: GroupFit, part: StepPart, rows: Rows, options: FitOptions) -> GroupFit:
    """The group with its complete fit, without verdicts on claims."""
    table_rows = part.runs.rows[rows]
    group_fit = fit_with(
        group.law,
        part.table.at(table_rows),
        FitOptions(
            weights=group.weights,
            claims=False,
            rolled_check=False,
            seed=options.seed,
            columns=part.columns,
        ),
    )
    theta = np.array([group_fit.parameters[q.name].value for q in group.law.parameters])
    assert isinstance(group_fit, Fit)
    return replace(group, fit=group_fit, theta=theta)


def _fit_parameters(
    group: GroupFit, problem: Problem, options: FitOptions, lenient: bool
) -> GroupFit:
    """The group with its best parameters, or with the reason why these cannot be trusted."""
    with np.errstate(all="ignore"):  # searches pass through points where a law overflows
        best = optimum(prepare(group.law), problem, seed=options.seed)
    if not best.converged and not lenient:
        return replace(group, left_out=f"the search stopped early: {best.reason}")
    group = replace(group, stopped_early="" if best.converged else best.reason)
    diagnostics = worse_than_mean_findings(problem, best.theta)
    return replace(group, theta=best.theta, left_out=diagnostics[0].message if diagnostics else "")


def _with_prediction(group: GroupFit, problem: Problem, point: Array) -> GroupFit:
    """The group with its prediction, or with the reason why its rows do not determine one."""
    prediction = predict_with_errors(problem, group.theta, point)
    if not np.isfinite(prediction.values[0]):
        return replace(group, left_out="the law has no value at the point")
    if not np.isfinite(prediction.unit_errors[0]):
        return replace(group, left_out="its rows do not determine the prediction")
    return replace(group, prediction=prediction)
