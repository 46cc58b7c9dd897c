"""Law + columns + starts -> starts whose breakpoints lie between the rows.

A start cannot leave the part of the law to which its breakpoint assigns each row, unless the
objective is smooth there: so breakpoints are drawn between rows, each gap as often as the others.
"""

from __future__ import annotations

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.compiling.arrays import evaluate
from lawdsl.compiling.tape import compile_tape
from lawdsl.core.diagnostics import LawdslError
from lawdsl.law.functions import Choice
from lawdsl.law.law import Law, Quantity

Array = NDArray[np.float64]

DRAWN_SHARE = 0.8  # of the starts; the others keep the values that they have
MAX_ROWS = 1000  # whose thresholds are compared


def between_rows(law: Law, columns: Array, theta: Array, rng: np.random.Generator) -> Array:
    """The starts with breakpoints between rows where a condition can be solved for them.

    Args:
        law: the law.
        columns: its variables, shape (variables, rows).
        theta: parameters, shape (starts, parameters).
        rng: of the gaps.
    """
    conditions = sorted({c.args[0] for c in law.expression.atoms(Choice)}, key=str)
    changed = theta
    for condition in conditions:
        for k, q in enumerate(law.parameters):
            slope = sp.diff(condition, q.symbol)
            if slope == 0 or slope.has(q.symbol) or slope.has(sp.DiracDelta):
                continue
            at = -condition.xreplace({q.symbol: sp.S.Zero}) / slope
            thresholds = _thresholds(law, at, columns, theta, rng)
            if thresholds is None:
                continue
            drawn = _midpoints(thresholds, rng)
            usable = (
                np.isfinite(drawn)
                & _within(q, drawn)
                & (rng.uniform(size=len(theta)) < DRAWN_SHARE)
            )
            changed = changed.copy() if changed is theta else changed
            changed[usable, k] = drawn[usable]
            break  # one parameter of each condition
    return changed


def _thresholds(
    law: Law, at: sp.Expr, columns: Array, theta: Array, rng: np.random.Generator
) -> Array | None:
    """At which value each row changes parts, shape (starts or 1, rows); None where none is known."""
    settings = {q.symbol: q.value for q in law.settings if q.value is not None}
    quantities = (*law.variables, *law.parameters)
    rows = columns
    if columns.shape[1] > MAX_ROWS:
        rows = columns[:, rng.choice(columns.shape[1], MAX_ROWS, replace=False)]
    try:
        tape = compile_tape([at], [*(q.symbol for q in quantities), *settings])
    except LawdslError:
        return None
    inputs = [*rows, *(theta[:, [k]] for k in range(theta.shape[1])), *settings.values()]
    values = np.broadcast_to(evaluate(tape, inputs)[0], (len(theta), rows.shape[1]))
    varies = bool(at.free_symbols & {q.symbol for q in law.variables})
    return np.sort(values, axis=1) if varies and values.shape[1] > 1 else None


def _midpoints(thresholds: Array, rng: np.random.Generator) -> Array:
    """A value between two neighbouring thresholds of each start, shape (starts,)."""
    gaps = np.diff(thresholds, axis=1)
    weights = np.where(np.isfinite(gaps) & (gaps > 0), rng.uniform(size=gaps.shape), -1.0)
    chosen = np.argmax(weights, axis=1)
    starts = np.arange(len(thresholds))
    low, high = thresholds[starts, chosen], thresholds[starts, chosen + 1]
    return np.where(gaps[starts, chosen] > 0, (low + high) / 2, np.nan)


def _within(q: Quantity, values: Array) -> NDArray[np.bool_]:
    """Whether values keep the bounds that are numbers, and none that are not are known to fail."""
    kept = np.ones(len(values), dtype=bool)
    for bound in q.bounds:
        if not bound.limit.is_number:
            return np.zeros(len(values), dtype=bool)
        limit = float(bound.limit)
        kept &= values > limit if bound.lower else values < limit
    return kept
