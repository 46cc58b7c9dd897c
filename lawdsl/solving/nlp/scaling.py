"""A point of a problem -> units in which every number of the problem near it is about 1.

Whether a slope vanishes, a constraint is active or a linear system is singular is decided by
comparison with numbers near 1. A goal in FLOP, a model size in parameters and a share are brought
to such numbers here, once, so that no decision depends on the units that a question is written in.
Units are powers of two: a change of units rounds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

CURVATURE_STEP = 1e-3  # in units: distance of the slopes from which curvature is computed
# Relative to its usual length: nearer to a bound, the unit of an unknown is its usual length.
NEAR_BOUND_SHARE = 1e-5
# Relative to the distance between the bounds: within this distance of a bound, the unit of an
# unknown is that distance.
NEAR_END_SHARE = 1e-3
# Relative to the distance between the bounds: within this distance of a bound, an unknown is at the
# bound up to rounding.
AT_END_SHARE = 1e-10
# Far inside the exponents of float64, so that products with numbers near 1 stay finite.
SMALLEST_UNIT, LARGEST_UNIT = 2.0**-900, 2.0**900


@dataclass(frozen=True, eq=False)
class Units:
    """Units of the objective, the unknowns and the constraints.

    Attributes:
        goal: the goal of the objective.
        unknowns: of each unknown, shape (n,).
        constraints: of each constraint, shape (constraints,).
    """

    goal: float
    unknowns: Array
    constraints: Array

    @property
    def rows(self) -> Array:
        """The units of the objective and the constraints, shape (1 + constraints,)."""
        return np.append(self.goal, self.constraints)


def power_of_two(size: Array) -> Array:
    """The powers of two next below positive numbers; 1 for what is zero or not finite."""
    usable = np.isfinite(size) & (size > 0)
    # frexp has its mantissa in [1/2, 1)
    exponent = np.frexp(np.where(usable, size, 1.0))[1] - 1
    return np.clip(np.ldexp(1.0, exponent), SMALLEST_UNIT, LARGEST_UNIT)


def lengths_at(x: Array, low: Array, high: Array, decades: Mask, usual: Array | None) -> Array:
    """Return the change of each unknown that counts as a large one at a point.

    An unknown that extends over decades changes by factors, so its length is its value; one between
    two bounds has the length of their distance, unless it is very near to one of them; any other
    its distance from its bound, or from 0.

    Args:
        x: the point, shape (n,).
        low, high: the bounds, shape (n,), which may be infinite.
        decades: which unknowns extend over decades, shape (n,).
        usual: the length of an unknown that is at its bound, or at 0, or very near; if not given, 1
            for one that is exactly there.

    Returns:
        Shape (n,), > 0.
    """
    between = np.isfinite(high - low) & (high > low)
    ends = distance_from_bounds(x, low, high)
    least = 0.0 if usual is None else NEAR_BOUND_SHARE * usual
    distances = np.where(np.isfinite(ends) & (ends > least), ends, 1.0 if usual is None else usual)
    with np.errstate(invalid="ignore"):
        near = (ends > np.maximum(least, AT_END_SHARE * (high - low))) & (
            ends < NEAR_END_SHARE * (high - low)
        )
    between &= ~near
    return np.where(decades, np.abs(x), np.where(between, high - low, distances))


def distance_from_bounds(x: Array, low: Array, high: Array) -> Array:
    """Return the distance of unknowns from the nearest finite bound, or from 0 without one.

    Args:
        x: the unknowns, shape (n,).
        low, high: the bounds, shape (n,), which may be infinite.

    Returns:
        Shape (n,), >= 0 inside the bounds.
    """
    distances = np.minimum(x - low, high - x)
    return np.where(np.isfinite(distances), distances, np.abs(x))


def variation(slopes: Array, ahead: Array, behind: Array, lengths: Array) -> Array:
    """Estimate the change of functions over the lengths of the unknowns, by slope or curvature.

    Args:
        slopes: the slopes at a point, shape (functions, n).
        ahead, behind: their slopes with respect to unknown i at STEP lengths of it to either side,
            shape (functions, n).
        lengths: the lengths of the unknowns, shape (n,).

    Returns:
        Shape (functions,); 0 where it is not known.
    """
    first = np.abs(slopes * lengths)
    second = np.abs((ahead - behind) * lengths) / (2 * CURVATURE_STEP)
    both = np.concatenate([first, second], axis=1)
    largest: Array = np.max(both, axis=1, initial=0.0, where=np.isfinite(both))
    return largest
