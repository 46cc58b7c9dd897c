"""A corpus is written whole or not at all, whatever happens, and made again the same."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tokenizers")

import making_corpora
from test_corpora import split
from texts import (
    lawdsl,
    said,
    shared_text,
    text,
    write_jsonl,
    write_tokenizer,
)

from lawdsl.runners.corpora import atomic_folders, build
from lawdsl.runners.corpora.build import write_corpora, write_corpus
from lawdsl.runners.corpora.corpus import open_corpus
from lawdsl.runners.corpora.writer import Writer

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer.json")


# ---- the same again


def test_the_same_text_gives_the_same_corpora(tokenizer: Path, tmp_path: Path):
    """In another process, with another name, on other threads."""
    shared_text(tmp_path / "a.jsonl")
    parts = split(tmp_path / "here", train="0.8", validation="0.2")
    here = write_corpora([tmp_path / "a.jsonl"], parts, tokenizer)

    arguments = ["a.jsonl", "--tokenizer", tokenizer, "-o", "there", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "lawdsl", "corpus", *arguments, "--split=train=4/5,validation=.2"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "RAYON_NUM_THREADS": "3"},
        capture_output=True,
        text=True,
    )

    there = json.loads(done.stdout)["result"]["corpora"]
    assert [c["fingerprint"] for c in there] == [c.fingerprint for c in here]
    assert done.stderr == "" and sorted(os.listdir(tmp_path / "there")) == ["train", "validation"]


def test_a_fingerprint_is_of_tokens_documents_and_tokenizer_alone(tokenizer: Path, tmp_path: Path):
    write_jsonl(tmp_path / "a.jsonl", [text(1), text(2)])
    write_jsonl(tmp_path / "b.jsonl", [text(1) + text(2)])
    other = json.loads(tokenizer.read_text(encoding="utf-8"))
    (tmp_path / "other.json").write_text(json.dumps(other), encoding="utf-8")

    def fingerprint(name: str, file: str, source: Path) -> str:
        return write_corpus([tmp_path / file], tmp_path / name, source).fingerprint

    one = fingerprint("one", "a.jsonl", tokenizer)
    assert fingerprint("two", "a.jsonl", tokenizer) == one
    assert fingerprint("three", "b.jsonl", tokenizer) != one
    assert fingerprint("four", "a.jsonl", tmp_path / "other.json") != one


# ---- whole or not at all


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_a_corpus_is_made_whole_or_not_at_all(
    step: int, tokenizer: Path, tmp_path: Path, record_property: Callable[[str, object], None]
):
    """Killed at operations on files, or with a full disk there: what opens is what was there before
    or what was made, and the next time nothing is left of it."""
    shutil.copy(tokenizer, tmp_path)
    shared_text(tmp_path / "text.jsonl", 12)

    done = making_corpora.ask("operations", tmp_path, step)

    killed, full = done["counts"]["killed"], done["counts"]["full"]
    record_property(
        "figure", f"corpora: killed at {killed} operations on files, the disk full at {full}: whole"
    )
    assert done["wrong"] == []
    assert killed >= 150 // step and full >= 60 // step


def test_all_files_are_on_the_disk_before_they_take_their_places(
    tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_jsonl(tmp_path / "a.jsonl", [text(1)])
    synced, fsync, rename = set[int](), os.fsync, os.rename
    moved: list[Path] = []

    def sync(handle: int) -> None:
        synced.add(os.fstat(handle).st_ino)
        fsync(handle)

    def move(source: Path, target: Path) -> None:
        moved.append(target)
        assert {path.stat().st_ino for path in (source, *source.iterdir())} <= synced
        synced.clear()
        rename(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "rename", move)
    write_corpus([tmp_path / "a.jsonl"], tmp_path / "corpus", tokenizer)

    assert moved == [tmp_path / "corpus"] and synced == {tmp_path.stat().st_ino}


def test_a_replacement_that_was_interrupted_is_undone(tokenizer: Path, tmp_path: Path):
    """A process may die when the old corpus has been moved away and the new one is not there."""
    source = write_jsonl(tmp_path / "a.jsonl", [text(1)])
    corpus = write_corpus([source], tmp_path / "corpus", tokenizer)
    (tmp_path / "corpus").rename(tmp_path / ".corpus.replaced")
    write_jsonl(source, [text(2)])

    assert said(lambda: write_corpus([source], tmp_path / "corpus", tokenizer)).code == "R0205"
    assert open_corpus(tmp_path / "corpus").fingerprint == corpus.fingerprint


def test_a_corpus_that_came_meanwhile_is_not_replaced(
    tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    source = write_jsonl(tmp_path / "a.jsonl", [text(1)])
    other = write_corpus([source], tmp_path / "other", tokenizer)

    def lock(handle: int, partial: Path) -> None:
        shutil.copytree(other.folder, tmp_path / "corpus")

    monkeypatch.setattr(atomic_folders, "_lock", lock)

    assert said(lambda: write_corpus([source], tmp_path / "corpus", tokenizer)).code == "R0205"
    assert sorted(os.listdir(tmp_path)) == ["a.jsonl", "corpus", "other"]


def test_two_processes_do_not_make_one_corpus(tokenizer: Path, tmp_path: Path):
    write_jsonl(tmp_path / "a.jsonl", [text(1)])
    partial = tmp_path / ".corpus.partial"
    partial.mkdir()
    handle = os.open(partial, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        found = said(lambda: write_corpus([tmp_path / "a.jsonl"], tmp_path / "corpus", tokenizer))
    finally:
        os.close(handle)

    assert found.code == "R0212"
    assert write_corpus([tmp_path / "a.jsonl"], tmp_path / "corpus", tokenizer).tokens.size


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_corpus_is_made_where_no_file_can_be_locked(
    number: int, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fails(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    write_jsonl(tmp_path / "a.jsonl", [text(1)])
    monkeypatch.setattr(fcntl, "flock", fails)
    made = write_corpus([tmp_path / "a.jsonl"], tmp_path / "corpus", tokenizer)
    assert open_corpus(made.folder, verify=True).fingerprint == made.fingerprint


def test_a_folder_that_is_no_corpus_is_never_replaced(tokenizer: Path, tmp_path: Path):
    write_jsonl(tmp_path / "a.jsonl", [text(1)])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    (tmp_path / "empty").mkdir()

    def make(name: str, force: bool) -> Any:
        return write_corpus([tmp_path / "a.jsonl"], tmp_path / name, tokenizer, force=force)

    assert [said(lambda f=f: make("mine", f)).code for f in (False, True)] == ["R0205"] * 2
    assert (tmp_path / "mine" / "letter.txt").read_text() == "dear"
    assert make("empty", force=False).fingerprint == make("empty", force=True).fingerprint
    assert said(lambda: make("empty", force=False)).code == "R0205"


MOUNTED = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        ("size=100k", "R0209", r"[\d,]+ bytes are free.*about [\d,]+ bytes are needed"),
        ("ro", "R0211", "Read-only file system"),
    ],
)
def test_a_disk_that_is_full_or_read_only_is_named(
    options: str, code: str, says: str, tokenizer: Path, tmp_path: Path
):
    """On a real file system, where one can be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f"mount -t tmpfs -o {options} none {disk}"
    if subprocess.run([*MOUNTED, mount], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    write_jsonl(tmp_path / "a.jsonl", (text(*range(i, i + 30)) for i in range(0, 6000, 30)))
    command = f"{sys.executable} -m lawdsl corpus {tmp_path}/a.jsonl --json"
    command += f" --tokenizer {tokenizer} -o {disk}/corpus --split=a=0.7,validation=0.3"

    done = subprocess.run(
        [*MOUNTED, f"{mount}; {command}; echo $?; ls -A {disk} {disk}/corpus"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )

    document, _, rest = done.stdout.rpartition("}\n")
    (found,) = json.loads(document + "}")["diagnostics"]
    assert found["code"] == code
    assert re.search(says, " ".join([found["message"], *found["notes"]]))
    assert rest.split()[0] == "3" and "partial" not in rest


def test_how_many_bytes_a_full_disk_lacks_is_about_right(
    tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A third of the way through the second reading, with validation written."""
    monkeypatch.setattr(build, "BATCH_DOCUMENTS", 10)
    write_jsonl(tmp_path / "a.jsonl", (text(i) for i in range(900)))
    parts = split(tmp_path / "made", train="0.7", validation="0.3")
    write_corpora([tmp_path / "a.jsonl"], parts, tokenizer)
    files = [p for p in (tmp_path / "made").rglob("*") if p.suffix != ".json"]
    size = sum(path.stat().st_size for path in files)

    tokens = len(open_corpus(tmp_path / "made" / "train").tokens)
    write = Writer.write

    def fill(writer: Writer, some: Any) -> None:
        write(writer, some)
        if writer.name == "train" and writer.tokens > tokens / 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Writer, "write", fill)
    parts = split(tmp_path / "again", train="0.7", validation="0.3")
    found = said(lambda: write_corpora([tmp_path / "a.jsonl"], parts, tokenizer))

    needed = int(found.notes[-1].split()[1].replace(",", ""))
    assert found.code == "R0209" and abs(needed / size - 1) < 0.15


# ---- commands


def test_the_commands_make_a_tokenizer_and_corpora_and_show_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    write_jsonl(tmp_path / "a.jsonl", (text(i) for i in range(300)))
    monkeypatch.chdir(tmp_path)
    assert lawdsl("tokenizer", "a.jsonl", "--vocabulary", 300, "-o", "sub/tokenizer.json") == 0
    assert "300 tokens" in capsys.readouterr().err

    options = "--split", "train=0.7,my-validation=0.3", "--max-document-tokens", "30"
    limits = "--max-tokens", "my-validation=500", "--max-tokens", "2000"
    make = "corpus", "a.jsonl", "--tokenizer", "sub", "-o", "made", *options, *limits
    assert lawdsl(*make, "--json") == 0
    train, validation = json.loads(capsys.readouterr().out)["result"]["corpora"]
    assert validation["tokens"] <= 500 < train["tokens"] <= 2000
    assert validation["sources"]["max_document_tokens"] == 30
    assert np.diff(open_corpus("made/train").documents).max() <= 30

    assert said(lambda: lawdsl(*make)).code == "R0205"
    assert lawdsl(*make, "--force") == 0
    shown = capsys.readouterr().out
    assert lawdsl("corpora", "made") == 0
    assert sorted(capsys.readouterr().out.splitlines()[2:]) == sorted(shown.splitlines()[2:])
    assert train["fingerprint"] in shown and "made/my-validation" in shown
