"""Optimal choices in draws of the true laws: intervals of the best choice, and the regret.

Each draw is a set of true laws from their joint distribution on a grid of the unknown; between grid
points goal and margins are interpolated. The best choices of the draws yield the interval. The
regret of an answer is the difference in the goal between it and the best choice (Savage 1951,
Journal of the American Statistical Association 46).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.solving.law_error.choices import Choices
from lawdsl.solving.law_error.outcomes import Outcome
from lawdsl.solving.result import Answer
from lawdsl.solving.result_under_law_error import Ends, UnderLawError

Array = NDArray[np.float64]

DRAWS = 400
FIRST_DRAWS = 100  # draws that locate the best choices
FIRST_POINTS = 121  # points of the grid that covers the domain
FINER_POINTS = 101  # points of the grid around the best choices
FINER_QUANTILES = (
    0.02,
    0.98,
)  # quantiles of the best choices between which the finer grid lies
FINER_MARGIN = 0.5  # of that range, added on both sides
REGRET_RTOL = 1e-6  # relative to the goal: a smaller regret is below the resolution of the draws
NEAR = 0.2  # of the distance between neighbours
UNDETERMINED = "the fitted rows do not determine its laws where better choices may be"
# of all draws: if the answer satisfies the constraints in fewer, no regret is computed
MIN_KEPT = 0.25


@dataclass(frozen=True)
class Best:
    """The best choice of each draw.

    Attributes:
        point: the unknown, shape (draws,); nan if no choice satisfies the constraints.
        goal: the minimised goal, shape (draws,); inf if no choice satisfies the constraints.
    """

    point: Array
    goal: Array


@dataclass(frozen=True)
class DrawnChoices:
    """Draws of the true laws along the unknown, with the best choice of each.

    Attributes:
        points: of the grid, rising, shape (points,).
        laws: the true laws, shape (calls, draws, points).
        outcome: goal and margins, of shape (draws, points).
        best: the best choice of each draw.
    """

    points: Array
    laws: Array
    outcome: Outcome
    best: Best


def drawn_choices(
    choices: Choices, grid: Array, point: float, rng: np.random.Generator
) -> DrawnChoices:
    """Draw the laws on a grid that is fine where the best choices are.

    Args:
        choices: the question.
        grid: that covers the domain of the unknown, rising.
        point: the answer of the fitted laws.
        rng: the source of random numbers.
    """
    coarse = _thinned(grid, FIRST_POINTS, point)
    first = best_choices(coarse, choices.outcome(coarse, _laws(choices, coarse, FIRST_DRAWS, rng)))
    points = _nested_grid(coarse, _refined_grid(first.point, point, coarse), point)
    laws = _laws(choices, points, DRAWS, rng)
    outcome = choices.outcome(points, laws)
    return DrawnChoices(points, laws, outcome, best_choices(points, outcome))


def over_draws(choices: Choices, answer: Answer, at_answer: UnderLawError) -> UnderLawError:
    """The interval and the regret of an answer, from draws of the true laws.

    Args:
        choices: the question.
        answer: the answer by the fitted laws, which has a value for each unknown.
        at_answer: the results at the answer without draws, and the seed.
    """
    point = answer[choices.unknown.name]
    rng = np.random.default_rng([at_answer.seed, 0x1A3E])
    grid = choices.grid(point)
    grid = grid[choices.within_reach(grid, point)]
    if len(grid) < 2:
        return replace(at_answer, missing=f"no other {choices.unknown.name} is in its domain")
    drawn = drawn_choices(choices, grid, point, rng)
    points, outcome, best = drawn.points, drawn.outcome, drawn.best
    answered = np.isfinite(best.goal)
    at = int(np.flatnonzero(points == point)[0])
    below, above = _beside_undetermined(choices, points, best.point)
    ends: dict[str, Ends] = {}
    if answered.any():
        low, high = choices.range()
        places = np.where(below, low, np.where(above, high, best.point))
        ends = _ends_of_unknowns(choices, places[answered], grid, answer.level)
    # if the best choice of a draw is not known, its regret is not known either
    kept = outcome.feasible[:, at] & ~below & ~above
    regret = outcome.goal[kept, at] - best.goal[kept]
    # errors at neighbouring points are only partly correlated
    regret[regret < REGRET_RTOL * np.abs(outcome.goal[kept, at])] = 0.0
    is_open = (below | above)[answered]
    known = np.mean(kept) >= MIN_KEPT and np.mean(is_open) <= 1 - answer.level
    return replace(
        at_answer,
        draws=DRAWS,
        # the probability that some choice satisfies the constraints is at least that of this choice
        answered=max(float(np.mean(answered)), at_answer.kept or 0.0),
        ends=ends,
        missing="" if known or not is_open.any() else UNDETERMINED,
        regret=float(np.mean(regret)) if known else None,
        regret_high=float(np.quantile(regret, answer.level)) if known else None,
    )


def _laws(choices: Choices, points: Array, count: int, rng: np.random.Generator) -> Array:
    """True laws at choices, shape (calls, draws, points)."""
    return choices.laws.draws(choices.law_points(points), count, rng)


def _beside_undetermined(
    choices: Choices, points: Array, best: Array
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether the best choices of draws are at the last point before those at which the fitted rows
    do not determine a law, so that better choices may lie beyond.

    Args:
        choices: the question.
        points: the points of the grid, rising, shape (points,).
        best: the best choice of each draw, shape (draws,); nan for none.

    Returns:
        Whether there are such points below, and above, both of shape (draws,).
    """
    inputs = choices.inputs(points)
    values = choices.outcomes.laws_at(inputs, len(points)).values
    known = np.append(
        np.all(np.isfinite(values), axis=0), True
    )  # beyond the ends: not these points themselves
    places = np.clip(np.searchsorted(points, best), 0, len(points) - 1)
    at_point = points[places] == best
    return at_point & ~known[places - 1], at_point & ~known[places + 1]


