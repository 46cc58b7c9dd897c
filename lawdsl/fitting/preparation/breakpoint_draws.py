"""Plan + columns + starts -> starts whose breakpoints lie between the rows.

A start cannot leave the part of the law to which its breakpoint assigns each row, unless the
objective is smooth there: so breakpoints are drawn between rows, each gap as often as the others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lawdsl.compiling.arrays import evaluate
from lawdsl.fitting.preparation.scaled_draws import is_inside
from lawdsl.fitting.preparation.start_plan import Breakpoint, DomainEnd, StartPlan

Array = NDArray[np.float64]

DRAWN_SHARE = 0.8  # of the starts; the others keep the values that they have
MAX_ROWS = 1000  # whose thresholds are compared


def between_rows(
    plan: StartPlan,
    columns: Array,
    settings: Sequence[float],
    theta: Array,
    rng: np.random.Generator,
) -> Array:
    """The starts with breakpoints between rows where a condition can be solved for them.

    Args:
        plan: how starts of the law are drawn.
        columns: its variables, shape (variables, rows).
        settings: the values of its settings.
        theta: parameters, shape (starts, parameters).
        rng: of the gaps.
    """
    changed = theta
    for condition in plan.breakpoints:
        for breakpoint in condition:
            thresholds = _thresholds(breakpoint, columns, settings, theta, rng)
            if thresholds is None:
                continue
            k, drawn = breakpoint.parameter, _midpoints(thresholds, rng)
            usable = (
                np.isfinite(drawn)
                & _within(plan.domains[k], drawn)
                & (rng.uniform(size=len(theta)) < DRAWN_SHARE)
            )
            changed = changed.copy() if changed is theta else changed
            changed[usable, k] = drawn[usable]
            break  # one parameter of each condition
    return changed


def _thresholds(
    breakpoint: Breakpoint,
    columns: Array,
    settings: Sequence[float],
    theta: Array,
    rng: np.random.Generator,
) -> Array | None:
    """At which value each row changes parts, shape (starts or 1, rows); None where none is known."""
    rows = columns
    if columns.shape[1] > MAX_ROWS:
        rows = columns[:, rng.choice(columns.shape[1], MAX_ROWS, replace=False)]
    if breakpoint.value is None or not breakpoint.varies or rows.shape[1] < 2:
        return None
    inputs = [*rows, *settings, *(theta[:, [k]] for k in range(theta.shape[1]))]
    values = evaluate(breakpoint.value, inputs)[0]
    return np.sort(np.broadcast_to(values, (len(theta), rows.shape[1])), axis=1)


def _midpoints(thresholds: Array, rng: np.random.Generator) -> Array:
    """A value between two neighbouring thresholds of each start, shape (starts,)."""
    gaps = np.diff(thresholds, axis=1)
    weights = np.where(np.isfinite(gaps) & (gaps > 0), rng.uniform(size=gaps.shape), -1.0)
    chosen = np.argmax(weights, axis=1)
    starts = np.arange(len(thresholds))
    low, high = thresholds[starts, chosen], thresholds[starts, chosen + 1]
    return np.where(gaps[starts, chosen] > 0, (low + high) / 2, np.nan)


def _within(ends: Sequence[DomainEnd], values: Array) -> NDArray[np.bool_]:
    """Whether values keep the bounds that are numbers, and none that are not are known to fail."""
    if any(end.number is None for end in ends):
        return np.zeros(len(values), dtype=bool)
    return is_inside(ends, values)
