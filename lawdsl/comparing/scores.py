"""Measurements + predictions -> scores: losses, R², absolute error, AICc."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.comparing.result import PredictionScores
from lawdsl.core.losses import HUBER
from lawdsl.core.objectives import Objective
from lawdsl.core.scalar_minimum import bounded_minimum
from lawdsl.fitting.diagnostics.goodness import metrics_of, residuals, weighted_loss
from lawdsl.fitting.problem import rho
from lawdsl.fitting.result_parts import LossTotals

Array = NDArray[np.float64]


def scores(measured: Array, predicted: Array, objective: Objective) -> PredictionScores:
    """Score predictions by the objective, Huber's loss, R² and the mean absolute error.

    Args:
        measured: shape (rows,).
        predicted: shape (rows,).
        objective: the objective of the comparison.
    """
    huber = replace(objective, loss=HUBER.name, log=True)
    metrics = metrics_of(measured, predicted)
    return PredictionScores(
        objective=weighted_loss(losses(measured, predicted, objective)),
        huber=weighted_loss(losses(measured, predicted, huber)),
        r2=metrics.r2,
        r2_log=metrics.r2_log,
        mae=metrics.mae,
    )


def losses(measured: Array, predicted: Array, objective: Objective) -> Array:
    """The loss of each row, shape (rows,): inf where the law has no value, or no logarithm.

    Args:
        measured: shape (rows,).
        predicted: shape (rows,).
        objective: the objective of the comparison.
    """
    with np.errstate(all="ignore"):
        loss = rho(residuals(measured, predicted, objective.log), objective)
    measurable = (measured > 0) | (not objective.log)
    return np.where(measurable & ~np.isfinite(loss), np.inf, loss)


def mean_scores(fold_scores: list[PredictionScores]) -> PredictionScores:
    """The mean of each score over folds, as in the tables of papers."""

    def loss(kind: str) -> LossTotals:
        losses_of_kind = [getattr(scores_, kind) for scores_ in fold_scores]
        return LossTotals(
            _mean([x.sum for x in losses_of_kind]), _mean([x.mean for x in losses_of_kind])
        )

    return PredictionScores(
        loss("objective"),
        loss("huber"),
        _mean([scores_.r2 for scores_ in fold_scores]),
        _mean([scores_.r2_log for scores_ in fold_scores]),
        _mean([scores_.mae for scores_ in fold_scores]),
    )


def log_likelihood(loss: Array, objective: Objective, exact: float) -> Array:
    """The log-likelihood of each row of a fit, under the density that corresponds to its objective.

    A fit that minimises Σ rho(r) maximises, for every tau, the likelihood of residuals with the
    density exp(-rho(r)/tau)/Z(tau): Gaussian for squared(r); for huber(r), Gaussian within delta
    and Laplacian outside. tau, the one scale parameter, is set to its own maximum. Where the
    objective is of log residuals, the density is that of the logarithm of the output.

    Args:
        loss: rho of each residual, shape (rows,).
        objective: the objective of the fit.
        exact: the sum of losses of a fit that is exact up to rounding; no sum counts as less.

    Returns:
        Shape (rows,).
    """
    # an exact fit would have an infinite likelihood, by which rounding alone would rank
    mean = max(float(np.sum(loss)), exact, 1e-300) / len(loss)

    def cost(log_tau: float) -> float:
        tau = math.exp(log_tau)
        return mean / tau + _log_normalizer(tau, objective)

    # mean/tau is 1/2 where the density is Gaussian, 1 where it is Laplacian, else between them
    low, high = math.log(mean) - 1.0, math.log(2 * mean) + 1.0
    best, _ = bounded_minimum(cost, low, high, 1e-9)
    tau = math.exp(best)
    likelihood: Array = -loss / tau - _log_normalizer(tau, objective)
    return likelihood


def aicc(total: float, parameters: int, rows: int) -> float:
    """Akaike's criterion with its correction for few rows; inf where there are too few.

    AICc = -2*total + 2k + 2k(k + 1)/(n - k - 1) (Hurvich and Tsai (1989), Biometrika 76).

    Args:
        total: the log-likelihood of all rows at its maximum.
        parameters: the parameters of the law; k is one more, for the scale of the residuals.
        rows: how many, n.
    """
    count = parameters + 1
    if rows <= count + 1:
        return math.inf
    return -2 * total + 2 * count + 2 * count * (count + 1) / (rows - count - 1)


def _log_normalizer(tau: float, objective: Objective) -> float:
    """log Z(tau) = log ∫ exp(-rho(r)/tau) dr."""
    return objective.row.log_normalizer(tau, *objective.parameters)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else math.nan
