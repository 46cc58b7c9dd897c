"""`pipeline`: the predictions of the last predicting step of a pipeline, one for each of its
groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.distributions import normal_quantile
from lawdsl.figures import theme
from lawdsl.figures.figure import Figure
from lawdsl.figures.kinds.predictions import MAX_ROWS, curves_chart, rows_chart
from lawdsl.figures.predicted_series import PredictedSeries, series_of
from lawdsl.fitting.predicted_points import PredictedPoints
from lawdsl.pipelines.result import Group, PipelineResult, StepResult

ALL = "all rows"
MAX_STEPS = 2  # steps that are drawn, the last ones


def pipeline_figure(result: PipelineResult) -> Figure:
    """Draw the predictions of the last steps of a pipeline, with their intervals.

    A step passes on one prediction per group: per mixture, size or domain. Predictions are drawn
    against the number that distinguishes the groups if there is exactly one, else as rows, the
    lowest first.

    Args:
        result: the result of the pipeline.

    Raises:
        LawdslError: no step predicts anything (G0115).
    """
    predicting = [step for step in result.steps if any(_used_groups(step))]
    if not predicting:
        message = f"no step of {result.name} predicts anything"
        help = "a step predicts at the point after `at`: draw the last fit, `-o FIT.json`"
        raise LawdslError(Diagnostic("G0115", message, help=help))
    shown = predicting[-MAX_STEPS:]
    panels, tables, notes = [], [], []
    for step in shown:
        series = _series(step, result.level)
        chart, note = _panel(series)
        heading = alt.TitleParams(
            f"{step.law} at {_point_text(step)}", fontSize=12, fontWeight="normal", anchor="start"
        )
        panels.append(chart.properties(title=heading))
        notes += [note] if note else []
        tables.append(_columns(step, series))
    left_out = sum(len(step.left_out) for step in result.steps)
    if left_out:
        notes.append(f"{left_out} groups are left out")
    last = shown[-1]
    title = _title(result, last)
    legend = _legend(result, shown)
    description = f"{title}. {legend}."
    chart = alt.vconcat(*panels, spacing=34).resolve_scale(color="independent", shape="independent")
    columns = {name: [x for t in tables for x in t[name]] for name in tables[-1]}
    drawn = theme.titled(chart, title, [legend, *notes], description)
    return Figure("pipeline", title, columns, drawn, description, tuple(notes))


def _used_groups(step: StepResult) -> list[Group]:
    return [group for group in step.groups if group.predicted is not None and not group.left_out]


def _ends(group: Group, level: float) -> tuple[float, float]:
    """The interval of a group's prediction, from draws, else from its standard error; NaN where it
    is unknown.
    """
    if group.ends is not None:
        return group.ends
    assert group.predicted is not None
    half = np.nan if group.error is None else normal_quantile((1 + level) / 2) * group.error
    return group.predicted - half, group.predicted + half


def _series(step: StepResult, level: float) -> PredictedSeries:
    """The predictions of a step, the lowest first."""
    groups = sorted(_used_groups(step), key=lambda g: (g.predicted, list(g.labels.values())))
    names = list(groups[0].labels) or ["group"]
    cells = [[_cell(group.labels.get(n, ALL)) for n in names] for group in groups]
    arrays = np.array([[g.predicted, *_ends(g, level)] for g in groups], dtype=np.float64)
    if np.all(np.isnan(arrays[:, 1:])):
        arrays = arrays[:, :1]
    # not the law of that name, which may be a file of the user
    units = {step.output: step.unit} if step.unit else {}
    points = PredictedPoints(names, cells, step.output, "", (), arrays, level, step.law, units)
    series = series_of(points, None, None)
    if not groups[0].labels:
        series.columns["row"][:] = [ALL] * len(groups)
    return series


def _cell(text: str) -> Any:
    """A label as a number where it is one."""
    try:
        return float(text)
    except ValueError:
        return text


def _panel(series: PredictedSeries) -> tuple[Any, str]:
    """The predictions against the variable that distinguishes the groups, or as rows if there are
    several; and a note on what is left out.
    """
    count = len(series.columns["value"])
    if series.x is not None and not series.is_scatter:
        return curves_chart(series, bands=False), ""
    note = f"the lowest {MAX_ROWS} of {count:,} predictions are drawn" if count > MAX_ROWS else ""
    order = np.argsort(series.columns["value"], kind="stable")
    columns = {name: [values[i] for i in order] for name, values in series.columns.items()}
    rows = PredictedSeries(series.points, None, [""], False, columns, ())
    return rows_chart(rows), note


def _columns(step: StepResult, series: PredictedSeries) -> dict[str, list[Any]]:
    """The tidy table of a step."""
    table = series.columns
    count = len(table["value"])
    unknown = [None] * count
    return {
        "law": [step.law] * count,
        "group": table["row"],
        "predicted": table["value"],
        "low": table.get("low", unknown),
        "high": table.get("high", unknown),
    }


def _title(result: PipelineResult, last: StepResult) -> str:
    """The prediction, or the lowest and the highest prediction."""
    groups = sorted(_used_groups(last), key=lambda g: g.predicted or 0.0)
    first = groups[0]
    if len(groups) == 1:
        low, high = _ends(first, result.level)
        percent = f"{100 * result.level:g} %"
        ends = f", {percent} {low:.4g} to {high:.4g}" if np.isfinite([low, high]).all() else ""
        return f"{result.name}: {last.output} = {first.predicted:.4g}{ends} at {_point_text(last)}"
    return (
        f"{result.name}: {last.output} from {first.predicted:.4g} ({_labels(first)}) to "
        f"{groups[-1].predicted:.4g} ({_labels(groups[-1])}) over {len(groups)} groups"
    )


def _point_text(step: StepResult) -> str:
    """The point at which a step predicts."""
    return ", ".join(f"{name} = {theme.short(value)}" for name, value in step.at.items())


def _labels(group: Group) -> str:
    return ", ".join(f"{name} = {label}" for name, label in group.labels.items())


def _legend(result: PipelineResult, shown: Sequence[StepResult]) -> str:
    """The source of the intervals."""
    bars = f"bars: {100 * result.level:g} % intervals"
    drawn = [all(group.ends is not None for group in _used_groups(step)) for step in shown]
    carried = f"noise drawn {result.draws} times and carried through"
    if all(drawn):
        return f"{bars}, {carried}"
    errors = "by the standard errors of each step"
    return f"{bars}, below: {carried}, above: {errors}" if drawn[-1] else f"{bars} {errors}"
