"""Fit -> Covariance: the joint errors of its parameters, for the errors of functions of them.

It is that of the linearised fit, tau²·(JᵀWJ)⁻¹ with J the Jacobian of the residuals, in the
parameters themselves. Parameters on a bound count as free: without them the errors of predictions
would be too small. Directions of infinite error, which no row determines, are stored separately.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.distributions import student_quantile
from lawdsl.core.records import read
from lawdsl.fitting.intervals.m_estimator import Groups, Noise, noise_of, rows_by_run
from lawdsl.fitting.jacobian_triangle import is_long, jacobian_triangle
from lawdsl.fitting.problem import Problem

Array = NDArray[np.float64]

# the covariance of more parameters is not stored
MAX_COVARIANCE_PARAMETERS = 100
# relative to the largest singular value: smaller ones are rounding
COVARIANCE_RANK_RTOL = 1e-12
# relative to the length of a gradient: a smaller component in the null space is rounding error
NULL_SPACE_SHARE = 1e-6
# relative to the information of all runs about a direction: less in all but one run is rounding
# error
MIN_SHARED_INFORMATION = 1e-9
MIN_NORM = 1e-300  # smallest divisor
# unit vectors that differ by less span the same direction
SAME_DIRECTION_ATOL = 1e-4


@dataclass(frozen=True, eq=False)
class Covariance:
    """The covariance of the parameters of a fit, as a factor and a null space.

    Attributes:
        names: the parameters, in the law's order.
        sqrt_factor: F, where FᵀF is the covariance of the parameters in the law's units; shape (k,
            p). It does not include directions that the rows do not determine.
        null_space: an orthonormal basis of those directions, of parameters divided by their
            `scale`, shape (m, p).
        scale: the change of each parameter alone that changes the weighted sum of squares of the
            residuals by 1, shape (p,); 1 for a parameter without any effect.
        dof: the degrees of freedom; the interval is value ± quantile(level)·error.
        quantiles: level -> its quantile, where it is known already.
    """

    names: tuple[str, ...]
    sqrt_factor: Array
    null_space: Array
    scale: Array
    dof: float
    quantiles: Mapping[float, float] = field(default_factory=dict, repr=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Covariance):
            return NotImplemented
        arrays = ((self.sqrt_factor, other.sqrt_factor), (self.null_space, other.null_space))
        same = all(np.array_equal(a, b) for a, b in (*arrays, (self.scale, other.scale)))
        return same and (self.names, self.dof) == (other.names, other.dof)

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    @property
    def factor(self) -> Array:
        """`sqrt_factor`, under its name in files."""
        return self.sqrt_factor

    @property
    def unseen(self) -> Array:
        """`null_space`, under its name in files."""
        return self.null_space

    @property
    def covariance(self) -> Array:
        """The covariance matrix FᵀF of the parameters, in the law's units, shape (p, p)."""
        matrix: Array = self.sqrt_factor.T @ self.sqrt_factor
        return matrix

    def errors(self, gradient: Array) -> Array:
        """Standard errors of functions of the parameters by the delta method: error_i = |F·g_i|.

        Args:
            gradient: the gradient of each function with respect to the parameters, in the law's
                units, shape (points, p).

        Returns:
            Shape (points,); inf where the rows do not determine the function, or its gradient is
            not finite.
        """
        with np.errstate(all="ignore"):
            errors = np.linalg.norm(gradient @ self.sqrt_factor.T, axis=1)
            scaled = gradient * self.scale
            missed = np.linalg.norm(scaled @ self.null_space.T, axis=1)
            # not (<=) instead of >, so that a gradient with nan has an infinite error, too
            errors[~(missed <= NULL_SPACE_SHARE * np.linalg.norm(scaled, axis=1))] = np.inf
        return np.where(np.isfinite(errors), errors, np.inf)

    def quantile(self, level: float) -> float:
        """Half the width of an interval in standard errors: a quantile of Student's t.

        Args:
            level: 0.95 for 95 % intervals.
        """
        known = self.quantiles.get(level)
        return float(student_quantile((1 + level) / 2, self.dof)) if known is None else known

    def draws(self, count: int, seed: int) -> Array:
        """Draw deviations of the parameters from the fit, by the multivariate t distribution.

        A linear function of the draws has the quantiles of its interval. Draws may leave the domain
        of the parameters. Nothing is drawn along directions that the rows do not determine.

        Args:
            count: the number of draws.
            seed: the seed of the draws; the same seed gives the same draws.

        Returns:
            Shape (count, p), in the law's units.
        """
        # a separate stream, so that errors are independent of the starts with the same seed
        rng = np.random.default_rng([seed, 0x5B8E])
        normal = rng.normal(size=(count, len(self.sqrt_factor)))
        wide = np.sqrt(self.dof / rng.chisquare(self.dof, size=(count, 1)))
        deviations: Array = wide * normal @ self.sqrt_factor
        return deviations

    def to_json(self) -> dict[str, Any]:
        """The covariance as plain data; the keys are stable."""
        return {
            "names": list(self.names),
            "factor": self.sqrt_factor.tolist(),
            "unseen": self.null_space.tolist(),
            "scale": self.scale.tolist(),
            "dof": self.dof,
        }

    @classmethod
    def of_json(cls, content: Mapping[str, Any]) -> Covariance:
        """Rebuild a covariance from the plain data of `to_json`.

        Raises:
            ValueError, TypeError, LookupError, AttributeError: data of another form.
        """
        names = read(tuple[str, ...], content["names"])
        factor, null_space = (
            _finite_matrix(content[key], len(names)) for key in ("factor", "unseen")
        )
        (scale,) = _finite_matrix([content["scale"]], len(names))
        ((dof,),) = _finite_matrix([[content["dof"]]], 1)
        if dof < 1 or np.any(scale <= 0):
            raise ValueError("no spread")
        return cls(names, factor, null_space, scale, float(dof))


