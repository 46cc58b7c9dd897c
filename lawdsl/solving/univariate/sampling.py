"""An uncertain solution and samples of the range -> a better feasible point, if one is sampled."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lawdsl.solving.result import Response
from lawdsl.solving.univariate.state import SolverState, UnivariateSolution

Array = NDArray[np.float64]

GRID_POINTS = 400  # points of each kind of spacing
MAX_ZOOMS = 6  # refinements of the grid around the best point
# Powers of ten above and below the size of the numbers that the grid covers.
MAX_DECADES = 12


def better_point(state: SolverState, solution: UnivariateSolution) -> float | None:
    """Sample the range for a feasible point with a better goal than the solution.

    Args:
        state: the question.
        solution: its solution.

    Returns:
        The best sampled value of the unknown; None where none is better.
    """
    x = _grid(solution)
    best_point, least = _best(state, solution, x)
    for _ in range(MAX_ZOOMS):
        if best_point is None:
            return None
        i = int(np.searchsorted(x, best_point))
        low, high = x[max(i - 1, 0)], x[min(i + 1, len(x) - 1)]
        x = np.unique(np.append(np.linspace(low, high, GRID_POINTS // 8), best_point))
        best_point, least = _best(state, solution, x)
    _, solution_value = _best(state, solution, np.array([solution.best.point]))
    return best_point if best_point is not None and least < solution_value else None


def _best(state: SolverState, solution: UnivariateSolution, x: Array) -> tuple[float | None, float]:
    """The best feasible one of some points; None if none is feasible."""
    with np.errstate(all="ignore"):
        line_values = state.functions.evaluate(x, solution.values)
    value = line_values.values[0].copy()
    for i, condition in enumerate(state.conditions):
        margin = line_values.values[2 + i]
        is_solution = (
            np.isin(x, solution.best.point)
            if i in solution.best.constraints
            else np.zeros(len(x), dtype=bool)
        )
        is_feasible = margin == 0 if condition.equality else margin > 0
        is_feasible |= is_solution if not condition.strict else False
        value[~(is_feasible | (margin == 0) & (not condition.strict))] = np.inf
    value[np.isnan(value)] = np.inf
    i = int(np.argmin(value))
    return (float(x[i]), float(value[i])) if value[i] < math.inf else (None, math.inf)


def _grid(solution: UnivariateSolution) -> Array:
    """Points over the whole range: evenly spaced, and towards each end by powers."""
    low, high = solution.domain.low, solution.domain.high
    best = solution.best.point if math.isfinite(solution.best.point) else 0.0
    size = max(1.0, abs(best), *(abs(e) for e in (low, high) if math.isfinite(e)))
    powers = np.geomspace(10.0**-MAX_DECADES, 10.0**MAX_DECADES, GRID_POINTS)
    parts = [np.array([best])]
    if math.isfinite(low) and math.isfinite(high):
        parts.append(np.linspace(low, high, GRID_POINTS))
        parts += [low + (high - low) * powers, high - (high - low) * powers]
    elif math.isfinite(low) or math.isfinite(high):
        end, side = (low, 1) if math.isfinite(low) else (high, -1)
        parts += [end + side * powers, end + side * size * powers]
        parts.append(end + side * size * np.linspace(0, 10, GRID_POINTS))
    else:
        parts += [best + size * powers, best - size * powers]
        parts.append(best + size * np.linspace(-10, 10, GRID_POINTS))
    for piece in solution.minimum.undecided:  # a better point is most likely there
        near = max(low, best - 10 * size), min(high, best + 10 * size)
        first, last = np.clip(piece, *near).tolist()
        parts.append(np.linspace(first, last, 4 * GRID_POINTS))
    x = np.unique(np.concatenate(parts))
    inside = (x > low) | (x == low) & (not solution.domain.low_open)
    inside &= (x < high) | (x == high) & (not solution.domain.high_open)
    return x[inside | (x == best)]


def is_feasible(state: SolverState, response: Response, solution: UnivariateSolution) -> bool:
    """Whether a point keeps every condition, the domains of laws included.

    Args:
        state: the question.
        response: the point.
        solution: the answer, which has the values of all other symbols.
    """
    x = np.array([response.x[state.unknown.name]])
    margins = state.functions.evaluate_exactly(x, solution.values).values[2:, 0]
    return response.allowed and all(
        (margin > 0 and not c.equality) or (margin == 0 and not c.strict)
        for c, margin in zip(state.conditions, margins, strict=False)
    )


def is_better(state: SolverState, point: float, solution: UnivariateSolution) -> bool:
    """Whether the goal at a point is better than at the solution."""
    values = state.functions.evaluate_exactly(
        np.array([point, solution.best.point]), solution.values
    ).values[0]
    return bool(values[0] < values[1])
