"""The texts of the figure of a comparison."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from lawdsl.comparing.result import Comparison, Comparisons, Ranking
from lawdsl.figures import theme


def title_of(comparison: Comparison, rankings: Sequence[Ranking]) -> str:
    """The law that predicts best, in a sentence.

    Args:
        comparison: the laws.
        rankings: the rankings that are drawn.
    """
    table = Path(comparison.data.name).name
    held_out = [r for r in rankings if r.criterion != "AICc"] or list(rankings)
    if len(comparison.laws) == 1:
        ranking = held_out[0]
        return f"{comparison.laws[0].name} on {table}: {_score(comparison, ranking, 0)} by {ranking.title}"
    if len(held_out) == 1:
        ranking = held_out[0]
        first, second = ranking.standings[:2]
        verb = (
            "is ahead of"
            if second.behind is not None and second.behind.clear
            else ("is not significantly better than")
        )
        return (
            f"{first.law} {verb} {second.law} by {ranking.title}: "
            f"{_score(comparison, ranking, 0)} against {_score(comparison, ranking, 1)}"
        )
    kind = "held-out " if held_out[0].criterion != "AICc" else ""
    return f"{_most_frequent_winner(held_out)} of {len(held_out)} {kind}protocols on {table}"


def title_by_label(comparisons: Comparisons, rankings: Sequence[Ranking]) -> str:
    """The law that predicts best on the rows of most labels, in a sentence.

    Args:
        comparisons: the comparison for each label.
        rankings: the rankings of one label that are drawn.
    """
    held_out = [r for r in rankings if r.criterion != "AICc"] or list(rankings)
    parts = comparisons.parts.values()
    every = [part.ranking(r.protocol) for part in parts for r in held_out]
    kind = "held-out " if held_out[0].criterion != "AICc" else ""
    protocols = f"{len(held_out)} {kind}protocol{'s' * (len(held_out) > 1)}"
    where = f"{len(comparisons.parts)} labels of {comparisons.over} by {protocols}"
    return f"{_most_frequent_winner(every)} of {len(every)} rankings, {where}"


def _most_frequent_winner(rankings: Sequence[Ranking]) -> str:
    """The law that ranks first most often, and how often, as a clause that precedes `of N
    rankings`.
    """
    firsts, alone = Counter[str](), Counter[str]()
    for standing in (s for ranking in rankings for s in ranking.standings):
        firsts[standing.law] += standing.rank[0] == 1
        alone[standing.law] += standing.rank == (1, 1)
    best = max(firsts, key=lambda law: (alone[law], firsts[law]))
    how = (
        f"{alone[best]} times alone"
        if alone[best] > 1
        else "once alone"
        if alone[best]
        else "never alone"
    )
    return f"{best} ranks first, {how}, in {firsts[best]}"


def _score(comparison: Comparison, ranking: Ranking, place: int) -> str:
    """The score of a law in a ranking: its interval score, or its mean absolute error."""
    standing = ranking.standings[place]
    if standing.interval_scores is not None:
        return (
            f"interval score {100 * standing.score:.3g} %"
            if place == 0
            else f"{100 * standing.score:.3g} %"
        )
    unit = f" {comparison.data.unit}" if comparison.data.unit else ""
    error = f"{theme.short(standing.scores.mae)}{unit}"
    return f"mean absolute error {error}" if place == 0 else error


def describe(comparison: Comparison, rankings: Sequence[Ranking]) -> str:
    """The alternative text of the figure.

    Args:
        comparison: the laws.
        rankings: the rankings that are drawn.
    """
    names = ", ".join(law.name for law in comparison.laws)
    parts = [f"{names} on {comparison.data.rows:,} rows of {Path(comparison.data.name).name}."]
    for ranking in rankings:
        laws = ", ".join(
            f"{s.law} ({s.place})"
            + ("" if math.isfinite(s.score) else ", which the rows do not determine")
            for s in ranking.standings
        )
        parts.append(f"{ranking.title}, by {ranking.criterion}: {laws}.")
    return " ".join(parts)
