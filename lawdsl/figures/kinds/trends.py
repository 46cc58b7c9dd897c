"""`trends`: how many differences agree with a claim, are inconclusive, or contradict it, and where
these are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import altair as alt

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.trends.inflection_result import Inflection
from lawdsl.data.trends.result import MIN_LIKELIHOOD_GAIN, DifferenceSeries, Trend, Trends
from lawdsl.figures import theme
from lawdsl.figures.figure import Figure, chart_of

OUTCOMES = {"as_claimed": "as claimed", "too_small": "too small to tell", "against": "against"}
COLORS = (theme.BLUE, "#D3D3D3", theme.VERMILION)
TEXT_COLORS = ("white", "#222222", "white")
WIDTH, ROW = 380, 24
MIN_SHARE = 0.07  # of a bar: a narrower segment has no number
MAX_PROFILED = 3  # claims with exceptions that have panels
MAX_VARIABLES = 2
PROFILE_HEIGHT, STEP = 120, 30
MAX_PLACES = 12
HEADING: dict[str, Any] = {"fontSize": 12, "fontWeight": "normal", "anchor": "start"}


def trends_figure(trends: Trends) -> Figure:
    """Draw how the differences in a table compare with the claims of a law.

    Args:
        trends: the comparison of the claims with a table.

    Raises:
        LawdslError: there are no differences to compare with any claim (G0112).
    """
    compared = [trend for trend in trends.trends if trend.series]
    if not compared:
        message = (
            f"there is nothing to draw: no claim of {trends.law} can be compared with the table"
        )
        why = next((trend.why for trend in trends.trends), "")
        raise LawdslError(Diagnostic("G0112", message, help=why or "see `lawdsl trends`"))
    rows = [row for trend in compared for row in _rows(trend)]
    notes = [f"{t.claim}: nothing to compare, {t.why}" for t in trends.trends if not t.series]
    profiled = sorted((t for t in compared if _count_against(t)), key=lambda t: -_count_against(t))
    below = [panel for trend in profiled[:MAX_PROFILED] for panel in _exception_panels(trend)]
    if len(profiled) > MAX_PROFILED:
        notes.append(f"where is drawn of {MAX_PROFILED} of {len(profiled)} claims with exceptions")
    below += [_places(t.inflection) for t in compared if _has_places(t)]
    chart = alt.vconcat(_counts(rows), *below, spacing=26).resolve_scale(color="independent")
    title, description = _title(trends, compared), _description(trends, compared)
    subtitle = [_legend(trends, bool(below)), *notes]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    drawn = theme.titled(chart, title, subtitle, description, 620)
    return Figure("trends", title, columns, drawn, description, tuple(notes))


def _count_against(trend: Trend) -> int:
    return max(series.against for series in trend.series)


def _rows(trend: Trend) -> Iterator[dict[str, Any]]:
    """The tidy rows of a claim: one per kind of comparison."""
    for series in trend.series:
        yield {
            "claim": trend.claim,
            "compared": series.compared,
            "pairs": series.pairs,
            **{name: getattr(series, name) for name in OUTCOMES},
            "beyond_chance": series.beyond_chance,
            "verdict": trend.verdict,
        }


def _counts(rows: Sequence[dict[str, Any]]) -> Any:
    """One bar per kind of comparison, divided into the shares of its outcomes."""
    labels = [f"{row['claim']}: {row['compared']}" for row in rows]
    table: dict[str, list[Any]] = {
        n: [] for n in ("row", "outcome", "from", "to", "text", "middle")
    }
    for label, row in zip(labels, rows, strict=True):
        start = 0.0
        for name, outcome in OUTCOMES.items():
            share = row[name] / row["pairs"]
            table["row"].append(label)
            table["outcome"].append(outcome)
            table["from"].append(start)
            table["to"].append(start + share)
            table["middle"].append(start + share / 2)
            table["text"].append(f"{row[name]:,}" if share >= MIN_SHARE else "")
            start += share
    verdicts = {
        "row": labels,
        "verdict": [
            row["verdict"] if n == 0 or rows[n - 1]["claim"] != row["claim"] else ""
            for n, row in enumerate(rows)
        ],
    }
    y = alt.Y("row:N", sort=None, axis=alt.Axis(title=None, labelLimit=330, ticks=False))
    shape = alt.Axis(title="share of the differences", format="%", tickCount=5)
    x = alt.X("from:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=shape)
    drawn, words = chart_of(table), list(OUTCOMES.values())
    bars = drawn.mark_bar(height=16, stroke="white", strokeWidth=0.5)
    numbers = drawn.mark_text(fontSize=10.5)
    fill = alt.Color("outcome:N", scale=alt.Scale(domain=words, range=list(COLORS)), legend=None)
    ink = alt.Scale(domain=words, range=list(TEXT_COLORS))
    beside = chart_of(verdicts).mark_text(align="left", fontSize=11, color="#222222")
    layers = [
        bars.encode(x=x, x2="to:Q", y=y, color=fill),
        numbers.encode(
            x="middle:Q", y=y, text="text:N", color=alt.Color("outcome:N", scale=ink, legend=None)
        ),
        beside.encode(x=alt.value(WIDTH + 8), y=y, text="verdict:N"),
        *theme.key(words, COLORS, [[1, 0]] * 3, WIDTH, thickness=9),
    ]
    layered: Any = alt.layer(*layers).resolve_scale(color="independent")
    return layered.properties(width=WIDTH, height=ROW * len(rows))


def _exception_panels(trend: Trend) -> Iterator[Any]:
    """The differences against a claim along the variables in which they are concentrated."""
    series = max(trend.series, key=lambda s: s.against)
    gains = {r.variable: r.gain for r in series.ranges}
    if trend.split is not None and trend.split.variable in series.profiles:
        gains[trend.split.variable] = max([*gains.values(), 0.0]) + 1
    names = sorted(series.profiles, key=lambda name: -gains.get(name, 0.0))
    panels = [_profile(series, name) for name in names[:MAX_VARIABLES]]
    if panels:
        heading = alt.TitleParams(f"{trend.claim}: {series.compared}", **HEADING)
        yield alt.hconcat(*panels, spacing=30, title=heading)


def _profile(series: DifferenceSeries, variable: str) -> Any:
    """Counts of outcomes along a variable."""
    levels = series.profiles[variable]
    exact = all(a.high <= b.low for a, b in zip(levels, levels[1:], strict=False))
    single = all(level.low == level.high for level in levels)
    labels = [theme.short(level.low) for level in levels]
    if not single and not exact or len(set(labels)) < len(labels):
        labels = [f"{level.low:.4g}" for level in levels]
    table: dict[str, list[Any]] = {"level": [], "outcome": [], "count": [], "order": []}
    for label, level in zip(labels, levels, strict=True):
        for order, (name, outcome) in enumerate(OUTCOMES.items()):
            table["level"].append(label)
            table["outcome"].append(outcome)
            table["count"].append(getattr(level, name))
            table["order"].append(order)
    words = list(OUTCOMES.values())
    title = variable if single else f"{variable}, lower end"
    turn = -40 if max(map(len, labels)) > 4 else 0
    axis = alt.Axis(title=title, labelAngle=turn, ticks=False, labelOverlap=False)
    x = alt.X("level:N", sort=None, axis=axis)
    most = max(level.as_claimed + level.too_small + level.against for level in levels)
    step = next(s * 10**e for e in range(9) for s in (1, 2, 5) if s * 10**e * 5 >= most)
    counts = alt.Axis(title="differences", values=list(range(0, most + 1, step)), format=",d")
    y = alt.Y("count:Q", axis=counts)
    fill = alt.Color("outcome:N", scale=alt.Scale(domain=words, range=list(COLORS)), legend=None)
    bars: Any = chart_of(table).mark_bar(stroke="white", strokeWidth=0.5)
    drawn = bars.encode(x=x, y=y, color=fill, order="order:Q")
    return drawn.properties(width=alt.Step(STEP), height=PROFILE_HEIGHT)


def _has_places(trend: Trend) -> bool:
    places = trend.inflection.places if trend.inflection is not None else ()
    return any(place.low is not None for place in places)


def _places(inflection: Inflection | None) -> Any:
    """The share below which a claim fails, for each combination of the other values."""
    assert inflection is not None
    places = [p for p in inflection.places if p.low is not None][:MAX_PLACES]
    table = {
        "at": [place.at or "all rows" for place in places],
        "estimate": [place.estimate for place in places],
        "low": [place.low for place in places],
        "high": [place.high for place in places],
    }
    title = f"{inflection.share} at the inflection, below which {inflection.trend}"
    axis = alt.Axis(title=title)
    x = alt.X("low:Q", scale=alt.Scale(domain=[0, 1]), axis=axis)
    y = alt.Y("at:N", sort=None, axis=alt.Axis(title=None, labelLimit=330, ticks=False))
    drawn = chart_of(table)
    layers: list[Any] = [
        drawn.mark_rule(strokeWidth=2, color=theme.BLUE).encode(x=x, x2="high:Q", y=y),
        drawn.mark_point(filled=True, size=55, color=theme.BLUE, opacity=1).encode(
            x="estimate:Q", y=y
        ),
    ]
    if inflection.low is not None:
        whole = chart_of({"low": [inflection.low], "high": [inflection.high]})
        band = whole.mark_rect(opacity=0.12, color=theme.VERMILION)
        layers.insert(0, band.encode(x=x, x2="high:Q"))
    heading = alt.TitleParams(f"inflection ratio: {inflection.text}", **HEADING)
    layered: Any = alt.layer(*layers)
    return layered.properties(width=WIDTH, height=ROW * len(places), title=heading)


def _title(trends: Trends, compared: Sequence[Trend]) -> str:
    """The result for the claims, with the most important number."""
    name = Path(trends.data).name
    failed = [trend for trend in compared if not trend.ok]
    if failed:
        worst = max(failed, key=_count_against)
        series = max(worst.series, key=lambda s: s.against)
        share = (
            f"{series.against:,} of {series.pairs:,} differences against it{_common_range(series)}"
        )
        others = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
        return f"{name} contradicts {worst.claim} of {trends.law}: {share}{others}"
    against = sum(trend.series[0].against for trend in compared)
    pairs = sum(trend.series[0].pairs for trend in compared)
    count, declared = len(compared), len(trends.trends)
    kept = "all claims" if count == declared else f"{count} of {declared} claims"
    kept = compared[0].claim if count == 1 else kept
    told = sum(trend.series[0].as_claimed for trend in compared)
    if not told:
        return (
            f"{name} does not test {kept} of {trends.law}: "
            f"none of {pairs:,} differences is as claimed, {against:,} against"
        )
    return (
        f"{name} is in line with {kept} of {trends.law}: "
        f"{told:,} of {pairs:,} differences as claimed, {against:,} against"
    )


def _common_range(series: DifferenceSeries) -> str:
    """The range that contains all differences against a claim and no others, as a clause."""
    clear = [r for r in series.ranges if r.gain >= MIN_LIKELIHOOD_GAIN]
    return f", all at {clear[0].text}" if clear else ""


def _legend(trends: Trends, has_panels: bool) -> str:
    """The meaning of the bars, and the threshold of inconclusive differences."""
    limits = [s.noise.limit for t in trends.trends for s in t.series if s.noise.limit is not None]
    known = f"too small to tell: within {min(limits, default=0):.3g} standard errors"
    unknown = "how much of a difference is noise is not known"
    parts = [f"{trends.rows:,} rows", known if limits else unknown]
    if has_panels:
        parts.append("below: where those against are")
    return "; ".join(parts)


def _description(trends: Trends, compared: Sequence[Trend]) -> str:
    """The alternative text of the figure."""
    parts = [f"Differences of {trends.rows:,} rows of {Path(trends.data).name} and {trends.law}."]
    for trend in compared:
        first = trend.series[0]
        parts.append(
            f"{trend.claim}: {trend.verdict}; of {first.pairs:,} {first.compared} {first.as_claimed:,} "
            f"as claimed, {first.too_small:,} too small to tell, {first.against:,} against{_common_range(first)}."
        )
    return " ".join(parts)
