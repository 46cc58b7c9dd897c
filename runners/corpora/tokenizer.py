"""Tokenizers: one loaded from a file, or one trained on text.

Training is byte-pair encoding: the most frequent pair of adjacent tokens is merged until the
vocabulary has the requested size (Sennrich, Haddow and Birch (2016), arXiv:1508.07909), on bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.files import parse_json

from .documents import Progress, end_of_piece, find_files, part_of, read_documents

END_OF_TEXT = "<|endoftext|>"
END_TOKENS = (END_OF_TEXT, "<|end_of_text|>", "</s>", "<eos>", "<|im_end|>")
"""Usual names of the token that ends a document."""
SAMPLE_CHARACTERS = 8_000_000
"""Number of characters sampled from each input to train a tokenizer; more text changes the merges
little.
"""
PIECE_CHARACTERS = 1 << 20
"""Maximum number of characters encoded in one call: an encoding takes some hundred bytes per
character.
"""
BATCH_CHARACTERS = 2 * PIECE_CHARACTERS


@dataclass(frozen=True)
class Tokenizer:
    """A tokenizer of the library `tokenizers`, with the size of its vocabulary.

    `end_of_text` is the id of the token that ends a document, `content` the tokenizer.json.
    """

    inner: Any
    path: Path
    vocabulary: int
    end_of_text: int
    content: bytes

    @property
    def dtype(self) -> np.dtype[Any]:
        """The little-endian integer type of tokens."""
        return np.dtype("<u2" if self.vocabulary <= 1 << 16 else "<u4")

    def encode(self, texts: Sequence[str], offsets: bool = True) -> list[Any]:
        """Encode texts without special tokens.

        Args:
            texts: the texts.
            offsets: whether offsets are needed.

        Returns:
            An encoding for each text, with `ids` and `offsets`.

        Raises:
            LawdslError: the tokenizer fails on them (R0216).
        """
        encode = self.inner.encode_batch if offsets else self.inner.encode_batch_fast
        with library_errors(self.path, self.content):
            return encode(list(texts), add_special_tokens=False)


@dataclass(frozen=True)
class Encoded:
    """The tokens of a text; `offsets`, shape (tokens, 2), are the first character of each token and
    the one after its last."""

    ids: NDArray[Any]
    offsets: NDArray[np.int64] | None


def encode_texts(tokenizer: Tokenizer, texts: Iterable[str], offsets: bool) -> Iterator[Encoded]:
    """Yield the tokens of texts, one after another; very long texts are encoded in pieces.

    Args:
        tokenizer: the tokenizer.
        texts: the texts.
        offsets: whether to compute the character offsets of each token.

    Returns:
        An iterator over encodings, in the order of the texts.
    """
    batch: list[str] = []
    for text in texts:
        if len(text) > PIECE_CHARACTERS or sum(map(len, batch)) + len(text) > BATCH_CHARACTERS:
            yield from _encode_batch(tokenizer, batch, offsets)
            batch = []
        if len(text) > PIECE_CHARACTERS:
            yield _encode_in_pieces(tokenizer, text, offsets)
        else:
            batch.append(text)
    yield from _encode_batch(tokenizer, batch, offsets)


def _encode_batch(tokenizer: Tokenizer, texts: Sequence[str], offsets: bool) -> Iterator[Encoded]:
    for encoding in tokenizer.encode(texts, offsets):
        ids = np.array(encoding.ids, dtype=tokenizer.dtype)
        spans = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2) if offsets else None
        yield Encoded(ids, spans)


def _encode_in_pieces(tokenizer: Tokenizer, text: str, offsets: bool) -> Encoded:
    """Encode a text that is too long for one call; see `end_of_piece`."""
    ids, spans = [], []
    start = 0
    while start < len(text):
        end = end_of_piece(text, start, PIECE_CHARACTERS)
        (piece,) = _encode_batch(tokenizer, [text[start:end]], offsets)
        ids.append(piece.ids)
        spans += [] if piece.offsets is None else [piece.offsets + start]
        start = end
    return Encoded(np.concatenate(ids), np.concatenate(spans) if spans else None)


@contextmanager
def library_errors(path: Path, content: bytes | None = None) -> Iterator[None]:
    """Turn every error of the library `tokenizers` into one message.

    Panics of its Rust code derive from BaseException and can be recognised by their name only.

    Args:
        path: the path of the tokenizer.json.
        content: its bytes; by default they are read from the file, after a failure only.

    Returns:
        A context manager.

    Raises:
        LawdslError: R0216.
    """
    try:
        yield
    except (LawdslError, OSError, MemoryError):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        message = (str(error).splitlines() or [type(error).__name__])[0][:200]
        document = _read(path) if content is None else content
        raise LawdslError(
            Diagnostic(
                "R0216",
                f"the tokenizer fails: {message}",
                place=str(path),
                notes=tuple(f"its pattern: {_abbreviated(p)}" for p in _patterns(document)),
                help="give it a pattern that does not backtrack so far, or take another tokenizer",
            )
        ) from None


def _abbreviated(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}…"


def _read(path: Path) -> bytes:
    """The bytes of a file; empty if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _patterns(content: bytes) -> list[str]:
    """The regular expressions of a tokenizer.json; empty if it is damaged."""
    try:
        stack = [parse_json(content, "tokenizer.json")]
    except ValueError:
        return []
    patterns: list[str] = []
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            if isinstance(value.get("Regex"), str):
                patterns.append(value["Regex"])
            stack += (value[key] for key in value if key not in ("vocab", "merges", "added_tokens"))
        elif isinstance(value, list):
            stack += value
    return list(dict.fromkeys(patterns))


