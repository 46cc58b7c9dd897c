"""Unknowns with labels, such as the shares of a mixture: a bar with interval for each, and the goal
along each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from lawdsl.figures import theme
from lawdsl.figures.figure import chart_of
from lawdsl.figures.kinds.answer_words import axis_title, goal_title
from lawdsl.language.label_texts import split_element
from lawdsl.solving.curves import Curve
from lawdsl.solving.result import Answer, Chosen

WIDTH, ROW, CURVES_HEIGHT = 400, 24, 190
MAX_ROWS = 40
FAR = 2.0  # the axis shows this many times the median distance of the goal from its best value
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3])


def shares_table(answer: Answer, unknowns: Sequence[Chosen]) -> dict[str, list[Any]]:
    """The tidy table: one row per unknown, the largest first.

    Args:
        answer: the answer.
        unknowns: the unknowns with labels.
    """
    ordered = sorted(unknowns, key=lambda u: -u.value)[:MAX_ROWS]
    active = {k.text.rpartition(" = ")[2]: k.name for k in answer.active if "  for " in k.text}
    rows = []
    for u in ordered:
        base, labels = split_element(u.name)
        label = ", ".join(labels)
        low, high = u.ends or (None, None)
        rows.append((u.name, base, label, u.value, low, high, active.get(label, "")))
    names = ("unknown", "name", "label", "value", "low", "high", "bound")
    return {name: [row[n] for row in rows] for n, name in enumerate(names)}


def shares_panel(table: dict[str, list[Any]], first: Chosen) -> Any:
    """A bar for each unknown from 0 to its value, its interval, and its value as text.

    Args:
        table: the table that `shares_table` returns.
        first: one of the unknowns, from which the unit and the description are taken.
    """
    drawn = {name: list(values) for name, values in table.items()}
    single = len(set(table["name"])) == 1
    drawn["row"] = table["label"] if single else table["unknown"]
    drawn["text"] = [
        theme.short(value) + (f" (bound: {bound})" if bound else "")
        for value, bound in zip(table["value"], table["bound"], strict=True)
    ]
    ends = [v for name in ("value", "low", "high") for v in table[name] if v is not None]
    title = axis_title(table["name"][0], first.unit, first.doc) if single else "value"
    log = theme.is_logarithmic(table["value"])
    x = theme.axis("value", title, ends if log else [0.0, *ends], zero=True, logarithmic=log)
    y = alt.Y("row:N", sort=None, axis=alt.Axis(title=None, ticks=False, labelLimit=140))
    chart = chart_of(drawn)
    layers = []
    if log:
        layers.append(chart.mark_point(filled=True, size=60, color=theme.BLUE, opacity=1))
    else:
        layers.append(chart.mark_bar(color=theme.BLUE, opacity=0.55, height=13))
    layers = [layer.encode(x=x, y=y) for layer in layers]
    if any(low is not None for low in table["low"]):
        low = theme.axis("low", title, ends if log else [0.0, *ends], zero=True, logarithmic=log)
        layers.append(chart.mark_rule(color="black", strokeWidth=2).encode(x=low, x2="high:Q", y=y))
    words = chart.mark_text(align="left", fontSize=11)
    layers.append(words.encode(x=alt.value(WIDTH + 10), y=y, text="text:N"))
    return alt.layer(*layers).properties(width=WIDTH, height=ROW * len(drawn["row"]))


def curves_panel(answer: Answer, curves: Sequence[Curve]) -> Any:
    """The goal along each share, one line each, the other shares keeping their proportions.

    Args:
        answer: the answer.
        curves: the curves along its unknowns, which have one common unit.
    """
    goal = answer.goal
    assert goal is not None
    curves = sorted(curves, key=lambda c: -answer[c.unknown])  # in the order of the bars above
    title = goal_title(goal.text, curves[0].goal_unit)
    labels = [curve.unknown for curve in curves]
    low, high = _goal_range(np.concatenate([curve.goal for curve in curves]), goal.value)
    lines: dict[str, list[Any]] = {"x": [], "goal": [], "kept": [], "along": []}
    for curve in curves:
        inside = np.where((curve.goal >= low) & (curve.goal <= high), curve.goal, np.nan)
        lines["x"] += curve.x.tolist()
        lines["goal"] += inside.tolist()
        lines["kept"] += np.where(curve.allowed, inside, np.nan).tolist()
        lines["along"] += [curve.unknown] * len(inside)
    chosen = {u.name: u.value for u in answer.unknowns}
    points = {"x": [chosen[n] for n in labels], "goal": [goal.value] * len(labels), "along": labels}
    all_x = np.concatenate([c.x for c in curves])
    x = theme.axis("x", "one of the shares" if _is_mixture(curves) else "one of them", all_x)
    colors, dashes = list(theme.CATEGORIES[: len(labels)]), list(DASHES[: len(labels)])
    of_label: dict[str, Any] = {"domain": labels}
    encoding: dict[str, Any] = {
        "x": x,
        "color": alt.Color("along:N", scale=alt.Scale(range=colors, **of_label), legend=None),
        "strokeDash": alt.StrokeDash(
            "along:N", scale=alt.Scale(range=dashes, **of_label), legend=None
        ),
    }
    drawn = chart_of(lines)
    kept = theme.ranged_y("kept", title, low, high)
    marks = chart_of(points).mark_point(filled=True, size=60, opacity=1)
    y = theme.ranged_y("goal", title, low, high)
    return alt.layer(
        drawn.mark_line(strokeWidth=1.2, opacity=0.35).encode(y=y, **encoding),
        drawn.mark_line(strokeWidth=2.2).encode(y=kept, **encoding),
        marks.encode(x=x, y=y, color=encoding["color"]),
        *theme.key(labels, colors, dashes, WIDTH),
    ).properties(width=WIDTH, height=CURVES_HEIGHT)


def _goal_range(goals: NDArray[np.float64], best: float) -> tuple[float, float]:
    """The ends of an axis that shows the goal near its best value, up to twice the median distance
    from it.
    """
    gaps = goals[np.isfinite(goals)] - best
    room = FAR * float(np.median(np.abs(gaps)))
    low, high = max(float(np.min(gaps)), -room), min(float(np.max(gaps)), room)
    margin = 0.06 * (high - low) or 0.1 * abs(best) or 1.0
    return best + low - margin, best + high + margin


def _is_mixture(curves: Sequence[Curve]) -> bool:
    return all(curve.others for curve in curves)
