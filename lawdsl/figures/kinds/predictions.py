"""`predictions`: predicted values with their intervals, and the parts of these."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from lawdsl.figures import theme
from lawdsl.figures.course import course_of
from lawdsl.figures.figure import Figure, chart_of
from lawdsl.figures.predicted_series import PredictedSeries, series_of
from lawdsl.fitting.predicted_points import PREDICTED, PredictedPoints
from lawdsl.fitting.prediction_bands import PART_NAMES, Band

HEIGHT, PARTS_HEIGHT, ROW, MAX_ROWS = 240, 110, 30, 40
ROWS_WIDTH, SHARES_WIDTH = 300, 150
MIN_BAND = 8  # points of a curve: with fewer, intervals are bars instead of a band
PARTS = {"noise": theme.BLUE, "run": theme.GREEN, "law_error": theme.VERMILION}
DASHES = {"noise": [1, 0], "run": [2, 2], "law_error": [6, 3]}
MAX_NOTES = 3


def predictions_figure(
    result: PredictedPoints | Band, *, x: str | None = None, color: str | None = None
) -> Figure:
    """Draw predictions with their intervals.

    If a variable varies, predictions are drawn against it, with the parts of the interval of a
    further run below; else each prediction is a row, with the share of each part in the squared
    interval.

    Args:
        result: the predictions, or a band with its points.
        x: the variable of the horizontal axis; by default the one with the most values.
        color: the variable of the groups; by default all others that vary.

    Raises:
        LawdslError: a variable that does not vary or does not exist (G0104).
    """
    points = result if isinstance(result, PredictedPoints) else _points_of(result)
    series = series_of(points, x, color)
    notes = [*series.notes, *(d.message for d in points.warnings[:MAX_NOTES])]
    if series.x is None:
        chart, shown = rows_chart(series), min(len(series.columns["value"]), MAX_ROWS)
        if shown < len(series.columns["value"]):
            notes.insert(0, f"{shown} of {len(series.columns['value']):,} predictions are drawn")
    else:
        chart = curves_chart(series)
    title, legend = _title(series), _legend(series)
    description = f"{title}. {legend}."
    drawn = theme.titled(chart, title, [legend, *notes], description)
    return Figure("predictions", title, series.columns, drawn, description, tuple(notes))


def _points_of(band: Band) -> PredictedPoints:
    """A band as predictions at its points, or at numbered rows if it has no points."""
    arrays = np.moveaxis(band.stacked(), 0, -1)
    columns: dict[str, Any] = dict(band.points) or {"row": np.arange(1, len(arrays) + 1)}
    labels = list(band.labels)
    cells = list(zip(*(values.tolist() for values in columns.values()), strict=True))
    over = "output" if labels else ""
    return PredictedPoints(
        list(columns), cells, "prediction", over, labels, arrays, band.level, warnings=band.warnings
    )


def _title(series: PredictedSeries) -> str:
    """The predicted value, or the first and the last value if the intervals show whether it rises
    or falls.
    """
    points, table = series.points, series.columns
    law = f"{points.law}: " if points.law else ""
    output = points.output.removesuffix(PREDICTED)
    unit = f" {points.units[output]}" if output in points.units else ""
    values, low, high = (table.get(name) for name in ("value", "low", "high"))
    assert values is not None

    def single_value(k: int) -> str:
        ends = ""
        if low and high and np.isfinite([low[k], high[k]]).all():
            ends = f", {points.interval_name} {low[k]:.4g} to {high[k]:.4g}"
        return f"{law}{output} = {values[k]:.4g}{unit}{ends}"

    if len(values) == 1:
        return single_value(0)
    if series.x is None or len(series.groups) > 1 or series.is_scatter:
        finite = [v for v in values if np.isfinite(v)] or [float("nan")]
        what = f"{len(values)} predictions of {output}"
        return f"{law}{what}, from {min(finite):.4g} to {max(finite):.4g}{unit}"
    at = table[series.x]
    # if the intervals overlap, the direction is not known
    if low and high and max(low[0], low[-1]) <= min(high[0], high[-1]):
        return f"{single_value(-1)}, at {series.x} = {theme.short(at[-1])}"
    course = course_of(values, (), "{:.4g}".format, unit)
    ends = f"{series.x} goes from {theme.short(at[0])} to {theme.short(at[-1])}"
    return f"{law}{output} {course} while {ends}"


def _legend(series: PredictedSeries) -> str:
    """The meaning of the marks."""
    points = series.points
    if not series.has_intervals:
        return "predictions by the fitted law alone, without intervals"
    is_band = series.x is not None and not series.is_scatter and series.is_dense(MIN_BAND)
    dark, light = ("dark band", "light band") if is_band else ("thick bar", "thin bar")
    parts = [f"{dark}: {points.interval_name}"]
    if points.has_law_error:
        parts[0] += " of the curve, with the error of the law"
        parts.append(f"{light}: that of a further run")
        if not series.is_scatter:
            parts.append(f"{'tick' if series.x is None else 'dashed'}: the law alone")
    return "; ".join(parts)


def curves_chart(series: PredictedSeries, *, bands: bool = True) -> Any:
    """Predictions against a variable, and below them half the width of the interval by its parts.

    Args:
        series: the predictions, along a variable.
        bands: whether intervals at many points are drawn as bands.
    """
    assert series.x is not None
    table, points = series.columns, series.points
    title = series.title_of(series.x)
    first, last = min(table[series.x]), max(table[series.x])
    margin = 0.03 * (last - first)
    x = theme.axis(series.x, title, table[series.x], ends=(first - margin, last + margin))
    names = [n for n in ("value", "low", "high", "run_low", "run_high", "law") if n in table]
    low, high = theme.visible_range([np.array(table[n], dtype=np.float64) for n in names])
    log = theme.is_logarithmic(table["value"])
    if log:
        finite = np.array([table[n] for n in names], dtype=np.float64)
        finite = finite[np.isfinite(finite) & (finite > 0)]
        low, high = theme.padded(float(np.min(finite)), float(np.max(finite)))

    def y(field: str) -> Any:
        title = series.title_of(points.output)
        return theme.ranged_y(field, title, low, high, logarithmic=log)

    drawn = chart_of(series.finite)
    grouped = len(series.groups) > 1
    tint: dict[str, Any] = {"color": alt.value(theme.BLUE)}
    mark = dict(tint)
    if grouped:
        tint = {"color": theme.color("group", "", series.groups)}
        mark = {**tint, "shape": theme.shape("group", "", series.groups)}
    layers: list[Any] = []
    joined = not series.is_scatter
    banded = bands and joined and series.is_dense(MIN_BAND)
    for ends, opacity, width in (("run_low", 0.12, 1.2), ("low", 0.28, 4.0)):
        if ends in table:
            second = f"{ends.replace('low', 'high')}:Q"
            style = {"opacity": opacity} if banded else {"strokeWidth": width, "opacity": 0.55}
            area: Any = drawn.mark_area if banded else drawn.mark_rule
            layers.append(area(clip=True, **style).encode(x=x, y=y(ends), y2=second, **tint))
    if "law" in table and joined:
        dashed = drawn.mark_line(strokeDash=[5, 3], strokeWidth=1.2, clip=True)
        layers.append(dashed.encode(x=x, y=y("law"), **tint))
    if joined:
        layers.append(drawn.mark_line(strokeWidth=2).encode(x=x, y=y("value"), **tint))
    if not banded:
        size, opacity = (45, 1.0) if joined else (14, 0.5)
        dots = drawn.mark_point(filled=True, size=size, opacity=opacity)
        layers.append(dots.encode(x=x, y=y("value"), **mark))
    above: Any = alt.layer(*layers)
    panels = [above.properties(width=theme.WIDTH, height=HEIGHT)]
    if "noise" in table and not grouped and joined:
        panels.append(_parts_panel(series, x))
    return alt.vconcat(*panels, spacing=34).resolve_scale(color="independent", shape="independent")


def _parts_panel(series: PredictedSeries, x: Any) -> Any:
    """Half the width of the interval of a further run by its parts, in percent of the prediction."""
    assert series.x is not None
    table = series.columns
    names = [n for n in PARTS if np.any(np.array(table[n], dtype=np.float64) > 0)]
    value = np.abs(np.array(table["value"], dtype=np.float64))
    long: dict[str, list[Any]] = {series.x: [], "part": [], "percent": []}
    for name in names:
        percent = 100 * np.array(table[name], dtype=np.float64) / value
        long[series.x] += list(table[series.x])
        long["part"] += [PART_NAMES[name]] * len(percent)
        long["percent"] += percent.tolist()
    words = [PART_NAMES[name] for name in names]
    colors, dashes = [PARTS[n] for n in names], [DASHES[n] for n in names]
    color = alt.Color("part:N", scale=alt.Scale(domain=words, range=colors), legend=None)
    dash = alt.StrokeDash("part:N", scale=alt.Scale(domain=words, range=dashes), legend=None)
    y = theme.axis("percent", "± %", [0.0, *long["percent"]], channel="y", zero=True)
    lines = chart_of(long).mark_line(strokeWidth=2, point=len(value) < MIN_BAND)
    key = theme.key([f"± {word}" for word in words], colors, dashes, theme.WIDTH)
    layered: Any = alt.layer(lines.encode(x=x, y=y, color=color, strokeDash=dash), *key)
    return layered.properties(width=theme.WIDTH, height=PARTS_HEIGHT)


def rows_chart(series: PredictedSeries) -> Any:
    """One row per prediction: its intervals, and the shares of their parts."""
    table = {name: values[:MAX_ROWS] for name, values in series.finite.items()}
    names = [n for n in ("value", "low", "high", "run_low", "run_high", "law") if n in table]
    title = series.title_of(series.points.output)
    known = [v for n in names for v in table[n] if v is not None]
    y = alt.Y("row:N", sort=None, axis=alt.Axis(title=None, ticks=False, labelLimit=260))
    x: dict[str, Any] = {name: theme.axis(name, title, known) for name in names}
    drawn = chart_of(table)
    layers: list[Any] = []
    for ends, width, opacity in (("run_low", 1.5, 0.7), ("low", 6.0, 0.35)):
        if ends in table:
            second = f"{ends.replace('low', 'high')}:Q"
            bar = drawn.mark_rule(strokeWidth=width, opacity=opacity, color=theme.BLUE)
            layers.append(bar.encode(x=x[ends], x2=second, y=y))
    if "law" in table:
        tick = drawn.mark_tick(color="black", thickness=2, height=14)
        layers.append(tick.encode(x=x["law"], y=y))
    dots = drawn.mark_point(filled=True, size=60, opacity=1, color=theme.BLUE)
    layers.append(dots.encode(x=x["value"], y=y))
    height = ROW * len(table["value"])
    left: Any = alt.layer(*layers)
    panels = [left.properties(width=ROWS_WIDTH, height=height)]
    if "noise" in table:
        panels.append(_shares_panel(table, height))
    return alt.hconcat(*panels, spacing=30).resolve_scale(color="independent")


def _shares_panel(table: dict[str, list[Any]], height: int) -> Any:
    """The share of each part in the squared interval of a further run; the squares are additive."""
    long: dict[str, list[Any]] = {"row": [], "part": [], "from": [], "to": []}
    names = [n for n in PARTS if any(v for v in table[n])]
    for k, row in enumerate(table["row"]):
        squares = [float(table[n][k] or 0.0) ** 2 for n in names]
        total, start = sum(squares), 0.0
        for name, square in zip(names, squares, strict=True):
            if total > 0:
                long["row"].append(row)
                long["part"].append(PART_NAMES[name])
                long["from"].append(start)
                start += square / total
                long["to"].append(start)
    words = [PART_NAMES[n] for n in names]
    colors = [PARTS[n] for n in names]
    fill = alt.Color("part:N", scale=alt.Scale(domain=words, range=colors), legend=None)
    shape = alt.Axis(title="share of its square", format="%", tickCount=3)
    x = alt.X("from:Q", axis=shape, scale=alt.Scale(domain=[0, 1], nice=False))
    y = alt.Y("row:N", sort=None, axis=None)
    bars = chart_of(long).mark_bar(height=13, stroke="white", strokeWidth=0.5)
    key = theme.key(words, colors, [[1, 0]] * len(words), SHARES_WIDTH, thickness=9)
    layered: Any = alt.layer(bars.encode(x=x, x2="to:Q", y=y, color=fill), *key)
    return layered.properties(width=SHARES_WIDTH, height=height)
