"""Plan + columns -> random values of the parameters of a law for starts, at scales that follow from its
expression.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.preparation.breakpoint_draws import between_rows
from lawdsl.fitting.preparation.scaled_draws import draw_scaled_to_terms
from lawdsl.fitting.preparation.start_plan import DomainEnd, StartPlan

Array = NDArray[np.float64]


def draw_values(
    plan: StartPlan,
    settings: Sequence[float],
    columns: Array,
    draws: int,
    seed: int,
    rng: np.random.Generator,
) -> Array:
    """Draw values of the parameters, each at a scale that fits its position in the expression.

    Args:
        plan: how starts of the law are drawn; not of a law that is computed on arrays.
        settings: the values of its settings.
        columns: its variables, shape (variables, rows).
        draws: the number of values of each parameter.
        seed: the seed of the values that are scaled to the terms of the law.
        rng: the random generator of the other values.

    Returns:
        Shape (draws, parameters), or (2·draws, parameters) if the terms of the law define scales.
    """
    near = [np.abs(c[c != 0]) for c in columns if np.any(c != 0)]
    near += [1 / column for column in near]
    places = zip(plan.domains, plan.in_exponents, strict=True)
    theta = np.stack([_draw(ends, within, near, draws, rng) for ends, within in places], axis=1)
    generator = np.random.default_rng((seed, 1))
    scaled = draw_scaled_to_terms(plan, columns, settings, theta, generator)
    theta = theta if scaled is None else np.concatenate([theta, scaled])
    return between_rows(plan, columns, settings, theta, np.random.default_rng((seed, 2)))


def _draw(
    ends: Sequence[DomainEnd],
    in_exponent: bool,
    near: list[Array],
    draws: int,
    rng: np.random.Generator,
) -> Array:
    """Values of one parameter: of order 1 in an exponent, else also of the magnitude of the data."""
    size = np.exp(rng.uniform(np.log(0.03), np.log(3.0), draws))
    if not in_exponent:
        for sizes in near:
            picked = sizes[rng.integers(len(sizes), size=draws)] * np.exp(rng.uniform(-3, 3, draws))
            size = np.where(rng.uniform(size=draws) < 0.7 / len(near), picked, size)
    lower, upper = _numbers(ends)
    if lower and upper:
        return max(lower) + (min(upper) - max(lower)) * rng.uniform(0.02, 0.98, draws)
    if lower or any(end.lower for end in ends):
        return (max(lower) if lower else 0.0) + size
    if upper or ends:
        return (min(upper) if upper else 0.0) - size
    return size * rng.choice([-1.0, 1.0], draws)


def _numbers(ends: Sequence[DomainEnd]) -> tuple[list[float], list[float]]:
    """The lower and the upper bounds that are numbers."""
    numbers = [(end.lower, end.number) for end in ends if end.number is not None]
    return [x for lower, x in numbers if lower], [x for lower, x in numbers if not lower]


def draw_families(
    names: Sequence[str], plan: StartPlan, draws: int, rng: np.random.Generator
) -> Array:
    """Draw the elements of index sets: in each draw the elements of a family have one magnitude,
    since the effects of all domains are summed.

    Args:
        names: the names of the parameters of a law that is computed on arrays.
        plan: their domains.
        draws: the number of values of each parameter.
        rng: the random generator of the values.

    Returns:
        Shape (draws, parameters).
    """
    sizes: dict[str, Array] = {}
    families = []
    for name, ends in zip(names, plan.domains, strict=True):
        family = name.partition("[")[0]
        if family not in sizes:
            sizes[family] = np.exp(rng.uniform(np.log(0.1), np.log(10.0), draws))
        families.append(_map_into_domain(ends, sizes[family] * rng.normal(size=draws), rng))
    return np.stack(families, axis=1)


def _map_into_domain(ends: Sequence[DomainEnd], value: Array, rng: np.random.Generator) -> Array:
    """Map values of any sign into a domain that is bounded by numbers."""
    lower, upper = _numbers(ends)
    if lower and upper:
        share = rng.uniform(0.02, 0.98, len(value))
        return max(lower) + (min(upper) - max(lower)) * share
    if lower:
        return max(lower) + np.abs(value)
    return min(upper) - np.abs(value) if upper else value
