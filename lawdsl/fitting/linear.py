"""The parameters in which a law is linear: solved for exactly, the others being as they are.

For given exponents E + A/N^alpha + B/D^beta is a linear model in E, A and B, so a search needs to
move only the exponents (variable projection; Golub and Pereyra 1973). Their bounds are kept: A > 0,
and C > C0 where C0 is linear in them too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from lawdsl.fitting.problem import Problem, rho, rho_bend, rho_slope
from lawdsl.fitting.transforms import Transforms
from lawdsl.language.resolving import Objective

Array = NDArray[np.float64]

REFINEMENTS, REFINED = 30, 1e-15  # Newton steps; relative fall at which they end
SHORTEST = 1e-3  # share of a step that leads uphill
ROUNDS = 8  # of exchanging held and free parameters
RIDGE = 1e-13  # relative: of the diagonal, so that equal columns can be solved for


@dataclass(frozen=True)
class Basis:
    """A law as offset + Σ parameter·column, for given values of the others.

    Attributes:
        offset: the law where the linear parameters are 0, shape (starts, rows).
        columns: shape (starts, linear parameters, rows).
    """

    offset: Array
    columns: Array

    def value(self, theta: Array, linear: tuple[int, ...]) -> Array:
        """The model for values of the linear parameters: shape (starts, rows)."""
        return self.offset + (theta[:, None, list(linear)] @ self.columns)[:, 0]


def basis(problem: Problem, theta: Array) -> Basis:
    """The linear model at parameters of shape (starts, parameters)."""
    at = theta.copy()
    at[:, list(problem.linear)] = 0.0
    return Basis(*problem.model.slopes(at, only=problem.linear))


def solved(
    problem: Problem,
    theta: Array,
    model: Basis,
    weights: Array | None = None,
) -> Array:
    """Parameters with the linear ones set to their least-squares values under their bounds.

    Residuals are relative where the objective is of logarithms: for small ones that is the same.

    Args:
        problem: the fit.
        theta: parameters, shape (starts, parameters).
        model: `basis` at theta.
        weights: of the squared residuals, shape (starts, rows).
    """
    with np.errstate(all="ignore"):
        scale = np.ones(problem.rows) if problem.weights is None else problem.weights
        if problem.takes_log:
            scale = scale / problem.target**2
        scale = np.atleast_2d(scale if weights is None else scale * weights)
        goal = (problem.target if problem.takes_log else problem.goal) - model.offset
        weighted = model.columns * scale[:, None]
        gram = weighted @ np.swapaxes(model.columns, 1, 2)
        aim = (weighted @ goal[:, :, None])[:, :, 0]
        usable = np.isfinite(gram).all(axis=(1, 2)) & np.isfinite(aim).all(axis=1)
        gram[~usable], aim[~usable] = np.eye(len(problem.linear)), 0.0
        offset, turn, bounded = _in_room(problem.transforms, theta, problem.linear)
        inner = np.swapaxes(turn, 1, 2) @ gram @ turn
        pull = np.einsum("smk,sm->sk", turn, aim - np.einsum("smk,sk->sm", gram, offset))
        found = _least(inner, pull, bounded)
        result = theta.copy()
        result[:, list(problem.linear)] = offset + np.einsum("smk,sk->sm", turn, found)
    return result


def refined(
    problem: Problem,
    theta: Array,
    objective: Objective,
    enough: Array,
    fixed: NDArray[np.bool_] | None = None,
) -> tuple[Array, NDArray[np.bool_]]:
    """Parameters with the linear ones at the minimum of the objective itself, under their bounds.

    Newton's method, which for a Huber loss ends after finitely many steps. A parameter that a step
    would take below its bound stays on it, and is let go when the objective would fall.

    Args:
        problem: the fit.
        theta: parameters, shape (starts, parameters); the linear ones are where it begins.
        objective: in place of the problem's own.
        enough: a fall of the objective that no longer matters, shape (starts,).
        fixed: which of the linear ones stay as they are, shape (starts, linear).

    Returns:
        The parameters, and which of the linear ones lie on a bound, shape (starts, linear).
    """
    model = basis(problem, theta)
    places = list(problem.linear)
    with np.errstate(all="ignore"):
        offset, turn, bounded = _in_room(problem.transforms, theta, problem.linear)
        columns = np.swapaxes(turn, 1, 2) @ model.columns
        base = model.offset + (offset[:, None] @ model.columns)[:, 0]
        away = theta[:, places] - offset
        at = np.asarray(np.linalg.solve(turn, away[..., None])[..., 0], dtype=np.float64)
        at[:, bounded] = np.maximum(at[:, bounded], 0.0)
        at = _at_least(problem, base, columns, at, bounded, objective, enough, fixed)
        result = theta.copy()
        result[:, places] = offset + np.einsum("smk,sk->sm", turn, at)
    return np.where(np.isfinite(result), result, theta), bounded & (at <= 0)


def _at_least(
    problem: Problem,
    base: Array,
    columns: Array,
    at: Array,
    bounded: NDArray[np.bool_],
    objective: Objective,
    enough: Array,
    fixed: NDArray[np.bool_] | None,
) -> Array:
    """The s of the least objective for predictions base + s·columns, with s >= 0 where bounded."""
    result, left = at.copy(), np.arange(len(at))
    state = _Compared.of(problem, base, columns, at, objective)
    soft, share = np.zeros(len(at), dtype=bool), np.ones(len(at))
    for _ in range(REFINEMENTS):
        here = problem.of_starts(left)
        gradient, stiff = state.quadratic(here, columns, objective, soft)
        own = None if fixed is None else fixed[left]
        held = bounded & (at <= 0) & (gradient >= 0)
        step = _held_step(stiff, gradient, at, held, own)
        while True:  # what a step would take below its bound goes to it, and the others follow
            below = bounded & ~held & (at + step < 0)
            if own is not None:
                below &= ~own
            if not below.any():
                break
            held |= below
            step = _held_step(stiff, gradient, at, held, own)
        foreseen = np.abs(np.sum(step * gradient, axis=1))
        trial = at + share[:, None] * step
        there = _Compared.of(here, base, columns, trial, objective)
        better = there.loss <= state.loss
        at = np.where(better[:, None], trial, at)
        state = state.where(better, there)
        share = np.where(better, 1.0, np.where(soft, share * 0.3, 1.0))
        soft = ~better
        result[left] = at
        on = (foreseen > np.maximum(REFINED * state.loss, enough[left])) & (share >= SHORTEST)
        if not on.any():
            break
        if not on.all():
            left, at, base, columns, state = left[on], at[on], base[on], columns[on], state.at(on)
            soft, share = soft[on], share[on]
    return result


@dataclass(frozen=True)
class _Compared:
    """A linear model beside the data.

    Attributes:
        value: of the model, shape (starts, rows).
        residual: of the same shape.
        loss: shape (starts,); inf where the model has no logarithm.
    """

    value: Array
    residual: Array
    loss: Array

    @classmethod
    def of(
        cls, problem: Problem, base: Array, columns: Array, at: Array, objective: Objective
    ) -> _Compared:
        value = base + (at[:, None] @ columns)[:, 0]
        residual = problem.residuals_of(value)
        loss = problem.total(rho(residual, objective))
        return cls(value, residual, np.where(np.isfinite(loss), loss, np.inf))

    def quadratic(
        self, problem: Problem, columns: Array, objective: Objective, soft: NDArray[np.bool_]
    ) -> tuple[Array, Array]:
        """Gradient and second derivatives by the linear parameters. Far from the minimum Huber's
        loss hardly bends: there, where it is soft, those of reweighted squares."""
        weights = 1.0 if problem.weights is None else problem.weights
        pull = weights * rho_slope(self.residual, objective)
        bend = weights * rho_bend(self.residual, objective, exact=True)
        if problem.takes_log:
            bend -= pull
        if soft.any():
            bend[soft] = (weights * rho_bend(self.residual, objective, exact=False))[soft]
        if problem.takes_log:
            bend, pull = bend / self.value**2, pull / self.value
        gradient = (columns @ pull[:, :, None])[:, :, 0]
        return gradient, (columns * bend[:, None]) @ np.swapaxes(columns, 1, 2)

    def at(self, chosen: NDArray[np.bool_]) -> _Compared:
        """Some of the starts."""
        return _Compared(self.value[chosen], self.residual[chosen], self.loss[chosen])

    def where(self, replaced: NDArray[np.bool_], other: _Compared) -> _Compared:
        """Others in place of some."""
        if replaced.all():
            return other
        row = replaced[:, None]
        return _Compared(
            np.where(row, other.value, self.value),
            np.where(row, other.residual, self.residual),
            np.where(replaced, other.loss, self.loss),
        )


def _held_step(
    stiff: Array,
    gradient: Array,
    at: Array,
    held: NDArray[np.bool_],
    fixed: NDArray[np.bool_] | None,
) -> Array:
    """Newton's step where some parameters go to 0, and others stay where they are."""
    goes = np.where(held, -at, 0.0)
    if fixed is not None:
        held, goes = held | fixed, np.where(fixed, 0.0, goes)
    size = np.sqrt(np.abs(np.einsum("sii->si", stiff))) + 1e-150
    scaled = stiff / (size[:, :, None] * size[:, None, :])
    gone = goes * size
    aim = -gradient / size - np.einsum("sij,sj->si", scaled, gone)
    scaled[held[:, :, None] | held[:, None, :]] = 0.0
    np.einsum("sii->si", scaled)[...] += held + RIDGE
    step: Array = np.linalg.solve(scaled, np.where(held, gone, aim)[..., None])[..., 0] / size
    return np.where(held, goes, step)


