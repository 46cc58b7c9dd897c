"""The `require` lines of a document, and what their verdicts depend on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lawdsl.core.diagnostics import Span
from lawdsl.editing.document import Document
from lawdsl.language.ast_builder import span_of
from lawdsl.language.claim_texts import claim_text
from lawdsl.language.lexer import LogicalLine
from lawdsl.language.symbols import Claim, Declarations

WITHOUT_EFFECT = ("require", "note", "source")
"""Statements that no verdict depends on, but for the one on a claim itself."""


@dataclass(frozen=True)
class RequireLine:
    """A `require` line.

    Attributes:
        words: its words between single spaces, without comments.
        span: from its first to its last word, which may be on further lines.
    """

    words: str
    span: Span


def require_lines(document: Document) -> Iterator[RequireLine]:
    """The `require` lines, those with mistakes too, in the order of the file.

    Args:
        document: the document.
    """
    for line in document.logical_lines:
        if line.tokens and line.tokens[0].value == "require":
            yield RequireLine(_words(line), span_of(line.tokens))


def claim_key(claim: Claim) -> str:
    """What distinguishes the verdicts on the claims of one law.

    Args:
        claim: the claim.
    """
    return f"{claim_text(claim)} expect {claim.expect}"


def claimed_lines(document: Document) -> Mapping[str, str]:
    """Words of a `require` line -> the key of its claim, for a law without errors.

    Args:
        document: its document.
    """
    law = document.declarations
    assert law is not None
    claims = [c for c in law.claims if c.text.text == document.text]
    keys = {}
    for line in require_lines(document):
        for claim in claims:
            if line.span.start <= claim.span.start < line.span.end:
                keys[line.words] = claim_key(claim)
    return keys


def law_key(law: Declarations, document: Document) -> str:
    """A digest of all that the verdicts on claims of a law depend on, besides the claims.

    Args:
        law: the law.
        document: its document.
    """
    lines = [line for line in document.logical_lines if line.tokens]
    parts = [_words(line) for line in lines if line.tokens[0].value not in WITHOUT_EFFECT]
    parts += [repr((name, base.text.text)) for name, base in sorted(law.laws.items())]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _words(line: LogicalLine) -> str:
    return " ".join(str(token.value) for token in line.tokens)
