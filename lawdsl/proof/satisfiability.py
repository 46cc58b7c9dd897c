"""Box, conditions -> whether some point of the domain satisfies all of them.

Each of two conditions may be met by some parameters, and both together by none: a < b and b < a. A
claim that needs both holds for no parameters, whatever its verdict on each part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import sympy as sp

from lawdsl.proof.box import Box, Relation
from lawdsl.proof.counterexample import WitnessQuery, find_point
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.signs.sign import Sign


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
    return len(groups) > 1 and all(has_point(box, group) for group in groups)


def contradiction(box: Box, conditions: Sequence[Relation]) -> tuple[int, ...] | None:
    """The positions of conditions that certainly no point of the domain satisfies together.

    Args:
        box: the domain.
        conditions: the conditions, in the law's own quantities or in independent symbols.

    Returns:
        One position, or two, or all; None where no contradiction is proved.
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
    if len(conditions) < 3:
        return None
    # a longer chain: the sign of one follows from the others, as if these were declared
    for last, condition in enumerate(conditions):
        others = [c for k, c in enumerate(conditions) if k != last]
        stated = SignCalculus(_with_relations(box, others), valued=True)
        if stated.sign(expanded[last]).within(
            Sign.NONPOSITIVE if condition.strict else Sign.NEGATIVE
        ):
            return tuple(range(len(conditions)))
    return None


def _with_relations(box: Box, conditions: Sequence[Relation]) -> Box:
    """The box with conditions among its relations."""
    relations = dict(box.relations)
    for condition in conditions:
        symbol = min(condition.positive.free_symbols, key=str)
        relations[symbol] = (*relations.get(symbol, ()), condition)
    return replace(box, relations=relations, tied=True)


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
