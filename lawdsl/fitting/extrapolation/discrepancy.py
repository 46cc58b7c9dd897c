"""Fitted rows + amplitude -> the error of the law at other points, by Gaussian process regression.

With residuals r = log y - log law(x; θ̂), Jacobians J = ∂ log law/∂ log θ and the weak prior log θ
- log θ̂ ~ N(0, Λ), Λ = n·(JᵀJ)⁻¹, under which the loss at the n rows changes by about a factor e,
and which does not depend on the units of the variables (Zellner 1986, g-prior):

    C   = J Λ Jᵀ + s²K + τ²·[same run] + diag(σ²/w)
    C_t = J_t Λ Jᵀ + s²K_t
    mean     = C_t C⁻¹ r
    variance = J_t Λ J_tᵀ + s²k_tt - C_t C⁻¹ C_tᵀ        (+ τ² + σ² for a further run)

Declared priors, with derivatives h_k of their quantities with respect to log θ in units of the
standard deviations, and deviations p_k of their centers from the fit in these units, are part of
that prior: its covariance is Λ = (JᵀJ/n + HᵀH)⁻¹, and its mean ΛHᵀp.

θ̂ is not estimated again: θ and δ are confounded, and parameters estimated together with δ would not
be those of a fit (Tuo and Wu 2015, Annals of Statistics 43).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.scalar_minimum import bounded_minimum
from lawdsl.fitting.extrapolation.kernel import kernel, kernel_diagonal
from lawdsl.fitting.extrapolation.triangular import solve_lower
from lawdsl.fitting.intervals.covariance import column_norms

Array = NDArray[np.float64]

# per decade, from many tables: a single table does not determine the error of its law beyond its
# rows
DEFAULT_AMPLITUDE = 0.02
MIN_NOISE = 1e-4  # of the logarithm, since tables are rounded
# residuals beyond this many standard deviations are treated as outliers (Huber 1964)
HUBER_CONSTANT = 2.0
RANK_RTOL = 1e-12  # relative to the largest singular value: smaller ones are rounding
REWEIGHTINGS = 4  # after so many iterations the weights of outliers are stable
# standard deviation of log L above which the law is corrected by less than half of the posterior
# mean
SHRINKAGE = 0.1
# standard deviation of log L above which a linearisation in the parameters is meaningless: the ends
# of a 95 % interval differ by a factor of 50
MAX_DEVIATION = 1.0
POINTS_AT_ONCE = 512  # points whose covariances with the rows fit into the cache of a core
REFINEMENTS = 6  # refinements of a grid of noise levels, each ten times as fine
NOISE_LEVELS = 401  # grid points over which a posterior is averaged, 2.3 % apart
# smallest and largest ratio of the standard deviation of run effects to that of the noise
RUN_RATIOS = (0.5, 10.0)


@dataclass(frozen=True)
class PriorRows:
    """Declared priors of parameters, linearised at the fit.

    Attributes:
        slopes: the derivatives of their quantities with respect to the logarithms of the
            parameters, divided by the standard deviations, shape (priors, p).
        pulls: the centers minus the fitted quantities, divided by the standard deviations, shape
            (priors,).
    """

    slopes: Array
    pulls: Array


@dataclass(frozen=True)
class FittedRows:
    """The fitted rows that a discrepancy is conditioned on, linearised at the fit.

    Attributes:
        z: coordinates, shape (rows, axes).
        residuals: the residuals of the logarithms, measured minus fitted, shape (rows,).
        jacobian: the Jacobian of the logarithm of the law with respect to the logarithms of the
            parameters, shape (rows, p).
        runs: the index of each row's run, shape (rows,); None if each row is a run. weights: the
        inverse variance of the noise of each row, relative to that of an ordinary row: less than 1
        for an outlier; shape (rows,). None if all are 1.
        priors: the declared priors of the parameters; None without.
    """

    z: Array
    residuals: Array
    jacobian: Array
    runs: NDArray[np.int64] | None = None
    weights: Array | None = None
    priors: PriorRows | None = None

    @property
    def root_weights(self) -> Array:
        """The square roots of the weights, shape (rows,)."""
        return np.ones(len(self.residuals)) if self.weights is None else np.sqrt(self.weights)

    @property
    def same_run(self) -> Array:
        """1 for pairs of rows of one run, else 0, shape (rows, rows)."""
        if self.runs is None:
            return np.eye(len(self.residuals))
        return np.asarray(self.runs[:, None] == self.runs, dtype=np.float64)

    @cached_property
    def directions(self) -> Array:
        """F with F·Fᵀ = Λ, the prior covariance of log θ - log θ̂: shape (p, directions)."""
        jacobian, root_of_rows = self.jacobian, np.sqrt(len(self.residuals))
        if self.priors is not None:
            jacobian = np.vstack([jacobian, root_of_rows * self.priors.slopes])
        norms = column_norms(jacobian)
        # the reciprocal of a subnormal number may overflow, so such a column counts as 0
        scale = 1 / np.where(norms >= np.finfo(np.float64).tiny, norms, 1.0)
        _, widths, vectors = np.linalg.svd(jacobian * scale, full_matrices=False)
        nonzero = widths > RANK_RTOL * np.max(widths, initial=0.0)
        return np.asarray(
            root_of_rows * scale[:, None] * (vectors[nonzero] / widths[nonzero, None]).T
        )

    @cached_property
    def offset(self) -> Array | None:
        """The mean of log θ - log θ̂ under the declared priors, shape (p,); None without priors."""
        if self.priors is None:
            return None
        projected_slopes = self.priors.slopes @ self.directions
        return np.asarray(self.directions @ (projected_slopes.T @ self.priors.pulls))

    @cached_property
    def deviations(self) -> Array:
        """The residuals minus the effect of the mean under the declared priors, shape (rows,)."""
        return (
            self.residuals if self.offset is None else self.residuals - self.jacobian @ self.offset
        )

    @cached_property
    def kernel(self) -> Array:
        """The covariance of the discrepancy at the rows, for an amplitude of 1: (rows, rows)."""
        return kernel(self.z, self.z)

    def explained(self, amplitude: float) -> Array:
        """The prior covariance of the residuals due to parameters and discrepancy, shape (rows,
        rows).
        """
        changes = self.jacobian @ self.directions
        covariance: Array = changes @ changes.T
        if amplitude:
            covariance += amplitude**2 * self.kernel
        return covariance

    def with_weights(self, weights: Array) -> FittedRows:
        """The same rows with other weights; what does not depend on these is kept."""
        changed = replace(self, weights=weights)
        kept = ("directions", "offset", "deviations", "kernel")
        changed.__dict__.update(
            {name: self.__dict__[name] for name in kept if name in self.__dict__}
        )
        return changed


@dataclass(frozen=True)
class NoiseLevels:
    """Standard deviations of the noise of the logarithm.

    Attributes:
        noise: that of a row.
        run: that of the run effects; 0 if each row is a run.
    """

    noise: float
    run: float


@dataclass(frozen=True)
class Discrepancy:
    """A discrepancy conditioned on the rows of a fit.

    Attributes:
        rows: the fitted rows.
        amplitude: standard deviation of log L per decade, 0.02 for 2 %.
        levels: the noise of rows and the run effects.
        widening: the factor by which the standard deviation of the law's error is multiplied.
    """

    rows: FittedRows
    amplitude: float
    levels: NoiseLevels
    widening: float = 1.0

    @cached_property
    def _cholesky_factor(self) -> Array:
        """The Cholesky factor of the covariance of discrepancy and noise, shape (rows, rows)."""
        rows, levels = self.rows, self.levels
        weights = np.ones(len(rows.residuals)) if rows.weights is None else rows.weights
        covariance = np.diag(levels.noise**2 / weights)
        if levels.run:
            covariance += levels.run**2 * rows.same_run
        if self.amplitude:
            covariance += self.amplitude**2 * rows.kernel
        return np.asarray(np.linalg.cholesky(covariance))

    @cached_property
    def _whitened_jacobian(self) -> Array:
        """The Jacobian of the rows with respect to the directions, whitened by the root: shape
        (rows, directions).
        """
        return self._whitened(self.rows.jacobian @ self.rows.directions)

    @cached_property
    def _whitened_residuals(self) -> Array:
        """The residuals, whitened by the root, shape (rows,)."""
        return self._whitened(self.rows.deviations)

    def _whitened(self, right: Array) -> Array:
        """The product of the inverse of the Cholesky factor with an array of as many rows."""
        if not (self.amplitude or self.levels.run):  # a diagonal factor
            return (right.T * (self.rows.root_weights / self.levels.noise)).T
        return solve_lower(self._cholesky_factor, right)

    @cached_property
    def _covariance_of_changes(self) -> Array:
        """The posterior covariance of the directions, shape (directions, directions)."""
        changes = self._whitened_jacobian
        return np.asarray(np.linalg.inv(np.eye(changes.shape[1]) + changes.T @ changes))

    @cached_property
    def _covariance_by_noise(self) -> Array:
        """The posterior covariance of the directions without an error of the law, of the same
        shape.
        """
        return Discrepancy(self.rows, 0.0, self.levels)._covariance_of_changes

    def at(self, z: Array, jacobian: Array) -> tuple[Array, Array]:
        """The mean and the variance of the error of the law at points.

        Args:
            z: their coordinates, shape (points, axes).
            jacobian: the Jacobian of the logarithm of the law there, shape (points, p).

        Returns:
            Both of shape (points,).
        """
        mean, variance = np.empty(len(z)), np.empty(len(z))
        for first in range(0, len(z), POINTS_AT_ONCE):
            part = slice(first, first + POINTS_AT_ONCE)
            mean[part], variance[part] = self._at(z[part], jacobian[part])
        kept = self.shrinkage_factor(variance)
        mean, variance = kept * mean, variance + ((1 - kept) * mean) ** 2
        if self.widening != 1:
            by_noise = self.from_parameters(jacobian)
            by_law = np.maximum(variance - by_noise, 0.0)
            variance = variance + (self.widening**2 - 1) * by_law
        return mean, variance

    def _at(self, z: Array, jacobian: Array) -> tuple[Array, Array]:
        # first δ given the parameters, then the parameters: combined in one matrix with Λ, as in
        # the docstring of the module, large numbers would cancel
        covariance = self._covariance_of_changes
        estimate = covariance @ (self._whitened_jacobian.T @ self._whitened_residuals)
        changes = jacobian @ self.rows.directions
        mean, variance = changes @ estimate, np.zeros(len(z))
        if self.rows.offset is not None:
            mean += jacobian @ self.rows.offset
        if self.amplitude:
            cross = self.amplitude**2 * kernel(self.rows.z, z)
            whitened = solve_lower(self._cholesky_factor, cross, check_finite=False)
            variance = self.amplitude**2 * kernel_diagonal(z) - np.einsum(
                "ij,ij->j", whitened, whitened
            )
            mean += (self._whitened_residuals - self._whitened_jacobian @ estimate) @ whitened
            changes = changes - whitened.T @ self._whitened_jacobian
        by_parameters = np.einsum("ij,jk,ik->i", changes, covariance, changes)
        return mean, np.maximum(variance, 0.0) + by_parameters

    def jointly(self, z: Array, jacobian: Array) -> tuple[Array, Array]:
        """The joint distribution of the error of the law at points.

        Args:
            z: their coordinates, shape (points, axes).
            jacobian: the Jacobian of the logarithm of the law there, shape (points, p).

        Returns:
            The mean, shape (points,), and the covariance, shape (points, points).
        """
        covariance = self._covariance_of_changes
        estimate = covariance @ (self._whitened_jacobian.T @ self._whitened_residuals)
        changes = jacobian @ self.rows.directions
        mean, joint = changes @ estimate, np.zeros((len(z), len(z)))
        if self.rows.offset is not None:
            mean += jacobian @ self.rows.offset
        if self.amplitude:
            cross = self.amplitude**2 * kernel(self.rows.z, z)
            whitened = solve_lower(self._cholesky_factor, cross, check_finite=False)
            joint = self.amplitude**2 * kernel(z, z) - whitened.T @ whitened
            mean += (self._whitened_residuals - self._whitened_jacobian @ estimate) @ whitened
            changes = changes - whitened.T @ self._whitened_jacobian
        joint = joint + changes @ covariance @ changes.T
        kept = self.shrinkage_factor(np.diag(joint))
        left_out = (1 - kept) * mean
        mean, joint = kept * mean, joint + np.outer(left_out, left_out)
        if self.widening != 1:
            by_noise = self._jointly_from_parameters(jacobian)
            values, vectors = np.linalg.eigh(joint - by_noise)
            by_law = (vectors * np.maximum(values, 0.0)) @ vectors.T
            joint = joint + (self.widening**2 - 1) * by_law
        return mean, joint

    def shrinkage_factor(self, variance: Array) -> Array | float:
        """The factor by which the mean is multiplied when the law is corrected, shape (points,); 1
        if the law is correct.

        It is the shrinkage factor for an error with prior standard deviation SHRINKAGE. The mean is
        linear in the parameters, but the law is not: if they are poorly determined, a mean of
        several hundred percent is meaningless. The variance is not reduced; instead the square of
        the omitted part is added to it.

        Args:
            variance: the variance of the error of the law, shape (points,).
        """
        if not self.amplitude:
            return 1.0
        return SHRINKAGE**2 / (SHRINKAGE**2 + np.maximum(variance, 0.0))

    def _jointly_from_parameters(self, jacobian: Array) -> Array:
        """The covariance due to the noise of the rows, if the law is correct: (points, points)."""
        changes = jacobian @ self.rows.directions
        return np.asarray(changes @ self._covariance_by_noise @ changes.T)

    def from_parameters(self, jacobian: Array) -> Array:
        """The variance at points due to the noise of the rows, if the law is correct.

        Args:
            jacobian: the Jacobian of the logarithm of the law there, shape (points, p).

        Returns:
            Shape (points,).
        """
        changes = jacobian @ self.rows.directions
        return np.einsum("ij,jk,ik->i", changes, self._covariance_by_noise, changes)


def noise_levels(rows: FittedRows, amplitude: float) -> NoiseLevels:
    """The noise of rows and the run effects, for a given amplitude.

    The noise of a row is its posterior mean under a uniform prior on the standard deviation (Gelman
    2006, Bayesian Analysis 1). The maximum of the marginal likelihood, which agrees with it for
    many rows, is far too small for few rows, all of which a discrepancy can explain.

    The ratio of the run effects to the noise is that at a maximum of the marginal likelihood. There
    may be several maxima; a bounded search for the ratio ends at one of them. The ratio is at least
    one half, since otherwise the discrepancy would explain the run effects.

    Args:
        rows: the fitted rows.
        amplitude: standard deviation of log L per decade.
    """
    return _noise_levels(rows, amplitude)[0]


def _noise_levels(rows: FittedRows, amplitude: float) -> tuple[NoiseLevels, _MarginalLikelihood]:
    """The noise of rows and the run effects, and the likelihood from which they are known."""
    explained = rows.explained(amplitude)
    if rows.runs is None:
        likelihood = _MarginalLikelihood.of(rows, explained, 0.0)
        return NoiseLevels(_expected_noise(likelihood), 0.0), likelihood

    def objective(log_ratio: float) -> float:
        return -_MarginalLikelihood.of(rows, explained, float(np.exp(log_ratio))).maximum

    low, high = np.log(RUN_RATIOS)
    ratio = float(np.exp(bounded_minimum(objective, low, high, 1e-3)[0]))
    likelihood = _MarginalLikelihood.of(rows, explained, ratio)
    noise = _expected_noise(likelihood)
    return NoiseLevels(noise, ratio * noise), likelihood


@dataclass(frozen=True)
class _MarginalLikelihood:
    """The marginal likelihood of the noise of a row, after a change of the basis of the rows.

    Attributes:
        values: eigenvalues of F⁻¹·explained·F⁻ᵀ, where F·Fᵀ is the covariance of the noise in units
            of its variance, shape (rows,).
        products: the deviations in that basis, shape (rows,).
        half_log_determinant: half the logarithm of the determinant of F·Fᵀ.
        basis: F times the eigenvectors, one a column, shape (rows, rows).
    """

    values: Array
    products: Array
    half_log_determinant: float
    basis: Array

    @classmethod
    def of(cls, rows: FittedRows, explained: Array, ratio: float) -> _MarginalLikelihood:
        """Change the basis of the rows.

        Args:
            rows: the fitted rows.
            explained: the covariance due to parameters and discrepancy, shape (rows, rows).
            ratio: the ratio of the standard deviation of run effects to that of the noise.
        """
        roots = rows.root_weights
        if not ratio:  # F is diagonal
            values, vectors = np.linalg.eigh(explained * roots * roots[:, None])
            products = vectors.T @ (roots * rows.deviations)
            half_log_determinant = -float(np.sum(np.log(roots)))
            basis = vectors / roots[:, None]
        else:
            factor = np.linalg.cholesky(np.diag(1 / roots**2) + ratio**2 * rows.same_run)
            inner = solve_lower(factor, explained)
            values, vectors = np.linalg.eigh(solve_lower(factor, inner.T))
            products = vectors.T @ solve_lower(factor, rows.deviations)
            half_log_determinant = float(np.sum(np.log(np.diag(factor))))
            basis = factor @ vectors
        return cls(np.maximum(values, 0.0), products, half_log_determinant, basis)

    def log(self, log_noise: Array) -> Array:
        """The log-likelihood at logarithms of the noise, shape (points,)."""
        variances = self.values[:, None] + np.exp(2 * log_noise)
        terms = np.log(variances) + self.products[:, None] ** 2 / variances
        return np.asarray(-0.5 * np.sum(terms, axis=0) - self.half_log_determinant)

    def at_rows(self, noise: float) -> tuple[Array, Array]:
        """The mean and the variance of the error of the law at the rows, for a noise of a row, without
        the mean under declared priors.

        Both are sums over the basis. Elsewhere the parameters and the discrepancy are predicted one
        after the other, as their covariances are large and would cancel (`Discrepancy.at`).

        Returns:
            Both of shape (rows,).
        """
        explained = self.values / (self.values + noise**2)
        return self.basis @ (explained * self.products), self.basis**2 @ (explained * noise**2)

    @property
    def maximum(self) -> float:
        """The maximum of the log-likelihood."""
        # several maxima are possible: a grid, successively refined around its best point
        grid = np.linspace(np.log(MIN_NOISE), 0.0, 41)
        step = grid[1] - grid[0]
        for _ in range(REFINEMENTS):
            best = int(np.argmax(self.log(grid)))
            grid = np.clip(grid[best] + step * np.linspace(-1, 1, 21), np.log(MIN_NOISE), 0.0)
            step /= 10
        return float(np.max(self.log(grid)))


def _expected_noise(likelihood: _MarginalLikelihood) -> float:
    """The posterior mean of the noise of a row, under a uniform prior.

    Args:
        likelihood: the likelihood of the noise.
    """
    grid = np.linspace(np.log(MIN_NOISE), 0.0, NOISE_LEVELS)
    # uniform in the noise: the density of its logarithm is proportional to the noise
    log_density = likelihood.log(grid) + grid
    density = np.exp(log_density - np.max(log_density))
    return float(np.sum(density * np.exp(grid)) / np.sum(density))


def condition_on_rows(rows: FittedRows, amplitude: float) -> Discrepancy:
    """Condition a discrepancy on fitted rows, with estimated noise.

    Args:
        rows: the fitted rows.
        amplitude: standard deviation of log L per decade; 0 for a law without error.
    """
    levels, likelihood = _noise_levels(rows, amplitude)
    discrepancy = Discrepancy(rows, amplitude, levels)
    row_weights = np.ones(len(rows.residuals)) if rows.weights is None else rows.weights
    for _ in range(REWEIGHTINGS):
        # rows far from both law and discrepancy are outliers, and are downweighted
        mean, variance = likelihood.at_rows(levels.noise)
        if rows.offset is not None:
            mean = mean + rows.jacobian @ rows.offset
        mean = discrepancy.shrinkage_factor(variance) * mean
        deviation = np.hypot(levels.noise / np.sqrt(row_weights), levels.run)
        sizes = np.abs(rows.residuals - mean) / deviation
        weights = np.minimum(1.0, HUBER_CONSTANT / np.maximum(sizes, 1e-300))
        if np.all(weights == 1):
            break
        weighted = rows.with_weights(row_weights * weights)
        levels, likelihood = _noise_levels(weighted, amplitude)
        discrepancy = Discrepancy(weighted, amplitude, levels)
    return discrepancy
