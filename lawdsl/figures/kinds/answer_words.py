"""The texts of the figure of an answer: title, legend, description."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lawdsl.figures import theme
from lawdsl.solving.curves import Curve
from lawdsl.solving.result import Answer, Chosen

MAX_NAMED = 3  # unknowns whose values are in a title
MAX_DESCRIBED = 12
MAX_LABELS = 4
MAX_GOAL_LENGTH = 30  # characters
MAX_DOC_LENGTH = 50
MAX_AXIS_LENGTH = 40


LIMITED = {"approached": " (a limit that is not attained)", "undecided": ", not certain"}
"""What a title says of an answer that is not attained, or may not be the best."""


def title_of(answer: Answer) -> str:
    """The result as a sentence.

    Args:
        answer: the answer.
    """
    if not answer.unknowns:
        return f"{answer.question}: no answer; {answer.proof[0] if answer.proof else answer.status}"
    labelled = [u for u in answer.unknowns if "[" in u.name]
    if len(labelled) > 1:
        found = _largest(labelled)
    elif len(answer.unknowns) == 1:
        found = value_text(answer.unknowns[0], answer.level)
    else:
        found = ", ".join(
            f"{u.name} = {theme.short(u.value)}{f' {u.unit}' if u.unit else ''}"
            for u in answer.unknowns[:MAX_NAMED]
        )
    goal = answer.goal
    if goal is not None and goal.text not in {u.name for u in answer.unknowns}:
        name = goal.text if len(goal.text) <= MAX_GOAL_LENGTH else "the goal"
        found += f"; {name} = {theme.short(goal.value)}"
    return f"{answer.question}: {found}{LIMITED.get(answer.status, '')}"


def _largest(labelled: Sequence[Chosen]) -> str:
    """The largest of several unknowns: `perl 0.3, code 0.283`."""
    top = sorted(labelled, key=lambda u: -u.value)[:MAX_LABELS]
    values = [f"{u.name.partition('[')[2].removesuffix(']')} {theme.short(u.value)}" for u in top]
    return ", ".join(values) + (", …" if len(labelled) > len(top) else "")


def axis_title(name: str, unit: str, doc: str | None) -> str:
    """The title of the axis of an unknown: `N, model size [param]`.

    Args:
        name, unit, doc: the name, unit and description of the unknown.
    """
    text = f"{name}, {doc}" if doc and len(doc) <= MAX_DOC_LENGTH else name
    return f"{text} [{unit}]" if unit else text


def goal_title(text: str, unit: str) -> str:
    """The title of the axis of the goal.

    Args:
        text: the formula as written in the question; replaced by `the goal` if it is too long for
            an axis.
        unit: its unit as text; empty for none.
    """
    name = text if len(text) <= MAX_AXIS_LENGTH else "the goal"
    return f"{name} [{unit}]" if unit else name


def value_text(u: Chosen, level: float) -> str:
    """An unknown with its unit and its interval.

    Args:
        u: the unknown.
        level: the level of the interval, 0.95 for 95 %.
    """
    text = f"{u.name} = {theme.short(u.value)}{f' {u.unit}' if u.unit else ''}"
    if u.ends is None:
        return text
    low, high = map(theme.short, u.ends)
    return f"{text} ({100 * level:g} % interval {low} to {high})"


def legend(answer: Answer, curves: Sequence[Curve], *, labelled: bool) -> str:
    """The meaning of the marks.

    Args:
        answer: the answer.
        curves: the curves that are drawn.
        labelled: whether unknowns with labels are drawn as bars.
    """
    parts = []
    wrong = answer.law_error
    if labelled:
        parts.append("bars: the answer")
        if any(u.ends for u in answer.unknowns):
            parts.append(f"black lines: its {100 * answer.level:g} % interval from noise")
        if len(curves) > 1:
            move = (
                "one share, the others in their proportions" if curves[0].others else "one unknown"
            )
            parts.append(f"below, the goal along {move}, thick where every constraint is kept")
        return "; ".join(parts)
    if answer.unknowns:
        parts.append("point: the answer" + (f", {answer.where}" if answer.where else ""))
    if any(u.ends for u in answer.unknowns):
        parts.append(f"thick bar: its {100 * answer.level:g} % interval from noise")
    if wrong is not None and (wrong.ends or wrong.goal):
        parts.append(f"thin bars: with laws wrong by {100 * wrong.discrepancy:g} % per decade")
    if any(c.constraints and c.allowed.any() for c in curves):
        parts.append("shaded: every constraint is kept")
    first = curves[0]
    goal_drawn = len(curves) > 1 or not first.constraints or first.goal_text != first.unknown
    if goal_drawn and any(np.isfinite(c.low).any() for c in curves):
        parts.append(f"band: {100 * answer.level:g} % interval of the goal from noise")
    if answer.compared:
        parts.append("diamonds: choices compared")
    if len(curves) > 1:
        parts.append("other unknowns are as in the answer")
    return "; ".join(parts)


def describe(answer: Answer, curves: Sequence[Curve]) -> str:
    """The alternative text of the figure.

    Args:
        answer: the answer.
        curves: the curves that are drawn.
    """
    parts = [f"{answer.title}: {answer.status}."]
    parts += [f"{value_text(u, answer.level)}." for u in answer.unknowns[:MAX_DESCRIBED]]
    if answer.goal is not None and answer.goal.text not in {u.name for u in answer.unknowns}:
        parts.append(f"{answer.goal.text} is {theme.short(answer.goal.value)}.")
    for curve in curves:
        low, high = theme.short(float(curve.x[0])), theme.short(float(curve.x[-1]))
        kept = f"{100 * float(np.mean(curve.allowed)):.0f} %"
        parts.append(
            f"Drawn along {curve.unknown} from {low} to {high}; {kept} of it keep every constraint."
        )
    return " ".join(parts)
