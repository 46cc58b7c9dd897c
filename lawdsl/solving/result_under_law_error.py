"""Records of an answer under the error of its laws, and of an answer without bounds between
parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lawdsl.fitting.result_parts import LowerEnd, UpperEnd

SAFE_LEVELS = (0.5, 0.9999)
"""The smallest and the largest permitted probability of a safe answer."""

Ends = tuple[LowerEnd, UpperEnd]


@dataclass(frozen=True)
class UnderLawError:
    """An answer under the noise of the fits and the error of the laws.

    Attributes:
        discrepancy: the error of the laws per decade, 0.02 for 2 %, before it is widened.
        widening: use -> what its rolled check multiplies that by, 1 or more; empty where the error
            was not learned.
        goal: the interval of the true goal at the answer; None if the goal involves no law.
        kept: the probability that all constraints with fitted laws hold at the answer; None if
            there are none, or one of them is an equation.
        each: constraint -> the probability that it holds at the answer, or a lower bound.
        bound: whether `kept` is only a lower bound: for several constraints, or for one with
            several calls of laws.
        seed: the seed of the draws.
        draws: the number of draws of the true laws for the following results; 0 if the question has
            several unknowns, or an equation fixes its unknown, so that they are not known.
        ends: name -> the ends of the interval of the best choices in draws. An end is infinite if
            the best choice of some draws is unbounded.
        answered: the share of the draws in which some choice satisfies the constraints; the
            intervals of the best choice are of those.
        regret: how much worse in the goal than the best choice of a draw the answer is, in the mean
            of the draws in which it satisfies the constraints; None where these are too few.
        regret_high: the quantile of the regret over these draws at the level of the intervals.
        missing: the reason why there are no draws, or no regret; empty otherwise.
        corrected: the goal at the answer by the laws with their estimated errors, as predictions
            have them; None if the goal involves no law.
    """

    discrepancy: float
    seed: int
    goal: Ends | None
    kept: float | None
    each: Mapping[str, float] = field(default_factory=dict)
    bound: bool = False
    draws: int = 0
    ends: Mapping[str, Ends] = field(default_factory=dict)
    answered: float | None = None
    regret: float | None = None
    regret_high: float | None = None
    missing: str = ""
    widening: Mapping[str, float] = field(default_factory=dict)
    corrected: float | None = None


@dataclass(frozen=True)
class SafeAnswer:
    """The best choice whose constraints with fitted laws hold with a given probability.

    It is found on a refined grid of one unknown, or by local searches for several, and verified; it
    is not certified that no other choice is better.

    Attributes:
        level: the requested probability, 0.95 for 95 %.
        discrepancy: the error of the laws per decade, 0.02 for 2 %, before it is widened.
        widening: use -> what its rolled check multiplies that by, 1 or more; empty where the error
            was not learned.
        status: answered, or infeasible if no choice is sufficiently safe.
        constraints: the constraints with fitted laws, as written.
        probability: a lower bound on the probability that all of them hold; where no choice is
            safe, the largest that any choice has.
        bound: whether that and `point_probability` are lower bounds, as in `UnderLawError`.
        point_probability: the probability at the answer by the fitted laws, `UnderLawError.kept`;
            None without an answer.
        unknowns: name -> value; if no choice is safe, of the choice with the largest probability.
        goal: the goal by the fitted laws; None if no choice is safe.
        cost: how much worse the goal is than at the answer by the fitted laws.
        each: constraint -> the probability that it holds at these unknowns, or a lower bound.
        evaluations: the number of choices examined.
        searches: the number of local searches; 0 for a grid of one unknown.
        only: whether an equation permits no other choice.
    """

    level: float
    discrepancy: float
    status: str
    constraints: tuple[str, ...]
    probability: float
    point_probability: float | None
    evaluations: int
    unknowns: Mapping[str, float] = field(default_factory=dict)
    goal: float | None = None
    cost: float | None = None
    each: Mapping[str, float] = field(default_factory=dict)
    widening: Mapping[str, float] = field(default_factory=dict)
    searches: int = 0
    bound: bool = False
    only: bool = False

    @property
    def ok(self) -> bool:
        """Whether some choice is safe."""
        return self.status == "answered"

    def __getitem__(self, name: str) -> float:
        """The value of an unknown.

        Raises:
            KeyError: there is no unknown of that name.
        """
        return self.unknowns[name]


@dataclass(frozen=True)
class WithoutBounds:
    """The answer by the same fits without the bounds between parameters that are active in them.

    Attributes:
        bounds: use -> the bounds as declared in its law.
        status: the status of the answer.
        unknowns: name -> value; empty without an answer.
        ends: name -> the interval due to the noise of these fits.
        goal: the value of the goal; None without an answer.
        objective_ratios: use -> the ratio of the objective without the bounds to that with them, on
            the same rows; below 1.
        verdicts: use -> the verdict on the fit without the bounds.
        rows: use -> the number of rows of the fit without the bounds.
    """

    bounds: Mapping[str, tuple[str, ...]]
    status: str
    unknowns: Mapping[str, float]
    ends: Mapping[str, Ends | None]
    goal: float | None
    objective_ratios: Mapping[str, float]
    verdicts: Mapping[str, str]
    rows: Mapping[str, int]

    def __getitem__(self, name: str) -> float:
        """The value of an unknown.

        Raises:
            KeyError: the answer has no unknown of that name.
        """
        return self.unknowns[name]
