"""A question whose unknowns have nothing to do with each other: each is answered by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import sympy as sp

from lawdsl.solving.formulate.elimination import ReducedProblem
from lawdsl.solving.formulate.problem import FormulatedQuestion
from lawdsl.solving.result import STATUSES, Answer, Goal
from lawdsl.solving.univariate.solver import Single


def separated(problem: ReducedProblem) -> list[ReducedProblem] | None:
    """A problem for each unknown; None where the goal or a constraint has two in one term."""
    parts: dict[sp.Symbol, list[sp.Expr]] = {u.symbol: [] for u in problem.unknowns}
    rest = sp.S.Zero
    for term in sp.Add.make_args(sp.expand_mul(problem.goal)):
        own = term.free_symbols & set(parts)
        if len(own) > 1:
            return None
        if own:
            parts[own.pop()].append(term)
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


class Apart:
    """A question that falls into questions with one unknown each."""

    def __init__(self, posed: FormulatedQuestion, problems: Sequence[ReducedProblem]) -> None:
        self.posed = posed
        self.ways = [Single(posed, problem) for problem in problems]

    def answer(
        self, values: Mapping[sp.Symbol, float], level: float, seed: int, *, proofs: bool
    ) -> Answer:
        """The answers for values of all other symbols, as one."""
        found = [way.answer(values, level, seed, proofs=proofs) for way in self.ways]
        worst = max((a.status for a in found), key=STATUSES.index)
        infeasible = [a for a in found if a.status == "infeasible" and a.certain]
        worst = "infeasible" if infeasible else worst
        names = [way.unknown.name for way in self.ways]
        goals = [a.goal for a in found if a.goal is not None]
        total: Goal | None = None
        if len(goals) == len(found):
            total = replace(goals[0], value=sum(g.value for g in goals), ends=None)
        pairs = list(zip(names, found, strict=True))
        return replace(
            found[0],
            status=worst,
            unknowns=tuple(u for a in found for u in a.unknowns),
            goal=total,
            where=_where(pairs),
            method="; ".join(dict.fromkeys(a.method for a in found if a.method)),
            proof=tuple(f"{name}: {line}" for name, a in pairs for line in a.proof),
            certain=bool(infeasible) or all(a.certain for a in found),
            kept=tuple(k for a in found for k in a.kept),
            sensitivities=(),
            thresholds=tuple(t for a in found for t in a.thresholds),
            conflicts=tuple(c for a in found for c in a.conflicts),
            relaxations=tuple(r for a in found for r in a.relaxations),
            response=(),
            diagnostics=tuple(dict.fromkeys(d for a in found for d in a.diagnostics)),
        )


def _where(pairs: Sequence[tuple[str, Answer]]) -> str:
    """Where the answers lie: once, if all alike."""
    places = dict.fromkeys(a.where or a.status for _, a in pairs)
    if len(places) == 1:
        return f"each {next(iter(places))}"
    return "; ".join(f"{name} {a.where or a.status}" for name, a in pairs)
