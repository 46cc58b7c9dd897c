"""Fit -> outliers that the fit follows or that mask each other, by least trimmed squares.

The law, linearised at the fit, is fitted to the half of the rows with the smallest Σ r_i² (least
trimmed squares, by concentration steps from random subsets; Rousseeuw and Van Driessen (2006), Data
Mining and Knowledge Discovery 12). Rows far from that fit are tested like other outliers: the F
test allows for the choice of the rows (Bonferroni, over all sets of that size). The test linearises
the law at the fit to the other rows, and is valid as far as that approximation is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.diagnostics.outliers import (
    CANDIDATE_DISTANCE,
    MAX_OUTLIER_SHARE,
    Outliers,
    find_outliers,
)
from lawdsl.fitting.diagnostics.residuals import ResidualView, residual_view
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.refit import refit

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

MAX_SUBSETS = 300  # random subsets of as many rows as parameters
# rows times squared parameters, over all subsets: bounds the time, so that long tables have fewer
# subsets
MAX_SUBSET_NUMBERS = 2e8
ROWS_AT_ONCE = 2048  # whose products of columns are summed at once
# residual degrees of freedom: with fewer, half of the rows cannot determine the law
MIN_MASKED_DOF = 5
# with more parameters, random subsets without an outlier are too rare
MAX_SUBSET_PARAMETERS = 20
CONCENTRATION_STEPS = 2  # for each subset
REFITS = 3  # at most, of the law itself, to the rows that are not outliers


@np.errstate(all="ignore")
def find_masked_outliers(
    law: PreparedLaw, problem: Problem, theta: Array, view: ResidualView, total: int
) -> tuple[ResidualView, Outliers] | None:
    """Find outliers about the law fitted to the rows that agree best.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.
        theta: the fitted parameters, shape (parameters,).
        view: the residuals of the rows that are tested.
        total: the total number of rows.

    Returns:
        The residuals about that fit, and the outliers among them; None if there are none.
    """
    rank = view.basis.shape[1]
    if view.dof < MIN_MASKED_DOF or not 0 < rank <= MAX_SUBSET_PARAMETERS:
        return None
    tested = problem.subset(view.rows)
    core, estimate = _best_half(view), theta
    size = int(np.sum(core))
    # fits of the law itself alternate with its linearisation, which may be inaccurate far from the
    # first fit
    for _ in range(REFITS):
        estimate, squares = refit(tested.subset(np.flatnonzero(core)), estimate)
        if not np.isfinite(squares):
            return None
        distances = _absolute_residuals(tested, estimate)
        previous, core = core, distances <= np.sort(distances)[size - 1]
        if np.array_equal(core, previous):
            break
    spread = 1.4826 * float(np.median(distances)) * np.sqrt(len(view) / view.dof)
    chosen = distances > CANDIDATE_DISTANCE * spread
    if not chosen.any() or np.sum(chosen) > MAX_OUTLIER_SHARE * len(view):
        return None
    estimate, _ = refit(tested.subset(np.flatnonzero(~chosen)), estimate)
    trimmed_view = residual_view(law, problem, estimate, view.rows)
    _, all_squares = refit(tested, theta)
    outliers = find_outliers(trimmed_view, total, chosen, all_squares)
    # without a gap the trimmed rows are merely the largest residuals of ordinary noise
    return None if outliers is None or not outliers.is_separated else (trimmed_view, outliers)


def _absolute_residuals(problem: Problem, theta: Array) -> Array:
    """The absolute residuals, weighted, shape (rows,); inf where the law has no value."""
    sizes = np.abs(problem.slopes(theta[None])[0][0])
    if problem.weights is not None:
        sizes = sizes * np.sqrt(problem.weights)
    return np.nan_to_num(sizes, nan=np.inf)


def _best_half(view: ResidualView) -> Mask:
    """The half of the rows that the law, linearised at the fit, describes best."""
    rows, rank = view.basis.shape
    # the size of the half with the highest breakdown point
    size = (rows + rank + 1) // 2
    count = int(np.clip(MAX_SUBSET_NUMBERS / (rows * rank**2), 30, MAX_SUBSETS))
    # a fixed seed, so that the diagnosis of a table is reproducible
    rng = np.random.default_rng(0)
    drawn = rng.random((count, rows))
    subsets = np.argpartition(drawn, rank - 1, axis=1)[:, :rank]
    # by a pseudo-inverse, since a random subset may be singular
    step = (np.linalg.pinv(view.basis[subsets]) @ view.residual[subsets][..., None])[..., 0]
    for _ in range(CONCENTRATION_STEPS):
        distances = np.abs(view.residual - step @ view.basis.T)
        best = np.argpartition(distances, size - 1, axis=1)[:, :size]
        step = _least_squares(view, best)
    distances = np.sort(np.abs(view.residual - step @ view.basis.T), axis=1)[:, :size]
    winner = int(np.argmin(np.sum(distances**2, axis=1)))
    final = np.abs(view.residual - view.basis @ step[winner])
    core: Mask = final <= np.sort(final)[size - 1]
    return core


def _least_squares(view: ResidualView, subsets: NDArray[np.int64]) -> Array:
    """Least-squares solutions for subsets of the rows, by normal equations: the columns of the basis are
    orthonormal, so that those of a half of its rows are well conditioned.

    Args:
        view: the residuals, with the basis.
        subsets: the rows of each subset, shape (subsets, size).

    Returns:
        Shape (subsets, rank).
    """
    rows, rank = view.basis.shape
    gram, right = np.zeros((len(subsets), rank**2)), np.zeros((len(subsets), rank))
    chosen = np.zeros((len(subsets), rows))
    np.put_along_axis(chosen, subsets, 1.0, axis=1)
    for first in range(0, rows, ROWS_AT_ONCE):
        part = slice(first, first + ROWS_AT_ONCE)
        columns = view.basis[part]
        products = (columns[:, :, None] * columns[:, None, :]).reshape(len(columns), rank**2)
        gram += chosen[:, part] @ products
        right += chosen[:, part] @ (columns * view.residual[part, None])
    # by pseudo-inverses, since the rows of a half may leave a direction open
    inverses = np.linalg.pinv(gram.reshape(-1, rank, rank), hermitian=True)
    return np.asarray((inverses @ right[:, :, None])[:, :, 0])
