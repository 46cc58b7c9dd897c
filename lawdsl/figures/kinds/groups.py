"""`groups`: the parameters of the fits of many groups, a panel for each parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import counted
from lawdsl.figures import theme
from lawdsl.figures.figure import Figure, chart_of
from lawdsl.fitting.fits_by_group import FitsByGroup, FittedGroup

MAX_GROUPS, MAX_PARAMETERS = 60, 12  # rows and panels that are drawn
PANEL_WIDTH, ROW, PANELS_IN_ROW = 150, 15, 4  # pixels, pixels, panels
VERDICTS = {"trusted": theme.BLUE, "caution": theme.ORANGE, "not trusted": theme.VERMILION}


def groups_figure(fits: FitsByGroup) -> Figure:
    """Draw each parameter of each group with its interval, coloured by the verdict of the fit.

    Args:
        fits: the fits of the groups.

    Raises:
        LawdslError: no group was fitted (G0103).
    """
    if not fits.groups:
        message = f"no group of {fits.law.name} was fitted"
        raise LawdslError(Diagnostic("G0103", message, help="str(fits) says why"))
    names = fits.parameter_names[:MAX_PARAMETERS]
    table = _table(fits.groups[:MAX_GROUPS], names)
    notes = [
        f"the first {most} of {count:,} {what} are drawn"
        for most, count, what in (
            (MAX_GROUPS, len(fits.groups), "groups"),
            (MAX_PARAMETERS, len(fits.parameter_names), "parameters"),
        )
        if count > most
    ]
    if fits.failures:
        notes.append(f"{counted(len(fits.failures), 'group')} could not be fitted")
    title = f"{fits.law.name}: parameters of {counted(len(fits.groups), 'group')}"
    title += f", by {', '.join(fits.by)}"
    levels = {part.intervals.level for group in fits.groups for part in group.parts}
    legend = "points: fitted; bars: " + ", ".join(f"{100 * x:g} %" for x in sorted(levels))
    legend += " intervals"
    description = f"{title}. {legend}. {_ranges(table, names)}"
    chart = alt.concat(
        *(_panel(table, name, k % PANELS_IN_ROW == 0) for k, name in enumerate(names)),
        columns=PANELS_IN_ROW,
        spacing=14,
    )
    width = min(len(names), PANELS_IN_ROW) * (PANEL_WIDTH + 14.0) + 80
    drawn = theme.titled(chart, title, [legend, *notes], description, width)
    return Figure("groups", title, table, drawn, description, tuple(notes))


def _table(groups: Sequence[FittedGroup], names: Sequence[str]) -> dict[str, list[Any]]:
    """The tidy table: a row for each parameter of each group."""
    table: dict[str, list[Any]] = {
        name: [] for name in ("group", "parameter", "value", "low", "high", "verdict")
    }
    for group in groups:
        ends = {n: e for part in group.parts for n, e in part.intervals.ends.items()}
        printed = group.printed
        for name in names:
            if name in printed:
                low, high = ends.get(name, (None, None))
                row = (", ".join(group.labels), name, printed[name], low, high, group.fit.verdict)
                for column, cell in zip(table.values(), row, strict=True):
                    column.append(cell)
    return table


def _panel(table: dict[str, list[Any]], name: str, first: bool) -> Any:
    """One parameter: a row for each group; an end that is not finite has no bar."""
    chosen = [i for i, each in enumerate(table["parameter"]) if each == name]
    own = {column: [values[i] for i in chosen] for column, values in table.items()}
    bounded = [
        i
        for i, (low, high) in enumerate(zip(own["low"], own["high"], strict=True))
        if low is not None and np.isfinite([low, high]).all()
    ]
    bars = {column: [values[i] for i in bounded] for column, values in own.items()}
    known = [*own["value"], *bars["low"], *bars["high"]]
    x = {column: theme.axis(column, name, known) for column in ("value", "low")}
    axis = alt.Axis(title=None, ticks=False, labels=first, labelLimit=160)
    order = list(dict.fromkeys(table["group"]))
    y = alt.Y("group:N", sort=None, axis=axis, scale=alt.Scale(domain=order))
    color = alt.Color(
        "verdict:N",
        scale=alt.Scale(domain=list(VERDICTS), range=list(VERDICTS.values())),
        legend=alt.Legend(title="verdict"),
    )
    layers = []
    if bounded:
        rule = chart_of(bars).mark_rule(strokeWidth=4, opacity=0.4)
        layers.append(rule.encode(x=x["low"], x2="high:Q", y=y, color=color))
    tooltip = [
        alt.Tooltip("group:N"),
        *(alt.Tooltip(f"{column}:Q", format=".5~g") for column in ("value", "low", "high")),
        alt.Tooltip("verdict:N"),
    ]
    dots = chart_of(own).mark_point(filled=True, size=45, opacity=1)
    layers.append(dots.encode(x=x["value"], y=y, color=color, tooltip=tooltip))
    return alt.layer(*layers).properties(width=PANEL_WIDTH, height=ROW * len(order))


def _ranges(table: dict[str, list[Any]], names: Sequence[str]) -> str:
    """The lowest and the highest value of each parameter, for readers who do not see the figure."""
    texts = []
    for name in names:
        pairs = zip(table["parameter"], table["value"], strict=True)
        values = [value for each, value in pairs if each == name]
        texts.append(f"{name} from {min(values):.4g} to {max(values):.4g}")
    return "; ".join(texts) + "."
