"""Symbols that only set a scale: where e changes by a positive factor as they are all rescaled,
some of them may be put at 1.

x·exp(-a·x) < 1/a says the same for every a: with x in units of 1/a it is x·exp(-x) < 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy as sp

from lawdsl.law.algebra import merge_powers
from lawdsl.proof.signs.monomials import powers

if TYPE_CHECKING:
    from lawdsl.proof.signs.calculus import Signs

Weights = dict[sp.Symbol, sp.Expr]


class _NotHomogeneous(Exception):
    """A part that does not scale."""


def rescaled(signs: Signs, e: sp.Expr) -> sp.Expr | None:
    """An expression of the same sign with fewer symbols, or None.

    Only symbols that may be any positive number are put at 1, and only if all that are rescaled
    with them may be, too.
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
    """As many symbols as there are scales, whose weights can be chosen freely."""
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
    """The power of the scale by which an expression changes; `equations` are to be 0 for that."""
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
        if isinstance(e, (sp.Max, sp.Min, sp.Abs)):
            raise _NotHomogeneous
        for part in e.args:
            equations.append(_weight(part, unknown, equations))
        return sp.S.Zero
    raise _NotHomogeneous
