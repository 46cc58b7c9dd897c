"""Variables with a value a label: rules of measurement, and what they give on tables of runs."""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import commands
import domains
import numpy as np
import pytest

from lawdsl.core.diagnostics import Diagnostic, LawdslError, Text
from lawdsl.data.covariates import with_columns
from lawdsl.data.evaluations import MAX_INTERPOLATION_DISTANCE, constant_along_runs
from lawdsl.data.measured_variables import Measured, check_names, measured
from lawdsl.data.read import read_table
from lawdsl.language import library, tree
from lawdsl.language.parser import parse
from lawdsl.language.symbols import Declarations, Reading

ROOT = Path(__file__).resolve().parent.parent

CROSS = """\
law cross
extends dcpt.l3
index d over domain
setting low = 0
variable k1[d], k2[d] > low unit nat/token
variable k3[d] unit nat/token
measure k1[d] = L(step = 1000)
measure k2[d] = L(step = 0) - L(step = 5000)
measure k3[d] = ((L(step = 11000) - L(step = 10000)) - (L(step = 1000) - L(step = 0)))/10
parameter F, mu, w2, w3 > 0
let K[d] = 1/k1[d] + w2*k2[d] + w3/k3[d]
"""
EQUATION = "L = dcpt.l3 + F/K[d]^mu unit nat/token\n"
Table = dict[str, Any]


def law(text: str = CROSS + EQUATION, folder: Path = Path()) -> Declarations:
    found, warnings = library.declared(Text("example.law", text), folder)

    assert warnings == []
    return found


def rule(formula: str, head: str = "variable N, D > 0 unit token") -> Declarations:
    """A law that measures one variable so."""
    return law(
        f"law a\nindex d over domain\n{head}\nvariable k[d]\nparameter E > 0\n"
        f"measure k[d] = {formula}\nL = E*N*D*k[d]\n"
    )


def mistakes(text: str) -> list[Diagnostic]:
    try:
        return library.declared(Text("example.law", text), Path())[1]
    except LawdslError as error:
        return list(error.diagnostics)


def values(declared: Declarations, table: Table, **options: Any) -> dict[str, float]:
    """The values of k, of which nothing is to be said."""
    found = measured(declared, read_table(table), **options)

    assert found.warnings == ()
    return dict(found.values["k"])


def refused(declared: Declarations, table: Any, **options: Any) -> tuple[Diagnostic, ...]:
    with pytest.raises(LawdslError) as error:
        measured(declared, read_table(table), **options)
    return error.value.diagnostics


def of_runs(rows: Sequence[domains.Row], **options: Any) -> Measured:
    return measured(law(), read_table(domains.columns_of(rows)), **options)


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
FORM = "write a reading of the runs of a label as `L(step = 1000)`"
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
    ("measure k9[d] = L(step = 1)", 9, "L0301", "unknown name `k9`", "declare it: `parameter k9` or `variable k9`"),
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
    ("measure u[d] = L(step 1000)", 23, "L0201", "`1000` cannot stand here", FORM),
    ("measure u[d] = L[d](step = 1000)", 16, "L0331", "`L[d](step = 1000)` is not a reading", "leave the label out: `L(step = 1000)`"),
    ("measure u[d] = L[step = 1000]", 23, "L0201", "`=` cannot stand here", FORM),
    ("measure u[d] = L(step >= 1000)", 23, "L0201", "`>=` cannot stand here", FORM),
    ("measure u[d] = L at step 1000", 18, "L0201", "`at` cannot stand here", FORM),
    ("measure u[d] = 2 L(step = 1000)", 16, "L0203", "an operator is missing between `2` and `L`", "write `2*L` for a product"),
    ("measure u[d] = L(step = 1 N = 2)", 25, "L0203", "a comma is missing between `1` and `N`", "write `,` between them"),
    ("measure u[d] = L(step = 1000", 17, "L0202", "`(` is never closed", "close it with `)`"),
    ("measure u[d]", 12, "L0207", "the line ends too early, after `]`", "`=` must follow"),
    ("measure u[d] > 0", 14, "L0201", "`>` cannot stand here", "expected `=`"),
    ("measures u[d] = L(step = 1)", 1, "L0205", "`measures` begins no statement", "did you mean `measure`?"),
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


