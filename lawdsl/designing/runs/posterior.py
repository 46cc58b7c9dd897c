"""A fitted law + further points -> what runs at these points would teach about targets.

The logarithm of the true loss is a Gaussian process around the fitted law, as in predictions: with
changes C = J·F of the logarithm of the law by the parameters, F·Fᵀ = Λ their weak prior, and the
kernel k of the discrepancy with amplitude s,

    cov(x, x') = C(x)·C(x')ᵀ + s²·k(z, z') + τ²·[x and x' are rows of one run]

and a measurement has the further variance σ². The variance of a target w·log L does not depend on
what a run will measure, so the expected drop of its variance by rows R is exact:

    drop = cov(w, R)·(cov(R, R) + σ²I)⁻¹·cov(R, w)

Everything is conditioned on the fitted rows by a Cholesky factor; each chosen run is appended to it.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from lawdsl.fitting.extrapolation.discrepancy import NoiseLevels
from lawdsl.fitting.extrapolation.kernel import kernel, kernel_diagonal

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

NO_RUN = -1  # of a point that is no row: it has no part in what the rows of a run have in common
RANK_RTOL = 1e-9  # relative to the largest singular value: smaller ones are rounding


@dataclass(frozen=True)
class Points:
    """Points of one law.

    Attributes:
        z: their coordinates, shape (points, axes).
        jacobian: of the logarithm of the law by the logarithms of the parameters, (points, p).
        runs: the number of the run of each, shape (points,); NO_RUN for a target.
    """

    z: Array
    jacobian: Array
    runs: Numbers

    def __len__(self) -> int:
        return len(self.z)

    def at(self, chosen: Numbers | slice) -> Points:
        """Some of the points."""
        return Points(self.z[chosen], self.jacobian[chosen], self.runs[chosen])

    def joined(self, other: Points) -> Points:
        """These points and others behind them."""
        pairs = ((getattr(self, n), getattr(other, n)) for n in ("z", "jacobian", "runs"))
        return Points(*(np.concatenate(pair) for pair in pairs))


@dataclass(frozen=True)
class LawPrior:
    """The distribution of the logarithm of a true loss before any row.

    Attributes:
        directions: F with F·Fᵀ = Λ, shape (p, directions).
        amplitude: standard deviation of log L per decade.
        levels: the noise of rows and of runs.
    """

    directions: Array
    amplitude: float
    levels: NoiseLevels

    @classmethod
    def of(cls, points: Points, amplitude: float, levels: NoiseLevels) -> LawPrior:
        """A prior under which the parameters change the loss at all points by about a factor e.

        Args:
            points: fitted rows, candidates and targets.
            amplitude: standard deviation of log L per decade.
            levels: the noise of rows and of runs.
        """
        jacobian = points.jacobian
        norms = np.linalg.norm(jacobian, axis=0)
        scale = 1 / np.where(norms > 0, norms, 1.0)
        # of many points the triangular factor has the same singular values
        factor = np.linalg.qr(jacobian * scale, mode="r")
        _, widths, vectors = np.linalg.svd(factor, full_matrices=False)
        kept = widths > RANK_RTOL * np.max(widths, initial=0.0)
        root = np.sqrt(len(points))
        return cls(
            root * scale[:, None] * (vectors[kept] / widths[kept, None]).T, amplitude, levels
        )

    def covariance(self, a: Points, b: Points) -> Array:
        """The covariance of the logarithms at two sets of points, shape (len(a), len(b))."""
        total = (a.jacobian @ self.directions) @ (b.jacobian @ self.directions).T
        if self.amplitude:
            total += self.amplitude**2 * kernel(a.z, b.z)
        if self.levels.run:
            same = (a.runs[:, None] == b.runs) & (a.runs[:, None] != NO_RUN)
            total += self.levels.run**2 * same
        return np.asarray(total)

    def variance(self, a: Points) -> Array:
        """The variance at points, shape (len(a),)."""
        total = np.sum((a.jacobian @ self.directions) ** 2, axis=1)
        if self.amplitude:
            total += self.amplitude**2 * kernel_diagonal(a.z)
        if self.levels.run:
            total += self.levels.run**2 * (a.runs != NO_RUN)
        return np.asarray(total)


@dataclass(frozen=True)
class Targets:
    """What is to be known, as linear functionals of the logarithm of one law.

    Attributes:
        points: where the law is asked about.
        weights: of the points in each functional, shape (functionals, points).
    """

    points: Points
    weights: Array


class LawPosterior:
    """The distribution of one law's loss at candidate rows and in targets, given rows.

    It changes: `observe` conditions it on a further run.

    Attributes:
        target_variance: of each functional, shape (functionals,).
        cross: of functionals and candidate rows, shape (functionals, candidate rows).
    """

    def __init__(
        self,
        prior: LawPrior,
        rows: Points,
        candidates: Points,
        targets: Targets,
        weights: Array | None = None,
    ) -> None:
        """Condition the prior on rows.

        Args:
            prior: before the rows.
            rows: the fitted rows; none before the first run.
            candidates: the rows that candidate runs would have.
            targets: what is to be known.
            weights: inverse variances of the noise of the fitted rows relative to that of an
                ordinary row, shape (rows,); None where all are 1.
        """
        self._prior, self._candidates = prior, candidates
        noise = np.full(len(rows), prior.levels.noise**2) / (1.0 if weights is None else weights)
        root = np.asarray(np.linalg.cholesky(prior.covariance(rows, rows) + np.diag(noise)))
        self._whitened = _solved(root, prior.covariance(rows, candidates))
        of_targets = _solved(root, prior.covariance(rows, targets.points) @ targets.weights.T)
        joint = targets.weights @ prior.covariance(targets.points, targets.points)
        self.target_variance = np.maximum(
            np.sum(joint * targets.weights, axis=1) - np.sum(of_targets**2, axis=0), 0.0
        )
        prior_cross = targets.weights @ prior.covariance(targets.points, candidates)
        self.cross = prior_cross - of_targets.T @ self._whitened
        self.variance = np.maximum(
            prior.variance(candidates) - np.sum(self._whitened**2, axis=0), 0.0
        )
        # the same of the logarithms of the parameters, without a discrepancy
        directions = prior.directions
        of_parameters = _solved(root, (rows.jacobian @ directions) @ directions.T)
        self._parameter_variance = np.maximum(
            np.sum(directions**2, axis=1) - np.sum(of_parameters**2, axis=0), 0.0
        )
        changes = (candidates.jacobian @ directions) @ directions.T
        self._parameter_cross = changes.T - of_parameters.T @ self._whitened

    def copied(self) -> LawPosterior:
        """A copy, which can be conditioned on other runs."""
        return copy(self)  # arrays are replaced, never changed

    def between(self, first: Numbers, second: Numbers) -> Array:
        """The posterior covariance of candidate rows, shape (len(first), len(second))."""
        prior = self._prior.covariance(self._candidates.at(first), self._candidates.at(second))
        return np.asarray(prior - self._whitened[:, first].T @ self._whitened[:, second])

    def drops(self, runs: Numbers) -> Array:
        """The drop of the variance of each functional by each candidate run.

        Args:
            runs: the candidate rows of each run, shape (runs, rows of a run), -1 behind the last.

        Returns:
            Shape (functionals, runs).
        """
        noise = self._prior.levels.noise**2
        if runs.shape[1] == 1:
            return np.asarray(self.cross[:, runs[:, 0]] ** 2 / (self.variance[runs[:, 0]] + noise))
        missing = runs < 0
        rows = np.where(missing, 0, runs)
        blocks = np.array([self.between(row, row) for row in rows])
        present = ~missing
        blocks *= present[:, :, None] & present[:, None, :]
        # a row that is missing has no covariance with anything, and teaches nothing
        blocks += np.eye(runs.shape[1]) * np.where(missing, 1.0, noise)[:, None, :]
        cross = np.where(missing, 0.0, self.cross[:, rows])
        solved = np.linalg.solve(blocks, np.moveaxis(cross, 0, -1))
        return np.asarray(np.einsum("frq,rqf->fr", cross, solved))

    def parameter_drops(self, rows: Numbers) -> Array:
        """The part of the variance of each parameter's logarithm that a run removes, shape (p,).

        Args:
            rows: the candidate rows of the run.
        """
        block = self.between(rows, rows) + self._prior.levels.noise**2 * np.eye(len(rows))
        cross = self._parameter_cross[:, rows]
        drops = np.sum(cross * np.linalg.solve(block, cross.T).T, axis=1)
        variance = self._parameter_variance
        return np.where(
            variance > 0, np.clip(drops / np.where(variance > 0, variance, 1.0), 0, 1), 0
        )

    def observe(self, rows: Numbers) -> None:
        """Condition the distribution on measurements at candidate rows, whatever they will be."""
        everything = np.arange(len(self._candidates))
        noise = self._prior.levels.noise**2
        block = self.between(rows, rows) + noise * np.eye(len(rows))
        root = np.asarray(np.linalg.cholesky(block), dtype=np.float64)
        whitened = _solved(root, self.between(rows, everything))
        of_targets = _solved(root, self.cross[:, rows].T)
        of_parameters = _solved(root, self._parameter_cross[:, rows].T)
        self._parameter_cross = self._parameter_cross - of_parameters.T @ whitened
        self._parameter_variance = np.maximum(
            self._parameter_variance - np.sum(of_parameters**2, axis=0), 0.0
        )
        self._whitened = np.vstack([self._whitened, whitened])
        self.cross = self.cross - of_targets.T @ whitened
        self.target_variance = np.maximum(self.target_variance - np.sum(of_targets**2, axis=0), 0.0)
        self.variance = np.maximum(self.variance - np.sum(whitened**2, axis=0), 0.0)


def _solved(root: Array, right: Array) -> Array:
    """The solution of root·X = right for a lower triangular root."""
    if not len(root):
        return np.zeros((0, right.shape[1]))
    return np.asarray(solve_triangular(root, right, lower=True, check_finite=False))
