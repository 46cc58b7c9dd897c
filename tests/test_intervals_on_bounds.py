"""Profile intervals of fits that lie on a bound: against fits in which one parameter is fixed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from planted import grid, law_of
from scipy.stats import t as student

import lawdsl
from lawdsl.fitting.intervals import constrained_profile
from lawdsl.fitting.intervals.m_estimator import noise_of
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.law.law import Law

Table = Mapping[str, np.ndarray]
X = np.linspace(1, 6, 24)
NOISE = np.random.default_rng(5).normal(0, 0.05, len(X))

LINE = "variable x > 0\nparameter E, A > 0\nL = E + A/x\nminimize squared(L)"
SHARE = "variable x > 0\nparameter a in [0, 1]\nparameter b\nL = a*x + b\nminimize squared(L)"
CHAIN = """
variable x > 0
parameter a > 0
parameter b > a
parameter c > b
parameter d
L = a + b*x + c*x^2 + d/x
minimize squared(L)
"""
PRODUCT = """
setting h = 2
variable x > 0
parameter a, k > 0
let b0 = a*k*h
parameter b > b0
L = b/x^k + a*x
minimize squared(L)
"""
BETWEEN = """
variable x > 0
parameter a > 0
parameter b in (a, 3*a)
parameter k > 0
L = a + b/x^k
minimize squared(L)
"""


def rises(law: Law, table: Table, settings: Mapping[str, object]) -> tuple[lawdsl.Fit, dict]:
    """A fit, and for each end of its intervals how far the objective has risen where a parameter is
    fixed there and all others are fitted again: 1 where the interval should end."""
    fit = lawdsl.fit(law, table, intervals="profile", claims=False, **settings)
    held = law.with_held({}, settings.get("tie", {}))
    held = held.with_settings(**settings.get("settings", {}))
    columns = np.array([table[q.name] for q in held.variables])
    problem = problem_of(held, columns, table["L"], held.objective)
    theta = np.array([[fit.values[q.name] for q in held.parameters]])
    on_bound = sum(p.at_bound is not None for p in fit.parameters.values())
    residual = problem.slopes(theta)[0][0]
    rise = noise_of(problem, residual, problem.parameters - on_bound).rise(0.95)
    found = {}
    for name, ends in fit.intervals.ends.items():
        if name not in fit.values:  # a tied parameter moves with others
            continue
        for side, end in zip(("low", "high"), ends, strict=True):
            if abs(end) in (0.0, np.inf) or end == fit.values[name]:
                continue
            other = lawdsl.fit(law, table, fix={name: end}, starts=8, claims=False, **settings)
            found[name, side] = (other.objective.sum - fit.objective.sum) / rise
    return fit, found


@pytest.mark.parametrize(
    ("text", "loss", "settings", "on_bounds", "open_ends"),
    [
        pytest.param(LINE, 2 / X - 0.05, {}, {"E"}, set(), id="a number below"),
        pytest.param(SHARE, 1.01 * X + 2, {}, {"a"}, set(), id="a number above"),
        pytest.param(
            CHAIN, 1 + 0.6 * X + 0.59 * X**2, {}, {"b", "c"}, {("a", "low")}, id="a chain"
        ),
        pytest.param(PRODUCT, 2 / X + 1.5 * X, {}, {"b"}, set(), id="a product"),
        pytest.param(
            PRODUCT, 2 / X + 1.5 * X, {"settings": {"h": 1.5}}, {"b"}, set(), id="a setting"
        ),
        pytest.param(PRODUCT, 2 / X + 1.5 * X, {"tie": {"k": "a/2"}}, {"b"}, set(), id="a tie"),
        pytest.param(BETWEEN, 1 + 3.2 / X, {}, {"b"}, set(), id="between two"),
    ],
)
def test_profile_intervals_keep_the_bounds_that_a_fit_lies_on(
    text: str,
    loss: np.ndarray,
    settings: dict,
    on_bounds: set[str],
    open_ends: set[tuple[str, str]],
):
    law, table = law_of(text), {"x": X, "L": loss + NOISE}
    fit, found = rises(law, table, settings)

    assert on_bounds <= {name for name, p in fit.parameters.items() if p.at_bound}
    others = [name for name, p in fit.parameters.items() if not p.at_bound]
    assert set(others) <= set(fit.intervals.ends)
    for (name, side), rise in found.items():
        if (name, side) not in open_ends:
            assert rise == pytest.approx(1, abs=0.01), (name, side)
    for name, (low, high) in fit.intervals.ends.items():
        assert name not in fit.values or low <= fit.values[name] <= high


LONG_CHAIN = """
variable x > 0
parameter a > 0
parameter b > a
parameter c > b
parameter d > c
parameter e > d
parameter f > e
L = a + b*x + c*x^2 + d/x + e*log(x) + f/x^2
minimize squared(L)
"""


def test_sets_of_active_bounds_that_are_not_tried_are_counted():
    law, x = law_of(LONG_CHAIN), np.linspace(1, 6, 40)
    noise = np.random.default_rng(5).normal(0, 0.05, 40)
    exact = 1 + 0.6 * x + 0.59 * x**2 + 0.9 / x + 1.1 * np.log(x) + 1.3 / x**2
    table = {"x": x, "L": exact + noise}

    fit = lawdsl.fit(law, table, intervals="profile", claims=False)

    assert isinstance(fit, lawdsl.Fit)
    *missing, told = [d.message for d in fit.diagnostics if d.code == "F0122"]
    on_bounds = ", ".join(name for name, p in fit.parameters.items() if p.at_bound)
    assert missing == [
        f"no profile interval of {on_bounds}: on a bound that depends on other parameters"
    ]
    assert told.startswith("5 sets of active bounds were not tried")  # 2^5 - 27


@pytest.mark.slow
def test_the_sets_that_are_tried_first_are_those_next_to_the_fit(monkeypatch: pytest.MonkeyPatch):
    law, x = law_of(LONG_CHAIN), np.linspace(1, 6, 40)
    noise = np.random.default_rng(5).normal(0, 0.05, 40)
    exact = 2 + 1.9 * x + 1.8 * x**2 + 1.7 / x + 1.6 * np.log(x) + 1.5 / x**2  # against all bounds
    table = {"x": x, "L": exact + noise}

    def ends() -> Mapping[str, tuple[float, float]]:
        fit = lawdsl.fit(law, table, intervals="profile", claims=False)
        assert isinstance(fit, lawdsl.Fit)
        assert sum(p.at_bound is not None for p in fit.parameters.values()) >= 3
        return fit.intervals.ends

    few = ends()
    monkeypatch.setattr(constrained_profile, "MAX_ACTIVE_SETS", 32)
    assert {n: pytest.approx(x, rel=1e-3) for n, x in ends().items()} == few


def test_an_interval_from_a_bound_begins_there_and_ends_where_the_textbook_says():
    """E + A/x with E >= 0 and data that would take E below: the rise is that of a parabola."""
    loss = 2 / X - 0.02 + NOISE
    fit = lawdsl.fit(law_of(LINE), {"x": X, "L": loss}, intervals="profile", claims=False)
    low, high = fit.intervals.ends["E"]

    u = 1 / X
    without = loss - u * (u @ loss) / (u @ u)  # residuals of A/x alone
    noise = without @ without / (len(X) - 1)
    one = 1 - u * u.sum() / (u @ u)  # what of a constant A/x does not take up
    step, curve = -2 * (one @ without), one @ one  # objective(E) = objective(0) + step·E + curve·E²
    rise = student.ppf(0.975, len(X) - 1) ** 2 * noise
    expected = (-step + np.sqrt(step**2 + 4 * curve * rise)) / (2 * curve)
    assert fit.parameters["E"].at_bound == "lower" and step > 0
    assert low == 0 and high == pytest.approx(expected, rel=1e-3)


def coupled_table() -> Table:
    """D-CPT losses whose C lies below the least that the law's claims allow where D_min is 0.5."""
    columns = grid(N=[0.5, 1.8, 4.0], D=[0.5, 1.5, 5, 15], r=[0.1, 0.35, 0.65, 0.9])
    N, D, r = columns.values()
    loss = 1.5 + 0.3 / N**0.4 + 0.2 * r**1.5 / D**0.5 + 0.45 / (r + 0.15) ** 0.8
    draw = np.random.default_rng(3)
    return {**columns, "L": loss * np.exp(draw.normal(0, 0.003, len(N)))}


