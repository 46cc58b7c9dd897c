"""Starts given by name, `t[en, code] = 2` or `k[i] = 2` -> those of each part of a table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import abridged
from lawdsl.language import tree
from lawdsl.language.elements import selected
from lawdsl.language.instances.instance import Instance
from lawdsl.language.keywords import did_you_mean
from lawdsl.law.law import Law

_ELEMENT = re.compile(r"\s*(\w+)\s*\[([^\[\]]*)\]\s*")
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
        elements = [each for each in _elements(law, instance, name) if each in free]
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
    match = _ELEMENT.fullmatch(name)
    base = match[1] if match else name.strip()
    symbol = declared.symbols.get(base)
    if symbol is None:
        return []
    subscripts = tuple(part.strip() for part in match[2].split(",")) if match else symbol.indices
    if not symbol.indices or len(subscripts) != len(symbol.indices):
        return [base] if not symbol.indices and not match else []
    return [text for text, _ in selected(declared, instance, tree.Element(base, subscripts))]


def _labels_named(law: Law, name: str) -> int:
    """How many subscripts of a name are labels."""
    match = _ELEMENT.fullmatch(name)
    parts = [part.strip() for part in match[2].split(",")] if match else []
    return sum(part not in law.declarations.indices for part in parts)