def _in_room(
    transforms: Transforms, theta: Array, linear: tuple[int, ...]
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Linear parameters as offset + turn·s, in which a bound is s >= 0.

    Returns:
        Offset (starts, m), turn (starts, m, m), and which s are bounded (m,).
    """
    starts, count = len(theta), len(linear)
    at = theta.copy()
    at[:, list(linear)] = 0.0
    offset, turn = np.zeros((starts, count)), np.zeros((starts, count, count))
    bounded = np.zeros(count, dtype=bool)
    for j, number in enumerate(linear):
        transform = transforms[number]
        limit = transform.lower or transform.upper
        turn[:, j, j] = 1.0 if transform.lower is not None or limit is None else -1.0
        if limit is None:
            continue
        bounded[j] = True
        if limit.formula is None:
            offset[:, j] = limit.number
            continue
        value, by = limit.formula.slopes(at)
        offset[:, j] = value[:, 0]
        for k, other in enumerate(linear[:j]):
            offset[:, j] += by[:, other, 0] * offset[:, k]
            turn[:, j] += by[:, other] * turn[:, k]
    return offset, turn, bounded


def _least(gram: Array, aim: Array, bounded: NDArray[np.bool_]) -> Array:
    """The least s·gram·s/2 - aim·s with s >= 0 where bounded, for each start.

    Parameters below 0 are held there, held ones that would rise are let go, all at once (block
    pivoting; Portugal, Júdice and Vicente 1994); what does not end so is solved one by one.
    """
    size = np.sqrt(np.maximum(np.einsum("sii->si", gram), 1e-300))
    gram = gram / (size[:, :, None] * size[:, None, :])
    np.einsum("sii->si", gram)[...] += RIDGE
    aim = aim / size
    found = np.linalg.solve(gram, aim[..., None])[..., 0]
    held = bounded & (found < 0)
    left = np.flatnonzero(held.any(axis=1))
    for _ in range(ROUNDS):
        if not len(left):
            return found / size
        kept = ~held[left]
        part = gram[left] * (kept[:, :, None] & kept[:, None, :])
        np.einsum("sii->si", part)[...] += ~kept
        found[left] = np.linalg.solve(part, (aim[left] * kept)[..., None])[..., 0]
        rise = aim[left] - np.einsum("sij,sj->si", gram[left], found[left])
        wrong = bounded & ((kept & (found[left] < 0)) | (~kept & (rise > RIDGE)))
        held[left] ^= wrong
        left = left[wrong.any(axis=1)]
    for s in left:
        found[s] = _by_nnls(gram[s], aim[s], bounded)
    return found / size


def _by_nnls(gram: Array, aim: Array, bounded: NDArray[np.bool_]) -> Array:
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
