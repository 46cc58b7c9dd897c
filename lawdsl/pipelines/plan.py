"""Pipeline + what its user gives -> what each step is to do: laws, columns, conditions, points."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.row_filter import RELATIONS
from lawdsl.language import tree
from lawdsl.language.constants import TooLarge, Undefined, Value, value
from lawdsl.language.keywords import nearest
from lawdsl.language.pipelines import Pipeline, Step
from lawdsl.language.printer import print_formula
from lawdsl.language.symbols import Symbol
from lawdsl.law.law import Law


@dataclass(frozen=True)
class Task:
    """What one step is to do.

    Attributes:
        law: its law, with the settings that its user gave.
        by: names of what the rows of a group have in common.
        where: name, relation and the number or label that it is compared with.
        at: variable -> where it predicts, in the law's unit.
        columns: name -> column, for those that differ.
    """

    law: Law
    by: tuple[str, ...]
    where: tuple[tuple[str, str, float | str], ...]
    at: Mapping[str, float]
    columns: Mapping[str, str]

    def column(self, name: str) -> str:
        """The column that a name stands for."""
        return self.columns.get(name, name)


def tasks_of(
    pipeline: Pipeline, given: Mapping[str, float], columns: Mapping[str, str]
) -> tuple[dict[str, float], tuple[Task, ...]]:
    """What each step is to do.

    Args:
        pipeline: as declared.
        given: values of its givens, of settings of its own and of its laws.
        columns: name -> column.

    Returns:
        The values of its givens and settings, and a task for each step.

    Raises:
        LawdslError: a given without a value or outside its domain, or a name that nothing has.
    """
    problems = [*_unknown(pipeline, given), *_unbound(pipeline, columns)]
    values, missing = _values(pipeline, given)
    if problems or missing:
        raise LawdslError([*problems, *missing])
    known: dict[str, Value] = {name: Fraction(number) for name, number in values.items()}
    return values, tuple(_task(step, given, known, columns) for step in pipeline.steps)


def _unknown(pipeline: Pipeline, given: Mapping[str, float]) -> list[Diagnostic]:
    """Values for what neither the pipeline nor one of its laws has."""
    names = list(pipeline.symbols)
    for step in pipeline.steps:
        names += [s.name for s in step.law.symbols.values() if s.kind == "setting"]
    found = []
    for name in given:
        if name not in names:
            alike = nearest(name, names)
            help = f"did you mean `{alike}`?" if alike else f"it has {', '.join(names)}"
            message = f"`{pipeline.name}` has no given or setting `{name}`"
            found.append(Diagnostic("L0301", message, help=help))
    return found


def _unbound(pipeline: Pipeline, columns: Mapping[str, str]) -> list[Diagnostic]:
    """Columns for names that no step uses."""
    names = pipeline.names
    found = []
    for name in columns:
        if name not in names:
            alike = nearest(name, names)
            help = f"did you mean `{alike}`?" if alike else f"its names are {', '.join(names)}"
            message = f"no step of `{pipeline.name}` speaks of `{name}`"
            found.append(Diagnostic("D0116", message, help=help))
    return found


def _values(
    pipeline: Pipeline, given: Mapping[str, float]
) -> tuple[dict[str, float], list[Diagnostic]]:
    values: dict[str, float] = {}
    problems = []
    for setting in pipeline.of_kind("setting"):
        assert setting.formula is not None
        own = value(setting.formula)
        values[setting.name] = given.get(setting.name, float(own or 0))
    known: dict[str, Value] = {name: Fraction(number) for name, number in values.items()}
    for symbol in pipeline.of_kind("given"):
        if symbol.name not in given:
            doc = f": {symbol.doc}" if symbol.doc else ""
            message = f"`{pipeline.name}` is not told {symbol.name}{doc}"
            help = f"give it: --set {symbol.name}=…"
            problems.append(Diagnostic("F0401", message, help=help))
            continue
        values[symbol.name] = given[symbol.name]
        problems += _outside(symbol, given[symbol.name], known)
    return values, problems


def _outside(symbol: Symbol, number: float, known: Mapping[str, Value]) -> list[Diagnostic]:
    if not math.isfinite(number):
        message = f"{symbol.name} = {number:g} is not a finite number"
        return [Diagnostic("F0401", message, help="give a finite number")]
    for relation, limit in symbol.bounds:
        end = value(limit, known)
        if end is not None and not RELATIONS[relation](number, float(end)):
            shown = f"{symbol.name} {relation} {print_formula(limit)}"
            message = f"{symbol.name} = {number:g} is outside its domain {shown}"
            return [Diagnostic("F0401", message, help="give another value")]
    return []


def _task(
    step: Step, given: Mapping[str, float], known: Mapping[str, Value], columns: Mapping[str, str]
) -> Task:
    law = Law(step.law)
    own = {s.name for s in law.settings if s.name not in law.fixed}
    settings = {name: number for name, number in given.items() if name in own}
    return Task(
        law=law.with_settings(**settings) if settings else law,
        by=step.group_by,
        where=tuple((c.name, c.relation, _compared(c.value, known)) for c in step.where),
        at={name: _number(formula, known) for name, formula in step.point},
        columns={name: columns[name] for name in step.names if name in columns},
    )


def _compared(compared: tree.Formula | tree.Label, known: Mapping[str, Value]) -> float | str:
    return compared.text if isinstance(compared, tree.Label) else _number(compared, known)


def _number(formula: tree.Formula, known: Mapping[str, Value]) -> float:
    """The value of a formula of givens and settings."""
    try:
        found = value(formula, known)
    except (Undefined, TooLarge) as error:
        message = f"`{print_formula(formula)}` has no value: {error.why}"
        raise LawdslError(Diagnostic("F0401", message, help="give other values")) from None
    assert found is not None  # every name in it is known
    return float(found)
