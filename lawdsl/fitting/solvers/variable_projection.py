"""Problem + nonlinear parameters -> the best linear parameters, under their bounds.

For given exponents E + A/N^alpha + B/D^beta is a linear model in E, A and B, so a search moves the
exponents only: min over u of F(u), with F(u) = min over s of Σ w_i·rho(o_i(u) + X_i(u)·s - y_i)
(variable projection; Golub and Pereyra (1973), SIAM Journal on Numerical Analysis 10). Bounds hold:
A > 0, and C > C0 where C0 is linear in the linear parameters too. Floating-point errors are not
suppressed here: the caller does that, since searches pass through points where a law overflows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from lawdsl.compiling.model import combined
from lawdsl.fitting.problem import Evaluation, Problem, ResidualState
from lawdsl.fitting.transforms import Transforms, diagonal
from lawdsl.language.resolver import Objective

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

REFINEMENTS, REFINED = 30, 1e-15  # Newton steps; relative decrease at which they end
SHORTEST = 1e-3  # share of a step that leads uphill
ROUNDS = 8  # of exchanging parameters at 0 and free ones
RIDGE = 1e-13  # relative: of the diagonal, so that equal columns can be solved for


@dataclass(frozen=True)
class _Room:
    """The linear parameters as offset + turn·s, in which each bound is s >= 0.

    Attributes:
        bounded: which s have the bound, shape (m,).
        offset: shape (starts, m); None where the parameters are s themselves.
        turn: shape (starts, m, m).
    """

    bounded: Mask
    offset: Array | None = None
    turn: Array | None = None

    def model(self, columns: Array, base: Array | None) -> tuple[Array, Array | None]:
        """Columns and base of a model in s."""
        if self.offset is None or self.turn is None:
            return columns, base
        return np.swapaxes(self.turn, 1, 2) @ columns, combined(self.offset, columns, base)

    def inside(self, linear: Array) -> Array:
        """The s of linear parameters, shape (starts, m)."""
        if self.offset is not None and self.turn is not None:
            away = (linear - self.offset)[:, :, None]
            linear = np.asarray(np.linalg.solve(self.turn, away)[:, :, 0], dtype=np.float64)
        return np.where(self.bounded, np.maximum(linear, 0.0), linear)

    def outside(self, s: Array) -> Array:
        """The linear parameters of s."""
        if self.offset is None or self.turn is None:
            return s
        return self.offset + (self.turn @ s[:, :, None])[:, :, 0]


def solved(
    problem: Problem, evaluation: Evaluation, theta: Array, weights: Array | None = None
) -> tuple[Array, Mask]:
    """Set the linear parameters to their weighted least-squares values under their bounds.

    They minimise Σ w_i·(o_i + X_i·s - y_i)², by the normal equations. Where the objective is of
    logarithms, residuals are relative ones: log(f/y) is f/y - 1 to first order.

    Args:
        problem: the fit.
        evaluation: the model at theta.
        theta: parameters, shape (starts, parameters).
        weights: of the squared residuals, shape (starts, rows).

    Returns:
        Parameters, shape (starts, parameters), and which linear ones lie on a bound, shape (starts,
        linear).
    """
    scale = problem.scale if weights is None else problem.scale * weights
    room = _room(problem.transforms, theta, problem.linear)
    columns, base = room.model(evaluation.columns, evaluation.offset)
    goal = problem.target if problem.takes_log else problem.goal
    weighted = columns * scale[:, None]
    gram = weighted @ np.swapaxes(columns, 1, 2)
    aim = (weighted @ (goal[:, None] if base is None else (goal - base)[:, :, None]))[:, :, 0]
    # one sum per start is cheaper than a mask of all entries, and not finite if any entry is
    usable = np.isfinite(np.add.reduce(gram, (1, 2)) + np.add.reduce(aim, 1))
    if not usable.all():
        gram[~usable], aim[~usable] = np.eye(gram.shape[1]), 0.0
    s = _least(gram, aim, room.bounded)
    result = theta.copy()
    result[:, problem.model.linear] = room.outside(s)
    return result, room.bounded & (s <= 0)


def refined(
    problem: Problem,
    evaluation: Evaluation,
    theta: Array,
    objective: Objective,
    enough: Array,
    fixed: Mask | None = None,
    share: float = REFINED,
    before: ResidualState | None = None,
) -> tuple[Array, Mask, ResidualState]:
    """Move the linear parameters to the minimum of the objective itself, under their bounds.

    Newton's method with an active set, which for a Huber loss ends after finitely many steps, as
    the loss is piecewise quadratic. A parameter that a step would take below its bound stays on it,
    and is released when that lowers the objective.

    Args:
        problem: the fit.
        evaluation: the model at theta.
        theta: parameters, shape (starts, parameters); the linear ones are the start of the search.
        objective: in place of the problem's own.
        enough: a decrease of the objective that ends the search, shape (starts,).
        fixed: which of the linear ones are not changed, shape (starts, linear).
        share: a relative decrease of the objective that ends the search.
        before: the residual state at the previous nonlinear parameters, near which the search
            starts.

    Returns:
        The parameters, shape (starts, parameters); which of the linear ones lie on a bound, shape
        (starts, linear); and the residual state.
    """
    linear = problem.model.linear
    room = _room(problem.transforms, theta, problem.linear)
    columns, base = room.model(evaluation.columns, evaluation.offset)
    search = _Refining(problem, columns, base, room.bounded, objective, fixed)
    begin = room.inside(theta.take(linear, 1))
    if before is not None:
        begin = search.kept(begin, before)
    s, state = search.run(begin, enough, max(share, REFINED))
    result = theta.copy()
    result[:, linear] = room.outside(s)
    return result, room.bounded & (s <= 0), state


class _Refining:
    """Minimise the objective over s for predictions base + s·columns, with s >= 0 where bounded."""

    def __init__(
        self,
        problem: Problem,
        columns: Array,
        base: Array | None,
        bounded: Mask,
        objective: Objective,
        fixed: Mask | None,
    ) -> None:
        self.problem, self.objective, self.bounded = problem, objective, bounded
        self.columns, self.base, self.fixed = columns, base, fixed

    def run(self, s: Array, enough: Array, share_enough: float) -> tuple[Array, ResidualState]:
        """Minimise from s of shape (starts, m); return the best s and the residual state there."""
        state = self._state(s)
        running = np.arange(len(s))
        soft, share = np.zeros(len(s), dtype=bool), np.ones(len(s))
        finished: tuple[Array, ResidualState] | None = None
        for _ in range(REFINEMENTS):
            step, foreseen = self._step(state, s, soft)
            # a comparison with nan is false, so a start without a value stops here
            on = (foreseen > np.maximum(share_enough * state.loss, enough)) & (share >= SHORTEST)
            if not on.any():
                break
            if not on.all():
                if finished is None:
                    finished = s, state
                _put(finished, running, s, state)
                running, s, state, enough = running[on], s[on], state.at(on), enough[on]
                step, soft, share = step[on], soft[on], share[on]
                self._keep(on)
            trial = s + step * share[:, None]
            trial_state = self._state(trial)
            better = trial_state.loss <= state.loss
            if better.all():
                s, state, soft[:], share[:] = trial, trial_state, False, 1.0
                continue
            s = np.where(better[:, None], trial, s)
            state = state.where(better, trial_state)
            # far from the minimum a Huber loss has little curvature: reweighted squares lead on
            share = np.where(better, 1.0, np.where(soft, share * 0.3, 1.0))
            soft = ~better
        if finished is None:
            return s, state
        _put(finished, running, s, state)
        return finished

    def kept(self, s: Array, before: ResidualState) -> Array:
        """The s at which these columns keep the gradient that the previous columns had."""
        gradient_of_rows, curvature = before.derivatives(self.problem, exact=True)
        change = combined(s, self.columns, self.base) - before.value
        gradient = (self.columns @ (gradient_of_rows + curvature * change)[:, :, None])[:, :, 0]
        trial = s + self._under_bounds(gradient, curvature, s)
        usable = np.all(np.isfinite(trial), axis=1, keepdims=True)
        return np.where(usable, trial, s)

    def _state(self, s: Array) -> ResidualState:
        return self.problem.residual_state(combined(s, self.columns, self.base), self.objective)

    def _keep(self, on: Mask) -> None:
        """Go on with some of the starts."""
        self.columns = self.columns[on]
        self.base = None if self.base is None else self.base[on]
        self.fixed = None if self.fixed is None else self.fixed[on]
        self.problem = self.problem.of_starts(on)

    def _step(self, state: ResidualState, s: Array, soft: Mask) -> tuple[Array, Array]:
        """Newton's step under the bounds, and the decrease that it predicts."""
        slopes, curvature = state.derivatives(self.problem, exact=True)
        if soft.any():
            curvature = np.where(
                soft[:, None], state.derivatives(self.problem, exact=False)[1], curvature
            )
        gradient = (self.columns @ slopes[:, :, None])[:, :, 0]
        step = self._under_bounds(gradient, curvature, s)
        return step, np.abs(np.add.reduce(step * gradient, 1))

    def _under_bounds(self, gradient: Array, curvature: Array, s: Array) -> Array:
        columns, bounded = self.columns, self.bounded
        stiff = (columns * curvature[:, None]) @ np.swapaxes(columns, 1, 2)
        on_bound = bounded & (s <= 0) & (gradient >= 0)
        step = _held_step(stiff, gradient, s, on_bound, self.fixed)
        while True:  # parameters below their bounds are set to them, one round each
            below = bounded & ~on_bound & (s + step < 0)
            if self.fixed is not None:
                below &= ~self.fixed
            if not below.any():
                break
            on_bound |= below
            step = _held_step(stiff, gradient, s, on_bound, self.fixed)
        return step


