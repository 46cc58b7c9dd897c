"""A compiled law on a table: values, exact gradients and Hessians, whatever the table repeats."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import sympy as sp
from planted import CPT
from test_tape import SMOOTH, SYMBOLS, exact, points, x, y, z

from lawdsl.compiling.arrays import evaluate
from lawdsl.compiling.model import Model
from lawdsl.compiling.tape import compile_tape
from lawdsl.compiling.terms import parts_of
from lawdsl.law.law import load

NO_ROWS = np.zeros((0, 1))
LAWS = ["chinchilla", "dcpt.l1", "dcpt.l2", "dcpt.l3", "dcpt.l4", "dcpt.l5", "kaplan"]


def alone(e: sp.Expr) -> Model:
    """A formula of which every symbol is a parameter."""
    return Model(parts_of(e, (), SYMBOLS), NO_ROWS)


@pytest.mark.parametrize("e", SMOOTH)
def test_derivatives_are_those_of_mpmath_and_of_differences(e: sp.Expr):
    rows, model = points(), alone(e)
    value, slopes, bend = model.curvature(rows)
    hessian = bend(np.ones((len(rows), 1)))

    # exp, log and powers are right to a few units in the last place, not the same on every CPU
    np.testing.assert_allclose(model.slopes(rows)[1], slopes, rtol=1e-13, atol=1e-14)
    assert value[:, 0] == pytest.approx([exact(e, row) for row in rows], rel=1e-13, abs=1e-14)
    for i, symbol in enumerate(SYMBOLS):
        derived = sp.diff(e, symbol)
        expected = [exact(derived, row) for row in rows]
        assert slopes[:, i, 0] == pytest.approx(expected, rel=1e-12, abs=1e-14)
        step = np.zeros(3)
        step[i] = 1e-6
        ahead, behind = (model.slopes(rows + s)[1][:, :, 0] for s in (step, -step))
        assert hessian[:, i] == pytest.approx((ahead - behind) / 2e-6, rel=1e-5, abs=1e-6)


def gradient(e: sp.Expr, *at: float) -> tuple[float, list[float]]:
    value, slopes = alone(e).slopes(np.array([at]))
    return float(value[0, 0]), slopes[0, :, 0].tolist()


def test_a_share_of_0_has_a_value_and_derivatives():
    """r^eta at r = 0: its logarithm is -oo, its derivative by eta 0 all the same."""
    assert gradient(z * x**y, 0.0, 1.5, 2.0) == (0.0, [0.0, 0.0, 0.0])
    assert gradient(z * x**y, 0.0, 1.0, 2.0) == (0.0, [2.0, 0.0, 0.0])
    value, slopes = gradient(z * x**y, 0.0, 0.5, 2.0)
    assert (value, slopes[0]) == (0.0, np.inf)


def test_a_power_of_0_is_constant():
    assert gradient(x**y, 0.0, 0.0, 1.0)[1][1] == 0.0
    assert gradient((x - 1) ** y, 1.0, 0.0, 1.0)[1][1] == 0.0


def test_a_product_with_a_factor_0_has_its_derivative():
    assert gradient(x * y * z, 0.0, 2.0, 3.0) == (0.0, [6.0, 0.0, 0.0])
    assert gradient(x * y * z, 0.0, 0.0, 3.0) == (0.0, [0.0, 0.0, 0.0])


def test_ties_share_the_derivative():
    assert gradient(sp.Max(x, y), 2.0, 2.0, 0.0) == (2.0, [0.5, 0.5, 0.0])
    assert gradient(sp.Max(x, y), 2.0, 1.0, 0.0) == (2.0, [1.0, 0.0, 0.0])
    assert gradient(sp.Abs(x), 0.0, 0.0, 0.0) == (0.0, [0.0, 0.0, 0.0])


def test_a_constant_has_a_gradient_of_0():
    assert gradient(sp.pi, 1.0, 1.0, 1.0) == (float(mpmath.pi), [0.0, 0.0, 0.0])


def posed(name: str, columns: np.ndarray) -> tuple[Model, np.ndarray]:
    """A shipped law on a table, and eight parameter vectors."""
    law = load(name)
    law = law.with_settings(D_min=0.1) if law.settings else law
    expression = law.expression
    parameters = [q.symbol for q in law.parameters]
    parts = parts_of(expression, [q.symbol for q in law.variables], parameters)
    theta = np.random.default_rng(5).uniform(1.1, 1.9, (8, len(parameters)))
    return Model(parts, columns[: len(law.variables)]), theta


GRID = np.array([CPT["N"], CPT["D"], CPT["r"]])
SCATTERED = np.random.default_rng(1).uniform(0.2, 0.9, (3, 50))


@pytest.mark.parametrize("columns", [GRID, SCATTERED], ids=["a grid", "no value twice"])
@pytest.mark.parametrize("name", LAWS)
def test_a_table_of_distinct_values_changes_nothing(name: str, columns: np.ndarray):
    """The same as the formula evaluated row by row, and its derivatives as differences."""
    model, theta = posed(name, columns)
    law = load(name)
    symbols = [q.symbol for q in (*law.variables, *law.parameters)]
    tape = compile_tape([law.expression], symbols)
    inputs = [*columns[: len(law.variables)], *(p[:, None] for p in theta.T)]
    value, slopes, bend = model.curvature(theta)
    factors = np.random.default_rng(2).normal(size=value.shape)
    hessian = bend(factors)

    np.testing.assert_allclose(model.value(theta), evaluate(tape, inputs)[0], rtol=1e-13)
    np.testing.assert_allclose(value, model.value(theta), rtol=1e-13)
    for k in range(theta.shape[1]):
        step = np.zeros(theta.shape[1])
        step[k] = 1e-6
        (v1, s1), (v0, s0) = model.slopes(theta + step), model.slopes(theta - step)
        np.testing.assert_allclose(slopes[:, k], (v1 - v0) / 2e-6, rtol=1e-5, atol=1e-7)
        differences = np.einsum("spn,sn->sp", (s1 - s0) / 2e-6, factors)
        np.testing.assert_allclose(hessian[:, k], differences, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("columns", [GRID, SCATTERED], ids=["a grid", "no value twice"])
def test_pieces_of_a_table_make_up_the_whole(columns: np.ndarray):
    model, theta = posed("dcpt.l3", columns)
    value, slopes, bend = model.curvature(theta)
    factors = np.random.default_rng(2).normal(size=value.shape)
    total = np.zeros_like(bend(factors))
    for piece in (slice(0, 17), slice(17, 40), slice(40, None)):
        part, by, second = model.curvature(theta, piece)
        # fewer rows may go through other kernels
        np.testing.assert_allclose(part, value[:, piece], rtol=1e-13)
        np.testing.assert_allclose(by, slopes[:, :, piece], rtol=1e-13, atol=1e-14)
        total += second(factors[:, piece])

    np.testing.assert_allclose(total, bend(factors), rtol=1e-12, atol=1e-12)


def test_powers_are_taken_of_distinct_values_only():
    """The work of a law on a grid is that of its 4 sizes, 5 token counts and 9 shares."""
    model, _ = posed("dcpt.l3", GRID)
    steps = model.program(0).steps
    widths = [model.table.size(step.support) for step in steps if step.apply is np.power]

    assert sorted(widths) == [4, 5, 9, 9]
