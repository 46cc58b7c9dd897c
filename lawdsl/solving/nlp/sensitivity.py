"""How the best point and the best value change with the numbers that a problem is given."""

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
    """The derivatives of a solution by given numbers.

    That of the value is the Lagrangian's own (the envelope theorem). That of x follows from the
    conditions of the optimum, where what is active stays active: unknowns at a bound do not move.
    Where the conditions do not determine x (an optimum that is not isolated), it is the shortest;
    nan where slopes are infinite.

    Args:
        problem: the problem.
        solution: its solution, which must be feasible.
        symbols: among `problem.values`.

    Returns:
        Symbol -> derivative of x, shape (n,), and of the value.
    """
    problem = problem.in_units_at(solution.x, solution.usual)
    assert problem.units is not None
    units = problem.units
    here = kkt_point(problem, np.clip(solution.x / units.unknowns, *problem.inner))
    n = len(here.x)
    functions = NlpFunctions(problem, [*problem.unknowns, *symbols])
    by_symbols = functions.at(here.x)[1][:, n:]
    values = here.weights @ by_symbols
    rows, free = active_set(problem, here)
    moved = np.zeros((n, len(symbols)))
    if len(free):
        lengths = problem.lengths(here.x)[free]
        second = lagrangian_hessian(problem, functions, here, free)
        own, mixed = second[:n][free] * lengths * lengths[:, None], second[n:].T * lengths[:, None]
        first = here.slopes[1:][rows][:, free] * lengths
        right = by_symbols[1:][rows]
        known = all(np.isfinite(part).all() for part in (own, mixed, first, right))
        found = solve_kkt_system(own, first, mixed, right)[: len(free)] if known else np.nan
        moved[free] = found * lengths[:, None]
    moved, values = moved * units.unknowns[:, None], values * units.goal
    return {s: (moved[:, k], float(values[k])) for k, s in enumerate(symbols)}
