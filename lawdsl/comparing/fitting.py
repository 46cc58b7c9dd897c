"""The fit of one fold: as much of a fit as a comparison needs, without proofs or intervals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.diagnosis import at_bounds
from lawdsl.fitting.identifiability import FLAT, unseen
from lawdsl.fitting.optimum import optimum
from lawdsl.fitting.problem import Problem
from lawdsl.law import Law
from lawdsl.symmetries import freedom

Array = NDArray[np.float64]


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


def quick_fit(law: Law, problem: Problem, seed: int, starts: int) -> QuickFit:
    """The best parameters of a law for some rows, and nothing else.

    Args:
        law: the law.
        problem: its fit to these rows.
        seed: of the starts.
        starts: how many.

    Raises:
        LawdslError: the law has no value on these rows at any start; F0107.
    """
    with np.errstate(all="ignore"):  # searches pass through places where a law overflows
        found = optimum(law, problem, starts, seed)
    return QuickFit(found.theta, found.loss, found.agreement.agreed, found.converged)


def not_identified(law: Law, problem: Problem, theta: Array) -> tuple[str, ...]:
    """The parameters that the rows of a fold do not determine, in the law's order."""
    with np.errstate(all="ignore"):
        _, bounds = at_bounds(law, problem, theta)
        _, lost = unseen(law, problem, theta, bounds, theta[None], freedom(law))
    return tuple(q.name for q in law.parameters if q.name in lost)


def flat(problem: Problem, theta: Array) -> bool:
    """Whether there are other parameters that describe the rows exactly as well."""
    jacobian = np.nan_to_num(problem.slopes(theta[None])[1][0])
    length = np.linalg.norm(jacobian, axis=0)
    scaled = jacobian / np.where(length > 0, length, 1.0)
    if problem.rows < problem.parameters:
        return True
    return bool(np.linalg.svd(np.linalg.qr(scaled, mode="r"), compute_uv=False)[-1] < FLAT)
