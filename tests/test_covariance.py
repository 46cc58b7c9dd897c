"""The covariance of a fit, and the functions of the parameters that they are carried to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted import PLANTED, grid, law_of
from scipy.stats import t as student

import lawdsl
from lawdsl.fitting.intervals.covariance import Covariance, unit_noise_covariance
from lawdsl.fitting.intervals.m_estimator import noise_of
from lawdsl.fitting.intervals.prediction_errors import predict_with_errors, problem_at
from lawdsl.fitting.options import METHODS
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.problem import Problem

LINE = law_of("variable x\nparameter a, b\nL = a*x + b\nminimize squared(L)")


def line(rows: int, seed: int = 0, **more: Any) -> dict[str, Any]:
    x = np.linspace(0, 1, rows)
    return {"x": x, "L": 1 + 2 * x + np.random.default_rng(seed).normal(0, 0.3, rows), **more}


def posed(fit: lawdsl.Fit, table: dict[str, Any]) -> tuple[Problem, np.ndarray]:
    """The problem of a fit, and its parameters."""
    law = fit.read_law()
    columns = np.array([table[q.name] for q in law.variables], dtype=float)
    problem = problem_of(law, columns, np.asarray(table[law.output]), law.objective)
    return problem, np.array([fit.values[q.name] for q in law.parameters])


def test_slopes_too_small_to_divide_by_leave_a_parameter_undetermined():
    slopes = np.column_stack([np.ones(4), np.arange(4.0), np.full(4, 1e-320)])
    errors = unit_noise_covariance(("a", "b", "c"), slopes).errors(np.eye(3))

    assert np.isfinite(errors).tolist() == [True, True, False]
    assert errors[1] == pytest.approx(1 / np.sqrt(5))


def spread_of(fit: Any) -> Covariance:
    assert fit.spread is not None
    return fit.spread


# ---- the algebra


@pytest.mark.parametrize("name", ["chinchilla", "kaplan", "dcpt.l3", "cmr.domain", "dcpt.share"])
def test_errors_of_predictions_are_those_of_the_influence_of_each_row(name: str):
    """Once more by the pseudoinverse of the slopes, and by the module that knows only predictions."""
    table = PLANTED[name].table(0.003, 7)
    fit = lawdsl.fit(name, table, starts=4, claims=False)
    problem, theta = posed(fit, table)
    ahead = 0.5 * problem.columns + 0.5 * problem.columns[:, ::-1]
    (residual,), (slopes,) = problem.slopes(theta[None])
    gradient = problem_at(problem, ahead).slopes(theta[None])[1][0]
    size = np.linalg.norm(slopes, axis=0)
    influence = gradient / size @ np.linalg.pinv(slopes / size, rcond=1e-12)
    tau2 = noise_of(problem, residual, len(theta)).tau2
    errors = spread_of(fit).errors(gradient)
    known = predict_with_errors(problem, theta, ahead)

    assert spread_of(fit).unseen.shape == (0, len(theta))
    assert errors == pytest.approx(np.sqrt(tau2) * np.linalg.norm(influence, axis=1), rel=1e-8)
    values = known.values if known.log else 1.0
    assert errors * values == pytest.approx(known.errors(tau2), rel=1e-8)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("run", [(), "run"], ids=["rows", "runs"])
def test_single_parameters_have_the_errors_of_the_delta_method(method: str, run: Any):
    runs = np.repeat(np.arange(12), 3)
    table = {**PLANTED["chinchilla"].table(0.003, 7), "run": runs}
    plain = lawdsl.fit("chinchilla", table, starts=2, run=run)
    fit = lawdsl.fit("chinchilla", table, starts=2, run=run, intervals=method, resamples=100)
    found = spread_of(fit)

    assert found.names == tuple(fit.parameters)
    assert found == plain.spread
    errors = dict(zip(found.names, found.errors(np.eye(5)), strict=True))
    assert errors == pytest.approx(plain.intervals.errors, rel=1e-6)
    assert found.dof == (31 if run == () else 11)


def test_the_covariance_of_a_line_is_that_of_textbooks():
    table = line(20)
    found = spread_of(lawdsl.fit(LINE, table))
    design = np.vander(table["x"], 2)
    _, (squares,), *_ = np.linalg.lstsq(design, table["L"])

    assert found.covariance == pytest.approx(squares / 18 * np.linalg.inv(design.T @ design))
    assert found.dof == 18 and found.quantile(0.9) == pytest.approx(student.ppf(0.95, 18))


def test_by_run_it_is_that_of_the_jackknife():
    rng = np.random.default_rng(4)
    runs = np.repeat(np.arange(8), 5)
    x = rng.uniform(0, 2, 8)[runs] + 0.1 * rng.normal(size=40)
    L = 1 + 3 * x + rng.normal(0, 0.2, 8)[runs] + 0.05 * rng.normal(size=40)
    fit = lawdsl.fit(LINE, {"x": x, "L": L, "run": runs}, run="run")
    left = np.array([np.polyfit(x[runs != k], L[runs != k], 1) for k in range(8)])
    off = left - [fit.values["a"], fit.values["b"]]

    assert spread_of(fit).covariance == pytest.approx(7 / 8 * off.T @ off, rel=1e-5)
    assert spread_of(fit).dof == 7


def test_rows_that_are_alike_within_a_run_do_not_narrow_a_prediction():
    runs = np.repeat(np.arange(36), 10)
    columns = {k: np.repeat(v, 10) for k, v in PLANTED["chinchilla"].columns.items()}
    rng = np.random.default_rng(3)
    off = rng.normal(0, 0.004, 36)[runs] + rng.normal(0, 1e-5, 360)  # alike, but no copies
    true = PLANTED["chinchilla"].formula(**columns, **PLANTED["chinchilla"].parameters)
    table = {**columns, "L": true * np.exp(off), "run": runs}
    by_row, by_run = (lawdsl.fit("chinchilla", table, starts=2, run=r) for r in ("none", "run"))
    gradient = posed(by_row, table)[0].slopes(posed(by_row, table)[1][None])[1][0]

    assert np.all(spread_of(by_run).errors(gradient) > 1.5 * spread_of(by_row).errors(gradient))


def test_what_two_sizes_leave_open_has_no_error():
    """A and alpha are open, the loss at both sizes is not; of a third nothing is known."""
    table = PLANTED["chinchilla"].table(0.003, 1)
    sizes = np.unique(table["N"])[[1, 4]]
    two = {name: column[np.isin(table["N"], sizes)] for name, column in table.items()}
    fit = lawdsl.fit("chinchilla", two)
    problem, theta = posed(fit, two)
    third = problem_at(problem, np.array([[*sizes, np.sqrt(np.prod(sizes))], [3e10] * 3]))
    errors = spread_of(fit).errors(third.slopes(theta[None])[1][0])

    assert len(spread_of(fit).unseen) == 1
    assert np.all(errors[:2] < 0.01) and errors[2] == np.inf
    assert np.isinf(spread_of(fit).errors(np.eye(5)[:3])).all()
    assert np.isfinite(spread_of(fit).errors(np.eye(5)[3:])).all()


def test_what_one_run_alone_determines_has_no_error():
    columns = grid(x=np.linspace(0, 1, 8), z=[0.0, 0.0, 0.0, 0.0, 1.0])
    law = law_of("variable x, z\nparameter a, b, s\nL = a*x + b + s*z\nminimize squared(L)")
    noise = np.random.default_rng(0).normal(0, 0.1, 40)
    runs = np.where(columns["z"] == 1, 0, 1 + np.arange(40) % 7)
    table = {**columns, "L": columns["x"] + columns["z"] + noise, "run": runs}
    found = spread_of(lawdsl.fit(law, table, run="run"))

    assert np.isinf(found.errors(np.eye(3))).tolist() == [False, False, True]
    assert np.isinf(found.errors(np.array([[0.5, 1.0, 0.0], [0.5, 1.0, 1.0]]))).tolist() == [
        False,
        True,
    ]


def test_a_parameter_on_its_bound_counts_as_free():
    law = law_of("variable x > 0\nparameter a > 0\nparameter b\nL = a*x + b\nminimize squared(L)")
    x = np.linspace(1, 5, 30)
    table = {"x": x, "L": 9 - 0.001 * x + np.random.default_rng(0).normal(0, 0.01, 30)}
    fit = lawdsl.fit(law, table, starts=2, intervals="delta")
    errors = spread_of(fit).errors(np.array([[5.0, 1.0], [0.0, 1.0]]))

    assert fit.parameters["a"].at_bound == "lower"
    assert errors[1] > fit.intervals.errors["b"] * 1.5
    assert np.isfinite(errors).all()


def test_a_function_that_no_parameter_moves_has_no_error_and_one_without_slope_any():
    found = spread_of(lawdsl.fit(LINE, line(20)))

    assert found.errors(np.array([[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])).tolist() == [
        0,
        np.inf,
        np.inf,
    ]


def test_draws_have_the_quantiles_of_intervals():
    found = spread_of(lawdsl.fit(LINE, line(7)))
    functions = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 1.0], [1.0, 1.0]])
    drawn = found.draws(40_000, 3) @ functions.T
    within = np.abs(drawn) <= found.quantile(0.9) * found.errors(functions)

    assert np.mean(within, axis=0) == pytest.approx(0.9, abs=0.006)
    assert np.array_equal(found.draws(5, 3), found.draws(5, 3))
    assert not np.any(found.draws(5, 3) == found.draws(5, 4))


# ---- which fits have one


def test_without_a_spare_row_or_with_one_run_alone_there_is_none():
    assert lawdsl.fit(LINE, line(2)).spread is None
    assert lawdsl.fit(LINE, line(12, run=["only"] * 12), run="run").spread is None


def test_too_few_rows_for_a_bootstrap_are_enough_for_a_spread():
    fit = lawdsl.fit(LINE, line(4), intervals="bootstrap")

    assert fit.intervals.ends == {} and spread_of(fit).dof == 2


# ---- files


def test_it_is_kept_in_the_file_to_the_last_digit(tmp_path: Path):
    fit = lawdsl.fit("chinchilla", PLANTED["chinchilla"].table(0.003, 7), starts=2)
    fit.save(tmp_path / "fit.json")
    again = lawdsl.Fit.load(tmp_path / "fit.json")

    assert again == fit and again.spread == fit.spread
    assert list(json.loads((tmp_path / "fit.json").read_text())["spread"]) == [
        *("names", "factor", "unseen", "scale", "dof"),
    ]
    assert replace(spread_of(fit), dof=3.0) != fit.spread


def test_a_file_without_it_is_read(tmp_path: Path):
    fit = lawdsl.fit(LINE, line(20))
    content = fit.to_json()
    del content["spread"]
    (tmp_path / "fit.json").write_text(json.dumps(content))

    assert lawdsl.Fit.load(tmp_path / "fit.json") == replace(fit, spread=None)


BROKEN = {
    "no matrix": {"factor": 3},
    "a ragged matrix": {"factor": [[1.0, 2.0], [1.0]]},
    "a matrix of other width": {"factor": [[1.0], [1.0]]},
    "words": {"unseen": [["1", "2"]]},
    "truth values": {"scale": [True, True]},
    "nothing": {"scale": None},
    "null": {"scale": [1.0, None]},
    "no scale": {"scale": [1.0, 0.0]},
    "no degrees of freedom": {"dof": 0},
    "endless": {"dof": 10**400},
    "no names": {"names": None},
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_one_is_refused(broken: str, tmp_path: Path):
    content = lawdsl.fit(LINE, line(20)).to_json()
    content["spread"] |= BROKEN[broken]
    (tmp_path / "fit.json").write_text(json.dumps(content))
    with pytest.raises(lawdsl.LawdslError, match="cannot be read"):
        lawdsl.Fit.load(tmp_path / "fit.json")


def test_one_of_other_parameters_is_noticed(tmp_path: Path):
    content = lawdsl.fit(LINE, line(20)).to_json()
    content["spread"]["names"] = ["a", "c"]
    (tmp_path / "fit.json").write_text(json.dumps(content))
    with pytest.raises(lawdsl.LawdslError, match="has been altered"):
        lawdsl.Fit.load(tmp_path / "fit.json").predict({"x": [0.5]})
