"""Files are written whole or not at all; what is printed as JSON has no number that JSON lacks."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

import lawdsl
from lawdsl import files
from lawdsl.cli.files import write as write_law


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
    with pytest.raises(OSError, match="no regular file"):
        files.write(pipe, "text")
    assert os.listdir(tmp_path) == ["pipe"]
