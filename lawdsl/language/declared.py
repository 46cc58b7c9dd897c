"""What a law declares, once every name in it is known: the records that all later stages read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lawdsl.diagnostics import Text
from lawdsl.language import tree
from lawdsl.language.tree import Formula, Span

Relation = tuple[str, Formula]


@dataclass(frozen=True)
class Symbol:
    """A declared name.

    `kind` is variable, setting, parameter, let, output or law (the right-hand side of a law that
    is extended). `bounds` are the domain's relations; `formula` is what a setting, let, output or
    law equals. A parameter that is held is a setting (`held` is fix) or a let (`held` is tie).
    """

    name: str
    kind: str
    span: Span
    bounds: tuple[Relation, ...] = ()
    formula: Formula | None = None
    unit: tree.UnitOf | None = None
    doc: str | None = None
    held: str = ""


@dataclass(frozen=True)
class Objective:
    """What a fit minimises: the sum over rows of a loss of log or raw residuals."""

    loss: str = "huber"  # huber | squared
    log: bool = True
    delta: float = 1e-3  # Huber's delta

    @property
    def name(self) -> str:
        scale = "log({})" if self.log else "{}"
        tail = f", {self.delta:g}" if self.loss == "huber" else ""
        return f"{self.loss}({scale.format('L')}{tail})"


@dataclass(frozen=True)
class Target:
    """What a grid gives values to: `A`, `log(A)`, or `log(C - C0)`, whose `less` is C0."""

    name: str
    log: bool = False
    less: Formula | None = None


@dataclass(frozen=True)
class Claim:
    """A `require` line: what is claimed, where, and the verdict its author expects."""

    claim: tree.Claim
    conditions: tuple[tuple[str, tuple[Relation, ...]], ...]
    expect: str
    text: Text = field(repr=False, compare=False)
    span: Span


@dataclass(frozen=True)
class Declarations:
    """A law as declared, that of the law it extends included.

    Each of the `symbols` comes after those that its formula and its bounds name.
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


Find = Callable[[str], Declarations]
"""Finds a law by its dotted name; raises `LawdslError`."""