# What is measured

ONE_RUN = {
    "domain": ["code"] * 4,
    "N": [1.0] * 4,
    "D": [0.0, 10.0, 20.0, 40.0],
    "step": [0, 1, 2, 4],
    "L": [4.0, 3.0, 2.5, 2.0],
}


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


# Units and numbers


def test_a_variable_is_read_in_the_units_of_the_law():
    text = "domain,N [Mparam],D [Mtoken],loss [bit/token]\ncode,500,131.072,4\n"
    declared = rule(
        "L(D = 0.131072, N = 0.5)",
        "variable N > 0 unit Gparam\nvariable D > 0 unit Gtoken",
    )
    nats = law(
        "law a\nindex d over domain\nvariable D > 0 unit Gtoken\nvariable k[d]\nparameter E\n"
        "measure k[d] = L(D = 0.131072)\nL = E*k[d]*D unit nat/token\n"
    )
    table = read_table_of(text)

    assert measured(nats, table, {"L": "loss"}).values["k"]["code"] == pytest.approx(4 * np.log(2))
    (found,) = _raised(lambda: measured(declared, table, {"L": "loss"}))
    assert found.code == "D0112"  # that law gives its output no unit


def read_table_of(text: str) -> Any:
    from lawdsl.data.formats import csv

    return csv.read(text.encode(), "runs.csv")


def _raised(call: Callable[[], object]) -> tuple[Diagnostic, ...]:
    with pytest.raises(LawdslError) as error:
        call()
    return error.value.diagnostics


def test_numbers_are_compared_to_six_digits():
    table = {"domain": ["a", "a"], "N": [0.333333, 0.3333], "D": [1.0, 2.0], "L": [4.0, 3.0]}

    assert values(rule("L(N = 1/3)"), table) == {"a": 4.0}


# Labels


@pytest.mark.parametrize(
    ("name", "columns", "labels"),
    [
        ("domain", {}, None),
        ("d", {}, None),
        ("corpus", {"d": "corpus"}, None),
        ("corpus", {"domain": "corpus"}, None),
        ("corpus", {}, "corpus"),
    ],
)
def test_labels_are_in_the_column_of_the_index_or_its_set(
    name: str, columns: dict[str, str], labels: str | None
):
    table = {name: ["code", "law"], "D": [1.0, 1.0], "L": [4.0, 3.0]}

    found = values(rule("L(D = 1)"), table, columns=columns, labels=labels)
    assert found == {"code": 4.0, "law": 3.0}


def test_names_in_a_reading_are_bound_as_variables_are():
    table = {"domain": ["code"], "iteration": [1000], "loss": [4.0]}
    columns = {"step": "iteration", "L": "loss"}

    assert values(rule("L(step = 1000)"), table, columns=columns) == {"code": 4.0}
    check_names(rule("L(step = 1000)"), [*columns, "d", "domain", "k", "N"])
    (found,) = _raised(lambda: check_names(rule("L(step = 1)"), ["stp"]))
    assert (found.code, found.help) == ("D0116", "did you mean `step`?")


# A new label


def test_a_new_label_is_measured_from_its_own_short_runs():
    """As for a prediction: five thousand steps of one domain, and no others."""
    text = "".join(line for line in CROSS.splitlines(True) if "measure k3" not in line)
    declared = law(text + EQUATION)
    rows = domains.runs(["code", "law"])
    before = measured(declared, read_table(domains.columns_of(rows)))
    new = read_table(domains.columns_of(domains.runs(["medical"], steps=(0, 1000, 5000))))
    found = measured(declared, new, points=before.points)

    known = domains.covariates("medical")
    assert {k: found.values[k]["medical"] for k in ("k1", "k2")} == pytest.approx(
        {k: known[k] for k in ("k1", "k2")}, rel=1e-12
    )
    assert found.warnings == () and found.points == before.points
    kept = json.loads(json.dumps(before.to_json()))["points"]
    assert measured(declared, new, points=kept) == found


