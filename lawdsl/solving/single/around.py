"""What lies around an answer: how it moves with each given, and the curve along the unknown."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.algebra import derivative
from lawdsl.solving.giving import evaluated
from lawdsl.solving.noise import interval
from lawdsl.solving.records import Response, Sensitivity
from lawdsl.solving.single.along import Points
from lawdsl.solving.single.found import Found, Frame
from lawdsl.solving.single.roots import Range

STEPS = 9  # of a response curve, beside the answer


def sensitivities(frame: Frame, points: Points, found: Found) -> Iterator[Sensitivity]:
    """How the answer moves with each given and setting, by the implicit function theorem."""
    if found.best.kind in ("plateau", "sampled"):
        return  # the place is one of many, or not certain
    active = found.active
    goal = found.best.kink[1] if found.best.kink else None
    for name, symbol in frame.posed.names.items():
        partial = np.zeros(len(points.values))  # of each formula by the given, the unknown fixed
        if symbol in frame.along.others:
            partial = points.by_others[:, frame.along.others.index(symbol), 0]
        elif not any(symbol in limit.free_symbols for _, limit in frame.unknown.bounds):
            continue
        moved = _end_moves(frame, symbol, found) if active is None else 0.0
        if found.best.kink:
            moved = _kink_moves(frame, symbol, found)
        if active is not None:
            with np.errstate(all="ignore"):  # a slope may be 0, or infinite
                moved = -partial[active] / points.by_unknown[active, 0]
        with np.errstate(all="ignore"):
            own = partial + points.by_unknown[:, 0] * moved
        if goal is not None:  # on one side of the kink, which the other one agrees with
            own[0] = _derivative(goal, symbol, frame, found)
            own[0] += _derivative(goal, frame.unknown.symbol, frame, found) * moved
        if not np.isfinite([moved, own[0]]).all():
            continue
        if name not in frame.posed.givens and not moved and not own[0]:
            continue  # a setting that nothing depends on
        unknowns = {frame.unknown.name: float(moved) + 0.0}
        for i, other in enumerate(frame.followers):
            unknowns[other.name] = float(own[frame.along.count + i])
        yield Sensitivity(name, found.values[symbol], unknowns, frame.posed.sign * float(own[0]))


def _kink_moves(frame: Frame, symbol: sp.Symbol, found: Found) -> float:
    """How a kink moves with a given, by the expression that is 0 there."""
    assert found.best.kink is not None
    equation = found.best.kink[0]
    by_unknown = _derivative(equation, frame.unknown.symbol, frame, found)
    return -_derivative(equation, symbol, frame, found) / by_unknown if by_unknown else math.nan


def _derivative(expression: sp.Expr, symbol: sp.Symbol, frame: Frame, found: Found) -> float:
    values = {**found.values, frame.unknown.symbol: found.best.at}
    return evaluated(derivative(expression, symbol), values)


def _end_moves(frame: Frame, symbol: sp.Symbol, found: Found) -> float:
    """How an end of the range moves with a given."""
    x = found.best.at
    for _, limit in frame.unknown.bounds:
        if symbol in limit.free_symbols and evaluated(limit, found.values) == x:
            return evaluated(sp.diff(limit, symbol), found.values)
    return 0.0


def response(frame: Frame, found: Found) -> Iterator[Response]:
    """The goal and the constraints at some values of the unknown, the answer among them."""
    x = _steps(found.whole, found.best.at)
    points = frame.along.exactly_at(x, found.values)
    half = frame.noise.half_widths(points.by_parameters[0], found.level)
    others = [unknown.name for unknown in frame.followers]
    for n, at in enumerate(x):
        value = float(points.values[0, n])
        if not math.isfinite(value):
            continue
        value = frame.posed.sign * value + 0.0  # no -0
        follow = points.values[frame.along.count :, n]
        named = {
            frame.unknown.name: float(at),
            **dict(zip(others, map(float, follow), strict=True)),
        }
        margins = {
            c.text: 0.0 if _is_on(i, at, found) else float(points.values[2 + i, n])
            for i, c in enumerate(frame.conditions)
            if not c.law and not c.equality
        }
        yield Response(named, value, interval(value, float(half[n])), margins)


def _is_on(i: int, at: float, found: Found) -> bool:
    """Whether a value of the unknown is the answer, and lies on a constraint."""
    return bool(at == found.best.at and i in found.best.which)


def _steps(whole: Range, best: float) -> NDArray[np.float64]:
    """Round values of the unknown over its range, and the answer."""
    low, high = whole.low, whole.high
    if math.isinf(low) or math.isinf(high):
        if best > 0 and low >= 0:
            x = best * np.array([0.1, 0.2, 0.4, 0.6, 0.8, 1.25, 1.7, 2.5, 5.0, 10.0])
        else:
            x = best + np.linspace(-1, 1, STEPS) * max(abs(best), 1.0)
        x = np.array([float(f"{v:.2g}") for v in x])
    else:
        x = low + (high - low) * np.linspace(0, 1, STEPS + 2)
        x = np.array([float(f"{v:.4g}") for v in x])
    x = x[(x >= low) & (x <= high)]
    x = x[(x > low) | (not whole.low_open)]
    x = x[(x < high) | (not whole.high_open)]
    found: NDArray[np.float64] = np.unique(np.append(x, best))
    return found
