"""Expression in one symbol, interval -> an exact double root, as x = 1 of x - 1 - log(x).

No interval enclosure around such a point has a definite sign. The root of f' is located by
bisection in float64 and matched with exact candidates, for which f(x0) = f'(x0) = 0 is checked by
algebra. With f'' >= 0 around x0, f(x) >= f(x0) + f'(x0)·(x - x0) = 0 (first-order condition of
convexity: Boyd and Vandenberghe (2004), Convex Optimization, section 3.1.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

import sympy as sp

from lawdsl.compiling.arrays import evaluate
from lawdsl.compiling.tape import compile_tape
from lawdsl.core.diagnostics import LawdslError
from lawdsl.law.algebra import derivative, merge_powers

CANDIDATE_RTOL = 1e-6  # relative distance from the float64 root at which an exact number is tried
BISECTION_STEPS = 80  # enough for all bits of a float64 in intervals up to MAX_END_MAGNITUDE
MAX_CANDIDATE_DENOMINATOR = 1000  # of a short fraction that is tried as the exact root
MAX_END_MAGNITUDE = 1e12  # of the ends, so that BISECTION_STEPS suffice


def double_root(
    e: sp.Expr, s: sp.Symbol, bounds: tuple[float, float], settings: Mapping[sp.Symbol, Fraction]
) -> sp.Expr | None:
    """A point of an interval at which an expression and its derivative are exactly 0, or None.

    Args:
        e: an expression in one symbol and settings.
        s: the symbol.
        bounds: the ends of the interval.
        settings: setting -> its value.
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
    """The zero at which the slope changes from negative to positive, by bisection in float64."""
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
    """Exact numbers near the root: constants and settings of e, short fractions, powers of E."""
    constants = [*e.atoms(sp.Number), *(e.free_symbols & set(settings))]
    powers = [sp.exp(sp.Rational(k, 2)) for k in range(-6, 7)]
    short = Fraction(root).limit_denominator(MAX_CANDIDATE_DENOMINATOR)
    for candidate in (sp.Rational(short.numerator, short.denominator), *constants, *powers):
        value = float(settings[candidate]) if candidate in settings else float(candidate)
        # near enough to be tried; that it is a root is then shown by algebra
        if abs(value - root) <= CANDIDATE_RTOL * max(abs(root), CANDIDATE_RTOL):
            yield candidate


def _vanishes(e: sp.Expr, s: sp.Symbol, point: sp.Expr) -> bool:
    value = merge_powers(e.xreplace({s: point}))
    return bool(value == 0 or sp.expand(value) == 0)
