"""Numbers that say how good a fit is."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.problem import Problem, rho
from lawdsl.fitting.records import Loss, Metrics, ObjectiveValue, Optimality
from lawdsl.law import Law

Array = NDArray[np.float64]


def optimality(problem: Problem, free: Array, held: NDArray[np.bool_]) -> Optimality:
    """How flat the objective is at a fit, and how it bends.

    Args:
        problem: the fit.
        free: its free numbers, shape (parameters,).
        held: those on a bound, shape (parameters,).
    """
    near = problem.quadratic(free[None])
    kept = np.flatnonzero(~held)
    gradient, hessian = near.gradient[0][kept], near.hessian[0][np.ix_(kept, kept)]
    with np.errstate(all="ignore"):
        size = np.sqrt(np.abs(np.diag(hessian)))
        scaled = hessian / np.outer(size, size)
        length = np.linalg.norm(gradient / size) / np.sqrt(max(near.loss[0], problem.exact))
    if not (np.all(np.isfinite(scaled)) and len(kept)):
        return Optimality(_known(float(length)), math.nan)
    return Optimality(_known(float(length)), float(np.linalg.eigvalsh(scaled)[0]))


def objective_value(problem: Problem, law: Law, theta: Array, loss: float) -> ObjectiveValue:
    """The objective at fitted parameters, and what it would be of log and of raw residuals."""
    predicted = problem.predictions(theta[None])[0]
    with np.errstate(all="ignore"):
        residuals = {
            "log": np.log(predicted) - np.log(problem.target),
            "raw": predicted - problem.target,
        }
    weights = np.ones(problem.rows) if problem.weights is None else problem.weights
    count = float(np.sum(weights))
    totals = {n: _known(float(weights @ rho(r, problem.objective))) for n, r in residuals.items()}
    both = {name: Loss(t, _known(t / count)) for name, t in totals.items()}
    name = problem.objective.name.replace("L", law.output)
    return ObjectiveValue(name, loss, loss / count, both["log"], both["raw"])


def metrics(problem: Problem, theta: Array) -> Metrics:
    """How well fitted parameters describe the rows that they were fitted to."""
    predicted = problem.predictions(theta[None])[0]
    with np.errstate(all="ignore"):
        return Metrics(
            r2=_r_squared(problem.target, predicted, problem.weights),
            r2_log=_r_squared(np.log(problem.target), np.log(predicted), problem.weights),
            mae=_known(np.average(np.abs(predicted - problem.target), weights=problem.weights)),
        )


def _r_squared(measured: Array, predicted: Array, weights: Array | None) -> float:
    mean = np.average(measured, weights=weights)
    spread = np.average((measured - mean) ** 2, weights=weights)  # what underflows to 0 gives nan
    missed = np.average((measured - predicted) ** 2, weights=weights)
    return _known(float(1 - missed / spread))


def _known(value: float) -> float:
    """A number, or the one nan: so a fit equals the one that is read back."""
    return float(value) if np.isfinite(value) else math.nan
