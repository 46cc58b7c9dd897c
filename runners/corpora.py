"""A corpus: a folder with the tokens of its documents, opened as memory-mapped arrays.

tokens.bin       the tokens of all documents, one after another, each ended by end-of-text
documents.npy    where each document begins, and where the last one ends
paragraphs.npy   keys of its paragraphs, for what must not overlap with it
tokenizer.json   the tokenizer they were made with
corpus.json      how many there are, and the SHA-256 of the first, second and fourth
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.diagnostics import Diagnostic, LawdslError

from .spec import canonical

SCHEMA = 1
HASHED = ("tokens.bin", "documents.npy", "tokenizer.json")
FACTS = ("name", "tokens", "documents", "dtype", "vocabulary", "end_of_text", "sha256")
REBUILD = "make the corpus again with `lawdsl corpus`"


@dataclass(frozen=True)
class Corpus:
    """Tokens, one array that is read from the disk as it is used, and where documents begin.

    `documents` has one number more than there are documents.
    """

    name: str
    folder: Path
    tokens: NDArray[Any]
    documents: NDArray[np.int64]
    fingerprint: str
    vocabulary: int
    end_of_text: int
    facts: dict[str, Any]
    """What corpus.json says."""

    def windows(self, sequence: int) -> int:
        """How many rows of `sequence` tokens and the token after them there are.

        Row i is `tokens[i * sequence : (i + 1) * sequence + 1]`.
        """
        return max(0, (len(self.tokens) - 1) // sequence)


def open_corpus(folder: str | Path, *, verify: bool = False) -> Corpus:
    """The corpus in a folder.

    Args:
        verify: read it all and compare the hashes; else only the sizes are looked at.
    Raises:
        LawdslError: it is no corpus, or has not the size or content it was written with.
    """
    folder = Path(folder)
    facts = _facts(folder)
    dtype = np.dtype(facts["dtype"]).newbyteorder("<")
    path = folder / "tokens.bin"
    expected = facts["tokens"] * dtype.itemsize
    size = _size(path)
    if size != expected:
        message = f"the file has {size:,} bytes, not the {expected:,} that were written"
        raise _damaged(message, path)
    if verify:
        for name in HASHED:
            if file_hash(folder / name) != facts["sha256"][name]:
                message = "the file is not what was written: its SHA-256 is another"
                raise _damaged(message, folder / name)
    return Corpus(
        facts["name"],
        folder,
        np.memmap(path, dtype=dtype, mode="r"),
        _documents(folder / "documents.npy", facts),
        fingerprint(facts),
        facts["vocabulary"],
        facts["end_of_text"],
        facts,
    )


def fingerprint(facts: dict[str, Any]) -> str:
    """What two corpora share only if they have the same tokens, documents and tokenizer."""
    text = canonical({"dtype": facts["dtype"], "sha256": facts["sha256"]})
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def paragraph_keys(folder: str | Path) -> NDArray[np.uint64]:
    """The keys of the paragraphs of a corpus, sorted.

    Raises:
        LawdslError: it is no corpus, or its paragraphs cannot be read.
    """
    _facts(Path(folder))
    return _array(Path(folder) / "paragraphs.npy", np.dtype("<u8"))


def file_hash(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _damaged(f"the file cannot be read: {error.strerror}", path) from None


def _facts(folder: Path) -> dict[str, Any]:
    path = folder / "corpus.json"
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        message = "this is no corpus: it has no corpus.json"
        help = "give a folder that `lawdsl corpus` made"
        raise LawdslError(Diagnostic("R0207", message, place=str(folder), help=help)) from None
    except (OSError, ValueError) as error:
        raise _damaged(f"the file cannot be read: {error}", path) from None
    if not isinstance(facts, dict) or facts.get("schema") != SCHEMA:
        found = facts.get("schema") if isinstance(facts, dict) else None
        message = f"the corpus is of schema {found}; this version reads {SCHEMA}"
        raise _damaged(message, path)
    missing = [name for name in FACTS if name not in facts]
    if missing or facts["dtype"] not in ("uint16", "uint32"):
        message = f"a fact is missing: {missing[0]}" if missing else "the dtype is unknown"
        raise _damaged(message, path)
    return facts


def _documents(path: Path, facts: dict[str, Any]) -> NDArray[np.int64]:
    documents = _array(path, np.dtype("<i8"))
    if len(documents) != facts["documents"] + 1 or documents[-1] != facts["tokens"]:
        raise _damaged("the documents do not add up to the tokens", path)
    return documents


def _array(path: Path, dtype: np.dtype[Any]) -> NDArray[Any]:
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise _damaged(f"the file cannot be read: {error}", path) from None
    if array.dtype != dtype or array.ndim != 1:
        raise _damaged("the file does not hold what it should", path)
    return array


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise _damaged(f"the file cannot be read: {error.strerror}", path) from None


def _damaged(message: str, path: Path) -> LawdslError:
    return LawdslError(Diagnostic("R0208", message, place=str(path), help=REBUILD))
