"""The result of a pipeline that branches: frozen records of its fits, answers and kept rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.files import plain
from lawdsl.core.presentation import Presented
from lawdsl.pipelines.branching.step_rows import KeptRow
from lawdsl.pipelines.extrapolations import is_far

ANSWERS_SCHEMA = 1
Ends = tuple[float, float]


@dataclass(frozen=True)
class DrawnCurve:
    """A fit of one variable: its rows, and the law with its band.

    Attributes:
        x, y: the rows.
        x_ends: the intervals of x, if it was computed; empty for measurements.
        curve_x, curve_y: the law.
        low, high: its band; empty without draws.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    x_ends: tuple[Ends, ...]
    curve_x: tuple[float, ...]
    curve_y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True)
class FitOfGroup:
    """The fit of one group.

    Attributes:
        labels: column -> the value that all rows have.
        rows: the number of rows.
        parameters: name -> value; empty where it is left out.
        errors: name -> standard error; empty without draws.
        ends: name -> the ends of its interval.
        predicted: the prediction at the point of the step; None without a point.
        predicted_ends: the ends of its interval.
        scatter: the variance of rows about the law as a multiple of what their errors explain.
        left_out: the reason why it is not used.
        curve: rows and law of one variable; None for several.
    """

    labels: Mapping[str, str]
    rows: int
    parameters: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)
    ends: Mapping[str, Ends] = field(default_factory=dict)
    predicted: float | None = None
    predicted_ends: Ends | None = None
    scatter: float | None = None
    left_out: str = ""
    curve: DrawnCurve | None = field(default=None, repr=False)


@dataclass(frozen=True)
class FitsOfStep:
    """A step that fits a law.

    Attributes:
        name: its name; empty for none.
        law: its law.
        parameters: the number of parameters.
        variables: the variables of the law.
        output: what the law predicts.
        where: the conditions that rows satisfied.
        at: variable -> its value at the point of the prediction.
        since: the variable and its value at which outputs are subtracted, as text; empty for none.
        groups: the fits.
    """

    name: str
    law: str
    parameters: int
    variables: tuple[str, ...]
    output: str
    where: tuple[str, ...]
    at: Mapping[str, float]
    since: str
    groups: tuple[FitOfGroup, ...] = field(repr=False)


@dataclass(frozen=True)
class AnswerOfGroup:
    """The answer to a question for one group.

    Attributes:
        labels: column -> the value that all rows have.
        values: the values of the givens behind `at`.
        status: as that of an answer of `lawdsl solve`; empty where a fit is missing.
        found: unknown -> its value: infinite where the goal improves beyond every bound, 0 where it
            does towards an open end at 0.
        ends: unknown -> the ends of its interval.
        where: where the answer lies.
        binding: the constraints that bind.
        binding_shares: constraint -> the share of the draws in which it binds.
        unanswered: the share of the draws without an answer.
        reason: why there is no answer.
    """

    labels: Mapping[str, str]
    values: Mapping[str, float]
    status: str = ""
    found: Mapping[str, float] = field(default_factory=dict)
    ends: Mapping[str, Ends] = field(default_factory=dict)
    where: str = ""
    binding: tuple[str, ...] = ()
    binding_shares: Mapping[str, float] = field(default_factory=dict)
    unanswered: float = 0.0
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is an answer."""
        return bool(self.found) and not self.reason


@dataclass(frozen=True)
class AnswersOfStep:
    """A step that asks a question.

    Attributes:
        name: its name; empty for none.
        question: its question.
        title: the title of that.
        uses: the steps whose fits it is asked of.
        unknowns: what it asks for.
        maximize: whether its goal is maximised.
        groups: the answers.
    """

    name: str
    question: str
    title: str
    uses: tuple[str, ...]
    unknowns: tuple[str, ...]
    maximize: bool
    groups: tuple[AnswerOfGroup, ...] = field(repr=False)


@dataclass(frozen=True)
class RowsOfStep:
    """A step that keeps rows.

    Attributes:
        name: its name.
        origins: the steps whose rows it compares.
        rows: the rows.
    """

    name: str
    origins: tuple[str, ...]
    rows: tuple[KeptRow, ...] = field(repr=False)


StepOfPipeline = FitsOfStep | AnswersOfStep | RowsOfStep
KINDS = {FitsOfStep: "fits", AnswersOfStep: "answers", RowsOfStep: "rows"}


@dataclass(frozen=True)
class PipelineAnswers(Presented):
    """The result of a pipeline that branches.

    Attributes:
        name: the name of the pipeline.
        title: its title.
        data: the name of the table.
        by: the columns of groups that are treated apart in all steps.
        values: the values of givens and settings; several of one that was asked in turn.
        steps: its steps, in order.
        draws: the number of draws of the noise; 0 without intervals.
        level: the level of the intervals.
        seed: the seed of starts and draws.
        diagnostics: warnings.
        where: the conditions on the rows of the table, before the first step.
    """

    name: str
    title: str
    data: str
    by: tuple[str, ...]
    values: Mapping[str, float | tuple[float, ...]]
    steps: tuple[StepOfPipeline, ...]
    draws: int
    level: float
    seed: int
    diagnostics: tuple[Diagnostic, ...] = field(repr=False)
    where: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every group has a fit, every question an answer, or the proof of none, and no law is
        evaluated far beyond its rows."""
        if is_far(self.diagnostics):
            return False
        for step in self.steps:
            if isinstance(step, AnswersOfStep):
                if any(g.status in ("", "undecided") for g in step.groups):
                    return False
            if isinstance(step, FitsOfStep) and any(g.left_out for g in step.groups):
                return False
        return True

    def step(self, name: str) -> StepOfPipeline:
        """The last step of that name, or about that law or question.

        Raises:
            KeyError: no such step.
        """
        for step in reversed(self.steps):
            asked = getattr(step, "question", getattr(step, "law", ""))
            if name in (step.name, asked):
                return step
        raise KeyError(name)

    def to_json(self) -> dict[str, Any]:
        """The result as plain data; infinite values are the texts inf and -inf."""
        steps = []
        for step in self.steps:
            content = {"kind": KINDS[type(step)]} | asdict(step)
            steps.append(_finite(content))
        content = {
            "schema": ANSWERS_SCHEMA,
            "pipeline": self.name,
            "title": self.title,
            "data": self.data,
            "where": list(self.where),
            "by": list(self.by),
            "values": dict(self.values),
            "steps": steps,
            "draws": self.draws,
            "level": self.level,
            "seed": self.seed,
        }
        document: dict[str, Any] = plain(content)
        return document


def _finite(content: Any) -> Any:
    """A record with infinite numbers as texts, and nan as null."""
    if isinstance(content, Mapping):
        return {name: _finite(x) for name, x in content.items()}
    if isinstance(content, (list, tuple)):
        return [_finite(x) for x in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None if math.isnan(content) else str(content)
    return content
