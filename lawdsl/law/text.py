"""SymPy expression -> text in the syntax of the language, in the usual mathematical form.

The text can be parsed again: `B*eta*r^(eta - 1)/D^beta`, with negative exponents in the
denominator, plain symbols before powers, and a positive term first in each sum.
"""

from __future__ import annotations

import sympy as sp

from lawdsl.law.functions import NAMES, Choice

MAX_POWER_NUMBER_BITS = 100  # bits of a number in a power that is written as a decimal
MAX_WRITTEN_BITS = 4000  # greatest size of a number in digits; Python converts at most 4,300 digits
_CHOICE, _SUM, _PRODUCT, _POWER, _ATOM = range(5)  # precedence of the outermost operation of a text


def text(expression: sp.Expr) -> str:
    """An expression in the syntax of the language: A/N^alpha."""
    return _written(expression)[0]


def _written(e: sp.Expr) -> tuple[str, int]:
    if e.is_Rational and max(e.p.bit_length(), e.q.bit_length()) > MAX_WRITTEN_BITS:
        return _rounded(e), _SUM if e.p < 0 else _ATOM
    if e.is_Rational:
        return _number(e)
    if e.is_number and any(_long(n) for n in e.atoms(sp.Rational)):
        return _rounded(e), _ATOM  # powers of fractions, which SymPy combines
    if e.is_Add:
        return _sum(e), _SUM
    if e.is_Mul or e.is_Pow:
        return _product(e)
    if e is sp.E:
        return "exp(1)", _ATOM
    if isinstance(e, Choice):
        return _piecewise(e)
    if type(e) in NAMES:
        parts = e.args[:1] if NAMES[type(e)] == "step" else sorted(e.args, key=str)
        return f"{NAMES[type(e)]}({', '.join(text(part) for part in parts)})", _ATOM
    return sp.sstr(e).replace("**", "^"), _ATOM if e.is_Symbol or e.is_NumberSymbol else _SUM


def relation_text(above: sp.Expr, holds: bool) -> str:
    """`above > 0` (not `holds`: `above <= 0`) as a relation of two sides without a minus in front.

    Args:
        above: the difference of the sides.
        holds: whether it is above 0.
    """
    terms = sp.Add.make_args(above)
    left = sp.Add(*(t for t in terms if not _negative(t)))
    right = sp.Add(*(-t for t in terms if _negative(t)))
    relation, sides = ">" if holds else "<=", (left, right)
    if left.is_number and not right.is_number:
        relation, sides = "<" if holds else ">=", (right, left)
    lhs, rhs = (_bracketed_below(side, _SUM) for side in sides)
    return f"{lhs} {relation} {rhs}"


def _piecewise(e: Choice) -> tuple[str, int]:
    condition, yes, no = e.args
    condition_text = relation_text(condition, True)
    return f"if {condition_text} then {_bracketed_below(yes, _SUM)} else {text(no)}", _CHOICE


def _bracketed_below(e: sp.Expr, min_binding: int) -> str:
    formula, binding = _written(e)
    return formula if binding >= min_binding else f"({formula})"


def _long(e: sp.Rational) -> bool:
    return bool(max(e.p.bit_length(), e.q.bit_length()) > MAX_POWER_NUMBER_BITS)


def _rounded(e: sp.Expr) -> str:
    """Six digits; `format` fails for exponents of more than 18 digits."""
    return sp.sstr(sp.N(e, 6), full_prec=True).replace("e", "E")


def _number(e: sp.Rational) -> tuple[str, int]:
    """A whole number or a short decimal; else a fraction."""
    p, q = int(e.p), int(e.q)
    decimals = next((n for n in range(1, 19) if 10**n % q == 0), None)
    if q == 1:
        digits_text, binding = str(p), _ATOM
    elif q > 10 and decimals is not None:
        digits = str(abs(p) * 10**decimals // q).rjust(decimals + 1, "0")
        digits_text, binding = f"{digits[:-decimals]}.{digits[-decimals:]}", _ATOM
        digits_text = "-" * (p < 0) + digits_text
    else:
        digits_text, binding = f"{p}/{q}", _PRODUCT
    return digits_text, _SUM if p < 0 else binding


def _sum(e: sp.Expr) -> str:
    # a sum that starts with a minus is hard to read and may need brackets
    terms = e.as_ordered_terms()
    first = next((t for t in terms if not _negative(t)), terms[0])
    terms.remove(first)
    formula = _bracketed_below(first, _PRODUCT) if not _negative(first) else text(first)
    for term in terms:
        formula += (
            f" - {_bracketed_below(-term, _PRODUCT)}"
            if _negative(term)
            else f" + {_bracketed_below(term, _SUM)}"
        )
    return formula


def _negative(e: sp.Expr) -> bool:
    """Whether every term has a minus sign, which is then factored out of the sum."""
    return all(_parts(term)[0].is_negative for term in sp.Add.make_args(e))


def _parts(product: sp.Expr) -> tuple[sp.Rational, list[sp.Expr]]:
    """Coefficient and factors; the sign of an all-negative sum is moved to the coefficient."""
    coefficient, rest = product.as_coeff_Mul()
    if rest.is_Add or not rest.args:
        return coefficient, [rest]
    factors = []
    for factor in sp.Mul.make_args(rest):
        if factor.is_Add and _negative(factor):
            coefficient, factor = -coefficient, -factor
        factors.append(factor)
    return coefficient, factors


def _product(e: sp.Expr) -> tuple[str, int]:
    """A product as text; factors with a negative exponent are in the denominator."""
    coefficient, factors = _parts(e)
    above: list[sp.Expr] = []
    below: list[sp.Expr] = []
    for factor in sorted(factors, key=_factor_rank):
        if factor.is_Pow and _negative(factor.exp):
            below.append(sp.Pow(factor.base, -factor.exp))
        else:
            above.append(factor)
    size = abs(coefficient)
    over = [] if size.p == 1 and above else [str(size.p)]
    under = [] if size.q == 1 else [str(size.q)]
    if _number(size)[1] == _ATOM and size.q > 1:  # a short decimal
        over, under = [_number(size)[0]], []
    over += [_factor(f) for f in above]
    under += [_factor(f) for f in below]
    formula = "*".join(over)
    if under:
        formula += "/" + (under[0] if len(under) == 1 else f"({'*'.join(under)})")
    if coefficient.is_negative:
        return f"-{formula}", _SUM
    if len(over) > 1 or under:
        return formula, _PRODUCT
    return formula, _ATOM if e.is_Pow and e.exp == sp.S.Half else _POWER


def _factor_rank(factor: sp.Expr) -> tuple[int, str]:
    """Numbers come first, then plain symbols, their powers, functions, sums."""
    base, exponent = (factor.base, factor.exp) if factor.is_Pow else (factor, sp.S.One)
    if factor.is_number:
        return 0, ""
    if base.is_Symbol:
        rank = 1 if exponent.is_Integer else 2
    else:
        rank = 4 if base.is_Add else 3
    return rank, str(factor)


def _factor(e: sp.Expr) -> str:
    if not e.is_Pow:
        return _bracketed_below(e, _POWER)
    if e.exp == sp.S.Half:
        return f"sqrt({text(e.base)})"
    return f"{_bracketed_below(e.base, _ATOM)}^{_bracketed_below(e.exp, _ATOM)}"
