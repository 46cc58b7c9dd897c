"""Variables with a value a label: rules of measurement, and what they give on tables of runs."""

from __future__ import annotations

from pathlib import Path

import domains
import numpy as np
import pytest
from measure_cases import (
    CROSS,
    EQUATION,
    ONE_RUN,
    law,
    mistakes,
    of_runs,
    refused,
    rule,
    values,
)

from lawdsl.data.evaluations import MAX_INTERPOLATION_DISTANCE, constant_along_runs
from lawdsl.data.measured_variables import measured
from lawdsl.data.read import read_table
from lawdsl.language import tree
from lawdsl.language.parser import parse
from lawdsl.language.symbols import Reading

ROOT = Path(__file__).resolve().parent.parent


# The language


def test_a_rule_is_read_as_its_record():
    document, found = parse("measure k2[d] = L(step = 0) - L(step = 5000)\n")
    first, second = (tree.Call("L", (), (("step", tree.Number(place)),)) for place in ("0", "5000"))

    assert found == []
    assert document.statements == (
        tree.MeasureNode(tree.Element("k2", ("d",)), tree.Sum((("+", first), ("-", second)))),
    )


def test_a_law_says_what_it_measures():
    measures = law().measures

    assert list(measures) == ["k1", "k2", "k3"]
    assert measures["k2"].index == "d"
    assert measures["k2"].text == "k2[d] = L(step = 0) - L(step = 5000)"
    assert list(measures["k2"].readings.values()) == [
        Reading((("step", 0.0),)),
        Reading((("step", 5000.0),)),
    ]
    found = rule("2*L(tokens = 1/8, N = -1e3)").measures["k"]
    assert list(found.readings.values()) == [Reading((("tokens", 0.125), ("N", -1000.0)))]
    assert next(iter(found.readings.values())).along == "tokens"


def test_a_law_takes_over_rules_and_may_replace_them(tmp_path: Path):
    (tmp_path / "cross.law").write_text(CROSS + EQUATION, encoding="utf-8")
    found = law(
        "law own\nextends cross\nmeasure k1[d] = L(step = 1000, N = 1.8, r = 1)\nL = cross\n",
        tmp_path,
    )

    assert list(found.measures) == ["k1", "k2", "k3"]
    assert found.measures["k1"].text == "k1[d] = L(step = 1000, N = 1.8, r = 1)"


def test_a_measured_variable_that_is_not_used_is_reported():
    text = CROSS.replace("+ w3/k3[d]", "+ w3") + EQUATION

    assert [(d.code, d.message) for d in mistakes(text)] == [
        ("L0309", "the variable `k3` is never used")
    ]


def test_a_reading_is_of_an_output_with_subscripts_too():
    text = (
        "law a\nindex i over domain\nvariable N > 0\nvariable k[i] > 0\nparameter E[i]\n"
        "measure k[i] = L(step = 1000)\nL[i] = E[i]*N*k[i]\n"
    )

    assert list(law(text).measures) == ["k"]


