"""The syntax tree of a `.law` file: frozen records, each with the span of text it was read from.

The nodes of formulas are in `formula_tree`, and are names of this module too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, TypeVar

from lawdsl.core.diagnostics import Span
from lawdsl.language.formula_tree import (
    NOWHERE as NOWHERE,
    Aggregate as Aggregate,
    Call as Call,
    Conditional as Conditional,
    Derivative as Derivative,
    Element as Element,
    Formula as Formula,
    Name as Name,
    Named as Named,
    Negative as Negative,
    Node as Node,
    Number as Number,
    Power as Power,
    Product as Product,
    Sum as Sum,
    name_of as name_of,
    with_parts as with_parts,
)

AnyNode = TypeVar("AnyNode", bound=Node)

# Domains and units


@dataclass(frozen=True, slots=True)
class BoundNode(Node):
    """`> formula`, `<= formula`, …: one bound of a domain."""

    relation: str
    limit: Formula


@dataclass(frozen=True, slots=True)
class IntervalNode(Node):
    """`[lower, upper)`: an interval; `opening` and `closing` are its brackets."""

    opening: str
    lower: Formula
    upper: Formula
    closing: str


@dataclass(frozen=True, slots=True)
class Simplex(Node):
    """`in simplex`: none below 0, and over the last subscript they sum to 1."""


@dataclass(frozen=True, slots=True)
class ChoicesNode(Node):
    """`in {4, 8, 16}`: one of the numbers that are listed."""

    values: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class IntegerNode(Node):
    """`integer in [1, 64]`: a whole number of an interval."""

    interval: IntervalNode


Domain = BoundNode | IntervalNode | Simplex | ChoicesNode | IntegerNode


@dataclass(frozen=True, slots=True)
class Item(Node):
    """One declared name with its own domain, if any; or one item of a condition."""

    name: str
    domain: Domain | None
    subscripts: tuple[str, ...] = ()

    @property
    def named(self) -> Named:
        """The name alone, or the element."""
        return Element(self.name, self.subscripts, span=self.span) if self.subscripts else self.name


@dataclass(frozen=True, slots=True)
class UnitOf(Node):
    """A unit as a product of powers of named units: nat/token is ((nat, 1), (token, -1))."""

    factors: tuple[tuple[str, int], ...]


# Claims


@dataclass(frozen=True, slots=True)
class ComparisonNode(Node):
    """`lhs relation rhs`: a comparison of two formulas by <, <=, > or >=."""

    lhs: Formula
    relation: str
    rhs: Formula


@dataclass(frozen=True, slots=True)
class Finite(Node):
    """`formula finite`: the claim that a formula has a finite real value on the whole domain."""

    formula: Formula


@dataclass(frozen=True, slots=True)
class TrendNode(Node):
    """`L increasing in N`; word is increasing, decreasing, convex or concave.

    `against` is what falls as much as `name` rises: `L decreasing in r[a] against r[b]`.
    """

    formula: Formula
    word: str
    name: Named
    against: Named | None = None


@dataclass(frozen=True, slots=True)
class LimitNode(Node):
    """`L -> target as N -> value, …`, the variables going to their values one after another."""

    formula: Formula
    target: Formula
    approaches: tuple[tuple[Named, Formula], ...]


@dataclass(frozen=True, slots=True)
class Reduction(Node):
    """`L(r = r0) is chinchilla`: the claim that a law with some values fixed is another law."""

    formula: Formula
    law: str


Claim = ComparisonNode | Finite | TrendNode | LimitNode | Reduction


# Statements


@dataclass(frozen=True, slots=True)
class Section(Node):
    """The line that names the section: its kind (law, question or pipeline), name and title."""

    kind: str
    name: str
    title: str | None


@dataclass(frozen=True, slots=True)
class SourceNode(Node):
    """`source "text"`: where the law was published."""

    text: str


@dataclass(frozen=True, slots=True)
class NoteNode(Node):
    """`note "text"`: what a reader of the publication or of a fit should know."""

    text: str


@dataclass(frozen=True, slots=True)
class Extends(Node):
    """`extends chinchilla`: the law whose declarations and formula this one builds on."""

    law: str


@dataclass(frozen=True, slots=True)
class RangeNode(Node):
    """`1..30`, its ends as they were written."""

    first: str
    last: str


@dataclass(frozen=True, slots=True)
class ListedNode(Node):
    """`{web, code, books}`: the labels of a set."""

    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Index(Node):
    """`index i, k over validation`: names that run over one set of labels.

    A set that is one word has its labels from the data.
    """

    names: tuple[str, ...]
    over: str | RangeNode | ListedNode


@dataclass(frozen=True, slots=True)
class Declaration(Node):
    """`variable`, `parameter`, `given` or `choose` (the kind), its items, and the unit and doc they share."""

    kind: str
    items: tuple[Item, ...]
    unit: UnitOf | None
    doc: str | None


@dataclass(frozen=True, slots=True)
class Definition(Node):
    """`setting`, `let` or `output` (the kind): a name and what it equals."""

    kind: str
    name: str
    formula: Formula
    unit: UnitOf | None
    doc: str | None
    subscripts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hold(Node):
    """`fix E = 1.69, alpha = 0.34` or `tie beta = alpha`; `kind` is the keyword."""

    kind: str
    values: tuple[tuple[Named, Formula], ...]


@dataclass(frozen=True, slots=True)
class MeasureNode(Node):
    """`measure k2[d] = L(step = 0) - L(step = 5000)`: how a variable is measured, for each label."""

    name: Named
    formula: Formula


@dataclass(frozen=True, slots=True)
class Identify(Node):
    """`identify sum(t[i, j] for j) = 0`: of parameters that give one law, those that are meant."""

    lhs: Formula
    rhs: Formula


@dataclass(frozen=True, slots=True)
class Require(Node):
    """A `require` line: a claim, its conditions, and the expected verdict."""

    claim: Claim
    conditions: tuple[Item, ...]
    expect: str | None


@dataclass(frozen=True, slots=True)
class Minimize(Node):
    """A `minimize` line: the objective of a fit, or the goal of a question."""

    objective: Formula


@dataclass(frozen=True, slots=True)
class StartGrid(Node):
    """`start log(A), log(B) in {…}`; None among the values stands for `...`."""

    targets: tuple[Formula, ...]
    values: tuple[Formula | None, ...]


@dataclass(frozen=True, slots=True)
class StartPoint(Node):
    """`start b1 = 500, b2 = 1e-4`: one starting point of the fit."""

    values: tuple[tuple[Named, Formula], ...]


@dataclass(frozen=True, slots=True)
class PriorNode(Node):
    """`prior log(alpha) = log(0.35) ± 0.35`: what is known of a parameter before the fit."""

    of: Formula
    center: Formula
    deviation: Formula


@dataclass(frozen=True, slots=True)
class Label(Node):
    """A text that cells of a table are compared with: `"Github"`."""

    text: str


@dataclass(frozen=True, slots=True)
class ConditionNode(Node):
    """`S >= 10000`, `domain = "Github"`: the rows that a step takes."""

    name: str
    relation: str
    value: Formula | Label


@dataclass(frozen=True, slots=True)
class StepNode(Node):
    """`step mixing.size by mixture, domain where S >= 10000 at N = N_target`

    `name` is that of the step, `origins` are the steps whose tables it takes, and `since` is the
    variable and the value at which outputs are subtracted; each may be missing. `law` may be a
    question.
    """

    law: str
    groups: tuple[str, ...]
    conditions: tuple[ConditionNode, ...]
    point: tuple[tuple[str, Formula], ...]
    name: str = ""
    origins: tuple[str, ...] = ()
    since: tuple[str, Formula] | None = None


@dataclass(frozen=True, slots=True)
class KeepNode(Node):
    """`keep feasible from turn, ends where T < T_max`: rows of several steps that meet conditions."""

    name: str
    origins: tuple[str, ...]
    conditions: tuple[ConditionNode, ...]


@dataclass(frozen=True, slots=True)
class Uses(Node):
    """`uses general, domain : dcpt.l3`: names for fits of a law."""

    names: tuple[str, ...]
    law: str


@dataclass(frozen=True, slots=True)
class Maximize(Node):
    """A `maximize` line: the goal of a question."""

    objective: Formula


@dataclass(frozen=True, slots=True)
class Equality(Node):
    """`6*N*D = C`: an equation that an answer must satisfy."""

    lhs: Formula
    rhs: Formula


@dataclass(frozen=True, slots=True)
class Subject(Node):
    """`subject to general(N, D, r = 1 - r_d) <= (1 + T)*L0  "what it is for"`"""

    relations: tuple[ComparisonNode | Equality, ...]
    doc: str | None


Statement = (
    Section
    | SourceNode
    | NoteNode
    | Extends
    | Index
    | Declaration
    | Definition
    | Hold
    | MeasureNode
    | Identify
    | Require
    | Minimize
    | StartGrid
    | StartPoint
    | PriorNode
    | StepNode
    | KeepNode
    | Uses
    | Maximize
    | Subject
)


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One logical line: a statement, the comments that stood above or inside it, the one behind it.

    A line without statement holds comments that end the file or a paragraph.
    """

    statement: Statement | None
    above: tuple[str, ...] = ()
    behind: str | None = None
    gap: bool = False  # a blank line stood before it


