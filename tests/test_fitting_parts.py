"""Parts of a fit, each by itself: sizes of starts, linear parameters, bounds, and what is told of rows."""

from __future__ import annotations

from fractions import Fraction
from inspect import signature
from typing import Any

import numpy as np
import pytest
from planted import PLANTED, law_of

import lawdsl
from lawdsl.cli.fit import fit as fit_command
from lawdsl.compiling import terms
from lawdsl.compiling.terms import parts_of
from lawdsl.core.recent import Recent
from lawdsl.fitting import fit_single
from lawdsl.fitting.diagnostics.diagnose import ROUNDING_ENDS, move_onto_bounds
from lawdsl.fitting.diagnostics.patterns import find_line_correlation, find_pattern
from lawdsl.fitting.diagnostics.residuals import ResidualView
from lawdsl.fitting.diagnostics.robust_fit import extreme_measurements
from lawdsl.fitting.evaluation import Evaluation
from lawdsl.fitting.fitted_claims import claim_failure_findings
from lawdsl.fitting.intervals.covariance import Covariance
from lawdsl.fitting.preparation.build_problem import (
    problem_of,
    remaining_shares,
)
from lawdsl.fitting.preparation.prepare import prepare
from lawdsl.fitting.preparation.scaled_draws import (
    MAX_EXPONENT_CENTRE,
    MAX_SUM_SPREAD,
    MIN_TERM_SPREAD,
    draw_scaled_to_terms,
)
from lawdsl.fitting.preparation.start_scales import start_plan
from lawdsl.fitting.result_by_label import Fits
from lawdsl.fitting.result_parts import Certificate
from lawdsl.fitting.solvers.multistart import _continued
from lawdsl.fitting.solvers.solver import Solution, SolverOptions
from lawdsl.fitting.solvers.starts import chosen_starts
from lawdsl.fitting.solvers.variable_projection import least_squares_linear
from lawdsl.fitting.storage import fitted_law
from lawdsl.fitting.transforms import to_free, to_parameters
from lawdsl.language.instances.instance import Instance

Columns = dict[str, Any]

LINE = law_of("variable x > 0\nparameter a, b\nL = a*x + b\nminimize squared(L)")


# ---- values that a search begins with


def drawn(text: str, columns: np.ndarray, draws: int = 2000) -> dict[str, np.ndarray] | None:
    """Values of the parameters in the sizes of a law's terms."""
    law = law_of(text)
    rng = np.random.default_rng(0)
    ones = np.ones((draws, len(law.parameters)))
    settings = [q.value for q in law.settings if q.value is not None]
    values = draw_scaled_to_terms(start_plan(law), columns, settings, ones, rng)
    if values is None:
        return None
    return {q.name: column for q, column in zip(law.parameters, values.T, strict=True)}


X = np.linspace(3, 7, 40)


def test_the_middle_of_an_exponent_is_of_order_1_whatever_the_data():
    found = drawn("variable x\nparameter a, b\nL = exp(a + b*x)", 1000 + X[None])
    assert found is not None
    middle = found["a"] + found["b"] * (1000 + np.mean(X))
    assert np.all(np.abs(middle) <= MAX_EXPONENT_CENTRE)
    assert (
        np.min(middle) < -0.9 * MAX_EXPONENT_CENTRE and np.max(middle) > 0.9 * MAX_EXPONENT_CENTRE
    )


def test_a_width_that_counts_squared_begins_above_0():
    found = drawn("variable x\nparameter d, w\nL = exp(-(x - d)^2/w^2)", X[None])
    assert found is not None
    assert np.all(found["w"] > 0) and np.all((found["d"] > 3) & (found["d"] < 7))


def test_a_sum_of_functions_has_the_same_size_however_many_there_are():
    """The logarithm of its spread is uniform, up to a chi of as many degrees as there are functions,
    which is 1 in the mean square."""
    names = [f"c{k}" for k in range(1, 6)]
    exponent = " + ".join(f"{c}*x^{k}" for k, c in enumerate(names, start=1))
    found = drawn(f"variable x\nparameter {', '.join(names)}\nL = exp({exponent})", X[None], 4000)
    assert found is not None
    total = sum(found[c][:, None] * X**k for k, c in enumerate(names, start=1))
    expected = (MAX_SUM_SPREAD**2 - MIN_TERM_SPREAD**2) / (
        2 * np.log(MAX_SUM_SPREAD / MIN_TERM_SPREAD)
    )
    assert np.mean(np.var(total, axis=1)) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("formula", ["x + a", "a + b/x", "a*x^b"])