READ = "it is made of numbers, + - * / and readings as `L(step = 1000)`"
ONE = "only a variable with one subscript is measured: `variable k1[d] > 0`"
MISTAKES = [
    # line, column, code, message, help
    ("measure E = L(step = 1)", 9, "L0330", "`E` is a parameter, which is not measured", ONE),
    ("measure N = L(step = 1)", 9, "L0330", "the variable `N` is a column of the table, with a value in each row", ONE),
    ("measure K[d] = L(step = 1)", 9, "L0330", "`K` is a let, which is not measured", ONE),
    ("measure D_min = L(step = 1)", 9, "L0330", "`D_min` is a setting, which is not measured", ONE),
    ("measure p[d, e] = L(step = 1)", 9, "L0330", "`p[d, e]` has 2 subscripts", ONE),
    ("measure z[j] = L(step = 1)", 9, "L0330", "the rows of a table do not say their label of `j`", "measure what the law names for each row: `L = … z[j] …`"),
    ("measure k1[d] = L(step = 1)", 9, "L0330", "`k1` is measured twice", "one rule a variable: remove one"),
    ("measure u = L(step = 1)", 9, "L0314", "a measure is for all elements of `u` at once", "write `u[d]`"),
    ("measure u[e] = L(step = 1)", 9, "L0314", "a measure is for all elements of `u` at once", "write `u[d]`"),
    ("measure k9[d] = L(step = 1)", 9, "L0301", "unknown name `k9`", "declare it above: `variable k9[d]` for a column of the data, `parameter k9[d]` for a number that is fitted"),
    ("measure u[d] = L", 16, "L0331", "`L` stands without the place where it is read", "say where: `L(step = 1000)`"),
    ("measure u[d] = 2*L[d]", 18, "L0331", "`L[d]` stands without the place where it is read", "say where: `L(step = 1000)`"),
    ("measure u[d] = E*L(step = 1)", 16, "L0331", "`E` cannot stand in a measure", READ),
    ("measure u[d] = exp(L(step = 1))", 16, "L0331", "`exp(L(step = 1))` cannot stand in a measure", READ),
    ("measure u[d] = L(step = 1)^2", 16, "L0331", "`L(step = 1)^2` cannot stand in a measure", READ),
    ("measure u[d] = sum(k1[d] for d)", 16, "L0331", "`sum(k1[d] for d)` cannot stand in a measure", READ),
    ("measure u[d] = loss(step = 1)", 16, "L0331", "`loss(step = 1)` cannot stand in a measure", "the output is read, which is called `L`: `L(step = 1000)`"),
    ("measure u[d] = 3", 16, "L0331", "this reads nothing of `L`", "name a reading: `L(step = 1000)`"),
    ("measure u[d] = L(1000)", 16, "L0331", "`L(1000)` does not say which column is read at this value", "write `L(step = 1000)`"),
    ("measure u[d] = L(step = 1, step = 2)", 28, "L0331", "`step` stands twice in a reading", "write it once"),
    ("measure u[d] = L(step = E)", 25, "L0331", "`step` is read at a number, and this is none", "write it as `step = 1000`"),
    ("measure u[d] = L(E = 1)", 18, "L0331", "`E` is a parameter, not a column of the table", "name a variable, or a column of the table: `L(step = 1000)`"),
    ("measure u[d] = L(d = 1)", 18, "L0331", "`d` is an index, not a column of the table", "name a variable, or a column of the table: `L(step = 1000)`"),
    ("measure u[d] = L(k1 = 1)", 18, "L0331", "`k1[d]` has a value for each label, not for each row", "name a variable, or a column of the table: `L(step = 1000)`"),
    ("measure u[d] = L(step = 1)/0", 28, "L0501", "this divides by 0", "correct the formula"),
    ("measure u[d] = L(step = 1/0)", 27, "L0501", "this divides by 0", "correct the formula"),
    ("measure u[d] = L(step = 9^999)", 25, "L0502", "a number here is too large or too small to be computed with", "numbers go from 5e-324 to 1.8e308"),
    ("measure u[d] = L(step = 1)*1e308*1e308", 34, "L0502", "a number here is too large or too small to be computed with", "numbers go from 5e-324 to 1.8e308"),
    ("measure u[d] = L(step = 1)*L(step = 2)", 16, "L0410", "the units differ: `u` is in nat*token^-1, this in nat^2*token^-2", "convert one of them"),
    ("measure u[d] = L(step 1000)", 23, "L0201", "unexpected `1000`", "write `measure u[d] = L(step = 1000)`"),
    ("measure u[d] = L[d](step = 1000)", 16, "L0331", "`L[d](step = 1000)` is not a reading", "leave the label out: `L(step = 1000)`"),
    ("measure u[d] = L[step = 1000]", 23, "L0201", "unexpected `=`", "write `measure u[d] = L(step = 1000)`"),
    ("measure u[d] = L(step >= 1000)", 23, "L0201", "unexpected `>=`", "write `measure u[d] = L(step = 1000)`"),
    ("measure u[d] = L at step 1000", 18, "L0201", "unexpected `at`", "write `measure u[d] = L(step = 1000)`"),
    ("measure u[d] = 2 L(step = 1000)", 16, "L0203", "an operator is missing between `2` and `L`", "write `2*L` for a product"),
    ("measure u[d] = L(step = 1 N = 2)", 27, "L0203", "a comma is missing between `1` and `N`", "write `,` between them"),
    ("measure u[d] = L(step = 1000", 17, "L0202", "`(` is never closed", "close it with `)`"),
    ("measure u[d]", 12, "L0207", "the line ends too early, after `]`", "`=` must follow"),
    ("measure u[d] > 0", 14, "L0201", "unexpected `>`", "the form is `measure NAME[d] = L(step = 1000)`, such as `measure u[d] = L(step = 1000)`"),
    ("measures u[d] = L(step = 1)", 1, "L0205", "unknown statement `measures`", "write `measure`"),
    ("parameter measure > 0", 11, "L0206", "`measure` is a word of the language and cannot be a name", "choose another name"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "column", "code", "message", "help"), MISTAKES, ids=[m[0] for m in MISTAKES]
)
def test_a_mistake_has_one_message(line: str, column: int, code: str, message: str, help: str):
    more = (
        "index e over domain\nindex j over training\nvariable p[d, e], z[j], w[j]\n"
        "variable u[d] unit nat/token\n"
    )
    every = "L = dcpt.l3 + F/K[d]^mu + u[d] + sum(p[d, e] for e) + sum(z[j]*w[j] for j)\n"
    found = [d for d in mistakes(CROSS + more + every + line + "\n") if d.severity == "error"]

    assert [(d.code, d.message, d.help) for d in found] == [(code, message, help)]
    assert found[0].text is not None and found[0].span is not None
    assert found[0].text.position(found[0].span.start)[1] == column


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("L(step = 1)", 3.0),
        ("L(step = 0) - L(step = 4)", 2.0),
        ("-L(D = 20) + 10/4", 0.0),
        ("(L(step = 2) - L(step = 1))/(L(step = 1) - L(step = 0))*3", 1.5),
        ("2*L(step = 4, D = 40, N = 1) - L(D = 0)", 0.0),
        ("L(step = 1 + 1)", 2.5),
    ],
)
def test_a_formula_is_computed_from_what_was_measured(formula: str, value: float):
    assert values(rule(formula), ONE_RUN) == {"code": value}


