"""From many starts at once to the minima they lead to.

Two stages, each on all starts as one array. The first moves only the parameters in which the law is
not linear, solves for the others at every step (Gauss-Newton with damping; Ruhe and Wedin 1980),
and takes Huber's delta as wide as the residuals are, so that it sees a smooth bowl. The second
goes by Newton's method with exact second derivatives to the minimum of the objective itself,
delta narrowing on the way. Starts that no longer can reach the best are given up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from lawdsl.fitting.linear import basis, refined, solved
from lawdsl.fitting.problem import Problem, Quadratic, rho, rho_bend
from lawdsl.fitting.transforms import to_free, to_parameters
from lawdsl.language.resolving import Objective

Array = NDArray[np.float64]
Chosen = NDArray[np.int64]

EVALUATIONS, EXACTLY = 6000, 1e-15  # of one start; relative tolerance
ROUGH_STEPS = 200  # of the first stage
FINE_STEPS = 60  # of the second
ROUGH = 0.003  # relative fall of the loss in a step, below which a start has settled
PATIENCE = 3  # steps before a start may be given up
HOPE = 12.0  # so many times its last fall a start must suffice to reach the best one
NEAR = 1.3  # times the best loss: what the second stage still looks at
LONGEST = 2.0  # step of a free number: a factor of e^2 in what has one bound
FAR_OUT = -18.0  # a free number of a parameter that lies on its bound
CRAWLING = 1e-3  # damping that makes small steps, whose small falls say nothing
DAMPING, EASED, STIFFENED = 1e-2, 0.2, 6.0
WIDTH = 1.345  # Huber's delta in standard errors of the residuals, where most count as squares
ENOUGH = 1e-2  # of the fall foreseen: what the linear parameters may leave
SETTLED = 1e-14  # relative fall that Newton's method foresees at the minimum
AGAIN, WIDENED = 5, 3.0  # how often Huber's delta is widened, and how far
NARROWED = 0.25  # of Huber's delta, from one step to the next
STUCK = 1e4  # damping at which no step leads lower
PLACED = 0.5  # relative: free numbers further apart are of two basins
ALIKE = 0.1  # of the usual residual: predictions nearer than that are of one basin
TOGETHER = 48  # starts in one array
EXACTLY_SETTLED = 1e-9  # the same where the fit is exact, of the loss that is rounding
POLISHED = 1e-9  # relative: of an objective summed from rounded residuals
NOISE = 1e-14  # relative: of an objective summed from rounded residuals


@dataclass(frozen=True)
class Descent:
    """Where one start led.

    Attributes:
        free: the free numbers reached, shape (parameters,).
        loss: the objective there.
        converged: whether a minimum was reached.
        reason: why the search stopped.
    """

    free: Array
    loss: float
    converged: bool
    reason: str


def descend(
    problem: Problem,
    free: Array,
    progress: Callable[[int, int], None] | None = None,
) -> list[Descent]:
    """Follow starts downhill.

    Args:
        problem: the fit.
        free: free numbers, shape (starts, parameters).
        progress: called with how many starts are done, and of how many.

    Returns:
        Where each start led, in their order. Starts that come to the same predictions are in one
        basin, and go on as one.
    """
    ways = [widened(problem, free), problem.objective]
    rough, losses = free.copy(), np.full(len(free), np.inf)
    for first in range(0, len(free), TOGETHER):
        last = min(first + TOGETHER, len(free))
        for number, way in enumerate(ways):  # the smooth bowl may lie elsewhere
            some = np.arange(first + number, last, 2)
            rough[some], losses[some] = roughly(problem, free[some], way)
        if progress is not None:
            progress(last, len(free))
    reached = np.isfinite(losses)
    losses[reached] = problem.losses(rough[reached])
    found = [Descent(u, np.inf, False, GIVEN_UP) for u in rough]
    basins = _basins(problem, rough, losses)
    if basins:
        ends = _ends(problem, rough[[basin[0] for basin in basins]])
        for basin, end in zip(basins, ends, strict=True):
            for k in basin:
                found[k] = end
    return found


def _ends(problem: Problem, free: Array) -> list[Descent]:
    reached = zip(*finely(problem, _lifted(problem, free)), strict=True)
    return [
        Descent(u, float(at), bool(done and np.isfinite(at)), ENDS[bool(done)])
        for u, at, done in reached
    ]


def _lifted(problem: Problem, free: Array) -> Array:
    """Free numbers with those far out on a bound brought back, where that lowers the loss."""
    out = (free < FAR_OUT) & (_longest(problem) < np.inf)
    if not out.any():
        return free
    near = problem.quadratic(free, exact=False)
    with np.errstate(all="ignore"):
        room = np.exp(free)
        pull, stiff = near.gradient / room, np.einsum("sii->si", near.hessian) / room**2
        there = room - pull / stiff
        return np.where(out & (stiff > 0) & (there > 2 * room), np.log(there), free)


GIVEN_UP = "another start had found better"
ENDS = {True: "no step leads lower", False: "the limit of steps was reached"}


def from_one(problem: Problem, free: Array) -> Descent:
    """Follow one start, of shape (parameters,), downhill, and no further than it leads.

    Trust-region reflective least squares with the exact Jacobian and tolerances at rounding level:
    of the solvers measured on the NIST sets the only one that never claims a wrong minimum.
    """
    huber = problem.objective.loss == "huber"

    def residuals(u: Array) -> Array:
        return np.nan_to_num(problem.residuals(u[None])[0], nan=1e30, posinf=1e30, neginf=-1e30)

    def slopes(u: Array) -> Array:
        found = problem.residuals_and_slopes(u[None])[1][0]
        return np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0)

    weights = np.sqrt(problem.weights if problem.weights is not None else np.ones(problem.rows))
    try:
        with np.errstate(all="ignore"):
            found = least_squares(
                lambda u: weights * residuals(u),
                free,
                lambda u: weights[:, None] * slopes(u),
                method="trf",
                x_scale="jac",
                loss="huber" if huber else "linear",
                f_scale=problem.objective.delta if huber else 1.0,
                ftol=EXACTLY,
                xtol=EXACTLY,
                gtol=EXACTLY,
                max_nfev=EVALUATIONS,
            )
    except (ValueError, np.linalg.LinAlgError):
        return Descent(free, np.inf, False, "the law has no value there")
    reached, loss, settled = finely(problem, found.x[None])
    done = bool(settled[0] or found.status > 0)
    return Descent(reached[0], float(loss[0]), done, ENDS[done])


def _basins(problem: Problem, free: Array, losses: Array) -> list[list[int]]:
    """Starts that are worth going on with, those of like predictions together, the best first."""
    order = np.argsort(losses, kind="stable")
    order = order[losses[order] <= NEAR * losses[order[0]] + problem.exact]
    order = order[np.isfinite(losses[order])]
    basins: list[list[int]] = []
    kept: list[Array] = []
    width = 0.0
    for k in order:
        residual = problem.residuals(free[k : k + 1])[0]
        if not basins:
            width = ALIKE * float(np.median(np.abs(residual)))
        home = None
        for basin, other in zip(basins, kept, strict=True):
            apart = np.abs(free[k] - free[basin[0]]) / (1 + np.abs(free[k]))
            same = np.max(apart, initial=0.0) <= PLACED  # two terms may have changed places
            if same and np.sqrt(np.mean((residual - other) ** 2)) <= width:
                home = basin
                break
        if home is None:
            basins.append([int(k)])
            kept.append(residual)
        else:
            home.append(int(k))
    return basins


def widened(problem: Problem, free: Array) -> Objective:
    """The objective with Huber's delta as wide as the residuals of the best of some points are."""
    if problem.objective.loss != "huber":
        return problem.objective
    best = free[np.argmin(problem.losses(free))]
    size = WIDTH * 1.4826 * float(np.median(np.abs(problem.residuals(best[None]))))
    return replace(problem.objective, delta=max(problem.objective.delta, size))


