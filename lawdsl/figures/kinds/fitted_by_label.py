"""`fit` of a law with index sets: measured against fitted output, for each label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from lawdsl.figures import theme
from lawdsl.figures.figure import Figure, chart_of, refuse_own_columns
from lawdsl.figures.fitted_problem import other_table_notes, rows_text
from lawdsl.figures.fitted_variables import axis_title
from lawdsl.figures.labelled_rows import LabelledRows, labelled_rows
from lawdsl.figures.measured_rows import median_distance
from lawdsl.figures.theme import MAX_GROUPS
from lawdsl.fitting.result_by_label import Fits
from lawdsl.law.law import Law

MAX_PANELS = 24
PANEL, COLUMNS = 105, 6  # pixels of a panel for one of many labels, and panels in a row


def fits_figure(fits: Fits, *, data: Any = None) -> Figure:
    """Draw the measured output against the fitted one, for each label.

    Up to seven labels share a panel; more labels have a panel each, the worst fit first.

    Args:
        fits: the fits.
        data: the table that was fitted; by default the rows that the fits store.

    Raises:
        LawdslError: fits without rows (G0103), a table that the fits cannot be applied to, an
            output with the name of a column of the figure (G0107).
    """
    groups = labelled_rows(fits, data)
    law = fits.parts[0].read_law()
    refuse_own_columns("fit", [law.output], ("label", "fitted"))
    points = _points(law, groups)
    target = np.concatenate([group.all_rows.target for group in groups])
    off = median_distance(target, np.concatenate([group.all_rows.fitted for group in groups]))
    read = len(target)
    other = next((group.rows.other for group in groups if group.rows.other), "")
    fitted = sum(part.data.rows for part in fits.parts)
    rows = fitted if data is None else read
    of = rows_text(fits.law.name, fits.parts[0].data.name, rows, other)
    title = f"{of}: off by {100 * off:.2g} % in the median"
    title += f" of {read:,}" if read < rows else ""
    if len(groups) > 1:
        label, most = max(
            ((group.label, _furthest(group)) for group in groups), key=lambda pair: pair[1]
        )
        title += f", by {100 * most:.2g} % at most, on {label}"
    count = len(points["fitted"])
    notes = other_table_notes(other)
    notes += [] if count == rows else [f"{count:,} of {rows:,} rows are drawn"]
    drawn = groups if len(groups) <= MAX_GROUPS else groups[:MAX_PANELS]
    if len(drawn) < len(groups):
        notes.append(f"the {len(drawn)} labels furthest from the law, of {len(groups)}")
    if len(groups) <= MAX_GROUPS:
        chart, width = _one_panel(law, groups, points), float(theme.WIDTH)
        legend = "points: measured against fitted; line: where both are equal"
    else:
        chart = _panels(law, drawn, points)
        width = min(len(drawn), COLUMNS) * (PANEL + 40.0)
        legend = (
            "points: measured (upwards) against fitted; line: where both are equal; percent: the median "
            "distance; the worst first"
        )
    listed = "; ".join(
        f"{group.label} {100 * group.all_rows.off:.2g} %, {100 * _furthest(group):.2g} % at most"
        for group in groups
    )
    description = f"Measured against fitted {law.output} for each label. Median distance: {listed}."
    return Figure(
        "fit",
        title,
        points,
        theme.titled(chart, title, [legend, *notes], description, width),
        description,
        tuple(notes),
    )


def _furthest(group: LabelledRows) -> float:
    """The largest |measured/fitted - 1| of the rows of a label; 0 where none is finite."""
    with np.errstate(all="ignore"):
        distances = np.abs(group.all_rows.target / group.all_rows.fitted - 1)
    return float(np.max(distances[np.isfinite(distances)], initial=0.0))


def _points(law: Law, groups: Sequence[LabelledRows]) -> dict[str, list[Any]]:
    """The tidy table of the measured rows."""
    table: dict[str, list[Any]] = {"label": [], law.output: [], "fitted": []}
    for group in groups:
        rows = group.rows
        table["label"] += [group.label] * len(rows.target)
        table[law.output] += rows.target.tolist()
        table["fitted"] += rows.fitted.tolist()
    return table


def _layers(law: Law, points: Any, ends: Sequence[float], ticks: int, **group: Any) -> list[Any]:
    """The line of equality and the points."""
    scale = alt.Scale(domain=list(ends), nice=False)

    def channel(kind: Any, field: str, title: str | None) -> Any:
        axis = alt.Axis(title=title, tickCount=ticks, labelExpr=theme.LABELS)
        return kind(f"{theme.escaped(field)}:Q", scale=scale, axis=axis)

    titles = [f"{what} {axis_title(law, law.output)}" for what in ("fitted", "measured")]
    x = channel(alt.X, "fitted", titles[0] if group else None)
    y = channel(alt.Y, law.output, titles[1] if group else None)
    line = chart_of({"fitted": ends, law.output: ends})
    tooltip = [
        alt.Tooltip("label:N"),
        *(alt.Tooltip(f"{theme.escaped(c)}:Q", format=".5~g") for c in (law.output, "fitted")),
    ]
    encoding = group or {"color": alt.value(theme.BLUE)}
    size = 36 if group else 12
    return [
        line.mark_line(color=theme.GREY, strokeWidth=1).encode(x=x, y=y),
        points.mark_point(size=size, filled=True, opacity=0.7, clip=True).encode(
            x=x, y=y, tooltip=tooltip, **encoding
        ),
    ]


def _ends(*values: Sequence[float]) -> list[float]:
    """The ends of both axes: slightly beyond the values."""
    every = np.concatenate([np.asarray(v, dtype=np.float64) for v in values])
    low, high = float(np.min(every)), float(np.max(every))
    margin = 0.04 * (high - low) or 0.05 * abs(high) or 1.0
    return [low - margin, high + margin]


def _one_panel(law: Law, groups: Sequence[LabelledRows], points: dict[str, Any]) -> Any:
    """All labels in one panel, distinguished by colour and mark."""
    labels = [group.label for group in groups]
    layers = _layers(
        law,
        chart_of(points),
        _ends(points["fitted"], points[law.output]),
        6,
        color=theme.color("label", "label", labels),
        shape=theme.shape("label", "label", labels),
    )
    return alt.layer(*layers).properties(width=theme.HEIGHT, height=theme.HEIGHT)


def _panels(law: Law, groups: Sequence[LabelledRows], points: dict[str, Any]) -> Any:
    """One panel per label."""
    panels = []
    for group in groups:
        chosen = [i for i, label in enumerate(points["label"]) if label == group.label]
        table = {name: [values[i] for i in chosen] for name, values in points.items()}
        ends = _ends(table["fitted"], table[law.output])
        heading = alt.TitleParams(
            [group.label, f"{100 * group.all_rows.off:.2g} %"],
            fontSize=10,
            fontWeight="normal",
            offset=4,
            frame="group",
        )
        layers = _layers(law, chart_of(table), ends, 3)
        panels.append(alt.layer(*layers).properties(width=PANEL, height=PANEL, title=heading))
    return alt.concat(*panels, columns=COLUMNS, spacing=14)
