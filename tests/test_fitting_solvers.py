"""Each solver of a fit by itself, on problems whose minima are known.

Minima: Moré, Garbow and Hillstrom 1981, ACM TOMS 7, 17-41, with the numbers of their problems; that of
Kowalik and Osborne is certified by NIST as MGH09.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from planted import law_of
from test_nist import LAWS, read_data, read_problems

from lawdsl.core.objectives import Objective
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.preparation.prepare import prepare
from lawdsl.fitting.problem import Problem, rho_slope
from lawdsl.fitting.solvers import newton as newton_module
from lawdsl.fitting.solvers.descent import descend
from lawdsl.fitting.solvers.irls import irls
from lawdsl.fitting.solvers.multistart import optimum
from lawdsl.fitting.solvers.newton import newton
from lawdsl.fitting.solvers.projected_problem import ProjectedProblem, project
from lawdsl.fitting.solvers.solver import (
    GIVEN_UP,
    MINIMUM,
    NO_VALUE,
    OUT_OF_STEPS,
    Solver,
    SolverOptions,
)
from lawdsl.fitting.solvers.trust_region import trust_region
from lawdsl.fitting.transforms import to_free, to_parameters
from lawdsl.law.law import load

SQUARED = Objective("squared", log=False)


@dataclass(frozen=True)
class Case:
    """A law, its rows, the start of the paper, and the minimum: parameters and sum of squares."""

    text: str
    columns: tuple[tuple[float, ...], ...]
    target: tuple[float, ...]
    start: tuple[float, ...]
    minimum: tuple[float, ...]
    loss: float

    def problem(self, objective: Objective = SQUARED) -> Problem:
        law = law_of(self.text)
        return problem_of(law, np.array(self.columns), np.array(self.target), objective)

    def free(self, problem: Problem) -> np.ndarray:
        return to_free(problem.transforms, np.array([self.start]))


U = (4.0, 2.0, 1.0, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625)
NUMBERS = tuple(float(i) for i in range(1, 16))
HEAD = "minimize squared(L)"
CASES = {
    "1 Rosenbrock": Case(
        f"variable u, v\nparameter a, b\nL = 10*u*(b - a^2) + v*a\n{HEAD}",
        ((1.0, 0.0), (0.0, 1.0)),
        (0.0, 1.0),
        (-1.2, 1.0),
        (1.0, 1.0),
        0.0,
    ),
    "5 Beale": Case(
        f"variable n > 0\nparameter a\nparameter b > 0\nL = a*(1 - b^n)\n{HEAD}",
        ((1.0, 2.0, 3.0),),
        (1.5, 2.25, 2.625),
        (1.0, 0.9),
        (3.0, 0.5),
        0.0,
    ),
    "8 Bard": Case(
        f"variable u, v, w\nparameter a, b, c\nL = a + u/(v*b + w*c)\n{HEAD}",
        (NUMBERS, tuple(16 - u for u in NUMBERS), tuple(min(u, 16 - u) for u in NUMBERS)),
        (0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.1, 4.39),
        (1.0, 1.0, 1.0),
        (0.082411, 1.133036, 2.343695),
        8.21487e-3,
    ),
    "15 Kowalik and Osborne": Case(
        f"variable u > 0\nparameter a, b, c, d\nL = a*(u^2 + u*b)/(u^2 + u*c + d)\n{HEAD}",
        (U,),
        (0.1957, 0.1947, 0.1735, 0.16, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246),
        (0.25, 0.39, 0.415, 0.39),
        (0.19280693458, 0.19128232873, 0.12305650693, 0.13606233068),
        3.0750560385e-4,
    ),
}
SOLVERS: dict[str, Solver] = {"newton": newton, "trust region": trust_region, "irls": irls}
# a stage that others follow: how near the minimum it comes, in the loss
NEARLY = {"newton": 1e-9, "trust region": 1e-9, "irls": 2e-2}


FORMS: dict[str, Callable[[Problem], Problem | ProjectedProblem]] = {
    "all parameters": lambda problem: problem,
    "nonlinear parameters": project,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", CASES)
def test_a_solver_alone_reaches_the_known_minimum(name: str, solver: str, form: str):
    case = CASES[name]
    problem = case.problem()
    (solution,) = SOLVERS[solver](FORMS[form](problem), case.free(problem), SolverOptions())

    assert solution.converged and solution.reason == MINIMUM
    assert solution.loss == pytest.approx(case.loss, rel=max(NEARLY[solver], 2e-6), abs=1e-12)
    assert solution.loss == pytest.approx(float(problem.losses(solution.point[None])[0]), rel=1e-9)
    assert 1 <= solution.evaluations <= 6100
    if NEARLY[solver] < 1e-6:
        theta = to_parameters(problem.transforms, solution.point[None])[0]
        np.testing.assert_allclose(theta, case.minimum, rtol=2e-5)
        assert solution.gradient_norm <= 1e-6


# E + A/N^alpha + B/D^beta with noise, in its exponents
TWO_POWERS = "variable N, D > 0\nparameter E, A, alpha, B, beta > 0\nL = E + A/N^alpha + B/D^beta"
OBJECTIVES = {
    "squares": SQUARED,
    "squares of logs": Objective("squared", log=True),
    "huber of logs": Objective("huber", log=True, delta=3e-3),
}


def two_powers(objective: Objective, B: float = 3.0) -> Problem:
    rng = np.random.default_rng(3)
    N, D = (np.exp(rng.uniform(0, 5, 40)) for _ in range(2))
    target = 1.7 + 2.0 / N**0.4 + B / D**0.7
    law = law_of(f"{TWO_POWERS}\n{HEAD}")
    return problem_of(law, np.array([N, D]), target * np.exp(0.01 * rng.normal(size=40)), objective)


@pytest.mark.parametrize("B", [3.0, -1.0])  # a B below 0 is solved for on its bound
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_gradient_of_a_projected_fit_is_that_of_its_least_losses(objective: str, B: float):
    """By central differences; Kaufman's Jacobian leaves out only what is orthogonal to the residuals."""
    problem = two_powers(OBJECTIVES[objective], B)
    projected = project(problem)
    assert list(projected.moving) == [False, False, True, False, True]
    point = to_free(problem.transforms, np.array([[1.0, 1.0, 0.9, 1.0, 0.5]]))[0]
    moving = point[projected.moving]

    def loss(u: np.ndarray) -> float:
        return float(problem.losses(projected.recover(u, point)[None])[0])

    residual = projected.residuals(moving, point)
    slope = rho_slope(residual, problem.objective)
    gradient = projected.slopes(moving, point).T @ slope
    steps = 1e-5 * np.eye(2)
    differences = [(loss(moving + h) - loss(moving - h)) / 2e-5 for h in steps]
    assert gradient == pytest.approx(differences, rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("solver", ["newton", "trust region"])
def test_a_solver_recovers_the_linear_parameters_of_a_projected_fit(solver: str, objective: str):
    problem = two_powers(OBJECTIVES[objective])
    start = to_free(problem.transforms, np.array([[1.0, 1.0, 0.5, 1.0, 0.5]]))
    (solution,) = SOLVERS[solver](project(problem), start, SolverOptions())
    assert solution.converged and solution.gradient_norm <= 1e-6
    theta = to_parameters(problem.transforms, solution.point[None])[0]
    np.testing.assert_allclose(theta, [1.7, 2.0, 0.4, 3.0, 0.7], rtol=0.1)
    if objective == "squares":
        _, _, alpha, _, beta = theta
        N, D = problem.columns
        design = np.stack([np.ones(problem.rows), N**-alpha, D**-beta], axis=1)
        linear = np.linalg.lstsq(design, problem.target, rcond=None)[0]
        np.testing.assert_allclose(theta[[0, 1, 3]], linear, rtol=1e-6)


def test_projection_saves_the_steps_along_a_curved_valley():
    case = CASES["1 Rosenbrock"]
    problem = case.problem()
    for solver in SOLVERS.values():
        forms = (problem, project(problem))
        (whole,), (smaller,) = (solver(f, case.free(problem), SolverOptions()) for f in forms)
        assert smaller.evaluations < whole.evaluations / 3


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_linear_law_has_nothing_to_search_for_once_projected(solver: str):
    law = law_of(f"variable x\nparameter a, b\nL = a + b*x\n{HEAD}")
    x = np.linspace(-1, 2, 9)
    problem = problem_of(law, x[None], np.exp(x), SQUARED)
    projected = project(problem)
    assert not projected.moving.any()
    (solution,) = SOLVERS[solver](projected, np.zeros((1, 2)), SolverOptions())
    b, a = np.polyfit(x, np.exp(x), 1)
    np.testing.assert_allclose(solution.point, [a, b], rtol=1e-9)


@pytest.mark.parametrize("solver", ["newton", "irls"])
def test_a_search_that_is_cut_short_says_so(solver: str):
    case = CASES["15 Kowalik and Osborne"]
    problem = case.problem()
    options = SolverOptions(evaluations=2)
    (solution,) = SOLVERS[solver](project(problem), case.free(problem), options)

    assert not solution.converged and solution.reason == OUT_OF_STEPS
    assert solution.evaluations <= 2
    assert solution.gradient_norm > 1e-6


def test_only_starts_that_may_improve_the_best_have_a_second_round(monkeypatch: pytest.MonkeyPatch):
    case = CASES["8 Bard"]
    problem = case.problem(Objective("huber", log=False, delta=1e-3))
    free = np.repeat(case.free(problem), 4, axis=0)
    rounds = []

    def stuck(projected, free, *_):
        # the second start ends where the first does
        losses = np.array([1.0, 1.0 + 1e-12, 3.0, 2.0])[: len(free)]
        rounds.append(len(free))
        return free, losses, np.zeros(len(free), dtype=bool), np.ones(len(free), dtype=np.int64)

    monkeypatch.setattr(newton_module, "_by_newton", stuck)
    newton(problem, free)

    assert rounds == [4, 3]


@pytest.mark.parametrize("solver", SOLVERS)
def test_starts_do_not_change_where_others_lead(solver: str):
    case = CASES["8 Bard"]
    problem = case.problem()
    starts = case.free(problem) * np.array([[1.0], [1.1], [0.9]])
    together = SOLVERS[solver](project(problem), starts, SolverOptions())
    for start, solution in zip(starts, together, strict=True):
        (alone,) = SOLVERS[solver](project(problem), start[None], SolverOptions())
        if solution.reason != GIVEN_UP:
            assert solution.loss == pytest.approx(alone.loss, rel=1e-2)


def test_the_nist_sets_from_the_nearer_start(shared_data: Path, record_property):
    """Newton's method may end elsewhere; where it says that it has converged, no step leads lower."""
    folder = shared_data / "nist"
    digits: dict[str, list[float]] = {"newton": [], "trust region": []}
    for each in read_problems(folder):
        law = load(LAWS / f"{each['name'].lower()}.law")
        data = read_data(folder, each)
        columns = np.array([data[q.name] for q in law.variables])
        problem = problem_of(law, columns, data[law.output], law.objective)
        values = dict(zip(each["parameters"], each["start2"], strict=True))
        start = np.array([[values[q.name] for q in law.parameters]])
        certified = dict(zip(each["parameters"], each["certified"], strict=True))
        known = np.array([[certified[q.name] for q in law.parameters]])
        least = float(problem.losses_at(known)[0])
        for name, excesses in digits.items():
            with np.errstate(all="ignore"):
                free = to_free(problem.transforms, start)
                form = problem if name == "trust region" else project(problem)
                (solution,) = SOLVERS[name](form, free, SolverOptions())
            excesses.append(solution.loss / least - 1)
            if name == "trust region":
                assert solution.converged, each["name"]
                # Lanczos1 is exact but for rounding
                assert solution.loss <= least * (1 + 1e-9) + problem.exact, each["name"]
    agreed = sum(excess <= 1e-9 for excess in digits["newton"])
    record_property("figure", f"NIST, nearer start: Newton's method alone reaches {agreed} of 15")
    assert agreed >= 14


def test_another_objective_moves_the_minimum_and_a_tight_tolerance_costs_steps():
    case = CASES["8 Bard"]
    problem = case.problem()
    robust = Objective("huber", log=False, delta=1e-3)
    (of_problem,) = newton(project(case.problem(robust)), case.free(problem), SolverOptions())
    (of_options,) = newton(project(problem), case.free(problem), SolverOptions(objective=robust))
    (squares,) = newton(project(problem), case.free(problem), SolverOptions())

    np.testing.assert_array_equal(of_problem.point, of_options.point)
    assert of_problem.loss == of_options.loss != squares.loss
    (loose,) = newton(project(problem), case.free(problem), SolverOptions(tolerance=1e-2))
    assert loose.evaluations < squares.evaluations


def test_fixed_numbers_stay_and_only_newton_can_fix_them():
    case = CASES["8 Bard"]
    problem = case.problem()
    start = case.free(problem)
    fixed = np.array([[False, False, True]])
    (solution,) = newton(project(problem), start, SolverOptions(fixed=fixed))
    assert solution.converged and solution.point[2] == start[0, 2]
    assert solution.loss > case.loss * 1.01 and solution.gradient_norm <= 1e-6
    for solver in (irls, trust_region):
        with pytest.raises(ValueError, match="all unconstrained parameters"):
            solver(project(problem), start, SolverOptions(fixed=fixed))


def test_a_start_without_a_value_has_no_solution():
    law = law_of("variable x > 0\nparameter a, b\nL = a*log(x - b)\nminimize squared(L)")
    x = np.linspace(1, 2, 8)
    problem = problem_of(law, x[None], np.log(x + 1), law.objective)
    start = np.array([[1.0, 1.5]])
    for solver in SOLVERS.values():
        (solution,) = solver(project(problem), start, SolverOptions())
        assert not solution.converged and solution.loss == np.inf
        assert solution.reason == NO_VALUE


def test_gradients_are_computed_where_they_are_asked_for():
    case = CASES["1 Rosenbrock"]
    problem = case.problem()
    for solver in SOLVERS.values():
        (solution,) = solver(project(problem), case.free(problem), SolverOptions(gradient=False))
        assert np.isnan(solution.gradient_norm)
        (solution,) = solver(project(problem), case.free(problem), SolverOptions())
        assert np.isfinite(solution.gradient_norm)


def counted(solver: Solver, calls: list[int]) -> Solver:
    def count(problem: Problem, starts: np.ndarray, options: SolverOptions):
        calls.append(len(starts))
        return solver(problem, starts, options)

    return count


def test_a_search_from_many_starts_takes_its_solvers():
    """Those that it is given are called, and the same ones wrapped give the same bits."""
    case = CASES["15 Kowalik and Osborne"]
    problem = case.problem()
    starts = case.free(problem) * np.linspace(0.6, 1.4, 5)[:, None]
    coarse, fine = list[int](), list[int]()
    solvers = (counted(irls, coarse), counted(newton, fine))
    with np.errstate(all="ignore"):
        usual = descend(problem, starts)
        wrapped = descend(problem, starts, None, solvers)
        by_trust_region = descend(problem, starts, None, (irls, trust_region))
    assert sum(coarse) == 5 and len(fine) == 1
    for one, other in zip(usual, wrapped, strict=True):
        np.testing.assert_array_equal(one.point, other.point)
        assert one.loss == other.loss and one.reason == other.reason
    assert min(s.loss for s in by_trust_region) == pytest.approx(case.loss, rel=1e-9)

    law = law_of(case.text)
    best = optimum(prepare(law), problem, 4, 0, None, solvers)
    assert best.loss == pytest.approx(case.loss, rel=1e-9)
    assert sum(coarse) >= 9
