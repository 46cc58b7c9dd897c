"""Formulas and definitions -> size and depth of a formula with all definitions substituted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lawdsl.language import size_limits, tree
from lawdsl.language.scope import Scope
from lawdsl.language.symbols import Declarations, Symbol

Size = tuple[int, int]  # parts, and how deep they are nested
ONE_NODE: Size = (1, 1)


@dataclass(frozen=True)
class LawSize:
    """The size of a law with its lets substituted, and the number of occurrences of variables."""

    parts: int
    depth: int
    occurrences: int

    def at(self, arguments: Iterable[Size]) -> Size:
        """An upper bound on the size of the law with arguments substituted for its variables."""
        largest = [max(sizes, default=1) for sizes in zip(*arguments, strict=True)] or ONE_NODE
        return self.parts + self.occurrences * (largest[0] - 1), self.depth + largest[1] - 1


def size_of_law(law: Declarations) -> LawSize:
    """The size of a law whose arguments are substituted later."""
    variables = {s.name for s in law.symbols.values() if s.kind == "variable"}
    # with variables of size 2 each occurrence adds one part, which counts the occurrences
    plain, doubled = (
        sizes_of(law.symbols, dict.fromkeys(variables, (count, 1))) for count in (1, 2)
    )
    assert law.output.formula is not None
    parts, depth = size_of(law.output.formula, plain)
    return LawSize(parts, depth, size_of(law.output.formula, doubled)[0] - parts)


def sizes_of(symbols: Mapping[str, Symbol], base_sizes: Mapping[str, Size]) -> dict[str, Size]:
    """The sizes of all names that stand for formulas, in addition to the given ones.

    Args:
        symbols: name -> symbol.
        base_sizes: name -> size, for names with known sizes.
    """
    sizes = dict(base_sizes)
    for name, symbol in symbols.items():
        if symbol.formula is not None:
            sizes[name] = size_of(symbol.formula, sizes)
    return sizes


def size_of(node: tree.Node, name_sizes: Mapping[str, Size]) -> Size:
    """The size of a node; a name without a known size counts as one part.

    Args:
        node: the node.
        name_sizes: name -> size.
    """
    # the size is computed without substituting anything: written out it may be exponential
    size = depth = 0
    stack = [(node, 1)]
    while stack:
        top, level = stack.pop()
        name = top.text if isinstance(top, tree.Name) else ""
        name = top.name if isinstance(top, tree.Element) else name
        more = name_sizes.get(name, ONE_NODE)
        size += more[0]
        depth = max(depth, level + more[1] - 1)
        stack += [(child, level + 1) for child in tree.children(top)]
    return size, depth


def check_sizes(
    scope: Scope, nodes: Iterable[tree.Node], name_sizes: Mapping[str, Size], what: str = "lets"
) -> None:
    """Report the first node that is too large or nested too deeply after substitution.

    Args:
        scope: the names of the file.
        nodes: statements or formulas.
        name_sizes: the sizes of the names in them.
        what: the definitions that are substituted, for the message.
    """
    for node in nodes:
        size, depth = size_of(node, name_sizes)
        if size > size_limits.MAX_NODES:
            message = (
                f"with its {what} written out this has more than {size_limits.MAX_NODES:,} parts"
            )
            scope.report("L0105", message, node.span, "simplify it")
            return
        if depth > size_limits.MAX_NESTING:
            message = f"with its {what} written out this is nested more than {size_limits.MAX_NESTING} deep"
            scope.report("L0104", message, node.span, "simplify it")
            return
