"""How the errors of a fit go together: what carries the noise of its rows to any function of the
parameters.

It is linear at the fit, in the parameters themselves, and those that lie on a bound count as free:
without them the errors of what is predicted would come out too small. What no row sees is kept
apart, for it has no error that a number could say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.distributions import student_quantile
from lawdsl.core.records import read
from lawdsl.fitting.intervals.m_estimator import Groups, Noise, noise_of
from lawdsl.fitting.problem import Problem

Array = NDArray[np.float64]

MOST = 100  # parameters: of more the covariance is not kept
RANK = 1e-12  # of the widest direction: what is narrower is rounding
UNSEEN = 1e-6  # relative: what is left of a gradient in directions in which the rows see anything
ALONE = 1e-9  # what all other runs say of a direction, relative: below, it is nothing
TINY = 1e-300
SAME = 1e-4  # unit vectors that differ by less span one direction


@dataclass(frozen=True, eq=False)
class Covariance:
    """The errors of the parameters of a fit, together.

    Attributes:
        names: the parameters, in the law's order.
        sqrt_factor: F with FᵀF the covariance of the parameters, in the law's units; shape (k, p).
            Directions that the rows do not determine are left out of it.
        null_space: an orthonormal basis of those, of parameters divided by their `scale`, shape (m, p).
        scale: the change of each parameter that by itself moves the rows by 1 (weighted sum of
            squares of their residuals), shape (p,); 1 for one that moves none.
        dof: degrees of freedom: value ± quantile(level)·error is the interval.
    """

    names: tuple[str, ...]
    sqrt_factor: Array
    null_space: Array
    scale: Array
    dof: float

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Covariance):
            return NotImplemented
        arrays = ((self.sqrt_factor, other.sqrt_factor), (self.null_space, other.null_space))
        same = all(np.array_equal(a, b) for a, b in (*arrays, (self.scale, other.scale)))
        return same and (self.names, self.dof) == (other.names, other.dof)

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    @property
    def factor(self) -> Array:
        """`sqrt_factor`, by the name that it has in files."""
        return self.sqrt_factor

    @property
    def unseen(self) -> Array:
        """`null_space`, by the name that it has in files."""
        return self.null_space

    @property
    def covariance(self) -> Array:
        """Of the parameters, in the law's units, shape (p, p)."""
        matrix: Array = self.sqrt_factor.T @ self.sqrt_factor
        return matrix

    def errors(self, gradient: Array) -> Array:
        """Standard errors of functions of the parameters.

        Args:
            gradient: of each function by the parameters, in the law's units, shape (points, p).

        Returns:
            Shape (points,); inf where the rows do not determine the function, or it has no slope.
        """
        with np.errstate(all="ignore"):
            errors = np.linalg.norm(gradient @ self.sqrt_factor.T, axis=1)
            scaled = gradient * self.scale
            missed = np.linalg.norm(scaled @ self.null_space.T, axis=1)
            errors[~(missed <= UNSEEN * np.linalg.norm(scaled, axis=1))] = np.inf
        return np.where(np.isfinite(errors), errors, np.inf)

    def quantile(self, level: float) -> float:
        """How many errors the ends of an interval of that level are away: Student's t."""
        return float(student_quantile((1 + level) / 2, self.dof))

    def draws(self, count: int, seed: int) -> Array:
        """Deviations of the parameters from the fit, by the multivariate t: those of any linear
        function of them have the quantiles of its interval. They may leave the domain; along what
        the rows do not determine nothing is drawn.

        Args:
            count: how many.
            seed: the same seed draws the same.

        Returns:
            Shape (count, p), in the law's units.
        """
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
        """What `to_json` made this of.

        Raises:
            ValueError, TypeError, LookupError, AttributeError: it made no such data.
        """
        names = read(tuple[str, ...], content["names"])
        factor, unseen = (_matrix(content[key], len(names)) for key in ("factor", "unseen"))
        (scale,) = _matrix([content["scale"]], len(names))
        ((dof,),) = _matrix([[content["dof"]]], 1)
        if dof < 1 or np.any(scale <= 0):
            raise ValueError("no spread")
        return cls(names, factor, unseen, scale, float(dof))


Spread = Covariance
"""The name that annotations of the public record `Fit` have for it."""


def _matrix(rows: Any, width: int) -> Array:
    """Rows of finite numbers, shape (rows, width)."""
    if any(type(x) not in (int, float) for row in rows for x in row):
        raise ValueError("no matrix of numbers")
    matrix = np.array(rows, dtype=np.float64).reshape(len(rows), width)
    if not np.all(np.isfinite(matrix)):
        raise ValueError("no matrix of finite numbers")
    return matrix


@np.errstate(all="ignore")  # a law may be so steep that its slopes overflow
def spread(
    problem: Problem, theta: Array, names: Sequence[str], fitted: int, groups: Groups = None
) -> Covariance | None:
    """The spread of a fit.

    By rows the noise is taken to be alike on all of them; by runs nothing is.

    Args:
        problem: the fit.
        theta: the fitted parameters, shape (parameters,).
        names: of the parameters.
        fitted: how many of them do not lie on a bound: what the noise's degrees of freedom lack.
        groups: which training run each row is of, shape (rows,).

    Returns:
        None for more parameters than are kept.
    """
    if len(names) > MOST:
        return None
    (residual,), (slopes,) = problem.slopes(theta[None])
    noise = noise_of(problem, residual, fitted, groups)
    unit_noise = of_rows(names, slopes, problem.weights)
    if groups is None:
        factor, unseen = np.sqrt(noise.tau2) * unit_noise.sqrt_factor, unit_noise.null_space
    else:
        root = _cleaned(slopes) * unit_noise.scale
        weights = 1.0 if problem.weights is None else np.sqrt(problem.weights)[:, None]
        changes, alone = leaving_out_runs(noise, root, weights * root, groups)
        unseen = _basis(alone)
        changes = changes - (changes @ unseen.T) @ unseen
        factor = (
            np.linalg.qr(changes, mode="r") if len(changes) > len(names) else changes
        ) * unit_noise.scale
    return replace(unit_noise, sqrt_factor=factor, null_space=unseen, dof=float(noise.freedom))


