"""A point of a problem -> units in which all numbers of the problem near it are about 1.

Whether a slope vanishes, a constraint is active or a linear system is singular is decided by
comparison with numbers near 1. A goal in FLOP, a model size in parameters and a share are scaled to
such numbers here, once, so that no decision depends on the units of the question. Units are powers
of two, so that a change of units causes no rounding errors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

CURVATURE_STEP = 1e-3  # in units: distance of the gradients from which curvature is computed
# Relative to its default length: closer to a bound, the unit of an unknown is its default length.
NEAR_BOUND_SHARE = 1e-5
# Relative to the distance between the bounds: within this distance of a bound, the unit of an
# unknown is its distance from the bound.
NEAR_END_SHARE = 1e-3
# Relative to the distance between the bounds: within this distance of a bound, an unknown is at the
# bound up to rounding.
AT_END_SHARE = 1e-10
# Well inside the exponent range of float64, so that products with numbers near 1 stay finite.
SMALLEST_UNIT, LARGEST_UNIT = 2.0**-900, 2.0**900


@dataclass(frozen=True, eq=False)
class Units:
    """Units of the objective, the unknowns and the constraints.

    Attributes:
        goal: the unit of the objective.
        unknowns: the unit of each unknown, shape (n,).
        constraints: the unit of each constraint, shape (constraints,).
    """

    goal: float
    unknowns: Array
    constraints: Array

    @property
    def rows(self) -> Array:
        """The units of the objective and the constraints, shape (1 + constraints,)."""
        return np.append(self.goal, self.constraints)


def power_of_two(size: Array) -> Array:
    """The largest powers of two not above positive numbers; 1 for numbers that are zero or not
    finite.
    """
    usable = np.isfinite(size) & (size > 0)
    # frexp has its mantissa in [1/2, 1)
    exponent = np.frexp(np.where(usable, size, 1.0))[1] - 1
    return np.clip(np.ldexp(1.0, exponent), SMALLEST_UNIT, LARGEST_UNIT)


def lengths_at(x: Array, low: Array, high: Array, decades: Mask, usual: Array | None) -> Array:
    """Return the length of each unknown at a point: the change that counts as large.

    An unknown that ranges over decades changes by factors, so its length is its value; for an
    unknown between two bounds it is their distance, unless the unknown is very close to one of
    them; otherwise it is the distance from the bound, or from 0.

    Args:
        x: the point, shape (n,).
        low, high: the bounds, shape (n,), which may be infinite.
        decades: the mask of unknowns that range over decades, shape (n,).
        usual: the length of an unknown that is at, or very close to, its bound or 0; by default 1
            for an unknown exactly there.

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
        ahead, behind: their derivatives with respect to unknown i at STEP lengths of it on either
            side, shape (functions, n).
        lengths: the lengths of the unknowns, shape (n,).

    Returns:
        Shape (functions,); 0 if it is not known.
    """
    first = np.abs(slopes * lengths)
    second = np.abs((ahead - behind) * lengths) / (2 * CURVATURE_STEP)
    both = np.concatenate([first, second], axis=1)
    largest: Array = np.max(both, axis=1, initial=0.0, where=np.isfinite(both))
    return largest
