"""What is to be said of a table that a law's claims were held against."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lawdsl.diagnostics import Diagnostic
from lawdsl.law import Law
from lawdsl.observing.records import Range, Series, Trend
from lawdsl.observing.where import GAIN


def findings(law: Law, place: str, trends: Sequence[Trend]) -> list[Diagnostic]:
    """Claims that the table contradicts, exceptions of unknown noise, nothing to compare."""
    found = [_contradicted(place, trend) for trend in trends if not trend.ok]
    series = [s for trend in trends if trend.ok and trend.expect != "refuted" for s in trend.series]
    if any(s.against and not s.noise.source for s in series):
        message = "whether the differences against the law are noise is not known"
        help = "name a column of standard errors with --se, or repeat some runs with other seeds"
        found.append(Diagnostic("F0302", message, "warning", place=place, help=help))
    if all(trend.verdict == "nothing to compare" for trend in trends):
        notes = [f"{trend.claim}: {trend.why}" for trend in trends]
        message = f"the table says nothing about what `{law.name}` claims"
        help = "measure values of a variable at which the others, and the run, are equal"
        if not trends:
            help = "claim a trend in the law: `require ∂L/∂N < 0`, `require L convex in N`"
        found.append(
            Diagnostic("F0303", message, "warning", place=place, notes=tuple(notes), help=help)
        )
    return found


def _contradicted(place: str, trend: Trend) -> Diagnostic:
    """A claim that fails in the table: how often, by how much, and where."""
    notes = tuple(_counted(series) for series in trend.series if series.against)
    worst = next(series for series in trend.series if series.contradicts)
    sides = [r for r in worst.sure_ranges or worst.ranges if (r.above is None) != (r.below is None)]
    where = f" ({_beyond(sides[0])})" if sides else ""
    help = f"fit and use the law where it holds{where}, or a law without this claim"
    message = f"the table contradicts {trend.claim}"
    return Diagnostic("F0301", message, place=place, notes=notes, help=help)


def _beyond(r: Range) -> str:
    """Where the exceptions are not."""
    least = r.above is not None
    return f"{r.variable} {'>=' if least else '<='} {r.above if least else r.below:.6g}"


def _counted(series: Series) -> str:
    """`neighbours in D: 41 of 540 against, by 0.053 at most (N = 1, …), 8.1 standard errors; …`"""
    assert series.largest is not None
    text = f"{series.compared}: {series.against} of {series.pairs} against, by {series.largest:.3g}"
    text += f" at most ({series.place})"
    if series.largest_errors is not None:
        text += f", {series.largest_errors:.1f} standard errors"
    said = common(series.ranges, series.against)
    text += f"; {said}" if said else ""
    if 0 < series.beyond_chance < series.against:
        sure = f"; {series.beyond_chance} beyond chance"
        own = common(series.sure_ranges, series.beyond_chance)
        text += f"{sure}, {own}" if own and own != said else sure
    return text


def common(ranges: Iterable[Range], count: int) -> str:
    """`all with r <= 0.1 (none from 0.2 on)`; empty where they have nothing telling in common."""
    parts = []
    for r in ranges:
        far = [] if r.above in (None, r.high) else [f"from {r.above:.6g} on"]
        far += [] if r.below in (None, r.low) else [f"down from {r.below:.6g}"]
        if r.gain >= GAIN:
            parts.append(r.text + (f" (none {' or '.join(far)})" if far else ""))
    return f"all with {' and '.join(parts)}" if parts and count > 1 else ""
