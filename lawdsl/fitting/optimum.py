"""The best parameters for a table: starts, their descents, more starts while few agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.choices import MOST_STARTS, is_whole
from lawdsl.diagnostics import Diagnostic, LawdslError
from lawdsl.fitting import diagnosis
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.records import Agreement
from lawdsl.fitting.search import POLISHED, Descent, descend, finely, from_one, polish
from lawdsl.fitting.starts import chosen_starts, declared_starts, given_start
from lawdsl.fitting.transforms import keeps, relaxed, to_free, to_parameters
from lawdsl.law import Law

Array = NDArray[np.float64]
Starts = int | str | Mapping[str, float] | Array

AUTO = "auto"
ROUNDS = (24, 72, 288, 1152)  # starts that the engine adds while too few agree
ENOUGH = 5  # starts that agree on the best minimum
SAME = 1e-6  # relative difference of objectives that counts as the same minimum
POLISH, POLISH_LONG = 12, 2  # steps at most
LONG = 4000  # rows beyond which starts are compared on a sample, and only the best sees all


@dataclass(frozen=True)
class Optimum:
    """The best minimum that was found.

    Attributes:
        theta: the parameters, shape (parameters,).
        free: the free numbers they come from.
        loss: the objective there.
        agreement: how many starts there were, and how many led there.
        converged: whether it is a minimum.
        reason: why the search stopped.
        searched: what the starts have minimised: the fit, or a part of its rows, or without the
            bounds that depend on other parameters.
        reached: where each start led, in the free numbers of that.
        outside: how many declared starts lie outside the domain.
    """

    theta: Array
    free: Array
    loss: float
    agreement: Agreement
    converged: bool
    reason: str
    searched: Problem
    reached: tuple[Descent, ...]
    outside: int = 0


@np.errstate(all="ignore")  # a step may lead where a law overflows
def optimum(
    law: Law,
    problem: Problem,
    starts: Starts = AUTO,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Optimum:
    """The best parameters.

    Args:
        law: the law.
        problem: its fit.
        starts: how many, `auto` for as many as it takes until several agree, `declared`, or one;
            as an array one that the engine has come to, which is put inside the domain.
        seed: of the draws; the same seed gives the same optimum.
        progress: called with how many starts are done, and of how many.

    Raises:
        LawdslError: the law has no value on the data at any start.
    """
    free = relaxed(problem.transforms)
    if free is not None:
        looser = replace(problem, transforms=free)
        found = _optimum(law, looser, starts, seed, progress)
        if keeps(problem.transforms, found.theta):
            return replace(found, free=to_free(problem.transforms, found.theta[None])[0])
    return _optimum(law, problem, starts, seed, progress)


def _optimum(
    law: Law,
    problem: Problem,
    starts: Starts,
    seed: int,
    progress: Callable[[int, int], None] | None,
) -> Optimum:
    sample = problem.sample(LONG, seed)
    outside = 0
    if isinstance(starts, np.ndarray):
        reached = [from_one(sample, to_free(sample.transforms, starts[None])[0])]
    elif isinstance(starts, Mapping):
        reached = [from_one(sample, given_start(law, sample, starts)[0])]
    elif isinstance(starts, str) and starts == "declared":
        free, outside = declared_starts(law, sample)
        reached = descend(sample, free, progress)
    else:
        reached = _by_chosen(law, sample, _rounds(starts), seed, progress)
    losses = np.array([d.loss for d in reached])
    best = reached[int(np.argmin(losses))]
    if not np.isfinite(best.loss):
        message = "the law has no value on these data wherever the search goes"
        help = "declare starts in the law, or domains that keep it defined"
        raise LawdslError(Diagnostic("F0107", message, help=help))
    agreement = Agreement(len(reached), _agreed(sample, losses))
    if sample is not problem:
        there, _, settled = finely(problem, best.free[None])
        loss = problem.losses(there)
        best = replace(best, free=there[0], loss=float(loss[0]), converged=bool(settled[0]))
    best = _polished(problem, best, POLISH if sample is problem else POLISH_LONG)
    theta = to_parameters(problem.transforms, best.free[None])[0]
    end = (agreement, best.converged, best.reason, sample, tuple(reached), outside)
    return Optimum(theta, best.free, float(problem.losses_at(theta[None])[0]), *end)


def _polished(problem: Problem, best: Descent, steps: int) -> Descent:
    """To the last digits, parameters that run off to a bound being put where rounding ends."""
    polished = polish(problem, diagnosis.on_bounds(problem, best.free, best.loss), steps)
    loss = float(problem.losses(polished[None])[0])
    if loss <= best.loss * (1 + POLISHED):
        return replace(best, free=polished, loss=loss)
    return best


def _agreed(problem: Problem, losses: Array) -> int:
    best = float(np.min(losses))
    return int(np.sum(losses <= best + max(SAME * abs(best), problem.exact)))


def _rounds(starts: Starts) -> tuple[int, ...]:
    if isinstance(starts, str) and starts == AUTO:
        return ROUNDS
    if not is_whole(starts) or not 1 <= starts <= MOST_STARTS:
        message = f"`{starts}` is no number of starts"
        help = f"give a number from 1 to {MOST_STARTS:,}, `auto`, `declared`, or values of the parameters"
        raise LawdslError(Diagnostic("F0106", message, help=help))
    return (int(starts),)


def _by_chosen(
    law: Law,
    problem: Problem,
    rounds: tuple[int, ...],
    seed: int,
    progress: Callable[[int, int], None] | None,
) -> list[Descent]:
    """Descents of starts that the engine chooses, until several of them agree."""
    reached: list[Descent] = []
    for number, count in enumerate(rounds):
        free = chosen_starts(law, problem, count, seed + number)
        if len(free):
            reached += descend(problem, free, progress)
        if reached and _agreed(problem, np.array([d.loss for d in reached])) >= ENOUGH:
            break
    if not reached:
        message = f"`{law.name}` has no value on these data at any start"
        help = "declare starts in the law: `start A = 1, alpha = 0.5`"
        raise LawdslError(Diagnostic("F0107", message, help=help))
    return reached
