"""Problem + parameters -> measures of goodness of fit: objective, R², mean absolute error,
optimality.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.block_equations import largest_eigenvalue, normal_equations
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem, rho
from lawdsl.fitting.result_parts import LossTotals, Metrics, ObjectiveValue, Optimality

Array = NDArray[np.float64]


def optimality(problem: Problem, free: Array, on_bound: NDArray[np.bool_]) -> Optimality:
    """The scaled gradient and curvature of the objective at a fit.

    With S = diag(|H_jj|^(-1/2)): the length |S·g|/sqrt(F) of the gradient, and the least eigenvalue
    of S·H·S. Both are nan for a loss with a kink.

    Args:
        problem: the objective to be minimised, with its data.
        free: its unconstrained parameters, shape (parameters,).
        on_bound: the mask of parameters on a bound, shape (parameters,), which are excluded.
    """
    if problem.objective.row.kinked:  # not differentiable at its minimum
        return Optimality(math.nan, math.nan)
    if problem.arrow is not None and problem.penalty is None:
        return _optimality_by_blocks(problem, free, on_bound)
    local = problem.local_model(free[None])
    inner = np.flatnonzero(~on_bound)
    gradient, hessian = local.gradient[0][inner], local.hessian[0][np.ix_(inner, inner)]
    with np.errstate(all="ignore"):
        scales = np.sqrt(np.abs(np.diag(hessian)))
        scaled = hessian / np.outer(scales, scales)
        # the loss of an exact fit is rounding error, by which the gradient must not be divided
        loss = max(local.loss[0], problem.exact)
        gradient_norm = np.linalg.norm(gradient / scales) / np.sqrt(loss)
    if not (np.all(np.isfinite(scaled)) and len(inner)):
        return Optimality(canonical_nan(float(gradient_norm)), math.nan)
    return Optimality(canonical_nan(float(gradient_norm)), float(np.linalg.eigvalsh(scaled)[0]))


def _optimality_by_blocks(problem: Problem, free: Array, on_bound: NDArray[np.bool_]) -> Optimality:
    """The same for a problem with blocks; the least eigenvalue is that of the inverse of S·H·S."""
    matrix, gradient, loss = normal_equations(problem, free)
    curvature = matrix.diagonal[0]
    inner = ~on_bound & (curvature > 0)
    size = np.where(inner, np.sqrt(np.where(inner, curvature, 1.0)), np.inf)
    norm = np.linalg.norm(gradient / size) / np.sqrt(max(loss, problem.exact))
    if not inner.any() or not np.all(inner | on_bound) or not np.isfinite(curvature).all():
        return Optimality(canonical_nan(float(norm)), math.nan)
    scaled = matrix.scaled(size[None]).plus(np.where(inner, 0.0, 1.0)[None])
    try:
        least = 1 / largest_eigenvalue(lambda x: scaled.solve(x[None])[0], len(free))
    except np.linalg.LinAlgError:
        least = 0.0
    return Optimality(canonical_nan(float(norm)), least)


def objective_value(
    problem: Problem, law: PreparedLaw, theta: Array, loss: float
) -> ObjectiveValue:
    """The objective at fitted parameters, and its loss of log and of raw residuals.

    Args:
        problem: the objective to be minimised, with its data.
        law: the law.
        theta: the fitted parameters, shape (parameters,).
        loss: the objective that was minimised.
    """
    predicted, weights = problem.predictions(theta[None])[0], problem.weights

    def of(log: bool) -> LossTotals:
        losses = rho(residuals(problem.target, predicted, log), problem.objective)
        summed = weighted_loss(losses, weights)
        return LossTotals(canonical_nan(summed.sum), canonical_nan(summed.mean))

    count = problem.rows if weights is None else float(np.sum(weights))
    name = problem.objective.text(law.output)
    return ObjectiveValue(name, loss, loss / count, of(log=True), of(log=False))


def metrics(problem: Problem, theta: Array) -> Metrics:
    """R² and mean absolute error of fitted parameters on the fitted rows.

    Args:
        problem: the objective to be minimised, with its data.
        theta: the fitted parameters, shape (parameters,).
    """
    predicted = problem.predictions(theta[None])[0]
    return metrics_of(problem.target, predicted, problem.weights)


def metrics_of(measured: Array, predicted: Array, weights: Array | None = None) -> Metrics:
    """R² = 1 - Σw(y - f)²/Σw(y - mean(y))², also of logarithms, and the mean absolute error.

    Args:
        measured: y, shape (rows,).
        predicted: f, shape (rows,).
        weights: the weights of the rows, shape (rows,).

    Returns:
        The metrics; nan where they are not defined.
    """
    with np.errstate(all="ignore"):
        logs = np.log(measured), np.log(predicted)
        return Metrics(
            r2=_coefficient_of_determination(measured, predicted, weights),
            r2_log=_coefficient_of_determination(*logs, weights),
            mae=canonical_nan(np.average(np.abs(predicted - measured), weights=weights)),
        )


def residuals(measured: Array, predicted: Array, log: bool) -> Array:
    """Predicted minus measured values, or the difference of their logarithms.

    Args:
        measured: shape (rows,).
        predicted: shape (rows,).
        log: whether to take logarithms.

    Returns:
        Shape (rows,); nan or infinite where a logarithm is not defined.
    """
    with np.errstate(all="ignore"):
        return np.log(predicted) - np.log(measured) if log else predicted - measured


def weighted_loss(loss: Array, weights: Array | None = None) -> LossTotals:
    """The sum and the mean of losses, each times its weight.

    Args:
        loss: shape (rows,).
        weights: shape (rows,).
    """
    if weights is None:
        return LossTotals(float(np.sum(loss)), float(np.mean(loss)))
    summed = float(weights @ loss)
    return LossTotals(summed, summed / float(np.sum(weights)))


def canonical_nan(value: float) -> float:
    """A number, with nan replaced by a canonical object, so that a fit equals its stored copy."""
    return float(value) if np.isfinite(value) else math.nan


def _coefficient_of_determination(
    measured: Array, predicted: Array, weights: Array | None
) -> float:
    mean = np.average(measured, weights=weights)
    # a sum of squares that underflows to 0 yields nan
    spread = np.average((measured - mean) ** 2, weights=weights)
    missed = np.average((measured - predicted) ** 2, weights=weights)
    return canonical_nan(float(1 - missed / spread))
