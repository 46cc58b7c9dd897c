"""Inlay hints: the verdicts behind the `require` lines."""

from __future__ import annotations

from lsprotocol import types

from lawdsl.editing.claims import require_lines
from lawdsl.editing.verdict_hints import DECIDING, verdict_details, verdict_hint
from lawdsl.server.session import Session

SPACE = "\N{NO-BREAK SPACE}"  # the padding of VS Code is a third of a space


def inlay_hints(session: Session, params: types.InlayHintParams) -> list[types.InlayHint] | None:
    """The verdict on each claim of a part of a document, as far as there is one.

    Args:
        session: the connection.
        params: the part.
    """
    document = session.current(params.text_document.uri)
    if document is None:
        return None
    claims = session.claims(params.text_document.uri)
    positions = session.positions(document)
    hints = []
    for line in require_lines(document):
        number, column = positions.position(line.span.end)
        if not params.range.start.line <= number <= params.range.end.line:
            continue
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
                position=types.Position(number, column),
                label=f"{SPACE}{label}",
                padding_left=True,
                padding_right=behind != "",
                tooltip=tooltip,  # plain text
            )
        )
    return hints
