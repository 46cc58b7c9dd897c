"""(expression, symbol -> target) -> limit, by rules for exponents and coefficients of known sign.

All symbols go to their targets at once: the limit is that along every path within the box, and so
also that of iterated limits. Each rule preserves this, because its operation is continuous at
finite values, or is an arithmetic rule of the extended reals (Rudin (1976), Principles of
Mathematical Analysis, 3rd ed., definition 1.23).

For one symbol alone, the forms oo - oo and 0·oo are resolved by leading terms (`asymptotics`).

A value is a finite expression, or SymPy's oo or -oo, or None where no rule applies.
"""

from __future__ import annotations

from collections.abc import Mapping

import sympy as sp

from lawdsl.core.functions import Function
from lawdsl.law.algebra import merge_powers
from lawdsl.law.functions import ROWS, limit_at
from lawdsl.proof.signs.asymptotics import limit_of
from lawdsl.proof.signs.interface import Signs
from lawdsl.proof.signs.sign import Sign

Targets = Mapping[sp.Symbol, sp.Expr]


def at_infinity(signs: Signs, e: sp.Expr, symbol: sp.Symbol, direction: int) -> sp.Expr | None:
    """The limit of e as a symbol goes to infinity, if it is finite; None otherwise.

    Args:
        signs: the signs on the box.
        e: the expression.
        symbol: the symbol.
        direction: 1 for oo, -1 for -oo.
    """
    value = limit(signs, e, {symbol: sp.oo if direction > 0 else -sp.oo})
    return None if value is None or value.is_infinite else value


def at_zero(signs: Signs, e: sp.Expr, symbol: sp.Symbol) -> sp.Expr | None:
    """The limit of e as a positive symbol goes to 0, if it is finite; None otherwise.

    Args:
        signs: the signs on the box.
        e: the expression.
        symbol: the symbol.
    """
    value = limit(signs, e, {symbol: sp.S.Zero})
    return None if value is None or value.is_infinite else value


def limit(signs: Signs, e: sp.Expr, targets: Targets) -> sp.Expr | None:
    """The limit of e as symbols go to values, or to ±oo, within the box; None where not known.

    Args:
        signs: the signs on the box.
        e: the expression.
        targets: symbol -> the value that it goes to.
    """
    value = _by_rules(signs, e, targets)
    if value is None and len(targets) == 1:
        value = _by_leading_term(signs, e, targets)
    # by parts last: what cancels between terms, oo - oo, is lost there
    return _by_parts(signs, e, targets) if value is None else value


def _by_parts(signs: Signs, e: sp.Expr, targets: Targets) -> sp.Expr | None:
    """The limit of a sum, term by term, and of a bounded factor times one that goes to 0.

    |b·f| <= B·|f| -> 0 if f -> 0. A constant factor may be 0 if the others have a finite limit.
    """
    moving = set(targets)
    if e.is_Mul:
        fixed, rest = e.as_independent(*moving, as_Add=False)
        if fixed != 1 and not rest.is_number:
            value = limit(signs, rest, targets) if signs.finite(fixed) else None
            return None if value is None else _product(signs, [fixed, value])
        bounded = [f for f in e.args if _is_bounded(signs, f)]
        if bounded and limit(signs, sp.Mul(*(f for f in e.args if f not in bounded)), targets) == 0:
            return sp.S.Zero
    # multiplied out, as the limits of a sum's terms may exist where those of its factors do not
    terms = sp.Add.make_args(sp.expand_mul(e))
    if len(terms) == 1:
        return None
    return _sum([limit(signs, term, targets) for term in terms])


def _is_bounded(signs: Signs, e: sp.Expr) -> bool:
    """Whether its form shows that an expression is bounded on the whole box: sin(x), tanh(x)^2."""
    if e.is_Pow and e.exp.is_Integer and e.exp.is_positive:
        return _is_bounded(signs, e.base)
    row = ROWS.get(type(e))
    return row is not None and None not in row.range and signs.finite(e)


def _by_leading_term(signs: Signs, e: sp.Expr, targets: Targets) -> sp.Expr | None:
    """The limit of the leading term in one symbol."""
    ((symbol, to),) = targets.items()
    if to == sp.oo or to.is_zero and signs.sign(symbol) == Sign.POSITIVE:
        return limit_of(signs, e, symbol, at_zero=to != sp.oo)
    domain = signs.box.range(symbol)
    for end, side in ((domain.lower, 1), (domain.upper, -1)):
        if end is not None and end.value == to:
            distance = sp.Dummy("t", positive=True)
            substituted = merge_powers(e.xreplace({symbol: to + side * distance}))
            return limit_of(signs, substituted, distance, at_zero=True)
    return None


def _by_rules(signs: Signs, e: sp.Expr, targets: Targets) -> sp.Expr | None:
    """The limit by those of the parts; None for a form without a rule."""
    if e in targets:
        return targets[e]
    if not e.free_symbols & set(targets):
        return e if signs.finite(e) else None
    if e.is_Add:
        terms = [_by_rules(signs, term, targets) for term in e.args]
        return _infinite_sum(signs, e, terms) or _sum(terms)
    if e.is_Mul:
        return _product(signs, [_by_rules(signs, factor, targets) for factor in e.args])
    if e.is_Pow:
        base, exponent = (_by_rules(signs, part, targets) for part in e.args)
        return _power(signs, e, base, exponent)
    if type(e) in ROWS:
        inside = _by_rules(signs, e.args[0], targets)
        return None if inside is None else _function(signs, e, ROWS[type(e)], inside)
    return None


