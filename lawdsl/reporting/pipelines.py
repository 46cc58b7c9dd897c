"""A pipeline -> text on a terminal: its required inputs, and the result of each step."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from lawdsl.core.diagnostics import printable
from lawdsl.data.size_ranks import agreement_text
from lawdsl.language.label_texts import split_element, with_subscripts
from lawdsl.reporting.terminal import STYLES, number_text, printable_lines, show_rows

if TYPE_CHECKING:
    from lawdsl.fitting.result import Fit
    from lawdsl.language.pipeline_records import Pipeline
    from lawdsl.pipelines.result import Group, PipelineResult, StepResult

MAX_GROUPS_SHOWN = 12  # groups of a step that are shown
INTERVAL = "{:g} % interval"


def show_needs(pipeline: Pipeline, out: Console, name: str) -> None:
    """Print a pipeline as written, and the command that runs it.

    Args:
        pipeline: the pipeline.
        out: where it is printed.
        name: its name or file, for the command.
    """
    out.print(Text(printable_lines(pipeline.text.text)), end="")
    out.print()
    settings = " ".join(f"--set {symbol.name}=…" for symbol in pipeline.of_kind("given"))
    names = " ".join(f"{name}=COLUMN" for name in pipeline.names)
    line = f"lawdsl pipeline {shlex.quote(name)} TABLE {settings}".rstrip()
    out.print(Text(line, style="bold"), soft_wrap=True)
    out.print(Text(f"columns of other names are bound by {names}"), soft_wrap=True)


def show_pipeline(result: PipelineResult, out: Console, *, details: bool = True) -> None:
    """Print the results of a pipeline: a block for each step, and the verdicts on the last fits.

    Args:
        result: the results.
        out: where they are printed.
        details: whether to print all steps, not only the last.
    """
    chosen = "".join(f", {text}" for text in result.where)
    title = f"{result.name} on {printable(result.data + chosen)}"
    values = ", ".join(f"{name} = {number_text(x)}" for name, x in result.values.items())
    out.print(Text(title, style="bold") + Text(f", {values}" if values else ""), soft_wrap=True)
    for step in result.steps if details else result.steps[-1:]:
        _show_step(step, result, out)
    if result.draws:
        out.print(
            f"{100 * result.level:g} % intervals: noise drawn {result.draws} times and carried through"
        )
    verdicts = [fit.verdict for fit in result.fits]
    for verdict in dict.fromkeys(verdicts):
        line = Text("verdict: ") + Text(verdict, style=STYLES[verdict])
        many = f", {verdicts.count(verdict)} of {len(verdicts)} fits" if len(verdicts) > 1 else ""
        out.print(line + Text(many))


def _show_step(step: StepResult, result: PipelineResult, out: Console) -> None:
    out.print()
    grouping = f" by {', '.join(step.by)}" if step.by else ""
    fitted = len(step.groups) - len(step.left_out)
    line = f": {fitted} of {len(step.groups)} groups{grouping}, {step.rows:,} rows"
    out.print(Text(step.law, style="bold") + Text(printable(line)), soft_wrap=True)
    if step.where:
        out.print(Text(f"  where {printable(', '.join(step.where))}"), soft_wrap=True)
    for name, to in step.at.items():
        low, high = step.ranges[name]
        times = f", {to / high:.3g} times the largest" if to > high > 0 else ""
        out.print(
            f"  fitted at {name} from {number_text(low)} to {number_text(high)}, predicts at {number_text(to)}{times}"
        )
    if step.scatter is not None and step.scatter > 1:
        out.print(
            f"  its rows scatter {step.scatter**0.5:.2g} times as far as their errors say,"
            " and its own errors have grown by that"
        )
    if step.ranks is not None:
        line = f"  {agreement_text(step.ranks, step.size)}"
        out.print(Text(printable(line)), soft_wrap=True)
    level = INTERVAL.format(100 * result.level)
    fits = iter(result.fits if step is result.steps[-1] else ())
    rows = [
        _row(group, step.output, None if group.left_out else next(fits, None), level)
        for group in step.groups
    ]
    labels = [*step.groups[0].labels]
    names = dict.fromkeys(name for group in step.groups for name in _parameters(group))
    ahead = [step.output, *([level] if result.draws else [])]
    headers = [*labels, "rows", *names, *(ahead if step.at else [])]
    show_rows(headers, [[row.get(h, "") for h in headers] for row in rows[:MAX_GROUPS_SHOWN]], out)
    if len(rows) > MAX_GROUPS_SHOWN:
        out.print(f"  and {len(rows) - MAX_GROUPS_SHOWN} more groups; --save-tables DIR has all")


def _row(group: Group, output: str, fit: Fit | None, level: str) -> dict[str, str]:
    """Header -> cell; values with their standard errors where these are known."""
    row = {name: printable(label) for name, label in group.labels.items()}
    row["rows"] = f"{group.rows:,}" if not group.left_out else "left out"
    errors = fit.intervals.errors if fit else {}
    parameters = zip(_parameters(group), group.parameters.items(), strict=True)
    row |= {header: _value_with_error(x, errors.get(name)) for header, (name, x) in parameters}
    if group.predicted is not None:
        row[output] = _value_with_error(group.predicted, group.error)
    if group.ends is not None:
        low, high = map(number_text, group.ends)
        row[level] = f"{low} to {high}"
    return row


def _parameters(group: Group) -> list[str]:
    """The parameters of a group as headers, without the label of the group, which its row states:
    c[pile] and c[code] share a column c.
    """
    headers = [_without_labels(name, list(group.labels.values())) for name in group.parameters]
    return headers if len(set(headers)) == len(headers) else list(group.parameters)


def _without_labels(name: str, labels: list[str]) -> str:
    """A name without those subscripts that are among the given labels, each removed once."""
    base, subscripts = split_element(name)
    remaining = list(labels)
    others = []
    for subscript in subscripts:
        if subscript in remaining:
            remaining.remove(subscript)
        else:
            others.append(subscript)
    return with_subscripts(base, others)


def _value_with_error(value: float, error: float | None) -> str:
    return f"{value:.5g} ± {error:.2g}" if error else f"{value:.5g}"
