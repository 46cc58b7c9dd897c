"""Tokenized documents -> documents with text and tokens, checked.

A corpus is split and deduplicated by text, so tokens are decoded for this purpose; if nothing is
removed from a document, its original tokens are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from .documents import TextDocument
from .tokenizer import PIECE_CHARACTERS, Tokenizer, library_errors

MAX_DOCUMENT_TOKENS = (
    1 << 20
)  # maximum number of tokens per document; longer ones are cut, like long text files
BATCH_TOKENS = PIECE_CHARACTERS  # decoded in one call


def with_text(documents: Iterable[TextDocument], tokenizer: Tokenizer) -> Iterator[TextDocument]:
    """Yield documents with their text; tokenized ones are split at ends of text.

    Args:
        documents: texts and tokens from `read_documents`.
        tokenizer: the tokenizer of the tokens.

    Returns:
        An iterator over documents in their order; their tokens have no end of text.

    Raises:
        LawdslError: tokens outside the vocabulary of the tokenizer, or null (R0218).
    """
    batch: list[TextDocument] = []
    size = 0
    for document in documents:
        if document.tokens is None:
            yield from _decoded(batch, tokenizer)
            batch, size = [], 0
            yield document
            continue
        for ids in _pieces(_checked(document, tokenizer), tokenizer.end_of_text):
            if size + len(ids) > BATCH_TOKENS:
                yield from _decoded(batch, tokenizer)
                batch, size = [], 0
            batch.append(replace(document, tokens=ids))
            size += len(ids)
    yield from _decoded(batch, tokenizer)


def _checked(document: TextDocument, tokenizer: Tokenizer) -> NDArray[Any]:
    """The tokens of a document in the integer type of the tokenizer's corpora."""
    ids = np.asarray(document.tokens)
    if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < tokenizer.vocabulary:
        is_known = (ids >= 0) & (ids < tokenizer.vocabulary)
        position = int(np.argmin(is_known))
        message = f"token {position:,} of the document is {int(ids[position])}"
        has = f"the tokenizer has the tokens 0 to {tokenizer.vocabulary - 1:,}"
        help = "name the tokenizer that the tokens were made with: --tokenizer FILE"
        raise LawdslError(
            Diagnostic("R0218", message, place=document.source, notes=(has,), help=help)
        )
    return ids.astype(tokenizer.dtype)


def _pieces(ids: NDArray[Any], end_of_text: int) -> Iterator[NDArray[Any]]:
    """The nonempty documents in a sequence of tokens that contains ends of text."""
    ends = np.flatnonzero(ids == end_of_text).tolist()
    start = 0
    for end in (*ends, len(ids)):
        for first in range(start, end, MAX_DOCUMENT_TOKENS):
            yield ids[first : min(first + MAX_DOCUMENT_TOKENS, end)]
        start = end + 1


def _decoded(batch: Sequence[TextDocument], tokenizer: Tokenizer) -> Iterator[TextDocument]:
    """The documents with their decoded text."""
    if not batch:
        return
    texts = decode(tokenizer, [d.tokens for d in batch if d.tokens is not None])
    for document, text in zip(batch, texts, strict=True):
        yield replace(document, text=text)


def decode(tokenizer: Tokenizer, sequences: Sequence[NDArray[Any]]) -> list[str]:
    """Decode tokens, including special tokens.

    Args:
        tokenizer: the tokenizer.
        sequences: the tokens of each text.

    Returns:
        The texts.

    Raises:
        LawdslError: the tokenizer fails on them (R0216).
    """
    with library_errors(tokenizer.path, tokenizer.content):
        return tokenizer.inner.decode_batch(
            [ids.tolist() for ids in sequences], skip_special_tokens=False
        )
