"""Law + problem -> the criterion by which a parameter is chosen before the others.

The algebra of the criterion: the functions of the variables in which log(L - c) is linear.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sympy as sp

from lawdsl.compiling.arrays import evaluate
from lawdsl.compiling.tape import compile_tape
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.objectives import ParameterChoice
from lawdsl.fitting.linearity_criterion import LinearityCriterion
from lawdsl.fitting.preparation.symbolic_linearity import logarithm
from lawdsl.fitting.problem import Problem
from lawdsl.law.algebra import bounded
from lawdsl.law.law import Law, Quantity


def choice_criterion(law: Law, problem: Problem, choice: ParameterChoice) -> LinearityCriterion:
    """Build the criterion by which a parameter of a law is chosen, on a table.

    Args:
        law: the law.
        problem: the minimisation problem in which the parameter is free.
        choice: the choice that the law declares.

    Raises:
        LawdslError: a law or table for which the criterion is not defined; F0124.
    """
    number = [q.name for q in law.parameters].index(choice.name)
    lower = problem.transforms[number].lower
    log_text = f"log({law.output} - {choice.name})"
    if lower is None or lower.formula is not None:
        message = f"`{choice.name}` has no number as a lower bound, from which it could be chosen"
        raise _choice_error(message, f"declare one: `parameter {choice.name} >= 0`")
    smallest = float(np.min(problem.target))
    if lower.number >= smallest:
        message = (
            f"{log_text} has no value: `{choice.name}` is at least {lower.number:g}, and the smallest "
            f"{law.output} is {smallest:g}"
        )
        raise _choice_error(message, f"lower the bound of `{choice.name}`, or look at the unit")
    with bounded(law.declarations):
        linear = _linear_terms(law, law.parameters[number])
    if linear is None:
        message = (
            f"{log_text} is not linear: `{law.name}` is not {choice.name} plus a product of powers "
            "and exponentials"
        )
        raise _choice_error(message, f"leave the choice out: `minimize squared({law.output})`")
    tape = compile_tape(linear, [q.symbol for q in law.variables])
    columns = evaluate(tape, list(problem.columns))
    terms = np.stack([np.broadcast_to(column, (problem.rows,)) for column in columns], axis=1)
    if not np.all(np.isfinite(terms)):
        message = f"what {log_text} is linear in has no value in some row"
        raise _choice_error(message, "leave that row out with --where, as one where log(0) stands")
    if problem.rows < terms.shape[1]:
        message = f"on {problem.rows} rows {log_text} is straight for any {choice.name}"
        raise _choice_error(message, "measure more, or fit a smaller law")
    weights = np.ones(problem.rows) if problem.weights is None else problem.weights
    ends = (lower.number, lower.closed)
    return LinearityCriterion(
        choice, number, *ends, problem.target, terms[:, 1:], terms[:, 0], weights
    )


def _linear_terms(law: Law, chosen: Quantity) -> Sequence[sp.Expr] | None:
    """The logarithm of the law without the chosen parameter: the part that depends on no parameter,
    and the functions of the variables in which it is linear; None where it is not linear."""
    rest = sp.expand(law.expression) - chosen.symbol
    if chosen.symbol in rest.free_symbols:
        return None
    log_law = logarithm(sp.factor_terms(rest))
    if log_law is None:
        return None
    settings = {q.symbol: sp.Float(q.value, 17) for q in law.settings if q.value is not None}
    variables = [q.symbol for q in law.variables]
    offset, functions = sp.S.Zero, dict[sp.Expr, None]()
    for term in sp.Add.make_args(sp.expand(log_law.xreplace(settings))):
        factor, function = term.as_independent(*variables, as_Add=False)
        if not function.free_symbols <= set(variables):
            return None
        if factor.free_symbols:
            functions[function] = None
        else:
            offset += term
    return [offset, *functions]


def _choice_error(message: str, help: str) -> LawdslError:
    return LawdslError(Diagnostic("F0124", message, help=help))
