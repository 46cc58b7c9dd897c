"""Coordinates -> the covariance of the discrepancy, for an amplitude of 1.

k(z, z') = exp(-|z - z'|²/2) + Σ_j w(z_j, z'_j) + Σ_{j<k} z_j z_k z'_j z'_k

The first term models errors of the law anywhere, with a correlation length of 1. The others grow
with the distance from the center: w is once-integrated Brownian motion, w(a, b) = m²(3M - m)/4 for
a and b of one sign, m and M the smaller and the larger of |a| and |b|, and 0 otherwise (Wahba 1978,
Journal of the Royal Statistical Society B 40); the products are interactions of two variables.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MANY_AXES = 4  # above so many the pairs of axes are not listed


def kernel(a: Array, b: Array) -> Array:
    """The covariances of two sets of points.

    Args:
        a: coordinates, shape (n, axes).
        b: coordinates, shape (m, axes).

    Returns:
        Shape (n, m).
    """
    total = a @ b.T
    total *= 2
    total -= np.sum(a**2, axis=1)[:, None]
    total -= np.sum(b**2, axis=1)
    total *= 0.5
    np.minimum(total, 0.0, out=total)
    np.exp(total, out=total)
    for j in range(a.shape[1]):
        total += integrated_brownian_motion(a[:, j][:, None], b[:, j])
    if a.shape[1] > MANY_AXES:
        # the same sum: half the square of the sum over j, without the squares of each j
        total += ((a @ b.T) ** 2 - (a**2) @ (b**2).T) / 2
    elif a.shape[1] > 1:
        pairs = np.triu_indices(a.shape[1], 1)
        total += (a[:, pairs[0]] * a[:, pairs[1]]) @ (b[:, pairs[0]] * b[:, pairs[1]]).T
    return total


def kernel_diagonal(a: Array) -> Array:
    """The variances of points, shape (n,).

    Args:
        a: coordinates, shape (n, axes).
    """
    pairs = np.triu_indices(a.shape[1], 1)
    walk = np.sum(np.abs(a) ** 3, axis=1) / 2
    return 1 + walk + np.sum((a[:, pairs[0]] * a[:, pairs[1]]) ** 2, axis=1)


def integrated_brownian_motion(a: Array, b: Array) -> Array:
    """The covariance of once-integrated Brownian motion from 0 in both directions.

    Args:
        a, b: positions, of shapes that broadcast; the variance at 1 is 1/2.
    """
    # each direction separately: the smaller of two positions on one side; 0 for positions on
    # opposite sides
    total = np.zeros(np.broadcast_shapes(a.shape, b.shape))
    for one, two in ((a, b), (-a, -b)):
        one, two = np.maximum(one, 0.0), np.maximum(two, 0.0)
        small = np.minimum(one, two)
        large = np.maximum(one, two)
        large *= 3
        large -= small
        small *= small
        large *= small
        total += large
    total *= 0.25
    return total