@dataclass(frozen=True, slots=True)
class SyntaxTree:
    """A whole file in order of its lines.

    `unread_names` are the words of unparsed lines, which may declare them.
    """

    lines: tuple[SourceLine, ...]
    unread_names: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The statements of the file in order; lines with comments alone are left out."""
        return tuple(line.statement for line in self.lines if line.statement is not None)


def children(node: Node) -> list[Node]:
    """The records directly inside a record, in the order of the text."""
    nodes: list[Node] = []
    for name in _parts(type(node)):  # type: ignore[arg-type]
        part = getattr(node, name)
        if isinstance(part, Node):
            nodes.append(part)
        elif isinstance(part, tuple):
            _add_nodes(part, nodes)
    return nodes


def _add_nodes(parts: tuple[object, ...], nodes: list[Node]) -> None:
    """Add the records of a tuple, and of the tuples in it, which are a few levels deep."""
    for part in parts:
        if isinstance(part, Node):
            nodes.append(part)
        elif isinstance(part, tuple):
            _add_nodes(part, nodes)


def walk(node: Node) -> Iterator[Node]:
    """The record and all inside it, outermost first; no recursion, so any depth is safe."""
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        if _parts(type(top)):  # type: ignore[arg-type]
            stack += reversed(children(top))


def moved(node: AnyNode, by: int) -> AnyNode:
    """The record as if it stood further down in its text.

    Args:
        node: the record.
        by: by how many characters; negative for further up.
    """
    if by == 0:
        return node
    parts = _parts(type(node))  # type: ignore[arg-type]
    values = {}
    for name in _all_fields(type(node)):  # type: ignore[arg-type]
        value = getattr(node, name)
        values[name] = _moved_part(value, by) if name in parts else value
    if node.span is not NOWHERE and node.span != NOWHERE:
        values["span"] = Span(node.span.start + by, node.span.end + by)
    return type(node)(**values)


def _moved_part(part: Any, by: int) -> Any:
    if isinstance(part, Node):
        return moved(part, by)
    return tuple(_moved_part(p, by) for p in part) if isinstance(part, tuple) else part


@cache
def _all_fields(kind: type) -> tuple[str, ...]:
    return tuple(spec.name for spec in fields(kind))


@cache
def _parts(kind: type) -> tuple[str, ...]:
    """The fields of a kind of record in which other records may be."""
    plain = ("span", "text", "subscripts")
    return tuple(
        spec.name for spec in fields(kind) if spec.name not in plain and spec.type not in PLAIN
    )


PLAIN = ("str", "str | None", "int", "bool", "tuple[str, ...]")
"""Types of fields, as they are written, in which no records are."""
