"""Exact gradients of tapes: against SymPy's derivatives at 50 digits, and at faces."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings, strategies as st
from quick import some, without
from test_laws import admissible

import lawdsl
from lawdsl.compiling.arrays import evaluate
from lawdsl.compiling.autodiff import RULES, Slopes, values, values_and_gradients
from lawdsl.compiling.tape import OPERATIONS, FiniteLog, compile_tape
from lawdsl.language.library import shipped

x, y, z = sp.symbols("x y z", real=True)
SYMBOLS = (x, y, z)
INF = np.inf
HALF = sp.Rational(1, 2)


def exact(expression: sp.Expr, symbols: list[sp.Symbol], point: np.ndarray) -> mpmath.mpf | None:
    """The value at 50 digits; None where it is not real."""
    with mpmath.workdps(50):
        compute = sp.lambdify(symbols, expression, "mpmath")
        try:
            found = compute(*(mpmath.mpf(float(v)) for v in point))
        except (ValueError, ZeroDivisionError):
            return None
        return found if isinstance(found, int | mpmath.mpf) else None


def value_and_gradient(expression: sp.Expr, *point: float) -> tuple[float, list[float]]:
    inputs = np.array(point)[:, None]
    found, slopes = values_and_gradients(compile_tape([expression], SYMBOLS[: len(point)]), inputs)
    return float(found[0, 0]), slopes[0, :, 0].tolist()


DEAR = ("repeated", "mixing.explicit", "mixing.joint")
CHEAP = sorted(set(shipped()) - set(DEAR))


@pytest.mark.parametrize("name", [*some(CHEAP, 20), *without(DEAR, DEAR)])
def test_the_gradient_of_every_shipped_law_is_that_of_sympy(name: str):
    law = lawdsl.load(name).sample
    symbols = sorted(law.expression.free_symbols, key=lambda s: s.name)
    inside = [admissible(law, seed) for seed in (5, 6)]
    points = np.array([[float(point[s]) for point in inside] for s in symbols])
    found, slopes = values_and_gradients(compile_tape([law.expression], symbols), points)

    for k, point in enumerate(points.T):
        assert found[0, k] == pytest.approx(float(exact(law.expression, symbols, point)), rel=1e-12)
        symbolic = [float(exact(sp.diff(law.expression, s), symbols, point)) for s in symbols]
        scale = max(map(abs, symbolic))
        assert slopes[0, :, k] == pytest.approx(symbolic, rel=1e-11, abs=1e-13 * scale)


leaves = st.sampled_from([*SYMBOLS, *map(sp.Integer, (1, 2, -1)), sp.Rational(1, 3), sp.pi])
UNARY = (sp.exp, sp.log, sp.sin, sp.cos, sp.tan, sp.atan, sp.tanh, sp.Abs)


def combined(inner):
    some = st.lists(inner, min_size=2, max_size=4)
    return st.one_of(
        some.map(lambda parts: sp.Add(*parts)),
        some.map(lambda parts: sp.Mul(*parts)),
        st.tuples(inner, inner).map(lambda pair: (1 + pair[0] ** 2) ** pair[1]),
        st.tuples(inner, st.sampled_from((-1, 2, 3, HALF, -HALF))).map(lambda p: p[0] ** p[1]),
        st.tuples(st.sampled_from(UNARY), inner).map(lambda pair: pair[0](pair[1])),
        some.map(lambda parts: sp.Max(*parts)),
        some.map(lambda parts: sp.Min(*parts)),
    )


@pytest.mark.parametrize("count", [8, pytest.param(25, marks=pytest.mark.slow)])
def test_random_expressions_have_the_gradient_of_sympy(count: int):
    settings(max_examples=count, deadline=None, derandomize=True)(gradient_is_that_of_sympy)()


@given(st.recursive(leaves, combined, max_leaves=8), st.integers(0, 10**6))
def gradient_is_that_of_sympy(expression: sp.Expr, seed: int):
    if not expression.is_extended_real or expression.has(sp.zoo, sp.nan, sp.oo, sp.I):
        return
    points = np.random.default_rng(seed).uniform(0.2, 1.8, size=(3, 2))
    _, slopes = values_and_gradients(compile_tape([expression], SYMBOLS), points)
    for k, point in enumerate(points.T):
        for number, symbol in enumerate(SYMBOLS):
            symbolic = exact(sp.diff(expression, symbol), list(SYMBOLS), point)
            if symbolic is None or abs(symbolic) > 1e6:  # no value; too steep for 16 digits
                continue
            assert slopes[0, number, k] == pytest.approx(float(symbolic), rel=1e-7, abs=1e-7)


def test_the_values_are_those_of_the_tape():
    e = [x * y * z + sp.exp(x) + x**y, sp.Max(x, y, z) / 3, sp.pi + x, sp.Integer(4)]
    tape = compile_tape(e, SYMBOLS)
    points = np.random.default_rng(1).uniform(0.1, 2, size=(3, 7))

    expected = [np.broadcast_to(v, 7) for v in evaluate(tape, list(points))]
    # all points at once, or an input at a time: other kernels of exp and powers
    np.testing.assert_allclose(values(tape, points), expected, rtol=1e-13)
    np.testing.assert_allclose(values_and_gradients(tape, points)[0], expected, rtol=1e-13)


AT_FACES = [
    (x**y, (0.0, 2.0), 0.0, [0.0, 0.0]),
    (x**y, (0.0, 1.0), 0.0, [1.0, 0.0]),
    (x**y, (0.0, 0.5), 0.0, [INF, 0.0]),
    (x**y, (1.0, 0.0), 1.0, [0.0, 0.0]),
    (3 * x**HALF, (0.0,), 0.0, [INF]),
    (1 / (2 + 3 * x**HALF), (0.0,), 0.5, [-INF]),
    (1 / (2 + x ** sp.Rational(3, 2)), (0.0,), 0.5, [0.0]),
    (x * y * z, (0.0, 2.0, 3.0), 0.0, [6.0, 0.0, 0.0]),
    (x * y * z, (0.0, 0.0, 3.0), 0.0, [0.0, 0.0, 0.0]),
    (x**2, (-1.5,), 2.25, [-3.0]),
    (1 / x, (-2.0,), -0.5, [-0.25]),
    (sp.Abs(x), (0.0,), 0.0, [0.0]),
    (sp.Abs(x), (-2.0,), 2.0, [-1.0]),
    (sp.sign(x) + sp.Heaviside(x), (0.0,), 0.5, [0.0]),
    (sp.exp(-x * y), (0.0, 2.0), 1.0, [-2.0, 0.0]),
    (x**2 * FiniteLog(x), (0.0,), 0.0, [0.0]),
]


@pytest.mark.parametrize("e, point, value, slopes", AT_FACES)
def test_slopes_at_faces(e: sp.Expr, point: tuple, value: float, slopes: list[float]):
    assert value_and_gradient(e, *point) == (value, slopes)


@pytest.mark.parametrize("kind", [sp.Max, sp.Min])
def test_a_tie_has_the_slope_of_the_first_argument(kind: type):
    e = kind(x, y, z)
    first = e.args[0]

    assert value_and_gradient(e, 1.0, 1.0, 1.0) == (1.0, [float(s is first) for s in SYMBOLS])


def test_an_infinite_slope_meets_a_zero():
    c = sp.Symbol("c")
    tape = compile_tape([c * sp.sqrt(x), y + c, sp.log(1 + sp.sqrt(x)) * sp.sqrt(x + y)], [x, y, c])
    at_zero = np.zeros((3, 1))

    _, fixed = Slopes(tape, wrt=(0, 1)).values_and_gradients(at_zero)
    assert fixed[:2, :, 0].tolist() == [[0.0, 0.0], [0.0, 1.0]]  # c = 0 does not move
    assert np.isnan(fixed[2, 0, 0])  # one of 0/0: no number is said

    _, free = Slopes(tape).values_and_gradients(at_zero)
    assert np.isnan(free[0, 0, 0]) and free[0, 2, 0] == 0.0


def test_only_the_inputs_asked_for_are_derived_by():
    tape = compile_tape([x * y + z**2 + x**3], SYMBOLS)
    points = np.array([[2.0, 1.0], [3.0, 1.0], [0.5, 1.0]])

    _, all_slopes = Slopes(tape).values_and_gradients(points)
    _, some = Slopes(tape, wrt=(2, 0)).values_and_gradients(points)
    np.testing.assert_allclose(some, all_slopes[:, [2, 0]], rtol=1e-14)
    np.testing.assert_allclose(all_slopes[0, :, 0], [15.0, 2.0, 1.0], rtol=1e-14)


def test_every_operation_has_a_rule():
    assert set(RULES) == set(OPERATIONS.values())
