"""Bindings, conditions and rows left out of a table; and tables that are odd as a whole, or clean."""

from __future__ import annotations

import datetime
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from planted import PLANTED, law_of
from quick import some
from written_tables import CHINCHILLA, COLUMNS, csv, refusal, refusals, written

import lawdsl
from lawdsl.data.binding import bind
from lawdsl.data.read import read_table

# ---- binding, conditions, rows left out


@pytest.mark.parametrize(
    ("options", "code", "message", "help"),
    [
        ({"M": "N"}, "D0116", "has no variable `M`", "it has N, D, L"),
        ({"LL": "L"}, "D0116", "has no variable `LL`", "it has N, D, L"),
        ({"L": "loss"}, "D0104", "unknown column `loss` for the output `L`", "L=COLUMN"),
        ({"L": "lss"}, "D0104", "unknown column `lss` for the output `L`", "columns are N, D, L"),
        ({"where": "size = 1"}, "D0115", "no column `size`", "columns are N, D, L"),
        ({"where": "n > 1"}, "D0115", "the table has no column", "did you mean `N`?"),
        ({"where": "N"}, "D0115", "`N` is not a condition", "step > 0"),
        ({"where": "N >"}, "D0115", "`N >` is not a condition", "step > 0"),
        ({"where": "> 1"}, "D0115", "`> 1` is not a condition", "step > 0"),
        ({"where": ""}, "D0115", "`` is not a condition", "step > 0"),
        ({"where": "N >> 1"}, "D0115", "`> 1` in `N >> 1` is not a number", "= or !="),
        ({"where": "N > many"}, "D0115", "`many` in `N > many` is not a number", "= or !="),
        ({"where": "N > 1_000"}, "D0115", "is not a number", "= or !="),
        ({"where": "N > 1e99"}, "D0103", "no row is left", "N > 1e99"),
        ({"where": ["N > 1e8", "N < 1e9"]}, "D0103", "no row is left", "N > 1e8; N < 1e9"),
    ],
)
def test_a_binding_or_condition_that_is_none_is_refused(
    options: dict[str, Any], code: str, message: str, help: str, tmp_path: Path
):
    diagnostic = refusal(written(tmp_path, csv()), **options)

    assert diagnostic.code == code and message in diagnostic.message
    assert help in (diagnostic.help or "")


def test_a_column_is_bound_with_or_without_the_unit_in_its_header(tmp_path: Path):
    table = written(tmp_path, "N [Mparam],D (tokens),L\n1,2e9,3\n2,2e9,2.9\n")
    for column in ("N", "N [Mparam]"):
        columns = {"N": column, "D": "D (tokens)"}
        read = bind(CHINCHILLA, read_table(table, columns), columns)
        assert read.bound["D"] == "D (tokens)"
        assert read.columns[0].min() == 1e6


def test_a_unit_of_a_binding_may_not_contradict_the_header(tmp_path: Path):
    table = written(tmp_path, csv({1: "N [Mparam],D (tokens),L"}))
    diagnostic = refusal(table, **{"N": "N [Gparam]", "D": "D (tokens)"})
    assert (
        diagnostic.message == "column N is in Mparam by its header, and in Gparam by `N=N [Gparam]`"
    )
    assert diagnostic.help == "leave the unit out, or correct the header"


SIZES = {
    **{"N": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "L": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]},
    "size": ["70M", "70M", "1e3", "1000", "a = b", ""],
    "step": [0.0, 10.0, 20.0, 20.0, 30.0, -1.0],
}
ONE = law_of("variable N > 0\nparameter a > 0\nL = a*N")


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("size = 70M", [1, 2]),
        ("size == 70M", [1, 2]),
        ("size='70M'", [1, 2]),
        (' size = "70M" ', [1, 2]),
        ("size != 70M", [3, 4, 5, 6]),
        ("size = 1000", [3, 4]),
        ("size = a = b", [5]),
        ("step = 20", [3, 4]),
        ("step = 2e1", [3, 4]),
        ("step != 20", [1, 2, 5, 6]),
        ("step > 10", [3, 4, 5]),
        ("step >= 10", [2, 3, 4, 5]),
        ("step < 0", [6]),
        ("step <= 0", [1, 6]),
        ("step > -0.5", [1, 2, 3, 4, 5]),
    ],
)
@pytest.mark.parametrize("kind", ["CSV", "frame"])
def test_conditions_choose_rows(kind: str, condition: str, rows: list[int], tmp_path: Path):
    table: Any = SIZES
    if kind == "CSV":
        table = tmp_path / "runs.csv"
        pd.DataFrame(SIZES).to_csv(table, index=False)
    runs = bind(ONE, read_table(table), {}, where=[condition])

    assert list(runs.columns[0]) == rows


