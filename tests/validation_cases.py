"""Text, a tokenizer and small models for tests of validation sets, and the command that makes them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tiny_models import bigram_model, byte_tokenizer, unigram, word_tokenizer

from lawdsl.cli import cli
from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.corpora.corpus import open_corpus
from lawdsl.runners.corpora.tokenizer import load_tokenizer
from lawdsl.runners.validation.samples import draw

LETTERS = "abcdefghijklmnopqrstuvwxyz "
GOOD = 36
PLANTED = {"digits": "0123456789", "signs": "%&#@$"}
"""Garbage: all models dislike signs, one likes digits."""


def babble(number: int, alphabet: str, length: int) -> str:
    """Text of some letters, always the same for a number."""
    random = hashlib.shake_128(f"{alphabet} {number}".encode()).digest(length)
    return "".join(alphabet[byte % len(alphabet)] for byte in random)


def texts() -> list[str]:
    """36 good texts of different lengths, and of each kind of garbage two among them."""
    good = [babble(i, LETTERS, 40 + 3 * i) for i in range(GOOD)]
    garbage = [babble(i, alphabet, 60) for alphabet in PLANTED.values() for i in range(2)]
    return good[:10] + garbage + good[10:]


def text_and_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fixture: a folder with text, a tokenizer and three models; one of these likes digits."""
    folder = tmp_path_factory.mktemp("world")
    lines = [json.dumps({"text": text}) for text in texts()]
    (folder / "text.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    plain, words = byte_tokenizer(), word_tokenizer()
    paired = byte_tokenizer(("a b", "c d", "e f", "Ġ a"))
    plain.save(str(folder / "tokenizer.json"))
    bigram_model(folder / "one", unigram(plain, LETTERS), plain)
    bigram_model(folder / "two", unigram(paired, LETTERS), paired)
    bigram_model(folder / "digits", unigram(plain, LETTERS + "0123456789"), plain)
    bigram_model(folder / "words", unigram(words, LETTERS), words)
    return folder


def models(world: Path, *names: str) -> list[str]:
    """The options that name models."""
    return [str(part) for name in names for part in ("--model", world / name)]


def run(world: Path, output: Path, *more: str, inputs: tuple[str, ...] = ()) -> Any:
    """The result of the command `validation`, which keeps 20 samples."""
    given = inputs or (str(world / "text.jsonl"), "--tokenizer", str(world / "tokenizer.json"))
    arguments = [*given, "-o", str(output), "--keep", "20", *more]
    return CliRunner().invoke(cli, ["validation", *arguments], standalone_mode=False)


def make_selection(
    world: Path, output: Path, *more: str, inputs: tuple[str, ...] = ()
) -> dict[str, Any]:
    """What a set's selection.json says."""
    done = run(world, output, *more, inputs=inputs)
    assert done.exception is None, done.exception
    return json.loads((output / "selection.json").read_text(encoding="utf-8"))


def documents(folder: Path) -> list[str]:
    """The documents of a corpus, as its tokenizer reads them back."""
    corpus = open_corpus(folder, verify=True)
    inner = load_tokenizer(folder).inner
    starts = corpus.documents
    return [
        inner.decode(corpus.tokens[a : b - 1].tolist())
        for a, b in zip(starts[:-1], starts[1:], strict=True)
    ]


def code_of(done: Any) -> str:
    """The code of the error that a command ends with; it has a help."""
    assert isinstance(done.exception, LawdslError), done.exception
    diagnostic = done.exception.diagnostics[0]
    assert diagnostic.help
    return diagnostic.code


def drawn_from(world: Path, *inputs: Path, count: int = 5000, seed: int = 0, **options: Any) -> Any:
    """Samples of texts, by default of those in the folder."""
    settings = {"length": 2048, "shortest": 32} | options
    tokenizer = load_tokenizer(world / "tokenizer.json")
    return draw(inputs or [world / "text.jsonl"], count, seed, tokenizer=tokenizer, **settings)