def _put(
    finished: tuple[Array, ResidualState], starts: NDArray[np.int64], s: Array, state: ResidualState
) -> None:
    finished[0][starts] = s
    finished[1].put(starts, state)


def solve_each(matrices: Array, right: Array) -> Array:
    """Solve a linear system for each start.

    A matrix with negative curvature may be singular to the last bit. Then all systems are solved
    one by one, the singular ones by least squares.

    Args:
        matrices: shape (starts, n, n).
        right: shape (starts, n).

    Returns:
        Shape (starts, n); nan where a system has a number that is not finite.
    """
    try:
        return np.asarray(np.linalg.solve(matrices, right[:, :, None])[:, :, 0])
    except np.linalg.LinAlgError:
        solutions = np.full(right.shape, np.nan)
    for k, (matrix, aim) in enumerate(zip(matrices, right, strict=True)):
        if np.isfinite(matrix).all() and np.isfinite(aim).all():
            solutions[k] = np.linalg.lstsq(matrix, aim, rcond=None)[0]
    return solutions


def _held_step(
    stiff: Array, gradient: Array, s: Array, on_bound: Mask, fixed: Mask | None
) -> Array:
    """Newton's step where some parameters go to 0, and others are not changed."""
    # 1e-150: its square is still above the smallest float
    size = np.sqrt(np.abs(diagonal(stiff))) + 1e-150
    scaled = stiff / (size[:, :, None] * size[:, None, :])
    aim = -gradient / size
    if fixed is None and not on_bound.any():
        diagonal(scaled)[...] += RIDGE
        return solve_each(scaled, aim) / size
    goes = np.where(on_bound, -s, 0.0)
    if fixed is not None:
        on_bound, goes = on_bound | fixed, np.where(fixed, 0.0, goes)
    gone = goes * size
    aim -= (scaled @ gone[:, :, None])[:, :, 0]
    scaled[on_bound[:, :, None] | on_bound[:, None, :]] = 0.0
    # rows and columns of fixed parameters become those of the identity
    diagonal(scaled)[...] += on_bound + RIDGE
    step = solve_each(scaled, np.where(on_bound, gone, aim)) / size
    return np.where(on_bound, goes, step)


