"""A question with one unknown, along it: goal, slope and constraints with their errors.

How far an answer is off is found by drawing the noise of the fits anew. It moves the curves as it
does at the fit, linearly, which keeps intervals honest where parameters are known badly but what
they predict well; and each draw has its own answer, on whichever constraint it then lies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.compiling.gradient import Slopes
from lawdsl.compiling.tape import compile_tape
from lawdsl.solving.noise import Noise
from lawdsl.solving.single.functions import Formula
from lawdsl.solving.single.roots import Range

Array = NDArray[np.float64]

DRAWS = 1000
FINE, COARSE = 161, 41  # values of the unknown near the answer, and over its whole range
REACH = 8.0  # half-widths of the interval that the fine ones cover on each side
FAR = 1e3  # times the answer: as far as an open range is looked at


class Along:
    """Goal, slope, margins and further formulas as functions of the unknown and of all symbols.

    Args:
        goal: what is made smallest.
        margins: of the constraints.
        more: further formulas: unknowns that follow.
        unknown: the unknown.
        parameters: the fitted parameters.
    """

    def __init__(
        self,
        goal: Formula,
        margins: Sequence[Formula],
        more: Sequence[sp.Expr],
        unknown: sp.Symbol,
        parameters: Sequence[sp.Symbol],
    ) -> None:
        self.outputs = [goal.expression, goal.slope.expression]
        self.outputs += [margin.expression for margin in margins]
        self.count = len(self.outputs)
        self.outputs += list(more)
        free = set().union(*(e.free_symbols for e in self.outputs))
        self.parameters = tuple(parameters)
        self.others = tuple(sorted(free - {unknown, *parameters}, key=str))
        self.inputs = (unknown, *self.parameters, *self.others)
        self.slopes = Slopes(compile_tape(self.outputs, self.inputs))

    def at(self, x: Array, values: Mapping[sp.Symbol, float]) -> Points:
        """All of them at values of the unknown, shape (points,)."""
        known = np.array([values[s] for s in self.inputs[1:]], dtype=np.float64)
        inputs = np.concatenate([x[None], np.repeat(known[:, None], len(x), axis=1)])
        found, gradients = self.slopes.values_and_gradients(inputs)
        count = len(self.parameters)
        return Points(
            x, found, gradients[:, 0], gradients[:, 1 : 1 + count], gradients[:, 1 + count :]
        )


@dataclass(frozen=True)
class Points:
    """Formulas at values of the unknown.

    Attributes:
        x: shape (points,).
        values: goal, slope, margins, further ones; shape (formulas, points).
        by_unknown: their derivatives by the unknown, shape (formulas, points).
        by_parameters: by the fitted parameters, shape (formulas, parameters, points).
        by_others: by givens and settings, shape (formulas, others, points).
    """

    x: Array
    values: Array
    by_unknown: Array
    by_parameters: Array
    by_others: Array


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
        return float(np.mean(np.isfinite(self.x)))

    def ends(self, of: Array, level: float) -> tuple[float, float]:
        """The interval that holds a share `level` of the answers."""
        own = of[np.isfinite(of)]
        low, high = np.quantile(own, [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)


def drawn_answers(
    along: Along,
    values: Mapping[sp.Symbol, float],
    best: float,
    active: int | None,
    whole: Range,
    noise: Noise,
    level: float,
    seed: int,
) -> Drawn | None:
    """The answers to a thousand draws of the noise.

    Args:
        along: the question along its unknown.
        values: of all other symbols.
        best: the answer to the question itself.
        active: the number of the formula that is 0 there: 1 for the slope, 2 on for constraints;
            None where the answer is an end of the range.
        whole: the range of the unknown.
        noise: of the fits.
        level: of the intervals that are wanted.
        seed: of the draws.

    Returns:
        None where the errors of the fits are not known, or do not determine the answer.
    """
    deviations = noise.draws(DRAWS, seed)
    if deviations is None:
        return None
    x = _grid(along, values, best, active, whole, noise, level)
    points = along.at(x, values)
    usable = np.all(np.isfinite(points.values), axis=0)
    usable &= np.all(np.isfinite(points.by_parameters[: along.count]), axis=(0, 1))
    if usable.sum() < 3:
        return None
    x = x[usable]
    values_there = points.values[: along.count][:, usable]
    gradients = points.by_parameters[: along.count][..., usable]
    here = np.argmin(np.abs(x - best))
    if not noise.known(gradients[:, :, here].T):
        return None
    moved = values_there[:, None, :] + deviations @ gradients
    answers = _best_of(x, moved[0], moved[1], moved[2:])
    if not np.isfinite(answers).any():
        return None  # at a place where the slopes by the parameters have no value
    return Drawn(answers, _further(along, values, answers, points, usable, deviations))


def _grid(
    along: Along,
    values: Mapping[sp.Symbol, float],
    best: float,
    active: int | None,
    whole: Range,
    noise: Noise,
    level: float,
) -> Array:
    """Values of the unknown: dense about the answer, and some over the whole range."""
    low = whole.low if np.isfinite(whole.low) else min(best / FAR, best * FAR, -FAR)
    high = whole.high if np.isfinite(whole.high) else max(best * FAR, best / FAR) or 1.0
    if not np.isfinite(whole.low) or not np.isfinite(whole.high) or low == 0 and high / FAR > best:
        positive = whole.low >= 0 and best > 0
        low = max(whole.low, best / FAR) if positive else low
        coarse = np.geomspace(low, high, COARSE) if positive else np.linspace(low, high, COARSE)
    else:
        coarse = np.linspace(low, high, COARSE)
    width = (high - low) / 20
    if active is not None:
        there = along.at(np.array([best]), values)
        half = noise.half_widths(there.by_parameters[active], level)[0]
        slope = abs(there.by_unknown[active, 0])
        if np.isfinite(half) and slope > 0 and half > 0:
            width = min(half / slope, high - low)
    fine = best + width * REACH * np.linspace(-1, 1, FINE) * np.abs(np.linspace(-1, 1, FINE))
    inside = (fine >= low) & (fine <= high)
    first, last = (x for x in (low, high))
    x = np.unique(np.concatenate([coarse, fine[inside], [first, best, last]]))
    if whole.low_open:
        x = x[x > whole.low]
    return x


def _best_of(x: Array, goal: Array, slope: Array, margins: Array) -> Array:
    """The best allowed place of each draw, shape (draws,); between neighbouring values of the
    unknown the curves are straight."""
    allowed = np.all(margins >= 0, axis=0) if len(margins) else np.ones(goal.shape, dtype=bool)
    rows = np.arange(len(goal))
    height = np.where(allowed, goal, np.inf)
    first = np.argmin(height, axis=1)
    best, place = height[rows, first], x[first]
    # where the slope passes from falling to rising, inside a cell of which both ends are allowed
    turn = (slope[:, :-1] < 0) & (slope[:, 1:] > 0) & allowed[:, :-1] & allowed[:, 1:]
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


def _further(
    along: Along,
    values: Mapping[sp.Symbol, float],
    answers: Array,
    points: Points,
    usable: NDArray[np.bool_],
    deviations: Array,
) -> Array:
    """The formulas beyond goal and constraints, at the answer of each draw."""
    count = len(along.outputs) - along.count
    found = np.full((count, len(answers)), np.nan)
    has = np.isfinite(answers)
    if not count or not has.any():
        return found
    there = along.at(answers[has], values)
    own = there.values[along.count :]
    moved = np.einsum("dp,fpd->fd", deviations[has], there.by_parameters[along.count :])
    found[:, has] = own + moved
    return found
