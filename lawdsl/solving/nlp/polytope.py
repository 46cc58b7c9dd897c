"""Bounds and affine constraints -> implied bounds, a centre, vertices, and the reasons for
contradictions.

The centre maximises t subject to a_k·x + |a_k|·w t <= b_k, with w the ranges of the unknowns: a
Chebyshev centre (Boyd and Vandenberghe (2004), Convex Optimization, section 8.5.1) in the maximum
norm, each unknown relative to its range. Implied bounds are computed by propagation: the bounds of
the other terms of a row limit each term.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from lawdsl.solving.nlp.scaling import power_of_two

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

TIGHTENING_ROUNDS = 3  # in which bounds are tightened by the constraints
ZERO_MULTIPLIER = 1e-9  # below it, a multiplier is rounding error
INFEASIBLE, UNBOUNDED, UNSOLVED = 2, 3, 4  # `status` of SciPy's linear programmes
LARGEST_FLOAT = float(np.finfo(np.float64).max)
# Rows with at most so many terms: each term is bounded by a separate sum of the others.
MAX_SEPARATE_TERMS = 64
FLOAT_EPS = float(np.finfo(float).eps)
# Multiple of the rounding error of one bound: the error of bounds that follow from each other.
ROUNDING_FACTOR = 16
# Relative to the magnitude of an unknown: its bounds may cross by so much due to rounding.
CROSSED_BOUNDS_RTOL = 1e-9


@dataclass(frozen=True)
class Polytope:
    """low <= x <= high, slopes x + offsets <= 0, = 0 for equalities.

    Attributes:
        low, high: the bounds, shape (n,), which may be infinite.
        slopes: shape (rows, n).
        offsets: shape (rows,).
        equality: whether each row is an equality, shape (rows,).
        rows: the indices of the rows among the constraints of the problem.
    """

    low: Array
    high: Array
    slopes: Array
    offsets: Array
    equality: Mask
    rows: NDArray[np.int64]

    def in_units(self, columns: Array, rows: Array) -> Polytope:
        """Express the polytope in other units of the unknowns and constraints.

        Args:
            columns: the units of the unknowns, shape (n,).
            rows: the units of all constraints of the problem, shape (constraints,).

        Returns:
            The polytope, with numbers divided by these units.
        """
        row_units = rows[self.rows]
        return Polytope(
            self.low / columns,
            self.high / columns,
            self.slopes * columns / row_units[:, None],
            self.offsets / row_units,
            self.equality,
            self.rows,
        )

    @property
    def tightened(self) -> tuple[Array, Array]:
        """Bounds implied by all conditions together, each of shape (n,).

        If a lower bound exceeds an upper one, no point is feasible. They are no wider than the
        declared ones.
        """
        return self._implied[:2]

    @property
    def rounding(self) -> Array:
        """The distance that rounding may cause between the tightened bounds, shape (n,)."""
        return ROUNDING_FACTOR * self._implied[2]

    @cached_property
    def _implied(self) -> tuple[Array, Array, Array]:
        """The tightened bounds, and the largest allowance for rounding errors in the bounds of each
        unknown.
        """
        low, high, slack = self.low.copy(), self.high.copy(), np.zeros(len(self.low))
        for _ in range(TIGHTENING_ROUNDS):
            for row, offset, equal in zip(self.slopes, self.offsets, self.equality, strict=True):
                _tighten_bounds(low, high, slack, row, offset)
                if equal:
                    _tighten_bounds(low, high, slack, -row, -offset)
        return low, high, slack

    @cached_property
    def sizes(self) -> Array:
        """The largest size of each row's terms, the unit of violations; 1 without terms."""
        ends = np.maximum(np.abs(self.low), np.abs(self.high))
        ends = np.where(np.isfinite(ends), ends, self.natural[0])
        magnitudes = np.abs(self.offsets) + np.abs(self.slopes) @ ends
        return np.where((magnitudes > 0) & np.isfinite(magnitudes), magnitudes, 1.0)

    @cached_property
    def proper_rows(self) -> Mask:
        """The mask of rows that are not bounds of one unknown, shape (rows,)."""
        return np.asarray((self.slopes != 0).sum(axis=1) != 1)

    @cached_property
    def natural(self) -> tuple[Array, Array]:
        """Units of unknowns and rows in which lengths and slopes are about 1, since linear
        programmes are solved to absolute tolerances.
        """
        low, high = self.tightened
        if np.any(low > high):  # contradictions have the magnitude of the rows, not of the unknowns
            low, high = self.low, self.high
        ends = np.maximum(*(np.where(np.isfinite(end), np.abs(end), 0.0) for end in (low, high)))
        with np.errstate(all="ignore"):
            reach = np.abs(self.offsets[:, None] / self.slopes)
        reach = np.max(reach, axis=0, initial=0.0, where=np.isfinite(reach))
        between = np.isfinite(high - low) & (high > low)
        with np.errstate(invalid="ignore"):
            columns = power_of_two(np.where(between, high - low, np.maximum(ends, reach)))
        return columns, power_of_two(np.max(np.abs(self.slopes * columns), axis=1, initial=0.0))

    def linprog(self, objective: Array, extra: Array | None = None) -> Any:
        """Minimise a linear objective over the polytope.

        Args:
            objective: its coefficients, shape (n,), or (n + 1,) with `extra`.
            extra: the column of a further unknown t >= 0, shape (rows,), whose cost is the last
                coefficient.

        Returns:
            SciPy's `OptimizeResult`, in the units of the polytope.
        """
        columns, rows = self.natural
        if extra is not None:
            columns = np.append(columns, 1.0)
        a = self.slopes if extra is None else np.column_stack([self.slopes, extra])
        a = a * columns / rows[:, None]
        b = -self.offsets / rows
        bounds = np.column_stack([self.low, self.high])
        if extra is not None:
            bounds = np.vstack([bounds, [0.0, np.inf]])
        # HiGHS works to absolute tolerances of 1e-7: columns, rows and cost are scaled to about 1
        cost = objective * columns
        size = float(power_of_two(np.array([np.max(np.abs(cost), initial=0.0)]))[0])
        le, eq = ~self.equality, self.equality
        bounds = bounds / columns[:, None]
        programme = _linear_programme(cost / size, a[le], b[le], a[eq], b[eq], bounds)
        if programme.status == 0:
            programme.x, programme.fun = programme.x * columns, programme.fun * size
            programme.ineqlin.marginals = programme.ineqlin.marginals * size / rows[le]
            programme.eqlin.marginals = programme.eqlin.marginals * size / rows[eq]
            programme.lower.marginals = programme.lower.marginals * size / columns
            programme.upper.marginals = programme.upper.marginals * size / columns
        return programme

    @cached_property
    def centre(self) -> Array | None:
        """A point as far as possible from all bounds and inequalities; None if no point is
        feasible.

        If magnitudes differ too much for a linear programme, it is a point between the bounds.
        """
        low, high = self.tightened
        if np.any(low - high > CROSSED_BOUNDS_RTOL * self._reach):
            return None
        columns, rows = self.natural
        a = self.slopes * columns / rows[:, None]
        b = -self.offsets / rows
        below, above = np.isfinite(low), np.isfinite(high)
        low, high = low / columns, high / columns
        with np.errstate(invalid="ignore"):
            width = np.where(below & above, np.maximum(high - low, 0.0), 1.0)
        use = self.proper_rows & ~self.equality
        n = len(low)
        eye, column = np.eye(n), width[:, None]
        matrix = np.vstack(
            [
                np.hstack([a[use], (np.abs(a[use]) @ width)[:, None]]),
                np.hstack([-eye, column])[below],
                np.hstack([eye, column])[above],
            ]
        )
        right = np.concatenate([b[use], -low[below], high[above]])
        equal = np.column_stack([a, np.zeros(len(a))])[self.equality]
        # t is relative to the ranges: half of a range is the middle
        bounds = np.array([(-np.inf, np.inf)] * n + [(0.0, 0.5)])
        cost = np.append(np.zeros(n), -1.0)
        programme = _linear_programme(cost, matrix, right, equal, b[self.equality], bounds)
        if programme.status in (INFEASIBLE, UNBOUNDED):
            return None
        x = programme.x[:n] if programme.status == 0 else _point_between_bounds(low, high)
        # bounds may have crossed due to rounding, but clip requires ordered bounds
        return np.asarray(np.clip(x, low, np.maximum(low, high)) * columns)

    @cached_property
    def _reach(self) -> Array:
        """The magnitude of each unknown, relative to which rounding errors of its bounds are
        measured.
        """
        ends = np.abs([self.low, self.high, *self.tightened])
        return np.asarray(np.max(ends, axis=0, initial=0.0, where=np.isfinite(ends)))

    def corners(self, count: int, rng: np.random.Generator) -> list[Array]:
        """Return vertices that minimise linear objectives with normally distributed coefficients.

        Args:
            count: the number of directions.
            rng: the random generator of the directions.

        Returns:
            Points of shape (n,), one for each linear programme that has a solution.
        """
        low, high = self.tightened
        inside = Polytope(low, high, self.slopes, self.offsets, self.equality, self.rows)
        programmes = (inside.linprog(rng.normal(size=len(low))) for _ in range(count))
        return [f.x for f in programmes if f.status == 0]

    def without(
        self, row: int | None = None, low: int | None = None, high: int | None = None
    ) -> Polytope:
        """Remove one row, or one bound of an unknown.

        Args:
            row: the index of a row.
            low: the index of an unknown whose lower bound is removed.
            high: the index of an unknown whose upper bound is removed.

        Returns:
            The larger polytope.
        """
        is_kept = np.arange(len(self.rows)) != row
        lows, highs = self.low.copy(), self.high.copy()
        if low is not None:
            lows[low] = -np.inf
        if high is not None:
            highs[high] = np.inf
        remaining = (
            self.slopes[is_kept],
            self.offsets[is_kept],
            self.equality[is_kept],
            self.rows[is_kept],
        )
        return Polytope(lows, highs, *remaining)