Spread = Covariance
"""The name that annotations of the public record `Fit` have for it."""


def _finite_matrix(rows: Any, width: int) -> Array:
    """Rows of finite numbers, shape (rows, width)."""
    # the exact type, since True is an instance of int
    if any(type(x) not in (int, float) for row in rows for x in row):
        raise ValueError("no matrix of numbers")
    matrix = np.array(rows, dtype=np.float64).reshape(len(rows), width)
    if not np.all(np.isfinite(matrix)):
        raise ValueError("no matrix of finite numbers")
    return matrix


@np.errstate(all="ignore")  # the slopes of a steep law may overflow
def parameter_covariance(
    problem: Problem, theta: Array, names: Sequence[str], fitted: int, groups: Groups = None
) -> Covariance | None:
    """The covariance of the parameters of a fit.

    By rows it is tau²·(JᵀWJ)⁻¹ under homoscedastic noise (Huber (1981), Robust Statistics, chapter
    7); with priors that of the posterior, (JᵀWJ/tau² + P)⁻¹, with P the inverse of the covariance
    of the priors. By runs it is the cluster-robust one of `leave_one_run_out`, which assumes
    nothing about the noise within a run.

    Args:
        problem: the objective to be minimised, with its data.
        theta: the fitted parameters, shape (parameters,).
        names: the names of the parameters.
        fitted: the number of parameters that are not on a bound, which is subtracted from the
            degrees of freedom.
        groups: the training run of each row, shape (rows,).

    Returns:
        The covariance; None for more than 100 parameters.
    """
    if len(names) > MAX_COVARIANCE_PARAMETERS:
        return None
    if groups is None and problem.penalty is None and is_long(problem):
        (residual,) = problem.residuals_at(theta[None])
        noise = noise_of(problem, residual, fitted)
        slopes, is_finite = jacobian_triangle(problem, theta, weighted=True)
        unit_noise = unit_noise_covariance(names, np.where(is_finite, slopes, 0.0))
    else:
        (residual,), (slopes,) = problem.slopes(theta[None])
        noise = noise_of(problem, residual, fitted, groups)
        unit_noise = unit_noise_covariance(names, *_rows_and_priors(problem, theta, slopes))
    if groups is None:
        factor, null_space = np.sqrt(noise.tau2) * unit_noise.sqrt_factor, unit_noise.null_space
    else:
        scaled_slopes = _finite_columns(slopes) * unit_noise.scale
        weights = 1.0 if problem.weights is None else np.sqrt(problem.weights)[:, None]
        changes, run_directions = leave_one_run_out(
            noise, scaled_slopes, weights * scaled_slopes, groups
        )
        null_space = orthonormal_rows(run_directions)
        if problem.penalty is not None:
            rows = problem.penalty.pseudo_rows(theta, 1.0) * unit_noise.scale
            changes, null_space = combined_with_priors(changes, null_space, rows)
        # directions that only one run determines have an infinite error, and are excluded from the
        # factor
        changes = changes - (changes @ null_space.T) @ null_space
        factor = (
            # RᵀR is the same covariance with p rows instead of one per run
            np.linalg.qr(changes, mode="r") if len(changes) > len(names) else changes
        ) * unit_noise.scale
    return replace(unit_noise, sqrt_factor=factor, null_space=null_space, dof=float(noise.dof))


