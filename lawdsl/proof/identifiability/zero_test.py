"""Is an expression 0 whatever its symbols are? By algebra where it can be shown, else at points."""

from __future__ import annotations

import sympy as sp


def vanishes(e: sp.Expr) -> bool:
    """Whether algebra shows that an expression is 0 wherever it has a value.

    Powers, exponentials and the other functions are taken for new symbols, with w^(-mu - 1) as
    w^-mu/w; then it is a fraction of polynomials, and 0 if its numerator is. No for an answer means
    that this does not show it.
    """
    kernels: dict[sp.Expr, sp.Symbol] = {}
    numerator, _ = sp.fraction(sp.together(_plain(e, kernels)))
    return bool(sp.expand(numerator) == 0)


def _plain(e: sp.Expr, kernels: dict[sp.Expr, sp.Symbol]) -> sp.Expr:
    if e.is_Symbol or e.is_Number:
        return e
    if e.is_Add or e.is_Mul:
        return e.func(*(_plain(x, kernels) for x in e.args))
    if e.is_Pow or isinstance(e, sp.exp):
        base, exponent = (e.base, e.exp) if e.is_Pow else (sp.E, e.args[0])
        found = sp.S.One
        for term in sp.Add.make_args(sp.expand(exponent)):
            number, rest = term.as_coeff_Mul()
            if rest == 1 and base is not sp.E and number.is_Rational:
                whole = int(number // 1)
                found *= _plain(base, kernels) ** whole
                number -= whole
                if number == 0:
                    continue
            if not number.is_Rational:
                number, rest = sp.S.One, term
            # b^(2 t/3) is the square of b^(t/3)
            found *= _kernel(sp.Pow(base, rest / number.q, evaluate=False), kernels) ** number.p
        return found
    if isinstance(e, sp.log):
        parted = sp.expand_log(e)
        if not isinstance(parted, sp.log):
            return _plain(parted, kernels)
    return _kernel(e, kernels)


def _kernel(e: sp.Expr, kernels: dict[sp.Expr, sp.Symbol]) -> sp.Expr:
    if e not in kernels:
        kernels[e] = sp.Dummy(f"k{len(kernels)}")
    return kernels[e]
