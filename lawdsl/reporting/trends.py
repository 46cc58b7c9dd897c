"""Trends in a table -> text on a terminal: one line for each test of a claim, and exceptions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from lawdsl.core.diagnostics import printable
from lawdsl.reporting.terminal import show_rows

if TYPE_CHECKING:
    from lawdsl.data.trends.inflection_result import Inflection
    from lawdsl.data.trends.result import DifferenceSeries, Trend, Trends

HEADERS = ("claim", "compared", "pairs", "as claimed", "too small", "against", "s.e.", "verdict")


def show_trends(trends: Trends, out: Console, *, details: bool = True) -> None:
    """Print the counts for each claim, and the location of its exceptions.

    Args:
        trends: the claims that were tested on a table.
        out: where they are printed.
        details: whether to print the exceptions.
    """
    data = f"{trends.rows:,} rows of {trends.data}"
    if trends.where:
        data += f" where {', '.join(trends.where)}"
    out.print(Text(f"{trends.law} and {printable(data)}", style="bold"), soft_wrap=True)
    if trends.dropped:
        out.print(f"  {trends.dropped:,} bad rows were left out")
    for label, columns in (("held equal", trends.by), ("runs identified by", trends.held)):
        if columns:
            text = f"  {label}: {', '.join(map(printable, columns))}"
            out.print(Text(text), soft_wrap=True)
    out.print(f"  {_noise_text(trends)}", soft_wrap=True)
    if trends.trends:
        show_rows(HEADERS, trend_rows(trends), out)
    for trend in trends.trends if details else ():
        if any(series.against for series in trend.series):
            _show_exceptions(trend, trends.unit, out)


def trend_rows(trends: Trends) -> list[tuple[object, ...]]:
    """The rows of the table of all claims, in the order of HEADERS."""
    return [row for trend in trends.trends for row in _rows(trend)]


def _noise_text(trends: Trends) -> str:
    """The size below which differences are inconclusive."""
    noises = [series.noise for trend in trends.trends for series in trend.series]
    limits = sorted(noise.limit for noise in noises if noise.limit is not None)
    if not limits:
        return "how much of a difference is noise is not known"
    from_column = any(noise.source == "column" for noise in noises)
    ends = dict.fromkeys(f"{limit:.3g}" for limit in (limits[0], limits[-1]))
    source = "as the table gives them" if from_column else "from repeats"
    return f"too small to tell: within {' to '.join(ends)} standard errors, {source}"


def _rows(trend: Trend) -> Iterator[tuple[object, ...]]:
    """The lines of one claim, with its name and verdict on the first line."""
    verdict = trend.verdict
    if trend.verdict == "contradicted" and trend.ok:
        verdict += ", as expected"
    if not trend.series:
        yield trend.claim, "", "", "", "", "", "", f"{verdict}: {printable(trend.why)}"
    for number, series in enumerate(trend.series):
        yield (
            (trend.claim, *_counts_text(series), verdict)
            if number == 0
            else ("", *_counts_text(series), "")
        )


def _counts_text(series: DifferenceSeries) -> tuple[str, ...]:
    error = "-" if series.noise.error is None else f"{series.noise.error:.2g}"
    freedom = f" (df {series.noise.df:,})" if series.noise.df is not None else ""
    counts = (series.pairs, series.as_claimed, series.too_small, series.against)
    return series.compared, *(f"{count:,}" for count in counts), error + freedom


def _show_exceptions(trend: Trend, unit: str, out: Console) -> None:
    """Print the sizes and ranges of exceptions to a claim, and the table of the best split."""
    from lawdsl.data.trends.findings import exceptions

    out.print()
    out.print(Text(f"against {trend.claim}", style="bold"), soft_wrap=True)
    for series in trend.series if trend.series else ():
        for number, line in enumerate(exceptions(series, unit) if series.against else ()):
            out.print(f"  {'  ' if number else ''}{line}", soft_wrap=True)
    if trend.split is not None:
        rows = [
            (label, *("" if count is None else f"{count[0]:,} of {count[1]:,}" for count in counts))
            for label, counts in trend.split.parts.items()
        ]
        show_rows((trend.split.variable, *(s.compared for s in trend.series)), rows, out)
    if trend.inflection is not None:
        _show_inflection(trend.inflection, out)


def _show_inflection(inflection: Inflection, out: Console) -> None:
    """Print the share below which a claim fails: the certain one, and the estimates for all
    combinations of the other variables.
    """
    below = f"; below it {inflection.trend}"
    if inflection.low is None:
        below = f": {inflection.places[0].why}" if len(inflection.places) == 1 else ""
    out.print(Text(f"  inflection ratio: {inflection.text}{below}"), soft_wrap=True)
    if inflection.noise == "scatter":
        out.print(
            "  from the scatter of rows about their curves: the interval leaves out the noise between runs"
        )
    if len(inflection.places) > 1:
        rows = [
            (
                printable(one.at),
                "-" if one.estimate is None else f"{one.estimate:.3g}",
                one.why if one.low is None else f"{one.low:.3g} to {one.high:.3g}",
            )
            for one in inflection.places
        ]
        interval = f"{100 * inflection.level:g} % interval"
        show_rows(("", f"{inflection.share} at inflection", interval), rows, out)
