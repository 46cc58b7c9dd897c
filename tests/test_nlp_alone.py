"""The solver for several unknowns on its own: published problems with known minima.

The problems and their optima are those of Hock & Schittkowski (1981), Test Examples for Nonlinear
Programming Codes, Lecture Notes in Economics and Mathematical Systems 187, by their numbers there.
Constraints are written as the book does, `g >= 0` and `h = 0`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import FrozenInstanceError, dataclass
from math import inf, log, pi, sqrt

import numpy as np
import pytest
import sympy as sp
from quick import without

from lawdsl.solving.nlp.multistart import is_proved_optimal, minimise
from lawdsl.solving.nlp.options import NlpOptions
from lawdsl.solving.nlp.problem import NlpConstraint, NlpProblem

a, b, c, d, e = UNKNOWNS = sp.symbols("x1:6", real=True)
FREE = (-inf, inf)


@dataclass(frozen=True)
class Published:
    """A problem of the collection.

    Attributes:
        number: in the book.
        objective: what is minimised.
        bounds: of each unknown.
        minimum: the published least value.
        least: expressions that must not be negative.
        zero: expressions that must be 0.
        convex: whether it is convex and the rules of composition show it.
    """

    number: int
    objective: sp.Expr
    bounds: Sequence[tuple[float, float]]
    minimum: float
    least: Sequence[sp.Expr] = ()
    zero: Sequence[sp.Expr] = ()
    convex: bool = False

    @property
    def unknowns(self) -> tuple[sp.Symbol, ...]:
        return UNKNOWNS[: len(self.bounds)]

    def problem(self, largest: float = inf) -> NlpProblem:
        """The problem; `largest` bounds the size of unknowns that have no bound of their own."""
        constraints = [NlpConstraint(f"g{k}", -g) for k, g in enumerate(self.least)]
        constraints += [NlpConstraint(f"h{k}", h, True) for k, h in enumerate(self.zero)]
        bounds = [(max(low, -largest), min(high, largest)) for low, high in self.bounds]
        unknowns = dict(zip(self.unknowns, bounds, strict=True))
        return NlpProblem(self.objective, unknowns, constraints)

    def violation(self, x: np.ndarray) -> float:
        """The largest violation of a constraint or a bound at a point, by SymPy's own numbers."""
        at = dict(zip(self.unknowns, map(sp.Float, x.tolist()), strict=True))
        slack = [-float(g.subs(at)) for g in self.least]
        slack += [abs(float(h.subs(at))) for h in self.zero]
        slack += [max(low - v, v - high) for v, (low, high) in zip(x, self.bounds, strict=True)]
        return max(slack, default=0.0)


ROSENBROCK = 100 * (b - a**2) ** 2 + (1 - a) ** 2
PROBLEMS = [
    Published(1, ROSENBROCK, [FREE, (-1.5, inf)], 0),
    Published(4, (a + 1) ** 3 / 3 + b, [(1, inf), (0, inf)], 8 / 3, convex=True),
    Published(
        5,
        sp.sin(a + b) + (a - b) ** 2 - 1.5 * a + 2.5 * b + 1,
        [(-1.5, 4), (-3, 3)],
        -sqrt(3) / 2 - pi / 3,
    ),
    Published(7, sp.log(1 + a**2) - b, [FREE] * 2, -sqrt(3), zero=[(1 + a**2) ** 2 + b**2 - 4]),
    Published(
        14,
        (a - 2) ** 2 + (b - 1) ** 2,
        [FREE] * 2,
        9 - 2.875 * sqrt(7),
        [-(a**2) / 4 - b**2 + 1],
        [a - 2 * b + 1],
        convex=True,
    ),
    Published(15, ROSENBROCK, [(-inf, 0.5), FREE], 306.5, [a * b - 1, a + b**2]),
    Published(18, a**2 / 100 + b**2, [(2, 50), (0, 50)], 5, [a * b - 25, a**2 + b**2 - 25]),
    Published(
        19,
        (a - 10) ** 3 + (b - 20) ** 3,
        [(13, 100), (0, 100)],
        -6961.81388,
        [(a - 5) ** 2 + (b - 5) ** 2 - 100, 82.81 - (a - 6) ** 2 - (b - 5) ** 2],
    ),
    Published(
        21,
        a**2 / 100 + b**2 - 100,
        [(2, 50), (-50, 50)],
        -99.96,
        [10 * a - b - 10],
        convex=True,
    ),
    Published(22, (a - 2) ** 2 + (b - 1) ** 2, [FREE] * 2, 1, [2 - a - b, b - a**2], convex=True),
    Published(
        23,
        a**2 + b**2,
        [(-50, 50)] * 2,
        2,
        [a + b - 1, a**2 + b**2 - 1, 9 * a**2 + b**2 - 9, a**2 - b, b**2 - a],
    ),
    Published(
        24,
        ((a - 3) ** 2 - 9) * b**3 / (27 * sp.sqrt(3)),
        [(0, inf)] * 2,
        -1,
        [a / sp.sqrt(3) - b, a + sp.sqrt(3) * b, 6 - a - sp.sqrt(3) * b],
    ),
    Published(29, -a * b * c, [FREE] * 3, -16 * sqrt(2), [48 - a**2 - 2 * b**2 - 4 * c**2]),
    Published(
        34,
        -a,
        [(0, 100), (0, 100), (0, 10)],
        -log(log(10)),
        [b - sp.exp(a), c - sp.exp(b)],
        convex=True,
    ),
    Published(
        35,
        9 - 8 * a - 6 * b - 4 * c + 2 * a**2 + 2 * b**2 + c**2 + 2 * a * b + 2 * a * c,
        [(0, inf)] * 3,
        1 / 9,
        [3 - a - b - 2 * c],
    ),
    Published(
        36,
        -a * b * c,
        [(0, 20), (0, 11), (0, 42)],
        -3300,
        [72 - a - 2 * b - 2 * c],
    ),
    Published(41, 2 - a * b * c, [(0, 1)] * 3 + [(0, 2)], 52 / 27, zero=[a + 2 * b + 2 * c - d]),
    Published(
        43,
        a**2 + b**2 + 2 * c**2 + d**2 - 5 * a - 5 * b - 21 * c + 7 * d,
        [FREE] * 4,
        -44,
        [
            8 - a**2 - b**2 - c**2 - d**2 - a + b - c + d,
            10 - a**2 - 2 * b**2 - c**2 - 2 * d**2 + a + d,
            5 - 2 * a**2 - b**2 - c**2 - 2 * a + b + d,
        ],
        convex=True,
    ),
    Published(
        48,
        (a - 1) ** 2 + (b - c) ** 2 + (d - e) ** 2,
        [FREE] * 5,
        0,
        zero=[a + b + c + d + e - 5, c - 2 * (d + e) + 3],
        convex=True,
    ),
    Published(
        66,
        0.2 * c - 0.8 * a,
        [(0, 100), (0, 100), (0, 10)],
        0.5181632741,
        [b - sp.exp(a), c - sp.exp(b)],
        convex=True,
    ),
    Published(
        71,
        a * d * (a + b + c) + c,
        [(1, 5)] * 4,
        17.0140173,
        [a * b * c * d - 25],
        [a**2 + b**2 + c**2 + d**2 - 40],
    ),
]


