"""Declared priors -> the penalty that they add to an objective, with its derivatives.

For independent Gaussians with centers m_k and standard deviations s_k on quantities g_k, each a
parameter or its logarithm, the fit minimises

    F(theta)/kappa + Σ_k ((g_k(theta) - m_k)/s_k)²/2,    kappa = mean(psi²)/mean(psi'),

the negative logarithm of a posterior density: an increase of the objective F by kappa/2 corresponds
to a squared deviation of 1. For squared losses kappa/2 is the variance of the noise; in general
kappa is the scale for which the curvature of F/kappa is the inverse of the sandwich covariance
tau²·(JᵀWJ)⁻¹ (Huber (1981), Robust Statistics, chapter 7; Lyddon, Holmes and Walker (2019),
Biometrika 106). It is estimated from the fit without the priors, by `m_estimator.noise_of`, and
then fixed. Solvers minimise kappa times this sum, F + kappa·Σ_k ((g_k - m_k)/s_k)²/2, which has the
scale of F.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from lawdsl.language.symbols import Prior

Array = NDArray[np.float64]


@dataclass(frozen=True)
class NoiseScale:
    """The noise of a fit without its priors, as in `m_estimator.Noise`.

    Attributes:
        square: mean(psi²) of the errors.
        curvature: mean(psi').
        dof: residual degrees of freedom.
        inflation: the ratio of the variance of the estimates to that under independence of rows, if
            rows come from runs or are copies.
    """

    square: float
    curvature: float
    dof: int
    inflation: float = 1.0

    @property
    def kappa(self) -> float:
        """Twice the increase of the objective that corresponds to one standard deviation."""
        return self.inflation * self.square / self.curvature

    @property
    def tau2(self) -> float:
        """The variance factor of the estimates, which is the variance of a residual if the noise is
        Gaussian.
        """
        return self.square / self.curvature**2


@dataclass(frozen=True, eq=False)
class Penalty:
    """The penalty of some priors.

    Attributes:
        numbers: the positions of their parameters, shape (priors,).
        logs: the mask of priors on logarithms, shape (priors,).
        centers: the centers, shape (priors,), or (starts, priors) if they differ between starts.
        deviations: the standard deviations, shape (priors,).
        noise: the noise of the fit without the priors.
        share: the factor of the penalty: the share of the rows, if the search uses a sample of
            them.
    """

    numbers: NDArray[np.int64]
    logs: NDArray[np.bool_]
    centers: Array
    deviations: Array
    noise: NoiseScale
    share: float = 1.0

    @classmethod
    def of(cls, priors: Sequence[Prior], names: Sequence[str], noise: NoiseScale) -> Penalty:
        """The penalty of declared priors.

        Args:
            priors: the priors, at most one per parameter.
            names: the parameters, in the order of the fit.
            noise: the noise of the fit without the priors.
        """
        return cls(
            np.array([list(names).index(p.parameter) for p in priors], dtype=np.int64),
            np.array([p.log for p in priors], dtype=np.bool_),
            np.array([p.center for p in priors], dtype=np.float64),
            np.array([p.deviation for p in priors], dtype=np.float64),
            noise,
        )

    @property
    def stiffness(self) -> Array:
        """kappa/s_k², the curvature of each term with respect to its quantity, shape (priors,)."""
        return self.share * self.noise.kappa / self.deviations**2

    def quantities(self, theta: Array) -> Array:
        """g_k at parameters of shape (starts, parameters): shape (starts, priors)."""
        chosen = theta[:, self.numbers]
        with np.errstate(all="ignore"):
            return np.where(self.logs, np.log(np.where(self.logs, chosen, 1.0)), chosen)

    def slopes(self, theta: Array) -> Array:
        """dg_k/dtheta at parameters of shape (starts, parameters): shape (starts, priors)."""
        with np.errstate(all="ignore"):
            return np.where(self.logs, 1 / theta[:, self.numbers], 1.0)

    def value(self, theta: Array) -> Array:
        """The penalty at parameters of shape (starts, parameters): shape (starts,)."""
        deviations = self.quantities(theta) - self.centers
        with np.errstate(all="ignore"):
            return np.asarray(np.sum(self.stiffness * deviations**2, axis=1) / 2)

    def derivatives(self, theta: Array, exact: bool) -> tuple[Array, Array]:
        """The gradient with respect to the parameters, and the diagonal of the Hessian, whose other
        entries are 0.

        Args:
            theta: shape (starts, parameters).
            exact: whether to compute the second derivatives; else their Gauss-Newton approximation,
                which is not negative.

        Returns:
            Two arrays of shape (starts, parameters).
        """
        slopes, pull = self.slopes(theta), self.quantities(theta) - self.centers
        gradient, curvature = np.zeros_like(theta), np.zeros_like(theta)
        gradient[:, self.numbers] = self.stiffness * pull * slopes
        # d²(log theta)/dtheta² = -1/theta²
        bend = np.where(self.logs & exact, 1 - pull, 1.0)
        curvature[:, self.numbers] = self.stiffness * slopes**2 * bend
        return gradient, curvature

    def linear_terms(self, linear: Sequence[int], starts: int) -> tuple[Array, Array]:
        """The curvature and the centers of the terms of linear parameters, whose priors are on the
        parameters themselves.

        Args:
            linear: the positions of these parameters.
            starts: the number of starts.

        Returns:
            Shapes (linear,) and (starts, linear); both are 0 for a parameter without a prior.
        """
        stiffness, centers = np.zeros(len(linear)), np.zeros((starts, len(linear)))
        all_centers = np.broadcast_to(self.centers, (starts, len(self.numbers)))
        for k, number in enumerate(self.numbers):
            if number in linear:
                # a parameter with a prior on its logarithm is not solved for
                assert not self.logs[k]
                j = list(linear).index(int(number))
                stiffness[j], centers[:, j] = self.stiffness[k], all_centers[:, k]
        return stiffness, centers

    def pseudo_rows(self, theta: Array, deviation: float | None = None) -> Array:
        """The priors as rows of a Jacobian with respect to the parameters, each of weight 1.

        With them (JᵀWJ)⁻¹ is the posterior covariance for noise of variance 1: a prior is
        equivalent to a measurement of its quantity with noise s_k, in units of the noise of a row.

        Args:
            theta: the parameters, shape (parameters,).
            deviation: the standard deviation of the noise of a row; None for that of the fit,
                sqrt(tau²).

        Returns:
            Shape (priors, parameters).
        """
        size = np.sqrt(self.noise.tau2) if deviation is None else deviation
        rows = np.zeros((len(self.numbers), len(theta)))
        slopes = size * self.slopes(theta[None])[0] / self.deviations
        rows[np.arange(len(rows)), self.numbers] = slopes
        return rows

    def draw_into(self, theta: Array, rng: np.random.Generator) -> None:
        """Overwrite the parameters that have priors by draws from these, in place.

        Args:
            theta: shape (starts, parameters).
            rng: the random generator of the draws.
        """
        shape = (len(theta), len(self.numbers))
        drawn = self.centers + self.deviations * rng.normal(size=shape)
        with np.errstate(over="ignore"):
            theta[:, self.numbers] = np.where(self.logs, np.exp(drawn), drawn)

    def of_starts(self, chosen: NDArray[Any]) -> Penalty:
        """Restrict centers that differ between starts to some starts, given by number or mask."""
        return self if self.centers.ndim == 1 else replace(self, centers=self.centers[chosen])