def roughly(
    problem: Problem,
    free: Array,
    objective: Objective,
) -> tuple[Array, Array]:
    """The first stage: free numbers near the minima, and the losses there; inf where given up.

    Args:
        problem: the fit.
        free: starts, shape (starts, parameters).
        objective: in place of the problem's own.
    """
    search = _Rough(problem, free, objective)
    for step in range(ROUGH_STEPS):
        if not search.step(step):
            break
    return search.free, search.losses


class _Rough:
    """The state of the first stage: one row a start."""

    def __init__(self, problem: Problem, free: Array, objective: Objective) -> None:
        self.problem, self.objective = problem, objective
        self.moving = _moving(problem)
        self.free = free.copy()
        self.residual = problem.residuals(free)
        self.losses = problem.losses(free, objective)
        self.damping = np.full(len(free), DAMPING)
        self.fall = np.full(len(free), np.inf)
        self.going = np.flatnonzero(np.isfinite(self.losses))

    def step(self, number: int) -> bool:
        """One step of every start that is still going; whether any is."""
        going = self.going
        if not len(going):
            return False
        moved, residual = self._moved(going)
        total = self.problem.total(rho(residual, self.objective))
        losses = np.where(np.isfinite(total), total, np.inf)
        before = self.losses[going]
        with np.errstate(invalid="ignore"):
            fall = np.where(np.isfinite(losses), before - losses, -np.inf)
        better = fall > 0
        kept = going[better]
        self.free[kept], self.losses[kept] = moved[better], losses[better]
        self.residual[kept] = residual[better]
        self.fall[kept] = fall[better]
        self.damping[going] *= np.where(better, EASED, STIFFENED)
        np.clip(self.damping, 1e-9, 1e9, out=self.damping)
        self._stop(going, better, number)
        return True

    def _stop(self, going: Chosen, better: NDArray[np.bool_], number: int) -> None:
        """Leave out starts that have settled, are stuck, or have no hope of reaching the best."""
        loss, best = self.losses[going], np.min(self.losses)
        settled = better & (self.fall[going] <= ROUGH * loss) & (self.damping[going] < CRAWLING)
        settled |= ~better & (self.damping[going] > 1e6)
        settled |= loss <= self.problem.exact
        hopeless = np.zeros_like(settled)
        if number >= PATIENCE:
            hopeless = better & (loss - best > HOPE * self.fall[going]) & (loss > NEAR * best)
        self.losses[going[hopeless]] = np.inf
        self.going = going[~(settled | hopeless)]

    def _moved(self, going: Chosen) -> tuple[Array, Array]:
        """A damped step of the parameters that are not linear, the others solved for; and the
        residuals there."""
        problem, moving = self.problem, self.moving
        free, damping = self.free[going], self.damping[going]
        if moving.any():
            near = problem.quadratic(free, exact=False, objective=self.objective)
            size = np.sqrt(np.maximum(np.einsum("sii->si", near.hessian), 1e-300))
            scaled = near.hessian / (size[:, :, None] * size[:, None, :])
            # a linear parameter on its bound stays there, instead of paying for the others' steps
            held = ~moving & (free < FAR_OUT) & self._bounded
            scaled[held[:, :, None] | held[:, None, :]] = 0.0
            added = np.where(moving, damping[:, None], 1e-12) + held
            np.einsum("sii->si", scaled)[...] += added
            pull = np.where(held, 0.0, near.gradient / size)
            scaled, pull = np.nan_to_num(scaled), np.nan_to_num(pull)
            np.einsum("sii->si", scaled)[...] += 1e-14
            step = -np.linalg.solve(scaled, pull[..., None])[..., 0] / size
            longest = _longest(problem)
            moved = free + np.where(moving, np.clip(step, -longest, longest), 0.0)
        else:
            moved = free
        if not problem.linear:
            return moved, problem.residuals(moved)
        theta = to_parameters(problem.transforms, moved)
        weights = None
        if self.objective.loss == "huber":
            weights = rho_bend(self.residual[going], self.objective, exact=False)
        model = basis(problem, theta)
        theta = solved(problem, theta, model, weights)
        residual = problem.residuals_of(model.value(theta, problem.linear))
        return to_free(problem.transforms, theta), residual

    @property
    def _bounded(self) -> NDArray[np.bool_]:
        return np.array([t.lower is not None for t in self.problem.transforms])


