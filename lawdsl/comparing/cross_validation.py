"""Law + fold -> FoldResult: the law fitted to some rows, and scored on others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.comparing.fold_measures import MeasuredRows
from lawdsl.comparing.protocols import Fold
from lawdsl.comparing.result import FoldResult
from lawdsl.comparing.scores import losses, scores
from lawdsl.core.diagnostics import LawdslError
from lawdsl.fitting.diagnostics.diagnose import bound_findings, insufficient_data_errors
from lawdsl.fitting.diagnostics.identifiability import undetermined_directions
from lawdsl.fitting.diagnostics.undetermined_steps import UNDETERMINED_WIDTH
from lawdsl.fitting.preparation.prepare import prepare, unidentifiable_directions
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.evidence import SAME_MINIMUM_RTOL
from lawdsl.fitting.solvers.multistart import Optimum, optimum
from lawdsl.law.law import Law
from lawdsl.proof.identifiability import Freedom

Array = NDArray[np.float64]

EXTRA_FITS = 3  # further fits, if several parameter vectors fit the rows equally well


@dataclass(frozen=True)
class ComparisonEntry:
    """A law in a comparison.

    Attributes:
        law: the law.
        name: its unique name in the listing.
        problem: the minimisation problem of its fit to all rows, which all laws share.
        symmetries: its unidentifiable directions, which no data can determine.
        measured: the variables that it measures; None without any.
    """

    law: Law
    name: str
    problem: Problem
    symmetries: Freedom
    measured: MeasuredRows | None = None

    def in_fold(self, fold: Fold) -> Problem:
        """The problem of all rows, with measured variables as the rows of a fold tell them."""
        return self.problem if self.measured is None else self.measured.in_fold(self.problem, fold)


def fit_and_score(
    entry: ComparisonEntry, fold: Fold, seed: int, starts: int, *, spread: bool = True
) -> tuple[FoldResult, Array]:
    """Fit a law on the rows of a fold, and score it on its test rows.

    Args:
        entry: the law.
        fold: the rows that are fitted, and the rows that are tested.
        seed: the seed of the starts.
        starts: the number of starts.
        spread: whether to find how much equally good fits differ, which takes further fits.

    Returns:
        The result, and the loss of each test row, shape (test rows,): inf where the law could not
        be fitted, or has no value.
    """
    of_all = entry.in_fold(fold)
    problem = of_all.subset(fold.fit)
    unfitted = FoldResult(
        fold.label, fold.part, len(fold.fit), len(fold.test), {}, None, starts=starts
    )
    too_few_rows = insufficient_data_errors(prepare(entry.law), problem)
    if too_few_rows:
        failed = replace(unfitted, failed=too_few_rows[0].message)
        return failed, np.full(len(fold.test), np.inf)
    try:
        solution = best_fit(entry.law, problem, seed, starts)
    except LawdslError as error:
        failed = replace(unfitted, failed=error.diagnostics[0].message)
        return failed, np.full(len(fold.test), np.inf)
    test = of_all.subset(fold.test)
    predicted = test.predictions(solution.theta[None])[0]
    row_losses = losses(test.target, predicted, test.objective)
    undefined_count = int(np.sum(~np.isfinite(row_losses)))
    names = [q.name for q in entry.law.parameters]
    undetermined = _not_identified(entry, problem, solution.theta)
    result = FoldResult(
        fold.label,
        fold.part,
        len(fold.fit),
        len(fold.test),
        parameters=dict(zip(names, map(float, solution.theta), strict=True)),
        scores=scores(test.target, predicted, test.objective),
        agreed=solution.agreement.agreed,
        starts=starts,
        converged=solution.converged,
        not_identified=undetermined,
        spread=_score_range(entry.law, problem, test, solution, seed, starts)
        if undetermined and spread
        else None,
        failed=f"it has no value on {undefined_count} of {len(row_losses)} tested rows"
        if undefined_count
        else "",
    )
    return result, row_losses


def best_fit(law: Law, problem: Problem, seed: int, starts: int) -> Optimum:
    """Find the best parameters, without proofs or intervals, which a comparison does not need.

    Args:
        law: the law.
        problem: the objective and the data of its fit to the rows of the fold.
        seed: the seed of the starts.
        starts: the number of starts.

    Raises:
        LawdslError: the law has no value on these rows at any start; F0107.
    """
    with np.errstate(all="ignore"):  # searches pass through points where a law overflows
        return optimum(prepare(law), problem, starts, seed)


def _not_identified(entry: ComparisonEntry, problem: Problem, theta: Array) -> tuple[str, ...]:
    """The parameters that the rows of a fold do not determine, in the law's order."""
    with np.errstate(all="ignore"):
        law, unidentifiable = prepare(entry.law), unidentifiable_directions(entry.symmetries)
        _, bounds = bound_findings(law, problem, theta)
        _, undetermined = undetermined_directions(
            law, problem, theta, bounds, theta[None], unidentifiable
        )
    return tuple(q.name for q in entry.law.parameters if q.name in undetermined)


def _score_range(
    law: Law, problem: Problem, test: Problem, solution: Optimum, seed: int, starts: int
) -> tuple[float, float] | None:
    """The smallest and largest score among equally good fits; None where the fit is unique."""
    if not _is_flat(problem, solution.theta):
        return None
    equally_good = [solution]
    for offset in range(1, EXTRA_FITS + 1):
        other = best_fit(law, problem, seed + offset, starts)
        if other.loss <= solution.loss + max(SAME_MINIMUM_RTOL * abs(solution.loss), problem.exact):
            equally_good.append(other)
    predicted = [test.predictions(candidate.theta[None])[0] for candidate in equally_good]
    means = [float(np.mean(losses(test.target, p, test.objective))) for p in predicted]
    return min(means), max(means)


def _is_flat(problem: Problem, theta: Array) -> bool:
    """Whether there are directions in parameter space without any effect on the fitted rows."""
    if problem.rows < problem.parameters:
        return True
    jacobian = np.nan_to_num(problem.slopes(theta[None])[1][0])
    length = np.linalg.norm(jacobian, axis=0)
    scaled = jacobian / np.where(length > 0, length, 1.0)
    return bool(
        np.linalg.svd(np.linalg.qr(scaled, mode="r"), compute_uv=False)[-1] < UNDETERMINED_WIDTH
    )
