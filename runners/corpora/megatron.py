"""Indexed data sets of Megatron-LM (`.bin` with `.idx`) -> the tokens of their documents.

The index is little-endian: the 9 bytes `MMIDIDX` and two zeros, a version (uint64) of 1, a code of
the type of tokens (uint8), the number of sequences and that of document bounds (uint64); then, for
each sequence, its number of tokens (int32) and the byte in `.bin` at which it begins (int64); then
the numbers of the sequences with which documents begin, and of the one after the last (int64); for
multimodal data a mode for each sequence (int8). See Megatron-LM,
`megatron/core/datasets/indexed_dataset.py`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError

DATA, INDEX = ".bin", ".idx"
MAGIC = b"MMIDIDX\x00\x00"
LEGACY_MAGIC = b"TNTIDX\x00\x00"  # the formats `lazy` and `cached` of old versions
VERSION = 1
HEADER = struct.Struct("<9sQBQQ")
# Codes 6 and 7 are floating-point types whose widths differ between versions; 9 and 10 are codes of
# derived projects.
DTYPES = {1: "u1", 2: "i1", 3: "<i2", 4: "<i4", 5: "<i8", 8: "<u2", 9: "<u4", 10: "<u8"}
AGAIN = "bring both files again: one is torn, or of another data set"


@dataclass(frozen=True)
class MegatronDataset:
    """An indexed data set, memory-mapped.

    Attributes:
        tokens: shape (tokens,), an integer type.
        starts, lengths: the start and length of each sequence, in tokens; shape (sequences,).
        documents: the first sequence of each document, and the end of the last one; increasing.
    """

    path: Path
    tokens: NDArray[Any]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]
    documents: NDArray[np.int64]

    def read(self) -> Iterator[tuple[NDArray[Any], int]]:
        """Yield the tokens of each nonempty document with the number of bytes of `.bin` before
        them.
        """
        for first, last in pairwise(self.documents.tolist()):
            sequences = [
                self.tokens[start : start + length]
                for start, length in zip(
                    self.starts[first:last].tolist(), self.lengths[first:last].tolist(), strict=True
                )
            ]
            if any(map(len, sequences)):
                begin = int(self.starts[first]) * self.tokens.itemsize
                yield sequences[0] if len(sequences) == 1 else np.concatenate(sequences), begin


def open_megatron(path: Path) -> MegatronDataset:
    """Open an indexed data set.

    Args:
        path: the `.bin`; the `.idx` is in the same folder.

    Returns:
        The data set; its sequences cover the file, and do not overlap.

    Raises:
        LawdslError: the index is missing, is malformed, or belongs to another file (R0217).
        OSError: a file cannot be read.
    """
    if path.suffix.lower() != DATA:
        message = "this is the index of a Megatron data set, or one that is packed"
        raise _unusable(message, path, f"bring both files beside each other, {DATA} and {INDEX}")
    index_path = path.with_suffix(INDEX)
    if not index_path.is_file():
        message = f"the index {index_path.name} is not beside it"
        raise _unusable(message, path, "bring both files of the Megatron data set, .bin and .idx")
    content = index_path.read_bytes()
    dtype, sequences, bounds = _header(content, index_path)
    sizes = (4 * sequences, 8 * sequences, 8 * bounds)
    ends = list(accumulate(sizes, initial=HEADER.size))
    # the modes of multimodal data may follow
    if len(content) not in (ends[-1], ends[-1] + sequences):
        message = f"the index has {len(content):,} bytes, not the {ends[-1]:,} of its header"
        raise _unusable(message, index_path)
    lengths = np.frombuffer(content, "<i4", sequences, ends[0])
    pointers = np.frombuffer(content, "<i8", sequences, ends[1])
    documents = np.frombuffer(content, "<i8", bounds, ends[2])
    size = path.stat().st_size
    is_ordered = (
        bounds > 0
        and documents[0] == 0
        and documents[-1] == sequences
        and bool((np.diff(documents) >= 0).all())
    )
    if not is_ordered:
        raise _unusable("the documents of the index are not its sequences", index_path)
    is_inside = (
        (lengths >= 0)
        & (pointers >= 0)
        & (pointers % dtype.itemsize == 0)
        & (pointers <= size - lengths.astype(np.int64) * dtype.itemsize)
    )
    if not is_inside.all():
        number = int(np.argmin(is_inside))
        message = f"sequence {number:,} of the index does not lie in {path.name}"
        raise _unusable(message, index_path, AGAIN)
    if message := _uncovered(pointers, pointers + lengths.astype(np.int64) * dtype.itemsize, path):
        raise _unusable(message, index_path, AGAIN)
    count = size // dtype.itemsize
    # an empty file cannot be mapped
    tokens = np.memmap(path, dtype, "r", shape=(count,)) if count else np.empty(0, dtype)
    return MegatronDataset(path, tokens, pointers // dtype.itemsize, lengths, documents)


def _uncovered(begins: NDArray[np.int64], ends: NDArray[np.int64], path: Path) -> str:
    """Describe where sequences do not cover a file exactly; empty if they do.

    The index of another data set, or of another integer type, is often within the file; the tokens
    would then be read wrongly.

    Args:
        begins, ends: first byte and end of each sequence, within the file; shape (sequences,).
        path: the file.
    """
    if not (ends > begins).all():
        has_tokens = ends > begins
        begins, ends = begins[has_tokens], ends[has_tokens]
    if not (begins[1:] >= begins[:-1]).all():  # Megatron writes them in order
        order = np.argsort(begins, kind="stable")
        begins, ends = begins[order], ends[order]
    size = path.stat().st_size
    # pairs (end, next begin) of adjacent sequences that differ
    seams = [(0, int(begins[0])), (int(ends[-1]), size)] if len(begins) else [(0, size)]
    wrong = np.flatnonzero(begins[1:] != ends[:-1])[:1]
    seams[1:1] = [(int(ends[i]), int(begins[i + 1])) for i in wrong]
    position, next_begin = next((seam for seam in seams if seam[0] != seam[1]), (0, 0))
    if next_begin == position:
        return ""
    if next_begin < position:
        return f"two sequences of the index overlap at byte {next_begin:,} of {path.name}"
    text = f"{next_begin - position:,} bytes of {path.name}, from byte {position:,} on,"
    return f"{text} belong to no sequence of the index"


def _header(content: bytes, path: Path) -> tuple[np.dtype[Any], int, int]:
    """The type of tokens, the number of sequences and that of document bounds."""
    if content.startswith(LEGACY_MAGIC):
        message = "the index is of an old format of Megatron, not of `mmap`"
        raise _unusable(message, path, "convert it with Megatron, to dataset-impl mmap")
    if not content.startswith(MAGIC) or len(content) < HEADER.size:
        raise _unusable("this is not the index of a Megatron data set", path)
    _, version, code, sequences, bounds = HEADER.unpack_from(content)
    if version != VERSION:
        raise _unusable(f"the index is of version {version}; {VERSION} can be read", path)
    if code not in DTYPES:
        what = "floating-point numbers" if code in (6, 7) else "unknown"
        raise _unusable(f"the type of its tokens, code {code}, is {what}", path)
    return np.dtype(DTYPES[code]), sequences, bounds


def _unusable(message: str, path: Path, help: str | None = None) -> LawdslError:
    help = help or "make it again with Megatron's tools/preprocess_data.py, or leave it out"
    return LawdslError(Diagnostic("R0217", message, place=str(path), help=help))
