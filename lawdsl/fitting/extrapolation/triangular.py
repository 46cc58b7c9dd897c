"""Systems of linear equations with a lower triangular matrix, by blocks of rows.

SciPy solves them too, but its linear algebra takes longer to load than a prediction takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

BLOCK = 64  # rows that are solved at once, by elimination; the rest are products of matrices


def solve_lower(factor: NDArray[Any], right: Array, *, check_finite: bool = True) -> Array:
    """The solution X of L·X = B by forward substitution.

    Args:
        factor: L, lower triangular, shape (n, n).
        right: B, shape (n,) or (n, columns).
        check_finite: whether to look for numbers that are not finite.

    Raises:
        ValueError: a number is not finite.
        numpy.linalg.LinAlgError: L is singular.
    """
    if check_finite:
        factor, right = np.asarray_chkfinite(factor), np.asarray_chkfinite(right)
    solved = np.array(right, dtype=np.float64)
    for start in range(0, len(factor), BLOCK):
        rows = slice(start, start + BLOCK)
        if start:
            solved[rows] -= factor[rows, :start] @ solved[:start]
        solved[rows] = np.linalg.solve(factor[rows, rows], solved[rows])
    return solved
