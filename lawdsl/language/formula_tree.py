"""The nodes of formulas in the syntax tree of a `.law` file, and the base of all nodes.

Spans do not take part in equality, so that a tree printed and parsed again equals itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from lawdsl.core.diagnostics import Span

NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """The base of all records of the tree, with their place in the text."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


# Formulas


@dataclass(frozen=True, slots=True)
class Number(Node):
    """A literal, kept as it was written: `1e-3` and `0.001` print as they were typed."""

    text: str


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A plain name, or the dotted name of a law."""

    text: str


@dataclass(frozen=True, slots=True)
class Element(Node):
    """`t[i, j]`: one element of what has subscripts; each is an index or a label."""

    name: str
    subscripts: tuple[str, ...]


Named = str | Element  # a name in a derivative, fix, start or limit, with or without subscripts


@dataclass(frozen=True, slots=True)
class Negative(Node):
    """A formula with a minus sign before it: `-x`."""

    operand: Formula


@dataclass(frozen=True, slots=True)
class Sum(Node):
    """Two or more terms, each with its sign; one record however long, so that no chain is deep."""

    terms: tuple[tuple[str, Formula], ...]


@dataclass(frozen=True, slots=True)
class Product(Node):
    """Two or more factors, each with `*` or `/`."""

    factors: tuple[tuple[str, Formula], ...]


@dataclass(frozen=True, slots=True)
class Power(Node):
    """A base raised to an exponent: `N^alpha`."""

    base: Formula
    exponent: Formula


@dataclass(frozen=True, slots=True)
class Call(Node):
    """`function(a, b, name = c)`; keywords only say at which values a law is taken.

    In a question `general(N, r = 1 - r_d)` is a law at values, and `loss[i](r[j])` that of a label.
    """

    function: str
    arguments: tuple[Formula, ...]
    keywords: tuple[tuple[str, Formula], ...] = ()
    subscripts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Derivative(Node):
    """∂ⁿ of a name by one or more names: `wrt` repeats a name with respect to which the derivative
    is taken twice.

    `order` is the n as written; `formulas` reports one that is not the number of names.
    """

    of: Named
    wrt: tuple[Named, ...]
    order: int


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """`sum(t[i, j]*r[j] for j)`: one part however many labels the indices `over` have."""

    function: str
    body: Formula
    over: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """`if lhs relation rhs then yes else no`; the relation is <, <=, > or >=."""

    lhs: Formula
    relation: str
    rhs: Formula
    yes: Formula
    no: Formula


Formula = (
    Number
    | Name
    | Element
    | Negative
    | Sum
    | Product
    | Power
    | Call
    | Derivative
    | Aggregate
    | Conditional
)


def name_of(named: Named) -> str:
    """The name, without subscripts."""
    return named.name if isinstance(named, Element) else named


def with_parts(node: Conditional, change: Callable[[Formula], Formula]) -> Conditional:
    """A piecewise formula with its formulas changed.

    Args:
        node: the formula.
        change: what becomes of each part.
    """
    lhs, rhs, yes, no = map(change, (node.lhs, node.rhs, node.yes, node.no))
    return Conditional(lhs, node.relation, rhs, yes, no, span=node.span)
