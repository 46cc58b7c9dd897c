"""Fits + folds -> scores of laws in draws of a paired bootstrap over units of rows.

Units of rows are drawn with replacement (Efron and Tibshirani (1993), An Introduction to the
Bootstrap). The same draw is used for all laws and folds, for fitted and tested rows alike: part of
a law's score is due to the noise of the rows that it was fitted to. Rows of one training run are
not independent, so they are one unit. The laws are not refitted: with unit k drawn c_k times, a fit
takes one Newton step theta* - H⁻¹·Σ (c_k - 1)·g_k towards the weights of the draw, g_k being the
gradient from unit k (the infinitesimal jackknife to first order; Jaeckel (1972)).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lawdsl.comparing.protocols import Fold
from lawdsl.fitting.diagnostics.diagnose import bound_findings
from lawdsl.fitting.intervals.m_estimator import noise_of
from lawdsl.fitting.preparation.prepare import prepare
from lawdsl.fitting.problem import Problem, rho, rho_slope
from lawdsl.fitting.transforms import to_free
from lawdsl.law.law import Law

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

BOOTSTRAP_DRAWS = 2000
MIN_BOOTSTRAP_DRAWS = 200
MAX_RESIDUALS_IN_MEMORY = 4_000_000
# residuals computed for one fold of one law: longer tables have fewer draws
MAX_RESIDUALS_PER_FOLD = 400_000_000
MAX_UNITS = 1000  # units that are drawn; if there are more, several are merged into one
MIN_UNITS = 6  # units: with five, equal signs in all occur by chance in 2·2^-5 = 6 % of cases
# width of a direction, columns being of length 1: below, no step is taken along it
DIRECTION_WIDTH_TOL = 1e-7


def draw_unit_counts(count: int, rows: int, seed: int) -> Array:
    """Draw units with replacement; return the count of each unit in each draw, shape (draws,
    units).

    Args:
        count: the number of units.
        rows: the number of rows; with many rows there are fewer draws.
        seed: the seed of the draws.
    """
    draw_count = max(
        MIN_BOOTSTRAP_DRAWS, min(BOOTSTRAP_DRAWS, MAX_RESIDUALS_PER_FOLD // max(rows, 1))
    )
    rng = np.random.default_rng(seed)
    return rng.multinomial(count, np.full(count, 1 / count), draw_count).astype(float)


def choose_units(candidates: Sequence[Labels], rows: Labels) -> tuple[int, Labels, int]:
    """The first grouping of rows with enough units to estimate the noise, else the last one.

    Args:
        candidates: groupings of all rows, the coarsest first, each of shape (all rows,).
        rows: the indices of the test rows.

    Returns:
        The index of the grouping; the unit of each row, from 0; and the number of units with test
        rows.
    """
    for i, labels in enumerate(candidates):
        tested_count = len(np.unique(labels[rows]))
        if tested_count >= MIN_UNITS or i == len(candidates) - 1:
            return i, np.unique(labels, return_inverse=True)[1] % MAX_UNITS, tested_count
    raise AssertionError("no grouping")


def bootstrap_means(
    law: Law, problem: Problem, fold: Fold, theta: Array, unit: Labels, unit_counts: Array
) -> Array:
    """The mean loss of the test rows of a fold in each draw, shape (draws,).

    Args:
        law: the law.
        problem: the minimisation problem of its fit to all rows.
        fold: the rows that are fitted, and the rows that are tested.
        theta: the fitted parameters, shape (parameters,).
        unit: the unit of each row, shape (rows,).
        unit_counts: the count of each unit in each draw, shape (draws, units).
    """
    fitted, test = problem.subset(fold.fit), problem.subset(fold.test)
    with np.errstate(all="ignore"):
        _, bounds = bound_findings(prepare(law), fitted, theta)
        free_indices = [i for i, q in enumerate(law.parameters) if q.name not in bounds]
        free = to_free(problem.transforms, theta[None])
        unit_gradients, curvature = _unit_gradients(
            fitted, free, free_indices, unit[fold.fit], unit_counts.shape[1]
        )
        residual, slopes = (x[0] for x in test.residuals_and_slopes(free))
    slopes = np.nan_to_num(slopes[:, free_indices])
    with np.errstate(all="ignore"):
        # the Newton step of the draw: Σ (count - 1) times each unit's negative gradient
        steps = (unit_counts - 1) @ unit_gradients @ curvature
    means = np.empty(len(unit_counts))
    # draws times test rows in one array would not fit for long tables
    chunk_size = max(1, MAX_RESIDUALS_IN_MEMORY // len(residual))
    tested_units = unit[fold.test]
    # a singular Hessian yields values that are not finite, and hence no interval
    with np.errstate(all="ignore"):
        for first in range(0, len(unit_counts), chunk_size):
            chunk = slice(first, first + chunk_size)
            loss = rho(residual + steps[chunk] @ slopes.T, problem.objective)
            means[chunk] = np.mean(unit_counts[chunk][:, tested_units] * loss, axis=1)
    return means


def _unit_gradients(
    fitted: Problem, free: Array, moving: list[int], unit: Labels, count: int
) -> tuple[Array, Array]:
    """The negative gradient of the objective with respect to the unconstrained parameters from each
    unit, shape (units, free indices), and the inverse Hessian, shape (free indices, free indices).
    """
    residual, slopes = (x[0] for x in fitted.residuals_and_slopes(free))
    slopes = np.nan_to_num(slopes[:, moving])
    row_gradients = -rho_slope(np.nan_to_num(residual), fitted.objective)[:, None] * slopes
    unit_gradients = np.zeros((count, len(moving)))
    np.add.at(unit_gradients, unit, row_gradients)
    length = np.linalg.norm(slopes, axis=0)
    length[length == 0] = 1.0
    _, widths, right_vectors = np.linalg.svd(np.linalg.qr(slopes / length, mode="r"))
    is_determined = widths > DIRECTION_WIDTH_TOL
    directions = right_vectors[is_determined] / length
    inverse = (directions / widths[is_determined, None] ** 2).T @ directions
    return unit_gradients, inverse / noise_of(fitted, residual, len(moving)).curvature
