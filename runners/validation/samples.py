"""Corpora and files -> samples: random documents, cut to a length.

The samples are determined by the seed and the content of the documents: documents are ordered by a
keyed hash of their content, and the first are taken (bottom-k sampling), so that copies coincide.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from ..corpora.corpus import Corpus, is_corpus, open_corpus
from ..corpora.deduplication import key as paragraph_key, paragraphs
from ..corpora.documents import Progress, TextDocument, find_files, read_documents
from ..corpora.tokenizer import Tokenizer, load_tokenizer

CHARACTERS_PER_TOKEN = 16
"""Characters per token assumed for the excerpt of a long document that is tokenized; text has three
to five.
"""
TOKENIZED_DOCUMENTS = 64  # documents that are tokenized together


@dataclass(frozen=True)
class Sample:
    """A document, or a random piece of a long one.

    Attributes:
        key: the hash that determines its rank among all documents, 32 hexadecimal digits.
        paragraphs: keys of the complete paragraphs that overlap with it, which training data must
            not contain.
        cut: whether it is a piece.
    """

    key: str
    text: str
    source: str
    paragraphs: tuple[int, ...]
    cut: bool


@dataclass(frozen=True)
class SampleSet:
    """The samples, in the order of their keys, and facts about the documents.

    Attributes:
        documents: number of documents.
        duplicates: number of further copies of the sampled documents.
        short: number of sampled documents that have fewer tokens than requested.
    """

    samples: tuple[Sample, ...]
    documents: int
    duplicates: int
    short: int

    @property
    def identity(self) -> str:
        """A hash of the samples' texts."""
        digest = hashlib.blake2b(digest_size=16)
        for sample in self.samples:
            # a hash of each text, so that the boundaries between texts matter
            digest.update(hashlib.blake2b(sample.text.encode("utf-8")).digest())
        return digest.hexdigest()


def draw(
    inputs: Sequence[str | Path],
    count: int | None,
    seed: int,
    *,
    tokenizer: Tokenizer,
    length: int,
    shortest: int,
    glob: str = "*",
    text_field: str = "text",
    progress: Progress | None = None,
) -> SampleSet:
    """Sample documents of corpora, files and folders; all of them if there are fewer.

    Only the samples are in memory, at most 16 `length` characters of each.

    Args:
        inputs: corpora, files and folders of files.
        count: the number of documents, None for all; those of fewer than `shortest` tokens are then left out.
        seed: the seed of the order of the documents.
        tokenizer: the tokenizer that counts the tokens.
        length: the maximum number of tokens of a sample; of a longer document a random piece is
            taken.
        shortest: the minimum number of tokens of a sample.
        glob, text_field: of files in folders; of JSON lines and Parquet.
        progress: called with the number of bytes read and that of all.

    Returns:
        The samples, in the order of their keys.

    Raises:
        LawdslError: text or a corpus that cannot be read; no sample that is long enough (R0601).
    """
    count = sys.maxsize if count is None else count
    heap: list[int] = []  # of negated keys, so that the last one in the order is on top
    by_position: dict[int, Sample] = {}
    copies: Counter[int] = Counter()
    documents = 0
    for key, document in _keyed(inputs, seed, glob, text_field, progress):
        documents += 1
        if key in by_position:
            copies[key] += 1
        elif len(heap) < count or key < -heap[0]:
            if len(heap) < count:
                heapq.heappush(heap, -key)
            else:
                last = -heapq.heapreplace(heap, -key)
                del by_position[last], copies[last]
            # only documents that enter the sample are decoded
            by_position[key] = _stretch(key, document(), CHARACTERS_PER_TOKEN * length)
    drafts = [by_position[key] for key in sorted(by_position)]
    samples = tuple(_pieces(drafts, tokenizer, length, shortest))
    if not samples:
        raise LawdslError(
            Diagnostic(
                "R0601",
                f"nothing is left of {documents} documents: none has {shortest} tokens"
                if documents
                else "there are no documents",
                place=", ".join(map(str, inputs)),
                help="give more text, or take shorter samples with --shortest",
            )
        )
    return SampleSet(samples, documents, copies.total(), len(drafts) - len(samples))


