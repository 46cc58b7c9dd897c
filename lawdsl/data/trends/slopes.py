"""Measured curves -> the slope of each along one variable, and how it scatters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lawdsl.data.trends.paired_differences import (
    Array,
    PairedDifferences,
    RepeatScatter,
    in_lines,
    merged,
    varying,
)

MAX_CURVE_DEGREE = (
    3  # of the smooth curve in the logarithm about which values scatter; less for short ones
)


def slopes(
    rows: PairedDifferences, i: int, levels: Array
) -> tuple[PairedDifferences, RepeatScatter, RepeatScatter]:
    """The slope of each curve along the logarithm of a variable, over the whole curve.

    It is that of the least-squares line. A curve may fall first and rise later, and its end alone
    is a few noisy values; but no curve that falls all the way has such a slope above 0, and none
    that rises all the way one below 0. So its sign is evidence for a claim or against it.

    Args:
        rows: the measurements.
        i: number of the variable.
        levels: its distinct values, ascending.

    Returns:
        The slopes, repeats averaged; how those of repeats scatter; and how measurements scatter
        about smooth curves.
    """
    positive = rows.take(levels[rows.low[i]] > 0)  # 0 tokens have no logarithm
    pairs, line = in_lines(merged(positive, varying(positive, i))[0], i)
    several = np.bincount(line, minlength=1)[line] > 1
    pairs, line = pairs.take(several), line[several]
    if not len(pairs):
        return pairs, RepeatScatter(), RepeatScatter()
    first, count = np.unique(line, return_index=True, return_counts=True)[1:]

    def total(values: Array) -> Array:
        return np.repeat(np.add.reduceat(values, first), count)

    length = np.repeat(count, count)
    basis, rest = [np.ones(len(pairs))], pairs.value - total(pairs.value) / length
    log = np.log(levels[pairs.low[i]])
    centred = log - total(log) / length
    for degree in range(1, MAX_CURVE_DEGREE + 1):  # orthogonal polynomials on each curve
        power = basis[-1] * centred
        for other in basis:
            power = power - other * _ratio(total(other * power), total(other**2))
        basis.append(power if degree == 1 else np.where(length > degree + 1, power, 0.0))
        rest = rest - basis[-1] * _ratio(total(basis[-1] * rest), total(basis[-1] ** 2))
    weight = basis[1] / total(basis[1] ** 2)
    low, high = pairs.low[:, first], pairs.high[:, first]
    low[i] = high[i] = 0  # curves of other lengths are repeats too
    curves = replace(
        pairs.take(first),
        value=np.add.reduceat(weight * pairs.value, first),
        spread=np.add.reduceat(weight**2 * pairs.spread, first),
        error=np.add.reduceat(weight**2 * pairs.error, first),
        low=low,
        high=high,
    )
    spare = np.maximum(count - 1 - np.clip(count - 2, 1, MAX_CURVE_DEGREE), 0)
    mean_slopes, repeats = merged(curves)
    return (
        mean_slopes,
        repeats,
        RepeatScatter(float(np.sum(rest**2 / pairs.spread)), int(np.sum(spare))),
    )


def _ratio(above: Array, below: Array) -> Array:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
