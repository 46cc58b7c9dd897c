"""What the residuals of a fit say of their noise, as the theory of M-estimators needs it.

For a loss rho with slope psi the estimates have the covariance tau²·(JᵀWJ)⁻¹, tau² being
mean(psi²)/mean(psi')² (Huber 1981, ch. 7), and twice a rise of the objective, divided by
mean(psi²)/mean(psi'), is chi-squared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.distributions import normal_cdf, student_quantile
from lawdsl.fitting.problem import Problem, rho_curvature, rho_slope

Array = NDArray[np.float64]
Groups = NDArray[np.int64] | None

SILVERMAN = 1.84  # of a window in which residuals are counted: his rule for a box (1986, 3.4.2)


@dataclass(frozen=True)
class Noise:
    """The noise of a fit.

    Attributes:
        slope: psi of each residual times its weight, shape (rows,).
        square: mean(psi²) of errors: residuals are smaller, as far as rows draw the fit.
        curvature: mean(psi').
        freedom: degrees of freedom that are left.
    """

    slope: Array
    square: float
    curvature: float
    freedom: int

    @property
    def tau2(self) -> float:
        return self.square / self.curvature**2

    def quantile(self, level: float) -> float:
        """Student's t for an interval of that level."""
        return float(student_quantile((1 + level) / 2, float(self.freedom)))

    def rise(self, level: float) -> float:
        """How far the objective rises to the ends of an interval of that level."""
        return self.quantile(level) ** 2 * self.square / self.curvature / 2


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
    freedom = rows - parameters if groups is None else min(rows - parameters, units - 1)
    row = problem.objective.row
    if row.quadratic:
        mean_curvature = row.max_curvature
    elif row.jump is not None:
        width = row.jump(*problem.objective.parameters)
        mean_curvature = _share_within(residual, weights, width, parameters)
    else:
        curvature = rho_curvature(residual, problem.objective, exact=True)
        mean_curvature = max(float(np.sum(weights * curvature)) / float(np.sum(weights)), 1e-300)
    drawing = mean_curvature / row.max_curvature  # the share of the rows that draw the fit
    mean = float(np.sum(weights * slope**2)) / max(rows - drawing * parameters, 1.0)
    return Noise(weights * slope, mean, mean_curvature, max(freedom, 1))


def _share_within(residual: Array, weights: Array, delta: float, parameters: int) -> float:
    """The share of errors within delta.

    Where delta is far below the noise few lie there, so that the share follows from that of a wider
    window, as it would for Gaussian errors. The window narrows with the rows, as Silverman's does.
    A fit draws residuals towards 0: those that would vanish without noise, one a parameter, are
    taken out of the window as far as the density at its edge says.
    """
    used = weights > 0
    size, weights = np.abs(residual[used]), weights[used]
    order = np.argsort(size)
    size, weights = size[order], weights[order]
    total = float(np.sum(weights))
    left = max(total - parameters, 1.0)
    middle = int(np.searchsorted(np.cumsum(weights) - parameters, left / 2))
    scale = max(1.4826 * float(size[min(middle, len(size) - 1)]), 1e-6 * delta)
    window = max(delta, SILVERMAN * scale * total**-0.2)
    inside = float(np.sum(weights[size <= window]))
    near, edge = delta / scale, window / scale
    shape = float(normal_cdf(near) - normal_cdf(-near)) / float(
        normal_cdf(edge) - normal_cdf(-edge)
    )
    # drawn inwards by h·delta/curvature each, h adding up to the parameters
    drawn = parameters * math.exp(-(edge**2) / 2)
    return max(inside - drawn, 1.0) / total * shape
