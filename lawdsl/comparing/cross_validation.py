"""One law through the folds of a protocol: fitted on some rows, scored on others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.comparing.protocols import Fold
from lawdsl.comparing.result import Tested
from lawdsl.comparing.scores import losses, scores
from lawdsl.core.diagnostics import LawdslError
from lawdsl.fitting.diagnostics.diagnose import at_bounds, too_little
from lawdsl.fitting.diagnostics.identifiability import FLAT, unseen
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.multistart import SAME, Optimum, optimum
from lawdsl.law.law import Law
from lawdsl.proof.identifiability import Freedom

Array = NDArray[np.float64]

AGAIN = 3  # further fits, where the fitted rows leave several that are equally good


@dataclass(frozen=True)
class Entry:
    """A law that takes part.

    Attributes:
        law: the law.
        name: by which it is listed; that of no other.
        problem: its fit to all rows, in the order that all laws share.
        unknowable: what no data can determine about its parameters.
    """

    law: Law
    name: str
    problem: Problem
    unknowable: Freedom


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
        found = best(entry.law, problem, seed, starts)
    except LawdslError as error:
        failed = replace(none, failed=error.diagnostics[0].message)
        return failed, np.full(len(fold.test), np.inf)
    test = entry.problem.subset(fold.test)
    predicted = test.predictions(found.theta[None])[0]
    loss = losses(test.target, predicted, test.objective)
    bad = int(np.sum(~np.isfinite(loss)))
    names = [q.name for q in entry.law.parameters]
    lost = _not_identified(entry, problem, found.theta)
    result = Tested(
        fold.label,
        fold.part,
        len(fold.fit),
        len(fold.test),
        parameters=dict(zip(names, map(float, found.theta), strict=True)),
        scores=scores(test.target, predicted, test.objective),
        agreed=found.agreement.agreed,
        starts=starts,
        converged=found.converged,
        not_identified=lost,
        spread=_spread(entry.law, problem, test, found, seed, starts) if lost else None,
        failed=f"it has no value on {bad} of {len(loss)} tested rows" if bad else "",
    )
    return result, loss


def best(law: Law, problem: Problem, seed: int, starts: int) -> Optimum:
    """As much of a fit as a comparison needs, without proofs or intervals.

    Raises:
        LawdslError: the law has no value on these rows at any start; F0107.
    """
    with np.errstate(all="ignore"):  # searches pass through places where a law overflows
        return optimum(law, problem, starts, seed)


def _not_identified(entry: Entry, problem: Problem, theta: Array) -> tuple[str, ...]:
    """The parameters that the rows of a fold do not determine, in the law's order."""
    with np.errstate(all="ignore"):
        _, bounds = at_bounds(entry.law, problem, theta)
        _, lost = unseen(entry.law, problem, theta, bounds, theta[None], entry.unknowable)
    return tuple(q.name for q in entry.law.parameters if q.name in lost)


def _spread(
    law: Law, problem: Problem, test: Problem, found: Optimum, seed: int, starts: int
) -> tuple[float, float] | None:
    """How far the score hangs on which of several equally good fits was found; None where there
    is but one."""
    if not _flat(problem, found.theta):
        return None
    as_good = [found]
    for more in range(1, AGAIN + 1):
        other = best(law, problem, seed + more, starts)
        if other.loss <= found.loss + max(SAME * abs(found.loss), problem.exact):
            as_good.append(other)
    predicted = [test.predictions(one.theta[None])[0] for one in as_good]
    means = [float(np.mean(losses(test.target, p, test.objective))) for p in predicted]
    return min(means), max(means)


def _flat(problem: Problem, theta: Array) -> bool:
    """Whether there are other parameters that describe the rows exactly as well."""
    if problem.rows < problem.parameters:
        return True
    jacobian = np.nan_to_num(problem.slopes(theta[None])[1][0])
    length = np.linalg.norm(jacobian, axis=0)
    scaled = jacobian / np.where(length > 0, length, 1.0)
    return bool(np.linalg.svd(np.linalg.qr(scaled, mode="r"), compute_uv=False)[-1] < FLAT)
