"""Designs -> text on a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from lawdsl.core.diagnostics import printable
from lawdsl.reporting.terminal import show_rows

if TYPE_CHECKING:
    from lawdsl.designing.runs.records import Design, TargetEstimate

METHODS = {
    "criterion": "runs that narrow the target most for their cost",
    "spread": "runs far from one another, since no target is determined yet",
    "first": "cheap runs that are far from one another, to which the law can be fitted",
}


def show_design(design: Design, out: Console, *, ended: bool = False) -> None:
    """Print a design: the targets now and after the batch, and its runs with cost and reason.

    Args:
        design: the design.
        out: where it is printed.
        ended: whether its runs are not going to be made.
    """
    out.print(
        Text(f"{design.subject}: runs from {printable(design.candidates)}", style="bold"),
        soft_wrap=True,
    )
    unit = f" {design.unit}" if design.unit else ""
    spent = f"{design.spent:.3g} of {design.budget:.3g}{unit} spent"
    done = f"{design.done} candidate{'' if design.done == 1 else 's'} done, {design.pool} left"
    out.print(Text(f"  {done}; {spent}"), soft_wrap=True)
    if design.compared is not None:
        text = f"  batches of {design.compared:,} of them compared: those that teach most alone, and others"
        out.print(Text(text), soft_wrap=True)
    if design.rivals:
        out.print(
            Text(f"  judged by {', '.join((design.subject, *design.rivals))}"), soft_wrap=True
        )
    if design.targets:
        rows = [target_row(target) for target in design.targets]
        show_rows(["target", "value", "now", "after the batch", "after all candidates"], rows, out)
    if design.certain and design.stop is not None:
        out.print(f"known within ± {percent(design.stop)}: nothing more to run")
        return
    if not design.runs:
        reason = "no candidate is left" if not design.pool else "the budget affords no further run"
        out.print(f"{reason}; {_limits(design)}")
        return
    if ended:
        out.print(_limits(design), soft_wrap=True)
        return
    count = len(design.runs)
    out.print(
        Text(f"next {count} run{'s' if count > 1 else ''}: {METHODS[design.method]}"),
        soft_wrap=True,
    )
    show_rows(*batch_rows(design), out)
    share = f"{100 * design.cost / design.budget:.3g} % of the budget"
    out.print(Text(f"  {design.cost:.3g}{unit} in all, {share}"), soft_wrap=True)
    if design.targets:
        out.print(_limits(design), soft_wrap=True)


def target_row(target: TargetEstimate) -> list[str]:
    """The cells of a target: value, half its 95 % interval now, after the batch, after all runs."""
    value = "" if target.value is None else f"{target.value:.6g} {target.unit}".strip()
    return [
        target.name,
        value,
        *(percent_text(h) for h in (target.half, target.after, target.best)),
    ]


def batch_rows(design: Design) -> tuple[list[str], list[list[Any]]]:
    """The headers and the rows of the table of runs."""
    names = list(dict.fromkeys(name for run in design.runs for name in run.point))
    with_halves = any(run.halves for run in design.runs)
    headers = [
        "run",
        *names,
        "cost",
        "of the budget",
        *(["target then"] if with_halves else []),
        "reason",
    ]
    rows = []
    for run in design.runs:
        cells: list[Any] = [printable(run.label), *(f"{run.point[n]:.6g}" for n in names)]
        cells += [f"{run.cost:.3g}", f"{100 * run.share:.2g} %"]
        if with_halves:
            cells.append(percent_text(max(run.halves, default=math.inf)))
        rows.append([*cells, run.reason])
    return headers, rows


def percent(number: float) -> str:
    """A part as per cent in three digits."""
    return f"{100 * number:.3g} %"


def percent_text(half: float | None) -> str:
    """Half an interval as text."""
    if half is None or not math.isfinite(half):
        return "not determined"
    return f"± {percent(half)}"


def _limits(design: Design) -> str:
    """What no candidate can teach, and the precision if one stops now."""
    texts = []
    which = "all candidates" if design.compared is None else f"these {design.compared:,}"
    for target in design.targets:
        name = f"{target.name}: " if len(design.targets) > 1 else ""
        texts.append(
            f"{name}± {percent(target.half)} if you stop now"
            if target.half is not None and math.isfinite(target.half)
            else f"{name}not determined if you stop now"
        )
        if target.best is not None and math.isfinite(target.best):
            texts[-1] += f", ± {percent(target.best)} is the least that {which} together can reach"
        if target.noise > 0:
            texts[-1] += f" (± {percent(target.noise)} is the noise of a run)"
    return "; ".join(texts)
