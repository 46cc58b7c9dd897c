"""`certificate`: the verdict and proof of each claim of a law, and a curve for each claim that
fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import altair as alt

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.figures import theme
from lawdsl.figures.figure import Figure, chart_of
from lawdsl.figures.kinds.certificate_curves import FailureCurve, failure_curve
from lawdsl.law.law import Law
from lawdsl.proof.check import check
from lawdsl.proof.verdict import Check, Verdict

MARKS = {
    "proved": ("circle", theme.BLUE),
    "certified": ("circle", theme.BLUE),
    "inside": ("circle", theme.BLUE),
    "conditional": ("diamond", theme.ORANGE),
    "refuted": ("cross", theme.VERMILION),
    "undecided": ("square", theme.GREY),
}
"""Verdict -> shape and colour of its mark."""
METHODS = {
    "signs": "by signs",
    "signs and subdivision": "by signs and subdivision",
    "subdivision": "by subdivision",
    "limits": "by limits of terms",
    "reduction": "by reduction",
}
"""The methods whose names are shown; for other methods a line of the proof is shown."""
WORDS = {
    "proved": "proved",
    "inside": "proved inside the domain",
    "certified": "certified",
    "conditional": "proved under a condition",
    "refuted": "refuted",
    "undecided": "undecided",
}
HELD = ("proved", "certified")
"""Verdicts after which it is not stated whether they were expected."""
WORST = ("refuted", "conditional", "undecided", "inside", "proved", "certified")
"""Unexpected verdicts, in the order in which the title names them."""
WIDTH, ROW = 600, 38  # of the table of claims, px
CLAIM, EXPECTED = 130, 596  # where the columns begin and end, px
LINE_CHARACTERS, CLAIM_CHARACTERS = 96, 58
PANEL_WIDTH, PANEL_HEIGHT, PER_ROW = 245, 150, 2
AXIS = 52  # room for the vertical axis of a panel, px
MAX_PANELS = 4
SUBTITLE_CHARACTERS = 46  # characters of a line above a panel


def certificate_figure(result: Check | Law) -> Figure:
    """Draw the verdicts on the claims of a law, and a curve through each point at which one fails.

    Args:
        result: the verdicts, or a law, whose claims are then decided.

    Raises:
        LawdslError: a law without claims (G0114).
    """
    checked = check(result) if isinstance(result, Law) else result
    if not checked.claims:
        message = f"{checked.law} claims nothing"
        help = "write what it should hold, `require ∂L/∂N < 0`, and check that"
        raise LawdslError(Diagnostic("G0114", message, help=help))
    failing = [v for v in checked.claims if v.failure is not None]
    failing.sort(key=lambda v: (v.ok, v.verdict != "refuted"))
    curves = [curve for v in failing if (curve := failure_curve(v)) is not None]
    notes = []
    if len(curves) > MAX_PANELS:
        notes.append(f"{MAX_PANELS} of {len(curves)} points at which a claim fails are drawn")
    shown = curves[:MAX_PANELS]
    title, columns = _title(checked), _columns(checked)
    legend = ["below: claims along a variable through a point at which they fail"] if shown else []
    if any(curve.is_shaded for curve in shown):
        legend.append("shaded: against the claim")
    panels = [_panel(curve) for curve in shown]
    rows = [
        alt.hconcat(*panels[k : k + PER_ROW], spacing=40) for k in range(0, len(panels), PER_ROW)
    ]
    claims = _claims(columns, -AXIS if rows else 0)
    chart = alt.vconcat(claims, *rows, spacing=30).resolve_scale(
        color="independent", shape="independent"
    )
    description = _description(checked)
    subtitle = ["; ".join(legend), *notes] if legend else notes
    drawn = theme.titled(chart, title, subtitle, description, WIDTH)
    return Figure("certificate", title, columns, drawn, description, tuple(notes))


def _columns(checked: Check) -> dict[str, list[Any]]:
    """The tidy table of the claims."""
    verdicts = checked.claims
    return {
        "claim": [v.claim for v in verdicts],
        "verdict": [v.verdict for v in verdicts],
        "word": [v.word for v in verdicts],
        "expect": [v.expect for v in verdicts],
        "ok": [v.ok for v in verdicts],
        "method": [v.method for v in verdicts],
        "why": [_reason(v) for v in verdicts],
        "witness": [_point_text(v.witness) for v in verdicts],
    }


def _reason(verdict: Verdict) -> str:
    """The reason for a verdict, in one line: a step of the proof, the condition, or the
    counterexample.
    """
    if verdict.verdict == "refuted":
        at = f"at {_point_text(verdict.witness)}: " if verdict.witness else ""
        return f"{at}{verdict.value}{'; holds nowhere' if verdict.never else ''}"
    if verdict.verdict == "conditional":
        return f"{'exactly ' if verdict.exact else ''}where {verdict.condition}"
    if verdict.verdict == "undecided":
        return verdict.blame or ""
    face = f"equality only at {verdict.face}" if verdict.face else ""
    how = ", ".join(filter(None, (METHODS.get(verdict.method), face)))
    return ": ".join(filter(None, (how, *verdict.proof[:1])))


def _point_text(witness: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in witness)


def _claims(columns: dict[str, list[Any]], start: float) -> Any:
    """The table of claims: mark, verdict and claim, and the reason in a second line.

    Args:
        columns: the tidy table of the claims.
        start: the horizontal offset (px) that aligns it with the panels below, whose axes need
            room.
    """
    expected = [
        f"expected: {expect}" if not ok else "" if word in HELD else "as expected"
        for ok, expect, word in zip(
            columns["ok"], columns["expect"], columns["verdict"], strict=True
        )
    ]
    table = {
        "row": list(range(len(expected))),
        "verdict": columns["verdict"],
        "word": columns["word"],
        "claim": [_truncated(claim, CLAIM_CHARACTERS) for claim in columns["claim"]],
        "why": [_truncated(why, LINE_CHARACTERS) for why in columns["why"]],
        "expected": expected,
        "met": columns["ok"],
    }
    drawn = chart_of(table)
    y = alt.Y("row:O", axis=None, sort=None)
    names = list(MARKS)
    shape = alt.Scale(domain=names, range=[MARKS[name][0] for name in names])
    color = alt.Scale(domain=names, range=[MARKS[name][1] for name in names])
    fills = alt.Color("verdict:N", scale=color, legend=None)
    marks = drawn.mark_point(filled=True, size=80, opacity=1).encode(
        x=alt.value(start + 8),
        y=y,
        shape=alt.Shape("verdict:N", scale=shape, legend=None),
        color=fills,
    )
    met = alt.condition("datum.met", alt.value("#444444"), alt.value(theme.VERMILION))

    def column(field: str, x: float, **mark: Any) -> Any:
        style: dict[str, Any] = {"align": "left", "baseline": "middle", "color": "#222222"} | mark
        return drawn.mark_text(**style).encode(x=alt.value(start + x), y=y, text=f"{field}:N")

    layers = [
        marks,
        column("word", 20, fontSize=12),
        column("claim", CLAIM, fontSize=12, fontWeight="bold"),
        column("why", CLAIM, fontSize=10.5, dy=15, color="#444444"),
        column("expected", EXPECTED, fontSize=11, align="right").encode(color=met),
    ]
    layered: Any = alt.layer(*layers)
    return layered.resolve_scale(color="independent").properties(
        width=WIDTH + start, height=ROW * len(expected)
    )


def _truncated(text: str, characters: int) -> str:
    """The text, cut at a number of characters."""
    return text if len(text) <= characters else f"{text[: characters - 1].rstrip()} …"


def _panel(curve: FailureCurve) -> Any:
    """The quantity of a claim along a variable, through the point at which the claim fails."""
    x = theme.axis(
        "x", curve.along, curve.columns["x"], logarithmic=curve.is_logarithmic, ends=curve.ends
    )
    low, high = curve.visible
    y: Any = theme.ranged_y("y", _truncated(curve.text, 26), low, high)
    y.axis.minExtent = AXIS - 18
    layers: list[Any] = []
    if curve.is_shaded:
        side = {"low": [0.0], "high": [high if curve.sense < 0 else low]}
        area = chart_of(side).mark_rect(color=theme.VERMILION, opacity=0.13)
        scale = alt.Scale(domain=[low, high], nice=False, zero=False)
        layers.append(area.encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"))
        zero = chart_of({"y": [0.0]}).mark_rule(color=theme.GREY, strokeWidth=1)
        layers.append(zero.encode(y=y))
    line = chart_of(curve.columns).mark_line(color=theme.BLUE, strokeWidth=2, clip=True)
    layers.append(line.encode(x=x, y=y))
    at = chart_of({"x": [curve.at], "y": [curve.value], "text": [curve.label]})
    rule = at.mark_rule(color=theme.VERMILION, strokeDash=[3, 3])
    layers.append(rule.encode(x=x))
    if curve.value is not None:
        mark = at.mark_point(filled=True, size=90, opacity=1, shape="cross", color=theme.VERMILION)
        layers.append(mark.encode(x=x, y=y))
    place = alt.value(-6)
    side_of_text: dict[str, Any] = {"align": "right" if curve.is_right else "left"}
    words = at.mark_text(fontSize=10.5, color=theme.VERMILION, **side_of_text)
    layers.append(words.encode(x=x, y=place, text="text:N"))
    others = _truncated(curve.others, 2 * SUBTITLE_CHARACTERS)
    heading = alt.TitleParams(
        _truncated(curve.claim, 40),
        subtitle=theme.wrapped(others, SUBTITLE_CHARACTERS),
        fontSize=12,
        fontWeight="normal",
        anchor="start",
        offset=18,
    )
    layered: Any = alt.layer(*layers)
    return layered.properties(width=PANEL_WIDTH, height=PANEL_HEIGHT, title=heading)


def _title(checked: Check) -> str:
    """The overall verdict on the law, with the most important claim."""
    claims, name = checked.claims, checked.law
    counts = Counter(verdict.verdict for verdict in claims)
    number = len(claims)
    failed = [verdict for verdict in claims if not verdict.ok]
    if failed:
        worst = min(failed, key=lambda v: WORST.index(v.verdict))
        more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
        state = {
            "refuted": f"{worst.claim} is refuted",
            "conditional": f"{worst.claim} holds only where {worst.condition}",
        }.get(worst.verdict, f"{worst.claim} is {WORDS[worst.verdict]}")
        return f"{name}: {state}{more}"
    fitted = " for the fitted values" if counts["certified"] else ""
    if counts["proved"] == number or counts["certified"] == number:
        word = "certified" if fitted else "proved"
        what = "its claim is" if number == 1 else f"all {number} claims are"
        return f"{name}: {what} {word}{fitted}"
    parts = [f"{counts[key]} {word}" for key, word in WORDS.items() if counts[key]]
    return f"{name}: of {number} claims {', '.join(parts)}, as expected"


def _description(checked: Check) -> str:
    """The alternative text of the figure."""
    parts = [f"{v.claim}: {v.word}; {_reason(v)}".rstrip("; ") for v in checked.claims]
    return f"Claims of {checked.law}. " + ". ".join(parts) + "."
