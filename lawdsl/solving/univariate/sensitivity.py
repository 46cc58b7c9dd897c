"""What lies around an answer: how it moves with each given, and the curve along the unknown."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.solving.result import Response, Sensitivity
from lawdsl.solving.uncertainty import interval
from lawdsl.solving.univariate.implicit_derivatives import Moving
from lawdsl.solving.univariate.kinks import NEAR
from lawdsl.solving.univariate.line_functions import Points
from lawdsl.solving.univariate.roots import Range
from lawdsl.solving.univariate.state import Found, Frame

Array = NDArray[np.float64]

STEPS = 9  # of a response curve, beside the answer


def sensitivities(
    frame: Frame, points: Points, found: Found, moves: Moving
) -> Iterator[Sensitivity]:
    """How the answer moves with each given and setting that it has a derivative by."""
    if found.best.kind in ("plateau", "sampled"):
        return  # the place is one of many, or not certain
    for name, symbol, partial in _movers(frame, points):
        moved = moves.with_(symbol)
        if moved is None:
            continue
        with np.errstate(all="ignore"):
            own = partial + points.by_unknown[:, 0] * moved
        if not np.isfinite([moved, own[0]]).all():
            continue
        if name not in frame.posed.givens and not moved and not own[0]:
            continue  # a setting that nothing depends on
        unknowns = {frame.unknown.name: float(moved) + 0.0}
        for i, other in enumerate(frame.followers):
            unknowns[other.name] = float(own[frame.along.count + i])
        yield Sensitivity(name, found.values[symbol], unknowns, frame.posed.sign * float(own[0]))


def without_derivative(frame: Frame, points: Points, found: Found, moves: Moving) -> Iterator[str]:
    """A line that names the givens by which the answer has no derivative."""
    if found.best.kind in ("plateau", "sampled"):
        return
    lacking = {n: s for n, s, _ in _movers(frame, points) if moves.with_(s) is None}
    names = [name for name in lacking if name in frame.posed.givens]
    if names:
        why = "conditions that move apart coincide there"
        if moves.untied & set(lacking.values()):
            why = "another choice is as good"
        yield f"no derivative by {', '.join(names)} at {frame.unknown.name} = {found.best.at:.6g}: {why}"


def _movers(frame: Frame, points: Points) -> Iterator[tuple[str, sp.Symbol, Array]]:
    """The givens and settings that may move an answer, and the derivatives of the formulas by each,
    the unknown being fixed."""
    for name, symbol in frame.posed.names.items():
        if symbol in frame.along.others:
            yield name, symbol, points.by_others[:, frame.along.others.index(symbol), 0]
        elif any(symbol in limit.free_symbols for _, limit in frame.unknown.bounds):
            yield name, symbol, np.zeros(len(points.values))


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
        ends = None if _has_kink(frame, found, at) else interval(value, float(half[n]))
        yield Response(named, value, ends, margins)


def _has_kink(frame: Frame, found: Found, at: float) -> bool:
    """Whether the goal has a kink at a value of the unknown, and no slope by the fits."""
    turns = frame.kinks.at(at, found.values, NEAR * abs(at)) if frame.kinks else []
    return any(0 in turn.owners for turn in turns)


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
