"""Variables that vary little beside their size: the Jacobian is nearly singular, and what rounding
makes of it must not count as certainty.

The referee is least squares in the centred variable, which has no such trouble.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lawdsl
from lawdsl.fitting.intervals.covariance import column_norms, decompose_jacobian

ROWS = 12
LINE = "law line\nvariable x\nparameter a, b\ny = a + b*x\nminimize squared(y)\n"
PARABOLA = "law bent\nvariable x\nparameter a, b, c\ny = a + b*x + c*x^2\nminimize squared(y)\n"


def law(text: str, folder: Path) -> lawdsl.Law:
    path = folder / "own.law"
    path.write_text(text)
    return lawdsl.load(str(path))


def table(offset: float, bend: float = 0.0) -> dict[str, np.ndarray]:
    t = np.arange(float(ROWS))
    noise = np.random.default_rng(3).normal(0, 0.1, ROWS)
    return {"x": offset + t, "y": 1 + 0.3 * t + bend * t**2 + noise}


def referee(columns: dict[str, np.ndarray], offset: float, degree: int) -> tuple:
    """Estimates and standard errors of the coefficients of powers of x."""
    t, y = columns["x"] - offset, columns["y"]
    powers = np.vander(t, degree + 1, increasing=True)
    values, (squares,), _, _ = np.linalg.lstsq(powers, y, rcond=None)
    covariance = squares / (ROWS - degree - 1) * np.linalg.inv(powers.T @ powers)
    back = np.array([[1, -offset, offset**2], [0, 1, -2 * offset], [0, 0, 1]])
    back = back[: degree + 1, : degree + 1]
    return back @ values, np.sqrt(np.diag(back @ covariance @ back.T))


@pytest.mark.parametrize("method", ["delta", "profile"])
@pytest.mark.parametrize(
    ("text", "offset"), [(LINE, 1e3), (LINE, 1e8), (LINE, 1e9), (LINE, 1e11), (PARABOLA, 1e5)]
)
def test_errors_do_not_depend_on_where_a_variable_is_counted_from(
    text: str, offset: float, method: str, tmp_path: Path
):
    degree = 2 if text == PARABOLA else 1
    columns = table(offset, 0.05 * (degree - 1))
    values, errors = referee(columns, offset, degree)
    fit = lawdsl.fit(law(text, tmp_path), columns, intervals=method)
    for name, value, error in zip("abc", values, errors, strict=False):
        assert abs(fit.values[name] - value) < 0.01 * error
        assert fit.intervals.errors[name] == pytest.approx(error, rel=0.01)
        low, high = fit.intervals.ends[name]
        half = fit.spread.quantile(0.95) * error
        assert (low, high) == pytest.approx((value - half, value + half), abs=0.02 * half)


def test_the_jackknife_by_run_does_not_depend_on_it_either(tmp_path: Path):
    line = law(LINE, tmp_path)
    runs = np.repeat(np.arange(4.0), 3)
    near, far = (
        lawdsl.fit(line, {**table(offset), "run": runs}, run="run") for offset in (0.0, 1e8)
    )
    assert far.intervals.errors["b"] == pytest.approx(near.intervals.errors["b"], rel=1e-3)


@pytest.mark.parametrize("method", ["delta", "profile", "bootstrap"])
@pytest.mark.parametrize(
    "offset", [1e8, *(pytest.param(x, marks=pytest.mark.slow) for x in (1e4, 1e12, 1e13))]
)
def test_no_method_is_certain_where_rounding_hides_what_the_rows_say(
    method: str, offset: float, tmp_path: Path
):
    columns = table(offset)
    _, (_, error) = referee(columns, offset, 1)
    fit = lawdsl.fit(law(LINE, tmp_path), columns, intervals=method, resamples=200)
    ends = fit.intervals.ends.get("b")
    if ends is None:
        assert fit.verdict != "trusted"
        assert {d.code for d in fit.diagnostics} & {"F0101", "F0122"}
    else:
        assert ends[1] - ends[0] > 2 * error


def test_a_direction_that_rounding_hides_has_no_variance():
    root = np.vander(np.arange(6.0), 3)
    root = np.column_stack([root, root[:, 1] * (1 + 1e-15)])
    seen = decompose_jacobian(root / column_norms(root))
    assert seen.rank == 3
    assert seen.hidden.tolist() == [False, True, False, True]


def test_lengths_do_not_overflow():
    assert column_norms(np.array([[3e200, 0.0], [4e200, 0.0]])).tolist() == pytest.approx(
        [5e200, 0.0]
    )


@pytest.mark.parametrize("method", ["delta", "profile", "bootstrap"])
def test_intervals_have_ends_in_whatever_unit_the_table_is(method: str, tmp_path: Path):
    line, columns = law(LINE, tmp_path), table(0.0)
    huge = {name: values * 1e150 for name, values in columns.items()}
    small, large = (
        lawdsl.fit(line, own, intervals=method, resamples=100) for own in (columns, huge)
    )
    near = small.intervals.ends["a"]
    assert large.intervals.ends["a"] == pytest.approx([1e150 * x for x in near], rel=1e-3)
