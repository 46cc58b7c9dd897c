"""Box, conditions -> whether some point of the domain satisfies all of them.

Two conditions may each be satisfiable and contradict each other: a < b and b < a. A claim for which
both are necessary holds for no parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
import sympy as sp

from lawdsl.proof.box import Box, Relation
from lawdsl.proof.counterexample import WitnessQuery, find_point
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.signs.sign import Sign

MAX_WEIGHT = 1000  # largest denominator of the weight of a condition


def parameters_of(boxes: Iterable[Box]) -> Box:
    """The domain of the parameters of one law at several labels.

    Args:
        boxes: the domains of the law at each, which agree on the parameters that they share.
    """
    of_all = [(box, box.parameters) for box in boxes]
    return Box(
        ranges={s: r for box, names in of_all for s, r in box.ranges.items() if s in names},
        slack={s: e for box, names in of_all for s, e in box.slack.items() if s in names},
        meaning={s: e for box, names in of_all for s, e in box.meaning.items() if s in names},
        settings={s: value for box, _ in of_all for s, value in box.settings.items()},
        relations={s: r for box, names in of_all for s, r in box.relations.items() if s in names},
        tied=any(box.tied for box, _ in of_all),
        facts={s: fact for box, names in of_all for s, fact in box.facts.items() if s in names},
    )


def has_point(box: Box, conditions: Sequence[Relation]) -> bool:
    """Whether a point of the domain was found that certainly satisfies all conditions.

    Args:
        box: the domain.
        conditions: the conditions, in the law's own quantities or in independent symbols.
    """
    queries = [WitnessQuery(c.positive, (1,) if c.strict else (0, 1)) for c in conditions]
    if find_point(box, queries) is not None:
        return True
    # many conditions at once are seldom met at random; those on other quantities are met elsewhere
    groups = list(_independent_groups(box, conditions))
    grouped = sum(map(len, groups)) == len(conditions)  # else one names no quantity
    return grouped and len(groups) > 1 and all(has_point(box, group) for group in groups)


def contradiction(box: Box, conditions: Sequence[Relation]) -> tuple[int, ...] | None:
    """The positions of conditions that certainly no point of the domain satisfies together.

    Args:
        box: the domain.
        conditions: the conditions, in the law's own quantities or in independent symbols.

    Returns:
        Their positions: one or two where that suffices, else those of a linear combination; None where
        no contradiction is proved.
    """
    signs = SignCalculus(box, valued=True)
    expanded = [sp.expand(box.independent(c.positive)) for c in conditions]
    for count in (1, 2):
        for chosen in combinations(range(len(conditions)), count):
            if (
                count == 2
                and not expanded[chosen[0]].free_symbols & expanded[chosen[1]].free_symbols
            ):
                continue
            total = sp.expand(sp.Add(*(expanded[k] for k in chosen)))
            strict = any(conditions[k].strict for k in chosen)
            if signs.sign(total).within(Sign.NONPOSITIVE if strict else Sign.NEGATIVE):
                return chosen
    return _linear_contradiction(signs, expanded, conditions)


def _linear_contradiction(
    signs: SignCalculus, expanded: Sequence[sp.Expr], conditions: Sequence[Relation]
) -> tuple[int, ...] | None:
    """The positions of conditions of which a combination with positive weights is nonpositive.

    By Farkas' lemma (Schrijver (1986), Theory of Linear and Integer Programming, section 7.3) every
    contradiction of linear inequalities has this form. A linear program proposes the weights; the sign of the
    combination is proved.
    """
    if len(conditions) < 3:
        return None
    from scipy.optimize import linprog  # slow to load

    coefficients = [e.as_coefficients_dict() for e in expanded]
    terms = list(dict.fromkeys(t for each in coefficients for t in each))
    table = np.array([[float(each.get(t, 0)) for each in coefficients] for t in terms])
    if not np.isfinite(table).all():
        return None
    known = [signs.sign(t) for t in terms]
    above = [row for row, sign in zip(table, known, strict=True) if sign.within(Sign.NONNEGATIVE)]
    below = [-row for row, sign in zip(table, known, strict=True) if sign.within(Sign.NONPOSITIVE)]
    either = [
        row
        for row, sign in zip(table, known, strict=True)
        if not sign.within(Sign.NONNEGATIVE) and not sign.within(Sign.NONPOSITIVE)
    ]
    bounded = np.array([*above, *below]) if above or below else None
    equations = np.array([*either, np.ones(len(expanded))])
    weights = linprog(
        np.zeros(len(expanded)),
        A_ub=bounded,
        b_ub=None if bounded is None else np.zeros(len(bounded)),
        A_eq=equations,
        b_eq=np.array([*np.zeros(len(either)), 1.0]),
    ).x
    if weights is None:
        return None
    exact = [sp.Rational(Fraction(float(w)).limit_denominator(MAX_WEIGHT)) for w in weights]
    chosen = tuple(k for k, w in enumerate(exact) if w > 0)
    total = sp.expand(sp.Add(*(exact[k] * expanded[k] for k in chosen)))
    strict = any(conditions[k].strict for k in chosen)
    holds = signs.sign(total).within(Sign.NONPOSITIVE if strict else Sign.NEGATIVE)
    return chosen if chosen and holds else None


def _independent_groups(box: Box, conditions: Sequence[Relation]) -> Iterator[list[Relation]]:
    """The conditions in groups that share no quantity, neither directly nor by declared relations."""
    named = [box.declared(c.positive).free_symbols - set(box.settings) for c in conditions]
    declared = (
        {s, *(x for r in relations for x in r.positive.free_symbols)} - set(box.settings)
        for s, relations in box.relations.items()
    )
    groups: list[set[sp.Symbol]] = []
    for linked in (*named, *declared):
        touched = [group for group in groups if group & linked]
        apart = [group for group in groups if not group & linked]
        groups = [*apart, linked.union(*touched)]
    for group in groups:
        members = [c for c, symbols in zip(conditions, named, strict=True) if symbols & group]
        if members:
            yield members
