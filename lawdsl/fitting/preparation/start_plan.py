"""How starts of a search are drawn for a law, as plain data: what algebra finds out once for all rows.

A plan has the parts of the expression whose values on the rows give scales, each compiled to a tape of
the variables, the settings and the parameters, in this order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Annotated, Any

from lawdsl.compiling.instructions import Tape
from lawdsl.compiling.stored_parts import plain_tape, tape_of_plain
from lawdsl.core.records import Readers, read

Position = Annotated[int, "the position of a parameter"]


@dataclass(frozen=True)
class DomainEnd:
    """One bound of a parameter.

    Attributes:
        lower: whether it is a lower bound.
        number: the bound; None where it depends on other parameters.
        is_beyond_zero: whether it leaves numbers of one sign only, as far as is known.
    """

    lower: bool
    number: float | None
    is_beyond_zero: bool


@dataclass(frozen=True)
class Factor:
    """A factor parameter^power of a term, and the product of the other factors."""

    parameter: Position
    power: float
    rest: Tape


@dataclass(frozen=True)
class Term:
    """A term inside a function.

    Attributes:
        inside: the steps for the functions inside it.
        factors: its factors that may be drawn, in their order.
        only: its only parameter, if the term is that times a function of the data; else None.
        slope: this function.
    """

    inside: tuple[Step, ...]
    factors: tuple[Factor, ...]
    only: Position | None
    slope: Tape | None


@dataclass(frozen=True)
class Constant:
    """A term slope·parameter inside a function, and the sum of the other terms."""

    parameter: Position
    slope: float
    others: Tape


@dataclass(frozen=True)
class Argument:
    """The sum inside a function or in an exponent: its terms are scaled, then its constants."""

    terms: tuple[Term, ...]
    constants: tuple[Constant, ...]


@dataclass(frozen=True)
class Location:
    """A sum data + factor·parameter: the parameter is compared with the data."""

    parameter: Position
    factor: float
    data: Tape


@dataclass(frozen=True)
class Summand:
    """A term of a denominator: if it is coefficient·slope, the position of the coefficient."""

    value: Tape
    coefficient: Position | None
    slope: Tape | None


@dataclass(frozen=True)
class Denominator:
    """A sum to some power, whose terms are scaled to those without a coefficient."""

    summands: tuple[Summand, ...]


Step = Argument | Location | Denominator


@dataclass(frozen=True)
class Breakpoint:
    """The value of a parameter at which a condition changes; None if it could not be compiled.

    Attributes:
        parameter: its position.
        value: the value.
        varies: whether it differs between rows.
    """

    parameter: Position
    value: Tape | None
    varies: bool


@dataclass(frozen=True)
class StartPlan:
    """How the parameters of a law are drawn.

    Attributes:
        domains: the bounds of each parameter.
        in_exponents: whether each parameter occurs in an exponent.
        scales: the steps that scale parameters to the terms of the law; None if its expression
            determines no scale.
        breakpoints: for each condition of the law, the parameters that may be drawn between rows.
    """

    domains: tuple[tuple[DomainEnd, ...], ...]
    in_exponents: tuple[bool, ...] = ()
    scales: tuple[Step, ...] | None = None
    breakpoints: tuple[tuple[Breakpoint, ...], ...] = ()


def plain_plan(plan: StartPlan) -> Any:
    """A plan as plain data.

    Args:
        plan: the plan.
    """
    return _plain(plan)


def plan_of_plain(content: Any, inputs: int, parameters: int) -> StartPlan:
    """Rebuild a plan from the plain data of `plain_plan`.

    Args:
        content: from a file that may be damaged.
        inputs: how many variables and settings there are.
        parameters: how many parameters.

    Raises:
        ValueError, TypeError, LookupError, AttributeError: data of another form.
    """
    readers: dict[Any, Any] = {
        Position: partial(_position, parameters),
        Tape: partial(_tape, inputs + parameters),
    }
    readers[Step] = partial(_step, readers)
    plan = read(StartPlan, content, readers)
    if len(plan.domains) != parameters or len(plan.in_exponents) not in (0, parameters):
        raise ValueError("a plan for other parameters")
    return plan


def _plain(value: Any) -> Any:
    if isinstance(value, Tape):
        return plain_tape(value)
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _position(count: int, content: Any) -> int:
    if type(content) is not int or not 0 <= content < count:
        raise ValueError(f"{content!r:.40} is not a position among {count}")
    return content


def _tape(inputs: int, content: Any) -> Tape:
    tape = tape_of_plain(content, inputs)
    if len(tape.outputs) != 1:
        raise ValueError("not the tape of one formula")
    return tape


def _step(readers: Readers, content: Mapping[str, Any]) -> Step:
    kinds = {"constants": Argument, "data": Location, "summands": Denominator}
    for field, kind in kinds.items():
        if field in content:
            step: Step = read(kind, content, readers)
            return step
    raise ValueError("an unknown step")
