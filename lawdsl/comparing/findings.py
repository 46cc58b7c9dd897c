"""What is to be said of the folds of a comparison: which failed, which leave parameters open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from lawdsl.comparing.result import Ranking, Standing
from lawdsl.core.diagnostics import Diagnostic


def findings(rankings: Iterable[Ranking]) -> list[Diagnostic]:
    """One finding of each kind for each protocol, with a note for each law it concerns."""
    found: list[Diagnostic] = []
    for ranking in rankings:
        if not ranking.part:  # the whole protocol speaks for its parts
            found += _failed(ranking) + _open(ranking) + _lone(ranking)
    return found


def _failed(ranking: Ranking) -> list[Diagnostic]:
    found = []
    for standing in ranking.standings:
        reasons = [f"{fold.fold}: {fold.failed}" for fold in standing.folds if fold.failed]
        if reasons:
            count = f"{len(reasons)} of {_folds(ranking)}"
            message = f"{ranking.protocol}: `{standing.law}` failed in {count}, and ranks last"
            help = "ask for more --starts, choose another protocol, or leave the law out"
            found.append(Diagnostic("F0204", message, notes=tuple(reasons[:5]), help=help))
    return found


def _open(ranking: Ranking) -> list[Diagnostic]:
    notes = []
    for standing in ranking.standings:
        counts = Counter(name for fold in standing.folds for name in fold.not_identified)
        if counts:
            names = ", ".join(f"{name} in {n}" for name, n in counts.items())
            notes.append(f"{standing.law}: {names} of {_folds(ranking)}{_reach(standing)}")
    if not notes:
        return []
    message = f"{ranking.protocol}: the fitted rows do not determine every parameter"
    help = "believe no value of these parameters; measure more values of what is left out"
    return [Diagnostic("F0205", message, "warning", notes=tuple(notes), help=help)]


def _reach(standing: Standing) -> str:
    """How far the score hangs on which of several equally good fits was found."""
    spreads = [fold.spread for fold in standing.folds if fold.spread is not None]
    widest = max((high / low for low, high in spreads if low > 0), default=1.0)
    return f"; fits as good differ {widest:.3g}-fold in the test" if widest > 1.01 else ""


def _lone(ranking: Ranking) -> list[Diagnostic]:
    notes = []
    for standing in ranking.standings:
        fits = [fold for fold in standing.folds if fold.scores is not None]
        lone = sum(not fold.converged or (fold.agreed == 1 and fold.starts > 1) for fold in fits)
        if lone:
            notes.append(f"{standing.law}: {lone} of {_folds(ranking)}")
    if not notes:
        return []
    message = f"{ranking.protocol}: some fits may not be the best: no two starts agree"
    help = "ask for more: --starts 24"
    return [Diagnostic("F0206", message, "warning", notes=tuple(notes), help=help)]


def _folds(ranking: Ranking) -> str:
    return f"{ranking.folds} fold{'s' if ranking.folds > 1 else ''}"