def test_an_order_of_text_is_refused_at_the_first_cell_that_is_no_number():
    found = refusals({**SIZES, "size": ["1", "2", "x", "4", "5", "6"]}, ONE, where="size > 3")

    assert found[0].code == "D0106" and found[0].place.endswith(":3 column size")


BAD_ROWS = csv(
    {2: "oops,2e9,3", 3: "1e8,,3", 4: "1e8,2e11,nan", 5: "1e9,-1,3", 6: "1e9,2e10,0", 7: "1_0,1,1"}
)


def test_rows_left_out_are_counted_and_nothing_else_changes(tmp_path: Path):
    runs = bind(CHINCHILLA, read_table(written(tmp_path, BAD_ROWS)), {}, drop_bad=True)

    assert runs.dropped == 6
    assert runs.target is not None
    assert list(runs.target) == sorted(COLUMNS["L"][6:])


def test_the_count_of_rows_left_out_is_kept_in_the_fit(tmp_path: Path):
    table = {k: list(v) for k, v in PLANTED["chinchilla"].table(0.003).items()}
    table["L"][3] = float("nan")
    fit = lawdsl.fit("chinchilla", table, drop_bad=True, starts=4)

    assert (fit.data.rows, fit.data.dropped) == (35, 1)
    assert fit.to_json()["data"]["dropped"] == 1


def test_rows_that_no_condition_wants_are_not_counted_as_bad(tmp_path: Path):
    path = written(tmp_path, BAD_ROWS)
    runs = bind(CHINCHILLA, read_table(path), {}, where=["N = 1e10"], drop_bad=True)

    assert (runs.dropped, runs.columns.shape) == (0, (2, 3))


def test_a_row_whose_condition_cannot_be_asked_is_left_out_and_counted(tmp_path: Path):
    path = written(tmp_path, "N,L,step\n1,1,1\n2,2,n/a\n3,3,0\n4,4,2\n")
    runs = bind(ONE, read_table(path), {}, where=["step > 0"], drop_bad=True)

    assert runs.dropped == 1 and list(runs.columns[0]) == [1, 4]
    assert refusal(path, ONE, where="step > 0").place == f"{path}:3 column step"


def test_dropping_bad_rows_does_not_hide_other_mistakes(tmp_path: Path):
    assert refusal(written(tmp_path, csv({1: "N [parrot],D,L"})), drop_bad=True).code == "D0112"
    dates = {**COLUMNS, "N": [datetime.date(2025, 5, 1)] * 9}
    assert refusal(dates, drop_bad=True).code == "D0106"


def test_a_table_of_bad_rows_only_is_refused(tmp_path: Path):
    path = written(tmp_path, csv({n: "1e8,2e11,-1" for n in range(2, 11)}))
    diagnostic = refusal(path, drop_bad=True)

    assert diagnostic.code == "D0103"
    assert diagnostic.message.startswith("every row is bad: column L: -1 is")


def test_a_table_of_percentages_only_is_refused_with_what_to_bind():
    table = {"R": [5, 10, 20, 40], "dL_general": [0.1, 0.2, 0.3, 0.4]}
    with pytest.raises(lawdsl.LawdslError) as caught:
        lawdsl.fit("cmr.share", table, drop_bad=True, L="dL_general")
    (found,) = caught.value.diagnostics

    assert found.message == "every row is bad: column R: 5 is outside the domain R <= 1"
    assert "bind `R=R/100`" in found.help


def test_a_domain_made_of_a_setting_says_how_to_change_it():
    table = PLANTED["dcpt.l3"].table()
    table["D"][0] = 0.01
    diagnostic = refusal(table, "dcpt.l3")

    assert "0.01 is outside the domain D >= D_min = 0.1311 Gtoken" in diagnostic.message
    assert "--set D_min=0.01, the smallest here" in (diagnostic.help or "")
    quick: dict[str, Any] = {"claims": False, "rolled_check": False, "intervals": "delta"}
    lawdsl.fit("dcpt.l3", table, settings={"D_min": 0.01}, starts=1, **quick)


def test_the_domain_is_that_of_the_laws_unit_and_the_cell_is_shown_as_it_stands():
    table = PLANTED["dcpt.l3"].table()
    table["D [Mtoken]"] = table.pop("D") * 1e3
    table["D [Mtoken]"][7] = 50.0
    diagnostic = refusal(table, "dcpt.l3")

    assert "50.0 is outside the domain D >= D_min = 0.1311 Gtoken" in diagnostic.message
    assert diagnostic.place.endswith(":8 column D")


