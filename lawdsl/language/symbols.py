"""Records of a resolved law, read by all later stages: symbols, objective, claims, declarations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lawdsl.core.diagnostics import Span, Text
from lawdsl.core.objectives import Objective
from lawdsl.language import tree
from lawdsl.language.label_texts import with_subscripts
from lawdsl.language.printer import print_formula, print_named
from lawdsl.language.tree import Formula, Named

if TYPE_CHECKING:
    from lawdsl.language.instances.instance import Instance

Relation = tuple[str, Formula]  # of a bound: its sign, and the limit
Tie = tuple[str, Formula]  # a parameter, and what it equals


@dataclass(frozen=True)
class IndexSet:
    """An index, and the set of labels that it runs over.

    Indices whose `over` is the same have the same labels. `over` is the set's name, or `1..30`, or
    `{web, code}`; `labels` are None where they come from the data.
    """

    name: str
    over: str
    labels: tuple[str, ...] | None = None

    @property
    def listed(self) -> tuple[str, ...]:
        """The labels that a law itself names, which may be subscripts."""
        return self.labels or () if self.over.startswith("{") else ()


@dataclass(frozen=True)
class Symbol:
    """A declared name.

    `kind` is variable, setting, parameter, let, output or law (the right-hand side of a law that is
    extended); while a law is being resolved, index as well. `bounds` are the relations of its
    domain; `formula` is the value of a setting, let, output or law. A fixed parameter is a setting
    (`determined_by` is fix) and a tied one a let (`determined_by` is tie). `indices` are its
    subscripts: bounds and formula apply to each label. `simplex`: the elements sum to 1 over the
    last subscript. `choices` are the numbers of which an unknown is one, and `integer` says that it is a
    whole number. `rows` are the indices in the formula of an output that are not its own: each
    row of a table names their labels.
    """

    name: str
    kind: str
    span: Span
    bounds: tuple[Relation, ...] = ()
    formula: Formula | None = None
    unit: tree.UnitOf | None = None
    doc: str | None = None
    determined_by: str = ""
    indices: tuple[str, ...] = ()
    simplex: bool = False
    rows: tuple[str, ...] = ()
    choices: tuple[Formula, ...] = ()
    integer: bool = False

    @property
    def text(self) -> str:
        """The name with its subscripts."""
        return with_subscripts(self.name, self.indices)


@dataclass(frozen=True)
class Prior:
    """`prior log(alpha) = log(0.35) ± 0.35`: a Gaussian on a parameter or on its logarithm.

    `center` and `deviation`, one standard deviation, are in the law's unit, or those of the natural
    logarithm; their formulas are kept as text. `of` is the parameter with the subscripts that the
    statement has.
    """

    parameter: str
    log: bool
    center: float
    deviation: float
    center_text: str
    deviation_text: str
    of: str = ""

    @property
    def quantity(self) -> str:
        """What is Gaussian: `log(alpha)`, or `E`."""
        name = self.of or self.parameter
        return f"log({name})" if self.log else name

    @property
    def text(self) -> str:
        """The prior in the syntax of a law, without its keyword."""
        return f"{self.quantity} = {self.center_text} ± {self.deviation_text}"

    def at(self, element: str) -> Prior:
        """The prior of one element of the parameter: `k[web]`."""
        return replace(self, parameter=element, of=element)


@dataclass(frozen=True)
class Target:
    """The parameter or transformed parameter that a grid assigns: `A`, `log(A)`, or `log(C - C0)`,
    whose `less` is C0.
    """

    name: str
    log: bool = False
    less: Formula | None = None
    subscripts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reading:
    """`L(step = 1000, N = 1.8)`: the measured output at the given values of columns.

    Runs progress along the first column; the others select runs. Variables are in the law's units.
    """

    conditions: tuple[tuple[str, float], ...]

    @property
    def along(self) -> str:
        """The column along which runs progress."""
        return self.conditions[0][0]


@dataclass(frozen=True)
class Measure:
    """The rule by which a variable is measured: a formula of readings, for each label of its index.

    `readings` are the calls in the formula.
    """

    name: str
    index: str
    formula: Formula
    readings: Mapping[tree.Call, Reading]

    @property
    def text(self) -> str:
        """The `measure` statement in the syntax of a law."""
        return f"{with_subscripts(self.name, (self.index,))} = {print_formula(self.formula)}"


@dataclass(frozen=True)
class Claim:
    """A `require` line: the claim, its conditions and place, and the expected verdict."""

    claim: tree.Claim
    conditions: tuple[tuple[Named, tuple[Relation, ...]], ...]
    expect: str
    text: Text = field(repr=False, compare=False)
    span: Span


@dataclass(frozen=True)
class ElementStatement:
    """`fix t[en, code] = 2`, `tie t[i, code] = t[i, web]` or a bound `t[en, code] > 0`: for the
    elements that the subscripts select, each of them a label or an index.

    `kind` is fix, tie, the relation of a bound that is added, or `without` and that of a bound that
    is left out.
    """

    kind: str
    named: tree.Element
    formula: Formula

    @property
    def text(self) -> str:
        """The statement in the syntax of a law."""
        name, formula = print_named(self.named), print_formula(self.formula)
        if self.kind in ("fix", "tie"):
            return f"{self.kind} {name} = {formula}"
        without, _, relation = self.kind.rpartition(" ")
        return f"{without} {name} {relation} {formula}".strip()


@dataclass(frozen=True)
class Declarations:
    """A law as declared, that of the law it extends included.

    Each of the `symbols` comes after those that its formula and its bounds name. The `identities`
    choose among the parameters that give one and the same law. The `measures` say how variables
    are measured, and the `priors` what is known of parameters before a fit, by their names. The
    `elements` are statements about some elements of what has subscripts, and the `notes` are text for
    readers, the `inherited_notes` those of the law it extends.
    """

    name: str
    title: str
    sources: tuple[str, ...]
    symbols: Mapping[str, Symbol]
    output: Symbol
    claims: tuple[Claim, ...]
    objective: Objective
    grids: tuple[tree.StartGrid, ...]
    points: tuple[tree.StartPoint, ...]
    laws: Mapping[str, Declarations]  # those named in it, by name
    text: Text
    indices: Mapping[str, IndexSet] = field(default_factory=dict)
    identities: tuple[tree.Identify, ...] = ()
    measures: Mapping[str, Measure] = field(default_factory=dict)
    priors: Mapping[str, Prior] = field(default_factory=dict)
    elements: tuple[ElementStatement, ...] = ()
    notes: tuple[str, ...] = ()
    inherited_notes: tuple[str, ...] = ()
    instance: Instance | None = None  # the labels that it is taken at, where it had index sets
    schema: Declarations | None = field(default=None, repr=False, compare=False)  # with these

    def names(self, kind: str) -> list[str]:
        """The names of a kind as they are declared, with their subscripts."""
        return [symbol.text for symbol in self.symbols.values() if symbol.kind == kind]

    def needed_formulas(self) -> Iterator[tuple[str, Formula]]:
        """Name with subscripts and formula of each definition that the law needs, and of the law."""
        assert self.output.formula is not None
        needed: set[str] = set()
        waiting = [self.output.formula]
        while waiting:
            for node in tree.walk(waiting.pop()):
                name = getattr(node, "text" if isinstance(node, tree.Name) else "name", None)
                symbol = self.symbols.get(name) if isinstance(name, str) else None
                if symbol and symbol.name not in needed and symbol.kind in ("let", "law"):
                    needed.add(symbol.name)
                    waiting += [symbol.formula] if symbol.formula is not None else []
        for symbol in self.symbols.values():
            if symbol.name in needed and symbol.formula is not None:
                yield symbol.text, symbol.formula
        yield self.output.text, self.output.formula


Find = Callable[[str], Declarations]
"""Finds a law by its dotted name; raises `LawdslError`."""
