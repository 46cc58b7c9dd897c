"""`fit`: measured and fitted output against a variable, a curve for each value of another."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from lawdsl.figures import theme
from lawdsl.figures.figure import Figure, chart_of, refuse_own_columns
from lawdsl.figures.fitted_problem import MAD_TO_SIGMA, rows_text
from lawdsl.figures.fitted_variables import Roles, axis_title, roles_of
from lawdsl.figures.measured_rows import MeasuredRows, law_values, measured_rows, table_of
from lawdsl.fitting.result import Fit
from lawdsl.law.law import Law

Array = NDArray[np.float64]

CURVE_POINTS = 200
LABEL_HEIGHT, LEGEND_OFFSET = 12, 48  # px
OUTLIER_SCORE = 4.0
"""Residuals beyond this many robust standard deviations are marked."""

OWN_COLUMNS = ("fitted", "residual", "far", "group", "low", "high", "label")


def fit_figure(
    fit: Fit, *, data: Any = None, x: str | None = None, color: str | None = None
) -> Figure:
    """Draw the measurements and the fitted law.

    There is one curve for each value of a second variable. If the law has more variables, the
    measured outputs are adjusted by the fitted law to the values that the curves have for the
    others (partial residuals).

    Args:
        fit: the fit.
        data: the table that was fitted; by default the rows that the fit stores.
        x: the variable of the horizontal axis.
        color: the variable of the groups.

    Raises:
        LawdslError: a fit without rows (G0103), a variable that the law does not have (G0104), a
            name of the law that is also a column of the figure (G0107).
    """
    law = fit.read_law()
    refuse_own_columns("fit", (*law_names(law), law.output), OWN_COLUMNS)
    rows = measured_rows(fit, law, data).thinned()
    roles = roles_of(law, rows, x, color)
    points = _points(fit, law, rows, roles)
    curves = _curves(fit, law, rows, roles)
    far = int(np.sum(points["far"]))
    notes = [*rows.notes, *_adjustment_notes(law, roles)]
    subtitle = [_legend(roles, far, curves), *notes]
    chart = _chart(law, roles, points, curves)
    of = rows_text(law.name, fit.data.name, rows.total, rows.other)
    # of one row there is no R²
    title = f"{of}: " + (f"R² {_r2(rows.r2)}, " if np.isfinite(rows.r2) else "") + rows.off_text
    description = (
        f"Measured {law.output} and the fitted law against {roles.x}"
        + (f", in groups of {roles.group}" if roles.group else "")
        + f". {len(rows.target)} points; half of the rows lie within {100 * rows.off:.2g} % of the law."
    )
    return Figure(
        "fit",
        title,
        points,
        theme.titled(chart, title, subtitle, description),
        description,
        tuple(notes),
    )


def _points(fit: Fit, law: Law, rows: MeasuredRows, roles: Roles) -> dict[str, list[Any]]:
    """The tidy table of the measured rows."""
    shown = rows.fitted
    if roles.others:
        moved = rows.columns.copy()
        for name, value in roles.others.items():
            moved[rows.names.index(name)] = value
        shown = law_values(fit, law, moved)
    with np.errstate(all="ignore"):
        ratio = rows.target / rows.fitted
        residuals = np.log(ratio) if fit.objective.of_logs else rows.target - rows.fitted
    scale = MAD_TO_SIGMA * float(np.median(np.abs(residuals - np.median(residuals))))
    far = (
        np.abs(residuals - np.median(residuals)) > OUTLIER_SCORE * scale
        if scale
        else residuals < -np.inf
    )
    measured = shown * ratio if fit.objective.of_logs else shown + rows.target - rows.fitted
    table: dict[str, Any] = {
        **dict(zip(rows.names, rows.columns, strict=True)),
        law.output: measured,
        "fitted": shown,
        "residual": residuals,
        "far": far,
    }
    if roles.group and roles.are_exact:
        table["group"] = [_label(x) for x in rows.values(roles.group)]
    return {name: list(values) for name, values in table.items()}


def _curves(fit: Fit, law: Law, rows: MeasuredRows, roles: Roles) -> dict[str, list[Any]]:
    """The tidy table of the curves: the prediction, and its interval if the fit has one."""
    x = rows.values(roles.x)
    low, high = float(np.min(x)), float(np.max(x))
    at = theme.grid(low, high, CURVE_POINTS, logarithmic=theme.is_logarithmic(x))
    levels = roles.levels if roles.group else np.zeros(1)
    columns = {name: np.full(len(at) * len(levels), value) for name, value in roles.others.items()}
    columns[roles.x] = np.tile(at, len(levels))
    if roles.group:
        columns[roles.group] = np.repeat(levels, len(at))
    points, bound = table_of(rows.names, np.stack([columns[name] for name in rows.names]))
    table: dict[str, Any] = {name: columns[name] for name in rows.names}
    if fit.spread is None:
        table[law.output] = fit.predict_with_warnings(points, **bound)[0]
    else:
        band = fit.band_with_warnings(points, bound, discrepancy=0)
        # an end may be infinite, where the rows do not determine the prediction: then no band is
        # drawn
        table |= {law.output: band.values, "low": band.low, "high": band.high}
    if roles.group and roles.are_exact:
        table["group"] = [_label(x) for x in columns[roles.group]]
    return {name: list(values) for name, values in table.items()}


def _chart(
    law: Law, roles: Roles, points: dict[str, Any], curves: dict[str, Any]
) -> alt.TopLevelMixin:
    """Band, curves and points in one panel."""
    output = law.output
    every = [*points[output], *curves[output]]
    x = theme.axis(roles.x, axis_title(law, roles.x), points[roles.x])
    y = theme.axis(output, axis_title(law, output), every, channel="y")
    of_bands, of_lines, of_points = _colors(law, roles, points)
    drawn = chart_of(curves)
    layers: list[Any] = []
    if "low" in curves:
        low = theme.axis("low", axis_title(law, output), every, channel="y")
        layers.append(
            drawn.mark_area(opacity=0.18, clip=True).encode(x=x, y=low, y2="high:Q", **of_bands)
        )
    layers.append(drawn.mark_line(strokeWidth=1.8, clip=True).encode(x=x, y=y, **of_lines))
    if roles.group and not roles.are_exact:
        layers += _labels_of_curves(roles, curves, output, every, x=x, y=y)
    tooltip = [
        alt.Tooltip(f"{theme.escaped(name)}:Q", title=name, format=".5~g")
        for name in (*law_names(law), output, "fitted")
    ]
    measured = chart_of(points)
    layers.append(
        measured.mark_point(size=34, filled=roles.are_exact, strokeWidth=1.6, opacity=0.75).encode(
            x=x, y=y, tooltip=tooltip, **of_points
        )
    )
    layers.append(
        measured.transform_filter("datum.far")
        .mark_point(size=150, strokeWidth=1.6, color=theme.VERMILION)
        .encode(x=x, y=y)
    )
    return alt.layer(*layers)


def _colors(
    law: Law, roles: Roles, points: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The colour channels of the groups: for bands, lines and points."""
    group = roles.group
    if group is None:
        blue = {"color": alt.value(theme.BLUE)}
        return blue, blue, blue
    title = axis_title(law, group)
    if roles.are_exact:
        labels = [_label(value) for value in roles.levels]
        color = {"color": theme.color("group", title, labels)}
        return color, color, {**color, "shape": theme.shape("group", title, labels)}
    gradient = theme.gradient(group, title, points[group])
    gradient["legend"]["offset"] = LEGEND_OFFSET  # behind the labels of the curves
    color = {"color": gradient}
    detail = {"detail": alt.Detail(f"{theme.escaped(group)}:Q")}
    # bands are grey, since one gradient cannot serve both strokes and fills
    return {"color": alt.value(theme.GREY), **detail}, {**color, **detail}, color


