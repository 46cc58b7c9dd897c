"""Law at labels -> the parameters of each hidden label, which can be exchanged for one another.

A label is hidden if no variable and no row has it, as in L = c + sum(k[i]*exp(…) for i) with i over
1..4: to exchange the parameters of two labels changes no prediction.
"""

from __future__ import annotations

from itertools import product

from lawdsl.language import tree
from lawdsl.language.instances.instance import row_indices
from lawdsl.language.label_texts import with_subscripts
from lawdsl.law.law import Law

Blocks = tuple[tuple[str, ...], ...]


def hidden_labels(law: Law) -> tuple[Blocks, ...]:
    """The names of the parameters of each label, in one order for all labels, for each hidden set.

    Sets are left out where a label is named alone, or has fewer free parameters than others.

    Args:
        law: the law, with its labels.
    """
    declared, instance = law.declarations.schema, law.declarations.instance
    if declared is None or instance is None or declared.elements or declared.output.formula is None:
        return ()
    symbols = [*declared.symbols.values(), declared.output]
    seen = {declared.indices[index].over for index in row_indices(declared)}
    for symbol in symbols:
        if symbol.kind == "variable":
            seen |= {declared.indices[index].over for index in symbol.indices}
        formulas = [limit for _, limit in symbol.bounds]
        formulas += [symbol.formula] if symbol.formula is not None else []
        for node in (node for formula in formulas for node in tree.walk(formula)):
            if isinstance(node, tree.Element) and node.name in declared.symbols:
                places = zip(node.subscripts, declared.symbols[node.name].indices, strict=True)
                seen |= {declared.indices[i].over for s, i in places if s not in declared.indices}
    names = {q.name for q in law.parameters}
    found = []
    for over in dict.fromkeys(index.over for index in declared.indices.values()):
        blocks = [] if over in seen else [_names(law, over, x) for x in instance.labels[over]]
        alike = len({len(block) for block in blocks}) == 1
        if alike and blocks[0] and len(blocks) > 1 and {n for b in blocks for n in b} <= names:
            found.append(tuple(blocks))
    return tuple(found)


def _names(law: Law, over: str, label: str) -> tuple[str, ...]:
    """The free parameters that have a label once, in the order of the other labels."""
    declared, instance = law.declarations.schema, law.declarations.instance
    assert declared is not None and instance is not None
    free = {q.name for q in law.parameters}
    names = []
    for symbol in declared.symbols.values():
        sets = [declared.indices[index].over for index in symbol.indices]
        if symbol.kind == "parameter" and sets.count(over) == 1:
            choices = [(label,) if s == over else instance.labels[s] for s in sets]
            names += [with_subscripts(symbol.name, labels) for labels in product(*choices)]
    return tuple(name for name in names if name in free)
