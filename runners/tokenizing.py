"""Tokenizers: one trained on text, or one that is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lawdsl.diagnostics import Diagnostic, LawdslError

END_OF_TEXT = "<|endoftext|>"
ENDS = (END_OF_TEXT, "<|end_of_text|>", "</s>", "<eos>", "<|im_end|>")
"""What tokenizers call the token that ends a document."""
CHARACTERS = 8_000_000
"""That are read to train a tokenizer, spread over all that is there; more changes little."""


@dataclass(frozen=True)
class Tokenizer:
    """A tokenizer of the library `tokenizers`, with the size of its vocabulary.

    `end_of_text` is the id of the token that ends a document.
    """

    inner: Any
    path: Path
    vocabulary: int
    end_of_text: int

    @property
    def dtype(self) -> str:
        return "uint16" if self.vocabulary <= 1 << 16 else "uint32"

    def encode(self, texts: Sequence[str]) -> list[Any]:
        """The encodings (`ids`, `offsets`) of texts, without any token that is no text."""
        return self.inner.encode_batch(list(texts), add_special_tokens=False)


def load_tokenizer(source: str | Path, end_of_text: str | None = None) -> Tokenizer:
    """The tokenizer in a `tokenizer.json`, or in a folder that has one.

    Raises:
        LawdslError: it cannot be read, or does not say which token ends a document.
    """
    from tokenizers import Tokenizer as Inner

    path = Path(source)
    path = path / "tokenizer.json" if path.is_dir() else path
    if not path.is_file():
        help = "give the path of a tokenizer.json, or of a model's folder that has one"
        raise _bad("there is no such tokenizer", path, help)
    try:
        inner = Inner.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise _bad(f"this is no tokenizer: {str(error).splitlines()[0]}", path) from None
    inner.no_truncation()
    inner.no_padding()
    inner.encode_special_tokens = True  # else a document could end itself
    vocabulary = inner.get_vocab(with_added_tokens=True)
    size = max(vocabulary.values(), default=-1) + 1
    names = (end_of_text,) if end_of_text else ENDS
    end = next((vocabulary[name] for name in names if name in vocabulary), None)
    if end is None:
        message = f"the tokenizer has no token {' or '.join(names)} to end a document with"
        raise _bad(message, path, "name the one it has with --end-of-text")
    return Tokenizer(inner, path, size, end)


def train_tokenizer(texts: Iterator[str], size: int) -> str:
    """A byte-level BPE with `size` tokens, the first of which ends a document, as JSON.

    Raises:
        LawdslError: the size is less than the 256 bytes and the end of text.
    """
    from tokenizers import Tokenizer as Inner
    from tokenizers import decoders, models, pre_tokenizers, trainers

    if not 257 <= size <= 1 << 20:
        message = f"a vocabulary of {size} tokens: there are 256 bytes and the end of text"
        raise LawdslError(Diagnostic("R0206", message, help="ask for 257 to 1048576 tokens"))
    inner = Inner(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator(texts, trainer)
    return inner.to_str(pretty=True)


def _bad(message: str, path: Path, help: str | None = None) -> LawdslError:
    return LawdslError(Diagnostic("R0206", message, place=str(path), help=help))
