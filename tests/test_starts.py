"""Where a fit begins: what the engine chooses, what a file declares, what a caller gives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from planted import PLANTED, law_of, sample_of
from quick import some

import lawdsl
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.preparation.prepare import prepare
from lawdsl.fitting.preparation.symbolic_linearity import linear_parameters
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.starts import chosen_starts, declared_starts, given_start
from lawdsl.fitting.transforms import to_parameters

LINEAR = {
    "chinchilla": "E A B",
    "kaplan": "",
    "cmr.domain": "alpha1 beta1",
    "cmr.general": "alpha2 alpha3 beta2",
    "cmr.general_apart": "alpha2 alpha3 beta2",
    "cmr.domain_by_ratio": "alpha1 beta1",
    "cmr.general_by_ratio": "alpha2 alpha3 beta2",
    "cmr.ratio": "alpha4 beta3",
    "cmr.share": "alpha beta",
    "dcpt.share": "E C",
    "dcpt.forgetting": "E A",
    "dcpt.forgetting_base": "a",
    "dcpt.cross_k1": "E A B C F",
    "dcpt.cross_k2": "E A B C F",
    "dcpt.cross_k3": "E A B C F",
    "dcpt.cross_k4": "E A B C F",
    "dcpt.l1": "E A B C",
    "dcpt.l2": "E A",
    "dcpt.l3": "E A B C",
    "dcpt.l4": "E A B C",
    "dcpt.l5": "E A B",
    "mixing.additive": "E A B",
    "mixing.bimix": "B C",
    "mixing.critical": "c k",
    "mixing.explicit": "c k",
    "mixing.implicit": "c k",
    "mixing.joint": "E",
    "mixing.m1": "c k",
    "mixing.m2": "c k",
    "mixing.m3": "c k",
    "mixing.m4": "c k",
    "mixing.powers": "E",
    "mixing.size": "E A",
    "mixing.step": "E B",
    "mixing.two_domain": "c k",
    "repeated": "E",
}

COUPLED = """
variable x > 0
parameter a > 0
parameter k in (0, 2)
let       C0 = a*k
parameter C > C0
parameter f
L = C/x^k + a + f
"""


def posed(law: lawdsl.Law, seed: int = 0) -> Problem:
    x = np.random.default_rng(seed).uniform(1, 5, (len(law.variables), 20))
    return problem_of(law, x, np.sum(x, axis=0) + 1, law.objective)


def points(law: lawdsl.Law, free: np.ndarray) -> list[dict[str, float]]:
    theta = to_parameters(posed(law).transforms, free)
    names = [q.name for q in law.parameters]
    return [dict(zip(names, map(float, row), strict=True)) for row in theta]


def declared(lines: str) -> list[dict[str, float]]:
    law = law_of(COUPLED + lines)
    free, outside = declared_starts(prepare(law), posed(law))
    assert outside == 0
    return points(law, free)


@pytest.mark.parametrize("name", PLANTED)
def test_linear_parameters_are_found(name: str):
    law = sample_of(name)
    linear = {law.parameters[i].name for i in linear_parameters(law)}
    names = LINEAR[name].split()  # of those with subscripts, all elements

    assert linear == {q.name for q in law.parameters if q.name.partition("[")[0] in names}


def test_of_two_factors_one_is_linear():
    law = law_of("variable x > 0\nparameter a, b > 0\nL = a*b*x")

    assert [law.parameters[i].name for i in linear_parameters(law)] == ["a"]


@pytest.mark.parametrize("name", some(sorted(PLANTED), 12))
def test_chosen_starts_lie_in_the_domain_and_cost_something_finite(name: str):
    law, table = sample_of(name), PLANTED[name].table(0.003)
    columns = np.array([table[q.name] for q in law.variables])
    problem = problem_of(law, columns, table[law.output], law.objective)
    free = chosen_starts(prepare(law), problem, 10, seed=0)

    assert free.shape == (10, len(law.parameters))
    assert np.all(np.isfinite(problem.losses(free)))
    assert len(np.unique(free, axis=0)) == 10


def test_a_seed_gives_the_same_starts_and_another_gives_others():
    law = lawdsl.load("chinchilla")
    problem = posed(law)
    first, again, other = (chosen_starts(prepare(law), problem, 6, seed=s) for s in (1, 1, 2))

    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_linear_parameters_of_a_start_solve_the_rest_of_it():
    """With the exponent given, E and A of clean data come out exactly, so a start may be the fit."""
    law = law_of("variable x > 0\nparameter E, A > 0\nL = E + A/x\nminimize squared(L)")
    x = np.linspace(1, 4, 9)
    problem = problem_of(law, x[None], 2 + 3 / x, law.objective)
    free = chosen_starts(prepare(law), problem, 1, seed=0)

    np.testing.assert_allclose(to_parameters(problem.transforms, free), [[2, 3]], rtol=1e-9)


def test_a_linear_parameter_is_not_solved_beyond_its_bound():
    law = law_of("variable x > 0\nparameter E, A > 0\nL = E + A/x\nminimize squared(L)")
    x = np.linspace(1, 4, 9)
    problem = problem_of(law, x[None], 2 - 1 / x, law.objective)
    theta = to_parameters(problem.transforms, chosen_starts(prepare(law), problem, 4, seed=0))

    assert np.all(theta > 0) and np.all(theta[:, 1] < 1e-6)


def test_a_grid_is_every_combination_in_its_order():
    starts = declared("start a, f in {1, 2}\nstart k in {0.5}\nstart log(C) in {1, 2}")

    assert [(p["a"], p["f"], round(math.log(p["C"]), 9)) for p in starts] == [
        (pytest.approx(a), pytest.approx(f), c) for a in (1, 2) for f in (1, 2) for c in (1, 2)
    ]


def test_dots_go_on_in_equal_steps():
    starts = declared("start f in {-1, -0.5, ..., 1}\nstart C in {50}")

    assert [p["f"] for p in starts] == pytest.approx([-1, -0.5, 0, 0.5, 1])


def test_a_logarithm_of_a_distance_starts_from_the_bound_as_it_is_there():
    starts = declared("start a in {1, 4}\nstart k in {0.5}\nstart log(C - C0) in {0, 1}")

    expected = [a * 0.5 + math.exp(u) for a in (1, 4) for u in (0, 1)]
    assert [p["C"] for p in starts] == pytest.approx(expected)


def test_points_come_before_grids_and_unnamed_parameters_get_a_value_in_their_domain():
    starts = declared("start a = 1, C = 7\nstart a = 2, C = 9\nstart f in {5}\nstart C in {8}")

    assert [(p["C"], p["f"]) for p in starts] == [
        (pytest.approx(7), 1.0),
        (pytest.approx(9), 1.0),
        (pytest.approx(8), 5.0),
    ]
    assert all(0 < p["k"] < 2 and p["a"] > 0 for p in starts)


def test_declared_starts_outside_the_domain_are_counted():
    law = law_of(COUPLED + "start a in {1, 100}\nstart k in {0.5}\nstart C in {3, 60}")
    free, outside = declared_starts(prepare(law), posed(law))

    assert (len(free), outside) == (3, 1)  # C = 3 is not above C0 = a/2 = 50


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "declares no starts"),
        ("start a in {100}\nstart C in {3, 4}", "none of the 2 declared starts lies in the domain"),
    ],
)
def test_a_law_without_usable_starts_says_so(lines: str, message: str):
    law = law_of(COUPLED + lines)
    with pytest.raises(lawdsl.LawdslError, match=message) as error:
        declared_starts(prepare(law), posed(law))
    assert error.value.diagnostics[0].code == "F0106"
    assert error.value.diagnostics[0].help


def test_a_given_start_is_where_the_search_begins():
    law = law_of(COUPLED)
    (point,) = points(
        law, given_start(prepare(law), posed(law), {"a": 2, "k": 0.25, "C": 3, "f": -4})
    )

    assert point == pytest.approx({"a": 2, "k": 0.25, "C": 3, "f": -4})


@pytest.mark.parametrize(
    ("start", "message", "help"),
    [
        ({"q": 1}, "no parameter `q`", "a, k, C, f"),
        ({"a": -1}, "outside the law's domain", "C > C0"),
        ({"a": 0}, "outside the law's domain", "a > 0"),
        ({"k": 2}, "outside the law's domain", "k < 2"),
        ({"a": 4, "k": 1, "C": 3}, "outside the law's domain", "C > C0"),
        ({"a": math.nan}, "`a` is not a finite number", "domain"),
        ({"f": math.inf}, "`f` is not a finite number", "domain"),
    ],
)
def test_a_given_start_that_is_none_is_refused(start: dict[str, float], message: str, help: str):
    law = law_of(COUPLED)
    with pytest.raises(lawdsl.LawdslError, match=message) as error:
        given_start(prepare(law), posed(law), start)
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "F0106" and help in (diagnostic.help or "")


def test_the_grid_of_the_dcpt_law_is_the_papers():
    """The 5,145 of the paper's starts that lie inside the domains; none is lost to C > C0."""
    law, table = lawdsl.load("dcpt.l3"), PLANTED["dcpt.l3"].table()
    columns = np.array([table[q.name] for q in law.variables])
    free, outside = declared_starts(
        prepare(law), problem_of(law, columns, table["L"], law.objective)
    )

    assert (free.shape, outside) == ((5145, 9), 0)
