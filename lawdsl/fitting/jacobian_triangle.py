"""Problem with many rows + parameters -> the triangular factor of its Jacobian.

J = Q·R, with R of as many rows as parameters, has the column lengths, singular values, right singular
vectors and least-squares responses of J: what a diagnosis asks of the Jacobian of a long table. It is
accumulated piece by piece, without the Jacobian (Golub and Van Loan (2013), Matrix Computations,
section 5.2.2).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.problem import LONG_TABLE_ROWS, Problem

Array = NDArray[np.float64]


def is_long(problem: Problem) -> bool:
    """Whether a table has so many rows that the triangular factor stands for its Jacobian."""
    return problem.rows > LONG_TABLE_ROWS and problem.parameters < LONG_TABLE_ROWS // 100


@np.errstate(all="ignore")  # the slopes of a steep law may overflow
def jacobian_triangle(
    problem: Problem, theta: Array, *, weighted: bool = False
) -> tuple[Array, NDArray[np.bool_]]:
    """The triangular factor of the Jacobian of the residuals with respect to the parameters.

    Args:
        problem: the objective to be minimised, with its data.
        theta: parameters, shape (parameters,).
        weighted: whether each row is multiplied by the square root of its weight.

    Returns:
        R, shape (parameters, parameters), in which numbers of the Jacobian that are not finite count
        as 0; and the mask of its finite columns.
    """
    count = problem.parameters
    triangle, is_finite = np.zeros((0, count)), np.ones(count, dtype=bool)
    pieces = zip(problem.pieces(count), problem.slopes_in_pieces(theta), strict=True)
    for piece, columns in pieces:
        is_finite &= np.isfinite(columns).all(axis=0)
        finite = np.nan_to_num(columns, posinf=0.0, neginf=0.0)
        if weighted and problem.weights is not None:
            finite *= np.sqrt(problem.weights[piece])[:, None]
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, finite]), mode="r"))
    return triangle, is_finite
