"""A row that was appended is there, once, whenever the process dies."""

from __future__ import annotations

import json
import math
import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dying
import pytest
from raised import code_and_text

from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.run import metrics_log


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "points.jsonl"


def write(path: Path, count: int) -> list[int]:
    """Append rows; the size of the file after each, from none on."""
    sizes = [0]
    with metrics_log.open_points(path) as file:
        for number in range(count):
            file.append(dying.row(number))
            sizes.append(file.size)
    return sizes


def test_what_is_read_is_what_was_appended(path: Path):
    record = {
        "step": 7,
        "loss": [0.1, 1 / 3, 5e-324, -0.0, 1e22, math.inf, -math.inf],
        "device": "Grafikkarte ρ\n\u2028",
        "mfu": None,
        "rows": {"code": 2**60, "general": 0},
        "late": True,
    }
    with metrics_log.open_points(path) as file:
        assert (file.size, file.lines) == (0, 0)
        file.append(record)
        file.append({})
        assert (file.size, file.lines) == (path.stat().st_size, 2)

    first, second = metrics_log.read(path)
    assert first == record and second == {}
    assert str(first["loss"]) == str(record["loss"])  # 0.0 equals -0.0


def test_rows_of_a_run_that_diverged_are_kept_and_are_json(path: Path):
    with metrics_log.open_points(path) as file:
        file.append(
            {"losses": {"code": {"loss": math.nan, "se": math.inf}}, "train_loss": -math.inf}
        )

    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is not JSON")

    line = json.loads(path.read_text(), parse_constant=refuse)
    assert line == {"losses": {"code": {"loss": "nan", "se": "inf"}}, "train_loss": "-inf"}
    (row,) = metrics_log.read(path)
    assert math.isnan(row["losses"]["code"]["loss"])
    assert (row["losses"]["code"]["se"], row["train_loss"]) == (math.inf, -math.inf)


@pytest.mark.parametrize("record", [{"device": "nan"}, {"a": ["-inf"]}, {"a": {1, 2}}, {"a": b""}])
def test_what_json_lacks_and_words_that_mean_numbers_are_refused(
    record: dict[str, Any], path: Path
):
    write(path, 1)
    with metrics_log.open_points(path) as file, pytest.raises((TypeError, ValueError)):
        file.append(record)

    assert metrics_log.read(path) == [dying.row(0)]


def test_rows_are_appended_to_those_that_are_there(path: Path):
    sizes = write(path, 3)
    with metrics_log.open_points(path) as file:
        assert (file.size, file.lines) == (sizes[-1], 3)
        file.append(dying.row(3))

    assert metrics_log.read(path) == [dying.row(i) for i in range(4)]


def test_no_file_has_no_rows(path: Path):
    assert metrics_log.read(path) == []
    assert metrics_log.cut(path, 0) == 0
    assert not path.exists()


def test_each_row_is_synced_before_the_run_goes_on(path: Path, monkeypatch: pytest.MonkeyPatch):
    """The file's name too."""
    synced = []
    fsync = os.fsync

    def noted(handle: int) -> None:
        at = Path(os.readlink(f"/proc/self/fd/{handle}"))
        synced.append((at, at.stat().st_size if at.is_file() else None))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    sizes = write(path, 2)

    assert synced == [(path.parent, None), *((path, size) for size in sizes[1:])]


# --- a torn last line


def test_a_last_line_that_is_torn_anywhere_is_left_out_and_cut(path: Path):
    sizes = write(path, 3)
    whole = path.read_bytes()
    for size in range(sizes[2], sizes[3]):
        path.write_bytes(whole[:size])
        assert metrics_log.read(path) == [dying.row(0), dying.row(1)]
        with metrics_log.open_points(path) as file:
            assert (file.size, file.lines) == (sizes[2], 2)
            file.append(dying.row(2))
        assert path.read_bytes() == whole

        path.write_bytes(whole[:size])
        assert metrics_log.cut(path, sizes[2]) == 0
        assert path.read_bytes() == whole[: sizes[2]]


def test_what_a_power_cut_leaves_of_a_line_is_left_out(path: Path):
    write(path, 2)
    with path.open("ab") as file:
        file.write(bytes(100))

    assert metrics_log.read(path) == [dying.row(0), dying.row(1)]


# --- back to a checkpoint


