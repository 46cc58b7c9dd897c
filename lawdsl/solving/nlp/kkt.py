"""A point of a problem -> its multipliers, the residual of the KKT conditions, its duality gap.

The Karush-Kuhn-Tucker conditions are grad f + sum_k m_k grad c_k = l - h, with m_k >= 0 for
inequalities, l, h >= 0 for the bounds, and complementarity (Nocedal and Wright (2006), Numerical
Optimization, section 12.3). The multipliers minimise the residual by non-negative least squares
(Lawson and Hanson (1974), Solving Least Squares Problems, chapter 23).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.optimize
from numpy.typing import NDArray

from lawdsl.solving.nlp.certificates import certain_gap
from lawdsl.solving.nlp.polytope import Polytope
from lawdsl.solving.nlp.problem import NlpProblem

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Relative to the terms of a constraint: with less slack it is active.
ACTIVE_RTOL = 1e-8
# In the objective's unit: below it, no other multipliers are tried.
NEGLIGIBLE_GAP = 1e-11
WEAK_MULTIPLIER = 1e-10  # in units adapted to the point: below it, a multiplier is rounding error
# Relative to its length: smaller unknowns are determined to fewer digits than others.
MIN_RELATIVE_UNKNOWN = 1e-7
# Relative to the span of the unknown: within this distance of a bound it is at the bound.
AT_BOUND_RTOL = 1e-12


@dataclass(frozen=True)
class KktPoint:
    """A point of a problem and its multipliers, as in `Solution`.

    Attributes:
        x: the unknowns.
        values: the objective and the constraints at the point.
        slopes: their gradients, shape (1 + constraints, n).
        multipliers: the multipliers of the constraints.
        low, high: the multipliers of the bounds.
        residual: the largest component of the remaining gradient of the Lagrangian, relative to
            that of the objective, both scaled by the lengths of the unknowns.
        violation: the largest violation of a constraint, relative to its size (`constraint_sizes`).
    """

    x: Array
    values: Array
    slopes: Array
    multipliers: Array
    low: Array
    high: Array
    residual: float
    violation: float

    @property
    def wrong(self) -> float:
        """The larger of the residual and the violation."""
        return max(self.residual, self.violation)

    @property
    def weights(self) -> Array:
        """Weights of the objective and the constraints in the Lagrangian, shape (1 + constraints,)."""
        return np.append(1.0, self.multipliers)


def violations(problem: NlpProblem, x: Array) -> Array:
    """Return the violation of each constraint relative to its size.

    Args:
        problem: the problem in units that suit the point.
        x: the unknowns, shape (n,).

    Returns:
        Shape (constraints,), >= 0; see `constraint_sizes`.
    """
    return relative_violations(
        violation_amounts(problem, problem.functions.at(x)[0]), constraint_sizes(problem, x)
    )


def relative_violations(violation: Array, size: Array) -> Array:
    """Divide violations by the sizes of their constraints.

    Args:
        violation: shape (constraints,), >= 0.
        size: shape (constraints,), >= 0.

    Returns:
        Shape (constraints,): 0 where the violation is 0, inf where only the size is 0.
    """
    # a constraint without any terms is satisfied or violated; it has no unit
    shares = np.divide(violation, size, out=np.full(len(size), np.inf), where=size > 0)
    return np.where(violation == 0, 0.0, shares)


def violation_amounts(problem: NlpProblem, values: Array) -> Array:
    """Return the violation of each constraint: max(c_k, 0), or |c_k| of an equality.

    Args:
        problem: the problem.
        values: the objective and the constraints, shape (1 + constraints,).

    Returns:
        Shape (constraints,), in the units of the problem.
    """
    return np.where(problem.equality, np.abs(values[1:]), np.maximum(values[1:], 0.0))


def constraint_sizes(problem: NlpProblem, x: Array) -> Array:
    """Return the sizes of the constraints at a point, relative to which violations and rounding
    errors are measured.

    The size is max(sum_i |t_ki|, sum_j |dc_k/dx_j| |x_j|): the sum of the absolute terms of a
    constraint, or its first-order change as the unknowns double, whichever is larger. Relative
    violations do not depend on the units of constraints and unknowns. Curvature is deliberately
    ignored: (x - y)^2 + 1 has a large one if x and y are large, and is never 0.

    Args:
        problem: the problem in units that suit the point.
        x: the unknowns, shape (n,).

    Returns:
        Shape (constraints,), >= 0.
    """
    terms = problem.terms_on(x[:, None])[:, 0]
    return np.maximum(np.where(np.isfinite(terms), terms, 0.0), first_order_changes(problem, x))


def first_order_changes(problem: NlpProblem, x: Array) -> Array:
    """Return the first-order change of each constraint as the unknowns double.

    The change is sum_j |dc_k/dx_j| max(|x_j|, MIN_RELATIVE_UNKNOWN); the second term is the
    accuracy of searches, which replaces the value of an unknown at or near 0.

    Args:
        problem: the problem in units that suit the point.
        x: the unknowns, shape (n,).

    Returns:
        Shape (constraints,), >= 0; infinite slopes count as 0.
    """
    slopes = problem.functions.at(x)[1][1:]
    finite = np.abs(np.where(np.isfinite(slopes), slopes, 0.0))
    return np.asarray(finite @ np.maximum(np.abs(x), MIN_RELATIVE_UNKNOWN))


def at_bounds(problem: NlpProblem, x: Array) -> tuple[Mask, Mask]:
    """Determine which unknowns are at a bound, within AT_BOUND_RTOL of their range.

    Args:
        problem: the problem.
        x: the unknowns, shape (n,).

    Returns:
        Whether each is at its lower bound, and whether it is at its upper one, each shape (n,).
    """
    low, high = problem.inner
    near_low, near_high = (
        np.where(steep, 0.0, AT_BOUND_RTOL * problem.spans) for steep in problem.steep
    )
    return x - low <= near_low, high - x <= near_high


def kkt_point(problem: NlpProblem, x: Array, ignored: Mask | None = None) -> KktPoint:
    """Fit the multipliers of the conditions that are active at a point.

    Args:
        problem: the problem in units that suit the point.
        x: the unknowns, shape (n,).
        ignored: unknowns whose slopes are not part of the residual, shape (n,); none if not given.

    Returns:
        The point with its multipliers, residual and violation.
    """
    values, slopes = problem.functions.at(x)
    active = ~problem.equality & (values[1:] >= -ACTIVE_RTOL * constraint_sizes(problem, x))
    at_low, at_high = at_bounds(problem, x)
    # steeper than all other slopes
    walled = (at_low & problem.steep[0]) | (at_high & problem.steep[1])
    # a single infinite slope would dominate the least squares
    used = ~walled if ignored is None else ~(walled | ignored)
    m, low, high, residual = np.zeros(len(values) - 1), np.zeros(len(x)), np.zeros(len(x)), np.inf
    if np.isfinite(slopes[:, used]).all() and np.isfinite(values).all():
        lengths = problem.lengths(x)[used]
        ends = at_low[used], at_high[used]
        fitted = _fit_multipliers(slopes[:, used] * lengths, problem.equality, active, *ends)
        m, low[used], high[used] = fitted[0], fitted[1] / lengths, fitted[2] / lengths
        slope = np.append(1.0, m) @ slopes
        low[walled & at_low], high[walled & at_high] = (
            slope[walled & at_low],
            -slope[walled & at_high],
        )
        scale = max(
            float(np.max(np.abs(slopes[0, used]) * lengths, initial=0.0)), problem.reference
        )
        residual = fitted[3] / (scale or 1.0)
        # the multipliers of these unknowns are not fitted, so their signs are checked here
        residual = residual if np.all(low >= 0) and np.all(high >= 0) else np.inf
    worst = float(np.max(violations(problem, x), initial=0.0))
    worst = worst if np.isfinite(worst) else np.inf
    return KktPoint(x, values, slopes, m, low, high, residual, worst)


def _fit_multipliers(
    slopes: Array, equality: Mask, active: Mask, at_low: Mask, at_high: Mask
) -> tuple[Array, Array, Array, float]:
    """The multipliers m, l, h that minimise the residual of grad(f + m c) = l - h, and its largest
    component; l, h and the multipliers of inequalities are nonnegative.
    """
    goal, rows = slopes[0], slopes[1:]
    eye, free = np.eye(len(goal)), rows[equality]
    signed = np.vstack([rows[active], -eye[at_low], eye[at_high]])
    signed_multipliers = np.zeros(len(signed))
    # the multipliers of equalities may have any sign: they are projected out, since nnls would
    # restrict them
    room = scipy.linalg.null_space(free) if len(free) else eye
    if len(signed) and room.shape[1]:
        size = np.maximum(np.linalg.norm(signed, axis=1), 1e-300)
        signed_multipliers = (
            scipy.optimize.nnls(room.T @ (signed / size[:, None]).T, -(room.T @ goal))[0] / size
        )
    remainder = goal + signed_multipliers @ signed
    m, low, high = np.zeros(len(rows)), np.zeros(len(goal)), np.zeros(len(goal))
    if len(free):
        m[equality] = np.linalg.lstsq(free.T, -remainder, rcond=None)[0]
        remainder = remainder + m[equality] @ free
    m[active], low[at_low], high[at_high] = np.split(
        signed_multipliers, np.cumsum([active.sum(), at_low.sum()])
    )
    return m, low, high, float(np.max(np.abs(remainder), initial=0.0))


def active_set(
    problem: NlpProblem, at_point: KktPoint
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the active constraints and the free unknowns at a point.

    Args:
        problem: the problem.
        at_point: a point with its multipliers.

    Returns:
        Positions of the equalities and of the inequalities with a multiplier above WEAK_MULTIPLIER,
        and of the unknowns that are not at a bound.
    """
    rows = np.flatnonzero(problem.equality | (at_point.multipliers > WEAK_MULTIPLIER))
    at_low, at_high = at_bounds(problem, at_point.x)
    return rows, np.flatnonzero(~(at_low | at_high))


