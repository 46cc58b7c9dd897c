"""How the folder of a corpus is written: beside its place first, then moved there whole."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from lawdsl.diagnostics import Diagnostic, LawdslError

from .corpora import SCHEMA, file_hash, fingerprint
from .tokenizing import Tokenizer

if TYPE_CHECKING:
    from .making import Made


class Writer:
    """The files of one corpus in the making."""

    def __init__(self, folder: Path, name: str, tokenizer: Tokenizer) -> None:
        self.folder, self.name, self.tokenizer = folder, name, tokenizer
        self.file: IO[bytes] = (folder / "tokens.bin").open("wb")
        self.lengths: list[int] = []  # tokens, bytes, key and paragraphs of each document
        self.bytes: list[int] = []
        self.keys: list[int] = []
        self.counts: list[int] = []
        self.paragraphs: IO[bytes] = (folder / "paragraphs.raw").open("wb")
        self.tokens = 0

    def add(self, documents: Sequence[Made], longest: int | None) -> None:
        encodings = self.tokenizer.encode([document.text for document in documents])
        for document, encoding in zip(documents, encodings, strict=True):
            ids, text = encoding.ids, document.text
            if longest is not None and len(ids) >= longest:
                first = document.key % (len(ids) - longest + 2)  # a piece from anywhere in it
                ids, offsets = (
                    list_[first : first + longest - 1] for list_ in (ids, encoding.offsets)
                )
                text = text[offsets[0][0] : offsets[-1][1]]
            array = np.array([*ids, self.tokenizer.end_of_text], dtype=self.dtype)
            self.file.write(array.tobytes())
            self.paragraphs.write(np.array(document.paragraphs, dtype="<u8").tobytes())
            self.lengths.append(len(array))
            self.bytes.append(len(text.encode("utf-8")))
            self.keys.append(document.key)
            self.counts.append(len(document.paragraphs))
            self.tokens += len(array)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.tokenizer.dtype).newbyteorder("<")

    def finish(self, most: int | None) -> None:
        """Close the files; with `most` tokens, keep the documents of the smallest keys only."""
        self.file.close()
        self.paragraphs.close()
        lengths = np.array(self.lengths, dtype=np.int64)
        kept = np.arange(len(lengths))
        if most is not None and self.tokens > most:
            order = np.argsort(np.array(self.keys, dtype=np.uint64), kind="stable")
            kept = order[: np.searchsorted(np.cumsum(lengths[order]), most, side="right")]
            self._keep(kept, lengths)
        raw = np.fromfile(self.folder / "paragraphs.raw", dtype="<u8")
        starts = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)
        some = [raw[starts[i] : starts[i + 1]] for i in kept]
        _save(self.folder / "paragraphs.npy", np.unique(np.concatenate([raw[:0], *some])))
        (self.folder / "paragraphs.raw").unlink()
        starts = np.concatenate([[0], np.cumsum(lengths[kept])]).astype("<i8")
        _save(self.folder / "documents.npy", starts)
        self.tokens = int(starts[-1])
        self.documents = len(kept)
        self.size = int(np.array(self.bytes, dtype=np.int64)[kept].sum())

    def _keep(self, kept: np.ndarray[Any, Any], lengths: np.ndarray[Any, Any]) -> None:
        path = self.folder / "tokens.bin"
        starts = np.concatenate([[0], np.cumsum(lengths)])
        all_tokens = np.memmap(path, dtype=self.dtype, mode="r")
        with (self.folder / "kept.bin").open("wb") as file:
            for i in kept:
                file.write(all_tokens[starts[i] : starts[i + 1]].tobytes())
        os.replace(self.folder / "kept.bin", path)

    def describe(self, sources: dict[str, Any]) -> None:
        """Write the facts, last."""
        shutil.copyfile(self.tokenizer.path, self.folder / "tokenizer.json")
        names = ("tokens.bin", "documents.npy", "tokenizer.json")
        facts: dict[str, Any] = {
            "schema": SCHEMA,
            "name": self.name,
            "tokens": self.tokens,
            "documents": self.documents,
            "dtype": self.tokenizer.dtype,
            "bytes": self.size,
            "vocabulary": self.tokenizer.vocabulary,
            "end_of_text": self.tokenizer.end_of_text,
            "sha256": {name: file_hash(self.folder / name) for name in names},
            "sources": sources,
        }
        facts["fingerprint"] = fingerprint(facts)
        text = json.dumps(facts, indent=2) + "\n"
        (self.folder / "corpus.json").write_text(text, encoding="utf-8")


def _save(path: Path, array: np.ndarray[Any, Any]) -> None:
    np.save(path, array, allow_pickle=False)


@contextmanager
def room(folders: Iterable[Path]) -> Iterator[None]:
    yield


@contextmanager
def new_folders(folders: Iterable[Path], force: bool) -> Iterator[dict[Path, Path]]:
    """A folder to write in for each; at the end they take their places."""
    places = {folder: folder.parent / f".{folder.name}.partial" for folder in folders}
    for folder, partial in places.items():
        if folder.exists() and not force:
            raise LawdslError(
                Diagnostic(
                    "R0205", "the folder exists", place=str(folder), help="--force replaces it"
                )
            )
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
    yield places
    for folder, partial in places.items():
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(partial, folder)