def test_a_formula_without_places_and_functions_says_nothing_of_sizes(formula: str):
    parameters = "".join(f"\nparameter {name}" for name in "ab" if name in formula)
    assert drawn(f"variable x > 0{parameters}\nL = {formula}", X[None]) is None


# ---- linear parameters


def test_linear_parameters_with_a_bound_on_each_other_are_solved_for():
    law = law_of(
        "variable x > 0\nparameter a > 0\nparameter b > 2*a\nL = a*x + b\nminimize squared(L)"
    )
    problem = problem_of(law, X[None], 1.5 * X + 4, law.objective)
    free = chosen_starts(prepare(law), problem, 1, seed=0)
    np.testing.assert_allclose(to_parameters(problem.transforms, free), [[1.5, 4]], rtol=1e-9)


def test_a_start_at_which_squares_overflow_spoils_no_other_and_can_be_left():
    law = law_of("variable x > 0\nparameter E, A\nparameter k\nL = E + A*x^k\nminimize squared(L)")
    problem = problem_of(law, 100 + X[None], 2 + 3 * (100 + X), law.objective)
    theta = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 100.0]])
    with np.errstate(all="ignore"):
        found, _ = least_squares_linear(problem, Evaluation(problem, theta, 1), theta)
    np.testing.assert_allclose(found, [[2, 3, 1], [0, 0, 100]], rtol=1e-6)


def test_the_logarithm_of_a_product_of_exponentials_is_solved_by_least_squares():
    law = law_of("variable x > 0\nparameter a, b\nL = exp(a + b*x)\nminimize squared(L)")
    y = np.exp(0.3 - 0.2 * X + 0.01 * np.sin(17 * X))
    logs = prepare(law).of_logarithms(problem_of(law, X[None], y, law.objective))
    assert logs is not None and logs.objective.log
    slope, middle = np.polyfit(X, np.log(y), 1)
    free = chosen_starts(prepare(law), logs, 1, seed=0)
    np.testing.assert_allclose(to_parameters(logs.transforms, free), [[middle, slope]], rtol=1e-9)


def test_a_factor_that_stands_in_an_exponent_is_solved_for():
    """L = c + exp(a)*exp(b*x) is linear in c and exp(a), whatever b is."""
    law = law_of("variable x > 0\nparameter c, a, b\nL = c + exp(a + b*x)\nminimize squared(L)")
    problem = problem_of(law, X[None], 2 + np.exp(1.5 - 0.4 * X), law.objective)
    form = prepare(law).with_solved_factors(problem)
    assert form is not None and [law.parameters[i].name for i in form.linear] == ["c", "a"]
    here = to_free(problem.transforms, np.array([[2.0, 1.5, -0.4]]))
    assert form.losses(here) == pytest.approx(problem.losses(here), abs=1e-20)
    moved = np.array([[0.0, 0.0, -0.4]])
    with np.errstate(all="ignore"):
        found, _ = least_squares_linear(form, Evaluation(form, moved, 1), moved)
    np.testing.assert_allclose(found, [[2, np.exp(1.5), -0.4]], rtol=1e-9)


def test_a_search_that_ran_out_of_steps_goes_on_to_the_minimum():
    law = law_of("variable x > 0\nparameter a, b\nL = a*exp(b*x)\nminimize squared(L)")
    problem = problem_of(law, X[None], 2 * np.exp(-0.5 * X), law.objective)
    there = np.array([1.0, -0.1])
    stopped = Solution(there, float(problem.losses(there[None])[0]), False, "out of steps")
    found = _continued(problem, stopped, SolverOptions())
    assert found.converged and found.loss < 1e-12 * stopped.loss


def test_a_share_that_the_others_leave_nothing_of_is_0_to_the_last_digit():
    """0.2 + 0.7 + 0.1 is 1 - 1.1e-16 in floats, whose power of 0.1 is 0.025."""
    labels = ("a", "b", "c", "d")
    instance = Instance({"validation": ("v",), "training": labels}, {"i": "v"}, left_out={"r": "d"})
    law = lawdsl.load("mixing.powers").at_labels(instance)
    assert remaining_shares(law) == {"r[d]": ["r[a]", "r[b]", "r[c]"]}

    shares = np.array([[0.2], [0.7], [0.1]])
    problem = problem_of(law, shares, np.ones(1), law.objective)
    values = {"E": 1.0, "w": 0.5, "C": 2.0, "gamma": 0.1}
    theta = np.array([[values[q.name.partition("[")[0]] for q in law.parameters]])
    expected = 1 + 1 / (0.5 + 2 * np.sum(shares**0.1))
    assert problem.predictions(theta)[0] == pytest.approx([expected], rel=1e-12)


