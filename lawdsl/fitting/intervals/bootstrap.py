"""Fit -> intervals by the bootstrap: the fit is repeated on resampled rows or training runs.

Resample b minimises Σ v_bi·rho(r_i), v_bi from the exponential distribution with mean 1, or for a
row of weight w_i from Gamma(w_i), the sum of w_i such variables (the Bayesian bootstrap; Rubin
(1981), Annals of Statistics 9). Many resamples are fitted as one array, each with its own weights,
starting at the fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.distributions import chi2_cdf, chi2_quantile, normal_cdf, student_quantile
from lawdsl.fitting.bound_distances import within_limits
from lawdsl.fitting.intervals.covariance import (
    COVARIANCE_RANK_RTOL,
    MAX_COVARIANCE_PARAMETERS,
    Covariance,
)
from lawdsl.fitting.intervals.delta import open_ends_at_infinity
from lawdsl.fitting.intervals.interval_method import IntervalEnds, IntervalMethod, IntervalTask
from lawdsl.fitting.intervals.m_estimator import Groups, noise_of
from lawdsl.fitting.linearity_criterion import LinearityCriterion
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.newton import newton_batch
from lawdsl.fitting.solvers.projected_problem import project
from lawdsl.fitting.transforms import (
    Transforms,
    to_free,
    to_parameters,
    with_slopes,
    without_coupled_limits,
)

Array = NDArray[np.float64]

# relative to the loss: a search ends if the predicted decrease is smaller, since an end of an
# interval need not be exact
INTERVAL_END_RTOL = 1e-9
# relative to the error of a row: smallest share that remains in its residual after the fit
MIN_RESIDUAL_SHARE = 1e-3
# share of the resamples, the closest to each other, from which the covariance is computed
NEAREST_RESAMPLES_SHARE = 0.9
TRIMMING_STEPS = 10  # concentration steps towards these resamples
MIN_SPARE_UNITS = 3  # rows or runs required beyond the number of parameters
# with a smaller inverse condition number the normal equations are singular
MIN_INVERSE_CONDITION = 1e-7
# share of the resamples: if more do not converge, a warning is issued
MAX_FAILED_SHARE = 0.05
# number of entries in the Jacobians of the resamples fitted at once: bounds memory
MAX_BATCH_NUMBERS = 3_000_000


@dataclass(frozen=True)
class Resamples:
    """The fits of all resamples.

    Attributes:
        theta: the parameters, shape (resamples, parameters).
        settled: whether each fit converged to a minimum, shape (resamples,).
        units: the number of resampled rows or runs.
        underestimation: the factor by which the resamples underestimate the standard error of each
            parameter, shape (parameters,).
        by_run: whether runs, instead of rows, were resampled.
    """

    theta: Array
    settled: NDArray[np.bool_]
    units: int
    underestimation: Array
    by_run: bool

    def ends(self, level: float, parameters: int) -> tuple[Array, Array]:
        """Lower and upper ends of the percentile intervals, each of shape (parameters,).

        With few units the scatter of the resamples is too small. So the percentiles are
        Phi(∓t·underestimation), with t the quantile of Student's t (the expanded percentile
        interval; Hesterberg (2015), The American Statistician 69).

        Args:
            level: 0.95 for 95 % intervals.
            parameters: the number of parameters that are not on a bound.
        """
        return self._percentiles(student_quantile((1 + level) / 2, self._dof(parameters)))

    def errors(self) -> Array:
        """Standard errors of the parameters, shape (parameters,): half the width of the central 68
        % of the resamples. A few resamples that do not determine a parameter would make the
        standard deviation infinite.
        """
        low, high = self._percentiles(1.0)
        with np.errstate(invalid="ignore"):
            return (high - low) / 2

    def spread(self, names: Sequence[str], parameters: int) -> Covariance | None:
        """The covariance of the parameters over the resamples, by the minimum covariance
        determinant.

        Among the subsets of 90 % of the resamples, concentration steps find one whose covariance
        has a small determinant (Rousseeuw and Van Driessen (1999), Technometrics 41), and that
        covariance is scaled to be consistent for normal errors.

        Args:
            names: the names of the parameters.
            parameters: the number of parameters that are not on a bound.

        Returns:
            The covariance; None if too few resamples converged, or if there are too many
            parameters.
        """
        finite = self.theta[self.settled & np.isfinite(self.theta).all(axis=1)]
        count = int(NEAREST_RESAMPLES_SHARE * len(finite))
        if count <= 2 * len(names) or len(names) > MAX_COVARIANCE_PARAMETERS:
            return None
        median, scale = np.median(finite, axis=0), self.errors()
        scale = np.where((scale > 0) & np.isfinite(scale), scale, 1.0)
        scaled_deviations = (finite - median) / scale
        nearest = np.argsort(np.linalg.norm(scaled_deviations, axis=1))[:count]
        for _ in range(TRIMMING_STEPS):
            centred = scaled_deviations - np.mean(scaled_deviations[nearest], axis=0)
            _, widths, directions = np.linalg.svd(centred[nearest], full_matrices=False)
            # resamples on a bound may span fewer directions than there are parameters
            wide = widths > COVARIANCE_RANK_RTOL * widths[0]
            # Mahalanobis distances by singular values, since the covariance itself could be
            # singular
            distances = np.linalg.norm(centred @ (directions[wide].T / widths[wide]), axis=1)
            # stable, so that ties do not depend on the sorting method of a platform
            nearest = np.argsort(distances, kind="stable")[:count]
        rank = int(np.sum(wide))
        trimmed = (
            chi2_cdf(chi2_quantile(NEAREST_RESAMPLES_SHARE, rank), rank + 2)
            / NEAREST_RESAMPLES_SHARE
            # variance of a normal distribution truncated to its central 90 %, relative to the variance
            # of the whole
        )
        size = np.sqrt(1 / trimmed / (count - 1)) * float(np.median(self.underestimation))
        factor = size * widths[wide, None] * directions[wide] * scale
        null_space = np.empty((0, len(names)))
        return Covariance(tuple(names), factor, null_space, scale, float(self._dof(parameters)))

    def _dof(self, parameters: int) -> int:
        return max(self.units - (1 if self.by_run else parameters), 1)

    def _percentiles(self, distance: float) -> tuple[Array, Array]:
        """The percentiles `distance` standard errors away from the median."""
        finite, tails = self._finite, normal_cdf(-distance * self.underestimation)
        ends = [np.quantile(x, [p, 1 - p]) for x, p in zip(finite.T, tails, strict=True)]
        low, high = np.array(ends).T
        return open_ends_at_infinity(low, high, np.median(finite, axis=0))

    @property
    def _finite(self) -> Array:
        return self.theta[np.isfinite(self.theta).all(axis=1)]


@np.errstate(all="ignore")  # a step may reach points where a law overflows
def bootstrap(
    problem: Problem,
    theta: Array,
    resamples: int,
    seed: int = 0,
    groups: Groups = None,
    progress: Callable[[int, int], None] | None = None,
    before: LinearityCriterion | None = None,
) -> Resamples:
    """Fit resamples of the rows, or of the runs.

    A resample assigns to each unit an exponential weight (Rubin (1981), Annals of Statistics 9; Xu
    et al. (2020), The American Statistician 74) instead of a number of draws. No unit is omitted
    completely, so that a small table still determines all parameters.

    Args:
        problem: the objective to be minimised, with its data.
        theta: the fitted parameters, shape (parameters,), at which each search starts.
        resamples: the number of resamples.
        seed: the seed of the draws; the same seed gives the same resamples.
        groups: the training run of each row, shape (rows,), if whole runs are resampled.
        progress: called with the number of resamples done, and their total.
        before: the criterion by which a parameter is chosen before the others are fitted, which is
            repeated in each resample.
    """
    rows = np.ones(problem.rows) if problem.weights is None else problem.weights
    if groups is None:
        units, copies, row_weights = np.arange(problem.rows), rows, np.array(1.0)
    else:
        units, copies, row_weights = groups, np.ones(int(groups.max()) + 1), rows
    count = len(copies)
    # a separate stream, so that resamples are independent of the starts with the same seed
    rng = np.random.default_rng([seed, 0xB007])
    width = max(1, MAX_BATCH_NUMBERS // (problem.rows * problem.parameters))
    # fits without bounds between parameters converge faster; those that violate a bound are
    # repeated
    uncoupled = without_coupled_limits(problem.transforms)
    resampled, settled = np.empty((resamples, len(theta))), np.zeros(resamples, dtype=bool)
    centers = _centers_of_priors(problem, resamples, seed)
    for first in range(0, resamples, width):
        last = min(first + width, resamples)
        # Gamma(w) is the sum of w exponential weights: a row of weight w represents w rows
        weights = rng.gamma(copies, size=(last - first, count))[:, units] * row_weights
        batch = slice(first, last)
        resampled[batch], settled[batch] = _fit_resamples(
            _with_centers(problem, centers[batch]), theta, weights, uncoupled, before
        )
        if uncoupled is not None:  # resamples that violate a bound are fitted again with it
            outside = [
                k for k in range(first, last) if not within_limits(problem.transforms, resampled[k])
            ]
            if outside:
                outside_weights = weights[np.array(outside) - first]
                resampled[outside], settled[outside] = _fit_resamples(
                    _with_centers(problem, centers[outside]), theta, outside_weights, None, before
                )
        if progress is not None:
            progress(last, resamples)
    underestimation = np.ones(len(theta))
    if groups is None:
        underestimation = _underestimation_factors(problem, theta, rows)
    drawn_from = count if groups is not None else round(float(np.sum(rows)))
    return Resamples(resampled, settled, drawn_from, underestimation, groups is not None)


def _centers_of_priors(problem: Problem, resamples: int, seed: int) -> Array:
    """Centers of the priors of each resample, shape (resamples, priors), drawn from the priors.

    A fit with priors depends on them as on the rows, so both are resampled: with fixed centers the
    resamples would scatter less than the posterior (randomized maximum a posteriori; Bardsley et
    al. (2014), SIAM Journal on Scientific Computing 36).
    """
    penalty = problem.penalty
    if penalty is None:
        return np.empty((resamples, 0))
    rng = np.random.default_rng([seed, 0x9A10])
    shape = (resamples, len(penalty.numbers))
    return penalty.centers + penalty.deviations * rng.normal(size=shape)


def _with_centers(problem: Problem, centers: Array) -> Problem:
    """The problem with separate centers of the priors for each start, shape (starts, priors)."""
    if problem.penalty is None:
        return problem
    return replace(problem, penalty=replace(problem.penalty, centers=centers))


def _underestimation_factors(problem: Problem, theta: Array, rows: Array) -> Array:
    """The factor by which resamples of rows underestimate standard errors, in the linearised law. A
    row is fitted with its leverage h, so that only the share 1 - h of its error is resampled. With
    a Huber loss only rows within delta have leverage. For resamples of runs the effect is small
    relative to other errors.
    """
    transforms = without_coupled_limits(problem.transforms) or problem.transforms
    relaxed_problem = replace(problem, transforms=transforms)
    (residual,), (slopes,) = relaxed_problem.residuals_and_slopes(to_free(transforms, theta[None]))
    slopes, of_rows = np.nan_to_num(slopes), len(slopes)
    if problem.penalty is not None:
        _, jacobian = with_slopes(transforms, to_free(transforms, theta[None]))
        slopes = np.vstack([slopes, problem.penalty.pseudo_rows(theta) @ jacobian[0]])
        rows = np.concatenate([rows, np.ones(len(slopes) - of_rows)])
    size = np.maximum(np.sqrt(rows @ slopes**2), 1e-300)
    scaled = np.sqrt(rows)[:, None] * slopes / size
    influence = scaled @ np.linalg.pinv(scaled.T @ scaled, rcond=1e-14, hermitian=True)
    noise = noise_of(relaxed_problem, residual, len(theta))
    # at most 1: the mean curvature of a loss with two sides may exceed that of the lower side
    drawing = min(noise.curvature / problem.objective.row.max_curvature, 1.0)
    leverage = np.sum(influence * scaled, axis=1) / np.maximum(rows, 1e-300)
    leverage[of_rows:] = 0.0  # the centers of priors are resampled with their whole error
    # avoids a division by 0 for a row that is fitted exactly
    remaining_shares = np.maximum(1 - drawing * leverage, MIN_RESIDUAL_SHARE)
    variances = np.sum(influence**2, axis=0)
    with np.errstate(all="ignore"):
        return np.where(variances > 0, np.sqrt(variances / (remaining_shares @ influence**2)), 1.0)


def _fit_resamples(
    problem: Problem,
    theta: Array,
    weights: Array,
    transforms: Transforms | None,
    before: LinearityCriterion | None,
) -> tuple[Array, NDArray[np.bool_]]:
    weighted_problem = replace(
        problem, weights=weights, transforms=transforms or problem.transforms
    )
    start, fixed = np.repeat(theta[None], len(weights), axis=0), None
    if before is not None:
        # the parameter chosen before the fit is chosen again in each resample, to account for its
        # uncertainty
        start[:, before.number] = [before.value(w) for w in weights]
        fixed = np.zeros(start.shape, dtype=bool)
        fixed[:, before.number] = True
    free, _, settled, _ = newton_batch(
        project(weighted_problem),
        to_free(weighted_problem.transforms, start),
        fixed,
        rtol=INTERVAL_END_RTOL,
    )
    return to_parameters(weighted_problem.transforms, free), settled


def _bootstrap_ends(task: IntervalTask) -> IntervalEnds | Diagnostic:
    options, criterion = task.options, task.criterion
    narrowest = task.linearised.narrowest
    if criterion is None and not task.undetermined.any() and narrowest < MIN_INVERSE_CONDITION:
        return _collinear_diagnostic(narrowest)
    count, seed = options.resamples, options.seed
    drawn = bootstrap(
        task.problem, task.theta, count, seed, task.groups, options.progress, criterion
    )
    failed = int(np.sum(~drawn.settled))
    notes: tuple[Diagnostic, ...] = ()
    if failed > MAX_FAILED_SHARE * count:
        message = f"{failed} of {count} resamples did not end in a minimum"
        help = "believe the intervals less: compare them with --intervals profile"
        notes = (Diagnostic("F0121", message, "warning", help=help),)
    return IntervalEnds(
        drawn.errors(),
        *drawn.ends(options.level, task.free),
        covariance=None if criterion is None else drawn.spread(task.names, task.free),
        resamples=count,
        failed=failed,
        notes=notes,
    )


def _collinear_diagnostic(narrowest: float) -> Diagnostic:
    """The diagnostic for intervals that a bootstrap cannot provide, since the refits would not move
    away from their start.
    """
    message = (
        f"the effects of the parameters are collinear to {narrowest:.1g}: resamples cannot be fitted "
        "to that precision"
    )
    help = (
        "ask for --intervals delta or profile, or count the variables from a value among the rows"
    )
    return Diagnostic("F0122", message, "warning", help=help)


METHOD = IntervalMethod(_bootstrap_ends, min_excess_units=MIN_SPARE_UNITS, repeats_choice=True)
