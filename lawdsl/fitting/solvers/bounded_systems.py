"""Small linear systems of many starts at once, with bounds and fixed parameters.

Each start has a system of its own: arrays have shape (starts, n) and (starts, n, n).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.transforms import diagonal

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# rounds that exchange parameters on their bounds and free ones, before starts are solved one by one
MAX_ACTIVE_SET_ROUNDS = 8
# relative to the diagonal, to which it is added, so that equal columns yield a regular system
RIDGE = 1e-13


def solve_each(matrices: Array, right: Array) -> Array:
    """Solve a linear system for each start.

    A matrix with negative curvature may be exactly singular. Then all systems are solved one by
    one, the singular ones by least squares.

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
    for k, (matrix, right_side) in enumerate(zip(matrices, right, strict=True)):
        if np.isfinite(matrix).all() and np.isfinite(right_side).all():
            solutions[k] = np.linalg.lstsq(matrix, right_side, rcond=None)[0]
    return solutions


def constrained_step(
    hessian: Array, gradient: Array, s: Array, on_bound: Mask, fixed: Mask | None
) -> Array:
    """Newton's step in which some parameters move to 0, and others are not changed."""
    # 1e-150: its square is still above the smallest float
    scale = np.sqrt(np.abs(diagonal(hessian))) + 1e-150
    scaled = hessian / (scale[:, :, None] * scale[:, None, :])
    right_side = -gradient / scale
    if fixed is None and not on_bound.any():
        diagonal(scaled)[...] += RIDGE
        return solve_each(scaled, right_side) / scale
    moves = np.where(on_bound, -s, 0.0)
    if fixed is not None:
        on_bound, moves = on_bound | fixed, np.where(fixed, 0.0, moves)
    scaled_moves = moves * scale
    right_side -= (scaled @ scaled_moves[:, :, None])[:, :, 0]
    scaled[on_bound[:, :, None] | on_bound[:, None, :]] = 0.0
    # rows and columns of fixed parameters are replaced by those of the identity
    diagonal(scaled)[...] += on_bound + RIDGE
    step = solve_each(scaled, np.where(on_bound, scaled_moves, right_side)) / scale
    return np.where(on_bound, moves, step)


def bounded_least_squares(gram: Array, right_side: Array, bounded: Mask) -> Array:
    """Minimise s·gram·s/2 - right_side·s over s >= 0 where bounded, for each start.

    Parameters below 0 are set to 0, those at 0 with a negative gradient are released, all at once
    (block pivoting; Portugal, Júdice and Vicente (1994), Mathematics of Computation 63). Starts
    for which these rounds do not end are solved one by one.
    """
    scale = np.sqrt(np.maximum(diagonal(gram), 1e-300))
    gram = gram / (scale[:, :, None] * scale[:, None, :])
    diagonal(gram)[...] += RIDGE
    right_side = right_side / scale
    solution = solve_each(gram, right_side)
    on_bound = bounded & (solution < 0)
    if not on_bound.any():
        return solution / scale
    unfinished = np.flatnonzero(on_bound.any(axis=1))
    for _ in range(MAX_ACTIVE_SET_ROUNDS):
        if not len(unfinished):
            return solution / scale
        free = ~on_bound[unfinished]
        part = gram[unfinished] * (free[:, :, None] & free[:, None, :])
        diagonal(part)[...] += ~free
        solution[unfinished] = solve_each(part, right_side[unfinished] * free)
        rise = (
            right_side[unfinished] - (gram[unfinished] @ solution[unfinished][:, :, None])[:, :, 0]
        )
        # a rise below the ridge is its own effect and would exchange a parameter indefinitely
        is_wrong = bounded & ((free & (solution[unfinished] < 0)) | (~free & (rise > RIDGE)))
        on_bound[unfinished] ^= is_wrong
        unfinished = unfinished[is_wrong.any(axis=1)]
    for s in unfinished:
        solution[s] = _by_nnls(gram[s], right_side[s], bounded)
    return solution / scale


def _by_nnls(gram: Array, right_side: Array, bounded: Mask) -> Array:
    """The linear parameters at the minimum for one start, by SciPy's implementation of the
    active-set method of Lawson and Hanson.
    """
    from scipy.optimize import nnls  # slow to import, and seldom needed

    values, vectors = np.linalg.eigh(gram)
    # gram may be indefinite due to rounding
    root = np.sqrt(np.maximum(values, RIDGE))
    square = root[:, None] * vectors.T
    goal = (vectors.T @ right_side) / root
    # nnls supports bounded parameters only: an unbounded one is a difference of two
    split = np.hstack([square, -square[:, ~bounded]])
    try:
        part, _ = nnls(split, goal)
    except RuntimeError:  # no convergence: the search continues from 0
        return np.zeros_like(right_side)
    solution = part[: len(right_side)].copy()
    solution[~bounded] -= part[len(right_side) :]
    return solution