SECONDS = (1, 7, 14, 15, 22, 23, 24, 29, 43, 48)  # numbers of those of half a second to a second
DEAR = [problem for problem in PROBLEMS if problem.number in SECONDS]


@pytest.mark.parametrize("published", without(PROBLEMS, DEAR), ids=lambda p: f"HS{p.number}")
def test_the_published_minimum_is_attained(published: Published) -> None:
    solution = minimise(published.problem(), NlpOptions())

    assert solution.feasible and solution.unbounded_path is None
    assert solution.value == pytest.approx(published.minimum, rel=1e-8, abs=1e-8)
    assert published.violation(solution.x) <= 1e-6
    assert solution.convex or not published.convex
    if solution.gap is not None:  # the certified bound must not exclude the published minimum
        slack = 1e-8 * max(1.0, abs(published.minimum))  # digits that the book gives
        assert solution.value - solution.gap <= published.minimum + slack


@pytest.mark.parametrize(
    "published", [p for p in PROBLEMS if p.convex], ids=lambda p: f"HS{p.number}"
)
def test_the_minimum_of_a_convex_problem_in_a_box_is_proved(published: Published) -> None:
    """The certified gap bounds a tangent over the box, so it may be infinite without one."""
    solution = minimise(published.problem(largest=100.0))

    assert solution.convex and is_proved_optimal(solution)
    assert solution.value == pytest.approx(published.minimum, rel=1e-8, abs=1e-8)


def test_equal_options_give_equal_solutions() -> None:
    problem = PROBLEMS[2].problem()
    one, other = minimise(problem, NlpOptions(6, 3)), minimise(problem, NlpOptions(6, 3))

    assert one.x.tolist() == other.x.tolist() and one.value == other.value
    assert one.starts == other.starts == 6


def test_options_are_frozen_and_refuse_what_no_search_can_use() -> None:
    with pytest.raises(ValueError, match="starts is 0"):
        NlpOptions(starts=0)
    with pytest.raises(ValueError, match="seed is -1"):
        NlpOptions(seed=-1)
    with pytest.raises(FrozenInstanceError):
        NlpOptions().seed = 1  # type: ignore[misc]


def test_it_needs_neither_fits_nor_the_algebra_of_questions() -> None:
    """Importing it in a new process loads no module that knows of these. (`law` is loaded: tapes
    are compiled with its table of functions.)"""
    program = (
        "import sys, lawdsl.solving.nlp.multistart as _\n"
        "rooms = 'data proof fitting solving.formulate solving.univariate solving.inputs'\n"
        "rooms = [*rooms.split(), 'solving.result', 'solving.solve', 'solving.nlp.solver']\n"
        "print(*(r for r in rooms if any(m == f'lawdsl.{r}' or m.startswith(f'lawdsl.{r}.')"
        " for m in sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )

    assert done.stdout.strip() == ""