def of_rows(names: Sequence[str], slopes: Array, weights: Array | None = None) -> Covariance:
    """The spread for noise that is known to have standard deviation 1 on a row of weight 1.

    Args:
        names: of the parameters.
        slopes: of the residuals by the parameters, shape (rows, p).
        weights: of the rows, shape (rows,); None where all are 1.
    """
    root = _cleaned(slopes)
    if weights is not None:
        root = np.sqrt(weights)[:, None] * root
    size = lengths(root)
    scale = 1 / np.where(size > 0, size, 1.0)  # parameters may differ in size by any power
    decomposition = decomposed(root * scale)
    return Covariance(tuple(names), decomposition.factor * scale, decomposition.lost, scale, np.inf)


@dataclass(frozen=True, eq=False)
class Decomposed:
    """The singular value decomposition of a scaled Jacobian, without what rounding hides of it. The
    product of the Jacobian with itself is never formed: that squares its condition number, so that
    rounding would hide directions of width 1e-8 already.

    Attributes:
        left: left singular vectors, shape (rows, rank).
        factor: directions divided by their widths, shape (rank, p): the inverse of JᵀJ is
            factorᵀ·factor.
        lost: an orthonormal basis of the directions that rounding hides, shape (p - rank, p).
        narrowest: the least width that is left, relative to the largest; 1 where none is.
    """

    left: Array
    factor: Array
    lost: Array
    narrowest: float

    @property
    def rank(self) -> int:
        return len(self.factor)

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """The parameters that take part in a direction that rounding hides, shape (p,): a variance
        of them cannot be computed."""
        return np.any(np.abs(self.lost) > UNSEEN, axis=0)


def decomposed(root: Array) -> Decomposed:
    """Decompose a Jacobian, its columns scaled to length 1 and its rows by the roots of their weights.

    Args:
        root: finite numbers, shape (rows, p).
    """
    wide = len(root) < root.shape[1]  # its null space belongs to what is lost
    left, widths, directions = np.linalg.svd(root, full_matrices=wide)
    rank = int(np.sum(widths > RANK * np.max(widths, initial=0.0)))
    factor = directions[:rank] / widths[:rank, None]
    narrowest = float(widths[rank - 1] / widths[0]) if rank else 1.0
    return Decomposed(left[:, :rank], factor, directions[rank:], narrowest)


def lengths(columns: Array) -> Array:
    """Euclidean lengths of columns whose squares may overflow, shape (columns,)."""
    largest = np.max(np.abs(columns), axis=0, initial=0.0)
    unit = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
    norms: Array = unit * np.linalg.norm(columns / unit, axis=0)
    return norms


def leaving_out_runs(
    noise: Noise, slopes: Array, root: Array, groups: NDArray[np.int64]
) -> tuple[Array, Array]:
    """Where the fit moves when runs are left out, for its covariance where only runs are independent.

    It is that of the jackknife, which leaves out one run after the other, each fit being one Newton
    step away (CR3; Bell and McCaffrey 2002): the plain sum over the runs comes out too small where
    they are few, for a fit follows each of them.

    Args:
        noise: of the rows.
        slopes: of the residuals by the parameters, or free numbers, each divided by its size in all
            rows; shape (rows, p).
        root: the same times the roots of the rows' weights.
        groups: which training run each row is of, shape (rows,).

    Returns:
        The moves, whose sum of squares is the covariance, shape (runs, p); and the directions, of
        length 1, that the rest does not determine without some run, shape (directions, p): how far
        that run is off along them, no other says.
    """
    runs = np.unique(groups)
    seen = decomposed(root)
    turned = slopes @ seen.factor.T
    moved, alone = np.empty((len(runs), slopes.shape[1])), [seen.lost]
    for k, run in enumerate(runs):
        rows = groups == run
        # in these coordinates all rows together see each direction equally well
        left = np.eye(seen.rank) - seen.left[rows].T @ seen.left[rows]
        values, vectors = np.linalg.eigh(left)
        known = values > ALONE
        only = vectors[:, ~known].T @ seen.factor
        alone.append(only / np.maximum(np.linalg.norm(only, axis=1, keepdims=True), TINY))
        pull = vectors[:, known].T @ (noise.slope[rows] @ turned[rows])
        moved[k] = vectors[:, known] @ (pull / values[known]) @ seen.factor / noise.curvature
    return moved * np.sqrt((len(runs) - 1) / len(runs)), np.vstack(alone)


def _basis(directions: Array) -> Array:
    """Orthonormal rows that span directions of length 1, shape (m, p)."""
    _, widths, basis = np.linalg.svd(directions, full_matrices=False)
    return basis[widths > SAME]


def _cleaned(slopes: Array) -> Array:
    """Slopes of parameters that are infinite on some row count as none: they determine nothing."""
    return np.where(np.isfinite(slopes).all(axis=0), slopes, 0.0)
