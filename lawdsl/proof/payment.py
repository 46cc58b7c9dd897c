"""Sums with terms of both signs: a bad term is paid for by a good one.

Each term is a monomial: a number times powers of positive things, the exponents any expressions.
The ratio of a bad to a good term is such a monomial again; where it is monotone in each symbol, it
is largest at a corner of the box, and if it is at most 1 there, the good term outweighs the bad.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import sympy as sp

from lawdsl.formulas import text
from lawdsl.law import derivative, merge_powers
from lawdsl.proof.signs import Sign, Signs

TERMS = 200  # monomials of one sum


@dataclass(frozen=True)
class Largest:
    """The supremum of a ratio: its value, whether the box contains the corner, and the corner."""

    value: sp.Expr
    attained: bool
    corner: tuple[tuple[sp.Symbol, sp.Expr], ...]


def paid(signs: Signs, e: sp.Expr) -> Sign | None:
    """The sign of a sum whose terms pay for one another, or None."""
    outer, terms = expanded(signs, e)
    if not terms:
        return None
    outside = signs.sign(outer)
    inside = _of_terms(signs, terms, telling=e == signs.telling)
    if inside is None or not outside.within(Sign.NONZERO) or outside == Sign.NONZERO:
        return None
    return inside if outside == Sign.POSITIVE else -inside


def _of_terms(signs: Signs, terms: list[sp.Expr], telling: bool) -> Sign | None:
    found = [signs.sign(term) for term in terms]
    if all(f.within(Sign.NONNEGATIVE) for f in found) or all(
        f.within(Sign.NONPOSITIVE) for f in found
    ):
        negative = any(Sign.NEGATIVE in f for f in found)
        strict = any(f in (Sign.POSITIVE, Sign.NEGATIVE) for f in found)
        sign = Sign.POSITIVE if strict else Sign.NONNEGATIVE
        return -sign if negative else sign
    if any(Sign.POSITIVE in f and Sign.NEGATIVE in f for f in found):
        return None
    good = [(t, f) for t, f in zip(terms, found, strict=True) if f.within(Sign.NONNEGATIVE)]
    bad = [(t, f) for t, f in zip(terms, found, strict=True) if not f.within(Sign.NONNEGATIVE)]
    sign = _settle(signs, good, bad, telling)
    if sign is None:
        sign = _settle(signs, [(-t, -f) for t, f in bad], [(-t, -f) for t, f in good], telling)
        sign = None if sign is None else -sign
    return sign


def _settle(
    signs: Signs,
    good: list[tuple[sp.Expr, Sign]],
    bad: list[tuple[sp.Expr, Sign]],
    telling: bool,
) -> Sign | None:
    """Pay every bad (negative) term with a good one of its own; the sum is then nonnegative."""
    free = list(good)
    strict = False
    notes = []
    for term, _ in bad:
        for candidate in free:
            top = largest(signs, -term / candidate[0])
            if top is None:
                continue
            left = signs.sign(merge_powers(1 - top.value))
            if left.within(Sign.NONNEGATIVE):
                over = left == Sign.POSITIVE or not top.attained
                strict = strict or (over and candidate[1] == Sign.POSITIVE)
                free.remove(candidate)
                notes.append(_told(-term, candidate[0], top))
                break
        else:
            return None
    if telling:
        signs.notes += notes
    strict = strict or any(f == Sign.POSITIVE for _, f in free)
    return Sign.POSITIVE if strict else Sign.NONNEGATIVE


def _told(bad: sp.Expr, good: sp.Expr, top: Largest) -> str:
    place = ", ".join(f"{s} = {text(at)}" for s, at in top.corner)
    where = f", largest at {place}" if place else ""
    return f"{text(bad)} <= {text(good)}: their ratio is at most {text(top.value)}{where}"


def largest(
    signs: Signs, ratio: sp.Expr, only: Iterable[sp.Symbol] | None = None
) -> Largest | None:
    """The supremum of a positive monomial over the box.

    Args:
        signs: of the box.
        ratio: a product of powers of positive things.
        only: the symbols to move; all that may be moved when None.

    Returns:
        The supremum as an expression in the symbols that did not have to be moved, or None where
        one that moves has no finite end to go to.
    """
    ratio = merge_powers(_split_powers(signs, ratio))
    corner: list[tuple[sp.Symbol, sp.Expr]] = []
    attained = True
    for symbol in signs.movable(ratio):
        if (only is not None and symbol not in only) or symbol not in ratio.free_symbols:
            continue
        slope = _log_slope(ratio, symbol)
        if signs.sign(symbol).within(Sign.NONNEGATIVE):
            slope = _times(symbol, slope)  # so that it has a value where the symbol is 0
        if slope.is_zero:
            continue
        sign = signs.sign(slope)
        domain = signs.box.range(symbol)
        if sign.within(Sign.NONNEGATIVE):
            end = domain.upper
        elif sign.within(Sign.NONPOSITIVE):
            end = domain.lower
        else:
            continue
        if end is None:
            continue
        moved = merge_powers(ratio.xreplace({symbol: end.at}))
        if moved.has(sp.zoo, sp.nan, sp.oo):
            continue
        ratio = moved
        # an open end is not reached, unless the ratio may stay level on the way to it
        attained = attained and (end.closed or Sign.ZERO in sign)
        corner.append((symbol, end.at))
    wanted = set(only) if only is not None else set()
    if wanted & ratio.free_symbols or not signs.finite(ratio):
        return None
    return Largest(ratio, attained, tuple(corner))


def _log_slope(ratio: sp.Expr, symbol: sp.Symbol) -> sp.Expr:
    """The derivative of log(ratio): base^exponent gives exponent'·log(base) + exponent·base'/base."""
    total = []
    for base, exponent in powers(ratio):
        if symbol in exponent.free_symbols:
            total.append(derivative(exponent, symbol) * sp.log(base))
        if symbol in base.free_symbols:
            total.append(merge_powers(exponent * derivative(base, symbol) / base))
    return sp.Add(*total)


def _times(symbol: sp.Symbol, e: sp.Expr) -> sp.Expr:
    return sp.Add(*(merge_powers(symbol * term) for term in sp.Add.make_args(e)))


def powers(e: sp.Expr) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """The factors of a product as (base, exponent)."""
    for factor in sp.Mul.make_args(e):
        if isinstance(factor, sp.exp):
            yield sp.E, factor.args[0]
        elif factor.is_Pow:
            yield factor.base, factor.exp
        else:
            yield factor, sp.S.One


def _split_powers(signs: Signs, e: sp.Expr) -> sp.Expr:
    """(a·b)^x as a^x·b^x wherever all the factors are positive on the box."""
    parts = []
    for base, exponent in powers(e):
        factors = sp.Mul.make_args(base)
        if len(factors) > 1 and all(signs.sign(f) == Sign.POSITIVE for f in factors):
            parts += [sp.Pow(inner, sp.expand_mul(k * exponent)) for inner, k in powers(base)]
        else:
            parts.append(sp.Pow(base, exponent))
    return sp.Mul(*parts)


def expanded(signs: Signs, e: sp.Expr) -> tuple[sp.Expr, list[sp.Expr]]:
    """A sum as (common factor, monomials), like ones merged; no monomials where there are too many.

    A sum raised to powers that differ by whole numbers (S^(a - 1) beside S^(a - 2)) is taken out as
    far as it goes, so that what remains of it can be multiplied out.
    """
    terms = [merge_powers(_split_powers(signs, t)) for t in sp.Add.make_args(e)]
    outer = sp.S.One
    for base in _composite(terms):
        exponents = [dict(powers(t)).get(base, sp.S.Zero) for t in terms]
        steps = [sp.expand_mul(x - exponents[0]) for x in exponents]
        if not all(step.is_Integer for step in steps) or signs.sign(base) != Sign.POSITIVE:
            continue
        least = exponents[0] + min(steps)
        outer *= sp.Pow(base, least)
        terms = [merge_powers(t * sp.Pow(base, -least)) for t in terms]
    merged: dict[sp.Expr, sp.Expr] = {}
    for term in terms:
        for coefficient, monomial in _multiplied_out(signs, term):
            merged[monomial] = merged.get(monomial, sp.S.Zero) + coefficient
            if len(merged) > TERMS:
                return outer, []
    return outer, [c * m for m, c in merged.items() if c != 0]


def _composite(terms: list[sp.Expr]) -> list[sp.Expr]:
    """The sums that stand in the terms under a power."""
    found = {
        base: None
        for term in terms
        for base, exponent in powers(term)
        if base.is_Add and not (exponent.is_Integer and exponent > 0)
    }
    return list(found)


def _multiplied_out(signs: Signs, term: sp.Expr) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """A product of sums as a sum of products: (number, monomial) pairs."""
    products = [sp.S.One]
    for base, exponent in powers(term):
        whole = exponent.is_Integer and 0 < exponent <= 4
        choices = list(base.args) if base.is_Add and whole else [sp.Pow(base, exponent)]
        for _ in range(int(exponent) if base.is_Add and whole else 1):
            if len(products) * len(choices) > TERMS:
                yield sp.S.One, term
                return
            products = [p * c for p in products for c in choices]
    for product in products:
        flat = merge_powers(_split_powers(signs, product))
        coefficient, rest = flat.as_coeff_Mul()
        yield coefficient, sp.Mul(*(sp.Pow(b, sp.expand_mul(x)) for b, x in powers(rest)))
