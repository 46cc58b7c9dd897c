"""What a residual costs: Huber's loss, or its square."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.language.resolver import Objective

Array = NDArray[np.float64]


def rho(residual: Array, objective: Objective) -> Array:
    """The loss of a residual. Huber: r²/2 within delta, delta·(|r| - delta/2) outside; or r²."""
    with np.errstate(all="ignore"):
        if objective.loss == "squared":
            return residual * residual
        near = clipped(residual, objective)
        return near * (residual - near / 2)


def rho_slope(residual: Array, objective: Objective) -> Array:
    """The derivative of the loss by the residual."""
    near = clipped(residual, objective)
    return 2 * near if objective.loss == "squared" else near


def rho_bend(residual: Array, objective: Objective, exact: bool) -> Array:
    """The second derivative of the loss by the residual, or the weight slope / residual."""
    return bend_of(residual, clipped(residual, objective), objective, exact)


def clipped(residual: Array, objective: Objective) -> Array:
    """The residual, or what of it lies within Huber's delta."""
    if objective.loss == "squared":
        return residual
    return np.minimum(np.maximum(residual, -objective.delta), objective.delta)


def bend_of(residual: Array, near: Array, objective: Objective, exact: bool) -> Array:
    """`rho_bend` where what is clipped is known."""
    if objective.loss == "squared":
        return np.full_like(residual, 2.0)
    if exact:
        return (near == residual).astype(np.float64)
    return np.divide(near, residual, out=np.ones_like(near), where=residual != 0)
