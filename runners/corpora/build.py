"""Text or tokens -> corpora: documents read, split, deduplicated, tokenized and written.

Documents are assigned to the parts of a split by a hash of their content, so copies of a document
fall into one part. Parts for validation are made first: their paragraphs are removed from others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from .atomic_folders import new_folders, writing
from .corpus import Corpus, open_corpus, paragraph_keys
from .deduplication import Deduplicate, Deduplicator, document_key
from .documents import Progress, TextDocument, find_files, read_documents
from .token_documents import with_text
from .tokenizer import Tokenizer, load_tokenizer
from .writer import Writer

# A paragraph that occurs twice in a batch goes to the first part that has it: the batch size
# determines the corpora.
BATCH_DOCUMENTS = 256  # greatest number of documents in a batch
BATCH_CHARACTERS = 2 << 20  # greatest number of characters in a batch of several documents


@dataclass(frozen=True)
class CorpusPart:
    """A corpus built from a share of the documents.

    `max_tokens` limits the corpus to the documents of the smallest hashes; `max_document_tokens`
    cuts each document. The paragraphs of a part that is `first` are excluded from the others.
    """

    name: str
    share: Fraction = Fraction(1)
    max_tokens: int | None = None
    max_document_tokens: int | None = None
    first: bool = False


def write_corpus(
    inputs: Sequence[str | Path],
    folder: Path,
    tokenizer: str | Path | Tokenizer,
    **options: Any,
) -> Corpus:
    """Write one corpus of all documents.

    Args:
        inputs: files and folders of text.
        folder: the folder of the corpus.
        tokenizer: the tokenizer, or its path.
        options: keyword arguments of `write_corpora`.

    Returns:
        The corpus.

    Raises:
        LawdslError: see `write_corpora`.
    """
    part = CorpusPart(folder.resolve().name)
    return write_corpora(inputs, {folder: part}, tokenizer, **options)[0]


def write_corpora(
    inputs: Sequence[str | Path],
    parts: Mapping[Path, CorpusPart],
    tokenizer: str | Path | Tokenizer,
    *,
    glob: str = "*",
    text_field: str = "text",
    deduplicate: Deduplicate = "paragraphs",
    against: Sequence[str | Path] = (),
    force: bool = False,
    progress: Progress | None = None,
) -> list[Corpus]:
    """Write corpora of the documents in files and folders, one for each part, each in its folder.

    The folders appear when all are complete. Text is read as it is needed and tokens are written
    as they come; memory holds some documents, and 16 to 40 bytes for each document and paragraph.

    Args:
        inputs: files and folders of text, or of tokens of the tokenizer.
        parts: folder -> part; shares that sum to less than 1 omit documents.
        tokenizer: the tokenizer, or its path.
        glob, text_field: of files in folders; of JSON lines and Parquet, where a column may have
            lists of tokens.
        deduplicate: remove repeated paragraphs, or only repeated documents.
        against: corpora whose paragraphs are removed in any case.
        force: replace corpora that exist.
        progress: called with the number of bytes read, and of all.

    Returns:
        The corpora, in the order of the parts.

    Raises:
        LawdslError: text or tokens that cannot be read (R0201 to R0203, R0217, R0218), none of them
            (R0204), or a folder that cannot be made (R0205, R0209, R0211 to R0213).
    """
    _check_apart(parts, [*inputs, *against])
    encoder = tokenizer if isinstance(tokenizer, Tokenizer) else load_tokenizer(tokenizer)
    files = find_files(inputs, glob)
    deduplicator = Deduplicator(deduplicate, [paragraph_keys(folder) for folder in against])
    laps = {first: share for first in (True, False) if (share := _share(parts.values(), first))}
    work = BuildProgress(len(laps), progress)
    with new_folders(parts, force) as partial, writing(partial.values(), work.done):
        drafts = [
            PartialCorpus(part, keys, Writer(partial[folder], part.name, encoder))
            for (folder, part), keys in zip(parts.items(), _ranges(parts.values()), strict=True)
        ]
        for first, share in laps.items():
            some = [draft for draft in drafts if draft.part.first is first]
            read = read_documents(files, text_field, work.lap(share), tokens=True)
            for batch in _batches(with_text(read, encoder)):
                for draft in some:
                    draft.add(batch, deduplicator)
            for draft in some:
                draft.writer.finish(draft.part.max_tokens)
            deduplicator.exclude_seen()
        source = {"inputs": [str(path) for path in inputs], "glob": glob, "files": len(files)}
        others = {"deduplicate": deduplicate, "against": [str(path) for path in against]}
        for draft in drafts:
            draft.describe({**source, **others})
    return [open_corpus(folder) for folder in parts]


@dataclass
class PartialCorpus:
    """A part while it is written: the hashes of its documents, and the number of documents read."""

    part: CorpusPart
    keys: range
    writer: Writer
    read: int = 0
    offered: int = 0

    def add(self, batch: Sequence[tuple[TextDocument, int]], deduplicator: Deduplicator) -> None:
        """Write the documents of a batch that belong to the part.

        Args:
            batch: documents with their hashes.
            deduplicator: removes duplicates.
        """
        mine = [(document, key) for document, key in batch if key in self.keys]
        self.read += len(mine)
        self.offered += len(batch)
        self.writer.add(deduplicator.distinct(mine), self.part.max_document_tokens)

    def describe(self, sources: dict[str, Any]) -> None:
        """Write the facts of the corpus.

        Raises:
            LawdslError: the corpus is empty (R0204).
        """
        if not self.writer.tokens:
            raise _empty(self.part, self.read, self.offered)
        part = {
            "share": str(self.part.share),
            "documents": self.read,
            "max_tokens": self.part.max_tokens,
            "max_document_tokens": self.part.max_document_tokens,
        }
        self.writer.describe(sources | part)


class BuildProgress:
    """The progress of the construction. The files are read once for each wave of parts, and each
    wave writes a share of the text.
    """

    def __init__(self, laps: int, progress: Progress | None) -> None:
        self.laps, self.progress = laps, progress
        self.begun = 0
        self.earlier, self.share, self.part = 0.0, 0.0, 0.0

    def lap(self, share: Fraction | int) -> Progress:
        """The progress of the next reading of the files."""
        before, self.begun = self.begun, self.begun + 1
        self.earlier, self.share, self.part = self.earlier + self.share, float(share), 0.0

        def read(done: int, total: int) -> None:
            self.part = done / total if total else 1.0
            if self.progress:
                self.progress(before * total + done, self.laps * total)

        return read

    def done(self) -> float:
        """The written text as a share of all text read."""
        return self.earlier + self.share * self.part


def _share(parts: Iterable[CorpusPart], first: bool) -> Fraction | int:
    """The share of all documents in the parts that are made first, or in the others."""
    return sum(part.share for part in parts if part.first is first)


def _ranges(parts: Iterable[CorpusPart]) -> Iterator[range]:
    """The ranges of 64-bit hashes of the documents in each part."""
    start = Fraction(0)
    for part in parts:
        # exact fractions, so that adjacent ranges neither overlap nor leave gaps
        yield range(int(start * 2**64), int((start + part.share) * 2**64))
        start += part.share


def _batches(documents: Iterable[TextDocument]) -> Iterator[list[tuple[TextDocument, int]]]:
    """Batches of documents with the hashes that assign them to parts."""
    batch: list[tuple[TextDocument, int]] = []
    size = 0
    for document in documents:
        batch.append((document, document_key(document.text)))
        size += len(document.text)
        if len(batch) == BATCH_DOCUMENTS or size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _check_apart(parts: Mapping[Path, CorpusPart], sources: Sequence[str | Path]) -> None:
    """Raise an error if a corpus would be read as text or would replace its own source."""
    for folder in parts:
        for source in map(Path, sources):
            target, other = folder.resolve(), source.resolve()
            inside = other in target.parents
            if inside or target == other or target in other.parents:
                what = "lie in" if inside else "replace"
                message = f"the corpus would {what} what it is made of: {source}"
                help = "write it to another folder"
                raise LawdslError(Diagnostic("R0213", message, place=str(folder), help=help))


def _empty(part: CorpusPart, read: int, offered: int) -> LawdslError:
    """The error for a part without documents."""
    why = "they are blank, or were there before" if read else "none of them fell to it"
    if read and part.max_tokens:
        why = f"they are blank, were there before, or have more than {part.max_tokens:,} tokens"
    counted = "the one document" if offered == 1 else f"{offered:,} documents"
    message = f"the corpus {part.name} would be empty: of {counted} there is nothing in it"
    help = "give more documents: a text file is one, a line of JSON lines is one"
    if part.share != 1:
        help += "; or a larger share of them"
    return LawdslError(Diagnostic("R0204", message, notes=(why,), help=help))