def test_a_new_label_is_measured_where_the_others_were():
    one = of_runs(domains.runs(["code"], [1.8], [1.0]))
    several = of_runs(domains.runs(["law"]), points=one.points)
    known = domains.covariates("law", [1.8], [1.0])
    assert {k: several.values[k]["law"] for k in known} == pytest.approx(known, rel=1e-12)

    table = domains.columns_of(domains.runs(["law"], [0.5, 4.0], [1.0]))
    (found,) = refused(law(), table, points=one.points)
    assert (found.code, found.message) == (
        "D0133",
        "`law` has no run at N = 1.8, r = 1, where others were measured",
    )
    assert found.notes == ("its runs are at N = 0.5, r = 1; N = 4, r = 1",)
    missing = {name: column for name, column in table.items() if name != "N"}
    (found,) = refused(law(), missing, points=one.points)
    assert (found.code, found.message) == (
        "D0104",
        "there is no column `N` for the points at which others were measured",
    )


# Values that a column gives


def test_a_column_of_the_same_name_gives_the_values():
    rows = [{**row, "k1": 2.5 if row["domain"] == "law" else 3} for row in domains.runs()]
    found = of_runs(rows)

    assert found.values["k1"] == {"code": 3, "law": 2.5, "medical": 3}
    assert list(found.points) == ["k2", "k3"]
    table = domains.columns_of([{**row, "first": row["k1"], "k1": "?"} for row in rows])
    bound = measured(law(), read_table(table), {"k1": "first"})
    assert bound.values == found.values


def test_a_column_gives_its_values_in_its_own_unit():
    table = read_table_of("domain,k [knat/token]\ncode,2\ncode,2\n")
    declared = law(
        "law a\nindex d over domain\nvariable k[d] unit nat/token\nparameter E\n"
        "measure k[d] = L(step = 1)\nL = E*k[d]\n"
    )

    assert measured(declared, table).values == {"k": {"code": 2000.0}}


# What is refused

BASE = {"domain": ["a", "b"], "N": [1.0, 1.0], "D": [1.0, 1.0], "L": [4.0, 3.0]}
REFUSED = [
    # change, code, message, place
    ({"L": None}, "D0104", "there is no column `L` for the output `L`", "the table given"),
    ({"D": None}, "D0104", "there is no column `D` for the place `D`", "the table given"),
    ({"domain": None}, "D0104", "there is no column `domain` for the labels of `d` over domain", "the table given"),
    ({"domain": ["a", ""]}, "D0130", "column domain is empty: which label has the row?", "the table given:2 column domain"),
    ({"D": [1.0, None]}, "D0106", "column D: is empty", "the table given:2 column D"),
    ({"L": [4.0, float("nan")]}, "D0107", "column L: the measured output is not a finite number", "the table given:2 column L"),
    ({"D": [1.0, 5.0]}, "D0132", "no run of `b` has L(D = 1)", "the table given"),
    ({"D": [5.0, 5.0]}, "D0132", "no run of `a` and `b` has L(D = 1)", "the table given"),
    ({"N": [1.0, 2.0]}, "D0133", "what is measured cannot be compared: no point is common to the runs of all labels", "the table given"),
    ({"k": [1.0, float("inf")]}, "D0107", "k[b] is not a finite number", "the table given"),
    ({"domain": ["a", "a"], "k": [1.0, 1.5]}, "D0131", "column k: k[a] is 1 above, and here 1.5", "the table given:2 column k"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "code", "message", "place"), REFUSED)
def test_a_table_that_cannot_be_measured_is_refused(
    change: Table, code: str, message: str, place: str
):
    table = {name: column for name, column in {**BASE, **change}.items() if column is not None}
    (found,) = refused(rule("L(D = 1)"), table)

    assert (found.code, found.message, found.place) == (code, message, place)
    assert found.help


