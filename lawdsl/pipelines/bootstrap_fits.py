"""Fit + other measured values of its rows -> refitted parameters, for many draws as one array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.losses import with_slope
from lawdsl.fitting.problem import Problem, rho, rho_curvature, rho_slope
from lawdsl.fitting.transforms import to_free, to_parameters

Array = NDArray[np.float64]

MAX_REFIT_STEPS = 1000
REFIT_LOSS_RTOL = 1e-11  # relative decrease of the objective that counts as convergence
MAX_STEP_LENGTH = 4.0  # in unconstrained parameters: a factor of exp(4) for a positive parameter
# relative to the median residual: range within which a loss with a kink is smoothed
SMOOTHED_SHARE = 0.3
CHUNK = 25  # draws with rows of their own that are refitted together
MAX_DAMPING = 1e10  # damping at which no step decreases the objective


@np.errstate(all="ignore")  # a step may reach points where a law overflows
def refit(
    problem: Problem,
    theta: Array,
    targets: Array,
    tolerance: float = REFIT_LOSS_RTOL,
    steps: int = MAX_REFIT_STEPS,
) -> tuple[Array, NDArray[np.bool_]]:
    """Refit the parameters to other measured values, by damped Newton steps (Levenberg-Marquardt)
    from those of the fit.

    Each step solves (D^-1 H D^-1 + damping*I) D s = -D^-1 g, the scaled system of Levenberg and
    Marquardt (Nocedal and Wright (2006), Numerical Optimization, section 10.3).

    Args:
        problem: the objective to be minimised, with its data.
        theta: the fitted parameters, shape (parameters,), where each search begins.
        targets: the measured values of each draw, shape (draws, rows).
        tolerance: the relative decrease of the objective at which a search ends.
        steps: the number of steps after which it ends in any case.

    Returns:
        Parameters, shape (draws, parameters), and which of the searches ended in a minimum, shape
        (draws,).
    """
    transformed_targets = np.log(targets) if problem.objective.log else targets
    start = to_free(problem.transforms, theta[None])
    search = _LevenbergMarquardt(
        problem,
        np.repeat(start, len(targets), axis=0),
        problem.goal - transformed_targets,
        tolerance,
    )
    search.run(steps)
    return to_parameters(problem.transforms, search.free), search.settled


@np.errstate(all="ignore")  # a step may reach points where a law overflows
def refit_from_several(
    problem: Problem, thetas: Sequence[Array], targets: Array, tolerance: float, steps: int
) -> tuple[Array, NDArray[np.bool_]]:
    """Refit the parameters from several starts, and take the best for each draw.

    A search that begins on a bound does not leave it: such a fit has a second start inside.

    Args:
        problem, targets, tolerance, steps: as for `refit`.
        thetas: the starts, each of shape (parameters,).
    """
    best, settled = refit(problem, thetas[0], targets, tolerance, steps)
    for theta in thetas[1:]:
        other, also = refit(problem, theta, targets, tolerance, steps)
        # in steps of a draw: losses are those of its own targets
        losses = [_losses(problem, x, targets) for x in (best, other)]
        better = losses[1] < losses[0]
        best[better], settled[better] = other[better], also[better]
    return best, settled


def _losses(problem: Problem, theta: Array, targets: Array) -> Array:
    """The objective of each draw at its parameters, shape (draws,)."""
    transformed = np.log(targets) if problem.objective.log else targets
    residual = problem.residuals_at(theta) + problem.goal - transformed
    weights = np.ones(problem.rows) if problem.weights is None else problem.weights
    losses = np.sum(weights * rho(residual, problem.objective), axis=1)
    return np.where(np.isfinite(losses), losses, np.inf)


@np.errstate(all="ignore")  # a step may reach points where a law overflows
def refit_rows(
    problem: Problem, theta: Array, columns: Array, targets: Array, usable: NDArray[np.bool_]
) -> tuple[Array, NDArray[np.bool_]]:
    """Refit the parameters to rows of which the variables, too, differ between draws.

    Args:
        problem: the objective to be minimised, with its data.
        theta: the fitted parameters, shape (parameters,), where each search begins.
        columns: the variables of each draw, shape (variables, draws, rows).
        targets: the measured values of each draw, shape (draws, rows).
        usable: whether a draw has the row, shape (draws, rows); without it the row has no weight.

    Returns:
        As `refit`; nan for draws with fewer rows than parameters.
    """
    draws, rows = targets.shape
    weights = np.ones(rows) if problem.weights is None else problem.weights
    columns = np.where(usable, columns, problem.columns[:, None, :])
    targets = np.where(usable, targets, problem.target)
    drawn, settled = np.full((draws, len(theta)), np.nan), np.zeros(draws, dtype=bool)
    enough = np.flatnonzero(usable.sum(axis=1) >= len(theta))
    for chunk in np.array_split(enough, max(1, len(enough) // CHUNK)):
        if not len(chunk):
            continue
        # the rows of all draws beside each other: in each draw those of the others weigh nothing
        own = np.zeros((len(chunk), len(chunk), rows))
        own[np.arange(len(chunk)), np.arange(len(chunk))] = weights * usable[chunk]
        stacked = replace(
            problem,
            model=problem.model.on(columns[:, chunk].reshape(len(columns), -1)),
            target=targets[chunk].reshape(-1),
            weights=own.reshape(len(chunk), -1),
        )
        start = to_free(problem.transforms, np.repeat(theta[None], len(chunk), axis=0))
        search = _LevenbergMarquardt(stacked, start, np.zeros((len(chunk), len(chunk) * rows)))
        search.run()
        drawn[chunk] = to_parameters(problem.transforms, search.free)
        settled[chunk] = search.settled
    return drawn, settled


class _LevenbergMarquardt:
    """The state of all searches: one row per draw.

    Args:
        problem: the objective to be minimised, with its data; its weights may differ between draws.
        free: starting points, shape (draws, parameters).
        shift: the difference between the residuals of each draw and those of the fit, shape (draws,
            rows).
        tolerance: the relative decrease of the objective at which a search ends.
    """

    def __init__(
        self, problem: Problem, free: Array, shift: Array, tolerance: float = REFIT_LOSS_RTOL
    ) -> None:
        self.tolerance = tolerance
        objective = with_slope(problem.objective, problem.residuals(free[:1]), SMOOTHED_SHARE)
        self.problem = replace(problem, objective=objective)
        self.free, self.shift = free, shift
        self.weights = np.ones(problem.rows) if problem.weights is None else problem.weights
        self.losses = self._losses(free, shift, np.arange(len(free)))
        self.damping = np.full(len(free), 1e-3)
        self.settled = np.zeros(len(free), dtype=bool)
        self.going = np.flatnonzero(np.isfinite(self.losses))

    def run(self, steps: int = MAX_REFIT_STEPS) -> None:
        """Take steps until every search has ended, or that many."""
        for _ in range(steps):
            if not self.step():
                break

    def _weights_of(self, draws: NDArray[np.int64]) -> Array:
        return self.weights if self.weights.ndim == 1 else self.weights[draws]

    def _losses(self, free: Array, shift: Array, draws: NDArray[np.int64]) -> Array:
        residual = self.problem.residuals(free) + shift
        losses = self._weights_of(draws) * rho(residual, self.problem.objective)
        return np.asarray(np.sum(losses, axis=1))

    def step(self) -> bool:
        """Take one step in every active search; returns whether any was active."""
        active, objective = self.going, self.problem.objective
        if not len(active):
            return False
        residual, slopes = self.problem.residuals_and_slopes(self.free[active])
        residual = residual + self.shift[active]
        weights = self._weights_of(active)
        loss_slopes = weights * rho_slope(residual, objective)
        loss_curvatures = weights * rho_curvature(residual, objective, exact=False)
        gradient = (loss_slopes[:, None] @ slopes)[:, 0]
        curvature = np.swapaxes(slopes, 1, 2) @ (loss_curvatures[:, :, None] * slopes)
        scales = np.sqrt(np.einsum("spp->sp", curvature))
        scales = np.where(scales > 0, scales, 1.0)
        scaled = curvature / (scales[:, :, None] * scales[:, None, :])
        usable = np.isfinite(scaled).all(axis=(1, 2)) & np.isfinite(gradient).all(axis=1)
        # eigh raises for the whole stack if one matrix has a number that is not finite
        scaled[~usable], gradient[~usable] = np.eye(scaled.shape[1]), 0.0
        scaled += self.damping[active][:, None, None] * np.eye(scaled.shape[1])
        values, vectors = np.linalg.eigh(scaled)
        projected = (vectors.swapaxes(1, 2) @ (-gradient / scales)[:, :, None])[:, :, 0]
        step = (vectors @ (projected / np.maximum(values, 1e-14))[:, :, None])[:, :, 0] / scales
        step /= np.maximum(1.0, np.max(np.abs(step), axis=1) / MAX_STEP_LENGTH)[:, None]
        trial_points = self.free[active] + step
        losses = self._losses(trial_points, self.shift[active], active)
        decreases = self.losses[active] - losses
        is_better = decreases >= 0
        accepted = active[is_better]
        self.free[accepted], self.losses[accepted] = trial_points[is_better], losses[is_better]
        damping = self.damping[active]
        tolerance = self.tolerance * np.maximum(self.losses[active], self.problem.exact)
        # with large damping every decrease is small, which would look like convergence
        undamped = np.maximum(values - damping[:, None], 1e-14)
        predicted_fall = np.sum(projected**2 / undamped, axis=1) / 2
        is_done = (predicted_fall <= tolerance) | (
            is_better & (decreases <= tolerance) & (damping <= 1e-3)
        )
        self.settled[active[is_done]] = True
        self.damping[active] = np.where(is_better, np.maximum(damping / 5, 1e-12), damping * 4)
        self.going = active[~is_done & usable & (self.damping[active] <= MAX_DAMPING)]
        stuck = active[~is_done & (self.damping[active] > MAX_DAMPING)]
        self.settled[stuck] = True  # no step decreases the objective: converged up to rounding
        return True
