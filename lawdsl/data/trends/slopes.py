"""Measured curves -> the least-squares slope of each along a logarithm, and its scatter.

slope = Σ (t_k - mean t)·y_k / Σ (t_k - mean t)², with t = log x. The residuals about a smooth curve
are those of a polynomial in t of degree at most 3, by orthogonal polynomials on the points of each
curve (Forsythe (1957), "Generation and use of orthogonal polynomials for data-fitting with a
digital computer", Journal of the Society for Industrial and Applied Mathematics 5).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lawdsl.data.trends.paired_differences import (
    Array,
    GridValues,
    RepeatScatter,
    merge_repeats,
    sort_into_lines,
    varies_within_labels,
)

MAX_CURVE_DEGREE = (
    # degree of the smooth curve in the logarithm about which values scatter; lower for short curves
    3
)


def slopes(
    rows: GridValues, i: int, levels: Array
) -> tuple[GridValues, RepeatScatter, RepeatScatter]:
    """The slope of each curve along the logarithm of a variable, over the whole curve.

    It is the slope of the least-squares line. A curve may first fall and then rise, and its last
    part consists of a few noisy values. But a curve that decreases everywhere never has a positive
    slope, and one that increases everywhere never a negative one; so the sign of the slope is
    evidence for or against a claim.

    Args:
        rows: the measurements.
        i: the index of the variable.
        levels: its distinct values, in ascending order.

    Returns:
        The slopes, repeats averaged; the scatter of the slopes of repeats; and the scatter of
        measurements about smooth curves.
    """
    positive = rows.take(levels[rows.low[i]] > 0)  # 0 tokens have no logarithm
    pairs, line = sort_into_lines(merge_repeats(positive, varies_within_labels(positive, i))[0], i)
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
            # modified Gram-Schmidt: stable where powers of the logarithm are nearly parallel
            power = power - other * _ratio(total(other * power), total(other**2))
        basis.append(power if degree == 1 else np.where(length > degree + 1, power, 0.0))
        rest = rest - basis[-1] * _ratio(total(basis[-1] * rest), total(basis[-1] ** 2))
    weight = basis[1] / total(basis[1] ** 2)
    low, high = pairs.low[:, first], pairs.high[:, first]
    low[i] = high[i] = 0  # curves of other lengths count as repeats, too
    curves = replace(
        pairs.take(first),
        value=np.add.reduceat(weight * pairs.value, first),
        spread=np.add.reduceat(weight**2 * pairs.spread, first),
        error=np.add.reduceat(weight**2 * pairs.error, first),
        low=low,
        high=high,
    )
    # degrees of freedom: the number of points of a curve minus the number of coefficients
    spare = np.maximum(count - 1 - np.clip(count - 2, 1, MAX_CURVE_DEGREE), 0)
    mean_slopes, repeats = merge_repeats(curves)
    return (
        mean_slopes,
        repeats,
        RepeatScatter(float(np.sum(rest**2 / pairs.spread)), int(np.sum(spare))),
    )


def _ratio(above: Array, below: Array) -> Array:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
