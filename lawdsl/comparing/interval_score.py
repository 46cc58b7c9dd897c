"""Predictions with intervals + measurements -> interval scores.

The interval score of Gneiting and Raftery (2007), Journal of the American Statistical Association
102, equation 43: width + 2/alpha times the distance of a measurement outside the interval; here of
logarithms. It is a proper score: it is improved neither by intervals that are too wide nor by
intervals that miss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lawdsl.comparing.result import IntervalScores
from lawdsl.fitting.result import Fit

Array = NDArray[np.float64]

LEVEL = 0.95
MISS = 2 / (1 - LEVEL)  # the penalty factor of a miss
SMALLEST = 1e-300  # smallest lower end of an interval, for its logarithm


@dataclass(frozen=True)
class ScoredRows:
    """Intervals of some rows compared with the measurements, on the logarithmic scale; shapes
    (rows,).

    Attributes:
        error: |prediction/measurement - 1|.
        width: the width of the interval; inf where the fitted rows do not determine the prediction.
        miss: the distance of the measurement from the interval; 0 inside.
    """

    error: Array
    width: Array
    miss: Array

    @property
    def score(self) -> Array:
        """The interval score of each row: smaller is better."""
        return self.width + MISS * self.miss

    def summary(self) -> IntervalScores:
        """Shares, medians and the mean score."""
        return IntervalScores(
            error=float(np.median(self.error)),
            inside=float(np.mean(self.miss == 0)),
            width=float(np.median(self.width)),
            score=float(np.mean(self.score)),
        )


def score_intervals(predicted: Array, low: Array, high: Array, measured: Array) -> ScoredRows:
    """Score intervals of positive values.

    Args:
        predicted, low, high: predictions and the ends of their intervals, shape (rows,).
        measured: shape (rows,), above 0.
    """
    with np.errstate(all="ignore"):
        low = np.maximum(low, SMALLEST)
        width = np.where(np.isfinite(high), np.log(high / low), np.inf)
        miss = np.maximum(np.maximum(np.log(measured / high), np.log(low / measured)), 0.0)
        # a value without a logarithm is outside every interval
        bad = ~np.isfinite(predicted) | ~(high >= low)
        return ScoredRows(
            np.where(np.isfinite(predicted), np.abs(predicted / measured - 1), np.inf),
            np.where(bad, np.inf, width),
            np.where(bad, np.inf, miss),
        )


def further_run_interval(
    fit: Fit,
    fitted: Any,
    measured: Array,
    points: Any,
    discrepancy: float | Literal["learned"] | None,
    **columns: str,
) -> tuple[Array, Array, Array]:
    """The predictions of a fit for further runs, with 95 % intervals that include their noise.

    Args:
        fit: the fit.
        fitted: the rows that were fitted, as `Fit.predict` takes them.
        measured: the measured output of the fitted rows, shape (rows,), above 0.
        points: the rows to predict.
        discrepancy: the error of the law per decade, None for the default. With 0 the law is
            assumed to be correct, and the interval is that of the curve, widened by the noise of a
            row.
        columns: variable -> column.

    Returns:
        Predictions, and the lower and upper ends, each of shape (points,).

    Raises:
        LawdslError: rows that determine no interval; F0125.
    """
    band = fit.band_with_warnings(points, columns, level=LEVEL, discrepancy=discrepancy)
    if band.run_low is not None and band.run_high is not None:
        return band.values, band.run_low, band.run_high
    assert fit.spread is not None
    with np.errstate(all="ignore"):
        residuals = np.log(measured / fit.predict_with_warnings(fitted, **columns)[0])
        noise = np.sqrt(np.sum(residuals**2) / max(len(residuals) - len(fit.parameters), 1))
        half = np.hypot(np.log(band.high / band.values), fit.spread.quantile(LEVEL) * noise)
        return band.values, band.values * np.exp(-half), band.values * np.exp(half)
