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

MOST = 12  # relations that are looked at in pairs


def by_relations(signs: Signs, e: sp.Expr) -> Sign | None:
    """The sign of a positive number times one relation, or the sum of two, and what is beside it.

    c·r + rest, with r > 0 and rest >= 0, is positive; only a rest without further rules is looked at.
    """
    if not signs.box.tied or signs.moving:
        return None
    whole = sp.expand(e)
    for relation, strict in signs.inequalities():
        for sense in (1, -1):
            for factor in _factors(sense * whole, relation):
                rest = sp.expand(sense * whole - factor * relation)
                beside = _plain(signs, rest)
                if beside.within(Sign.NONNEGATIVE):
                    positive = strict or beside == Sign.POSITIVE
                    found = Sign.POSITIVE if positive else Sign.NONNEGATIVE
                    for s in relation.free_symbols:
                        signs.use(s)
                    return found if sense == 1 else -found
    return None


def relations_of(signs: Signs) -> Iterator[tuple[sp.Expr, bool]]:
    """The relations of a domain in independent symbols, and sums of two in which a symbol cancels."""
    box = signs.box
    own = [
        (sp.expand(box.independent(r.positive)), r.strict)
        for relations in box.relations.values()
        for r in relations
    ]
    own = [(e, strict) for e, strict in own if e.free_symbols]
    yield from own
    for (one, a), (other, b) in combinations(own[:MOST], 2):
        both = sp.expand(one + other)
        if both.free_symbols < one.free_symbols | other.free_symbols and both.free_symbols:
            yield both, a or b


def _factors(e: sp.Expr, relation: sp.Expr) -> list[sp.Expr]:
    """The positive numbers by which a term of e is that of the relation."""
    terms = e.as_coefficients_dict()
    own = relation.as_coefficients_dict()
    ratios = {terms[t] / c for t, c in own.items() if t in terms and t != 1}
    return sorted(r for r in ratios if r.is_positive)


def _plain(signs: Signs, rest: sp.Expr) -> Sign:
    """The sign of a sum by the signs of its terms."""
    return add([signs.sign(term) for term in sp.Add.make_args(rest)])
