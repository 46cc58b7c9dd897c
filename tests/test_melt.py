"""Tables of many domains: columns or rows of labels, shares, and every mistake that one can make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lawdsl
from lawdsl.core.diagnostics import LawdslError, Text
from lawdsl.data.melt import Labelled, labelled
from lawdsl.data.read import read_table
from lawdsl.language import library
from lawdsl.language.symbols import Declarations
from lawdsl.law.law import Law

MIXING = """\
law example
index i over validation
index j over training
variable N > 0 unit param
variable r[j] in simplex
parameter c[i], k[i] > 0, t[i, j]
L[i] = c[i] + k[i]*exp(sum(t[i, j]*r[j] for j))/N unit nat/token
"""
GROUPS = """\
law groups
index g over {web, code}
variable N > 0
parameter E[g], A > 0
L = E[g] + A/N
"""
MEASURED = """\
law measured
index d over domain
variable N > 0
variable k1[d] > 0
parameter A > 0
L = A/N + k1[d]
"""
WIDE = "N,r[web],r[code],L[a],L[b]\n1e6,0.25,0.75,2.5,3.5\n2e6,0.5,0.5,2.25,3.25\n"
LONG = "N,r_web,r_code,on,loss\n1e6,.25,.75,a,2.5\n1e6,.25,.75,b,3.5\n2e6,.5,.5,a,2.25\n"
LONG_COLUMNS = {"r": "r_*", "validation": "on", "L": "loss"}


def declared(text: str) -> Declarations:
    return library.declared(Text("example.law", text), Path())[0]


def read(
    folder: Path, text: str, columns: dict[str, str], law: str = MIXING, **options: Any
) -> Labelled:
    path = folder / "runs.csv"
    path.write_text(text, encoding="utf-8")
    return labelled(declared(law), read_table(path), columns, **options)


# ---- what is read


def test_a_wide_table_has_a_row_for_each_measured_value(tmp_path: Path):
    found = read(tmp_path, WIDE, {})

    assert found.instance.labels == {"training": ("web", "code"), "validation": ("a", "b")}
    assert found.of_rows == {"i": ("a", "a", "b", "b")}
    assert found.table.numbers("L").tolist() == [2.5, 2.25, 3.5, 3.25]
    assert found.table.numbers("r[code]").tolist() == [0.75, 0.5, 0.75, 0.5]
    assert found.table.rows.tolist() == [2, 3, 2, 3]  # lines of the file


def test_a_long_table_keeps_its_rows(tmp_path: Path):
    found = read(tmp_path, LONG, LONG_COLUMNS)

    assert found.instance.labels == {"training": ("web", "code"), "validation": ("a", "b")}
    assert found.of_rows == {"i": ("a", "b", "a")}
    assert found.table.numbers("r[web]").tolist() == [0.25, 0.25, 0.5]
    assert found.columns == {"L": "loss"}


def test_labels_are_sorted_in_rows_and_in_the_order_of_columns(tmp_path: Path):
    columns = read(tmp_path, "N,r[z],r[b],L[z],L[b]\n1e6,.5,.5,2,3\n", {})
    rows = read(tmp_path, LONG.replace(",a,", ",z,"), LONG_COLUMNS)

    assert columns.instance.labels == {"training": ("z", "b"), "validation": ("z", "b")}
    assert rows.instance.labels["validation"] == ("b", "z")


@pytest.mark.parametrize(
    ("header", "pattern", "labels"),
    [
        ("r_web,r_code", "r_*", ("web", "code")),
        ("web share,code share", "* share", ("web", "code")),
        ("r[web],r[code]", "r[*]", ("web", "code")),
        ("r[ web ],r[code]", "r[*]", ("web", "code")),
        ("r.Pile-CC.x,r.Stack (v2).x", "r.*.x", ("Pile-CC", "Stack (v2)")),
    ],
)
def test_a_pattern_names_the_columns(
    header: str, pattern: str, labels: tuple[str, ...], tmp_path: Path
):
    found = read(tmp_path, WIDE.replace("r[web],r[code]", header), {"r": pattern})

    assert found.instance.labels["training"] == labels
    assert found.table.numbers(f"r[{labels[0]}]")[0] == 0.25


def test_units_in_headers_go_with_the_columns(tmp_path: Path):
    """Of the columns of one output there is one unit."""
    head = "N [Mparam],r[web],r[code],loss a [nat/token],loss b [nat/token]\n"
    found = read(tmp_path, head + WIDE.partition("\n")[2], {"L": "loss *"})

    assert found.table.units["N"] == "Mparam"
    assert found.table.units["L"] == "nat/token"


def test_columns_of_an_output_in_two_units_are_refused(tmp_path: Path):
    head = "N,r[web],r[code],loss a [nat/token],loss b [bit/token]\n"
    assert codes(tmp_path, head + WIDE.partition("\n")[2], {"L": "loss *"}) == ["D0112"]


def test_rows_of_a_part_have_its_label_alone(tmp_path: Path):
    found = read(tmp_path, LONG, LONG_COLUMNS)

    assert found.keep({"i": "a"}).rows.tolist() == [2, 4]


def test_where_rows_differ_in_a_label_a_variable_says_which(tmp_path: Path):
    found = read(tmp_path, "N,g,L\n1,web,2\n2,code,3\n3,web,4\n", {}, GROUPS)
    table = found.keep({})

    assert table.numbers("[g = web]").tolist() == [1, 0, 1]
    assert table.numbers("[g = code]").tolist() == [0, 1, 0]


@pytest.mark.parametrize("columns", [{"g": "domain"}, {"{web, code}": "domain"}])
def test_the_labels_of_a_listed_set_are_bound_by_its_index(columns: dict[str, str], tmp_path: Path):
    found = read(tmp_path, "N,domain,L\n1,web,2\n", columns, GROUPS)

    assert found.of_rows == {"g": ("web",)}


def test_a_variable_of_the_rows_label_is_one_column(tmp_path: Path):
    text = "N,domain,speed,L\n1,web,0.5,2\n2,law,0.25,3\n"
    found = read(tmp_path, text, {"k1": "speed"}, MEASURED)

    assert found.instance.by_row == ("k1",)
    assert found.columns == {"k1[d]": "speed"}


def test_what_a_prediction_needs_has_no_output(tmp_path: Path):
    text = "N,r[web],r[code]\n1e6,0.25,0.75\n"
    found = read(tmp_path, text, {}, target=False, fit_labels={"validation": ("a", "b")})

    assert found.of_rows == {} and len(found.table) == 1


# ---- rows that cannot be used


BAD_ROWS = {
    "an empty label": (LONG, ("1e6,.25,.75,b", "1e6,.25,.75,"), "D0120", "on is empty"),
    "an empty share": (LONG, ("b,3.5", "b,3.5\n1e6,,1,b,3"), "D0106", "r_web: the cell is empty"),
    "the last share empty": (
        LONG,
        ("b,3.5", "b,3.5\n1e6,1,,b,3"),
        "D0106",
        "r_code: the cell is empty",
    ),
    "a word for a share": (LONG, ("b,3.5", "b,3.5\n1e6,x,1,b,3"), "D0106", '"x" is not a number'),
    "too much": (LONG, ("b,3.5", "b,3.5\n1e6,.5,.6,b,3"), "D0121", "sum to 1.1, not to 1"),
    "below 0": (LONG, ("b,3.5", "b,3.5\n1e6,1.5,-.5,b,3"), "D0121", "is -0.5: none is below 0"),
    "nan": (LONG, ("b,3.5", "b,3.5\n1e6,nan,.5,b,3"), "D0121", "sum to nan"),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_a_bad_row_is_refused_with_its_line(name: str, tmp_path: Path):
    text, (old, new), code, message = BAD_ROWS[name]
    with pytest.raises(LawdslError) as error:
        read(tmp_path, text.replace(old, new), LONG_COLUMNS)
    (diagnostic,) = error.value.diagnostics

    assert diagnostic.code == code and message in diagnostic.message
    line = 3 if name == "an empty label" else 4
    assert diagnostic.place.startswith(f"{tmp_path / 'runs.csv'}:{line} column")
    assert diagnostic.help
    assert "--drop-bad" in diagnostic.help or name == "a word for a share"


@pytest.mark.parametrize("name", BAD_ROWS)
def test_a_bad_row_can_be_left_out(name: str, tmp_path: Path):
    text, (old, new), _, _ = BAD_ROWS[name]
    found = read(tmp_path, text.replace(old, new), LONG_COLUMNS, drop_bad=True)

    assert found.dropped == 1
    assert found.table.rows.tolist() == ([2, 4] if name == "an empty label" else [2, 3, 5])


def test_a_row_of_a_wide_table_is_named_once(tmp_path: Path):
    with pytest.raises(LawdslError) as error:
        read(tmp_path, WIDE.replace("0.5,0.5", "0.5,0.4"), {})
    (diagnostic,) = error.value.diagnostics

    assert diagnostic.place.endswith("runs.csv:3 columns r[web] to r[code]")
    assert not diagnostic.notes


def test_all_rows_bad_leave_nothing(tmp_path: Path):
    text = WIDE.replace("0.25", "0.5").replace("0.5,0.5", "0.5,0.75")
    with pytest.raises(LawdslError, match="every row is bad"):
        read(tmp_path, text, {}, drop_bad=True)


def test_rounded_shares_are_taken_with_a_warning(tmp_path: Path):
    found = read(tmp_path, WIDE.replace("0.25,0.75", "0.333,0.666"), {})
    (warning,) = found.warnings

    assert (warning.code, warning.severity) == ("D0122", "warning")
    assert "only within 0.001" in warning.message
    assert warning.help and "`code` as 1 minus the others" in warning.help


# ---- tables that cannot be used


def codes(folder: Path, text: str, columns: dict[str, str], law: str = MIXING) -> list[str]:
    with pytest.raises(LawdslError) as error:
        read(folder, text, columns, law)
    assert all(d.help for d in error.value.diagnostics)
    return [d.code for d in error.value.diagnostics]


@pytest.mark.parametrize(
    ("text", "columns", "law", "code", "message"),
    [
        (LONG, {"validation": "on", "L": "loss"}, MIXING, "D0104", r"unknown columns `r\[\*\]`"),
        (LONG, {**LONG_COLUMNS, "r": "share_*"}, MIXING, "D0104", r"unknown columns `share_\*`"),
        (LONG, {**LONG_COLUMNS, "r": "r_web"}, MIXING, "D0104", "`r_web` is not a pattern"),
        (LONG, {"r": "r_*"}, MIXING, "D0104", r"unknown columns `L\[\*\]` for the output"),
        (LONG, {**LONG_COLUMNS, "validation": "at"}, MIXING, "D0104", "unknown column `at`"),
        (LONG, {**LONG_COLUMNS, "q": "on"}, MIXING, "D0116", "no variable and no set `q`"),
        ("N,L\n1,2\n", {}, GROUPS, "D0104", "label of each row over {web, code}"),
        ("N,g,L\n1,web,2\n1,book,2\n", {}, GROUPS, "D0120", "`book` is none of {web, code}"),
        ("N,L\n1,2\n", {}, MEASURED, "D0104", r"unknown columns `k1\[\*\]`"),
    ],
)
def test_a_table_that_lacks_something_is_refused(
    text: str, columns: dict[str, str], law: str, code: str, message: str, tmp_path: Path
):
    with pytest.raises(LawdslError, match=message):
        read(tmp_path, text, columns, law)
    assert code in codes(tmp_path, text, columns, law)


def test_columns_over_one_set_have_the_same_labels(tmp_path: Path):
    law = MIXING.replace("over training", "over validation")
    same = WIDE.replace("[web]", "[a]").replace("[code]", "[b]")
    with pytest.raises(LawdslError, match="labels of validation are web, code") as error:
        read(tmp_path, WIDE, {}, law)

    assert [d.code for d in error.value.diagnostics] == ["D0120"]
    assert read(tmp_path, same, {}, law).instance.labels == {"validation": ("a", "b")}


def test_what_a_fit_has_not_seen_is_refused(tmp_path: Path):
    text = LONG.replace(",b,", ",q,")
    with pytest.raises(LawdslError, match="`q` is none of validation: a, b"):
        read(tmp_path, text, LONG_COLUMNS, fit_labels={"validation": ("a", "b")})


def test_a_variable_of_two_labels_has_no_columns(tmp_path: Path):
    law = MIXING.replace("r[j] in simplex", "r[i, j] > 0").replace("*r[j]", "*r[i, j]")

    assert "D0120" in codes(tmp_path, WIDE, {}, law)


# ---- with a fit


def mixtures(rows: int = 12) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    web = rng.uniform(0, 1, rows)
    return {
        "N": np.ones(rows),
        "r[web]": web,
        "r[code]": 1 - web,
        "L[a]": 1 + np.exp(web),
        "L[b]": 2 + 0.5 * np.exp(1 - 2 * web),
    }


def test_conditions_choose_rows_before_labels_are_read():
    table = mixtures()
    table["size"] = ["small"] * 11 + ["large"]
    table["r[web]"][11] = 7.0  # its shares sum to 7, and it is left out
    law = Law(declared(MIXING + "identify sum(t[i, j] for j) = 0\n"))
    found = lawdsl.fit(law, table, where="size = small", starts=4, claims=False)

    assert [part.data.rows for part in found.parts] == [11, 11]
    with pytest.raises(LawdslError, match="no row is left"):
        lawdsl.fit(law, table, where="size = huge")


def test_rows_left_out_are_counted_once():
    table = mixtures()
    table["r[web]"][11] = 7.0
    law = Law(declared(MIXING + "identify sum(t[i, j] for j) = 0\n"))
    found = lawdsl.fit(law, table, drop_bad=True, starts=4, claims=False)

    assert isinstance(found, lawdsl.Fits)
    assert found.dropped == 1
    assert [part.data.rows for part in found.parts] == [11, 11]