def tokenizer_of(folder: str | Path) -> Tokenizer:
    """The tokenizer of a corpus.

    Raises:
        LawdslError: the corpus or its tokenizer cannot be read.
    """
    corpus = open_corpus(folder)
    return load_tokenizer(folder, _inner(corpus).id_to_token(corpus.end_of_text))


def _keyed(
    inputs: Sequence[str | Path],
    seed: int,
    glob: str,
    text_field: str,
    progress: Progress | None,
) -> Iterator[tuple[int, Callable[[], TextDocument]]]:
    """Yield every document as its key and a function that reads its text."""
    corpora = [open_corpus(path) for path in inputs if is_corpus(path)]
    files = find_files([path for path in inputs if not is_corpus(path)], glob)
    total = sum(corpus.tokens.nbytes for corpus in corpora)
    total += sum(path.stat().st_size for path in files)
    before = 0
    for corpus in corpora:
        decode = _inner(corpus).decode
        for number, (start, end) in enumerate(itertools.pairwise(corpus.documents.tolist())):
            ids = corpus.tokens[start : end - 1]  # without end-of-text
            source = f"{corpus.folder}:{number}"
            yield _key(ids.tobytes(), seed), partial(_decoded, decode, ids, source)
            if progress and number % 1000 == 0:
                progress(before + end * corpus.tokens.itemsize, total)
        before += corpus.tokens.nbytes

    def read(done: int, _: int) -> None:
        if progress:
            progress(before + done, total)

    for document in read_documents(files, text_field, read):
        # a text with a lone surrogate, which JSON permits, has a key too
        yield _key(document.text.encode("utf-8", "surrogatepass"), seed), partial(_same, document)


def _decoded(decode: Callable[..., str], ids: Any, source: str) -> TextDocument:
    return TextDocument(decode(ids.tolist(), skip_special_tokens=False), source)


def _same(document: TextDocument) -> TextDocument:
    return document


def _key(content: bytes, seed: int) -> int:
    """Hash a sample to 128 bits."""
    digest = hashlib.blake2b(content, digest_size=16, key=f"seed {seed}".encode())
    return int.from_bytes(digest.digest(), "big")


def _inner(corpus: Corpus) -> Any:
    from tokenizers import Tokenizer as Inner

    return Inner.from_file(str(corpus.folder / "tokenizer.json"))


def _stretch(key: int, document: TextDocument, room: int) -> Sample:
    """The document; a random excerpt if it has more than `room` characters."""
    text = document.text
    # low bits, because the high bits are small in all sampled documents
    start = (key & 0xFFFFFFFF) % (len(text) - room + 1) if len(text) > room else 0
    around, length = [], 0
    for paragraph in paragraphs(text):
        if length < start + room and length + len(paragraph) > start:
            around.append(paragraph_key(paragraph))
        length += len(paragraph)
    piece = text[start : start + room].encode("utf-8", "replace").decode("utf-8")
    keys = tuple(k for k in around if k)
    return Sample(f"{key:032x}", piece, document.source, keys, len(text) > room)


def _pieces(
    drafts: Sequence[Sample], tokenizer: Tokenizer, length: int, shortest: int
) -> Iterator[Sample]:
    """The samples that are not too short, cut to `length` tokens."""
    for begin in range(0, len(drafts), TOKENIZED_DOCUMENTS):
        batch = drafts[begin : begin + TOKENIZED_DOCUMENTS]
        encodings = tokenizer.encode([sample.text for sample in batch])
        for sample, encoding in zip(batch, encodings, strict=True):
            tokens = len(encoding.ids)
            if tokens < shortest or not sample.text.strip():
                continue
            if tokens <= length:
                yield sample
                continue
            # other bits than in `_stretch`, so that the two choices are independent
            first = (int(sample.key, 16) >> 32 & 0xFFFFFFFF) % (tokens - length + 1)
            start, end = encoding.offsets[first][0], encoding.offsets[first + length - 1][1]
            piece = sample.text[start:end]
            yield Sample(sample.key, piece, sample.source, sample.paragraphs, True)
