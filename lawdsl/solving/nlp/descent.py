"""A start -> the end of a local search by sequential quadratic programming, in scaled coordinates.

Each step minimises g·d + d'Bd/2 subject to c_k + grad c_k·d <= 0 (= 0 for equalities), with a
quasi-Newton matrix B of the Lagrangian, and a line search follows. The implementation is SciPy's
SLSQP (Kraft (1988), A Software Package for Sequential Quadratic Programming, DFVLR-FB 88-28).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from lawdsl.solving.nlp.problem import NlpProblem

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Relative to the span of the unknown: distance of a search from a bound with an infinite slope.
STEEP_BOUND_SHARE = 1e-9
OBJECTIVE_FTOL = 1e-15  # SciPy's `ftol`: a search ends if the objective changes by less
EVALUATIONS_PER_STEP = 4  # on average: a search that needs more is abandoned


@dataclass(frozen=True)
class _SearchCoordinates:
    """The coordinates of a search: x/span between two finite bounds, log x for an unknown over
    decades, log(1 + (x - low)/span) with one finite bound, and arsinh(x/span) with none: linear
    near the bound or 0, logarithmic far away.
    """

    logs: Mask
    spans: Array
    low: Array
    high: Array

    @property
    def _open(self) -> tuple[Mask, Mask, Mask]:
        """The masks of unknowns without an upper bound only, without a lower bound only, and
        without both.
        """
        above, below = np.isinf(self.high) & ~self.logs, np.isinf(self.low)
        return above & ~below, below & ~above, above & below

    def of(self, x: Array) -> Array:
        up, down, both = self._open
        # the inner choice, since `where` evaluates both branches, and log of a value <= 0 would
        # warn
        u = np.where(self.logs, np.log(np.where(self.logs, x, 1.0)), x / self.spans)
        u = np.where(up, np.log1p(np.where(up, x - self.low, 0.0) / self.spans), u)
        u = np.where(down, -np.log1p(np.where(down, self.high - x, 0.0) / self.spans), u)
        return np.where(both, np.arcsinh(x / self.spans), u)

    def back(self, u: Array) -> Array:
        up, down, both = self._open
        x = np.where(self.logs, np.exp(np.where(self.logs, u, 0.0)), u * self.spans)
        x = np.where(up, self.low + self.spans * np.expm1(np.where(up, u, 0.0)), x)
        x = np.where(down, self.high - self.spans * np.expm1(np.where(down, -u, 0.0)), x)
        return np.where(both, self.spans * np.sinh(np.where(both, u, 0.0)), x)

    def slopes(self, x: Array) -> Array:
        """The derivative dx/du."""
        up, down, both = self._open
        derivatives = np.where(self.logs, x, self.spans)
        derivatives = np.where(up, self.spans + np.where(up, x - self.low, 0.0), derivatives)
        derivatives = np.where(down, self.spans + np.where(down, self.high - x, 0.0), derivatives)
        return np.where(both, np.hypot(self.spans, x), derivatives)


class EvaluationLimit(Exception):
    """A search has exceeded its number of evaluations."""


def sqp_search(
    problem: NlpProblem, start: Array, length: int, *, by_factors: bool = False
) -> tuple[Array, bool] | None:
    """Search for a local optimum by sequential quadratic programming.

    SLSQP tries up to ten points for each step. If values are dominated by rounding errors, or the
    constraints contradict each other, it does so at every step, so the number of evaluations is
    limited, too.

    Args:
        problem: the problem in units adapted to the start.
        start: the unknowns, shape (n,).
        length: the largest number of steps.
        by_factors: whether unknowns with lower bound 0 are searched by their logarithms, if they
            start above 0.

    Returns:
        The last point, shape (n,), and whether the limit on evaluations stopped the search; None if
        the objective or a constraint is undefined at the start.
    """
    low, high = problem.polytope.tightened
    inset = [np.where(steep, STEEP_BOUND_SHARE * problem.spans, 0.0) for steep in problem.steep]
    # the inner bounds may cross in a narrow range
    low, high = low + inset[0], np.maximum(low + inset[0], high - inset[1])
    x = np.clip(start, low, high)
    logs = problem.decades
    if by_factors:
        logs = logs | ((problem.low == 0) & (x > 0))
    to = _SearchCoordinates(logs, problem.spans, low, high)
    values, slopes = problem.functions.at(x)
    if not np.isfinite(values).all():
        return None
    lengths = np.abs(slopes * to.slopes(x))
    # the median, since one steep unknown must not make all others look flat relative to the
    # tolerance
    scale = _usable_scale(float(np.median(lengths[0])) or float(np.max(lengths[0])))

    begin = to.of(x)
    reached, trials, given_up = begin, 0, False

    def objective(u: Array) -> tuple[float, Array]:
        nonlocal trials
        trials += 1
        if trials > EVALUATIONS_PER_STEP * length:
            raise EvaluationLimit
        x_at_u = to.back(u)
        values, slopes = problem.functions.at(x_at_u)
        return float(values[0]) / scale, slopes[0] * to.slopes(x_at_u) / scale

    rows = [_usable_scale(float(np.max(row))) for row in lengths[1:]]

    def stepped(u: Array) -> None:
        nonlocal reached
        reached = u.copy()

    try:
        reached = scipy.optimize.minimize(
            objective,
            begin,
            jac=True,
            method="SLSQP",
            bounds=scipy.optimize.Bounds(to.of(low), to.of(high)),
            constraints=_scipy_constraints(problem, to, np.array(rows)),
            callback=stepped,
            options={"maxiter": length, "ftol": OBJECTIVE_FTOL},
        ).x
    except EvaluationLimit:
        given_up = True
    x = np.clip(to.back(reached), low, high)
    return (x, given_up) if np.isfinite(x).all() else None


def _usable_scale(scale: float) -> float:
    return scale if 0 < scale < np.inf else 1.0


def _scipy_constraints(
    problem: NlpProblem, to: _SearchCoordinates, scales: Array
) -> list[dict[str, Any]]:
    """The constraints that are not bounds, in SciPy's form."""
    is_constraint = np.ones(len(problem.constraints), dtype=bool)
    # constraints with one coefficient are included in the tightened bounds
    is_constraint[problem.polytope.rows[~problem.polytope.proper_rows]] = False
    constraints = []
    for kind, sign, rows in (("eq", 1, problem.equality), ("ineq", -1, ~problem.equality)):
        number = np.flatnonzero(rows & is_constraint)
        if len(number):
            factor = sign / scales[number]

            # defaults bind the values of the loop variables now, not at the call
            def values(u: Array, number: Any = number, factor: Array = factor) -> Array:
                return factor * problem.functions.at(to.back(u))[0][1 + number]

            def slopes(u: Array, number: Any = number, factor: Array = factor) -> Array:
                x = to.back(u)
                return factor[:, None] * problem.functions.at(x)[1][1 + number] * to.slopes(x)

            constraints.append({"type": kind, "fun": values, "jac": slopes})
    return constraints
