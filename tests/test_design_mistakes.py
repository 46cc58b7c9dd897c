"""Designs that cannot be made: each mistake is said, with its place and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sweeps import MACHINE, TEXT, inspect, made
from test_cli import lawdsl as command
from test_designs import runs, some

import lawdsl
from lawdsl import LawdslError
from lawdsl.core.diagnostics import Diagnostic
from lawdsl.designing.runs.question_fits import used_laws
from lawdsl.language import library
from lawdsl.language.law_changes import LawChanges
from lawdsl.runners.tables.candidates import pool_of

TARGET = {"N": 3e9, "D": 2.4e11}
PLANE = """law plane "Two directions that have nothing in common"
variable  x in [0, 10]
variable  y in [0, 10]
parameter a, b
L = exp(a*x + b*y)
minimize  squared(log(L))
"""


def refused(act: Any) -> Diagnostic:
    with pytest.raises(LawdslError) as error:
        act()
    (diagnostic,) = error.value.diagnostics[:1]
    assert diagnostic.severity == "error" and diagnostic.help
    return diagnostic


@pytest.fixture(scope="module")
def fit() -> Any:
    table = runs()
    cheap = table["N"] * table["D"] < 3e19
    return lawdsl.fit("chinchilla", some(table, cheap), claims=False, rolled_check=False)


def test_candidates_that_do_not_bear_on_the_target(tmp_path: Path):
    (tmp_path / "plane.law").write_text(PLANE, encoding="utf-8")
    rng = np.random.default_rng(0)
    x, y = np.array([1.0, 2, 3, 0, 0, 0]), np.array([0, 0, 0, 1.0, 2, 3])
    table = {"x": x, "y": y, "L": np.exp(0.1 * x + 0.2 * y + 0.001 * rng.standard_normal(6))}
    own = lawdsl.fit(tmp_path / "plane.law", table, claims=False, rolled_check=False)
    options: dict[str, Any] = {"target": {"x": 4.0, "y": 0.0}, "budget": 10.0, "discrepancy": 0.0}
    other = {"x": [0.0, 0.0], "y": [4.0, 5.0], "cost": [1.0, 1.0]}
    said = refused(lambda: lawdsl.design(own, other, **options))
    assert said.code == "N0105" and "no candidate bears on the target" in said.message
    assert lawdsl.design(own, other | {"x": [5.0, 0.0]}, **options).runs


def test_a_budget_below_the_cheapest_candidate_names_it(fit: Any):
    candidates = {"N": [1e8, 2e8], "D": [1e9, 1e9], "run": ["small", "large"]}
    said = refused(lambda: lawdsl.design(fit, candidates, target=TARGET, budget=1e17))
    assert said.code == "N0102" and "`small` costs 6e+17 FLOP" in (said.help or "")
    said = refused(lambda: lawdsl.design("chinchilla", candidates, budget=1e17))
    assert said.code == "N0102"


def test_a_budget_that_is_spent_is_no_mistake(fit: Any):
    table = runs()
    done = lawdsl.design(fit, table, target=TARGET, budget=4.3e20, stop=1e-4)
    assert not done.runs and not done.certain and done.pool and done.spent < 4.3e20
    assert done.exhausted


def test_a_precision_out_of_reach_is_said(fit: Any):
    table = runs()
    design = lawdsl.design(fit, table, target=TARGET, budget=1e23, stop=1e-4)
    (said,) = [d for d in design.warnings if d.code == "N0113"]
    best = design.targets[0].best
    assert best is not None and f"± {100 * best:.3g} % is expected after all" in said.message
    assert said.notes and said.help == "accept a wider interval"
    easy = lawdsl.design(fit, table, target=TARGET, budget=1e23, stop=1.1 * best)
    assert not [d for d in easy.warnings if d.code == "N0113"]


def test_candidates_that_are_all_done(fit: Any):
    table = runs()
    own = some(table, table["N"] * table["D"] < 3e19)
    design = lawdsl.design(fit, own, target=TARGET, budget=1e23, stop=1e-4)
    assert not design.runs and not design.pool and design.done == len(own["N"])
    few = some(own, slice(4))
    said = refused(lambda: lawdsl.design("chinchilla", few, runs=few, target=TARGET, budget=1e23))
    assert said.code == "N0106" and "needs 3 rows more" in said.message


def test_a_table_without_the_columns_of_the_law(fit: Any):
    said = refused(
        lambda: lawdsl.design(fit, {"N": [1e9], "T": [1e10]}, target=TARGET, budget=1e23)
    )
    assert said.code == "D0104" and "`D`" in said.message
    said = refused(lambda: lawdsl.design("chinchilla", {"size": [1e9], "D": [1e10]}, budget=1e23))
    assert said.code == "D0104" and "`N`" in said.message


def test_a_sweep_whose_units_are_not_those_of_the_law(tmp_path: Path):
    text = (
        'law steps "Loss after steps"\nvariable D > 0 unit second\nparameter E, B > 0\nL = E + B/D'
    )
    (tmp_path / "steps.law").write_text(f"{text}  unit nat/token\n", encoding="utf-8")
    pool = pool_of(made(tmp_path), MACHINE, inspect=inspect)
    said = refused(lambda: lawdsl.design(tmp_path / "steps.law", pool, budget=1e20))
    assert said.code == "D0112" and "token" in said.message and "second" in said.message


def test_a_target_says_a_value_of_every_variable_before_anything_is_run():
    said = refused(lambda: lawdsl.design("chinchilla", runs(), target={"N": 1e9}, budget=1e23))
    assert said.code == "N0103" and "no value of D" in said.message
    unknown = {"N": 1e9, "tokens": 1e9}
    said = refused(lambda: lawdsl.design("chinchilla", runs(), target=unknown, budget=1e23))
    assert said.code == "N0103" and "has N, D" in (said.help or "")


def test_the_laws_of_a_question_have_columns():
    question, _ = library.question("dcpt.tradeoff")
    said = refused(lambda: used_laws(question, {"generall": {}}, LawChanges()))
    assert said.code == "N0109" and "did you mean `general`" in (said.help or "")
    said = refused(lambda: used_laws(question, {"general": {"L": "L_general"}}, LawChanges()))
    assert said.code == "N0109" and '--use "domain L=L_domain"' in (said.help or "")


MISTAKES = {
    "a law that does not exist": (("chinchila",), 3, "did you mean `chinchilla`"),
    "a malformed sweep": (("chinchilla", "--candidates", "bad.toml"), 3, "R0103"),
    "a sweep that does not exist": (("chinchilla", "--candidates", "none.toml"), 3, "none.toml"),
    "a loop without a target": (
        ("chinchilla", "--loop"),
        2,
        "--loop ends when a target is precise",
    ),
    "a loop over a table": (
        ("chinchilla", "--loop", "--candidates", "runs.csv", "--target", "N=1e9 D=1e9"),
        2,
        "--loop runs the candidates of a sweep",
    ),
    "a use without a question": (("chinchilla", "--use", "general L=L"), 2, "--question"),
    "a use without a name": (
        ("--question", "dcpt.tradeoff", "--use", "L=L_general", "N=1"),
        2,
        '--use takes "NAME L=COLUMN ..."',
    ),
    "an empty use": (
        ("--question", "dcpt.tradeoff", "--use", ""),
        2,
        '--use takes "NAME L=COLUMN ..."',
    ),
    "a use with half a quote": (
        ("--question", "dcpt.tradeoff", "--use", 'general "L'),
        2,
        '--use takes "NAME L=COLUMN ..."',
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_on_the_command_line(name: str, tmp_path: Path):
    words, code, text = MISTAKES[name]
    (tmp_path / "bad.toml").write_text(TEXT.replace("[grid]", "[grid"))
    (tmp_path / "runs.csv").write_text("N,D,L\n1e9,1e10,3\n")
    candidates = () if "--candidates" in words else ("--candidates", "runs.csv")
    done = command("design", *words, *candidates, "--budget", "1e20", cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert text in done.stderr and "Traceback" not in done.stderr


def test_shares_of_a_target_sum_to_1_and_one_may_be_left_out():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(3), 20)
    losses = 1 + np.exp(shares @ np.array([-1.0, 0.2, 0.5])) * np.exp(0.002 * rng.normal(size=20))
    table = {f"r_{name}": x for name, x in zip("abc", shares.T, strict=True)} | {"L_a": losses}
    own = lawdsl.fit("mixing.m4", table, columns={"r": "r_*", "L": "L_*"}, claims=False)
    full = {"r[a]": 0.5, "r[b]": 0.3, "r[c]": 0.2}
    others = {
        name: [x[0] + 0.01 * (name == "r_a") - 0.01 * (name == "r_b")] for name, x in table.items()
    }

    def of(target: dict[str, float]) -> lawdsl.Design:
        return lawdsl.design(own, others, target=target, budget=5)

    design = of(full)
    assert design.unit == "runs" and [run.cost for run in design.runs] == [1.0]
    for left_out in full:
        less = {name: x for name, x in full.items() if name != left_out}
        assert of(less).targets[0].half == pytest.approx(design.targets[0].half)
    said = refused(lambda: of(full | {"r[a]": 0.6}))
    assert said.code == "N0103" and "sum to 1.1" in said.message


def test_a_name_that_the_law_of_a_fit_lacks(fit: Any):
    said = refused(lambda: lawdsl.design(fit, runs(), target=TARGET, budget=1e23, sotp="0.5"))
    assert said.code == "N0103" and "unknown variable `sotp`" in said.message
    said = refused(lambda: lawdsl.design(fit, runs(), target=TARGET, budget=1e23, most=0))
    assert said.code == "N0103" and "`0` is not a number of runs" in said.message


def test_candidates_in_another_unit_than_the_runs(fit: Any):
    table = runs()
    (said,) = (
        d
        for d in lawdsl.design(
            fit, {"N": table["N"] / 1e9, "D": table["D"]}, target=TARGET, budget=1e23
        ).warnings
        if d.code == "N0111"
    )
    assert "N of all candidates" in said.message and "another unit" in (said.help or "")
    usual = lawdsl.design(fit, table, target=TARGET, budget=1e23)
    assert "N0111" not in {d.code for d in usual.warnings}


def test_first_runs_of_one_size_or_on_one_ray_cannot_tell_a_law():
    size = np.geomspace(1e8, 1e10, 12)
    for N, D, says in (
        (np.full(12, 1e9), 20 * size, "one value of N"),
        (size, 20 * size, "one ray of N and D"),
    ):
        (said,) = lawdsl.design("chinchilla", {"N": N, "D": D}, budget=1e25).warnings
        assert said.code == "N0112" and says in said.message
    assert not lawdsl.design("chinchilla", runs(), budget=1e25).warnings


def test_conditions_on_variables_of_the_law_say_which_runs_are_fitted_and_not_which_may_follow():
    table = runs()
    limit = float(np.median(table["N"]))
    design = lawdsl.design(
        "chinchilla", table, runs=table, where=f"N <= {limit:.9g}", target=TARGET, budget=1e25
    )
    assert design.pool + design.done == len(table["N"])
    assert design.done == np.sum(table["N"] <= limit)


def test_equal_targets_count_once(fit: Any):
    assert len(lawdsl.design(fit, runs(), target=[TARGET, TARGET], budget=1e23).targets) == 1


def test_the_nearest_run_is_only_called_so_if_no_dearer_one_is_nearer(fit: Any):
    candidates = {"N": [1e9, TARGET["N"]], "D": [1e10, TARGET["D"]]}
    design = lawdsl.design(fit, candidates, target=TARGET, budget=1e21)
    assert [run.reason for run in design.runs if "nearest" in run.reason] != [
        "nearest to the target"
    ]


def test_a_design_without_further_runs_writes_and_draws_nothing(tmp_path: Path, fit: Any):
    fit.save(tmp_path / "f.json")
    (tmp_path / "c.csv").write_text("N,D\n1e9,1e10\n2e9,1e10\n", encoding="utf-8")
    words = ["design", "f.json", "--candidates", "c.csv", "--target", "N=3e9 D=2.4e11"]
    words += ["--budget", "1e23", "--stop", "50%", "-o", "next.csv", "--plot", "p.svg"]
    done = command(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("next.csv is not written", "p.svg is not drawn"):
        assert f"{name}: there are no runs to do next" in done.stdout + done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"f.json", "c.csv"}
