"""Sums with the sign of simpler expressions: values at the ends of a range, logarithms, quotients.

If ∂f/∂x >= 0 on an interval, f is nondecreasing in x (mean value theorem: Rudin (1976), Principles
of Mathematical Analysis, 3rd ed., theorem 5.11), so inf f and sup f are its limits at the ends.
"""

from __future__ import annotations

import sympy as sp

from lawdsl.law.algebra import derivative, merge_powers
from lawdsl.law.functions import ANALYTIC, RANGES, ROWS
from lawdsl.law.text import text
from lawdsl.proof.box import Endpoint
from lawdsl.proof.rules.scaling import rescaled
from lawdsl.proof.signs.boundary import closed_faces
from lawdsl.proof.signs.interface import Signs
from lawdsl.proof.signs.limits import at_infinity
from lawdsl.proof.signs.monomials import log_of_product, merge_bases, powers
from lawdsl.proof.signs.sign import Sign, decided


def between_ends(signs: Signs, e: sp.Expr) -> Sign | None:
    """The sign of e = p·x + q, p and q free of x, a <= x <= b: between p·a + q and p·b + q."""
    for symbol in signs.movable(e):
        domain = signs.box.range(symbol)
        if domain.lower is None or domain.upper is None:
            continue
        # not affine: the extremes may lie inside the range
        if symbol in derivative(e, symbol).free_symbols:
            continue
        ends = [signs.at(e, symbol, x) for x in (domain.lower, domain.upper)]
        one, other = (Sign.UNKNOWN if end is None else signs.sign(end) for end in ends)
        sign = _between(one, other, domain.lower.closed, domain.upper.closed)
        if sign is not None:
            return sign
    return None


def between_bounds(signs: Signs, e: sp.Expr) -> Sign | None:
    """The sign of e = p·f(x) + q, p and q free of f, m <= f <= M: between p·m + q and p·M + q, as
    of 1 - tanh(x) and 2 + sin(x)."""
    for part in sorted(e.atoms(*_BOUNDED), key=str):
        row = ROWS[type(part)]
        value = sp.Dummy(real=True)
        replaced = e.xreplace({part: value})
        # not affine in the function
        if value in sp.diff(replaced, value).free_symbols:
            continue
        one, other = (
            signs.sign(merge_powers(replaced.xreplace({value: x}))) for x in RANGES[type(part)]
        )
        sign = _between(one, other, row.reached, row.reached)
        if sign is not None:
            return sign
    return None


_BOUNDED = tuple(function for function, ends in RANGES.items() if None not in ends)


def _between(one: Sign, other: Sign, one_closed: bool, other_closed: bool) -> Sign | None:
    """The sign of a quantity between two values, each of which is attained only at a closed end."""
    if one == other == Sign.ZERO:
        return Sign.ZERO
    if one.within(Sign.NONPOSITIVE) and other.within(Sign.NONPOSITIVE):
        sign = _between(-one, -other, one_closed, other_closed)
        return None if sign is None else -sign
    if not (one.within(Sign.NONNEGATIVE) and other.within(Sign.NONNEGATIVE)):
        return None
    strict = Sign.POSITIVE in (one, other)
    strict = strict and (one == Sign.POSITIVE or not one_closed)
    strict = strict and (other == Sign.POSITIVE or not other_closed)
    return Sign.POSITIVE if strict else Sign.NONNEGATIVE


def by_common_factor(signs: Signs, e: sp.Expr) -> Sign | None:
    """The sign of Σ p·t_i as that of Σ t_i, for a common factor p > 0: N·x - N·y as x - y."""
    common: set[tuple[sp.Expr, sp.Expr]] | None = None
    for term in e.args:
        factors_of_term = {(b, x) for b, x in powers(term) if b.free_symbols | x.free_symbols}
        common = factors_of_term if common is None else common & factors_of_term
    factors = [sp.Pow(b, x) for b, x in common or ()]
    factor = sp.Mul(*(f for f in factors if signs.sign(f) == Sign.POSITIVE))
    if factor == 1:
        return None
    # final, even if it is REAL: other rules would mostly repeat the work on a longer sum
    return signs.sign(sp.Add(*(merge_powers(term / factor) for term in e.args)))


def by_logarithm(signs: Signs, e: sp.Expr) -> Sign | None:
    """The sign of g - b for g, b > 0 as that of log(g) - log(b): the logarithm is increasing."""
    if len(e.args) != 2:
        return None
    positive = [t for t in e.args if signs.sign(t) == Sign.POSITIVE]
    negative = [-t for t in e.args if signs.sign(t) == Sign.NEGATIVE]
    if len(positive) != 1 or len(negative) != 1:
        return None
    ratio = positive[0] / negative[0]
    difference = log_of_product(signs, merge_bases(signs, ratio))
    if difference is None:
        return None
    if e.has(sp.log) or not any(x.free_symbols for _, x in powers(ratio)):
        return None  # the difference of logarithms is no simpler than e
    return decided(signs.sign(difference))


