"""Sums whose sign a declared inequality gives: 1 - b > 0 where `parameter b > a, b < 1`.

A box keeps one bound of each quantity as a range, or two that surely have room between them. What
its other bounds say is used here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

import sympy as sp

from lawdsl.proof.signs.sign import Sign, add

if TYPE_CHECKING:
    from lawdsl.proof.signs.calculus import Signs

MAX_PAIRED_RELATIONS = 12  # relations that are looked at in pairs


def by_declared_inequalities(signs: Signs, e: sp.Expr) -> Sign | None:
    """The sign of a positive number times one relation, or the sum of two, and what is beside it.

    c·r + rest, with r > 0 and rest >= 0, is positive; only a rest without further rules is looked at.
    """
    if not signs.box.tied or signs.displacing:
        return None
    expanded = sp.expand(e)
    for relation, strict in signs.inequalities():
        for sense in (1, -1):
            for factor in _factors(sense * expanded, relation):
                rest = sp.expand(sense * expanded - factor * relation)
                rest_sign = _sign_by_terms(signs, rest)
                if rest_sign.within(Sign.NONNEGATIVE):
                    positive = strict or rest_sign == Sign.POSITIVE
                    sign = Sign.POSITIVE if positive else Sign.NONNEGATIVE
                    for s in relation.free_symbols:
                        signs.use(s)
                    return sign if sense == 1 else -sign
    return None


def relations_of(signs: Signs) -> Iterator[tuple[sp.Expr, bool]]:
    """The relations of a domain in independent symbols, and sums of two in which a symbol cancels."""
    box = signs.box
    declared = [
        (sp.expand(box.independent(r.positive)), r.strict)
        for relations in box.relations.values()
        for r in relations
    ]
    declared = [(e, strict) for e, strict in declared if e.free_symbols]
    yield from declared
    for (one, a), (other, b) in combinations(declared[:MAX_PAIRED_RELATIONS], 2):
        total = sp.expand(one + other)
        if total.free_symbols < one.free_symbols | other.free_symbols and total.free_symbols:
            yield total, a or b


def _factors(e: sp.Expr, relation: sp.Expr) -> list[sp.Expr]:
    """The positive numbers by which a term of e is that of the relation."""
    terms = e.as_coefficients_dict()
    relation_terms = relation.as_coefficients_dict()
    ratios = {terms[t] / c for t, c in relation_terms.items() if t in terms and t != 1}
    return sorted(r for r in ratios if r.is_positive)


def _sign_by_terms(signs: Signs, rest: sp.Expr) -> Sign:
    """The sign of a sum by the signs of its terms."""
    return add([signs.sign(term) for term in sp.Add.make_args(rest)])
