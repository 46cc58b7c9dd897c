"""(expression, signs) -> the condition on the parameters under which the expression is positive.

The condition results from the same steps as a proof: one factor of unknown sign, or one negative
term against one positive term, bounded over the variables, gives an inequality between parameters.

It is sufficient, because the bound holds at all points. It is necessary too (`exact`) where the
bound is the infimum over the variables: where the inequality fails, the claim fails at the corner
at which the infimum is attained, or arbitrarily near to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from lawdsl.law.algebra import derivative, merge_powers
from lawdsl.law.text import text
from lawdsl.proof.rules.dominance import supremum
from lawdsl.proof.signs.interface import Signs
from lawdsl.proof.signs.limits import limit
from lawdsl.proof.signs.monomials import expand_products, powers
from lawdsl.proof.signs.sign import Sign, multiply


@dataclass(frozen=True)
class ParameterCondition:
    """The relation `positive > 0` that the parameters must satisfy; not strict: `positive >= 0`.

    `exact`: whether it is necessary too; `inequality`: the relation as text; `steps`: its proof.
    """

    positive: sp.Expr
    strict: bool
    exact: bool
    inequality: str
    steps: tuple[str, ...]


@dataclass(frozen=True)
class _SufficientBound:
    """The claim follows from `positive > 0` (not strict: `>= 0`); `tight`: and only from that."""

    positive: sp.Expr
    strict: bool
    tight: bool
    inequality: str
    step: str | None


def condition_for(
    signs: Signs, e: sp.Expr, strict: bool, *, sense: int = 1
) -> ParameterCondition | None:
    """A condition on the parameters under which e > 0 (or e >= 0) on the whole box, or None.

    Args:
        signs: the signs on the box.
        e: the expression, in independent symbols.
        strict: whether the inequality is strict.
        sense: 1 or -1; the steps are about sense*e, the quantity of the claim.
    """
    box = signs.box
    split = _unknown_factor(signs, e)
    if split is None:
        return None
    inner, outside = split
    if not signs.finite(inner):
        return None
    positive = inner if outside == Sign.POSITIVE else -inner
    shown = inner if inner != e else sense * e  # the expression that the steps describe
    signs.displacing += 1  # each of these varies one symbol at a time
    try:
        bound = (
            _by_dominance(signs, positive, strict)
            or _by_coefficient(signs, positive, strict, 1 if positive == shown else -1)
            or _by_least(signs, positive, strict)
        )
    finally:
        signs.displacing -= 1
    # a condition on parameters must not name a variable
    if bound is None or bound.positive.free_symbols & box.variables:
        return None
    if signs.sign(bound.positive).within(Sign.NONPOSITIVE if bound.strict else Sign.NEGATIVE):
        return None  # no admissible parameters satisfy it
    inequality = bound.inequality
    if bound.positive.free_symbols & set(box.meaning):
        inequality = min(inequality, _in_declared_terms(signs, bound), key=len)
    exact = bound.tight and not box.ragged and not positive.free_symbols & set(box.lets)
    steps = [bound.step] if bound.step else []
    if inner != e:
        others = outside if sense == 1 else -outside
        steps.insert(
            0, f"the product of all factors but {text(inner)} is {str(others.name).lower()}"
        )
    return ParameterCondition(bound.positive, bound.strict, exact, inequality, tuple(steps))


def _unknown_factor(signs: Signs, e: sp.Expr) -> tuple[sp.Expr, Sign] | None:
    """The factors of a product whose sign is not known, and the sign of the others."""
    unknown = [f for f in sp.Mul.make_args(e) if not signs.sign(f).definite]
    if not unknown:
        return None
    inner = sp.Mul(*unknown)
    outside = signs.sign(sp.Mul(*(f for f in sp.Mul.make_args(e) if f not in unknown)))
    return (inner, outside) if outside.definite else None


def _by_dominance(signs: Signs, e: sp.Expr, strict: bool) -> _SufficientBound | None:
    """g - b > 0 for one positive and one negative term if, and only if, sup b/g < 1."""
    product_form = expand_products(signs, e)
    if product_form is None or len(product_form[1]) != 2:
        return None
    positive = [t for t in product_form[1] if signs.sign(t) == Sign.POSITIVE]
    negative = [-t for t in product_form[1] if signs.sign(t).within(Sign.NONPOSITIVE)]
    if len(positive) != 1 or len(negative) != 1:
        return None
    top = supremum(signs, negative[0] / positive[0], only=signs.box.variables)
    if top is None:
        return None
    numerator, denominator = _fraction(top.value)
    if signs.sign(denominator) != Sign.POSITIVE:
        numerator, denominator = top.value, sp.S.One
    # a supremum that is not attained may equal 1
    is_strict = strict and top.attained is not False
    step = None
    if top.corner:
        step = f"{text(negative[0])} against {text(positive[0])}: their ratio is largest at {top.location}"
    inequality = _inequality_text(numerator, denominator, is_strict)
    tight = not strict or top.attained is not None
    return _SufficientBound(denominator - numerator, is_strict, tight, inequality, step)


def _by_coefficient(signs: Signs, e: sp.Expr, strict: bool, sense: int) -> _SufficientBound | None:
    """All terms are nonnegative but those with one coefficient, which must not be negative.

    The step is about the terms of sense*e. The condition is necessary where such a term dominates all others near an end of a variable's range.
    """
    product_form = expand_products(signs, e)
    if product_form is None:
        return None
    coefficients: dict[sp.Expr, sp.Expr] = {}  # what varies -> its coefficient
    for term in product_form[1]:
        fixed, varied = _split_off(term, signs.box.variables)
        coefficients[varied] = coefficients.get(varied, sp.S.Zero) + fixed
    nonnegative, unknown = [], []
    for varied, coefficient in coefficients.items():
        sign = multiply(signs.sign(coefficient), signs.sign(varied))
        if sign.within(Sign.NONNEGATIVE):
            nonnegative.append((coefficient * varied, sign))
        elif signs.sign(varied) == Sign.POSITIVE:
            unknown.append((sp.factor(coefficient), varied))
        else:
            return None
    split = {_split_by_sign(signs, coefficient) for coefficient, _ in unknown}
    if len(split) != 1:
        return None
    ((factor, other_sign),) = split
    if factor == 1 or not other_sign.definite:
        return None
    needed = factor if other_sign == Sign.POSITIVE else -factor
    other_sign = signs.sign(sp.Add(*(term for term, _ in nonnegative)))
    is_strict = strict and other_sign != Sign.POSITIVE
    sure = not is_strict or other_sign == Sign.ZERO  # else others may never be 0
    tight = sure and any(
        _outgrows(signs, varied, [term for term, _ in nonnegative]) for _, varied in unknown
    )
    step: str | None = None
    if all(
        sp.expand(needed - stated) != 0 for stated in (e, -e)
    ):  # else the step would repeat the claim
        never = "negative" if sense == 1 else "positive"
        step = f"no term is {never} but for the factor {text(needed)}"
    inequality = _inequality_text(sp.S.Zero, needed, is_strict)
    if needed.is_Add or needed.could_extract_minus_sign():
        inequality = _positivity_text(sp.expand_mul(needed), is_strict)
    return _SufficientBound(needed, is_strict, tight, inequality, step)


def _split_off(term: sp.Expr, variables: frozenset[sp.Symbol]) -> tuple[sp.Expr, sp.Expr]:
    """A product as its constant factor and the factor that varies."""
    parts = sp.Mul.make_args(term)
    fixed = [p for p in parts if not p.free_symbols & variables]
    return sp.Mul(*fixed), sp.Mul(*(p for p in parts if p.free_symbols & variables))


def _split_by_sign(signs: Signs, e: sp.Expr) -> tuple[sp.Expr, Sign]:
    """The factors of a product whose signs are not known, and the sign of the others."""
    unknown = [f for f in sp.Mul.make_args(e) if not signs.sign(f).definite]
    others = sp.Mul(*(f for f in sp.Mul.make_args(e) if f not in unknown))
    return sp.Mul(*unknown), signs.sign(others)


def _outgrows(signs: Signs, term: sp.Expr, others: list[sp.Expr]) -> bool:
    """Whether other/term -> 0 for all other terms as some variable goes to an end of its range."""
    symbols = term.free_symbols.union(*(other.free_symbols for other in others))
    for s in sorted(symbols & signs.box.variables, key=str):
        domain = signs.box.range(s)
        ends = [None if end is None else end.value for end in (domain.lower, domain.upper)]
        for to in (-sp.oo if ends[0] is None else ends[0], sp.oo if ends[1] is None else ends[1]):
            ratios = [limit(signs, merge_powers(other / term), {s: to}) for other in others]
            if all(ratio == 0 for ratio in ratios):
                return True
    return not others


def _by_least(signs: Signs, e: sp.Expr, strict: bool) -> _SufficientBound | None:
    """e is monotone in each variable: its infimum over them must be positive."""
    attained = True
    corner = []
    varies = e.free_symbols & signs.box.variables
    least = sp.expand_mul(e) if varies else e
    for symbol in sorted(varies, key=str):
        slope = signs.sign(derivative(least, symbol))
        domain = signs.box.range(symbol)
        if slope.within(Sign.NONNEGATIVE):
            end = domain.lower
        elif slope.within(Sign.NONPOSITIVE):
            end = domain.upper
        else:
            return None
        if end is None or (not end.closed and not slope.definite):
            return None
        value = signs.at(least, symbol, end)
        if value is None or not signs.finite(value):
            return None
        least = value
        attained = attained and end.closed
        corner.append(f"{symbol} = {text(end.value)}")
    is_strict = strict and attained
    step = f"{text(e)} is least at {', '.join(corner)}" if corner else None
    return _SufficientBound(least, is_strict, True, _positivity_text(least, is_strict), step)


def _in_declared_terms(signs: Signs, bound: _SufficientBound) -> str:
    """The condition in the law's quantities, slacks substituted: b < 1 for (b - a) + a < 1."""
    return _positivity_text(sp.expand_mul(bound.positive.xreplace(signs.box.meaning)), bound.strict)


def _positivity_text(positive: sp.Expr, strict: bool) -> str:
    """`positive > 0` as text, with the negative terms on the other side."""
    terms = sp.Add.make_args(positive)
    more = [t for t in terms if not t.could_extract_minus_sign()]
    less = [-t for t in terms if t.could_extract_minus_sign()]
    return _inequality_text(sp.Add(*less), sp.Add(*more), strict)


def _fraction(ratio: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """A positive monomial as numerator and denominator, exponents positive where they can be."""
    above, below = [], []
    for base, exponent in powers(ratio):
        if base.is_Rational and exponent == 1:
            above.append(sp.Integer(base.p))
            below.append(sp.Integer(base.q))
        elif exponent.could_extract_minus_sign():
            below.append(sp.Pow(base, -exponent))
        else:
            above.append(sp.Pow(base, exponent))
    return sp.Mul(*above), sp.Mul(*below)


def _inequality_text(less: sp.Expr, more: sp.Expr, strict: bool) -> str:
    """less < more, a number on the right: sigma < D_min, alpha*s < 0, eta > 1."""
    if less.is_number and not more.is_number:
        return f"{text(more)} {'>' if strict else '>='} {text(less)}"
    return f"{text(less)} {'<' if strict else '<='} {text(more)}"
