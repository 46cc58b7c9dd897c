"""What an export contains, whatever the target: frozen records of plain values.

`build` makes them from fits and laws; the modules of targets only write them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lawdsl.exporting.program import FormulaProgram
from lawdsl.language.tree import Formula

Nested = float | tuple[Any, ...]
"""A number, or a list of these for each label of a set."""


@dataclass(frozen=True)
class ExportedBound:
    """One bound of a domain: `relation limit`, the limit a number."""

    relation: str
    limit: float


@dataclass(frozen=True)
class ExportedVariable:
    """A variable of the law.

    Attributes:
        name: in the law.
        doc: the author's description; empty without one.
        unit: as text; empty without one.
        bounds: its domain.
        over: the set of its labels, if it has a value for each; else empty.
        left_out: the position of the label whose value is 1 minus the others, of shares; else None.
    """

    name: str
    doc: str
    unit: str
    bounds: tuple[ExportedBound, ...]
    over: str = ""
    left_out: int | None = None

    @property
    def domain(self) -> str:
        """The domain as text: `N > 0`."""
        if self.left_out is not None:
            return f"{self.name} >= 0 with sum 1"
        return ", ".join(f"{self.name} {b.relation} {b.limit:g}" for b in self.bounds)


@dataclass(frozen=True)
class Constant:
    """A parameter or setting of the law, with its values.

    Attributes:
        name: in the law.
        doc: the author's description; empty without one.
        over: the sets of its subscripts.
        values: a number, or nested lists with an axis for each set.
        errors: standard errors, of the same form; nan where there is none.
        kind: parameter; setting where it was not fitted; given, of a law without a fit.
        unit: as text; empty without one.
        notes: labels -> why an element has no error, or is to be distrusted: `on its lower bound`,
            `not identified`, `hardly determined`, `fixed`, `tied to others`.
        printed: the values as a fit prints them, 0 on a bound at 0; of the same form.
    """

    name: str
    doc: str
    over: tuple[str, ...]
    values: Nested
    errors: Nested
    kind: str
    unit: str
    notes: Mapping[tuple[str, ...], str]
    printed: Nested


@dataclass(frozen=True)
class Term:
    """A part of the derivative by a free parameter: a coefficient times that by an element."""

    coefficient: float
    name: str
    positions: tuple[int, ...]


@dataclass(frozen=True)
class Errors:
    """The joint errors of the free parameters of one fit, for intervals of predictions.

    Attributes:
        names: the free parameters.
        terms: for each of them, the elements that move with it.
        factor: F with FᵀF the covariance, as rows.
        null_space: rows that span the directions, in parameters divided by `scale`, that the rows
            of the fit do not determine.
        scale: of each parameter.
        dof: degrees of freedom.
        quantile: half the width of the interval in standard errors.
        log: whether the interval is that of the logarithm.
    """

    names: tuple[str, ...]
    terms: tuple[tuple[Term, ...], ...]
    factor: tuple[tuple[float, ...], ...]
    null_space: tuple[tuple[float, ...], ...]
    scale: tuple[float, ...]
    dof: float
    quantile: float
    log: bool


@dataclass(frozen=True)
class FitFacts:
    """What a reader of an exported fit must know of it.

    Attributes:
        data: the name of the table.
        digest: SHA-256 of its numbers, of each part.
        rows: how many rows were fitted.
        where: the conditions on rows.
        ranges: variable -> smallest and largest fitted value; of several labels, the range that
            the rows of all of them have.
        no_common_range: the variables for which these ranges have no number in common.
        verdict: trusted, caution or not trusted.
        units: variable -> its unit as text, for the ranges.
    """

    data: str
    digest: tuple[str, ...]
    rows: int
    where: tuple[str, ...]
    ranges: Mapping[str, tuple[float, float]]
    no_common_range: tuple[str, ...]
    verdict: str
    units: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Exported:
    """A law with values for its parameters.

    Attributes:
        name, title, sources: of the law.
        digest: SHA-256 of the law.
        output: the name of what it predicts, with its subscripts; `unit` and `doc` are its.
        formulas: the lets and the law as syntax: name with subscripts -> formula.
        program: the law as steps.
        variables: in the order of the law.
        constants: the parameters and settings in the formula.
        labels: set -> its labels.
        index_sets: index of the law -> its set.
        rows: index whose label a prediction has -> its set as a user calls it.
        apart: indices whose labels have fits of their own, in the order of `errors`.
        errors: of each part; empty where they are not known.
        why_no_errors: the reason for that.
        level: of the intervals.
        fit: of the fit; None for values that were given.
    """

    name: str
    title: str
    sources: tuple[str, ...]
    digest: str
    output: str
    unit: str
    doc: str
    formulas: tuple[tuple[str, Formula], ...]
    program: FormulaProgram = field(repr=False)
    variables: tuple[ExportedVariable, ...]
    constants: tuple[Constant, ...]
    labels: Mapping[str, tuple[str, ...]]
    index_sets: Mapping[str, str]
    rows: Mapping[str, str]
    apart: tuple[str, ...] = ()
    errors: tuple[Errors, ...] = ()
    why_no_errors: str = ""
    level: float = 0.95
    fit: FitFacts | None = None

    @property
    def indexed(self) -> bool:
        """Whether parameters have labels."""
        return any(constant.over for constant in self.constants)