def best_choices(points: Array, outcome: Outcome) -> Best:
    """The best choice of each draw, also between the points of a grid.

    Args:
        points: the points of the grid, rising, shape (points,).
        outcome: goal and margins there, of shape (draws, points).
    """
    feasible, goal = outcome.feasible, outcome.goal
    rows = np.arange(len(goal))
    at_points = np.where(feasible, goal, np.inf)
    chosen = np.argmin(at_points, axis=1)
    x, value = points[chosen].copy(), at_points[rows, chosen]
    # a parabola through the best point and its neighbours
    inner = np.clip(chosen, 1, max(len(points) - 2, 1))
    if len(points) >= 3:
        left, right = points[inner - 1], points[inner + 1]
        middle = points[inner]
        g = [goal[rows, inner + step] for step in (-1, 0, 1)]
        usable = (inner == chosen) & feasible[rows, inner - 1] & feasible[rows, inner + 1]
        with np.errstate(all="ignore"):
            slope_left = (g[1] - g[0]) / (middle - left)
            slope_right = (g[2] - g[1]) / (right - middle)
            bend = (slope_right - slope_left) / (right - left)
            slope = slope_left + bend * (middle - left)
            step = -slope / (2 * bend)
            usable &= (bend > 0) & (middle + step > left) & (middle + step < right)
            x = np.where(usable, middle + step, x)
            # the vertex is at most an eighth of the range below three evenly spaced points
            fall = (np.maximum(g[0], g[2]) - g[1]) / 8
            vertex = np.maximum(g[1] + slope * step + bend * step**2, g[1] - fall)
            value = np.where(usable, vertex, value)
    # the boundary of the feasible set, by the first margin that falls to 0
    for inside, outside in ((slice(None, -1), slice(1, None)), (slice(1, None), slice(None, -1))):
        leaves = feasible[:, inside] & ~feasible[:, outside]
        leaves &= outcome.allowed[:, outside] & np.isfinite(goal[:, outside])
        if not leaves.any():
            continue
        ins, outs = outcome.margins[:, :, inside], outcome.margins[:, :, outside]
        with np.errstate(all="ignore"):
            parts = np.where(outs < 0, ins / (ins - outs), 1.0)
            part = np.min(np.nan_to_num(parts, nan=0.0), axis=0)
            goals = goal[:, inside] + part * (goal[:, outside] - goal[:, inside])
        goals = np.where(leaves, goals, np.inf)
        crossing = np.argmin(goals, axis=1)
        moved = points[inside] + part * (points[outside] - points[inside])
        better = goals[rows, crossing] < value
        x = np.where(better, moved[rows, crossing], x)
        value = np.where(better, goals[rows, crossing], value)
    return Best(np.where(np.isfinite(value), x, np.nan), value)


