"""`answer`: the goal and the constraints as functions of the unknowns, and the answer with its
intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.figures import theme
from lawdsl.figures.figure import Figure, chart_of
from lawdsl.figures.kinds.answer_shares import curves_panel, shares_panel, shares_table
from lawdsl.figures.kinds.answer_steps import steps_panel
from lawdsl.figures.kinds.answer_words import axis_title, describe, goal_title, legend, title_of
from lawdsl.solving.curves import ConstraintCurve, Curve
from lawdsl.solving.result import Answer, Chosen
from lawdsl.solving.result_under_law_error import Ends

Array = NDArray[np.float64]

MAX_CURVES = 6
# constraints with a panel each; if there are more, only the feasible part is shaded
MAX_CONSTRAINTS = 3
WIDTH, HEIGHT, CONSTRAINT_HEIGHT = 430, 220, 150
SLICE_WIDTH, SLICE_HEIGHT = 260, 150
SHADE = 0.13  # opacity
NOISE_BAR, LAW_BAR = 4.5, 1.8  # px
WIDE = 640  # px: width of panels side by side, to which the titles above them are wrapped


def answer_figure(answer: Answer, *, x: str | None = None) -> Figure:
    """Draw an answer: goal and constraints along its unknowns, and its intervals.

    Shares and other unknowns with labels are drawn as bars with intervals.

    Args:
        answer: the answer.
        x: the unknown on the horizontal axis; by default one panel for each, the others fixed at
            the answer.

    Raises:
        LawdslError: an unknown that the question does not have (G0104); an answer that has nothing
            to draw (G0111).
    """
    names = [u.name for u in answer.unknowns]
    if x is not None and names and x not in names:
        message = f"{answer.question} has no unknown {x!r}"
        raise LawdslError(Diagnostic("G0104", message, help=f"it has {', '.join(names[:12])}"))
    labelled = [u for u in answer.unknowns if "[" in u.name]
    notes: list[str] = []
    if len(labelled) > 1 and x is None:
        curves = answer.curves() if len(labelled) <= MAX_CURVES and answer.goal else ()
        table = shares_table(answer, labelled)
        if len(table["unknown"]) < len(names):
            notes.append(f"{len(table['unknown'])} of {len(names)} unknowns are drawn, the largest")
        panels = [shares_panel(table, labelled[0])]
        if len(curves) > 1:
            panels.append(curves_panel(answer, curves))
        main: Any = alt.vconcat(*panels, spacing=34)
    else:
        curves = _curves(answer, x, notes)
        table = _table(curves)
        main = _slices(answer, curves) if len(curves) > 1 else _panels(answer, curves[0], notes)
    steps = steps_panel(answer)
    chart = alt.hconcat(main, steps, spacing=36) if steps is not None else main
    title, description = title_of(answer), describe(answer, curves)
    subtitle = [answer.title, legend(answer, curves, labelled=bool("label" in table)), *notes]
    wide = steps is not None or len(curves) > 1
    drawn = theme.titled(chart, title, subtitle, description, WIDE if wide else theme.WIDTH)
    return Figure("answer", title, table, drawn, description, tuple(notes))


def _curves(answer: Answer, x: str | None, notes: list[str]) -> tuple[Curve, ...]:
    """The curves to draw.

    Raises:
        LawdslError: there are no curves (G0111).
    """
    names = [u.name for u in answer.unknowns]
    curves = answer.curves(*([x] if x is not None else names[:MAX_CURVES]))
    if x is not None and not curves:  # an equation determines it from the unknown that is varied
        curves = answer.curves()[:1]
    curves = tuple(c for c in curves if np.isfinite(c.goal).any())
    if not curves:
        message = f"the answer to {answer.question} has nothing to draw: {answer.status}"
        help = "a question without an answer has a figure where its one unknown is bounded"
        raise LawdslError(Diagnostic("G0111", message, help=help))
    if len(names) > MAX_CURVES and x is None:
        notes.append(f"{MAX_CURVES} of {len(names)} unknowns are drawn")
    left = dict.fromkeys(text for curve in curves for text in curve.equations)
    if left:
        notes.append(f"along one unknown alone the choice leaves {' and '.join(left)}")
    followers = [n for n in names if len(curves) == 1 and n in curves[0].others]
    if followers:
        notes.append(
            f"{' and '.join(followers)} follow{'s' * (len(followers) == 1)} from {curves[0].unknown}"
        )
    return curves


def _table(curves: Sequence[Curve]) -> dict[str, list[Any]]:
    """The tidy table: one row per point of a curve."""
    columns: dict[str, list[Any]] = {
        "unknown": [[curve.unknown] * len(curve.x) for curve in curves],
        "value": [curve.x for curve in curves],
    }
    for name in ("goal", "low", "high", "allowed"):
        columns[name] = [getattr(curve, name) for curve in curves]
    for name in dict.fromkeys(name for curve in curves for name in curve.others):
        columns[name] = [curve.others.get(name, np.full(len(curve.x), np.nan)) for curve in curves]
    for text in dict.fromkeys(c.text for curve in curves for c in curve.constraints):
        for curve in curves:
            one = next((c for c in curve.constraints if c.text == text), None)
            nothing = np.full(len(curve.x), np.nan)
            sides = (nothing, nothing) if one is None else (one.left, one.right)
            for side, values in zip(("left", "right"), sides, strict=True):
                columns.setdefault(f"{side} of {text}", []).append(values)
    return {name: np.concatenate(parts).tolist() for name, parts in columns.items()}


@dataclass(frozen=True, eq=False)
class _Panel:
    """The axes of a panel: an unknown, and the quantities drawn along it."""

    curve: Curve
    title: str
    low: float
    high: float
    logarithmic: bool

    @classmethod
    def of(cls, curve: Curve, title: str, columns: Sequence[Array], centre: float | None) -> _Panel:
        """A panel whose vertical axis shows the given columns and the value `centre`."""
        values = np.concatenate(columns)
        if theme.is_logarithmic(values):
            finite = values[np.isfinite(values)]
            low, high = theme.padded(float(np.min(finite)), float(np.max(finite)))
            return cls(curve, title, low, high, logarithmic=True)
        return cls(curve, title, *theme.visible_range(columns, centre), logarithmic=False)

    def x(self, field: str) -> Any:
        """The horizontal channel of a column."""
        curve = self.curve
        title = axis_title(curve.unknown, curve.unit, curve.doc)
        ends = float(curve.x[0]), float(curve.x[-1])
        return theme.axis(field, title, curve.x, logarithmic=curve.logarithmic, ends=ends)

    def y(self, field: str) -> alt.Y:
        """The vertical channel of a column."""
        log = self.logarithmic
        return theme.ranged_y(field, self.title, self.low, self.high, logarithmic=log)

    def inside(self, values: Array) -> Array:
        """The values, replaced by nan where they are outside the panel."""
        return np.where((values >= self.low) & (values <= self.high), values, np.nan)

    def chosen(self, answer: Answer) -> Chosen | None:
        """The unknown in the answer."""
        return next((u for u in answer.unknowns if u.name == self.curve.unknown), None)


# One unknown


def _panels(answer: Answer, curve: Curve, notes: list[str]) -> Any:
    """The goal and each constraint against one unknown, in panels below each other."""
    constraints = [c for c in curve.constraints if np.isfinite(c.margin).any()]
    if len(constraints) > MAX_CONSTRAINTS:
        notes.append(f"{MAX_CONSTRAINTS} of {len(constraints)} constraints have a panel")
        constraints.sort(key=lambda c: float(np.nanmin(np.abs(c.margin))))
    panels: list[Any] = []
    if curve.goal_text != curve.unknown or not constraints:
        height = HEIGHT if constraints else HEIGHT + 60
        panels.append(_goal_panel(answer, curve, WIDTH, height, labels=True))
    for constraint in constraints[:MAX_CONSTRAINTS]:
        height = CONSTRAINT_HEIGHT if panels else HEIGHT
        panels.append(_constraint_panel(answer, curve, constraint, height, labels=not panels))
    return panels[0] if len(panels) == 1 else alt.vconcat(*panels, spacing=26)


def _goal_panel(
    answer: Answer,
    curve: Curve,
    width: int,
    height: int,
    *,
    labels: bool,
    goals: Sequence[Array] = (),
) -> Any:
    """The goal along an unknown, with its interval and the answer; its axis covers `goals`."""
    title = goal_title(curve.goal_text, curve.goal_unit)
    centre = answer.goal.value if answer.goal is not None else None
    seen = [*(goals or (curve.goal, curve.low, curve.high))]
    if answer.law_error is not None and answer.law_error.goal is not None:
        seen.append(np.array(answer.law_error.goal))
    panel = _Panel.of(curve, title, seen, centre)
    inside = panel.inside(curve.goal)
    ends = {"low": curve.low, "high": curve.high}
    table = {"x": curve.x, "goal": inside}
    table |= {name: np.clip(end, panel.low, panel.high) for name, end in ends.items()}
    layers = [_shade(panel)] if curve.constraints else []
    drawn = chart_of(table)
    if np.isfinite(curve.low).any():
        band = drawn.mark_area(opacity=0.2, color=theme.BLUE)
        layers.append(band.encode(x=panel.x("x"), y=panel.y("low"), y2="high:Q"))
    line = drawn.mark_line(color=theme.BLUE, strokeWidth=1.8)
    layers.append(line.encode(x=panel.x("x"), y=panel.y("goal")))
    layers += _answer_lines(answer, panel, labels=labels)
    if answer.goal is not None:
        layers += _answer_marks(answer, panel, answer.goal.value)
    layers += _compared_marks(answer, panel, curve.goal)
    return alt.layer(*layers).properties(width=width, height=height)


def _constraint_panel(
    answer: Answer, curve: Curve, constraint: ConstraintCurve, height: int, *, labels: bool
) -> Any:
    """Both sides of a constraint along an unknown."""
    title = f"{constraint.name} [{constraint.unit}]" if constraint.unit else constraint.name
    chosen = next((u for u in answer.unknowns if u.name == curve.unknown), None)
    at = float(np.interp(chosen.value, curve.x, constraint.left)) if chosen is not None else None
    both = [constraint.left, constraint.right]
    panel = _Panel.of(curve, title, both, at)
    names = [constraint.left_text, constraint.right_text]
    table = {
        "x": np.tile(curve.x, 2),
        "value": np.concatenate([panel.inside(side) for side in both]),
        "side": np.repeat(names, len(curve.x)),
    }
    colors, dashes = [theme.BLUE, theme.VERMILION], [[1, 0], [6, 3]]
    lines = chart_of(table).mark_line(strokeWidth=1.8)
    layers = [
        _shade(panel),
        lines.encode(
            x=panel.x("x"),
            y=panel.y("value"),
            color=alt.Color("side:N", scale=alt.Scale(domain=names, range=colors), legend=None),
            strokeDash=alt.StrokeDash(
                "side:N", scale=alt.Scale(domain=names, range=dashes), legend=None
            ),
        ),
        *theme.key(names, colors, dashes, WIDTH),
        *_answer_lines(answer, panel, labels=labels),
    ]
    if at is not None:
        layers += _answer_marks(answer, panel, at)
    if labels:
        layers += _compared_marks(answer, panel, constraint.left)
    return alt.layer(*layers).properties(width=WIDTH, height=height)


# Several unknowns


def _slices(answer: Answer, curves: Sequence[Curve]) -> Any:
    """The goal along each unknown, in panels side by side."""
    size = (SLICE_WIDTH, SLICE_HEIGHT)
    goals = [values for c in curves for values in (c.goal, c.low, c.high)]
    panels = [_goal_panel(answer, curve, *size, labels=False, goals=goals) for curve in curves]
    return alt.concat(*panels, columns=2, spacing=18)


# Marks


def _shade(panel: _Panel) -> Any:
    """The shading of the feasible parts."""
    allowed, x = panel.curve.allowed, panel.curve.x
    edges = np.flatnonzero(np.diff(np.concatenate([[0], allowed, [0]])))
    table = {"from": x[edges[::2]], "to": x[edges[1::2] - 1]}
    mark = chart_of(table).mark_rect(color=theme.GREEN, opacity=SHADE)
    return mark.encode(x=panel.x("from"), x2="to:Q")


def _answer_marks(answer: Answer, panel: _Panel, y: float) -> Iterator[Any]:
    """The answer as a point, and its intervals as bars: thick for the noise of the fits, thin with
    the error of the laws.
    """
    chosen, wrong, goal = panel.chosen(answer), answer.law_error, answer.goal
    if chosen is None:
        return
    bars: list[tuple[Ends | None, float]] = [(chosen.ends, NOISE_BAR)]
    if wrong is not None:
        bars.insert(0, (wrong.ends.get(chosen.name), LAW_BAR))
    first, last = float(panel.curve.x[0]), float(panel.curve.x[-1])
    for ends, width in bars:
        if ends is not None:
            table = {"from": [max(first, ends[0])], "to": [min(last, ends[1])], "y": [y]}
            bar = chart_of(table).mark_rule(color="black", strokeWidth=width)
            yield bar.encode(x=panel.x("from"), x2="to:Q", y=panel.y("y"))
    if wrong is not None and wrong.goal is not None and goal is not None and goal.value == y:
        ends = max(panel.low, wrong.goal[0]), min(panel.high, wrong.goal[1])
        table = {"x": [chosen.value], "from": [ends[0]], "to": [ends[1]]}
        rule = chart_of(table).mark_rule(color="black", strokeWidth=LAW_BAR)
        yield rule.encode(x=panel.x("x"), y=panel.y("from"), y2="to:Q")
    point = chart_of({"x": [chosen.value], "y": [y]})
    mark = point.mark_point(size=45, filled=True, color="white", stroke="black", opacity=1)
    yield mark.encode(x=panel.x("x"), y=panel.y("y"))


def _compared_marks(answer: Answer, panel: _Panel, along: Array) -> Iterator[Any]:
    """The choices that the answer is compared with, on a curve along the unknown; or at the value
    of their goal, where other unknowns differ too.
    """
    curve = panel.curve
    points = []
    for choice in answer.compared:
        if curve.unknown in choice.x:
            x = choice.x[curve.unknown]
            on_curve = len(choice.x) == 1 or along is not curve.goal
            points.append((x, float(np.interp(x, curve.x, along)) if on_curve else choice.goal))
    inside = [(x, y) for x, y in points if panel.low <= y <= panel.high]
    if inside:
        table = {"x": [x for x, _ in inside], "y": [y for _, y in inside]}
        style: dict[str, Any] = {
            "shape": "diamond",
            "filled": True,
            "color": theme.ORANGE,
            "opacity": 1,
        }
        mark = chart_of(table).mark_point(size=80, stroke="black", strokeWidth=0.6, **style)
        yield mark.encode(x=panel.x("x"), y=panel.y("y"))


def _answer_lines(answer: Answer, panel: _Panel, *, labels: bool) -> Iterator[Any]:
    """Vertical lines at the answer and at the safe answer, labelled at the top."""
    chosen, safe, name = panel.chosen(answer), answer.safe, panel.curve.unknown
    lines = [] if chosen is None else [(chosen.value, "answer", theme.GREY, [1, 0])]
    if safe is not None and safe.ok and name in safe.unknowns:
        lines.append((safe.unknowns[name], f"safe at {100 * safe.level:g} %", theme.PURPLE, [4, 3]))
    lines.sort(key=lambda line: line[0])
    for number, (x, words, color, dash) in enumerate(lines):
        table = {"x": [x], "name": [words]}
        mark = chart_of(table).mark_rule(color=color, strokeDash=dash, strokeWidth=0.9)
        yield mark.encode(x=panel.x("x"))
        # two lines that are close have their labels on opposite sides
        if labels and len(lines) > 1:
            side: dict[str, Any] = (
                {"align": "left", "dx": 4} if number else {"align": "right", "dx": -4}
            )
            text = chart_of(table).mark_text(dy=8, color="#222222", **side)
            yield text.encode(x=panel.x("x"), y=alt.value(0), text="name:N")
