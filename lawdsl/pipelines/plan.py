"""Pipeline + settings + columns -> a task for each step: law, columns, conditions, point."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.row_filter import ORDER_RELATIONS
from lawdsl.language import tree
from lawdsl.language.constants import TooLarge, Undefined, Value, value
from lawdsl.language.keywords import did_you_mean
from lawdsl.language.law_changes import LawChanges
from lawdsl.language.pipeline_records import (
    AnyStep,
    KeepStep,
    Pipeline,
    PipelineStep,
    QuestionStep,
)
from lawdsl.language.printer import print_formula
from lawdsl.language.symbols import Symbol
from lawdsl.law.law import Law


@dataclass(frozen=True)
class StepTask:
    """The task of one step.

    Attributes:
        law: its law, with the settings that the user gave.
        group_by: names of variables or columns that are constant within a group.
        where: name, relation, and the number or label that it is compared with.
        point: variable -> its value at the point of prediction, in the law's unit.
        columns: name -> column, where the names differ.
    """

    law: Law
    group_by: tuple[str, ...]
    where: tuple[tuple[str, str, float | str], ...]
    point: Mapping[str, float]
    columns: Mapping[str, str]

    def column(self, name: str) -> str:
        """The column bound to a name."""
        return self.columns.get(name, name)


def step_tasks(
    pipeline: Pipeline, setting_values: Mapping[str, float], columns: Mapping[str, str]
) -> tuple[dict[str, float], tuple[StepTask, ...]]:
    """Build the tasks of the steps of a pipeline.

    Args:
        pipeline: as declared.
        setting_values: values of its givens, of its own settings and of those of its laws.
        columns: name -> column.

    Returns:
        The values of its givens and settings, and a task for each step.

    Raises:
        LawdslError: a given without a value or outside its domain, or an unknown name.
    """
    values = pipeline_values(pipeline, setting_values, columns)
    constants: dict[str, Value] = {name: Fraction(number) for name, number in values.items()}
    return values, tuple(
        step_task(step, setting_values, constants, columns) for step in pipeline.steps
    )


def pipeline_values(
    pipeline: Pipeline, setting_values: Mapping[str, float], columns: Mapping[str, str]
) -> dict[str, float]:
    """The values of the givens and settings of a pipeline.

    Args:
        pipeline: as declared.
        setting_values: values of its givens, of its own settings and of those of its laws.
        columns: name -> column.

    Raises:
        LawdslError: a given without a value or outside its domain, or an unknown name.
    """
    mistaken = _inputs_as_columns(pipeline, setting_values, columns)
    if mistaken is not None:
        raise LawdslError(mistaken)
    problems = [*_unknown_settings(pipeline, setting_values), *_unknown_columns(pipeline, columns)]
    values, missing = _setting_values(pipeline, setting_values)
    if not (problems or missing):
        # before the fits, which take minutes
        problems = [d for step in pipeline.every_step for d in _points_outside(step, values)]
    if problems or missing:
        raise LawdslError([*problems, *missing])
    return values


def _points_outside(step: AnyStep, values: Mapping[str, float]) -> Iterator[Diagnostic]:
    """Values behind `at` that are outside the domains of the law or the question of a step."""
    if isinstance(step, KeepStep):
        return
    owner = step.question if isinstance(step, QuestionStep) else step.law
    constants: dict[str, Value] = {name: Fraction(number) for name, number in values.items()}
    point = {name: formula_value(formula, constants) for name, formula in step.point}
    bounds: dict[str, Value] = {n: Fraction(x) for n, x in point.items() if math.isfinite(x)}
    for name, number in point.items():
        for d in _domain_violations(owner.symbols[name], number, bounds):
            yield replace(d, message=f"{d.message} in `{owner.name}`")


def _unknown_settings(pipeline: Pipeline, setting_values: Mapping[str, float]) -> list[Diagnostic]:
    """Diagnostics for values of names that are not settings of the pipeline or its laws."""
    names = list(pipeline.symbols)
    for step in pipeline.steps:
        names += [s.name for s in step.law.symbols.values() if s.kind == "setting"]
    problems = []
    for name in setting_values:
        if name not in names:
            help = did_you_mean(name, names, f"it has {', '.join(names)}")
            message = f"`{pipeline.name}` has no given or setting `{name}`"
            problems.append(Diagnostic("L0301", message, help=help))
    return problems


def _inputs_as_columns(
    pipeline: Pipeline, setting_values: Mapping[str, float], columns: Mapping[str, str]
) -> Diagnostic | None:
    """The message about inputs that are given as columns; None if there are none."""
    symbols = [symbol for step in pipeline.steps for symbol in step.law.symbols.values()]
    settings = {symbol.name for symbol in symbols if symbol.kind == "setting"}
    inputs = {*pipeline.symbols, *settings} - set(pipeline.names)
    given = [name for name in columns if name in inputs and name not in setting_values]
    if not given:
        return None
    names = ", ".join(f"`{name}`" for name in given)
    one = len(given) == 1
    kind = f"{'is an input' if one else 'are inputs'} of `{pipeline.name}`"
    message = f"{names} {kind}, not {'a column' if one else 'columns'}"
    help = f"write {' '.join(f'--set {name}={columns[name]}' for name in given)}"
    return Diagnostic("D0116", message, help=help)


def _unknown_columns(pipeline: Pipeline, columns: Mapping[str, str]) -> list[Diagnostic]:
    """Diagnostics for bindings of names that no step uses."""
    names = pipeline.names
    problems = []
    for name in columns:
        if name not in names:
            help = did_you_mean(name, names, f"its names are {', '.join(names)}")
            message = f"no step of `{pipeline.name}` speaks of `{name}`"
            problems.append(Diagnostic("D0116", message, help=help))
    return problems


def _setting_values(
    pipeline: Pipeline, setting_values: Mapping[str, float]
) -> tuple[dict[str, float], list[Diagnostic]]:
    values: dict[str, float] = {}
    problems = []
    for setting in pipeline.of_kind("setting"):
        assert setting.formula is not None
        default = value(setting.formula)
        values[setting.name] = setting_values.get(setting.name, float(default or 0))
    constants: dict[str, Value] = {name: Fraction(number) for name, number in values.items()}
    needed = [s for s in pipeline.of_kind("given") if s.name not in setting_values]
    if needed:
        message = f"`{pipeline.name}` needs values of {', '.join(s.name for s in needed)}"
        notes = tuple(f"{s.name}: {s.doc}" for s in needed if s.doc)
        help = f"write {' '.join(f'--set {s.name}=…' for s in needed)}"
        problems.append(Diagnostic("F0401", message, notes=notes, help=help))
    for symbol in pipeline.of_kind("given"):
        if symbol.name not in setting_values:
            continue
        values[symbol.name] = setting_values[symbol.name]
        problems += _domain_violations(symbol, setting_values[symbol.name], constants)
    return values, problems


def _domain_violations(
    symbol: Symbol, number: float, constants: Mapping[str, Value]
) -> list[Diagnostic]:
    if not math.isfinite(number):
        message = f"{symbol.name} = {number:g} is not a finite number"
        return [Diagnostic("F0401", message, help="give a finite number")]
    for relation, limit in symbol.bounds:
        end = value(limit, constants)
        if end is not None and not ORDER_RELATIONS[relation](number, float(end)):
            domain_text = f"{symbol.name} {relation} {print_formula(limit)}"
            message = f"{symbol.name} = {number:g} is outside its domain {domain_text}"
            return [Diagnostic("F0401", message, help="give another value")]
    return []


def step_task(
    step: PipelineStep,
    setting_values: Mapping[str, float],
    constants: Mapping[str, Value],
    columns: Mapping[str, str],
) -> StepTask:
    """The task of one step.

    Args:
        step: the step.
        setting_values: values of the settings of its law.
        constants: the values of the givens and settings of the pipeline.
        columns: name -> column.
    """
    law = Law(step.law)
    law_settings = {s.name for s in law.settings if s.name not in law.fixed}
    settings = {name: number for name, number in setting_values.items() if name in law_settings}
    return StepTask(
        law=LawChanges(settings=settings).apply(law),
        group_by=step.group_by,
        where=tuple((c.name, c.relation, comparison_value(c.value, constants)) for c in step.where),
        point={name: formula_value(formula, constants) for name, formula in step.point},
        columns={name: columns[name] for name in step.names if name in columns},
    )


def comparison_value(
    compared: tree.Formula | tree.Label, constants: Mapping[str, Value]
) -> float | str:
    """What a condition compares with: a number of givens and settings, or a label."""
    return compared.text if isinstance(compared, tree.Label) else formula_value(compared, constants)


def formula_value(formula: tree.Formula, constants: Mapping[str, Value]) -> float:
    """The value of a formula of givens and settings."""
    try:
        result = value(formula, constants)
    except (Undefined, TooLarge) as error:
        message = f"`{print_formula(formula)}` has no value: {error.why}"
        raise LawdslError(Diagnostic("F0401", message, help="give other values")) from None
    assert result is not None  # every name in it is known
    return float(result)
