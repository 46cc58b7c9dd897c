"""A pipeline with all names resolved: frozen records of its steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lawdsl.core.diagnostics import Text
from lawdsl.language import tree
from lawdsl.language.questions import Question
from lawdsl.language.symbols import Declarations, Symbol
from lawdsl.language.tree import Formula


@dataclass(frozen=True)
class PipelineStep:
    """One step: a law that is fitted to each group of rows, and predicts for the next step.

    Attributes:
        law: the law.
        group_by: the columns in which the rows of a group are alike.
        where: the conditions that rows must meet.
        point: variable of the law -> where the prediction is made; none where the fit is the answer.
        name: what later steps call it; empty for none.
        origin: the step whose table it takes, `data` for the measurements; empty for the one before.
        since: the variable and its value at which a group's output is subtracted from it; None for
            the output itself.
    """

    law: Declarations
    group_by: tuple[str, ...]
    where: tuple[tree.ConditionNode, ...]
    point: tuple[tuple[str, Formula], ...]
    name: str = ""
    origin: str = ""
    since: tuple[str, Formula] | None = None

    @property
    def variables(self) -> dict[str, Symbol]:
        """The variables of the law."""
        return {s.name: s for s in self.law.symbols.values() if s.kind == "variable"}

    @property
    def names(self) -> list[str]:
        """The names that stand for columns: groups, conditions, variables, output, sets of labels."""
        output = self.law.output
        sets = (self.law.indices[name].over for name in (*output.indices, *output.rows))
        chosen = (choice.name for choice in self.where)
        return [*self.group_by, *chosen, *self.variables, output.name, *sets]


@dataclass(frozen=True)
class QuestionStep:
    """One step: a question that is asked of the fits of earlier steps, group by group.

    Attributes:
        question: the question; each of its uses is the name of an earlier step that fits its law.
        point: given or setting of the question -> its value.
        name: what later steps call it; empty for none.
    """

    question: Question
    point: tuple[tuple[str, Formula], ...]
    name: str = ""


@dataclass(frozen=True)
class KeepStep:
    """One step: rows of the tables of earlier steps that meet conditions.

    Attributes:
        name: what later steps call it.
        origins: the steps whose tables it puts beside each other.
        where: the conditions that rows must meet.
    """

    name: str
    origins: tuple[str, ...]
    where: tuple[tree.ConditionNode, ...]


AnyStep = PipelineStep | QuestionStep | KeepStep
MEASUREMENTS = "data"
"""The name of the table of measurements behind `from`."""


@dataclass(frozen=True)
class Pipeline:
    """A pipeline as declared.

    `symbols` are its givens and settings; `laws` are those of its steps and all that they extend.
    `every_step` has all its steps, `steps` those that fit laws.
    """

    name: str
    title: str
    sources: tuple[str, ...]
    notes: tuple[str, ...]
    symbols: Mapping[str, Symbol]
    every_step: tuple[AnyStep, ...]
    laws: Mapping[str, Declarations]
    text: Text

    @property
    def steps(self) -> tuple[PipelineStep, ...]:
        """The steps that fit laws."""
        return tuple(step for step in self.every_step if isinstance(step, PipelineStep))

    @property
    def branches(self) -> bool:
        """Whether steps have names, other tables than that of the step before, or questions."""
        plain = all(not (s.name or s.origin or s.since) for s in self.steps)
        return not plain or len(self.steps) < len(self.every_step)

    @property
    def names(self) -> list[str]:
        """The names that stand for columns of a table."""
        columns = dict.fromkeys(name for step in self.steps for name in step.names)
        return list(columns)

    @property
    def units(self) -> dict[str, tree.UnitOf | None]:
        """The unit of each given and setting: its own, or that of the variable that it is for."""
        units: dict[str, tree.UnitOf | None] = {}
        for step in self.steps:
            units |= {s.name: s.unit for s in step.law.symbols.values() if s.kind == "setting"}
        for step in self.steps:
            for name, formula in step.point:
                if isinstance(formula, tree.Name):
                    units[formula.text] = step.variables[name].unit
        for asked in self.every_step:
            for name, formula in asked.point if isinstance(asked, QuestionStep) else ():
                assert isinstance(asked, QuestionStep)
                if isinstance(formula, tree.Name) and asked.question.units.get(name):
                    units[formula.text] = units.get(formula.text) or asked.question.units[name]
        return units | {s.name: s.unit for s in self.symbols.values() if s.unit is not None}

    def of_kind(self, kind: str) -> tuple[Symbol, ...]:
        """Its givens, or its settings."""
        return tuple(s for s in self.symbols.values() if s.kind == kind)
