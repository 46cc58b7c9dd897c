"""What the residuals of a fit say of their noise, as the theory of M-estimators needs it.

For a loss rho with slope psi the estimates have the covariance tau²·(JᵀWJ)⁻¹, tau² being
mean(psi²)/mean(psi')² (Huber 1981, ch. 7), and twice a rise of the objective, divided by
mean(psi²)/mean(psi'), is chi-squared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from lawdsl.fitting.problem import Problem, rho_slope

Array = NDArray[np.float64]
Groups = NDArray[np.int64] | None

WINDOW = 0.5  # standard errors around 0 in which the density of residuals is counted


@dataclass(frozen=True)
class Noise:
    """The noise of a fit.

    Attributes:
        slope: psi of each residual times its weight, shape (rows,).
        square: mean(psi²), for as many rows as are not used up by parameters.
        bend: mean(psi').
        freedom: degrees of freedom that are left.
    """

    slope: Array
    square: float
    bend: float
    freedom: int

    @property
    def tau2(self) -> float:
        return self.square / self.bend**2

    def quantile(self, level: float) -> float:
        """Student's t for an interval of that level."""
        return float(student.ppf((1 + level) / 2, self.freedom))

    def rise(self, level: float) -> float:
        """How far the objective rises to the ends of an interval of that level."""
        return self.quantile(level) ** 2 * self.square / self.bend / 2


def noise_of(problem: Problem, residual: Array, parameters: int, groups: Groups = None) -> Noise:
    """The noise, from the residuals of a fit.

    Args:
        problem: the fit.
        residual: shape (rows,).
        parameters: how many were fitted.
        groups: which training run each row is of, shape (rows,): rows of one run are not
            independent, so that only the runs count.
    """
    weights = np.ones(problem.rows) if problem.weights is None else problem.weights
    rows = round(float(np.sum(weights)))  # a weight says how many rows a row stands for
    units = rows if groups is None else len(np.unique(groups))
    slope = rho_slope(residual, problem.objective)
    mean = float(np.sum(weights * slope**2)) / max(rows - parameters, 1)
    freedom = rows - parameters if groups is None else min(rows - parameters, units - 1)
    bend = 2.0 if problem.objective.loss == "squared" else _huber_bend(problem, residual, weights)
    return Noise(weights * slope, mean, bend, max(freedom, 1))


def _huber_bend(problem: Problem, residual: Array, weights: Array) -> float:
    """The share of residuals within delta. Where delta is far below the noise so few lie there
    that their number says little: then it follows from those in a wider window."""
    delta, size = problem.objective.delta, np.abs(residual)
    used = weights > 0
    window = max(delta, WINDOW * 1.4826 * float(np.median(size[used])))
    inside = float(np.sum(weights[used] * (size[used] <= window)) / np.sum(weights[used]))
    return max(inside * delta / window, 1.0 / max(int(np.sum(used)), 1))
