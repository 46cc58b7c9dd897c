"""Fit -> outliers that the fit follows, or that mask each other, by least trimmed squares.

The law, linearised at the fit, is fitted to the half of the rows with the smallest Σ r_i² (least
trimmed squares, by concentration steps from random subsets; Rousseeuw and Van Driessen (2006), Data
Mining and Knowledge Discovery 12). Rows far from that fit are tested like other outliers: the F
test allows for the choice of the rows (Bonferroni, over all sets of that size). The test linearises
the law at the fit to the other rows, and is as good as that approximation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.diagnostics.outliers import (
    CANDIDATE_DISTANCE,
    MAX_OUTLIER_SHARE,
    Outliers,
    outliers,
)
from lawdsl.fitting.diagnostics.residuals import View, view
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.refit import refitted

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

MAX_SUBSETS = 300  # random subsets of as many rows as parameters, at most
MAX_SUBSET_NUMBERS = 2e8  # numbers in all subsets: bounds time, so long tables have fewer subsets
# residual degrees of freedom: with fewer, half of the rows cannot determine the law
MIN_MASKED_FREEDOM = 5
MAX_SUBSET_PARAMETERS = 20  # parameters: with more, random subsets without an outlier are too rare
CONCENTRATION_STEPS = 2  # of concentration, for each subset
REFITS = 3  # of fits of the law itself


@np.errstate(all="ignore")
def masked(
    law: PreparedLaw, problem: Problem, theta: Array, seen: View, total: int
) -> tuple[View, Outliers] | None:
    """Find outliers about the law fitted to the rows that agree best.

    Args:
        law: the law.
        problem: its fit.
        theta: the fitted parameters, shape (parameters,).
        seen: the residuals of the rows that are tested.
        total: how many rows there are in all.

    Returns:
        The residuals about that fit, and the outliers among them; None where there are none.
    """
    rank = seen.basis.shape[1]
    if seen.freedom < MIN_MASKED_FREEDOM or not 0 < rank <= MAX_SUBSET_PARAMETERS:
        return None
    part = problem.subset(seen.rows)
    core, own = _core(seen), theta
    size = int(np.sum(core))
    # the law itself takes turns with its linearisation, which may be poor far from the first fit
    for _ in range(REFITS):
        own, squares = refitted(part.subset(np.flatnonzero(core)), own)
        if not np.isfinite(squares):
            return None
        off = _sizes(part, own)
        core = off <= np.sort(off)[size - 1]
    spread = 1.4826 * float(np.median(off)) * np.sqrt(len(seen) / seen.freedom)
    chosen = off > CANDIDATE_DISTANCE * spread
    if not chosen.any() or np.sum(chosen) > MAX_OUTLIER_SHARE * len(seen):
        return None
    own, _ = refitted(part.subset(np.flatnonzero(~chosen)), own)
    about = view(law, problem, own, seen.rows)
    _, whole = refitted(part, theta)
    far = outliers(about, total, chosen, whole)
    # without a gap the trimmed rows are merely the largest residuals of ordinary noise
    return None if far is None or not far.apart else (about, far)


def _sizes(problem: Problem, theta: Array) -> Array:
    """The absolute residuals, weighted, shape (rows,); inf where the law has no value."""
    found = np.abs(problem.slopes(theta[None])[0][0])
    if problem.weights is not None:
        found = found * np.sqrt(problem.weights)
    return np.nan_to_num(found, nan=np.inf)


def _core(seen: View) -> Mask:
    """The half of the rows that the law, linearised at the fit, describes best."""
    rows, rank = seen.basis.shape
    # the size of the half with the highest breakdown point
    size = (rows + rank + 1) // 2
    count = int(np.clip(MAX_SUBSET_NUMBERS / (rows * rank**2), 30, MAX_SUBSETS))
    # a fixed seed: the diagnosis of a table is the same at every call
    rng = np.random.default_rng(0)
    drawn = np.argsort(rng.random((count, rows)), axis=1)[:, :rank]
    step = _solved(seen.basis[drawn], seen.residual[drawn])
    for _ in range(CONCENTRATION_STEPS):
        off = np.abs(seen.residual - step @ seen.basis.T)
        best = np.argpartition(off, size - 1, axis=1)[:, :size]
        step = np.stack([_solved(seen.basis[own], seen.residual[own]) for own in best])
    off = np.sort(np.abs(seen.residual - step @ seen.basis.T), axis=1)[:, :size]
    winner = int(np.argmin(np.sum(off**2, axis=1)))
    last = np.abs(seen.residual - seen.basis @ step[winner])
    core: Mask = last <= np.sort(last)[size - 1]
    return core


def _solved(columns: Array, values: Array) -> Array:
    """Least-squares solutions of one system or of many."""
    # a pseudo-inverse, since a random subset may be singular
    return np.asarray((np.linalg.pinv(columns) @ values[..., None])[..., 0])
