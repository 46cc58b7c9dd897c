"""The effect of 1 % more of each given: a small panel beside an answer."""

from __future__ import annotations

from typing import Any

import altair as alt

from lawdsl.figures import theme
from lawdsl.figures.figure import chart_of
from lawdsl.solving.result import Answer

MAX_GIVENS = 8
MAX_UNKNOWNS = 3
NEGLIGIBLE = 1e-3  # relative to the largest effect
GOAL = "the goal"
# px: width of a bar, height of a row, width of the number beside a bar
WIDTH, ROW, TEXT = 110, 22, 56


def steps_panel(answer: Answer) -> Any:
    """Bars of the effect of 1 % more of each given, in percent of the affected quantity.

    Args:
        answer: the answer.

    Returns:
        A panel for each unknown, and one for the goal; None where no derivative is known.
    """
    few = len(answer.unknowns) <= MAX_UNKNOWNS
    moved = {u.name: u.value for u in answer.unknowns if u.value and few}
    goal = answer.goal
    if goal is not None and goal.value and goal.text not in {u.name for u in answer.unknowns}:
        moved[GOAL] = goal.value
    rows = {name: step_rows(answer, name, value) for name, value in moved.items()}
    panels = [_panel(name, steps) for name, steps in rows.items() if steps]
    if not panels:
        return None
    return panels[0] if len(panels) == 1 else alt.vconcat(*panels, spacing=22)


def step_rows(answer: Answer, name: str, value: float) -> list[tuple[str, float]]:
    """The effects of 1 % more of each given on an unknown or the goal, in percent.

    The effect is the elasticity dy/ds·s/y. The givens with the largest effects are returned, in the
    order of the question.

    Args:
        answer: the answer.
        name: the name of the unknown, or `the goal`.
        value: its value, which must not be 0.
    """
    rows = [
        (s.name, (s.goal if name == GOAL else s.unknowns.get(name, 0.0)) * s.value / value)
        for s in answer.sensitivities
    ]
    sizes = sorted((abs(step) for _, step in rows if step), reverse=True)[:MAX_GIVENS]
    least = max(sizes[-1], NEGLIGIBLE * sizes[0]) if sizes else 0.0
    return [(given, step) for given, step in rows if step and abs(step) >= least]


def _panel(name: str, rows: list[tuple[str, float]]) -> Any:
    steps = [step for _, step in rows]
    table = {
        "given": [given for given, _ in rows],
        "step": steps,
        "text": [f"{step:+.2g} %".replace("-", "\N{MINUS SIGN}") for step in steps],
    }
    low, high = min(0.0, *steps), max(0.0, *steps)
    ends = [low - 0.05 * (high - low), high]  # space between the bars and the names of the givens
    x = alt.X("step:Q", scale=alt.Scale(domain=ends, nice=False), axis=None)
    left = alt.Axis(title=None, labelLimit=110, ticks=False, domain=False)
    y = alt.Y("given:N", sort=None, axis=left)
    drawn = chart_of(table)
    bars = drawn.mark_bar(color=theme.BLUE, height=11).encode(x=x, y=y)
    words = drawn.mark_text(align="right", fontSize=11, color="#222222")
    words = words.encode(x=alt.value(WIDTH + TEXT), y=y, text="text:N")
    zero = chart_of({"step": [0.0]}).mark_rule(color=theme.GREY).encode(x=x)
    style: dict[str, Any] = {"fontSize": 12, "fontWeight": "normal", "anchor": "start", "offset": 6}
    title = alt.TitleParams(f"1 % more moves {name} by", **style)
    return alt.layer(bars, words, zero).properties(width=WIDTH, height=ROW * len(rows), title=title)
