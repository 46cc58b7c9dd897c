"""Unconstrained and constrained parameters: every bound holds at every unconstrained point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from planted import law_of

import lawdsl
from lawdsl.core.objectives import Objective
from lawdsl.fitting.bound_distances import bound_distances
from lawdsl.fitting.losses import curvature_of
from lawdsl.fitting.preparation.parameter_bounds import transforms_of
from lawdsl.fitting.preparation.symbolic_linearity import compared_expression
from lawdsl.fitting.transforms import to_free, to_parameters, with_slopes

EVERY_KIND = law_of(
    """
variable x > 0
setting  x_min = 0.5
parameter f
parameter a > 0
parameter h >= 1
parameter m < -1
parameter q <= 3
parameter s in [0, 1]
parameter o in (2, 5)
let       C0 = a*h^2/x_min + s
parameter C > C0
parameter K < -C
L = (f + a + h + m + q + s + o + C + K)*x
"""
)
TRANSFORMS = transforms_of(EVERY_KIND)
NAMES = [q.name for q in EVERY_KIND.parameters]
COUNT = len(NAMES)

extreme = st.one_of(
    st.floats(-1e308, 1e308, allow_nan=False),
    st.floats(-50, 50),
    st.sampled_from([0.0, -0.0, 1e-300, 299.9, 300.1, -299.9, -300.1, 709.0, 1e308, -1e308]),
)
moderate = st.floats(-8, 8)


def points(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[np.ndarray]:
    return st.lists(numbers, min_size=COUNT, max_size=COUNT).map(lambda u: np.array([u]))


def parameters(free: np.ndarray) -> dict[str, float]:
    theta = to_parameters(TRANSFORMS, free)[0]
    return dict(zip(NAMES, map(float, theta), strict=True))


@settings(max_examples=300, deadline=None)
@given(points(extreme))
def test_every_bound_holds_at_any_free_numbers(free: np.ndarray):
    p = parameters(free)

    assert all(np.isfinite(p[name]) for name in NAMES if name not in ("C", "K"))
    assert p["f"] == free[0, 0]
    assert p["a"] > 0
    assert p["h"] >= 1
    assert p["m"] < -1
    assert p["q"] <= 3
    assert 0 <= p["s"] <= 1
    assert 2 < p["o"] < 5


@settings(max_examples=300, deadline=None)
@given(points(st.one_of(moderate, st.sampled_from([-300.0, -40.0, 100.0]))))
def test_coupled_bounds_hold_strictly(free: np.ndarray):
    """C > C0 with C0 made of other parameters, and K < -C with C made of C0."""
    p = parameters(free)

    assert p["C"] > p["a"] * p["h"] ** 2 * 2 + p["s"]
    assert p["K"] < -p["C"]


@settings(max_examples=200, deadline=None)
@given(points(moderate))
def test_parameters_lead_back_to_their_free_numbers(free: np.ndarray):
    theta = to_parameters(TRANSFORMS, free)
    again = to_parameters(TRANSFORMS, to_free(TRANSFORMS, theta))

    np.testing.assert_allclose(again, theta, rtol=1e-7, atol=1e-9)


@settings(max_examples=100, deadline=None)
@given(points(st.floats(-6, 6)))
def test_slopes_equal_central_differences(free: np.ndarray):
    theta, slopes = with_slopes(TRANSFORMS, free)

    np.testing.assert_allclose(theta, to_parameters(TRANSFORMS, free), rtol=1e-13, atol=1e-14)
    for j in range(COUNT):
        step = np.zeros_like(free)
        step[0, j] = 1e-5
        ahead = to_parameters(TRANSFORMS, free + step)[0]
        behind = to_parameters(TRANSFORMS, free - step)[0]
        scale = 1 + np.abs(theta[0])
        np.testing.assert_allclose(
            (ahead - behind) / 2e-5 / scale, slopes[0, :, j] / scale, rtol=1e-5, atol=1e-8
        )


def test_many_points_at_once_equal_each_alone():
    free = np.random.default_rng(0).normal(size=(5, COUNT))
    together = to_parameters(TRANSFORMS, free)

    for row, alone in zip(free, together, strict=True):
        # one row may go through other kernels than five
        by_itself = to_parameters(TRANSFORMS, row[None])[0]
        np.testing.assert_allclose(by_itself, alone, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", ["a", "h", "m", "q", "s", "o", "C"])
def test_a_start_on_its_bound_is_put_just_inside(name: str):
    bounds = {"a": 0.0, "h": 1.0, "m": -1.0, "q": 3.0, "s": 1.0, "o": 5.0, "C": 0.0}
    inside = {"f": 0.0, "a": 1.0, "h": 2.0, "m": -2.0, "q": 1.0, "s": 0.5, "o": 3.0, "C": 20.0}
    point = {**inside, "K": -30.0, name: bounds[name]}
    free = to_free(TRANSFORMS, np.array([[point[n] for n in NAMES]]))

    assert np.all(np.isfinite(free))
    p = parameters(free)
    limit = p["a"] * p["h"] ** 2 * 2 + p["s"] if name == "C" else bounds[name]
    assert p[name] == pytest.approx(limit, rel=1e-6, abs=1e-7)


def test_the_room_of_a_parameter_is_the_way_to_its_nearer_bound():
    law = law_of("variable x > 0\nparameter s in [0, 1]\nparameter f\nL = s*x + f")
    found = bound_distances(transforms_of(law), {"s": 0.75, "f": 3.0})

    assert found == {"s": ("upper", 0.25)}


def test_without_the_coupled_bound_the_parameter_is_only_positive():
    law = lawdsl.load("dcpt.l3").without("C > C0")
    names = [q.name for q in law.parameters]
    free = np.full((1, len(names)), -20.0)
    theta = dict(zip(names, to_parameters(transforms_of(law), free)[0], strict=True))

    assert theta["C"] == pytest.approx(np.exp(-20.0))


def test_another_setting_moves_the_coupled_bound():
    law = lawdsl.load("dcpt.l3")
    lowest = []
    for smallest in (0.1311, 1.84):
        changed = law.with_settings(D_min=smallest)
        names = [q.name for q in changed.parameters]
        free = np.zeros((1, len(names)))
        theta = dict(zip(names, to_parameters(transforms_of(changed), free)[0], strict=True))
        eta, gamma, epsilon = theta["eta"], theta["gamma"], theta["epsilon"]
        c0 = theta["B"] * eta * (1 + epsilon) ** (gamma + 1) / (gamma * smallest ** theta["beta"])
        assert theta["C"] == pytest.approx(c0 + 1)
        lowest.append(theta["C"])
    assert lowest[0] > lowest[1]


def test_a_setting_that_leaves_a_bound_without_value_is_refused():
    """C0 divides by D_min^beta."""
    law = lawdsl.load("dcpt.l3").with_settings(D_min=0)
    with pytest.raises(lawdsl.LawdslError, match="the bound C > C0 has no value") as error:
        transforms_of(law)
    assert error.value.diagnostics[0].code == "L0501" and error.value.diagnostics[0].help


def test_of_several_bounds_on_a_side_all_are_kept():
    law = law_of("variable x > 0\nparameter a > 1\nparameter b > a, b > 2\nL = a*x + b")
    free = np.random.default_rng(0).normal(0, 4, (50, 2))

    a, b = to_parameters(transforms_of(law), free).T
    assert np.all(b > a) and np.all(b > 2)
    assert np.any(a > 2) and np.any(a < 2)


def test_a_law_is_compared_as_a_logarithm_only_where_the_objective_is():
    text = "variable x > 0\nparameter b, c\nL = exp(b - c*x)\nminimize squared({})"
    plain, log = law_of(text.format("L")), law_of(text.format("log(L)"))

    assert compared_expression(plain, plain.declarations.objective.log)[1:] == ((), False)
    assert compared_expression(log, log.declarations.objective.log)[1:] == ((0, 1), True)


def test_the_slope_of_the_loss_over_its_residual():
    """Where a residual is 0 it is that of its square."""
    residual, near = np.array([0.0, 0.5, 1.0, 4.0]), np.array([0.0, 0.5, 0.25, 1.0])

    found = curvature_of(residual, near, Objective("huber", delta=1.0), exact=False)
    np.testing.assert_array_equal(found, [1.0, 1.0, 0.25, 0.25])