def _rows_and_priors(problem: Problem, theta: Array, slopes: Array) -> tuple[Array, Array | None]:
    """The Jacobian and the weights of the rows, and those of the priors as further rows."""
    if problem.penalty is None:
        return slopes, problem.weights
    rows = problem.penalty.pseudo_rows(theta)
    weights = np.ones(len(slopes)) if problem.weights is None else problem.weights
    return np.vstack([slopes, rows]), np.concatenate([weights, np.ones(len(rows))])


def combined_with_priors(changes: Array, null_space: Array, rows: Array) -> tuple[Array, Array]:
    """Update a covariance by independent measurements.

    Each measurement is a step of a Kalman filter, exact where the covariance is infinite along some
    directions: such a direction that a measurement depends on gets a finite variance (Koopman
    (1997), Journal of the American Statistical Association 92).

    Args:
        changes: F with FᵀF the finite part of the covariance, shape (k, p).
        null_space: an orthonormal basis of the directions of infinite variance, shape (m, p).
        rows: the gradients of the measured quantities, divided by their standard deviations, shape
            (priors, p).

    Returns:
        F and the basis after the measurements.
    """
    finite, infinite = changes.T @ changes, null_space.T @ null_space
    for row in rows:
        seen, gain = finite @ row, infinite @ row
        if row @ gain > NULL_SPACE_SHARE**2 * (row @ row):
            gain = gain / (row @ gain)
            finite = finite + np.outer(gain, gain) * (row @ seen + 1)
            finite -= np.outer(gain, seen) + np.outer(seen, gain)
            infinite = infinite - np.outer(gain, infinite @ row)
        else:
            finite = finite - np.outer(seen, seen) / (row @ seen + 1)
    values, vectors = np.linalg.eigh(finite)
    factor = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    # the matrix of the infinite part is the projection onto its directions
    shares, basis = np.linalg.eigh(infinite)
    return factor, basis.T[shares > 0.5]


def unit_noise_covariance(
    names: Sequence[str], slopes: Array, weights: Array | None = None
) -> Covariance:
    """The covariance (JᵀWJ)⁻¹ for noise of standard deviation 1 on a row of weight 1.

    Args:
        names: the names of the parameters.
        slopes: the Jacobian of the residuals with respect to the parameters, shape (rows, p).
        weights: the weights of the rows, shape (rows,); None where all are 1.
    """
    weighted_slopes = _finite_columns(slopes)
    if weights is not None:
        weighted_slopes = np.sqrt(weights)[:, None] * weighted_slopes
    norms = column_norms(weighted_slopes)
    # the sizes of parameters may differ by any factor; the inverse of a subnormal number is
    # infinite
    scale = 1 / np.where(norms >= np.finfo(np.float64).tiny, norms, 1.0)
    decomposition = decompose_jacobian(weighted_slopes * scale)
    return Covariance(
        tuple(names), decomposition.factor * scale, decomposition.null_space, scale, np.inf
    )


@dataclass(frozen=True, eq=False)
class JacobianDecomposition:
    """The singular value decomposition of a scaled Jacobian, without directions below rounding.

    JᵀJ is not computed, since this would square the condition number: rounding errors would then
    hide directions of width 1e-8.

    Attributes:
        left_vectors: left singular vectors, shape (rows, rank).
        factor: directions divided by their widths, shape (rank, p): the inverse of JᵀJ is
            factorᵀ·factor.
        null_space: an orthonormal basis of the directions below rounding error, shape (p - rank,
            p).
        narrowest: the smallest retained width, relative to the largest; 1 if there is none.
    """

    left_vectors: Array
    factor: Array
    null_space: Array
    narrowest: float

    @property
    def rank(self) -> int:
        """The number of directions above rounding error."""
        return len(self.factor)

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """The mask of parameters with a component in a direction below rounding error, shape (p,),
        whose variance cannot be computed.
        """
        return np.any(np.abs(self.null_space) > NULL_SPACE_SHARE, axis=0)


