"""Verdicts at some labels -> the conditions at all labels for which the claim is made.

A claim with indices, or with names for labels, is made for all labels: what it needs at the labels
a and b, `t[i, a] < t[i, b]`, it needs at b and a too, `t[i, b] < t[i, a]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product

import sympy as sp

from lawdsl.language.instances.claims import labels_of
from lawdsl.language.instances.instance import row_indices
from lawdsl.language.symbols import Claim, Declarations
from lawdsl.proof.box import Relation
from lawdsl.proof.verdict import Verdict

SUBSCRIPTS = re.compile(r"\[([^\[\]]*)\]")
MAX_CONDITIONS = 24  # at all labels; each is compared with each


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


def needed_at_all_labels(
    declared: Declarations,
    claim: Claim,
    choices: Sequence[Mapping[str, str]],
    verdicts: Sequence[Verdict],
) -> Iterator[LabelledCondition]:
    """The conditions of the conditional verdicts, at their labels and at these exchanged.

    Labels of a set that the law does not list are names without a meaning: what holds of some holds
    of all others.

    Args:
        declared: the law.
        claim: the claim.
        choices: name -> label, for each verdict.
        verdicts: the verdicts on the claim at these labels.
    """
    names = label_names(declared, claim)
    listed = {s.over for s in declared.indices.values() if s.listed}
    seen: set[str] = set()
    for number, (labels, verdict) in enumerate(zip(choices, verdicts, strict=True)):
        if verdict.needs is None or verdict.condition is None:
            continue
        for exchange in _exchanges(names, labels, listed):
            text = exchanged(verdict.condition, exchange)
            if text in seen or len(seen) == MAX_CONDITIONS:
                continue
            seen.add(text)
            symbols = {
                s: sp.Symbol(exchanged(s.name, exchange), **s.assumptions0)
                for s in verdict.needs.positive.free_symbols
            }
            positive = verdict.needs.positive.xreplace(symbols)
            needs = Relation(positive, verdict.needs.strict)
            at = {name: exchange.get(label, label) for name, label in labels.items()}
            yield LabelledCondition(needs, text, verdict.exact, at, number, verdict.condition)


def _exchanges(
    names: Mapping[str, str], labels: Mapping[str, str], listed: set[str]
) -> Iterator[dict[str, str]]:
    """The permutations of the labels of each set that is not listed: label -> label."""
    sets: dict[str, list[str]] = {}
    for name, label in labels.items():
        of_set = sets.setdefault(names[name], [])
        if names[name] not in listed and label not in of_set:
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
