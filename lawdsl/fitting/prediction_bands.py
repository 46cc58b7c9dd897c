"""Fit + points -> predictions with intervals, from the covariance of the parameters.

value_i ± t·sqrt(g_iᵀ·C·g_i) in the scale of the residuals, C the covariance of the parameters, g_i
the gradient of the prediction and t a quantile of Student's t. The intervals are those of the
fitted curve: they contain the noise of the fitted rows, given that the law is right. They contain
neither the error of an extrapolated law nor the noise of a further measurement.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.fitting.fit_record import FitRecord
from lawdsl.fitting.intervals.covariance import MAX_COVARIANCE_PARAMETERS, Covariance
from lawdsl.fitting.problem import Problem

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Band:
    """A fitted law at some points, with an interval at each.

    Attributes:
        values: the values in the law's unit, shape (points,), or (points, labels).
        low, high: the ends, of the same shape. Where the rows do not determine the value they are
            infinite, the lower one 0 where residuals are those of logarithms.
        level: the level of the intervals, 0.95 for 95 %.
        warnings: about the points.
    """

    values: Array
    low: Array
    high: Array
    level: float
    warnings: tuple[Diagnostic, ...] = field(default=(), repr=False)


@np.errstate(all="ignore")  # an extrapolated law may have no value
def interval_ends(
    problem: Problem, theta: Array, spread: Covariance, level: float
) -> tuple[Array, Array, Array]:
    """Values of a fitted law and the ends of their intervals.

    Args:
        problem: the law at the points. Residuals are those of logarithms where those of the fit
            are, so that an interval of a positive value stays positive.
        theta: the parameters, shape (parameters,).
        spread: their covariance.
        level: 0.95 for 95 % intervals.

    Returns:
        Values, lower and upper ends, each of shape (points,).
    """
    values = problem.predictions(theta[None])[0].copy()
    half = spread.quantile(level) * spread.errors(problem.slopes(theta[None])[1][0])
    if not problem.objective.log:
        return values, values - half, values + half
    positive = values > 0  # others have no logarithm
    low = np.where(positive, values * np.exp(-half), -np.inf)
    return values, low, np.where(positive, values * np.exp(half), np.inf)


def undetermined_prediction_warning(name: str, high: Array) -> list[Diagnostic]:
    """A warning where the rows do not determine predictions.

    Args:
        name: the name of what is predicted.
        high: upper ends of its intervals, shape (points,).
    """
    count, points = int(np.sum(~np.isfinite(high))), len(high)
    if not count:
        return []
    where = "there" if points == 1 else "at any point" if count == points else None
    where = where or f"at {count:,} of {points:,} points"
    message = f"the rows that were fitted do not determine {name} {where}"
    help = "`lawdsl fit` says what they leave open (F0101); measure there"
    return [Diagnostic("F0126", message, "warning", help=help)]


def missing_band_diagnostic(fit: FitRecord) -> Diagnostic:
    """The diagnostic that says why a fit without a covariance has no intervals of predictions."""
    intervals = fit.intervals
    finding = next((d for d in fit.diagnostics if d.code == "F0122"), None)
    if finding is not None:
        why, help = finding.message, finding.help
    elif len(fit.parameters) > MAX_COVARIANCE_PARAMETERS:
        why = f"it has more than {MAX_COVARIANCE_PARAMETERS} parameters, whose errors are not kept together"
        help = "leave --intervals out"
    elif not intervals.ends:
        why, help = "no row is left to tell the noise by", "measure more, or fit a smaller law"
    elif intervals.failed > intervals.resamples // 2:
        why, help = "too few resamples ended in a minimum", "measure more, and fit again"
    else:
        why = "it was made before fits kept how the errors of their parameters go together"
        help = "make it again: `lawdsl fit LAW DATA -o FIT.json`"
    return Diagnostic("F0125", f"predictions of this fit have no intervals: {why}", help=help)
