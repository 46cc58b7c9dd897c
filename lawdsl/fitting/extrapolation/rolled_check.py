"""Fitted rows -> how well the larger runs are predicted from the smaller ones.

A rolling origin (Tashman 2000, International Journal of Forecasting 16): at several cuts the law is
fitted to the runs below the cut and predicts all runs above. z is the root mean square of the
prediction errors, each divided by the standard deviation of a further run including the error of
the law. The rows above a cut share one error of the law, so each cut counts as one observation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.extrapolation.fitted_surface import FittedSurface
from lawdsl.fitting.intervals.covariance import unit_noise_covariance

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

# shares of the runs that are fitted, the smallest ones
FITTED_SHARES = (0.5, 0.625, 0.75, 0.875)
# residual degrees of freedom: with fewer, the runs below a cut are not fitted
MIN_CUT_DOF = 2
# relative: runs whose sizes differ by less have one size, which no cut divides
SAME_SIZE_RTOL = 0.02
# root mean square z above which the rolled check fails
MAX_RMS_Z = 1.5
# weight of the prior, a root mean square of 1, in numbers of cuts
PRIOR_CUTS = 2.0


@dataclass(frozen=True)
class RolledCut:
    """The result at one cut.

    Attributes:
        largest: the size of the largest fitted run.
        fitted: the number of rows fitted.
        predicted: the number of rows predicted.
        z: the root mean square of the prediction errors in standard deviations.
    """

    largest: float
    fitted: int
    predicted: int
    z: float


def rms_z(cuts: Sequence[RolledCut]) -> float:
    """The root mean square of z over cuts; nan without cuts."""
    return float(np.sqrt(np.mean([cut.z**2 for cut in cuts]))) if cuts else float("nan")


def widening(cuts: Sequence[RolledCut]) -> float:
    """The factor, at least 1, by which the rolled check of a table widens the error of the law.

    It is the root mean square of z, shrunk towards 1 as if two more cuts had z = 1.
    """
    total = PRIOR_CUTS + sum(cut.z**2 for cut in cuts)
    return float(np.sqrt(max(1.0, total / (PRIOR_CUTS + len(cuts)))))


def rolled_cuts(
    surface: FittedSurface,
    refit: Callable[[Rows], Array | None],
    amplitude: float,
) -> tuple[RolledCut, ...]:
    """Predict the larger runs of a table from its smaller ones, at up to four cuts.

    A cut is omitted if the runs below it do not determine the law.

    Args:
        surface: the fitted law and its rows.
        refit: the function from positions of rows to the parameters fitted to them, or None if the
            fit failed.
        amplitude: standard deviation of log L per decade.
    """
    size = surface.size
    if not size.variables:
        return ()
    logs = size.log10(surface.names, surface.columns)
    cuts = []
    for below in _rows_below_cuts(logs, surface.runs):
        z = _cut_z(surface, np.flatnonzero(below), np.flatnonzero(~below), refit, amplitude)
        if z is not None:
            largest = float(10 ** np.max(logs[below]))
            cuts.append(RolledCut(largest, int(np.sum(below)), int(np.sum(~below)), z))
    return tuple(cuts)


def _rows_below_cuts(logs: Array, runs: Rows | None) -> list[NDArray[np.bool_]]:
    """The mask of the rows below each cut, shape (rows,), which consist of whole runs.

    Args:
        logs: decimal logarithms of the sizes of the rows, shape (rows,).
        runs: the run of each row, shape (rows,), where some run has several; else None.
    """
    numbers = np.arange(len(logs)) if runs is None else np.unique(runs, return_inverse=True)[1]
    run_sizes = np.full(numbers.max() + 1, -np.inf)
    np.maximum.at(run_sizes, numbers, logs)  # the size of a run is that of its last checkpoint
    ordered = np.sort(run_sizes)
    gaps = np.flatnonzero(np.diff(ordered) > np.log10(1 + SAME_SIZE_RTOL)) + 1
    counts = []
    for share in FITTED_SHARES:
        if len(gaps):
            nearest = int(gaps[np.argmin(np.abs(gaps - share * len(ordered)))])
            counts.append(nearest)
    return [(run_sizes <= ordered[count - 1])[numbers] for count in dict.fromkeys(counts)]


def _cut_z(
    surface: FittedSurface,
    below: Rows,
    above: Rows,
    refit: Callable[[Rows], Array | None],
    amplitude: float,
) -> float | None:
    """The root mean square z of the rows above a cut; None if the rows below do not determine it."""
    if len(below) < len(surface.theta) + MIN_CUT_DOF:
        return None
    theta = refit(below)
    if theta is None:
        return None
    points = surface.at(surface.columns[:, above])
    rows = surface.of_logarithms(surface.columns[:, below], surface.target[below])
    slopes = rows.slopes(theta[None])[1][0]
    if surface.penalty is not None:
        slopes = np.vstack([slopes, surface.penalty.pseudo_rows(theta)])
    determined = np.isfinite(
        unit_noise_covariance((), slopes).errors(points.slopes(theta[None])[1][0])
    )
    fitted, predicted = rows.predictions(theta[None])[0], points.predictions(theta[None])[0]
    determined &= predicted > 0
    if not (determined.any() and np.all(fitted > 0) and np.all(np.isfinite(fitted))):
        return None  # a law that is not positive has no logarithm
    error = surface.law_error_of_rows(below, theta, amplitude).at(points, theta)
    missed = np.log(surface.target[above] / np.where(determined, predicted, 1.0)) - error.mean
    variances = error.further_run**2
    if surface.weights is not None:  # a row of small weight has large noise
        variances += error.levels.noise**2 * (1 / surface.weights[above] - 1)
    squares = (missed**2 / variances)[determined]
    return float(np.sqrt(np.mean(squares))) if np.all(np.isfinite(squares)) else None


def widening_of_horizon(cuts: tuple[RolledCut, ...]) -> float:
    """The factor by which the error of the law is widened in a trust horizon: 1 unless the rolled
    check fails.

    Args:
        cuts: the cuts of the rolled check.
    """
    return widening(cuts) if rms_z(cuts) > MAX_RMS_Z else 1.0
