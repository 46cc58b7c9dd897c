"""Very many candidates -> the few among which a batch is chosen.

A batch compares candidates with one another, which takes memory and time as the square of their number.
Of more than some hundred half of the shortlist are those that would teach most alone, for their cost,
and half are spread evenly over the others in that order, so that runs that complement them are among it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from lawdsl.designing.runs.hypotheses import LawTarget, candidate_columns
from lawdsl.designing.runs.of_fit import surface_of
from lawdsl.designing.runs.pool import Pool
from lawdsl.designing.runs.posterior import LawPrior, Points
from lawdsl.fitting.extrapolation.coordinates import coordinates
from lawdsl.fitting.extrapolation.fitted_surface import FittedSurface
from lawdsl.fitting.extrapolation.kernel import kernel, kernel_diagonal
from lawdsl.fitting.extrapolation.law_error import LawErrorModel, log_residuals

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

MAX_CANDIDATES, MIN_CANDIDATES = 1500, 300  # of a batch for one law, and for very many
CHUNK = 4000  # candidates at once
DIGITS = 9  # of coordinates that are equal but for rounding
SAMPLE = 1000  # candidates that the weak prior of the parameters is scaled by


def shortlist(
    targets: Sequence[Sequence[LawTarget]],
    pool: Pool,
    available: NDArray[np.bool_],
    prices: Array,
    amplitude: float,
    power: float,
) -> Numbers:
    """The numbers of the candidates among which a batch is chosen, in increasing order.

    Args:
        targets: of each hypothesis, of each of its laws.
        pool: the candidates.
        available: which can be chosen, shape (runs,).
        prices: what they cost, shape (runs,).
        amplitude: standard deviation of log L per decade.
        power: of the cost by which a drop is divided.
    """
    numbers = np.flatnonzero(available)
    laws = sum(map(len, targets))
    most = max(MIN_CANDIDATES, int(MAX_CANDIDATES / np.sqrt(laws)))
    if len(numbers) <= most:
        return numbers
    ends = np.array([row[row >= 0][-1] for row in pool.rows[numbers]])
    drops = np.mean([_drops(laws, pool, ends, amplitude) for laws in targets], axis=0)
    order = numbers[np.argsort(-drops / prices[numbers] ** power, kind="stable")]
    best, rest = order[: most // 2], order[most // 2 :]
    even = np.linspace(0, len(rest) - 1, most - len(best)).round().astype(int)
    return np.sort(np.concatenate([best, rest[even]]))


def shortened(pool: Pool, kept: Numbers) -> Pool:
    """A pool of some candidates, whose table has their rows alone.

    Args:
        pool: the candidates.
        kept: their numbers, increasing.
    """

    def some(values: NDArray[Any] | None) -> NDArray[Any] | None:
        return None if values is None else values[kept]

    rows = pool.rows[kept]
    used = np.zeros(len(pool.table), dtype=np.bool_)
    used[rows[rows >= 0]] = True
    place = np.cumsum(used) - 1
    return replace(
        pool,
        table=pool.table.keep(used),
        labels=tuple(pool.labels[i] for i in kept),
        rows=np.where(rows >= 0, place[rows], -1),
        costs=pool.costs[kept],
        done=some(pool.done),
        stems=some(pool.stems),
        trunks=some(pool.trunks),
        begun=some(pool.begun),
    )


@dataclass(frozen=True)
class _Screen:
    """One law, given its fitted rows.

    Attributes:
        surface, model: of the law.
        prior: of the logarithm of the law.
        rows: the fitted rows.
        inverse: that of the Cholesky factor of their covariance.
        points: those of the targets.
        weights: of these points, shape (functionals, points).
        of_targets: the whitened covariance of rows and targets, shape (rows, functionals).
    """

    surface: FittedSurface
    model: LawErrorModel
    prior: LawPrior
    rows: Points
    inverse: Array
    points: Points
    weights: Array
    of_targets: Array

    @classmethod
    def of(cls, target: LawTarget, sample: Array, amplitude: float) -> _Screen:
        """The screen of a law.

        Args:
            target: the law and its targets.
            sample: the variables at some candidates, shape (variables, candidates).
            amplitude: standard deviation of log L per decade.
        """
        surface = surface_of(target.fit)
        model = surface.law_error(amplitude)
        fitted = model.discrepancy.rows
        own = np.arange(len(fitted.z)) if fitted.runs is None else fitted.runs
        # laws that are fitted to one table have its rows in different orders
        order = np.lexsort(np.round(fitted.z, DIGITS).T)
        rows = Points(fitted.z, fitted.jacobian, own).at(order)
        weights = None if fitted.weights is None else fitted.weights[order]
        points = _points(surface, model, target.points)
        everything = rows.joined(points).joined(_points(surface, model, sample))
        prior = LawPrior.of(everything, amplitude, model.discrepancy.levels)
        noise = np.full(len(rows), prior.levels.noise**2)
        noise = noise if weights is None else noise / weights
        root = np.asarray(np.linalg.cholesky(prior.covariance(rows, rows) + np.diag(noise)), float)
        # products with the inverse take less time than solutions; only an order is wanted
        inverse = np.asarray(solve_triangular(root, np.eye(len(rows)), lower=True))
        of_targets = inverse @ prior.covariance(rows, points) @ target.weights.T
        return cls(surface, model, prior, rows, inverse, points, target.weights, of_targets)

    def variance(self) -> Array:
        """The variance of the targets, shape (functionals,)."""
        joint = self.weights @ self.prior.covariance(self.points, self.points)
        return np.asarray(np.sum(joint * self.weights, axis=1) - np.sum(self.of_targets**2, axis=0))

    def drops(self, columns: Array, kernels: dict[bytes, Array]) -> Array:
        """The drop of the variance of the targets by each candidate, shape (functionals, candidates).

        Args:
            columns: the variables at candidates, shape (variables, candidates).
            kernels: coordinates of points -> their kernel with these candidates, which laws that
                read the same columns share.
        """
        at = _points(self.surface, self.model, columns)
        directions = self.prior.directions

        def covariance(points: Points) -> Array:
            key = np.round(points.z, DIGITS).tobytes()
            if key not in kernels:
                kernels[key] = kernel(points.z, at.z)
            changes = (points.jacobian @ directions) @ (at.jacobian @ directions).T
            return np.asarray(changes + self.prior.amplitude**2 * kernels[key])

        whitened = self.inverse @ covariance(self.rows)
        cross = self.weights @ covariance(self.points) - self.of_targets.T @ whitened
        variance = np.sum((at.jacobian @ directions) ** 2, axis=1) + self.prior.levels.run**2
        variance += self.prior.amplitude**2 * kernel_diagonal(at.z) - np.sum(whitened**2, axis=0)
        return np.asarray(
            cross**2 / (np.maximum(variance, 0) + max(self.prior.levels.noise**2, 1e-300))
        )


def _drops(laws: Sequence[LawTarget], pool: Pool, ends: Numbers, amplitude: float) -> Array:
    """The relative drop of the variance of the targets by each candidate, shape (candidates,)."""
    columns: dict[object, Array] = {}
    bound, groups = [], []
    for target in laws:
        law = target.fit.law_of_spread()
        key = (tuple(q.name for q in law.variables), tuple(target.fit.data.columns.items()))
        if key not in columns:
            columns[key] = candidate_columns(law, target.fit, pool.table)[:, ends]
        bound.append(columns[key])
        groups.append(key)
    # a sample that does not depend on the order of the candidates
    step = max(1, len(ends) // SAMPLE)
    samples = {key: values[:, np.lexsort(values)[::step]] for key, values in columns.items()}
    screens = [
        _Screen.of(target, samples[key], amplitude)
        for target, key in zip(laws, groups, strict=True)
    ]
    total = np.sum([screen.variance() for screen in screens], axis=0)
    parts = []
    for begin in range(0, len(ends), CHUNK):
        kernels: dict[object, dict[bytes, Array]] = {key: {} for key in columns}
        drops = [
            screen.drops(own[:, begin : begin + CHUNK], kernels[key])
            for screen, own, key in zip(screens, bound, groups, strict=True)
        ]
        relative = np.sum(drops, axis=0) / np.where(total > 0, total, 1.0)[:, None]
        parts.append(np.mean(relative, axis=0))
    return np.nan_to_num(np.concatenate(parts))


def _points(surface: FittedSurface, model: LawErrorModel, columns: Array) -> Points:
    """Points that are rows of no fitted run."""
    with np.errstate(all="ignore"):  # an extrapolated law may have no value
        _, jacobian = log_residuals(surface.at(columns), surface.theta)
    z = coordinates(model.axes, model.names, columns)
    return Points(z, jacobian, np.full(columns.shape[1], -1))
