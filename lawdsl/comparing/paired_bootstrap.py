"""What the scores of a law would be on other runs of the same design: a paired bootstrap.

Units of rows are drawn with replacement, the same for all laws and folds, for the fit and the test
at once: a law owes part of its score to the noise of the rows that it was fitted to. Rows of one
training run are not independent, so they are one unit. The fits are not made again; each moves by
one Newton step to the weights of the draw.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lawdsl.comparing.protocols import Fold
from lawdsl.fitting.diagnostics.diagnose import at_bounds
from lawdsl.fitting.intervals.m_estimator import noise_of
from lawdsl.fitting.problem import Problem, rho, rho_slope
from lawdsl.fitting.transforms import to_free
from lawdsl.law.law import Law

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

DRAWS = 2000
FEWEST_DRAWS = 200
AT_ONCE = 4_000_000  # residuals held in memory
MOST = 400_000_000  # residuals computed for one fold of one law; longer tables have fewer draws
LARGEST = 1000  # units that are drawn; of more, several are drawn as one
FEWEST = 6  # units: of fewer, even a difference of one sign in all of them may be chance
FLAT = 1e-7  # width of a direction, columns being of length 1: below, it is not moved along


def draws(count: int, rows: int, seed: int) -> Array:
    """How often each unit is in each draw, shape (draws, units)."""
    many = max(FEWEST_DRAWS, min(DRAWS, MOST // max(rows, 1)))
    rng = np.random.default_rng(seed)
    return rng.multinomial(count, np.full(count, 1 / count), many).astype(float)


def units(candidates: Sequence[Labels], rows: Labels) -> tuple[int, Labels, int]:
    """The first grouping of rows that has enough units to see their noise, else the last.

    Args:
        candidates: groupings of all rows, the coarsest first, each of shape (all rows,).
        rows: those that are tested.

    Returns:
        Which grouping; the unit of each row, from 0; and how many units are tested.
    """
    for i, labels in enumerate(candidates):
        tested = len(np.unique(labels[rows]))
        if tested >= FEWEST or i == len(candidates) - 1:
            return i, np.unique(labels, return_inverse=True)[1] % LARGEST, tested
    raise AssertionError("no grouping")


def drawn_means(
    law: Law, problem: Problem, fold: Fold, theta: Array, unit: Labels, drawn: Array
) -> Array:
    """The mean loss of the tested rows of a fold in each draw, shape (draws,).

    Args:
        law: the law.
        problem: its fit to all rows.
        fold: which rows are fitted, and which tested.
        theta: the fitted parameters, shape (parameters,).
        unit: of each row, shape (rows,).
        drawn: how often each unit is in each draw, shape (draws, units).
    """
    fitted, test = problem.subset(fold.fit), problem.subset(fold.test)
    with np.errstate(all="ignore"):
        _, bounds = at_bounds(law, fitted, theta)
        moving = [i for i, q in enumerate(law.parameters) if q.name not in bounds]
        free = to_free(problem.transforms, theta[None])
        pulls, curvature = _pulls(fitted, free, moving, unit[fold.fit], drawn.shape[1])
        residual, slopes = (x[0] for x in test.residuals_and_slopes(free))
    slopes = np.nan_to_num(slopes[:, moving])
    steps = (drawn - 1) @ pulls @ curvature  # downhill: Σ (weight - 1) times each unit's pull
    means = np.empty(len(drawn))
    piece = max(1, AT_ONCE // len(residual))
    own = unit[fold.test]
    for first in range(0, len(drawn), piece):
        part = slice(first, first + piece)
        loss = rho(residual + steps[part] @ slopes.T, problem.objective)
        means[part] = np.mean(drawn[part][:, own] * loss, axis=1)
    return means


def _pulls(
    fitted: Problem, free: Array, moving: list[int], unit: Labels, count: int
) -> tuple[Array, Array]:
    """How each unit pulls at the free numbers, shape (units, moving), and the inverse of the
    objective's curvature, by which a pull becomes a step, (moving, moving)."""
    residual, slopes = (x[0] for x in fitted.residuals_and_slopes(free))
    slopes = np.nan_to_num(slopes[:, moving])
    pull = -rho_slope(np.nan_to_num(residual), fitted.objective)[:, None] * slopes
    by_unit = np.zeros((count, len(moving)))
    np.add.at(by_unit, unit, pull)
    length = np.linalg.norm(slopes, axis=0)
    length[length == 0] = 1.0
    _, widths, rows = np.linalg.svd(np.linalg.qr(slopes / length, mode="r"))
    seen = widths > FLAT
    directions = rows[seen] / length
    inverse = (directions / widths[seen, None] ** 2).T @ directions
    return by_unit, inverse / noise_of(fitted, residual, len(moving)).bend
