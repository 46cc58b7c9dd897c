"""A parameter that is chosen before the others are fitted, and the critical share that it was made for."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from planted import law_of
from scipy.optimize import brentq

import lawdsl
from lawdsl.cli import cli
from lawdsl.core.diagnostics import Text
from lawdsl.core.objectives import Objective, ParameterChoice
from lawdsl.fitting.linearity_criterion import LinearityCriterion
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.preparation.parameter_choice import choice_criterion
from lawdsl.language.library import declared, shipped_folder
from lawdsl.language.objective import read_objective
from lawdsl.language.parser import parse

PRINTED = shipped_folder() / "data" / "mixing_critical.csv"
BEFORE = 2.873368  # loss on the Pile, as the table's comment says
SHARES = (0.125, 0.25, 0.375, 0.5)  # fitted; the fifth was tried afterwards
TRIED, MEASURED = 0.28515625, 2.872070
FITTED = f"r != {TRIED}"
STEPS = "c = straightest(log(L - c)"
TWO_DOMAINS = "variable r in [0, 1]\nparameter c >= 0\nparameter k > 0\nparameter t\n"
R = np.linspace(0.05, 0.95, 10)


def two_domains(minimize: str, parameters: str = TWO_DOMAINS) -> lawdsl.Law:
    return law_of(f"{parameters}L = c + k*exp(t*r)\nminimize {minimize}\n")


def planted(noise: float = 0.0, seed: int = 0) -> dict[str, np.ndarray]:
    loss = 2.6 + 0.4 * np.exp(-1.8 * R)
    return {"r": R, "L": loss + noise * np.random.default_rng(seed).normal(size=len(R))}


def chosen_by(law: lawdsl.Law, table: dict[str, np.ndarray]) -> LinearityCriterion:
    problem = problem_of(law, np.array([table["r"]]), table["L"], law.objective)
    assert law.objective.choice is not None
    return choice_criterion(law, problem, law.objective.choice)


def crossing(fit: lawdsl.Fit, loss: float = BEFORE) -> float:
    """The share at which a fitted law predicts a loss."""
    return float(brentq(lambda r: fit.predict({"r": [r]})[0] - loss, 0.01, 0.99, xtol=1e-12))


def codes(error: lawdsl.LawdslError) -> list[str]:
    return [d.code for d in error.diagnostics]


# ---- the published numbers


def pile_losses(folder: Path) -> tuple[dict[str, list[float]], float]:
    """The loss on the Pile after 10,000 steps for each share, its 22 domains weighed as released,
    and the loss before."""
    weights = json.loads((folder / "valid_weight.json").read_text(encoding="utf-8"))
    losses: dict[str, float] = defaultdict(float)
    with open(folder / "ct.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["valid_domain"] in weights and row["step"] in ("", "10000"):
                losses[row["r_pile"]] += weights[row["valid_domain"]] * float(row["loss"])
    before = losses.pop("")
    shares = sorted(losses, key=float)
    return {"r": list(map(float, shares)), "L": [losses[r] for r in shares]}, before


def test_the_recipe_gives_the_published_critical_share(shared_data: Path):
    """Ye et al. 2024, section 5: 0.28622541, as released with it, and the line of that fit."""
    table, before = pile_losses(shared_data / "mixing_laws")
    fit = lawdsl.fit("mixing.critical", table, where=FITTED)

    assert crossing(fit, before) == pytest.approx(0.28622541, abs=1e-4)
    assert np.log(fit.values["k"]) == pytest.approx(-1.6938, abs=3e-4)
    assert fit.values["t"] == pytest.approx(-3.7397, abs=2e-3)


def test_all_three_at_once_give_another_critical_share(shared_data: Path):
    """Least squares of c, k and t together, and its prediction for the share that was tried."""
    table, before = pile_losses(shared_data / "mixing_laws")
    fit = lawdsl.fit("mixing.critical", table, where=FITTED, objective="squared")

    assert crossing(fit, before) == pytest.approx(0.2831, abs=4e-4)
    assert fit.predict({"r": [TRIED]})[0] == pytest.approx(MEASURED, abs=1e-3)


def test_the_printed_points_are_those_of_the_runs(shared_data: Path):
    table, before = pile_losses(shared_data / "mixing_laws")
    printed = lawdsl.fit("mixing.critical", PRINTED, L="L_pile", where=FITTED)
    fit = lawdsl.fit("mixing.critical", table, where=FITTED)

    assert before == pytest.approx(BEFORE, abs=5e-7)
    assert dict(zip(table["r"], table["L"], strict=True))[TRIED] == pytest.approx(
        MEASURED, abs=5e-7
    )
    assert fit.values == pytest.approx(printed.values, rel=1e-4)


@pytest.mark.parametrize(
    ("options", "share", "within", "off"),
    [
        ({}, 0.28622541, 1e-4, 1.54e-3),
        ({"objective": "squared"}, 0.2831, 4e-4, 0.81e-3),
    ],
    ids=["recipe", "all at once"],
)
def test_the_printed_points_give_the_critical_share(options, share, within, off):
    """`off` is how far the prediction for the share that was tried lies above its measurement."""
    fit = lawdsl.fit("mixing.critical", PRINTED, L="L_pile", where=FITTED, **options)

    assert fit.data.rows == len(SHARES)
    assert crossing(fit) == pytest.approx(share, abs=within)
    assert fit.predict({"r": [TRIED]})[0] - MEASURED == pytest.approx(off, abs=2e-5)


def test_the_critical_share_hangs_on_the_grid():
    """The best c of all lies between two of the thousand, and moves the share by 2e-4."""
    law = two_domains(f"squared(L, {STEPS}))")
    table = lawdsl.fit("mixing.critical", PRINTED, L="L_pile", where=FITTED)
    free = lawdsl.fit(law, PRINTED, L="L_pile", where=FITTED)

    assert table.held["c"].value == pytest.approx(2.838757 * 989 / 999, rel=1e-12)
    assert free.held["c"].value == pytest.approx(2.80995, abs=1e-5)
    assert crossing(free) - crossing(table) == pytest.approx(1.9e-4, abs=1e-5)


# ---- what is chosen


def test_without_noise_the_best_of_all_values_is_the_true_one():
    fit = lawdsl.fit(two_domains(f"squared(L, {STEPS}))"), planted())

    assert fit.held["c"].value == pytest.approx(2.6, rel=1e-9)
    assert fit.values == pytest.approx({"k": 0.4, "t": -1.8}, rel=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_no_value_of_a_fine_scan_is_better(seed: int):
    by = chosen_by(two_domains(f"squared(L, {STEPS}))"), planted(0.005, seed))
    best = by.value()
    scanned = by.top - by.top * np.geomspace(1, 1e-8, 30_000)

    assert by.unexplained(np.array([best]))[0] <= by.unexplained(scanned).min() * (1 + 1e-9)


def test_for_one_variable_it_is_the_largest_correlation():
    table = planted(0.005)
    by = chosen_by(two_domains(f"squared(L, {STEPS}, 50))"), table)
    values = np.linspace(0, table["L"].min(), 50)[:-1]
    squares = [np.corrcoef(R, np.log(table["L"] - c))[0, 1] ** 2 for c in values]

    np.testing.assert_allclose(by.candidates, values)
    np.testing.assert_allclose(by.unexplained(values), 1 - np.array(squares), rtol=1e-9)
    assert by.value() == values[np.argmax(squares)]


def test_a_weight_of_two_is_a_row_twice():
    law, table = two_domains(f"squared(L, {STEPS}))"), planted(0.005)
    twice = {name: np.append(values, values[:3]) for name, values in table.items()}
    weights = np.where(np.arange(len(R)) < 3, 2.0, 1.0)

    weighted = lawdsl.fit(law, table, weights=weights)
    plain = lawdsl.fit(law, twice)

    assert weighted.held["c"].value == pytest.approx(plain.held["c"].value, rel=1e-9)
    assert weighted.values == pytest.approx(plain.values, rel=1e-7)


def test_a_power_law_is_linear_in_the_logarithm_of_its_variable():
    law = law_of(
        "variable N > 0\nparameter c >= 0\nparameter A, alpha > 0\nL = c + A/N^alpha\n"
        f"minimize huber(log(L), 1e-3, {STEPS}))\n"
    )
    N = np.geomspace(1e7, 1e10, 12)
    fit = lawdsl.fit(law, {"N": N, "L": 1.7 + 400 / N**0.34})

    assert fit.held["c"].value == pytest.approx(1.7, rel=1e-9)
    assert fit.values == pytest.approx({"A": 400, "alpha": 0.34}, rel=1e-6)


def test_what_no_parameter_moves_is_taken_out_before_the_regression():
    """With k and t held, log(L - c) is straight where it is what they say."""
    held = {"k": 0.4, "t": -1.8}
    fit = lawdsl.fit(two_domains(f"squared(L, {STEPS}))"), planted(), fix={"t": held["t"]})
    by = chosen_by(two_domains(f"squared(L, {STEPS}))").with_held(held, {}), planted())

    assert fit.held["c"].value == pytest.approx(2.6, rel=1e-9)
    assert by.basis.shape == (len(R), 0) and by.value() == pytest.approx(2.6, rel=1e-9)


def test_a_parameter_that_a_user_holds_is_not_chosen():
    fit = lawdsl.fit(two_domains(f"squared(L, {STEPS}))"), planted(), fix={"c": 2.5})

    assert (
        fit.held["c"] == lawdsl.fit(two_domains("squared(L)"), planted(), fix={"c": 2.5}).held["c"]
    )
    assert fit.objective.name == "squared(L)"


def test_a_law_that_extends_takes_the_choice_over():
    base = lawdsl.load("mixing.critical")
    law = law_of("extends mixing.critical\nL = mixing.critical\n")

    assert (
        law.objective
        == base.objective
        == Objective("squared", False, choice=ParameterChoice("c", 1000))
    )


@pytest.mark.parametrize(
    ("lower", "says"),
    [
        ("c >= 2.66", "c lies at its lower bound 2.66"),
        ("c > 2.66", "c lies at its lower bound 2.66"),
    ],
)
def test_it_says_that_the_choice_is_at_its_bound(lower: str, says: str):
    parameters = TWO_DOMAINS.replace("c >= 0", lower)
    fit = lawdsl.fit(two_domains(f"squared(L, {STEPS}))", parameters), planted())

    assert says in [d.message for d in fit.diagnostics if d.code == "F0103"]
    assert fit.held["c"].value == pytest.approx(2.66, abs=0.01)
    assert (fit.held["c"].value == 2.66) == (">=" in lower)


# ---- what is said of it


def test_only_a_bootstrap_gives_intervals_and_repeats_the_choice():
    law, table = two_domains(f"squared(L, {STEPS}))"), planted(0.003)
    delta = lawdsl.fit(law, table, claims=False)
    drawn = lawdsl.fit(law, table, intervals="bootstrap", resamples=200, claims=False)
    held = lawdsl.fit(
        two_domains("squared(L)"),
        table,
        fix={"c": delta.held["c"].value},
        intervals="bootstrap",
        resamples=200,
        claims=False,
    )

    assert not delta.intervals.ends and delta.verdict == "caution"
    assert [(d.code, d.help) for d in delta.diagnostics] == [
        ("F0122", "ask for --intervals bootstrap")
    ]
    assert set(drawn.intervals.ends) == {"c", "k", "t"} and drawn.verdict == "trusted"
    for name, true in {"c": 2.6, "k": 0.4, "t": -1.8}.items():
        low, high = drawn.intervals.ends[name]
        assert low < true < high
    assert drawn.intervals.errors["t"] > 3 * held.intervals.errors["t"]


def test_four_rows_have_no_intervals_of_any_kind():
    for method in ("delta", "bootstrap"):
        fit = lawdsl.fit("mixing.critical", PRINTED, L="L_pile", where=FITTED, intervals=method)
        assert not fit.intervals.ends
        assert "F0122" in [d.code for d in fit.diagnostics]


def test_a_fit_is_kept_and_read_back(tmp_path: Path):
    fit = lawdsl.fit("mixing.critical", PRINTED, L="L_pile", where=FITTED)
    fit.save(tmp_path / "fit.json")
    again = lawdsl.load_fit(tmp_path / "fit.json")

    assert again == fit
    assert again.objective.name == f"squared(L, {STEPS}, 1000))"
    np.testing.assert_array_equal(again.predict({"r": [0.2]}), fit.predict({"r": [0.2]}))


def test_the_command_shows_what_was_chosen_and_how():
    order = ["fit", "mixing.critical", str(PRINTED), "L=L_pile", "--where", FITTED]
    shown = CliRunner().invoke(cli, order)
    found = json.loads(CliRunner().invoke(cli, [*order, "--json"]).stdout)

    assert shown.exit_code == 0
    (line,) = [line for line in shown.stdout.splitlines() if line.startswith("c ")]
    assert line.split() == ["c", "2.81034", *f"= {STEPS[4:]}, 1000)".split()]
    assert found["ok"] and found["result"]["held"]["c"]["formula"] == f"{STEPS[4:]}, 1000)"
    assert [d["code"] for d in found["diagnostics"]] == ["F0122", "F0102"]


# ---- the language


@pytest.mark.parametrize(
    "text",
    [
        f"squared(L, {STEPS}))",
        f"squared(log(L), {STEPS}, 1000))",
        f"huber(log(L), 0.02, {STEPS}, 50))",
    ],
)
def test_it_reads_prints_and_reads_the_same(text: str):
    document, mistakes = parse(f"law a\nminimize {text}\n", "a.law")
    formula = document.statements[-1].objective  # type: ignore[union-attr]
    found = read_objective(formula, "L")

    assert not mistakes and found is not None
    assert found.text("L") == text


@pytest.mark.parametrize(
    ("minimize", "says", "help"),
    [
        ("squared(L, c = straightest(L - c))", "not an objective", STEPS),
        ("squared(L, c = straightest(log(L - k)))", "not an objective", STEPS),
        ("squared(L, c = straightest(log(c - L)))", "not an objective", STEPS),
        (f"squared(L, {STEPS}, 9))", "not an objective", STEPS),
        (f"squared(L, {STEPS}, 10.5))", "not an objective", STEPS),
        (f"squared(L, {STEPS}), k = 2)", "not an objective", STEPS),
        ("squared(L, c = 2)", "not an objective", STEPS),
        ("squared(L, d = straightest(log(L - d)))", "`d`", "declare"),
        ("squared(L, r = straightest(log(L - r)))", "`r` is a variable", "name a parameter"),
    ],
)
def test_what_is_no_choice_is_refused_with_a_way_out(minimize: str, says: str, help: str):
    text = f"law a\n{TWO_DOMAINS}L = c + k*exp(t*r)\nminimize {minimize}\n"
    with pytest.raises(lawdsl.LawdslError) as caught:
        declared(Text("a.law", text), Path())

    (found,) = caught.value.diagnostics
    assert says in found.message and help in (found.help or "")


@pytest.mark.parametrize(
    ("law", "says"),
    [
        (two_domains(f"squared(L, {STEPS}))", TWO_DOMAINS.replace("c >= 0", "c")), "lower bound"),
        (
            two_domains(f"squared(L, {STEPS}))", TWO_DOMAINS.replace("c >= 0", "c > 4")),
            "at least 4",
        ),
        (
            law_of(
                TWO_DOMAINS + "parameter d > 0\nL = c + k*exp(t*r) + d\n"
                f"minimize squared(L, {STEPS}))\n"
            ),
            "is not linear",
        ),
        (
            law_of(TWO_DOMAINS + f"L = c + k*exp(t*r + c)\nminimize squared(L, {STEPS}))\n"),
            "is not linear",
        ),
        (
            law_of(TWO_DOMAINS + f"L = 2*c + k*exp(t*r)\nminimize squared(L, {STEPS}))\n"),
            "is not linear",
        ),
    ],
)
def test_a_law_or_a_table_that_leaves_no_choice_is_refused(law: lawdsl.Law, says: str):
    with pytest.raises(lawdsl.LawdslError) as caught:
        lawdsl.fit(law, planted())

    assert codes(caught.value) == ["F0124"]
    assert says in caught.value.diagnostics[0].message


def test_comparisons_ask_for_an_objective_of_one_step():
    laws = ["mixing.critical", "mixing.two_domain"]
    with pytest.raises(lawdsl.LawdslError) as caught:
        lawdsl.compare(laws, planted(0.001))

    assert codes(caught.value) == ["F0124"]
    assert caught.value.diagnostics[0].help == (
        "choose an objective of one step: --objective 'squared(raw)'"
    )
