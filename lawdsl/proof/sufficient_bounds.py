"""Condition on parameters -> bounds of parameters that imply it: `eta < 1`, `C > B*eta/gamma`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import sympy as sp

from lawdsl.core.diagnostics import LawdslError
from lawdsl.law.algebra import merge_powers
from lawdsl.law.law import Law
from lawdsl.law.text import text
from lawdsl.proof.signs.interface import Signs
from lawdsl.proof.signs.sign import Sign

MAX_BOUND_CHOICES = 8  # each needs a proof of the claim


def sufficient_bounds(law: Law, signs: Signs, positive: sp.Expr, strict: bool) -> Iterator[Law]:
    """Laws with bounds from which `positive > 0` (not strict: `>= 0`) follows.

    Args:
        law: the law, one of whose claims is conditional.
        signs: the signs on the claim's domain.
        positive: the condition in the law's own quantities.
        strict: whether it must not be 0.
    """
    factors = [f for f in sp.Mul.make_args(sp.factor_terms(positive)) if f.free_symbols]
    unknown = [f for f in factors if not signs.sign(signs.box.independent(f)).definite]
    tried = 0
    for bounds in _choices(law, signs, positive, unknown, strict):
        tried += 1
        if tried > MAX_BOUND_CHOICES:
            return
        changed = law
        try:
            for bound in bounds:
                changed = changed.with_bound(bound)
            changed = changed.built()
        except LawdslError:
            continue
        yield changed


def _choices(
    law: Law, signs: Signs, positive: sp.Expr, unknown: list[sp.Expr], strict: bool
) -> Iterator[list[str]]:
    """Lists of bounds that imply the condition: one bound, or one for each factor of a product."""
    if len(unknown) < 2:
        for bound in _bounds(law, signs, positive, strict):
            yield [bound]
        return
    total = signs.sign(sp.Mul(*(f for f in sp.Mul.make_args(positive) if f not in unknown)))
    first, *others = unknown
    sense = -1 if total == Sign.NEGATIVE else 1
    last = sense * sp.Mul(*others)
    for one, other in product(
        _bounds(law, signs, first, strict), _bounds(law, signs, last, strict)
    ):
        yield [one, other]


def _bounds(law: Law, signs: Signs, positive: sp.Expr, strict: bool) -> Iterator[str]:
    """a·p + b > 0 as p > -b/a for a > 0 (p < -b/a for a < 0), for each p, last ones first."""
    for q in reversed(law.parameters):
        p = q.symbol
        if p not in positive.free_symbols:
            continue
        slope = sp.expand_mul(sp.diff(positive, p))
        if p in slope.free_symbols:
            continue
        sign = signs.sign(signs.box.independent(slope))
        if not sign.definite:
            continue
        rest = positive.xreplace({p: sp.S.Zero})
        limit = sp.Add(*(merge_powers(-t / slope) for t in sp.Add.make_args(sp.expand_mul(rest))))
        relation = (">" if sign == Sign.POSITIVE else "<") + ("" if strict else "=")
        yield f"{p} {relation} {text(limit)}"