def _linear_programme(
    cost: Array, a: Array, b: Array, equal: Array, to: Array, bounds: Array
) -> scipy.optimize.OptimizeResult:
    """Minimise cost·x subject to a·x <= b, equal·x = to and bounds of shape (n, 2); SciPy's result.

    A row whose offset is infinite in its unit either has no effect or excludes all points; SciPy
    does not accept such rows.
    """
    b, to = np.clip(b, -LARGEST_FLOAT, LARGEST_FLOAT), np.clip(to, -LARGEST_FLOAT, LARGEST_FLOAT)
    usable = all(np.isfinite(part).all() for part in (cost, a, b, equal, to))
    if not usable or np.isnan(bounds).any():
        return scipy.optimize.OptimizeResult(status=UNSOLVED)
    return scipy.optimize.linprog(cost, a, b, equal, to, bounds=bounds, method="highs-ds")


def _point_between_bounds(low: Array, high: Array) -> Array:
    """A point between bounds, close to a single finite bound, or to 0 without any."""
    low = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 1.0, -1.0))
    high = np.where(np.isfinite(high), high, low + 2.0)
    # halved first, since the sum of two large bounds overflows
    return np.asarray(low / 2 + high / 2)


def _tighten_bounds(low: Array, high: Array, slack: Array, row: Array, offset: float) -> None:
    """Tighten bounds by row x + offset <= 0: the bounds of the other terms limit each term. A bound
    is widened by the rounding error of its computation, and `slack` is increased to it.
    """
    used = np.flatnonzero(row)
    least = np.where(row[used] > 0, row[used] * low[used], row[used] * high[used])
    finite = np.isfinite(least)
    # with two unbounded terms no other term is bounded
    if np.sum(~finite) > 1:
        return
    terms = [offset, *least[finite].tolist()]
    if not sum(map(abs, terms)) <= LARGEST_FLOAT:  # beyond the range of floats there is no bound
        return
    # fsum rounds once, so the allowance for rounding depends only on the terms, not on their order
    total, size = math.fsum(terms), math.fsum(map(abs, terms))
    eps = (len(terms) + 4) * FLOAT_EPS
    for k, i in enumerate(used):
        if not finite[k]:
            others, rounding = total, eps * size
        elif not finite.all():
            continue
        elif len(used) <= MAX_SEPARATE_TERMS:
            # subtracting a term from the total would cause cancellation
            rest = [term for j, term in enumerate(terms) if j != k + 1]
            others, rounding = math.fsum(rest), eps * math.fsum(map(abs, rest))
        else:
            others, rounding = total - float(least[k]), eps * size
        with np.errstate(over="ignore"):  # beyond the range of floats there is no bound
            limit, room = np.divide((-others, rounding), (row[i], abs(row[i])))
        if row[i] > 0 and limit + room < high[i]:
            high[i], slack[i] = limit + room, max(slack[i], room)
        elif row[i] < 0 and limit - room > low[i]:
            low[i], slack[i] = limit - room, max(slack[i], room)


