"""How far predictions are from measurements: losses, R², absolute error, AICc."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from lawdsl.comparing.result import Scores
from lawdsl.core.losses import HUBER
from lawdsl.fitting.diagnostics.goodness import metrics_of, residuals, total
from lawdsl.fitting.problem import rho
from lawdsl.fitting.result_parts import Loss
from lawdsl.language.resolver import Objective

Array = NDArray[np.float64]


def scores(measured: Array, predicted: Array, objective: Objective) -> Scores:
    """The scores of predictions, both of shape (rows,)."""
    huber = replace(objective, loss=HUBER.name, log=True)
    metrics = metrics_of(measured, predicted)
    return Scores(
        objective=total(losses(measured, predicted, objective)),
        huber=total(losses(measured, predicted, huber)),
        r2=metrics.r2,
        r2_log=metrics.r2_log,
        mae=metrics.mae,
    )


def losses(measured: Array, predicted: Array, objective: Objective) -> Array:
    """The loss of each row, shape (rows,): inf where the law has no value, or no logarithm."""
    with np.errstate(all="ignore"):
        loss = rho(residuals(measured, predicted, objective.log), objective)
    measurable = (measured > 0) | (not objective.log)
    return np.where(measurable & ~np.isfinite(loss), np.inf, loss)


def mean_scores(found: list[Scores]) -> Scores:
    """The mean of each score over folds, as the papers' tables have it."""

    def loss(kind: str) -> Loss:
        both = [getattr(one, kind) for one in found]
        return Loss(_mean([x.sum for x in both]), _mean([x.mean for x in both]))

    return Scores(
        loss("objective"),
        loss("huber"),
        _mean([one.r2 for one in found]),
        _mean([one.r2_log for one in found]),
        _mean([one.mae for one in found]),
    )


def log_likelihood(loss: Array, objective: Objective, exact: float) -> Array:
    """The log-likelihood of each row of a fit, under the density that its objective belongs to.

    A fit that minimises Σ rho(r) maximises, whatever tau is, the likelihood of residuals with the
    density exp(-rho(r)/tau)/Z(tau): Gaussian for squared(r); for huber(r), Gaussian within delta
    and Laplacian outside. tau, the one parameter of scale, is set to its own maximum. Where the
    objective is of log residuals, so is the density: of the logarithm of the output.

    Args:
        loss: rho of each residual, shape (rows,).
        objective: of the fit.
        exact: the sum of a fit that is exact but for rounding; a smaller one counts as this.
    """
    mean = max(float(np.sum(loss)), exact, 1e-300) / len(loss)

    def cost(log_tau: float) -> float:
        tau = math.exp(log_tau)
        return mean / tau + _log_norm(tau, objective)

    # mean/tau is 1/2 where the density is Gaussian, 1 where it is Laplacian, else between them
    low, high = math.log(mean) - 1.0, math.log(2 * mean) + 1.0
    best = minimize_scalar(cost, bounds=(low, high), method="bounded", options={"xatol": 1e-9})
    tau = math.exp(float(best.x))
    likelihood: Array = -loss / tau - _log_norm(tau, objective)
    return likelihood


def aicc(total: float, parameters: int, rows: int) -> float:
    """Akaike's criterion with its correction for few rows; inf where there are too few.

    Args:
        total: the log-likelihood of all rows at its maximum.
        parameters: of the law; the scale of the residuals is one more.
        rows: how many.
    """
    count = parameters + 1
    if rows <= count + 1:
        return math.inf
    return -2 * total + 2 * count + 2 * count * (count + 1) / (rows - count - 1)


def _log_norm(tau: float, objective: Objective) -> float:
    """log Z(tau) = log ∫ exp(-rho(r)/tau) dr."""
    return objective.row.log_normalizer(tau, *objective.parameters)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else math.nan
