"""`design`: how the interval of each target is expected to narrow with the runs of a batch."""

from __future__ import annotations

import math
from typing import Any

import altair as alt

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.designing.runs.records import Design
from lawdsl.figures import theme
from lawdsl.figures.figure import Figure, chart_of
from lawdsl.figures.kinds.sweep import FLOP_LABELS

WIDTH, HEIGHT, ROW = 420, 200, 22
MAX_TICKS = 6
START = "now"


def design_figure(design: Design) -> Figure:
    """Draw the expected interval of the targets after each run of a batch, and the costs.

    Args:
        design: with targets and runs.

    Raises:
        LawdslError: a design without a batch or without an interval; G0112.
    """
    known = [t for t in design.targets if t.half is not None and math.isfinite(t.half)]
    if not design.runs or (design.targets and not known):
        message = "there is nothing to draw: the design has no batch, or no target with an interval"
        help = "`lawdsl design` prints what it knows"
        raise LawdslError(Diagnostic("G0112", message, help=help))
    costs = _costs(design)
    panels: list[Any] = [_intervals(design)] if known else []
    panels.append(costs)
    title, description = _title(design), _description(design)
    notes = ("expected before the runs are made, by the law with its error",) if known else ()
    chart = alt.vconcat(*panels, spacing=26).resolve_scale(color="independent")
    drawn = theme.titled(chart, title, list(notes), description, 620)
    return Figure("design", title, _table(design), drawn, description, notes)


def _table(design: Design) -> dict[str, list[Any]]:
    """The tidy table: a row for each run and target, the present interval first."""
    rows = []
    for number, target in enumerate(design.targets):
        spent = 0.0
        rows.append((START, target.name, spent, target.half, ""))
        for run in design.runs:
            spent += run.cost
            rows.append((run.label, target.name, spent, run.halves[number], run.reason))
    if not design.targets:
        spent = 0.0
        for run in design.runs:
            spent += run.cost
            rows.append((run.label, "", spent, None, run.reason))
    names = ("run", "target", "cost", "half", "reason")
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


def _intervals(design: Design) -> Any:
    """Half the interval of each target against what the batch has cost so far."""
    table = _table(design)
    known = [i for i, half in enumerate(table["half"]) if half is not None and math.isfinite(half)]
    columns = {name: [table[name][i] for i in known] for name in ("cost", "target", "run")}
    columns["half"] = [100 * table["half"][i] for i in known]
    names = list(dict.fromkeys(columns["target"]))
    unit = f" [{design.unit}]" if design.unit else ""
    base = chart_of(columns).encode(
        x=alt.X(
            "cost:Q",
            title=f"cost of the batch{unit}",
            axis=alt.Axis(labelExpr=FLOP_LABELS, tickCount=MAX_TICKS),
        ),
        y=alt.Y("half:Q", title="half the 95 % interval [%]", scale=alt.Scale(zero=True)),
        color=theme.color("target", "target", names) if len(names) > 1 else alt.value(theme.BLUE),
        tooltip=["run:N", "target:N", "half:Q", "cost:Q"],
    )
    layers: list[Any] = [
        base.mark_line(interpolate="step-after"),
        base.mark_point(filled=True, size=40),
    ]
    if design.stop is not None:
        rule = chart_of({"half": [100 * design.stop]})
        layers.append(rule.mark_rule(strokeDash=[4, 3], color="#555555").encode(y="half:Q"))
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)


def _costs(design: Design) -> Any:
    """What each run of the batch costs, in the order in which they were chosen."""
    columns = {
        "run": design.labels,
        "share": [100 * run.share for run in design.runs],
        "reason": [run.reason for run in design.runs],
    }
    return (
        chart_of(columns)
        .mark_bar(color=theme.BLUE)
        .encode(
            x=alt.X("share:Q", title="cost [% of the budget]"),
            y=alt.Y("run:N", sort=design.labels, title=None, axis=alt.Axis(labelLimit=240)),
            tooltip=["run:N", "share:Q", "reason:N"],
        )
        .properties(width=WIDTH, height=ROW * len(design.runs))
    )


def _title(design: Design) -> str:
    count = f"{len(design.runs)} runs" if len(design.runs) > 1 else "1 run"
    cost = f"{theme.power(design.cost)} {design.unit}".strip()
    head = f"{design.subject}: {count} for {cost}"
    texts = [
        f"± {100 * t.half:.2g} % to ± {100 * t.after:.2g} %"
        for t in design.targets
        if t.half is not None and t.after is not None and math.isfinite(t.half)
    ]
    if len(texts) == 1:
        return f"{head}; {design.targets[0].name} from {texts[0]}, as expected"
    return f"{head}; {len(texts)} targets" if texts else head


def _description(design: Design) -> str:
    return f"{_title(design)}. The runs: {', '.join(design.labels)}."
