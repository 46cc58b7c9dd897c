"""The parameters in which a law is linear: solved for exactly, the others being as they are.

For given exponents E + A/N^alpha + B/D^beta is a linear model in E, A and B, so a search needs to
move only the exponents (variable projection; Golub and Pereyra 1973). Their bounds are kept: A > 0,
and C > C0 where C0 is linear in them too. Floating-point errors are not held back here: searches
pass through places where a law overflows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from lawdsl.compiling.model import combined
from lawdsl.fitting.problem import Near, Points, Problem
from lawdsl.fitting.transforms import Transforms, diagonal
from lawdsl.language.resolver import Objective

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

REFINEMENTS, REFINED = 30, 1e-15  # Newton steps; relative fall at which they end
SHORTEST = 1e-3  # share of a step that leads uphill
ROUNDS = 8  # of exchanging held and free parameters
RIDGE = 1e-13  # relative: of the diagonal, so that equal columns can be solved for


@dataclass(frozen=True)
class _Room:
    """The linear parameters as offset + turn·s, in which a bound is s >= 0.

    Attributes:
        bounded: which s are, shape (m,).
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
    problem: Problem, points: Points, theta: Array, weights: Array | None = None
) -> tuple[Array, Mask]:
    """Parameters with the linear ones set to their least-squares values under their bounds, and
    which of the linear ones lie on a bound, shape (starts, linear).

    Residuals are relative where the objective is of logarithms: for small ones that is the same.

    Args:
        problem: the fit.
        points: the model at theta.
        theta: parameters, shape (starts, parameters).
        weights: of the squared residuals, shape (starts, rows).
    """
    scale = problem.scale if weights is None else problem.scale * weights
    room = _room(problem.transforms, theta, problem.linear)
    columns, base = room.model(points.columns, points.offset)
    goal = problem.target if problem.takes_log else problem.goal
    weighted = columns * scale[:, None]
    gram = weighted @ np.swapaxes(columns, 1, 2)
    aim = (weighted @ (goal[:, None] if base is None else (goal - base)[:, :, None]))[:, :, 0]
    usable = np.isfinite(np.add.reduce(gram, (1, 2)) + np.add.reduce(aim, 1))
    if not usable.all():
        gram[~usable], aim[~usable] = np.eye(gram.shape[1]), 0.0
    at = _least(gram, aim, room.bounded)
    result = theta.copy()
    result[:, problem.model.linear] = room.outside(at)
    return result, room.bounded & (at <= 0)


def refined(
    problem: Problem,
    points: Points,
    theta: Array,
    objective: Objective,
    enough: Array,
    fixed: Mask | None = None,
    share: float = REFINED,
    before: Near | None = None,
) -> tuple[Array, Mask, Near]:
    """Parameters with the linear ones at the minimum of the objective itself, under their bounds.

    Newton's method, which for a Huber loss ends after finitely many steps. A parameter that a step
    would take below its bound stays on it, and is let go when the objective would fall.

    Args:
        problem: the fit.
        points: the model at theta.
        theta: parameters, shape (starts, parameters); the linear ones are where it begins.
        objective: in place of the problem's own.
        enough: a fall of the objective that no longer matters, shape (starts,).
        fixed: which of the linear ones stay as they are, shape (starts, linear).
        share: the same, relative to the objective.
        before: the model beside the data where the others have just been, near which it begins.

    Returns:
        The parameters, which of the linear ones lie on a bound, shape (starts, linear), and the
        model beside the data.
    """
    places = problem.model.linear
    room = _room(problem.transforms, theta, problem.linear)
    columns, base = room.model(points.columns, points.offset)
    search = _Refining(problem, columns, base, room.bounded, objective, fixed)
    begin = room.inside(theta.take(places, 1))
    if before is not None:
        begin = search.kept(begin, before)
    at, near = search.run(begin, enough, max(share, REFINED))
    result = theta.copy()
    result[:, places] = room.outside(at)
    return result, room.bounded & (at <= 0), near


