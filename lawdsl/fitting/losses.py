"""Residuals + objective -> losses rho(r) and their derivatives psi = rho', psi' = rho'', as arrays.

The formulas are the rows of the table of losses; Huber's is rho(r) = r²/2 for |r| <= delta, and
delta·(|r| - delta/2) beyond (Huber (1964), Annals of Mathematical Statistics 35).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.losses import CHECKED
from lawdsl.core.objectives import Objective

Array = NDArray[np.float64]

MIN_ROOT = 1e-150  # a smaller root of a loss is treated as 0


class Arrays:
    """NumPy as the arithmetic in which the formulas of losses are evaluated."""

    minimum = staticmethod(np.minimum)
    maximum = staticmethod(np.maximum)
    where = staticmethod(np.where)
    full_like = staticmethod(np.full_like)

    @staticmethod
    def ratio(x: Array, y: Array, at_zero: float, /) -> Array:
        """Divide elementwise: x/y, or `at_zero` where y is 0.

        Args:
            x, y: of the same shape.
            at_zero: the value where y is 0.
        """
        return np.divide(x, y, out=np.full_like(x, at_zero), where=y != 0)

    # further functions that the formulas of losses use
    abs = staticmethod(np.abs)
    exp = staticmethod(np.exp)
    log1p = staticmethod(np.log1p)
    sqrt = staticmethod(np.sqrt)
    tanh = staticmethod(np.tanh)


ARRAYS: Any = Arrays()


def rho(residual: Array, objective: Objective) -> Array:
    """The loss rho(r) of each residual.

    Args:
        residual: the residual of any shape.
        objective: the objective, with the loss.

    Returns:
        An array of that shape.
    """
    with np.errstate(all="ignore"):
        value: Array = objective.row.value(ARRAYS, residual, *objective.parameters)
        return value


def rho_slope(residual: Array, objective: Objective) -> Array:
    """The derivative psi(r) = rho'(r) of the loss with respect to the residual.

    Args:
        residual: the residual of any shape.
        objective: the objective, with the loss.

    Returns:
        An array of that shape.
    """
    slope: Array = objective.row.slope(ARRAYS, residual, *objective.parameters)
    return slope


def value_and_slope(residual: Array, objective: Objective) -> tuple[Array, Array]:
    """The loss of each residual and its derivative, computed together at little more than the cost
    of one.

    Args:
        residual: the residual of any shape.
        objective: the objective, with the loss.

    Returns:
        Two arrays of that shape.
    """
    return objective.row.value_and_slope(ARRAYS, residual, *objective.parameters)


def rho_curvature(residual: Array, objective: Objective, exact: bool) -> Array:
    """The second derivative rho''(r) of the loss, or its weight rho'(r)/r in reweighted squares.

    Args:
        residual: the residual of any shape.
        objective: the objective, with the loss.
        exact: the second derivative; else the weight, which is never negative.

    Returns:
        An array of that shape.
    """
    return curvature_of(residual, rho_slope(residual, objective), objective, exact)


def curvature_of(residual: Array, slope: Array, objective: Objective, exact: bool) -> Array:
    """The second derivative or weight of the loss, as `rho_curvature`, from known slopes.

    Args:
        residual: the residual of any shape.
        slope: the derivative of the loss at each residual, of that shape.
        objective: the objective, with the loss.
        exact: the second derivative rho''(r); else the weight rho'(r)/r.
    """
    row = objective.row
    second = row.curvature if exact else row.weight
    curvature: Array = second(ARRAYS, residual, slope, *objective.parameters)
    return curvature


def smoothed(objective: Objective, width: float) -> Objective:
    """An objective with a differentiable loss, close to one whose loss has a kink.

    Beyond `width` of 0, its loss is proportional to the kinked one, up to a constant.

    Args:
        objective: the objective, with a kinked loss.
        width: the residual below which the loss is a parabola; above 0.
    """
    assert objective.row.sides is not None
    below, above = objective.row.sides(*objective.parameters)
    share = below / (below + above)
    return replace(objective, loss=CHECKED.name, quantile=share, delta=width, over=1.0)


def with_slope(objective: Objective, residuals: Array, share: float = 1.0) -> Objective:
    """An objective with a differentiable loss: itself, or smoothed near a kink.

    Args:
        objective: the objective.
        residuals: the residuals at its minimum, any shape.
        share: the width of the smoothing, relative to the median residual.
    """
    if not objective.row.kinked:
        return objective
    width = share * float(np.median(np.abs(residuals)))
    return smoothed(objective, width if width > 0 and np.isfinite(width) else 1.0)


def least_squares_loss(objective: Objective) -> str | Any:
    """The loss in the form required by `scipy.optimize.least_squares`, for residuals divided by
    `f_scale`.

    This is SciPy's name of the loss, or else a function z -> (rho, rho', rho'') of z = r², shape
    (3, rows), with 2·loss = rho(r²): its first derivative is rho'(r)/r, its second (rho''(r) -
    rho'(r)/r)/(2·r²).
    """
    if objective.row.least_squares is not None:
        return objective.row.least_squares

    def of_squares(z: Array) -> Array:
        r = np.sqrt(z)
        value, slope = value_and_slope(r, objective)
        weight = curvature_of(r, slope, objective, exact=False)
        curvature = curvature_of(r, slope, objective, exact=True)
        second = ARRAYS.ratio(curvature - weight, 2 * z, 0.0)
        return np.stack([2 * value, weight, second])

    return of_squares


def root_of_loss(residual: Array, objective: Objective) -> tuple[Array, Array]:
    """sqrt(2·rho(r)) with the sign of r, and its derivative: residuals whose squares are the loss,
    whatever its sides are.

    Args:
        residual: the residuals, any shape.
        objective: the objective, with a loss that has a curvature at 0.

    Returns:
        Two arrays of that shape.
    """
    value, slope = value_and_slope(residual, objective)
    root = np.copysign(np.sqrt(2 * value), residual)
    at_zero = np.sqrt(curvature_of(residual, slope, objective, exact=True))
    is_zero = np.abs(root) < MIN_ROOT
    return root, np.where(is_zero, at_zero, slope / np.where(is_zero, 1.0, root))
