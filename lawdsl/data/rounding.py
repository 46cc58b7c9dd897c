"""Numbers of a column -> the steps to which they are rounded.

A step s is accepted if |x - s·round(x/s)| <= rtol·|x| for all x, with the rtol of double precision,
or of single precision for coarse steps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DECIMALS = range(-3, 9)  # numbers of decimal places that are tried, from thousands on
SIGNIFICANT_DIGITS = range(1, 7)  # significant digits that are tried
DOUBLE_RTOL = 1e-9  # relative error of a decimal number in binary, with room for a few operations
SINGLE_RTOL = 2e-7  # relative error of numbers once stored in single precision (2^-23 = 1.2e-7)
COARSE_STEP = 1e-4  # relative to the largest number: detectable in single precision too
MAX_EXACT_INTEGER = 2.0**53  # float64 represents all integers up to this one


def steps(numbers: Array) -> Array:
    """The rounding step of each number, shape (rows,): the distance to its neighbours on the grid.

    Either all numbers are multiples of one step (0.01, 0.05, 1/64), or all have few significant
    digits. The step is 0 if none is detected.

    Args:
        numbers: shape (rows,).
    """
    size = np.abs(numbers)
    if not len(numbers) or not np.all(np.isfinite(numbers)) or not size.max() > 0:
        return np.zeros(len(numbers))
    return np.maximum(_common_step(numbers, size), _significant_digit_step(numbers, size))


def _common_step(numbers: Array, size: Array) -> float:
    """The largest step of which all numbers are multiples; 0 if no tried step fits."""
    for decimals in DECIMALS:
        unit = 10.0**-decimals
        scaled = numbers / unit
        # beyond it every float64 is an integer, so that every step would fit
        if np.max(np.abs(scaled)) > MAX_EXACT_INTEGER:
            break
        multiples = np.rint(scaled)
        if np.all(np.abs(scaled - multiples) * unit <= _allowed_steps(unit, size)):
            # 0.05 and 0.15 are multiples of 0.01, but their step is 0.05
            return float(np.gcd.reduce(multiples.astype(np.int64))) * unit
    return 0.0


def _significant_digit_step(numbers: Array, size: Array) -> Array:
    """The step of each number, if all numbers have few significant digits; else 0."""
    with np.errstate(divide="ignore"):
        power = np.where(size > 0, np.floor(np.log10(np.where(size > 0, size, 1.0))), 0.0)
    for digits in SIGNIFICANT_DIGITS:
        unit = 10.0 ** (power - digits + 1)
        off = np.abs(numbers / unit - np.rint(numbers / unit)) * unit
        if np.all(off <= _allowed_steps(unit, size)):
            return np.asarray(np.where(size > 0, unit, 0.0), dtype=np.float64)
    return np.zeros(len(numbers))


def _allowed_steps(unit: Array | float, size: Array) -> Array:
    coarse = np.asarray(unit) > COARSE_STEP * np.max(size)
    return np.where(coarse, SINGLE_RTOL, DOUBLE_RTOL) * size


def in_single_precision(numbers: Array) -> Array:
    """The numbers rounded to the 24-bit significand of a float32, for any exponent; any shape.

    A table joined with its copy in another precision has equal rows only after this rounding.

    Args:
        numbers: any shape.
    """
    mantissa, exponent = np.frexp(numbers)
    return np.asarray(np.ldexp(np.rint(np.ldexp(mantissa, 24)), exponent - 24))
