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

from lawdsl.fitting.problem import Problem
from lawdsl.fitting.transforms import Transforms

Array = NDArray[np.float64]

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


def basis(problem: Problem, theta: Array, linear: tuple[int, ...]) -> Basis:
    """The linear model at parameters of shape (starts, parameters)."""
    at = theta.copy()
    at[:, list(linear)] = 0.0
    return Basis(*problem.model.slopes(at, only=linear))


def solved(
    problem: Problem,
    theta: Array,
    linear: tuple[int, ...],
    model: Basis,
    weights: Array | None = None,
) -> Array:
    """Parameters with the linear ones set to their least-squares values under their bounds.

    Residuals are relative where the objective is of logarithms: for small ones that is the same.

    Args:
        problem: the fit.
        theta: parameters, shape (starts, parameters).
        linear: numbers of the linear ones.
        model: `basis` at theta.
        weights: of the squared residuals, shape (starts, rows).
    """
    with np.errstate(all="ignore"):
        scale = np.ones(problem.rows) if problem.weights is None else problem.weights
        if problem.takes_log:
            scale = scale / problem.target**2
        scale = scale[None] if weights is None else scale * weights
        goal = (problem.target if problem.takes_log else problem.goal) - model.offset
        weighted = model.columns * scale[:, None]
        gram = weighted @ np.swapaxes(model.columns, 1, 2)
        aim = np.einsum("smn,sn->sm", weighted, goal)
        usable = np.isfinite(gram).all(axis=(1, 2)) & np.isfinite(aim).all(axis=1)
        gram[~usable], aim[~usable] = np.eye(len(linear)), 0.0
        offset, turn, bounded = _in_room(problem.transforms, theta, linear)
        inner = np.swapaxes(turn, 1, 2) @ gram @ turn
        pull = np.einsum("smk,sm->sk", turn, aim - np.einsum("smk,sk->sm", gram, offset))
        found = _least(inner, pull, bounded)
        result = theta.copy()
        result[:, list(linear)] = offset + np.einsum("smk,sk->sm", turn, found)
    return result


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
