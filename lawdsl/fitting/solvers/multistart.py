"""Prepared law + problem -> Optimum: the best minimum over many starts; starts are added while few
agree.

A local search runs from each start (`descent`). While fewer than five starts agree on the best
minimum, starts are added in rounds of growing size, some of them scanned (`scan`), and the best few
minima are refined and perturbed (`improvement`). Starts that agree on a plateau count once
(`evidence`); where the rows do not determine the parameters at the minimum on which starts agree, or
the first round did not agree, a lower one is looked for before the search ends. A law with sums
c + p·x^q inside functions is searched in parameters that are centred on the rows (`CentredSearch`).
The last stage of every search, from one start or many, is a trust region with exact derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.fitting.bound_distances import solutions_within_limits, within_limits
from lawdsl.fitting.diagnostics import diagnose
from lawdsl.fitting.options import AUTO, MOST_STARTS, is_whole
from lawdsl.fitting.prepared_law import CentredSearch, PreparedLaw
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.result_parts import Agreement
from lawdsl.fitting.solvers.arrow_search import can_search, refine_by_blocks, search_by_blocks
from lawdsl.fitting.solvers.coupled_bounds import OutsideLimits, ending_outside
from lawdsl.fitting.solvers.descent import POLISH_RTOL, SOLVERS, descend, polish
from lawdsl.fitting.solvers.evidence import SAME_MINIMUM_RTOL, count_agreeing, determines
from lawdsl.fitting.solvers.exact_trust_region import MAX_STEPS, exact_trust_region
from lawdsl.fitting.solvers.improvement import can_improve, perturb_best, refine_best
from lawdsl.fitting.solvers.kinked_losses import first_smoothing, follow
from lawdsl.fitting.solvers.newton import NEWTON_CONVERGENCE_RTOL, newton_batch
from lawdsl.fitting.solvers.projected_problem import project
from lawdsl.fitting.solvers.scan import scan
from lawdsl.fitting.solvers.solver import (
    MINIMUM,
    OUT_OF_STEPS,
    Solution,
    Solver,
    SolverOptions,
    reason_of,
)
from lawdsl.fitting.solvers.starts import (
    chosen_starts,
    declared_starts,
    given_start,
    no_value_error,
)
from lawdsl.fitting.solvers.trust_region import trust_region
from lawdsl.fitting.transforms import to_free, to_parameters, without_coupled_limits

Array = NDArray[np.float64]
Starts = int | str | Mapping[str, float] | Array

# numbers of starts in successive rounds, while too few starts agree
START_ROUNDS = (24, 72, 288, 1152)
# the same, of a problem with many parameters in blocks
BLOCK_ROUNDS = (8, 24, 96)
# number of starts that must agree on the best minimum to end the search
AGREEING_STARTS = 5
# evaluations for the best start, if Newton's method has not converged
EXTRA_EVALUATIONS = 600
# relative to the objective: a minimum from which the last stage gains less is confirmed
CONFIRMED_RTOL = 1e-9
# relative to the objective: a larger difference of two sums over the rows is no rounding
SAME_LOSS_RTOL = 1e-12
# steps of the last stage after a search that has reached the tolerance it was given
CONFIRMING_STEPS = 30
# steps of a refit with a tolerance, and the share of this at which they end, for a predicted decrease
REFIT_STEPS, REFIT_TOLERANCE_SHARE = 40, 1e-2
# starts whose parameters are scanned, and what is added to the seed for their draws
SCANNED_STARTS, CHALLENGE = 16, 101
# rounds of perturbations of the best minima, while too few starts agree
PERTURBATION_ROUNDS = 3
# starts for the fit of the logarithm of the law
LOG_LAW_STARTS = 6
# number of minima of a smooth loss from which that of a loss with a kink is searched
FOLLOWED_MINIMA = 3
# unconstrained parameters that differ by less are of one minimum
SAME_POINT_ATOL = 1e-4
WITHOUT_GRADIENT = SolverOptions(gradient=False)
# largest numbers of Gauss-Newton steps; a step on a long table takes longer
POLISH_STEPS, POLISH_STEPS_LONG_TABLE = 12, 2
# rows of a sample on which a longer table is searched; only the best start is refined on all rows
MAX_SEARCH_ROWS = 4000


@dataclass(frozen=True)
class Optimum:
    """The best minimum over all starts.

    Attributes:
        theta: the parameters, shape (parameters,).
        free: their unconstrained values, shape (parameters,).
        loss: the objective at the minimum.
        agreement: the number of starts, and of those that reached this minimum.
        converged: whether the search converged.
        reason: the reason why the search stopped.
        searched: the problem that the local searches minimised: the original one, that on a sample
            of the rows, or that without the bounds that depend on other parameters.
        reached: the solution of each start, in the unconstrained parameters of `searched`.
        outside: the number of declared starts outside the law's domain.
    """

    theta: Array
    free: Array
    loss: float
    agreement: Agreement
    converged: bool
    reason: str
    searched: Problem
    reached: tuple[Solution, ...]
    outside: int = 0


@np.errstate(all="ignore")  # a step may reach points where a law overflows
def optimum(
    law: PreparedLaw,
    problem: Problem,
    starts: Starts = AUTO,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    solvers: tuple[Solver, Solver] = SOLVERS,
    further_starts: Array | None = None,
    tolerance: float | None = None,
) -> Optimum:
    """Find the parameters that minimise the objective, theta* = argmin Σ w_i·rho(r_i(theta)), plus
    the penalty of the problem if it has one.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.
        starts: the number of starts; `auto` adds starts until several agree; `declared` uses those
            of the file; a mapping is a single start. An array is a single internal start, which is
            moved into the domain.
        seed: the seed of the draws; the same seed gives the same optimum.
        progress: called with the number of starts done, and their total.
        solvers: the solver from anywhere to near the minima, and the one from there to the minima.
            From a single start given by the user a trust-region method is used instead, if the
            problem has no penalty.
        further_starts: additional starts, shape (starts, parameters).
        tolerance: the relative decrease of the objective at which the search from a single start
            ends; None for one at the level of rounding.

    Raises:
        LawdslError: the law is undefined on the data at every start.
    """
    search = (starts, seed, progress, solvers, further_starts, tolerance)
    if problem.objective.row.kinked:
        smooth = optimum(law, first_smoothing(problem), *search)
        return _with_kinks(problem, smooth)
    # a minimum without the bounds between parameters that satisfies them is also the constrained
    # minimum
    without_coupled = without_coupled_limits(problem.transforms)
    if without_coupled is not None:
        relaxed = replace(problem, transforms=without_coupled)
        within = (solvers[0], ending_outside(problem, relaxed, solvers[1]))
        try:
            best = _optimum(law, relaxed, starts, seed, progress, within, further_starts, tolerance)
        except OutsideLimits:
            return _optimum(law, problem, *search)
        if within_limits(problem.transforms, best.theta):
            free = to_free(problem.transforms, best.theta[None])[0]
            inside = solutions_within_limits(problem.transforms, without_coupled, best.reached)
            return replace(best, free=free, reached=inside or best.reached)
    return _optimum(law, problem, *search)


def _optimum(
    law: PreparedLaw,
    problem: Problem,
    starts: Starts,
    seed: int,
    progress: Callable[[int, int], None] | None,
    solvers: tuple[Solver, Solver],
    further_starts: Array | None,
    tolerance: float | None,
) -> Optimum:
    if can_search(problem):
        return _optimum_by_blocks(law, problem, starts, seed, progress, further_starts)
    by_one = replace(WITHOUT_GRADIENT, tolerance=tolerance)
    sample = problem.sample(MAX_SEARCH_ROWS, seed)
    are_chosen = not isinstance(starts, np.ndarray | Mapping) and starts != "declared"
    outside, centred = 0, law.centred(sample) if are_chosen else None
    searched_law, searched = (law, sample) if centred is None else (centred.law, centred.problem)
    if isinstance(starts, np.ndarray):
        reached = _from_one(sample, to_free(sample.transforms, starts[None]), solvers, by_one)
    elif isinstance(starts, Mapping):
        reached = _from_one(sample, given_start(law, sample, starts)[:1], solvers, by_one)
    elif not are_chosen:
        free, outside = declared_starts(law, sample)
        reached = descend(sample, free, progress, solvers)
    else:
        reached = _from_chosen_starts(
            searched_law, searched, _rounds(starts), seed, progress, starts == AUTO, solvers
        )
    best = min(reached, key=lambda d: d.loss)
    if not np.isfinite(best.loss):
        raise no_value_error(law, sample, seed)
    best = _continued(searched, best, by_one)
    if centred is not None:
        (best,), reached = (_original(centred, sample, some) for some in ([best], reached))
    if further_starts is not None:
        free = to_free(sample.transforms, further_starts)
        reached = [*reached, *descend(sample, free, None, solvers)]
        lowest = min(reached, key=lambda d: d.loss)
        if lowest.loss < best.loss:
            best = _continued(sample, lowest, by_one)
    agreement = Agreement(len(reached), count_agreeing(sample, reached))
    if sample is not problem:
        # the minimum on the sample is only close to that on all rows
        points, _, converged, _ = newton_batch(project(problem), best.point[None])
        loss = problem.losses(points)
        best = replace(best, point=points[0], loss=float(loss[0]), converged=bool(converged[0]))
    best = _polished(problem, best, POLISH_STEPS if sample is problem else POLISH_STEPS_LONG_TABLE)
    theta = to_parameters(problem.transforms, best.point[None])[0]
    parts = (agreement, best.converged, best.reason, sample, tuple(reached), outside)
    return Optimum(theta, best.point, float(problem.losses_at(theta[None])[0]), *parts)


def _original(
    centred: CentredSearch, problem: Problem, solutions: list[Solution]
) -> list[Solution]:
    """Solutions of a centred search as solutions of the problem itself; starts in one basin still
    share one.
    """
    mapped: dict[int, Solution] = {}
    for solution in solutions:
        if id(solution) not in mapped:
            theta = to_parameters(centred.problem.transforms, solution.point[None])
            point = to_free(problem.transforms, centred.original(theta))[0]
            mapped[id(solution)] = replace(solution, point=point)
    return [mapped[id(solution)] for solution in solutions]


def _optimum_by_blocks(
    law: PreparedLaw,
    problem: Problem,
    starts: Starts,
    seed: int,
    progress: Callable[[int, int], None] | None,
    further_starts: Array | None,
) -> Optimum:
    """The optimum of a problem with many parameters in blocks. All rows are searched, as a sample has
    too few of each block."""
    reached: list[Solution] = []
    outside = 0
    if isinstance(starts, np.ndarray):
        reached = search_by_blocks(problem, to_free(problem.transforms, starts[None]))
    elif isinstance(starts, Mapping):
        reached = search_by_blocks(problem, given_start(law, problem, starts))
    elif isinstance(starts, str) and starts == "declared":
        free, outside = declared_starts(law, problem)
        reached = search_by_blocks(problem, free, progress)
    else:
        for number, count in enumerate(BLOCK_ROUNDS if starts == AUTO else _rounds(starts)):
            free = chosen_starts(law, problem, count, seed + number)
            if len(free):
                reached += search_by_blocks(problem, free, progress)
            if reached and count_agreeing(problem, reached) >= AGREEING_STARTS:
                break
    if further_starts is not None:
        reached += search_by_blocks(problem, to_free(problem.transforms, further_starts))
    best = min(reached, key=lambda d: d.loss, default=None)
    if best is None or not np.isfinite(best.loss):
        raise no_value_error(law, problem, seed)
    agreement = Agreement(len(reached), count_agreeing(problem, reached))
    onto_bounds = diagnose.move_onto_bounds(problem, best.point, best.loss)
    last = refine_by_blocks(problem, onto_bounds)
    if last.loss <= best.loss * (1 + POLISH_RTOL):
        best = last
    theta = to_parameters(problem.transforms, best.point[None])[0]
    parts = (agreement, best.converged, best.reason, problem, tuple(reached), outside)
    return Optimum(theta, best.point, best.loss, *parts)


def _with_kinks(problem: Problem, smooth: Optimum) -> Optimum:
    """The minimum of a loss with a kink, from the best minima of a smooth one.

    Their order by the smooth loss may differ from that by the loss itself, so several are refined.
    """
    points = [smooth.free]
    for solution in sorted(smooth.reached, key=lambda d: d.loss):
        # the starts may have been searched without the bounds between parameters
        theta = to_parameters(smooth.searched.transforms, solution.point[None])
        point = to_free(problem.transforms, theta)[0]
        is_new = all(np.max(np.abs(point - p)) > SAME_POINT_ATOL for p in points)
        if len(points) < FOLLOWED_MINIMA and np.isfinite(solution.loss) and is_new:
            points.append(point)
    free, loss, converged = min((follow(problem, p) for p in points), key=lambda end: end[1])
    theta = to_parameters(problem.transforms, free[None])[0]
    reason = MINIMUM if converged else OUT_OF_STEPS
    return replace(smooth, theta=theta, free=free, loss=loss, converged=converged, reason=reason)


def _from_one(
    problem: Problem, start: Array, solvers: tuple[Solver, Solver], options: SolverOptions
) -> list[Solution]:
    """The solution from one start, shape (1, parameters). Without other starts to confirm it, the
    slower solver is used, which has never reported a wrong minimum; but not with a penalty, which
    it does not support, nor for a refit with a tolerance that ends within a few steps.
    """
    if problem.penalty is not None:
        return descend(problem, start, None, solvers)
    if options.tolerance is not None and can_improve(problem):
        # a refit close to its start, whose last digits do not matter, takes a few Newton steps
        solution = exact_trust_region(
            project(problem), start[0], REFIT_STEPS, REFIT_TOLERANCE_SHARE * options.tolerance
        )
        if solution.converged:
            return [solution]
    return trust_region(problem, start, options)


def _continued(problem: Problem, best: Solution, options: SolverOptions) -> Solution:
    """The last stage of every search: a trust region with exact derivatives, which goes on where
    Newton's method has used up its steps in a curved valley, and confirms a minimum in one step;
    with many parameters, that of SciPy or, with priors, of further Newton steps.
    """
    if can_improve(problem):
        is_enough = options.tolerance is not None and best.converged
        limit = CONFIRMING_STEPS if is_enough else MAX_STEPS
        rtol = NEWTON_CONVERGENCE_RTOL
        if options.tolerance is not None:
            rtol = max(rtol, REFIT_TOLERANCE_SHARE * options.tolerance)
        continued = exact_trust_region(project(problem), best.point, limit, rtol)
        # what a minimum gains is rounding, unless it is none
        highest = best.loss * (1 - CONFIRMED_RTOL) - problem.exact
        if not best.converged:
            # the same point may have a loss that is larger by rounding
            highest = best.loss * (1 + SAME_LOSS_RTOL) if continued.converged else best.loss
        return continued if continued.loss <= highest else best
    if best.converged:
        return best
    if problem.penalty is not None:
        points, losses, done, _ = newton_batch(
            project(problem), best.point[None], limit=EXTRA_EVALUATIONS
        )
        continued = Solution(
            points[0], float(losses[0]), bool(done[0]), reason_of(losses[0], done[0])
        )
    else:
        (continued,) = trust_region(
            problem, best.point[None], replace(options, evaluations=EXTRA_EVALUATIONS)
        )
    return continued if continued.loss <= best.loss else best


def _polished(problem: Problem, best: Solution, steps: int) -> Solution:
    """The solution refined to the last digits; parameters that diverge towards a bound are moved to
    a canonical point.
    """
    polished = polish(problem, diagnose.move_onto_bounds(problem, best.point, best.loss), steps)
    loss = float(problem.losses(polished[None])[0])
    if loss <= best.loss * (1 + POLISH_RTOL):
        return replace(best, point=polished, loss=loss)
    return best


def _rounds(starts: Starts) -> tuple[int, ...]:
    if isinstance(starts, str) and starts == AUTO:
        return START_ROUNDS
    if not is_whole(starts) or not 1 <= starts <= MOST_STARTS:
        message = f"`{starts}` is not a valid number of starts"
        help = f"give a number from 1 to {MOST_STARTS:,}, `auto`, `declared`, or values of the parameters"
        raise LawdslError(Diagnostic("F0106", message, help=help))
    return (int(starts),)


def _from_chosen_starts(
    law: PreparedLaw,
    problem: Problem,
    rounds: tuple[int, ...],
    seed: int,
    progress: Callable[[int, int], None] | None,
    from_log_law: bool,
    solvers: tuple[Solver, Solver],
) -> list[Solution]:
    """Local searches from random starts until several agree, and from starts of the logarithm of
    the law, if these are cheap.
    """
    form = law.with_solved_factors(problem) or problem
    reached: list[Solution] = []
    for number, count in enumerate(rounds):
        free = chosen_starts(law, form, count, seed + number)
        if number > 1 and can_improve(form):
            chosen = np.arange(len(free)) % max(1, len(free) // SCANNED_STARTS) == 0
            free[chosen] = scan(form, free[chosen], np.random.default_rng((seed, number, 5)))
        if len(free):
            reached += descend(form, free, progress, solvers)
        if number == 0 and from_log_law:
            reached += _from_log_law(law, problem, seed, solvers)
        if not reached:
            continue
        if number > 0 and count_agreeing(problem, reached) < AGREEING_STARTS:
            reached = _improved(form, problem, reached, seed + number, solvers)
        if count_agreeing(problem, reached) < AGREEING_STARTS:
            continue
        if len(rounds) == 1:
            break
        reached, is_lower = _challenged(law, form, reached, number, seed, solvers)
        if not is_lower:
            break
    if not reached:
        raise no_value_error(law, problem, seed)
    return reached


def _challenged(
    law: PreparedLaw,
    form: Problem,
    reached: list[Solution],
    number: int,
    seed: int,
    solvers: tuple[Solver, Solver],
) -> tuple[list[Solution], bool]:
    """The solutions after an attempt to find a lower one than that on which starts agree; and whether
    there is one.

    It is attempted where the rows do not determine the parameters at the minimum, since starts at
    the wrong scale may agree where the law has lost some of its terms, and where the starts of the
    first round did not agree.
    """
    best = min(reached, key=lambda d: d.loss)
    if not can_improve(form) or best.loss <= form.exact:
        return reached, False
    if number == 0 and determines(form, best.point):
        return reached, False
    drawn = chosen_starts(law, form, SCANNED_STARTS, seed + CHALLENGE)
    rng = np.random.default_rng((seed, number, 4))
    scanned = scan(form, drawn, rng)
    solutions = descend(form, scanned, None, solvers) if len(scanned) else []
    if number > 0:
        known = {id(d) for d in reached}
        solutions += [d for d in perturb_best(form, reached, rng, solvers) if id(d) not in known]
    lowest = min((d.loss for d in solutions), default=np.inf)
    if lowest < best.loss * (1 - SAME_MINIMUM_RTOL):
        return [*reached, *solutions], True
    return reached, False


def _improved(
    form: Problem,
    problem: Problem,
    reached: list[Solution],
    seed: int,
    solvers: tuple[Solver, Solver],
) -> list[Solution]:
    """Better solutions from the best few, until enough starts lead to the same."""
    if not can_improve(form):
        return reached
    rng = np.random.default_rng((seed, 3))
    reached = refine_best(form, reached)
    for _ in range(PERTURBATION_ROUNDS):
        if count_agreeing(problem, reached) >= AGREEING_STARTS:
            break
        reached = perturb_best(form, reached, rng, solvers)
    return reached


def _from_log_law(
    law: PreparedLaw, problem: Problem, seed: int, solvers: tuple[Solver, Solver]
) -> list[Solution]:
    """Local searches from the best fits of the logarithm of the law to that of the data: the
    logarithm is linear in more parameters, and its optimum is usually close to that of the law.
    """
    log_problem = law.of_logarithms(problem)
    if log_problem is None:
        return []
    free = chosen_starts(law, log_problem, LOG_LAW_STARTS, seed)
    best = (
        min(descend(log_problem, free, None, solvers), key=lambda d: d.loss, default=None)
        if len(free)
        else None
    )
    if best is None or not np.isfinite(best.loss):
        return []
    start = polish(log_problem, best.point)
    return (
        descend(problem, start[None], None, solvers)
        if np.isfinite(problem.losses(start[None])[0])
        else []
    )
