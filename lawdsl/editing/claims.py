"""The `require` lines of a document, and what their verdicts depend on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from lawdsl.core.diagnostics import Span
from lawdsl.editing.document import Document
from lawdsl.language import tree
from lawdsl.language.symbols import Claim, Declarations
from lawdsl.language.tree import SyntaxTree

WITHOUT_EFFECT = (tree.Require, tree.NoteNode, tree.SourceNode)
"""Statements that no verdict on a claim depends on, but for that on the claim itself."""


@dataclass(frozen=True)
class RequireLine:
    """A `require` line.

    Attributes:
        key: the same for lines that make the claim in the same words, whatever spaces they have.
        span: from its first to its last word, which may be on further lines.
    """

    key: str
    span: Span


def require_lines(document: Document) -> Iterator[RequireLine]:
    """The `require` lines that could be read, in the order of the file.

    Args:
        document: the document, which may have errors elsewhere.
    """
    for statement in document.tree.statements:
        if isinstance(statement, tree.Require):
            yield RequireLine(_words(document.text, statement.span), statement.span)


def claim_key(claim: Claim, law: Declarations) -> str:
    """The key of the line that makes a claim; with the name of its law, for one that is inherited.

    Args:
        claim: the claim.
        law: the law that is checked.
    """
    key = _words(claim.text.text, claim.span)
    return key if claim.text.text == law.text.text else f"{claim.text.name}: {key}"


def law_key(law: Declarations, statements: SyntaxTree) -> str:
    """A digest of what the verdicts on claims of a law depend on, besides the claims.

    Args:
        law: the law.
        statements: the syntax tree of its text.
    """
    parts = [
        _words(law.text.text, statement.span)
        for statement in statements.statements
        if not isinstance(statement, WITHOUT_EFFECT)
    ]
    parts += [repr((name, base.text.text)) for name, base in sorted(law.laws.items())]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _words(text: str, span: Span) -> str:
    return " ".join(text[span.start : span.end].split())
