"""Intervals against what is known of them: textbook answers, definitions, and how often they cover."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.coverage import FAMILIES, METHODS, covered
from planted import PLANTED, grid, law_of
from quick import without
from scipy.stats import binom, norm, t as student

import lawdsl
from lawdsl.fitting.bound_distances import within_limits
from lawdsl.fitting.intervals.bootstrap import bootstrap
from lawdsl.fitting.intervals.delta import linearised_errors
from lawdsl.fitting.intervals.m_estimator import noise_of
from lawdsl.fitting.intervals.profile import profile
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.preparation.prepare import prepare
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.multistart import optimum
from lawdsl.fitting.transforms import without_coupled_limits
from lawdsl.law.law import Law

Table = Mapping[str, np.ndarray]

LINE = law_of("variable x\nparameter a, b\nL = a*x + b\nminimize squared(L)")
CURVE = law_of("variable x\nparameter a, b, c\nL = a*x^2 + b*x + c\nminimize squared(L)")


def fitted(law: Law, table: Table, weights: np.ndarray | None = None) -> tuple[Problem, np.ndarray]:
    """A fit whose bounds are numbers, and its parameters."""
    columns = np.array([table[q.name] for q in law.variables], dtype=float)
    problem = problem_of(law, columns, table[law.output], law.objective, weights)
    theta = best(law, problem, 6)[0]
    return replace(
        problem, transforms=without_coupled_limits(problem.transforms) or problem.transforms
    ), theta


def best(law: Law, problem: Problem, starts: object) -> tuple[np.ndarray, float]:
    with np.errstate(all="ignore"):  # searches pass through places where a law overflows
        found = optimum(prepare(law), problem, starts, 0)  # type: ignore[arg-type]
    return found.theta, found.loss


def none_held(theta: np.ndarray) -> np.ndarray:
    return np.zeros(len(theta), dtype=bool)


def noisy(law: str, noise: float, seed: int) -> Table:
    return PLANTED[law].table(noise, seed)


def line(rows: int, seed: int) -> Table:
    x = np.linspace(-1, 3, rows)
    return {"x": x, "L": 2 * x - 1 + np.random.default_rng(seed).normal(0, 0.3, rows)}


@pytest.mark.parametrize("method", [linearised_errors, profile], ids=["delta", "profile"])
@pytest.mark.parametrize("law", [LINE, CURVE], ids=["line", "curve"])
@pytest.mark.parametrize(("rows", "level"), [(5, 0.95), (12, 0.95), (12, 0.6), (400, 0.99)])
def test_of_a_linear_law_it_is_the_interval_of_textbooks(
    law: Law, rows: int, level: float, method: Callable
):
    table = line(rows, 3)
    problem, theta = fitted(law, table)
    found = method(problem, theta, none_held(theta), level)
    design = np.vander(table["x"], len(theta))
    middle, (squares,), *_ = np.linalg.lstsq(design, table["L"])
    left = rows - len(theta)
    errors = np.sqrt(squares / left * np.diag(np.linalg.inv(design.T @ design)))
    half = student.ppf((1 + level) / 2, left) * errors

    assert found.low == pytest.approx(middle - half, rel=1e-6)
    assert found.high == pytest.approx(middle + half, rel=1e-6)


@pytest.mark.parametrize("method", [linearised_errors, profile], ids=["delta", "profile"])
def test_a_row_of_weight_three_is_three_rows(method: Callable):
    table = line(20, 5)
    times = np.tile([1, 3], 10)
    problem, theta = fitted(LINE, table, times.astype(float))
    longer, same = fitted(LINE, {name: np.repeat(column, times) for name, column in table.items()})
    one, other = (method(p, t, none_held(t), 0.95) for p, t in ((problem, theta), (longer, same)))

    assert one.low == pytest.approx(other.low, rel=1e-9)
    assert one.high == pytest.approx(other.high, rel=1e-9)


@pytest.mark.parametrize("name", ["chinchilla", "kaplan", "mixing.step", "cmr.domain", "dcpt.l5"])
def test_at_the_ends_of_a_profile_the_objective_has_risen_as_it_should(name: str):
    """Fits with the parameter held at the end, made anew, say the same."""
    law, table = lawdsl.load(name), noisy(name, 0.003, 8)
    problem, theta = fitted(law, table)
    found = profile(problem, theta, none_held(theta), 0.95)
    base = problem.losses_at(theta[None])[0]
    residual = problem.residuals_of(problem.model.value(theta[None]))[0]
    rise = noise_of(problem, residual, len(theta)).rise(0.95)

    for i, q in enumerate(law.parameters):
        for end in (found.low[i], found.high[i]):
            held = law.with_held({q.name: float(end)}, {})
            columns = np.array([table[v.name] for v in held.variables], dtype=float)
            again = problem_of(held, columns, table[law.output], law.objective)
            start = {p.name: float(theta[k]) for k, p in enumerate(law.parameters) if k != i}
            loss = min(best(held, again, starts)[1] for starts in (start, 6))
            assert loss - base == pytest.approx(rise, rel=2e-3)


def test_a_bootstrap_is_the_same_under_its_seed_however_it_is_cut_up(monkeypatch):
    problem, theta = fitted(lawdsl.load("chinchilla"), noisy("chinchilla", 0.004, 1))
    one, again, other = (bootstrap(problem, theta, 60, seed) for seed in (4, 4, 5))
    monkeypatch.setattr("lawdsl.fitting.intervals.bootstrap.MAX_BATCH_NUMBERS", 5 * 36 * 7)
    pieces = bootstrap(problem, theta, 60, 4)

    assert np.array_equal(one.theta, again.theta)
    assert pieces.theta == pytest.approx(one.theta, rel=1e-6)
    assert not np.any(one.theta == other.theta)


def test_resamples_scatter_as_errors_do_where_the_law_is_linear():
    """Rows at the ends of the design draw the line most: what that hides is made up for."""
    problem, theta = fitted(LINE, line(15, 2))
    spread = linearised_errors(problem, theta, none_held(theta), 0.95)
    slopes = problem.slopes(theta[None])[1][0]
    influence = slopes @ np.linalg.inv(slopes.T @ slopes)
    left = 1 - np.sum(influence * slopes, axis=1)
    found = bootstrap(problem, theta, 100)

    assert found.underestimation**2 == pytest.approx(
        np.sum(influence**2, axis=0) / (left @ influence**2), rel=1e-9
    )
    assert np.all(found.underestimation > np.sqrt(15 / 14))
    widths = [
        np.median(
            [np.diff(bootstrap(p, t, 400, 0).ends(0.95, 2), axis=0)[0] / _width(p, t)], axis=0
        )
        for p, t in (fitted(LINE, line(15, seed)) for seed in range(12))
    ]
    assert np.median(widths, axis=0) == pytest.approx([1, 1], abs=0.12)
    assert np.all(spread.inflation == 1)


def _width(problem: Problem, theta: np.ndarray) -> np.ndarray:
    spread = linearised_errors(problem, theta, none_held(theta), 0.95)
    return spread.high - spread.low


@pytest.mark.parametrize("name", without(["dcpt.share", "mixing.size", "dcpt.l4"], ["dcpt.l4"]))
def test_no_interval_leaves_a_bound(name: str):
    """So much noise that the data alone would take parameters anywhere."""
    law = lawdsl.load(name)
    problem, theta = fitted(law, noisy(name, 0.03, 4))
    held = none_held(theta)
    own = problem_of(law, problem.columns, problem.target, law.objective)
    drawn = bootstrap(own, theta, 100)
    least = np.array([1.0 if q.name in ("b", "c") else 0.0 for q in law.parameters])
    ends = [linearised_errors(problem, theta, held, 0.95), profile(problem, theta, held, 0.95)]

    for low in (*(e.low for e in ends), drawn.ends(0.95, len(theta))[0]):
        assert np.all(low >= least)


def test_resamples_keep_a_bound_that_depends_on_other_parameters():
    law = lawdsl.load("dcpt.l3")
    problem, theta = fitted(law, noisy("dcpt.l3", 0.004, 4))
    own = problem_of(law, problem.columns, problem.target, law.objective)
    drawn, loose = (bootstrap(p, theta, 60) for p in (own, problem))

    assert all(within_limits(own.transforms, theta) for theta in drawn.theta)
    assert not all(within_limits(own.transforms, theta) for theta in loose.theta)


def test_what_is_held_has_no_interval_and_the_others_have_that_of_the_smaller_law():
    table = line(30, 6)
    problem, theta = fitted(CURVE, table)
    held = np.array([True, False, False])
    settled = f"setting h = {float(theta[0])!r}\nvariable x\nparameter b, c"
    smaller, others = fitted(law_of(f"{settled}\nL = h*x^2 + b*x + c\nminimize squared(L)"), table)
    found = linearised_errors(problem, theta, held, 0.95)
    alone = linearised_errors(smaller, others, none_held(others), 0.95)
    further = profile(problem, theta, held, 0.95)  # on the way the held one may move

    assert found.low[1:] == pytest.approx(alone.low, rel=1e-5)
    assert found.high[1:] == pytest.approx(alone.high, rel=1e-5)
    assert np.isnan([found.low[0], found.high[0], further.low[0], further.high[0]]).all()
    assert np.all(further.low[1:] < found.low[1:]) and np.all(further.high[1:] > found.high[1:])


@pytest.mark.parametrize("name", ["cmr.domain", "mixing.two_domain"])
def test_rows_that_are_repeated_within_runs_say_nothing_more(name: str):
    law, table = lawdsl.load(name), noisy(name, 0.01, 3)
    rows = len(table[law.output])
    runs, repeated = np.arange(rows), np.repeat(np.arange(rows), 5)
    once, theta = fitted(law, table)
    often, same = fitted(law, {name: np.repeat(column, 5) for name, column in table.items()})
    one = linearised_errors(once, theta, none_held(theta), 0.95, runs)
    five = linearised_errors(often, same, none_held(theta), 0.95, repeated)
    blind = linearised_errors(often, same, none_held(theta), 0.95)

    assert five.errors == pytest.approx(one.errors, rel=1e-5)
    assert five.half_width == pytest.approx(student.ppf(0.975, rows - 1))
    assert one.half_width == pytest.approx(student.ppf(0.975, rows - 3))
    assert np.all(five.errors > 1.7 * blind.errors)


def test_the_error_by_run_is_that_of_the_jackknife():
    """Refits without one run after the other, for a law that is linear."""
    rng = np.random.default_rng(4)
    runs = np.repeat(np.arange(8), 5)
    x = rng.uniform(0, 2, 8)[runs] + 0.1 * rng.normal(size=40)
    table = {"x": x, "L": 1 + 3 * x + rng.normal(0, 0.2, 8)[runs] + 0.05 * rng.normal(size=40)}
    problem, theta = fitted(LINE, table)
    found = linearised_errors(problem, theta, none_held(theta), 0.95, runs)
    left = [np.polyfit(x[runs != k], table["L"][runs != k], 1) for k in range(8)]
    errors = np.sqrt(7 / 8 * np.sum((np.array(left) - theta) ** 2, axis=0))

    assert found.errors == pytest.approx(errors, rel=1e-6)
    assert found.high - theta == pytest.approx(student.ppf(0.975, 7) * errors, rel=1e-6)


def test_what_one_run_alone_determines_has_no_end():
    rng = np.random.default_rng(0)
    columns = grid(x=np.linspace(0, 1, 8), z=[0.0, 0.0, 0.0, 0.0, 1.0])
    law = law_of("variable x, z\nparameter a, b, s\nL = a*x + b + s*z\nminimize squared(L)")
    table = {**columns, "L": columns["x"] + columns["z"] + rng.normal(0, 0.1, 40)}
    problem, theta = fitted(law, table)
    z = columns["z"].astype(int)
    runs = np.where(z == 1, 0, 1 + np.arange(40) % 7)
    found = linearised_errors(problem, theta, none_held(theta), 0.95, runs)
    other = profile(problem, theta, none_held(theta), 0.95, runs)

    assert (found.low[2], found.high[2]) == (other.low[2], other.high[2]) == (-np.inf, np.inf)
    assert np.all(np.isfinite(found.high[:2])) and np.all(np.isfinite(other.high[:2]))


@pytest.mark.parametrize("share", [pytest.param(1e-3, marks=pytest.mark.slow), 0.3, 1.5, 10.0])
@pytest.mark.parametrize("rows", [40, 4000])
def test_how_many_errors_lie_within_delta_is_known_however_narrow_it_is(share: float, rows: int):
    """The mean over tables; a fit of four parameters has drawn the residuals towards 0."""
    law = law_of(
        "variable x\nparameter a, b, c, d\nL = a*x^3 + b*x^2 + c*x + d\nminimize squared(L)"
    )
    x = np.linspace(-1, 1, rows)
    problem = problem_of(law, x[None], np.ones(rows), law.objective)
    objective = replace(law.objective, loss="huber", delta=share)
    rng = np.random.default_rng(7)
    found = []
    for _ in range(150 if rows < 100 else 4):
        target = rng.normal(size=rows)
        own = replace(problem, target=target, objective=objective)
        start = np.linalg.lstsq(np.vander(x, 4), target)[0]
        theta = best(law, own, dict(zip("abcd", map(float, start), strict=True)))[0]
        residual = own.residuals_of(own.model.value(theta[None]))[0]
        found.append(noise_of(own, residual, 4).curvature)

    assert np.mean(found) == pytest.approx(2 * norm.cdf(share) - 1, rel=0.08)


def is_likely_count(hits: float, count: float) -> bool:
    """Whether so many hits are likely, were 95 % of the intervals to cover."""
    return bool(binom.ppf(1e-4, int(count), 0.95) <= hits <= binom.ppf(1 - 1e-4, int(count), 0.95))


@pytest.mark.parametrize(
    "method", [pytest.param(m, marks=pytest.mark.slow if m != "delta" else ()) for m in METHODS]
)
def test_95_of_100_intervals_cover(method: str):
    found = covered(FAMILIES["mixing.step"], 120, [method], 0.95, 300)

    for hits, count in zip(found.hits[method], found.intervals[method], strict=True):
        assert is_likely_count(hits, count)


@pytest.mark.slow
def test_intervals_by_row_cover_less_where_rows_of_a_run_share_an_error():
    family = FAMILIES["chinchilla 12 runs"]
    by_run, by_row = (
        covered(f, 60, ["delta"], 0.95, 0).shares("delta")
        for f in (family, replace(family, by_row=True))
    )

    assert np.all(by_row[:3] < 80) and np.all(by_run[:3] > 85)  # E, A, alpha


# Where a nominal 95 % does not cover 93 to 97 %, and what it covers
ELSEWHERE: dict[tuple[str, str], tuple[float, float]] = {
    **{(f"dcpt.l3 as used, E {where} 0", "delta"): (86.0, 93.0) for where in ("near", "at")},
    **{
        (f"mixing.{name}, huber, 0.3 %", method): (87.0, 95.0)
        for name in ("m1", "additive")
        for method in METHODS
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize("name", list(FAMILIES))
def test_intervals_of_every_family_of_laws_cover(name: str, method: str, record_property):
    """The mean over the parameters; 1000 simulations, which is 0.7 either way for one of them."""
    found = covered(FAMILIES[name], 1000, [method], 0.95, 400)
    shares = found.shares(method)[: len(found.names) - 2]
    low, high = ELSEWHERE.get((name, method), (93.0, 97.0))
    record_property("figure", f"coverage of {name}, {method}: {np.mean(shares):.1f} %")

    assert low <= np.mean(shares) <= high
