"""`comparison`: held-out error by law and protocol, and the differences from the best law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from lawdsl.comparing.result import Comparison, Comparisons, RankedLaw, Ranking
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.figures import theme
from lawdsl.figures.figure import Figure, chart_of
from lawdsl.figures.kinds.comparison_intervals import interval_panels
from lawdsl.figures.kinds.comparison_words import describe, title_by_label, title_of

MAX_BLOCKS = 10
ERROR_WIDTH, BEHIND_WIDTH, ROW = 190, 260, 22
# an axis that extends further is linear up to LINEAR and logarithmic beyond
FAR, LINEAR = 1000.0, 20.0
WIDE = 640


def comparison_figure(comparison: Comparison, *, protocol: str | None = None) -> Figure:
    """Draw how well laws predict held-out rows, and how certain their ranks are.

    Args:
        comparison: laws on one table.
        protocol: one protocol, with all of its parts; by default all of them, without parts.

    Raises:
        LawdslError: a protocol that was not run (G0104).
    """
    rankings = _chosen_rankings(comparison, protocol)
    by_error = [r for r in rankings if not _has_intervals(r)]
    notes = []
    if len(by_error) > MAX_BLOCKS:
        notes.append(f"{MAX_BLOCKS} of {len(by_error)} rankings are drawn")
        by_error = by_error[:MAX_BLOCKS]
    blocks = [_block(comparison, ranking, by_error) for ranking in by_error]
    for whole in [r for r in rankings if _has_intervals(r) and not r.part]:
        parts = [r for r in comparison.rankings if r.part and r.protocol == whole.protocol]
        blocks.append(interval_panels(comparison, whole, parts or [whole]))
        notes += _undetermined_scores(parts)
    chart: Any = alt.vconcat(*blocks, spacing=30)
    title, description = title_of(comparison, rankings), describe(comparison, rankings)
    subtitle = [_legend(comparison, rankings), *notes]
    drawn = theme.titled(
        chart.resolve_scale(color="independent", shape="independent"),
        title,
        subtitle,
        description,
        WIDE,
    )
    columns = _table(comparison.rankings if protocol is None else rankings)
    return Figure("comparison", title, columns, drawn, description, tuple(notes))


def _chosen_rankings(comparison: Comparison, protocol: str | None) -> list[Ranking]:
    """The rankings to draw.

    Raises:
        LawdslError: the protocol was not run (G0104).
    """
    if protocol is None:
        return [ranking for ranking in comparison.rankings if not ranking.part]
    chosen = [ranking for ranking in comparison.rankings if ranking.protocol == protocol]
    if not chosen:
        message = f"this comparison has no protocol {protocol!r}"
        names = dict.fromkeys(ranking.protocol for ranking in comparison.rankings)
        raise LawdslError(Diagnostic("G0104", message, help=f"it has {', '.join(names)}"))
    return chosen


def _has_intervals(ranking: Ranking) -> bool:
    return ranking.standings[0].interval_scores is not None


def _table(rankings: Sequence[Ranking]) -> dict[str, list[Any]]:
    """The tidy table: a row for each law in each ranking."""
    rows = []
    for ranking in rankings:
        best = ranking.standings[0].score
        for s in ranking.standings:
            behind, intervals = s.behind, s.interval_scores
            per = _score_factor(ranking, best)
            rows.append(
                {
                    "protocol": ranking.protocol,
                    "part": ranking.part,
                    "law": s.law,
                    "rank": s.place,
                    "score": s.score,
                    "error": s.scores.mae if intervals is None else None,
                    "behind": 0.0 if behind is None else behind.value * per,
                    "low": None if behind is None else behind.low * per,
                    "high": None if behind is None else behind.high * per,
                    "clear": behind is not None and behind.clear,
                    "inside": None if intervals is None else intervals.inside,
                    "width": None if intervals is None else intervals.width,
                }
            )
    return {name: [row[name] for row in rows] for name in rows[0]}


def _score_factor(ranking: Ranking, best: float) -> float:
    """The factor from differences of scores to what is drawn: differences of AICc, or percent of
    the best score.
    """
    return 1.0 if ranking.criterion == "AICc" or not best > 0 else 100 / best


# Rankings by errors


def _block(comparison: Comparison, ranking: Ranking, drawn: Sequence[Ranking]) -> Any:
    """The errors of the laws in one ranking, and beside them their differences from the best."""
    errors = [s.scores.mae for r in drawn for s in r.standings if math.isfinite(s.scores.mae)]
    laws = [s.law for s in ranking.standings]
    labels = [f"{s.law}  ({s.place})" for s in ranking.standings]
    y = alt.Y("law:N", sort=labels, axis=alt.Axis(title=None, ticks=False, labelLimit=220))
    data = comparison.data
    title = f"mean absolute error [{data.unit}]" if data.unit else "mean absolute error"
    # one axis for all rankings whose errors have the same unit
    x = theme.axis("error", title, errors or [1.0], ends=(0.0, 1.05 * max(errors, default=1.0)))
    finite = [s.scores.mae if math.isfinite(s.scores.mae) else None for s in ranking.standings]
    points = chart_of({"law": labels, "error": finite}).mark_point(
        filled=True, size=60, opacity=1, color=theme.BLUE
    )
    left: Any = points.encode(x=x, y=y).properties(width=ERROR_WIDTH, height=ROW * len(laws))
    heading = alt.TitleParams(_heading(ranking), fontSize=12, fontWeight="normal", anchor="start")
    if len(laws) == 1:
        return left.properties(title=heading)
    return alt.hconcat(left, _difference_panel(ranking, labels), spacing=14, title=heading)


def _heading(ranking: Ranking) -> str:
    folds = f", mean of {ranking.folds} folds" if ranking.folds > 1 else ""
    held = "fitted rows" if ranking.criterion == "AICc" else "held-out rows"
    return f"{ranking.title}: {held}{folds}; intervals over {ranking.units} {ranking.unit}"


def _difference_panel(ranking: Ranking, labels: Sequence[str]) -> Any:
    """The difference of each law from the best, with the paired interval."""
    standings, best = ranking.standings, ranking.standings[0].score
    per = _score_factor(ranking, best)
    axis = _behind_axis(standings, per)
    table: dict[str, list[Any]] = {n: [] for n in ("law", "value", "low", "high", "kind")}
    for label, s in zip(labels, standings, strict=True):
        if s.behind is None or not math.isfinite(s.behind.value):
            continue
        table["law"].append(label)
        table["value"].append(s.behind.value * per)
        table["low"].append(max(axis.low, s.behind.low * per))
        table["high"].append(min(axis.high, s.behind.high * per))
        table["kind"].append(
            "clearly behind" if s.behind.clear else "not significantly worse than the best"
        )
    kinds = ["clearly behind", "not significantly worse than the best"]
    y = alt.Y("law:N", sort=list(labels), scale=alt.Scale(domain=list(labels)), axis=None)
    color = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=kinds, range=[theme.VERMILION, theme.GREY]),
        legend=None,
    )
    drawn = chart_of(table)
    fill = alt.Fill(
        "kind:N", scale=alt.Scale(domain=kinds, range=[theme.VERMILION, "white"]), legend=None
    )
    layers: list[Any] = [
        chart_of({"x": [0.0]}).mark_rule(color=theme.GREY).encode(x=axis.x("x")),
        drawn.mark_rule(strokeWidth=2).encode(x=axis.x("low"), x2="high:Q", y=y, color=color),
        drawn.mark_point(size=60, opacity=1, strokeWidth=1.6).encode(
            x=axis.x("value"), y=y, color=color, fill=fill
        ),
    ]
    best_label = chart_of({"law": [labels[0]], "text": ["best"], "x": [0.0]})
    words = best_label.mark_text(align="left", dx=5, fontSize=11, color="#222222")
    layers.append(words.encode(x=axis.x("x"), y=y, text="text:N"))
    layered: Any = alt.layer(*layers)
    return layered.properties(width=BEHIND_WIDTH, height=ROW * len(standings))


@dataclass(frozen=True)
class _BehindAxis:
    """The axis of differences from the best: linear near 0, logarithmic further out if some are
    large.
    """

    title: str
    low: float
    high: float

    def x(self, field: str) -> alt.X:
        """The horizontal channel of a column."""
        far = max(-self.low, self.high) > FAR
        values: Any = alt.Undefined
        if far:
            powers = [10.0**e for e in range(1, 10) if 10.0**e < self.high]
            values = [*(-x for x in powers if -x > self.low), 0.0, *powers]
        axis = alt.Axis(title=self.title, labelExpr=theme.LABELS, tickCount=6, values=values)
        kind: Any = "symlog" if far else "linear"
        constant: Any = LINEAR if far else alt.Undefined
        scale = alt.Scale(type=kind, constant=constant, domain=[self.low, self.high], nice=False)
        return alt.X(f"{field}:Q", scale=scale, axis=axis)


def _behind_axis(standings: Sequence[RankedLaw], per: float) -> _BehindAxis:
    """The axis that covers all differences, and their intervals where these are finite."""
    behind = [s.behind for s in standings if s.behind is not None]
    finite = [x * per for d in behind for x in (d.value, d.low, d.high) if math.isfinite(x)]
    low, high = min([0.0, *finite]), max([0.0, *finite])
    if max(-low, high) > FAR:
        low, high = 1.3 * low - 0.2 * LINEAR, 1.3 * high + 0.2 * LINEAR
    else:
        room = 0.05 * (high - low) or 1.0
        low, high = low - room, high + room
    unit = "AICc" if per == 1.0 else "% of its score"
    return _BehindAxis(f"behind the best by, in {unit}", low, high)


def _undetermined_scores(parts: Sequence[Ranking]) -> list[str]:
    """The laws without a score, and the ratios R at which they have none."""
    lines = []
    for part in parts:
        names = [s.law for s in part.standings if not math.isfinite(s.score)]
        if names:
            lines.append(f"{part.part}: the fitted rows do not determine {', '.join(names)}")
    return lines


def _legend(comparison: Comparison, rankings: Sequence[Ranking]) -> str:
    """The meaning of the marks."""
    parts = [f"{comparison.data.rows:,} rows"]
    if not all(map(_has_intervals, rankings)):
        parts.append("ranks in brackets")
    if len(comparison.laws) > 1:
        parts.append("bars: 95 % intervals of the paired differences")
        if not all(map(_has_intervals, rankings)):
            parts.append("filled: clearly behind; open: not significantly worse than the best")
    return "; ".join(parts)


# By label


def comparisons_figure(comparisons: Comparisons) -> Figure:
    """Draw laws with index sets: the error of each law on the rows of each label.

    Args:
        comparisons: the comparison for each label.
    """
    first = next(iter(comparisons.parts.values()))
    rankings = [ranking for ranking in first.rankings if not ranking.part][:MAX_BLOCKS]
    laws = [law.name for law in first.laws]
    table: dict[str, list[Any]] = {
        name: [] for name in ("protocol", comparisons.over, "law", "rank", "error", "score")
    }
    panels = []
    for ranking in rankings:
        begins = len(table["law"])
        for label, part in comparisons.parts.items():
            for s in part.ranking(ranking.protocol).standings:
                table["protocol"].append(ranking.protocol)
                table[comparisons.over].append(label)
                table["law"].append(s.law)
                table["rank"].append(s.place)
                table["error"].append(_error(s))
                table["score"].append(s.score)
        rows = {name: values[begins:] for name, values in table.items()}
        panels.append(_label_panel(first, comparisons.over, ranking, rows, laws))
    title = title_by_label(comparisons, rankings)
    description = f"{title}. The laws are {', '.join(laws)}."
    chart: Any = alt.vconcat(*panels, spacing=24)
    drawn = theme.titled(chart, title, ["filled: ranked first, alone or with others"], description)
    return Figure("comparison", title, table, drawn, description)


def _error(standing: RankedLaw) -> float | None:
    """The mean absolute error, or the interval score in per cent; None where it is not finite."""
    value = standing.scores.mae if standing.interval_scores is None else 100 * standing.score
    return value if math.isfinite(value) else None


def _label_panel(
    first: Comparison, over: str, ranking: Ranking, rows: dict[str, list[Any]], laws: Sequence[str]
) -> Any:
    """The errors of all laws on the rows of each label, by one protocol."""
    data = first.data
    error = f"mean absolute error [{data.unit}]" if data.unit else "mean absolute error"
    title = "interval score [%]" if _has_intervals(ranking) else error
    finite = [x for x in rows["error"] if x is not None]
    drawn = dict(rows)
    drawn["first"] = [place.partition("-")[0] == "1" for place in rows["rank"]]
    color, shape = theme.color("law", "", laws), theme.shape("law", "", laws)
    encoding: dict[str, Any] = {
        "x": theme.axis("error", title, finite or [0.0, 1.0]),
        "y": alt.Y(f"{theme.escaped(over)}:N", sort=None, axis=alt.Axis(title=None, ticks=False)),
        "color": color,
        "shape": shape,
    }
    chart = chart_of(drawn)
    best = chart.transform_filter("datum.first").mark_point(filled=True, size=70, opacity=1)
    rest = chart.transform_filter("!datum.first").mark_point(size=60, opacity=1, strokeWidth=1.4)
    layered: Any = alt.layer(best.encode(**encoding), rest.encode(**encoding))
    heading = alt.TitleParams(_heading(ranking), fontSize=12, fontWeight="normal", anchor="start")
    labels = len(dict.fromkeys(rows[over]))
    return layered.properties(width=theme.WIDTH, height=ROW * labels, title=heading)
