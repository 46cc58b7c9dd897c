"""The parts of the solver of several unknowns, one by one."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from test_nlp import INF, a, b, by_name, c, x, y, z

from lawdsl.solving.nlp.multistart import (
    best_feasible,
    determined_unknowns,
    is_proved_optimal,
    minimise,
)
from lawdsl.solving.nlp.options import NlpOptions
from lawdsl.solving.nlp.polytope import Polytope
from lawdsl.solving.nlp.problem import NlpConstraint, NlpProblem
from lawdsl.solving.nlp.starts import repair
from lawdsl.solving.nlp.unboundedness import find_unbounded_path

# ---- parts, one by one


@pytest.mark.parametrize("n", [3, 70])
def test_a_total_bounds_each_share_by_what_the_others_leave(n: int):
    """Shares of at least 0.1 with a total of 0.1*n + 0.2: none is above 0.3."""
    ones, rows = np.ones((1, n)), np.arange(1)
    total = np.array([-(0.1 * n + 0.2)])
    polytope = Polytope(np.full(n, 0.1), np.ones(n), ones, total, np.zeros(1, dtype=bool), rows)
    low, high = polytope.tightened

    assert low == pytest.approx(np.full(n, 0.1))
    assert high == pytest.approx(np.full(n, 0.3))


def test_a_bound_that_excludes_a_curved_condition_would_have_to_move_by_so_much():
    high = {s: (0.0, 1.0) for s in (x, y)}
    low = {s: (1.0, 5.0) for s in (x, y)}
    above = minimise(NlpProblem(x + y, high, [NlpConstraint("product", 2 - x * y)]))
    below = minimise(NlpProblem(x + y, low, [NlpConstraint("product", x * y - 0.5)]))

    assert by_name(above)["x", "high"] == pytest.approx(1.0, abs=1e-6)
    assert by_name(above)["y", "high"] == pytest.approx(1.0, abs=1e-6)
    assert by_name(below)["x", "low"] == pytest.approx(-0.5, abs=1e-6)
    assert by_name(below)["y", "low"] == pytest.approx(-0.5, abs=1e-6)


def test_a_search_that_ends_on_a_saddle_goes_on_from_there():
    """The middle of the box is stationary, and no minimum."""
    wells = x**4 / 4 - x**2 / 2 + y**2
    found = minimise(NlpProblem(wells, {x: (-1.5, 1.5), y: (-1.0, 1.0)}), NlpOptions(starts=1))

    assert found.value == pytest.approx(-0.25) and abs(found.x[0]) == pytest.approx(1.0)


def test_as_many_searches_are_made_as_are_asked_for():
    wells = x**4 / 4 - x**2 / 2 + sp.cos(3 * y)
    found = minimise(NlpProblem(wells, {x: (-1.5, 1.5), y: (-4.0, 4.0)}), NlpOptions(starts=8))

    assert found.starts == 8


def test_a_point_is_moved_onto_what_it_violates():
    circle = NlpConstraint("circle", x**2 + y**2 - 1, True)
    problem = NlpProblem(x + y, {x: (-5.0, 5.0), y: (-5.0, 5.0)}, [circle])
    moved = repair(problem, np.array([3.0, 1.0]))

    assert float(np.sum(moved**2)) == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_goal_may_fall_towards_either_infinity(sign: int):
    problem = NlpProblem(sign * x**3 + y**2, {x: (-np.inf, np.inf), y: (-1.0, 1.0)})
    found = find_unbounded_path(problem, np.zeros(2), 0.0, seed=0)

    assert found is not None and found.endless
    assert np.all(np.diff(found.values) < 0) and np.all(sign * found.points[:, 0] <= 0)


@pytest.mark.parametrize("given", [(1e17, 7.0, 1e17 + 16), (1e17, 9.0, 1e17 + 16)])
def test_bounds_that_follow_from_sums_that_cancel_prove_no_wrong_optimum(
    given: tuple[float, float, float],
):
    """x + y + a + b <= c, of which float64 makes x + y <= 0 and x + y <= 16: it is 9, and 7."""
    limit = NlpConstraint("limit", x + y + a + b - c)
    box = {x: (0.0, INF), y: (0.0, INF)}
    problem = NlpProblem(-x - y / 2, box, [limit], dict(zip((a, b, c), given, strict=True)))
    room = 16 - given[1]
    with np.errstate(all="ignore"):  # as `minimise` does
        found = best_feasible(problem, starts=1)

    assert problem.polytope.offsets == -room
    assert problem.polytope.tightened[1] == pytest.approx([room, room])
    if found is not None:
        assert not is_proved_optimal(found) or found.value == pytest.approx(-room)
        assert found.gap is None or found.value - found.gap <= -room


def test_affine_rows_are_not_read_off_at_a_kink():
    """|x| = x where x >= 0, but its slope at 0 is not that of x."""
    box = {x: (0.0, INF), y: (0.0, INF)}
    problem = NlpProblem(x + y, box, [NlpConstraint("least", 1 - abs(x))])
    found = minimise(problem)

    assert problem.polytope.slopes == pytest.approx(np.array([[-1.0, 0.0]]))
    assert found.feasible and found.x == pytest.approx([1.0, 0.0])


def test_an_offset_that_cancels_is_0():
    exact = [sp.Rational(number) for number in ("0.1", "0.2", "0.3")]
    offset = exact[0] + a - exact[2] + sp.log(6) - sp.log(2) - sp.log(3)
    problem = NlpProblem(x, {x: (-1.0, 1.0)}, [NlpConstraint("sum", x + offset, True)], {a: 0.2})

    assert problem.polytope.offsets == pytest.approx(0.0, abs=1.2e-17)  # a is not 0.2 exactly
    whole = NlpProblem(x, {x: (-1.0, 1.0)}, [NlpConstraint("sum", x + offset - a + exact[1], True)])
    assert problem.polytope.slopes == whole.polytope.slopes == 1.0
    assert whole.polytope.offsets == 0.0


@pytest.mark.parametrize("size", [1e10, 1e13, 1e16])
def test_a_small_range_is_no_single_value_beside_a_larger_constraint(size: float):
    """x <= 1/size moves the objective by 10, however small it is beside y."""
    limits = [NlpConstraint("cap", size * x - 1), NlpConstraint("sum", x + y - 1)]
    found = minimise(NlpProblem(-10 * size * x - y, {x: (0.0, 1.0), y: (0.0, 1.0)}, limits))

    assert found.value == pytest.approx(-11.0) and is_proved_optimal(found)


def test_an_unknown_to_which_only_rounding_is_left_is_settled():
    """y = 1 leaves nothing of x + y <= 1 but what rounding leaves."""
    limits = [NlpConstraint("one", 3 * y - 3, equality=True), NlpConstraint("sum", x + y - 1)]
    problem = NlpProblem(-x, {x: (0.0, 1.0), y: (0.0, 2.0), z: (0.0, 1.0)}, limits)

    assert determined_unknowns(problem).keys() == {x, y}