def decompose_jacobian(root: Array) -> JacobianDecomposition:
    """Decompose a scaled Jacobian into singular values and vectors.

    Args:
        root: the Jacobian, with columns scaled to length 1 and rows multiplied by the square roots
            of their weights; finite numbers, shape (rows, p).
    """
    # with fewer rows than parameters the full factor includes the null space
    wide = len(root) < root.shape[1]
    left_vectors, widths, directions = np.linalg.svd(root, full_matrices=wide)
    rank = int(np.sum(widths > COVARIANCE_RANK_RTOL * np.max(widths, initial=0.0)))
    # FᵀF = V·S⁻²·Vᵀ, the inverse of JᵀJ restricted to the determined directions
    factor = directions[:rank] / widths[:rank, None]
    narrowest = float(widths[rank - 1] / widths[0]) if rank else 1.0
    return JacobianDecomposition(left_vectors[:, :rank], factor, directions[rank:], narrowest)


def column_norms(columns: Array) -> Array:
    """Euclidean lengths of columns whose squares may overflow, shape (columns,): each column is
    divided by its largest absolute value first."""
    largest = np.max(np.abs(columns), axis=0, initial=0.0)
    unit = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
    # squares overflow beyond 1e154
    norms: Array = unit * np.linalg.norm(columns / unit, axis=0)
    return norms


def leave_one_run_out(
    noise: Noise, slopes: Array, root: Array, groups: NDArray[np.int64]
) -> tuple[Array, Array]:
    """The change of the fit when each run is left out, for a covariance under independence of runs
    only.

    The covariance is that of the jackknife over n runs, with each refit approximated by one Newton
    step: move_k = (JᵀWJ - J_kᵀW_kJ_k)⁻¹·J_kᵀpsi_k/mean(psi'), covariance (n - 1)/n·Σ move_k·move_kᵀ
    (CR3; Bell and McCaffrey (2002), Survey Methodology 28). The uncorrected sum over runs is too
    small if they are few, because the fit adapts to each of them.

    Args:
        noise: the noise of the rows.
        slopes: the slopes of the residuals with respect to the parameters, or unconstrained
            parameters, each column divided by its length; shape (rows, p).
        root: this Jacobian multiplied by the square roots of the rows' weights.
        groups: the training run of each row, shape (rows,).

    Returns:
        The changes, whose sum of squares is the covariance, shape (runs, p); and the directions, of
        length 1, that only one run determines, shape (directions, p), so that its error along them
        is unknown.
    """
    rows_of_runs = rows_by_run(groups)
    decomposition = decompose_jacobian(root)
    projected_slopes = slopes @ decomposition.factor.T
    changes, run_directions = (
        np.empty((len(rows_of_runs), slopes.shape[1])),
        [decomposition.null_space],
    )
    for k, rows in enumerate(rows_of_runs):
        # in these coordinates all rows together contain the same information about each direction
        run_vectors = decomposition.left_vectors[rows]
        information = np.eye(decomposition.rank) - run_vectors.T @ run_vectors
        values, vectors = np.linalg.eigh(information)
        is_shared = values > MIN_SHARED_INFORMATION
        run_only = vectors[:, ~is_shared].T @ decomposition.factor
        norms = np.linalg.norm(run_only, axis=1, keepdims=True)
        run_directions.append(run_only / np.maximum(norms, MIN_NORM))
        gradient = vectors[:, is_shared].T @ (noise.slope[rows] @ projected_slopes[rows])
        step = vectors[:, is_shared] @ (gradient / values[is_shared])
        changes[k] = step @ decomposition.factor / noise.curvature
    count = len(rows_of_runs)
    return changes * np.sqrt((count - 1) / count), np.vstack(run_directions)


def orthonormal_rows(directions: Array) -> Array:
    """Orthonormal rows that span directions of length 1, shape (m, p)."""
    _, widths, basis = np.linalg.svd(directions, full_matrices=False)
    return basis[widths > SAME_DIRECTION_ATOL]


def _finite_columns(slopes: Array) -> Array:
    """The Jacobian with 0 in the columns of parameters whose derivative is infinite in some row."""
    return np.where(np.isfinite(slopes).all(axis=0), slopes, 0.0)
