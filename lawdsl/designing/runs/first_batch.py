"""Law + candidates -> the first runs, of which the law can be fitted at all.

Two more runs than the law has parameters, among the cheapest ones that between them have at least
three values of each variable, where the candidates have so many; of these the ones that are farthest
from one another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import conjunction
from lawdsl.designing.runs.pool import Pool, check_budget
from lawdsl.designing.runs.records import Design, DesignedRun
from lawdsl.designing.runs.spread import grid_coordinates, spread_batch
from lawdsl.law.law import Law

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

MORE_ROWS = 2  # than the law has parameters
MIN_VALUES = 3  # of each variable: two do not tell a power from a constant and another power
SAME = 1e-6  # relative to the values: a smaller difference is none
CHOICE = 3  # cheap candidates for each run that is chosen


def first_batch(
    law: Law,
    pool: Pool,
    columns: Array,
    budget: float,
    available: Mask,
    done: Mask,
    more: int | None = None,
) -> list[int]:
    """Choose the first runs, or those that a first fit still lacks.

    Args:
        law: that is going to be fitted.
        pool: the candidates.
        columns: the variables of the law at the candidate rows, shape (variables, rows).
        budget: what these runs may cost.
        available: which candidates are left, shape (runs,).
        done: which are done, shape (runs,).
        more: the number of further rows; None for as many as a first fit lacks.

    Returns:
        Numbers of candidates, cheap ones first.

    Raises:
        LawdslError: candidates of too few rows, or a budget for too few; N0106.
    """
    widths = np.sum(pool.rows >= 0, axis=1)
    lacking = max(1, rows_of_first_fit(law) - int(np.sum(widths[done])))
    needed = lacking if more is None else min(more, int(np.sum(widths[available])))
    ends = np.array([row[row >= 0][-1] for row in pool.rows])
    points = columns[:, ends]
    order = np.flatnonzero(available)[np.argsort(pool.costs[available], kind="stable")]
    size = _smallest_choice(points[:, order], widths[order], needed)
    cheap = order[: max(size, min(len(order), CHOICE * -(-needed // max(1, int(widths.max())))))]
    coordinates = grid_coordinates(points)
    chosen, rows = list[int](), 0
    bought = np.flatnonzero(done).tolist()

    def prices(picked: Sequence[int]) -> Array:
        return pool.prices([*bought, *cheap[list(picked)].tolist()])[cheap]

    for number in spread_batch(
        coordinates[cheap], prices(()), budget, coordinates[done], prices=prices
    ):
        chosen.append(int(cheap[number]))
        rows += int(widths[chosen[-1]])
        if rows >= needed:
            break
    if rows < needed:
        when = "more" if done.any() else "at first"
        message = (
            f"`{law.name}` has {len(law.parameters)} parameters, and needs {needed} rows {when}"
        )
        available_rows = int(np.sum(widths[available]))
        help = f"the budget affords {rows}: raise it, or add cheaper candidates"
        if rows == available_rows:
            help = f"there {'is' if rows == 1 else 'are'} {rows} left: add candidates"
        raise LawdslError(Diagnostic("N0106", message, place=pool.name, help=help))
    return sorted(chosen, key=lambda number: float(pool.costs[number]))


def rows_of_first_fit(law: Law) -> int:
    """How many rows the first fit of a law has: two more than the law has parameters."""
    return len(law.parameters) + MORE_ROWS


def first_runs(
    law: Law,
    pool: Pool,
    bound: Mapping[str, str],
    columns: Array,
    budget: float,
    more: int | None = None,
) -> Design:
    """The first batch, before there is a fit: cheap runs that are far from one another.

    Args:
        law: the law that is going to be fitted.
        pool: the candidates.
        bound: variable -> its column in the table of the candidates.
        columns: the variables of the law at the candidate rows, shape (variables, rows).
        budget: of all runs.
        more: the number of further rows; None for as many as a first fit lacks.

    Raises:
        LawdslError: a budget below the cheapest run (N0102), or candidates to which the law cannot
            be fitted (N0106).
    """
    done = np.zeros(len(pool), dtype=np.bool_) if pool.done is None else pool.done
    bought = np.flatnonzero(done).tolist()
    available, spent, bought_before = ~done, pool.bill(bought), tuple(bought)
    check_budget(pool, budget)
    chosen = first_batch(law, pool, columns, budget - spent, available, done, more)
    runs = []
    for number in chosen:
        point = pool.point(number, bound.values())
        cost = float(pool.prices(bought)[number])
        bought.append(number)
        reason = "cheap, and far from the others"
        runs.append(DesignedRun(pool.labels[number], point, cost, cost / budget, (), reason))
    ends = np.array([row[row >= 0][-1] for row in pool.rows])
    members = [*bought_before, *chosen]
    return Design(
        law.name,
        pool.name,
        int(np.sum(available)),
        (),
        tuple(runs),
        "first",
        budget,
        spent,
        pool.unit,
        done=int(np.sum(done)),
        warnings=tuple(_warnings(law, columns[:, ends[members]])),
    )


def _warnings(law: Law, points: Array) -> list[Diagnostic]:
    """What the values of the first runs leave open; points of shape (variables, runs)."""
    names = [q.name for q in law.variables]
    constant = [
        name for name, x in zip(names, points, strict=True) if np.ptp(x) <= SAME * abs(x[0])
    ]
    if constant:
        message = f"all these runs have one value of {conjunction(constant)}"
        help = "what the law says of it cannot be fitted: add candidates with other values"
        return [Diagnostic("N0112", message, "warning", help=help)]
    if not (points > 0).all() or len(points) < 2:
        return []
    z = np.log(points)
    z = z - np.mean(z, axis=1, keepdims=True)
    widths = np.linalg.svd(z, compute_uv=False)
    if widths[-1] > SAME * widths[0]:
        return []
    message = f"all these runs lie on one ray of {conjunction(names)}"
    help = "their effects cannot be told apart: add candidates with other ratios"
    return [Diagnostic("N0112", message, "warning", help=help)]


def _smallest_choice(points: Array, widths: NDArray[np.int64], needed: int) -> int:
    """How many of the candidates, the cheapest first, have enough rows and values.

    Args:
        points: the variables at the ends of candidates, shape (variables, candidates).
        widths: the rows of each, shape (candidates,).
        needed: rows.
    """
    wanted = [min(MIN_VALUES, len(np.unique(values))) for values in points]
    for size in range(1, points.shape[1] + 1):
        enough = int(np.sum(widths[:size])) >= needed
        if enough and all(
            len(np.unique(values[:size])) >= count
            for values, count in zip(points, wanted, strict=True)
        ):
            return size
    return points.shape[1]
