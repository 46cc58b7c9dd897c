"""`comparison` by protocols that hold out the largest runs: scores of intervals against R."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import altair as alt

from lawdsl.comparing.result import Comparison, RankedLaw, Ranking
from lawdsl.figures import theme
from lawdsl.figures.figure import chart_of

WIDTH, HEIGHT = 230, 150
NOMINAL = 95.0  # percent

Value = Callable[[RankedLaw], float | None]


def interval_panels(comparison: Comparison, whole: Ranking, parts: Sequence[Ranking]) -> Any:
    """Score, difference from the best, coverage and width against R, one line per law.

    Args:
        comparison: the laws.
        whole: the ranking over all R.
        parts: the ranking at each R.
    """
    laws = [law.name for law in comparison.laws]
    panels = [
        _panel("interval score [%]", laws, parts, lambda s: 100 * s.score),
        _panel("rows inside their interval [%]", laws, parts, _coverage, coverage=True),
        _panel("median width of the interval [%]", laws, parts, _width),
        _panel("median error [%]", laws, parts, _error),
    ]
    if len(laws) > 1:
        panels.insert(1, _difference_panel(laws, parts))
        panels.pop()
    held = whole.standings[0].folds[0].tested if whole.standings[0].folds else 0
    heading = alt.TitleParams(
        f"{whole.title}: {held} rows held out, predicted from runs that cost at most 1/R as much",
        fontSize=12,
        fontWeight="normal",
        anchor="start",
    )
    return alt.concat(*panels, columns=2, spacing=20, title=heading)


def _coverage(standing: RankedLaw) -> float | None:
    scores = standing.interval_scores
    # an infinite interval always covers, which is not informative
    return 100 * scores.inside if scores is not None and math.isfinite(scores.width) else None


def _width(standing: RankedLaw) -> float | None:
    return 100 * standing.interval_scores.width if standing.interval_scores is not None else None


def _error(standing: RankedLaw) -> float | None:
    return 100 * standing.interval_scores.error if standing.interval_scores is not None else None


def _rows(laws: Sequence[str], parts: Sequence[Ranking], value: Value) -> dict[str, list[Any]]:
    """The finite values of each law at each R."""
    table: dict[str, list[Any]] = {"R": [], "law": [], "value": []}
    for part in parts:
        for standing in part.standings:
            number = value(standing)
            if number is not None and math.isfinite(number):
                table["R"].append(part.part.removeprefix("R = ") or "all")
                table["law"].append(standing.law)
                table["value"].append(number)
    return table


def _axis_r(parts: Sequence[Ranking], **scale: Any) -> alt.X:
    order = [part.part.removeprefix("R = ") or "all" for part in parts]
    axis = alt.Axis(title="R", labelAngle=0)
    return alt.X("R:N", sort=order, scale=alt.Scale(domain=order, **scale), axis=axis)


def _panel(
    title: str,
    laws: Sequence[str],
    parts: Sequence[Ranking],
    value: Value,
    *,
    coverage: bool = False,
) -> Any:
    """One score against R; `coverage` is the quantity that should equal NOMINAL."""
    table = _rows(laws, parts, value)
    least = min(table["value"], default=NOMINAL)
    ends = (50.0 if least >= 50 else 0.0, 100.0) if coverage else None
    y = theme.axis("value", title, table["value"] or [0.0, 1.0], channel="y", ends=ends)
    encoding: dict[str, Any] = {"x": _axis_r(parts), "color": theme.color("law", "", laws)}
    chart = chart_of(table)
    layers: list[Any] = [
        chart.mark_line(strokeWidth=1.8).encode(y=y, **encoding),
        chart.mark_point(filled=True, size=60, opacity=1).encode(
            y=y, shape=theme.shape("law", "", laws), **encoding
        ),
    ]
    if coverage:
        rule = chart_of({"value": [NOMINAL]}).mark_rule(color=theme.GREY, strokeDash=[5, 3])
        layers.append(rule.encode(y=y))
    layered: Any = alt.layer(*layers)
    return layered.properties(width=WIDTH, height=HEIGHT)


def _difference_panel(laws: Sequence[str], parts: Sequence[Ranking]) -> Any:
    """The differences of scores from those of the best law at each R, with their intervals."""
    table: dict[str, list[Any]] = {"R": [], "law": [], "value": [], "low": [], "high": []}
    for part in parts:
        for standing in part.standings:
            behind = standing.behind
            known = behind is None or all(
                map(math.isfinite, (behind.value, behind.low, behind.high))
            )
            if not known or not math.isfinite(standing.score):
                continue
            ends = (0.0, 0.0, 0.0) if behind is None else (behind.value, behind.low, behind.high)
            table["R"].append(part.part.removeprefix("R = ") or "all")
            table["law"].append(standing.law)
            for name, number in zip(("value", "low", "high"), ends, strict=True):
                table[name].append(100 * number)
    values = [*table["value"], *table["low"], *table["high"], 0.0]
    title = "behind the best by [%]"
    x, beside = (
        _axis_r(parts),
        alt.XOffset("law:N", sort=list(laws), scale=alt.Scale(domain=list(laws))),
    )
    chart = chart_of(table)
    bars = chart.mark_rule(strokeWidth=2)
    marks = chart.mark_point(filled=True, size=60, opacity=1)
    zero = chart_of({"value": [0.0]}).mark_rule(color=theme.GREY)
    y = theme.axis("value", title, values, channel="y")
    layered: Any = alt.layer(
        zero.encode(y=y),
        bars.encode(
            x=x,
            xOffset=beside,
            y=theme.axis("low", title, values, channel="y"),
            y2="high:Q",
            color=theme.color("law", "", laws),
        ),
        marks.encode(
            x=x,
            xOffset=beside,
            y=y,
            color=theme.color("law", "", laws),
            shape=theme.shape("law", "", laws),
        ),
    )
    return layered.properties(width=WIDTH, height=HEIGHT)
