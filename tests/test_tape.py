"""Tapes on arrays: values against mpmath, exact derivatives against mpmath and differences."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import sympy as sp

from lawdsl.compiling.arrays import DERIVATIVES, VALUES, evaluate, evaluate_with_gradient
from lawdsl.compiling.tape import OPERATIONS, compile_tape
from lawdsl.diagnostics import LawdslError

x, y, z = sp.symbols("x y z", real=True)
SYMBOLS = (x, y, z)

SMOOTH = [
    x + 2 * y - z / 3,
    x * y * z - x**2,
    (x + y) ** z,
    x**y + y**x,
    sp.exp(-x * y) + sp.log(x + z),
    sp.log(x) / sp.log(10),
    sp.sqrt(x + y * z),
    sp.sin(x) * sp.cos(y) + sp.tan(z / 4),
    sp.atan(x * y) + sp.tanh(z - x),
    sp.Abs(x - 5) + sp.Max(x, y + 4, z) + sp.Min(x, 7),
    (y / x**z + z / (x + y) ** x) ** sp.Rational(3, 2),
    sp.pi * x + sp.exp(1) * y + sp.sqrt(2) * z,
    x ** sp.Rational(1, 3) / (1 + y**2),
]


def points(seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.2, 3, size=(12, 3))


def exact(e: sp.Expr, row: np.ndarray) -> float:
    with mpmath.workdps(40):
        return float(sp.lambdify(SYMBOLS, e, "mpmath")(*map(mpmath.mpf, map(float, row))))


@pytest.mark.parametrize("e", SMOOTH)
def test_values_are_those_of_mpmath(e: sp.Expr):
    rows = points()
    found = evaluate(compile_tape([e], SYMBOLS), list(rows.T))[0]

    assert found == pytest.approx([exact(e, row) for row in rows], rel=1e-14, abs=1e-15)


@pytest.mark.parametrize("e", SMOOTH)
def test_derivatives_are_those_of_mpmath_and_of_differences(e: sp.Expr):
    rows, tape = points(), compile_tape([e], SYMBOLS)
    value, slopes = evaluate_with_gradient(tape, list(rows.T), range(3))

    assert value == pytest.approx(evaluate(tape, list(rows.T))[0], rel=0, abs=0)
    for i, symbol in enumerate(SYMBOLS):
        derived = sp.diff(e, symbol)
        assert slopes[:, i] == pytest.approx(
            [exact(derived, row) for row in rows], rel=1e-12, abs=1e-14
        )
        step = np.zeros(3)
        step[i] = 1e-6
        ahead, behind = (evaluate(tape, list((rows + s).T))[0] for s in (step, -step))
        assert slopes[:, i] == pytest.approx((ahead - behind) / 2e-6, rel=1e-6, abs=1e-7)


def gradient(e: sp.Expr, *at: float) -> tuple[float, list[float]]:
    value, slopes = evaluate_with_gradient(compile_tape([e], SYMBOLS), list(at), range(3))
    return float(value), slopes.tolist()


def test_a_share_of_0_has_a_value_and_derivatives():
    """r^eta at r = 0: its logarithm is -oo, its derivative by eta 0 all the same."""
    assert gradient(z * x**y, 0.0, 1.5, 2.0) == (0.0, [0.0, 0.0, 0.0])
    assert gradient(z * x**y, 0.0, 1.0, 2.0) == (0.0, [2.0, 0.0, 0.0])
    value, slopes = gradient(z * x**y, 0.0, 0.5, 2.0)
    assert (value, slopes[0]) == (0.0, np.inf)


def test_a_power_of_0_is_constant():
    assert gradient(x**y, 0.0, 0.0, 1.0)[1][0] == 0.0
    assert gradient((x - 1) ** y, 1.0, 0.0, 1.0)[1][0] == 0.0


def test_a_product_with_a_factor_0_has_its_derivative():
    assert gradient(x * y * z, 0.0, 2.0, 3.0) == (0.0, [6.0, 0.0, 0.0])
    assert gradient(x * y * z, 0.0, 0.0, 3.0) == (0.0, [0.0, 0.0, 0.0])


def test_ties_share_the_derivative():
    assert gradient(sp.Max(x, y), 2.0, 2.0, 0.0) == (2.0, [0.5, 0.5, 0.0])
    assert gradient(sp.Min(x, y, z), 2.0, 2.0, 2.0)[1] == pytest.approx([1 / 3] * 3)
    assert gradient(sp.Max(x, y), 2.0, 1.0, 0.0) == (2.0, [1.0, 0.0, 0.0])
    assert gradient(sp.Abs(x), 0.0, 0.0, 0.0) == (0.0, [0.0, 0.0, 0.0])


def test_outside_a_domain_is_nan_or_infinite_and_says_nothing():
    tape = compile_tape([sp.log(x), x**sp.S.Half, 1 / x], SYMBOLS)
    log, root, inverse = evaluate(tape, [np.array([-1.0, 0.0]), 1.0, 1.0])

    assert np.isnan(log[0]) and log[1] == -np.inf
    assert np.isnan(root[0]) and root[1] == 0
    assert inverse[1] == np.inf


def test_shapes_broadcast():
    tape = compile_tape([x * y + 1], SYMBOLS)
    rows, starts = np.arange(4.0), np.arange(3.0)[:, None]
    value, slopes = evaluate_with_gradient(tape, [rows, starts, 1.0], [0, 1])

    assert value.shape == (3, 4)
    assert slopes.shape == (3, 4, 2)
    assert np.array_equal(slopes[..., 0], np.broadcast_to(starts, (3, 4)))
    assert np.array_equal(slopes[..., 1], np.broadcast_to(rows, (3, 4)))


def test_a_constant_has_a_gradient_of_0():
    value, slopes = evaluate_with_gradient(compile_tape([sp.pi], SYMBOLS), [np.ones(2), 1, 1], [0])

    assert value == pytest.approx([np.pi, np.pi])
    assert slopes.tolist() == [[0.0], [0.0]]


def test_equal_parts_are_computed_once():
    tape = compile_tape([sp.exp(x * y) + sp.log(x * y + 2) * (x * y)], SYMBOLS)

    assert [step.op for step in tape.instructions].count("input") == 2
    assert [step.op for step in tape.instructions].count("multiply") == 2


def test_what_has_no_real_value_is_refused():
    for strange in (sp.zoo, sp.I * x, sp.DiracDelta(x), sp.Symbol("elsewhere")):
        with pytest.raises(LawdslError) as caught:
            compile_tape([strange + x], SYMBOLS)
        assert caught.value.diagnostics[0].code == "L0501"


def test_every_operation_can_be_computed_and_derived():
    assert set(OPERATIONS.values()) == set(VALUES)
    ruled = {"add", "multiply", "power", "min", "max"}
    assert set(VALUES) == ruled | set(DERIVATIVES)