@pytest.mark.slow
def test_a_fit_on_the_bound_of_the_dcpt_law_has_profile_intervals():
    table = coupled_table()
    options = {"settings": {"D_min": 0.5}, "starts": 4, "claims": False, "rolled_check": False}
    plain = lawdsl.fit("dcpt.l3", table, **options, intervals="delta")
    fit = lawdsl.fit("dcpt.l3", table, **options, intervals="profile")

    assert fit.parameters["C"].at_bound == "lower" and "C" not in fit.intervals.ends
    assert fit.objective.sum <= plain.objective.sum * (1 + 1e-9)
    for name, (low, high) in fit.intervals.ends.items():
        assert low < fit.values[name] < high


@pytest.mark.slow
def test_the_profile_of_the_dcpt_law_on_its_bound_is_that_of_fits_with_a_fixed_parameter():
    fit, found = rises(lawdsl.load("dcpt.l3"), coupled_table(), {"settings": {"D_min": 0.5}})

    assert len(found) >= 10
    ends = {"eta": "low"}  # eta > 1: the bound comes first
    for (name, side), rise in found.items():
        if ends.get(name) == side:
            assert rise <= 1.02
        else:
            assert rise == pytest.approx(1, abs=0.03), (name, side)


def test_an_interval_from_a_bound_allows_for_the_dependence_of_the_rows_of_a_run():
    """The bound lies above the estimate, so the objective rises from it already: the end is further
    out than that of the fit without the bound."""
    draw = np.random.default_rng(6)
    x, run = np.tile(np.geomspace(1, 6, 6), 12), np.repeat(np.arange(12), 6)
    noise = np.repeat(draw.normal(0, 0.15, 12), 6) + draw.normal(0, 0.01, len(x))
    table = {"x": x, "L": 2 / x - 0.1 + noise, "run": run}
    laws = (law_of(LINE), law_of(LINE.replace("E, A > 0", "E\nparameter A > 0")))
    bounded, without = (
        lawdsl.fit(law, table, run=["run"], intervals="profile", claims=False) for law in laws
    )

    assert bounded.parameters["E"].at_bound == "lower"
    assert without.values["E"] < 0 < without.intervals.ends["E"][1]
    assert bounded.intervals.ends["E"][1] > without.intervals.ends["E"][1]


def test_delta_intervals_on_a_bound_move_along_it():
    """b = 2a exactly: what is not known of a is not known of b, so k is known less well."""
    law = law_of(
        "variable x > 0\nparameter a > 0\nparameter k > 0\nlet b0 = 2*a\nparameter b > b0\n"
        "L = a + b/x^k\nminimize squared(L)"
    )
    same = law_of("variable x > 0\nparameter a, k > 0\nL = a + 2*a/x^k\nminimize squared(L)")
    table = {"x": X, "L": 1.5 + 2.2 / X**0.8 + NOISE / 5}
    bounded, along = (
        lawdsl.fit(one, table, claims=False, intervals="delta") for one in (law, same)
    )

    assert bounded.parameters["b"].at_bound == "lower"
    for name in ("a", "k"):
        assert bounded.intervals.ends[name] == pytest.approx(along.intervals.ends[name], rel=1e-4)
