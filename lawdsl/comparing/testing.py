"""One law through the folds of a protocol: fitted on some rows, scored on others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.comparing.fitting import QuickFit, flat, not_identified, quick_fit
from lawdsl.comparing.folds import Fold
from lawdsl.comparing.records import Tested
from lawdsl.comparing.scores import Scores, losses, scores
from lawdsl.diagnostics import LawdslError
from lawdsl.fitting.diagnosis import too_little
from lawdsl.fitting.optimum import SAME
from lawdsl.fitting.problem import Problem
from lawdsl.law import Law

Array = NDArray[np.float64]

AGAIN = 3  # further fits, where the fitted rows leave several that are equally good


@dataclass(frozen=True)
class Entry:
    """A law that takes part.

    Attributes:
        law: the law.
        name: by which it is listed; that of no other.
        problem: its fit to all rows, in the order that all laws share.
    """

    law: Law
    name: str
    problem: Problem


def tested(entry: Entry, fold: Fold, seed: int, starts: int) -> tuple[Tested, Array]:
    """A law fitted on the rows of a fold, and scored on its test.

    Returns:
        What came of it, and the loss of each tested row, shape (tested rows,): inf where the law
        could not be fitted, or has no value.
    """
    problem = entry.problem.subset(fold.fit)
    none = Tested(fold.label, fold.part, len(fold.fit), len(fold.test), {}, None, starts=starts)
    impossible = too_little(entry.law, problem)
    if impossible:
        failed = replace(none, failed=impossible[0].message)
        return failed, np.full(len(fold.test), np.inf)
    try:
        found = _fit(entry.law, problem, seed, starts)
    except LawdslError as error:
        failed = replace(none, failed=error.diagnostics[0].message)
        return failed, np.full(len(fold.test), np.inf)
    loss = _losses(entry.problem, fold, found.theta)
    bad = int(np.sum(~np.isfinite(loss)))
    names = [q.name for q in entry.law.parameters]
    unseen = not_identified(entry.law, problem, found.theta)
    result = Tested(
        fold.label,
        fold.part,
        len(fold.fit),
        len(fold.test),
        parameters=dict(zip(names, map(float, found.theta), strict=True)),
        scores=_scores(entry.problem, fold, found.theta),
        agreed=found.agreed,
        starts=starts,
        converged=found.converged,
        not_identified=unseen,
        spread=_spread(entry, fold, problem, found, seed, starts) if unseen else None,
        failed=f"it has no value on {bad} of {len(loss)} tested rows" if bad else "",
    )
    return result, loss


def _fit(law: Law, problem: Problem, seed: int, starts: int) -> QuickFit:
    return quick_fit(law, problem, seed, starts)


def _losses(problem: Problem, fold: Fold, theta: Array) -> Array:
    test = problem.subset(fold.test)
    return losses(test.target, test.predictions(theta[None])[0], problem.objective)


def _scores(problem: Problem, fold: Fold, theta: Array) -> Scores:
    test = problem.subset(fold.test)
    return scores(test.target, test.predictions(theta[None])[0], problem.objective)


def _spread(
    entry: Entry, fold: Fold, problem: Problem, found: QuickFit, seed: int, starts: int
) -> tuple[float, float] | None:
    """How far the score hangs on which of several equally good fits was found; None where there
    is but one."""
    if not flat(problem, found.theta):
        return None
    means = [float(np.mean(_losses(entry.problem, fold, found.theta)))]
    for more in range(1, AGAIN + 1):
        other = _fit(entry.law, problem, seed + more, starts)
        if other.loss <= found.loss + max(SAME * abs(found.loss), problem.exact):
            means.append(float(np.mean(_losses(entry.problem, fold, other.theta))))
    return min(means), max(means)
