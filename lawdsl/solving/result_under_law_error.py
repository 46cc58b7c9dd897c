"""Records of an answer whose laws may be wrong, and of one without bounds between parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lawdsl.fitting.result_parts import LowerEnd, UpperEnd

SAFE_LEVELS = (0.5, 0.9999)
"""The least and the largest probability of a safe answer."""

Ends = tuple[LowerEnd, UpperEnd]


@dataclass(frozen=True)
class UnderLawError:
    """An answer under the noise of the fits and the error of the laws.

    Attributes:
        discrepancy: the error of the laws per decade, 0.02 for 2 %, before it is widened.
        widening: use -> what its rolled check multiplies that by, 1 or more; empty where the error
            was not learned.
        goal: the interval of the true goal at the answer; None where no law is in the goal.
        kept: the probability that all constraints with fitted laws hold at the answer; None where
            there is none, or one of them is an equation.
        each: constraint -> the probability that it holds at the answer, or a lower bound.
        bound: whether `kept` is a lower bound: it is that of several constraints, or of one with
            several values of laws.
        seed: the seed of the draws.
        draws: of the true laws, by which the rest is known; 0 where the question has several
            unknowns, or an equation does not leave one: the rest is not known then.
        ends: name -> those of the interval of the best choice of a draw. An end is infinite where
            the best choice of some draws has no bound.
        answered: the share of the draws in which some choice satisfies the constraints; the
            intervals of the best choice are of those.
        regret: how much worse in the goal than the best choice of a draw the answer is, in the mean
            of the draws in which it satisfies the constraints; None where these are too few.
        regret_high: what it exceeds in a share of 1 minus the level of these draws.
        missing: why there are no draws, or no regret of them; empty where there is.
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


@dataclass(frozen=True)
class SafeAnswer:
    """The best choice whose constraints with fitted laws hold with a probability.

    It is found on a refined grid of one unknown, or by local searches for several, and verified; that
    none is better is not certified.

    Attributes:
        level: the probability that was requested, 0.95 for 95 %.
        discrepancy: the error of the laws per decade, 0.02 for 2 %, before it is widened.
        widening: use -> what its rolled check multiplies that by, 1 or more; empty where the error
            was not learned.
        status: answered, or infeasible: no choice is that safe.
        constraints: those with fitted laws, as they are written.
        probability: a lower bound on the probability that all of them hold; where no choice is
            safe, the largest that any choice has.
        bound: whether that and `point_probability` are lower bounds, as in `UnderLawError`.
        point_probability: that at the answer of the fitted laws, `UnderLawError.kept`; None where
            there is none.
        unknowns: name -> value; where no choice is safe, those of the largest probability.
        goal: by the fitted laws; None where no choice is safe.
        cost: how much worse in the goal than the answer of the fitted laws.
        each: constraint -> the probability that it holds at these unknowns, or a lower bound.
        evaluations: how many choices were examined.
        searches: in how many local searches; 0 where they are those of a grid of one unknown.
        only: whether an equation leaves no other choice than this.
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
    """The answer of the same fits without bounds between parameters on which they lie.

    Attributes:
        bounds: use -> the bounds, as its law declares them.
        status: the status of the answer.
        unknowns: name -> value; none without an answer.
        ends: name -> the interval by the noise of these fits.
        goal: its value; None without an answer.
        objective_ratios: use -> the objective without the bounds, relative to that with them, on the
            same rows: below 1.
        verdicts: use -> the verdict on the fit without the bounds.
        rows: use -> to how many rows it is.
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
