"""Sums whose sign follows from declared inequalities: 1 - b > 0 where `parameter b > a, b < 1`.

From r_i > 0 and λ_i >= 0:  Σ λ_i·r_i + s > 0 for s >= 0. By Farkas' lemma (Schrijver (1986), Theory
of Linear and Integer Programming, section 7.3) all linear consequences of linear inequalities have
this form; here one relation, or the sum of two, is tried. A box keeps one bound of each quantity as
a range, or two where they certainly leave room; the other bounds count only here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import sympy as sp

from lawdsl.proof.signs.interface import Signs
from lawdsl.proof.signs.sign import Sign, add

MAX_PAIRED_RELATIONS = 12  # relations that are added in pairs: the pairs grow with the square


def by_declared_inequalities(signs: Signs, e: sp.Expr) -> Sign | None:
    """e = c·r + rest > 0 for c > 0, a declared r > 0 (or a sum of two) and rest >= 0.

    The sign of the rest is that of its terms alone, without further rules.
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
    """(r, strict): the relations r > 0 of a domain (not strict: r >= 0), and sums of two of them in
    which a symbol cancels; in independent symbols."""
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
    """The ratios of terms of e to the same terms of the relation, if positive numbers."""
    terms = e.as_coefficients_dict()
    relation_terms = relation.as_coefficients_dict()
    ratios = {terms[t] / c for t, c in relation_terms.items() if t in terms and t != 1}
    return sorted(r for r in ratios if r.is_positive)


def _sign_by_terms(signs: Signs, rest: sp.Expr) -> Sign:
    """The sign of a sum by the signs of its terms."""
    return add([signs.sign(term) for term in sp.Add.make_args(rest)])
