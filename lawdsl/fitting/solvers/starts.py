"""Prepared law + problem -> starts: drawn according to the structure of the law, declared, or
given.

A parameter in which the law is linear needs no start, since it is solved for given the others. So
only the others are drawn, at a scale that fits their position in the expression. Three quarters of
the starts are the best draws, the rest random ones.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import abridged
from lawdsl.fitting.evaluation import Evaluation
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.arrow_search import can_search, rows_of_blocks, with_linear_by_blocks
from lawdsl.fitting.solvers.variable_projection import least_squares_linear
from lawdsl.fitting.transforms import to_free

Array = NDArray[np.float64]

DRAWS_PER_START = 10  # draws from which each start is chosen
MIN_DRAWS = 20
MAX_SHOWN_VALUES = 6  # variables of a row that are shown in a message
# rows of a sample on which draws for a longer table are compared
MAX_COMPARED_ROWS = 1000
# numbers of the Jacobians of a batch of draws, few enough for the caches of a processor
BATCH_NUMBERS = 500_000


def chosen_starts(law: PreparedLaw, problem: Problem, count: int, seed: int) -> Array:
    """Choose starts for a search.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.
        count: the number of starts.
        seed: the seed of the draws.

    Returns:
        Unconstrained parameters, shape (up to count, parameters), in increasing order of the
        objective but for the last quarter, which is drawn from all candidates.
    """
    rng = np.random.default_rng(seed)
    by_blocks = can_search(problem)
    if by_blocks:
        problem = problem.subset(rows_of_blocks(problem, MAX_COMPARED_ROWS, seed))
        by_blocks = can_search(problem)
    else:
        problem = problem.sample(MAX_COMPARED_ROWS, seed)
    draws = max(MIN_DRAWS, DRAWS_PER_START * count)
    theta = law.draw(problem.columns, draws, seed, rng)
    if problem.penalty is not None:
        # the draws of the law may have any size; those of a prior are near its center
        problem.penalty.draw_into(theta[::2], rng)
    if by_blocks:
        theta = with_linear_by_blocks(problem, theta)
    elif problem.linear:
        # so that draws are compared at their best linear parameters, as in the search
        theta = _with_linear(problem, theta)
    free = to_free(problem.transforms, theta)
    # a solved parameter may be infinite: its start begins at the unconstrained parameter 0 instead
    free[~np.isfinite(free)] = 0.0
    losses = problem.losses(free)
    order = np.argsort(losses, kind="stable")
    order = order[np.isfinite(losses[order])]
    # three quarters from the best, the rest from all draws: the best may all be in one valley
    best = order[: count - count // 4]
    others = order[len(best) :]
    random_starts = rng.choice(others, min(len(others), count - len(best)), replace=False)
    return free[np.concatenate([best, random_starts]).astype(int)]


def _with_linear(problem: Problem, theta: Array) -> Array:
    """Draws with the linear parameters at their least-squares values, shape (draws, parameters)."""
    batch = max(1, BATCH_NUMBERS // (problem.rows * problem.parameters))
    parts = []
    for first in range(0, len(theta), batch):
        part = theta[first : first + batch]
        parts.append(least_squares_linear(problem, Evaluation(problem, part, 0), part)[0])
    return np.concatenate(parts)


def no_value_error(law: PreparedLaw, problem: Problem, seed: int) -> LawdslError:
    """The error for a law that is undefined at every start, with the row that causes it; F0107.

    Args:
        law: the law.
        problem: the fit.
        seed: the seed of the draws.
    """
    theta = law.draw(problem.columns, MIN_DRAWS, seed, np.random.default_rng(seed))
    with np.errstate(all="ignore"):
        defined = np.isfinite(problem.residuals(to_free(problem.transforms, theta))).any(axis=0)
    if defined.all():
        message = f"`{law.name}` has no value on these data at any start"
        help = "declare starts in the law: `start A = 1, alpha = 0.5`"
        return LawdslError(Diagnostic("F0107", message, help=help))
    row = problem.columns[:, int(np.argmin(defined))].tolist()
    point = {variable.name: value for variable, value in zip(law.variables, row, strict=True)}
    place = abridged([f"{name} = {value:g}" for name, value in point.items()], MAX_SHOWN_VALUES)
    message = f"`{law.name}` has no value at {place} at any start"
    help = (
        "leave such rows out with --where, or declare starts or domains with which it has a value "
        "there: `start A = 1, alpha = 0.5`"
    )
    term = law.undefined_term(point)
    if term:
        message = f"`{law.name}` has no value at {place}: `{term}` is not a finite number there"
        help = "correct the row, leave it out with --where, or write a law that has a value there"
    return LawdslError(Diagnostic("F0107", message, help=help))


def declared_starts(law: PreparedLaw, problem: Problem) -> tuple[Array, int]:
    """The starts that the file declares: its points, and the product of its grids.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.

    Returns:
        Unconstrained parameters, shape (starts, parameters), and how many declared starts were
        excluded because they lie outside the law's domain.

    Raises:
        LawdslError: the law declares no starts, or none inside its domain (F0106).
    """
    theta, outside = law.declared_points()
    return to_free(problem.transforms, theta), outside


def given_start(law: PreparedLaw, problem: Problem, start: Mapping[str, float]) -> Array:
    """The start given by the caller, as unconstrained parameters of shape (1, parameters).

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.
        start: parameter -> value.

    Raises:
        LawdslError: an unknown parameter, or a value outside its domain.
    """
    names = law.names
    for name in start:
        if name not in names:
            help = f"its parameters are {', '.join(names)}"
            message = f"`{law.name}` has no parameter `{name}`"
            raise LawdslError(Diagnostic("F0106", message, help=help))
        if not np.isfinite(start[name]):
            message = f"the start of `{name}` is not a finite number"
            raise LawdslError(Diagnostic("F0106", message, help="give it a value in its domain"))
    theta = law.placed(start)
    if theta is None:
        domains = "; ".join(q.text for q in law.parameters if q.bounds)
        message = "the start lies outside the law's domain"
        raise LawdslError(Diagnostic("F0106", message, help=f"the domains are {domains}"))
    return to_free(problem.transforms, np.array([theta]))
