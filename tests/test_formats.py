"""The registry of table formats: what is written is read under every name, and texts list it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from lawdsl.cli import cli
from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.enumerations import disjunction
from lawdsl.data.formats import FORMATS, READ, SUFFIXES, WRITTEN
from lawdsl.data.read import read_table
from lawdsl.messages.table import MESSAGES
from lawdsl.runners.tables.files import written_format

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
