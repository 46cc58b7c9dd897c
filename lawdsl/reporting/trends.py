"""Trends of a table on a terminal: a line for each way to look at a claim, and where it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from lawdsl.diagnostics import printable
from lawdsl.reporting.terminal import show_rows

if TYPE_CHECKING:
    from lawdsl.observing.records import Series, Split, Trend, Trends


def show_trends(found: Trends, out: Console, *, details: bool = True) -> None:
    """The counts for each claim, and for those with exceptions where these are."""
    data = f"{found.rows:,} rows of {found.data}"
    if found.where:
        data += f" where {', '.join(found.where)}"
    out.print(Text(f"{found.law}, and {printable(data)}", style="bold"), soft_wrap=True)
    if found.dropped:
        out.print(f"  {found.dropped:,} bad rows were left out")
    held = ", ".join(map(printable, (*found.held, *found.by)))
    if held:
        out.print(Text(f"  held equal: {held}"), soft_wrap=True)
    out.print(f"  {_noise(found)}", soft_wrap=True)
    headers = (
        "claim",
        "compared",
        "pairs",
        "as claimed",
        "too small",
        "against",
        "s.e.",
        "verdict",
    )
    if found.trends:
        show_rows(headers, [row for trend in found.trends for row in _rows(trend)], out)
    for trend in found.trends if details else ():
        if any(series.against for series in trend.series):
            _show_exceptions(trend, found.unit, out)


def _noise(found: Trends) -> str:
    """What a difference is measured by."""
    noises = [series.noise for trend in found.trends for series in trend.series]
    sources = {noise.source for noise in noises}
    if sources <= {""}:
        return "how much of a difference is noise is not known"
    what = "of a column" if "column" in sources else "from repeats"
    limits = {f"{noise.limit:.3g}" for noise in noises if noise.limit is not None}
    ends = " to ".join(sorted({min(limits, key=float), max(limits, key=float)}, key=float))
    return f"a difference within {ends} standard errors ({what}) is too small to tell"


def _rows(trend: Trend) -> list[tuple[object, ...]]:
    """The lines of one claim, its verdict on the first."""
    verdict = trend.verdict
    if verdict == "contradicted" and trend.ok:
        verdict += ", as expected"
    if not trend.series:
        return [(trend.claim, "", "", "", "", "", "", f"{verdict}: {printable(trend.why)}")]
    return [
        (trend.claim if first else "", *_counts(series), verdict if first else "")
        for first, series in zip([True, False], trend.series, strict=False)
    ]


def _counts(series: Series) -> tuple[object, ...]:
    noise = series.noise
    shown = "-" if noise.error is None else f"{noise.error:.2g}"
    shown += f" (df {noise.df})" if noise.df is not None else ""
    counts = (series.pairs, series.as_claimed, series.too_small, series.against)
    return series.compared, *(f"{count:,}" for count in counts), shown


def _show_exceptions(trend: Trend, unit: str, out: Console) -> None:
    """How large the exceptions to a claim are, and where."""
    from lawdsl.observing.findings import common

    out.print()
    out.print(Text(f"against {trend.claim}", style="bold"), soft_wrap=True)
    for series in trend.series:
        if series.against:
            out.print(f"  {series.compared}: {_sizes(series, unit)}", soft_wrap=True)
            if said := common(series.ranges, series.against):
                out.print(f"    {said}", soft_wrap=True)
        if series.beyond_chance:
            sure = common(series.sure_ranges, series.beyond_chance)
            line = f"    {series.beyond_chance:,} beyond chance" + (f": {sure}" if sure else "")
            out.print(line, soft_wrap=True)
    if trend.split is not None:
        _show_split(trend.split, [series.compared for series in trend.series], out)


def _sizes(series: Series, unit: str) -> str:
    """The largest and the median exception, in the output's unit and in standard errors."""
    largest = f"{_size(series.largest, series.largest_errors, unit)} at {series.place}"
    if series.against == 1:
        return largest
    return f"{largest}; median {_size(series.median, series.median_errors, unit)}"


def _size(size: float | None, errors: float | None, unit: str) -> str:
    assert size is not None
    times = "" if errors is None else f" ({errors:.1f} s.e.)"
    return f"{size:.3g}{' ' + unit if unit else ''}{times}"


def _show_split(split: Split, compared: list[str], out: Console) -> None:
    """Exceptions by the variable that parts them best."""
    rows = [
        (label, *("" if count is None else f"{count[0]:,} of {count[1]:,}" for count in counts))
        for label, counts in split.parts.items()
    ]
    show_rows((split.variable, *compared), rows, out)
