"""Corpora of tokens: data sets of Megatron and columns of lists give what their text gives."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("tokenizers")

from texts import lawdsl, said, shared_text, text, write_jsonl, write_numbered, write_tokenizer

from lawdsl.runners.corpora.build import CorpusPart, write_corpora, write_corpus
from lawdsl.runners.corpora.corpus import Corpus
from lawdsl.runners.corpora.documents import find_files, read_documents
from lawdsl.runners.corpora.megatron import open_megatron
from lawdsl.runners.corpora.tokenizer import load_tokenizer

CODES = {"uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint16": 8, "uint32": 9}
END = 0  # the id of the end of a text in both tokenizers


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer.json")


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_numbered(tmp_path_factory.mktemp("numbered") / "tokenizer.json", 1200)


def write_megatron(
    path: Path,
    documents: Sequence[Sequence[Sequence[int]]],
    dtype: str = "int32",
    modes: bool = False,
) -> Path:
    """A data set as Megatron-LM lays it out: documents, each of some sequences of tokens."""
    sequences = [sequence for document in documents for sequence in document]
    itemsize = np.dtype(dtype).itemsize
    bounds = np.cumsum([0, *map(len, documents)])
    starts = np.cumsum([0, *map(len, sequences)])[:-1] * itemsize
    flat = [token for sequence in sequences for token in sequence]
    path.with_suffix(".bin").write_bytes(
        np.array(flat, dtype=f"<{np.dtype(dtype).str[1:]}").tobytes()
    )
    with path.with_suffix(".idx").open("wb") as file:
        file.write(b"MMIDIDX\x00\x00")
        file.write(struct.pack("<Q", 1))
        file.write(struct.pack("<B", CODES[dtype]))
        file.write(struct.pack("<Q", len(sequences)))
        file.write(struct.pack("<Q", len(bounds)))
        file.write(np.array([*map(len, sequences)], dtype="<i4").tobytes())
        file.write(starts.astype("<i8").tobytes())
        file.write(bounds.astype("<i8").tobytes())
        if modes:
            file.write(bytes(len(sequences)))
    return path.with_suffix(".bin")


def write_lists(path: Path, rows: Sequence[Any], kind: pa.DataType | None = None) -> Path:
    column = pa.array(rows, kind or pa.list_(pa.int64()))
    pq.write_table(pa.table({"input_ids": column, "n": range(len(rows))}), path)
    return path


def encoded(tokenizer: Path, texts: Sequence[str]) -> list[list[int]]:
    encodings = load_tokenizer(tokenizer).encode(texts)
    return [encoding.ids for encoding in encodings]


def documents_of(corpus: Corpus) -> list[list[int]]:
    bounds = corpus.documents.tolist()
    return [
        corpus.tokens[start : end - 1].tolist()
        for start, end in zip(bounds, bounds[1:], strict=False)
    ]


def test_tokens_of_every_kind_give_the_corpus_of_their_text(tokenizer: Path, tmp_path: Path):
    texts = [text(i, i + 10) for i in range(6)]
    rows = encoded(tokenizer, texts)
    expected = write_corpus(
        [write_jsonl(tmp_path / "a.jsonl", texts)], tmp_path / "text", tokenizer
    )
    files = {
        "ended": write_megatron(tmp_path / "ended", [[[*ids, END]] for ids in rows], "uint16"),
        "bare": write_megatron(tmp_path / "bare", [[ids] for ids in rows], "int32"),
        "sentences": write_megatron(
            tmp_path / "sentences", [[ids[:5], ids[5:], [END]] for ids in rows], "int64", modes=True
        ),
        "one": write_megatron(tmp_path / "one", [[[t for ids in rows for t in (*ids, END)]]]),
        "lists": write_lists(tmp_path / "lists.parquet", rows),
        "large": write_lists(tmp_path / "large.pq", rows, pa.large_list(pa.uint16())),
    }
    for name, path in files.items():
        made = write_corpus([path], tmp_path / name, tokenizer, text_field="input_ids")
        assert made.fingerprint == expected.fingerprint, name
        for fact in ("tokens", "documents", "bytes", "paragraphs_sha256"):
            assert made.facts[fact] == expected.facts[fact]


def test_tokens_stay_as_they_are_though_their_text_would_be_tokenised_otherwise(
    tokenizer: Path, tmp_path: Path
):
    """A text has many tokenisations; the first is what a tokenizer gives."""
    letters = load_tokenizer(tokenizer).inner.get_vocab()
    ids = [letters[letter] for letter in "loss"]
    assert encoded(tokenizer, ["loss"]) != [ids]
    made = write_corpus(
        [write_lists(tmp_path / "a.parquet", [ids])],
        tmp_path / "made",
        tokenizer,
        text_field="input_ids",
    )
    assert documents_of(made) == [ids]
    assert made.facts["bytes"] == 4


def test_copies_and_paragraphs_of_validation_are_removed_from_tokens_too(
    tokenizer: Path, tmp_path: Path
):
    source = shared_text(tmp_path / "a.jsonl", 60)
    texts = [d.text for d in read_documents([source])]
    write_megatron(tmp_path / "tokens", [[ids] for ids in encoded(tokenizer, texts)])
    made = {}
    for path in (source, tmp_path / "tokens.bin"):
        home = tmp_path / f"made-{path.stem}"
        parts = {
            home / "train": CorpusPart("train"),
            home / "validation": CorpusPart("validation", first=True),
        }
        parts = {
            folder: CorpusPart(p.name, share=p.share / 2, first=p.first)
            for folder, p in parts.items()
        }
        made[path.stem] = write_corpora([path], parts, tokenizer)
    for of_text, of_tokens in zip(made["a"], made["tokens"], strict=True):
        assert of_tokens.fingerprint == of_text.fingerprint


def test_the_index_names_its_tokens_and_is_read_once_with_them(tokenizer: Path, tmp_path: Path):
    (tmp_path / "in").mkdir()
    path = write_megatron(tmp_path / "in" / "a", [[[5, 6]], [[7]]])
    assert find_files([path.with_suffix(".idx")]) == [path]
    assert find_files([tmp_path / "in"]) == [path]


def test_long_documents_are_cut_as_texts_are(numbered: Path, tmp_path: Path):
    ids = list(range(1, 1001))
    path = write_megatron(tmp_path / "a", [[ids]], "uint16")
    part = CorpusPart("cut", max_document_tokens=100)
    (made,) = write_corpora([path], {tmp_path / "cut": part}, numbered)
    (cut,) = documents_of(made)
    assert len(cut) == 99 and cut == ids[cut[0] - 1 : cut[0] + 98]
    assert made.facts["bytes"] == len(" ".join(f"<{i}>" for i in cut))


def test_a_sequence_of_millions_is_cut_into_documents(
    numbered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("lawdsl.runners.corpora.token_documents.MAX_DOCUMENT_TOKENS", 300)
    path = write_megatron(tmp_path / "a", [[range(1, 1001)]], "uint16")
    made = write_corpus([path], tmp_path / "made", numbered)
    assert [len(ids) for ids in documents_of(made)] == [300, 300, 300, 100]


# ---- what is wrong


def refused(path: Path, tokenizer: Path, **options: Any) -> tuple[str, str, str]:
    made = path.parent / "made"
    diagnostic = said(lambda: write_corpus([path], made, tokenizer, **options))
    assert not made.exists()
    return diagnostic.code, diagnostic.message, str(diagnostic.place)


@pytest.mark.parametrize(("dtype", "bad"), [("int32", -1), ("uint32", 1200), ("int64", 2**40)])
def test_a_token_that_the_tokenizer_does_not_have_is_named(
    dtype: str, bad: int, numbered: Path, tmp_path: Path
):
    path = write_megatron(tmp_path / "a", [[[3, 4]], [[5, 6, bad, 7]]], dtype)
    code, message, place = refused(path, numbered)
    assert code == "R0218" and message == f"token 2 of the document is {bad}"
    assert place == f"{path}, document 1"


@pytest.mark.parametrize("rows", [[[1, 2], None], [[1, 2], [3, None]]])
def test_a_null_among_tokens_is_named(rows: list[Any], numbered: Path, tmp_path: Path):
    path = write_lists(tmp_path / "a.parquet", rows)
    code, message, place = refused(path, numbered, text_field="input_ids")
    assert code == "R0202" and "null in this row" in message and place == f"{path}:2"


def edited(path: Path, offset: int, content: bytes) -> None:
    index = bytearray(path.with_suffix(".idx").read_bytes())
    index[offset : offset + len(content)] = content
    path.with_suffix(".idx").write_bytes(bytes(index))


DAMAGE = {
    "no index": (lambda p: p.with_suffix(".idx").unlink(), "a.idx is not beside it"),
    "no magic": (lambda p: edited(p, 0, b"X"), "not the index of a Megatron data set"),
    "legacy": (lambda p: edited(p, 0, b"TNTIDX\0\0"), "an old format"),
    "version": (lambda p: edited(p, 9, b"\2"), "of version 2; 1 can be read"),
    "floats": (lambda p: edited(p, 17, b"\7"), "code 7, is floating-point numbers"),
    "unknown type": (lambda p: edited(p, 17, b"\x63"), "code 99, is unknown"),
    "sequences": (lambda p: edited(p, 18, b"\xff" * 8), "not the"),
    "documents": (lambda p: edited(p, 26, b"\xff" * 8), "not the"),
    "a length": (lambda p: edited(p, 34, b"\xff\xff\xff\x7f"), "sequence 0 of the index"),
    "a negative length": (lambda p: edited(p, 34, b"\xff\xff\xff\xff"), "sequence 0 of the index"),
    "a pointer": (lambda p: edited(p, 34 + 8 + 8, b"\xff" * 7), "sequence 1 of the index"),
    "an odd pointer": (lambda p: edited(p, 34 + 8 + 8, b"\3"), "sequence 1 of the index"),
    "a document": (lambda p: edited(p, 34 + 8 + 16 + 8, b"\x09"), "are not its sequences"),
    "a torn index": (
        lambda p: p.with_suffix(".idx").write_bytes(p.with_suffix(".idx").read_bytes()[:-3]),
        "not the 82 of its header",
    ),
    "torn tokens": (lambda p: p.write_bytes(p.read_bytes()[:-4]), "sequence 1 of the index"),
    "no tokens": (lambda p: p.write_bytes(b""), "sequence 0 of the index"),
    "more tokens": (
        lambda p: p.write_bytes(p.read_bytes() + b"\1\0"),
        "2 bytes of a.bin, from byte 16 on, belong to no sequence",
    ),
    "other integers": (
        lambda p: edited(p, 17, b"\x08"),  # uint16 in place of int32
        "4 bytes of a.bin, from byte 4 on, belong to no sequence",
    ),
    "index of a shorter one": (
        lambda p: write_megatron(p.with_name("b"), [[[3]], [[5]]]).with_suffix(".idx").replace(p.with_suffix(".idx")),
        "8 bytes of a.bin, from byte 8 on, belong to no sequence",
    ),
    "index of an empty one": (
        lambda p: write_megatron(p.with_name("b"), []).with_suffix(".idx").replace(p.with_suffix(".idx")),
        "16 bytes of a.bin, from byte 0 on, belong to no sequence",
    ),
    "an overlap": (
        lambda p: edited(p, 34 + 8 + 8, b"\4"), "two sequences of the index overlap at byte 4"
    ),
    "a gap at the start": (
        lambda p: edited(p, 34 + 8, b"\4"), "4 bytes of a.bin, from byte 0 on, belong to no sequence"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_what_is_wrong_with_a_data_set_is_said(name: str, numbered: Path, tmp_path: Path):
    path = write_megatron(tmp_path / "a", [[[3, 4]], [[5, 6]]])
    damage, words = DAMAGE[name]
    damage(path)
    code, message, _ = refused(path, numbered)
    assert code == "R0217" and words in message


def test_sequences_may_lie_in_any_order_and_be_empty(tmp_path: Path):
    path = write_megatron(tmp_path / "a", [[[3, 4]], [[]], [[5]]])
    edited(path, 34, struct.pack("<3i3q", 1, 0, 2, 8, 8, 0))
    assert [ids.tolist() for ids, _ in open_megatron(path).read()] == [[5], [3, 4]]


def test_an_index_without_tokens_and_a_packed_one_are_refused(numbered: Path, tmp_path: Path):
    path = write_megatron(tmp_path / "a", [[[3, 4]]])
    packed = path.rename(tmp_path / "a.bin.gz")
    for unusable in (path.with_suffix(".idx"), packed):
        assert refused(unusable, numbered)[0] == "R0217"


def test_tokens_are_no_text_for_a_tokenizer(tmp_path: Path):
    path = write_megatron(tmp_path / "a", [[[3, 4]]])
    made = tmp_path / "t.json"
    diagnostic = said(lambda: lawdsl("tokenizer", path, "--vocabulary", 300, "-o", made))
    assert diagnostic.code == "R0218" and "lawdsl corpus" in str(diagnostic.help)
    assert not made.exists()


def test_the_command_makes_a_corpus_of_lists(numbered: Path, tmp_path: Path):
    path = write_lists(tmp_path / "a.parquet", [[3, 4], [5]])
    made = tmp_path / "made"
    assert (
        lawdsl("corpus", path, "--tokenizer", numbered, "-o", made, "--text-field", "input_ids")
        == 0
    )
    assert np.fromfile(made / "tokens.bin", "<u2").tolist() == [3, 4, 0, 5, 0]
