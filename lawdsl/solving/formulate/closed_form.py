"""Equation in one unknown -> its root in closed form, for sums of two terms and invertible terms.

c1 x^p = c2 x^q gives x = (c2/c1)^(1/(p - q)); a sum with one term that contains the unknown is
solved for that term, and the term is inverted. A formula is only a candidate, because it may be a
root of another branch: it is used if it agrees with a numerically certified root.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import sympy as sp

from lawdsl.core.time_limit import OutOfTime, time_limit
from lawdsl.law.algebra import is_of_sympy, merge_powers

MAX_DEPTH = 30  # nested operations around an unknown that are inverted
# Size of a number in a formula: a larger one makes the formula too long to read.
MAX_COEFFICIENT_BITS = 1000
ALGEBRA_TIME_LIMIT = 1.0  # s of CPU time for one formula

Result = TypeVar("Result")


def try_algebra(make: Callable[[], Result]) -> Result | None:
    """Run an algebraic computation; None if it exceeds its time limit or fails inside SymPy.

    Closed forms supplement an answer that is certified numerically, so a failure of algebra must
    not prevent the answer.

    Raises:
        Exception: an error that does not come from SymPy.
    """
    try:
        with time_limit(ALGEBRA_TIME_LIMIT):
            return make()
    except (OutOfTime, MemoryError, ArithmeticError, ValueError):
        return None
    # SymPy raises many types of errors; only those raised in its own code are suppressed
    except Exception as error:
        if is_of_sympy(error):
            return None
        raise


def isolate(equation: sp.Expr, unknown: sp.Symbol) -> sp.Expr | None:
    """Solve expression = 0 for an unknown, on one branch.

    Args:
        equation: an expression that is to be 0.
        unknown: the symbol to solve for.

    Returns:
        A root as a formula without the unknown; None if none is derived. Other roots may exist.
    """
    return _finite_root(equation, unknown, None)


def unique_root(
    equation: sp.Expr, unknown: sp.Symbol
) -> tuple[sp.Expr, tuple[sp.Expr, ...]] | None:
    """Solve expression = 0 for an unknown, if the formula covers all real roots.

    sqrt(x) does not qualify for y^2 = x, which has the root -sqrt(x) too, unless y >= 0 is known.

    Args:
        equation: an expression that is to be 0.
        unknown: the symbol to solve for.

    Returns:
        The formula, and expressions: the formula is a root if it is real and none of these is
        negative, such as x for y^0.5 = x. None if no such formula is derived.
    """
    needs: list[sp.Expr] = []
    formula = _finite_root(equation, unknown, needs)
    return None if formula is None else (formula, tuple(needs))


def _finite_root(
    equation: sp.Expr, unknown: sp.Symbol, needs: list[sp.Expr] | None
) -> sp.Expr | None:
    formula = try_algebra(lambda: _root_of_sum(equation, unknown, MAX_DEPTH, needs))
    if formula is None or formula.has(sp.nan, sp.zoo, sp.oo, sp.I):
        return None
    return formula


def flatten_powers(expression: sp.Expr) -> sp.Expr:
    """Powers of products and quotients as products of powers, each base once."""
    return merge_powers(sp.expand_power_base(expression))


def _root_of_sum(
    equation: sp.Expr, x: sp.Symbol, depth: int, nonnegative: list[sp.Expr] | None
) -> sp.Expr | None:
    """Solve a sum for the unknown; with a list, only if no other root is missed, and conditions are
    appended to it as expressions that must not be negative.
    """
    if not depth:
        return None
    groups: dict[sp.Expr, sp.Expr] = {}
    if equation.is_polynomial(x):  # L0*(1 + T)
        equation = sp.expand(equation, power_exp=False, power_base=False, log=False)
    for term in sp.Add.make_args(flatten_powers(equation)):
        factor, term_in_x = term.as_independent(x, as_Add=False)
        groups[term_in_x] = groups.get(term_in_x, sp.S.Zero) + factor
    groups = {term_in_x: sp.factor_terms(factor) for term_in_x, factor in groups.items()}
    constant = groups.pop(sp.S.One, sp.S.Zero)
    groups = {term_in_x: factor for term_in_x, factor in groups.items() if factor != 0}
    if len(groups) == 1:
        ((term_in_x, factor),) = groups.items()
        if factor.could_extract_minus_sign():
            constant, factor = -constant, -factor
        if nonnegative is not None and not (factor.is_nonzero or constant.is_nonzero):
            return None  # if both are 0, every value is a root
        return _invert_term(term_in_x, -constant / factor, x, depth - 1, nonnegative)
    if len(groups) == 2 and constant == 0:
        (one, a), (other, b) = groups.items()
        if nonnegative is not None and not (other.is_nonzero and (a.is_nonzero or b.is_nonzero)):
            return None
        return _invert_term(flatten_powers(one / other), -b / a, x, depth - 1, nonnegative)
    return None


def _invert_term(
    term: sp.Expr, value: sp.Expr, x: sp.Symbol, depth: int, nonnegative: list[sp.Expr] | None
) -> sp.Expr | None:
    """The unknown at which a term that contains it has a given value."""
    if term == x:
        return value
    if not depth:
        return None
    if term.is_Add:
        return _root_of_sum(term - value, x, depth - 1, nonnegative)
    if term.is_Mul:
        factor, rest = term.as_independent(x, as_Add=False)
        if factor == 1 or (nonnegative is not None and not factor.is_nonzero):
            return None
        return _invert_term(rest, value / factor, x, depth - 1, nonnegative)
    if isinstance(term, sp.exp):
        return _invert_term(term.args[0], sp.log(value), x, depth - 1, nonnegative)
    if isinstance(term, sp.log):
        return _invert_term(term.args[0], sp.exp(value), x, depth - 1, nonnegative)
    if term.is_Pow:
        base, exponent = term.args
        if not exponent.has(x):
            if _exceeds_bits(value, 1 / exponent):
                return None
            if nonnegative is not None and not _is_unique_power_root(
                base, exponent, value, nonnegative
            ):
                return None
            return _invert_term(base, sp.Pow(value, 1 / exponent), x, depth - 1, nonnegative)
        if not base.has(x):
            if nonnegative is not None and not (base.is_positive and (base - 1).is_nonzero):
                return None
            return _invert_term(exponent, sp.log(value) / sp.log(base), x, depth - 1, nonnegative)
    return None


def _is_unique_power_root(
    base: sp.Expr, exponent: sp.Expr, value: sp.Expr, nonnegative: list[sp.Expr]
) -> bool:
    """Whether base^exponent = value has the one real solution base = value^(1/exponent), given that
    the expressions appended to `nonnegative` are not negative."""
    if exponent in (1, -1):
        return True
    if not exponent.is_nonzero or not (base.is_nonnegative or exponent.is_integer is False):
        return (
            False  # y^2 has two roots; that of y^3 may be negative, for which float64 has no power
        )
    if (1 / exponent).is_even is not False and not value.is_nonnegative:
        nonnegative.append(value)  # x^2 is not a root of y^0.5 = x if x < 0
    return True


def _exceeds_bits(value: sp.Expr, exponent: sp.Expr) -> bool:
    """Whether SymPy would evaluate a power to more than `MAX_COEFFICIENT_BITS` bits."""
    number, _ = value.as_coeff_Mul()
    if not (exponent.is_Rational and number.is_Rational):
        return False
    bits = max(number.p.bit_length(), number.q.bit_length())
    return bool(number not in (0, 1, -1) and abs(exponent) * bits > MAX_COEFFICIENT_BITS)


def tidy_powers(formula: sp.Expr, separate_symbols: Iterable[sp.Symbol] = ()) -> sp.Expr:
    """Collect powers with equal exponents in a product: G·(C/k)^a.

    Args:
        formula: a product of powers.
        separate_symbols: symbols whose powers are not combined with those of others: the givens.

    Returns:
        An expression equal to the formula for positive bases.
    """
    separate = set(separate_symbols)
    groups: dict[tuple[sp.Expr, bool], sp.Expr] = {}
    rest = sp.S.One
    for base, exponent in flatten_powers(formula).as_powers_dict().items():
        if not base.is_positive:
            rest *= sp.Pow(base, exponent)
            continue
        is_separate = bool(base.free_symbols & separate)
        over, under = sp.factor(exponent).as_numer_denom()
        if over.could_extract_minus_sign():
            base, over = 1 / base, -over
        key = (over / under, True) if is_separate else (1 / under, False)
        groups[key] = groups.get(key, sp.S.One) * (base if is_separate else sp.Pow(base, over))
    for (power, is_separate), base in list(groups.items()):
        # a number next to a given: C/6
        if not is_separate and not base.free_symbols and power != 1:
            beside = next(
                (k for k in groups if k[1] and k[0].as_numer_denom()[1] == 1 / power), None
            )
            if beside is not None:
                groups[beside] *= sp.Pow(groups.pop((power, is_separate)), power / beside[0])
    return rest * sp.Mul(*(sp.Pow(base, power) for (power, _), base in groups.items()))
