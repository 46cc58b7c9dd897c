"""`residuals`: the residuals of a fit against its prediction, each variable and the order of the
rows.

The findings of the diagnostics are drawn too: the curve of a pattern along one variable, the means
in the quadrants of two, the border between two variances, correlated rows.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from lawdsl.core.enumerations import counted
from lawdsl.figures import theme
from lawdsl.figures.drawn_residuals import (
    FIT,
    ORDER,
    DrawnResiduals,
    drawn_residuals,
    far_rows,
)
from lawdsl.figures.figure import Figure, chart_of, refuse_own_columns
from lawdsl.figures.fitted_problem import (
    fitted_problem,
    other_table_notes,
)
from lawdsl.figures.fitted_variables import axis_title
from lawdsl.figures.measured_rows import thinned
from lawdsl.fitting.diagnostics.patterns import (
    LineCorrelation,
    Pattern,
    UnequalVariance,
    large_values,
    line_numbers,
)
from lawdsl.fitting.diagnostics.residual_structure import ResidualStructure
from lawdsl.fitting.result import Fit

Array = NDArray[np.float64]

FINDINGS = ("F0115", "F0116", "F0117", "F0119", "F0132")
"""Codes of the diagnostics of a fit that are about its residuals."""
MAX_VARIABLES = 7
"""Largest number of variables with a panel; those with patterns come first."""
MAX_POINTS = 800  # a panel has few pixels
MAX_LEVELS = 16  # an axis with more distinct values is divided into ranges of equal counts
RANGES, MANY = 8, 1_000
MAX_LINES = 150
OF_ROWS = ("residual", "drawn", "far", "beyond")
OF_PATTERNS = ("mean", "line", "top", "text")


def residuals_figure(fit: Fit, *, data: Any = None) -> Figure:
    """Draw the residuals of a fit, on the scale of its objective.

    Args:
        fit: the fit.
        data: the table that was fitted; by default the rows that the fit stores, whose order in the
            table is not known.

    Raises:
        LawdslError: a fit without rows (G0103), a table that the fit cannot be applied to, a name
            of the law that is also a column of the figure (G0107).
    """
    fitted = fitted_problem(fit, fit.read_law(), data)
    names = (*fitted.names, fitted.law.output)
    refuse_own_columns("residuals", names, (FIT, ORDER, *OF_ROWS, *OF_PATTERNS))
    drawn = drawn_residuals(fitted)
    kept, note = thinned(drawn.residual, MAX_POINTS)
    points = _points(drawn, kept)
    shown, left_out = _variables(drawn)
    panels = [_panel(drawn, points, name) for name in shown]
    together = [_two_variable_panel(drawn, p, points) for p in _patterns(drawn) if len(p.axes) == 2]
    panels[1:1] = together  # in the second column, which leaves room for a legend on its right
    beyond = int(np.sum(np.abs(drawn.residual) > drawn.limit))
    notes = [*other_table_notes(fitted.other), *filter(None, [fitted.note, note])]
    if beyond:
        rows = "row lies" if beyond == 1 else "rows lie"
        notes.append(f"{beyond:,} {rows} beyond the axis, drawn as triangles at its end")
    if left_out:
        notes.append(f"without panels of {', '.join(left_out)}")
    if fitted.numbers is None:
        notes.append("the order of the rows needs their table: lawdsl plot --data TABLE")
    title = _title(fit, drawn)
    findings = [] if fitted.other else _findings(fit)
    description = " ".join([f"{title}.", *(f"{d.message}." for d in findings)])
    columns = min(2, len(panels))
    dashed = any(_means(drawn, name) is not None for name in shown)
    chart = alt.concat(*panels, columns=columns, spacing=18)
    width = columns * (theme.PANEL_WIDTH + 75.0)
    return Figure(
        "residuals",
        title,
        points,
        theme.titled(chart, title, [_legend(drawn, dashed), *notes], description, width),
        description,
        tuple(notes),
    )


def _patterns(drawn: DrawnResiduals) -> tuple[Pattern, ...]:
    return drawn.structure.order.patterns if drawn.structure else ()


def _variables(drawn: DrawnResiduals) -> tuple[list[str], list[str]]:
    """The names of the panels, those of patterns first, and the variables without a panel."""
    names = drawn.fitted.names
    named = [names[i] for p in _patterns(drawn) for i in p.axes if i < len(names)]
    varying = [name for name in names if np.ptp(drawn.values(name)) > 0]
    chosen = list(dict.fromkeys([*named, *varying]))[:MAX_VARIABLES]
    left_out = [name for name in varying if name not in chosen]
    order = [] if drawn.fitted.numbers is None else [ORDER]
    # a fit on bounds may be constant up to rounding
    low, high = np.min(drawn.prediction), np.max(drawn.prediction)
    first = [FIT] if high - low > 1e-9 * abs(high) else []
    return [*first, *(name for name in names if name in chosen), *order], left_out


def _points(drawn: DrawnResiduals, kept: NDArray[np.int64]) -> dict[str, list[Any]]:
    """The tidy table of the rows that are drawn."""
    fitted = drawn.fitted
    table: dict[str, Any] = dict(zip(fitted.names, fitted.problem.columns, strict=True))
    table |= {fitted.law.output: fitted.problem.target, FIT: drawn.prediction}
    if fitted.numbers is not None:
        table[ORDER] = fitted.numbers
    residual = drawn.residual
    table |= {
        "residual": residual,
        "drawn": np.clip(residual, -0.985 * drawn.limit, 0.985 * drawn.limit),
        "far": far_rows(drawn),
        "beyond": np.abs(residual) > drawn.limit,
    }
    return {name: list(values[kept]) for name, values in table.items()}


def _panel(drawn: DrawnResiduals, points: dict[str, Any], name: str) -> Any:
    """The residuals against one axis, with the findings along it."""
    law, values = drawn.fitted.law, drawn.values(name)
    ends = np.array([np.min(values), np.max(values)])
    title = {FIT: f"fitted {axis_title(law, law.output)}", ORDER: "row of the table"}.get(name)
    logarithmic = False if name == ORDER else None
    room = theme.MARGIN * float(ends[1] - ends[0])
    beyond = (float(ends[0]) - room, float(ends[1]) + room) if room else None
    x = theme.axis(name, title or axis_title(law, name), ends, logarithmic=logarithmic, ends=beyond)
    y = _residual_axis(drawn, "drawn")
    rows = chart_of(points)
    zero = chart_of({"at": [0.0]}).mark_rule(color=theme.GREY).encode(y=_residual_axis(drawn, "at"))
    tooltip = [
        alt.Tooltip(f"{theme.escaped(c)}:Q", title=c, format=".5~g")
        for c in points
        if c not in ("drawn", "far", "beyond")
    ]
    layers: list[Any] = [zero, *_lines(drawn, name, x)]
    layers.append(
        rows.transform_filter("!datum.beyond")
        .mark_point(size=16, filled=True, color=theme.BLUE, opacity=0.55)
        .encode(x=x, y=y, tooltip=tooltip)
    )
    layers.append(
        rows.transform_filter("datum.beyond")
        .mark_point(size=30, filled=True, color=theme.BLUE)
        .encode(
            x=x,
            y=y,
            tooltip=tooltip,
            shape=alt.condition(
                "datum.residual > 0", alt.value("triangle-up"), alt.value("triangle-down")
            ),
        )
    )
    layers.append(
        rows.transform_filter("datum.far")
        .mark_point(size=90, strokeWidth=1.5, color=theme.VERMILION)
        .encode(x=x, y=y)
    )
    layers += _finding_marks(drawn, name, x)
    return alt.layer(*layers).properties(width=theme.PANEL_WIDTH, height=theme.PANEL_HEIGHT)


def _residual_axis(drawn: DrawnResiduals, field: str) -> alt.Y:
    """The axis of residuals, the same for all panels."""
    scale = alt.Scale(domain=[-drawn.limit, drawn.limit], nice=False)
    axis = alt.Axis(title=drawn.axis, labelExpr=theme.LABELS, tickCount=5)
    return alt.Y(f"{field}:Q", scale=scale, axis=axis)


def _finding_marks(drawn: DrawnResiduals, name: str, x: Any) -> list[Any]:
    """The finding along an axis, else the means over its ranges."""
    structure = drawn.structure
    position = len(drawn.fitted.names) if name == FIT else _position(drawn, name)
    y = _residual_axis(drawn, "mean")
    named = [p for p in _patterns(drawn) if p.axes == (position,)]
    if named and structure is not None:
        curve = named[0].curve * drawn.factor / _root_weights(drawn, structure)
        means = level_means(structure.view.axes[position], curve)
        line = chart_of({name: means[0], "mean": means[1]})
        return [line.mark_line(color=theme.VERMILION, strokeWidth=2.5).encode(x=x, y=y)]
    layers: list[Any] = []
    variance = structure.order.variance if structure else None
    if variance is not None and variance.axis == position:
        layers += _variance(drawn, variance, name, x)
    means_of_rows = _means(drawn, name)
    if means_of_rows is not None:
        at, mean = means_of_rows
        line = chart_of({name: at, "mean": np.clip(mean, -drawn.limit, drawn.limit)})
        layers.append(
            line.mark_line(color="black", strokeWidth=1.4, strokeDash=[4, 2]).encode(x=x, y=y)
        )
    return layers


def _means(drawn: DrawnResiduals, name: str) -> tuple[list[float], list[float]] | None:
    """The means of the rows along an axis; None where these would only join the rows, or the curve of
    a pattern is drawn in their place."""
    position = len(drawn.fitted.names) if name == FIT else _position(drawn, name)
    if any(p.axes == (position,) for p in _patterns(drawn)):
        return None
    far = np.flatnonzero(far_rows(drawn))
    at, mean = level_means(*(np.delete(x, far) for x in (drawn.values(name), drawn.residual)))
    return (at, mean) if 2 < len(at) <= len(drawn.residual) / 2 else None


def level_means(values: Array, residual: Array) -> tuple[list[float], list[float]]:
    """Means along an axis: at each value if these are few, else over ranges of equal counts.

    Args:
        values: shape (rows,).
        residual: shape (rows,).

    Returns:
        The mean values and the mean residuals.
    """
    # a part of a long table suffices to show that there are many values
    if len(np.unique(values[:MANY])) > MAX_LEVELS or len(levels := np.unique(values)) > MAX_LEVELS:
        starts = np.arange(1, RANGES) * len(values) // RANGES
        levels = np.unique(np.append(np.min(values), np.partition(values, starts)[starts]))
    level = np.searchsorted(levels, values, side="right") - 1
    counts = np.bincount(level)
    at, mean = (np.bincount(level, weights=x) / counts for x in (values, residual))
    return at.tolist(), mean.tolist()


def _variance(drawn: DrawnResiduals, variance: UnequalVariance, name: str, x: Any) -> list[Any]:
    """The border between rows of different variance, and both standard deviations."""
    border = chart_of({name: [variance.border]})
    layers: list[Any] = [
        border.mark_rule(color=theme.VERMILION, strokeDash=[5, 3], strokeWidth=1.6).encode(x=x)
    ]
    for side, deviation in zip((-1, 1), variance.deviations, strict=True):
        text = f"± {deviation * drawn.factor:.2g}{drawn.unit}"
        label = chart_of({name: [variance.border], "top": [0.9 * drawn.limit], "text": [text]})
        placed = label.encode(x=x, y=_residual_axis(drawn, "top"), text="text:N")
        align = "left" if side > 0 else "right"
        layers += theme.labelled(placed, align=align, dx=6 * side, color=theme.VERMILION)
    return layers


def _lines(drawn: DrawnResiduals, name: str, x: Any) -> list[Any]:
    """Correlated rows, which differ in one variable only, as lines along it."""
    structure = drawn.structure
    if structure is None:
        return []
    found: list[LineCorrelation] = [
        c for c in (structure.order.misfit, structure.order.dependence) if c is not None
    ]
    along = [c for c in found if name not in (FIT, ORDER) and c.axis == _position(drawn, name)]
    if not along or along[0].count > MAX_LINES:
        return []
    view = structure.order.remaining
    line = line_numbers(view, along[0].axis)
    residual = np.clip(drawn.residual[view.rows], -drawn.limit, drawn.limit)
    table = {name: view.axes[along[0].axis], "residual": residual, "line": line}
    return [
        chart_of(table)
        .mark_line(color=theme.ORANGE, strokeWidth=1, opacity=0.7)
        .encode(x=x, y=_residual_axis(drawn, "residual"), detail="line:N")
    ]


def _two_variable_panel(drawn: DrawnResiduals, pattern: Pattern, points: dict[str, Any]) -> Any:
    """A pattern in two variables: coloured rows against both, and the mean of the pattern in each
    quadrant.
    """
    assert drawn.structure is not None
    view, law = drawn.structure.view, drawn.fitted.law
    names = [view.names[i] for i in pattern.axes]
    values = [view.axes[i] for i in pattern.axes]
    curve = pattern.curve * drawn.factor / _root_weights(drawn, drawn.structure)
    x, y = (
        theme.axis(name, axis_title(law, name), of, channel=channel)
        for name, of, channel in zip(names, values, ("x", "y"), strict=True)
    )
    limit = float(np.quantile(np.abs(drawn.residual), 0.95)) or 1.0
    legend = alt.Legend(title=drawn.axis, gradientLength=theme.PANEL_HEIGHT - 25)
    diverging = alt.Scale(
        domain=[-limit, 0, limit], range=[theme.BLUE, "#E8E8E8", theme.VERMILION], clamp=True
    )
    color = alt.Color("residual:Q", scale=diverging, legend=legend)
    rows = (
        chart_of(points)
        .mark_point(size=26, filled=True, opacity=1, stroke="#777777", strokeWidth=0.4)
        .encode(x=x, y=y, color=color)
    )
    layers: list[Any] = [rows]
    large = [large_values(of) for of in values]
    for name, of, mask, channel in zip(names, values, large, ("x", "y"), strict=True):
        border = float(np.max(of[~mask])) if not mask.all() else float(np.min(of))
        rule = chart_of({name: [border]}).mark_rule(color="black", strokeDash=[4, 2])
        layers.append(rule.encode(**{channel: x if channel == "x" else y}))
    means: dict[str, list[Any]] = {names[0]: [], names[1]: [], "mean": []}
    for one in (large[0], ~large[0]):
        for other in (large[1], ~large[1]):
            inside = one & other
            if inside.any():
                for name, of in zip(names, values, strict=True):
                    means[name].append(_axis_middle(of[inside]))
                means["mean"].append(drawn.size(float(np.mean(curve[inside]))))
    placed = chart_of(means).encode(x=x, y=y, text="mean:N")
    layers += theme.labelled(placed, fontSize=13, fontWeight="bold")
    return alt.layer(*layers).properties(width=theme.PANEL_WIDTH, height=theme.PANEL_HEIGHT)


def _axis_middle(values: Array) -> float:
    """The middle of the range of values, on their axis."""
    low, high = float(np.min(values)), float(np.max(values))
    return float(np.sqrt(low * high)) if low > 0 else (low + high) / 2


def _root_weights(drawn: DrawnResiduals, structure: ResidualStructure) -> Array | float:
    """The factors by which the tests multiply residuals."""
    weights = drawn.fitted.problem.weights
    return 1.0 if weights is None else np.sqrt(weights[structure.view.rows])


def _position(drawn: DrawnResiduals, name: str) -> int:
    return drawn.fitted.names.index(name) if name in drawn.fitted.names else -1


def _findings(fit: Fit) -> list[Any]:
    """The diagnostics of the fit about its residuals."""
    return [d for d in fit.diagnostics if d.code in FINDINGS]


def _title(fit: Fit, drawn: DrawnResiduals) -> str:
    """The largest pattern, or the statement that there is none."""
    name, structure = drawn.fitted.law.name, drawn.structure
    name += f" on {drawn.fitted.other}" if drawn.fitted.other else ""
    rows = counted(drawn.fitted.total, "row")
    if drawn.fitted.other:
        return f"{name}: {_where(drawn, rows)}"
    if structure is None or drawn.fitted.total <= len(drawn.fitted.theta):
        return f"{name}: the residuals of {rows} are too few, or too exact, to be tested"
    order, view = structure.order, structure.view
    if order.patterns:
        first = order.patterns[0]
        where = " and ".join(view.names[i] for i in first.axes)
        together = " together" if len(first.axes) > 1 else ""
        return (
            f"{name} leaves a pattern: the residuals follow {where}{together} "
            f"({100 * first.share:.2g} % of their squares)"
        )
    if order.misfit is not None:
        which = view.names[order.misfit.axis]
        return f"{name} leaves a pattern: rows that differ in {which} alone are correlated"
    # the rows that a fit stores may be too few to show a pattern of all rows
    named = next((d for d in _findings(fit) if d.code == "F0116"), None)
    if named is not None:
        return f"{name}: {named.message.partition(':')[0]}"
    if order.dependence is not None:
        which = view.names[order.dependence.axis]
        return (
            f"{name}: the residuals of rows that differ in {which} alone are correlated, "
            f"{order.dependence.correlation:.2g}"
        )
    if order.variance is not None:
        ratio = max(order.variance.ratio, 1 / order.variance.ratio)
        which = view.names[order.variance.axis]
        return f"{name}: the residuals scatter {ratio:.2g} times as far at one end of {which}"
    size = float(np.sqrt(np.mean(drawn.residual**2)))
    return f"{name}: no pattern found in the residuals of {rows}, root mean square {size:.2g}{drawn.unit}"


def _where(drawn: DrawnResiduals, rows: str) -> str:
    """How far rows that were not fitted are from the law: their median, and the furthest."""
    what = f"{drawn.axis.partition(' [')[0]} of {rows}"
    finite = drawn.residual[np.isfinite(drawn.residual)]
    if not finite.size:
        return f"{what} has no value"
    low, middle, high = (drawn.size(float(f(finite))) for f in (np.min, np.median, np.max))
    if finite.size == 1:
        return f"{what} is {middle}"
    return f"{what} is {middle} in the median, from {low} to {high}"


def _legend(drawn: DrawnResiduals, dashed: bool) -> str:
    """What the marks are; `dashed`: whether means are drawn."""
    parts = ["points: rows"]
    if dashed:
        parts.append("dashed: their means along the axis")
    if far_rows(drawn).any():
        parts.append("rings: rows that the fit names")
    order = drawn.structure.order if drawn.structure else None
    if order is not None:
        if any(len(p.axes) == 1 for p in order.patterns):
            parts.append("thick orange lines: the pattern that the fit finds")
        if any(len(p.axes) == 2 for p in order.patterns):
            parts.append("numbers: means of the pattern that the fit finds, in each quadrant")
        if order.misfit is not None or order.dependence is not None:
            parts.append("thin orange lines: correlated rows")
        if order.variance is not None:
            parts.append("border: rows scatter by ± about the law fitted to each side alone")
    return "; ".join(parts)
