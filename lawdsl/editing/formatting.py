"""A document in the canonical style, as `lawdsl fmt` writes it."""

from __future__ import annotations

from lawdsl.core.diagnostics import Edit
from lawdsl.editing.document import Document
from lawdsl.editing.fixes import changed_part
from lawdsl.language.parse_cache import ParseCache
from lawdsl.language.printer import print_like


def formatting(document: Document, parsed: ParseCache) -> Edit | None:
    """The edit that gives a document the canonical style.

    None if it has this style, and if a line does not parse: that line would be lost. Names that are
    not declared, and other mistakes, do not matter.

    Args:
        document: the document.
        parsed: the cache of parsed texts.
    """
    if document.too_large:
        return None
    tree, mistakes = parsed.parse(document.text, document.source.name)
    if any(d.severity == "error" for d in mistakes):
        return None
    return changed_part(document.text, print_like(document.text, tree))
