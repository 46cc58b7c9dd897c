"""Tapes on arrays: values against mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import sympy as sp

from lawdsl.compiling.arrays import VALUES, evaluate
from lawdsl.compiling.tape import OPERATIONS, compile_tape
from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.functions import FUNCTIONS

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

    assert found == pytest.approx([exact(e, row) for row in rows], rel=1e-13, abs=1e-14)


def test_outside_a_domain_is_nan_or_infinite_and_says_nothing():
    tape = compile_tape([sp.log(x), x**sp.S.Half, 1 / x], SYMBOLS)
    log, root, inverse = evaluate(tape, [np.array([-1.0, 0.0]), 1.0, 1.0])

    assert np.isnan(log[0]) and log[1] == -np.inf
    assert np.isnan(root[0]) and root[1] == 0
    assert inverse[1] == np.inf


def test_shapes_broadcast():
    tape = compile_tape([x * y + 1], SYMBOLS)
    rows, starts = np.arange(4.0), np.arange(3.0)[:, None]

    assert np.array_equal(evaluate(tape, [rows, starts, 1.0])[0], rows * starts + 1)


def test_equal_parts_are_computed_once():
    tape = compile_tape([sp.exp(x * y) + sp.log(x * y + 2) * (x * y)], SYMBOLS)

    assert [step.op for step in tape.instructions].count("input") == 2
    assert [step.op for step in tape.instructions].count("multiply") == 2


def test_what_has_no_real_value_is_refused():
    for strange in (sp.zoo, sp.I * x, sp.DiracDelta(x), sp.Symbol("elsewhere")):
        with pytest.raises(LawdslError) as caught:
            compile_tape([strange + x], SYMBOLS)
        assert caught.value.diagnostics[0].code == "L0501"


def test_every_operation_can_be_computed():
    # functions that SymPy writes as others, such as a root as a power, are computed too
    assert set(OPERATIONS.values()) <= set(VALUES) <= {*OPERATIONS.values(), *FUNCTIONS}
