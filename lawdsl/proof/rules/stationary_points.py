"""Sums with a global minimum, or maximum, at a stationary point in one symbol.

If ∂f/∂x = p·g with p > 0, g nondecreasing in x and g(x0) = 0, then f falls before x0 and rises
after it: f(x) >= f(x0) (Rudin (1976), Principles of Mathematical Analysis, 3rd ed., theorem 5.11).
f(x0) has one symbol less.
"""

from __future__ import annotations

from collections.abc import Iterator

import sympy as sp

from lawdsl.law.algebra import derivative, merge_powers
from lawdsl.law.functions import KINKED
from lawdsl.law.text import text
from lawdsl.proof.signs.interface import Signs
from lawdsl.proof.signs.monomials import expand_products, log_of_product, powers
from lawdsl.proof.signs.sign import Sign

MAX_STATIONARY_OPERATIONS = 80  # operations of a sum whose stationary point is sought
MAX_SLOPE_TERMS = 12  # terms of a slope that is factored; more take too long
MAX_INVERTED_OPERATIONS = 12  # nested operations that are inverted to solve an equation


def by_stationary_point(signs: Signs, e: sp.Expr) -> Sign | None:
    """f(x) >= f(x0), where ∂f/∂x = p·g with p > 0, g nondecreasing and g(x0) = 0; <= if g falls."""
    if e.count_ops() > MAX_STATIONARY_OPERATIONS or e.has(*KINKED):
        return None
    for symbol in signs.movable(e):
        core = _core(signs, derivative(e, symbol))
        if core is None:
            continue
        for point in _candidate_roots(signs, core, symbol):
            sign = _sign_by_extremum(signs, e, symbol, core, point)
            if sign is not None:
                return sign
    return None


def _sign_by_extremum(
    signs: Signs, e: sp.Expr, symbol: sp.Symbol, core: sp.Expr, point: sp.Expr
) -> Sign | None:
    """The sign of e, if it is that of its extremum at `point`, where the monotone factor g of its
    slope is 0; None if not shown."""
    if not _in_range(signs, symbol, point):
        return None
    value = _tidy(signs, e.xreplace({symbol: point}))
    sign = signs.sign(value)
    if not (sign.within(Sign.NONNEGATIVE) or sign.within(Sign.NONPOSITIVE)):
        return None
    if not signs.sign(_tidy(signs, core.xreplace({symbol: point}))) == Sign.ZERO:
        return None
    core_slope = signs.sign(derivative(core, symbol))
    least = core_slope.within(Sign.NONNEGATIVE) and sign.within(Sign.NONNEGATIVE)
    greatest = core_slope.within(Sign.NONPOSITIVE) and sign.within(Sign.NONPOSITIVE)
    if not least and not greatest:
        return None
    signs.use(symbol)
    if e in signs.explained:
        bound = "least" if least else "greatest"
        signs.notes.append(
            f"{text(e)} is {bound} at {symbol} = {text(point)}, where its slope is 0: {text(value)}"
        )
    if sign.definite:
        return sign
    return Sign.NONNEGATIVE if least else Sign.NONPOSITIVE


def _in_range(signs: Signs, symbol: sp.Symbol, point: sp.Expr) -> bool:
    """Whether a point is in the range of a symbol, for all values of the other symbols."""
    domain = signs.box.range(symbol)
    ends = [(domain.lower, 1), (domain.upper, -1)]
    for end, side in ends:
        if end is None:
            continue
        allowed = Sign.NONNEGATIVE if end.closed else Sign.POSITIVE
        if not signs.sign(merge_powers(side * (point - end.value))).within(allowed):
            return False
    return signs.finite(point)


def _core(signs: Signs, slope: sp.Expr) -> sp.Expr | None:
    """g of ∂f/∂x = p·g: the slope without positive factors; log(a/b) of a slope a - b."""
    if slope.is_Mul:
        slope = sp.Mul(*(f for f in slope.args if signs.sign(f) != Sign.POSITIVE))
    if not slope.is_Add:
        return slope if signs.finite(slope) else None
    if len(slope.args) > MAX_SLOPE_TERMS:
        return None
    product_form = expand_products(signs, slope)
    if product_form is None:
        return None
    terms = without_content(signs, product_form[1])
    if len(terms) == 2:
        logarithm = _logarithm_of_ratio(signs, terms)
        if logarithm is not None:
            return logarithm
    core = sp.Add(*terms)
    return core if signs.finite(core) else None


