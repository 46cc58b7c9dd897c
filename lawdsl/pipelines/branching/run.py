"""Pipeline that branches + table -> PipelineAnswers: step after step, noise drawn through all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.table import Table
from lawdsl.fitting.fit import without_priors
from lawdsl.fitting.options import FitOptions
from lawdsl.language import tree
from lawdsl.language.constants import Value
from lawdsl.language.pipeline_records import (
    MEASUREMENTS,
    KeepStep,
    Pipeline,
    PipelineStep,
    QuestionStep,
)
from lawdsl.pipelines.branching.asked_steps import AskedStep, ask
from lawdsl.pipelines.branching.contradictions import contradictions
from lawdsl.pipelines.branching.describe import answers_of_step, fits_of_step
from lawdsl.pipelines.branching.findings import findings
from lawdsl.pipelines.branching.fitted_steps import FittedStep, fit_computed, fit_measurements
from lawdsl.pipelines.branching.result import PipelineAnswers, RowsOfStep, StepOfPipeline
from lawdsl.pipelines.branching.step_rows import StepRows, changes, kept_rows
from lawdsl.pipelines.plan import comparison_value, formula_value, pipeline_values, step_task
from lawdsl.pipelines.premises import once_each

SEED_STEP = 0x51ED  # apart from the seeds of starts

Numbers = Mapping[str, float | Sequence[float]]


def run_branching(
    pipeline: Pipeline,
    table: Table,
    settings: Numbers,
    columns: Mapping[str, str],
    by: Sequence[str] = (),
    *,
    draws: int,
    level: float,
    options: FitOptions,
) -> PipelineAnswers:
    """Run a pipeline whose steps branch or ask questions.

    Args:
        pipeline: as declared.
        table: the measurements.
        settings: values of its givens and settings; several values of one are asked in turn.
        columns: name -> column, where the names differ.
        by: columns of groups that are treated apart in every step.
        draws: the number of draws of the noise; 0 for none.
        level: the level of the intervals.
        options: `seed`, `drop_bad` and `progress` of the fits.

    Raises:
        LawdslError: a pipeline, value or table that cannot be used.
    """
    several = _several(pipeline, settings)
    first = {n: several[n][0] if n in several else _number(x) for n, x in settings.items()}
    values = pipeline_values(pipeline, first, columns)
    for name, numbers in several.items():
        for number in numbers[1:]:
            pipeline_values(pipeline, {**first, name: number}, columns)
    runner = _Runner(pipeline, table, first, values, several, columns, tuple(by), draws, options)
    steps = tuple(make() for make in list(runner.run(level)))
    return PipelineAnswers(
        name=pipeline.name,
        title=pipeline.title,
        data=table.name,
        by=tuple(by),
        values={name: several.get(name, x) for name, x in values.items()},
        steps=steps,
        draws=draws,
        level=float(level),
        seed=options.seed,
        diagnostics=once_each(
            [
                *runner.warnings,
                *findings(steps, table.name),
                *contradictions(pipeline, steps, columns, table.name),
            ]
        ),
    )


def _number(value: float | Sequence[float]) -> float:
    return float(value[0]) if isinstance(value, Sequence) else float(value)


def _several(pipeline: Pipeline, settings: Numbers) -> dict[str, tuple[float, ...]]:
    """The inputs with several values, which only questions may use."""
    several = {
        name: tuple(map(float, value))
        for name, value in settings.items()
        if isinstance(value, Sequence) and len(value) != 1
    }
    formulas: list[object] = []
    for step in pipeline.every_step:
        if not isinstance(step, QuestionStep):
            formulas += [condition.value for condition in step.where]
        if isinstance(step, PipelineStep):
            formulas += [f for _, f in step.point] + ([step.since[1]] if step.since else [])
    used = {n.text for f in formulas for n in tree.walk(f) if isinstance(n, tree.Name)}  # type: ignore[arg-type]
    for name, numbers in several.items():
        if not numbers or name in used:
            message = (
                f"{name} has {len(numbers)} values, and fits of `{pipeline.name}` depend on it"
            )
            help = "give it one value, and run the pipeline again for another"
            raise LawdslError(Diagnostic("F0401", message, help=help))
    return several


def _itself(step: StepOfPipeline) -> StepOfPipeline:
    return step


class _Runner:
    """The state of a run: what each step handed on so far."""

    def __init__(
        self,
        pipeline: Pipeline,
        table: Table,
        settings: Mapping[str, float],
        values: Mapping[str, float],
        several: Mapping[str, tuple[float, ...]],
        columns: Mapping[str, str],
        by: tuple[str, ...],
        draws: int,
        options: FitOptions,
    ) -> None:
        self.pipeline, self.settings, self.columns = pipeline, settings, columns
        self.values, self.several = dict(values), several
        self.by, self.draws, self.options = by, draws, options
        self.tables: dict[str, StepRows] = {MEASUREMENTS: StepRows(table)}
        self.before = MEASUREMENTS
        self.fitted: dict[str, FittedStep] = {}
        self.warnings: list[Diagnostic] = []
        self.constants: dict[str, Value] = {n: Fraction(x) for n, x in values.items()}

    def run(self, level: float) -> Iterator[Callable[[], StepOfPipeline]]:
        """Run step after step; returns what describes each, once it is known which draws are used."""
        total = len(self.pipeline.every_step)
        for number, step in enumerate(self.pipeline.every_step):
            handed_on: StepRows | None
            if isinstance(step, KeepStep):
                handed_on, result = self._keep(step)
                yield partial(_itself, result)
            elif isinstance(step, QuestionStep):
                asked = self._ask(step, level)
                self.warnings += asked.warnings
                handed_on = asked.handed_on
                yield partial(answers_of_step, asked, level)
            else:
                fitted = self._fit(step, number)
                self.warnings += fitted.warnings
                if step.name:
                    self.fitted[step.name] = fitted
                handed_on = fitted.handed_on
                yield partial(fits_of_step, fitted, step, level)
            if handed_on is not None:
                self.before = step.name or f"step {number + 1}"
                self.tables[self.before] = handed_on
            elif step.name:
                self.tables.pop(step.name, None)
            if self.options.progress is not None:
                self.options.progress(number + 1, total)

    def _rows(self, name: str) -> StepRows:
        if name not in self.tables:
            message = f"`{name}` hands on no rows"
            help = "it has no answer or prediction: look at the steps before it"
            raise LawdslError(Diagnostic("F0408", message, help=help))
        return self.tables[name]

    def _fit(self, step: PipelineStep, number: int) -> FittedStep:
        origin = step.origin or self.before
        source = self._rows(origin)
        task = step_task(step, self.settings, self.constants, self.columns)
        (law,), unused = without_priors([task.law], "pipelines")
        self.warnings += unused
        task = replace(task, law=law, group_by=(*self.by, *task.group_by))
        seed = self.options.seed * 1000 + SEED_STEP + number
        options = replace(self.options, progress=None)
        if origin != MEASUREMENTS:
            return fit_computed(step.name, task, source, options, self.draws, seed)
        if step.since is not None:
            start = formula_value(step.since[1], self.constants)
            groups = [task.column(name) for name in task.group_by]
            variable = task.column(step.since[0])
            task, table, warnings = changes(task, source.table, groups, variable, start)
            self.warnings += warnings
            source = StepRows(table)
        return fit_measurements(step.name, task, source, options, self.draws, seed)

    def _ask(self, step: QuestionStep, level: float) -> AskedStep:
        points = []
        names = [n for n, numbers in self.several.items() if self._uses(step, n)]
        for numbers in product(*(self.several[name] for name in names)):
            constants = self.constants | {
                n: Fraction(x) for n, x in zip(names, numbers, strict=True)
            }
            points.append({name: formula_value(f, constants) for name, f in step.point})
        return ask(step, self.fitted, points, self.columns, level=level, seed=self.options.seed)

    def _uses(self, step: QuestionStep, name: str) -> bool:
        walked = (n for _, formula in step.point for n in tree.walk(formula))
        return any(isinstance(n, tree.Name) and n.text == name for n in walked)

    def _keep(self, step: KeepStep) -> tuple[StepRows, RowsOfStep]:
        origins = [self._rows(name) for name in step.origins]
        where = [
            (c.name, c.relation, comparison_value(c.value, self.constants)) for c in step.where
        ]
        kept, rows = kept_rows(origins, where, self.columns)
        return kept, RowsOfStep(step.name, step.origins, rows)
