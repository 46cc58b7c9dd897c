"""The corrections that messages carry -> edits of a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os.path import commonprefix

from lawdsl.core.diagnostics import Diagnostic, Edit, Span, Text
from lawdsl.editing.document import Document
from lawdsl.language.fixes import fix_text
from lawdsl.language.library import OpenFiles, declared_section


@dataclass(frozen=True)
class Correction:
    """The edits that correct one mistake.

    Attributes:
        title: what they do, in words.
        edits: the edits.
        diagnostic: the message about the mistake.
        safe: whether they do what is meant without a doubt; otherwise a person chooses them.
    """

    title: str
    edits: tuple[Edit, ...]
    diagnostic: Diagnostic
    safe: bool = True


def corrections(
    document: Document, span: Span, further: Iterable[Diagnostic] = ()
) -> Iterator[Correction]:
    """The corrections of the mistakes in a part of a document.

    Args:
        document: the document.
        span: the part; an empty one is a place between two characters.
        further: further messages about this version, such as warnings about its claims.
    """
    for d in (*document.diagnostics, *further):
        of_this = d.text is not None and d.text.text == document.text
        touched = d.span is not None and d.span.start <= span.end and span.start <= d.span.end
        if not (of_this and touched):
            continue
        if d.edits:
            yield Correction(d.help or d.message, d.edits, d)
        for edit in d.suggested:
            written = document.text[edit.span.start : edit.span.end]
            yield Correction(f"replace `{written}` with `{edit.text}`", (edit,), d, safe=False)


def all_corrected(document: Document, opened: OpenFiles) -> Edit | None:
    """One edit with all safe corrections, also of mistakes that others hid; None without any.

    Args:
        document: the document.
        opened: the texts of open files.
    """

    def read(text: Text) -> list[Diagnostic]:
        return declared_section(text, document.path.parent, opened)[1]

    if not any(d.edits for d in document.diagnostics):
        return None
    result = fix_text(document.source, read)
    return changed_part(document.text, result.text.text) if result.fixed else None


def changed_part(before: str, after: str) -> Edit | None:
    """The edit that makes one text of another: the part between their common ends.

    Args:
        before: a text.
        after: the text that it becomes.
    """
    if before == after:
        return None
    start = len(commonprefix((before, after)))
    rest = min(len(before), len(after)) - start
    end = len(commonprefix((before[::-1], after[::-1])))
    end = min(end, rest)
    return Edit(Span(start, len(before) - end), after[start : len(after) - end])
