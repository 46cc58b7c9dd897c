"""Fit + points -> by how much its law is expected to be wrong there.

It connects a fit, in the variables of its law, with a discrepancy, in coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.extrapolation.coordinates import Axis, axes_of, coordinates
from lawdsl.fitting.extrapolation.discrepancy import (
    Discrepancy,
    FittedRows,
    NoiseLevels,
    PriorRows,
    conditioned,
)
from lawdsl.fitting.penalty import Penalty
from lawdsl.fitting.problem import Problem

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LawError:
    """What is expected of the logarithm of the output, beside the law: shapes (points,).

    Attributes:
        mean: by how much the prediction differs from the law.
        parameters: standard deviation that the noise of the fitted rows leaves, if the law is
            correct.
        law: standard deviation that the discrepancy adds to it.
        levels: the noise of a row, and what the rows of a run have in common.
    """

    mean: Array
    parameters: Array
    law: Array
    levels: NoiseLevels

    @property
    def curve(self) -> Array:
        """The standard deviation of the curve."""
        return np.hypot(self.parameters, self.law)

    @property
    def further_run(self) -> Array:
        """The standard deviation of the output of a further run."""
        return np.sqrt(self.curve**2 + self.levels.noise**2 + self.levels.run**2)


@dataclass(frozen=True)
class LawErrorModel:
    """A discrepancy of a fitted law.

    Attributes:
        names: the law's variables.
        axes: their coordinates.
        discrepancy: conditioned on the rows.
    """

    names: tuple[str, ...]
    axes: tuple[Axis, ...]
    discrepancy: Discrepancy

    @classmethod
    def of(
        cls,
        problem: Problem,
        theta: Array,
        names: tuple[str, ...],
        shares: tuple[bool, ...],
        runs: NDArray[np.int64] | None,
        amplitude: float,
        priors: PriorRows | None = None,
        weights: Array | None = None,
    ) -> LawErrorModel:
        """Condition a discrepancy on the rows of a fit.

        Args:
            problem: the law at those rows, with residuals of logarithms.
            theta: the parameters of the fit, shape (parameters,).
            names: the law's variables.
            shares: which of them have a domain within [0, 1].
            runs: the run of each row, shape (rows,), where some run has several; else None.
            amplitude: standard deviation of log L per decade.
            priors: the declared priors of the parameters; None without.
            weights: those of the table's rows, shape (rows,); None where all are equal.
        """
        residuals, jacobian = log_residuals(problem, theta)
        axes = axes_of(names, shares, problem.columns)
        z = coordinates(axes, names, problem.columns)
        rows = FittedRows(z, -residuals, jacobian, runs, weights, priors=priors)
        return cls(names, tuple(axes), conditioned(rows, amplitude))

    def at(self, problem: Problem, theta: Array) -> LawError:
        """The error of the law at points.

        Args:
            problem: the law at the points, with residuals of logarithms.
            theta: the parameters of the fit, shape (parameters,).
        """
        _, jacobian = log_residuals(problem, theta)
        z = coordinates(self.axes, self.names, problem.columns)
        mean, variance = self.discrepancy.at(z, jacobian)
        by_noise = self.discrepancy.from_parameters(jacobian)
        law = np.sqrt(np.maximum(variance - by_noise, 0.0))
        return LawError(mean, np.sqrt(np.minimum(by_noise, variance)), law, self.discrepancy.levels)

    def widened(self, factor: float) -> LawErrorModel:
        """A model of equal mean, with the standard deviation of the law's error times a factor."""
        return replace(self, discrepancy=replace(self.discrepancy, widening=factor))

    def moments(self, problem: Problem, theta: Array) -> tuple[Array, Array]:
        """Mean and variance of the error of the law at points, both of shape (points,).

        Args:
            problem: the law at the points, with residuals of logarithms.
            theta: the parameters of the fit, shape (parameters,).
        """
        _, jacobian = log_residuals(problem, theta)
        z = coordinates(self.axes, self.names, problem.columns)
        return self.discrepancy.at(z, jacobian)

    def jointly(self, problem: Problem, theta: Array) -> tuple[Array, Array]:
        """The joint distribution of the error of the law at points.

        Args:
            problem: the law at the points, with residuals of logarithms.
            theta: the parameters of the fit, shape (parameters,).

        Returns:
            The mean, shape (points,), and the covariance, shape (points, points).
        """
        _, jacobian = log_residuals(problem, theta)
        z = coordinates(self.axes, self.names, problem.columns)
        return self.discrepancy.jointly(z, jacobian)


def prior_rows(penalty: Penalty | None, theta: Array) -> PriorRows | None:
    """Declared priors as a discrepancy takes them; None for none.

    Args:
        penalty: the penalty of the priors.
        theta: the fitted parameters, shape (parameters,).
    """
    if penalty is None:
        return None
    # in units of the standard deviations: the noise of the rows has no part in it
    slopes = np.nan_to_num(penalty.pseudo_rows(theta, 1.0) * theta, posinf=0.0, neginf=0.0)
    distances = penalty.centers - penalty.quantities(theta[None])[0]
    return PriorRows(slopes, distances / penalty.deviations)


def log_residuals(problem: Problem, theta: Array) -> tuple[Array, Array]:
    """Residuals of logarithms, and their Jacobian with respect to the logarithms of the parameters.

    A parameter that may be negative has the slope with respect to its own relative change as well.

    Args:
        problem: the law at some rows, with residuals of logarithms.
        theta: the parameters, shape (parameters,).

    Returns:
        Shapes (rows,) and (rows, parameters).
    """
    residuals, jacobian = problem.slopes(theta[None])
    # where the law has no derivative, as a power of 0, a parameter has no effect on the error
    return residuals[0], np.nan_to_num(jacobian[0] * theta, posinf=0.0, neginf=0.0)
