"""Exact copies of rows are no measurements: they narrow no interval."""

from __future__ import annotations

import numpy as np
import pytest

import lawdsl
from lawdsl.fitting.diagnostics.residuals import distinct_rows, weight_copies_as_one
from lawdsl.fitting.preparation.build_problem import problem_of

TEXT = (
    "law size\nvariable N > 0\nparameter E, A, alpha > 0\nL = E + A/N^alpha\nminimize squared(L)\n"
)
N = 10.0 * 2 ** np.arange(8)
L = 2 + 3 * N**-0.4 + np.random.default_rng(5).normal(0, 0.005, 8)


@pytest.fixture(name="law")
def the_law(tmp_path) -> lawdsl.Law:
    path = tmp_path / "size.law"
    path.write_text(TEXT)
    return lawdsl.load(str(path))


@pytest.mark.parametrize("method", ["delta", "profile"])
@pytest.mark.parametrize("rows", [4, 8])
def test_copies_of_the_whole_table_leave_the_intervals_as_they_are(
    law: lawdsl.Law, rows: int, method: str
):
    once = lawdsl.fit(law, {"N": N[:rows], "L": L[:rows]}, intervals=method)
    many = lawdsl.fit(law, {"N": np.tile(N[:rows], 6), "L": np.tile(L[:rows], 6)}, intervals=method)
    for name, ends in once.intervals.ends.items():
        assert many.intervals.ends[name] == pytest.approx(ends, rel=1e-3)
        assert many.intervals.errors[name] == pytest.approx(once.intervals.errors[name], rel=1e-3)
    assert many.spread.dof == once.spread.dof


def test_where_copies_leave_no_row_to_spare_there_are_no_intervals(law: lawdsl.Law):
    fit = lawdsl.fit(law, {"N": np.tile(N[:3], 6), "L": np.tile(L[:3], 6)})
    assert fit.intervals.ends == {} and fit.spread is None and fit.verdict != "trusted"
    assert "F0122" in {d.code for d in fit.diagnostics}


def test_copies_of_some_rows_make_no_interval_narrower(law: lawdsl.Law):
    once = lawdsl.fit(law, {"N": N, "L": L})
    rows = np.r_[np.arange(8), 0, 0, 7, 7]
    some = lawdsl.fit(law, {"N": N[rows], "L": L[rows]})
    for name, error in once.intervals.errors.items():
        assert some.intervals.errors[name] > 0.95 * error


def test_weights_are_still_numbers_of_rows(law: lawdsl.Law):
    weights = np.arange(1.0, 9.0)
    problem = problem_of(law, N[None], L, law.objective, weights)
    assert weight_copies_as_one(problem).weights == pytest.approx(weights)


def test_rows_that_differ_in_one_column_alone_are_no_copies(law: lawdsl.Law):
    # sorted by what was measured: a copy in single precision, then other rows with an equal loss
    sizes = np.array([10.0, 20.0, 20.0 * (1 + 1e-9), 30.0, 30.0, 40.0])
    losses = np.array([2.0, 2.1, 2.1, 2.1, 2.1, 2.2])
    problem = problem_of(law, sizes[None], losses, law.objective)
    assert distinct_rows(problem).tolist() == [0, 1, 3, 5]
