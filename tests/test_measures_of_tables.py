"""Measured variables of a table: units, labels, columns, what is refused, and the command."""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import commands
import domains
import numpy as np
import pytest
from measure_cases import (
    CROSS,
    EQUATION,
    Table,
    law,
    of_runs,
    refused,
    rule,
    values,
)

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.covariates import with_columns
from lawdsl.data.measured_variables import check_names, measured
from lawdsl.data.read import read_table

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
        "unknown column `N` for the points at which others were measured",
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
    ({"L": None}, "D0104", "unknown column `L` for the output `L`", "the values given"),
    ({"D": None}, "D0104", "unknown column `D` for the place `D`", "the values given"),
    ({"domain": None}, "D0104", "unknown column `domain` for the labels of `d` over domain", "the values given"),
    ({"domain": ["a", ""]}, "D0130", "column domain is empty: which label has the row?", "the values given:2 column domain"),
    ({"D": [1.0, None]}, "D0106", "column D: the cell is empty", "the values given:2 column D"),
    ({"L": [4.0, float("nan")]}, "D0107", "column L: the measured output is not a finite number", "the values given:2 column L"),
    ({"D": [1.0, 5.0]}, "D0132", "no run of `b` has L(D = 1)", "the values given"),
    ({"D": [5.0, 5.0]}, "D0132", "no run of `a` and `b` has L(D = 1)", "the values given"),
    ({"N": [1.0, 2.0]}, "D0133", "what is measured cannot be compared: no point is common to the runs of all labels", "the values given"),
    ({"k": [1.0, float("inf")]}, "D0107", "k[b] is not a finite number", "the values given"),
    ({"domain": ["a", "a"], "k": [1.0, 1.5]}, "D0131", "column k: k[a] is 1 above, and here 1.5", "the values given:2 column k"),
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
