"""Files are written whole or not at all; JSON is read by one function, with one kind of error."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lawdsl
from lawdsl.cli.options import write as write_law
from lawdsl.core import files


def test_plain_data_has_lists_and_null_where_json_lacks_the_number():
    content = {"a": (1.5, float("inf"), [float("nan")]), 2: {"b": None, "c": True}}
    assert files.plain(content) == {"a": [1.5, None, [None]], "2": {"b": None, "c": True}}


@pytest.mark.parametrize("call", ["fsync", "replace", "chmod", "fdopen"])
def test_a_law_that_cannot_be_written_keeps_the_old_file_and_leaves_nothing(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "a.law"
    path.write_text("law a\n")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, call, full)
    with pytest.raises(lawdsl.LawdslError, match="No space left on device") as error:
        write_law(path, "law b\n")
    monkeypatch.undo()
    assert error.value.diagnostics[0].code == "L0313"
    assert path.read_text() == "law a\n" and os.listdir(tmp_path) == ["a.law"]


def test_permissions_and_links_are_kept(tmp_path: Path):
    real, link = tmp_path / "real.law", tmp_path / "link.law"
    real.write_text("law a\n")
    real.chmod(0o600)
    link.symlink_to(real)
    files.write(link, "law b\n")
    assert link.is_symlink() and real.read_text() == "law b\n"
    assert real.stat().st_mode & 0o777 == 0o600


def test_only_regular_files_are_replaced(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="not a regular file"):
        files.write(pipe, "text")
    assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"[" * 100_000, "config.json is nested too deeply"),
        (b'{"a":' * 100_000, "config.json is nested too deeply"),
        (b"", "config.json is not valid JSON: Expecting value (line 1, column 1)"),
        (b'{"a": 1,\n"b"}', "config.json is not valid JSON: .* (line 2, column 4)"),
        (b'"\xff"', "config.json is not UTF-8 text: byte 1 cannot be decoded"),
        (b"[" + b"9" * 5000 + b"]", "config.json is not valid JSON: .*4300 digits"),
        (b"[1, NaN]", "config.json is not valid JSON: NaN is not a JSON number"),
        (b" " * 1001, "config.json is larger than the limit of 1,000 bytes"),
    ],
)
def test_json_that_cannot_be_read_names_the_file_and_the_cause(
    content: bytes, cause: str, tmp_path: Path
):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    limit = 1000 if content.isspace() else files.MAX_JSON_BYTES
    with pytest.raises(ValueError) as error:
        files.read_json(path, limit=limit, finite=True)
    assert re.match(re.escape(cause).replace(r"\.\*", ".*"), str(error.value))


def test_json_that_can_be_read_is_plain_data(tmp_path: Path):
    path = tmp_path / "config.json"
    path.write_text('{"a": [1, 2.5, null], "limit": Infinity}', encoding="utf-8")
    assert files.read_json(path) == {"a": [1, 2.5, None], "limit": float("inf")}
    with pytest.raises(FileNotFoundError):
        files.read_json(tmp_path / "other.json")


KILLED = """
import os, signal, sys
from pathlib import Path
from lawdsl.core import files
os.replace = lambda *names: os.kill(os.getpid(), signal.SIGKILL)
files.write(Path(sys.argv[1]), "new")
"""


def test_what_a_killed_write_left_is_removed_by_the_next(tmp_path: Path):
    path, other = tmp_path / "FIT [1].json", tmp_path / ".FIT [1].json.original"
    path.write_text("old")
    other.write_text("the user's own")
    for _ in range(2):
        subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)

    assert len(os.listdir(tmp_path)) == 3  # the second killed write has removed what the first left
    assert path.read_text() == "old"

    files.write(path, "new")

    assert sorted(os.listdir(tmp_path)) == [other.name, path.name]
    assert path.read_text() == "new"


def test_writers_at_once_leave_one_whole_file_and_nothing_else(tmp_path: Path):
    path = tmp_path / "FIT.json"
    program = "import sys; from pathlib import Path; from lawdsl.core import files\n"
    program += "for _ in range(200): files.write(Path(sys.argv[1]), sys.argv[2] * 1000)"
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(path), letter]) for letter in "abcd"
    ]

    assert [r.wait() for r in running] == [0] * 4
    assert os.listdir(tmp_path) == ["FIT.json"]
    assert path.read_text() in [letter * 1000 for letter in "abcd"]
