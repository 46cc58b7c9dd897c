"""Fits: what was planted comes back, the same every time, and a verdict says what to think of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from planted import PLANTED, grid, law_of
from quick import without

import lawdsl
from lawdsl.fitting import fit as fitting
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.solvers import multistart as searching
from lawdsl.fitting.solvers.descent import polish
from lawdsl.fitting.transforms import to_free

LINE = law_of("variable x > 0\nparameter a, b\nL = a*x + b\nminimize squared(L)")
X = np.linspace(1.0, 5.0, 12)
NOISE = np.random.default_rng(5).normal(size=400)


def codes(fit: lawdsl.Fit) -> list[str]:
    return [d.code for d in fit.diagnostics]


def refused(*arguments: Any, **options: Any) -> lawdsl.Diagnostic:
    with pytest.raises(lawdsl.LawdslError) as error:
        lawdsl.fit(*arguments, **options)
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.help
    return diagnostic


WITHOUT_INDICES = sorted(name for name in PLANTED if not lawdsl.load(name).indexed)


APART = ("cmr.general", "mixing.critical")  # below, and in `test_critical.py`: c is on a grid


CLEAN = [name for name in WITHOUT_INDICES if name not in APART]


@pytest.mark.parametrize("name", without(CLEAN, ["repeated"]))
def test_planted_parameters_are_recovered_from_clean_data(name: str):
    """Those of laws with index sets are in `test_fits.py`."""
    fit = lawdsl.fit(name, PLANTED[name].table())

    assert fit.values == pytest.approx(PLANTED[name].parameters, rel=1e-10)
    broken = [d for d in fit.diagnostics if d.code == "F0113"]  # a claim that is conditional
    scaled = [d for d in fit.diagnostics if d.code == "D0123"]  # planted in billions, without units
    rare = [d for d in fit.diagnostics if d.code == "F0104"]  # two powers with alike exponents
    assert [*fit.diagnostics] == rare + scaled + broken and (name == "repeated") == bool(scaled)
    assert (name == "cmr.general_apart") == bool(rare)
    assert fit.verdict == ("caution" if scaled or rare else "trusted")
    assert fit.converged and fit.agreement.agreed >= 2
    assert fit.metrics.r2 == pytest.approx(1)


@pytest.mark.slow
def test_two_powers_that_may_change_places_are_recovered_as_a_pair():
    p = PLANTED["cmr.general"]
    v = lawdsl.fit(
        "cmr.general", p.table(), claims=False, rolled_check=False, intervals="delta"
    ).values
    found = sorted([(v["s2"], v["alpha2"]), (v["s3"], v["alpha3"])])

    assert found == [pytest.approx((0.4, 0.3), rel=1e-8), pytest.approx((0.9, -0.05), rel=1e-8)]
    assert v["beta2"] == pytest.approx(p.parameters["beta2"], rel=1e-8)


def test_the_same_seed_gives_the_same_json_to_the_last_digit():
    table = PLANTED["dcpt.share"].table(0.003)
    first, again = (json.dumps(lawdsl.fit("dcpt.share", table, seed=3).to_json()) for _ in "12")

    assert first == again


def test_the_order_of_the_rows_changes_nothing():
    """Chosen starts, sums and digests do not depend on it, so the JSON is the same, bit for bit."""
    table = PLANTED["chinchilla"].table(0.003)
    order = np.random.default_rng(0).permutation(len(table["L"]))
    mixed = {name: column[order] for name, column in table.items()}
    straight = lawdsl.fit("chinchilla", table, starts=6).to_json()

    assert lawdsl.fit("chinchilla", mixed, starts=6).to_json() == straight
    other = {**table, "L": table["L"][order]}
    assert (
        lawdsl.fit(
            "chinchilla", other, starts=2, claims=False, rolled_check=False, intervals="delta"
        ).data.digest
        != straight["data"]["digest"]
    )


def test_other_seeds_reach_the_same_minimum():
    table = PLANTED["chinchilla"].table(0.003)
    sums = [lawdsl.fit("chinchilla", table, starts=8, seed=seed).objective.sum for seed in range(3)]

    assert sums == pytest.approx([sums[0]] * 3, rel=1e-12)


@pytest.mark.parametrize("name", ["huber(log)", "huber(raw)", "squared(log)", "squared(raw)"])
def test_each_objective_is_minimised(name: str):
    """At the fit every parameter moved a little to either side costs more."""
    table = PLANTED["dcpt.share"].table(0.003)
    fit = lawdsl.fit("dcpt.share", table, objective=name, delta=2e-3 if "huber" in name else None)
    law = lawdsl.load("dcpt.share")
    chosen = fitting.chosen_objective(law, name, 2e-3 if "huber" in name else None)
    problem = problem_of(law, np.array([table["r"]]), table["L"], chosen)
    at = to_free(problem.transforms, np.array([list(fit.values.values())]))
    around = [at + sign * 1e-4 * np.eye(4)[i] for i in range(4) for sign in (1, -1)]

    assert problem.losses(at)[0] == pytest.approx(fit.objective.sum, rel=1e-9)
    assert np.all(problem.losses(np.concatenate(around)) > fit.objective.sum)
    shown = f"{'log(L)' if 'log' in name else 'L'}{', 0.002' if 'huber' in name else ''}"
    assert fit.objective.name == f"{name.partition('(')[0]}({shown})"
    both = {"log": fit.objective.log.sum, "raw": fit.objective.raw.sum}
    assert fit.objective.sum == pytest.approx(both["log" if "log" in name else "raw"], rel=1e-9)


def test_a_line_equals_the_closed_form():
    y = 2 * X + 1 + 0.1 * NOISE[:12]
    fit = lawdsl.fit(LINE, {"x": X, "L": y})
    slope, height = np.polyfit(X, y, 1)

    assert fit.values == pytest.approx({"a": slope, "b": height}, rel=1e-12)
    assert fit.objective.mean * 12 == pytest.approx(fit.objective.sum)


def test_an_outlier_pulls_squares_but_not_hubers():
    y = 2 * X + 1 + 0.001 * NOISE[:12]
    y[3] += 5
    fits = {
        name: lawdsl.fit(LINE, {"x": X, "L": y}, objective=name).values["a"]
        for name in ("huber(raw)", "squared(raw)")
    }

    assert fits["huber(raw)"] == pytest.approx(2, abs=0.01)
    assert abs(fits["squared(raw)"] - 2) > 0.1


def test_the_laws_own_delta_can_be_replaced():
    table = PLANTED["chinchilla"].table(0.003)
    fit = lawdsl.fit("chinchilla", table, delta=0.05, starts=4)

    assert fit.objective.name == "huber(log(L), 0.05)"


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ({"objective": "mse"}, "L0404", "`mse` is not an objective"),
        ({"delta": 0}, "L0404", "a number above 0, not 0"),
        ({"delta": float("nan")}, "L0404", "not nan"),
        ({"delta": float("inf")}, "L0404", "not inf"),
        ({"objective": "squared", "delta": 1e-3}, "L0404", "the loss squared has no delta"),
        ({"starts": 0}, "F0106", "`0` is not a valid number of starts"),
        ({"starts": 10**9}, "F0106", "`1000000000` is not a valid number of starts"),
        ({"starts": 2.5}, "F0106", "`2.5` is not a valid number of starts"),
        ({"starts": "many"}, "F0106", "`many` is not a valid number of starts"),
        ({"starts": {"q": 1}}, "F0106", "no parameter `q`"),
        ({"seed": -1}, "F0106", "not `-1`"),
        ({"settings": {"q": 1}}, "L0301", "no setting `q`"),
        ({"without": "a > 0"}, "L0301", "no bound `a > 0`"),
        ({"where": "y > 1"}, "D0115", "the table has no column"),
        ({"columns": {"y": "x"}}, "D0116", "no variable `y`"),
        ({"y": "x"}, "D0116", "no variable `y`"),
        ({"x": "y"}, "D0104", "unknown column `y`"),
    ],
)
def test_an_option_that_is_none_is_refused(options: dict[str, Any], code: str, message: str):
    law = law_of("variable x > 0\nparameter a, b\nL = a*x + b")
    diagnostic = refused(law, {"x": X, "L": X}, **options)

    assert diagnostic.code == code and message in diagnostic.message


def test_variables_that_are_called_like_options_are_bound_by_columns():
    law = law_of("variable seed, starts > 0\nparameter a, b > 0\nL = a*seed + b/starts")
    table = {"s": X, "t": np.sqrt(X) + np.sin(X), "L": 2 * X + 3 / (np.sqrt(X) + np.sin(X))}
    fit = lawdsl.fit(law, table, columns={"seed": "s", "starts": "t"})

    assert fit.values == pytest.approx({"a": 2, "b": 3})
    diagnostic = refused(law, table, seed="s")
    assert "columns={'seed': 'COLUMN'}" in (diagnostic.help or "")


def test_variables_may_be_called_self_and_table():
    law = law_of("variable self, table > 0\nparameter a, b > 0\nL = a*self + b/table")
    table = {"s": X, "t": np.sqrt(X) + np.sin(X), "L": 2 * X + 3 / (np.sqrt(X) + np.sin(X))}
    fit = lawdsl.fit(law, table, self="s", table="t")

    assert fit.predict({"self": [1.0], "table": [3.0]}) == pytest.approx([3.0])
    assert fit.predict({"u": [1.0], "v": [3.0]}, self="u", table="v") == pytest.approx([3.0])


def test_where_takes_one_condition_or_several():
    table = {"x": X, "size": ["a", "b"] * 6, "L": np.where(np.arange(12) % 2, 5 * X, 2 * X + 1)}

    one = lawdsl.fit(LINE, table, where="size = a")
    assert one.values == pytest.approx({"a": 2, "b": 1})
    assert one.data.where == ("size = a",) and one.data.rows == 6
    two = lawdsl.fit(LINE, table, where=["size = b", "x > 2"])
    assert two.values["a"] == pytest.approx(5) and two.data.ranges["x"][0] > 2


def test_settings_and_dropped_bounds_are_kept_in_the_fit():
    table = PLANTED["dcpt.l3"].table()
    fit = lawdsl.fit("dcpt.l3", table, starts=2, settings={"D_min": 0.15}, without="C > C0")

    assert fit.law.settings == {"D_min": 0.15} and fit.law.dropped == ("C > C0",)
    law = fit.read_law()
    assert law.digest == fit.law.digest
    assert {q.name: q.domain for q in law.parameters}["C"] == "C > 0"


def test_dropping_a_coupled_bound_lets_a_fit_pass_it():
    """Losses whose best C lies below C0 = 2*a: with the bound the fit stops there and says so."""
    lines = "variable x > 0\nparameter f\nparameter a > 0\nlet C0 = 2*a\nparameter C > C0\n"
    lines += "L = f + a/x + C*x"
    table = {"x": X, "L": 1 + 1 / X + X}
    bound = lawdsl.fit(law_of(lines), table)
    free = lawdsl.fit(law_of(lines), table, without=["C > C0"])

    assert bound.values["C"] == pytest.approx(2 * bound.values["a"], rel=1e-12)
    assert bound.values["C"] > 2 * bound.values["a"]
    assert (bound.parameters["C"].at_bound, codes(bound)) == ("lower", ["F0103", "F0122"])
    assert bound.diagnostics[0].message == "C lies on its bound C > C0"
    assert free.values == pytest.approx({"f": 1, "a": 1, "C": 1}) and free.verdict == "trusted"


@pytest.mark.parametrize(
    ("domain", "y", "side"),
    [
        ("a in [0, 1]", 2 * X + 1, "upper"),
        ("a in [0, 1]", 3 - 0.1 * X, "lower"),
        ("a > 0", 3 - 0.1 * X, "lower"),
        ("a < -2", 30 - X, "upper"),
        ("a >= 1.5", 3 + X, "lower"),
    ],
)
def test_a_parameter_on_its_bound_is_named(domain: str, y: np.ndarray, side: str):
    law = law_of(f"variable x > 0\nparameter {domain}\nparameter b\nL = a*x + b")
    fit = lawdsl.fit(law, {"x": X, "L": y})

    assert fit.parameters["a"].at_bound == side
    assert codes(fit)[0] == "F0103" and fit.verdict != "trusted"
    assert set(codes(fit)) <= {
        "F0103",
        "F0116",
        "F0140",
        "F0145",
    }  # a bound that is far off leaves a pattern
    assert fit.diagnostics[0].message.startswith("a lies on its bound a ")


@pytest.mark.parametrize("value", [1e-6, 0.5, 1 - 1e-6])
def test_a_parameter_near_its_bound_is_not_on_it(value: float):
    law = law_of("variable x > 0\nparameter a in [0, 1]\nL = a*x + 1")
    fit = lawdsl.fit(law, {"x": X, "L": value * X + 1})

    assert fit.values["a"] == pytest.approx(value, rel=1e-8)
    assert (fit.parameters["a"].at_bound, fit.verdict) == (None, "trusted")


def test_a_parameter_that_is_zero_inside_its_domain_is_fine():
    fit = lawdsl.fit(LINE, {"x": X, "L": 0 * X + 2 + 0.01 * NOISE[:12]})

    assert abs(fit.values["a"]) < 0.01
    assert fit.verdict == "trusted"


@pytest.mark.parametrize(
    ("law", "y"),
    [
        ("parameter a > 0\nL = -a*x", X),
        ("parameter a > 0\nL = exp(exp(1000*x + a))", X),
    ],
)
def test_a_law_that_has_no_value_anywhere_is_refused(law: str, y: np.ndarray):
    diagnostic = refused(law_of(f"variable x > 0\n{law}"), {"x": X, "L": y})

    assert diagnostic.code == "F0107"


@pytest.mark.parametrize(
    ("law", "x", "message"),
    [
        ("parameter a\nL = a + log(x)", -1, "no value at x = -1: `log(x)` is not a finite number"),
        (
            "parameter a\nL = a*log(1 + exp(x))",
            800,
            "no value at x = 800: `exp(x)` is not a finite",
        ),
        ("parameter a\nL = a/(x - 3)", 3, "no value at x = 3: `1/(x - 3)` is not a finite number"),
        ("parameter a\nL = a*sqrt(x - 1)", 0.5, "no value at x = 0.5: `sqrt(x - 1)` is not a"),
        ("parameter a\nL = a*exp(exp(x))", 1e4, "no value at x = 10000: `exp(x)` is not a"),
        ("parameter a < -1\nL = exp(x) + log(a + x)", 0.5, "no value at x = 0.5 at any start"),
    ],
)
def test_the_row_without_a_value_is_named_and_what_has_none_there(law: str, x: float, message: str):
    table = {"x": np.array([2.5, 4.0, x, 5.0, 6.0]), "L": np.arange(1.0, 6.0)}
    diagnostic = refused(law_of(f"variable x\n{law}"), table, objective="squared")

    assert diagnostic.code == "F0107" and message in diagnostic.message
    assert "--where" in diagnostic.help


def test_predictions_that_are_not_positive_are_passed_by_on_the_way():
    """a + b*x is negative at many starts; the fit of logarithms ends where it is not."""
    law = law_of("variable x > 0\nparameter a, b\nL = a + b*x")
    fit = lawdsl.fit(law, {"x": X, "L": 5.3 - X})

    assert fit.values == pytest.approx({"a": 5.3, "b": -1})
    assert fit.verdict == "trusted"


def test_raw_residuals_may_be_of_negative_values():
    fit = lawdsl.fit(LINE, {"x": X, "L": X - 3})

    assert fit.values == pytest.approx({"a": 1, "b": -3})
    assert np.isnan(fit.metrics.r2_log) and fit.to_json()["metrics"]["r2_log"] is None


def test_declared_starts_are_searched_and_those_outside_counted():
    law = law_of(
        "variable x > 0\nparameter A, k > 0\nparameter E > -k\nL = E + A/x^k\n"
        "start E in {-1, 1, 2}\nstart A in {1}\nstart k in {0.3, 1}"
    )
    fit = lawdsl.fit(law, {"x": X, "L": 1.5 + 2 / X**0.7}, starts="declared")

    assert fit.agreement.starts == 4
    assert fit.values == pytest.approx({"E": 1.5, "A": 2, "k": 0.7})
    (found,) = fit.diagnostics
    assert (found.code, found.severity) == ("F0106", "warning")
    assert found.message.startswith("2 declared starts lie outside the domain")


def test_progress_is_told_as_starts_are_done():
    told: list[tuple[int, int]] = []
    lawdsl.fit(LINE, {"x": X, "L": 2 * X + 1}, starts=3, progress=lambda *n: told.append(n))

    assert told == [(3, 3)]  # they advance together


def test_a_long_table_is_searched_on_a_sample_and_fitted_on_all_rows(
    monkeypatch: pytest.MonkeyPatch,
):
    table = PLANTED["chinchilla"].table(0.003)
    whole = lawdsl.fit("chinchilla", table, starts=6)
    monkeypatch.setattr(searching, "MAX_SEARCH_ROWS", 12)
    sampled = lawdsl.fit("chinchilla", table, starts=6)

    assert sampled.values == pytest.approx(whole.values, rel=1e-6)
    assert sampled.data.rows == 36
    assert sampled.objective.sum == pytest.approx(whole.objective.sum, rel=1e-9)


def test_a_sample_has_the_rows_at_the_ends_of_each_variable(
    monkeypatch: pytest.MonkeyPatch,
):
    """The one row at 0.5 forbids c > 0.5, which a sample of the others would choose."""
    monkeypatch.setattr(searching, "MAX_SEARCH_ROWS", 10)
    law = law_of("variable x > 0\nparameter c in [0, 5]\nL = 1 + sqrt(x - c)\nminimize squared(L)")
    x = np.append(0.5, np.linspace(3, 5, 2000))
    fit = lawdsl.fit(law, {"x": x, "L": 1 + np.sqrt(np.abs(x - 2.9))})

    assert fit.values["c"] < 0.5 and np.isfinite(fit.objective.sum)


def test_a_law_that_describes_the_data_worse_than_their_mean_is_not_trusted():
    """Falling losses, and a law that can only rise: as when two columns are mixed up."""
    law = law_of("variable x > 0\nparameter a > 0\nL = a*x")
    wrong = lawdsl.fit(law, {"x": X, "L": 6 - X})
    right = lawdsl.fit(law, {"x": X, "L": 2 * X * np.exp(0.1 * NOISE[:12])})

    assert codes(wrong) == ["F0112"] and wrong.verdict == "not trusted"
    assert wrong.diagnostics[0].message.startswith("the law describes these data worse than")
    assert right.verdict == "trusted"


def test_polishing_never_goes_uphill():
    """From points near, at and far from a minimum, for Huber's loss and for squares."""
    law, table = lawdsl.load("dcpt.share"), PLANTED["dcpt.share"].table(0.003)
    rng = np.random.default_rng(0)
    for name in ("huber(log)", "squared(raw)"):
        fit = lawdsl.fit(law, table, objective=name, starts=6)
        chosen = fitting.chosen_objective(law, name, None)
        problem = problem_of(law, np.array([table["r"]]), table["L"], chosen)
        best = to_free(problem.transforms, np.array([list(fit.values.values())]))[0]
        for size in (0.0, 1e-8, 1e-4, 0.1, 1.0):
            start = best + size * rng.normal(size=4)
            before = problem.losses(start[None])[0]
            after = problem.losses(polish(problem, start)[None])[0]
            assert after <= before * (1 + 1e-8)