def load_tokenizer(source: str | Path, end_of_text: str | None = None) -> Tokenizer:
    """Load a `tokenizer.json`, or that of a folder.

    Args:
        source: the file or the folder.
        end_of_text: the token that ends a document, if it is not one of `END_TOKENS`.

    Returns:
        The tokenizer.

    Raises:
        LawdslError: it cannot be read, or does not define which token ends a document (R0206).
    """
    path = Path(source)
    path = path / "tokenizer.json" if path.is_dir() else path
    inner, content = _load(path)
    inner.no_truncation()
    inner.no_padding()
    inner.encode_special_tokens = True  # otherwise a document could contain its own end token
    vocabulary = inner.get_vocab(with_added_tokens=True)
    size = max(vocabulary.values(), default=-1) + 1
    names = (end_of_text,) if end_of_text else END_TOKENS
    end = next((vocabulary[name] for name in names if name in vocabulary), None)
    if end is None:
        message = f"the tokenizer has no token {' or '.join(names)} to end a document with"
        raise _invalid_tokenizer(message, path, "name one that it has with --end-of-text")
    return Tokenizer(inner, path, size, end, content)


def _load(path: Path) -> tuple[Any, bytes]:
    """The tokenizer that the library loads from a file, and the bytes of that file."""
    from tokenizers import Tokenizer as Inner

    help = "give the path of a tokenizer.json, or of a model's folder that has one"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _invalid_tokenizer(
            f"the tokenizer cannot be read: {error.strerror}", path, help
        ) from None
    try:
        with library_errors(path, content):
            return Inner.from_buffer(content), content
    except LawdslError as error:
        (diagnostic,) = error.diagnostics
        reason = diagnostic.message.partition(": ")[2]
        raise _invalid_tokenizer(f"this is not a tokenizer: {reason}", path, help) from None


def train_tokenizer(texts: Iterator[str], size: int) -> str:
    """Train a byte-level BPE tokenizer.

    Args:
        texts: the training text.
        size: the size of the vocabulary; its first token ends a document.

    Returns:
        The tokenizer as JSON.

    Raises:
        LawdslError: the size is less than the 256 bytes and the end of text (R0206).
    """
    from tokenizers import Tokenizer as Inner, decoders, models, pre_tokenizers, trainers

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
    with library_errors(Path("tokenizer.json"), b"{}"):
        inner.train_from_iterator(texts, trainer)
    return inner.to_str(pretty=True)


def sample(
    inputs: Sequence[str | Path],
    characters: int = SAMPLE_CHARACTERS,
    *,
    glob: str = "*",
    text_field: str = "text",
    progress: Progress | None = None,
) -> Iterator[str]:
    """Sample documents of each input at even intervals, up to about a given number of characters.

    Each input is read twice, since its size must be known first.

    Args:
        inputs: files and folders of text.
        characters: the number of characters sampled from each input.
        glob, text_field, progress: see `documents.read_documents` and `documents.find_files`.

    Returns:
        An iterator over texts.

    Raises:
        LawdslError: text that cannot be read (R0201 to R0203), or none (R0204).
    """
    groups = [find_files([path], glob) for path in inputs]
    sizes = [sum(path.stat().st_size for path in files) for files in groups]
    position, total = 0, 2 * sum(sizes)
    for source, files, size in zip(inputs, groups, sizes, strict=True):
        counted, reread = (part_of(progress, start, total) for start in (position, position + size))
        text_size = sum(len(d.text) for d in read_documents(files, text_field, counted))
        if not text_size:
            message, help = "there is not text to train a tokenizer on", "give more text"
            raise LawdslError(Diagnostic("R0204", message, place=str(source), help=help))
        texts = (document.text for document in read_documents(files, text_field, reread))
        yield from _evenly_spaced(texts, min(characters, text_size), text_size)
        position += 2 * size


def _evenly_spaced(texts: Iterable[str], part: int, total: int) -> Iterator[str]:
    """`part` of every `total` texts, at even intervals."""
    for number, text in enumerate(texts):
        if (number + 1) * part // total > number * part // total:
            yield text


def _invalid_tokenizer(message: str, path: Path, help: str) -> LawdslError:
    return LawdslError(Diagnostic("R0206", message, place=str(path), help=help))