@pytest.mark.parametrize("name", domains.DOMAINS)
def test_covariates_of_planted_domains_are_those_of_their_formulas(name: str):
    found = of_runs(domains.runs(sizes=[1.8], shares=[1.0]))
    known = domains.covariates(name, [1.8], [1.0])

    assert found.warnings == ()
    assert found.points == {k: ({"N": 1.8, "r": 1.0},) for k in ("k1", "k2", "k3")}
    assert {k: found.values[k][name] for k in known} == pytest.approx(known, rel=1e-12)


def test_what_a_reading_leaves_open_is_averaged_over_points_that_all_labels_have():
    rows = domains.runs()
    cut = [row for row in rows if (row["domain"], row["N"]) != ("law", 4.0)]
    every, fewer = of_runs(rows), of_runs(cut)

    assert len(every.points["k2"]) == 9 and len(fewer.points["k2"]) == 6
    for name in domains.DOMAINS:
        known, less = domains.covariates(name), domains.covariates(name, [0.5, 1.8])
        assert {k: every.values[k][name] for k in known} == pytest.approx(known, rel=1e-12)
        assert {k: fewer.values[k][name] for k in less} == pytest.approx(less, rel=1e-12)
    (one,), (other,) = every.warnings, fewer.warnings
    assert (one.code, one.message, one.notes) == (
        "D0134",
        "`k1`, `k2` and `k3` are each the mean over 9 points, N = 0.5, 1.8, 4 and r = 0.2, 0.5, 1",
        (),
    )
    assert one.help is not None and one.help.endswith("`L(…, N = 4, r = 1)`")
    assert other.notes == (
        "`law` has no run at N = 4, r = 0.2; N = 4, r = 0.5; N = 4, r = 1: left out",
    )


def test_one_point_that_all_have_is_enough_and_others_are_named():
    rows = [*domains.runs(["code"]), *domains.runs(["law"], [1.8], [1.0])]
    found = of_runs(rows)

    assert found.points["k1"] == ({"N": 1.8, "r": 1.0},)
    assert [d.message for d in found.warnings] == [
        "`k1`, `k2` and `k3` are each measured at N = 1.8 and r = 1"
    ]
    assert found.warnings[0].help == "measure all labels at the same points"


def test_conditions_choose_runs():
    text = CROSS.replace("L(step = 1000)", "L(step = 1000, N = 1.8, r = 1)", 1) + EQUATION
    found = measured(law(text), read_table(domains.columns_of(domains.runs())))

    known = domains.covariates("law", [1.8], [1.0])["k1"]
    assert found.values["k1"]["law"] == pytest.approx(known, rel=1e-12)
    assert found.points["k1"] == ({},)
    assert [d.message for d in found.warnings] == [
        "`k2` and `k3` are each the mean over 9 points, N = 0.5, 1.8, 4 and r = 0.2, 0.5, 1"
    ]


def test_readings_of_different_runs_are_compared_across_them():
    table = {
        "domain": ["code"] * 4,
        "run": ["a", "a", "b", "b"],
        "N": [1.0, 1.0, 2.0, 2.0],
        "D": [10.0, 20.0, 10.0, 20.0],
        "L": [4.0, 3.0, 3.5, 2.5],
    }

    assert values(rule("L(D = 20, N = 1) - L(D = 20, N = 2)"), table) == {"code": 0.5}


# Runs


def test_repeats_are_averaged_run_by_run():
    """Of a seed that stopped early nothing is read, not even what it had measured."""
    table = {
        "domain": ["code"] * 5,
        "seed": [1, 1, 2, 2, 3],
        "N": [1.0] * 5,
        "D": [0.0, 20.0, 0.0, 20.0, 0.0],
        "step": [0, 2, 0, 2, 0],
        "L": [4.0, 2.5, 4.2, 2.5, 9.0],
    }

    assert values(rule("L(step = 0) - L(step = 2)"), table) == {"code": pytest.approx(1.6)}
    assert values(rule("L(step = 0) - L(step = 2)"), table, run=()) == {
        "code": pytest.approx(17.2 / 3 - 2.5)
    }


