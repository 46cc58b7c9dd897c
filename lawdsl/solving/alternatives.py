"""A choice of the unknowns -> its loss in the goal compared with the answer, with an interval."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import sympy as sp

from lawdsl.compiling.autodiff import Slopes
from lawdsl.compiling.tape import compile_tape
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.solving.formulate.problem import FormulatedQuestion
from lawdsl.solving.result import Answer, Compared
from lawdsl.solving.uncertainty import FitUncertainty, interval

FEASIBILITY_ATOL = 1e-9  # a constraint is satisfied within rounding


def compare_choice(
    formulated: FormulatedQuestion,
    answer: Answer,
    point: Mapping[str, float],
    values: Mapping[sp.Symbol, float],
) -> Compared:
    """Compare a choice of the unknowns with the answer, by the predictions of the fits.

    Both goals depend on the same fitted parameters p, so the half-width of the interval of their
    difference follows from the difference of the gradients, dg/dp (choice) - dg/dp (answer), and is
    usually smaller than the two intervals suggest.

    Args:
        formulated: the question.
        answer: its answer.
        point: unknown -> value, in the unit of the unknown.
        values: symbol -> value of all symbols but the unknowns.

    Returns:
        The goal at the choice, how much worse it is than the answer, both with intervals, and the
        constraints that the choice violates.

    Raises:
        LawdslError: an unknown without a value, or a name that is not an unknown.
    """
    names = [u.name for u in formulated.unknowns]
    wrong = [n for n in names if n not in point] + [n for n in point if n not in names]
    if wrong:
        message = f"a choice has a value for each of {', '.join(names[:8])}; see `{wrong[0]}`"
        raise LawdslError(Diagnostic("F0502", message, help=f"write --at {names[0]}=VALUE,…"))
    noise = FitUncertainty.of(formulated.sources)
    outputs = [formulated.goal, *(c.margin for c in formulated.conditions)]
    free = set().union(*(e.free_symbols for e in outputs)) - set(noise.symbols)
    others = sorted(free, key=str)
    slopes = Slopes(compile_tape(outputs, [*noise.symbols, *others]))
    # without an answer there is no reference, and the difference is 0
    best = {u.name: u.value for u in answer.unknowns} or dict(point)
    choices = [
        {**values, **{u.symbol: choice[u.name] for u in formulated.unknowns}}
        for choice in (point, best)
    ]
    inputs = np.array([[choice[s] for choice in choices] for s in (*noise.symbols, *others)])
    values_there, gradients = slopes.values_and_gradients(inputs)
    by_parameters = gradients[0, : len(noise.symbols)]
    behind = float(values_there[0, 0] - values_there[0, 1])
    halves = noise.half_widths(by_parameters, answer.level)
    between = noise.half_widths(by_parameters[:, :1] - by_parameters[:, 1:], answer.level)
    goal = formulated.sign * float(values_there[0, 0])
    broken = [
        c.text
        for c, margin in zip(formulated.conditions, values_there[1:, 0], strict=True)
        # negated, so that an undefined margin, nan, violates its constraint
        if not (abs(margin) <= FEASIBILITY_ATOL if c.equality else margin >= -FEASIBILITY_ATOL)
    ]
    return Compared(
        dict(point),
        goal,
        interval(goal, float(halves[0])),
        behind,
        interval(behind, float(between[0])),
        tuple(broken),
    )
