"""Where an expression of one symbol touches 0 without crossing it: log(x) <= x - 1 at x = 1.

No piece around such a point is certain by its numbers. There the value and the slope must be 0
exactly, and the second derivative not negative around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

import sympy as sp

from lawdsl.compiling.arrays import evaluate
from lawdsl.compiling.tape import compile_tape
from lawdsl.core.diagnostics import LawdslError
from lawdsl.law.algebra import derivative, merge_powers

CANDIDATE_RTOL = (
    1e-6  # relative distance at which a number is tried in place of one that was searched for
)
BISECTION_STEPS = 80  # of bisection
MAX_CANDIDATE_DENOMINATOR = 1000
MAX_END_MAGNITUDE = 1e12


def double_root(
    e: sp.Expr, s: sp.Symbol, bounds: tuple[float, float], settings: Mapping[sp.Symbol, Fraction]
) -> sp.Expr | None:
    """A place in a piece at which an expression and its slope are exactly 0, or None.

    Args:
        e: an expression in one symbol and settings.
        s: the symbol.
        bounds: the piece.
        settings: their values.
    """
    slope = derivative(e, s)
    root = _root(slope, s, bounds, settings)
    if root is None:
        return None
    for candidate in _candidates(e, root, settings):
        if all(_vanishes(part, s, candidate) for part in (e, slope)):
            return candidate
    return None


def _root(
    slope: sp.Expr,
    s: sp.Symbol,
    bounds: tuple[float, float],
    settings: Mapping[sp.Symbol, Fraction],
) -> float | None:
    """Where the slope turns from negative to positive, in float64."""
    inputs = [s, *sorted(slope.free_symbols - {s}, key=str)]
    try:
        tape = compile_tape([slope], inputs)
    except LawdslError:
        return None
    rest = [float(settings[x]) for x in inputs[1:]]

    def slope_at(x: float) -> float:
        return float(evaluate(tape, [x, *rest])[0])

    low, high = bounds
    if not (abs(low) < MAX_END_MAGNITUDE and abs(high) < MAX_END_MAGNITUDE):
        return None
    if not (slope_at(low) <= 0 <= slope_at(high)):
        return None
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if slope_at(middle) < 0 else (low, middle)
    return (low + high) / 2


def _candidates(
    e: sp.Expr, root: float, settings: Mapping[sp.Symbol, Fraction]
) -> Iterator[sp.Expr]:
    """Numbers and settings of the expression, short fractions and powers of e that are near."""
    constants = [*e.atoms(sp.Number), *(e.free_symbols & set(settings))]
    powers = [sp.exp(sp.Rational(k, 2)) for k in range(-6, 7)]
    short = Fraction(root).limit_denominator(MAX_CANDIDATE_DENOMINATOR)
    for candidate in (sp.Rational(short.numerator, short.denominator), *constants, *powers):
        value = float(settings[candidate]) if candidate in settings else float(candidate)
        if abs(value - root) <= CANDIDATE_RTOL * max(abs(root), CANDIDATE_RTOL):
            yield candidate


def _vanishes(e: sp.Expr, s: sp.Symbol, point: sp.Expr) -> bool:
    value = merge_powers(e.xreplace({s: point}))
    return bool(value == 0 or sp.expand(value) == 0)