def least_violation(
    polytope: Polytope,
) -> tuple[Array, Array, Array, Sequence[tuple[str, int]]] | None:
    """Minimise t subject to slopes x + offsets <= t sizes, for a polytope without points.

    The multipliers at that minimum are weights with which the rows contradict each other (Farkas
    (1902)); rows with weight 0 are not part of the contradiction. They have the accuracy of
    float64.

    Args:
        polytope: the bounds and rows.

    Returns:
        The minimiser x, shape (n,); each row's share in the contradiction; its weight in it, with
        the sign of an equality; and the bounds in it, as pairs of a kind and the number of the
        unknown. None if magnitudes differ too much for a linear programme.
    """
    equal = polytope.equality
    # an equation is two inequalities, so that its violation is counted in both directions
    a = np.vstack([polytope.slopes, -polytope.slopes[equal]])
    b = np.concatenate([polytope.offsets, -polytope.offsets[equal]])
    rows = np.concatenate([np.arange(len(equal)), np.flatnonzero(equal)])
    signs = np.concatenate([np.ones(len(equal)), -np.ones(int(equal.sum()))])
    loose = Polytope(polytope.low, polytope.high, a, b, np.zeros(len(b), dtype=bool), rows)
    cost = np.append(np.zeros(len(polytope.low)), 1.0)
    sizes = polytope.sizes[rows]
    programme = loose.linprog(cost, -sizes)
    if programme.status != 0:
        return None
    marginals = np.abs(programme.ineqlin.marginals)
    shares = np.bincount(rows, marginals * sizes, len(equal)).astype(np.float64)
    weights = np.bincount(rows, marginals * signs, len(equal)).astype(np.float64)
    width = np.where(np.isfinite(polytope.high - polytope.low), polytope.high - polytope.low, 1.0)
    lower = np.abs(programme.lower.marginals[:-1]) * width
    upper = np.abs(programme.upper.marginals[:-1]) * width
    ends = [("low", int(i)) for i in np.flatnonzero(lower > ZERO_MULTIPLIER)]
    ends += [("high", int(i)) for i in np.flatnonzero(upper > ZERO_MULTIPLIER)]
    return programme.x[:-1], shares, weights, ends