def _labels_of_curves(
    roles: Roles, curves: dict[str, Any], output: str, every: list[float], **position: Any
) -> list[alt.Chart]:
    """The value of the group behind the right end of each curve; `every`: the values of the axis."""
    ends = slice(CURVE_POINTS - 1, None, CURVE_POINTS)
    labels = {name: curves[name][ends] for name in (roles.x, output)}
    labels["label"] = [f"{roles.group} = {theme.short(value)}" for value in roles.levels]
    y = np.array(labels[output])
    shown = np.array(every)
    logarithmic = theme.is_logarithmic(shown)
    scale = np.log if logarithmic else np.asarray
    pixels = theme.HEIGHT * (scale(y) / float(np.ptp(scale(shown))))
    layers: list[alt.Chart] = []
    for k, dy in enumerate(theme.apart(-pixels, LABEL_HEIGHT)):
        one = chart_of({name: [values[k]] for name, values in labels.items()})
        drawn = one.encode(**position, text="label:N")
        layers += theme.labelled(drawn, align="left", dx=7, dy=dy)
    return layers


def law_names(law: Law) -> tuple[str, ...]:
    """The names of a law's variables."""
    return tuple(q.name for q in law.variables)


def _legend(roles: Roles, far: int, curves: dict[str, Any]) -> str:
    """The meaning of the marks."""
    parts = ["points: measured", "lines: the fitted law"]
    if "low" in curves:
        parts.append("bands: its 95 % interval, if the law is right")
    if far:
        parts.append(
            f"rings: the {far} furthest from the law" if far > 1 else "ring: furthest from the law"
        )
    return "; ".join(parts)


def _adjustment_notes(law: Law, roles: Roles) -> list[str]:
    """Notes on the variables that have no axis or group in the figure."""
    varying = {name: value for name, value in roles.others.items()}
    if not varying:
        return []
    at = ", ".join(f"{name} = {_label(value)}" for name, value in varying.items())
    return [f"at {at}, to which the fitted law moves the measured values"]


def _label(value: float) -> str:
    """A value of a group, as in the legend."""
    return theme.label(value)


def _r2(value: float) -> str:
    """R² with four digits, or as many as distinguish it from 1."""
    texts = (f"{value:.{digits}f}" for digits in range(4, 9))
    return next((text for text in texts if float(text) != 1), "1")
