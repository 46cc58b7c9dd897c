"""Trends of a table, compared with a law's claims -> diagnostics for the user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.data.trends.paired_differences import RepeatScatter
from lawdsl.data.trends.result import MIN_LIKELIHOOD_GAIN, DifferenceSeries, ExceptionRange, Trend
from lawdsl.law.law import Law


def repeat_findings(table_name: str, repeats: RepeatScatter) -> list[Diagnostic]:
    """A warning if rows at one point cannot be distinguished, so that they may not be repeats.

    Args:
        table_name: the table's name.
        repeats: the scatter of repeated rows.
    """
    if not repeats.df:
        return []
    message = f"{repeats.df:,} rows repeat others in all that is held equal: they are averaged"
    help = "name what tells them apart: --run for runs that repeat each other, --by for all else"
    return [Diagnostic("F0304", message, "warning", place=table_name, help=help)]


def trend_findings(
    law: Law, table_name: str, unit: str, trends: Sequence[Trend]
) -> list[Diagnostic]:
    """Diagnostics about contradicted claims, exceptions of unknown noise, and empty comparisons.

    Args:
        law: the law.
        table_name: the table's name.
        unit: the output's unit.
        trends: the results, one per claim.
    """
    diagnostics = [
        _contradiction_finding(table_name, unit, trend) for trend in trends if not trend.ok
    ]
    series = [s for trend in trends if trend.ok and trend.expect != "refuted" for s in trend.series]
    if any(s.against and not s.noise.source for s in series):
        message = "whether the differences against the law are noise is not known"
        help = "name a column of standard errors with --se, or repeat some runs with other seeds"
        diagnostics.append(Diagnostic("F0302", message, "warning", place=table_name, help=help))
    if all(trend.verdict == "nothing to compare" for trend in trends):
        message = f"the table says nothing about what `{law.name}` claims"
        help = "measure values of a variable at which the others, and the run, are equal"
        if not trends:
            help = "claim a trend in the law: `require ∂L/∂N < 0`, `require L convex in N`"
        diagnostics.append(Diagnostic("F0303", message, "warning", place=table_name, help=help))
    return diagnostics


def _contradiction_finding(table_name: str, unit: str, trend: Trend) -> Diagnostic:
    """A claim that the table contradicts: how often, by how much, and where."""
    notes = [
        f"{s.against:,} of {s.pairs:,} against; {'; '.join(exceptions(s, unit))}"
        for s in trend.series
        if s.against
    ]
    worst = next(series for series in trend.series if series.contradicts)
    sides = [r for r in worst.sure_ranges or worst.ranges if (r.above is None) != (r.below is None)]
    where = f" ({sides[0].elsewhere})" if sides and sides[0].gain >= MIN_LIKELIHOOD_GAIN else ""
    help = f"fit and use the law where it holds{where}, or a law without this claim"
    message = f"the table contradicts {trend.claim}"
    return Diagnostic("F0301", message, place=table_name, notes=tuple(notes), help=help)


def exceptions(series: DifferenceSeries, unit: str) -> Iterator[str]:
    """Sentences on the size and location of the exceptions of one kind.

    Args:
        series: the differences of one kind.
        unit: the output's unit.
    """
    text = f"{series.compared}: {_size_text(series.largest, series.largest_errors, unit)}"
    text += f" at {series.place}"
    if series.against > 1:
        text += f"; median {_size_text(series.median, series.median_errors, unit)}"
    yield text
    common = _common_range_text(series.ranges) if series.against > 1 else ""
    if common:
        yield f"all with {common}"
    if series.beyond_chance:
        sure = _common_range_text(series.sure_ranges) if series.sure_ranges != series.ranges else ""
        yield f"{series.beyond_chance:,} beyond chance" + (f", all with {sure}" if sure else "")


def _size_text(size: float | None, errors: float | None, unit: str) -> str:
    times = "" if errors is None else f" ({errors:.1f} s.e.)"
    return f"{size:.3g}{' ' + unit if unit else ''}{times}"


def _common_range_text(ranges: Iterable[ExceptionRange]) -> str:
    """`r <= 0.1 (none from 0.2 on)`; empty if exceptions have no informative range in common."""
    parts = []
    for r in ranges:
        far = [] if r.above in (None, r.high) else [f"from {r.above:.6g} on"]
        far += [] if r.below in (None, r.low) else [f"down from {r.below:.6g}"]
        if r.gain >= MIN_LIKELIHOOD_GAIN:
            parts.append(r.text + (f" (none {' or '.join(far)})" if far else ""))
    return " and ".join(parts)
