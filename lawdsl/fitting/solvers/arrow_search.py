"""Problem with blocks of parameters + starts -> minima, for many parameters.

The method is that of `irls`: damped Gauss-Newton steps of all starts as one array,

    (JᵀWJ + damping·D²)·s = -g,    D² = diag(JᵀWJ),

whose equations are solved by blocks (`arrow`). Near the start the linear parameters of each block are
solved for at every point (variable projection); near the minimum all parameters move together, with
the second derivative of the loss in W. Huber's delta is wide at first, and narrows to that of the
objective. Memory grows with the rows times the parameters of a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.objectives import Objective
from lawdsl.fitting.arrow import Arrow, ArrowMatrix, gradient_of, normal_matrix
from lawdsl.fitting.losses import curvature_of, value_and_slope
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.bounded_systems import bounded_least_squares
from lawdsl.fitting.solvers.irls import longest_steps, widen_delta
from lawdsl.fitting.solvers.newton import NARROWING_FACTOR
from lawdsl.fitting.solvers.solver import (
    GIVEN_UP,
    Solution,
    reason_of,
)
from lawdsl.fitting.transforms import parameters_and_own_slopes, to_free

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# numbers in one array of derivatives: bounds the starts that advance together
MAX_ARRAY_NUMBERS = 4_000_000
COARSE_STEPS, FINE_STEPS, NARROWING_STEPS = 100, 300, 12
# relative to the loss: a start whose last step decreases it by less ends a stage
COARSE_RTOL, FINE_RTOL = 1e-3, 1e-14
START_DAMPING = 1e-3
DAMPING_DECREASE, DAMPING_INCREASE = 0.1, 8.0
MIN_DAMPING, MAX_DAMPING = 1e-12, 1e10
# with larger damping a small decrease does not show convergence
MAX_DAMPING_AT_CONVERGENCE = 1e-3
# relative to the loss: where no step decreases it, a smaller predicted decrease is rounding
ROUNDING_DECREASE_RTOL = 1e-9
# relative to the loss: the curvature by an unconstrained parameter that is on its bound
ON_BOUND_RTOL = 1e-12
# a start above the best by this factor after so many steps, with steps that gain little, is dropped
DROP_FACTOR, DROP_STEPS = 1.3, 6
DROP_DECREASE_FACTOR = 12.0


def can_search(problem: Problem) -> bool:
    """Whether a problem has blocks, a smooth loss and no priors."""
    one_weight = problem.weights is None or problem.weights.ndim == 1
    smooth = not problem.objective.row.kinked and problem.penalty is None
    return smooth and one_weight and problem.arrow is not None


def rows_of_blocks(problem: Problem, count: int, seed: int) -> NDArray[np.int64]:
    """The rows of random blocks, at least one, of some `count` rows in all.

    Args:
        problem: a problem with blocks.
        count: the number of rows.
        seed: the seed of the choice.
    """
    arrow = problem.arrow
    assert arrow is not None
    blocks = np.random.default_rng(seed).permutation(len(arrow.ends))
    lengths = (arrow.ends - arrow.begins)[blocks]
    chosen = blocks[: max(1, int(np.searchsorted(np.cumsum(lengths), count, side="right")))]
    rows = [arrow.order[a:b] for a, b in zip(arrow.begins[chosen], arrow.ends[chosen], strict=True)]
    return np.sort(np.concatenate(rows))


def with_linear_by_blocks(problem: Problem, theta: Array) -> Array:
    """Parameters with the linear ones of each block at their least-squares values.

    Args:
        problem: a problem with blocks.
        theta: parameters, shape (starts, parameters).
    """
    arrow = problem.arrow
    assert arrow is not None
    linear = LinearPlaces.of(problem, arrow)
    if linear is None:
        return theta
    weights = None if problem.weights is None else problem.weights[arrow.order]
    return linear.solved(problem, arrow, theta, weights)


def search_by_blocks(
    problem: Problem, starts: Array, progress: Callable[[int, int], None] | None = None
) -> list[Solution]:
    """Search for a minimum from each start.

    Args:
        problem: the objective with its data; it has blocks.
        starts: unconstrained parameters, shape (starts, parameters).
        progress: called with the number of starts done, and their total.

    Returns:
        The solutions, in the order of the starts. The search from a start that cannot reach the best
        is abandoned.
    """
    arrow = problem.arrow
    assert arrow is not None
    wide = widen_delta(problem, starts)
    numbers = problem.rows * (len(arrow.border) + arrow.members.shape[1])
    together = max(1, MAX_ARRAY_NUMBERS // max(numbers, 1))
    solutions: list[Solution] = []
    with np.errstate(all="ignore"):
        for first in range(0, len(starts), together):
            solutions += _from_batch(problem, wide, starts[first : first + together])
            if progress is not None:
                progress(min(first + together, len(starts)), len(starts))
    return solutions


def refine_by_blocks(problem: Problem, point: Array) -> Solution:
    """Continue from one point to the last digit.

    Args:
        problem: the objective with its data; it has blocks.
        point: unconstrained parameters, shape (parameters,).
    """
    with np.errstate(all="ignore"):
        search = _Search(problem, point[None], problem.objective, solves=False)
        search.run(FINE_STEPS, FINE_RTOL)
    return search.solutions()[0]


def _from_batch(problem: Problem, wide: Objective, starts: Array) -> list[Solution]:
    search = _Search(problem, starts, wide, solves=True)
    search.run(COARSE_STEPS, COARSE_RTOL)
    objective = wide
    while objective.delta > problem.objective.delta and objective.row.parameters:
        delta = max(objective.delta * NARROWING_FACTOR, problem.objective.delta)
        objective = replace(objective, delta=delta)
        if delta > problem.objective.delta:
            search = search.again(objective)
            search.run(NARROWING_STEPS, COARSE_RTOL)
    search = search.again(problem.objective)
    search.run(FINE_STEPS, FINE_RTOL)
    return search.solutions()


@dataclass(frozen=True, eq=False)
class _Points:
    """Points of a search, one for each start; rows in the order of the arrow.

    Attributes:
        free: unconstrained parameters, shape (starts, parameters).
        slopes: the derivatives of the parameters by these, of the same shape.
        residual: shape (starts, rows).
        compact: the derivatives of the residuals by the parameters of each row.
        loss: the objective, shape (starts,); inf where the law has no value.
    """

    free: Array
    slopes: Array
    residual: Array
    compact: Array
    loss: Array

    def of(self, chosen: Mask) -> _Points:
        """Select some of the starts by a mask of shape (starts,)."""
        return _Points(
            self.free[chosen],
            self.slopes[chosen],
            self.residual[chosen],
            self.compact[chosen],
            self.loss[chosen],
        )

    def where(self, replaced: Mask, other: _Points) -> _Points:
        """Replace the points of some starts by those of another record."""
        if replaced.all():
            return other
        for mine, new in (
            (self.free, other.free),
            (self.slopes, other.slopes),
            (self.residual, other.residual),
            (self.compact, other.compact),
            (self.loss, other.loss),
        ):
            mine[replaced] = new[replaced]
        return self


class _Search:
    """The starts of a search; matrices are those of the active ones."""

    def __init__(
        self, problem: Problem, free: Array, objective: Objective, *, solves: bool
    ) -> None:
        assert problem.arrow is not None
        self.problem, self.arrow, self.objective = problem, problem.arrow, objective
        weights = problem.weights
        self.weights = None if weights is None else weights[self.arrow.order]
        self.linear = LinearPlaces.of(problem, self.arrow) if solves else None
        self.longest = longest_steps(problem)
        self.bounded = self.longest < np.inf
        self.free, self.losses = free.copy(), np.full(len(free), np.inf)
        self.converged = np.zeros(len(free), dtype=bool)
        self.evaluations = np.ones(len(free), dtype=np.int64)

    def again(self, objective: Objective) -> _Search:
        """The search from the points reached, for another objective and with all parameters moving;
        a start without a value has none again."""
        other = _Search(self.problem, self.free, objective, solves=False)
        other.evaluations = self.evaluations
        other.dropped = ~np.isfinite(self.losses)
        return other

    dropped: Mask | None = None

    def run(self, steps: int, rtol: float) -> None:
        """Take steps of all starts, until none moves."""
        active = np.arange(len(self.free))
        if self.dropped is not None:
            active = active[~self.dropped]
        if not len(active):
            return
        points = self._points(self.free[active])
        self._store(active, points)
        finite = np.isfinite(points.loss)
        active, points = active[finite], points.of(finite)
        damping = np.full(len(active), START_DAMPING)
        matrix, size, gradient = self._model(points)
        for number in range(steps):
            if not len(active):
                return
            step, predicted = self._step(matrix, size, gradient, damping)
            trial = self._points(points.free + step)
            self.evaluations[active] += 1
            decrease = points.loss - trial.loss
            better = decrease > 0
            exact = points.loss <= self.problem.exact
            small = (decrease <= rtol * points.loss) & (damping <= MAX_DAMPING_AT_CONVERGENCE)
            negligible = predicted <= rtol * points.loss + 1e-9 * self.problem.exact
            done = (better & small) | exact | (negligible & (damping <= 1.0))
            stuck = ~better & (damping >= MAX_DAMPING)
            rounding = ROUNDING_DECREASE_RTOL * points.loss + self.problem.exact
            is_rounded = ~better & (predicted <= rounding) & (damping <= 1.0)
            self.converged[active[done | is_rounded]] = True
            drop = np.zeros(len(active), dtype=bool)
            if number >= DROP_STEPS and len(self.losses) > 1:
                lowest = float(np.min(self.losses))
                far = points.loss - lowest > DROP_DECREASE_FACTOR * np.maximum(decrease, 0)
                drop = better & far & (points.loss > DROP_FACTOR * lowest)
            changed = better.any()
            points = points.where(better, trial) if changed else points
            self._store(active, points)
            self.losses[active[drop]] = np.inf
            factor = np.where(better, DAMPING_DECREASE, DAMPING_INCREASE)
            damping = np.clip(damping * factor, MIN_DAMPING, MAX_DAMPING)
            keep = ~(done | stuck | is_rounded | drop)
            if not keep.all():
                active, damping = active[keep], damping[keep]
                points = points.of(keep)
                matrix, size, gradient = matrix.of(keep), size[keep], gradient[keep]
            if changed and len(active):
                matrix, size, gradient = self._model(points)

    def solutions(self) -> list[Solution]:
        """The ends of the search."""
        return [
            Solution(
                self.free[k],
                float(loss),
                bool(self.converged[k] and np.isfinite(loss)),
                GIVEN_UP
                if self.dropped is not None and not np.isfinite(loss)
                else reason_of(loss, self.converged[k]),
                evaluations=int(self.evaluations[k]),
            )
            for k, loss in enumerate(self.losses)
        ]

    def _store(self, active: NDArray[np.int64], points: _Points) -> None:
        self.free[active], self.losses[active] = points.free, points.loss

    def _points(self, free: Array) -> _Points:
        """The points at unconstrained parameters, with the linear ones solved for."""
        problem = self.problem
        theta, slopes = parameters_and_own_slopes(problem.transforms, free)
        if self.linear is not None:
            theta = self.linear.solved(problem, self.arrow, theta, self.weights)
            free = to_free(problem.transforms, theta)
            free[~np.isfinite(free)] = 0.0
            theta, slopes = parameters_and_own_slopes(problem.transforms, free)
        residual, compact = problem.compact_slopes(theta)
        cost, _ = value_and_slope(residual, self.objective)
        loss = np.sum(cost if self.weights is None else cost * self.weights, axis=1)
        bad = ~np.isfinite(loss) | ~np.isfinite(compact.sum(axis=(1, 2)))
        return _Points(free, slopes, residual, compact, np.where(bad, np.inf, loss))

    def _model(self, points: _Points) -> tuple[ArrowMatrix, Array, Array]:
        """The quadratic model: its scaled matrix, the sizes by which it is scaled, and the scaled
        gradient."""
        _, slope = value_and_slope(points.residual, self.objective)
        weight = curvature_of(points.residual, slope, self.objective, exact=False)
        if self.linear is None and not self.objective.row.quadratic:
            # reweighted squares are slow near the minimum; a small share of them keeps it regular
            second = curvature_of(points.residual, slope, self.objective, exact=True)
            weight = np.maximum(second, 1e-3 * weight)
        if self.weights is not None:
            slope, weight = slope * self.weights, weight * self.weights
        matrix = normal_matrix(self.arrow, points.compact, weight).scaled(1 / points.slopes)
        gradient = gradient_of(self.arrow, points.compact, slope) * points.slopes
        curvature = matrix.diagonal
        size = np.sqrt(np.maximum(curvature, 1e-300))
        # a parameter that is on its bound up to rounding would move towards it for ever
        towards = self.bounded & (gradient * points.free < 0)
        size[towards & (curvature <= ON_BOUND_RTOL * points.loss[:, None])] = np.inf
        return matrix.scaled(size), size, gradient / size

    def _step(
        self, matrix: ArrowMatrix, size: Array, gradient: Array, damping: Array
    ) -> tuple[Array, Array]:
        """The damped step, and the decrease of the loss that the model predicts for it."""
        added = np.broadcast_to(damping[:, None] + 1e-14, gradient.shape)
        damped = matrix.plus(np.where((size > 1e-140) & (size < np.inf), added, 1.0))
        try:
            scaled = -damped.solve(gradient)
        except np.linalg.LinAlgError:
            scaled = -gradient / (1 + damping[:, None])
        scaled = np.nan_to_num(scaled)
        predicted = -np.sum(scaled * gradient, axis=1) / 2
        step = np.clip(scaled / size, -self.longest, self.longest)
        return step, predicted


@dataclass(frozen=True, eq=False)
class LinearPlaces:
    """The parameters of the blocks in which the law is linear, at the same places of every block.

    Attributes:
        places: shape (linear,).
        numbers: their positions among all parameters, shape (blocks, linear).
        bounded: whether they are at least 0, shape (linear,).
    """

    places: NDArray[np.int64]
    numbers: NDArray[np.int64]
    bounded: Mask

    @classmethod
    def of(cls, problem: Problem, arrow: Arrow) -> LinearPlaces | None:
        """Find them; None if there are none."""
        is_linear = np.zeros(problem.parameters, dtype=bool)
        is_linear[list(problem.linear)] = True
        is_linear &= problem.transforms.from_zero
        lower = np.array([t.lower is not None for t in problem.transforms])
        members = arrow.members
        linear = (is_linear[members] & arrow.used).all(axis=0)
        same = (lower[members] == lower[members[0]]).all(axis=0)
        places = np.flatnonzero(linear & same)
        if not len(places):
            return None
        return cls(places, members[:, places], lower[members[0]][places])

    def solved(self, problem: Problem, arrow: Arrow, theta: Array, weights: Array | None) -> Array:
        """Parameters with these at their least-squares values, shape (starts, parameters).

        Residuals of logarithms are relative: log(f/y) is f/y - 1 to first order.

        Args:
            problem: the problem with blocks.
            arrow: its blocks.
            theta: parameters, shape (starts, parameters).
            weights: the weights of the rows in the order of the arrow; None if all are 1.
        """
        assert problem.arrow is not None
        without = theta.copy()
        without[:, self.numbers] = 0.0
        value, slopes = problem.model.row_slopes(without)  # type: ignore[union-attr]
        first = len(arrow.border)
        columns = arrow.compact(slopes)[:, first + self.places]
        target = problem.target[arrow.order]
        rest = target - value[:, arrow.order]
        if problem.takes_log:
            columns, rest = columns / target, rest / target
        weighted = columns if weights is None else columns * weights
        gram = arrow.products(weighted, columns)
        right = arrow.products(weighted, rest[:, None])[..., 0]
        shape = (-1, len(self.places))
        gram, right = gram.reshape(*shape, shape[1]), right.reshape(shape)
        bad = ~np.isfinite(gram.sum(axis=(1, 2)) + right.sum(axis=1))
        gram[bad], right[bad] = np.eye(shape[1]), 0.0
        found = bounded_least_squares(gram, right, self.bounded)
        result = theta.copy()
        result[:, self.numbers] = found.reshape(len(theta), *self.numbers.shape)
        return result