def by_exponential(signs: Signs, e: sp.Expr) -> Sign | None:
    """The sign of Σ c_i·log(u_i) as that of Π u_i^c_i - 1, compared as numerator minus denominator.

    Any other term x is written as log(exp(x)).
    """
    above, below = sp.S.One, sp.S.One
    if not any(isinstance(term.as_coeff_Mul()[1], sp.log) for term in e.args):
        return None
    for term in e.args:
        number, rest = term.as_coeff_Mul()
        positive = number > 0
        if isinstance(rest, sp.log) and signs.sign(rest.args[0]) == Sign.POSITIVE:
            factor = rest.args[0] ** abs(number)
        elif rest.has(sp.log) or not signs.finite(rest):
            return None
        else:
            factor = sp.exp(abs(number) * rest)
        above, below = (above * factor, below) if positive else (above, below * factor)
    difference = sp.expand_mul(merge_powers(above)) - sp.expand_mul(merge_powers(below))
    return decided(signs.sign(difference))


def by_scale(signs: Signs, e: sp.Expr) -> Sign | None:
    """e(t^w_1·x_1, …) = t^w·e(x) for all t > 0: the sign where some symbols are 1 (see `scaling`)."""
    smaller = rescaled(signs, e)
    if smaller is None or smaller == e:
        return None
    return decided(signs.sign(smaller))


def by_end_points_univariate(signs: Signs, e: sp.Expr) -> Sign | None:
    """The sign by `by_end_points` for a sum in one free symbol, which is cheap and tried before
    other rules."""
    return by_end_points(signs, e) if len(signs.movable(e)) == 1 else None


def by_end_points(signs: Signs, e: sp.Expr) -> Sign | None:
    """∂e/∂x >= 0 implies lim e(x -> lower end) <= e <= lim e(x -> upper end); mirrored for <= 0.

    e is continuous, its terms being defined everywhere, and a range is an interval; so one sign of
    the derivative is enough. Where e is strictly monotone and the end is open, the bound is strict.
    """
    for symbol in signs.movable(e):
        change = derivative(e, symbol)
        slope = signs.sign(change)
        domain = signs.box.range(symbol)
        lower, upper = (domain.lower, -1), (domain.upper, 1)  # with the direction of the end
        if slope.within(Sign.NONNEGATIVE):
            direction, ends = "rises", (lower, upper)
        elif slope.within(Sign.NONPOSITIVE):
            direction, ends = "falls", (upper, lower)
        else:
            continue
        strict = slope.definite or is_strictly_monotone(signs, change, symbol)
        for (end, side), bound in zip(ends, ("least", "greatest"), strict=True):
            extremum = _at_end(signs, e, symbol, end, side)
            if bound == "greatest":
                extremum = -extremum
            if extremum.within(Sign.NONNEGATIVE):
                _add_note(signs, e, symbol, end, direction, bound)
                sign = _at_least(extremum, strict and _open(end))
                return sign if bound == "least" else -sign
    return None


def is_strictly_monotone(signs: Signs, slope: sp.Expr, symbol: sp.Symbol) -> bool:
    """Whether a derivative of one sign is 0 at most at the ends of the range, or at isolated
    points: then the function is strictly monotone.

    Args:
        signs: the signs on the box.
        slope: the derivative, or a positive multiple of it, which may be 0 at an end.
        symbol: the symbol of the derivative.
    """
    if has_isolated_zeros(signs, slope, symbol):
        return True
    ends = [face for face in closed_faces(signs.box, symbol) if face.symbol == symbol]
    return bool(ends) and signs.without_faces(ends).sign(slope).definite


def has_isolated_zeros(signs: Signs, expression: sp.Expr, symbol: sp.Symbol) -> bool:
    """Whether an expression in one symbol is analytic on the real line and not identically 0.

    The zeros of such a function are isolated (Rudin (1976), Principles of Mathematical Analysis,
    3rd ed., theorem 8.5). That it is not identically 0 is shown at sample points.

    Args:
        signs: the signs on the box.
        expression: the expression.
        symbol: its symbol.
    """
    if expression.free_symbols != {symbol} or not _analytic(expression):
        return False
    # two points, as many expressions vanish at 1: log(x), x - 1
    samples = (sp.S.One, sp.Rational(1, 3))
    return any(signs.sign(expression.xreplace({symbol: x})).definite for x in samples)


def _analytic(e: sp.Expr) -> bool:
    """Whether an expression is analytic on the whole real line, by its form alone."""
    if not e.args:
        return True
    plain = e.is_Add or e.is_Mul or (e.is_Pow and e.exp.is_Integer and e.exp.is_positive)
    return bool((plain or isinstance(e, ANALYTIC)) and all(map(_analytic, e.args)))


def _open(end: Endpoint | None) -> bool:
    return end is None or not end.closed


def _at_least(limit: Sign, strictly: bool) -> Sign:
    """The sign of a quantity that is at least (strictly: greater than) a nonnegative limit."""
    return Sign.POSITIVE if strictly or limit == Sign.POSITIVE else Sign.NONNEGATIVE


def _at_end(
    signs: Signs, e: sp.Expr, symbol: sp.Symbol, end: Endpoint | None, direction: int
) -> Sign:
    """The sign of e where the symbol reaches an end of its range; None is the infinite one."""
    if end is None:
        value = at_infinity(signs, e, symbol, direction)
    else:
        value = signs.at(e, symbol, end)
    return Sign.UNKNOWN if value is None else signs.sign(value)


def _add_note(
    signs: Signs, e: sp.Expr, symbol: sp.Symbol, end: Endpoint | None, direction: str, bound: str
) -> None:
    if e in signs.explained:
        location = (
            f"where {symbol} has no bound" if end is None else f"at {symbol} = {text(end.value)}"
        )
        signs.notes.append(f"{text(e)} {direction} with {symbol}: it is {bound} {location}")
