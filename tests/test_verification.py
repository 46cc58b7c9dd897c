"""Corpora are verified before anything is trained on them, and read for that only once."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
import runs
import sweeps

from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.files import write
from lawdsl.runners.corpora import verification
from lawdsl.runners.corpora.corpus import open_corpus

CORPORA = ("general", "code")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in CORPORA:
        sweeps.corpus(tmp_path / name)
        aged(tmp_path / name)
    return tmp_path


def aged(corpus: Path, seconds: int = 60) -> None:
    """As if the files had been written a while ago."""
    for path in corpus.iterdir():
        about = path.stat()
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns - seconds * 10**9))


def flip(path: Path, byte: int = 101) -> None:
    content = bytearray(path.read_bytes())
    content[byte % len(content)] ^= 1
    path.write_bytes(content)


def read(folder: Path) -> list[str]:
    """Verify the corpora in a folder; the files that were read for it."""
    seen = []

    def hashing(path: Path) -> str:
        seen.append(f"{path.parent.name}/{path.name}")
        return plain(path)

    plain = verification.file_hash
    with (
        mock.patch.object(verification, "file_hash", hashing),
        mock.patch.object(
            verification, "UNCERTAIN_MTIME_SECONDS", -1e9
        ),  # times of change cannot be set
    ):
        verification.verify(open_corpus(folder / name) for name in CORPORA)
    return seen


def test_every_file_is_read_once_and_again_when_it_has_changed(folder: Path):
    assert len(read(folder)) == 6
    assert read(folder) == []
    content = (folder / "code" / "tokens.bin").read_bytes()
    (folder / "code" / "tokens.bin").write_bytes(content)
    assert read(folder) == ["code/tokens.bin"]
    assert read(folder) == []


def test_what_has_changed_within_seconds_is_read_again(folder: Path):
    """A file may change twice within one tick of the clock of a file system."""
    verification.verify([open_corpus(folder / "code")])
    with pytest.raises(LawdslError, match="tokens.bin"):
        flip(folder / "code" / "tokens.bin")
        verification.verify([open_corpus(folder / "code")])


@pytest.mark.parametrize("name", ["tokens.bin", "documents.npy", "tokenizer.json"])
def test_a_bit_in_any_file_is_found(folder: Path, name: str):
    assert len(read(folder)) == 6
    flip(folder / "code" / name, 40)  # in the header of an array
    with pytest.raises(LawdslError) as caught:
        read(folder)
    (found,) = caught.value.diagnostics
    assert found.code == "R0208" and found.place == str(folder / "code" / name)


def test_every_damaged_file_is_named_each_time(folder: Path):
    for name in CORPORA:
        flip(folder / name / "tokens.bin")
    for _ in range(2):
        with pytest.raises(LawdslError) as caught:
            read(folder)
        assert [Path(d.place).parent.name for d in caught.value.diagnostics] == list(CORPORA)


@pytest.mark.parametrize("content", ["", "[", "[" * 100_000, "[]", '{"x": 3}', "\0"])
def test_hashes_that_were_kept_and_are_damaged_are_done_without(folder: Path, content: str):
    for name in CORPORA:
        (folder / name / verification.CACHE).write_text(content)
    assert len(read(folder)) == 6
    assert read(folder) == []


@pytest.fixture
def user_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of the user, while the folder of the corpus `code` cannot be written."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "code" / verification.CACHE).mkdir()
    return tmp_path / "cache" / "lawdsl" / "verified"


def test_hashes_of_a_read_only_corpus_are_kept_in_a_cache_of_the_user(
    folder: Path, user_cache: Path
):
    assert len(read(folder)) == 6
    assert len(list(user_cache.iterdir())) == 1
    assert read(folder) == []
    flip(folder / "code" / "tokens.bin")
    with pytest.raises(LawdslError, match="tokens.bin"):
        read(folder)


def test_a_corpus_that_has_become_read_only_is_read_once_more_and_then_no_more(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    read(folder)
    (folder / "code" / "tokens.bin").write_bytes((folder / "code" / "tokens.bin").read_bytes())
    stale = (folder / "code" / verification.CACHE).read_text()

    def refuse(path: Path, text: str) -> None:
        if path.name == verification.CACHE:
            raise OSError(errno.EROFS, "Read-only file system")
        write(path, text)

    monkeypatch.setattr(verification, "write", refuse)
    assert read(folder) == ["code/tokens.bin"]
    assert read(folder) == []
    assert (folder / "code" / verification.CACHE).read_text() == stale


def test_each_machine_reads_a_corpus_itself(folder: Path, monkeypatch: pytest.MonkeyPatch):
    for machine in ("first", "second"):
        monkeypatch.setattr("socket.gethostname", lambda machine=machine: machine)
        assert len(read(folder)) == 6
        assert read(folder) == []
    monkeypatch.setattr("socket.gethostname", lambda: "first")
    assert read(folder) == []


def test_where_nothing_can_be_kept_it_is_read_every_time(folder: Path, user_cache: Path):
    user_cache.parent.parent.write_text("no folder")
    assert len(read(folder)) == 6
    assert len(read(folder)) == 3


def test_a_run_on_changed_tokens_does_not_begin(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    for name in runs.SIZES:
        (tmp_path / name).symlink_to(data / name)
    (tmp_path / "code").unlink()
    (tmp_path / "code").mkdir()
    for path in (data / "code").iterdir():
        (tmp_path / "code" / path.name).write_bytes(path.read_bytes())
    order = runs.order(tmp_path, steps=2, evaluate=(0, 2))
    flip(tmp_path / "code" / "tokens.bin")
    assert runs.do(tmp_path / "runs" / "run", order) == 3
    said = capsys.readouterr().err
    assert said.startswith("error[R0208]") and "its SHA-256 is another" in said
    assert not (tmp_path / "runs" / "run" / "points.jsonl").exists()


def test_a_sweep_on_changed_tokens_does_not_begin(tmp_path: Path):
    path = sweeps.made(tmp_path)
    flip(tmp_path / "corpora" / "code-validation" / "tokens.bin")
    command = [sys.executable, str(Path(sweeps.__file__).with_name("sweep_command.py"))]
    done = subprocess.run(
        [*command, "run", str(path)], capture_output=True, text=True, env=runs.environment()
    )
    assert done.returncode == 3
    assert "error[R0208]" in done.stderr and "code-validation/tokens.bin" in done.stderr
    assert not list((tmp_path / "runs").glob("*/spec.json"))