def test_one_message_is_enough_for_what_several_variables_lack():
    rows = [row for row in domains.runs() if row["step"] != 0]
    (found,) = refused(law(), domains.columns_of(rows))

    assert found.message == "no run of `code`, `law` and `medical` has L(step = 0)"
    assert found.notes == ("its rows begin at step = 1000",)
    assert found.help is not None and "--with-step-0" in found.help


def test_a_condition_that_no_row_meets_is_named_with_what_there_is():
    declared = rule("L(D = 1, N = 3)")
    (found,) = refused(declared, {**BASE, "N": [1.0, 1.0]})

    assert found.message == "no run of `a` and `b` has L(D = 1, N = 3)"
    assert found.notes == ("its rows have N = 1",)


def test_conditions_that_no_row_meets_together_are_named_together():
    table = {
        "domain": ["a"] * 2,
        "N": [1.0, 2.0],
        "r": [0.5, 1.0],
        "D": [1.0, 1.0],
        "L": [4.0, 3.0],
    }
    (found,) = refused(rule("L(D = 1, N = 1, r = 1)"), table)

    assert found.notes == ("none of its rows has N = 1, r = 1",)


def test_a_point_that_is_left_out_is_not_spoken_of_as_interpolated():
    near = domains.runs(["code"], [0.5], [1.0], steps=(0, 990, 1010, 5000, 10_000, 11_000))
    rows = [*domains.runs(sizes=[1.8], shares=[1.0]), *near]

    assert [d.code for d in of_runs(rows).warnings] == ["D0134"]


def test_a_value_outside_its_domain_is_refused_with_its_label():
    rows = domains.runs(["code", "law"], [1.8], [1.0])
    rising = [
        {**row, "L": 9.0} if (row["domain"], row["step"]) == ("law", 5000) else row for row in rows
    ]
    (found,) = refused(law(), domains.columns_of(rising))
    assert found.code == "D0108"
    assert found.message.startswith("k2[law] = -5.9")
    assert found.message.endswith("is outside the domain k2[d] > low")
    assert found.help is not None and "L(step = 0) - L(step = 5000)" in found.help

    table = read_table(domains.columns_of(rising))
    lower = measured(law(), table, settings={"low": -10.0})
    assert lower.values["k2"]["law"] < -5


def test_a_ratio_without_a_value_is_refused():
    table = {"domain": ["a"] * 2, "D": [1.0, 2.0], "L": [0.0, 3.0]}
    (found,) = refused(rule("L(D = 2)/L(D = 1)"), table)

    assert (found.code, found.message) == ("D0107", "k[a] is not a finite number")


def test_bad_rows_are_left_out_where_that_is_asked_for():
    table = read_table_of("domain,D,L\na,1,4\na,1,\n,1,5\na,x,6\na,1,2\n")

    assert _raised(lambda: measured(rule("L(D = 1)"), table))[0].code == "D0130"
    assert measured(rule("L(D = 1)"), table, drop_bad=True).values == {"k": {"a": 3.0}}
    empty = read_table_of("domain,D,L\na,x,4\n")
    (found,) = _raised(lambda: measured(rule("L(D = 1)"), empty, drop_bad=True))
    assert found.code == "D0103"


def test_a_loss_that_is_not_read_need_not_be_a_number():
    """A run that diverged late has its first steps all the same."""
    table = {"domain": ["a"] * 2, "D": [1.0, 2.0], "L": [4.0, float("nan")]}

    assert values(rule("L(D = 1)"), table) == {"a": 4.0}


def test_the_order_of_the_rows_does_not_matter():
    rows = domains.runs(noise=0.01)
    order = np.random.default_rng(0).permutation(len(rows))

    assert of_runs([rows[i] for i in order]).values == of_runs(rows).values


# Measured runs


