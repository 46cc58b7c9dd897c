"""Starts given by name, `t[en, code] = 2` or `k[i] = 2` -> those of each part of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import abridged
from lawdsl.language import tree
from lawdsl.language.elements import selected
from lawdsl.language.instances.instance import Instance
from lawdsl.language.keywords import did_you_mean
from lawdsl.language.label_texts import split_element
from lawdsl.law.law import Law

MOST_NAMES = 12  # parameters that a message lists


def starts_of_parts(
    law: Law, instance: Instance, start: Mapping[str, float], laws: Sequence[Law]
) -> list[dict[str, float]]:
    """The starts of the parameters of each part; empty for a part that none is given for.

    Args:
        law: the law with index sets.
        instance: the labels.
        start: parameter, or element, each subscript a label or an index for all labels -> value.
        laws: the law of each part.

    Raises:
        LawdslError: F0106, a name that is no free parameter of any part.
    """
    names = [{q.name for q in part.parameters} for part in laws]
    known = [name for part in laws for name in (q.name for q in part.parameters)]
    free, values = set(known), dict[str, float]()
    # a start of one element goes before that of all
    for name, value in sorted(start.items(), key=lambda pair: _labels_named(law, pair[0])):
        named = _elements(law, instance, name)
        elements = [each for each in named if each in free]
        if not elements and named:
            family = split_element(name)[0]
            alike = [each for each in dict.fromkeys(known) if split_element(each)[0] == family]
            message = f"`{named[0]}` has no start: it is fixed, or follows from other parameters"
            help = f"start {abridged(alike or list(dict.fromkeys(known)), MOST_NAMES)}"
            raise LawdslError(Diagnostic("F0106", message, help=help))
        if not elements:
            help = f"its parameters are {abridged(list(dict.fromkeys(known)), MOST_NAMES)}"
            help = did_you_mean(name, known, help)
            message = f"`{law.name}` has no parameter `{name}`"
            raise LawdslError(Diagnostic("F0106", message, help=help))
        values |= dict.fromkeys(elements, value)
    return [{n: x for n, x in values.items() if n in of_part} for of_part in names]


def _elements(law: Law, instance: Instance, name: str) -> list[str]:
    """The elements that a name in an option stands for."""
    declared = law.declarations
    base, subscripts = split_element(name)
    symbol = declared.symbols.get(base)
    if symbol is None:
        return []
    if not symbol.indices:
        return [] if subscripts else [base]
    subscripts = subscripts or symbol.indices
    if len(subscripts) != len(symbol.indices):
        return []
    return [text for text, _ in selected(declared, instance, tree.Element(base, subscripts))]


def _labels_named(law: Law, name: str) -> int:
    """How many subscripts of a name are labels."""
    return sum(part not in law.declarations.indices for part in split_element(name)[1])
