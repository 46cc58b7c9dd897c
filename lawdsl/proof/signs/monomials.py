"""Products of powers: (base, exponent) factors, products with merged bases, expanded sums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import sympy as sp

from lawdsl.law.algebra import derivative, merge_powers
from lawdsl.proof.signs.interface import Signs
from lawdsl.proof.signs.sign import Sign

MAX_MONOMIALS = 200  # of one expanded sum
MAX_EXPONENT_OPERATIONS = 60  # operations of an exponent that is written as one fraction
MAX_EXPANDED_POWER = 4  # of a sum that is multiplied out


def powers(e: sp.Expr) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """The factors of a product as (base, exponent); exp(x) is e to the x."""
    for factor in sp.Mul.make_args(e):
        if isinstance(factor, sp.exp):
            yield sp.E, factor.args[0]
        elif factor.is_Pow:
            yield factor.base, factor.exp
        else:
            yield factor, sp.S.One


def merge_bases(signs: Signs, e: sp.Expr) -> sp.Expr:
    """A product with each base once, and powers of products split: x^a·(x·y)^b as x^(a + b)·y^b.

    Args:
        signs: the signs on the box.
        e: the expression.
    """
    exponents: dict[sp.Expr, list[sp.Expr]] = {}
    for base, exponent in _split_products(signs, powers(merge_powers(e))):
        exponents.setdefault(base, []).append(exponent)
    return sp.Mul(*(sp.Pow(b, _exponent(x)) for b, x in exponents.items()))


def _exponent(terms: list[sp.Expr]) -> sp.Expr:
    """The sum of exponents; sums in denominators are cancelled: a/(a + b) + b/(a + b) is 1."""
    total = sp.expand_mul(sp.Add(*terms))
    if not total.is_Add or total.count_ops() > MAX_EXPONENT_OPERATIONS:
        return total
    if any(p.exp.is_negative and p.base.is_Add for p in total.atoms(sp.Pow)):
        return sp.cancel(total) if total.is_rational_function() else total
    return total


def _split_products(
    signs: Signs, factors: Iterable[tuple[sp.Expr, sp.Expr]]
) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """(a·b^k)^x as a^x·b^(k·x), where a and b are positive.

    It is not enough that b^k is: (b^2)^(1/2) is -b for a negative b.
    """
    for base, exponent in factors:
        inner = list(powers(base))
        if len(inner) > 1 and all(signs.sign(b) == Sign.POSITIVE for b, _ in inner):
            yield from ((b, k * exponent) for b, k in inner)
        else:
            yield base, exponent


def expand_products(
    signs: Signs, e: sp.Expr, *, keep_parameter_sums: bool = False
) -> tuple[sp.Expr, list[sp.Expr]] | None:
    """A sum as (common factor, monomials with merged coefficients); None where there are too many.

    The common factor is positive. A sum raised to powers that differ by whole numbers (S^(a - 1)
    beside S^(a - 2)) is factored out with the least exponent, so that the other powers of it can be
    multiplied out. With `keep_parameter_sums`, sums of one sign without variables stay factors.

    Args:
        signs: the signs on the box.
        e: the expression.
        keep_parameter_sums: keep sums of one sign without variables as factors.
    """
    terms = [merge_bases(signs, term) for term in sp.Add.make_args(e)]
    outer = sp.S.One
    for base in _sums_under_powers(terms):
        exponents = [dict(powers(t)).get(base, sp.S.Zero) for t in terms]
        steps = [sp.expand_mul(x - exponents[0]) for x in exponents]
        if not all(step.is_Integer for step in steps) or signs.sign(base) != Sign.POSITIVE:
            continue
        least = exponents[0] + min(steps)
        # the other powers of the sum have exponents 0, 1, …, and can be multiplied out
        outer *= sp.Pow(base, least)
        terms = [merge_powers(t * sp.Pow(base, -least)) for t in terms]
    coefficients: dict[sp.Expr, sp.Expr] = {}
    for term in terms:
        for coefficient, monomial in _multiplied_out(signs, term, keep_parameter_sums):
            coefficients[monomial] = coefficients.get(monomial, sp.S.Zero) + coefficient
            if len(coefficients) > MAX_MONOMIALS:
                return None
    return outer, [c * m for m, c in coefficients.items() if c != 0]


def _sums_under_powers(terms: list[sp.Expr]) -> list[sp.Expr]:
    """The sums that occur in the terms under a power."""
    bases = {
        base: None
        for term in terms
        for base, exponent in powers(term)
        if base.is_Add and not (exponent.is_Integer and exponent > 0)
    }
    return list(bases)


def _multiplied_out(
    signs: Signs, term: sp.Expr, keep_parameter_sums: bool
) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """A product of sums as a sum of products: (number, monomial) pairs."""
    products = [sp.S.One]
    for base, exponent in powers(term):
        expands = base.is_Add and exponent.is_Integer and 0 < exponent <= MAX_EXPANDED_POWER
        if keep_parameter_sums and expands and not base.free_symbols & signs.box.variables:
            expands = not signs.sign(base).definite
        choices = list(base.args) if expands else [sp.Pow(base, exponent)]
        for _ in range(int(exponent) if expands else 1):
            if len(products) * len(choices) > MAX_MONOMIALS:
                yield sp.S.One, term
                return
            products = [p * c for p in products for c in choices]
    for product in products:
        yield merge_bases(signs, product).as_coeff_Mul()


def log_of_product(signs: Signs, product: sp.Expr) -> sp.Expr | None:
    """log Π b^x = Σ x·log(b); None where a base is not known to be positive.

    Args:
        signs: the signs on the box.
        product: the product.
    """
    terms = []
    for base, exponent in powers(product):
        if signs.sign(base) != Sign.POSITIVE:
            return None
        terms.append(exponent * sp.log(base))
    return sp.expand_mul(sp.Add(*terms))


def log_slope(signs: Signs, product: sp.Expr, symbol: sp.Symbol) -> sp.Expr:
    """∂log(product)/∂x for a symbol x, or a positive multiple of it: x·∂log(product)/∂x for x >= 0.

    The derivative of log(b^p) is p'·log(b) + p·b'/b. The multiple has a value at x = 0, too.

    Args:
        signs: the signs on the box.
        product: the product.
        symbol: the symbol.
    """
    total = []
    for base, exponent in powers(product):
        if symbol in exponent.free_symbols:
            total.append(derivative(exponent, symbol) * sp.log(base))
        if symbol in base.free_symbols:
            total.append(merge_powers(exponent * derivative(base, symbol) / base))
    if signs.sign(symbol).within(Sign.NONNEGATIVE):
        total = [merge_powers(symbol * part) for term in total for part in sp.Add.make_args(term)]
    return sp.Add(*total)