class _Refining:
    """The s of the least objective for predictions base + s·columns, with s >= 0 where bounded."""

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

    def run(self, at: Array, enough: Array, share_enough: float) -> tuple[Array, Near]:
        """From some s, shape (starts, m), to the best, and the model beside the data there."""
        near = self._near(at)
        left = np.arange(len(at))
        soft, share = np.zeros(len(at), dtype=bool), np.ones(len(at))
        whole: tuple[Array, Near] | None = None
        for _ in range(REFINEMENTS):
            step, foreseen = self._step(near, at, soft)
            on = (foreseen > np.maximum(share_enough * near.loss, enough)) & (share >= SHORTEST)
            if not on.any():
                break
            if not on.all():
                if whole is None:
                    whole = at, near
                _put(whole, left, at, near)
                left, at, near, enough = left[on], at[on], near.at(on), enough[on]
                step, soft, share = step[on], soft[on], share[on]
                self._keep(on)
            trial = at + step * share[:, None]
            there = self._near(trial)
            better = there.loss <= near.loss
            if better.all():
                at, near, soft[:], share[:] = trial, there, False, 1.0
                continue
            at = np.where(better[:, None], trial, at)
            near = near.where(better, there)
            # far from the minimum Huber's loss hardly bends: there, by reweighted squares
            share = np.where(better, 1.0, np.where(soft, share * 0.3, 1.0))
            soft = ~better
        if whole is None:
            return at, near
        _put(whole, left, at, near)
        return whole

    def kept(self, at: Array, before: Near) -> Array:
        """The s at which these columns keep the balance that there was before, at other columns."""
        pull, bend = before.pulls(self.problem, exact=True)
        moved = combined(at, self.columns, self.base) - before.value
        gradient = (self.columns @ (pull + bend * moved)[:, :, None])[:, :, 0]
        trial = at + self._under_bounds(gradient, bend, at)
        usable = np.all(np.isfinite(trial), axis=1, keepdims=True)
        return np.where(usable, trial, at)

    def _near(self, at: Array) -> Near:
        return self.problem.near(combined(at, self.columns, self.base), self.objective)

    def _keep(self, on: Mask) -> None:
        """Go on with some of the starts."""
        self.columns = self.columns[on]
        self.base = None if self.base is None else self.base[on]
        self.fixed = None if self.fixed is None else self.fixed[on]
        self.problem = self.problem.of_starts(on)

    def _step(self, near: Near, at: Array, soft: Mask) -> tuple[Array, Array]:
        """Newton's step under the bounds, and the fall it foresees."""
        pull, bend = near.pulls(self.problem, exact=True)
        if soft.any():
            bend = np.where(soft[:, None], near.pulls(self.problem, exact=False)[1], bend)
        gradient = (self.columns @ pull[:, :, None])[:, :, 0]
        step = self._under_bounds(gradient, bend, at)
        return step, np.abs(np.add.reduce(step * gradient, 1))

    def _under_bounds(self, gradient: Array, bend: Array, at: Array) -> Array:
        columns, bounded = self.columns, self.bounded
        stiff = (columns * bend[:, None]) @ np.swapaxes(columns, 1, 2)
        held = bounded & (at <= 0) & (gradient >= 0)
        step = _held_step(stiff, gradient, at, held, self.fixed)
        while True:  # what a step would take below its bound goes to it, and the others follow
            below = bounded & ~held & (at + step < 0)
            if self.fixed is not None:
                below &= ~self.fixed
            if not below.any():
                break
            held |= below
            step = _held_step(stiff, gradient, at, held, self.fixed)
        return step


def _put(whole: tuple[Array, Near], left: NDArray[np.int64], at: Array, near: Near) -> None:
    whole[0][left] = at
    whole[1].put(left, near)


def solve_each(matrices: Array, right: Array) -> Array:
    """Solutions of linear systems, one for each start.

    A matrix with a negative second derivative in it may be singular to the last bit. Then all are
    solved one by one, the singular ones by least squares.

    Args:
        matrices: shape (starts, n, n).
        right: shape (starts, n).

    Returns:
        Shape (starts, n); nan where a system has no finite numbers.
    """
    try:
        return np.asarray(np.linalg.solve(matrices, right[:, :, None])[:, :, 0])
    except np.linalg.LinAlgError:
        found = np.full(right.shape, np.nan)
    for k, (matrix, aim) in enumerate(zip(matrices, right, strict=True)):
        if np.isfinite(matrix).all() and np.isfinite(aim).all():
            found[k] = np.linalg.lstsq(matrix, aim, rcond=None)[0]
    return found


