"""`pipeline` of a pipeline that asks: fitted curves with the answers along them, and the laws that were
fitted to these answers, with what was asked of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.figures import theme
from lawdsl.figures.figure import Figure
from lawdsl.pipelines.branching.result import (
    AnswerOfGroup,
    AnswersOfStep,
    FitOfGroup,
    FitsOfStep,
    PipelineAnswers,
)

Row = dict[str, Any]

MAX_APART = 4  # groups of `by` that are drawn, one below the other
MAX_POINTS = 60  # measured rows of a curve that are drawn
WIDTH, HEIGHT = 330, 230


def pipeline_answers_figure(result: PipelineAnswers) -> Figure:
    """Draw the fits of one variable that questions were asked of, and the answers.

    Args:
        result: the result of the pipeline.

    Raises:
        LawdslError: no step fits a law of one variable that a question is asked of (G0115).
    """
    steps = [s for s in result.steps if isinstance(s, FitsOfStep) and _asked_of(result, s)]
    apart = list(dict.fromkeys(_outer(result, g.labels) for s in steps for g in s.groups))
    rows: list[Row] = []
    charts = []
    for outer in apart[:MAX_APART]:
        panels = []
        for step in steps:
            panel_rows = [row for g in step.groups for row in _rows(result, step, g, outer)]
            if panel_rows:
                rows += panel_rows
                panels.append(_panel(step, panel_rows, outer))
        if panels:
            charts.append(alt.hconcat(*panels, spacing=30).resolve_scale(color="independent"))
    if not charts:
        message = f"no question of {result.name} is asked of a law of one variable that has a fit"
        help = "the output of `lawdsl pipeline` says why there is no fit"
        raise LawdslError(Diagnostic("G0115", message, help=help))
    title = _title(result)
    notes = (
        [f"the first {MAX_APART} of {len(apart)} groups are drawn"]
        if len(apart) > MAX_APART
        else []
    )
    legend = "black marks: answers"
    legend += f", with {100 * result.level:g} % intervals" if result.draws else ""
    description = f"{title}. Fitted curves, and the answers along them."
    chart = alt.vconcat(*charts, spacing=34) if len(charts) > 1 else charts[0]
    drawn = theme.titled(chart, title, [legend, *notes], description, width=2 * WIDTH)
    names = ("panel", "group", "kind", "x", "y", "low", "high", "x_low", "x_high")
    columns = {name: [row.get(name) for row in rows] for name in names}
    return Figure("pipeline", title, columns, drawn, description, tuple(notes))


def _outer(result: PipelineAnswers, labels: Mapping[str, str]) -> str:
    return ", ".join(f"{n} = {x}" for n, x in labels.items() if n in result.by)


def _asked_of(result: PipelineAnswers, step: FitsOfStep) -> list[AnswersOfStep]:
    """The questions whose answers are places on the curve of a step: along its variable, or on it."""
    if len(step.variables) != 1:
        return []
    found = []
    for asked in result.steps:
        if isinstance(asked, AnswersOfStep) and step.name in asked.uses:
            along = asked.name and asked.unknowns == step.variables
            on = asked.unknowns == (step.output,) and len(asked.uses) == 1
            found += [asked] if along or on else []
    return found


def _rows(result: PipelineAnswers, step: FitsOfStep, group: FitOfGroup, outer: str) -> list[Row]:
    """The tidy rows of a curve: measured rows, the law, and the answers."""
    if group.curve is None or _outer(result, group.labels) != outer:
        return []
    curve = group.curve
    name = ", ".join(f"{n} = {x}" for n, x in group.labels.items() if n not in result.by)
    base = {"panel": " ".join(x for x in (outer, step.law) if x), "group": name or "fit"}
    chosen = np.unique(np.linspace(0, len(curve.x) - 1, min(len(curve.x), MAX_POINTS)).astype(int))
    rows = []
    for i in chosen:
        low, high = curve.x_ends[i] if curve.x_ends else (None, None)
        row = {"kind": "row", "x": curve.x[i], "y": curve.y[i]}
        rows.append(base | row | {"x_low": _number(low), "x_high": _number(high)})
    for i, x in enumerate(curve.curve_x):
        band = {"low": _number(curve.low[i]), "high": _number(curve.high[i])} if curve.low else {}
        rows.append(base | {"kind": "law", "x": x, "y": curve.curve_y[i]} | band)
    span = max(curve.curve_x)
    for asked in _asked_of(result, step):
        for answer in asked.groups:
            rows += _marks(step, group, asked, answer, base, span)
    return rows


def _marks(
    step: FitsOfStep,
    group: FitOfGroup,
    asked: AnswersOfStep,
    answer: AnswerOfGroup,
    base: Row,
    span: float,
) -> list[Row]:
    """The mark of an answer, if it lies where the curve is drawn."""
    assert group.curve is not None
    if any(group.labels.get(n, x) != x for n, x in answer.labels.items()) or not answer.ok:
        return []
    (unknown,) = asked.unknowns
    value = answer.estimates[unknown]
    low, high = answer.ends.get(unknown, (math.nan, math.nan))
    if asked.unknowns == step.variables:
        if not value <= span:
            return []
        y = float(np.interp(value, group.curve.curve_x, group.curve.curve_y))
        mark = {"x": value, "y": y, "x_low": _number(low), "x_high": _number(min(high, span))}
        return [base | {"kind": "answer"} | mark]
    at = answer.values.get(step.variables[0])
    if at is None or math.isinf(value):
        return []
    mark = {"x": at, "y": value, "low": _number(low), "high": _number(high)}
    return [base | {"kind": "answer"} | mark]


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _panel(step: FitsOfStep, rows: Sequence[Row], outer: str) -> Any:
    """Rows, law and answers of one step."""
    groups = list(dict.fromkeys(row["group"] for row in rows))
    x = alt.X("x:Q", title=step.variables[0], scale=alt.Scale(zero=False, nice=False))
    y = alt.Y("y:Q", title=step.output, scale=alt.Scale(zero=False))
    color = alt.Color(
        "group:N",
        title=None,
        scale=alt.Scale(domain=groups, range=[_color(i, len(groups)) for i in range(len(groups))]),
        legend=alt.Legend(orient="right") if len(groups) > 1 else None,
    )

    def of(kind: str) -> alt.Chart:
        return alt.Chart({"values": [row for row in rows if row["kind"] == kind]})

    layers: list[Any] = []
    if any(row.get("low") is not None for row in rows if row["kind"] == "law"):
        layers.append(
            of("law").mark_area(opacity=0.18).encode(x, alt.Y("low:Q"), alt.Y2("high:Q"), color)
        )
    layers.append(of("row").mark_circle(size=14, opacity=0.45).encode(x, y, color))
    if any(row.get("x_low") is not None for row in rows if row["kind"] == "row"):
        layers.append(
            of("row").mark_rule(opacity=0.6).encode(alt.X("x_low:Q"), y, alt.X2("x_high:Q"), color)
        )
    layers.append(of("law").mark_line(strokeWidth=1.6).encode(x, y, color))
    marks = of("answer")
    layers.append(marks.mark_rule(color="black").encode(alt.X("x_low:Q"), y, alt.X2("x_high:Q")))
    layers.append(marks.mark_rule(color="black").encode(x, alt.Y("low:Q"), alt.Y2("high:Q")))
    layers.append(marks.mark_point(color="black", filled=True, size=36, opacity=1).encode(x, y))
    heading = alt.TitleParams(
        f"{outer}: {step.law}" if outer else step.law,
        fontSize=12,
        fontWeight="normal",
        anchor="start",
    )
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=heading)


def _color(position: int, count: int) -> str:
    if count <= len(theme.CATEGORIES):
        return theme.CATEGORIES[position]
    shade = int(40 + 170 * position / max(1, count - 1))
    return f"#{shade:02x}{(210 - shade) % 256:02x}b0"


def _title(result: PipelineAnswers) -> str:
    """The answers of the last question that maximises and has no other name, or the pipeline."""
    asked = [s for s in result.steps if isinstance(s, AnswersOfStep) and not s.name]
    if not asked:
        return result.title
    step = asked[0]
    parts = []
    for group in step.groups[:MAX_APART]:
        outer = ", ".join(group.labels.values())
        found = ", ".join(f"{n} = {theme.short(x)}" for n, x in group.estimates.items())
        text = found if group.ok else "no answer"
        parts.append(f"{text} ({outer})" if outer else text)
    return f"{result.name}: {'; '.join(parts)}"
