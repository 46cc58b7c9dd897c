"""The result of a pipeline that branches -> text on a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from lawdsl.core.diagnostics import printable
from lawdsl.reporting.terminal import number_text, show_rows

if TYPE_CHECKING:
    from lawdsl.pipelines.branching.result import (
        AnswerOfGroup,
        AnswersOfStep,
        FitsOfStep,
        PipelineAnswers,
        RowsOfStep,
    )

MAX_GROUPS_SHOWN = 48  # groups of a step that are shown
SEVERAL = 0.05  # share of the draws above which a condition that binds is named


def show_pipeline_answers(result: PipelineAnswers, out: Console, *, details: bool = True) -> None:
    """Print the results of a pipeline: what each step fitted, kept and answered.

    Args:
        result: the results.
        out: where they are printed.
        details: whether to print all steps, not only the answers without a name.
    """
    from lawdsl.pipelines.branching.result import AnswersOfStep, FitsOfStep, RowsOfStep

    chosen = "".join(f", {text}" for text in result.where)
    title = f"{result.name} on {printable(result.data + chosen)}"
    values = ", ".join(f"{name} = {_numbers(x)}" for name, x in result.values.items())
    out.print(Text(title, style="bold") + Text(f", {values}" if values else ""), soft_wrap=True)
    for step in result.steps:
        if isinstance(step, RowsOfStep):
            _show_rows_of_step(step, out)
        elif isinstance(step, AnswersOfStep) and (details or not step.name):
            _show_answers(step, result, out)
        elif isinstance(step, FitsOfStep) and details:
            _show_fits(step, result, out)
    if result.draws:
        out.print()
        out.print(
            f"{100 * result.level:g} % intervals: noise drawn {result.draws} times, and all repeated"
        )


def _numbers(value: float | Sequence[float]) -> str:
    return ", ".join(map(number_text, value)) if isinstance(value, tuple) else number_text(value)  # type: ignore[arg-type]


def _value(value: Any) -> str:
    """A number, or in words where it is beyond every bound."""
    if isinstance(value, float) and math.isinf(value):
        return "beyond" if value > 0 else "-oo"
    return number_text(value) if isinstance(value, (int, float)) else printable(str(value))


def _interval(ends: tuple[float, float] | None) -> str:
    if ends is None:
        return ""
    low, high = ends
    if math.isinf(low):
        return "beyond"
    return f"{number_text(low)} to {'oo' if math.isinf(high) else number_text(high)}"


def _show_fits(step: FitsOfStep, result: PipelineAnswers, out: Console) -> None:
    out.print()
    fitted = [group for group in step.groups if not group.left_out]
    name = f"{step.name} : {step.law}" if step.name else step.law
    since = f", since {step.since}" if step.since else ""
    line = f"{since}: {len(fitted)} of {len(step.groups)} groups, {step.parameters} parameters each"
    out.print(Text(name, style="bold") + Text(printable(line)), soft_wrap=True)
    if step.where:
        out.print(Text(f"  where {printable(', '.join(step.where))}"), soft_wrap=True)
    labels = [*step.groups[0].labels]
    names = list(dict.fromkeys(n for group in step.groups for n in group.parameters))
    at = ", ".join(f"{n} = {number_text(x)}" for n, x in step.at.items())
    predicted = f"{step.output} at {at}"
    level = f"{100 * result.level:g} % interval"
    ahead = [predicted, *([level] if result.draws else [])] if step.at else []
    headers = [*labels, "rows", *names, *ahead]
    rows = []
    for group in step.groups:
        row: dict[str, str] = {n: printable(x) for n, x in group.labels.items()}
        row["rows"] = f"{group.rows:,}" if not group.left_out else "no fit"
        for n, x in group.parameters.items():
            error = group.errors.get(n)
            row[n] = f"{x:.5g} ± {error:.2g}" if error else f"{x:.5g}"
        if group.predicted is not None:
            row[predicted] = number_text(group.predicted)
            row[level] = _interval(group.predicted_ends)
        rows.append(row)
    _show_table(headers, rows, out)


def _show_rows_of_step(step: RowsOfStep, out: Console) -> None:
    out.print()
    kept = sum(row.kept for row in step.rows)
    line = f": {kept} of {len(step.rows)} rows meet the conditions"
    out.print(Text(step.name, style="bold") + Text(line), soft_wrap=True)
    if not step.rows:
        return
    first = step.rows[0]
    headers = [
        *first.labels,
        *first.values,
        *first.holds,
        "kept",
        *(["of draws"] if first.shares else []),
    ]
    rows = []
    for row in step.rows:
        cells = {n: printable(x) for n, x in row.labels.items()}
        cells |= {n: _value(x) for n, x in row.values.items()}
        cells |= {text: "yes" if holds else "no" for text, holds in row.holds.items()}
        cells["kept"] = "yes" if row.kept else "no"
        cells["of draws"] = "" if row.share is None else f"{100 * row.share:.0f} %"
        rows.append(cells)
    _show_table(headers, rows, out)
    for line in _borders(step):
        out.print(Text(f"  {printable(line)}"), soft_wrap=True)


def _borders(step: RowsOfStep) -> list[str]:
    """Where along the last label, a number, rows begin and cease to be kept, for each of the others."""
    name = list(step.rows[0].labels)[-1:]
    places: dict[str, tuple[list[float], list[float]]] = {}
    for row in step.rows:
        try:
            place = float(row.labels[name[0]])
        except (IndexError, ValueError):
            return []
        others = ", ".join(f"{n} = {x}" for n, x in row.labels.items() if n != name[0])
        places.setdefault(others, ([], []))[0 if row.kept else 1].append(place)
    lines = []
    for others, (kept, lost) in places.items():
        where = f"{others}: " if others else ""
        if not lost:
            lines.append(f"{where}all kept, up to {name[0]} = {max(kept):g}")
        elif not kept:
            lines.append(f"{where}none kept, from {name[0]} = {min(lost):g} on")
        else:
            lines.append(
                f"{where}the largest {name[0]} kept is {max(kept):g}, the smallest not kept {min(lost):g}"
            )
    return lines


def _show_answers(step: AnswersOfStep, result: PipelineAnswers, out: Console) -> None:
    out.print()
    name = f"{step.name} : {step.question}" if step.name else step.question
    out.print(Text(name, style="bold") + Text(f": {step.title}"), soft_wrap=True)
    first = step.groups[0]
    given = {n for group in step.groups for n in group.values if _varies(step, n)}
    fixed = ", ".join(f"{n} = {number_text(x)}" for n, x in first.values.items() if n not in given)
    if fixed:
        out.print(Text(f"  {fixed}"), soft_wrap=True)
    level = f"{100 * result.level:g} % interval"
    intervals = [level] if result.draws else []
    headers = [
        *first.labels,
        *(n for n in first.values if n in given),
        *step.unknowns,
        *intervals,
        "where",
    ]
    rows = []
    for group in step.groups:
        row = {n: printable(x) for n, x in group.labels.items()}
        row |= {n: number_text(group.values[n]) for n in given}
        row |= {n: _value(x) for n, x in group.found.items() if not math.isnan(x)}
        if group.found:
            row[level] = _interval(next(iter(group.ends.values()), None))
        row["where"] = _where(group, step.maximize)
        rows.append(row)
    _show_table(headers, rows, out)


def _varies(step: AnswersOfStep, name: str) -> bool:
    return len({group.values.get(name) for group in step.groups}) > 1


def _where(group: AnswerOfGroup, maximize: bool) -> str:
    """Where an answer lies, and which constraints bind in the draws."""
    if group.reason:
        return f"none: {printable(group.reason)}"
    value = next(iter(group.found.values()), 0.0)
    if math.isinf(value):
        return f"the goal {'rises' if maximize else 'falls'} without end"
    shares = {n: x for n, x in group.binding_shares.items() if x >= SEVERAL}
    if group.binding and len(shares) < 2:
        return f"binding: {printable(', '.join(group.binding))}"
    if group.binding:
        named = ", ".join(f"{printable(n)} ({100 * x:.0f} % of draws)" for n, x in shares.items())
        return f"binding: {named}"
    return printable(group.where) or group.status


def _show_table(headers: Sequence[str], rows: Sequence[Mapping[str, str]], out: Console) -> None:
    show_rows(headers, [[row.get(h, "") for h in headers] for row in rows[:MAX_GROUPS_SHOWN]], out)
    if len(rows) > MAX_GROUPS_SHOWN:
        out.print(f"  and {len(rows) - MAX_GROUPS_SHOWN} more; --json has all")
