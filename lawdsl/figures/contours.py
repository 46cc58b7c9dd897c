"""Values at the corners of triangles -> lines of equal value (marching triangles).

Within a triangle the values are interpolated linearly, so that a line of one level crosses it as a
segment between two of its edges; segments that share an edge are joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Corners = NDArray[np.int64]


@dataclass(frozen=True)
class Mesh:
    """Triangles in the plane.

    Attributes:
        x, y: the coordinates of the points, shape (points,).
        triangles: the indices of the three points of each triangle, shape (triangles, 3).
    """

    x: Array
    y: Array
    triangles: Corners


@dataclass(frozen=True)
class LevelLine:
    """A line of equal value: its level, and its points in order."""

    level: float
    x: Array
    y: Array


def rectangle(x: Array, y: Array) -> Mesh:
    """The mesh of a grid, each cell cut in two.

    Args:
        x: shape (columns,).
        y: shape (rows,).
    """
    numbers = np.arange(len(x) * len(y)).reshape(len(y), len(x))
    a, b = numbers[:-1, :-1].ravel(), numbers[:-1, 1:].ravel()
    c, d = numbers[1:, :-1].ravel(), numbers[1:, 1:].ravel()
    triangles = np.concatenate([np.stack([a, b, d], axis=1), np.stack([a, d, c], axis=1)])
    return Mesh(np.tile(x, len(y)), np.repeat(y, len(x)), triangles)


def ternary(count: int) -> tuple[Mesh, Array]:
    """The mesh of an equilateral triangle of side 1, whose points are mixtures of three shares.

    Args:
        count: the number of cells along a side.

    Returns:
        The mesh, and the three shares at each point, shape (3, points). The first share is 1 at the
        left corner, the second at the right one, the third at the top.
    """
    pairs = [(j, k) for k in range(count + 1) for j in range(count + 1 - k)]
    number = {pair: i for i, pair in enumerate(pairs)}
    triangles = []
    for j, k in pairs:
        if j + k < count:
            triangles.append((number[j, k], number[j + 1, k], number[j, k + 1]))
        if j + k < count - 1:
            triangles.append((number[j + 1, k], number[j + 1, k + 1], number[j, k + 1]))
    second, third = np.array(pairs, dtype=np.float64).T / count
    first = np.array([count - j - k for j, k in pairs]) / count  # 1 minus the others may be -1e-17
    shares = np.stack([first, second, third])
    return Mesh(*in_triangle(shares), np.array(triangles)), shares


def in_triangle(shares: Array) -> tuple[Array, Array]:
    """The plane coordinates of three shares, shape (3, points), in an equilateral triangle of side
    1.
    """
    return shares[1] + shares[2] / 2, shares[2] * np.sqrt(3) / 2


def level_lines(mesh: Mesh, values: Array, levels: Sequence[float]) -> list[LevelLine]:
    """The lines of equal value.

    Args:
        mesh: the triangles.
        values: the values at its points, shape (points,); a triangle with a value that is not
            finite has no lines.
        levels: the levels of the lines.
    """
    usable = mesh.triangles[np.all(np.isfinite(values[mesh.triangles]), axis=1)]
    return [
        line for level in levels for line in _lines_of_level(mesh, values, usable, float(level))
    ]


def _lines_of_level(
    mesh: Mesh, values: Array, triangles: Corners, level: float
) -> Iterator[LevelLine]:
    above = values >= level
    mixed = triangles[np.ptp(above[triangles].astype(np.int64), axis=1) > 0]
    neighbours: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for corners in mixed.tolist():
        one, other = (
            (min(p, q), max(p, q))
            for p, q in zip(corners, (*corners[1:], corners[0]), strict=True)
            if above[p] != above[q]
        )
        neighbours.setdefault(one, []).append(other)
        neighbours.setdefault(other, []).append(one)
    # open lines first: they begin at an edge of the mesh
    ends = [edge for edge, others in neighbours.items() if len(others) == 1]
    left = dict.fromkeys([*ends, *neighbours])
    while left:
        line = [next(iter(left))]
        del left[line[0]]
        while following := [edge for edge in neighbours[line[-1]] if edge in left]:
            line.append(following[0])
            del left[following[0]]
        if len(line) > 2 and line[0] in neighbours[line[-1]]:
            line.append(line[0])
        if len(line) > 1:
            p, q = np.array(line).T
            share = (level - values[p]) / (values[q] - values[p])
            yield LevelLine(
                level,
                mesh.x[p] + share * (mesh.x[q] - mesh.x[p]),
                mesh.y[p] + share * (mesh.y[q] - mesh.y[p]),
            )


def nice_levels(values: Array, count: int) -> list[float]:
    """About `count` round levels within the range of values: multiples of 1, 2 or 5 times a power
    of ten.

    Args:
        values: the values; those that are not finite are ignored.
        count: the approximate number of levels.
    """
    finite = values[np.isfinite(values)]
    if not len(finite) or np.ptp(finite) == 0:
        return []
    low, high = float(np.min(finite)), float(np.max(finite))
    rough = (high - low) / count
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    numbers = np.arange(np.ceil(low / step), np.floor(high / step) + 1)
    return [float(f"{x * step:.12g}") for x in numbers]