def finely(
    problem: Problem,
    free: Array,
    fixed: NDArray[np.bool_] | None = None,
    settled_at: float = SETTLED,
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """The second stage: to the minimum by Newton's method.

    After every step the linear parameters are solved for again, exactly: the valleys of these
    objectives are curved in them, and Huber's kinks hold up what does not follow the curve.

    Args:
        problem: the fit.
        free: starts near minima, shape (starts, parameters).
        fixed: the free numbers that stay as they are, of the same shape.
        settled_at: the relative fall of the loss that no longer matters.

    Returns:
        Free numbers, losses, and whether each start ended in a minimum.
    """
    fixed = np.zeros(free.shape, dtype=bool) if fixed is None else fixed
    free, losses, settled = _by_newton(problem, free, problem.objective, fixed, settled_at)
    for _ in range(AGAIN if problem.objective.loss == "huber" else 1):
        left = np.flatnonzero(~settled & np.isfinite(losses))
        if not len(left):
            break
        wide = replace(problem.objective, delta=problem.objective.delta * WIDENED)
        there, loss, done = _by_newton(
            problem.of_starts(left), free[left], wide, fixed[left], settled_at
        )
        better = loss <= losses[left]
        free[left[better]], losses[left[better]] = there[better], loss[better]
        settled[left] = done & better
    return free, losses, settled


def _by_newton(
    problem: Problem, free: Array, now: Objective, fixed: NDArray[np.bool_], settled_at: float
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Newton's method, Huber's delta narrowing from a wide one to the problem's own."""
    longest, moving = _longest(problem), _moving(problem)
    damping, enough = np.zeros(len(free)), ROUGH * ENOUGH * problem.losses(free, now)
    free, held = followed(problem, free, now, enough, fixed)
    settled = np.zeros(len(free), dtype=bool)
    losses = np.full(len(free), np.inf)
    going, here = np.arange(len(free)), problem
    near = problem.quadratic(free, objective=now).without(held)
    for _ in range(FINE_STEPS):
        step, foreseen = _newton_step(near, damping[going], longest, moving)
        tiny = foreseen <= settled_at * near.loss + EXACTLY_SETTLED * problem.exact
        enough = ENOUGH * np.where(tiny, 0.0, foreseen)
        moved, held = followed(here, free[going] + step, now, enough, fixed[going])
        there = here.quadratic(moved, objective=now).without(held)
        better = there.loss <= near.loss * (1 + NOISE)
        free[going[better]] = moved[better]
        near = near.where(better, there)
        losses[going] = near.loss
        eased = np.where(damping[going] < 1e-6, 0.0, damping[going] * 0.1)
        stiffened = np.maximum(damping[going] * 10, 1e-4)
        damping[going] = np.where(better, eased, stiffened)
        if now.delta > problem.objective.delta:
            now = replace(now, delta=max(now.delta * NARROWED, problem.objective.delta))
            damping, enough = 0.0 * damping, np.zeros(len(free))
            free, held = followed(problem, free, now, enough, fixed)
            near = problem.quadratic(free, objective=now).without(held)
            continue
        settled[going[tiny]] = True
        left = ~(tiny | (damping[going] > STUCK))
        if not left.all():
            going, near = going[left], near.of(left)
            here = problem.of_starts(going)
        if not len(going):
            break
    return free, losses, settled


def followed(
    problem: Problem, free: Array, now: Objective, enough: Array, fixed: NDArray[np.bool_]
) -> tuple[Array, NDArray[np.bool_]]:
    """Free numbers with the linear parameters at the minimum, and which ones are not to move:
    those that are fixed, and the linear ones on a bound."""
    if not problem.linear:
        return free, fixed
    places = list(problem.linear)
    theta, held = to_parameters(problem.transforms, free), fixed.copy()
    own = fixed[:, places]
    theta, on_bound = refined(problem, theta, now, enough, own if own.any() else None)
    held[:, places] |= on_bound
    moved = to_free(problem.transforms, theta, inside=1e-16)
    return np.where(fixed, free, moved), held


def _longest(problem: Problem) -> Array:
    """The longest step of each free number."""
    bounded = [t.lower is not None or t.upper is not None for t in problem.transforms]
    return np.where(bounded, LONGEST, np.inf)


def _moving(problem: Problem) -> NDArray[np.bool_]:
    """Which parameters the search moves: those that are not solved for."""
    return ~np.isin(np.arange(problem.parameters), problem.linear)


def _newton_step(
    near: Quadratic, damping: Array, longest: Array, moving: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """A step that leads downhill wherever the second derivatives bend, and the fall it foresees.

    Only the parameters that are moving are damped and kept from long steps: the linear ones are
    solved for afterwards.
    """
    gradient, hessian = near.gradient, near.hessian
    diagonal = np.abs(np.einsum("sii->si", hessian))
    diagonal = np.maximum(diagonal, np.abs(gradient) / longest)  # where nothing bends: that far
    size = np.sqrt(np.maximum(diagonal, 1e-14 * np.max(diagonal, axis=1, keepdims=True) + 1e-300))
    scaled = hessian / (size[:, :, None] * size[:, None, :])
    scaled[~np.isfinite(scaled)] = 0.0
    np.einsum("sii->si", scaled)[...] += np.where(moving, damping[:, None], 0.0)
    values, vectors = np.linalg.eigh(scaled)
    pull = gradient / size
    pull[~np.isfinite(pull)] = 0.0
    pull = (pull[:, None] @ vectors)[:, 0]
    stiff = np.abs(values)
    stiff = np.maximum(stiff, 1e-10 * stiff.max(axis=1, keepdims=True) + 1e-300)
    along = -pull / stiff
    step = (vectors @ along[:, :, None])[:, :, 0] / size
    if moving.any():
        over = np.max(np.abs(step[:, moving]) / longest[moving], axis=1)
        step /= np.maximum(1.0, over)[:, None]
    step = np.clip(step, -longest, longest)
    return step, -np.sum(along * pull, axis=1) / 2


def polish(problem: Problem, free: Array, steps: int = 12) -> Array:
    """The last digits of a fit by squares, shape (parameters,).

    Gauss-Newton by orthogonal factors keeps the digits that second derivatives lose.
    """
    best, loss = free, float(problem.losses(free[None])[0])
    previous = np.inf
    for _ in range(steps if problem.objective.loss == "squared" else 0):
        step = _gauss_newton(problem, best)
        if step is None:
            break
        size = float(np.max(np.abs(step) / (np.abs(best) + 1e-300)))
        moved = best + step
        # at the last digits the objective is noise: there the steps' sizes say who is nearer
        if size >= previous or not problem.losses(moved[None])[0] <= loss * (1 + POLISHED):
            break
        best, previous = moved, size
    return best


def _gauss_newton(problem: Problem, u: Array) -> Array | None:
    r, slopes = problem.residuals_and_slopes(u[None])
    if not (np.all(np.isfinite(slopes)) and np.all(np.isfinite(r))):
        return None
    scale = np.linalg.norm(slopes[0], axis=0)
    if not np.all(scale > 0):
        return None
    q, triangle = np.linalg.qr(slopes[0] / scale)
    if np.min(np.abs(np.diag(triangle))) < 1e-14:
        return None
    step: Array = -np.linalg.solve(triangle, q.T @ r[0]) / scale
    return step
