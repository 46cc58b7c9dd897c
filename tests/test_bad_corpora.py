"""Corpora: what is refused, with its place, its cause and what to do."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("tokenizers")

from texts import lawdsl, said, text, write_jsonl, write_numbered, write_tokenizer

from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.corpora.build import write_corpus
from lawdsl.runners.corpora.corpus import open_corpus
from lawdsl.runners.corpora.tokenizer import load_tokenizer


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer.json")


# ---- text


def bad_utf8(folder: Path) -> Path:
    path = folder / "a.txt"
    path.write_bytes(b"fine\n" * 300_000 + b"caf\xe9")
    return path


def cut_utf8(folder: Path) -> Path:
    path = folder / "a.txt"
    path.write_bytes("fine ж".encode()[:-1])
    return path


def lines(*content: str | bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / "a.jsonl"
        raw = [line if isinstance(line, bytes) else line.encode() for line in content]
        path.write_bytes(b"\n".join(raw))
        return path

    return write


def table(**columns: list[Any]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        pq.write_table(pa.table(columns), folder / "a.parquet")
        return folder / "a.parquet"

    return write


def raw(name: str, content: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return write


def bad_parquet_text(folder: Path) -> Path:
    """A column that calls itself text and is not."""
    array = pa.array([b"fine", b"caf\xe9"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": array}), folder / "a.parquet")
    return folder / "a.parquet"


def fifo(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def empty_folder(folder: Path) -> Path:
    (folder / "empty").mkdir()
    return folder / "empty"


GOOD_LINE = json.dumps({"text": "good"})
ZIPPED = gzip.compress(GOOD_LINE.encode() * 100)

MISTAKES: dict[str, tuple[Callable[[Path], Path], str, str, str]] = {
    "a byte that is no UTF-8": (bad_utf8, "R0201", "a.txt", "byte 1,500,003 is 0xe9"),
    "a character that is cut off": (cut_utf8, "R0201", "a.txt", "byte 5 is 0xd0"),
    "such a byte in a line": (lines(GOOD_LINE, b'{"text": "\xff"}'), "R0201", "a.jsonl:2", "byte 10"),
    "no JSON": (lines(GOOD_LINE, "", "{'text'}"), "R0202", "a.jsonl:3", "not JSON"),
    "a number too long for JSON": (lines('{"n": ' + "1" * 5000 + "}"), "R0202", "a.jsonl:1", ""),
    "brackets without end": (lines("[" * 100_000), "R0202", "a.jsonl:1", "nested"),
    "no object": (lines("[1]"), "R0202", "a.jsonl:1", "but a list"),
    "no such field": (lines(GOOD_LINE, '{"body": ""}'), "R0202", "a.jsonl:2", "are: body"),
    "a field that is not text": (lines('{"text": 1}'), "R0202", "a.jsonl:1", "is not text"),
    "no such column": (table(body=["a"]), "R0202", "a.parquet", "are: body"),
    "a row without text": (table(text=["a", None]), "R0202", "a.parquet:2", "has no text"),
    "a column of numbers": (table(text=[1]), "R0202", "a.parquet", "has no text: its type is int64"),
    "lists of fractions": (table(text=[[1.5, 2]]), "R0202", "a.parquet", "has no text: its type is list"),
    "text in a table that is no UTF-8": (bad_parquet_text, "R0201", "a.parquet:2", "byte 3"),
    "no Parquet": (raw("a.parquet", b"PAR1 and no more"), "R0203", "a.parquet", "not a readable"),
    "no gzip": (raw("a.jsonl.gz", b"plain"), "R0203", "a.jsonl.gz", "cannot be read"),
    "half a gzip": (raw("a.jsonl.gz", ZIPPED[:-9]), "R0203", "a.jsonl.gz", "damaged"),
    "a damaged gzip": (
        raw("a.jsonl.gz", ZIPPED[:12] + b"\xff\xff\xff" + ZIPPED[15:]), "R0203", "a.jsonl.gz", ""
    ),
    "no zstd": (raw("a.zst", b"plain"), "R0203", "a.zst", "cannot be read"),
    "no file": (lambda folder: folder / "nowhere", "R0203", "nowhere", "the file does not exist"),
    "a pipe": (fifo, "R0203", "pipe", "not a regular file"),
    "an empty folder": (empty_folder, "R0203", "empty", "no file in the folder matches"),
    "no text": (raw("a.txt", b""), "R0204", "", "0 documents"),
    "blank text": (raw("a.txt", b" \n\n "), "R0204", "", "blank"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_bad_text_is_refused_with_its_place(name: str, tokenizer: Path, tmp_path: Path):
    write, code, place, says = MISTAKES[name]
    source = write(tmp_path)

    found = said(lambda: write_corpus([source], tmp_path / "made" / "corpus", tokenizer))

    assert found.code == code
    assert found.place.endswith(place)
    assert says in " ".join([found.message, *found.notes])
    assert not any((tmp_path / "made").glob("*")) and not any((tmp_path / "made").glob(".*"))


# ---- folders and tokenizers


def test_corpora_do_not_lie_in_what_they_are_made_of(tokenizer: Path, tmp_path: Path):
    (tmp_path / "texts" / "sub").mkdir(parents=True)
    source = write_jsonl(tmp_path / "texts" / "a.jsonl", [text(1)])
    other = write_corpus([source], tmp_path / "other", tokenizer)

    def refused(inputs: Sequence[Path], folder: Path, *against: Path) -> str:
        found = said(lambda: write_corpus(inputs, folder, tokenizer, against=against, force=True))
        assert found.code == "R0213"
        return found.message

    assert "lie in" in refused([tmp_path / "texts"], tmp_path / "texts" / "corpus")
    assert "lie in" in refused([tmp_path / "texts"], tmp_path / "texts" / "sub" / ".." / "corpus")
    assert "replace" in refused([source], tmp_path / "texts")
    assert "replace" in refused([tmp_path / "texts"], tmp_path / "texts")
    assert "replace" in refused([source], other.folder, other.folder)
    assert source.exists() and open_corpus(other.folder, verify=True)


def without_end(tokenizer: Path, folder: Path) -> None:
    content = json.loads(tokenizer.read_text(encoding="utf-8").replace("<|endoftext|>", "<end>"))
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")


TOKENIZERS: dict[str, tuple[Callable[[Path, Path], object], str]] = {
    "no file": (lambda tokenizer, folder: None, "No such file"),
    "no JSON": (lambda tokenizer, folder: (folder / "tokenizer.json").touch(), "not a tokenizer"),
    "no tokenizer": (
        lambda tokenizer, folder: (folder / "tokenizer.json").write_text("{}"), "not a tokenizer"
    ),
    "no end of text": (without_end, "to end a document with"),
}  # fmt: skip


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_bad_tokenizer_is_refused(name: str, tokenizer: Path, tmp_path: Path):
    write, says = TOKENIZERS[name]
    write(tokenizer, tmp_path)

    found = said(lambda: load_tokenizer(tmp_path))

    assert found.code == "R0206" and says in found.message


def test_end_of_text_may_have_another_name(tokenizer: Path, tmp_path: Path):
    without_end(tokenizer, tmp_path)

    assert load_tokenizer(tmp_path, end_of_text="<end>").end_of_text == 0


# ---- damaged corpora


def cut_off(folder: Path) -> None:
    os.truncate(folder / "tokens.bin", 10)


def flip(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        content = bytearray((folder / name).read_bytes())
        content[-3] ^= 1
        (folder / name).write_bytes(bytes(content))

    return change


def rewrite(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "corpus.json"
        facts = json.loads(path.read_text(encoding="utf-8")) | changes
        path.write_text(json.dumps(facts), encoding="utf-8")

    return change


DAMAGES: dict[str, tuple[Callable[[Path], object], str, bool]] = {
    "tokens cut off": (cut_off, "has 10 bytes, not the", True),
    "tokens gone": (lambda f: (f / "tokens.bin").unlink(), "cannot be read", True),
    "documents gone": (lambda f: (f / "documents.npy").unlink(), "cannot be read", True),
    "documents empty": (lambda f: (f / "documents.npy").write_bytes(b""), "cannot be read", True),
    "other documents": (lambda f: np.save(f / "documents.npy", np.arange(3)), "add up", True),
    "documents of floats": (
        lambda f: np.save(f / "documents.npy", np.arange(4.0)), "what it should", True
    ),
    "facts cut off": (lambda f: os.truncate(f / "corpus.json", 30), "cannot be read", True),
    "facts of a list": (lambda f: (f / "corpus.json").write_text("[]"), "schema None", True),
    "another schema": (rewrite(schema=2), "schema 2", True),
    "tokens as text": (rewrite(tokens="10"), "tokens is missing", True),
    "no tokens": (rewrite(tokens=0), "not those of a corpus", True),
    "an unknown dtype": (rewrite(dtype="float64"), "not those of a corpus", True),
    "no hashes": (rewrite(sha256={}), "SHA-256 is missing", True),
    "a token changed": (flip("tokens.bin"), "SHA-256 is another", False),
    "a document changed": (flip("documents.npy"), "", False),
    "the tokenizer changed": (flip("tokenizer.json"), "SHA-256 is another", False),
    "a paragraph changed": (flip("paragraphs.npy"), "SHA-256 is another", False),
}  # fmt: skip
"""What is done to a corpus, what is said, and whether it is seen without reading it all."""


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_corpus_is_refused(name: str, tokenizer: Path, tmp_path: Path):
    damage, says, at_once = DAMAGES[name]
    write_jsonl(tmp_path / "a.jsonl", [text(1), text(2), text(3)])
    corpus = write_corpus([tmp_path / "a.jsonl"], tmp_path / "corpus", tokenizer)
    damage(corpus.folder)

    found = said(lambda: open_corpus(corpus.folder, verify=not at_once))

    assert found.code == "R0208" and says in found.message


def test_changed_paragraphs_keep_nothing_out(tokenizer: Path, tmp_path: Path):
    source = write_jsonl(tmp_path / "a.jsonl", [text(1), text(2)])
    other = write_corpus([source], tmp_path / "other", tokenizer)
    flip("paragraphs.npy")(other.folder)

    against = [other.folder]
    found = said(lambda: write_corpus([source], tmp_path / "new", tokenizer, against=against))

    assert found.code == "R0208"


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_a_folder_that_is_no_corpus_is_told(name: str, tmp_path: Path):
    (tmp_path / "empty").mkdir()

    assert said(lambda: open_corpus(tmp_path / name)).code == "R0207"
    assert said(lambda: lawdsl("corpora", tmp_path / name)).code == "R0207"


def test_all_damaged_corpora_are_named(tokenizer: Path, tmp_path: Path):
    source = write_jsonl(tmp_path / "a.jsonl", [text(1), text(2)])
    for name in ("a", "b", "c"):
        write_corpus([source], tmp_path / "made" / name, tokenizer)
    flip("tokens.bin")(tmp_path / "made" / "a")
    cut_off(tmp_path / "made" / "c")

    with pytest.raises(LawdslError) as caught:
        lawdsl("corpora", tmp_path / "made")

    places = [Path(d.place).parent.name for d in caught.value.diagnostics]
    assert places == ["a", "c"]


def test_corpora_of_different_tokenizers_are_told_apart(
    tokenizer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    source = write_jsonl(tmp_path / "a.jsonl", [text(1), text(2)])
    other = write_numbered(tmp_path / "tokenizer.json", 300)
    for name, encoder in (("a", tokenizer), ("b", other)):
        write_corpus([source], tmp_path / "made" / name, encoder)

    lawdsl("corpora", tmp_path / "made", "--json")

    (found,) = json.loads(capsys.readouterr().out)["diagnostics"]
    assert found["code"] == "R0210" and found["notes"] == ["one of a", "one of b"]


# ---- options


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--split", "a"], "not 'a'"),
        (["--split", "a=b"], "not 'a=b'"),
        (["--split", "a=1/0"], "not 'a=1/0'"),
        (["--split", "a=0.5,a=0.5"], "twice"),
        (["--split", "../a=0.5"], "name of a folder"),
        (["--split", "=0.5"], "name of a folder"),
        (["--split", "a=0"], "share of a is 0"),
        (["--split", "a=0.6,b=0.5"], "add up to 1.1"),
        (["--split", "a=0.6", "--name", "b"], "--name is for one"),
        (["--max-tokens", "many"], "not 'many'"),
        (["--max-tokens", "1"], "2 or more"),
        (["--split", "a=1", "--max-tokens", "b=9"], "unknown part 'b'"),
        (["--deduplicate", "words"], "words"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_option_is_told(options: list[str], says: str, tmp_path: Path):
    with pytest.raises(click.UsageError, match=re.escape(says)):
        lawdsl("corpus", "a.jsonl", "--tokenizer", "t.json", "-o", tmp_path / "made", *options)
