"""What determines an answer with one unknown: equations that hold there, and how their roots move.

An answer follows the root of an active constraint, of the goal's slope, or of the equation of two
branches at a kink, by the implicit function theorem on that equation; or it stays at an end of the
range. Where several of these coincide it follows one of them on one side and another on the other
side, unless all move alike: it then has no derivative.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.law.algebra import derivative
from lawdsl.solving.formulate.closed_form import try_algebra
from lawdsl.solving.inputs import evaluated
from lawdsl.solving.univariate.interval_functions import Formula
from lawdsl.solving.univariate.kinks import NEAR, is_root
from lawdsl.solving.univariate.line_functions import Points
from lawdsl.solving.univariate.state import Found, Frame

Array = NDArray[np.float64]

TIES = 20  # places that are as good as the answer, at most, of which it is computed how they move
ALIKE = 1e-6  # relative: two rates as near as this are one


@dataclass(frozen=True)
class Root:
    """A root at the answer.

    Attributes:
        by_parameters: how it moves with each fitted parameter, shape (parameters,).
        by: how it moves with givens and settings; those that are missing do not move it.
        of_goal: whether the goal has a kink there.
    """

    by_parameters: Array
    by: Mapping[sp.Symbol, float]
    of_goal: bool = False


@dataclass(frozen=True)
class Moving:
    """How an answer moves.

    Attributes:
        roots: what determines it.
        untied: symbols by which another place that is as good does not remain so, as far as known.
    """

    roots: tuple[Root, ...]
    untied: frozenset[sp.Symbol] = frozenset()

    @property
    def at_kink(self) -> bool:
        """Whether the goal has a kink at the answer."""
        return any(root.of_goal for root in self.roots)

    def with_(self, symbol: sp.Symbol) -> float | None:
        """The derivative of the unknown by a given or setting; None where it has none, nan where it
        is not known."""
        if symbol in self.untied:
            return None
        rates = [root.by.get(symbol, 0.0) for root in self.roots] or [math.nan]
        found = _common(np.array(rates)[:, None])
        return rates[0] if len(rates) == 1 else None if found is None else float(found[0])

    def with_parameters(self) -> Array | None:
        """Its derivatives by the fitted parameters, shape (parameters,); None where it has none."""
        return (
            _common(np.array([root.by_parameters for root in self.roots])) if self.roots else None
        )


def _common(rates: Array) -> Array | None:
    """The rates that all roots have, shape (roots, symbols); None where they differ."""
    if not np.isfinite(rates).all():
        return None
    apart = rates.max(axis=0) - rates.min(axis=0)
    found: Array = rates[0]
    return found if np.all(apart <= ALIKE * np.abs(rates).max(axis=0)) else None


def moving(frame: Frame, found: Found) -> Moving:
    """How an answer moves with givens, settings and fitted parameters."""
    made = Moving(tuple(roots_at(frame, found)))
    others = found.line.others if found.best is found.line.best else ()
    if not others or _is_mirrored(frame, found):
        return made
    symbols = list(frame.posed.names.values())
    slopes = [_goal_slopes(frame, found, made, symbols)]
    for other in others[:TIES]:
        which = tuple(found.bounding[k] for k in other.which)
        there = replace(found, best=replace(other, which=which))
        slopes.append(_goal_slopes(frame, there, Moving(tuple(roots_at(frame, there))), symbols))
    table = np.array(slopes)
    apart = table.max(axis=0) - table.min(axis=0)
    same = (apart <= ALIKE * np.abs(table).max(axis=0)) & (len(others) <= TIES)
    return replace(made, untied=frozenset(s for s, k in zip(symbols, same, strict=True) if not k))


@np.errstate(all="ignore")
def _goal_slopes(
    frame: Frame, found: Found, moves: Moving, symbols: Sequence[sp.Symbol]
) -> list[float]:
    """The derivatives of the goal at a place by symbols; nan of those that it has none by."""
    if not math.isfinite(found.best.at):
        return [math.nan] * len(symbols)
    points = frame.along.at(np.array([found.best.at]), found.values)
    size, slopes = abs(points.values[0, 0]), []
    for symbol in symbols:
        partial = 0.0
        if symbol in frame.along.others:
            partial = points.by_others[0, frame.along.others.index(symbol), 0]
        moved = moves.with_(symbol)
        slope = math.nan if moved is None else partial + points.by_unknown[0, 0] * moved
        value = found.values[symbol]
        rounding = value != 0 and abs(slope * value) <= NEAR * size
        slopes.append(0.0 if rounding else float(slope))
    return slopes


def _is_mirrored(frame: Frame, found: Found) -> bool:
    """Whether the other places that are as good are the mirror image of the answer, whatever the
    values of the symbols."""
    x, goal = frame.unknown.symbol, frame.along.outputs[0]
    places = [other.at for other in found.line.others]
    if found.best.which or any(o.which for o in found.line.others) or len(places) > 1:
        return False
    if not math.isclose(places[0], -found.best.at, rel_tol=NEAR):
        return False
    return try_algebra(lambda: sp.expand(goal.xreplace({x: -x}) - goal)) == 0


def roots_at(frame: Frame, found: Found) -> Iterator[Root]:
    """The roots at an answer."""
    if found.best.kind in ("plateau", "sampled"):
        return
    x, best = np.array([found.best.at]), found.best
    points = frame.along.at(x, found.values)
    room = NEAR * _size(found)
    equal = any(frame.conditions[i].equality for i in best.which)
    margins = list(best.which)
    for i in found.bounding:
        near = is_root(points.values[2 + i, 0], points.by_unknown[2 + i, 0], room)
        margins += [i] * (near and i not in margins)
    yield from (_root_of(frame, points, 2 + i) for i in margins)
    yield from _ends(frame, found, room)
    kinked = False
    if frame.kinks is not None:
        later = range(frame.along.count, len(frame.along.outputs))
        own = {0, *(2 + i for i in margins), *later}
        for turn in frame.kinks.at(best.at, found.values, room):
            if len(best.sides) == 1 and best.kind == "stationary":
                own -= {0}  # the kink is of a branch that the goal does not take
            if turn.owners & own:
                kinked |= 0 in turn.owners & own
                slopes = turn.by_parameters, turn.by_others, turn.by_unknown
                yield _root(frame, *slopes, of_goal=0 in turn.owners & own)
    if best.kind == "stationary":
        yield _root_of(frame, points, 1)
    elif not equal and kinked:
        yield from _of_slopes(frame, found, room)
    elif not equal and is_root(points.values[1, 0], points.by_unknown[1, 0], room):
        yield _root_of(frame, points, 1)


def _size(found: Found) -> float:
    """What a distance of the unknown is compared with."""
    whole = found.whole.high - found.whole.low
    return abs(found.best.at) or (whole if math.isfinite(whole) else 1.0)


def _root_of(frame: Frame, points: Points, row: int) -> Root:
    """How the root of a formula moves."""
    slopes = points.by_parameters[row, :, 0], points.by_others[row, :, 0]
    return _root(frame, *slopes, points.by_unknown[row, 0])


@np.errstate(all="ignore")  # a slope may be 0, or infinite
def _root(
    frame: Frame,
    by_parameters: Array,
    by_others: Array,
    by_unknown: float,
    of_goal: bool = False,
) -> Root:
    by = dict(zip(frame.along.others, (-by_others / by_unknown).tolist(), strict=True))
    return Root(-by_parameters / by_unknown, by, of_goal)


def _ends(frame: Frame, found: Found, room: float) -> Iterator[Root]:
    """The ends of the range at the answer."""
    none = np.zeros(len(frame.along.parameters))
    for _, limit in frame.unknown.bounds:
        if abs(evaluated(limit, found.values) - found.best.at) <= room:
            free = sorted(limit.free_symbols, key=str)
            by = {s: evaluated(derivative(limit, s), found.values) for s in free}
            yield Root(none, by)


def _of_slopes(frame: Frame, found: Found, room: float) -> Iterator[Root]:
    """The slopes of the goal that are 0 on one side of a kink."""
    slopes = [Formula(side, frame.unknown.symbol).slope.expression for side in found.best.sides]
    if not slopes:
        return
    points = frame.along.of(slopes).at(np.array([found.best.at]), found.values)
    for row in range(len(slopes)):
        if is_root(points.values[row, 0], points.by_unknown[row, 0], room):
            yield _root_of(frame, points, row)
