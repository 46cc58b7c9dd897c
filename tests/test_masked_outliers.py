"""Rows that the fit follows, that hide each other, or whose columns were exchanged, are named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from planted import law_of
from quick import some, without

import lawdsl
from lawdsl.core.diagnostics import Diagnostic
from lawdsl.fitting.diagnostics.swapped_columns import _grid_levels, find_exchanged_rows
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.preparation.prepare import prepare
from lawdsl.fitting.refit import refit

Columns = dict[str, Any]
# rows are judged without intervals and claims
CHEAP: dict[str, Any] = {"claims": False, "rolled_check": False, "intervals": "delta"}

LINE = law_of("variable x > 0\nparameter a, b\nL = a*x + b\nminimize squared(L)")
POWER = law_of("variable x > 0\nparameter E, A, alpha > 0\nL = E + A/x^alpha\nminimize squared(L)")
SHARE = law_of(
    "variable r in [0, 1]\nparameter E, C, gamma, epsilon > 0\n"
    "L = E + C/(r + epsilon)^gamma\nminimize squared(L)"
)
TWO = law_of(
    "variable N, D > 0\nparameter E, A, alpha, B, beta > 0\nL = E + A/N^alpha + B/D^beta\n"
    "minimize huber(log(L), 0.001)"
)
DCPT = "dcpt.l1"


def errors(seed: int, rows: int, size: float) -> np.ndarray:
    return np.exp(np.random.default_rng(seed).normal(0, size, rows))


def diagnostics_by_code(law: Any, table: Columns) -> dict[str, Diagnostic]:
    fit = lawdsl.fit(law, table, **CHEAP)
    assert (fit.verdict == "trusted") == (not fit.diagnostics)
    return {d.code: d for d in fit.diagnostics}


def grid(seed: int = 0) -> Columns:
    N, D, r = (
        axis.ravel()
        for axis in np.meshgrid([0.3, 0.9, 2.5], [1.0, 5, 25], [0.05, 0.2, 0.5, 0.8], indexing="ij")
    )
    L = 1.4 + 0.5 / N**0.45 + 0.4 / D**0.5 + 0.25 / (r + 0.15) ** 0.6
    return {"N": N, "D": D, "r": r, "L": L * errors(seed, 36, 0.003)}


def scattered(seed: int = 0, rows: int = 60) -> Columns:
    rng = np.random.default_rng(seed)
    N = np.exp(rng.uniform(np.log(5e7), np.log(8e9), rows))
    D = np.exp(rng.uniform(np.log(1e10), np.log(3e11), rows))
    L = 1.69 + 406.4 / N**0.34 + 410.7 / D**0.28
    return {"N": N, "D": D, "L": L * np.exp(rng.normal(0, 0.003, rows))}


def with_exchanged(table: Columns, rows: list[int], one: str = "N", other: str = "D") -> Columns:
    """A table with two columns of some rows exchanged."""
    table = {name: values.copy() for name, values in table.items()}
    table[one][rows], table[other][rows] = table[other][rows], table[one][rows]
    return table


# ---- leverage


@pytest.mark.parametrize("shift", [0.1, -0.05])
@pytest.mark.parametrize("rows", [[0], [0, 1], [18, 19]])
def test_rows_at_an_end_that_the_curve_follows(rows: list[int], shift: float):
    x = np.geomspace(1, 100, 20)
    y = (2 + 1 / x**0.5) * errors(0, 20, 0.002)
    y[rows] *= 1 + shift

    found = diagnostics_by_code(POWER, {"x": x, "L": y})["F0115"]

    assert all(f"row {row + 1} by" in found.message for row in rows)


def test_a_third_of_the_rows_that_lean_the_line():
    x = np.linspace(1, 5, 40)
    y = 2 + 0.5 * x + np.random.default_rng(0).normal(0, 0.05, 40)
    y[:12] += np.linspace(2, 1, 12)

    assert (
        "12 rows lie far from the law"
        in diagnostics_by_code(LINE, {"x": x, "L": y})["F0115"].message
    )


# ---- one value that no fit survives


@pytest.mark.parametrize(
    ("row", "value"), some([(4, 30.0), (1, 30.0), (9, 30.0), (5, 0.02), (3, 1e6)], 2)
)
def test_a_loss_that_spoils_a_fit_of_squares_is_named(row: int, value: float):
    r = np.linspace(0.1, 1, 10)
    L = (2.3 + 0.15 / (r + 0.1) ** 0.74) * errors(2, 10, 0.001)
    L[row] = value

    assert f"row {row + 1} by" in diagnostics_by_code(SHARE, {"r": r, "L": L})["F0115"].message


def test_a_loss_at_an_end_that_the_curve_can_follow_is_not_trusted():
    r = np.linspace(0.1, 1, 10)
    L = (2.3 + 0.15 / (r + 0.1) ** 0.74) * errors(2, 10, 0.001)
    L[0] = 30.0

    assert diagnostics_by_code(SHARE, {"r": r, "L": L}) != {}


@pytest.mark.parametrize("goal", ["squared(raw)", "huber(log)"])
@pytest.mark.parametrize(
    ("rows", "row", "value"),
    some([(6, 0, 30.0), (6, 3, 30.0), (7, 5, 300.0), (5, 4, 2500.0), (6, 2, 25)], 3),
)
def test_a_far_value_among_too_few_rows_to_judge_it_is_named(
    rows: int, row: int, value: float, goal: str
):
    x = np.geomspace(1, 100, rows)
    L = (2 + 1 / x**0.5) * errors(3, rows, 0.001)
    L[row] = value

    fit = lawdsl.fit(POWER, {"x": x, "L": L}, objective=goal, **CHEAP)

    (told,) = [d.message for d in fit.diagnostics if d.code == "F0115"]
    assert f"row {row + 1} with {value:g} lies far from all others" in told
    assert fit.verdict != "trusted"


@pytest.mark.parametrize("rows", [5, 6, 7])
def test_a_far_value_is_no_surprise_where_its_row_is_as_far(rows: int):
    law = law_of("variable x > 0\nparameter A, k > 0\nL = A*exp(k*x)\nminimize squared(L)")
    x = np.append(np.linspace(1, 2, rows - 1), 30.0)
    L = 0.1 * np.exp(0.4 * x) + np.random.default_rng(0).normal(0, 1e-3, rows)

    assert "F0115" not in diagnostics_by_code(law, {"x": x, "L": L})
    clean = (2 + 1 / np.geomspace(1, 100, rows) ** 0.5) * errors(3, rows, 0.001)
    assert "F0115" not in diagnostics_by_code(POWER, {"x": np.geomspace(1, 100, rows), "L": clean})


def test_a_steep_law_has_far_values_that_are_right():
    law = law_of("variable x > 0\nparameter A, k > 0\nL = A*exp(k*x)\nminimize squared(L)")
    x = np.append(np.linspace(1, 2, 12), 30.0)
    L = 0.1 * np.exp(0.4 * x) + np.random.default_rng(0).normal(0, 1e-3, 13)

    assert "F0115" not in diagnostics_by_code(law, {"x": x, "L": L})


# ---- exchanged columns


@pytest.mark.parametrize("rows", [[15], [15, 18, 26], [3, 10], [20, 21]])
def test_exchanged_columns_of_a_grid(rows: list[int]):
    law = lawdsl.load(DCPT)
    exchangeable = with_exchanged(grid(), rows)

    found = diagnostics_by_code(law, exchangeable)["F0115"]

    assert "columns N and D exchanged" in found.message
    assert ", ".join(str(row + 1) for row in rows) in found.message


def test_exchanged_rows_beyond_those_listed_are_counted():
    table = scattered(1, rows=200)
    rows = [int(row) for row in np.flatnonzero((table["N"] < 1e9) & (table["D"] > 2e10))[:7]]

    fit = lawdsl.fit(TWO, with_exchanged(table, rows), **CHEAP)

    listed = ", ".join(str(row + 1) for row in rows[:5])
    expected = f"rows {listed} and 2 more probably have columns N and D exchanged"
    assert expected in [d.message for d in fit.diagnostics]


def test_a_grid_is_the_values_that_many_rows_have():
    assert list(_grid_levels(np.array([1.0] * 6 + [2.0] * 5 + [3.0]))) == [1.0, 2.0]
    assert not len(_grid_levels(np.arange(12.0)))


@pytest.mark.parametrize("seed", range(3))
def test_exchanged_columns_of_scattered_runs(seed: int):
    table = scattered(seed)
    rows = [int(row) for row in np.flatnonzero((table["N"] < 1e9) & (table["D"] > 2e10))[:2]]

    found = diagnostics_by_code(TWO, with_exchanged(table, rows))["F0115"]

    assert "columns N and D exchanged" in found.message


def test_a_grid_with_values_in_common_is_no_exchange():
    N, D = (axis.ravel() for axis in np.meshgrid([1.0, 2, 4, 8, 16], [4.0, 8, 16, 32, 64]))
    table = {"N": np.append(N, 32.0), "D": np.append(D, 2.0)}
    exact = 1.69 + 2 / table["N"] ** 0.34 + 3 / table["D"] ** 0.28

    assert diagnostics_by_code(TWO, {**table, "L": exact * errors(0, 26, 0.003)}) == {}


def test_a_planned_run_outside_the_ranges_of_a_few_noisy_ones_is_no_exchange():
    """Of a few rows chance alone takes a third of the sum of squares away in one table of ten."""
    law = law_of(
        "variable N, D > 0\nparameter a, b, c\nL = a + b*log(N) + c*log(D)\nminimize squared(L)"
    )
    named = 0
    for seed in range(100):
        draw = np.random.default_rng(seed)
        N = np.append(np.exp(draw.uniform(0, np.log(10), 7)), 60.0)
        D = np.append(np.exp(draw.uniform(np.log(20), np.log(200), 7)), 4.0)
        table = np.array([N, D]), 3 + draw.normal(0, 0.03, 8)
        problem = problem_of(law, *table, law.objective)
        theta, _ = refit(problem, np.array([3.0, 0.0, 0.0]))
        named += len(find_exchanged_rows(prepare(law), problem, theta))

    assert named == 0


@pytest.mark.parametrize("seed", without(range(4), [2, 3]))
def test_a_clean_table_has_no_suspects(seed: int):
    assert "F0115" not in diagnostics_by_code(lawdsl.load(DCPT), grid(seed))
    assert diagnostics_by_code(TWO, scattered(seed)) == {}
