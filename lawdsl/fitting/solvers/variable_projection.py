"""Problem + nonlinear parameters -> the best linear parameters, under their bounds.

For given exponents, E + A/N^alpha + B/D^beta is a linear model in E, A and B, so a search moves the
exponents only: min over u of F(u), with F(u) = min over s of Σ w_i·rho(o_i(u) + X_i(u)·s - y_i)
(variable projection; Golub and Pereyra (1973), SIAM Journal on Numerical Analysis 10). Bounds are
enforced: A > 0, and C > C0 if C0 is linear in the linear parameters, too. The caller must suppress
floating-point errors, since searches pass through points where a law overflows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.compiling.model import combined
from lawdsl.core.objectives import Objective
from lawdsl.fitting.evaluation import Evaluation
from lawdsl.fitting.problem import LONG_TABLE_ROWS, Problem, ResidualState
from lawdsl.fitting.solvers.bounded_systems import bounded_least_squares, constrained_step
from lawdsl.fitting.transforms import Transforms

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

MAX_INNER_STEPS = 30  # steps of Newton's method for the linear parameters
# relative to the loss: a smaller predicted decrease ends the search for the linear parameters
INNER_RTOL = 1e-15
MAX_FAILURES = 2  # steps that may fail: one of Newton's method, and one of reweighted squares
# evaluations for the minimum along a step; the least part of the interval that each of them excludes,
# and that in which the next one lies if the objective has no value at the end of the step
LINE_STEPS, MIN_FRACTION, NO_VALUE_FRACTION = 4, 0.01, 0.1


@dataclass(frozen=True)
class _SlackForm:
    """The linear parameters as offset + directions·s, such that each bound is s >= 0.

    Attributes:
        bounded: the mask of bounded s, shape (m,).
        offset: shape (starts, m); None if the parameters are s themselves.
        directions: shape (starts, m, m); None if the parameters are s themselves.
    """

    bounded: Mask
    offset: Array | None = None
    directions: Array | None = None

    def model(self, columns: Array, base: Array | None) -> tuple[Array, Array | None]:
        """The columns and the base of a model in s."""
        if self.offset is None or self.directions is None:
            return columns, base
        return np.swapaxes(self.directions, 1, 2) @ columns, combined(self.offset, columns, base)

    def of(self, chosen: Mask) -> _SlackForm:
        """Select some of the starts by a mask of shape (starts,)."""
        if self.offset is None or self.directions is None:
            return self
        return _SlackForm(self.bounded, self.offset[chosen], self.directions[chosen])

    def to_slacks(self, linear: Array) -> Array:
        """The s of linear parameters, shape (starts, m)."""
        if self.offset is not None and self.directions is not None:
            distances = (linear - self.offset)[:, :, None]
            linear = np.asarray(
                np.linalg.solve(self.directions, distances)[:, :, 0], dtype=np.float64
            )
        return np.where(self.bounded, np.maximum(linear, 0.0), linear)

    def to_parameters(self, s: Array) -> Array:
        """The linear parameters of s."""
        if self.offset is None or self.directions is None:
            return s
        return self.offset + (self.directions @ s[:, :, None])[:, :, 0]


@dataclass(frozen=True)
class _LinearPenalty:
    """The penalty of priors on linear parameters, a quadratic function of s.

    Attributes:
        curvature: its Hessian, shape (starts, m, m).
        at_zero: its gradient at s = 0, shape (starts, m).
    """

    curvature: Array
    at_zero: Array

    @classmethod
    def of(cls, problem: Problem, theta: Array, form: _SlackForm) -> _LinearPenalty:
        """The penalty of a problem for given other parameters in theta, shape (starts, parameters)."""
        assert problem.penalty is not None
        stiffness, centers = problem.penalty.linear_terms(problem.linear, len(theta))
        count = len(problem.linear)
        if form.offset is None or form.directions is None:
            curvature = np.broadcast_to(np.diag(stiffness), (len(theta), count, count))
            return cls(curvature, -stiffness * centers)
        weighted = np.swapaxes(form.directions, 1, 2) * stiffness
        distance = (form.offset - centers)[:, :, None]
        return cls(weighted @ form.directions, (weighted @ distance)[:, :, 0])

    def gradient(self, s: Array) -> Array:
        """Its gradient by s, shape (starts, m)."""
        return self.at_zero + (self.curvature @ s[:, :, None])[:, :, 0]


def least_squares_linear(
    problem: Problem, evaluation: Evaluation, theta: Array, weights: Array | None = None
) -> tuple[Array, Mask]:
    """Set the linear parameters to their weighted least-squares values under their bounds.

    They minimise Σ w_i·(o_i + X_i·s - y_i)², by the normal equations. If the objective compares
    logarithms, residuals are relative: log(f/y) is f/y - 1 to first order.

    Args:
        problem: the objective to be minimised, with its data.
        evaluation: the model at theta.
        theta: parameters, shape (starts, parameters).
        weights: the weights of the squared residuals, shape (starts, rows).

    Returns:
        Parameters, (starts, parameters), and which linear ones lie on a bound, (starts, linear).
    """
    scale = problem.scale if weights is None else problem.scale * weights
    form = _slack_form(problem.transforms, theta, problem.linear)
    columns, base = form.model(evaluation.columns, evaluation.offset)
    goal = problem.target if problem.takes_log else problem.goal
    weighted = columns * scale[:, None]
    gram = weighted @ np.swapaxes(columns, 1, 2)
    measured = goal[:, None] if base is None else (goal - base)[:, :, None]
    right_side = (weighted @ measured)[:, :, 0]
    if problem.penalty is not None:
        terms = _LinearPenalty.of(problem, theta, form)
        size = problem.curvature_of_weights(weights is not None)
        gram += terms.curvature / size
        right_side -= terms.gradient(np.zeros_like(right_side)) / size
    # one sum per start is cheaper than a mask of all entries, and it is not finite if any entry is
    # not
    usable = np.isfinite(np.add.reduce(gram, (1, 2)) + np.add.reduce(right_side, 1))
    if not usable.all():
        gram[~usable], right_side[~usable] = np.eye(gram.shape[1]), 0.0
    s = bounded_least_squares(gram, right_side, form.bounded)
    result = theta.copy()
    result[:, problem.model.linear] = form.to_parameters(s)
    return result, form.bounded & (s <= 0)


def minimise_over_linear(
    problem: Problem,
    evaluation: Evaluation,
    theta: Array,
    objective: Objective,
    decrease_atol: Array,
    fixed: Mask | None = None,
    decrease_rtol: float = INNER_RTOL,
    previous: ResidualState | None = None,
) -> tuple[Array, Mask, ResidualState]:
    """Move the linear parameters to the minimum of the objective itself, under their bounds.

    Newton's method with an active set, which for a Huber loss ends after finitely many steps, as
    the loss is piecewise quadratic. A parameter that a step would move below its bound stays on the
    bound, and is released when that decreases the objective.

    Args:
        problem: the objective to be minimised, with its data.
        evaluation: the model at theta.
        theta: parameters, shape (starts, parameters); the linear ones are the start of the search.
        objective: the objective in place of the problem's own.
        decrease_atol: a smaller predicted decrease ends the search, shape (starts,).
        fixed: which of the linear ones are not changed, shape (starts, linear).
        decrease_rtol: relative to the objective: a smaller predicted decrease ends the search.
        previous: the residual state at the previous nonlinear parameters; the search begins where
            its gradient is kept.

    Returns:
        The parameters, shape (starts, parameters); which of the linear ones lie on a bound, shape
        (starts, linear); and the residual state.
    """
    linear = problem.model.linear
    form = _slack_form(problem.transforms, theta, problem.linear)
    columns, base = form.model(evaluation.columns, evaluation.offset)
    search = _LinearMinimisation(problem, columns, base, form, theta, objective, fixed)
    begin = form.to_slacks(theta.take(linear, 1))
    if previous is not None:
        begin = search.predicted_slacks(begin, previous)
    s, state = search.run(begin, decrease_atol, max(decrease_rtol, INNER_RTOL))
    result = theta.copy()
    result[:, linear] = form.to_parameters(s)
    return result, form.bounded & (s <= 0), state


class _LinearMinimisation:
    """Minimise the objective over s for predictions base + s·columns, with s >= 0 where bounded."""

    def __init__(
        self,
        problem: Problem,
        columns: Array,
        base: Array | None,
        form: _SlackForm,
        theta: Array,
        objective: Objective,
        fixed: Mask | None,
    ) -> None:
        self.problem, self.objective, self.bounded = problem, objective, form.bounded
        self.columns, self.base, self.fixed = columns, base, fixed
        self.form, self.theta, self.penalty = form, theta, None
        if problem.penalty is not None:
            self.penalty = _LinearPenalty.of(problem, theta, form)

    def run(
        self, s: Array, decrease_atol: Array, decrease_rtol: float
    ) -> tuple[Array, ResidualState]:
        """Minimise from s of shape (starts, m); return the best s and the residual state there.

        Where a step of Newton's method does not decrease the objective, the minimum is searched for
        along a step of reweighted least squares.
        """
        state = self._state(s)
        running = np.arange(len(s))
        failures = np.zeros(len(s), dtype=np.int64)
        finished: tuple[Array, ResidualState] | None = None
        for _ in range(MAX_INNER_STEPS):
            step, predicted_decrease = self._step(state, s, failures)
            # a comparison with nan is false, so a start without a value stops here
            active = (
                predicted_decrease > np.maximum(decrease_rtol * state.loss, decrease_atol)
            ) & (failures < MAX_FAILURES)
            if not active.any():
                break
            if not active.all():
                if finished is None:
                    finished = s, state
                _store(finished, running, s, state)
                running, s, state, decrease_atol = (
                    running[active],
                    s[active],
                    state.at(active),
                    decrease_atol[active],
                )
                step, failures = step[active], failures[active]
                self._keep(active)
            trial = s + step
            trial_state = self._state(trial)
            better = trial_state.loss <= state.loss
            if better.all():
                s, state, failures[:] = trial, trial_state, 0
                continue
            is_too_long = ~better & (failures > 0)
            if is_too_long.any():
                shares = self._line_minima(s, step, state, trial_state)
                trial = s + step * np.where(is_too_long, shares, 1.0)[:, None]
                trial_state = self._state(trial)
                better = trial_state.loss <= state.loss
            s = np.where(better[:, None], trial, s)
            state = state.where(better, trial_state)
            failures = np.where(better, 0, failures + 1)
        if finished is None:
            return s, state
        _store(finished, running, s, state)
        return finished

    def predicted_slacks(self, s: Array, previous: ResidualState) -> Array:
        """The s at which these columns have the same gradient that the previous columns had."""
        gradient_of_rows, curvature = previous.derivatives(self.problem, exact=True)
        change = combined(s, self.columns, self.base) - previous.value
        gradient = (self.columns @ (gradient_of_rows + curvature * change)[:, :, None])[:, :, 0]
        if self.penalty is not None:
            gradient += self.penalty.gradient(s)
        trial = s + self._step_under_bounds(gradient, curvature, s)
        usable = np.all(np.isfinite(trial), axis=1, keepdims=True)
        return np.where(usable, trial, s)

    def _state(self, s: Array) -> ResidualState:
        theta = self.theta
        if self.penalty is not None:
            theta = theta.copy()
            theta[:, self.problem.model.linear] = self.form.to_parameters(s)
        value = combined(s, self.columns, self.base)
        return self.problem.residual_state(value, self.objective, theta)

    def _line_minima(
        self, s: Array, step: Array, state: ResidualState, end: ResidualState
    ) -> Array:
        """The share of each step at which the objective is least, shape (starts,).

        It is the root of the slope along the step, by false position with the Illinois modification
        (Dowell and Jarratt (1971), BIT 11).

        Args:
            s: shape (starts, m), with the residual state `state`.
            step: of the same shape; the residual state at s + step is `end`.
        """
        change = combined(step, self.columns, None)

        def slope(state: ResidualState, share: Array) -> Array:
            by_row, _ = state.derivatives(self.problem, exact=False)
            total = np.add.reduce(by_row * change, 1)
            if self.penalty is not None:
                total += np.add.reduce(self.penalty.gradient(s + share[:, None] * step) * step, 1)
            return np.where(np.isfinite(total), total, np.inf)

        low, high = np.zeros(len(s)), np.ones(len(s))
        below, above = slope(state, low), slope(end, high)
        for _ in range(LINE_STEPS):
            fraction = np.clip(below / (below - above), MIN_FRACTION, 1 - MIN_FRACTION)
            share = low + (high - low) * np.where(np.isfinite(above), fraction, NO_VALUE_FRACTION)
            value = state.value + share[:, None] * change
            # the slope does not depend on the penalty that the state includes
            slope_there = slope(
                self.problem.residual_state(value, self.objective, self.theta), share
            )
            rises = slope_there > 0
            # the slope at the other end is halved, so that this end moves, too
            below, above = (
                np.where(rises, below / 2, slope_there),
                np.where(rises, slope_there, above / 2),
            )
            low, high = np.where(rises, low, share), np.where(rises, share, high)
        return share

    def _keep(self, active: Mask) -> None:
        """Continue with some of the active starts."""
        self.columns = self.columns[active]
        self.base = None if self.base is None else self.base[active]
        self.fixed = None if self.fixed is None else self.fixed[active]
        self.problem = self.problem.of_starts(active)
        if self.penalty is not None:
            self.theta, self.form = self.theta[active], self.form.of(active)
            self.penalty = _LinearPenalty.of(self.problem, self.theta, self.form)

    def _step(
        self, state: ResidualState, s: Array, failures: NDArray[np.int64]
    ) -> tuple[Array, Array]:
        """Newton's step under the bounds, and the decrease that it predicts.

        Args:
            state: the residual state at s of shape (starts, m).
            failures: how many steps from s have not decreased the objective, shape (starts,). Then
                the curvatures are those of reweighted least squares: few rows of a Huber loss have
                a curvature, and that of logarithms may be negative.
        """
        slopes, curvature = state.derivatives(self.problem, exact=True)
        if failures.any():
            weights = state.derivatives(self.problem, exact=False)[1]
            curvature = np.where(failures[:, None] > 0, weights, curvature)
        gradient = (self.columns @ slopes[:, :, None])[:, :, 0]
        if self.penalty is not None:
            gradient += self.penalty.gradient(s)
        step = self._step_under_bounds(gradient, curvature, s)
        return step, np.abs(np.add.reduce(step * gradient, 1))

    def _step_under_bounds(self, gradient: Array, curvature: Array, s: Array) -> Array:
        """Newton's step such that no bounded s becomes negative."""
        columns, bounded = self.columns, self.bounded
        hessian = _weighted_products(columns, curvature)
        if self.penalty is not None:
            hessian += self.penalty.curvature
        on_bound = bounded & (s <= 0) & (gradient >= 0)
        step = constrained_step(hessian, gradient, s, on_bound, self.fixed)
        while True:  # parameters below their bounds are set to them, one round each
            below = bounded & ~on_bound & (s + step < 0)
            if self.fixed is not None:
                below &= ~self.fixed
            if not below.any():
                break
            on_bound |= below
            step = constrained_step(hessian, gradient, s, on_bound, self.fixed)
        return step


