"""Law with index sets -> an instance with a few sample labels, for use without a table."""

from __future__ import annotations

from lawdsl.language import tree
from lawdsl.language.instances.grounding import Grounding
from lawdsl.language.instances.instance import Instance, row_indices
from lawdsl.language.symbols import Declarations

LETTERS = "abcdefgh"
SAMPLE_LABELS = 3  # labels that show what a law does with many


def few_labels(declared: Declarations) -> Instance:
    """An instance for the rows of one label, with a few labels in each set that is not listed."""
    row_labels = {index: index for index in row_indices(declared)}
    labels = {}
    for index in declared.indices.values():
        row_names = [name for name in row_labels if declared.indices[name].over == index.over]
        count = min(SAMPLE_LABELS, len(index.labels or LETTERS))
        # a label must not be read as an index
        others = [c for c in LETTERS if c not in declared.indices][: count - len(row_names)]
        labels[index.over] = index.listed or (*row_names, *others)
    row_labels = {name: labels[declared.indices[name].over][0] for name in row_labels}
    return Instance(labels, row_labels)


def general(declared: Declarations) -> Grounding:
    """The law with each index as its own label, its sums left symbolic."""
    labels: dict[str, tuple[str, ...]] = {}
    for index in declared.indices.values():
        labels[index.over] = index.listed or (*labels.get(index.over, ()), index.name)
    row_labels = {name: labels[declared.indices[name].over][0] for name in row_indices(declared)}
    # two indices of the rows over one set stay two labels: any two may differ
    row_labels |= {name: name for name in row_labels if not declared.indices[name].listed}
    is_open = tuple(s.over for s in declared.indices.values() if not s.listed)
    ground = Grounding(declared, Instance(labels, row_labels, open=tuple(dict.fromkeys(is_open))))
    assert declared.output.formula is not None
    ground(declared.output.formula, ground.rows)
    for symbol in declared.symbols.values():  # those of which only other labels are in the law
        if symbol.kind in ("variable", "parameter") and symbol.indices:
            if not any(declared.indices[i].listed for i in symbol.indices):
                ground(tree.Element(symbol.name, symbol.indices), ground.rows)
    return ground
