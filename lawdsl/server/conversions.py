"""Records of `lawdsl.editing` -> types of the protocol."""

from __future__ import annotations

import re
from pathlib import Path

from lsprotocol import types

from lawdsl.core.diagnostics import Diagnostic, Edit, Span
from lawdsl.editing.claims import claim_key, require_lines
from lawdsl.editing.document import Document
from lawdsl.editing.positions import Positions
from lawdsl.language.symbols import Claim
from lawdsl.messages.table import MESSAGES
from lawdsl.proof.verdict import Verdict
from lawdsl.reporting.sarif import LEVELS, verdict_message
from lawdsl.server.verdict_memory import ClaimStates

SOURCE = "lawdsl"
SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
}
UNUSED = frozenset({"L0309"})  # shown faded
MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~&$:@])")


def escaped(text: str) -> str:
    """Text from a file for a Markdown answer: what Markdown or HTML would interpret is escaped.

    Args:
        text: the text.
    """
    return MARKDOWN.sub(r"\\\1", text).replace("\n", " ")


def code_block(text: str, language: str = "law") -> str:
    """Text as a block of code in Markdown, between more backticks than it contains.

    Args:
        text: the text.
        language: its language, for highlighting.
    """
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def range_of(span: Span, positions: Positions) -> types.Range:
    """A span as lines and columns.

    Args:
        span: the span.
        positions: the lines of its text.
    """
    start, end = positions.position(span.start), positions.position(span.end)
    return types.Range(types.Position(*start), types.Position(*end))


def text_edit(edit: Edit, positions: Positions) -> types.TextEdit:
    """An edit of the protocol.

    Args:
        edit: the edit.
        positions: the lines of its text.
    """
    return types.TextEdit(range_of(edit.span, positions), edit.text)


def diagnostic(
    d: Diagnostic, document: Document, uri: str, positions: Positions
) -> types.Diagnostic:
    """A message of the language.

    Notes become related information at the place of the message, since they have none themselves.
    The meaning of its code is in `data`, as `lawdsl explain` prints it.

    Args:
        d: the message.
        document: the document for which it is shown.
        uri: the address of the document.
        positions: its lines.
    """
    where = range_of(_span_in(d, document), positions)
    message = f"{d.message}\n{d.help}" if d.help else d.message
    related = [
        types.DiagnosticRelatedInformation(types.Location(uri, where), note) for note in d.notes
    ]
    if d.text is not None and d.text.text != document.text and d.span is not None:
        other = Positions(d.text.text, positions.encoding)
        location = types.Location(Path(d.text.name).absolute().as_uri(), range_of(d.span, other))
        related.append(types.DiagnosticRelatedInformation(location, d.message))
    meaning = MESSAGES.get(d.code)
    return types.Diagnostic(
        range=where,
        message=message,
        severity=SEVERITIES[d.severity],
        code=d.code,
        source=SOURCE,
        tags=[types.DiagnosticTag.Unnecessary] if d.code in UNUSED else None,
        related_information=related or None,
        data={
            "title": meaning.title if meaning else d.code,
            "meaning": meaning.meaning if meaning else "",
            "fixable": bool(d.edits or d.suggested),
        },
    )


def _span_in(d: Diagnostic, document: Document) -> Span:
    """Where a message is shown: its place, or the first line for one without a place in this text."""
    if d.span is not None and (d.text is None or d.text.text == document.text):
        return d.span
    end = document.text.find("\n")
    return Span(0, len(document.text) if end < 0 else end)


def verdict_diagnostic(
    verdict: Verdict, span: Span, positions: Positions, inherited: Claim | None = None
) -> types.Diagnostic:
    """A message about an unexpected verdict, with the code that `check --sarif` gives it.

    Args:
        verdict: the verdict.
        span: the place of the claim.
        positions: the lines of its text.
        inherited: the claim in the file that makes it, where that is another one.
    """
    related = None
    if inherited is not None:
        other = Positions(inherited.text.text, positions.encoding)
        uri = Path(inherited.text.name).absolute().as_uri()
        location = types.Location(uri, range_of(inherited.span, other))
        related = [types.DiagnosticRelatedInformation(location, f"require {verdict.claim}")]
    level = LEVELS.get(verdict.verdict, "error")
    return types.Diagnostic(
        range=range_of(span, positions),
        message=verdict_message(verdict),
        severity=SEVERITIES[level],
        code=f"claim-{verdict.verdict}",
        source=SOURCE,
        related_information=related,
    )


def verdict_diagnostics(
    claims: ClaimStates, document: Document, positions: Positions
) -> list[types.Diagnostic]:
    """Messages about the claims whose verdicts on this version are not the expected ones.

    Those that the law inherits are shown in the first line, with their place in the other file.

    Args:
        claims: what is known of the claims.
        document: the version.
        positions: its lines.
    """
    diagnostics = []
    keys_of_lines = set()
    for line in require_lines(document):
        verdict, current = claims.of_line(line.words)
        keys_of_lines.add(claims.lines.get(line.words, ""))
        if verdict is not None and current and not verdict.ok:
            diagnostics.append(verdict_diagnostic(verdict, line.span, positions))
    first = _span_in(Diagnostic("", ""), document)
    law = document.declarations
    claimed = law.claims if law is not None else ()
    made = {claim_key(c): c for c in claimed if c.text.text != document.text}
    for key in claims.current - keys_of_lines:
        if not claims.verdicts[key].ok:
            verdict = claims.verdicts[key]
            diagnostics.append(verdict_diagnostic(verdict, first, positions, made.get(key)))
    return diagnostics