def _held_step(stiff: Array, gradient: Array, at: Array, held: Mask, fixed: Mask | None) -> Array:
    """Newton's step where some parameters go to 0, and others stay where they are."""
    size = np.sqrt(np.abs(diagonal(stiff))) + 1e-150
    scaled = stiff / (size[:, :, None] * size[:, None, :])
    aim = -gradient / size
    if fixed is None and not held.any():
        diagonal(scaled)[...] += RIDGE
        return solve_each(scaled, aim) / size
    goes = np.where(held, -at, 0.0)
    if fixed is not None:
        held, goes = held | fixed, np.where(fixed, 0.0, goes)
    gone = goes * size
    aim -= (scaled @ gone[:, :, None])[:, :, 0]
    scaled[held[:, :, None] | held[:, None, :]] = 0.0
    diagonal(scaled)[...] += held + RIDGE
    step = solve_each(scaled, np.where(held, gone, aim)) / size
    return np.where(held, goes, step)


def _room(transforms: Transforms, theta: Array, linear: tuple[int, ...]) -> _Room:
    """Where the linear parameters may be."""
    limits = [transforms[number].lower or transforms[number].upper for number in linear]
    bounded = np.array([limit is not None for limit in limits], dtype=bool)
    if transforms.plain(list(linear)):
        return _Room(bounded)
    starts, count = len(theta), len(linear)
    at = theta.copy()
    at[:, list(linear)] = 0.0
    offset, turn = np.zeros((starts, count)), np.zeros((starts, count, count))
    for j, (number, limit) in enumerate(zip(linear, limits, strict=True)):
        turn[:, j, j] = 1.0 if transforms[number].lower is not None or limit is None else -1.0
        if limit is None:
            continue
        if limit.formula is None:
            offset[:, j] = limit.number
            continue
        value, by = limit.formula.slopes(at)
        offset[:, j] = value[:, 0]
        for k, other in enumerate(linear[:j]):
            offset[:, j] += by[:, other, 0] * offset[:, k]
            turn[:, j] += by[:, other] * turn[:, k]
    return _Room(bounded, offset, turn)


def _least(gram: Array, aim: Array, bounded: Mask) -> Array:
    """The least s·gram·s/2 - aim·s with s >= 0 where bounded, for each start.

    Parameters below 0 are held there, held ones that would rise are let go, all at once (block
    pivoting; Portugal, Júdice and Vicente 1994); what does not end so is solved one by one.
    """
    size = np.sqrt(np.maximum(diagonal(gram), 1e-300))
    gram = gram / (size[:, :, None] * size[:, None, :])
    diagonal(gram)[...] += RIDGE
    aim = aim / size
    found = solve_each(gram, aim)
    held = bounded & (found < 0)
    if not held.any():
        return found / size
    left = np.flatnonzero(held.any(axis=1))
    for _ in range(ROUNDS):
        if not len(left):
            return found / size
        kept = ~held[left]
        part = gram[left] * (kept[:, :, None] & kept[:, None, :])
        diagonal(part)[...] += ~kept
        found[left] = solve_each(part, aim[left] * kept)
        rise = aim[left] - (gram[left] @ found[left][:, :, None])[:, :, 0]
        wrong = bounded & ((kept & (found[left] < 0)) | (~kept & (rise > RIDGE)))
        held[left] ^= wrong
        left = left[wrong.any(axis=1)]
    for s in left:
        found[s] = _by_nnls(gram[s], aim[s], bounded)
    return found / size


def _by_nnls(gram: Array, aim: Array, bounded: Mask) -> Array:
    values, vectors = np.linalg.eigh(gram)
    root = np.sqrt(np.maximum(values, RIDGE))
    square = root[:, None] * vectors.T
    goal = (vectors.T @ aim) / root
    both = np.hstack([square, -square[:, ~bounded]])
    try:
        part, _ = nnls(both, goal)
    except RuntimeError:  # no convergence: the search goes on from 0
        return np.zeros_like(aim)
    found = part[: len(aim)].copy()
    found[~bounded] -= part[len(aim) :]
    return found
