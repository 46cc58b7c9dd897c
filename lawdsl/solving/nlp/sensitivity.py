"""A solution -> the derivatives of the optimum and of its value with respect to the constants of
the problem.

With L = f + m·c and the active constraints c, the derivatives with respect to a constant s solve
[L_xx c_x'; c_x 0] [dx/ds; dm/ds] = -[L_xs; c_s], and df*/ds = dL/ds (Fiacco (1983), Introduction to
Sensitivity and Stability Analysis in Nonlinear Programming, chapter 3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.solving.nlp.kkt import active_set, kkt_point
from lawdsl.solving.nlp.newton import lagrangian_hessian, solve_kkt_system
from lawdsl.solving.nlp.problem import NlpFunctions, NlpProblem, NlpSolution

Array = NDArray[np.float64]


@np.errstate(all="ignore")
def sensitivities(
    problem: NlpProblem, solution: NlpSolution, symbols: Sequence[sp.Symbol]
) -> dict[sp.Symbol, tuple[Array, float]]:
    """Differentiate a solution with respect to constants of its problem.

    The derivative of the value is that of the Lagrangian (envelope theorem). That of x follows from
    the optimality conditions with a fixed active set: unknowns at a bound do not move. If the
    conditions do not determine x (an optimum that is not isolated), the derivative of minimum norm
    is returned; nan if slopes are infinite.

    Args:
        problem: the problem.
        solution: its solution, which must be feasible.
        symbols: symbols in `problem.values`.

    Returns:
        Symbol -> derivative of x, shape (n,), and derivative of the value.
    """
    problem = problem.in_units_at(solution.x, solution.start_lengths)
    assert problem.units is not None
    units = problem.units
    # at a steep bound slopes are infinite, so an adjacent point is used
    at_point = kkt_point(problem, np.clip(solution.x / units.unknowns, *problem.inner))
    n = len(at_point.x)
    functions = NlpFunctions(problem, [*problem.unknowns, *symbols])
    by_symbols = functions.at(at_point.x)[1][:, n:]
    values = at_point.weights @ by_symbols
    rows, free = active_set(problem, at_point)
    derivatives = np.zeros((n, len(symbols)))
    if len(free):
        lengths = problem.lengths(at_point.x)[free]
        second = lagrangian_hessian(problem, functions, at_point, free)
        hessian, mixed = (
            second[:n][free] * lengths * lengths[:, None],
            second[n:].T * lengths[:, None],
        )
        first = at_point.slopes[1:][rows][:, free] * lengths
        right = by_symbols[1:][rows]
        is_finite = all(np.isfinite(part).all() for part in (hessian, mixed, first, right))
        scaled_derivatives = (
            solve_kkt_system(hessian, first, mixed, right)[: len(free)] if is_finite else np.nan
        )
        derivatives[free] = scaled_derivatives * lengths[:, None]
    derivatives, values = derivatives * units.unknowns[:, None], values * units.goal
    return {s: (derivatives[:, k], float(values[k])) for k, s in enumerate(symbols)}
