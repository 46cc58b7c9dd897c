"""Fit + points -> the expected error of its law at these points.

This module connects a fit, in the variables of its law, with a discrepancy, in coordinates.
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
    condition_on_rows,
)
from lawdsl.fitting.penalty import Penalty
from lawdsl.fitting.problem import Problem

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LawError:
    """The distribution of the error of the logarithm of the output: arrays of shape (points,).

    Attributes:
        mean: the mean, which is the difference of the prediction from the law.
        parameters: the standard deviation due to the noise of the fitted rows, if the law is
            correct.
        law: the additional standard deviation due to the discrepancy.
        levels: the noise of a row, and the run effects.
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
    """The discrepancy of a fitted law, conditioned on its rows.

    Attributes:
        names: the law's variables.
        axes: the coordinates of the variables.
        discrepancy: the discrepancy, conditioned on the rows.
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
            shares: whether the domain of each variable is within [0, 1].
            runs: the run of each row, shape (rows,), if some run has several rows; else None.
            amplitude: standard deviation of log L per decade.
            priors: the declared priors of the parameters; None without.
            weights: the weights of the table's rows, shape (rows,); None if all are equal.
        """
        residuals, jacobian = log_residuals(problem, theta)
        axes = axes_of(names, shares, problem.columns)
        z = coordinates(axes, names, problem.columns)
        rows = FittedRows(z, -residuals, jacobian, runs, weights, priors=priors)
        return cls(names, tuple(axes), condition_on_rows(rows, amplitude))

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
        """A model with the same mean, and the standard deviation of the law's error multiplied by a
        factor.
        """
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
    """Declared priors in the form required by a discrepancy; None if there are none.

    Args:
        penalty: the penalty of the priors.
        theta: the fitted parameters, shape (parameters,).
    """
    if penalty is None:
        return None
    # in units of the standard deviations, so that the noise of the rows is not involved
    slopes = np.nan_to_num(penalty.pseudo_rows(theta, 1.0) * theta, posinf=0.0, neginf=0.0)
    distances = penalty.centers - penalty.quantities(theta[None])[0]
    return PriorRows(slopes, distances / penalty.deviations)


def log_residuals(problem: Problem, theta: Array) -> tuple[Array, Array]:
    """Residuals of logarithms, and their Jacobian with respect to the logarithms of the parameters.

    For a parameter that may be negative the derivative is also with respect to its relative change.

    Args:
        problem: the law at some rows, with residuals of logarithms.
        theta: the parameters, shape (parameters,).

    Returns:
        Shapes (rows,) and (rows, parameters).
    """
    residuals, jacobian = problem.slopes(theta[None])
    # where the law has no derivative, as for a power of 0, a parameter has no effect on the error
    return residuals[0], np.nan_to_num(jacobian[0] * theta, posinf=0.0, neginf=0.0)