# ---- tables whose every cell is fine


@pytest.mark.parametrize(
    ("columns", "law"),
    [
        ({"r": [0.0, 1e-6, 0.3, 0.5, 1.0], "L": [3.0, 2.9, 2.5, 2.4, 2.2]}, "dcpt.share"),
        ({"T": [5.0, 10, 20, 40, 80], "dL_domain": [1e-7, 0.02, 0.05, 0.08, 0.1]}, "cmr.domain"),
        ({"T": [5.0, 10, 20, 40, 80], "dL_domain": [-0.1, -1e-8, 0, 0.05, 0.1]}, "cmr.domain"),
    ],
)
def test_shares_and_differences_near_0_are_no_second_scale(columns: dict[str, Any], law: str):
    assert bind(lawdsl.load(law), read_table(columns), {}, positive=False).warnings == ()


def test_copied_rows_are_a_warning_and_a_few_equal_ones_are_not():
    table = {k: np.repeat(v, 20) for k, v in PLANTED["chinchilla"].table(0.003).items()}
    (warning,) = bind(CHINCHILLA, read_table(table), {}).warnings
    assert (warning.code, warning.severity) == ("D0114", "warning")
    assert warning.message == "684 of 720 rows repeat another row exactly" and warning.help

    table = {k: np.repeat(v, 3) for k, v in PLANTED["chinchilla"].table(0.003).items()}
    table["L"] = np.round(table["L"] * np.exp(np.random.default_rng(0).normal(0, 0.01, 108)), 2)
    different = len({tuple(row) for row in zip(*table.values(), strict=True)})
    assert 81 < different < 108  # less than a quarter agree, as measurements of three digits do
    assert bind(CHINCHILLA, read_table(table), {}).warnings == ()


CLEAN = {
    "chinchilla": lambda rng: {
        "N": 10 ** rng.uniform(7.5, 10, 40),
        "D": 10 ** rng.uniform(9, 11.5, 40),
    },
    "dcpt.share": lambda rng: {"r": np.append(0.0, rng.uniform(0, 1, 24))},
    "dcpt.l3": lambda rng: {
        "N": rng.choice([0.5, 1.8, 4.0, 7.0], 160),
        "D": 10 ** rng.uniform(-0.8, 1.4, 160),
        "r": rng.choice(np.linspace(0, 1, 9), 160),
    },
}


@pytest.mark.parametrize("seed", some(range(10), 2))
@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_table_raises_no_alarm(name: str, seed: int):
    """Thirty tables with noise of 0.3 %: every one is trusted, without a word."""
    rng = np.random.default_rng(seed)
    columns = CLEAN[name](rng)
    p = PLANTED[name]
    loss = p.formula(**columns, **p.parameters)
    table = {**columns, "L": loss * np.exp(0.003 * rng.normal(size=len(loss)))}
    fit = lawdsl.fit(name, table, starts=12 if name == "dcpt.l3" else 6)

    assert [(d.code, d.message, d.notes) for d in fit.diagnostics] == []
    assert fit.verdict == "trusted"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_million_rows_take_seconds_and_bounded_memory(
    kind: str, tmp_path: Path, record_property: Callable[[str, object], None]
):
    rng = np.random.default_rng(0)
    columns = {"N": 10 ** rng.uniform(7.5, 10, 10**6), "D": 10 ** rng.uniform(9, 11.5, 10**6)}
    p = PLANTED["chinchilla"]
    loss = p.formula(**columns, **p.parameters) * np.exp(0.003 * rng.normal(size=10**6))
    table = pa.table({**columns, "L": loss, "x": loss, "y": loss, "z": loss})
    path = tmp_path / f"runs.{kind}"
    writer = pa.csv.write_csv if kind == "csv" else pyarrow.parquet.write_table
    writer(table, path)
    begun = time.perf_counter()
    read = read_table(path)
    reading = time.perf_counter() - begun
    fit = lawdsl.fit("chinchilla", read)
    whole = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    times = f"read {reading:.1f} s, fit {whole - reading:.1f} s"
    record_property("figure", f"10^6 rows of {kind}: {times}, peak {peak:.1f} GiB")
    assert fit.values == pytest.approx(p.parameters, rel=0.02)
    assert fit.verdict == "trusted"
    assert whole < 60 and peak < 2.5
