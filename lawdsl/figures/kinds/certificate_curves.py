"""A point at which a claim fails -> the claim's quantity along a variable through that point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.compiling.arrays import evaluate
from lawdsl.compiling.tape import compile_tape
from lawdsl.core.axes import spans_decades
from lawdsl.core.diagnostics import LawdslError
from lawdsl.figures import theme
from lawdsl.proof.verdict import Failure, Verdict

Array = NDArray[np.float64]

POINTS = 201
FACTOR = 30.0  # a positive quantity is drawn from 1/30 of the counterexample to 30 times it
SIDES = 3.0  # largest ratio of the shown ranges above and below 0
RIGHT = 0.6  # of the axis: points further right have their labels on the left


@dataclass(frozen=True)
class FailureCurve:
    """The quantity of a claim along a variable.

    Attributes:
        claim: the claim.
        text: its quantity as text.
        along: the variable that is varied.
        columns: `x` and `y`, the variable and the quantity; NaN outside the domain.
        at, value: the coordinates of the failure; `value` is None where the quantity has no value.
        others: the fixed values of the other symbols, as text.
        sense: 1 if the claim is that the quantity is positive, -1 if negative, 0 if it is about
            having a value.
        is_logarithmic: whether the axis of the variable is logarithmic.
        visible: the ends of the axis of the quantity.
    """

    claim: str
    text: str
    along: str
    columns: Mapping[str, Array]
    at: float
    value: float | None
    others: str
    sense: int
    is_logarithmic: bool
    visible: tuple[float, float]

    @property
    def is_shaded(self) -> bool:
        """Whether the claim excludes one side of 0."""
        return self.sense != 0

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the axis of the variable."""
        x = self.columns["x"]
        return float(x[0]), float(x[-1])

    @property
    def is_right(self) -> bool:
        """Whether the point is in the right part of the panel."""
        low, high, at = *self.ends, self.at
        if self.is_logarithmic:
            low, high, at = (float(np.log(x)) for x in (low, high, at))
        return at - low > RIGHT * (high - low)

    @property
    def label(self) -> str:
        """The coordinates of the point, as the text beside it."""
        value = "no value" if self.value is None else f"value {theme.short(self.value)}"
        return f"{value} at {self.along} = {theme.short(self.at)}"


def failure_curve(verdict: Verdict) -> FailureCurve | None:
    """The quantity of a claim along a variable that shows where the claim holds and where it fails.

    Variables are preferred to parameters, and symbols along which the claim holds somewhere to
    others.

    Args:
        verdict: a verdict with a counterexample.

    Returns:
        The curve; None where there is nothing to compute it from.
    """
    failure = verdict.failure
    if failure is None:
        return None
    try:
        lines = list(_lines(failure))
    except LawdslError:  # a function that has no values in floating point
        return None
    lines = [line for line in lines if np.sum(np.isfinite(line.y)) > 1]
    if not lines:
        return None
    line = next((one for one in lines if one.is_mixed(failure)), lines[0])
    rest = [(s, value) for s, value in failure.point.items() if s != line.symbol]
    others = ", ".join(
        f"{s} = {theme.short(float(v))}" for s, v in sorted(rest, key=lambda p: str(p[0]))
    )
    at = float(failure.point[line.symbol])
    value = float(line.y[np.searchsorted(line.x, at)])
    known = value + 0.0 if np.isfinite(value) else None  # no -0
    return FailureCurve(
        verdict.claim,
        failure.text,
        str(line.symbol),
        {"x": line.x, "y": line.y},
        at,
        known,
        f"at {others}" if others else "",
        failure.sense,
        line.is_logarithmic,
        _visible_range(line.y, known, failure.sense),
    )


def _visible_range(y: Array, value: float | None, sense: int) -> tuple[float, float]:
    """The ends of the vertical axis, which shows both sides of 0 so that the sign of the point is
    visible.
    """
    low, high = theme.visible_range([y], value)
    if not sense:
        return low, high
    sizes = [float(np.max(side[np.isfinite(side)], initial=0.0)) for side in (-y, y)]
    least = min(sizes) or float(np.nanmedian(np.abs(y))) or max(sizes) or 1.0
    below, above = (min(size, SIDES * least) for size in sizes)
    if value is not None:
        below, above = max(below, -1.1 * value), max(above, 1.1 * value)
    margin = 0.08 * (below + above)
    return -below - margin, above + margin


@dataclass(frozen=True)
class _WitnessLine:
    """The quantity `y` of a claim along a symbol `x`; NaN outside the domain."""

    symbol: sp.Symbol
    x: Array
    y: Array
    is_logarithmic: bool

    def is_mixed(self, failure: Failure) -> bool:
        """Whether the claim holds at some points of the line."""
        signed = failure.sense * self.y
        with np.errstate(invalid="ignore"):
            holds = signed > 0 if failure.strict else signed >= 0
        return bool(np.any(holds))


def _lines(failure: Failure) -> Iterator[_WitnessLine]:
    """The quantity along each of its symbols, variables first."""
    box, point = failure.box, failure.point
    known = {**box.settings, **point}
    symbols = sorted(
        failure.quantity.free_symbols & set(point), key=lambda s: (s not in box.variables, str(s))
    )
    inputs = sorted(known, key=str)
    relations = [
        relation
        for group in box.relations.values()
        for relation in group
        if box.declared(relation.positive).free_symbols <= set(known)
    ]
    formulas = [failure.quantity, *(box.declared(r.positive) for r in relations)]
    tape = compile_tape(formulas, inputs)
    for symbol in symbols:
        x, logarithmic = _grid(failure, symbol)
        if len(x) < 2:
            continue
        columns = [x if s == symbol else np.full(len(x), float(known[s])) for s in inputs]
        y, *slacks = (np.broadcast_to(a, x.shape) for a in evaluate(tape, columns))
        inside = np.isfinite(y)
        for relation, slack in zip(relations, slacks, strict=True):
            inside &= slack > 0 if relation.strict else slack >= -1e-12
        yield _WitnessLine(symbol, x, np.where(inside, y, np.nan), logarithmic)


def _grid(failure: Failure, symbol: sp.Symbol) -> tuple[Array, bool]:
    """Values of a symbol around the point, including that of the point, and whether they are evenly
    spaced in the logarithm.
    """
    at = float(failure.point[symbol])
    lower, upper = (_end(failure, symbol, side) for side in ("lower", "upper"))
    positive = at > 0 and lower is not None and lower >= 0
    if lower is not None and upper is not None:
        low, high = lower, upper
    elif positive:
        low = max(lower or 0.0, at / FACTOR)
        high = at * FACTOR if upper is None else upper
    else:
        reach = 3 * max(abs(at), 1.0)
        low = at - reach if lower is None else max(lower, at - reach)
        high = at + reach if upper is None else min(upper, at + reach)
    if not low < high:
        return np.array([at]), False
    logarithmic = spans_decades(low, high)
    return np.union1d(theme.grid(low, high, POINTS, logarithmic=logarithmic), [at]), logarithmic


def _end(failure: Failure, symbol: sp.Symbol, side: str) -> float | None:
    """An end of a symbol's domain at the point; None where it has none, or it is not known."""
    end: Any = getattr(failure.box.range(symbol), side)
    if end is None:
        return None
    known = {**failure.box.settings, **failure.point}
    formula = failure.box.declared(end.value)
    if formula.free_symbols - set(known):
        return None
    inputs = sorted(formula.free_symbols, key=str)
    value = float(evaluate(compile_tape([formula], inputs), [float(known[s]) for s in inputs])[0])
    return value if np.isfinite(value) else None
