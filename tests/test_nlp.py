"""The best of several unknowns: known optima, certificates, conflicts, sensitivities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from lawdsl.solving.nlp.exclusion import is_infeasible
from lawdsl.solving.nlp.kkt import duality_gap, kkt_point
from lawdsl.solving.nlp.multistart import (
    is_proved_optimal,
    minimise,
)
from lawdsl.solving.nlp.options import NlpOptions
from lawdsl.solving.nlp.problem import NlpConstraint, NlpProblem, NlpSolution, box_midpoint
from lawdsl.solving.nlp.sensitivity import sensitivities

INF = float("inf")
x, y, z = sp.symbols("x y z", real=True)
a, b, c, k = sp.symbols("a b c k", real=True)


def mixture(seed: int, n: int, targets: int, least: float = -1.0) -> NlpProblem:
    """Losses E + 1/(w + sum of C r^g) on targets, averaged, over n capped shares."""
    rng = np.random.default_rng(seed)
    shares = sp.symbols(f"r0:{n}", real=True)
    values: dict[sp.Symbol, float] = {}

    def drawn(name: str, value: float) -> sp.Symbol:
        symbol = sp.Symbol(name, real=True)
        values[symbol] = float(value)
        return symbol

    losses = []
    for i in range(targets):
        terms = [
            drawn(f"C{i}_{j}", 10 ** rng.uniform(least, 0.5))
            * r ** drawn(f"g{i}_{j}", rng.uniform(0.05, 1))
            for j, r in enumerate(shares)
        ]
        losses.append(
            drawn(f"E{i}", rng.uniform(1, 3))
            + 1 / (drawn(f"w{i}", rng.uniform(0.01, 1)) + sp.Add(*terms))
        )
    caps = rng.uniform(0.2, 0.7, n) if n < 8 else rng.uniform(0.1, 0.3, n)
    unknowns = {r: (0.0, float(cap)) for r, cap in zip(shares, caps, strict=True)}
    whole = NlpConstraint("shares", sp.Add(*shares) - 1, equality=True)
    return NlpProblem(sp.Add(*losses) / targets, unknowns, [whole], values)


def feasible_points(problem: NlpProblem, seed: int, count: int) -> np.ndarray:
    """Random shares under their caps, shape (n, points)."""
    rng = np.random.default_rng(seed)
    high = problem.high
    drawn = rng.dirichlet(np.full(len(high), 0.7), size=40 * count)
    return drawn[(drawn <= high).all(axis=1)][:count].T


def test_a_linear_problem_ends_in_a_corner():
    shares = sp.symbols("r0:4", real=True)
    costs, caps = (3.0, 1.0, 2.0, 5.0), (0.5, 0.4, 0.5, 1.0)
    unknowns = {r: (0.0, cap) for r, cap in zip(shares, caps, strict=True)}
    objective = sp.Add(*(sp.Float(w) * r for w, r in zip(costs, shares, strict=True)))
    found = minimise(
        NlpProblem(objective, unknowns, [NlpConstraint("sum", sp.Add(*shares) - 1, True)])
    )

    assert found.x == pytest.approx([0.1, 0.4, 0.5, 0.0], abs=1e-12)
    assert found.value == pytest.approx(1.7) and is_proved_optimal(found)
    assert found.multipliers == pytest.approx([-3.0])  # one more of shares costs 3
    assert found.high == pytest.approx([0.0, 2.0, 1.0, 0.0])
    assert found.low == pytest.approx([0.0, 0.0, 0.0, 2.0])
    assert (found.at_low, found.at_high) == (("r3",), ("r1", "r2"))


def test_a_quadratic_problem_with_an_active_constraint():
    """(x - 2)^2 + (y - 1)^2 on x + y <= 2: its foot is (3/2, 1/2), the multiplier 1."""
    box = {x: (-5.0, 5.0), y: (-5.0, 5.0)}
    near = (x - 2) ** 2 + (y - 1) ** 2
    found = minimise(
        NlpProblem(near, box, [NlpConstraint("room", x + y - 2), NlpConstraint("loose", x - 4)])
    )

    assert found.x == pytest.approx([1.5, 0.5], abs=1e-12)
    assert found.multipliers == pytest.approx([1.0, 0.0])
    assert found.active == ("room",) and found.convex and is_proved_optimal(found)


def test_a_convex_constraint():
    """The point of the disc x^2 + y^2 <= 4 furthest along (3, 4)."""
    box = {x: (-5.0, 5.0), y: (-5.0, 5.0)}
    found = minimise(NlpProblem(-3 * x - 4 * y, box, [NlpConstraint("disc", x**2 + y**2 - 4)]))

    assert found.x == pytest.approx([1.2, 1.6], abs=1e-9)
    assert found.value == pytest.approx(-10.0) and is_proved_optimal(found)
    assert found.multipliers == pytest.approx([1.25])


def test_a_budget_that_is_a_product():
    """A/N^a + B/D^b on 6 N D = C: N = G (C/6)^(b/(a + b)), G = (a A/(b B))^(1/(a + b))."""
    A, B, p, q, C = 406.4, 410.7, 0.34, 0.28, 6e3
    N, D = sp.symbols("N D", positive=True)
    loss = 1.69 + A / (N * 1000) ** p + B / (D * 1000) ** q
    box = {N: (0.1, 1e4), D: (0.1, 1e4)}
    found = minimise(NlpProblem(loss, box, [NlpConstraint("budget", 6 * N * D - k, True)], {k: C}))
    G = (p * A * 1000**-p / (q * B * 1000**-q)) ** (1 / (p + q))

    assert found.x[0] == pytest.approx(G * (C / 6) ** (q / (p + q)), rel=1e-9)
    assert not found.convex and found.gap is None and found.agreed > 1
    assert found.violation < 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_the_best_mixture_is_proved_and_no_other_is_better(seed: int):
    problem = mixture(seed, 3 + seed, 3, least=-6.0 if seed % 2 else -1.0)
    found = minimise(problem)

    assert found.feasible and found.convex and found.starts == 1
    assert is_proved_optimal(found)
    assert abs(found.x.sum() - 1) < 1e-12
    assert np.all(found.x >= 0) and np.all(found.x <= problem.high)
    points = feasible_points(problem, seed, 2000)
    assert points.shape[1] > 100
    assert np.min(problem.functions.on(points)[0][0]) >= found.value - 1e-12


def test_seventeen_shares_and_thirteen_targets():
    found = minimise(mixture(1, 17, 13))

    assert is_proved_optimal(found) and found.starts == 1 and found.residual < 1e-12
    assert abs(found.x.sum() - 1) < 1e-12


def test_the_gap_bounds_what_is_lost_at_any_point():
    problem = mixture(2, 4, 3)
    least_value = minimise(problem).value
    for where in feasible_points(problem, 3, 30).T:
        here = kkt_point(problem, where)
        bound = duality_gap(problem, here)
        assert bound is not None and bound >= here.values[0] - least_value > 0


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-6, 1e-10])
def test_a_share_that_is_hardly_worth_anything_is_found_all_the_same(size: float):
    """1 + x - c sqrt(x), of x + y = 1: the best x is (c/2)^2."""
    problem = NlpProblem(
        2 * x + y - c * sp.sqrt(x),
        {x: (0.0, 1.0), y: (0.0, 1.0)},
        [NlpConstraint("sum", x + y - 1, True)],
        {c: size},
    )
    found = minimise(problem)

    assert found.x[0] == pytest.approx((size / 2) ** 2, rel=1e-6)
    assert is_proved_optimal(found) and found.at_low == ()


def test_a_share_that_hurts_at_once_is_zero():
    problem = NlpProblem(
        sp.sqrt(x) + 2 * y**2 + z**2,
        {s: (0.0, 1.0) for s in (x, y, z)},
        [NlpConstraint("sum", x + y + z - 1, True)],
    )
    found = minimise(problem)

    assert found.x[0] == 0.0 and found.at_low == ("x",)
    assert found.x[1:] == pytest.approx([1 / 3, 2 / 3], abs=1e-9)
    assert not found.convex and found.gap is None


def test_the_best_of_several_minima():
    """(x^2 - 1)^2 + x/5 + y^2 has two minima; the left one is lower."""
    problem = NlpProblem((x**2 - 1) ** 2 + x / 5 + y**2, {x: (-2.0, 2.0), y: (-1.0, 1.0)})
    found = minimise(problem)
    left = min(np.roots([4, 0, -4, 0.2]).real)

    assert found.x == pytest.approx([left, 0.0], abs=1e-9)
    assert not found.convex and found.gap is None
    assert 1 < found.agreed < found.starts


def test_the_same_seed_gives_the_same_answer():
    problem = NlpProblem(sp.sin(5 * x) + sp.cos(3 * y) * x, {x: (-2.0, 2.0), y: (-2.0, 2.0)})
    one, other = minimise(problem, NlpOptions(seed=4)), minimise(problem, NlpOptions(seed=4))

    assert np.array_equal(one.x, other.x) and one.agreed == other.agreed


def by_name(found: NlpSolution) -> dict[tuple[str, str], float]:
    return {(r.name, r.kind): r.amount for r in found.shortfalls}


def test_caps_that_leave_too_little_say_by_how_much():
    caps = {x: (0.0, 0.2), y: (0.0, 0.3), z: (0.1, 0.25)}
    found = minimise(NlpProblem(x**2 + y + z, caps, [NlpConstraint("shares", x + y + z - 1, True)]))

    assert not found.feasible
    assert found.violation == pytest.approx(0.25)
    assert set(found.conflict) == {"shares", "x <= 0.2", "y <= 0.3", "z <= 0.25"}
    expected = {("shares", "constraint"): -0.25, ("x", "high"): 0.25, ("y", "high"): 0.25}
    assert by_name(found) == pytest.approx(expected | {("z", "high"): 0.25})


def test_what_does_not_help_alone_is_not_named():
    conditions = [
        NlpConstraint("small", x + y - 1),
        NlpConstraint("large", 2 - x - y),
        NlpConstraint("aside", z - 1),
        NlpConstraint("larger", 3 - x - y),
    ]
    found = minimise(NlpProblem(x, {s: (0.0, 9.0) for s in (x, y, z)}, conditions))

    assert not found.feasible and "aside" not in found.conflict
    assert by_name(found) == pytest.approx({("small", "constraint"): 2.0})


def test_bounds_that_cross():
    found = minimise(NlpProblem(x**2, {x: (2.0, 1.5), y: (0.0, 1.0)}))

    assert not found.feasible and found.violation == 0.5
    assert by_name(found) == {("x", "low"): -0.5, ("x", "high"): 0.5}


def test_curved_conditions_that_exclude_each_other():
    """A disc of radius 1 and the half plane x + y >= 2, which touches one of radius sqrt 2."""
    box = {x: (-5.0, 5.0), y: (-5.0, 5.0)}
    disc, plane = NlpConstraint("disc", x**2 + y**2 - 1), NlpConstraint("plane", 2 - x - y)
    found = minimise(NlpProblem(x, box, [disc, plane]))

    assert not found.feasible and found.conflict == ("disc", "plane")
    expected = {("disc", "constraint"): 1.0, ("plane", "constraint"): 2 - np.sqrt(2)}
    assert by_name(found) == pytest.approx(expected, abs=1e-6)


def resolved(problem: NlpProblem, symbol: sp.Symbol, by: float) -> NlpSolution:
    return minimise(
        replace(problem, values={**problem.values, symbol: problem.values[symbol] + by})
    )


def check_sensitivities(problem: NlpProblem, symbols: list[sp.Symbol]) -> None:
    found = minimise(problem)
    told = sensitivities(problem, found, symbols)
    for symbol in symbols:
        h = 1e-4 * max(abs(problem.values[symbol]), 1e-2)
        ahead, behind = resolved(problem, symbol, h), resolved(problem, symbol, -h)
        moved, value = told[symbol]
        assert value == pytest.approx((ahead.value - behind.value) / (2 * h), rel=1e-5, abs=1e-9)
        assert moved == pytest.approx((ahead.x - behind.x) / (2 * h), rel=1e-4, abs=1e-6)


def test_sensitivities_of_a_mixture_are_those_of_solving_again():
    problem = mixture(4, 5, 3)
    check_sensitivities(problem, list(problem.values)[::3])


@pytest.mark.parametrize("symbols", [[a, k], pytest.param([b, c], marks=pytest.mark.slow)])
def test_sensitivities_with_active_constraints_and_bounds(symbols: list[sp.Symbol]):
    problem = NlpProblem(
        (x - a) ** 2 + (y - b) ** 2 + c * z**2 + x * z,
        {s: (0.0, 5.0) for s in (x, y, z)},
        [NlpConstraint("room", x + 2 * y - k), NlpConstraint("loose", x - 10 * k)],
        {a: 2.0, b: 1.5, c: 1.0, k: 3.0},
    )
    found = minimise(problem)
    assert found.active == ("room",) and found.at_low == ("z",)
    check_sensitivities(problem, symbols)


def test_more_room_is_worth_its_multiplier():
    box = {x: (-5.0, 5.0), y: (-5.0, 5.0)}
    problem = NlpProblem(-3 * x - 4 * y, box, [NlpConstraint("disc", x**2 + y**2 - k)], {k: 4.0})
    found = minimise(problem)
    moved, value = sensitivities(problem, found, [k])[k]

    assert value == pytest.approx(-found.multipliers[0])
    assert moved == pytest.approx(found.x / 8, rel=1e-6)  # x grows as sqrt(k)


def test_many_symbols_at_once():
    problem = mixture(1, 17, 13)
    symbols = list(problem.values)
    told = sensitivities(problem, minimise(problem), symbols)

    assert len(told) == 17 * 13 * 2 + 26
    assert all(abs(float(moved.sum())) < 1e-9 for moved, _ in told.values())  # shares stay shares
    levels = [value for s, (_, value) in told.items() if s.name.startswith("E")]
    assert levels == pytest.approx([1 / 13] * 13)


def test_unknowns_over_many_decades():
    """A model and its tokens within C = 6 N D: N grows as C^(b/(a + b)), D as C^(a/(a + b))."""
    N, D = sp.symbols("N D", positive=True)
    loss = 1.69 + 406.4 / N**0.34 + 410.7 / D**0.28
    budget = NlpConstraint("budget", 6 * N * D - k)
    problem = NlpProblem(loss, {N: (1e6, 1e12), D: (1e8, 1e14)}, [budget], {k: 1e21})
    found = minimise(problem)
    G = (0.34 * 406.4 / (0.28 * 410.7)) ** (1 / 0.62)
    optimum = np.array([G * (1e21 / 6) ** (0.28 / 0.62), (1e21 / 6) ** (0.34 / 0.62) / G])

    assert found.x == pytest.approx(optimum, rel=1e-9)
    assert found.active == ("budget",) and found.agreed == found.starts
    moved, value = sensitivities(problem, found, [k])[k]
    assert moved == pytest.approx(optimum * np.array([0.28, 0.34]) / 0.62 / 1e21, rel=1e-6)
    assert value == pytest.approx(
        -0.34 * 406.4 / optimum[0] ** 0.34 * 0.28 / 0.62 / 1e21
        - 0.28 * 410.7 / optimum[1] ** 0.28 * 0.34 / 0.62 / 1e21
    )


def test_conditions_of_very_different_size_that_exclude_each_other():
    """A loss of 1.8 needs more than this compute: either the loss or the budget gives way."""
    N, D = sp.symbols("N D", positive=True)
    loss = 1.69 + 406.4 / N**0.34 + 410.7 / D**0.28
    conditions = [NlpConstraint("loss", loss - 1.8), NlpConstraint("budget", 6 * N * D - 1e22)]
    found = minimise(NlpProblem(N, {N: (1e6, 1e12), D: (1e8, 1e14)}, conditions))
    told = by_name(found)

    assert not found.feasible and set(found.conflict) == {"loss", "budget"}
    cheapest = minimise(NlpProblem(6 * N * D, {N: (1e6, 1e12), D: (1e8, 1e14)}, conditions[:1]))
    assert told["budget", "constraint"] == pytest.approx(cheapest.value - 1e22, rel=1e-6)
    lowest_loss = minimise(NlpProblem(loss, {N: (1e6, 1e12), D: (1e8, 1e14)}, conditions[1:]))
    assert told["loss", "constraint"] == pytest.approx(lowest_loss.value - 1.8, rel=1e-6)


def test_a_kink_is_found_and_not_proved():
    """max((x - 1)^2, 2 x) is least where both are equal; one slope of a kink proves nothing."""
    found = minimise(
        NlpProblem(sp.Max((x - 1) ** 2, 2 * x) + y**2, {x: (0.0, 1.0), y: (-1.0, 1.0)})
    )

    assert found.x == pytest.approx([2 - np.sqrt(3), 0.0], abs=1e-6)
    assert found.convex and not is_proved_optimal(found)


def test_no_value_anywhere_is_not_feasible():
    found = minimise(NlpProblem(sp.log(x - 2) + y, {x: (0.0, 1.0), y: (0.0, 1.0)}))

    assert not found.feasible and found.shortfalls == ()


def with_caps(caps: list[float]) -> NlpProblem:
    """The best mixture of three domains, whose gains are steepest at share 0."""
    r = [sp.Symbol(f"r{k}", nonnegative=True) for k in range(len(caps))]
    worth = sum((c * x ** sp.Rational(3, 5) for c, x in zip((1, 2, 1), r, strict=True)), sp.S.Zero)
    whole = NlpConstraint("whole", sp.Add(*r) - 1, equality=True)
    limits = [
        NlpConstraint(f"cap{k}", x - cap) for k, (x, cap) in enumerate(zip(r, caps, strict=True))
    ]
    return NlpProblem(
        1 / (worth + sp.Rational(3, 10)), dict.fromkeys(r, (0.0, 1.0)), [whole, *limits]
    )


def test_a_domain_of_which_there_is_nothing_has_no_share():
    found = minimise(with_caps([1.0, 0.0, 1.0]))

    assert is_proved_optimal(found)
    np.testing.assert_allclose(found.x, [0.5, 0.0, 0.5], atol=1e-9)


def test_caps_that_leave_one_mixture_only():
    found = minimise(with_caps([0.5, 0.1, 0.4]))

    assert found.feasible
    np.testing.assert_allclose(found.x, [0.5, 0.1, 0.4], atol=1e-9)


EXCLUDED = [
    # ends of x, what is not positive (an equality: 0), whether no such x is proved not to exist
    ((0.0, 2.0), 1.5 - x * (2 - x), False, True),
    ((-INF, INF), 1.5 - x * (2 - x), False, True),
    ((0.0, 2.0), 0.5 - x * (2 - x), False, False),
    ((0.0, 2.0), x**2 - 2, True, False),  # at one point, which is no float64 number
    ((0.0, 1.0), x**2 - 2, True, True),
]


@pytest.mark.parametrize(("ends", "expression", "equality", "excluded"), EXCLUDED)
def test_a_box_without_a_feasible_point(
    ends: tuple[float, float], expression: sp.Expr, equality: bool, excluded: bool
):
    problem = NlpProblem(x, {x: ends}, [NlpConstraint("c", expression, equality)], {})

    assert is_infeasible(problem) is excluded


def test_the_middle_of_a_box_is_inside():
    low, high = np.array([1.0, -INF, 2.0, -INF]), np.array([3.0, 5.0, INF, INF])

    np.testing.assert_array_equal(box_midpoint(low, high), [2.0, 4.0, 3.0, 0.0])


def test_a_box_is_cut_across_its_widest_side():
    far = NlpConstraint("c", 1.5 + y - x * (2 - x))
    problem = NlpProblem(x, {x: (-100.0, 100.0), y: (0.0, 1.0)}, [far], {})

    assert is_infeasible(problem)
