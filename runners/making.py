"""Text -> corpora: read, split, freed of what is there twice, made tokens, written.

Documents are dealt to the parts of a split by a hash of what they say, so one that is there twice
falls into one part. Parts for validation are made first: what they have, no other part gets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np

from lawdsl.diagnostics import Diagnostic, LawdslError

from .corpora import Corpus, open_corpus, paragraph_keys
from .corpus_files import Writer, new_folders, room
from .deduplicating import Seen, document_key, key, paragraphs
from .documents import Document, Progress, find_files, read_documents
from .tokenizing import Tokenizer, load_tokenizer

Deduplicate = Literal["paragraphs", "documents", "none"]
BATCH = 256  # documents that are made tokens together
CHARACTERS = 2 << 20  # of them, at most, unless one has more


@dataclass(frozen=True)
class Part:
    """A corpus that is made of a share of the documents.

    `max_tokens` keeps documents by their hash until there are so many; `max_document_tokens` cuts
    each document. The paragraphs of a part that is `first` are kept out of those that are not.
    """

    name: str
    share: Fraction = Fraction(1)
    max_tokens: int | None = None
    max_document_tokens: int | None = None
    first: bool = False


@dataclass(frozen=True)
class Made:
    """A document as it goes into a corpus, without paragraphs that were there before."""

    text: str
    key: int
    paragraphs: tuple[int, ...]


def write_corpus(
    inputs: Sequence[str | Path],
    folder: str | Path,
    tokenizer: str | Path | Tokenizer,
    *,
    name: str | None = None,
    max_tokens: int | None = None,
    max_document_tokens: int | None = None,
    **options: object,
) -> Corpus:
    """One corpus of all documents, in `folder`; options as of `write_corpora`."""
    folder = Path(folder)
    part = Part(name or folder.name, Fraction(1), max_tokens, max_document_tokens)
    return write_corpora(inputs, {folder: part}, tokenizer, **options)[0]  # type: ignore[arg-type]


def write_corpora(
    inputs: Sequence[str | Path],
    parts: dict[Path, Part],
    tokenizer: str | Path | Tokenizer,
    *,
    glob: str = "*",
    text_field: str = "text",
    deduplicate: Deduplicate = "paragraphs",
    against: Sequence[str | Path] = (),
    force: bool = False,
    progress: Progress | None = None,
) -> list[Corpus]:
    """Corpora of the documents in files and folders, one for each part, each in its folder.

    The folders appear when all are complete. Text is read as it is needed and tokens are written
    as they come; 16 to 40 bytes of memory a document and a paragraph are needed.

    Args:
        parts: folder -> part; shares of less than 1 in all leave documents out.
        glob, text_field: of files in folders; of JSON lines and Parquet.
        deduplicate: leave out every paragraph, or only every document, that was there before.
        against: corpora whose paragraphs are left out.
        force: replace folders that exist.
        progress: called with how many bytes have been read, of how many.
    Raises:
        LawdslError: text that cannot be read, no text, a folder that exists, a full disk.
    """
    encoder = tokenizer if isinstance(tokenizer, Tokenizer) else load_tokenizer(tokenizer)
    files = find_files(inputs, glob)
    foreign = Seen(*(paragraph_keys(folder) for folder in against))
    seen_documents, seen_paragraphs = Seen(), Seen()
    waves = [wave for first in (True, False) if (wave := _wave(parts, first))]
    shares = _ranges(parts.values())
    with ExitStack() as stack:
        partial = stack.enter_context(new_folders(parts, force))
        writers = {}
        for number, wave in enumerate(waves):
            for folder, part in wave.items():
                writers[folder] = Writer(partial[folder], part.name, encoder)
            documents = read_documents(files, text_field, _lap(progress, number, len(waves)))
            with room(partial.values()):
                for batch in _batches(documents):
                    keyed = [(d, document_key(d.text)) for d in batch]
                    for folder, part in wave.items():
                        mine = [(d, k) for d, k in keyed if _falls(k, shares[part.name])]
                        made = list(
                            _freed(mine, seen_documents, seen_paragraphs, foreign, deduplicate)
                        )
                        writers[folder].add(made, part.max_document_tokens)
                for folder, part in wave.items():
                    writers[folder].finish(part.max_tokens)
        for folder, part in parts.items():
            if not writers[folder].tokens:
                raise _empty(part, len(parts) > 1)
            origin = {"inputs": [str(path) for path in inputs], "glob": glob, "files": len(files)}
            writers[folder].describe(
                origin
                | {
                    "share": str(part.share),
                    "deduplicate": deduplicate,
                    "against": [str(path) for path in against],
                    "max_tokens": part.max_tokens,
                    "max_document_tokens": part.max_document_tokens,
                }
            )
    return [open_corpus(folder) for folder in parts]


def _wave(parts: dict[Path, Part], first: bool) -> dict[Path, Part]:
    return {folder: part for folder, part in parts.items() if part.first is first}


def _ranges(parts: Iterable[Part]) -> dict[str, tuple[int, int]]:
    """The hashes, of 64 bits, that fall to each part."""
    ranges, start = {}, Fraction(0)
    for part in parts:
        ranges[part.name] = (int(start * 2**64), int((start + part.share) * 2**64))
        start += part.share
    return ranges


def _falls(key: int, range_: tuple[int, int]) -> bool:
    return range_[0] <= key < range_[1]


def _lap(progress: Progress | None, number: int, laps: int) -> Progress | None:
    """The progress of one reading of the files, of several."""
    return progress and (lambda done, total: progress(number * total + done, laps * total))


def _batches(documents: Iterator[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document.text)
        if len(batch) == BATCH or size >= CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _freed(
    documents: Sequence[tuple[Document, int]],
    seen_documents: Seen,
    seen_paragraphs: Seen,
    foreign: Seen,
    deduplicate: Deduplicate,
) -> Iterator[Made]:
    """The documents without what was there before; those of which no paragraph is left, not."""
    split = [paragraphs(document.text) for document, _ in documents]
    keys = [[key(paragraph) for paragraph in parts] for parts in split]
    flat = np.array([k for some in keys for k in some], dtype=np.uint64)
    known = foreign.has(flat)
    if deduplicate == "paragraphs":
        known |= seen_paragraphs.has(flat)
    again = seen_documents.has(np.array([k for _, k in documents], dtype=np.uint64))
    new_documents: set[int] = set()
    new_paragraphs: set[int] = set()
    at = 0
    for (_, whole), parts, some, twice in zip(documents, split, keys, again, strict=True):
        old = known[at : at + len(some)]
        at += len(some)
        if deduplicate != "none" and (twice or whole in new_documents):
            continue
        new_documents.add(whole)
        kept = []
        for paragraph, k, before in zip(parts, some, old, strict=True):
            before = before or (deduplicate == "paragraphs" and k in new_paragraphs)
            if not k or not before:
                kept.append((paragraph, k))
                new_paragraphs.update([k] if k else [])
        text = "".join(paragraph for paragraph, _ in kept)
        if text.strip() and (len(kept) == len(parts) or any(k for _, k in kept)):
            yield Made(text, whole, tuple(k for _, k in kept if k))
    seen_documents.add(new_documents)
    seen_paragraphs.add(new_paragraphs)


def _empty(part: Part, split: bool) -> LawdslError:
    notes = ("every document fell to another part, or was there before",) if split else ()
    message = f"the corpus {part.name} would be empty"
    help = "give more text" + (", or a larger share" if split else "")
    return LawdslError(Diagnostic("R0204", message, notes=notes, help=help))
