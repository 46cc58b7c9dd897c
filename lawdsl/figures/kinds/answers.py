"""`answer` of several answers to one question: the unknowns and the goal against a varied given."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.figures import theme
from lawdsl.figures.course import course_of
from lawdsl.figures.figure import Figure, chart_of
from lawdsl.figures.kinds.answer import answer_figure
from lawdsl.figures.kinds.answer_words import axis_title, goal_title
from lawdsl.language.label_texts import split_element, with_subscripts
from lawdsl.solving.compute_curves import unit_of_name
from lawdsl.solving.result import Answer, Answers
from lawdsl.solving.result_under_law_error import Ends
from lawdsl.solving.solve import Asked

MAX_PANELS = 4
WIDTH, HEIGHT = 430, 180
MAX_BANDS = 3  # with more groups, intervals are bars side by side
ENDS = ("low", "high", "low, laws wrong", "high, laws wrong")
ALIKE = 3.0  # ratio below which the axis is linear
MOST_BEYOND = (
    1e3  # multiple of the answers up to which intervals with the error of the laws are visible
)
BESIDE, MARGIN = 0.009, 0.03  # relative to the axis
LABEL_SEPARATOR = ", "

Row = dict[str, Any]


def answers_figure(answers: Answers, *, x: str | None = None) -> Figure:
    """Draw the unknowns and the goal against the given that varies.

    Args:
        answers: several answers to one question.
        x: the given of the horizontal axis; by default the one with the most values. Other varied
            givens, and labels, become groups.

    Raises:
        LawdslError: a name that does not vary (G0104); none of the questions has an answer (G0111).
    """
    if not answers.varying:
        return answer_figure(answers.answers[0])
    if x is not None and x not in answers.varying:
        message = f"{answers.answers[0].question} was not asked for several values of {x!r}"
        help = f"several were given of {', '.join(answers.varying)}"
        raise LawdslError(Diagnostic("G0104", message, help=help))
    counts = {name: len({a.given(name) for a in answers.answers}) for name in answers.varying}
    horizontal = x or max(counts, key=lambda name: counts[name])
    rows = [row for answer in answers.answers for row in _rows(answer, horizontal, answers)]
    if not rows:
        first = answers.answers[0]
        message = f"no answer to {first.question} has a value: {first.status}"
        help = "give values of the givens for which there is an answer"
        raise LawdslError(Diagnostic("G0111", message, help=help))
    rows, notes = _limited_rows(rows)
    notes += _without_law_error(answers, horizontal)
    quantities = list(dict.fromkeys(row["quantity"] for row in rows))
    nothing = [a.given(horizontal) for a in answers.answers if not a.unknowns]
    of_given = _unit(answers.answers[0], horizontal)
    given = _Given(
        f"{horizontal} [{of_given}]" if of_given else horizontal,
        [*(row["x"] for row in rows), *nothing],
        nothing,
    )
    panels = []
    for one in quantities:
        of_one = [row for row in rows if row["quantity"] == one]
        scale = _scale_of(of_one, given)
        panels.append(_panel(of_one, given, scale))
        notes += scale.notes(one, of_one)
    title = _title(rows, answers.answers[0].question, horizontal)
    subtitle = [answers.answers[0].title, _legend(rows, nothing, answers), *notes]
    description = (
        f"{', '.join(quantities)} against {horizontal}, "
        f"for {len(answers.answers)} answers. {title}."
    )
    names = [name for name in rows[0] if name != "title"]
    columns: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in names}
    columns = {horizontal: columns.pop("x"), **columns}
    chart: Any = panels[0]
    if len(panels) > 1:
        # the groups may differ between panels: the goal has no labels
        chart = alt.vconcat(*panels, spacing=20)
        if (
            len(
                {
                    tuple(sorted({r["group"] for r in rows if r["quantity"] == q}))
                    for q in quantities
                }
            )
            > 1
        ):
            chart = chart.resolve_scale(color="independent", shape="independent")
    drawn = theme.titled(chart, title, subtitle, description)
    return Figure("answer", title, columns, drawn, description, tuple(notes))


def _unit(answer: Answer, name: str) -> str:
    """The unit of a given or of the goal expression, as text; empty if unknown."""
    if answer.declared is None:
        return ""
    sources = answer.asked.formulated.sources if isinstance(answer.asked, Asked) else ()
    return unit_of_name(answer.declared, name, sources)


def _rows(answer: Answer, horizontal: str, answers: Answers) -> Iterator[Row]:
    """The tidy rows of an answer: one for each unknown, and one for the goal."""
    wrong, safe = answer.law_error, answer.safe
    others = [name for name in answers.varying if name != horizontal]
    group = [f"{name} = {theme.label(answer.given(name))}" for name in others]
    at = answer.given(horizontal)
    for u in answer.unknowns:
        base, labels = split_element(u.name)
        ends = wrong.ends.get(u.name) if wrong is not None else None
        found = safe.unknowns.get(u.name) if safe is not None and safe.ok else None
        names = [*group, *labels]
        yield _row(at, base, axis_title(base, u.unit, u.doc), names, u, ends, found)
    goal = answer.goal
    if goal is not None and goal.text not in {u.name for u in answer.unknowns}:
        ends = wrong.goal if wrong is not None else None
        found = safe.goal if safe is not None and safe.ok else None
        title = goal_title(goal.text, _unit(answer, goal.text))
        yield _row(at, goal.text, title, group, goal, ends, found)


def _row(
    at: float,
    quantity: str,
    title: str,
    group: Sequence[str],
    estimate: Any,
    wrong: Ends | None,
    safe: float | None,
) -> Row:
    low, high = estimate.ends or (None, None)
    wrong_low, wrong_high = wrong or (None, None)
    return {
        "x": at,
        "quantity": quantity,
        "title": title,
        "group": LABEL_SEPARATOR.join(group),
        "value": estimate.value,
        "low": low,
        "high": high,
        "low, laws wrong": wrong_low,
        "high, laws wrong": wrong_high,
        "safe": safe,
    }


def _limited_rows(rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """The rows of the quantities and groups that are drawn, limited in number, and notes on what
    was left out.
    """
    notes = []
    quantities = list(dict.fromkeys(row["quantity"] for row in rows))
    groups = list(dict.fromkeys(row["group"] for row in rows))
    if len(quantities) > MAX_PANELS:
        notes.append(f"{MAX_PANELS} of {len(quantities)} quantities are drawn")
    if len(groups) > theme.MAX_GROUPS:
        notes.append(f"{theme.MAX_GROUPS} of {len(groups)} groups are drawn, spread over all")
        kept = np.linspace(0, len(groups) - 1, theme.MAX_GROUPS).round().astype(int)
        groups = [groups[i] for i in kept]
    names = set(quantities[:MAX_PANELS])
    # the goal has no labels: its group is drawn with the colour of those of the unknowns
    return [row for row in rows if row["quantity"] in names and row["group"] in groups], notes


@dataclass(frozen=True)
class _Given:
    """The given of the horizontal axis: its title, all its values, and the values without an
    answer.
    """

    title: str
    values: Sequence[float]
    nothing: Sequence[float]

    def axis(self, field: str) -> Any:
        """The horizontal channel of a column, the same in all panels."""
        low, high = min(self.values), max(self.values)
        room = MARGIN * (high - low)
        return theme.axis(field, self.title, self.values, ends=(low - room, high + room))


def _panel(rows: Sequence[Row], given: _Given, scale: _Scale) -> Any:
    """One quantity against the given."""
    table = {name: [row[name] for row in rows] for name in rows[0]}
    groups = list(dict.fromkeys(table["group"]))
    y = scale.y
    x = given.axis("x")
    encoding: dict[str, Any] = {"color": alt.value(theme.BLUE)}
    marks = dict(encoding)
    if len(groups) > 1:
        encoding = {"color": theme.color("group", "", groups)}
        marks = {**encoding, "shape": theme.shape("group", "", groups)}
    for name in ENDS:  # ends beyond the axis, or unbounded, cannot be drawn on a logarithmic axis
        table[name] = [
            None if v is None else float(np.clip(v, scale.low, scale.high)) for v in table[name]
        ]
    table["beside"] = _shifted_positions(table["x"], table["group"], given.values)
    beside = given.axis("beside")
    drawn = chart_of(table)
    layers: list[Any] = []
    for ends, opacity, width in (("{}, laws wrong", 0.1, 0.8), ("{}", 0.2, 1.6)):
        first, second = ends.format("low"), ends.format("high")
        if all(v is None for v in table[first]):
            continue
        if len(groups) <= MAX_BANDS:
            band = drawn.mark_area(opacity=opacity, clip=True)
            layers.append(band.encode(x=x, y=y(first), y2=f"{second}:Q", **encoding))
        else:
            bar = drawn.mark_rule(strokeWidth=width, clip=True)
            layers.append(bar.encode(x=beside, y=y(first), y2=f"{second}:Q", **encoding))
    at = x if len(groups) <= MAX_BANDS else beside
    layers.append(drawn.mark_line(strokeWidth=1.8).encode(x=at, y=y("value"), **encoding))
    points = drawn.mark_point(filled=True, size=55, opacity=1)
    layers.append(points.encode(x=at, y=y("value"), **marks))
    if any(v is not None for v in table["safe"]):
        safe = drawn.mark_line(strokeWidth=1.5, strokeDash=[5, 3], clip=True)
        layers.append(safe.encode(x=x, y=y("safe"), **encoding))
    if given.nothing:
        style: dict[str, Any] = {
            "shape": "cross",
            "angle": 45,
            "filled": True,
            "color": theme.VERMILION,
        }
        crosses = chart_of({"x": list(given.nothing)}).mark_point(size=60, opacity=1, **style)
        layers.append(crosses.encode(x=x, y=alt.value(HEIGHT - 8)))
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)


@dataclass(frozen=True)
class _Scale:
    """The vertical axis of a panel: its title and ends."""

    title: str
    low: float
    high: float
    logarithmic: bool

    def y(self, field: str) -> alt.Y:
        """The vertical channel of a column."""
        log = self.logarithmic
        return theme.ranged_y(field, self.title, self.low, self.high, logarithmic=log)

    def notes(self, quantity: str, rows: Sequence[Row]) -> list[str]:
        """Notes about intervals that extend beyond the axis."""
        ends = [row[name] for row in rows for name in ENDS if row[name] is not None]
        parts = []
        if ends and min(ends) < self.low:
            parts.append(_end("down to", min(ends)))
        if ends and max(ends) > self.high:
            parts.append(_end("up to", max(ends)))
        return (
            [f"intervals of {quantity} go on beyond its axis, {' and '.join(parts)}"]
            if parts
            else []
        )


def _end(way: str, value: float) -> str:
    """An end of an interval, in words."""
    if math.isfinite(value):
        return f"{way} {theme.short(value)}"
    return "without a bound below" if value < 0 else "without a bound above"


def _scale_of(rows: Sequence[Row], given: _Given) -> _Scale:
    """An axis that covers all answers and their noise intervals; intervals with the error of the
    laws are cut off where they would flatten the other values.
    """
    wide = ("low, laws wrong", "high, laws wrong")
    values, rest = (
        np.array([row[n] for row in rows for n in names if row[n] is not None], dtype=np.float64)
        for names in (("value", "low", "high", "safe"), wide)
    )
    rest, finite = rest[np.isfinite(rest)], values[np.isfinite(values)]
    every = np.concatenate([finite, rest])
    # a power law against a logarithmic given is a line where both axes are logarithmic
    together = theme.is_logarithmic(given.values) and np.max(finite) > ALIKE * np.min(finite)
    logarithmic = bool(np.min(finite) > 0 and (together or theme.is_logarithmic(every)))
    title = rows[0]["title"]
    if logarithmic:
        least, most = float(np.min(finite)), float(np.max(finite))
        seen = [x for x in rest if least / MOST_BEYOND <= x <= most * MOST_BEYOND]
        low, high = theme.padded(min([least, *seen]), max([most, *seen]))
        return _Scale(title, low, high, logarithmic=True)
    low, high = theme.visible_range([finite, rest])
    low, high = min(low, float(np.min(finite))), max(high, float(np.max(finite)))
    return _Scale(title, low, high, logarithmic=False)


def _without_law_error(answers: Answers, horizontal: str) -> list[str]:
    """A note about the values without the error of the laws, if it is drawn at others."""
    solved = [a for a in answers.answers if a.unknowns]
    lacking = [a for a in solved if a.law_error is None]
    if len(lacking) in (0, len(solved)):
        return []
    at = ", ".join(dict.fromkeys(theme.short(a.given(horizontal)) for a in lacking))
    unknown = any(d.code == "F0518" for a in lacking for d in a.diagnostics)
    why = "it is not known there" if unknown else "those answers are among the fitted rows"
    return [f"no error of the laws at {horizontal} = {at}: {why}"]


def _shifted_positions(
    at: Sequence[float], group: Sequence[str], values: Sequence[float]
) -> list[float]:
    """The values of the given, slightly shifted for each group so that marks do not overlap."""
    groups = list(dict.fromkeys(group))
    places = [groups.index(name) - (len(groups) - 1) / 2 for name in group]
    low, high = min(values), max(values)
    if theme.is_logarithmic(values):
        step = (high / low) ** BESIDE
        return [x * step**place for x, place in zip(at, places, strict=True)]
    return [x + BESIDE * (high - low) * place for x, place in zip(at, places, strict=True)]


def _title(rows: Sequence[Row], question: str, horizontal: str) -> str:
    """The range of the first unknown over the range of the given."""
    quantity, group = rows[0]["quantity"], rows[0]["group"]
    chosen = [row for row in rows if (row["quantity"], row["group"]) == (quantity, group)]
    first = min(chosen, key=lambda row: row["x"])
    last = max(chosen, key=lambda row: row["x"])
    ends = theme.short(first["x"]), theme.short(last["x"])
    parts = group.split(LABEL_SEPARATOR) if group else []
    labels = [part for part in parts if " = " not in part]
    held = [part for part in parts if " = " in part]
    name = with_subscripts(quantity, labels)
    name = f"at {LABEL_SEPARATOR.join(held)}, {name}" if held else name
    chosen.sort(key=lambda row: row["x"])
    intervals = [(row["low"], row["high"]) for row in (first, last)]
    course = course_of([row["value"] for row in chosen], intervals, theme.short)
    return f"{question}: {name} {course} while {horizontal} goes from {ends[0]} to {ends[1]}"


def _legend(rows: Sequence[Row], nothing: Sequence[float], answers: Answers) -> str:
    """The meaning of the marks."""
    level = f"{100 * answers.answers[0].level:g} %"
    parts = ["points: the answers"]
    groups = {
        q: len({r["group"] for r in rows if r["quantity"] == q})
        for q in {r["quantity"] for r in rows}
    }
    shapes = [
        name
        for name, used in (
            ("bands", min(groups.values()) <= MAX_BANDS),
            ("bars", max(groups.values()) > MAX_BANDS),
        )
        if used
    ]
    shape = " and ".join(shapes)
    wrong = next((a.law_error for a in answers.answers if a.law_error is not None), None)
    if any(row["low"] is not None for row in rows):
        parts.append(f"{shape}: their {level} intervals from noise")
    if wrong is not None and any(row["low, laws wrong"] is not None for row in rows):
        parts.append(
            f"{'thin' if shape == 'bars' else 'light'} {shape}: with laws wrong by {100 * wrong.discrepancy:g} % per decade"
        )
    safe = next((a.safe for a in answers.answers if a.safe is not None), None)
    if safe is not None and any(row["safe"] is not None for row in rows):
        parts.append(f"dashed: safe at {100 * safe.level:g} %")
    if nothing:
        parts.append("crosses: no answer")
    return "; ".join(parts)
