"""Searches for a local optimum: where they start, in which coordinates they go, where they end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from lawdsl.solving.problems import Problem

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

CORNERS = 6  # corners that starts lie between, at least
INSET = 1e-9  # of its way: how far from a bound with an infinite slope a search stays
PRECISION = 1e-15  # of the objective, relative to its slopes: where a search ends


def chosen_starts(problem: Problem, centre: Array, count: int, seed: int) -> list[Array]:
    """The centre, and points between it and corners of what the affine conditions leave."""
    if count == 1:
        return [centre]
    rng = np.random.default_rng(seed)
    corners = problem.polytope.corners(max(CORNERS, 2 * len(centre)), rng)
    if not corners:  # unbounded
        spread = rng.normal(size=(count - 1, len(centre))) * np.maximum(1.0, np.abs(centre))
        return [centre, *np.clip(centre + spread, *problem.polytope.tightened)]
    shares = rng.dirichlet(np.full(len(corners), 0.3), size=count - 1)
    inside = rng.uniform(0.02, 0.5, size=(count - 1, 1))
    return [centre, *((1 - inside) * (shares @ np.array(corners)) + inside * centre)]


@dataclass(frozen=True)
class _Coordinates:
    """u = x/span, or u = log x for an unknown that may go over decades."""

    logs: Mask
    spans: Array

    def of(self, x: Array) -> Array:
        return np.where(self.logs, np.log(np.where(self.logs, x, 1.0)), x / self.spans)

    def back(self, u: Array) -> Array:
        return np.where(self.logs, np.exp(np.where(self.logs, u, 0.0)), u * self.spans)

    def slopes(self, x: Array) -> Array:
        """How x changes with u."""
        return np.where(self.logs, x, self.spans)


def searched_from(problem: Problem, start: Array, length: int) -> Array | None:
    """Where so many steps of sequential quadratic programming lead; None where there is no value."""
    low, high = problem.polytope.tightened
    inset = [np.where(steep, INSET * problem.spans, 0.0) for steep in problem.steep]
    low, high = low + inset[0], np.maximum(low + inset[0], high - inset[1])
    to = _Coordinates(problem.decades, problem.spans)
    x = np.clip(start, low, high)
    values, slopes = problem.functions.at(x)
    if not np.isfinite(values).all():
        return None
    lengths = np.abs(slopes * to.slopes(x))
    scale = _usable(float(np.median(lengths[0])) or float(np.max(lengths[0])))

    def objective(u: Array) -> tuple[float, Array]:
        there = to.back(u)
        values, slopes = problem.functions.at(there)
        return float(values[0]) / scale, slopes[0] * to.slopes(there) / scale

    rows = [_usable(float(np.max(row))) for row in lengths[1:]]
    found = scipy.optimize.minimize(
        objective,
        to.of(x),
        jac=True,
        method="SLSQP",
        bounds=scipy.optimize.Bounds(to.of(low), to.of(high)),
        constraints=_conditions(problem, to, np.array(rows)),
        options={"maxiter": length, "ftol": PRECISION},
    )
    x = np.clip(to.back(found.x), low, high)
    return x if np.isfinite(x).all() else None


def _usable(scale: float) -> float:
    return scale if 0 < scale < np.inf else 1.0


def _conditions(problem: Problem, to: _Coordinates, scales: Array) -> list[dict[str, Any]]:
    """The constraints that are no bounds, as SciPy takes them."""
    kept = np.ones(len(problem.constraints), dtype=bool)
    kept[problem.polytope.rows[~problem.polytope.several]] = False
    found = []
    for kind, sign, rows in (("eq", 1, problem.equality), ("ineq", -1, ~problem.equality)):
        number = np.flatnonzero(rows & kept)
        if len(number):
            factor = sign / scales[number]

            def values(u: Array, number: Any = number, factor: Array = factor) -> Array:
                return factor * problem.functions.at(to.back(u))[0][1 + number]

            def slopes(u: Array, number: Any = number, factor: Array = factor) -> Array:
                x = to.back(u)
                return factor[:, None] * problem.functions.at(x)[1][1 + number] * to.slopes(x)

            found.append({"type": kind, "fun": values, "jac": slopes})
    return found