BATCHES = {  # two sizes with batches of their own, and a variable that grows with D
    "N": np.repeat([1.0, 2.0], 3),
    "D": np.array([0.0, 10.0, 20.0, 0.0, 20.0, 40.0]),
    "C": np.array([0.0, 10.0, 20.0, 0.0, 40.0, 80.0]),
}
STEP = np.array([0.0, 1.0, 2.0] * 2)


@pytest.mark.parametrize(
    ("along", "names", "expected"),
    [
        (STEP, "ND", ["N"]),
        (STEP, "NDC", ["N"]),
        (BATCHES["D"], "N", ["N"]),
        (BATCHES["D"], "NC", ["N"]),
        (np.array([5.0] * 6), "ND", ["N", "D"]),
    ],
)
def test_variables_that_grow_along_a_run_do_not_tell_runs_apart(
    along: np.ndarray, names: str, expected: list[str]
):
    variables = {name: BATCHES[name] for name in names}

    assert constant_along_runs(along, variables, [np.zeros(6, dtype=np.int64)]) == expected


def test_runs_with_other_batches_are_told_apart_by_their_names():
    table = {
        "domain": ["code"] * 4,
        "run": ["a", "a", "b", "b"],
        "N": [1.0] * 4,
        "D": [0.0, 20.0, 0.0, 10.0],
        "step": [0, 2, 0, 2],
        "L": [4.0, 2.0, 4.0, 3.0],
    }
    declared = rule("L(step = 0) - L(step = 2)")

    assert values(declared, table) == {"code": 1.5}
    unnamed = {name: column for name, column in table.items() if name != "run"}
    (found,) = refused(declared, unnamed)
    assert (found.code, found.message) == (
        "D0132",
        "no run of `code` has L(step = 0) and L(step = 2)",
    )
    table["launch"] = table.pop("run")
    assert values(declared, table, run=["launch"]) == {"code": 1.5}


# Between evaluations


@pytest.mark.parametrize("steps", [(900, 1024), (800, 1300), (0, 1024)])
def test_a_reading_between_near_evaluations_is_on_their_line(steps: tuple[int, int]):
    table = {
        "domain": ["code"] * 2,
        "N": [1.0] * 2,
        "D": [1.0 * step for step in steps],
        "step": list(steps),
        "L": [4.0, 3.0],
    }
    found = measured(rule("L(step = 1000)"), read_table(table))

    share = (1000 - steps[0]) / (steps[1] - steps[0])
    assert found.values["k"] == {"code": pytest.approx(4 - share, rel=1e-12)}
    (warning,) = found.warnings
    assert (warning.code, warning.notes) == (
        "D0135",
        (f"L(step = 1000) between {steps[0]} and {steps[1]} in `code`",),
    )


def test_what_the_line_misses_of_a_power_law_is_small():
    """A loss of t^-1/2: two evaluations that are as far as they may be."""
    for low in (500, 750, 900, 990):
        high = 1000 * (1 + MAX_INTERPOLATION_DISTANCE / (1 - low / 1000))
        table = {"domain": ["a"] * 2, "step": [low, high], "L": [low**-0.5, high**-0.5]}
        found = measured(rule("L(step = 1000)"), read_table(table)).values["k"]["a"]

        assert 0 < found / 1000**-0.5 - 1 < 0.04


def test_an_evaluation_at_the_place_is_taken_before_any_line():
    table = {"domain": ["a"] * 3, "step": [999, 1000, 1001], "L": [5.0, 3.0, 5.0]}

    assert values(rule("L(step = 1000)"), table) == {"a": 3.0}


@pytest.mark.parametrize(
    ("steps", "note", "help"),
    [
        ((500, 2000), "it was evaluated at step = 500 and 2000, too far apart", "evaluate at step = 1000"),
        ((500, 999), "its rows end at step = 999", "go on to step = 1000"),
        ((1001, 2000), "its rows begin at step = 1001", "keep the rows from step = 1000 on"),
    ],
)  # fmt: skip
def test_nothing_is_read_far_from_evaluations(steps: tuple[int, int], note: str, help: str):
    table = {"domain": ["a", "a"], "step": list(steps), "L": [4.0, 3.0]}
    (found,) = refused(rule("L(step = 1000)"), table)

    assert (found.code, found.message) == ("D0132", "no run of `a` has L(step = 1000)")
    assert found.notes == (note,)
    assert found.help == f"{help}; a column of the variable's own name gives its values too"
