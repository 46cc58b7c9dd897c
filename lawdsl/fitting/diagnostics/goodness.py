"""Numbers that say how good a fit is."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.problem import Problem, rho
from lawdsl.fitting.result_parts import Loss, Metrics, ObjectiveValue, Optimality
from lawdsl.law.law import Law

Array = NDArray[np.float64]


def optimality(problem: Problem, free: Array, held: NDArray[np.bool_]) -> Optimality:
    """How flat the objective is at a fit, and how it bends.

    Args:
        problem: the fit.
        free: its free numbers, shape (parameters,).
        held: those on a bound, shape (parameters,).
    """
    near = problem.local_model(free[None])
    kept = np.flatnonzero(~held)
    gradient, hessian = near.gradient[0][kept], near.hessian[0][np.ix_(kept, kept)]
    with np.errstate(all="ignore"):
        size = np.sqrt(np.abs(np.diag(hessian)))
        scaled = hessian / np.outer(size, size)
        length = np.linalg.norm(gradient / size) / np.sqrt(max(near.loss[0], problem.exact))
    if not (np.all(np.isfinite(scaled)) and len(kept)):
        return Optimality(known(float(length)), math.nan)
    return Optimality(known(float(length)), float(np.linalg.eigvalsh(scaled)[0]))


def objective_value(problem: Problem, law: Law, theta: Array, loss: float) -> ObjectiveValue:
    """The objective at fitted parameters, and what it would be of log and of raw residuals."""
    predicted, weights = problem.predictions(theta[None])[0], problem.weights

    def of(log: bool) -> Loss:
        own = rho(residuals(problem.target, predicted, log), problem.objective)
        found = total(own, weights)
        return Loss(known(found.sum), known(found.mean))

    count = problem.rows if weights is None else float(np.sum(weights))
    name = problem.objective.text(law.output)
    return ObjectiveValue(name, loss, loss / count, of(log=True), of(log=False))


def metrics(problem: Problem, theta: Array) -> Metrics:
    """How well fitted parameters describe the rows that they were fitted to."""
    predicted = problem.predictions(theta[None])[0]
    return metrics_of(problem.target, predicted, problem.weights)


def metrics_of(measured: Array, predicted: Array, weights: Array | None = None) -> Metrics:
    """How well predictions describe measurements; nan where that has no value.

    Args:
        measured: shape (rows,).
        predicted: shape (rows,).
        weights: what each row counts, shape (rows,).
    """
    with np.errstate(all="ignore"):
        logs = np.log(measured), np.log(predicted)
        return Metrics(
            r2=_r_squared(measured, predicted, weights),
            r2_log=_r_squared(*logs, weights),
            mae=known(np.average(np.abs(predicted - measured), weights=weights)),
        )


def residuals(measured: Array, predicted: Array, log: bool) -> Array:
    """Predicted minus measured, or the same of logarithms, nan or infinite where there are none."""
    with np.errstate(all="ignore"):
        return np.log(predicted) - np.log(measured) if log else predicted - measured


def total(loss: Array, weights: Array | None = None) -> Loss:
    """The sum and the mean of the losses of rows, each times its weight."""
    if weights is None:
        return Loss(float(np.sum(loss)), float(np.mean(loss)))
    summed = float(weights @ loss)
    return Loss(summed, summed / float(np.sum(weights)))


def known(value: float) -> float:
    """A number, or the one nan: so a fit equals the one that is read back."""
    return float(value) if np.isfinite(value) else math.nan


def _r_squared(measured: Array, predicted: Array, weights: Array | None) -> float:
    mean = np.average(measured, weights=weights)
    spread = np.average((measured - mean) ** 2, weights=weights)  # what underflows to 0 gives nan
    missed = np.average((measured - predicted) ** 2, weights=weights)
    return known(float(1 - missed / spread))
