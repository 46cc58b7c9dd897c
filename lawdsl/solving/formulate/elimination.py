"""A question in algebra -> the same question in one unknown, if equations determine the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import sympy as sp

from lawdsl.solving.formulate.closed_form import flatten_powers, unique_root
from lawdsl.solving.formulate.problem import AlgebraicConstraint, FormulatedQuestion, Unknown


@dataclass(frozen=True)
class ReducedProblem:
    """A question in the unknowns that remain after elimination by equations.

    Attributes:
        unknowns: the remaining unknowns.
        goal: the minimised goal in these unknowns.
        conditions: the constraints, in these unknowns.
        follow: the eliminated unknowns as formulas of these.
    """

    unknowns: tuple[Unknown, ...]
    goal: sp.Expr
    conditions: tuple[AlgebraicConstraint, ...]
    follow: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)

    @property
    def only_unknown(self) -> Unknown | None:
        """The unknown, if only one is left."""
        return self.unknowns[0] if len(self.unknowns) == 1 else None


def complete_problem(formulated: FormulatedQuestion) -> ReducedProblem:
    """The question in all its unknowns."""
    return ReducedProblem(formulated.unknowns, formulated.goal, formulated.conditions)


def eliminate(formulated: FormulatedQuestion) -> ReducedProblem:
    """The question in one unknown, if its equations determine the others as formulas of it."""
    complete = complete_problem(formulated)
    equations = [c for c in formulated.conditions if c.equality]
    # only questions in one unknown are certified, so a partial elimination is not used
    if len(formulated.unknowns) - len(equations) > 1:
        return complete
    problem: ReducedProblem | None = complete
    for equation in equations:
        if problem is None or len(problem.unknowns) == 1:
            break
        problem = _eliminate_by(problem, equation, formulated.question.name)
    return complete if problem is None or problem.only_unknown is None else problem


def _eliminate_by(
    problem: ReducedProblem, equation: AlgebraicConstraint, question_name: str
) -> ReducedProblem | None:
    """Eliminate one unknown by an equation, the last declared one if the equation determines
    several. The domain of that unknown becomes conditions, attributed to the question.
    """
    margin = equation.margin.xreplace(dict(problem.follow))
    for unknown in reversed(problem.unknowns):
        root = unique_root(margin, unknown.symbol)
        if root is None:
            continue
        formula, nonnegative = root
        substitution = {unknown.symbol: formula}
        bounds = tuple(
            _as_condition(unknown, r, limit, formula, question_name) for r, limit in unknown.bounds
        )
        bounds += tuple(
            AlgebraicConstraint(
                equation.text, equation.doc, expression, law=question_name, of_unknowns=True
            )
            for expression in nonnegative
        )
        others = tuple(c for c in problem.conditions if c != equation)
        remaining = (replace(c, margin=c.margin.xreplace(substitution)) for c in (*others, *bounds))
        return ReducedProblem(
            tuple(u for u in problem.unknowns if u != unknown),
            # expanded, so that powers of the substituted formula cancel against others of the same
            # base
            flatten_powers(problem.goal.xreplace(substitution)),
            tuple(
                replace(c, margin=flatten_powers(c.margin)) for c in remaining if not c.always_holds
            ),
            {
                **{s: f.xreplace(substitution) for s, f in problem.follow.items()},
                unknown.symbol: formula,
            },
        )
    return None


def _as_condition(
    unknown: Unknown, relation: str, limit: sp.Expr, formula: sp.Expr, question_name: str
) -> AlgebraicConstraint:
    margin = formula - limit if relation.startswith(">") else limit - formula
    text = f"{unknown.name} {relation} {limit}"
    return AlgebraicConstraint(
        text, None, margin, strict=relation in "<>", law=question_name, of_unknowns=True
    )
