"""Documents -> the files of a corpus, written document by document."""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .corpus import CORPUS_SCHEMA, FACTS, HASHED, file_hash, fingerprint
from .deduplication import DistinctDocument
from .token_documents import decode
from .tokenizer import Encoded, Tokenizer, encode_texts

RAW = "paragraphs.raw"  # the keys of the paragraphs of each document, in order of writing


class Writer:
    """Writer of one corpus: call `add` as often as needed, then `finish`, then `describe`.

    It takes 28 bytes of memory per document; no file remains open.
    """

    def __init__(self, folder: Path, name: str, tokenizer: Tokenizer) -> None:
        self.folder, self.name, self.tokenizer = folder, name, tokenizer
        self.tokens = self.documents = self.size = 0
        self._lengths = array("q")  # for each document: tokens, bytes, paragraphs, key
        self._bytes = array("q")
        self._counts = array("i")
        self._keys = array("Q")
        for name in ("tokens.bin", RAW):
            (folder / name).touch()

    def add(self, documents: Sequence[DistinctDocument], longest: int | None = None) -> None:
        """Write documents.

        Args:
            documents: the documents.
            longest: maximum number of tokens per document; of a longer one, a piece at a random
                position is written.
        """
        texts = encode_texts(
            self.tokenizer, (d.text for d in documents if d.tokens is None), longest is not None
        )
        pairs = ((d, next(texts) if d.tokens is None else None) for d in documents)
        self.write(
            (document, *self._piece(document, encoding, longest)) for document, encoding in pairs
        )

    def write(self, documents: Iterable[tuple[DistinctDocument, NDArray[Any], int]]) -> None:
        """Write documents with their tokens, without end of text, and the bytes of their text."""
        dtype, end = self.tokenizer.dtype, self.tokenizer.end_of_text
        tokens_path, raw_path = self.folder / "tokens.bin", self.folder / RAW
        with tokens_path.open("ab") as tokens, raw_path.open("ab") as raw:
            for document, ids, size in documents:
                tokens.write(np.append(ids, end).astype(dtype).tobytes())
                raw.write(np.array(document.paragraphs, dtype="<u8").tobytes())
                self._lengths.append(len(ids) + 1)
                self._bytes.append(size)
                self._counts.append(len(document.paragraphs))
                self._keys.append(document.key)
                self.tokens += len(ids) + 1

    def finish(self, most: int | None = None) -> None:
        """Complete the files; keep the documents with the smallest keys, up to `most` tokens."""
        lengths = np.array(self._lengths, dtype=np.int64)
        selected = np.arange(len(lengths))
        if most is not None and self.tokens > most:
            # by hash: a random sample of the documents, whatever their order in the files
            order = np.argsort(np.array(self._keys, dtype=np.uint64), kind="stable")
            selected = order[: np.searchsorted(np.cumsum(lengths[order]), most, side="right")]
            self._keep(selected, _bounds(lengths))
        save(self.folder / "paragraphs.npy", self._paragraphs(selected))
        (self.folder / RAW).unlink()
        documents = _bounds(lengths[selected])
        save(self.folder / "documents.npy", documents)
        self.tokens, self.documents = int(documents[-1]), len(selected)
        self.size = int(np.array(self._bytes, dtype=np.int64)[selected].sum())

    def describe(self, sources: dict[str, Any]) -> None:
        """Write the tokenizer and, last, the facts."""
        (self.folder / "tokenizer.json").write_bytes(self.tokenizer.content)
        facts: dict[str, Any] = {
            "schema": CORPUS_SCHEMA,
            "name": self.name,
            "tokens": self.tokens,
            "documents": self.documents,
            "dtype": self.tokenizer.dtype.name,
            "bytes": self.size,
            "vocabulary": self.tokenizer.vocabulary,
            "end_of_text": self.tokenizer.end_of_text,
            "sha256": {name: file_hash(self.folder / name) for name in HASHED},
            "paragraphs_sha256": file_hash(self.folder / "paragraphs.npy"),
            "sources": sources,
        }
        facts["fingerprint"] = fingerprint(facts)
        text = json.dumps(facts, indent=2) + "\n"
        (self.folder / FACTS).write_text(text, encoding="utf-8")

    def _piece(
        self, document: DistinctDocument, encoding: Encoded | None, longest: int | None
    ) -> tuple[NDArray[Any], int]:
        """The tokens of a document without the final end of text, and the bytes of their text."""
        if encoding is not None:
            return _piece_of_text(document, encoding, longest)
        ids = document.tokens
        assert ids is not None
        text = document.text
        if longest is not None and len(ids) >= longest:
            first = document.key % (len(ids) - longest + 2)
            ids = ids[first : first + longest - 1]
            (text,) = decode(self.tokenizer, [ids])
        return ids, len(text.encode("utf-8"))

    def _keep(self, selected: NDArray[np.int64], bounds: NDArray[np.int64]) -> None:
        """Keep only these documents, in this order."""
        path, shorter = self.folder / "tokens.bin", self.folder / "kept.bin"
        tokens = np.memmap(path, dtype=self.tokenizer.dtype, mode="r")
        with shorter.open("wb") as file:
            for i in selected:
                file.write(tokens[bounds[i] : bounds[i + 1]].tobytes())
        os.replace(shorter, path)

    def _paragraphs(self, selected: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The distinct keys of the paragraphs of these documents, sorted."""
        keys = np.fromfile(self.folder / RAW, dtype="<u8")
        if len(selected) < len(self._counts):
            bounds = _bounds(np.array(self._counts, dtype=np.int64))
            keys = np.concatenate([keys[:0], *(keys[bounds[i] : bounds[i + 1]] for i in selected)])
        return np.unique(keys)


def save(path: Path, array: NDArray[Any]) -> None:
    """Write an array in the format of `np.save`, with the system's error numbers.

    Args:
        path: the path of the file.
        array: any array.

    Raises:
        OSError: it cannot be written, with the number of the error.
    """
    with path.open("wb") as file:
        header = np.lib.format.header_data_from_array_1_0(array)
        np.lib.format.write_array_header_1_0(file, header)
        # np.save reports a full disk without the system's error number
        file.write(array.data)


def _piece_of_text(
    document: DistinctDocument, encoding: Encoded, longest: int | None
) -> tuple[NDArray[Any], int]:
    """Like `Writer._piece`, for a document that was read as text."""
    text, ids, offsets = document.text, encoding.ids, encoding.offsets
    if offsets is not None and longest is not None and len(ids) >= longest:
        first = document.key % (len(ids) - longest + 2)
        last = first + longest - 2
        text = text[offsets[first, 0] : offsets[last, 1]]
        ids = ids[first : last + 1]
    return ids, len(text.encode("utf-8"))


def _bounds(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The start of each document, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype("<i8")
