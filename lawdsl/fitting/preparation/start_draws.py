"""Law + columns -> random values of its parameters for starts, at scales derived from its
expression.
"""

from __future__ import annotations

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.fitting.preparation.breakpoint_draws import between_rows
from lawdsl.fitting.preparation.build_problem import is_computed_on_arrays
from lawdsl.fitting.preparation.start_scales import draw_scaled_to_terms
from lawdsl.law.law import Law, Quantity

Array = NDArray[np.float64]


def draw_values(law: Law, columns: Array, draws: int, seed: int, rng: np.random.Generator) -> Array:
    """Draw values of the parameters, each at a scale that fits its position in the expression.

    Args:
        law: the law.
        columns: its variables, shape (variables, rows).
        draws: the number of values of each parameter.
        seed: the seed of the values that are scaled to the terms of the law.
        rng: the random generator of the other values.

    Returns:
        Shape (draws, parameters), or (2·draws, parameters) if the terms of the law define scales.
    """
    if is_computed_on_arrays(law):
        return _draw_families(law, draws, rng)
    near = [np.abs(c[c != 0]) for c in columns if np.any(c != 0)]
    near += [1 / column for column in near]
    theta = np.stack([_draw(law, q, near, draws, rng) for q in law.parameters], axis=1)
    scaled = draw_scaled_to_terms(law, columns, theta, np.random.default_rng((seed, 1)))
    theta = theta if scaled is None else np.concatenate([theta, scaled])
    return between_rows(law, columns, theta, np.random.default_rng((seed, 2)))


def _draw(law: Law, q: Quantity, near: list[Array], draws: int, rng: np.random.Generator) -> Array:
    """Values of one parameter: of order 1 in an exponent, else also of the magnitude of the data."""
    size = np.exp(rng.uniform(np.log(0.03), np.log(3.0), draws))
    if not _in_exponent(law.expression, q.symbol):
        for sizes in near:
            picked = sizes[rng.integers(len(sizes), size=draws)] * np.exp(rng.uniform(-3, 3, draws))
            size = np.where(rng.uniform(size=draws) < 0.7 / len(near), picked, size)
    lower = [float(b.limit) for b in q.bounds if b.lower and b.limit.is_number]
    upper = [float(b.limit) for b in q.bounds if not b.lower and b.limit.is_number]
    if lower and upper:
        return max(lower) + (min(upper) - max(lower)) * rng.uniform(0.02, 0.98, draws)
    if lower or any(b.lower for b in q.bounds):
        return (max(lower) if lower else 0.0) + size
    if upper or q.bounds:
        return (min(upper) if upper else 0.0) - size
    return size * rng.choice([-1.0, 1.0], draws)


def _draw_families(law: Law, draws: int, rng: np.random.Generator) -> Array:
    """Draw the elements of index sets: in each draw the elements of a family have one magnitude,
    since the effects of all domains are summed.
    """
    sizes: dict[str, Array] = {}
    families = []
    for q in law.parameters:
        family = q.name.partition("[")[0]
        if family not in sizes:
            sizes[family] = np.exp(rng.uniform(np.log(0.1), np.log(10.0), draws))
        families.append(_map_into_domain(q, sizes[family] * rng.normal(size=draws), rng))
    return np.stack(families, axis=1)


def _map_into_domain(q: Quantity, value: Array, rng: np.random.Generator) -> Array:
    """Map values of any sign into a domain that is bounded by numbers."""
    lower = [float(b.limit) for b in q.bounds if b.lower and b.limit.is_number]
    upper = [float(b.limit) for b in q.bounds if not b.lower and b.limit.is_number]
    if lower and upper:
        share = rng.uniform(0.02, 0.98, len(value))
        return max(lower) + (min(upper) - max(lower)) * share
    if lower:
        return max(lower) + np.abs(value)
    return min(upper) - np.abs(value) if upper else value


def _in_exponent(expression: sp.Expr, symbol: sp.Symbol) -> bool:
    return any(symbol in power.exp.free_symbols for power in expression.atoms(sp.Pow))
