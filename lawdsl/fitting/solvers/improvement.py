"""Problem + solutions that do not agree -> better solutions, from the neighbourhoods of the best.

Each of the best few minima is refined by a trust region, and then perturbed several times: along
the directions to which the rows are least sensitive, and in single parameters by factors. The lowest
minimum that is reached from one of its perturbations replaces it (basin hopping; Wales and Doye
(1997), Journal of Physical Chemistry A 101), for one of the starts that ended in it: what one search
has found is evidence of one start.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.descent import SOLVERS, descend
from lawdsl.fitting.solvers.evidence import projected_widths
from lawdsl.fitting.solvers.exact_trust_region import exact_trust_region
from lawdsl.fitting.solvers.irls import MAX_FREE_STEP
from lawdsl.fitting.solvers.projected_problem import project
from lawdsl.fitting.solvers.solver import Solution, Solver

Array = NDArray[np.float64]

BEST = 6  # minima that are refined and perturbed
PERTURBATIONS = 8  # of each of these
REFINING_STEPS = 200  # steps of the trust region for each
# relative to the best objective: only lower ones are perturbed, and only these refined
WORTHWHILE_FACTOR, NEAR_FACTOR = 100.0, 2.0
# changes of the predictions by a perturbation, relative to the residuals
MIN_CHANGE, MAX_CHANGE = 1.0, 300.0
# more parameters make the dense steps of the trust region slow
MAX_PARAMETERS = 60
# share of the unbounded parameters perturbed by factors that change their sign
SIGN_CHANGES = 0.15


def can_improve(problem: Problem) -> bool:
    """Whether the search may refine and perturb minima of a problem."""
    return 0 < problem.parameters - len(problem.linear) <= MAX_PARAMETERS


def refine_best(problem: Problem, reached: list[Solution]) -> list[Solution]:
    """Continue the best solutions that are not yet minima by a trust region.

    Args:
        problem: the objective to be minimised, with its data.
        reached: the solution of each start; starts in one basin share one.
    """
    replaced = {}
    projected = project(problem)
    for solution in _best(reached, NEAR_FACTOR):
        if not solution.converged:
            end = exact_trust_region(projected, solution.point, REFINING_STEPS)
            if end.loss <= solution.loss:
                replaced[id(solution)] = end
    return [replaced.get(id(d), d) for d in reached]


def perturb_best(
    problem: Problem,
    reached: list[Solution],
    rng: np.random.Generator,
    solvers: tuple[Solver, Solver] = SOLVERS,
) -> list[Solution]:
    """Replace the best solutions by lower minima near them, if there are any.

    Args:
        problem: the objective to be minimised, with its data.
        reached: the solution of each start; starts in one basin share one.
        rng: the random generator of the perturbations.
        solvers: the solvers of the local searches.
    """
    best = _best(reached, WORTHWHILE_FACTOR)
    points = np.concatenate([_perturbed(problem, d.point, rng) for d in best])
    finite = np.isfinite(problem.losses(points))
    if not finite.any():
        return reached
    ends = descend(problem, points[finite], None, solvers)
    line = np.repeat(np.arange(len(best)), PERTURBATIONS)[finite]
    replaced = {}
    for number, solution in enumerate(best):
        own = [end for end, k in zip(ends, line, strict=True) if k == number]
        lowest = min(own, key=lambda d: d.loss, default=solution)
        if lowest.loss < solution.loss:
            replaced[id(solution)] = lowest
    # of the starts that share a solution one is replaced
    return refine_best(problem, [replaced.pop(id(d), d) for d in reached])


def _best(reached: list[Solution], factor: float) -> list[Solution]:
    """The best distinct solutions, of increasing objectives up to a factor above the best."""
    distinct = sorted({id(d): d for d in reached}.values(), key=lambda d: d.loss)
    limit = factor * distinct[0].loss
    return [d for d in distinct[:BEST] if np.isfinite(d.loss) and d.loss <= limit]


def _perturbed(problem: Problem, free: Array, rng: np.random.Generator) -> Array:
    """Points near a minimum, shape (PERTURBATIONS, parameters)."""
    points = np.tile(free, (PERTURBATIONS, 1))
    moving = np.setdiff1d(np.arange(problem.parameters), problem.linear)
    sided = np.array([t.lower is not None or t.upper is not None for t in problem.transforms])
    widths, directions, lengths = projected_widths(problem, free)
    residual = problem.residuals(free[None])[0]
    size = float(np.linalg.norm(residual)) + problem.rounding
    longest = np.where(sided, MAX_FREE_STEP, np.maximum(np.abs(free), 1e-300))
    for k in range(PERTURBATIONS):
        if k % 2 == 0 and len(widths):
            change = size * np.exp(rng.uniform(np.log(MIN_CHANGE), np.log(MAX_CHANGE)))
            weights = rng.normal(size=len(widths)) / np.maximum(widths, 1e-12 * widths[0] + 1e-300)
            step = change * (weights @ directions) / np.maximum(lengths, 1e-300)
            step[lengths == 0] = 0.0
            step = np.clip(np.nan_to_num(step), -longest, longest)
            points[k] += step
            continue
        chosen = rng.choice(moving, min(len(moving), int(rng.integers(1, 4))), replace=False)
        factor = np.exp(rng.normal(size=len(chosen)))
        factor *= np.where(rng.uniform(size=len(chosen)) < SIGN_CHANGES, -1.0, 1.0)
        moved = rng.normal(size=len(chosen)) * MAX_FREE_STEP
        points[k, chosen] = np.where(sided[chosen], free[chosen] + moved, free[chosen] * factor)
    return points
