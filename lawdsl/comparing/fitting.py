"""The fit of one fold: as much of a fit as a comparison needs, without proofs or intervals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lawdsl.diagnostics import Diagnostic, LawdslError
from lawdsl.fitting.descent import EVALUATIONS, NOISE, PATIENCE, descend, polish
from lawdsl.fitting.diagnosis import at_bounds, on_bounds
from lawdsl.fitting.identifiability import FLAT, unseen
from lawdsl.fitting.problem import Problem, problem_of
from lawdsl.fitting.starts import chosen_starts
from lawdsl.fitting.transforms import to_parameters
from lawdsl.language.resolving import Objective
from lawdsl.law import Law

Array = NDArray[np.float64]

SAME = 1e-6  # relative difference of objectives that counts as the same minimum


class QuickFit(NamedTuple):
    """What a fit of a fold has found.

    Attributes:
        theta: the parameters, shape (parameters,).
        loss: the objective there, summed over the rows.
        agreed: how many starts have reached it.
        converged: whether the search ended in a minimum.
    """

    theta: Array
    loss: float
    agreed: int
    converged: bool


def quick_fit(
    law: Law, columns: Array, target: Array, objective: Objective, seed: int, starts: int
) -> QuickFit:
    """The best parameters of a law for some rows, and nothing else.

    Args:
        law: the law.
        columns: its variables in its order and units, shape (variables, rows).
        target: the measured output, shape (rows,).
        objective: what to minimise.
        seed: of the starts.
        starts: how many.

    Raises:
        LawdslError: the law has no value on these rows at any start; F0107.
    """
    problem = problem_of(law, columns, target, objective)
    with np.errstate(all="ignore"):  # searches pass through places where a law overflows
        free = chosen_starts(law, problem, starts, seed)
        reached = []
        rival = np.inf
        for start in free:
            patience = EVALUATIONS if len(free) > 1 else PATIENCE
            reached.append(descend(problem, start, patience, rival))
            rival = min(rival, reached[-1].loss)
        if not np.isfinite(rival):
            message = f"`{law.name}` has no value on these data at any start"
            help = "declare starts in the law: `start A = 1, alpha = 0.5`"
            raise LawdslError(Diagnostic("F0107", message, help=help))
        losses = np.array([d.loss for d in reached])
        best = reached[int(np.argmin(losses))]
        agreed = int(np.sum(losses <= best.loss + max(SAME * abs(best.loss), problem.exact)))
        found = best.free, best.loss
        polished = polish(problem, on_bounds(problem, best.free, best.loss))
        loss = float(problem.losses(polished[None])[0])
        if loss <= best.loss * (1 + NOISE):
            found = polished, loss
        theta = to_parameters(problem.transforms, found[0][None])[0]
    return QuickFit(theta, found[1], agreed, best.converged)


def not_identified(law: Law, problem: Problem, theta: Array) -> tuple[str, ...]:
    """The parameters that the rows of a fold do not determine, in the law's order."""
    with np.errstate(all="ignore"):
        _, bounds = at_bounds(law, problem, theta)
        _, lost = unseen(law, problem, theta, bounds, theta[None])
    return tuple(q.name for q in law.parameters if q.name in lost)


def flat(problem: Problem, theta: Array) -> bool:
    """Whether there are other parameters that describe the rows exactly as well."""
    jacobian = np.nan_to_num(problem.slopes(theta[None])[1][0])
    length = np.linalg.norm(jacobian, axis=0)
    scaled = jacobian / np.where(length > 0, length, 1.0)
    if problem.rows < problem.parameters:
        return True
    return bool(np.linalg.svd(np.linalg.qr(scaled, mode="r"), compute_uv=False)[-1] < FLAT)
