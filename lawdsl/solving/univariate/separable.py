"""A question whose goal and constraints do not couple its unknowns -> one answer.

min over (x, y) of f(x) + g(y), with constraints on x or y alone, is min f + min g.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import sympy as sp

from lawdsl.solving.formulate.elimination import ReducedProblem
from lawdsl.solving.formulate.problem import FormulatedQuestion
from lawdsl.solving.result import STATUSES, Answer, Goal
from lawdsl.solving.univariate.solver import UnivariateSolver


def separate(problem: ReducedProblem) -> list[ReducedProblem] | None:
    """A problem for each unknown; None where a term of the goal or a constraint
    has two unknowns."""
    parts: dict[sp.Symbol, list[sp.Expr]] = {u.symbol: [] for u in problem.unknowns}
    rest = sp.S.Zero
    for term in sp.Add.make_args(sp.expand_mul(problem.goal)):
        unknowns = term.free_symbols & set(parts)
        if len(unknowns) > 1:
            return None
        if unknowns:
            parts[unknowns.pop()].append(term)
        else:
            rest += term
    if any(len(c.margin.free_symbols & set(parts)) > 1 for c in problem.conditions):
        return None
    return [
        ReducedProblem(
            (u,),
            sp.Add(*parts[u.symbol], rest if not i else 0),
            tuple(c for c in problem.conditions if u.symbol in c.margin.free_symbols),
        )
        for i, u in enumerate(problem.unknowns)
    ]


class SeparableSolver:
    """A question that separates into questions with one unknown each.

    Args:
        formulated: the question.
        problems: the question for each unknown.
    """

    def __init__(self, formulated: FormulatedQuestion, problems: Sequence[ReducedProblem]) -> None:
        self.formulated = formulated
        self.solvers = [UnivariateSolver(formulated, problem) for problem in problems]

    def answer(
        self, values: Mapping[sp.Symbol, float], level: float, seed: int, *, proofs: bool
    ) -> Answer:
        """Answer the question for each unknown, and combine the answers.

        Args:
            values: symbol -> value, of all symbols but the unknowns.
            level: the level of the intervals, 0.95 for 95 %.
            seed: the seed of the draws of the noise.
            proofs: whether bounds that conflict with an interior answer are proved.

        Returns:
            One answer.
        """
        answers = [solver.answer(values, level, seed, proofs=proofs) for solver in self.solvers]
        status = max((a.status for a in answers), key=STATUSES.index)
        infeasible = [a for a in answers if a.status == "infeasible" and a.certain]
        # an infeasible part makes the question infeasible, even if others are undecided
        status = "infeasible" if infeasible else status
        names = [solver.unknown.name for solver in self.solvers]
        goals = [a.goal for a in answers if a.goal is not None]
        total: Goal | None = None
        if len(goals) == len(answers):
            total = replace(goals[0], value=sum(g.value for g in goals), ends=None)
        pairs = list(zip(names, answers, strict=True))
        return replace(
            answers[0],
            status=status,
            unknowns=tuple(u for a in answers for u in a.unknowns),
            goal=total,
            where=_joint_description(pairs),
            method="; ".join(dict.fromkeys(a.method for a in answers if a.method)),
            proof=tuple(f"{name}: {line}" for name, a in pairs for line in a.proof),
            certain=bool(infeasible) or all(a.certain for a in answers),
            kept=tuple(k for a in answers for k in a.kept),
            sensitivities=(),
            thresholds=tuple(t for a in answers for t in a.thresholds),
            conflicts=tuple(c for a in answers for c in a.conflicts),
            relaxations=tuple(r for a in answers for r in a.relaxations),
            response=(),
            diagnostics=tuple(dict.fromkeys(d for a in answers for d in a.diagnostics)),
        )


def _joint_description(pairs: Sequence[tuple[str, Answer]]) -> str:
    """The location of the answers of all unknowns, in one phrase if it is the same for all."""
    locations = dict.fromkeys(a.where or a.status for _, a in pairs)
    if len(locations) == 1:
        return f"each {next(iter(locations))}"
    return "; ".join(f"{name} {a.where or a.status}" for name, a in pairs)