def _thinned(grid: Array, count: int, point: float) -> Array:
    """About `count` points of a grid including both ends, and one more point; none is very close to
    another.
    """
    numbers = np.unique(np.linspace(0, len(grid) - 1, count).round().astype(int))
    return _with_separated_point(grid[numbers], point)


def _nested_grid(coarse: Array, fine: Array, point: float) -> Array:
    """A fine grid, a coarse grid beyond its ends, and a point."""
    outside = (coarse < fine[0]) | (coarse > fine[-1])
    return _with_separated_point(np.unique(np.concatenate([coarse[outside], fine])), point)


def _with_separated_point(grid: Array, point: float) -> Array:
    """The points of a grid including both ends, and one more point; grid points much closer to it
    than to their neighbours are omitted, since slopes between them would be rounding errors.
    """
    gaps = np.diff(grid)
    wide = np.maximum(np.append(gaps[:1], gaps), np.append(gaps, gaps[-1:]))
    kept = np.abs(grid - point) > NEAR * wide
    kept[[0, -1]] = np.abs(grid[[0, -1]] - point) > 1e-9 * max(abs(grid[0]), abs(grid[-1]))
    return np.unique(np.append(grid[kept], point))


def _refined_grid(best: Array, point: float, coarse: Array) -> Array:
    """Grid points in the region of the best choices of draws."""
    known = best[np.isfinite(best)]
    low, high = np.quantile(np.append(known, point), FINER_QUANTILES)
    low, high = min(low, point), max(high, point)
    ends = coarse[0], coarse[-1]
    if low > 0 and high > 4 * low:
        wide = FINER_MARGIN * math.log(high / low)
        return np.geomspace(
            max(low * math.exp(-wide), ends[0]) if ends[0] > 0 else low * math.exp(-wide),
            min(high * math.exp(wide), ends[1]),
            FINER_POINTS,
        )
    # at least as wide as the grid spacing, if all draws have the same best choice
    wide = max(FINER_MARGIN * (high - low), 1e-3 * abs(point))
    return np.linspace(max(low - wide, ends[0]), min(high + wide, ends[1]), FINER_POINTS)


def _ends_of_unknowns(choices: Choices, best: Array, grid: Array, level: float) -> dict[str, Ends]:
    """The intervals of all unknowns; an end without a bound is infinite if some draw has its best
    choice at the end of the grid.
    """
    low, high = choices.range()
    is_open = low not in grid, high not in grid
    first = 0.0 if low == 0 else -math.inf
    best = np.where((best <= grid[0]) & is_open[0], first, best)
    best = np.where((best >= grid[-1]) & is_open[1], math.inf, best)
    with np.errstate(all="ignore"):
        inputs = choices.inputs(best)
    result = {}
    for unknown in choices.formulated.unknowns:
        ends = interval_of_draws(np.asarray(inputs[unknown.symbol], dtype=np.float64), level)
        result[unknown.name] = ends
    return result


def interval_of_draws(values: Array, level: float) -> Ends:
    """The central interval that contains a share `level` of the draws; between two draws the outer
    one is used.

    Args:
        values: the values of the draws, shape (draws,); nan is ignored.
        level: 0.95 for 95 %.
    """
    ordered = np.sort(values[~np.isnan(values)])
    if not len(ordered):
        return -math.inf, math.inf
    tail = (1 - level) / 2
    low = ordered[max(math.floor(tail * (len(ordered) - 1)), 0)]
    high = ordered[min(math.ceil((1 - tail) * (len(ordered) - 1)), len(ordered) - 1)]
    return float(low), float(high)
