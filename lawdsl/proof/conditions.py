"""Under which condition on the parameters a claim holds.

The condition comes out of the same steps that prove: one factor of unknown sign, or one bad term
against one good one, bounded over the variables; what is left is an inequality between parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from lawdsl.formulas import text
from lawdsl.law import derivative, merge_powers
from lawdsl.proof.payment import expanded, largest
from lawdsl.proof.signs import Sign, Signs


@dataclass(frozen=True)
class Condition:
    """`positive > 0` is what the parameters must satisfy; `strict` as the inequality has it.

    `exact` says that it is necessary too; `shown` is the inequality as text.
    """

    positive: sp.Expr
    strict: bool
    exact: bool
    shown: str
    steps: tuple[str, ...]


def condition_for(signs: Signs, e: sp.Expr, strict: bool) -> Condition | None:
    """A condition on the parameters under which e > 0 (or e >= 0) on the whole box, or None."""
    found = _of_factor(signs, e, strict) or _of_payment(signs, e, strict)
    if found is None or found.positive.free_symbols & signs.box.variables:
        return None
    if signs.sign(found.positive).within(Sign.NONPOSITIVE if found.strict else Sign.NEGATIVE):
        return None  # no admissible parameters satisfy it
    return found


def _of_factor(signs: Signs, e: sp.Expr, strict: bool) -> Condition | None:
    """e is a product of which only one part has an unknown sign."""
    unknown, known = [], []
    for factor in sp.Mul.make_args(e):
        (known if signs.sign(factor) in (Sign.POSITIVE, Sign.NEGATIVE) else unknown).append(factor)
    outside = signs.sign(sp.Mul(*known))
    if not unknown or outside not in (Sign.POSITIVE, Sign.NEGATIVE):
        return None
    inner = sp.Mul(*unknown)
    if not signs.finite(inner):
        return None
    wanted = inner if outside == Sign.POSITIVE else -inner
    varies = wanted.free_symbols & signs.box.variables
    least = _least(signs, sp.expand_mul(wanted) if varies else wanted)
    if least is None:
        return None
    value, attained = least
    inequality = strict and attained
    steps = [f"all factors but {text(inner)} are {outside.name.lower()}"]  # type: ignore[union-attr]
    return Condition(value, inequality, signs.box.exact, _shown(value, inequality), tuple(steps))


def _least(signs: Signs, e: sp.Expr) -> tuple[sp.Expr, bool] | None:
    """The infimum of e over the variables, and whether it is attained."""
    attained = True
    for symbol in sorted(e.free_symbols & signs.box.variables, key=str):
        slope = signs.sign(derivative(e, symbol))
        domain = signs.box.range(symbol)
        if slope.within(Sign.NONNEGATIVE):
            end = domain.lower
        elif slope.within(Sign.NONPOSITIVE):
            end = domain.upper
        else:
            return None
        if end is None or (not end.closed and Sign.ZERO in slope):
            return None
        e = merge_powers(e.xreplace({symbol: end.at}))
        attained = attained and end.closed
    return (e, attained) if signs.finite(e) else None


def _of_payment(signs: Signs, e: sp.Expr, strict: bool) -> Condition | None:
    """e is one good and one bad term: the largest ratio of them must be below 1."""
    outer, terms = expanded(signs, e)
    outside = signs.sign(outer)
    if len(terms) != 2 or outside not in (Sign.POSITIVE, Sign.NEGATIVE):
        return None
    if outside == Sign.NEGATIVE:
        terms = [-t for t in terms]
    by_sign = {signs.sign(term): term for term in terms}
    good, bad = by_sign.get(Sign.POSITIVE), None
    for sign, term in by_sign.items():
        if sign.within(Sign.NONPOSITIVE):
            bad = -term
    if good is None or bad is None:
        return None
    top = largest(signs, bad / good, only=signs.box.variables)
    if top is None:
        return None
    numerator, denominator = _fraction(top.value)
    value = denominator - numerator
    inequality = strict and top.attained
    place = ", ".join(f"{s} = {text(at)}" for s, at in top.corner)
    step = f"{text(bad)} against {text(good)}: their ratio is largest at {place}"
    shown = f"{text(numerator)} {'<' if inequality else '<='} {text(denominator)}"
    return Condition(value, inequality, signs.box.exact, shown, (step,))


def _fraction(ratio: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """A positive monomial as numerator and denominator, each exponent kept positive where it can be."""
    above, below = [], []
    for factor in sp.Mul.make_args(ratio):
        base, exponent = factor.as_base_exp()
        if exponent.could_extract_minus_sign():
            below.append(sp.Pow(base, -exponent))
        else:
            above.append(factor)
    return sp.Mul(*above), sp.Mul(*below)


def _shown(value: sp.Expr, strict: bool) -> str:
    """`value > 0` with the subtracted terms on the other side: sigma < D_min."""
    if not value.is_Add:
        if value.could_extract_minus_sign():
            return f"{text(-value)} {'<' if strict else '<='} 0"
        return f"{text(value)} {'>' if strict else '>='} 0"
    more = [t for t in value.args if not t.could_extract_minus_sign()]
    less = [-t for t in value.args if t.could_extract_minus_sign()]
    left, right = sp.Add(*less), sp.Add(*more)
    if left.is_number and not right.is_number:
        return f"{text(right)} {'>' if strict else '>='} {text(left)}"
    return f"{text(left)} {'<' if strict else '<='} {text(right)}"
