"""Rankings -> diagnostics: folds that failed, and fits that leave parameters undetermined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from lawdsl.comparing.result import RankedLaw, Ranking
from lawdsl.core.diagnostics import Diagnostic


def findings(rankings: Iterable[Ranking]) -> list[Diagnostic]:
    """One finding of each kind for each protocol, with a note for each law that it concerns.

    Args:
        rankings: the rankings of all protocols and their parts.
    """
    diagnostics: list[Diagnostic] = []
    for ranking in rankings:
        if not ranking.part:  # the ranking of the whole protocol includes those of its parts
            diagnostics += (
                _failed_folds(ranking)
                + _undetermined_predictions(ranking)
                + _undetermined_parameters(ranking)
                + _unconfirmed_fits(ranking)
            )
    return diagnostics


def _failed_folds(ranking: Ranking) -> list[Diagnostic]:
    failures = []
    for standing in ranking.standings:
        reasons = [f"{fold.fold}: {fold.failed}" for fold in standing.folds if fold.failed]
        if reasons:
            count = f"{len(reasons)} of {_folds_text(ranking)}"
            message = f"{ranking.protocol}: `{standing.law}` failed in {count}, and ranks last"
            help = "ask for more --starts, choose another protocol, or leave the law out"
            failures.append(Diagnostic("F0204", message, notes=tuple(reasons[:5]), help=help))
    return failures


def _undetermined_parameters(ranking: Ranking) -> list[Diagnostic]:
    notes = []
    for standing in ranking.standings:
        counts = Counter(name for fold in standing.folds for name in fold.not_identified)
        if counts:
            names = ", ".join(f"{name} in {n}" for name, n in counts.items())
            notes.append(
                f"{standing.law}: {names} of {_folds_text(ranking)}{_reach_note(standing)}"
            )
    if not notes:
        return []
    message = f"{ranking.protocol}: the fitted rows do not determine every parameter"
    help = "believe no value of these parameters; measure more values of what is left out"
    return [Diagnostic("F0205", message, "warning", notes=tuple(notes), help=help)]


def _undetermined_predictions(ranking: Ranking) -> list[Diagnostic]:
    """Laws whose predictions of the largest runs are not determined by the remaining rows."""
    notes = [
        f"{standing.law}, {fold.part}, {fold.fitted} rows fitted: {fold.undetermined}"
        for standing in ranking.standings
        for fold in standing.folds
        if fold.undetermined
    ]
    if not notes:
        return []
    message = f"{ranking.protocol}: the smaller runs do not determine what some law predicts of the largest"
    help = "such a law ranks last there; where no law has a score, that R is left out of the mean"
    return [Diagnostic("F0209", message, "warning", notes=tuple(notes), help=help)]


def _reach_note(standing: RankedLaw) -> str:
    """The ratio of the scores of equally good fits, as a phrase; empty below 1.01."""
    ranges = [fold.spread for fold in standing.folds if fold.spread is not None]
    largest_ratio = max((high / low for low, high in ranges if low > 0), default=1.0)
    return (
        f"; fits as good differ {largest_ratio:.3g}-fold in the test"
        if largest_ratio > 1.01
        else ""
    )


def _unconfirmed_fits(ranking: Ranking) -> list[Diagnostic]:
    notes = []
    for standing in ranking.standings:
        fits = [fold for fold in standing.folds if fold.scores is not None]
        alone = sum(fold.converged and fold.agreed == 1 and fold.starts > 1 for fold in fits)
        unfinished = sum(not fold.converged for fold in fits)
        notes += note_of_unconfirmed(standing.law, alone, unfinished, _folds_text(ranking))
    return unconfirmed_fits(ranking.protocol, notes)


def note_of_unconfirmed(law: str, alone: int, unfinished: int, folds: str) -> list[str]:
    """What makes fits of a law doubtful, in a note or none.

    Args:
        law: its name.
        alone: the number of folds whose optimum one start alone has reached.
        unfinished: the number of folds whose search did not converge.
        folds: the number of all folds, in words.
    """
    counts = {"reached by one start alone": alone, "not converged": unfinished}
    texts = [f"{count} of {folds} {what}" for what, count in counts.items() if count]
    return [f"{law}: {', '.join(texts)}"] if texts else []


def unconfirmed_fits(protocol: str, notes: Sequence[str]) -> list[Diagnostic]:
    """The warning (F0206) about fits that may not be the best, if there are notes about some.

    Args:
        protocol: the name of the protocol.
        notes: of each law; see `note_of_unconfirmed`.
    """
    if not notes:
        return []
    message = f"{protocol}: some fits may not be the best"
    help = "ask for more: --starts 24"
    return [Diagnostic("F0206", message, "warning", notes=tuple(notes), help=help)]


def _folds_text(ranking: Ranking) -> str:
    return f"{ranking.folds} fold{'s' if ranking.folds > 1 else ''}"
