"""Documents -> documents without repeated paragraphs, compared by their letters and digits.

A paragraph is a duplicate if its 64-bit hash is known. Hashes are in sorted arrays whose lengths
fall geometrically, the logarithmic method of Bentley and Saxe (1980): n insertions cost O(n log^2
n).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .documents import TextDocument

MIN_PARAGRAPH_LETTERS = 32
"""Paragraphs with fewer letters and digits are kept: headings such as `SEE ALSO` recur."""

Deduplicate = Literal["paragraphs", "documents", "none"]
Keys = NDArray[np.uint64]

_GAP = re.compile(r"(\n(?:[ \t\r]*\n)+)")
_REST = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class DistinctDocument:
    """A document without repeated paragraphs, ready to be written into a corpus.

    Attributes:
        key: the key of the whole document, before any paragraph was removed.
        paragraphs: keys of the remaining paragraphs that are not short.
        tokens: its original tokens, shape (tokens,); None if it was read as text or if paragraphs
            were removed.
    """

    text: str
    key: int
    paragraphs: tuple[int, ...]
    tokens: NDArray[Any] | None = None


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, each with the blank lines after it; joined they are the text."""
    split = _GAP.split(text)
    return [text + gap for text, gap in zip(split[::2], [*split[1::2], ""], strict=True)]


def key(text: str, short: int = MIN_PARAGRAPH_LETTERS) -> int:
    """Hash the letters and digits of a text to 64 bits, ignoring case and layout.

    Args:
        text: the text.
        short: texts with fewer letters and digits have the key 0.

    Returns:
        The key.
    """
    plain = _REST.sub("", text.lower())
    return hash64(plain) if len(plain) >= short else 0


def document_key(text: str) -> int:
    """Hash a whole document of any length; it decides the part of a split that has the document."""
    return key(text, short=1) or hash64(text)


def hash64(text: str) -> int:
    """Hash a text to 64 bits other than 0 (BLAKE2b)."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    # 0 stands for a paragraph that is too short to compare
    return int.from_bytes(digest, "little") or 1


class HashSet:
    """A growing set of keys: sorted arrays of decreasing length, 8 bytes per key."""

    def __init__(self, *levels: Keys) -> None:
        self.levels = [np.unique(level) for level in levels if len(level)]

    def has(self, keys: Keys) -> NDArray[np.bool_]:
        """Which of the keys are in the set, shape (keys,)."""
        is_member = np.zeros(len(keys), dtype=np.bool_)
        for level in self.levels:
            # the position of a key above all others is one past the end
            position = np.minimum(np.searchsorted(level, keys), len(level) - 1)
            is_member |= level[position] == keys
        return is_member

    def add(self, keys: Iterable[int]) -> None:
        """Add keys, merging arrays while the last is at most twice as long as the new one."""
        new = np.unique(np.fromiter(keys, dtype=np.uint64))
        while self.levels and len(self.levels[-1]) <= 2 * len(new):
            new = np.union1d(self.levels.pop(), new)
        if len(new):
            self.levels.append(new)


class Deduplicator:
    """Removes repeated paragraphs or documents from a stream of documents.

    Args:
        what: which repetitions are removed: of paragraphs, of whole documents, or none.
        excluded: keys of paragraphs that are always removed.
    """

    def __init__(self, what: Deduplicate, excluded: Sequence[Keys] = ()) -> None:
        self.what = what
        self.excluded = HashSet(*excluded)
        self.documents = HashSet()
        self.paragraphs = HashSet()

    def exclude_seen(self) -> None:
        """From now on, remove all paragraphs that have occurred so far."""
        self.excluded = HashSet(*self.excluded.levels, *self.paragraphs.levels)
        self.paragraphs = HashSet()

    def distinct(self, documents: Sequence[tuple[TextDocument, int]]) -> list[DistinctDocument]:
        """Remove repetitions from documents, given with their keys; empty documents are omitted."""
        split = [
            [(text, key(text)) for text in paragraphs(document.text)] for document, _ in documents
        ]
        flat = np.array([k for parts in split for _, k in parts], dtype=np.uint64)
        is_duplicate = self.excluded.has(flat)
        if self.what == "paragraphs":
            is_duplicate |= self.paragraphs.has(flat)
        old = {int(k) for k in flat[is_duplicate]}
        copies = self._copies([index for _, index in documents])
        documents_left, met = [], set[int]()
        for (document, index), parts, copy in zip(documents, split, copies, strict=True):
            if not copy:
                fresh = list(self._fresh(parts, old))
                met.update(k for _, k in fresh)
                cut = len(fresh) < len(parts)
                if made := _made(index, fresh, None if cut else document.tokens, cut=cut):
                    documents_left.append(made)
        self.paragraphs.add(met - {0})
        return documents_left

    def _copies(self, keys: Sequence[int]) -> list[bool]:
        """For each document, whether it has occurred before."""
        if self.what == "none":
            return [False] * len(keys)
        copies, met = [], set[int]()
        for k, old in zip(keys, self.documents.has(np.array(keys, dtype=np.uint64)), strict=True):
            copies.append(bool(old) or k in met)
            met.add(k)
        self.documents.add(met)
        return copies

    def _fresh(self, parts: Sequence[tuple[str, int]], old: set[int]) -> Iterator[tuple[str, int]]:
        """Yield the paragraphs that are short or not in `old`; where repetitions are removed, their
        keys are added to it."""
        for text, k in parts:
            if not k or k not in old:
                yield text, k
                if k and self.what == "paragraphs":
                    old.add(k)


def _made(
    index: int, fresh: Sequence[tuple[str, int]], tokens: NDArray[Any] | None, *, cut: bool
) -> DistinctDocument | None:
    """A document of the remaining paragraphs; None if they are blank, or if only short ones remain
    of a document that was cut."""
    text = "".join(text for text, _ in fresh)
    keys = tuple(k for _, k in fresh if k)
    return (
        DistinctDocument(text, index, keys, tokens) if text.strip() and (keys or not cut) else None
    )
