"""How far off a fit is where it predicts, by the delta method: from the slopes at the fit alone.

It is the noise of the rows that is carried to the prediction, as if the law were right there: how
wrong it is so far out, no row says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.intervals.covariance import of_rows
from lawdsl.fitting.problem import Problem

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Predictions:
    """A fitted law at some points.

    Attributes:
        values: in the law's unit, shape (points,).
        reach: their standard errors for noise of standard deviation 1 on a row of weight 1, both in
            the scale of the residuals, shape (points,); inf where the rows do not determine them.
        log: whether residuals are those of logarithms, so that errors are relative.
    """

    values: Array
    reach: Array
    log: bool

    def errors(self, variance: float) -> Array:
        """Standard errors of the values in the law's unit, shape (points,), for noise of that
        variance on a row of weight 1."""
        return np.sqrt(variance) * self.reach * (self.values if self.log else 1.0)


@np.errstate(all="ignore")  # a law may have no value so far out
def predictions(problem: Problem, theta: Array, columns: Array) -> Predictions:
    """A fitted law at points, and how far the noise of its rows reaches there.

    Parameters that lie on a bound count as free: the errors would come out too small without them.

    Args:
        problem: the fit.
        theta: the fitted parameters, shape (parameters,).
        columns: the variables at the points, shape (variables, points), in the law's units.
    """
    at = elsewhere(problem, columns)
    slopes, ahead = problem.slopes(theta[None])[1][0], at.slopes(theta[None])[1][0]
    reach = of_rows((), slopes, problem.weights).errors(ahead)
    return Predictions(at.predictions(theta[None])[0], reach, problem.objective.log)


def elsewhere(problem: Problem, columns: Array) -> Problem:
    """The same law at other points, of shape (variables, points), where nothing was measured."""
    target = np.ones(columns.shape[1])
    return replace(problem, model=problem.model.on(columns), target=target, weights=None)
