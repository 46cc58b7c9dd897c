"""Fit + one fixed parameter -> the least objective under bounds that depend on other parameters.

Where C > C0 and C0 depends on other parameters, the constraint is either inactive at the
constrained minimum or active. So the minimum is computed without the constraint, and on it (C =
C0), and the best feasible point is taken: enumeration of active sets (Nocedal and Wright (2006),
Numerical Optimization, section 15.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from heapq import nsmallest
from itertools import islice, product
from math import prod

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.diagnostics.diagnose import ROUNDING_ENDS
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.newton import newton_batch
from lawdsl.fitting.solvers.projected_problem import project
from lawdsl.fitting.transforms import Transform, Transforms, bound_distances, to_free, to_parameters

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

INTERVAL_END_RTOL = 1e-9  # relative: an end of an interval is not needed to the last digit
MAX_ACTIVE_SETS = 27  # active sets that are tried: those that differ least from that of the fit
ENUMERATED = 100_000  # active sets among which those tried are chosen
ON_IT = 1e-9  # relative: a violation of a bound below this is rounding


@dataclass(frozen=True)
class _Way:
    """The fit with some parameters on bounds that depend on others: one active set.

    Attributes:
        problem: the fit on these bounds, and without the other ones.
        on: number of a parameter -> its free number on the bound.
    """

    problem: Problem
    on: dict[int, float]


class Constrained:
    """A fit with bounds that depend on other parameters.

    Args:
        problem: the fit without these bounds.
        whole: the fit with all bounds.
        theta: its parameters, shape (parameters,).

    Attributes:
        left_out: how many active sets are not tried. The least objective may lie on one of them;
            then it is lower than the one that is computed, and an interval wider.
    """

    def __init__(self, problem: Problem, whole: Problem, theta: Array) -> None:
        self.problem, self.limits = problem, whole.transforms
        coupled = [i for i, t in enumerate(self.limits) if t.coupled]
        states = [(None, *_on_its_bounds(self.limits[i])) for i in coupled]
        total = prod(map(len, states))
        self.left_out = max(0, total - MAX_ACTIVE_SETS)
        self.ways = list(self._ways(coupled, states, theta))

    def _ways(
        self, coupled: list[int], states: list[tuple[float | None, ...]], theta: Array
    ) -> Iterator[_Way]:
        limits, at_fit = self.limits, _on_bounds(self.limits, theta)

        def changed(chosen: tuple[float | None, ...]) -> int:
            return sum((u is not None) != at_fit[i] for i, u in zip(coupled, chosen, strict=True))

        # with many bounds the product is too long even to sort
        tried = islice(product(*states), ENUMERATED)
        for chosen in nsmallest(MAX_ACTIVE_SETS, tried, key=changed):
            on = {i: u for i, u in zip(coupled, chosen, strict=True) if u is not None}
            pairs = zip(limits, self.problem.transforms, strict=True)
            each = [own if i in on else loose for i, (own, loose) in enumerate(pairs)]
            yield _Way(replace(self.problem, transforms=Transforms(each)), on)

    def least(self, free: Array, numbers: NDArray[np.int64]) -> tuple[Array, Array]:
        """The best feasible points with one free number fixed in each, and the objective there.

        Args:
            free: the starts, in the free numbers of the fit without the bounds, shape (starts,
                parameters).
            numbers: the number of the parameter that is fixed in each start, shape (starts,).

        Returns:
            Parameters, shape (starts, parameters), and objectives, shape (starts,); inf where no
            feasible point was found.
        """
        best, losses = free.copy(), np.full(len(free), np.inf)
        for way in self.ways:
            # a parameter cannot be fixed at its value and on its bound at once
            rows = np.flatnonzero(~np.isin(numbers, list(way.on)))
            if not len(rows):
                continue
            theta, reached = self._along(way, free[rows], numbers[rows])
            kept = [
                keeps(self.limits, at, int(j)) for at, j in zip(theta, numbers[rows], strict=True)
            ]
            better = np.array(kept) & (reached < losses[rows])
            won = rows[better]
            best[won], losses[won] = (
                to_free(self.problem.transforms, theta[better]),
                reached[better],
            )
            # the mapping there and back rounds, but the fixed number must not move
            best[won, numbers[won]] = free[won, numbers[won]]
        return best, losses

    def _along(self, way: _Way, free: Array, numbers: NDArray[np.int64]) -> tuple[Array, Array]:
        """The best parameters of one active set, and the objective there."""
        theta = to_parameters(self.problem.transforms, free)
        start = to_free(way.problem.transforms, theta)
        fixed = np.zeros(free.shape, dtype=bool)
        each = np.arange(len(free))
        start[each, numbers], fixed[each, numbers] = free[each, numbers], True
        for i, u in way.on.items():
            start[:, i], fixed[:, i] = u, True
        reached, losses, _, _ = newton_batch(
            project(way.problem), start, fixed, rtol=INTERVAL_END_RTOL
        )
        return to_parameters(way.problem.transforms, reached), losses


def _on_bounds(limits: Transforms, theta: Array) -> list[bool]:
    """Which parameters, of values of shape (parameters,), lie on a bound that depends on others."""
    values = {t.name: float(x) for t, x in zip(limits, theta, strict=True)}
    distances = bound_distances(limits, values)
    return [t.coupled and distances[t.name][1] <= ON_IT * abs(values[t.name]) for t in limits]


def keeps(limits: Transforms, theta: Array, but: int | None = None) -> bool:
    """Whether parameters satisfy the bounds that depend on other parameters, up to rounding.

    Args:
        limits: the transforms, one per parameter.
        theta: the parameters, shape (parameters,).
        but: number of a parameter whose bounds are not checked; None to check all.
    """
    values = {t.name: float(x) for t, x in zip(limits, theta, strict=True)}
    distances = bound_distances(limits, values)
    return all(
        distances[t.name][1] >= -ON_IT * abs(values[t.name])
        for i, t in enumerate(limits)
        if t.coupled and i != but
    )


def opened(problem: Problem, number: int) -> Problem:
    """Return the fit with one parameter untransformed: on its bound its free number is infinite.

    Args:
        problem: the fit.
        number: of the parameter.
    """
    each = [
        Transform(t.name, None, None) if i == number else t
        for i, t in enumerate(problem.transforms)
    ]
    return replace(problem, transforms=Transforms(each))


def _on_its_bounds(transform: Transform) -> list[float]:
    """The free numbers of a parameter on its bounds that depend on others."""
    low, high = transform.sides
    found = []
    if low is not None and low.formula is not None:
        found.append(-ROUNDING_ENDS)
    if high is not None and high.formula is not None:
        found.append(-ROUNDING_ENDS if low is None else ROUNDING_ENDS)
    return found
