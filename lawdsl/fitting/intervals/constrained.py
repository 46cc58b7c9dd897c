"""The least objective for one parameter held at a value, within bounds that depend on others.

Where C > C0 and C0 depends on other parameters, the constraint is either inactive at the constrained
minimum or active. So the minimum is computed without the constraint, and on it (C = C0), and the best
feasible point is taken: enumeration of the active sets (Nocedal and Wright 2006, ch. 16).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.diagnosis import ROUNDING_ENDS
from lawdsl.fitting.fine import finely
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.transforms import Transform, Transforms, room, to_free, to_parameters

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

SETTLED = 1e-9  # relative: an end of an interval need not be known to the last digit
MOST = 27  # active sets that are tried
ON_IT = 1e-9  # relative: so near to its bound a parameter keeps it


@dataclass(frozen=True)
class _Way:
    """The fit with some parameters on bounds that depend on others.

    Attributes:
        problem: the fit along these bounds, and without the other ones.
        on: number of a parameter -> its free number on the bound.
    """

    problem: Problem
    on: dict[int, float]


class Constrained:
    """A fit with bounds that depend on other parameters.

    Args:
        problem: the same fit without them.
        whole: the fit.
    """

    def __init__(self, problem: Problem, whole: Problem) -> None:
        self.problem, self.limits = problem, whole.transforms
        self.ways = list(self._ways(whole.transforms))

    def _ways(self, limits: Transforms) -> Iterator[_Way]:
        coupled = [i for i, t in enumerate(limits) if t.coupled]
        states = [(None, *_on_its_bounds(limits[i])) for i in coupled]
        for chosen in list(product(*states))[:MOST]:
            on = {i: u for i, u in zip(coupled, chosen, strict=True) if u is not None}
            pairs = zip(limits, self.problem.transforms, strict=True)
            each = [own if i in on else loose for i, (own, loose) in enumerate(pairs)]
            yield _Way(replace(self.problem, transforms=Transforms(each)), on)

    def least(self, free: Array, numbers: NDArray[np.int64]) -> tuple[Array, Array]:
        """The best points with one free number each as it is in the start, and the objective;
        infinite where none was found.

        Args:
            free: the starts, in the free numbers of the fit without the bounds, shape
                (starts, parameters).
            numbers: of the parameter that stays in each, shape (starts,).
        """
        best, losses = free.copy(), np.full(len(free), np.inf)
        for way in self.ways:
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
            best[won, numbers[won]] = free[won, numbers[won]]
        return best, losses

    def _along(self, way: _Way, free: Array, numbers: NDArray[np.int64]) -> tuple[Array, Array]:
        """The best parameters on some bounds, and the objective there."""
        theta = to_parameters(self.problem.transforms, free)
        start = to_free(way.problem.transforms, theta)
        fixed = np.zeros(free.shape, dtype=bool)
        each = np.arange(len(free))
        start[each, numbers], fixed[each, numbers] = free[each, numbers], True
        for i, u in way.on.items():
            start[:, i], fixed[:, i] = u, True
        reached, losses, _ = finely(way.problem, start, fixed, settled_at=SETTLED)
        return to_parameters(way.problem.transforms, reached), losses


def keeps(limits: Transforms, theta: Array, but: int | None = None) -> bool:
    """Whether parameters of shape (parameters,) keep the bounds that depend on others, or lie on
    them; those of one of the parameters left out."""
    values = {t.name: float(x) for t, x in zip(limits, theta, strict=True)}
    distances = room(limits, values)
    return all(
        distances[t.name][1] >= -ON_IT * abs(values[t.name])
        for i, t in enumerate(limits)
        if t.coupled and i != but
    )


def opened(problem: Problem, number: int) -> Problem:
    """The fit with one parameter that is moved itself: on its bound its free number says nothing."""
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
