"""Parameters -> the nearer bound of each, and how far it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.solvers.solver import Solution
from lawdsl.fitting.transforms import Transforms, limit_values, to_parameters

Array = NDArray[np.float64]


def bound_distances(
    transforms: Transforms, theta: Mapping[str, float]
) -> dict[str, tuple[str, float]]:
    """The nearer bound, lower or upper, of each bounded parameter, and the distance to it."""
    values = np.array([[theta[t.name] for t in transforms]])
    nearest = {}
    for i, transform in enumerate(transforms):
        low, high = limit_values(transform, values)
        distances = []
        if low is not None:
            distances.append(("lower", float(values[0, i] - low[0])))
        if high is not None:
            distances.append(("upper", float(high[0] - values[0, i])))
        if distances:
            nearest[transform.name] = min(distances, key=lambda d: d[1])
    return nearest


def within_limits(transforms: Transforms, theta: Array) -> bool:
    """Whether parameters of shape (parameters,) are inside all limits."""
    distances = bound_distances(
        transforms, {t.name: x for t, x in zip(transforms, theta, strict=True)}
    )
    return all(distance > 0 for _, distance in distances.values())


def solutions_within_limits(
    transforms: Transforms, relaxed: Transforms, solutions: Sequence[Solution]
) -> tuple[Solution, ...]:
    """The solutions of a search without the bounds between parameters that satisfy these too.

    `k2 > k1` excludes one of two minima that differ by an exchange of the two.

    Args:
        transforms: with all limits.
        relaxed: those of the search, with the same parameters.
        solutions: its solutions.
    """
    theta = [to_parameters(relaxed, solution.point[None])[0] for solution in solutions]
    return tuple(d for d, x in zip(solutions, theta, strict=True) if within_limits(transforms, x))