# ---- bounds


def test_a_parameter_stays_above_a_bound_that_is_a_formula_in_exact_arithmetic():
    law = law_of(
        "variable x > 0\nparameter a, k > 0\nparameter C > a*k*k/3\nL = C/x + a*k\nminimize squared(L)"
    )
    problem = problem_of(law, X[None], X, law.objective)
    rng = np.random.default_rng(0)
    free = np.column_stack([rng.uniform(-3, 3, (300, 2)), np.full(300, -200.0)])
    for row in to_parameters(problem.transforms, free).tolist():
        a, k, C = map(Fraction, row)
        assert C > a * k * k / 3


@pytest.mark.parametrize(
    ("domain", "wanted", "free", "end"),
    [
        ("a > 0", -0.1, -25.0, -ROUNDING_ENDS),
        ("a in (0, 1)", -0.1, -25.0, -ROUNDING_ENDS),
        ("a in (0, 1)", 1.1, 25.0, ROUNDING_ENDS),
    ],
)
def test_a_parameter_that_the_data_take_to_a_bound_ends_where_rounding_does(
    domain: str, wanted: float, free: float, end: float
):
    law = law_of(f"variable x > 0\nparameter {domain}\nL = a + x\nminimize squared(L)")
    problem = problem_of(law, X[None], X + wanted, law.objective)
    there = np.array([free])
    found = move_onto_bounds(problem, there, float(problem.losses(there[None])[0]))
    assert found.tolist() == [end]


# ---- residuals


def view_of(residual: np.ndarray, *axes: np.ndarray) -> ResidualView:
    """Residuals of a law that is one constant."""
    rows = len(residual)
    basis = np.full((rows, 1), rows**-0.5)
    names = (*"xyz"[: len(axes)], "the predicted L")
    return ResidualView(
        names, np.vstack([*axes, np.zeros(rows)]), residual, basis, np.arange(rows), False
    )


def test_residuals_that_differ_between_two_levels_are_a_pattern():
    level = np.arange(40.0) % 2
    found = find_pattern(view_of(level + 0.1 * np.sin(7 * np.arange(40)), level))
    assert found is not None and found.axes == (0,) and found.columns.shape[1] == 1


def test_rows_of_a_run_that_are_off_alike_to_the_last_digit_go_together():
    x, y = np.divmod(np.arange(400.0), 4)
    found = find_line_correlation(view_of(np.where(x % 2 == 0, 1.0, -1.0), x, y), (1,))
    assert found is not None
    assert found.correlation == pytest.approx(1) and found.inflation == pytest.approx(4)


def test_rows_without_any_residual_do_not_go_together():
    x, y = np.divmod(np.arange(400.0), 4)
    assert find_line_correlation(view_of(np.zeros(400), x, y), (1,)) is None


def jagged(count: int) -> np.ndarray:
    """Two up, two down: no polynomial of low degree."""
    return np.where(np.arange(count) % 4 < 2, 1.0, -1.0)


def diagnostics_by_code(law: lawdsl.Law, table: Columns) -> dict[str, lawdsl.Diagnostic]:
    return {d.code: d for d in lawdsl.fit(law, table, claims=False).diagnostics}


def test_what_all_runs_have_in_common_is_the_laws_lack_and_no_runs_own():
    law = law_of(
        "variable N > 0 unit param\nvariable D > 0 unit token\nparameter a, b, c\n"
        "L = a + b*log(N) + c*log(D)\nminimize squared(L)"
    )
    N, D = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, 8), np.geomspace(1e9, 1e12, 16)))
    noise = 0.003 * np.random.default_rng(0).normal(size=128)
    L = 4 - 0.1 * np.log(N) - 0.05 * np.log(D) + np.repeat(0.01 * jagged(16), 8) + noise
    found = diagnostics_by_code(law, {"N": N, "D": D, "L": L})
    assert set(found) == {"F0116"} and "D" in found["F0116"].message


def test_neighbours_in_the_only_variable_are_called_so():
    rng = np.random.default_rng(0)
    noise = np.repeat(rng.normal(size=60), 2) + 0.3 * rng.normal(size=120)
    x = np.linspace(1, 5, 120)
    found = diagnostics_by_code(LINE, {"x": x, "L": 2 * x + noise})["F0119"]
    assert found.message.startswith("the residuals of neighbours in x are correlated")
    assert found.notes[0].endswith("the law lacks something in x")


