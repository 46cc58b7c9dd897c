"""A second-order model of the objective near some points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LocalModel:
    """The objective near some points: its values, gradients and second derivatives.

    Attributes:
        loss: the objective, shape (starts,); inf where the law has no value.
        gradient: its gradient with respect to the unconstrained parameters, shape (starts,
            parameters).
        hessian: its Hessian, shape (starts, parameters, parameters); exact, or the Gauss-Newton
            approximation.
    """

    loss: Array
    gradient: Array
    hessian: Array

    def of(self, chosen: NDArray[np.bool_]) -> LocalModel:
        """Select some of the points by a mask of shape (starts,)."""
        return LocalModel(self.loss[chosen], self.gradient[chosen], self.hessian[chosen])

    def without(self, excluded: NDArray[np.bool_]) -> LocalModel:
        """Remove some unconstrained parameters, shape (starts, parameters), from the steps: their
        gradient is set to 0, and their rows and columns of the Hessian to those of the identity.
        """
        if not excluded.any():
            return self
        hessian = np.where(excluded[:, :, None] | excluded[:, None, :], 0.0, self.hessian)
        np.einsum("sii->si", hessian)[...] += excluded
        return LocalModel(self.loss, np.where(excluded, 0.0, self.gradient), hessian)

    def where(self, replaced: NDArray[np.bool_], other: LocalModel) -> LocalModel:
        """Replace the values at some points, shape (starts,), by those of another record."""
        if replaced.all():
            return other
        return LocalModel(
            np.where(replaced, other.loss, self.loss),
            np.where(replaced[:, None], other.gradient, self.gradient),
            np.where(replaced[:, None, None], other.hessian, self.hessian),
        )
