"""The registry of table formats: what is written is read under every name, and texts list it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from pyarrow import parquet

from lawdsl.cli import cli
from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.enumerations import disjunction
from lawdsl.data.formats import FORMATS, READ, SUFFIXES, WRITTEN
from lawdsl.data.read import read_table
from lawdsl.data.write import write_rows, written_format
from lawdsl.messages.table import MESSAGES

COLUMNS = {"N [param]": [1.5, 2.5, None], "name": ["a", "b, c", 'd"']}
NOTES = ("lawdsl runs, schema 1: a table", "of two lines")


@pytest.mark.parametrize("suffix", list(WRITTEN))
def test_a_table_that_is_written_is_read(suffix: str, tmp_path: Path):
    path = tmp_path / f"runs{suffix}"
    path.write_bytes(WRITTEN[suffix].write(COLUMNS, NOTES))

    table = read_table(path)

    assert table.notes == NOTES
    assert table.units == {"N": "param"}
    assert table.readable("N").tolist() == [True, True, False]
    assert table.texts("name") == COLUMNS["name"]


@pytest.mark.parametrize("suffix", list(READ))
@pytest.mark.parametrize("form", [form for form in FORMATS if form.magic], ids=lambda f: f.module)
def test_the_first_bytes_tell_more_than_the_name(form, suffix: str, tmp_path: Path):
    path = tmp_path / f"runs{suffix}"
    path.write_bytes(form.write(COLUMNS))
    assert path.read_bytes().startswith(form.magic)

    assert read_table(path).texts("name") == COLUMNS["name"]


def test_a_format_is_written_only_under_names_that_say_so():
    assert set(WRITTEN) <= set(SUFFIXES) <= set(READ)
    assert len(READ) == sum(len(form.suffixes) + len(form.generic) for form in FORMATS)


def test_the_explanation_of_a_bad_name_lists_the_formats():
    usual = disjunction(form.written[0] for form in FORMATS if form.written)
    with pytest.raises(LawdslError, match="R0805") as error:
        written_format(Path("runs.xlsx"))
    assert ", ".join(WRITTEN) in str(error.value)
    assert not any(suffix in MESSAGES["R0805"].meaning for suffix in WRITTEN)
    help = CliRunner().invoke(cli, ["collect", "--help"]).output
    assert usual in " ".join(help.split())


@pytest.fixture
def fitted(tmp_path: Path) -> Path:
    """A folder with a fit and a table, `fit.json` and `mixes.csv`."""
    (tmp_path / "line.law").write_text("law line\nvariable r\nparameter a\nL = a*r\n")
    rows = "".join(f"{r},{2.5 * r + 0.01 * (r % 3)},007,\n" for r in range(1, 12))
    (tmp_path / "mixes.csv").write_text('r,L,"na""me",N\n' + rows)
    law, table, fit = (str(tmp_path / name) for name in ("line.law", "mixes.csv", "fit.json"))
    arguments = ["fit", law, table, "--objective", "squared(raw)", "-o", fit]
    assert CliRunner().invoke(cli, arguments, standalone_mode=False).exception is None
    return tmp_path


@pytest.mark.parametrize("suffix", list(WRITTEN))
def test_predictions_are_written_in_the_format_of_the_name(suffix: str, fitted: Path):
    path = fitted / f"predicted{suffix.upper()}"
    journal = fitted / f"{path.name}-wal"
    journal.touch()
    arguments = ["predict", str(fitted / "fit.json"), str(fitted / "mixes.csv"), "-o", str(path)]
    arguments += ["--no-intervals"]
    assert CliRunner().invoke(cli, arguments, standalone_mode=False).exception is None

    form = WRITTEN[suffix]
    assert path.read_bytes().startswith(form.magic)
    assert journal.exists() == (not form.journals)
    table = read_table(path)
    assert tuple(table.columns) == ("r", "L", 'na"me', "N", "L predicted")
    assert table.texts('na"me') == ["007"] * 11
    assert table.numbers("r").tolist() == list(range(1, 12))
    assert table.numbers("L predicted")[3] == pytest.approx(10, rel=1e-2)
    assert not table.readable("N").any()


def test_columns_of_numbers_are_numbers_where_the_format_has_them(tmp_path: Path):
    rows = [["1", "0.5", "", "x"], ["20", "1e3", "7", 3], ["3", "-.5", "007", None]]
    write_rows(tmp_path / "a.parquet", ("whole", "float", "name", "mixed"), rows, ["a note"])
    table = parquet.read_table(tmp_path / "a.parquet")
    assert table.to_pydict() == {
        "whole": [1, 20, 3],
        "float": [0.5, 1000, -0.5],
        "name": [None, "7", "007"],
        "mixed": ["x", "3", None],
    }
    assert read_table(tmp_path / "a.parquet").notes == ("a note",)


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        (("n", "n"), "two columns have the name n"),
        (("n", "N"), r"(?s)the table cannot be written as SQLite: duplicate.*write a\.csv"),
    ],
)
def test_a_table_that_its_format_cannot_hold_is_refused(
    headers: tuple[str, str], message: str, tmp_path: Path
):
    with pytest.raises(LawdslError, match=message):
        write_rows(tmp_path / "a.sqlite", headers, [[1, 2]])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "arguments",
    [
        "predict fit.json r=1 -o",
        "measure line.law mixes.csv -o",
        "solve least.law --curve",
        "solve least.law -o",
        "mixtures halving a b -o",
        "mixtures spread a b -o",
        "mixtures select line.law mixes.csv -o",
    ],
)
@pytest.mark.parametrize("name", ["answers.xlsx", "answers"])
def test_a_name_of_no_format_is_refused_before_anything_is_computed(arguments: str, name: str):
    result = CliRunner().invoke(cli, [*arguments.split(), name], standalone_mode=False)
    with pytest.raises(
        LawdslError, match=r"R0805.*tables end in .*, not (\.xlsx|nothing)"
    ) as error:
        raise result.exception or AssertionError(result.output)
    assert "name it answers.parquet, answers.csv or answers.sqlite" in str(error.value)
