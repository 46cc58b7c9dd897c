"""Expression -> whether a rational normal form over kernels shows that it is identically 0.

(Geddes, Czapor and Labahn (1992), Algorithms for Computer Algebra, chapter 3.)
"""

from __future__ import annotations

import sympy as sp


def vanishes(e: sp.Expr) -> bool:
    """Whether algebra shows that an expression is 0 wherever it has a value.

    Powers, exponentials and other functions are replaced by new symbols (kernels), with w^(-mu - 1)
    as w^-mu/w. The result is a quotient of polynomials, and 0 if its numerator expands to 0. False
    means only that this test does not show it.
    """
    kernels: dict[sp.Expr, sp.Symbol] = {}
    # kernels are not independent: a numerator that is not 0 in them may still vanish
    numerator, _ = sp.fraction(sp.together(_in_kernels(e, kernels)))
    return bool(sp.expand(numerator) == 0)


def _in_kernels(e: sp.Expr, kernels: dict[sp.Expr, sp.Symbol]) -> sp.Expr:
    if e.is_Symbol or e.is_Number:
        return e
    if e.is_Add or e.is_Mul:
        return e.func(*(_in_kernels(x, kernels) for x in e.args))
    if e.is_Pow or isinstance(e, sp.exp):
        base, exponent = (e.base, e.exp) if e.is_Pow else (sp.E, e.args[0])
        product = sp.S.One
        for term in sp.Add.make_args(sp.expand(exponent)):
            number, rest = term.as_coeff_Mul()
            if rest == 1 and base is not sp.E and number.is_Rational:
                integer = int(number // 1)
                product *= _in_kernels(base, kernels) ** integer
                number -= integer
                if number == 0:
                    continue
            if not number.is_Rational:
                number, rest = sp.S.One, term
            # b^(2 t/3) is the square of b^(t/3)
            product *= _kernel(sp.Pow(base, rest / number.q, evaluate=False), kernels) ** number.p
        return product
    if isinstance(e, sp.log):
        expanded = sp.expand_log(e)
        if not isinstance(expanded, sp.log):
            return _in_kernels(expanded, kernels)
    return _kernel(e, kernels)


def _kernel(e: sp.Expr, kernels: dict[sp.Expr, sp.Symbol]) -> sp.Expr:
    if e not in kernels:
        kernels[e] = sp.Dummy(f"k{len(kernels)}")
    return kernels[e]