def duality_gap(problem: NlpProblem, at_point: KktPoint) -> float | None:
    """Bound the excess of a value over the minimum from above, if the problem is convex.

    The bound holds for any multipliers of the right signs (`certificates.certain_gap`); those of
    the linearised problem are tried, too, if those of the point yield a large bound.

    Args:
        problem: the problem in units that suit the point.
        at_point: a point with its multipliers.

    Returns:
        The smaller bound, in the units of the problem; None if no bound is known.
    """
    if not (np.isfinite(at_point.values).all() and np.isfinite(at_point.slopes).all()):
        return None
    smallest_gap = _duality_gap(problem, at_point, at_point.multipliers)
    # another linear programme is worthwhile only if the first gap proves nothing
    if smallest_gap is None or smallest_gap > NEGLIGIBLE_GAP:
        other = _duality_gap(problem, at_point, _linear_multipliers(problem, at_point))
        smallest_gap = min((g for g in (smallest_gap, other) if g is not None), default=None)
    return smallest_gap


def _duality_gap(problem: NlpProblem, at_point: KktPoint, multipliers: Array) -> float | None:
    """The certified gap, in the units of the problem."""
    units = problem.units
    # rounding may have made the multiplier of an inequality negative, for which the bound is not
    # valid
    signed = np.where(problem.equality, multipliers, np.maximum(multipliers, 0.0))
    if units is None:
        return certain_gap(problem, at_point.x, signed)
    unscaled = signed * units.goal / units.constraints
    unscaled_gap = certain_gap(problem, at_point.x * units.unknowns, unscaled)
    return None if unscaled_gap is None else unscaled_gap / units.goal


def _linear_multipliers(problem: NlpProblem, at_point: KktPoint) -> Array:
    """The multipliers of the problem with all functions replaced by their tangents."""
    low, high = problem.polytope.tightened
    offsets = at_point.values[1:] - at_point.slopes[1:] @ at_point.x
    rows = np.arange(len(offsets))
    tangents = Polytope(low, high, at_point.slopes[1:], offsets, problem.equality, rows)
    programme = tangents.linprog(at_point.slopes[0])
    multipliers = np.zeros(len(rows))
    if programme.status == 0:
        multipliers[~problem.equality] = np.maximum(-programme.ineqlin.marginals, 0.0)
        multipliers[problem.equality] = -programme.eqlin.marginals
    return multipliers
