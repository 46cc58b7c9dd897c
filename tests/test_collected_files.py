"""The files of a collected table: whole or not at all, in every form, with their schema."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from collected_runs import TEXT, fake_runs, folder
from sweeps import made, planned

import lawdsl
from lawdsl.cli import cli
from lawdsl.core import files
from lawdsl.core.diagnostics import LawdslError
from lawdsl.data.read import read_table
from lawdsl.runners.sweeps.run_folders import prepare
from lawdsl.runners.tables import collect as collecting
from lawdsl.runners.tables.collect import collect
from lawdsl.runners.tables.files import write_table

ran = pytest.fixture(fake_runs)
ROOT = Path(__file__).resolve().parent.parent


def test_the_same_runs_in_another_place_or_order_make_the_same_table(ran, tmp_path: Path):
    first = ran(folder=tmp_path / "a")
    second = ran(
        TEXT.replace('{code = 0}, {code = "1/3"}', '{code = "1/3"}, {code = 0}'),
        folder=tmp_path / "b",
    )
    assert collect([first]).columns == collect([second]).columns


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_table_is_written_whole_or_not_at_all(call: str, ran, tmp_path: Path, monkeypatch):
    table = collect([ran()])
    path = tmp_path / "runs.parquet"
    path.write_bytes(b"before")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, call, full)
    with pytest.raises(LawdslError, match="R0805.*No space left") as error:
        write_table(path, table)
    (note,) = error.value.diagnostics[0].notes
    assert re.fullmatch(r"it needs about [\d,]+ bytes; [\d,]+ are free", note)
    monkeypatch.undo()
    assert path.read_bytes() == b"before"
    assert not list(tmp_path.glob(".runs*"))


DYING = """
import os, signal, sys
from pathlib import Path
from lawdsl.runners.tables.collect import collect
from lawdsl.runners.tables.files import write_table

