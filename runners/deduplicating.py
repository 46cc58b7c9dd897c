"""Paragraphs that were there before, told by the letters and digits in them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

SHORT = 32
"""A paragraph with fewer letters and digits is never left out: `SEE ALSO` may stand in each text."""

Keys = NDArray[np.uint64]

_GAP = re.compile(r"(\n(?:[ \t\r]*\n)+)")
_REST = re.compile(r"[\W_]+")


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, each with the blank lines after it; joined they are the text."""
    split = _GAP.split(text)
    return [text + gap for text, gap in zip(split[::2], [*split[1::2], ""], strict=True)]


def key(text: str, short: int = SHORT) -> int:
    """64 bits that texts with the same letters and digits share, whatever their case and layout.

    0 stands for a text with fewer than `short` of them.
    """
    plain = _REST.sub("", text.lower())
    return hash64(plain) if len(plain) >= short else 0


def document_key(text: str) -> int:
    """The same of a whole document, however short; decides in which part of a split it falls."""
    return key(text, short=1) or hash64(text)


def hash64(text: str) -> int:
    """Never 0."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


class Seen:
    """A set of keys that grows: sorted arrays of falling length, 8 bytes a key."""

    def __init__(self, *levels: Keys) -> None:
        self.levels = [np.unique(level) for level in levels if len(level)]

    def has(self, keys: Keys) -> NDArray[np.bool_]:
        """Which of the keys are in it."""
        found = np.zeros(len(keys), dtype=np.bool_)
        for level in self.levels:
            at = np.minimum(np.searchsorted(level, keys), len(level) - 1)
            found |= level[at] == keys
        return found

    def add(self, keys: Iterable[int] | Keys) -> None:
        new = np.unique(np.fromiter(keys, dtype=np.uint64))
        while self.levels and len(self.levels[-1]) <= 2 * len(new):
            new = np.union1d(self.levels.pop(), new)
        if len(new):
            self.levels.append(new)
