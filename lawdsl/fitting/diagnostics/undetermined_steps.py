"""Parameters + Jacobian -> steps that the noise of the rows hides.

Linear parameters are compared among themselves; the others with the linear ones re-estimated after each step; those of
blocks with the shared ones fixed, and the shared ones with those of all blocks re-estimated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.diagnostics.block_directions import BlockJacobian
from lawdsl.fitting.prepared_law import PreparedLaw

Array = NDArray[np.float64]

# columns have length 1: a direction of smaller width is undetermined even without noise
UNDETERMINED_WIDTH = 1e-7
# directions of smaller width have no effect beyond rounding
ROUNDING_WIDTH = 1e-12
# component of a direction: parameters with a smaller one are not named
NAMED_SHARE = 0.1
# the same, for a direction without any effect
NAMED_SHARE_EXACT = 1e-4
# relative to the size of a parameter: a standard error above it leaves the parameter undetermined
MAX_HIDDEN_CHANGE = 1.0
# relative to the size of a linear parameter: it follows an exponent that changes by its own size
# if it changes by more
FOLLOWING_CHANGE = 0.5
# smallest divisor: a width of 0 yields a long step instead of a division by 0
MIN_WIDTH = 1e-300


@dataclass(frozen=True)
class ParameterEffects:
    """The effects of some parameters on the predictions: one column of the Jacobian each.

    Attributes:
        numbers: the positions of the parameters, shape (parameters,).
        jacobian: shape (rows, parameters).
        size: the scale of each parameter, shape (parameters,).
        length: the length of each column, shape (parameters,).
    """

    numbers: NDArray[np.int64]
    jacobian: Array
    size: Array
    length: Array

    @classmethod
    def of(cls, numbers: NDArray[np.int64], jacobian: Array, sizes: Array) -> ParameterEffects:
        """The effects of some parameters, from their columns and the sizes of all parameters."""
        return cls(numbers, jacobian, sizes[numbers], np.linalg.norm(jacobian, axis=0))


@dataclass(frozen=True)
class Direction:
    """A direction in parameter space that the rows may not determine.

    Attributes:
        involved: the positions of the parameters in it.
        width: the length of its effect on the predictions, if columns have length 1.
        step: the change of all parameters for an effect of length 1, shape (parameters,).
    """

    involved: frozenset[int]
    width: float
    step: Array


def undetermined_linear(
    linear: ParameterEffects, count: int, spread: float, noise: float
) -> list[Direction]:
    """Directions of the linear parameters, out of `count` parameters, with the others fixed."""
    if not len(linear.numbers):
        return []
    length = linear.length
    size = np.maximum(linear.size, spread / length)  # a value of 0 has no size of its own
    _, widths, rows = singular_directions(linear.jacobian / length)
    directions = []
    for width, row in zip(widths, rows, strict=True):
        step = np.max(np.abs(row) / (length * size)) * noise
        if width < UNDETERMINED_WIDTH or step > MAX_HIDDEN_CHANGE * width:
            share = NAMED_SHARE_EXACT if width < ROUNDING_WIDTH else NAMED_SHARE
            involved = frozenset(map(int, linear.numbers[np.abs(row) > share]))
            directions.append(
                Direction(involved, float(width), _step(linear, row / length, width, count))
            )
    return directions


def undetermined_nonlinear(
    others: ParameterEffects,
    linear: ParameterEffects,
    spread: float,
    noise: float,
    law: PreparedLaw,
) -> list[Direction]:
    """Directions of the other parameters, with the linear ones re-estimated by least squares after
    each step.
    """
    if not len(others.numbers):
        return []
    response = np.linalg.pinv(linear.jacobian / linear.length) / linear.length[:, None]
    response = response @ others.jacobian
    remaining = others.jacobian - linear.jacobian @ response
    return _undetermined_following(others, linear, response, remaining, spread, noise, law)


def _undetermined_following(
    others: ParameterEffects,
    linear: ParameterEffects,
    response: Array,
    remaining: Array,
    spread: float,
    noise: float,
    law: PreparedLaw,
) -> list[Direction]:
    """Directions of parameters to which others respond, from the columns that remain."""
    free = np.array([not law.parameters[i].bounds for i in others.numbers])
    length = others.length
    # an unbounded parameter may be 0; its size is then defined by its effect
    with np.errstate(all="ignore"):
        unbounded_size = np.maximum(others.size, spread / np.linalg.norm(remaining, axis=0))
    size = np.where(free, unbounded_size, others.size)
    _, widths, rows = singular_directions(remaining / length)
    count = len(law.parameters)
    directions = []
    for width, row in zip(widths, rows, strict=True):
        change = row / length
        if not (
            width < UNDETERMINED_WIDTH
            or np.max(np.abs(change) / size) * noise > MAX_HIDDEN_CHANGE * width
        ):
            continue
        share = NAMED_SHARE_EXACT if width < ROUNDING_WIDTH else NAMED_SHARE
        involved = set(map(int, others.numbers[np.abs(row) > share]))
        responses = np.abs(response @ (change / np.max(np.abs(change) / size)))
        follows_strongly = responses > FOLLOWING_CHANGE * np.maximum(
            linear.size, spread / linear.length
        )
        involved |= set(map(int, linear.numbers[follows_strongly]))
        step = _step(others, change, width, count) - _step(linear, response @ change, width, count)
        directions.append(Direction(frozenset(involved), float(width), step))
    return directions


def undetermined_in_blocks(
    blocks: BlockJacobian,
    is_linear: NDArray[np.bool_],
    left_out: NDArray[np.bool_],
    size: Array,
    spread: float,
    noise: float,
    law: PreparedLaw,
) -> list[Direction]:
    """Directions of the parameters of each block, with the shared ones fixed, and of the shared ones,
    with those of all blocks re-estimated."""
    directions: list[Direction] = []
    for numbers, jacobian in blocks.blocks():
        kept, count = ~left_out[numbers], len(size)
        linear, others = (
            ParameterEffects.of(numbers[chosen], jacobian[:, chosen], size)
            for chosen in (kept & is_linear[numbers], kept & ~is_linear[numbers])
        )
        directions += undetermined_linear(linear, count, spread, noise)
        directions += undetermined_nonlinear(others, linear, spread, noise, law)
    border = blocks.arrow.border
    border = border[~left_out[border]]
    if not len(border):
        return directions
    shared = blocks.shared(border, left_out)
    own = np.setdiff1d(blocks.arrow.members[blocks.arrow.used], np.flatnonzero(left_out))
    following = ParameterEffects(own, np.empty((0, len(own))), size[own], blocks.lengths[own])
    return directions + _undetermined_following(
        ParameterEffects.of(border, shared.columns, size),
        following,
        shared.response[own],
        shared.remaining,
        spread,
        noise,
        law,
    )


def _step(columns: ParameterEffects, move: Array, width: float, count: int) -> Array:
    """A step of some parameters as a step of all, scaled such that the predictions change by length
    1.
    """
    step = np.zeros(count)
    step[columns.numbers] = move / max(width, MIN_WIDTH)
    return step


def singular_directions(columns: Array) -> tuple[Array, Array, Array]:
    """The singular value decomposition of a tall matrix, without its left singular vectors."""
    missing = columns.shape[1] - len(columns)
    if missing > 0:  # a block with fewer rows than parameters: the rest has no effect
        columns = np.vstack([columns, np.zeros((missing, columns.shape[1]))])
    # R has the singular values of the tall matrix, and is small
    return np.linalg.svd(np.linalg.qr(columns, mode="r"))
