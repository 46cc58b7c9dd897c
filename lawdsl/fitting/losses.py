"""Residuals -> losses and their derivatives, as arrays, for an objective."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.language.resolver import Objective

Array = NDArray[np.float64]


class Arrays:
    """The arithmetic of losses on arrays."""

    minimum = staticmethod(np.minimum)
    maximum = staticmethod(np.maximum)
    where = staticmethod(np.where)
    full_like = staticmethod(np.full_like)

    @staticmethod
    def ratio(x: Array, y: Array, at_zero: float, /) -> Array:
        """x/y, or `at_zero` where y is 0."""
        return np.divide(x, y, out=np.full_like(x, at_zero), where=y != 0)

    # what rows of other losses are made of
    abs = staticmethod(np.abs)
    exp = staticmethod(np.exp)
    log1p = staticmethod(np.log1p)
    sqrt = staticmethod(np.sqrt)
    tanh = staticmethod(np.tanh)


ARRAYS: Any = Arrays()


def rho(residual: Array, objective: Objective) -> Array:
    """The loss of each residual."""
    with np.errstate(all="ignore"):
        value: Array = objective.row.value(ARRAYS, residual, *objective.parameters)
        return value


def rho_slope(residual: Array, objective: Objective) -> Array:
    """The derivative of the loss by the residual."""
    slope: Array = objective.row.slope(ARRAYS, residual, *objective.parameters)
    return slope


def value_and_slope(residual: Array, objective: Objective) -> tuple[Array, Array]:
    """The loss of each residual and its derivative, at the cost of little more than one of them."""
    return objective.row.value_and_slope(ARRAYS, residual, *objective.parameters)


def rho_curvature(residual: Array, objective: Objective, exact: bool) -> Array:
    """The second derivative of the loss by the residual, or the weight slope / residual."""
    return curvature_of(residual, rho_slope(residual, objective), objective, exact)


def curvature_of(residual: Array, slope: Array, objective: Objective, exact: bool) -> Array:
    """`rho_curvature` from residuals and slopes of the same shape."""
    row = objective.row
    second = row.curvature if exact else row.weight
    curvature: Array = second(ARRAYS, residual, slope, *objective.parameters)
    return curvature


def least_squares_loss(objective: Objective) -> str | Any:
    """The loss as `scipy.optimize.least_squares` takes it, of residuals divided by `f_scale`.

    Its own name for it; else the function z -> (rho, rho', rho'') of z = r², shape (3, rows), with
    2·loss = rho(r²): its first derivative is rho'(r)/r, its second (rho''(r) - rho'(r)/r)/(2·r²).
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
