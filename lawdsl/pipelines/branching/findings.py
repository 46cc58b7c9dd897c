"""The steps of a pipeline that branches -> warnings about fits without evidence and lost draws."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.pipelines.branching.result import (
    AnswersOfStep,
    FitOfGroup,
    FitsOfStep,
    RowsOfStep,
    StepOfPipeline,
)

MAX_UNANSWERED = 0.05  # share of the draws: if more have no answer, there is a warning
IMPROBABLE = 4.0  # scatter that is reported where no test was possible


def findings(steps: Sequence[StepOfPipeline], place: str) -> Iterator[Diagnostic]:
    """Warnings about the steps of a pipeline.

    Args:
        steps: its steps.
        place: the name of the table.
    """
    for step in steps:
        if isinstance(step, FitsOfStep):
            yield from _of_fits(step, place)
        elif isinstance(step, RowsOfStep):
            yield from _of_rows(step, place)
        else:
            yield from _of_answers(step, place)


def _of_fits(step: FitsOfStep, place: str) -> Iterator[Diagnostic]:
    name = step.name or step.law
    for group in step.groups:
        where = _text(group.labels)
        if group.left_out:
            message = f"`{name}` has no fit{where}: {group.left_out}"
            help = "measure more, or choose rows"
            yield Diagnostic("F0404", message, "warning", place=place, help=help)
        elif group.rows <= step.parameters:
            message = (
                f"`{name}` has {group.rows} rows for {step.parameters} parameters{where}: it passes "
                "through all, and nothing tests its form"
            )
            help = f"more groups with an answer test `{step.law}`"
            yield Diagnostic("F0409", message, "warning", place=place, help=help)
        elif _scatters(group):
            times = (group.scatter or 1.0) ** 0.5
            message = f"rows of `{name}` lie {times:.2g} times as far from it as their errors explain{where}"
            help = f"`{step.law}` may be wrong here: intervals include that scatter, not its cause"
            yield Diagnostic("F0410", message, "warning", place=place, help=help)


def _scatters(group: FitOfGroup) -> bool:
    return group.scatter is not None and group.scatter > IMPROBABLE


def _of_rows(step: RowsOfStep, place: str) -> Iterator[Diagnostic]:
    if step.rows and not any(row.kept for row in step.rows):
        met = {c: sum(row.holds[c] for row in step.rows) for c in step.rows[0].holds}
        notes = tuple(f"{count} of {len(step.rows)} have {c}" for c, count in met.items())
        message = f"no row of `{step.name}` is kept"
        help = "steps that take its rows have no fit"
        yield Diagnostic("F0411", message, "warning", place=place, notes=notes, help=help)


def _of_answers(step: AnswersOfStep, place: str) -> Iterator[Diagnostic]:
    for group in step.groups:
        if group.ok and group.unanswered > MAX_UNANSWERED:
            where = _text(group.labels)
            message = (
                f"`{step.question}` has no answer in {group.unanswered:.0%} of the draws{where}"
            )
            help = "the interval is that of the others: believe it less"
            yield Diagnostic("F0406", message, "warning", place=place, help=help)


def _text(labels: Mapping[str, str]) -> str:
    """Where a finding is, ` for size = 460M`; empty for a single group."""
    return f" for {', '.join(f'{n} = {x}' for n, x in labels.items())}" if labels else ""
