"""Law + problem -> the value of a parameter chosen before the fit: c for which log(L - c) is most
linear.

L = c + k*exp(t*r) gives log(L - c) = log(k) + t*r, which is linear in r. So c minimises the share
of the variance of log(L - c) that a linear regression leaves unexplained, |(I - QQᵀ)·z|²/|z -
mean(z)|² with z = log(L - c) (for one variable: it maximises the correlation), and the other
parameters are fitted with this c fixed (Ye et al. (2024), section 5, as released with the paper). A
share is used because the variance itself vanishes as c decreases.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.objectives import ParameterChoice
from lawdsl.core.scalar_minimum import bounded_minimum

Array = NDArray[np.float64]

# number of candidates, if the law does not state it
SCANNED_VALUES = 2000
# smallest distance of a candidate from the smallest measurement, relative to the interval
MIN_CANDIDATE_DISTANCE = 1e-9
# tolerance of the refined value, relative to its distance from the smallest measurement
DISTANCE_RTOL = 1e-12


@dataclass(frozen=True)
class LinearityCriterion:
    """Chooses the parameter c for which log(L - c) is most nearly linear in the regressors.

    Attributes:
        choice: the parameter, and the number of candidate values.
        number: the position of the parameter in the law.
        lower: its lower bound.
        closed: whether it may equal the bound.
        target: the measured values, shape (rows,).
        basis: the regressors, shape (rows, functions).
        offset: the part of the logarithm that depends on no parameter, shape (rows,).
        weights: the weights of the rows, shape (rows,).
    """

    choice: ParameterChoice
    number: int
    lower: float
    closed: bool
    target: Array
    basis: Array
    offset: Array
    weights: Array

    @property
    def top(self) -> float:
        """The upper limit of the parameter, which is excluded."""
        return float(np.min(self.target))

    @cached_property
    def candidates(self) -> Array:
        """The candidate values, ascending, shape (values,). If the law does not state their number,
        they are denser towards the smallest measurement, near which the logarithm is steep.
        """
        if self.choice.count is not None:
            values = np.linspace(self.lower, self.top, self.choice.count)[:-1]
        else:
            distances = (self.top - self.lower) * np.geomspace(
                1, MIN_CANDIDATE_DISTANCE, SCANNED_VALUES
            )
            values = self.top - distances
            values[0] = self.lower
        return values if self.closed else values[1:]

    def value(self, weights: Array | None = None) -> float:
        """The best value, optionally with other weights of the rows.

        If the law states the number of candidates, it is one of them; else the best candidate is
        refined between its neighbours.

        Args:
            weights: the weights of the rows, shape (rows,); None for those of the problem.
        """
        weights = self.weights if weights is None else weights
        candidates = self.candidates
        best = int(np.argmin(self.unexplained(candidates, weights)))
        if self.choice.count is not None or best in (0, len(candidates) - 1):
            return float(candidates[best])
        # in the logarithm of the distance from the top, in which candidates are evenly spaced
        log_distances = np.log(self.top - candidates[[best + 1, best - 1]])

        def share(distance: float) -> float:
            return float(self.unexplained(np.array([self.top - np.exp(distance)]), weights)[0])

        low, high = log_distances
        optimum, _ = bounded_minimum(share, low, high, DISTANCE_RTOL)
        return self.top - float(np.exp(optimum))

    def unexplained(self, values: Array, weights: Array | None = None) -> Array:
        """The share of the variance of log(L - c) that the regression leaves unexplained, shape
        (values,).

        Args:
            values: the values of the parameter, shape (values,).
            weights: the weights of the rows, replacing those of the problem.
        """
        root = np.sqrt(self.weights if weights is None else weights)[:, None]
        # the top itself is not a candidate: its logarithm is -inf
        logs = np.log(self.target[:, None] - values)
        regression_basis, _ = np.linalg.qr(root * self.basis)
        constant_basis, _ = np.linalg.qr(root)
        residual_squares = _projected_squares(
            regression_basis, root * (logs - self.offset[:, None])
        )
        return residual_squares / _projected_squares(constant_basis, root * logs)

    def findings(self, value: float) -> list[Diagnostic]:
        """Diagnostics about the chosen value."""
        name, candidates = self.choice.name, self.candidates
        if value == candidates[-1]:
            message = f"log(L - {name}) is the straighter, the nearer {name} is to the smallest L"
            help = "the rest of the law says little of these data: look at the smallest value"
            return [Diagnostic("F0103", message, "warning", help=help)]
        if value == candidates[0]:
            message = f"{name} lies at its lower bound {self.lower:g}"
            help = f"log(L - {name}) may be straighter below: question the bound, or the law"
            return [Diagnostic("F0103", message, "warning", help=help)]
        return []


def _projected_squares(q: Array, columns: Array) -> Array:
    """The sums of squares of columns after projection off orthonormal ones: shape (columns,)."""
    projected = columns - q @ (q.T @ columns)
    # projected twice, which removes the rounding error of the first projection
    twice = projected - q @ (q.T @ projected)
    return np.asarray(np.sum(twice**2, axis=0), dtype=np.float64)