def test_covariates_of_a_real_sweep_are_those_of_its_rows(shared_data: Path):
    """Two domains of one sweep, each with its own share and loss; three sizes, five shares."""
    with (shared_data / "cpt_mini" / "runs.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    table = [
        {
            "domain": of,
            "N": float(row["n_nonemb"]),
            "r": round(float(row[f"r_{of}"]), 6),
            "D": float(row["tokens"]),
            "step": int(row["step"]),
            "L": float(row[f"loss_{of}"]),
        }
        for of in ("domain", "general")
        for row in rows
    ]
    declared = law(
        "law a\nindex d over domain\nvariable N, D > 0\nvariable r in [0, 1]\nvariable k[d]\n"
        "parameter E > 0\nmeasure k[d] = L(step = 0) - L(step = 200)\nL = E*N*D*k[d] + r\n"
    )
    found = measured(declared, read_table(domains.columns_of(table)))

    loss = {(r["domain"], r["N"], r["r"], r["step"]): r["L"] for r in table}
    points = {(N, r) for _, N, r, _ in loss}
    both = [p for p in points if all((of, *p, 0) in loss for of in ("domain", "general"))]
    known = {
        of: np.mean([loss[of, *p, 0] - loss[of, *p, 200] for p in both])
        for of in ("domain", "general")
    }
    assert found.values["k"] == pytest.approx(known, rel=1e-12)
    assert len(found.points["k"]) == len(both) > 5
    assert [d.code for d in found.warnings] == ["D0134"]


# The command


def lawdsl(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return commands.run(*arguments, cwd=cwd)


def test_the_command_prints_and_writes_what_was_measured(tmp_path: Path):
    (tmp_path / "cross.law").write_text(CROSS + EQUATION, encoding="utf-8")
    domains.write(tmp_path / "runs.csv", domains.runs())
    chosen = ("--where", "N = 1.8", "--where", "r = 1")
    done = lawdsl("measure", "cross.law", "runs.csv", *chosen, "-o", "k.csv", cwd=tmp_path)

    assert done.returncode == 0 and done.stderr == "wrote k.csv\n"
    assert done.stdout.startswith(
        "cross and runs.csv\n  k1[d] = L(step = 1000) at N = 1.8, r = 1\n"
    )
    with (tmp_path / "k.csv").open(encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["domain", "k1 [nat/token]", "k2 [nat/token]", "k3 [nat/token]"]
    assert [row[0] for row in rows] == ["code", "law", "medical"]
    known = domains.covariates("law", [1.8], [1.0])
    assert [float(x) for x in rows[1][1:]] == pytest.approx([*known.values()], rel=1e-12)

    again = json.loads(lawdsl("measure", "cross.law", "k.csv", "--json", cwd=tmp_path).stdout)
    assert again["ok"] and again["diagnostics"] == [] and again["result"]["points"] == {}
    assert again["result"]["values"]["k1"]["law"] == float(rows[1][1])


def test_the_command_answers_a_law_without_rules_and_unknown_names(tmp_path: Path):
    (tmp_path / "cross.law").write_text(CROSS + EQUATION, encoding="utf-8")
    domains.write(tmp_path / "runs.csv", domains.runs(["code"]))

    for arguments, code in (
        (("chinchilla", "runs.csv"), "D0136"),
        (("cross.law", "runs.csv", "x=y"), "D0116"),
    ):
        done = lawdsl("measure", *arguments, cwd=tmp_path)
        assert done.returncode == 3 and code in done.stderr and done.stdout == ""


def test_rows_without_labels_are_of_the_only_label_that_was_measured():
    declared = rule("L(step = 1000)")
    rows = read_table({"N": [1.0, 2.0], "D": [3.0, 3.0]})

    filled = with_columns(declared, rows, {}, {"k": {"code": 2.5}})
    assert filled.numbers("k").tolist() == [2.5, 2.5]
    with pytest.raises(LawdslError) as error:
        with_columns(declared, rows, {}, {"k": {"code": 2.5, "law": 3.5}})
    assert "domain" in str(error.value)


def test_a_column_of_the_table_goes_before_what_was_measured():
    rows = read_table({"N": [1.0, 2.0], "D": [3.0, 3.0], "k": [7.0, 8.0]})

    kept = with_columns(rule("L(step = 1000)"), rows, {}, {"k": {"code": 2.5}})
    assert kept.numbers("k").tolist() == [7.0, 8.0]
