"""Residuals -> rows so far from the law that the noise of the others does not explain them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from lawdsl.core.distributions import f_sf, normal_cdf, normal_quantile, student_quantile
from lawdsl.fitting.diagnostics.residuals import (
    FALSE_ALARM_RATE,
    ResidualView,
    orthonormal_basis,
    project_out,
)

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# in standard deviations: a row closer to the law is never an outlier
CANDIDATE_DISTANCE = 4.0
# of the rows: a larger number is not outliers but a part of the data
MAX_OUTLIER_SHARE = 1 / 3
# of the rows: a smaller cluster is tested as outliers
MIN_CLUSTER_SHARE = 0.2
# largest ordinary residuals from which the tail of the noise is estimated: a quarter of the rows,
# within these limits
MAX_TAIL_RESIDUALS, MIN_TAIL_RESIDUALS = 20, 5
# rows that are less probable than this under noise with the power-law tail of the others are
# separated
HEAVY_TAIL_PVALUE = 0.05
# iterations of the fit by least absolute residuals
MAX_IRLS_STEPS = 30
# rounds in which rows below the limit are removed from the candidates
MAX_SELECTION_ROUNDS = 30
# k·log(x_k/x_(k+1)) of the k furthest: noise of finite variance has a tail that falls like x^-2 or
# faster, so a row is ten times as far out as the next with probability 0.01 at most
MIN_LOG_GAP = float(np.log(10))


@dataclass(frozen=True)
class Outliers:
    """Rows far from the law.

    Attributes:
        rows: the positions of the rows in the view, the furthest first.
        sizes: the studentised residual of each, negative below the law.
        is_separated: whether they are separated from the tail of the others; otherwise the noise is
            heavy-tailed.
    """

    rows: NDArray[np.int64]
    sizes: Array
    is_separated: bool


def find_outliers(
    view: ResidualView, total: int, suspected: Mask | None = None, all_squares: float | None = None
) -> Outliers | None:
    """Find the rows that Gaussian noise does not explain; None if there are none.

    Their joint shift is tested against the other rows by an exact F test, F = ((S -
    S_rest)/k)/(S_rest/dof), for the worst of all sets of k rows (Bonferroni; Cook and Weisberg
    (1982), Residuals and Influence in Regression, chapter 2). Heavy-tailed noise fails that test
    too, so the gap below the outliers is compared with the spacings of the tail below it, as in a
    power law.

    Args:
        view: the residuals; for long tables, of a sample and of the furthest rows.
        total: the total number of rows.
        suspected: the rows that may be outliers, shape (rows,); by default those far out after a
            fit by least absolute residuals.
        all_squares: the sum of squares S of the law fitted to all rows; by default that of the
            linearised law.
    """
    chosen = _candidates(view) if suspected is None else suspected
    for _ in range(MAX_SELECTION_ROUNDS):
        if not chosen.any():
            return None
        sizes = _studentised_residuals(view, chosen)
        remaining = chosen & (np.abs(sizes) > _studentised_limit(view, chosen, total))
        if np.array_equal(remaining, chosen):
            break
        chosen = remaining
    if not chosen.any():
        return None
    rest = float(
        np.sum(project_out(orthonormal_basis(view.basis[~chosen]), view.residual[~chosen]) ** 2)
    )
    total_squares = float(np.sum(view.projected**2)) if all_squares is None else all_squares
    if _log_pvalue(view, chosen, total, total_squares - rest, rest) > np.log(FALSE_ALARM_RATE):
        return None
    order = np.argsort(-np.abs(np.where(chosen, sizes, 0.0)), kind="stable")
    count = int(np.sum(chosen))
    separated_count = _count_separated(np.sort(np.abs(sizes))[::-1], count)
    rows = order[: separated_count or count]
    return Outliers(rows, sizes[rows], separated_count > 0)


def outlier_limit(view: ResidualView, total: int) -> float:
    """The residual that no row exceeds under Gaussian noise, up to the probability of a false
    alarm.

    Args:
        view: the residuals.
        total: the total number of rows.
    """
    # by the lower tail, since 1 - p loses the digits of a small p
    deviation = _robust_deviation(view, _least_absolute_residuals(view))
    return deviation * -float(normal_quantile(FALSE_ALARM_RATE / 2 / total))


def _robust_deviation(view: ResidualView, residuals: Array) -> float:
    """The standard deviation of residuals from their median."""
    return 1.4826 * float(np.median(np.abs(residuals))) * float(np.sqrt(len(view) / view.dof))


def _candidates(view: ResidualView) -> Mask:
    """Rows many robust standard deviations from a fit by least absolute residuals."""
    none = np.zeros(len(view), dtype=bool)
    if view.dof < 3:
        return none
    distances = np.abs(_least_absolute_residuals(view))
    is_candidate = distances > CANDIDATE_DISTANCE * _robust_deviation(view, distances)
    count = max(1, int(MAX_OUTLIER_SHARE * len(view)))
    if np.sum(is_candidate) > count:
        is_candidate &= distances >= np.sort(distances)[-count]
    return is_candidate if np.sum(~is_candidate) > view.basis.shape[1] + 2 else none


def _least_absolute_residuals(view: ResidualView) -> Array:
    """Residuals of the fit by least absolute residuals, the law being linear near the fit."""
    # iteratively reweighted least squares: weights 1/|r| turn squares into absolute values
    residuals = view.residual
    for _ in range(MAX_IRLS_STEPS):
        # a residual of 0 would have an infinite weight
        floor = 1e-6 * float(np.max(np.abs(residuals)))
        if floor == 0:
            break
        root = np.sqrt(1 / np.maximum(np.abs(residuals), floor))
        step = np.linalg.lstsq(view.basis * root[:, None], view.residual * root)[0]
        residuals = view.residual - view.basis @ step
    return residuals


def _studentised_residuals(view: ResidualView, chosen: Mask) -> Array:
    """Studentised residuals of all rows, for the law fitted to the rows that are not chosen."""
    rest = view.basis[~chosen]
    step = np.linalg.lstsq(rest, view.residual[~chosen])[0]
    residuals = view.residual - view.basis @ step
    variance = np.sum(residuals[~chosen] ** 2) / (np.sum(~chosen) - rest.shape[1])
    leverage = np.sum((view.basis @ np.linalg.pinv(rest.T @ rest)) * view.basis, axis=1)
    # an excluded row is a prediction, with variance factor 1 + h; a fitted row has 1 - h
    factor = np.where(chosen, 1 + leverage, np.maximum(1 - leverage, 1e-3))
    with np.errstate(all="ignore"):
        return np.nan_to_num(residuals / np.sqrt(variance * factor))


def _studentised_limit(view: ResidualView, chosen: Mask, total: int) -> float:
    """The studentised residual that no row exceeds under Gaussian noise, up to the probability of a
    false alarm.
    """
    dof = view.dof - int(np.sum(chosen))
    return max(CANDIDATE_DISTANCE, -float(student_quantile(FALSE_ALARM_RATE / 2 / total, dof)))


def _log_pvalue(view: ResidualView, chosen: Mask, total: int, shift: float, rest: float) -> float:
    """The log-probability that Gaussian noise shifts as many rows by as much.

    Args:
        view: the residuals.
        chosen: the rows that are shifted, shape (rows,).
        total: the total number of rows.
        shift: the decrease of the sum of squares when they are excluded.
        rest: the sum of squares without them.
    """
    count = int(np.sum(chosen))
    dof = view.dof - count
    # if the other rows agree exactly, any shift is significant
    if rest <= 0:
        return -np.inf
    # by logarithms, as the number of subsets overflows
    sets = special.gammaln(total + 1) - special.gammaln(count + 1)
    sets -= special.gammaln(total - count + 1)
    p_value = f_sf(shift / count / (rest / dof), count, dof)
    with np.errstate(divide="ignore"):  # small probabilities may underflow
        return float(np.log(p_value) + sets + np.log(count + 1))


def _count_separated(sizes: Array, count: int) -> int:
    """The number of the furthest rows that are separated from the rest; sizes are in decreasing
    order, and the first `count` are candidates.

    In a power-law tail, k·log(x_k/x_(k+1)) are independent and exponential with one mean (Rényi's
    representation), which is estimated from the next `MAX_TAIL_RESIDUALS`.
    """
    with np.errstate(all="ignore"):
        spacings = np.arange(1, len(sizes)) * np.log(sizes[:-1] / sizes[1:])
    tail_count = max(MIN_TAIL_RESIDUALS, min(MAX_TAIL_RESIDUALS, len(sizes) // 4))
    for k in range(count, 0, -1):
        if spacings[k - 1] > MIN_LOG_GAP:
            return k
        tail = spacings[k : k + tail_count]
        if len(tail) < MIN_TAIL_RESIDUALS or not np.all(np.isfinite(tail)):
            continue
        gap = spacings[k - 1] / max(float(np.mean(tail)), 1e-300)
        if count * (1 + gap / len(tail)) ** -len(tail) < HEAVY_TAIL_PVALUE:
            return k
    return 0


def smaller_cluster(view: ResidualView) -> Mask | None:
    """The smaller of two clusters of residuals, if there is a gap between them.

    Under Gaussian noise the probability mass of the widest gap between n neighbours exceeds q with
    a probability of at most n·(1 - q)^(n - 1).
    """
    if view.dof < 3:
        return None
    order = np.argsort(view.projected, kind="stable")
    spread = float(np.sqrt(np.sum(view.projected**2) / view.dof))
    gaps = np.diff(normal_cdf(view.projected[order] / spread))
    rows = len(view)
    min_cluster = int(np.ceil(MIN_CLUSTER_SHARE * rows))
    # both parts must be large enough for a cluster
    gaps[: min_cluster - 1] = gaps[rows - min_cluster :] = 0.0
    widest = int(np.argmax(gaps))
    if np.log(rows) + (rows - 1) * np.log1p(-gaps[widest]) > np.log(FALSE_ALARM_RATE):
        return None
    chosen = np.zeros(rows, dtype=bool)
    chosen[order[: widest + 1] if 2 * (widest + 1) <= rows else order[widest + 1 :]] = True
    return chosen
