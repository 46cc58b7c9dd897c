"""Homogeneous expression -> an expression of the same sign in which some symbols are 1.

If e(t^w_1·x_1, …, t^w_n·x_n) = t^w·e(x_1, …, x_n) for all t > 0, the sign of e is that of e with
x_i = 1 (w_i ≠ 0). The weights solve linear equations, as in dimensional analysis (Buckingham
(1914), "On physically similar systems", Physical Review 4). x·exp(-a·x) < 1/a becomes x·exp(-x) <
1.
"""

from __future__ import annotations

import sympy as sp

from lawdsl.law.algebra import merge_powers
from lawdsl.proof.signs.interface import Signs
from lawdsl.proof.signs.monomials import powers

Weights = dict[sp.Symbol, sp.Expr]


class _NotHomogeneous(Exception):
    """A part that is not homogeneous."""


def rescaled(signs: Signs, e: sp.Expr) -> sp.Expr | None:
    """An expression of the same sign with fewer symbols; None where e has no scale.

    Only symbols with the range (0, oo) are set to 1 or rescaled with these.

    Args:
        signs: the signs on the box.
        e: the expression.
    """
    free = [s for s in signs.movable(e) if _any_positive(signs, s)]
    if not free:
        return None
    unknown = {s: sp.Dummy(s.name) for s in free}
    equations: list[sp.Expr] = []
    try:
        _weight(e, unknown, equations)
    except _NotHomogeneous:
        return None
    equations = [q for q in equations if q != 0]
    if any(q.free_symbols - set(unknown.values()) for q in equations):
        return None
    if equations:
        matrix, _ = sp.linear_eq_to_matrix(equations, list(unknown.values()))
    else:
        matrix = sp.zeros(1, len(free))
    fixed = _free_symbols_of_scales(matrix, free)
    if not fixed:
        return None
    for s in fixed:
        signs.use(s)
    return merge_powers(e.xreplace(dict.fromkeys(fixed, sp.S.One)))


def _any_positive(signs: Signs, s: sp.Symbol) -> bool:
    domain = signs.box.range(s)
    if s in signs.box.settings or domain.upper is not None or domain.lower is None:
        return False
    return bool(domain.lower.value.is_zero and not domain.lower.closed)


def _free_symbols_of_scales(matrix: sp.Matrix, symbols: list[sp.Symbol]) -> list[sp.Symbol]:
    """One symbol for each independent scale, whose weights can be chosen freely."""
    chosen: list[sp.Symbol] = []
    space = matrix.nullspace()
    for i, s in enumerate(symbols):
        if len(chosen) == len(space):
            break
        rows = [symbols.index(c) for c in chosen] + [i]
        if sp.Matrix([[v[r] for v in space] for r in rows]).rank() == len(rows):
            chosen.append(s)
    return chosen if len(chosen) == len(space) else []


def _weight(e: sp.Expr, unknown: Weights, equations: list[sp.Expr]) -> sp.Expr:
    """The degree w of an expression; it is homogeneous where the `equations` added are 0.

    Raises:
        _NotHomogeneous: a kink, or an operation without a degree.
    """
    if not e.free_symbols & set(unknown):
        return sp.S.Zero
    if e in unknown:
        return unknown[e]
    if e.is_Add:
        weights = [_weight(term, unknown, equations) for term in e.args]
        equations += [w - weights[0] for w in weights[1:]]
        return weights[0]
    if e.is_Mul:
        return sp.Add(*(_weight(b**x, unknown, equations) for b, x in powers(e)))
    if e.is_Pow and not e.exp.free_symbols & set(unknown) and e.exp.is_number:
        return e.exp * _weight(e.base, unknown, equations)
    if e.is_Pow or e.is_Function:
        # sums with kinks are split into cases by an earlier rule
        if isinstance(e, (sp.Max, sp.Min, sp.Abs)):
            raise _NotHomogeneous
        # exp(u) and x^u keep their values only where u does
        for part in e.args:
            equations.append(_weight(part, unknown, equations))
        return sp.S.Zero
    raise _NotHomogeneous
