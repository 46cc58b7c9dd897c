"""Predictions with the ends between which the rows of a fit set them.

It is the noise of the rows that is carried there, as if the law were right: how wrong it is so far
out, no row says. Nor is it where a further measurement would lie, whose own noise comes on top.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.fitting.intervals.covariance import MOST, Covariance
from lawdsl.fitting.problem import Problem

if TYPE_CHECKING:
    from lawdsl.fitting.result import Fit

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Band:
    """A fitted law at some points, with an interval at each.

    Attributes:
        values: in the law's unit, shape (points,), or (points, labels).
        low, high: the ends, of the same shape; infinite, or 0 below where residuals are those of
            logarithms, where the rows do not determine the value.
        level: of the intervals.
        warnings: what is odd about the points.
    """

    values: Array
    low: Array
    high: Array
    level: float
    warnings: tuple[Diagnostic, ...] = field(default=(), repr=False)


@np.errstate(all="ignore")  # a law may have no value so far out
def ends(
    problem: Problem, theta: Array, spread: Covariance, level: float
) -> tuple[Array, Array, Array]:
    """Values of a fitted law and the ends of their intervals, each of shape (points,).

    Args:
        problem: the law at the points; residuals are those of logarithms where those of the fit are,
            so that an interval of a positive value stays positive.
        theta: the parameters, shape (parameters,).
        spread: their errors, of the same parameters.
        level: 0.95 for 95 % intervals.
    """
    values = problem.predictions(theta[None])[0].copy()
    half = spread.quantile(level) * spread.errors(problem.slopes(theta[None])[1][0])
    if not problem.objective.log:
        return values, values - half, values + half
    positive = values > 0  # else there is no logarithm
    low = np.where(positive, values * np.exp(-half), -np.inf)
    return values, low, np.where(positive, values * np.exp(half), np.inf)


def undetermined(name: str, high: Array) -> list[Diagnostic]:
    """A warning where the rows leave predictions open.

    Args:
        name: of what is predicted.
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


def no_band(fit: Fit) -> Diagnostic:
    """Why predictions of a fit without a spread have no intervals."""
    intervals = fit.intervals
    finding = next((d for d in fit.diagnostics if d.code == "F0122"), None)
    if finding is not None:
        why, help = finding.message, finding.help
    elif len(fit.parameters) > MOST:
        why = f"it has more than {MOST} parameters, whose errors are not kept together"
        help = "leave --intervals out"
    elif not intervals.ends:
        why, help = "no row is left to tell the noise by", "measure more, or fit a smaller law"
    elif intervals.failed > intervals.resamples // 2:
        why, help = "too few resamples ended in a minimum", "measure more, and fit again"
    else:
        why = "it was made before fits kept how the errors of their parameters go together"
        help = "make it again: `lawdsl fit LAW DATA -o FIT.json`"
    return Diagnostic("F0125", f"predictions of this fit have no intervals: {why}", help=help)
