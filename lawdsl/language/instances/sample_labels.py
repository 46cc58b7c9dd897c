"""Labels for a law with index sets where no table names any."""

from __future__ import annotations

from lawdsl.language import tree
from lawdsl.language.instances.grounding import Grounding
from lawdsl.language.instances.instance import Instance, row_indices
from lawdsl.language.symbols import Declarations

LETTERS = "abcdefgh"
FEW = 3  # labels that show what a law does with many


def few_labels(declared: Declarations) -> Instance:
    """The rows of one label, and of every set that is not listed a few labels."""
    at = {index: index for index in row_indices(declared)}
    labels = {}
    for index in declared.indices.values():
        own = [name for name in at if declared.indices[name].over == index.over]
        wanted = min(FEW, len(index.labels or LETTERS))
        others = [c for c in LETTERS if c not in declared.indices][: wanted - len(own)]
        labels[index.over] = index.listed or (*own, *others)
    at = {name: labels[declared.indices[name].over][0] for name in at}
    return Instance(labels, at)


def general(declared: Declarations) -> Grounding:
    """The law at labels that are called like its indices, its sums not written out."""
    labels: dict[str, tuple[str, ...]] = {}
    for index in declared.indices.values():
        labels[index.over] = index.listed or (*labels.get(index.over, ()), index.name)
    at = {name: labels[declared.indices[name].over][0] for name in row_indices(declared)}
    at |= {name: name for name in at if not declared.indices[name].listed}
    is_open = tuple(s.over for s in declared.indices.values() if not s.listed)
    ground = Grounding(declared, Instance(labels, at, open=tuple(dict.fromkeys(is_open))))
    assert declared.output.formula is not None
    ground(declared.output.formula, ground.rows)
    for symbol in declared.symbols.values():  # those of which only other labels are in the law
        if symbol.kind in ("variable", "parameter") and symbol.indices:
            if not any(declared.indices[i].listed for i in symbol.indices):
                ground(tree.Element(symbol.name, symbol.indices), ground.rows)
    return ground