def _room(transforms: Transforms, theta: Array, linear: tuple[int, ...]) -> _Room:
    """The transformation of the linear parameters in which their bounds are s >= 0."""
    limits = [transforms[number].lower or transforms[number].upper for number in linear]
    bounded = np.array([limit is not None for limit in limits], dtype=bool)
    if transforms.plain(list(linear)):
        return _Room(bounded)
    starts, count = len(theta), len(linear)
    at = theta.copy()
    at[:, list(linear)] = 0.0
    offset, directions = np.zeros((starts, count)), np.zeros((starts, count, count))
    for j, (number, limit) in enumerate(zip(linear, limits, strict=True)):
        directions[:, j, j] = 1.0 if transforms[number].lower is not None or limit is None else -1.0
        if limit is None:
            continue
        if limit.formula is None:
            offset[:, j] = limit.number
            continue
        value, slopes = limit.formula.slopes(at)
        offset[:, j] = value[:, 0]
        for k, other in enumerate(linear[:j]):
            offset[:, j] += slopes[:, other, 0] * offset[:, k]
            directions[:, j] += slopes[:, other] * directions[:, k]
    return _Room(bounded, offset, directions)


def _least(gram: Array, aim: Array, bounded: Mask) -> Array:
    """Minimise s·gram·s/2 - aim·s over s >= 0 where bounded, for each start.

    Parameters below 0 are set to 0, those at 0 with a negative gradient are released, all at once
    (block pivoting; Portugal, Júdice and Vicente (1994), Mathematics of Computation 63). Starts
    that do not end so are solved one by one.
    """
    size = np.sqrt(np.maximum(diagonal(gram), 1e-300))
    gram = gram / (size[:, :, None] * size[:, None, :])
    diagonal(gram)[...] += RIDGE
    aim = aim / size
    solution = solve_each(gram, aim)
    on_bound = bounded & (solution < 0)
    if not on_bound.any():
        return solution / size
    unfinished = np.flatnonzero(on_bound.any(axis=1))
    for _ in range(ROUNDS):
        if not len(unfinished):
            return solution / size
        free = ~on_bound[unfinished]
        part = gram[unfinished] * (free[:, :, None] & free[:, None, :])
        diagonal(part)[...] += ~free
        solution[unfinished] = solve_each(part, aim[unfinished] * free)
        rise = aim[unfinished] - (gram[unfinished] @ solution[unfinished][:, :, None])[:, :, 0]
        # a rise below the ridge is its own effect and would exchange a parameter for ever
        wrong = bounded & ((free & (solution[unfinished] < 0)) | (~free & (rise > RIDGE)))
        on_bound[unfinished] ^= wrong
        unfinished = unfinished[wrong.any(axis=1)]
    for s in unfinished:
        solution[s] = _by_nnls(gram[s], aim[s], bounded)
    return solution / size


def _by_nnls(gram: Array, aim: Array, bounded: Mask) -> Array:
    values, vectors = np.linalg.eigh(gram)
    # gram may be indefinite by rounding
    root = np.sqrt(np.maximum(values, RIDGE))
    square = root[:, None] * vectors.T
    goal = (vectors.T @ aim) / root
    # nnls knows bounded parameters only: an unbounded one is a difference of two
    both = np.hstack([square, -square[:, ~bounded]])
    try:
        part, _ = nnls(both, goal)
    except RuntimeError:  # no convergence: the search goes on from 0
        return np.zeros_like(aim)
    solution = part[: len(aim)].copy()
    solution[~bounded] -= part[len(aim) :]
    return solution