def test_rows_after_the_checkpoint_are_cut_and_counted(path: Path):
    sizes = write(path, 5)
    for kept in (5, 3, 3, 1, 0):
        with metrics_log.open_points(path) as file:
            lines = file.lines
        assert metrics_log.cut(path, sizes[kept]) == lines - kept
        assert metrics_log.read(path) == [dying.row(i) for i in range(kept)]
        assert path.stat().st_size == sizes[kept]


@pytest.mark.parametrize("off", [-1, 1])
def test_a_size_at_which_no_row_ends_is_an_error(off: int, path: Path):
    sizes = write(path, 3)
    code, text = code_and_text(lambda: metrics_log.cut(path, sizes[2] + off))

    assert code == "R0405" and "no row ends where it counts" in text
    assert path.stat().st_size == sizes[3]


def test_rows_that_the_checkpoint_counts_and_are_not_there_are_an_error(path: Path):
    code, text = code_and_text(lambda: metrics_log.cut(path, 50))
    assert code == "R0405" and "0 bytes of 50" in text

    sizes = write(path, 3)
    os.truncate(path, sizes[2])
    code, text = code_and_text(lambda: metrics_log.cut(path, sizes[3]))
    assert code == "R0405" and f"{sizes[2]:,} bytes of {sizes[3]:,}" in text
    assert metrics_log.read(path) == [dying.row(0), dying.row(1)]


# --- damage


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[1]",
        b"7",
        b'{"a": NaN}',
        b'{"a": 1}{"a": 2}',
        b"\x00\x00",
        b'{"a": "\xff"}',
        b"[" * 100_000,
        b'{"a": ' + b"9" * 5000 + b"}",
    ],
)
def test_a_damaged_line_is_named(line: bytes, path: Path):
    write(path, 2)
    first, second = path.read_bytes().splitlines(True)
    path.write_bytes(first + line + b"\n" + second)
    code, text = code_and_text(lambda: metrics_log.read(path))

    assert code == "R0405"
    assert f"{path}, line 2" in text


# --- disks


def test_a_row_that_finds_no_room_is_not_there_by_half(path: Path):
    sizes = write(path, 2)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with metrics_log.open_points(path) as file:
        resource.setrlimit(resource.RLIMIT_FSIZE, (sizes[2] + 10, hard))
        try:
            code, text = code_and_text(lambda: file.append(dying.row(2)))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert code == "R0407" and "File too large" in text
        assert "it needs about " in text and " are free" in text
        assert path.stat().st_size == file.size == sizes[2]
        file.append(dying.row(2))

    assert metrics_log.read(path) == [dying.row(i) for i in range(3)]


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), KeyboardInterrupt()])
def test_a_row_that_is_not_acknowledged_is_not_there(
    error: BaseException, path: Path, monkeypatch: pytest.MonkeyPatch
):
    sizes = write(path, 1)

    def fails(_: int) -> None:
        raise error

    with metrics_log.open_points(path) as file:
        monkeypatch.setattr(os, "fsync", fails)
        with pytest.raises((LawdslError, KeyboardInterrupt)):
            file.append(dying.row(1))
        monkeypatch.undo()
        assert path.stat().st_size == file.size == sizes[1]


def test_a_folder_where_the_file_should_be_is_an_error(path: Path):
    path.mkdir()

    assert code_and_text(lambda: metrics_log.open_points(path))[0] == "R0407"
    assert code_and_text(lambda: metrics_log.cut(path, 0))[0] == "R0407"
    assert code_and_text(lambda: metrics_log.read(path))[0] == "R0406"
    assert code_and_text(lambda: metrics_log.open_points(path / "no" / "where"))[0] == "R0407"


# --- what dies


def test_a_process_killed_while_it_appends_loses_no_row(tmp_path: Path):
    answer = dying.run("rows", tmp_path, seed=1, count=40)

    assert answer["wrong"] == []
    assert answer["appended"] >= answer["awaited"] > 40


@pytest.mark.slow
def test_a_thousand_kills(tmp_path: Path, record_property: Callable[[str, object], None]):
    answer = dying.run("rows", tmp_path, seed=2, count=1000)

    record_property(
        "figure",
        f"1,000 kills of a process that appends rows, with a cut at each tenth: "
        f"{answer['appended']:,} rows, {len(answer['wrong'])} lost, doubled or wrong",
    )
    assert answer["wrong"] == []
    assert answer["appended"] >= answer["awaited"] > 1000
