"""Box -> random float64 values of its symbols; callers verify whatever the samples suggest."""

from __future__ import annotations

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.compiling.arrays import evaluate
from lawdsl.compiling.tape import compile_tape
from lawdsl.proof.box import Box, Endpoint

# most likely first: witnesses are easier to read with them
ROUND_NUMBERS = (1, 2, 0.5, 3, 0.1, 10, 0.25, 5, 0.01, 100)

Column = NDArray[np.float64]


def draw_round(box: Box, symbol: sp.Symbol, rng: np.random.Generator, count: int) -> Column:
    """Draw small fractions and the closed ends of the range, the first in the list most often.

    Args:
        box: the domain.
        symbol: the symbol.
        rng: the source of randomness.
        count: the number of values.

    Returns:
        Values inside the range, shape (count,).
    """
    low, low_closed, high, high_closed = _ends(box, symbol)
    choices = [*map(float, ROUND_NUMBERS), *map(float, box.settings.values())]
    if low is None:
        choices += [0.0, *(-x for x in choices)]
    elif low != 0:
        choices += [low + x for x in choices]
    if high is not None:
        choices += [high - x for x in choices]
    inside = [x for x in choices if (low is None or x > low) and (high is None or x < high)]
    closed = [x for x, is_closed in ((low, low_closed), (high, high_closed)) if is_closed]
    values = [x for x in (*closed, *inside) if x is not None]
    if not values:
        return draw_wide(box, symbol, rng, count)
    # the closed ends and the first round numbers are most likely
    weights = 1 / (1 + np.arange(len(values)) / 3)
    return rng.choice(values, size=count, p=weights / weights.sum())


def draw_wide(box: Box, symbol: sp.Symbol, rng: np.random.Generator, count: int) -> Column:
    """Draw log-uniform values over twelve decades, from a finite end, or from 0 to both sides.

    Between two finite ends low and high, the values are low + (high - low)·u, where u is uniform,
    or log-uniform near 0 or near 1.

    Args:
        box: the domain.
        symbol: the symbol.
        rng: the source of randomness.
        count: the number of values.

    Returns:
        Values inside the range, shape (count,).
    """
    low, low_closed, high, high_closed = _ends(box, symbol)
    size = 10 ** rng.uniform(-6, 6, count)
    if low is not None and high is not None:
        share = rng.uniform(size=count)
        # half of them near one of the ends, where claims often fail
        share = np.where(rng.uniform(size=count) < 0.5, share, 10 ** rng.uniform(-6, 0, count))
        share = np.where(rng.uniform(size=count) < 0.5, share, 1 - share)
        values = low + (high - low) * share
        values = np.where((values <= low) & (not low_closed), (low + high) / 2, values)
        return np.where((values >= high) & (not high_closed), (low + high) / 2, values)
    if low is not None:
        return low + size
    if high is not None:
        return high - size
    return size * rng.choice([-1.0, 1.0], count)


def _ends(box: Box, symbol: sp.Symbol) -> tuple[float | None, bool, float | None, bool]:
    if symbol in box.settings:
        value = float(box.settings[symbol])
        return value, True, value, True
    domain = box.range(symbol)
    return *_end(box, domain.lower), *_end(box, domain.upper)


def _end(box: Box, end: Endpoint | None) -> tuple[float | None, bool]:
    if end is None:
        return None, False
    symbols = sorted(end.value.free_symbols, key=str)
    if not set(symbols) <= set(box.settings):
        return None, False
    value = evaluate(compile_tape([end.value], symbols), [float(box.settings[s]) for s in symbols])[
        0
    ]
    return (float(value), end.closed) if np.isfinite(value) else (None, False)
