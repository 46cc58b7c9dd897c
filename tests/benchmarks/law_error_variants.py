"""Variants of the discrepancy, on stored fits: its kernel, its amplitude, the noise, rival laws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from many_tables import CUTS, FittedCut
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import minimize_scalar
from scipy.special import ndtr
from scipy.stats import t as students_t

from lawdsl.fitting.extrapolation.coordinates import axes_of, coordinates
from lawdsl.fitting.extrapolation.discrepancy import RUN_RATIOS, FittedRows
from lawdsl.fitting.extrapolation.kernel import integrated_brownian_motion

Array = NDArray[np.float64]
Parts = tuple[Array, Array, Array]  # rows with rows, rows with points, at points

MIN_NOISE = 1e-4
HUBER_CONSTANT = 2.0
REWEIGHTINGS = 3
NORMAL_QUANTILE = 1.959963984540054
# standard deviations of log10 of the amplitudes at which their prior is evaluated
PRIOR_STEPS = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
BISECTIONS = 40
# a rival whose interval is wider, in the logarithm, determines nothing
WIDEST_RIVAL = 1.0


@dataclass(frozen=True)
class Variant:
    """How wrong a law is taken to be: standard deviations of log L, per decade where it grows.

    Attributes:
        anywhere: of the radial part of the kernel.
        length: of the radial part, in decades.
        walk: of the walk along each positive variable.
        walk_share: of the walk along each share.
        products: of the interactions of two variables.
        drift: of the walk of each parameter but E with each variable, relative to the parameter.
        reducible: whether δ acts on the loss above E, not on all of it.
        dof: degrees of freedom of Student's t, the distribution of the noise; 0 for Gaussian noise
            with Huber's weights.
        spread: standard deviation of log10 of a common factor of the amplitudes. The marginal
            likelihood of the rows weights it; 0 for amplitudes as they are.
        lower_only: whether that factor is at most 1.
        integrated: whether predictions are a mixture over that factor, or use its posterior mean.
        separate_quantiles: whether δ has the quantile of a normal distribution, and only the noise that
            of Student's t.
        rivals: how much the rolled score weights rival laws; None for the law alone.
    """

    anywhere: float = 0.02
    length: float = 1.0
    walk: float = 0.02
    walk_share: float = 0.02
    products: float = 0.02
    drift: float = 0.0
    reducible: bool = False
    dof: float = 0.0
    spread: float = 0.0
    lower_only: bool = False
    integrated: bool = False
    separate_quantiles: bool = False
    rivals: float | None = None

    def times(self, factor: float) -> Variant:
        """All amplitudes multiplied."""
        names = ("anywhere", "walk", "walk_share", "products", "drift")
        return replace(self, **{name: factor * getattr(self, name) for name in names})


@dataclass(frozen=True)
class Predicted:
    """Mixtures of normal distributions of the logarithms of further runs.

    Attributes:
        mean, deviation: of the parts, shape (parts, points).
        weights: of the parts, shape (parts,).
        quantile: half an interval, in standard deviations.
    """

    mean: Array
    deviation: Array
    weights: Array
    quantile: float

    def interval(self) -> Parts:
        """The medians and the ends of the 95 % intervals, each of shape (points,)."""
        if len(self.weights) == 1:
            half = self.quantile * self.deviation[0]
            return self.mean[0], self.mean[0] - half, self.mean[0] + half
        scale = self.quantile / NORMAL_QUANTILE
        return tuple(self._quantile(level, scale) for level in (0.5, 0.025, 0.975))  # type: ignore[return-value]

    def _quantile(self, level: float, scale: float) -> Array:
        deviation = scale * self.deviation
        low = np.min(self.mean - 8 * deviation, axis=0)
        high = np.max(self.mean + 8 * deviation, axis=0)
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            below = self.weights @ ndtr((middle - self.mean) / deviation) < level
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2

    def log_density(self, value: Array) -> Array:
        """The logarithms of the densities of measured logarithms, less a constant; shape (points,)."""
        terms = -0.5 * ((value - self.mean) / self.deviation) ** 2 - np.log(self.deviation)
        largest = np.max(terms, axis=0)
        return np.asarray(largest + np.log(self.weights @ np.exp(terms - largest)))


class Conditioning:
    """The rows of a fit and points, with the parts that covariances are made of."""

    def __init__(self, cut: FittedCut, points: NDArray[np.int64]) -> None:
        """Take a fit, and the numbers of the rows at which the loss is predicted."""
        self.cut, self.points = cut, points
        used = cut.used
        names = [str(k) for k in range(len(cut.columns))]
        axes = axes_of(names, cut.shares.tolist(), cut.columns[:, used])
        self.z = coordinates(axes, names, cut.columns[:, used])
        self.z_points = coordinates(axes, names, cut.columns[:, points])
        runs = cut.runs if len(cut.runs) else None
        residuals = cut.log_loss[used] - cut.log_law[used]
        self.rows = FittedRows(self.z, residuals, cut.jacobian[used], runs)
        self.changes = self.rows.jacobian @ self.rows.directions
        self.changes_of_points = cut.jacobian[points] @ self.rows.directions
        self._found: dict[Variant, tuple[Array, Array, float]] = {}

    @cached_property
    def _walks(self) -> list[Parts]:
        """The walk of each variable."""
        return [
            (
                integrated_brownian_motion(a[:, None], a),
                integrated_brownian_motion(a[:, None], b),
                np.abs(b) ** 3 / 2,
            )
            for a, b in zip(self.z.T, self.z_points.T, strict=True)
        ]

    @cached_property
    def _products(self) -> Parts:
        first, second = np.triu_indices(self.z.shape[1], 1)
        a, b = (z[:, first] * z[:, second] for z in (self.z, self.z_points))
        return _outer(a, b)

    @cached_property
    def _square_distances(self) -> Parts:
        across = (np.sum((self.z[:, None] - b) ** 2, axis=2) for b in (self.z, self.z_points))
        return *across, np.zeros(len(self.points))  # type: ignore[return-value]

    @cached_property
    def _reducible(self) -> Parts:
        """Products of the shares of the loss above E: 1 - ∂ log L/∂ log E."""
        floor = self.cut.floor
        share = 1 - self.cut.jacobian[:, floor] if floor >= 0 else np.ones(len(self.cut.cost))
        return _outer(share[self.cut.used][:, None], share[self.points][:, None])

    @cached_property
    def _drifts(self) -> Parts:
        """The parameters but E walk with each variable."""
        kept = [k for k in range(self.cut.jacobian.shape[1]) if k != self.cut.floor]
        slopes = self.cut.jacobian[:, kept]
        walks = [sum(parts[1:], start=parts[0]) for parts in zip(*self._walks, strict=True)]
        outer = _outer(slopes[self.cut.used], slopes[self.points])
        return tuple(a * b for a, b in zip(outer, walks, strict=True))  # type: ignore[return-value]

    def covariance(self, variant: Variant) -> list[Array]:
        """Of the discrepancy: rows with rows, rows with points, and at points."""
        total = [
            variant.anywhere**2 * np.exp(-distance / (2 * variant.length**2))
            for distance in self._square_distances
        ]
        amplitudes = np.where(self.cut.shares, variant.walk_share, variant.walk)
        terms = list(zip(amplitudes, self._walks, strict=True))
        terms.append((variant.products, self._products))
        if variant.drift:
            terms.append((variant.drift, self._drifts))
        for amplitude, parts in terms:
            total = [a + amplitude**2 * b for a, b in zip(total, parts, strict=True)]
        if variant.reducible:
            total = [a * b for a, b in zip(total, self._reducible, strict=True)]
        return total

    def predict(self, variant: Variant) -> Predicted:
        """The distributions of further runs at the points."""
        quantile = NORMAL_QUANTILE if variant.separate_quantiles else self.cut.quantile
        if not variant.spread:
            mean, deviation, _ = self._normal(variant)
            return Predicted(mean[None], deviation[None], np.ones(1), quantile)
        steps = PRIOR_STEPS[PRIOR_STEPS <= 0] if variant.lower_only else PRIOR_STEPS
        found = [self._normal(variant.times(10 ** (variant.spread * x))) for x in steps]
        evidence = np.array([likelihood for _, _, likelihood in found]) - steps**2 / 2
        weights = np.exp(evidence - np.max(evidence))
        weights /= np.sum(weights)
        if not variant.integrated:
            factor = float(10 ** (variant.spread * (weights @ steps)))
            return self.predict(replace(variant.times(factor), spread=0.0))
        mean, deviation = (np.array([x[k] for x in found]) for k in (0, 1))
        return Predicted(mean, deviation, weights, quantile)

    def _normal(self, variant: Variant) -> tuple[Array, Array, float]:
        """Means and standard deviations of further runs, and the log marginal likelihood."""
        one = replace(variant, spread=0.0, lower_only=False, integrated=False)
        if one not in self._found:
            self._found[one] = self._conditioned(one)
        return self._found[one]

    def _conditioned(self, variant: Variant) -> tuple[Array, Array, float]:
        at_rows, cross, at_points = self.covariance(variant)
        explained = at_rows + self.changes @ self.changes.T
        weights = np.ones(len(explained))
        for step in range(REWEIGHTINGS + 1):
            noise, run, likelihood = self._levels(explained, weights)
            of_noise = np.diag(noise**2 / weights) + run**2 * self.rows.same_run
            factor = np.linalg.cholesky(at_rows + of_noise)
            changes = solve_triangular(factor, self.changes, lower=True)
            inner = np.linalg.inv(np.eye(changes.shape[1]) + changes.T @ changes)
            whitened = solve_triangular(factor, self.rows.residuals, lower=True)
            estimate = inner @ (changes.T @ whitened)
            solved = solve_triangular(factor, whitened - changes @ estimate, lower=True, trans="T")
            # what neither the law nor its error explains
            sizes = np.abs(of_noise @ solved) / np.hypot(noise, run)
            if variant.dof:
                new = (variant.dof + 1) / (variant.dof + sizes**2)
            else:
                new = np.minimum(1.0, HUBER_CONSTANT / np.maximum(sizes, 1e-300))
            if step == REWEIGHTINGS or np.allclose(new, weights, rtol=1e-2):
                break
            weights = new
        across = solve_triangular(factor, cross, lower=True)
        rest = self.changes_of_points - across.T @ changes
        variance = np.maximum(at_points - np.sum(across**2, axis=0), 0.0)
        variance += np.einsum("ij,jk,ik->i", rest, inner, rest)
        further = noise**2 + run**2
        if variant.dof:
            further *= (students_t.ppf(0.975, variant.dof) / NORMAL_QUANTILE) ** 2
        if variant.separate_quantiles:
            by_noise = np.minimum(self._from_noise(of_noise), variance)
            excess = (self.cut.quantile / NORMAL_QUANTILE) ** 2 - 1
            variance += excess * (by_noise + further)
        mean = self.cut.log_law[self.points] + self.changes_of_points @ estimate + cross.T @ solved
        return mean, np.sqrt(variance + further), likelihood

    def _from_noise(self, of_noise: Array) -> Array:
        """The variance at the points that the noise of the rows leaves, were the law right."""
        changes = solve_triangular(np.linalg.cholesky(of_noise), self.changes, lower=True)
        inner = np.linalg.inv(np.eye(changes.shape[1]) + changes.T @ changes)
        return np.einsum("ij,jk,ik->i", self.changes_of_points, inner, self.changes_of_points)

    def _levels(self, explained: Array, weights: Array) -> tuple[float, float, float]:
        """Noise of rows and of runs, and the logarithm of the marginal likelihood."""
        if self.rows.runs is None:
            noise, likelihood = _noise(self.rows, explained, weights, 0.0)
            return noise, 0.0, likelihood

        def objective(log_ratio: float) -> float:
            return -_noise(self.rows, explained, weights, float(np.exp(log_ratio)))[1]

        # the search of the product, which ends in one of several maxima
        bounds = np.log(RUN_RATIOS)
        ratio = float(np.exp(minimize_scalar(objective, bounds=bounds, options={"xatol": 0.03}).x))
        noise, likelihood = _noise(self.rows, explained, weights, ratio)
        return noise, ratio * noise, likelihood


def _outer(a: Array, b: Array) -> Parts:
    return a @ a.T, a @ b.T, np.sum(b**2, axis=1)


def _noise(rows: FittedRows, explained: Array, weights: Array, ratio: float) -> tuple[float, float]:
    """The most likely noise of a row, and the logarithm of its likelihood."""
    unit = np.diag(1 / weights) + (ratio**2 * rows.same_run if ratio else 0.0)
    factor = np.linalg.cholesky(unit)
    inner = solve_triangular(factor, explained, lower=True)
    values, vectors = np.linalg.eigh(solve_triangular(factor, inner.T, lower=True))
    values = np.maximum(values, 0.0)[:, None]
    squares = (vectors.T @ solve_triangular(factor, rows.residuals, lower=True))[:, None] ** 2
    grid, step = np.linspace(np.log(MIN_NOISE), 0.0, 41), -np.log(MIN_NOISE) / 40
    for _ in range(4):
        variances = values + np.exp(2 * grid)
        likelihood = -0.5 * np.sum(np.log(variances) + squares / variances, axis=0)
        best = int(np.argmax(likelihood))
        noise, largest = float(np.exp(grid[best])), float(likelihood[best])
        grid = np.clip(grid[best] + step * np.linspace(-1, 1, 11), np.log(MIN_NOISE), 0.0)
        step /= 5
    return noise, largest - float(np.sum(np.log(np.diag(factor))))


@dataclass(frozen=True, eq=False)
class Rivals:
    """The fits of several laws to one table, of which the first is the table's own.

    Attributes:
        fits: law -> cut -> its fit.
        cut: below which the rows are that predict.
        points: numbers of the rows that are predicted.
    """

    fits: Mapping[str, Mapping[float, FittedCut]]
    cut: float
    points: NDArray[np.int64]

    def predict(self, variant: Variant) -> Predicted:
        """A mixture of the laws, weighted by what they predict of the larger fitted rows."""
        laws = [law for law in self.fits if self._determines(law)]
        scores = np.zeros(len(laws))
        rolled = self._rolled(laws)
        # with no smaller cut nothing tells the laws apart
        for cut, points in rolled:
            for k, law in enumerate(laws):
                fit = self.fits[law][cut]
                predicted = Conditioning(fit, points).predict(variant)
                # the rows of a cut share one error: they count once
                scores[k] += np.mean(predicted.log_density(fit.log_loss[points]))
        if not rolled or len(laws) < 2:
            laws, scores = [next(iter(self.fits))], np.zeros(1)
        weights = np.exp((variant.rivals or 0.0) * (scores - np.max(scores)))
        parts = [
            Conditioning(self.fits[law][self.cut], self.points).predict(variant) for law in laws
        ]
        shares = np.concatenate(
            [w * part.weights for w, part in zip(weights / np.sum(weights), parts, strict=True)]
        )
        mean, deviation = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("mean", "deviation")
        )
        return Predicted(mean, deviation, shares, parts[0].quantile)

    def _determines(self, law: str) -> bool:
        fit = self.fits[law].get(self.cut)
        if fit is None or not fit.determined[self.points].all():
            return False
        return bool(np.max(2 * fit.half[self.points]) < WIDEST_RIVAL)

    def _rolled(self, laws: list[str]) -> list[tuple[float, NDArray[np.int64]]]:
        """Smaller cuts that all laws are fitted below, with the larger fitted rows."""
        own = next(iter(self.fits.values()))
        rolled, previous = [], own[self.cut].used
        for cut in (x for x in CUTS if x > self.cut):
            if not all(cut in self.fits[law] for law in laws):
                continue
            used = own[cut].used
            if len(used) == len(previous):
                continue
            previous = used
            larger = own[self.cut].used
            larger = larger[own[cut].cost[larger] > np.max(own[cut].cost[used])]
            usable = [
                row
                for row in larger
                if all(np.isfinite(self.fits[law][cut].log_law[row]) for law in laws)
            ]
            if usable:
                rolled.append((cut, np.array(usable)))
        return rolled
