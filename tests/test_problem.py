"""The numbers that a fit is made of: values to the last digit, exact derivatives, losses."""

from __future__ import annotations

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from catalogue_values import NOT_SIMULATED, VALUES
from planted import PLANTED, law_of, sample_of
from quick import some, without

import lawdsl
from lawdsl.fitting import problem as problems
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.problem import Problem, rho, rho_slope
from lawdsl.fitting.transforms import to_free, to_parameters
from lawdsl.language.library import shipped
from lawdsl.language.resolver import Objective

OBJECTIVES = [
    Objective("huber", True, 1e-3),
    Objective("huber", False, 0.05),
    Objective("squared", True),
    Objective("squared", False),
]


def posed(name: str, objective: Objective | None = None) -> Problem:
    """The fit of a shipped law to its planted table, with noise: no residual is 0."""
    law, table = sample_of(name), PLANTED[name].table(0.01, seed=1)
    columns = np.array([table[q.name] for q in law.variables])
    return problem_of(law, columns, table[law.output], objective or law.objective)


def planted(name: str) -> np.ndarray:
    """The planted parameters in the order of the law, shape (1, parameters)."""
    law = sample_of(name)
    return np.array([[PLANTED[name].parameters[q.name] for q in law.parameters]])


def test_every_shipped_law_with_parameters_has_a_planted_table():
    """Those of the literature are simulated at the values of catalogue_values, but for index sets."""
    fitted = {name for name in shipped() if lawdsl.load(name).parameters}
    unplanted = fitted - {*PLANTED, *VALUES}
    assert {*PLANTED, *VALUES} <= set(shipped())
    assert all(lawdsl.load(name).indexed for name in unplanted - {*NOT_SIMULATED})


@pytest.mark.parametrize("name", some(sorted(PLANTED), 16))
def test_predictions_equal_the_formula_at_50_digits(name: str):
    p = PLANTED[name]
    computed = posed(name).predictions(planted(name))[0]
    with mpmath.workdps(50):
        numbers = {k: mpmath.mpf(v) for k, v in p.parameters.items()}
        for i in range(0, len(computed), 7):
            row = {k: mpmath.mpf(float(column[i])) for k, column in p.columns.items()}
            assert computed[i] == pytest.approx(float(p.formula(**row, **numbers)), rel=1e-13)


@pytest.mark.parametrize("name", without(PLANTED, ["repeated"]))
def test_the_jacobian_equals_central_differences_at_random_points(name: str):
    law, problem = sample_of(name), posed(name)
    rng = np.random.default_rng(3)
    for _ in range(3):
        free = to_free(problem.transforms, planted(name))
        free = free + 0.3 * rng.normal(size=free.shape)
        residual, slopes = problem.residuals_and_slopes(free)
        if not np.all(np.isfinite(residual)):
            problem = replace(problem, objective=Objective("squared", False))
            residual, slopes = problem.residuals_and_slopes(free)
        np.testing.assert_allclose(residual, problem.residuals(free), rtol=1e-12, atol=1e-14)
        assert np.all(np.isfinite(slopes))
        for j, q in enumerate(law.parameters):
            step = np.zeros_like(free)
            step[0, j] = 1e-4
            difference = problem.residuals(free + step) - problem.residuals(free - step)
            expected = difference[0] / 2e-4
            scale = np.max(np.abs(expected)) + 1e-12
            np.testing.assert_allclose(
                slopes[0, :, j] / scale, expected / scale, atol=1e-5, err_msg=q.name
            )


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda o: o.name)
@pytest.mark.parametrize("name", ["chinchilla", "dcpt.l3", "cmr.share"])
def test_the_gradient_equals_central_differences_of_the_loss(name: str, objective: Objective):
    problem = posed(name, objective)
    free = to_free(problem.transforms, planted(name))[0] + 0.01
    loss, gradient = problem.loss_and_gradient(free)

    assert loss == pytest.approx(problem.losses(free[None])[0], rel=1e-13)
    for j in range(len(free)):
        step = np.zeros_like(free)
        step[j] = 1e-6
        ahead, behind = problem.losses(np.stack([free + step, free - step]))
        size = np.max(np.abs(gradient))
        assert gradient[j] / size == pytest.approx((ahead - behind) / 2e-6 / size, abs=1e-4)


