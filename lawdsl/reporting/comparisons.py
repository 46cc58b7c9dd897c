"""A comparison of laws -> text on a terminal: all ranks in one table, then each ranking."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from lawdsl.core.diagnostics import printable
from lawdsl.reporting.terminal import show_rows

if TYPE_CHECKING:
    from lawdsl.comparing.result import Comparison, Comparisons, RankedLaw, Ranking, ScoreDifference


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
    out.print(f"  every fit minimises {comparison.objective}", soft_wrap=True)
    headers = ["law", "parameters", *(ranking.title for ranking in comparison.rankings)]
    ranks = [{s.law: s.place for s in ranking.standings} for ranking in comparison.rankings]
    rows = [
        [law.name, law.parameters, *(rank_of[law.name] for rank_of in ranks)]
        for law in comparison.laws
    ]
    if len(comparison.laws) > 1:
        out.print("rank, the best being 1; laws that the data do not tell apart share theirs:")
        show_rows(headers, rows, out)
    if details:
        for ranking in comparison.rankings:
            _show_ranking(ranking, comparison.objective.partition("(")[0].capitalize(), out)


def show_comparisons(comparisons: Comparisons, out: Console) -> None:
    """Print comparisons of laws with index sets: per protocol a row a label, a column a law.

    Args:
        comparisons: one for each label.
        out: where they are printed.
    """
    first = next(iter(comparisons.parts.values()))
    rows = sum(part.data.rows for part in comparisons.parts.values())
    out.print(_title(first, rows), soft_wrap=True)
    out.print(f"  every fit minimises {first.objective}", soft_wrap=True)
    for ranking in first.rankings:
        folds = f" of held-out rows, mean of {ranking.folds} folds" if ranking.folds > 1 else ""
        subtitle = f": mean absolute error{folds}; in brackets the rank by {ranking.criterion}"
        out.print(Text(ranking.title, style="bold") + Text(subtitle), soft_wrap=True)
        lines = []
        for label, part in comparisons.parts.items():
            part_ranking = part.ranking(ranking.protocol, ranking.part)
            standing = {s.law: s for s in part_ranking.standings}
            cells = [
                f"{score_text(standing[law.name].scores.mae)} [{standing[law.name].place}]"
                for law in first.laws
            ]
            lines.append([label, *cells])
        show_rows([comparisons.over, *(law.name for law in first.laws)], lines, out)


def _title(comparison: Comparison, rows: int) -> Text:
    """The compared laws and their data, with the number of rows of all labels."""
    laws = comparison.laws
    subject = f"{len(laws)} laws" if len(laws) > 1 else laws[0].name
    data = f"{rows:,} rows of {comparison.data.name}"
    if comparison.data.where:
        data += f" where {', '.join(comparison.data.where)}"
    return Text(f"{subject} on {printable(data)}", style="bold")


def _show_ranking(ranking: Ranking, loss: str, out: Console) -> None:
    """Print a ranking: the held-out part and the scores of each law, of which the first is the
    named loss of the objective."""
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


def _row(standing: RankedLaw) -> list[str]:
    scores = standing.scores
    return [
        standing.place,
        standing.law,
        score_text(standing.score),
        _difference_text(standing.behind),
        score_text(scores.objective.sum),
        score_text(scores.objective.mean),
        _r_squared_text(scores.r2),
        _r_squared_text(scores.r2_log),
        score_text(scores.mae),
    ]


def _r_squared_text(value: float) -> str:
    """R² with four decimals; four digits where it is below -100."""
    return f"{value:.4f}" if value > -100 else score_text(value)


def _difference_text(difference: ScoreDifference | None) -> str:
    """Format a difference with its interval; empty for the best law."""
    if difference is None or not math.isfinite(difference.value):
        return ""
    low, high = score_text(difference.low), score_text(difference.high)
    return f"{score_text(difference.value)} [{low}, {high}]"


def _notes(standing: RankedLaw, folds: int) -> str:
    notes = []
    if standing.failed:
        notes.append(f"failed in {standing.failed} of {folds}")
    if standing.unidentified:
        notes.append(f"not identified in {standing.unidentified} of {folds}")
    return ", ".join(notes)


def score_text(value: float) -> str:
    """A score, to four digits; a dash where it is not finite."""
    return f"{value:.4g}" if math.isfinite(value) else "-"