def _infinite_sum(signs: Signs, e: sp.Expr, terms: list[sp.Expr | None]) -> sp.Expr | None:
    """oo, where a term goes to oo and the terms without a known limit are not negative; or -oo."""
    for infinite, side in ((sp.oo, Sign.NONNEGATIVE), (-sp.oo, Sign.NONPOSITIVE)):
        unknown = [t for t, to in zip(e.args, terms, strict=True) if to is None]
        if infinite in terms and -infinite not in terms and unknown:
            if all(signs.sign(t).within(side) for t in unknown):
                return infinite
    return None


def _sum(terms: list[sp.Expr | None]) -> sp.Expr | None:
    """A finite sum, or the infinity that its terms agree on; oo - oo has no rule."""
    if any(term is None for term in terms):
        return None
    infinite = {term for term in terms if term is not None and term.is_infinite}
    if len(infinite) > 1:
        return None
    return infinite.pop() if infinite else sp.Add(*terms)


def _product(signs: Signs, factors: list[sp.Expr | None]) -> sp.Expr | None:
    """A finite product, or infinity times a factor of definite sign; 0·oo has no rule."""
    if any(factor is None for factor in factors):
        return None
    finite = sp.Mul(*(f for f in factors if f is not None and not f.is_infinite))
    infinite = [f for f in factors if f is not None and f.is_infinite]
    if not infinite:
        return merge_powers(finite)
    direction = sp.Mul(*(sp.S.One if f == sp.oo else -sp.S.One for f in infinite))
    sign = signs.sign(finite)
    if not sign.definite:
        return None
    return sp.oo * direction * (1 if sign == Sign.POSITIVE else -1)


def _power(
    signs: Signs, e: sp.Expr, base: sp.Expr | None, exponent: sp.Expr | None
) -> sp.Expr | None:
    if base is None or exponent is None:
        return None
    if exponent.is_infinite:
        return _exponential(signs, base, exponent)
    if base.is_infinite or base.is_zero:
        return _of_extreme_base(signs, e, base, signs.sign(exponent))
    if signs.sign(base) == Sign.POSITIVE and signs.finite(exponent):
        return sp.Pow(base, exponent)
    if e.exp.is_Integer and (e.exp.is_positive or signs.sign(base).within(Sign.NONZERO)):
        return sp.Pow(base, e.exp) if signs.finite(base) else None
    return None


def _exponential(signs: Signs, base: sp.Expr, exponent: sp.Expr) -> sp.Expr | None:
    """b^x for x -> ±oo: b > 1 grows without bound, 0 < b < 1 vanishes; 1^oo has no rule."""
    if base.is_infinite:
        return None
    over = signs.sign(base - 1)
    if over == Sign.NEGATIVE and signs.sign(base) == Sign.POSITIVE:
        return sp.S.Zero if exponent == sp.oo else sp.oo
    if over == Sign.POSITIVE:
        return sp.oo if exponent == sp.oo else sp.S.Zero
    return None


def _of_extreme_base(signs: Signs, e: sp.Expr, base: sp.Expr, exponent: Sign) -> sp.Expr | None:
    """x^y for x -> ±oo or 0; oo^0 and 0^0 have no rule, nor 0^-1 where x may have either sign."""
    if base == -sp.oo:
        integer = e.exp.is_Integer
        return (base**e.exp if e.exp > 0 else sp.S.Zero) if integer else None
    if exponent == (Sign.POSITIVE if base == sp.oo else Sign.NEGATIVE):
        return sp.oo if base == sp.oo or signs.sign(e.base) == Sign.POSITIVE else None
    if exponent.definite:
        return sp.S.Zero
    return None


def _function(signs: Signs, e: sp.Expr, row: Function, inside: sp.Expr) -> sp.Expr | None:
    """f(lim u) by continuity; a monotone f tends to the ends of its range."""
    if row.steps is not None and not signs.sign(inside).within(Sign.NONZERO):
        return _on_one_side(signs, row, e.args[0], inside)
    if not inside.is_infinite:
        value = e.func(inside, *e.args[1:])
        if signs.finite(value):
            return value
        # log has a limit at the edge of its domain, though no value
        at_edge = row.domain == "positive" and inside.is_zero
        if at_edge and row.monotone and signs.sign(e.args[0]) == Sign.POSITIVE:
            return limit_at(type(e), -1)
        return None
    if row.monotone and (inside == sp.oo or row.domain == "all"):
        return limit_at(type(e), 1 if inside == sp.oo else -1)
    if isinstance(e, sp.Abs):
        return sp.oo
    return None


def _on_one_side(signs: Signs, row: Function, argument: sp.Expr, inside: sp.Expr) -> sp.Expr | None:
    """A step of an argument that goes to infinity, or to 0 from one side: it has no value at 0."""
    assert row.steps is not None
    if inside.is_infinite:
        return sp.Integer(row.steps[1 if inside == sp.oo else 0])
    side = signs.sign(argument)
    if not inside.is_zero or not side.definite:
        return None
    return sp.Integer(row.steps[1 if side == Sign.POSITIVE else 0])
