"""The labels for which a claim is made; verdicts at some labels -> the conditions at all of them.

A claim with indices, or with names for labels, is made for all labels: what it needs at the labels
a and b, `t[i, a] < t[i, b]`, it needs at b and a too, `t[i, b] < t[i, a]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product

import sympy as sp

from lawdsl.language import tree
from lawdsl.language.instances.claims import coincidences, labels_of
from lawdsl.language.instances.instance import row_indices
from lawdsl.language.symbols import Claim, Declarations
from lawdsl.proof.box import Relation
from lawdsl.proof.verdict import Verdict

SUBSCRIPTS = re.compile(r"\[([^\[\]]*)\]")
MAX_CONDITIONS = 24  # at all labels; all pairs are compared
MAX_EXCHANGES = 5040  # of labels, those of seven in one set


@dataclass(frozen=True)
class LabelledCondition:
    """The condition of a claim at given labels.

    Attributes:
        needs: the condition as an expression.
        text: as text.
        exact: whether it is necessary, for sets of any size.
        labels: name -> label.
        number: the position of the choice of labels from which it follows by an exchange of labels.
        stated: the condition at that choice, as text.
    """

    needs: Relation
    text: str
    exact: bool
    labels: Mapping[str, str]
    number: int
    stated: str


def label_names(declared: Declarations, claim: Claim) -> dict[str, str]:
    """The names that stand for a label, in a claim or in the law of one row -> their index sets.

    Args:
        declared: the law.
        claim: the claim.
    """
    rows = {index: declared.indices[index].over for index in row_indices(declared)}
    names = labels_of(declared, claim)
    return names | {index: over for index, over in rows.items() if index not in names}


def listed_labels(declared: Declarations) -> dict[str, tuple[str, ...]]:
    """Index set whose labels the law lists -> these labels.

    Args:
        declared: the law.
    """
    return {s.over: s.listed for s in declared.indices.values() if s.listed}


def label_choices(
    declared: Declarations, claim: Claim, names: Mapping[str, str]
) -> Iterator[dict[str, str]]:
    """The possible labels of the names of a claim: those of a listed set, or symbolic ones.

    Args:
        declared: the law.
        claim: the claim.
        names: the names that stand for labels -> their index sets.
    """
    lists = listed_labels(declared)
    free = {name: over for name, over in names.items() if over not in lists}
    bound = [name for name, over in names.items() if over in lists]
    for labels in coincidences(declared, free):
        for choice in _with_listed_labels(labels, bound, names, lists):
            fresh = [(names[n], x) for n, x in choice.items() if n not in declared.indices]
            if len(set(fresh)) == len(fresh) and not _exchanges_with_itself(claim, choice):
                yield choice


def _exchanges_with_itself(claim: Claim, choice: Mapping[str, str]) -> bool:
    """Whether an exchange would be one of a share with itself."""
    stated = claim.claim
    if not isinstance(stated, tree.TrendNode) or not isinstance(stated.against, tree.Element):
        return False
    exchanged = (stated.name, stated.against)
    labels = [
        [choice.get(s, s) for s in named.subscripts] if isinstance(named, tree.Element) else []
        for named in exchanged
    ]
    return labels[0] == labels[1]


def _with_listed_labels(
    labels: dict[str, str],
    remaining: Sequence[str],
    names: Mapping[str, str],
    lists: Mapping[str, tuple[str, ...]],
) -> Iterator[dict[str, str]]:
    """The assignments of labels of listed sets to the remaining names."""
    if not remaining:
        yield labels
        return
    for label in lists[names[remaining[0]]]:
        yield from _with_listed_labels({**labels, remaining[0]: label}, remaining[1:], names, lists)


def exchanged_choices(choices: Sequence[Mapping[str, str]]) -> tuple[int, ...]:
    """The positions of the first choice of labels, and of one in which two of its labels are
    exchanged; empty where there is none.

    Args:
        choices: name -> label, for each choice.
    """
    first = choices[0] if choices else {}
    for position, other in enumerate(choices):
        changed = [name for name in first if first[name] != other[name]]
        if len(changed) == 2:
            one, two = changed
            if (first[one], first[two]) == (other[two], other[one]):
                return 0, position
    return ()


def needed_at_all_labels(
    declared: Declarations,
    claim: Claim,
    choices: Sequence[Mapping[str, str]],
    verdicts: Mapping[int, Verdict],
) -> tuple[list[LabelledCondition], bool]:
    """The conditions of the conditional verdicts, at their labels and at all exchanges of them, and
    whether these are all; at most `MAX_CONDITIONS`.

    Labels of a set that the law does not list are interchangeable: a condition at some labels holds
    at all others.

    Args:
        declared: the law.
        claim: the claim.
        choices: name -> label, for each choice of labels.
        verdicts: position of a choice -> the verdict on the claim at its labels.
    """
    names = label_names(declared, claim)
    lists = listed_labels(declared)
    listed, reserved = set(lists), {label for of_set in lists.values() for label in of_set}
    conditions: dict[str, LabelledCondition] = {}
    for number, verdict in verdicts.items():
        labels = choices[number]
        if verdict.needs is None or verdict.condition is None:
            continue
        for count, exchange in enumerate(_exchanges(names, labels, listed, reserved)):
            if count == MAX_EXCHANGES:
                return list(conditions.values()), False
            text = exchanged(verdict.condition, exchange)
            if text in conditions:
                continue
            if len(conditions) == MAX_CONDITIONS:
                return list(conditions.values()), False
            symbols = {
                s: sp.Symbol(exchanged(s.name, exchange), **s.assumptions0)
                for s in verdict.needs.positive.free_symbols
            }
            positive = verdict.needs.positive.xreplace(symbols)
            needs = Relation(positive, verdict.needs.strict)
            at = {name: exchange.get(label, label) for name, label in labels.items()}
            conditions[text] = LabelledCondition(
                needs, text, verdict.exact, at, number, verdict.condition
            )
    return list(conditions.values()), True


def _exchanges(
    names: Mapping[str, str], labels: Mapping[str, str], listed: set[str], reserved: set[str]
) -> Iterator[dict[str, str]]:
    """The permutations of the labels of each set that is not listed, but for a label that a listed set
    has too: label -> label."""
    sets: dict[str, list[str]] = {}
    for name, label in labels.items():
        of_set = sets.setdefault(names[name], [])
        if names[name] not in listed and label not in reserved and label not in of_set:
            of_set.append(label)
    for orders in product(*(permutations(of_set) for of_set in sets.values())):
        yield {
            label: other
            for of_set, order in zip(sets.values(), orders, strict=True)
            for label, other in zip(of_set, order, strict=True)
        }


def exchanged(text: str, exchange: Mapping[str, str]) -> str:
    """A text with the labels in its subscripts exchanged: t[i, a] < t[i, b] at b and a.

    Args:
        text: the text.
        exchange: label -> the label in its place.
    """

    def subscripts(match: re.Match[str]) -> str:
        inside = match[1].split(", ")
        return "[" + ", ".join(exchange.get(label, label) for label in inside) + "]"

    return SUBSCRIPTS.sub(subscripts, text)
