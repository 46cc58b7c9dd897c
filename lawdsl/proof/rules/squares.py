"""Polynomials as sums of squares or as products; tried after rules that use the form of a sum."""

from __future__ import annotations

import sympy as sp

from lawdsl.proof.signs.interface import Signs
from lawdsl.proof.signs.sign import Sign, decided, multiply

MAX_FACTORED_DEGREE = 8  # of a polynomial that is factored
MAX_FACTORED_SYMBOLS = 6
MAX_FRACTION_OPERATIONS = 120  # operations of an expression that is written as one fraction


def by_square(signs: Signs, e: sp.Expr) -> Sign | None:
    """v'·Q·v = Σ d_i·(l_i'·v)^2 with Q = L·D·L', v = (1, x, y, …): >= 0 if all pivots d_i >= 0.

    For polynomials of degree 2. A pivot 0 is admitted where its row is 0 (Golub and Van Loan
    (2013), Matrix Computations, 4th ed., section 4.2).
    """
    symbols = sorted(e.free_symbols - signs.evaluated, key=str)
    poly = _polynomial(e, symbols)
    if poly is None or poly.total_degree() != 2:
        return None
    size = len(symbols) + 1
    matrix = sp.zeros(size, size)
    for exponents, c in poly.terms():
        indices = [0] * (2 - sum(exponents))
        for i, power in enumerate(exponents):
            indices += [i + 1] * power
        a, b = indices
        matrix[a, b] += c / 2
        matrix[b, a] += c / 2
    for sense in (1, -1):
        sign = _definite(signs, sense * matrix)
        if sign is not None:
            return sign if sense == 1 else -sign
    return None


def _definite(signs: Signs, matrix: sp.Matrix) -> Sign | None:
    """Symmetric elimination with the constant last: a positive last pivot bounds v'·Q·v from 0."""
    # the constant last: its pivot is the least value of the polynomial
    rows = [*range(1, matrix.rows), 0]
    matrix = matrix.extract(rows, rows)
    for i in range(matrix.rows):
        pivot = signs.sign(matrix[i, i])
        if pivot == Sign.ZERO:
            if any(matrix[i, j] != 0 for j in range(i + 1, matrix.rows)):
                return None
            continue
        if pivot != Sign.POSITIVE:
            return None
        for j in range(i + 1, matrix.rows):
            share = matrix[j, i] / matrix[i, i]
            for k in range(i + 1, matrix.rows):
                matrix[j, k] = sp.expand(matrix[j, k] - share * matrix[i, k])
    return Sign.POSITIVE if signs.sign(matrix[-1, -1]) == Sign.POSITIVE else Sign.NONNEGATIVE


def by_factors(signs: Signs, e: sp.Expr) -> Sign | None:
    """The sign of e = c·Π f_i^n_i/q as that of c·q·Π f_i^n_i, from the signs of the factors.

    The generators are symbols, and powers and functions that are not polynomials: exp(x), x^alpha.
    """
    if e.count_ops() > MAX_FRACTION_OPERATIONS:
        return None
    # polynomials in new symbols, since SymPy factors nothing else
    generators: dict[sp.Expr, sp.Dummy] = {}
    above, below = sp.together(_in_generators(e, generators)).as_numer_denom()
    symbols = sorted(above.free_symbols, key=str)
    poly = _polynomial(above, symbols)
    if poly is None:
        return Sign.ZERO if above.expand() == 0 else None
    original = {dummy: part for part, dummy in generators.items()}
    number, factors = sp.factor_list(poly)
    if (
        len(factors) == 1
        and factors[0][1] == 1
        and (below.is_number or e == above.xreplace(original))
    ):
        return None
    sign = multiply(signs.sign(number), signs.sign(below.xreplace(original)))
    for factor, power in factors:
        restored = factor.as_expr().xreplace(original)
        if power == 1 and restored == e:
            return None
        sign = multiply(sign, signs.sign(sp.Pow(restored, power)))
    return decided(sign)


def _in_generators(e: sp.Expr, generators: dict[sp.Expr, sp.Dummy]) -> sp.Expr:
    """The expression with a symbol for each part that is not rational."""
    if not e.args:
        return e
    rational = e.is_Add or e.is_Mul or (e.is_Pow and e.exp.is_Integer)
    if rational:
        return e.func(*(_in_generators(part, generators) for part in e.args))
    number, rest = (e.exp if e.is_Pow else e.args[0]).as_coeff_Mul()
    if (e.is_Pow or isinstance(e, sp.exp)) and number.is_Integer and number != 1:
        base = e.base**rest if e.is_Pow else sp.exp(rest)
        return generators.setdefault(base, sp.Dummy()) ** number
    return generators.setdefault(e, sp.Dummy())


def _polynomial(e: sp.Expr, symbols: list[sp.Symbol]) -> sp.Poly | None:
    if not 1 <= len(symbols) <= MAX_FACTORED_SYMBOLS or not e.is_polynomial(*symbols):
        return None
    poly = sp.Poly(e, *symbols)
    return poly if poly.total_degree() <= MAX_FACTORED_DEGREE else None