def _weighted_products(columns: Array, weights: Array) -> Array:
    """The sums X·diag(w)·Xᵀ over the rows, shape (starts, m, m); of long tables in pieces.

    Args:
        columns: X, shape (starts, m, rows).
        weights: w, shape (starts, rows).
    """
    rows = weights.shape[1]
    width = rows if rows <= LONG_TABLE_ROWS else LONG_TABLE_ROWS
    total: Array | None = None
    for first in range(0, rows, width):
        part = columns[:, :, first : first + width]
        products = (part * weights[:, None, first : first + width]) @ np.swapaxes(part, 1, 2)
        total = products if total is None else total + products
    assert total is not None
    return total


def _store(
    finished: tuple[Array, ResidualState], starts: NDArray[np.int64], s: Array, state: ResidualState
) -> None:
    """Write the s and states of some starts into the arrays of all starts."""
    finished[0][starts] = s
    finished[1].put(starts, state)


def _slack_form(transforms: Transforms, theta: Array, linear: tuple[int, ...]) -> _SlackForm:
    """The transformation of the linear parameters in which their bounds are s >= 0."""
    limits = [transforms[number].lower or transforms[number].upper for number in linear]
    bounded = np.array([limit is not None for limit in limits], dtype=bool)
    if transforms.plain(list(linear)):
        return _SlackForm(bounded)
    starts, count = len(theta), len(linear)
    without_linear = theta.copy()
    without_linear[:, list(linear)] = 0.0
    offset, directions = np.zeros((starts, count)), np.zeros((starts, count, count))
    for j, (number, limit) in enumerate(zip(linear, limits, strict=True)):
        directions[:, j, j] = 1.0 if transforms[number].lower is not None or limit is None else -1.0
        if limit is None:
            continue
        if limit.formula is None:
            offset[:, j] = limit.number
            continue
        value, slopes = limit.formula.slopes(without_linear)
        offset[:, j] = value[:, 0]
        for k, other in enumerate(linear[:j]):
            offset[:, j] += slopes[:, other, 0] * offset[:, k]
            directions[:, j] += slopes[:, other] * directions[:, k]
    return _SlackForm(bounded, offset, directions)