def test_more_rows_than_are_listed_are_counted():
    x = np.linspace(1, 5, 100)
    noise = 0.01 * np.random.default_rng(0).normal(size=100)
    off = np.arange(100) % 3 == 0
    found = diagnostics_by_code(LINE, {"x": x, "L": 2 * x + off + noise})["F0115"]
    assert "34 of 100 rows" in found.message
    assert found.notes == ("rows 1, 4, 7, 10, 13 and 29 more",)


def test_a_value_is_far_from_the_others_by_the_range_of_all_of_them():
    """Of -0.5 to 0.5 one of 5.2 is 4.7 off, which is less than 5 times the range; 5.7 is more."""
    rest = np.linspace(-0.5, 0.5, 11)
    for sign in (1, -1):
        assert not extreme_measurements(sign * np.append(rest, 5.2)).any()
        assert extreme_measurements(sign * np.append(rest, 5.7)).tolist() == [False] * 11 + [True]


def test_a_symmetry_of_the_law_is_no_reason_to_doubt_the_rows(monkeypatch: pytest.MonkeyPatch):
    """No robust fit is made, which would take a second search."""
    searched: list[object] = []
    monkeypatch.setattr(
        fit_single, "influential_row_findings", lambda *given: searched.append(given) or []
    )
    law = law_of("variable x > 0\nparameter a, b > 0\nL = a*b*x\nminimize squared(L)")
    assert set(diagnostics_by_code(law, {"x": X, "L": 2 * X + 0.01 * np.sin(17 * X)})) == {"F0114"}
    assert searched == []


def test_in_an_exact_direction_every_parameter_is_named_however_little_it_moves():
    """y is x and a thousandth of z: a can take the place of b and a thousandth of c."""
    law = law_of("variable x, y, z\nparameter a, b, c\nL = a*x + b*y + c*z\nminimize squared(L)")
    x, z = np.cos(X), np.sin(17 * X)
    table = {"x": x, "y": x + z / 1000, "z": z, "L": x + z + 0.01 * np.cos(29 * X)}
    message = diagnostics_by_code(law, table)["F0101"].message
    assert all(f" {name}" in f" {message}" for name in ("a", "b", "c")), message


# ---- records


@pytest.mark.parametrize(
    ("witness", "end"),
    [((), "values: 1 - 2"), ((("N", "1"), ("D", "2")), "at N = 1, D = 2: 1 - 2")],
)
def test_a_claim_fails_at_a_place_where_it_has_one(witness: tuple[tuple[str, str], ...], end: str):
    law = law_of("variable x > 0\nparameter a, b > 0\nL = a*x + b\nrequire L > 0")
    (found,) = claim_failure_findings(
        law, [Certificate("L > 0", "refuted", True, None, witness, "1 - 2")]
    )
    assert found.message.endswith(end)


def test_a_spread_is_equal_to_one_of_the_same_numbers_and_to_nothing_else():
    def spread() -> Covariance:
        return Covariance(("a",), np.eye(1), np.zeros((0, 1)), np.ones(1), 3.0)

    assert spread() == spread() and (spread() == 3) is False and spread() != None  # noqa: E711


def test_fits_show_their_parts_and_not_all_that_there_is_to_say():
    warning = lawdsl.Diagnostic("D0135", "some are interpolated", "warning")
    shown = repr(Fits(fitted_law(LINE), {}, (), {"x": "col"}, (warning,)))
    assert "parts=()" in shown and "col" in shown and "interpolated" not in shown


def test_the_command_and_the_function_have_the_same_defaults():
    options = {p.name: p.default for p in fit_command.params}
    given = {n: p.default for n, p in signature(lawdsl.fit).parameters.items() if n in options}
    for name in ("resamples", "level", "seed"):
        assert given[name] == options[name]


def test_a_fit_compiles_each_form_of_its_law_once(monkeypatch: pytest.MonkeyPatch):
    compiled = []

    def recorded(expression: Any, *given: Any) -> Any:
        compiled.append(expression)
        return parts_of(expression, *given)

    monkeypatch.setattr(terms, "parts_of", recorded)
    monkeypatch.setattr(
        "lawdsl.fitting.preparation.prepare._prepared", Recent(1)
    )  # nothing is kept from other tests
    table = PLANTED["chinchilla"].table()
    lawdsl.fit("chinchilla", table, starts=4, claims=False)  # predicts where no row is, too
    assert compiled and len(compiled) == len(set(compiled))
