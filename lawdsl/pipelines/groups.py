"""One group of rows: the fit of its law, and the prediction that it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.binding import bind
from lawdsl.data.table import Table
from lawdsl.fitting.diagnostics.diagnose import at_bounds, too_little, worse_than_constant
from lawdsl.fitting.fit import fit
from lawdsl.fitting.intervals.m_estimator import noise_of
from lawdsl.fitting.intervals.prediction_errors import Predictions, predictions
from lawdsl.fitting.options import FitOptions
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.result import Fit
from lawdsl.fitting.solvers.multistart import optimum
from lawdsl.law.law import Law
from lawdsl.pipelines.parts import Part

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

FLOOR = 0.3  # of the usual error of the rows of a group: none counts as smaller
ROUNDING = 1e-9  # relative: errors that are nothing but rounding


@dataclass(frozen=True)
class Fitted:
    """The fit of a group.

    Attributes:
        law: the law.
        rows: the places of its rows in the table of the step, in the order of the fit.
        labels: what they have in common.
        sigma: errors of the rows in the scale of the residuals, shape (rows,); None where unknown.
        point: the variables where it predicts, shape (variables, 1); None for no point.
        problem: the fit, rows weighted by their errors; None where there can be none.
        theta: the fitted parameters, shape (parameters,).
        bounds: parameter -> the side of its domain on whose end it lies.
        ahead: the prediction.
        fit: the whole fit, in the last step.
        left_out: why it is not used.
    """

    law: Law
    rows: Rows
    labels: Mapping[str, str]
    sigma: Array | None = None
    point: Array | None = None
    problem: Problem | None = None
    theta: Array = field(default_factory=lambda: np.zeros(0))
    bounds: Mapping[str, str] = field(default_factory=dict)
    ahead: Predictions | None = None
    fit: Fit | None = None
    left_out: str = ""

    @property
    def weights(self) -> Array | None:
        """What its rows count: 1 in the mean."""
        if self.sigma is None:
            return None
        weights = 1 / self.sigma**2
        return weights / float(np.mean(weights))

    @property
    def unit_variance(self) -> float:
        """The variance of a row of weight 1, if its error is all its noise."""
        assert self.sigma is not None
        return 1 / float(np.mean(1 / self.sigma**2))

    @property
    def noise(self) -> tuple[float, float]:
        """How many rows it has beyond its parameters, and the variance of a row of weight 1."""
        assert self.problem is not None
        free = self.problem.parameters - len(self.bounds)
        residual = self.problem.slopes(self.theta[None])[0][0]
        return float(self.problem.rows - free), noise_of(self.problem, residual, free).tau2


def floored(sigma: Array) -> Array:
    """Errors of the rows of a group, of which none is so small that its row rules all others."""
    return np.maximum(sigma, max(FLOOR * float(np.median(sigma)), ROUNDING))


def point_of(part: Part, rows: Rows, at: Mapping[str, float], labels: Mapping[str, str]) -> Array:
    """The variables at the point of a group: those behind `at`, and what its rows share.

    Args:
        part: that the group belongs to.
        rows: the group's rows among those of the part.
        at: variable -> value.
        labels: what the rows have in common.

    Returns:
        Shape (variables, 1).

    Raises:
        LawdslError: a variable that is neither, or a point outside the law's domain.
    """
    law, values = part.law, {}
    for q, column in zip(law.variables, part.runs.columns, strict=True):
        if q.name not in at and np.ptp(column[rows]) > 0:
            group = ", ".join(f"{k} = {v}" for k, v in labels.items())
            message = f"`{law.name}` predicts at one point, and {q.name} has several values"
            message += f" where {group}" if group else ""
            help = f"say which: `at {q.name} = …`; or tell groups apart by it: `by {q.name}`"
            raise LawdslError(Diagnostic("F0402", message, place=part.runs.name, help=help))
        values[q.name] = pa.chunked_array([[at.get(q.name, float(column[rows[0]]))]])
    where = Table(f"the point of `{law.name}`", values, rows=np.arange(1, 2))
    return bind(law, where, {}, target=False).columns


def fitted(
    group: Fitted, whole: Problem, part: Part, rows: Rows, options: FitOptions, *, last: bool
) -> Fitted:
    """The group with its fit and its prediction, or with the reason why there is none.

    Args:
        group: what is known of it before.
        whole: the fit of its law to all rows of the part.
        part: that it belongs to.
        rows: its rows among those of the part.
        options: of the fit; its seed.
        last: whether the fit is made whole.
    """
    law, problem = group.law, replace(whole.subset(rows), weights=group.weights)
    impossible = too_little(law, problem)
    if impossible:
        return replace(group, left_out=impossible[0].message)
    try:
        group = _whole(group, part, rows, options) if last else _quick(group, problem, options)
    except LawdslError as error:
        return replace(group, left_out=error.diagnostics[0].message)
    if group.left_out:
        return group
    with np.errstate(all="ignore"):
        _, bounds = at_bounds(law, problem, group.theta)
    group = replace(group, problem=problem, bounds=bounds)
    return group if group.point is None else _ahead(group, problem, group.point)


def _whole(group: Fitted, part: Part, rows: Rows, options: FitOptions) -> Fitted:
    """With all that can be said of the fit but its claims."""
    numbers = part.runs.rows[rows]
    made = fit(
        group.law,
        part.table.at(numbers),
        weights=group.weights,
        claims=False,
        seed=options.seed,
        columns=part.columns,
    )
    theta = np.array([made.parameters[q.name].value for q in group.law.parameters])
    assert isinstance(made, Fit)
    return replace(group, fit=made, theta=theta)


def _quick(group: Fitted, problem: Problem, options: FitOptions) -> Fitted:
    """With the best parameters alone, if they can be trusted."""
    with np.errstate(all="ignore"):  # searches pass through places where a law overflows
        best = optimum(group.law, problem, seed=options.seed)
    if not best.converged:
        return replace(group, left_out=f"the search stopped early: {best.reason}")
    worse = worse_than_constant(problem, best.theta)
    return replace(group, theta=best.theta, left_out=worse[0].message if worse else "")


def _ahead(group: Fitted, problem: Problem, point: Array) -> Fitted:
    """With its prediction, unless its rows do not determine it."""
    ahead = predictions(problem, group.theta, point)
    if not np.isfinite(ahead.values[0]):
        return replace(group, left_out="the law has no value at the point")
    if not np.isfinite(ahead.reach[0]):
        return replace(group, left_out="its rows do not determine the prediction")
    return replace(group, ahead=ahead)
