"""A corpus: a folder with the tokens of its documents, opened as memory-mapped arrays.

* tokens.bin: the tokens of all documents, one after another, each ended by end-of-text; *
documents.npy: where each document begins, and where the last one ends; * paragraphs.npy: the keys
of its paragraphs, for excluding them from other corpora; * tokenizer.json: the tokenizer they were
made with; * corpus.json: the numbers of tokens and documents, the SHA-256 of the files, the source
of the text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.files import read_json, similar_file

from ..spec import canonical_json

CORPUS_SCHEMA = 1
FACTS = "corpus.json"
HASHED = ("tokens.bin", "documents.npy", "tokenizer.json")
"""The files that determine the fingerprint."""
KINDS = {
    "name": str,
    "tokens": int,
    "documents": int,
    "dtype": str,
    "vocabulary": int,
    "end_of_text": int,
    "sha256": dict,
}


@dataclass(frozen=True)
class Corpus:
    """A corpus: tokens, memory-mapped, shape (tokens,), and the positions where documents begin.

    `documents` has one more entry than there are documents: the end of the last one.
    """

    name: str
    folder: Path
    tokens: NDArray[Any]
    documents: NDArray[np.int64]
    fingerprint: str
    vocabulary: int
    end_of_text: int
    facts: dict[str, Any]
    """The content of corpus.json."""

    @property
    def tokenizer(self) -> str:
        """The SHA-256 of the tokenizer."""
        return self.facts["sha256"]["tokenizer.json"]

    def windows(self, sequence: int) -> int:
        """The number of rows of `sequence` tokens and a target: (tokens - 1) // sequence.

        Row i is `tokens[i * sequence : (i + 1) * sequence + 1]`.
        """
        return max(0, (len(self.tokens) - 1) // sequence)


def open_corpus(folder: str | Path, *, verify: bool = False) -> Corpus:
    """Open the corpus in a folder.

    Args:
        folder: its folder.
        verify: read all files and compare their hashes; else only their sizes are checked.

    Returns:
        The corpus, memory-mapped.

    Raises:
        LawdslError: it is not a corpus (R0207), or it has been altered (R0208).
    """
    folder = Path(folder)
    facts = _facts(folder)
    dtype = np.dtype(facts["dtype"]).newbyteorder("<")
    path = folder / "tokens.bin"
    expected, size = facts["tokens"] * dtype.itemsize, _size(path)
    if size != expected:
        raise _damaged(f"the file has {size:,} bytes, not the {expected:,} that were written", path)
    if verify:
        for name in HASHED:
            _same(folder / name, facts["sha256"][name])
        _same(folder / "paragraphs.npy", facts.get("paragraphs_sha256"))
    return Corpus(
        facts["name"],
        folder,
        _tokens(path, dtype),
        _documents(folder / "documents.npy", facts),
        fingerprint(facts),
        facts["vocabulary"],
        facts["end_of_text"],
        facts,
    )


def fingerprint(facts: dict[str, Any]) -> str:
    """Hash the facts of a corpus: equal only for equal tokens, documents and tokenizer."""
    hashes = {name: facts["sha256"][name] for name in HASHED}
    text = canonical_json({"dtype": facts["dtype"], "sha256": hashes})
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def find_corpora(folder: str | Path) -> list[Path]:
    """The folder itself if it is a corpus, else the corpora in it.

    Raises:
        LawdslError: it has no corpus (R0207).
    """
    folder = Path(folder)
    if is_corpus(folder):
        return [folder]
    inside = sorted(path.parent for path in folder.glob(f"*/{FACTS}"))
    corpora = [
        path for path in inside if not path.name.startswith(".")
    ]  # other folders with a dot are being written
    if not corpora:
        raise _no_corpus(folder)
    return corpora


def is_corpus(folder: str | Path) -> bool:
    """Whether a path is the folder of a corpus."""
    return (Path(folder) / FACTS).is_file()


def paragraph_keys(folder: str | Path) -> NDArray[np.uint64]:
    """The keys of the paragraphs of a corpus, sorted.

    Raises:
        LawdslError: it is not a corpus (R0207), or its paragraphs have been altered (R0208).
    """
    path = Path(folder) / "paragraphs.npy"
    _same(path, _facts(Path(folder)).get("paragraphs_sha256"))
    return _array(path, np.dtype("<u8"))


def mixed_tokenizers(corpora: Iterable[tuple[str, str]]) -> Diagnostic | None:
    """Check that corpora that are used together have the same tokenizer.

    Tokens of one mean nothing to a model that was trained on those of another, and a loss per token
    of one cannot be compared with that of another.

    Args:
        corpora: pairs of a name and the SHA-256 of a tokenizer.

    Returns:
        The diagnostic R0210, or None if they agree.
    """
    groups: dict[str, list[str]] = {}
    for name, tokenizer in corpora:
        groups.setdefault(tokenizer, []).append(name)
    if len(groups) < 2:
        return None
    message = f"the corpora were made with {len(groups)} different tokenizers"
    notes = tuple(f"one of {', '.join(names)}" for names in groups.values())
    help = "make them all with one: lawdsl corpus … --tokenizer FILE"
    return Diagnostic("R0210", message, notes=notes, help=help)


def file_hash(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits.

    Raises:
        LawdslError: it cannot be read (R0208).
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _damaged(f"the file cannot be read: {error.strerror}", path) from None


def check_hash(path: Path, actual: str, expected: str) -> None:
    """Raise an error for a file whose hash differs from the recorded one.

    Args:
        path: the path of the file, for the message.
        actual, expected: SHA-256 in hexadecimal digits.

    Raises:
        LawdslError: R0208.
    """
    if actual != expected:
        raise _damaged("the file is not what was written: its SHA-256 is another", path)


def _same(path: Path, expected: str | None) -> None:
    if expected is not None:
        check_hash(path, file_hash(path), expected)


def _facts(folder: Path) -> dict[str, Any]:
    path = folder / FACTS
    try:
        facts = read_json(path)
    except (FileNotFoundError, NotADirectoryError):
        raise _no_corpus(folder) from None
    except (OSError, ValueError) as error:
        raise _damaged(f"the file cannot be read: {error}", path) from None
    if not isinstance(facts, dict) or facts.get("schema") != CORPUS_SCHEMA:
        schema = facts.get("schema") if isinstance(facts, dict) else None
        raise _damaged(
            f"the corpus is of schema {schema}; this version reads {CORPUS_SCHEMA}", path
        )
    for name, kind in KINDS.items():
        # type, not isinstance: true is not a number of tokens
        if type(facts.get(name)) is not kind:
            raise _damaged(f"the fact {name} is missing or of the wrong kind", path)
    if facts["dtype"] not in ("uint16", "uint32") or facts["tokens"] < 1:
        raise _damaged("the facts are not those of a corpus", path)
    if any(not isinstance(facts["sha256"].get(name), str) for name in HASHED):
        raise _damaged("a SHA-256 is missing", path)
    return facts


def _tokens(path: Path, dtype: np.dtype[Any]) -> NDArray[Any]:
    try:
        return np.memmap(path, dtype=dtype, mode="r")
    except OSError as error:
        raise _damaged(f"the file cannot be read: {error.strerror}", path) from None


def _documents(path: Path, facts: dict[str, Any]) -> NDArray[np.int64]:
    documents = _array(path, np.dtype("<i8"))
    if len(documents) != facts["documents"] + 1 or documents[-1] != facts["tokens"]:
        raise _damaged("the documents do not add up to the tokens", path)
    return documents


def _array(path: Path, dtype: np.dtype[Any]) -> NDArray[Any]:
    try:
        # loading a pickle would execute code from the author of the corpus
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise _damaged(f"the file cannot be read: {error}", path) from None
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
        raise _damaged("the file does not hold what it should", path)
    return array


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise _damaged(f"the file cannot be read: {error.strerror}", path) from None


def _no_corpus(folder: Path) -> LawdslError:
    missing = f"this is not a corpus: it has no {FACTS}"
    message = missing if folder.is_dir() else "this folder does not exist"
    similar = similar_file(folder) if not folder.exists() else None
    help = "give a folder that `lawdsl corpus` made"
    help = f"did you mean {similar}?" if similar is not None and similar.is_dir() else help
    return LawdslError(Diagnostic("R0207", message, place=str(folder), help=help))


def _damaged(message: str, path: Path) -> LawdslError:
    help = "bring the file back from a copy, or make the corpus again with `lawdsl corpus --force`"
    return LawdslError(Diagnostic("R0208", message, place=str(path), help=help))
