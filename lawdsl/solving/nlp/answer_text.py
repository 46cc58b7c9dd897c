"""The solution of a search -> lines that describe its location, certificate and alternatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.solving.formulate.problem import AlgebraicConstraint
from lawdsl.solving.nlp.epigraph import SmoothForm
from lawdsl.solving.nlp.log_scaling import ScaledQuestion, UnknownScale
from lawdsl.solving.nlp.multistart import is_proved_optimal
from lawdsl.solving.nlp.problem import NlpProblem, NlpSolution

Array = NDArray[np.float64]

ALL_CONSTRAINTS_KEPT = "every constraint is kept"
MAX_LISTED_CHOICES = 4  # other choices, and unknowns of each, that are listed
# Relative to the value: a larger gap that is not closed is not reported.
USEFUL_GAP = 1e-3


@dataclass(frozen=True)
class SearchResult:
    """The solution of a question, and the mapping from it to the question's unknowns.

    Attributes:
        problem: the problem in the search variables, without those that the constraints determine.
        solution: its solution.
        question: the question in the search variables.
        scales: the search variable of each unknown.
        fixed: the search variables that the constraints determine, with their values.
        variable_values: each search variable -> its value.
        smooth: the problem near the solution without kinks; None if no branches meet.
    """

    problem: NlpProblem
    solution: NlpSolution
    question: ScaledQuestion
    scales: Sequence[UnknownScale]
    fixed: Mapping[sp.Symbol, float]
    variable_values: Mapping[sp.Symbol, float]
    smooth: SmoothForm | None = None

    @property
    def differentiable(self) -> SearchResult | None:
        """This result with its problem replaced by the smooth one, if the problem has kinks.

        None if the solution has no derivatives.
        """
        if self.smooth is None:
            return self
        if self.smooth.solution is None:
            return None
        return replace(self, problem=self.smooth.problem, solution=self.smooth.solution)

    def choice(self, x: Array) -> dict[str, float]:
        """The unknowns of the question at another point of the problem."""
        variable_values = {
            **self.fixed,
            **dict(zip(self.problem.unknowns, x.tolist(), strict=True)),
        }
        return {s.unknown.name: s.value(variable_values[s.variable]) for s in self.scales}

    def per_goal(self, goal: float) -> float:
        """Return d(goal)/d(objective): the goal itself if its logarithm was minimised, else 1."""
        return goal if self.question.product else 1.0

    def names(self, of: Sequence[str]) -> list[str]:
        """The names of the unknowns that have these search variables."""
        return [s.unknown.name for s in self.scales if s.variable.name in of]


def location_text(conditions: Sequence[AlgebraicConstraint], result: SearchResult) -> str:
    """Describe the location of the answer: on which constraints, at which bounds, or in the
    interior.

    Args:
        conditions: the constraints of the question, in the order of those of the problem.
        result: the solution.

    Returns:
        A phrase.
    """
    solution = result.solution
    if len(result.fixed) and len(result.fixed) + 1 >= len(result.scales):
        return "the only choice that the constraints leave"
    names = dict.fromkeys(conditions[int(i)].name for i in solution.active)
    location = f"{len(solution.active)} constraints active" if len(solution.active) > 1 else ""
    if len(solution.active) == 1 or len(names) == 1:
        location = f"on the constraint {next(iter(names))}"
        location += f", {len(solution.active)} times" if len(solution.active) > 1 else ""
    at_low, at_high = result.names(solution.at_low), result.names(solution.at_high)
    ends = [f"{n} at its lower end" for n in at_low] + [f"{n} at its upper end" for n in at_high]
    if len(ends) > 3:
        ends = [f"{len(at_low)} unknowns at their lower end"] if at_low else []
        ends += [f"{len(at_high)} at their upper end"] if at_high else []
    return "; ".join(filter(None, (location, *ends))) or "inside"


def proof_lines(solution: NlpSolution, per: float) -> tuple[str, ...]:
    """Describe the certificates of a solution.

    Args:
        solution: the solution of the problem.
        per: d(goal)/d(objective), which converts a gap of the objective to one of the goal.

    Returns:
        Lines on feasibility, and on the duality gap or the agreement of the searches.
    """
    feasibility = f"{ALL_CONSTRAINTS_KEPT}, to {max(solution.violation, 1e-16):.0e} of its terms"
    if solution.gap is not None and (
        is_proved_optimal(solution) or solution.gap <= USEFUL_GAP * abs(solution.value)
    ):
        return (
            feasibility,
            f"convex: no other choice is better by more than {solution.gap * per:.1e}",
        )
    if solution.convex:
        return (feasibility, "convex, but how much better another choice may be is not known")
    starts = f"{solution.agreed} of {solution.starts} starts end here, none better"
    if solution.equal > solution.agreed:
        starts = (
            f"{solution.agreed} of {solution.starts} starts end here, "
            f"{solution.equal - solution.agreed} at equally good choices, none better"
        )
    return (feasibility, f"{starts}; that no other choice is better is not proved")


def alternative_lines(
    others: Sequence[Mapping[str, float]], flat: Sequence[Mapping[str, float]]
) -> tuple[str, ...]:
    """Describe other choices whose goal equals that of the answer.

    Args:
        others: isolated optima, unknown -> value.
        flat: points of optima that are not isolated, unknown -> value.

    Returns:
        At most one line for each kind.
    """
    lines = []
    for what, choices in (
        ("equally good", others),
        ("as good as well, so that no optimum is isolated", flat),
    ):
        if choices:
            texts = ["; ".join(_choice_text(choice) for choice in choices[:MAX_LISTED_CHOICES])]
            texts += (
                [f"and {len(choices) - MAX_LISTED_CHOICES} more"]
                if len(choices) > MAX_LISTED_CHOICES
                else []
            )
            lines.append(f"{what}: {'; '.join(texts)}")
    return tuple(lines)


def _choice_text(choice: Mapping[str, float]) -> str:
    few = list(choice.items())[:MAX_LISTED_CHOICES]
    more = ", …" if len(choice) > MAX_LISTED_CHOICES else ""
    return ", ".join(f"{name} = {value:.6g}" for name, value in few) + more
