"""Corpora: what becomes of text, where it falls, what is left out; folders whole or not at all."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import tomllib
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("tokenizers")

import making_corpora
from hypothesis import given, strategies as st
from texts import (
    lawdsl,
    paragraph,
    said,
    shared_text,
    text,
    write_jsonl,
    write_numbered,
    write_tokenizer,
)

from lawdsl.runners.corpora import build, documents, tokenizer as tokenizing
from lawdsl.runners.corpora.build import CorpusPart, write_corpora, write_corpus
from lawdsl.runners.corpora.corpus import Corpus
from lawdsl.runners.corpora.deduplication import HashSet, document_key, paragraphs
from lawdsl.runners.corpora.tokenizer import load_tokenizer

ROOT = Path(__file__).resolve().parent.parent
RECIPES = ROOT / "runners" / "recipes"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer.json")


def texts_of(corpus: Corpus) -> list[str]:
    """The documents of a corpus, as the tokenizer reads them back."""
    inner = load_tokenizer(corpus.folder).inner
    pairs = zip(corpus.documents, corpus.documents[1:], strict=False)
    assert all(corpus.tokens[end - 1] == corpus.end_of_text for _, end in pairs)
    bounds = corpus.documents.tolist()
    return [
        inner.decode(corpus.tokens[start : end - 1].tolist(), skip_special_tokens=False)
        for start, end in zip(bounds, bounds[1:], strict=False)
    ]


def split(home: Path, first: bool = True, **shares: str) -> dict[Path, CorpusPart]:
    """Parts by name and share; those called validation are made first."""
    return {
        home / name: CorpusPart(name, Fraction(share), first=first and name == "validation")
        for name, share in shares.items()
    }


# ---- what becomes of text

ODD = {
    "scripts": "Ελλάδα, Россия, 日本語, العربية, नमस्ते, 𝔘𝔫𝔦𝔠𝔬𝔡𝔢\n",
    "emoji": "👩‍👩‍👧‍👦 🇩🇪 e\u0301 \u200b\ufeff within\n",
    "controls": "nul \0, bell \a, escape \x1b[31m, \x85 \u2028 and \r\n carriage returns \r\n",
    "blanks": "  \t two  blanks \n\n\n   and lines  \n",
    "special": "a <|endoftext|> that is only spoken of\n",
}


@pytest.mark.parametrize("name", ODD)
def test_text_comes_back_as_it_was(name: str, tokenizer: Path, tmp_path: Path):
    write_jsonl(tmp_path / "größe.jsonl", [ODD[name], text(1)])

    corpus = write_corpus([tmp_path / "größe.jsonl"], tmp_path / "корпус", tokenizer)

    assert texts_of(corpus) == [ODD[name], text(1)]
    assert corpus.facts["bytes"] == sum(len(t.encode()) for t in (ODD[name], text(1)))
    assert (corpus.tokens == corpus.end_of_text).sum() == 2


def test_a_corpus_has_the_same_documents_from_every_kind_of_file(tokenizer: Path, tmp_path: Path):
    texts = [text(i) for i in range(5)]
    folders = [tmp_path / name for name in ("plain", "gzip", "zstd", "columns", "files")]
    for folder in (*folders, tmp_path / "files" / "sub"):
        folder.mkdir()
    content = write_jsonl(tmp_path / "plain" / "a.jsonl", texts).read_bytes()
    (tmp_path / "gzip" / "a.json.gz").write_bytes(gzip.compress(content))
    (tmp_path / "zstd" / "a.jsonl.zst").write_bytes(pa.compress(content, "zstd", asbytes=True))
    columns = pa.table({"n": range(5), "text": texts})
    pq.write_table(columns, tmp_path / "columns" / "a.parquet")
    for i, one in enumerate(texts):
        path = tmp_path / "files" / ("sub" if i > 2 else "") / f"{i}.txt"
        path.write_text("\ufeff" + one if i == 1 else one, encoding="utf-8")
    (tmp_path / "files" / ".hidden").write_bytes(b"\xff")

    made = [
        write_corpus([folder], tmp_path / f"made-{folder.name}", tokenizer) for folder in folders
    ]

    assert len({corpus.fingerprint for corpus in made}) == 1
    assert texts_of(made[0]) == texts


def test_files_of_folders_are_chosen_by_glob(tmp_path: Path):
    for name in ("b.py", "a.py", "c.txt", "sub/d.py", "sub/.e.py", ".git/f.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    def found(glob: str) -> list[str]:
        files = documents.find_files([tmp_path, tmp_path / "a.py"], glob)
        return [str(path.relative_to(tmp_path)) for path in files]

    assert found("*.py") == ["a.py", "b.py", "sub/d.py"]
    assert found("sub/*.py") == ["sub/d.py", "a.py"]  # what is named is read in any case


def test_halves_of_characters_in_json_are_replaced(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text(r'{"text": "\ud83d\ude00 \ud83d!"}')

    (document,) = documents.read_documents([tmp_path / "a.jsonl"])

    assert document.text == "\U0001f600 \ufffd!"


def test_a_vocabulary_over_65536_takes_four_bytes_a_token(tmp_path: Path):
    source = write_jsonl(tmp_path / "a.jsonl", ["<69999> <65536>"])
    encoder = write_numbered(tmp_path / "tokenizer.json", 70_000)

    corpus = write_corpus([source], tmp_path / "corpus", encoder)

    assert corpus.tokens.dtype == np.uint32 and corpus.tokens.tolist() == [69999, 65536, 0]


def test_windows_overlap_in_the_token_that_is_predicted_last(tmp_path: Path):
    source = write_jsonl(tmp_path / "a.jsonl", [" ".join(f"<{i}>" for i in range(1, 100))])
    encoder = write_numbered(tmp_path / "tokenizer.json", 100)

    corpus = write_corpus([source], tmp_path / "corpus", encoder)

    assert corpus.tokens.tolist() == [*range(1, 100), 0]
    assert [corpus.windows(n) for n in (1, 33, 34, 99, 100)] == [99, 3, 2, 1, 0]


# ---- long documents


def test_a_long_document_is_made_tokens_in_pieces(
    tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    whole = text(*range(300)) + "ж" * 500
    monkeypatch.setattr(tokenizing, "PIECE_CHARACTERS", 100)
    encoder = load_tokenizer(tokenizer)
    (tokens,) = tokenizing.encode_texts(encoder, [whole], offsets=True)
    assert tokens.offsets is not None

    assert encoder.inner.decode(tokens.ids.tolist()) == whole
    characters = [whole[a:b] for a, b in tokens.offsets[:1000]]
    assert "".join(characters) == whole[: tokens.offsets[999, 1]]

    whole = text(*range(300))
    write_jsonl(tmp_path / "a.jsonl", [whole])
    parts = {tmp_path / "cut": CorpusPart("cut", max_document_tokens=50)}
    (cut,) = write_corpora([tmp_path / "a.jsonl"], parts, encoder)
    (piece,) = texts_of(cut)
    assert len(cut.tokens) == 50 and piece in whole
    assert cut.facts["bytes"] == len(piece.encode())


def test_a_long_text_file_is_cut_between_paragraphs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(documents, "MAX_DOCUMENT_CHARACTERS", 200)
    monkeypatch.setattr(documents, "BLOCK", 7)  # which cuts characters
    for name, whole in {
        "paragraphs": "ä" + text(*range(50)),
        "lines": "\n".join("жук" for _ in range(500)),
        "nothing": "ж" * 1000,
    }.items():
        (tmp_path / name).write_text(whole, encoding="utf-8")
        found = list(documents.read_documents([tmp_path / name]))

        assert "".join(d.text for d in found) == whole and len(found) >= 5
        assert all(len(d.text) <= 200 for d in found)
        end = {"paragraphs": "\n\n", "lines": "\n", "nothing": "ж"}[name]
        assert all(d.text.endswith(end) for d in found[:-1])
        lines = [int(d.source.partition(f"{name}:")[2] or 1) for d in found]
        if name == "paragraphs":
            assert lines == [1 + whole[: whole.index(d.text)].count("\n") for d in found]


def test_tokens_are_written_while_text_is_read(
    tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(build, "BATCH_DOCUMENTS", 4)
    write_jsonl(tmp_path / "a.jsonl", (text(i) for i in range(1000)))
    partial = tmp_path / ".corpus.partial" / "tokens.bin"
    sizes: dict[int, int] = {}

    def progress(done: int, total: int) -> None:
        sizes[100 * done // total] = partial.stat().st_size

    corpus = write_corpus([tmp_path / "a.jsonl"], tmp_path / "corpus", tokenizer, progress=progress)

    half = max(size for percent, size in sizes.items() if percent <= 55)
    assert 0.3 < half / corpus.tokens.nbytes < 0.6 and max(sizes) == 100


@pytest.mark.slow
def test_memory_does_not_grow_with_the_text(
    tokenizer: Path, tmp_path: Path, record_property: Callable[[str, object], None]
):
    shutil.copy(tokenizer, tmp_path)
    write_jsonl(tmp_path / "text.jsonl", (text(*range(i, i + 40)) for i in range(1500)))

    grown = making_corpora.ask("memory", tmp_path)

    memory, more = grown["memory"] / 1e6, grown["text"] / 1e6
    record_property("figure", f"corpora: {more:.0f} MB more text, {memory:.1f} MB more memory")
    assert grown["memory"] < 0.25 * grown["text"]


# ---- where documents fall


@given(order=st.permutations(range(40)), copies=st.lists(st.integers(0, 39), max_size=10))
def test_where_a_document_falls_is_decided_by_what_it_says(
    order: list[int], copies: list[int], tmp_path_factory: pytest.TempPathFactory
):
    """Neither by its place, nor by the others; copies in other layouts fall together."""
    folder = tmp_path_factory.mktemp("split")
    texts = [text(i) for i in order] + [text(i).upper().replace(" ", "\n ") for i in copies]
    write_jsonl(folder / "a.jsonl", texts)
    parts = split(folder, train="0.5", validation="0.3")
    drafts = [
        {document.text for document, key in batch if key in keys}
        for batch in build._batches(documents.read_documents([folder / "a.jsonl"]))
        for keys in build._ranges(parts.values())
    ]

    for name, part in zip(("train", "validation"), drafts, strict=True):
        numbers = {int(t.split()[0]) for t in part}
        assert numbers == {i for i in range(40) if WHERE.get(i) == name}


def _where() -> dict[int, str]:
    """What the keys of the documents say, worked out here: letters and digits, hashed."""
    from hashlib import blake2b

    found = {}
    for i in range(40):
        plain = re.sub(r"[\W_]", "", text(i).lower()).encode()
        at = int.from_bytes(blake2b(plain, digest_size=8).digest(), "little") / 2**64
        found[i] = "train" if at < 0.5 else "validation" if at < 0.8 else ""
    return found


WHERE = _where()


def test_shares_are_kept_and_the_rest_is_left_out(tokenizer: Path, tmp_path: Path):
    write_jsonl(tmp_path / "a.jsonl", (text(i) for i in range(2000)))

    corpora = write_corpora(
        [tmp_path / "a.jsonl"], split(tmp_path, train="1/2", validation="0.3"), tokenizer
    )

    counts = [len(corpus.documents) - 1 for corpus in corpora]
    assert abs(counts[0] - 1000) < 90 and abs(counts[1] - 600) < 82  # four standard deviations
    assert not set(texts_of(corpora[0])) & set(texts_of(corpora[1]))


def test_max_tokens_keeps_documents_spread_over_all(tokenizer: Path, tmp_path: Path):
    write_jsonl(tmp_path / "a.jsonl", (text(i) for i in range(400)))
    sizes = (1000, 2000)
    made = [
        write_corpora(
            [tmp_path / "a.jsonl"], {tmp_path / f"{n}": CorpusPart("few", max_tokens=n)}, tokenizer
        )[0]
        for n in sizes
    ]

    for corpus, most in zip(made, sizes, strict=True):
        assert most - 60 < len(corpus.tokens) <= most
        numbers = [int(t.split()[0]) for t in texts_of(corpus)]
        assert min(numbers) < 100 and max(numbers) > 300
    small, large = map(texts_of, made)
    assert large == sorted((text(i) for i in range(400)), key=document_key)[: len(large)]
    assert large[: len(small)] == small
    most = len(made[1].tokens)
    parts = {tmp_path / "exact": CorpusPart("few", max_tokens=most)}
    assert len(write_corpora([tmp_path / "a.jsonl"], parts, tokenizer)[0].tokens) == most


# ---- what is left out


def long_paragraphs(texts: Iterable[str]) -> set[str]:
    """Letters and digits of the paragraphs with 32 of them or more."""
    plain = (re.sub(r"[\W_]", "", p.lower()) for t in texts for p in re.split(r"\n\s*\n", t))
    return {p for p in plain if len(p) >= 32}


@pytest.mark.parametrize("deduplicate", ["paragraphs", "documents", "none"])
def test_no_paragraph_of_validation_is_in_training(
    deduplicate: Any, tokenizer: Path, tmp_path: Path
):
    shared_text(tmp_path / "a.jsonl")

    train, validation = write_corpora(
        [tmp_path / "a.jsonl"],
        split(tmp_path, train="0.8", validation="0.2"),
        tokenizer,
        deduplicate=deduplicate,
    )

    mine, theirs = (long_paragraphs(texts_of(corpus)) for corpus in (train, validation))
    assert len(mine) > 200 and len(theirs) > 50 and not mine & theirs


def test_validation_loses_nothing_to_training(tokenizer: Path, tmp_path: Path):
    shared_text(tmp_path / "a.jsonl")

    def validation(home: Path, train: str) -> str:
        parts = split(home, validation="0.2", train=train)
        return write_corpora([tmp_path / "a.jsonl"], parts, tokenizer)[0].fingerprint

    assert validation(tmp_path / "one", train="0.8") == validation(tmp_path / "two", train="0.05")


@given(st.lists(st.sets(st.integers(1, 40), max_size=12), max_size=12), st.sets(st.integers(1, 40)))
def test_what_was_seen_is_known(batches: list[set[int]], asked: set[int]):
    seen = HashSet()
    for batch in batches:
        seen.add(batch)

    keys = sorted(asked)
    assert seen.has(np.array(keys, dtype=np.uint64)).tolist() == [
        any(k in batch for batch in batches) for k in keys
    ]
    assert len(seen.levels) <= 6


@pytest.mark.parametrize(
    ("deduplicate", "repeated", "copied"),
    [("paragraphs", False, False), ("documents", True, False), ("none", True, True)],
)
def test_what_is_there_twice_is_left_out_as_asked(
    deduplicate: Any, repeated: bool, copied: bool, tokenizer: Path, tmp_path: Path
):
    shared_text(tmp_path / "a.jsonl")

    corpus = write_corpus(
        [tmp_path / "a.jsonl"], tmp_path / "corpus", tokenizer, deduplicate=deduplicate
    )

    found = texts_of(corpus)
    every = [plain for t in found for p in paragraphs(t) for plain in long_paragraphs([p])]
    assert (len(every) > len(set(every))) is repeated
    assert (len(found) > len(set(found))) is copied
    assert sum("SEE ALSO" in t for t in found) >= 300  # short paragraphs stay
    assert deduplicate != "paragraphs" or all(long_paragraphs([t]) for t in found)


def test_what_is_in_other_corpora_is_left_out(tokenizer: Path, tmp_path: Path):
    shared_text(tmp_path / "a.jsonl")
    write_jsonl(tmp_path / "b.jsonl", (text(i, 2000 + i) for i in range(0, 200, 3)))
    one = write_corpus([tmp_path / "b.jsonl"], tmp_path / "one", tokenizer)
    write_jsonl(tmp_path / "c.jsonl", [text(1), text(1001)])
    two = write_corpus([tmp_path / "c.jsonl"], tmp_path / "two", tokenizer)

    corpus = write_corpus(
        [tmp_path / "a.jsonl"],
        tmp_path / "corpus",
        tokenizer,
        deduplicate="none",
        against=[one.folder, two.folder],
    )

    barred = long_paragraphs([*texts_of(one), *texts_of(two)])
    assert len(barred) > 100 and not long_paragraphs(texts_of(corpus)) & barred
    assert long_paragraphs(texts_of(corpus)) > long_paragraphs(map(paragraph, (2, 1002, 1299)))


# ---- tokenizers


def test_a_tokenizer_learns_from_each_input_alike(tmp_path: Path):
    """Documents are spread over the whole of an input, however long it is."""
    write_jsonl(tmp_path / "long.jsonl", ("x" * 100 for _ in range(1000)))
    write_jsonl(tmp_path / "short.jsonl", ("y" * 50 for _ in range(10)))
    seen: list[tuple[int, int]] = []

    texts = list(
        tokenizing.sample(
            [tmp_path / "long.jsonl", tmp_path / "short.jsonl"],
            5000,
            progress=lambda done, total: seen.append((done, total)),
        )
    )

    assert [t[0] for t in texts] == ["x"] * 50 + ["y"] * 10
    assert seen == sorted(seen) and seen[-1][0] == seen[-1][1]


@given(whole=st.integers(1, 60), data=st.data())
def test_what_is_learnt_from_lies_at_even_distances(whole: int, data: st.DataObject):
    part = data.draw(st.integers(0, whole))
    chosen = [int(t) for t in tokenizing._evenly_spaced(map(str, range(whole)), part, whole)]

    gaps = np.diff([-1, *chosen])
    assert len(chosen) == part
    assert not part or set(gaps) <= {whole // part, -(-whole // part)}


def test_a_tokenizer_of_little_text_says_that_it_is_smaller(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    write_jsonl(tmp_path / "a.jsonl", ["abcd abcd"])
    make = "tokenizer", tmp_path / "a.jsonl", "--vocabulary", 1000, "-o", tmp_path / "t.json"

    lawdsl(*make, "--json")

    found = json.loads(capsys.readouterr().out)
    assert found["ok"] and found["result"]["vocabulary"] < 270
    assert found["diagnostics"][0]["code"] == "R0214"
    assert said(lambda: lawdsl(*make)).code == "R0205"


def test_a_tokenizer_of_no_text_is_refused(tmp_path: Path):
    (tmp_path / "a.txt").touch()
    make = "tokenizer", tmp_path / "a.txt", "--vocabulary", 300, "-o", tmp_path / "t.json"

    assert said(lambda: lawdsl(*make)).code == "R0204"
    assert not (tmp_path / "t.json").exists()


# ---- the recipe


@pytest.mark.parametrize("recipe", ["debian", "four_domains", "law_and_schedule"])
def test_a_recipe_makes_the_corpora_that_its_sweeps_read(recipe: str):
    made = {
        f"../../../runs/{path.parent.name}/corpora/{part}"
        for path in RECIPES.glob("*/make.sh")
        for part in _parts(path.read_text(encoding="utf-8"))
    }
    script = (RECIPES / recipe / "make.sh").read_text(encoding="utf-8")

    for path in (RECIPES / recipe).glob("*.toml"):
        sweep = tomllib.loads(path.read_text(encoding="utf-8"))
        assert {*sweep["corpora"].values(), *sweep["validation"].values()} <= made
        loops = re.findall(r"^for domain in (.*); do$", script, re.M)
        assert path.name in script or any(path.stem in loop.split() for loop in loops)


def _parts(script: str) -> set[str]:
    """The corpora that a script makes, for each domain where it goes through several."""
    parts = {
        pair.split("=")[0]
        for pairs in re.findall(r"--split (\S+)", script)
        for pair in pairs.split(",")
    }
    domains = re.findall(r'^domains="(.*)"$', script, re.M)
    names = domains[0].split() if domains else [""]
    return {part.replace("$domain", name) for part in parts for name in names}