table = collect([Path(sys.argv[1])])
setattr(os, sys.argv[3], lambda *_: os.kill(os.getpid(), signal.SIGKILL))
write_table(Path(sys.argv[2]), table)
"""


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_table_whose_writing_was_killed_is_the_one_from_before(call: str, ran, tmp_path: Path):
    path, runs = tmp_path / "runs.sqlite", ran()
    write_table(path, collect([runs]))
    before = path.read_bytes()
    run = folder(runs, "small_code=1_seed=1")
    (run / "points.jsonl").write_text((run / "points.jsonl").read_text().splitlines()[1] + "\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", DYING, str(runs), str(path), call]
    assert subprocess.run(command, env=environment, check=False).returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    write_table(path, collect([runs]))
    assert len(read_table(path)) == 21


def torn(path: Path) -> None:
    os.truncate(path, 4096)


def overwritten(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:8192] = bytes(4096)  # of the second of its pages
    path.write_bytes(content)


def of_text(path: Path) -> None:
    path.write_text("step,loss\n1,2\n")


def later(path: Path) -> None:
    with closing(sqlite3.connect(path)) as base:
        base.execute("UPDATE notes SET note = replace(note, 'schema 1:', 'schema 2:')")
        base.execute("PRAGMA user_version = 2")
        base.commit()


DAMAGES = [
    (torn, "D0101.*not a readable SQLite file: database disk image is malformed"),
    (overwritten, "D0101.*not a readable SQLite file: "),
    (of_text, "(?s)D0101.*this is a text table, not SQLite.*rename it to runs.csv"),
    (later, "D0101.*a later lawdsl wrote the table: it is of schema 2, known is 1"),
]


@pytest.mark.parametrize(("damage", "said"), DAMAGES, ids=[d[0].__name__ for d in DAMAGES])
def test_a_damaged_or_later_table_is_refused_and_made_again_from_the_runs(
    damage: Callable[[Path], None], said: str, ran, tmp_path: Path
):
    path, table = tmp_path / "runs.sqlite", collect([ran()])
    write_table(path, table)
    whole = path.read_bytes()
    damage(path)
    with pytest.raises(LawdslError, match=said) as error:
        read_table(path)
    assert "lawdsl collect" in error.value.diagnostics[0].help
    write_table(path, table)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_table_of_a_later_schema_is_refused_in_every_form(
    form: str, ran, tmp_path: Path, monkeypatch
):
    path, runs = tmp_path / f"runs.{form}", ran()
    with monkeypatch.context() as patch:
        patch.setattr(collecting, "RUN_TABLE_SCHEMA", 12)
        write_table(path, collect([runs]))
    with pytest.raises(LawdslError, match="D0101.*it is of schema 12, known is 1"):
        read_table(path)


@pytest.mark.parametrize("mode", ["wal", "persist"])
def test_what_somebody_left_beside_an_older_table_does_not_change_the_new_one(
    mode: str, ran, tmp_path: Path
):
    path, table = tmp_path / "runs.sqlite", collect([ran()])
    write_table(path, table)
    whole = path.read_bytes()
    with closing(sqlite3.connect(path)) as base:
        base.execute(f"PRAGMA journal_mode = {mode}")
        base.execute("DELETE FROM runs")
        base.commit()
        left = {p.name: p.read_bytes() for p in tmp_path.glob("runs.sqlite-*")}
    assert left
    for name, content in left.items():
        (tmp_path / name).write_bytes(content)
    write_table(path, table)
    assert [p.name for p in tmp_path.glob("runs.sqlite*")] == ["runs.sqlite"]
    with closing(sqlite3.connect(path)) as base:
        assert base.execute("SELECT count(*) FROM runs").fetchone() == (24,)
    assert path.read_bytes() == whole


def test_a_table_is_written_and_read_where_no_file_can_be_locked(ran, tmp_path: Path, monkeypatch):
    """As on some file systems of a network: SQLite opens no file, so that it needs no lock."""
    connect = sqlite3.connect

    def unlocked(name: str, **options: Any) -> sqlite3.Connection:
        if name != ":memory:":
            raise sqlite3.OperationalError("locking protocol")
        return connect(name, **options)

    monkeypatch.setattr(sqlite3, "connect", unlocked)
    path = tmp_path / "runs.sqlite"
    write_table(path, collect([ran()]))
    assert len(read_table(path)) == 24
    (tmp_path / "runs.sqlite-journal").write_bytes(b"of somebody who writes to it")
    with pytest.raises(LawdslError, match="D0101.*not a readable SQLite file: locking protocol"):
        read_table(path)


def test_every_form_says_its_schema(ran, tmp_path: Path):
    table = collect([ran()])
    for form in ("parquet", "csv", "sqlite"):
        write_table(tmp_path / f"runs.{form}", table)
    assert (tmp_path / "runs.csv").read_text().startswith("# lawdsl runs, schema 1: 24 eval")
    base = sqlite3.connect(tmp_path / "runs.sqlite")
    assert base.execute("PRAGMA user_version").fetchone() == (1,)
    assert base.execute('SELECT count(*), max("D [token]") FROM runs').fetchone() == (24, 640)
    base.close()
    import pyarrow.parquet as pq

    said = json.loads(pq.read_schema(tmp_path / "runs.parquet").metadata[b"lawdsl"])
    assert said["schema"] == 1 and said["notes"] == list(table.notes)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda folder: folder / "nowhere", "R0801"),
        (lambda folder: folder, "R0801"),
        (lambda folder: folder / "nowhere.toml", "R0103"),
    ],
)
def test_where_no_runs_are_it_is_said(make: Callable[[Path], Path], code: str, tmp_path: Path):
    with pytest.raises(LawdslError) as error:
        collect([make(tmp_path)])
    assert [d.code for d in error.value.diagnostics] == [code]


def test_runs_that_have_measured_nothing_yet_make_no_table(tmp_path: Path):
    path = made(tmp_path)
    for run in planned(path).runs:
        prepare(run.folder, run.order)
    with pytest.raises(LawdslError, match="R0801"):
        collect([path])


def test_the_command_writes_the_table_and_says_how_to_go_on(ran, tmp_path: Path, monkeypatch):
    path = ran()
    monkeypatch.chdir(tmp_path)

    def said(*arguments: str) -> Any:
        return CliRunner().invoke(cli, ["collect", *arguments], standalone_mode=False)

    done = said("sweep.toml", "-o", "runs.parquet")
    assert done.return_value == 0, done.exception
    assert done.stdout.splitlines() == [
        "wrote runs.parquet: 24 evaluations of 6 runs",
        "dcpt.l3 takes 3 sizes, 3 numbers of tokens and 5 shares at least; these runs have 2, 4 and 3",
    ]
    content = json.loads(said("runs", "-o", "runs.csv", "--with-step-0", "--json").stdout)
    assert content["ok"] and content["result"]["rows"] == 30
    assert "R0805" in str(said("runs", "-o", "runs.xlsx").exception)
    assert path.exists() and not (tmp_path / "runs.xlsx").exists()


DATABASES = [
    (
        "a table of another name alone",
        ["CREATE TABLE t (N, L)", "INSERT INTO t VALUES (1, 2)"],
        None,
    ),
    ("several tables, none called runs", ["CREATE TABLE a (x)", "CREATE TABLE b (x)"], "D0102"),
    ("no table", [], "D0102"),
]


@pytest.mark.parametrize(
    ("lines", "code"), [c[1:] for c in DATABASES], ids=[c[0] for c in DATABASES]
)
def test_a_database_is_a_table_if_it_is_clear_which(lines, code, tmp_path: Path):
    path = tmp_path / "x.db"
    base = sqlite3.connect(path)
    for line in lines:
        base.execute(line)
    base.commit()
    base.close()
    if code is None:
        assert read_table(path).numbers("L").tolist() == [2.0]
        return
    with pytest.raises(LawdslError) as error:
        read_table(path)
    assert [d.code for d in error.value.diagnostics] == [code]


def test_a_database_that_is_none_is_refused(tmp_path: Path):
    path = tmp_path / "x.sqlite"
    path.write_bytes(b"SQLite format 3\0" + bytes(100))
    with pytest.raises(LawdslError, match="D0101.*not a readable SQLite"):
        read_table(path)


NOTED = [
    ("# setting D_min = 1 unit Gtoken\n", {"D_min": 1.0}),
    ("# setting D_min = 5e8 unit token\n", {"D_min": 0.5}),
    ("# setting D_min = 2\n", {"D_min": 2.0}),
    ("# setting D_max = 2\n# a setting D_min = 3 of ours\n", {}),
    ("# setting D_min = 1 unit param\n", "D0112"),
    ("# setting D_min = 1 unit parrots\n", "D0112"),
]


@pytest.mark.parametrize(("notes", "expected"), NOTED)
def test_a_table_says_settings_in_the_form_of_laws(notes: str, expected: Any, tmp_path: Path):
    path = tmp_path / "runs.csv"
    path.write_text(
        f"{notes}N,D,r,L\n" + "".join(f"{n},3,{r},{2 + r}\n" for n in (1, 2) for r in (0.1, 0.5))
    )
    law = lawdsl.load("dcpt.l3")
    from lawdsl.data.header_settings import with_settings_of

    if isinstance(expected, str):
        with pytest.raises(LawdslError) as error:
            with_settings_of(law, read_table(path))
        assert [d.code for d in error.value.diagnostics] == [expected]
        return
    assert dict(with_settings_of(law, read_table(path)).given) == pytest.approx(expected)
    given = law.with_settings(D_min=7.0)
    assert dict(with_settings_of(given, read_table(path)).given) == {"D_min": 7.0}
