"""Fit + one fixed parameter -> the minimum of the objective under bounds that depend on other
parameters.

If C > C0 and C0 depends on other parameters, the constraint is either inactive or active at the
constrained minimum. So the minimum is computed both without the constraint and on it (C = C0), and
the best feasible point is selected: enumeration of active sets (Nocedal and Wright (2006),
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

from lawdsl.fitting.bound_distances import bound_distances
from lawdsl.fitting.diagnostics.diagnose import ROUNDING_ENDS
from lawdsl.fitting.intervals.refits import Refit, Refits, refit
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.transforms import Transform, Transforms, to_free, to_parameters

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# active sets that are tried: those most similar to that of the fit
MAX_ACTIVE_SETS = 27
# active sets from which those tried are selected
MAX_ENUMERATED = 100_000
# relative to the bound: a smaller violation is rounding error
COUPLED_BOUND_RTOL = 1e-9


@dataclass(frozen=True)
class _ActiveSet:
    """The problem with some parameters on bounds that depend on others: one active set.

    Attributes:
        problem: the problem restricted to these bounds, without the other bounds.
        on: position of a parameter -> its unconstrained value on the bound.
    """

    problem: Problem
    on: dict[int, float]


class ConstrainedFit:
    """A fit with bounds that depend on other parameters.

    Args:
        problem: the problem without these bounds.
        bounded: the problem with all bounds.
        theta: the fitted parameters, shape (parameters,).

    Attributes:
        left_out: the number of active sets that are not tried. The minimum may be on one of them;
            then it is lower than the computed one, and an interval is wider.
    """

    def __init__(self, problem: Problem, bounded: Problem, theta: Array) -> None:
        self.problem, self.limits = problem, bounded.transforms
        coupled = [i for i, t in enumerate(self.limits) if t.coupled]
        states = [(None, *_free_on_coupled_bounds(self.limits[i])) for i in coupled]
        total = prod(map(len, states))
        self.left_out = max(0, total - MAX_ACTIVE_SETS)
        self.active_sets = list(self._enumerate(coupled, states, theta))

    def _enumerate(
        self, coupled: list[int], states: list[tuple[float | None, ...]], theta: Array
    ) -> Iterator[_ActiveSet]:
        limits, at_fit = self.limits, _are_on_coupled_bounds(self.limits, theta)

        def changed(chosen: tuple[float | None, ...]) -> int:
            return sum((u is not None) != at_fit[i] for i, u in zip(coupled, chosen, strict=True))

        # with many bounds the product is too long even to sort
        enumerated = islice(product(*states), MAX_ENUMERATED)
        for chosen in nsmallest(MAX_ACTIVE_SETS, enumerated, key=changed):
            on = {i: u for i, u in zip(coupled, chosen, strict=True) if u is not None}
            pairs = zip(limits, self.problem.transforms, strict=True)
            transforms = [
                coupled_transform if i in on else free_transform
                for i, (coupled_transform, free_transform) in enumerate(pairs)
            ]
            yield _ActiveSet(replace(self.problem, transforms=Transforms(transforms)), on)

    def minimise(self, free: Array, numbers: NDArray[np.int64], by: Refit = refit) -> Refits:
        """The best feasible points with one unconstrained parameter fixed in each, and the
        objective there.

        Args:
            free: the starts, in unconstrained parameters without the bounds, shape (starts,
                parameters).
            numbers: the position of the parameter that is fixed in each start, shape (starts,).
            by: how the others are refitted.

        Returns:
            The refits of the starts; the objective is inf where no feasible point was found.
        """
        best, losses = free.copy(), np.full(len(free), np.inf)
        gains, evaluations = np.full(len(free), np.inf), 0
        settled = np.zeros(len(free), dtype=bool)
        # a minimum without active bounds that satisfies all of them is the minimum
        for active_set in sorted(self.active_sets, key=lambda each: bool(each.on)):
            # a parameter cannot be fixed both at its value and on its bound
            rows = np.flatnonzero(~np.isin(numbers, list(active_set.on)) & ~settled)
            if not len(rows):
                continue
            theta, reached = self._minimise_on(active_set, free[rows], numbers[rows], by)
            evaluations += reached.evaluations
            is_feasible = [
                satisfies_coupled_bounds(self.limits, point, int(j))
                for point, j in zip(theta, numbers[rows], strict=True)
            ]
            better = np.array(is_feasible) & (reached.losses < losses[rows])
            if not active_set.on:
                settled[rows] = np.array(is_feasible) & np.isfinite(reached.losses)
            improved = rows[better]
            best[improved] = to_free(self.problem.transforms, theta[better])
            losses[improved], gains[improved] = reached.losses[better], reached.gains[better]
            # the mapping there and back rounds, but the fixed parameter must not change
            best[improved, numbers[improved]] = free[improved, numbers[improved]]
        return Refits(best, losses, gains, evaluations)

    def _minimise_on(
        self, active_set: _ActiveSet, free: Array, numbers: NDArray[np.int64], by: Refit
    ) -> tuple[Array, Refits]:
        """The best parameters of one active set, and the refits that reach them."""
        theta = to_parameters(self.problem.transforms, free)
        start = to_free(active_set.problem.transforms, theta)
        fixed = np.zeros(free.shape, dtype=bool)
        rows = np.arange(len(free))
        start[rows, numbers], fixed[rows, numbers] = free[rows, numbers], True
        for i, u in active_set.on.items():
            start[:, i], fixed[:, i] = u, True
        reached = by(active_set.problem, start, fixed)
        return to_parameters(active_set.problem.transforms, reached.free), reached


def _are_on_coupled_bounds(limits: Transforms, theta: Array) -> list[bool]:
    """The mask of parameters, with values of shape (parameters,), on a bound that depends on
    others.
    """
    values = {t.name: float(x) for t, x in zip(limits, theta, strict=True)}
    distances = bound_distances(limits, values)
    return [
        t.coupled and distances[t.name][1] <= COUPLED_BOUND_RTOL * abs(values[t.name])
        for t in limits
    ]


def satisfies_coupled_bounds(limits: Transforms, theta: Array, but: int | None = None) -> bool:
    """Whether parameters satisfy the bounds that depend on other parameters, up to rounding.

    Args:
        limits: the transforms, one per parameter.
        theta: the parameters, shape (parameters,).
        but: the position of a parameter whose bounds are not checked; None to check all.
    """
    values = {t.name: float(x) for t, x in zip(limits, theta, strict=True)}
    distances = bound_distances(limits, values)
    return all(
        distances[t.name][1] >= -COUPLED_BOUND_RTOL * abs(values[t.name])
        for i, t in enumerate(limits)
        if t.coupled and i != but
    )


def with_untransformed(problem: Problem, number: int) -> Problem:
    """Return the problem with one parameter untransformed, since on its bound its unconstrained
    value is infinite.

    Args:
        problem: the objective to be minimised, with its data.
        number: the position of the parameter.
    """
    each = [
        Transform(t.name, None, None) if i == number else t
        for i, t in enumerate(problem.transforms)
    ]
    return replace(problem, transforms=Transforms(each))


def _free_on_coupled_bounds(transform: Transform) -> list[float]:
    """The unconstrained values of a parameter on its bounds that depend on others."""
    low, high = transform.sides
    free = []
    if low is not None and low.formula is not None:
        free.append(-ROUNDING_ENDS)
    if high is not None and high.formula is not None:
        free.append(-ROUNDING_ENDS if low is None else ROUNDING_ENDS)
    return free
