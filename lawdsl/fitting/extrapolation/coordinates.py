"""Law + fitted rows -> the coordinates in which a discrepancy is smooth.

A positive variable is measured in decades, z = log10(x) - c; a share in units of 0.5; any other
variable in units of half its fitted range. c is the mean over the fitted rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SHARE_UNIT = 0.5


@dataclass(frozen=True)
class Axis:
    """The coordinate of a variable.

    Attributes:
        variable: its name.
        scale: log10, or linear.
        center: the mean over the fitted rows, on the scale.
        unit: the unit of the coordinate on the scale: a decade, a share of 0.5, or half the fitted
            range.
    """

    variable: str
    scale: Literal["log10", "linear"]
    center: float
    unit: float


def axes_of(names: Sequence[str], shares: Sequence[bool], columns: Array) -> list[Axis]:
    """The axis of each variable.

    Args:
        names: the variables.
        shares: whether the domain of each variable is within [0, 1].
        columns: their values at the fitted rows, shape (variables, rows).
    """
    axes = []
    for name, is_share, values in zip(names, shares, columns, strict=True):
        if is_share:
            axes.append(Axis(name, "linear", float(np.mean(values)), SHARE_UNIT))
        elif np.all(values > 0):
            axes.append(Axis(name, "log10", float(np.mean(np.log10(values))), 1.0))
        else:
            half = float(np.ptp(values)) / 2
            axes.append(Axis(name, "linear", float(np.mean(values)), half or 1.0))
    return axes


def coordinates(axes: Sequence[Axis], names: Sequence[str], columns: Array) -> Array:
    """The coordinates of points.

    Args:
        axes: the axes of the fitted rows.
        names: the variables.
        columns: their values at the points, shape (variables, points).

    Returns:
        The coordinates, shape (points, axes); infinite where a variable on a logarithmic axis is 0.
    """
    by_name = dict(zip(names, columns, strict=True))
    z = np.empty((columns.shape[1], len(axes)))
    with np.errstate(divide="ignore"):
        for k, axis in enumerate(axes):
            values = by_name[axis.variable]
            scaled = np.log10(values) if axis.scale == "log10" else values
            z[:, k] = (scaled - axis.center) / axis.unit
    return z
