"""Inlay hints: the verdicts after the `require` lines."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from lawdsl.editing.claims import RequireLine, require_lines
from lawdsl.editing.document import Document
from lawdsl.editing.verdict_hints import DECIDING, verdict_details, verdict_hint
from lawdsl.server.requests import about_document
from lawdsl.server.session import Session

SPACE = "\N{NO-BREAK SPACE}"  # the padding of VS Code is a third of a space
HINT_SECONDS = 5.0
"""Time (s) that an answer waits for verdicts, for editors that do not support hint refreshes.

Such an editor shows this answer until the next edit, so that `deciding` would stay. It draws hints when they
arrive, whatever else it does: waiting costs nothing but the time until the first hint. In the first document, a
law of 200 lines, the start of the worker and 43 verdicts take 2 to 3 s. Eglot drops an answer after 10 s, and
Helix after 20 s.
"""


async def inlay_hints(
    session: Session, params: types.InlayHintParams
) -> list[types.InlayHint] | None:
    """The verdict on each claim of a part of a document, as far as there is one.

    An edit does not end the wait: the hints are then those of the text after it. Helix takes any answer
    for one about its present text, and would not ask again.

    Args:
        session: the connection.
        params: the part.
    """
    if not session.refreshes_hints:
        await session.progress.wait(lambda: _are_decided(session, params), HINT_SECONDS)
    return _hints(session, params)


def _are_decided(session: Session, params: types.InlayHintParams) -> bool:
    """Whether the verdicts on the claims of a part will not change without an edit."""
    opened = session.documents.by_uri.get(params.text_document.uri)
    if opened is None:
        return True
    document = opened.document
    if document is None or opened.stale or opened.claims_of is not document:
        return False  # it is read soon
    if not opened.claims.deciding:
        return True
    lines = _lines(session, document, params.range)
    return all(opened.claims.of_line(line.words)[1] for line in lines)


@about_document
def _hints(
    session: Session, document: Document, params: types.InlayHintParams
) -> list[types.InlayHint]:
    claims = session.claims(params.text_document.uri)
    positions = session.positions(document)
    hints = []
    for line in _lines(session, document, params.range):
        verdict, current = claims.of_line(line.words)
        if verdict is None and not claims.deciding:
            continue
        end = document.text.find("\n", line.span.end)
        behind = document.text[line.span.end : end if end >= 0 else None].strip()
        label = DECIDING
        tooltip = None
        if verdict is not None:
            label = verdict_hint(verdict, stale=not current)
            tooltip = "\n".join(verdict_details(verdict))
        hints.append(
            types.InlayHint(
                position=types.Position(*positions.position(line.span.end)),
                label=f"{SPACE}{label}",
                padding_left=True,
                padding_right=behind != "",
                tooltip=tooltip,  # plain text
            )
        )
    return hints


def _lines(session: Session, document: Document, part: types.Range) -> Iterator[RequireLine]:
    """The `require` lines that end in a part of a document."""
    positions = session.positions(document)
    for line in require_lines(document):
        if part.start.line <= positions.position(line.span.end)[0] <= part.end.line:
            yield line
