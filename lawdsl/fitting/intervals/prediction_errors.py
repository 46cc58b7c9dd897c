"""Fit + points -> standard errors of its predictions, by the delta method.

error_i = sigma·sqrt(g_iᵀ·(JᵀWJ)⁻¹·g_i), with g_i the gradient of the prediction with respect to the
parameters. These errors account for the noise of the rows, under the assumption that the law is
correct at the points; the error of an extrapolated law is not included.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.intervals.covariance import unit_noise_covariance
from lawdsl.fitting.problem import Problem

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Predictions:
    """A fitted law at some points.

    Attributes:
        values: the values in the law's unit, shape (points,).
        unit_errors: their standard errors for noise of standard deviation 1 on a row of weight 1,
            both in the scale of the residuals, shape (points,); inf where they are undetermined.
        log: whether residuals are those of logarithms, so that errors are relative.
    """

    values: Array
    unit_errors: Array
    log: bool

    def errors(self, variance: float) -> Array:
        """Standard errors of the values in the law's unit, shape (points,).

        Args:
            variance: the variance of the noise of a row of weight 1, in the scale of the residuals.
        """
        return np.sqrt(variance) * self.unit_errors * (self.values if self.log else 1.0)


@np.errstate(all="ignore")  # an extrapolated law may be undefined
def predict_with_errors(problem: Problem, theta: Array, columns: Array) -> Predictions:
    """Evaluate a fitted law at points, with the standard errors due to the noise of its rows.

    Parameters on a bound count as free, since the errors would be too small otherwise.

    Args:
        problem: the objective to be minimised, with its data.
        theta: the fitted parameters, shape (parameters,).
        columns: the variables at the points, shape (variables, points), in the law's units.
    """
    elsewhere = problem_at(problem, columns)
    slopes, point_slopes = problem.slopes(theta[None])[1][0], elsewhere.slopes(theta[None])[1][0]
    unit_errors = unit_noise_covariance((), slopes, problem.weights).errors(point_slopes)
    return Predictions(elsewhere.predictions(theta[None])[0], unit_errors, problem.objective.log)


def problem_at(problem: Problem, columns: Array) -> Problem:
    """Return the problem of a fit at other points, without measurements.

    Args:
        problem: the objective to be minimised, with its data.
        columns: the variables at the points, shape (variables, points), in the law's units.
    """
    target = np.ones(columns.shape[1])
    return replace(problem, model=problem.model.on(columns), target=target, weights=None)
