"""Texts that corpora are made of in tests, and a tokenizer for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lawdsl.cli import cli
from lawdsl.core.diagnostics import LawdslError

WORDS = "law loss token model mixture ratio share step window seed corpus code text rate".split()


def paragraph(seed: int) -> str:
    """Ten words and a number of its own: more letters than a paragraph that may come twice."""
    drawn = np.random.default_rng(seed).choice(WORDS, 10)
    return f"{seed} " + " ".join(drawn)


def text(*seeds: int) -> str:
    return "\n\n".join(map(paragraph, seeds)) + "\n"


def write_jsonl(path: Path, texts: Iterable[str]) -> Path:
    lines = (json.dumps({"text": text}, ensure_ascii=False) for text in texts)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def shared_text(path: Path, count: int = 300) -> Path:
    """Documents most of whose paragraphs stand in others too, some in other layouts."""
    draw = np.random.default_rng(5)
    texts = []
    for i in range(count):
        some = [paragraph(int(n)) for n in draw.integers(0, 200, 3)]
        some[1] = some[1].upper().replace(" ", "  ")
        texts.append("\n\n".join([paragraph(1000 + i), "SEE ALSO", *some]) + "\n")
    left = f"{paragraph(1003)}\n\nSEE ALSO\n"  # of which nothing is left but a heading
    return write_jsonl(path, [*texts[:10], *texts, *texts[:20], left])


def write_tokenizer(path: Path) -> Path:
    """A byte-level BPE of 400 tokens."""
    from lawdsl.runners.corpora.tokenizer import train_tokenizer

    path.write_text(train_tokenizer((text(i) for i in range(200)), 400), encoding="utf-8")
    return path


def write_numbered(path: Path, size: int) -> Path:
    """A tokenizer whose tokens are numbers in brackets, between spaces; 0 ends a document."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit

    words = {f"<{i}>": i for i in range(1, size)} | {"<|endoftext|>": 0}
    inner = Tokenizer(WordLevel(words, unk_token="<1>"))
    inner.pre_tokenizer = WhitespaceSplit()
    inner.save(str(path))
    return path


def said(action: Callable[[], object]) -> Any:
    """The one diagnostic that an action ends with."""
    with pytest.raises(LawdslError) as caught:
        action()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.help
    return diagnostic


def lawdsl(*arguments: object) -> int:
    return cli.main([str(a) for a in arguments], prog_name="lawdsl", standalone_mode=False)
