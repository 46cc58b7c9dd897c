"""How far an answer with one unknown is off: the noise of the fits is drawn anew.

It moves the curves as it does at the fit, linearly, which keeps intervals honest where parameters
are known badly but what they predict well; and each draw has its own answer, on whichever
constraint it then lies. Kinks move with the curves between which they lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.solving.uncertainty import ZERO_WIDTH_RTOL
from lawdsl.solving.univariate.implicit_derivatives import roots_at
from lawdsl.solving.univariate.line_functions import Along
from lawdsl.solving.univariate.state import Found, Frame, Values

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

DRAWS = 1000
FINE, COARSE = 161, 41  # values of the unknown near the answer, and over its whole range
REACH = 8.0  # half-widths of the interval that the fine ones cover on each side
ROUGH = 1e-6  # of the range: how near the answer itself must be met again
ASIDE = 1e-3  # of a step: how far values of the unknown are moved from where a kink may be
FAR = 1e3  # times the answer: as far as an open range is looked at


@dataclass(frozen=True)
class Drawn:
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

    def ends(self, of: Array, level: float) -> tuple[float, float]:
        """The interval that holds a share `level` of the answers; infinite where these have no end."""
        own, shares = of[~np.isnan(of)], [(1 - level) / 2, (1 + level) / 2]
        low, high = np.quantile(own, shares, method="inverted_cdf")
        return float(low), float(high)


def drawn_answers(frame: Frame, found: Found) -> Drawn | None:
    """The answers to a thousand draws of the noise.

    Args:
        frame: the question.
        found: its own answer.

    Returns:
        None where the errors of the fits are not known, or do not determine the answer.
    """
    deviations = frame.noise.draws(DRAWS, found.seed)
    equal = np.array([condition.equality for condition in frame.conditions], dtype=bool)
    if deviations is None or equal.sum() > 1:  # two equations for one unknown hold by no noise
        return None
    deviations[0] = 0.0  # the question itself
    count = frame.along.count
    width = _width(frame, found)
    x, (low, high) = _grid(found, width)
    if frame.kinks is not None:
        x[1:-1] += (
            ASIDE * np.diff(x)[1:]
        )  # on a kink a slope is neither that before nor that behind
    points = frame.along.at(x, found.values)
    usable = np.all(np.isfinite(points.values), axis=0)
    usable &= np.all(np.isfinite(points.by_parameters[:count]), axis=(0, 1))
    if usable.sum() < min(3, len(x)):
        return None
    x = x[usable]
    gradients = points.by_parameters[:count][..., usable]
    here = np.argmin(np.abs(x - found.best.at))
    if not frame.noise.known(gradients[:, :, here].T):
        return None
    if frame.kinks is None:
        moved = points.values[:count][:, None, usable] + deviations @ gradients
        answers = _best_of(x, moved[0], moved[1], moved[2:], equal)
    else:
        changed = frame.kinks.changed(x, found.values, deviations)
        moved = changed.formulas
        if not np.all(np.isfinite(moved[:count])):
            return None
        answers = _best_of(x, moved[0], moved[1], moved[2:count], equal, changed.arguments)
    if not abs(answers[0] - found.best.at) <= max(width or 0.0, ROUGH * (high - low)):
        return None  # the values looked at are too far apart for so many turns
    if frame.kinks is not None and width is None:  # a kink that the noise does not move
        answers[np.abs(answers - found.best.at) <= ROUGH * (high - low)] = found.best.at
    answers[(answers >= high) & (found.whole.high > high)] = found.whole.high
    answers[(answers <= low) & (found.whole.low < low)] = found.whole.low
    return Drawn(answers, _further(frame.along, found.values, answers, deviations))


def _width(frame: Frame, found: Found) -> float | None:
    """How far the noise alone moves the place of the answer, by that of its equations which moves
    most; None where no equation determines it, or that is not known."""
    widths = []
    for root in roots_at(frame, found):
        half = frame.noise.half_widths(root.by_parameters[:, None], found.level)[0]
        moved = np.isfinite(half) and half > ZERO_WIDTH_RTOL * abs(
            found.best.at
        )  # not by rounding alone
        widths += [float(half)] if moved else []
    return max(widths, default=None)


def _grid(found: Found, width: float | None) -> tuple[Array, tuple[float, float]]:
    """Values of the unknown: dense about the answer, and some over the whole range; and between
    which ends they lie, which are nearer than those of an endless range."""
    best, whole = found.best.at, found.whole
    low = whole.low if np.isfinite(whole.low) else min(best / FAR, best * FAR, -FAR)
    high = whole.high if np.isfinite(whole.high) else max(best * FAR, best / FAR) or 1.0
    endless = not (np.isfinite(whole.low) and np.isfinite(whole.high))
    if (endless or (low == 0 and high > FAR * best)) and whole.low >= 0 and best > 0:
        low = max(whole.low, best / FAR)
        coarse = np.geomspace(low, high, COARSE)
    else:
        coarse = np.linspace(low, high, COARSE)
    reach = min(width, high - low) if width is not None else (high - low) / 20
    steps = np.linspace(-1, 1, FINE)
    fine = best + reach * REACH * steps * np.abs(steps)
    inside = (fine >= low) & (fine <= high)
    x = np.unique(np.concatenate([coarse, fine[inside], [low, best, high]]))
    return x[x > whole.low] if whole.low_open else x, (low, high)


def _best_of(
    x: Array,
    goal: Array,
    slope: Array,
    margins: Array,
    equal: Mask,
    kinked: Sequence[Array] = (),
) -> Array:
    """The best allowed place of each draw, shape (draws,); between neighbouring values of the
    unknown the curves are straight. `equal` says which margins must be 0, shape (margins,);
    `kinked` are the arguments of each abs, min and max of the goal."""
    if equal.any():
        return _best_root(x, goal, margins[equal][0], margins[~equal])
    allowed = np.all(margins >= 0, axis=0) if len(margins) else np.ones(goal.shape, dtype=bool)
    rows = np.arange(len(goal))
    height = np.where(allowed, goal, np.inf)
    first = np.argmin(height, axis=1)
    best, place = height[rows, first], x[first]
    # where the slope passes from falling to rising, inside a cell of which both ends are allowed
    turn = (slope[:, :-1] < 0) & (slope[:, 1:] > 0) & allowed[:, :-1] & allowed[:, 1:]
    for arguments in kinked:
        turn &= ~_at_kinks(x, goal, slope, arguments, turn, best, place)
    row, cell = np.nonzero(turn)
    part = _part(slope[row, cell], slope[row, cell + 1])
    step = x[cell + 1] - x[cell]
    lower = goal[row, cell] + 0.5 * part * step * slope[row, cell]
    _better(best, place, row, lower, x[cell] + part * step)
    # where what is allowed begins or ends inside a cell
    row, cell = np.nonzero(allowed[:, :-1] != allowed[:, 1:])
    if len(row):
        part = _bound(margins[:, row, cell], margins[:, row, cell + 1])
        there = goal[row, cell] + part * (goal[row, cell + 1] - goal[row, cell])
        _better(best, place, row, there, x[cell] + part * (x[cell + 1] - x[cell]))
    return np.where(np.isfinite(best), place, np.nan)


def _at_kinks(
    x: Array, goal: Array, slope: Array, arguments: Array, turn: Mask, best: Array, place: Array
) -> Mask:
    """Take the kinks of one abs, min or max at which the goal turns from falling to rising, where
    they are lower; and in which cells they are."""
    found = np.zeros_like(turn)
    leading = np.argmax(arguments, axis=0)
    row, cell = np.nonzero(turn & (leading[:, :-1] != leading[:, 1:]))
    one, other = leading[row, cell], leading[row, cell + 1]
    apart = arguments[one, row, cell] - arguments[other, row, cell]
    part = _part(apart, arguments[one, row, cell + 1] - arguments[other, row, cell + 1])
    step = x[cell + 1] - x[cell]
    left = goal[row, cell] + slope[row, cell] * part * step
    right = goal[row, cell + 1] - slope[row, cell + 1] * (1 - part) * step
    _better(best, place, row, np.maximum(left, right), x[cell] + part * step)
    found[row, cell] = True
    return found


def _best_root(x: Array, goal: Array, zero: Array, margins: Array) -> Array:
    """The best place of each draw at which one margin is 0 and the others are kept."""
    best, place = np.full(len(goal), np.inf), np.full(len(goal), np.nan)
    row, cell = np.nonzero((zero[:, :-1] < 0) != (zero[:, 1:] < 0))
    part = _part(zero[row, cell], zero[row, cell + 1])
    kept = np.ones(len(row), dtype=bool)
    for margin in margins:
        there = margin[row, cell] + part * (margin[row, cell + 1] - margin[row, cell])
        kept &= there >= -ROUGH * np.max(np.abs(margin), axis=1)[row]
    row, cell, part = row[kept], cell[kept], part[kept]
    height = goal[row, cell] + part * (goal[row, cell + 1] - goal[row, cell])
    _better(best, place, row, height, x[cell] + part * (x[cell + 1] - x[cell]))
    return place


def _better(best: Array, place: Array, row: NDArray[np.intp], height: Array, x: Array) -> None:
    """Take further places of draws where they are lower."""
    for k in np.argsort(-height, kind="stable"):  # the lowest of a draw comes last
        if height[k] < best[row[k]]:
            best[row[k]], place[row[k]] = height[k], x[k]


def _part(low: Array, high: Array) -> Array:
    """How far into a cell a straight line passes 0."""
    with np.errstate(all="ignore"):
        return np.clip(np.nan_to_num(low / (low - high), nan=0.5), 0.0, 1.0)


def _bound(low: Array, high: Array) -> Array:
    """How far into a cell all constraints are kept, or begin to be, shape (cells,)."""
    parts = _part(low, high)
    leaves, enters = (low >= 0) & (high < 0), (low < 0) & (high >= 0)
    last = np.min(np.where(leaves, parts, 1.0), axis=0)
    from_on = np.max(np.where(enters, parts, 0.0), axis=0)
    found: Array = np.where(np.any(enters, axis=0), from_on, last)
    return found


def _further(along: Along, values: Values, answers: Array, deviations: Array) -> Array:
    """The formulas beyond goal and constraints, at the answer of each draw."""
    count = len(along.outputs) - along.count
    found = np.full((count, len(answers)), np.nan)
    has = ~np.isnan(answers)
    if not count:
        return found
    there = along.at(answers[has], values)
    own = there.values[along.count :]
    moved = np.einsum("dp,fpd->fd", deviations[has], there.by_parameters[along.count :])
    found[:, has] = own + moved
    return found
