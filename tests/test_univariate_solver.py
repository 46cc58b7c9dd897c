"""Questions with one unknown: nothing is missed, and what is certain is so."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
import sympy as sp
from flint import arb
from planted import PLANTED

import lawdsl
from lawdsl.compiling.intervals import Interval, precision
from lawdsl.solving.formulate.closed_form import isolate
from lawdsl.solving.univariate.interval_functions import (
    IntervalFunction,
    UnivariateExpression,
    number,
)
from lawdsl.solving.univariate.line_minimum import Candidate, IntervalMargin, LineMinimum
from lawdsl.solving.univariate.refinement import _merge_refinement, minimize
from lawdsl.solving.univariate.roots import (
    MAX_ROOT_PIECES,
    ROOT_BITS,
    UnknownRange,
    as_float,
    roots,
)

x = sp.Symbol("x", real=True)
Numbers = Callable[[np.ndarray], np.ndarray]


def function(expression: sp.Expr) -> IntervalFunction:
    return IntervalFunction(UnivariateExpression(sp.sympify(expression), x), {})


def numbers(expression: sp.Expr) -> Numbers:
    return sp.lambdify(x, expression, "numpy")  # type: ignore[no-any-return]


def rational(value: float) -> sp.Rational:
    return sp.Rational(f"{value:.6f}")


# ---- every root


def wiggly(rng: np.random.Generator) -> sp.Expr:
    """Some waves on a slope."""
    waves = [
        rational(rng.normal()) * sp.sin(rational(rng.uniform(1, 9)) * x + rational(rng.normal()))
        for _ in range(3)
    ]
    return sp.Add(*waves) + rational(rng.normal() / 2) * x + rational(rng.normal() / 2)


def by_sampling(expression: sp.Expr, low: float, high: float) -> list[float]:
    """Where a function changes its sign on a fine grid, sharpened by mpmath."""
    at = np.linspace(low, high, 40_001)
    values = numbers(expression)(at)
    precise = sp.lambdify(x, expression, "mpmath")
    cells = np.flatnonzero(np.sign(values[:-1]) != np.sign(values[1:]))
    with mpmath.workdps(40):
        return [
            float(mpmath.findroot(precise, (at[i], at[i + 1]), solver="anderson", tol=1e-30))
            for i in cells
        ]


@pytest.mark.parametrize("seed", range(15))
def test_every_root_of_a_wiggly_function_is_found(seed: int):
    expression = wiggly(np.random.default_rng(seed))
    found = roots(function(expression), UnknownRange(-3.0, 3.0))
    expected = by_sampling(expression, -3.0, 3.0)

    assert found.undecided == ()
    assert len(found.intervals) == len(expected)
    for place, root in zip(found.intervals, expected, strict=True):
        assert as_float(place.low) - 1e-14 <= root <= as_float(place.high) + 1e-14
        with precision(ROOT_BITS):
            assert as_float(place.high - place.low) <= 1e-12


@pytest.mark.parametrize("seed", range(10))
def test_roots_that_are_known_are_found_however_near(seed: int):
    """A polynomial with roots at multiples of 1/1000, one pair 1/1000 apart, one at an end."""
    rng = np.random.default_rng(seed)
    inside = rng.choice(np.arange(10, 990, 7), size=4, replace=False)
    planted = sorted({*map(int, inside), int(inside[0]) + 1, 0})
    expression = sp.prod([x - sp.Rational(n, 1000) for n in planted])
    found = roots(function(expression), UnknownRange(0.0, 1.0))

    assert found.undecided == ()
    places = [(as_float(p.low) + as_float(p.high)) / 2 for p in found.intervals]
    assert places == pytest.approx([n / 1000 for n in planted], abs=1e-12)


@pytest.mark.parametrize(
    ("expression", "touches"),
    [
        ((x - sp.Rational(1, 3)) ** 2, 1 / 3),
        ((x - sp.Rational(1, 3)) ** 2 * (x + 1) * sp.exp(x), 1 / 3),
        (1 - sp.cos(3 * x - 1), 1 / 3),
    ],
)
def test_a_root_that_is_only_touched_is_not_decided(expression: sp.Expr, touches: float):
    """There may be none or two: what cannot be told is named, and narrow."""
    found = roots(function(expression), UnknownRange(0.0, 1.0))

    assert found.intervals == ()
    assert found.undecided
    assert any(as_float(p.low) <= touches <= as_float(p.high) for p in found.undecided)
    assert sum(as_float(p.high - p.low) for p in found.undecided) < 1e-3


@pytest.mark.parametrize("high", [1.0, 0.4])
def test_a_root_at_the_closed_end_0_is_one(high: float):
    for expression in (x * (x + sp.Rational(1, 2)), x**2 + x / 2, -x, x**3 - 2 * x):
        (place,) = roots(function(expression), UnknownRange(0.0, high)).intervals
        assert as_float(place.low) == as_float(place.high) == 0


def test_a_function_that_is_0_everywhere_has_no_single_roots():
    assert roots(function(sp.S.Zero), UnknownRange(0.0, 1.0)).identically_zero


def test_all_that_is_undecided_shares_one_limit_of_work(monkeypatch: pytest.MonkeyPatch):
    """That sin(x)^2 does not change its sign at its 318 zeros is known nowhere to rounding."""
    looked_at = []
    sign = IntervalFunction.sign

    def counted(self: IntervalFunction, piece: Interval) -> int | None:
        looked_at.append(piece)
        return sign(self, piece)

    monkeypatch.setattr(IntervalFunction, "sign", counted)
    found = roots(function(sp.sin(x) ** 2), UnknownRange(0.5, 1000.0))

    assert found.undecided
    assert len(looked_at) < 10 * MAX_ROOT_PIECES


def test_roots_far_out_and_near_0_are_found():
    """x^0.1 - 1e-3 and its like: at 1e-30 and at 1e25, on the whole half-line."""
    y = sp.Symbol("x", positive=True)
    for expression, root in (
        (y ** sp.Rational(1, 10) - sp.Rational(1, 1000), 1e-30),
        (3 - y ** sp.Rational(1, 25) * sp.Rational(3, 10), 1e25),
        (5 * y ** sp.Rational(-3, 10) - 2 * y ** sp.Rational(1, 10), 2.5**2.5),
    ):
        formula = UnivariateExpression(expression, y)
        found = roots(IntervalFunction(formula, {}), UnknownRange(0.0, math.inf, True, True))
        assert found.undecided == ()
        (place,) = found.intervals
        assert as_float(place.low) == pytest.approx(root, rel=1e-12)


# ---- the least value


def least_by_sampling(
    goal: sp.Expr, margins: list[sp.Expr], low: float, high: float
) -> tuple[float, float] | None:
    at = np.linspace(low, high, 20_001)
    allowed = np.ones(len(at), dtype=bool)
    for margin in margins:
        allowed &= numbers(margin)(at) >= 0
    if not allowed.any():
        return None
    values = np.broadcast_to(numbers(goal)(at), at.shape)[allowed]
    return float(at[allowed][np.argmin(values)]), float(np.min(values))


def least(goal: sp.Expr, margins: list[sp.Expr], low: float, high: float) -> LineMinimum:
    return minimize(
        function(goal), [IntervalMargin(function(m)) for m in margins], UnknownRange(low, high)
    )


def test_a_single_point_at_which_a_sign_is_not_decided_may_be_feasible():
    """There (x - 1)^2 is 1e-24, and interval arithmetic on its expanded form knows no sign of it."""
    equation = sp.exp(x) - sp.exp(sp.Rational("1.000000000001"))
    conditions = [
        IntervalMargin(function(equation), equality=True),
        IntervalMargin(function(x**2 - 2 * x + 1)),
    ]
    found = minimize(function(x), conditions, UnknownRange(0.0, 3.0))

    assert not (found.best is None and found.certain)


def test_an_end_of_the_range_that_may_be_better_stays_an_alternative():
    """A part of the range that is looked at alone has two candidates that are too alike to tell."""

    def candidate(at: float, kind: str) -> Candidate:
        return Candidate(number(at), kind)

    def values(low: str, high: str) -> Interval:
        return Interval(arb(low), arb(high))

    end, cut, best = candidate(0.0, "end"), candidate(1.0, "end"), candidate(0.7, "stationary")
    line = LineMinimum(candidate(40.0, "stationary"), values("5", "5"), certain=False)
    alone = LineMinimum(best, values("1", "1.5"), (end, cut), equal=False, gap=0.25)
    found = _merge_refinement(line, alone, UnknownRange(0.0, 1.0), UnknownRange(0.0, 100.0))

    assert (found.best, found.others, found.equal, found.gap) == (best, (end,), False, 0.25)


@pytest.mark.parametrize("seed", range(15))
def test_nothing_that_is_allowed_is_below_the_least_value(seed: int):
    """Wiggly goals under none to two wiggly constraints, against 20,000 points."""
    rng = np.random.default_rng(100 + seed)
    goal, margins = wiggly(rng), [wiggly(rng) for _ in range(seed % 3)]
    found = least(goal, margins, -2.0, 2.0)
    sampled = least_by_sampling(goal, margins, -2.0, 2.0)

    assert found.certain
    if found.best is None:
        assert sampled is None
        return
    value = float(numbers(goal)(np.float64(found.best.point)))
    assert all(numbers(m)(np.float64(found.best.point)) >= -1e-12 for m in margins)
    assert sampled is None or value <= sampled[1] + 1e-12
    if not margins:
        assert sampled is not None
        assert value >= sampled[1] - 1e-5  # a step of 2e-4 comes as near


@pytest.mark.parametrize("seed", range(10))
def test_all_stationary_points_are_told_with_their_kind(seed: int):
    goal = wiggly(np.random.default_rng(200 + seed))
    found = least(goal, [], -2.0, 2.0)
    slope, bend = sp.diff(goal, x), numbers(sp.diff(goal, x, 2))
    expected = by_sampling(slope, -2.0, 2.0)

    assert [at for at, _ in found.stationary] == pytest.approx(expected, abs=1e-12)
    assert [turn for _, turn in found.stationary] == [
        int(np.sign(bend(np.float64(at)))) for at in expected
    ]


def test_a_flat_point_that_is_no_turn_is_told_as_such():
    """(x - 1/3)^3: its slope touches 0, and the function goes on rising."""
    found = least(sp.expand((x - sp.Rational(1, 3)) ** 3), [], 0.0, 1.0)
    assert found.certain and found.best is not None and found.best.point == 0.0
    assert [(at, turn) for at, turn in found.stationary] == [(pytest.approx(1 / 3), 0)]


@pytest.mark.parametrize(
    ("goal", "best"),
    [
        (sp.Abs(x - sp.Rational(1, 3)), 1 / 3),
        (sp.Max(1 - x, x**2), (5**0.5 - 1) / 2),
        (sp.Max(x - 1, sp.Rational(-1, 2) * x), 2 / 3),
    ],
)
def test_a_kink_is_an_optimum_like_others(goal: sp.Expr, best: float):
    found = least(goal, [], 0.0, 1.0)
    assert found.certain and found.best is not None
    assert found.best.point == pytest.approx(best, rel=1e-12)


def test_constraints_that_leave_a_single_point():
    """x <= 1/2 and x >= 1/2."""
    half = sp.Rational(1, 2)
    found = least(x, [half - x, x - half], 0.0, 1.0)
    assert found.best is not None and found.best.point == 0.5
    assert found.best.kind == "constraint" and found.best.constraints == (0, 1)


def test_of_two_that_are_alike_both_are_told():
    """0.5 is where [0, 2] is cut, so that the sign there is never certain by itself."""
    found = least(sp.cos(2 * sp.pi * x), [], 0.0, 2.0)
    assert found.best is not None
    places = sorted([found.best.point, *(c.point for c in found.others)])
    assert places == pytest.approx([0.5, 1.5], abs=1e-12)


# ---- shipped questions with random laws


def drawn(rng: np.random.Generator) -> dict[str, float]:
    """Parameters of dcpt.l3, C on either side of C0."""
    return {
        "E": rng.uniform(0.5, 2),
        "A": rng.uniform(0.1, 1),
        "alpha": rng.uniform(0.2, 0.8),
        "B": rng.uniform(0.1, 1),
        "beta": rng.uniform(0.2, 0.8),
        "eta": rng.uniform(1.05, 3),
        "gamma": rng.uniform(0.2, 1.5),
        "epsilon": rng.uniform(0.03, 0.3),
        "C": math.exp(rng.uniform(-3, 1)),
    }


def losses(values: dict[str, float], **at: object) -> np.ndarray:
    return PLANTED["dcpt.l3"].formula(**at, **values)


SHARES = np.linspace(0, 1, 20_001)


@pytest.mark.parametrize("seed", range(8))
def test_no_share_is_better_for_a_limited_corpus(seed: int):
    rng = np.random.default_rng(seed)
    values, D_d = drawn(rng), float(np.exp(rng.uniform(-1, 3)))
    found = lawdsl.solve("dcpt.limited_data", domain=values, N=1.8, D_d=D_d)
    r = SHARES[SHARES > 0]
    r = r[D_d / r >= 0.1311]
    sampled = losses(values, N=1.8, D=D_d / r, r=r)

    assert found.certain and found.goal is not None
    assert found.goal.value <= np.min(sampled) * (1 + 1e-12)
    assert abs(found["r_d"] - r[np.argmin(sampled)]) < 1e-3


@pytest.mark.parametrize("seed", range(8))
def test_no_allowed_share_keeps_less_domain_loss(seed: int):
    rng = np.random.default_rng(50 + seed)
    general, domain = drawn(rng), drawn(rng)
    limit = float(losses(general, N=1.8, D=10.0, r=rng.uniform(0.05, 0.95)))
    found = lawdsl.solve(
        "dcpt.tradeoff", general=general, domain=domain, N=1.8, D=10, L0=limit, T=0
    )
    allowed = losses(general, N=1.8, D=10.0, r=1 - SHARES) <= limit
    sampled = losses(domain, N=1.8, D=10.0, r=SHARES[allowed])

    assert found.certain and found.goal is not None
    assert found.goal.value <= np.min(sampled) * (1 + 1e-12)
    assert float(losses(general, N=1.8, D=10.0, r=1 - found["r_d"])) <= limit * (1 + 1e-12)


ASKED = {
    "dcpt.tradeoff": {"N": 1.8, "D": 10.0, "L0": 2.9, "T": 0.02},
    "dcpt.limited_data": {"N": 1.8, "D_d": 3.0},
    "dcpt.allocation": {"r": 0.4, "C": 60.0},
    "dcpt.tokens_for_loss": {"N": 1.8, "r": 0.4, "target": 2.95},
    "chinchilla.allocation": {"C": 1e22},
    "chinchilla.smallest_model": {"D": 1e12, "target": 2.1},
    "mixing.critical_share": {"L0": 2.87},
    "cmr.turning_point": {"lambda": 50.0},
    "cmr.ratio_at": {"T": 60.0},
}
INTERIOR = dict(E=1.1, A=0.3, alpha=0.4, B=0.6, beta=0.35, eta=1.6, gamma=0.6, epsilon=0.12, C=0.7)
LAWS: dict[str, dict[str, dict[str, float]]] = {
    "dcpt.tradeoff": {
        "general": dict(
            E=1.9, A=0.3, alpha=0.4, B=0.15, beta=0.3, eta=1.5, gamma=0.4, epsilon=0.1, C=0.5
        ),
        "domain": {**INTERIOR, "C": 4.0},
    },
    "dcpt.limited_data": {"domain": INTERIOR},
    "dcpt.allocation": {"domain": INTERIOR},
    "dcpt.tokens_for_loss": {"loss": {**INTERIOR, "C": 0.8}},
    "chinchilla.allocation": {
        "loss": {"E": 1.8172, "A": 482.01, "B": 2085.43, "alpha": 0.3478, "beta": 0.3658}
    },
    "chinchilla.smallest_model": {
        "loss": {"E": 1.8172, "A": 482.01, "B": 2085.43, "alpha": 0.3478, "beta": 0.3658}
    },
    "mixing.critical_share": {"old": {"c": 2.81034, "k": 0.18385, "t": -3.74075}},
    "cmr.turning_point": {
        "domain": {"alpha1": -0.05, "s1": 0.4, "beta1": 0.0},
        "general": {"alpha2": 0.02, "s2": 0.3, "alpha3": -0.004, "s3": 0.6, "beta2": 0.0},
    },
    "cmr.ratio_at": {"ratio": {"alpha4": 0.22524761, "s4": 0.26944345, "beta3": -0.48139982}},
}
CASES = [(question, name) for question, given in ASKED.items() for name in given]


@pytest.fixture(scope="module")
def asked() -> dict[str, lawdsl.Asked]:
    return {name: lawdsl.Asked(name, **LAWS[name]) for name in ASKED}


@pytest.mark.parametrize(("question", "name"), CASES)
def test_sensitivities_are_finite_differences(
    question: str, name: str, asked: dict[str, lawdsl.Asked]
):
    ready, given = asked[question], ASKED[question]
    here = ready.answer(given)
    step = 1e-5 * given[name]
    ahead, behind = (ready.answer({**given, name: given[name] + s * step}) for s in (1, -1))
    found = next((s for s in here.sensitivities if s.name == name), None)

    assert here.ok and here.goal and ahead.goal and behind.goal
    for unknown in (u.name for u in here.unknowns):
        difference = (ahead[unknown] - behind[unknown]) / (2 * step)
        told = found.unknowns[unknown] if found else 0.0
        assert told == pytest.approx(difference, rel=1e-5, abs=1e-9 * abs(here[unknown]))
    difference = (ahead.goal.value - behind.goal.value) / (2 * step)
    told = found.goal if found else 0.0
    assert told == pytest.approx(difference, rel=1e-5, abs=1e-9 * abs(here.goal.value))


@pytest.mark.parametrize("question", [q for q in ASKED if q != "cmr.turning_point"])
def test_closed_forms_agree_with_the_certified_roots(question: str, asked: dict[str, lawdsl.Asked]):
    """The formulas, at the numbers, are what was found and certified by them."""
    answer = asked[question].answer(ASKED[question])
    if question in ("dcpt.limited_data", "dcpt.tradeoff"):  # sums of two powers of the share
        assert answer.unknowns[0].formula is None
        assert answer.method == "certified by interval arithmetic"
    else:
        assert answer.method == "closed form, agreeing with the certified root"
        assert all(u.formula for u in answer.unknowns)


@pytest.mark.parametrize(
    ("equation", "expected"),
    [
        ("k*exp(t*x) - L", "log(L/k)/t"),
        ("a*x**b - c*x**d", "(c/a)**(1/(b - d))"),
        ("a - b*log(x)", "exp(a/b)"),
        ("L - c - k/(x + d)**g", "(k/(L - c))**(1/g) - d"),
        ("a*(1 + x)**b - L", "(L/a)**(1/b) - 1"),
        ("b**x - a", "log(a)/log(b)"),
    ],
)
def test_equations_that_algebra_turns_round(equation: str, expected: str):
    names = {n: sp.Symbol(n, positive=True) for n in "k t L a b c d g x".split()}
    found = isolate(sp.sympify(equation, locals=names), names["x"])
    wanted = sp.sympify(expected, locals=names)
    numbers = [1.3, 2.2, 0.4, 1.7, 0.6, 0.8, 9.0, 0.9, 1.0, 1.1]
    at = dict(zip((names[n] for n in "abcdgkLtx"), map(sp.Float, numbers), strict=False))

    assert found is not None and names["x"] not in found.free_symbols
    assert float(found.xreplace(at)) == pytest.approx(float(wanted.xreplace(at)))


@pytest.mark.parametrize(
    "equation", ["x + exp(x) - a", "x*exp(x) - a", "sin(x) - a", "x**x - a", "x**b - x**c - a"]
)
def test_equations_that_it_does_not_are_left(equation: str):
    names = {n: sp.Symbol(n, positive=True) for n in "a b c x".split()}
    assert isolate(sp.sympify(equation, locals=names), names["x"]) is None