def without_content(signs: Signs, terms: list[sp.Expr]) -> list[sp.Expr]:
    """Terms divided by the powers of positive bases that they have in common.

    Args:
        signs: the signs on the box.
        terms: the terms.
    """
    term_exponents = [dict(powers(term)) for term in terms]
    common = set.intersection(*map(set, term_exponents)) if term_exponents else set()
    factor = sp.S.One
    for base in sorted(common, key=str):
        if not base.free_symbols and base is not sp.E or signs.sign(base) != Sign.POSITIVE:
            continue
        base_exponents = [exponents[base] for exponents in term_exponents]
        steps = [sp.expand_mul(x - base_exponents[0]) for x in base_exponents]
        if all(step.is_number and step.is_real for step in steps):
            factor *= sp.Pow(base, base_exponents[0] + min(steps))
        elif len(set(base_exponents)) == 1:
            factor *= sp.Pow(base, base_exponents[0])
    return [merge_powers(term / factor) for term in terms]


def _logarithm_of_ratio(signs: Signs, terms: list[sp.Expr]) -> sp.Expr | None:
    """log(g/b) of two terms g > 0 and -b < 0, which has the sign of g - b; None for others."""
    one, other = terms
    positive, negative = (one, -other) if signs.sign(one) == Sign.POSITIVE else (other, -one)
    if signs.sign(positive) != Sign.POSITIVE or signs.sign(negative) != Sign.POSITIVE:
        return None
    return log_of_product(signs, merge_powers(positive / negative))


def _candidate_roots(signs: Signs, core: sp.Expr, symbol: sp.Symbol) -> Iterator[sp.Expr]:
    """Where an expression may be 0: solved for the symbol, or 0, 1 or another symbol."""
    tried = set()
    solved = _isolated_root(core, symbol)
    # equations that cannot be solved for the symbol often have such roots: log(x), x - y
    usual = [sp.S.One, sp.S.Zero, *sorted(core.free_symbols - {symbol}, key=str)]
    for root in [solved, *usual]:
        if root is None or root in tried or root.has(sp.zoo, sp.nan, sp.oo, sp.I):
            continue
        tried.add(root)
        if root is solved or _tidy(signs, core.xreplace({symbol: root})).is_zero:
            yield root


def _isolated_root(core: sp.Expr, symbol: sp.Symbol) -> sp.Expr | None:
    """The point where an expression is 0, if it has the symbol in one part of one term only.

    Sums, products, powers, exponentials and logarithms are inverted from the outside in.
    """
    if core.is_Add:
        core = sp.collect(core, _parts_with(core, symbol))
    right = sp.S.Zero
    for _ in range(MAX_INVERTED_OPERATIONS):
        if core == symbol:
            return merge_powers(right)
        if core.is_Add or core.is_Mul:
            rest, inner = core.as_independent(symbol, as_Add=bool(core.is_Add))
            if inner.is_Add and core.is_Add or inner.is_Mul and core.is_Mul:
                return None
            right = right - rest if core.is_Add else right / rest
            core = inner
        elif core.is_Pow and symbol not in core.exp.free_symbols:
            right, core = right ** (1 / core.exp), core.base
        elif core.is_Pow and symbol not in core.base.free_symbols:
            right, core = sp.log(right) / sp.log(core.base), core.exp
        elif isinstance(core, sp.exp):
            right, core = sp.log(right), core.args[0]
        elif isinstance(core, sp.log):
            right, core = sp.exp(right), core.args[0]
        else:
            return None
        if right.has(sp.zoo, sp.nan, sp.oo):
            return None
    return None


def _parts_with(core: sp.Expr, symbol: sp.Symbol) -> list[sp.Expr]:
    """The factors with the symbol, for collecting a sum as coefficient·factor + constant."""
    factors = {f for term in core.args for f in sp.Mul.make_args(term) if symbol in f.free_symbols}
    return sorted(factors, key=str)


def _tidy(signs: Signs, e: sp.Expr) -> sp.Expr:
    """Multiplied out and like terms merged, where that makes it shorter."""
    e = merge_powers(e)
    if not e.is_Add:
        return e
    product_form = expand_products(signs, e)
    if product_form is None:
        return e
    short = product_form[0] * sp.Add(*product_form[1])
    return short if short.count_ops() < e.count_ops() else e
