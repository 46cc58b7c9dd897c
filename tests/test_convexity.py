"""What is said to be convex is so: known cases, and random expressions at random points."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import sympy as sp
from hypothesis import assume, given, settings, strategies as st

from lawdsl.compiling.tape import OPERATIONS
from lawdsl.core.diagnostics import LawdslError
from lawdsl.solving.nlp.convexity import CurvatureName, curvatures
from lawdsl.solving.nlp.dcp_rules import RULES

r, s, t = sp.symbols("r s t", real=True)
a, b, g, k = sp.symbols("a b g k", real=True)
SHARES = {r: (0.0, 1.0), s: (0.0, 1.0)}
HALF, INF = sp.Rational(1, 2), float("inf")
VALUES = {a: 0.7, b: -1.3, g: 0.4, k: 2.0}


def curvature(
    e: sp.Expr,
    unknowns: dict[sp.Symbol, tuple[float, float]],
    values: dict[sp.Symbol, float] | None = None,
) -> CurvatureName | None:
    return curvatures([e], unknowns, values)[0]


CASES = [
    (r + 2 * s - 3, "affine"),
    (sp.Integer(4) + a, "affine"),
    (a * r + b * s, "affine"),
    (sp.Abs(r - 1), "affine"),
    (sp.Abs(r + s), "affine"),
    (sp.Abs(r - s), "convex"),
    (-sp.Abs(r - HALF), "concave"),
    (0 * r + a**k, "affine"),
    (1 + 1 / (a + k * r**g + 3 * s**a), "convex"),
    (1 + 1 / (a + k * r**g + 3 * s**k), None),
    (1 / (k * r**g), "convex"),
    (r**2 / 3 - sp.pi * r**g, "convex"),
    (r ** sp.Rational(1, 3) * s, None),
    (-1 / (a + r**g), "concave"),
    (a + k * sp.exp(b * r + a * s), "convex"),
    (a + b * sp.exp(b * r + a * s), "concave"),
    (a * r ** (g + k), "convex"),
    (a * r ** (g + a - 0.2), "concave"),
    (a / (r + 0.01) ** k, "convex"),
    (a / (r - 0.01) ** k, None),
    (r**2 - s, "convex"),
    (r**2 - s**2, None),
    (r * s, None),
    ((r - s) ** 2, "convex"),
    ((r - s) ** 3, None),
    ((r - 2) ** 3, "concave"),
    ((r - 2) ** -3, "concave"),
    ((r - 2) ** -2, "convex"),
    ((r**2 - 1) ** 2, None),
    ((r**2 + 1) ** 2, "convex"),
    ((r - s) ** HALF, None),
    (sp.sqrt(2 - r - s), "concave"),
    (sp.log(1 + r + s**g), "concave"),
    (sp.log(sp.exp(r) + sp.exp(2 * s)), "convex"),
    (sp.log(1 + r**2), None),
    (sp.exp(r**2 + s), "convex"),
    (sp.exp(-(r**2)), None),
    (k**r, "convex"),
    (a ** (1 - r**2), "convex"),
    (k ** (1 - r**2), None),
    (1 / ((r + 1) * (s + 1)), "convex"),
    (-sp.exp(r) / (s + 1) ** g, "concave"),
    (sp.sqrt(sp.exp(r) + 1 / (s + 1)), "convex"),
    (sp.Max(r, s**2, a), "convex"),
    (sp.Min(r, s**g), "concave"),
    (sp.Max(r, s) - sp.Min(r, s), "convex"),
    (sp.Max(r, -(s**2)), None),
    (sp.Abs(r - s), "convex"),
    (-sp.Abs(r**2 + 1), "concave"),
    (sp.Abs(r**2 - 4), "concave"),
    (sp.Abs(r**2 - 0.5), None),
    (sp.atan(r + s), "concave"),
    (sp.tanh(r - 2), "convex"),
    (sp.tanh(r - s), None),
    (sp.sin(r), None),
    (sp.log(r - 0.5), None),
    (sp.sign(r + 1) * s, "affine"),
    (r**k / s, None),
]


@pytest.mark.parametrize("e, expected", CASES)
def test_curvature(e: sp.Expr, expected: str | None):
    assert curvature(e, SHARES, VALUES) == expected


def test_it_is_that_on_the_box():
    assert curvature(r**3, {r: (0, 1)}) == "convex"
    assert curvature(r**3, {r: (-1, 1)}) is None
    assert curvature(r**3, {r: (-1, 0)}) == "concave"
    assert curvature(r * s, {r: (0, 1), s: (2, 2)}) == "affine"
    assert curvature(sp.log(r) + sp.sqrt(r), {r: (0, INF)}) == "concave"
    assert curvature(r**2 + sp.exp(s), {r: (-INF, INF), s: (-INF, INF)}) == "convex"
    assert curvature(1 / r, {r: (-INF, 0)}) is None


def test_exponents_are_numbers_that_are_given():
    assert curvature(r**g, {r: (0, 1)}, {g: 1.0}) == "affine"
    assert curvature(r**g, {r: (0, 1)}, {g: 1 + 1e-15}) == "convex"
    assert curvature(r ** (g + a), {r: (0, 1)}, {g: 0.5, a: 0.5}) == "affine"
    assert curvature(r**g, {r: (-1, 1)}, {g: 2.0}) == "convex"
    assert curvature(a * r**g, {r: (0, 1)}, {g: 2.0, a: 0.0}) == "affine"


def test_several_at_once():
    assert curvatures([r, r**2, -(r**2)], SHARES) == ["affine", "convex", "concave"]


def test_a_symbol_without_a_value_is_refused():
    with pytest.raises(LawdslError):
        curvature(a * r, SHARES)


def test_every_operation_has_a_rule():
    assert set(RULES) == set(OPERATIONS.values())


def grown(inner):
    """Expressions of the kind that the rules speak of, and of some that they do not."""
    numbers = st.sampled_from((-2, -1, -HALF, sp.Rational(1, 3), HALF, 1, 2, 3))
    return st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: sp.Add(*parts)),
        st.tuples(numbers, inner).map(lambda p: p[0] * p[1]),
        st.tuples(inner, numbers).map(lambda p: p[0] ** p[1]),
        st.tuples(inner, inner).map(lambda p: p[0] * p[1]),
        st.tuples(numbers, inner).map(lambda p: p[0] + p[1]),
        st.tuples(st.sampled_from((sp.exp, sp.log, sp.Abs, sp.atan, sp.tanh)), inner).map(
            lambda p: p[0](p[1])
        ),
        st.tuples(st.sampled_from((HALF, sp.Integer(2))), inner).map(lambda p: p[0] ** p[1]),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: sp.Max(*parts)),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: sp.Min(*parts)),
    )


EXPRESSIONS = st.recursive(st.sampled_from((r, s, 1 - r, r + s)), grown, max_leaves=6)
BOXES = st.sampled_from(((0.0, 1.0), (-1.0, 1.0), (-2.0, -0.5), (0.25, 3.0)))


def contradiction(e: sp.Expr, said: str, box: tuple, seed: int) -> str | None:
    """Three points on a line at which an expression is not what is said."""
    rng = np.random.default_rng(seed)
    with mpmath.workdps(40):
        compute = sp.lambdify([r, s], e, "mpmath")
        for _ in range(40):
            ends = rng.uniform(*box, size=(2, 2))
            ends = np.where(rng.random((2, 2)) < 0.15, rng.choice(box, size=(2, 2)), ends)
            share = mpmath.mpf(rng.uniform(0.05, 0.95))
            one, other = ([mpmath.mpf(float(v)) for v in row] for row in ends)
            between = [share * p + (1 - share) * q for p, q in zip(one, other, strict=True)]
            try:
                v, w, m = compute(*one), compute(*other), compute(*between)
            except ZeroDivisionError:  # infinite at a face
                continue
            if not all(isinstance(mpmath.mpmathify(x), mpmath.mpf) for x in (v, w, m)):
                return f"no real value between {one} and {other}"
            bend = share * v + (1 - share) * w - m
            slack = mpmath.mpf(10) ** -30 * (1 + abs(v) + abs(w))
            if said in ("convex", "affine") and bend < -slack:
                return f"not convex between {one} and {other}"
            if said in ("concave", "affine") and bend > slack:
                return f"not concave between {one} and {other}"
    return None


def check_curvature(e: sp.Expr, box: tuple, seed: int) -> None:
    assume(e.free_symbols and not e.has(sp.zoo, sp.nan, sp.oo, sp.I))
    said = curvature(e, {r: box, s: box})
    assume(said is not None)
    assert contradiction(e, said, box, seed) is None


@given(EXPRESSIONS, BOXES, st.integers(0, 10**6))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_what_is_said_of_random_expressions_stands_up_to_sampling(e, box, seed):
    check_curvature(e, box, seed)


@pytest.mark.slow
@given(EXPRESSIONS, BOXES, st.integers(0, 10**6))
@settings(max_examples=5000, deadline=None, derandomize=True)
def test_what_is_said_of_many_random_expressions_stands_up_to_sampling(e, box, seed):
    check_curvature(e, box, seed)


def test_the_judge_sees_what_is_not_convex():
    assert contradiction(r * s, "convex", (0.0, 1.0), 1)
    assert contradiction(r**2, "affine", (0.0, 1.0), 1)
    assert contradiction(r**3, "concave", (-1.0, 1.0), 1)
