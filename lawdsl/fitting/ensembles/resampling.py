"""A fit to weighted rows -> the members of an ensemble: bagging, subbagging and boosting.

A unit of the resampling is a training run where the rows come from runs, else a row. Units are in
the order of the variables, so that a seed draws the same mixtures for every loss of a table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Units = NDArray[np.int64]

SUBSAMPLE = 0.8
"""The share of the units in each sample without replacement."""

# scikit-learn's AdaBoostRegressor ends where the mean loss of a member is not below this
WORST_BOOSTED_LOSS = 0.5


@dataclass(frozen=True, eq=False)
class Members:
    """The members of an ensemble.

    Attributes:
        theta: their parameters, shape (members, parameters).
        weights: their weights, shape (members,).
        counts: how often each was fitted to each row, shape (members, rows).
        predictions: at all rows, shape (members, rows).
        failed: the number of samples to which the law could not be fitted.
    """

    theta: Array
    weights: Array
    counts: Array
    predictions: Array
    failed: int


Fitted = tuple[Array, Array]
FitMember = Callable[[Array, int], Fitted | None]
"""The function from the count of each row, and a seed, to the parameters and the predictions at all
rows; None where the law cannot be fitted."""


def units_of(columns: Array, target: Array, groups: Units | None) -> Units:
    """The number of the unit of each row, shape (rows,).

    Args:
        columns: the variables, shape (variables, rows).
        target: the measurements, shape (rows,).
        groups: the training run of each row; None where rows are independent.
    """
    if groups is not None:
        return groups
    order = np.lexsort((target, *columns[::-1]))
    units = np.empty(len(target), dtype=np.int64)
    units[order] = np.arange(len(target))
    return units


def resampled(
    kind: str,
    count: int,
    units: Units,
    seed: int,
    fit_member: FitMember,
    report: Callable[[], None],
) -> Members:
    """The members of an ensemble that is not boosted; each has the weight 1.

    Args:
        kind: bag, subbag or starts.
        count: the number of members.
        units: the unit of each row, shape (rows,).
        seed: the seed of the draws.
        fit_member: fits a member.
        report: called after each member.
    """
    draws = np.random.RandomState(seed)
    total = int(units.max()) + 1
    fitted: list[tuple[Array, Fitted]] = []
    for number in range(count):
        counts = _counts(kind, total, draws)[units]
        member = fit_member(counts, seed + number)
        report()
        if member is not None:
            fitted.append((counts, member))
    return _members(fitted, [1.0] * len(fitted), count - len(fitted), len(units))


def _counts(kind: str, units: int, draws: np.random.RandomState) -> Array:
    """How often a sample contains each unit, shape (units,)."""
    if kind == "starts":
        return np.ones(units)
    if kind == "bag":
        return np.bincount(draws.choice(units, units), minlength=units).astype(float)
    chosen = draws.choice(units, max(1, round(SUBSAMPLE * units)), replace=False)
    return np.bincount(chosen, minlength=units).astype(float)


def boosted(
    count: int,
    units: Units,
    target: Array,
    row_weights: Array,
    seed: int,
    fit_member: FitMember,
    report: Callable[[], None],
) -> Members:
    """The members of AdaBoost.R2 with the linear loss, as scikit-learn's `AdaBoostRegressor` makes
    them from the same seed. The loss of a run is the mean loss of its rows.

    Args:
        count: the largest number of members; fewer if a member fits all rows, or its mean loss is not
            below 0.5.
        units: the unit of each row, shape (rows,).
        target: the measurements, shape (rows,).
        row_weights: the weight of each row, shape (rows,).
        seed: the seed of the draws.
        fit_member: fits a member; the counts of its rows are the only weights.
        report: called after each member.
    """
    draws = np.random.RandomState(seed)
    total = int(units.max()) + 1
    sizes = np.bincount(units, minlength=total)
    chances = np.bincount(units, row_weights, total).astype(np.float64)
    chances = chances / chances.sum()
    fitted: list[tuple[Array, Fitted]] = []
    weights: list[float] = []
    failed = 0
    for number in range(count):
        sample = draws.choice(total, total, replace=True, p=chances)
        counts = np.bincount(sample, minlength=total)[units].astype(float)
        member = fit_member(counts, seed + number)
        report()
        if member is None:
            failed += 1
            continue
        errors = np.abs(member[1] - target)
        errors = np.where(np.isfinite(errors), errors, np.finfo(float).max / len(errors))
        errors = errors if errors.max() == 0 else errors / errors.max()
        losses = np.bincount(units, errors, total) / sizes
        loss = float(chances @ losses)
        if loss <= 0:  # stops boosting, as the member fits every row
            fitted.append((counts, member))
            weights.append(1.0)
            break
        if loss >= WORST_BOOSTED_LOSS:
            if not fitted:
                fitted.append((counts, member))
                weights.append(1.0)
            break
        beta = loss / (1.0 - loss)
        fitted.append((counts, member))
        weights.append(float(np.log(1.0 / beta)))
        chances = chances * beta ** (1.0 - losses)
        chances = chances / chances.sum()
    return _members(fitted, weights, failed, len(units))


def _members(
    fitted: list[tuple[Array, Fitted]], weights: list[float], failed: int, rows: int
) -> Members:
    if not fitted:
        return Members(
            np.zeros((0, 0)), np.zeros(0), np.zeros((0, rows)), np.zeros((0, rows)), failed
        )
    return Members(
        np.array([member[0] for _, member in fitted]),
        np.array(weights),
        np.array([counts for counts, _ in fitted]),
        np.array([member[1] for _, member in fitted]),
        failed,
    )
