"""Stages -> PipelineResult: frozen records of its steps, their groups, and the last fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.files import plain
from lawdsl.core.presentation import Presented
from lawdsl.data.size_ranks import RankAgreement
from lawdsl.data.table import Table
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.pipelines.extrapolations import is_far

PIPELINE_SCHEMA = 1


@dataclass(frozen=True)
class Group:
    """The fit of one group of rows.

    Attributes:
        labels: column -> the value that all rows have.
        rows: the number of rows.
        parameters: name -> value, in the law's units; empty where the group was excluded.
        at_bound: the parameters that lie on a bound.
        predicted: the prediction at the point of the step, in the unit of the output; None without
            a point.
        error: its standard error; None where unknown.
        ends: the ends of its interval, if noise was propagated through the whole pipeline.
        left_out: the reason why the group is not used; empty if it is used.
    """

    labels: Mapping[str, str]
    rows: int
    parameters: Mapping[str, float] = field(default_factory=dict)
    at_bound: tuple[str, ...] = ()
    predicted: float | None = None
    error: float | None = None
    ends: tuple[float, float] | None = None
    left_out: str = ""


@dataclass(frozen=True)
class StepResult:
    """The result of one step.

    Attributes:
        law: the name of its law.
        output: the name of what the law predicts.
        by: the columns that are constant within a group.
        where: the conditions that rows satisfied.
        at: variable -> its value at the point of prediction, in the law's unit.
        ranges: variable or output -> its smallest and largest value among the rows.
        rows: the number of rows that satisfied the conditions.
        groups: the fits of its groups, in the order of their labels.
        scatter: the ratio of the variance of rows about the law to that of their errors, as the
            median over groups; None if the rows have no known errors.
        table: its predictions, the input of the next step; None where it predicts nothing.
        unit: the unit of the output in the law; empty for none.
        ranks: how far the ranks of its groups agree between model sizes; None if its law has no
            model size, or too few groups have two.
        size: the variable that is the model size; empty without `ranks`.
    """

    law: str
    output: str
    by: tuple[str, ...]
    where: tuple[str, ...]
    at: Mapping[str, float]
    ranges: Mapping[str, tuple[float, float]]
    rows: int
    groups: tuple[Group, ...] = field(repr=False)
    scatter: float | None = None
    table: Table | None = field(default=None, repr=False, compare=False)
    unit: str = ""
    ranks: RankAgreement | None = None
    size: str = ""

    @property
    def left_out(self) -> tuple[Group, ...]:
        """The groups that are not used."""
        return tuple(g for g in self.groups if g.left_out)

    def fits(self) -> dict[str, list[Any]]:
        """The groups as plain columns: labels, rows, parameters, predictions, exclusions."""
        names = dict.fromkeys(name for group in self.groups for name in group.parameters)
        labels = dict.fromkeys(name for group in self.groups for name in group.labels)
        columns: dict[str, list[Any]] = {c: [g.labels.get(c) for g in self.groups] for c in labels}
        columns["rows"] = [g.rows for g in self.groups]
        columns |= {name: [g.parameters.get(name) for g in self.groups] for name in names}
        if self.at:
            columns[f"{self.output} predicted"] = [g.predicted for g in self.groups]
            columns[f"{self.output} error"] = [g.error for g in self.groups]
        columns["left out"] = [g.left_out for g in self.groups]
        return columns

    def columns(self) -> dict[str, list[Any]]:
        """The predictions as plain columns with units in their headers; empty without a point."""
        if self.table is None:
            return {}
        units = self.table.units
        return {
            f"{name} [{units[name]}]" if name in units else name: cells.to_pylist()
            for name, cells in self.table.columns.items()
        }


@dataclass(frozen=True)
class PipelineResult(Presented):
    """The result of a pipeline.

    Attributes:
        name: the name of the pipeline.
        data: the name of the table.
        values: the values of the givens and settings.
        steps: its steps, in order.
        fits: the fits of the last step, one for each group that could be fitted; empty if the last
            step has a point, so that its predictions are the result. If noise was propagated, their
            intervals account for all steps.
        draws: the number of draws of the noise.
        failed: the number of draws that did not converge in every group.
        level: the level of the intervals, 0.95 for 95 %.
        seed: the seed of starts and draws.
        diagnostics: warnings and findings.
        together: `fits` combined into those of one law with index sets; None if they cannot be
            combined.
        drawn: for each of `fits` its parameters in all draws, shape (draws, parameters).
        where: the conditions on the rows of the table, before the first step.
    """

    name: str
    data: str
    values: Mapping[str, float]
    steps: tuple[StepResult, ...]
    fits: tuple[Fit, ...] = field(repr=False)
    draws: int
    failed: int
    level: float
    seed: int
    diagnostics: tuple[Diagnostic, ...] = field(repr=False)
    together: Fits | None = field(default=None, repr=False)
    drawn: tuple[Any, ...] = field(default=(), repr=False, compare=False)
    where: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no group was excluded, every last fit is trusted, and no step predicts far beyond its
        rows."""
        if is_far(self.diagnostics):
            return False
        trusted = all(fit.verdict != "not trusted" for fit in self.fits)
        return trusted and not any(step.left_out for step in self.steps)

    def to_json(self) -> dict[str, Any]:
        """The result, except for its draws, as plain data; the keys are stable."""
        steps = []
        for step in self.steps:
            step_content = {
                k: getattr(step, k) for k in ("law", "output", "by", "where", "rows", "scatter")
            }
            step_content |= {"at": dict(step.at), "ranges": dict(step.ranges)}
            step_content["ranks"] = asdict(step.ranks) if step.ranks else None
            step_content |= {"groups": [asdict(g) for g in step.groups], "table": step.columns()}
            steps.append(step_content)
        content = {
            "schema": PIPELINE_SCHEMA,
            "pipeline": self.name,
            "data": self.data,
            "where": list(self.where),
            "values": dict(self.values),
            "steps": steps,
            "fits": [fit.to_json() for fit in self.fits],
            "draws": self.draws,
            "failed": self.failed,
            "level": self.level,
            "seed": self.seed,
        }
        document: dict[str, Any] = plain(content)
        return document
