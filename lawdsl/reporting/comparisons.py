"""A comparison of laws -> text on a terminal: all ranks in one table, then each ranking."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from lawdsl.core.diagnostics import printable
from lawdsl.reporting.terminal import show_rows

if TYPE_CHECKING:
    from lawdsl.comparing.result import (
        Comparison,
        Comparisons,
        IntervalScores,
        RankedLaw,
        Ranking,
        ScoreDifference,
    )

R_SQUARED_LIMIT = "< -1e6"
"""R² of predictions that are wrong by many orders of magnitude."""


def show_comparison(comparison: Comparison, out: Console, *, details: bool = True) -> None:
    """Print a comparison: the ranks of all laws by all protocols, and each ranking with its scores.

    Args:
        comparison: the comparison.
        out: where it is printed.
        details: whether to print the rankings.
    """
    out.print(_title(comparison, comparison.data.rows), soft_wrap=True)
    if comparison.data.dropped:
        out.print(f"  {comparison.data.dropped:,} bad rows were left out")
    if comparison.data.groups:
        names = ", ".join(map(printable, comparison.data.runs))
        line = f"  rows of a run stay together: {comparison.data.groups:,} runs, column {names}"
        out.print(Text(line), soft_wrap=True)
    out.print(f"  every fit minimises {comparison.objective}", soft_wrap=True)
    headers = ["law", "parameters", *(ranking.title for ranking in comparison.rankings)]
    ranks = [{s.law: s.place for s in ranking.standings} for ranking in comparison.rankings]
    rows = [
        [law.name, law.parameters, *(rank_of[law.name] for rank_of in ranks)]
        for law in comparison.laws
    ]
    if len(comparison.laws) > 1:
        out.print(
            "rank, the best being 1; laws whose scores do not differ significantly share theirs:"
        )
        show_rows(headers, rows, out)
    elif not details:
        _show_scores(comparison, out)
    if details:
        for ranking in comparison.rankings:
            if ranking.standings[0].interval_scores is not None:
                if not ranking.part:
                    parts = [
                        r for r in comparison.rankings if r.part and r.protocol == ranking.protocol
                    ]
                    _show_intervals(ranking, parts, out)
                continue
            _show_ranking(ranking, comparison.objective.partition("(")[0].capitalize(), out)


def _show_scores(comparison: Comparison, out: Console) -> None:
    """Print the scores of a single law, which has no rank: one line per ranking."""
    for ranking in comparison.rankings:
        (standing,) = ranking.standings
        score = score_text(standing.score)
        if standing.interval_scores is not None and math.isfinite(standing.score):
            score = f"{_per_cent(standing.score)} %"
        folds = f", mean of {ranking.folds} folds" if ranking.folds > 1 else ""
        line = f"{ranking.title}: score {score}: {ranking.criterion}{folds}"
        if standing.aicc is not None:
            line = f"{ranking.title}: {ranking.criterion} {score}"
        out.print(Text(line), soft_wrap=True)


def show_comparisons(comparisons: Comparisons, out: Console) -> None:
    """Print comparisons of laws with index sets: one table per protocol, one row per label, one
    column per law.

    Args:
        comparisons: the comparison for each label.
        out: where they are printed.
    """
    first = next(iter(comparisons.parts.values()))
    rows = sum(part.data.rows for part in comparisons.parts.values())
    out.print(_title(first, rows), soft_wrap=True)
    out.print(f"  every fit minimises {first.objective}", soft_wrap=True)
    for ranking in first.rankings:
        folds = f" of held-out rows, mean of {ranking.folds} folds" if ranking.folds > 1 else ""
        by_intervals = ranking.standings[0].interval_scores is not None
        what = "score in % and share inside" if by_intervals else "mean absolute error"
        subtitle = f": {what}{folds}; in brackets the rank by {ranking.criterion}"
        out.print(Text(ranking.title, style="bold") + Text(subtitle), soft_wrap=True)
        lines = []
        for label, part in comparisons.parts.items():
            part_ranking = part.ranking(ranking.protocol, ranking.part)
            standing = {s.law: s for s in part_ranking.standings}
            cells = [
                f"{_cell_of_label(standing[law.name])} [{standing[law.name].place}]"
                for law in first.laws
            ]
            lines.append([label, *cells])
        show_rows([comparisons.over, *(law.name for law in first.laws)], lines, out)


def _cell_of_label(standing: RankedLaw) -> str:
    """The cell of a law in a table of labels: its interval score and coverage, else its error."""
    if standing.interval_scores is None:
        return score_text(standing.scores.mae)
    return f"{_per_cent(standing.score)}, {_interval_cells(standing.interval_scores)[1]}"


def _title(comparison: Comparison, rows: int) -> Text:
    """The compared laws and their data, with the number of rows of all labels."""
    laws = comparison.laws
    subject = f"{len(laws)} laws" if len(laws) > 1 else laws[0].name
    data = f"{rows:,} rows of {comparison.data.name}"
    if comparison.data.where:
        data += f" where {', '.join(comparison.data.where)}"
    return Text(f"{subject} on {printable(data)}", style="bold")


def _show_ranking(ranking: Ranking, loss: str, out: Console) -> None:
    """Print a ranking: the held-out part, and the scores of each law; the loss of the objective is
    the first score.
    """
    out.print()
    title = Text(ranking.title, style="bold")
    folds = f", mean of {ranking.folds} folds" if ranking.folds > 1 else ""
    subtitle = f": {ranking.criterion}{folds}; intervals over {ranking.units} {ranking.unit}"
    out.print(title + Text(subtitle), soft_wrap=True)
    score = "AICc" if ranking.standings[0].aicc is not None else "score"
    headers = [
        "rank",
        "law",
        score,
        "behind the best",
        f"{loss} sum",
        "mean",
        "R²",
        "log R²",
        "MAE",
    ]
    rows = [_row(standing) for standing in ranking.standings]
    notes = [_notes(standing, ranking.folds) for standing in ranking.standings]
    if any(notes):
        headers.append("")
        rows = [[*row, note] for row, note in zip(rows, notes, strict=True)]
    show_rows(headers, rows, out)


def _show_intervals(ranking: Ranking, parts: Sequence[Ranking], out: Console) -> None:
    """Print a ranking by interval scores: the mean over all R, and the scores at each R."""
    out.print()
    subtitle = (
        f"{ranking.criterion}, mean of {ranking.folds} R"
        if ranking.folds > 1
        else ranking.criterion
    )
    units = f"{ranking.units} {ranking.unit}"
    out.print(
        Text(ranking.title, style="bold") + Text(f": {subtitle}; {units} held out"), soft_wrap=True
    )
    headers = ["rank", "law", "score", "behind the best", "error", "inside", "width"]
    rows = [
        [
            standing.place,
            standing.law,
            _per_cent(standing.score),
            _difference_text(standing.behind, 100.0),
            *_interval_cells(standing.interval_scores),
        ]
        for standing in ranking.standings
    ]
    show_rows(headers, rows, out)
    out.print(
        "score, error and width in % of the output; the runs fitted cost at most 1/R as much:"
    )
    rows = [
        [
            part.part.removeprefix("R = "),
            str(fold.fitted),
            str(fold.tested),
            standing.place,
            standing.law,
            _per_cent(standing.score),
            *_interval_cells(standing.interval_scores),
            fold.failed or fold.undetermined,
        ]
        for part in parts
        for standing in part.standings
        for fold in standing.folds
    ]
    headers = ["R", "fitted", "held out", "rank", *headers[1:3], *headers[4:], ""]
    if not any(row[-1] for row in rows):
        headers, rows = headers[:-1], [row[:-1] for row in rows]
    show_rows(headers, rows, out)


def _interval_cells(scores: IntervalScores | None) -> list[str]:
    """Median error, coverage and median width of intervals."""
    if scores is None:
        return ["-", "-", "-"]
    # an infinite interval always covers, which is not informative
    says = math.isfinite(scores.inside) and math.isfinite(scores.width)
    inside = f"{100 * scores.inside:.0f} %" if says else "-"
    return [_per_cent(scores.error), inside, _per_cent(scores.width)]


def _per_cent(share: float) -> str:
    """A share in percent, to three digits; a dash if it is not finite."""
    return f"{100 * share:.3g}" if math.isfinite(share) else "-"


def _row(standing: RankedLaw) -> list[str]:
    scores = standing.scores
    return [
        standing.place,
        standing.law,
        score_text(standing.score),
        _difference_text(standing.behind),
        score_text(scores.objective.sum),
        score_text(scores.objective.mean),
        r_squared_text(scores.r2),
        r_squared_text(scores.r2_log),
        score_text(scores.mae),
    ]


def r_squared_text(value: float) -> str:
    """R² with four decimals, with four significant digits if it is below -100, and as a limit where
    its digits say nothing; a dash if it is not finite.
    """
    if not math.isfinite(value) or -1e6 <= value <= -100:
        return score_text(value)
    return f"{value:.4f}" if value > -100 else R_SQUARED_LIMIT


def _difference_text(difference: ScoreDifference | None, factor: float = 1.0) -> str:
    """Format a difference, times a factor, with its interval; empty for the best law."""
    if difference is None or not math.isfinite(difference.value):
        return ""
    value, low, high = (
        score_text(factor * x) for x in (difference.value, difference.low, difference.high)
    )
    return f"{value} [{low}, {high}]"


def _notes(standing: RankedLaw, folds: int) -> str:
    notes = []
    if standing.failed:
        notes.append(f"failed in {standing.failed} of {folds}")
    if standing.unidentified:
        notes.append(f"not identified in {standing.unidentified} of {folds}")
    return ", ".join(notes)


def score_text(value: float) -> str:
    """A score to four significant digits; a dash if it is not finite."""
    return f"{value:.4g}" if math.isfinite(value) else "-"
