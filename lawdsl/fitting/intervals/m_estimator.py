"""Residuals -> the noise of a fit, in terms of the theory of M-estimators.

For a loss rho with slope psi the estimates have the covariance tau²·(JᵀWJ)⁻¹, tau² =
mean(psi²)/mean(psi')² (Huber (1981), Robust Statistics, chapter 7). Twice an increase of the
objective, divided by mean(psi²)/mean(psi'), has a chi-squared distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.distributions import normal_cdf, normal_quantile, student_quantile
from lawdsl.core.objectives import Objective
from lawdsl.fitting.problem import Problem, rho_curvature, rho_slope

Array = NDArray[np.float64]
Groups = NDArray[np.int64] | None

# half width of a box kernel in sigma·n^-1/5: Silverman (1986), section 3.4.2
SILVERMAN_WIDTH = 1.84
HALL_SHEATHER_QUANTILE = 1.96  # their bandwidth is for tests at 5 %
EXACT_SHARE = 1e-6  # of the median residual: smaller residuals are treated as 0
UNKNOWN = math.nan


@dataclass(frozen=True)
class Noise:
    """The noise of a fit.

    Attributes:
        slope: psi of each residual times its weight, shape (rows,).
        square: mean(psi²) of the errors, corrected for the degrees of freedom of the fit.
        curvature: mean(psi'); nan if the residuals do not determine it.
        dof: residual degrees of freedom.
    """

    slope: Array
    square: float
    curvature: float
    dof: int

    @property
    def is_known(self) -> bool:
        """Whether the residuals determine the noise; else its variance factor is nan."""
        return not math.isnan(self.curvature)

    @property
    def tau2(self) -> float:
        """The variance factor tau² = mean(psi²)/mean(psi')² of the estimates."""
        return self.square / self.curvature**2

    def quantile(self, level: float) -> float:
        """The quantile of Student's t for a two-sided interval of a level."""
        return float(student_quantile((1 + level) / 2, float(self.dof)))

    def rise(self, level: float) -> float:
        """The increase of the objective at the ends of a profile interval:
        t²·mean(psi²)/(2·mean(psi')).
        """
        return self.quantile(level) ** 2 * self.square / self.curvature / 2


def noise_of(problem: Problem, residual: Array, parameters: int, groups: Groups = None) -> Noise:
    """Estimate the noise from the residuals of a fit.

    Args:
        problem: the objective to be minimised, with its data.
        residual: shape (rows,).
        parameters: how many were fitted.
        groups: the training run of each row, shape (rows,). Rows of one run are not independent, so
            the degrees of freedom are those of the runs.

    Returns:
        The noise; for a problem with priors, that of the fit without them.
    """
    weights = np.ones(problem.rows) if problem.weights is None else problem.weights
    if problem.penalty is not None:  # the noise that the priors are weighted against
        slope, known = rho_slope(residual, problem.objective), problem.penalty.noise
        return Noise(weights * slope, known.square, known.curvature, known.dof)
    rows = round(float(np.sum(weights)))  # a weight is the number of rows that a row represents
    units = rows if groups is None else len(np.unique(groups))
    slope = rho_slope(residual, problem.objective)
    dof = rows - parameters if groups is None else min(rows - parameters, units - 1)
    row = problem.objective.row
    if row.kinked:
        slope, mean_square, mean_slope, window = _kinked_noise(
            problem, residual, slope, weights, parameters
        )
        return Noise(weights * slope, mean_square, mean_slope, max(min(dof, window), 1))
    if row.sides is not None:
        return _noise_of_sides(problem, residual, slope, weights, parameters, dof)
    if row.quadratic:
        mean_curvature = row.max_curvature
    elif row.jump is not None:
        width = row.jump(*problem.objective.parameters)
        mean_curvature = _share_within(residual, weights, width, parameters)
    else:
        curvature = rho_curvature(residual, problem.objective, exact=True)
        mean_curvature = max(float(np.sum(weights * curvature)) / float(np.sum(weights)), 1e-300)
    drawing = mean_curvature / row.max_curvature  # the share of the rows with leverage
    # only rows within delta have leverage in a Huber fit, so it uses fewer degrees of freedom than
    # parameters
    mean = float(np.sum(weights * slope**2)) / max(rows - drawing * parameters, 1.0)
    return Noise(weights * slope, mean, mean_curvature, max(dof, 1))


def _noise_of_sides(
    problem: Problem,
    residual: Array,
    slope: Array,
    weights: Array,
    parameters: int,
    dof: int,
) -> Noise:
    """The noise of a fit by a differentiable loss with different sides.

    Where the loss is quadratic on both sides, mean(psi') is the mean over the rows. A fit then
    shrinks the slope of a row in proportion to its own curvature c, so that Σpsi² loses
    p·(2·mean(c·psi²)/(mean(c)·mean(psi²)) - mean(c²)/mean(c)²) of its n terms, to first order; for
    a loss with equal sides that is p. Where the quadratic part is narrower than the noise,
    mean(psi') is computed from the density of the errors near 0 on each side.

    Args:
        problem: the minimisation problem, with its data.
        residual: shape (rows,).
        slope: psi of each residual, shape (rows,).
        weights: the weights of the rows, shape (rows,).
        parameters: how many were fitted.
        dof: residual degrees of freedom.
    """
    objective = problem.objective
    total = float(np.sum(weights))
    squares, curvature = slope**2, rho_curvature(residual, objective, exact=True)
    mean_square = max(float(weights @ squares) / total, 1e-300)
    mean_curvature = max(float(weights @ curvature) / total, 1e-300)
    width = math.inf if objective.row.jump is None else objective.row.jump(*objective.parameters)
    sizes = np.abs(residual)
    if float(weights @ (sizes <= width)) >= total / 2:
        typical = float(weights @ (curvature * squares)) / total / mean_curvature / mean_square
        varied = float(weights @ curvature**2) / total / mean_curvature**2
        lost = parameters * (2 * typical - varied)
    else:
        window, inside = _nearest_window(objective, sizes, weights, width, parameters)
        assert objective.row.sides is not None
        factors = np.where(residual > 0, *objective.row.sides(*objective.parameters)[::-1])
        near = weights * (sizes <= window)
        mean_factor = float(near @ factors) / max(float(np.sum(near)), 1e-300)
        share = inside / total * width / window
        mean_curvature, lost = share * mean_factor, share * parameters
    square = mean_square * total / max(total - lost, 1.0)
    return Noise(weights * slope, square, mean_curvature, max(dof, 1))


def _nearest_window(
    objective: Objective, sizes: Array, weights: Array, width: float, parameters: int
) -> tuple[float, float]:
    """The distance from 0 within which the density of the errors is estimated, and the weight of
    the rows inside, without those that are there due to the fit.

    Args:
        objective: the objective, with a loss of different sides.
        sizes: absolute residuals, shape (rows,).
        weights: the weights of the rows, shape (rows,).
        width: where the curvature of the loss drops to 0.
        parameters: how many were fitted; about one residual each is within the width due to the fit.
    """
    assert objective.row.sides is not None
    below, above = objective.row.sides(*objective.parameters)
    total = float(np.sum(weights))
    order = np.argsort(sizes)
    summed = np.cumsum(weights[order])
    share = _hall_sheather_share(below / (below + above), total)
    last = min(int(np.searchsorted(summed, share * total + parameters)), len(sizes) - 1)
    window = max(float(sizes[order[last]]), width)
    inside = float(np.sum(weights[sizes <= window])) - parameters * (1 - width / window)
    return window, max(inside, 1.0)


def _hall_sheather_share(quantile: float, total: float) -> float:
    """The share of the errors around a quantile from which their density there is estimated (Hall
    and Sheather (1988), Journal of the Royal Statistical Society B 50).

    Args:
        quantile: the share of the errors on one side of 0.
        total: the number of errors.
    """
    at = float(normal_quantile(quantile))
    peak = math.exp(-(at**2)) / (2 * math.pi)
    width = (1.5 * peak / (2 * at**2 + 1)) ** (1 / 3) * (HALL_SHEATHER_QUANTILE**2 / total) ** (
        1 / 3
    )
    # at most twice the number of rows on the side with fewer rows
    return min(2 * width, 2 * min(quantile, 1 - quantile))


def _kinked_noise(
    problem: Problem, residual: Array, slope: Array, weights: Array, parameters: int
) -> tuple[Array, float, float, int]:
    """psi, mean(psi²) and mean(psi') of a loss of two straight lines.

    psi jumps at 0 by the sum of their slopes, so that mean(psi') is the jump times the density of
    the errors at 0 (Koenker and Bassett (1978), Econometrica 46). That density is estimated from
    the errors nearest to 0, within the bandwidth of Hall and Sheather (1988), Journal of the Royal
    Statistical Society B 50. Residuals of 0 are excluded: the fit makes one residual 0 per
    parameter, and rounded or repeated measurements cause further ones. If more than half are 0, but
    not all, the density is not known.

    Args:
        problem: the minimisation problem, with its data.
        residual: shape (rows,).
        slope: psi of each residual, shape (rows,).
        weights: the weights of the rows, shape (rows,).
        parameters: how many were fitted.

    Returns:
        psi, which is 0 where the residual is 0; mean(psi²); mean(psi'), nan if it is not known; and
        the number of rows from which the density is estimated.
    """
    row = problem.objective.row
    assert row.sides is not None
    below, above = row.sides(*problem.objective.parameters)
    sizes = np.abs(residual)
    order = np.argsort(sizes)
    counted = sizes[weights > 0]
    typical, rounding = float(np.median(counted)), problem.rounding
    is_exact = sizes <= EXACT_SHARE * typical
    slope = np.where(is_exact, 0.0, slope)
    if typical == 0 and np.max(counted) <= rounding:  # an exact fit
        return slope, 1e-300, 1.0, len(residual)
    if typical <= rounding < np.max(counted):
        return slope, below * above, UNKNOWN, 1
    used = order[~is_exact[order] & (weights[order] > 0)]
    total = float(np.sum(weights[used]))
    share = below / (below + above)
    count = max(_hall_sheather_share(share, total) * total, parameters + 1.0)
    summed = np.cumsum(weights[used])
    last = min(int(np.searchsorted(summed, count)), len(used) - 1)
    # half of the last row is outside the window
    inside = float(summed[last] - weights[used[last]] / 2)
    density = inside / total / (2 * float(sizes[used[last]]))
    # below·above equals mean(psi²) at the true quantile; the estimate from few rows is too small
    return slope, below * above, (below + above) * density, int(inside)


def rows_by_run(runs: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The positions of the rows of each run, in the order of the runs.

    Args:
        runs: the run of each row, shape (rows,).
    """
    order = np.argsort(runs, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(runs[order])) + 1)


def _share_within(residual: Array, weights: Array, delta: float, parameters: int) -> float:
    """The share of errors within delta.

    If delta is far below the noise, few residuals are within it. So the share is estimated from a
    wider window and converted as for Gaussian errors. The window narrows with the number of rows,
    as in Silverman's rule. A fit shrinks residuals towards 0: those that vanish due to the fit, one
    per parameter, are subtracted from the window in proportion to the density at its edge.
    """
    is_used = weights > 0
    sizes, weights = np.abs(residual[is_used]), weights[is_used]
    order = np.argsort(sizes)
    sizes, weights = sizes[order], weights[order]
    total = float(np.sum(weights))
    free_rows = max(total - parameters, 1.0)
    # the median of the residuals that do not vanish due to the fit
    middle = int(np.searchsorted(np.cumsum(weights) - parameters, free_rows / 2))
    # 1.4826 converts a median absolute residual to the standard deviation of Gaussian noise
    scale = max(1.4826 * float(sizes[min(middle, len(sizes) - 1)]), 1e-6 * delta)
    window = max(delta, SILVERMAN_WIDTH * scale * total**-0.2)
    inside = float(np.sum(weights[sizes <= window]))
    delta_ratio, window_ratio = delta / scale, window / scale
    correction = float(normal_cdf(delta_ratio) - normal_cdf(-delta_ratio)) / float(
        normal_cdf(window_ratio) - normal_cdf(-window_ratio)
    )
    # shifted inwards by h·delta/curvature each, where the leverages h sum to the number of
    # parameters
    drawn = parameters * math.exp(-(window_ratio**2) / 2)
    return max(inside - drawn, 1.0) / total * correction
