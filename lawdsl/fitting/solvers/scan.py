"""Problem + starts -> starts whose parameters have been scanned one after the other.

Each parameter takes the best of many values, for the others of the start: powers of ten of both signs,
multiples of its own value, and values of the data, at which a peak may lie. The linear parameters
are solved for. So a start finds the scale of its parameters and of its columns, and the place of a
peak, where no draw is near enough for a descent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.evaluation import Evaluation
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.variable_projection import least_squares_linear
from lawdsl.fitting.transforms import Transform, to_free, to_parameters

Array = NDArray[np.float64]

SWEEPS = 2  # over all parameters
MAX_SCANNED_ROWS = 200  # rows of a sample on which values are compared
VALUES = 36  # values of a parameter that are compared
MAX_POWER = 14.0  # of ten, of a parameter
MAX_FREE = 12.0  # of a parameter between two bounds, by its logit


@np.errstate(all="ignore")
def scan(problem: Problem, free: Array, rng: np.random.Generator) -> Array:
    """Scan the parameters of starts.

    Args:
        problem: the objective to be minimised, with its data.
        free: unconstrained parameters, shape (starts, parameters).
        rng: the random generator of the values.

    Returns:
        Unconstrained parameters of the same shape.
    """
    if not len(free):
        return free
    sample = problem.sample(MAX_SCANNED_ROWS, int(rng.integers(1 << 30)))
    points = free.copy()
    moving = np.setdiff1d(np.arange(problem.parameters), problem.linear)
    for _ in range(SWEEPS):
        for number in rng.permutation(moving):
            points = _with_best_value(sample, points, int(number), rng)
    return points


def _with_best_value(problem: Problem, free: Array, number: int, rng: np.random.Generator) -> Array:
    """Starts in which one parameter has the best of many values."""
    values = _values(problem, problem.transforms[number], free[:, number], rng)
    candidates = np.repeat(free[:, None], values.shape[1] + 1, axis=1)
    candidates[:, 1:, number] = values
    flat = candidates.reshape(-1, free.shape[1])
    if problem.linear:
        theta = to_parameters(problem.transforms, flat)
        theta, _ = least_squares_linear(problem, Evaluation(problem, theta, 0), theta)
        flat = to_free(problem.transforms, theta)
        flat[~np.isfinite(flat)] = 0.0
    losses = problem.losses(flat).reshape(len(free), -1)
    chosen = np.argmin(losses, axis=1)
    best: Array = flat.reshape(candidates.shape)[np.arange(len(free)), chosen]
    return best


def _values(
    problem: Problem, transform: Transform, current: Array, rng: np.random.Generator
) -> Array:
    """Values of an unconstrained parameter to compare, shape (starts, VALUES)."""
    shape = (len(current), VALUES)
    if transform.lower is not None and transform.upper is not None:
        return rng.uniform(-MAX_FREE, MAX_FREE, shape)
    powers = np.sort(rng.uniform(-MAX_POWER, MAX_POWER, shape), axis=1) * np.log(10)
    kind = np.arange(VALUES) % 3
    if transform.lower is not None or transform.upper is not None:
        near = current[:, None] + rng.normal(size=shape) * 3
        return np.where(kind == 0, near, powers)
    signed = np.exp(powers) * rng.choice([-1.0, 1.0], shape)
    near = current[:, None] * np.exp(rng.normal(size=shape) * 2)
    columns = problem.columns
    if not len(columns):
        return np.where(kind == 0, near, signed)
    picked = columns[rng.integers(len(columns), size=shape), rng.integers(problem.rows, size=shape)]
    logs = np.log(np.abs(picked))
    picked = np.where((rng.uniform(size=shape) < 0.3) & np.isfinite(logs), logs, picked)
    return np.where(kind == 0, near, np.where(kind == 1, signed, picked))
