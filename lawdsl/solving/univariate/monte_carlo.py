"""An answer with one unknown and the noise of the fits -> its distribution, by Monte Carlo.

Parameters p + e are drawn from the fits' own errors, and each draw is answered anew (Monte Carlo
propagation of distributions: JCGM 101 (2008)). A draw shifts the curves linearly, f(x; p) +
df/dp (x; p)·e, which keeps intervals valid where parameters are poorly determined but their
predictions are precise; each draw has its own active constraint, and kinks move with the curves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.solving.uncertainty import ZERO_WIDTH_RTOL
from lawdsl.solving.univariate.implicit_derivatives import roots_at
from lawdsl.solving.univariate.line_functions import LineFunctions
from lawdsl.solving.univariate.state import SolverState, UnivariateSolution, Values

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# The ends of a 95 % interval rest on 25 draws beyond each; their levels have a standard error of
# sqrt(0.025 * 0.975 / 1000) = 0.5 %.
NOISE_DRAWS = 1000
FINE_GRID_POINTS = 161  # values of the unknown near the answer
COARSE_GRID_POINTS = 41  # values of the unknown over its range
# Half-widths of the interval that the fine grid covers on each side of the answer.
FINE_GRID_HALF_WIDTHS = 8.0
# Relative to the range: the draw without noise must reproduce the answer to this accuracy.
CENTRAL_ANSWER_RTOL = 1e-6
KINK_OFFSET = 1e-3  # relative to a grid step: distance of grid points from possible kinks
OPEN_RANGE_FACTOR = 1e3  # multiple of the answer at which the grid of an unbounded range ends


@dataclass(frozen=True)
class MonteCarloSample:
    """Answers to draws of the noise.

    Attributes:
        x: the unknown, shape (draws,); nan where a draw has no answer.
        more: the further formulas there, shape (formulas, draws).
    """

    x: Array
    more: Array

    @property
    def answered(self) -> float:
        """The share of draws that have an answer."""
        return float(np.mean(~np.isnan(self.x)))

    def ends(self, values: Array, level: float) -> tuple[float, float]:
        """Return the interval with a share `level` of the answers, by quantiles of equal tails.

        Args:
            values: the values of a quantity in each draw, shape (draws,), nan in draws without an
                answer.
            level: 0.95 for 95 %.

        Returns:
            The quantiles (1 - level)/2 and (1 + level)/2, which may be infinite.
        """
        finite_values, shares = values[~np.isnan(values)], [(1 - level) / 2, (1 + level) / 2]
        low, high = np.quantile(finite_values, shares, method="inverted_cdf")
        return float(low), float(high)


def sample_answers(state: SolverState, solution: UnivariateSolution) -> MonteCarloSample | None:
    """Answer the question for a thousand draws of the noise.

    Args:
        state: the question.
        solution: its own answer.

    Returns:
        The answers; None where the errors of the fits are unavailable, or the grid does not
        reproduce the answer.
    """
    deviations = state.noise.draws(NOISE_DRAWS, solution.seed)
    equal = np.array([condition.equality for condition in state.conditions], dtype=bool)
    if deviations is None or equal.sum() > 1:  # two equations for one unknown hold by no noise
        return None
    deviations[0] = 0.0  # the question itself
    count = state.functions.count
    width = _answer_half_width(state, solution)
    x, (low, high) = _grid(solution, width)
    if state.kinks is not None:
        # on a kink a slope is neither that before nor that behind
        x[1:-1] += KINK_OFFSET * np.diff(x)[1:]
    line_values = state.functions.evaluate(x, solution.values)
    usable = np.all(np.isfinite(line_values.values), axis=0)
    usable &= np.all(np.isfinite(line_values.by_parameters[:count]), axis=(0, 1))
    if usable.sum() < min(3, len(x)):
        return None
    x = x[usable]
    gradients = line_values.by_parameters[:count][..., usable]
    nearest = np.argmin(np.abs(x - solution.best.point))
    if not state.noise.is_known(gradients[:, :, nearest].T):
        return None
    if state.kinks is None:
        shifted_values = line_values.values[:count][:, None, usable] + deviations @ gradients
        answers = best_of_draws(x, shifted_values[0], shifted_values[1], shifted_values[2:], equal)
    else:
        changed = state.kinks.changed(x, solution.values, deviations)
        shifted_values = changed.formulas
        if not np.all(np.isfinite(shifted_values[:count])):
            return None
        answers = best_of_draws(
            x,
            shifted_values[0],
            shifted_values[1],
            shifted_values[2:count],
            equal,
            changed.arguments,
        )
    if not abs(answers[0] - solution.best.point) <= max(
        width or 0.0, CENTRAL_ANSWER_RTOL * (high - low)
    ):
        return None  # the grid is too coarse for so many turning points
    if state.kinks is not None and width is None:  # a kink that the noise does not move
        answers[np.abs(answers - solution.best.point) <= CENTRAL_ANSWER_RTOL * (high - low)] = (
            solution.best.point
        )
    # a draw that ends where the grid of an open range does may lie anywhere beyond
    answers[(answers >= high) & (solution.domain.high > high)] = solution.domain.high
    answers[(answers <= low) & (solution.domain.low < low)] = solution.domain.low
    return MonteCarloSample(
        answers, _followers_of_draws(state.functions, solution.values, answers, deviations)
    )


def _answer_half_width(state: SolverState, solution: UnivariateSolution) -> float | None:
    """The half-width of the answer by the noise alone, by that of its equations which shifts most;
    None where no equation determines it, or the errors are unavailable."""
    widths = []
    for root in roots_at(state, solution):
        half_width = state.noise.half_widths(root.by_parameters[:, None], solution.level)[0]
        rounding = ZERO_WIDTH_RTOL * abs(solution.best.point)
        is_uncertain = np.isfinite(half_width) and half_width > rounding
        widths += [float(half_width)] if is_uncertain else []
    return max(widths, default=None)


def _grid(solution: UnivariateSolution, width: float | None) -> tuple[Array, tuple[float, float]]:
    """A grid of the unknown, dense about the answer and coarse over the range, and its ends; an
    unbounded range is cut off."""
    best, domain = solution.best.point, solution.domain
    low = (
        domain.low
        if np.isfinite(domain.low)
        else min(best / OPEN_RANGE_FACTOR, best * OPEN_RANGE_FACTOR, -OPEN_RANGE_FACTOR)
    )
    high = (
        domain.high
        if np.isfinite(domain.high)
        else max(best * OPEN_RANGE_FACTOR, best / OPEN_RANGE_FACTOR) or 1.0
    )
    endless = not (np.isfinite(domain.low) and np.isfinite(domain.high))
    if (endless or (low == 0 and high > OPEN_RANGE_FACTOR * best)) and domain.low >= 0 and best > 0:
        low = max(domain.low, best / OPEN_RANGE_FACTOR)
        coarse = np.geomspace(low, high, COARSE_GRID_POINTS)
    else:
        coarse = np.linspace(low, high, COARSE_GRID_POINTS)
    reach = min(width, high - low) if width is not None else (high - low) / 20
    steps = np.linspace(-1, 1, FINE_GRID_POINTS)
    # quadratic: densest at the answer, where most draws end
    fine = best + reach * FINE_GRID_HALF_WIDTHS * steps * np.abs(steps)
    inside = (fine >= low) & (fine <= high)
    # the answer itself is on the grid, so the draw without noise can reproduce it
    x = np.unique(np.concatenate([coarse, fine[inside], [low, best, high]]))
    return x[x > domain.low] if domain.low_open else x, (low, high)


def best_of_draws(
    x: Array,
    goal: Array,
    slope: Array,
    margins: Array,
    equal: Mask,
    kinked: Sequence[Array] = (),
) -> Array:
    """Minimise each draw on a grid, with linear interpolation between its points.

    Args:
        x: values of the unknown, shape (points,), ascending.
        goal: shape (draws, points).
        slope: the slope of the goal, shape (draws, points).
        margins: the margins of the constraints, shape (constraints, draws, points).
        equal: which margins must be 0, shape (constraints,).
        kinked: the arguments of abs, min and max in the goal, each of shape (arity, draws, points).

    Returns:
        The feasible minimum of each draw, shape (draws,); nan where it has none.
    """
    if equal.any():
        return _best_root_of_draws(x, goal, margins[equal][0], margins[~equal])
    allowed = np.all(margins >= 0, axis=0) if len(margins) else np.ones(goal.shape, dtype=bool)
    rows = np.arange(len(goal))
    objective = np.where(allowed, goal, np.inf)
    first = np.argmin(objective, axis=1)
    best, answers = objective[rows, first], x[first]
    # where the slope passes from falling to rising, inside a cell of which both ends are allowed
    is_turn = (slope[:, :-1] < 0) & (slope[:, 1:] > 0) & allowed[:, :-1] & allowed[:, 1:]
    for arguments in kinked:
        is_turn &= ~_update_at_kinks(x, goal, slope, arguments, is_turn, best, answers)
    row, cell = np.nonzero(is_turn)
    fraction = _zero_fraction(slope[row, cell], slope[row, cell + 1])
    step = x[cell + 1] - x[cell]
    # the integral of a slope that reaches 0 linearly at the turn
    lower = goal[row, cell] + 0.5 * fraction * step * slope[row, cell]
    _update_best(best, answers, row, lower, x[cell] + fraction * step)
    # where the feasible set begins or ends inside a cell
    row, cell = np.nonzero(allowed[:, :-1] != allowed[:, 1:])
    if len(row):
        fraction = _feasibility_fraction(margins[:, row, cell], margins[:, row, cell + 1])
        value = goal[row, cell] + fraction * (goal[row, cell + 1] - goal[row, cell])
        _update_best(best, answers, row, value, x[cell] + fraction * (x[cell + 1] - x[cell]))
    return np.where(np.isfinite(best), answers, np.nan)


def _update_at_kinks(
    x: Array,
    goal: Array,
    slope: Array,
    arguments: Array,
    is_turn: Mask,
    best: Array,
    answers: Array,
) -> Mask:
    """Update answers with the kinks of one abs, min or max at which the goal turns from falling to
    rising, where they are lower; returns the cells that have such a kink."""
    is_kinked = np.zeros_like(is_turn)
    leading = np.argmax(arguments, axis=0)
    row, cell = np.nonzero(is_turn & (leading[:, :-1] != leading[:, 1:]))
    one, other = leading[row, cell], leading[row, cell + 1]
    difference = arguments[one, row, cell] - arguments[other, row, cell]
    fraction = _zero_fraction(
        difference, arguments[one, row, cell + 1] - arguments[other, row, cell + 1]
    )
    step = x[cell + 1] - x[cell]
    left_value = goal[row, cell] + slope[row, cell] * fraction * step
    right_value = goal[row, cell + 1] - slope[row, cell + 1] * (1 - fraction) * step
    _update_best(best, answers, row, np.maximum(left_value, right_value), x[cell] + fraction * step)
    is_kinked[row, cell] = True
    return is_kinked


def _best_root_of_draws(x: Array, goal: Array, zero: Array, margins: Array) -> Array:
    """The minimum of each draw where one margin is 0 and no other is negative, shape (draws,)."""
    best, answers = np.full(len(goal), np.inf), np.full(len(goal), np.nan)
    # not a product of signs: a root on a point of the grid counts once
    row, cell = np.nonzero((zero[:, :-1] < 0) != (zero[:, 1:] < 0))
    fraction = _zero_fraction(zero[row, cell], zero[row, cell + 1])
    is_feasible = np.ones(len(row), dtype=bool)
    for margin in margins:
        margin_value = margin[row, cell] + fraction * (margin[row, cell + 1] - margin[row, cell])
        # an active inequality is 0 up to the error of linear interpolation
        is_feasible &= margin_value >= -CENTRAL_ANSWER_RTOL * np.max(np.abs(margin), axis=1)[row]
    row, cell, fraction = row[is_feasible], cell[is_feasible], fraction[is_feasible]
    value = goal[row, cell] + fraction * (goal[row, cell + 1] - goal[row, cell])
    _update_best(best, answers, row, value, x[cell] + fraction * (x[cell + 1] - x[cell]))
    return answers


def _update_best(
    best: Array, answers: Array, row: NDArray[np.intp], values: Array, points: Array
) -> None:
    """Replace answers of draws by further points where these are lower; in place."""
    for k in np.argsort(-values, kind="stable"):  # the lowest of a draw comes last
        if values[k] < best[row[k]]:
            best[row[k]], answers[row[k]] = values[k], points[k]


def _zero_fraction(low: Array, high: Array) -> Array:
    """The fraction of a cell after which a straight line crosses 0."""
    with np.errstate(all="ignore"):
        # 0/0: the line is 0 throughout, and any fraction is as good
        return np.clip(np.nan_to_num(low / (low - high), nan=0.5), 0.0, 1.0)


def _feasibility_fraction(low: Array, high: Array) -> Array:
    """The fraction of a cell up to which, or from which, all constraints hold, shape (cells,)."""
    parts = _zero_fraction(low, high)
    leaves, enters = (low >= 0) & (high < 0), (low < 0) & (high >= 0)
    last = np.min(np.where(leaves, parts, 1.0), axis=0)
    from_on = np.max(np.where(enters, parts, 0.0), axis=0)
    fractions: Array = np.where(np.any(enters, axis=0), from_on, last)
    return fractions


def _followers_of_draws(
    functions: LineFunctions, fixed_values: Values, answers: Array, deviations: Array
) -> Array:
    """The formulas beyond goal and constraints, at the answer of each draw."""
    count = len(functions.outputs) - functions.count
    follower_values = np.full((count, len(answers)), np.nan)
    is_answered = ~np.isnan(answers)
    if not count:
        return follower_values
    line_values = functions.evaluate(answers[is_answered], fixed_values)
    values_at_fit = line_values.values[functions.count :]
    changes = np.einsum(
        "dp,fpd->fd", deviations[is_answered], line_values.by_parameters[functions.count :]
    )
    follower_values[:, is_answered] = values_at_fit + changes
    return follower_values
