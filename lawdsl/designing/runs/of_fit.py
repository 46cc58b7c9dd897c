"""A fit + candidates + targets -> the distribution of its law there, given the fitted rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.designing.runs.posterior import LawPosterior, LawPrior, Points, Targets
from lawdsl.fitting.extrapolation.coordinates import coordinates
from lawdsl.fitting.extrapolation.discrepancy import DEFAULT_AMPLITUDE
from lawdsl.fitting.extrapolation.fitted_surface import FittedSurface
from lawdsl.fitting.extrapolation.law_error import LawErrorModel, log_residuals
from lawdsl.fitting.result import Fit

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]


def surface_of(fit: Fit) -> FittedSurface:
    """The fitted law at the rows that its fit keeps."""
    return fit.surface_of_spread


def posterior_of(
    surface: FittedSurface,
    candidates: Array,
    runs: Numbers,
    targets: Array,
    weights: Array | None = None,
    amplitude: float = DEFAULT_AMPLITUDE,
) -> LawPosterior:
    """The distribution of a law at candidate rows and in targets, given its fitted rows.

    Args:
        surface: the fitted law.
        candidates: the variables at candidate rows, shape (variables, rows).
        runs: the number of the run of each candidate row, shape (rows,).
        targets: the variables at the points of the targets, shape (variables, points).
        weights: of these points in each target, shape (functionals, points); None where each point
            is a target.
        amplitude: standard deviation of log L per decade; 0 for a law that is taken as right.
    """
    model = surface.law_error(amplitude)
    fitted = model.discrepancy.rows
    # numbers of fitted runs are negative: none is that of a candidate
    own = np.arange(len(fitted.z)) if fitted.runs is None else fitted.runs
    rows = Points(fitted.z, fitted.jacobian, -2 - own)
    further = _points(surface, model, candidates, runs)
    of_targets = _points(surface, model, targets, np.full(targets.shape[1], -1))
    if weights is None:
        weights = np.eye(targets.shape[1])
    everything = rows.joined(further).joined(of_targets)
    prior = LawPrior.of(everything, amplitude, model.discrepancy.levels)
    return LawPosterior(prior, rows, further, Targets(of_targets, weights), fitted.weights)


def _points(surface: FittedSurface, model: LawErrorModel, columns: Array, runs: Numbers) -> Points:
    with np.errstate(all="ignore"):  # an extrapolated law may have no value
        _, jacobian = log_residuals(surface.at(columns), surface.theta)
    return Points(coordinates(model.axes, model.names, columns), jacobian, runs)