def test_data_columns_units_and_digest_are_kept():
    table = PLANTED["dcpt.share"].table()
    fit = lawdsl.fit("dcpt.share", {"share": table["r"], "loss [nat/token]": table["L"]},
                     r="share", L="loss", starts=2)  # fmt: skip

    assert fit.data.columns == {"r": "share", "L": "loss"}
    assert fit.data.ranges["r"] == (0.0, 1.0)
    assert len(fit.data.digest) == 64


def test_columns_in_other_units_are_converted():
    p = PLANTED["dcpt.l5"]
    table = p.table()
    scaled = {
        "N [Mparam]": table["N"] * 1e3,
        "D [token]": table["D"] * 1e9,
        "r": table["r"],
        "L [bit/token]": table["L"] / np.log(2),
    }
    fit = lawdsl.fit("dcpt.l5", scaled, starts=8)

    assert fit.values == pytest.approx(p.parameters, rel=1e-8)


def test_large_whole_numbers_do_not_overflow():
    """D^3 of 3e9 is beyond 64 bits: columns are floats before anything is computed."""
    law = law_of("variable D > 0\nparameter a > 0\nL = a*D^3")
    D = np.arange(1, 9, dtype=np.int64) * 3_000_000_000
    fit = lawdsl.fit(law, {"D": D, "L": 2e-30 * D.astype(float) ** 3})

    assert fit.values["a"] == pytest.approx(2e-30)
    assert fit.predict({"D": np.array([3_000_000_000])})[0] == pytest.approx(2e-30 * 2.7e28)


def test_rows_copied_twenty_times_do_not_make_a_better_fit():
    table = PLANTED["chinchilla"].table(0.003)
    copied = {name: np.repeat(column, 20) for name, column in table.items()}
    once, often = (lawdsl.fit("chinchilla", t, starts=6) for t in (table, copied))

    assert often.values == pytest.approx(once.values, rel=1e-6)
    assert codes(often) == ["D0114"] and often.verdict == "caution"
    assert often.diagnostics[0].message == "684 of 720 rows repeat another row exactly"


def test_a_grid_of_three_axes_is_what_it_says():
    assert len(grid(a=[1, 2], b=[1, 2, 3], c=[1])["a"]) == 6