def test_the_slopes_of_dcpt_are_finite_at_share_0():
    """r^eta has the derivative r^eta*log(r) by eta: its limit at r = 0 is 0."""
    problem = posed("dcpt.l3")
    at_zero = problem.columns[2] == 0
    _, slopes = problem.residuals_and_slopes(to_free(problem.transforms, planted("dcpt.l3")))
    by_eta = [t.name for t in problem.transforms].index("eta")

    assert at_zero.any()
    assert np.all(np.isfinite(slopes))
    _, by_parameters = problem.slopes(planted("dcpt.l3"))
    assert np.all(by_parameters[0, at_zero, by_eta] == 0)
    assert np.all(by_parameters[0, ~at_zero & (problem.columns[2] < 1), by_eta] < 0)


def test_a_coupled_parameter_moves_with_those_in_its_bound():
    """At fixed distance from C0, a larger B carries C along: the slope by B has both parts."""
    problem = posed("dcpt.l3")
    free = to_free(problem.transforms, planted("dcpt.l3"))
    names = [t.name for t in problem.transforms]
    moved = free.copy()
    moved[0, names.index("B")] += 0.1
    before, after = (to_parameters(problem.transforms, u)[0] for u in (free, moved))

    assert after[names.index("C")] > before[names.index("C")]


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_a_table_derived_in_pieces_gives_the_same(rows: int, monkeypatch: pytest.MonkeyPatch):
    problem = posed("chinchilla")
    free = to_free(problem.transforms, planted("chinchilla"))
    whole = problem.residuals_and_slopes(free)
    monkeypatch.setattr(problems, "MAX_ARRAY_NUMBERS", rows)
    pieces = problem.residuals_and_slopes(free)

    for a, b in zip(whole, pieces, strict=True):
        # other shapes go through other kernels of BLAS, which add up in another order
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda o: o.name)
def test_the_loss_has_its_slope_and_is_smooth_at_delta(objective: Objective):
    delta = objective.delta
    r = np.array([0.0, delta / 3, -delta / 3, delta, -delta, 3 * delta, -7 * delta])
    step = 1e-7 * delta
    difference = (rho(r + step, objective) - rho(r - step, objective)) / (2 * step)

    np.testing.assert_allclose(rho_slope(r, objective), difference, rtol=1e-5, atol=1e-9 * delta)
    np.testing.assert_array_equal(rho(r, objective), rho(-r, objective))


def test_huber_is_half_a_square_near_0_and_a_line_further_out():
    objective = Objective("huber", True, 0.5)

    np.testing.assert_allclose(rho(np.array([0.2, 0.5, 2.0]), objective), [0.02, 0.125, 0.875])


def test_a_point_where_the_law_has_no_value_costs_infinitely_much():
    law = law_of("variable x > 0\nparameter a\nL = a*x")
    problem = problem_of(law, np.array([[1.0, 2.0]]), np.array([1.0, 2.0]), law.objective)

    np.testing.assert_array_equal(
        problem.losses(np.array([[1.0], [-1.0], [np.nan]])), [0, *[np.inf] * 2]
    )


def test_a_law_without_variables_predicts_one_value_for_every_row():
    law = law_of("parameter E > 0\nL = E")
    problem = problem_of(law, np.zeros((0, 3)), np.array([1.0, 2.0, 3.0]), law.objective)
    residual, slopes = problem.residuals_and_slopes(np.log([[2.0]]))

    np.testing.assert_allclose(problem.predictions(np.array([[2.0]])), [[2.0, 2.0, 2.0]])
    assert residual.shape == (1, 3) and slopes.shape == (1, 3, 1)


def test_settings_are_constants_of_the_problem():
    law = law_of("setting k = 3\nvariable x > 0\nparameter a\nL = a*x + k")
    data = (np.array([[1.0, 2.0]]), np.array([1.0, 2.0]), law.objective)
    theta = np.array([[2.0]])

    np.testing.assert_allclose(problem_of(law, *data).predictions(theta), [[5.0, 7.0]])
    changed = law.with_settings(k=-0.25)
    np.testing.assert_allclose(problem_of(changed, *data).predictions(theta), [[1.75, 3.75]])
