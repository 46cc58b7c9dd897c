"""Code actions: the corrections that messages carry, and those that they suggest."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types

from lawdsl.core.diagnostics import Edit, Span
from lawdsl.editing.document import Document
from lawdsl.editing.fixes import all_corrected, corrections
from lawdsl.server.conversions import diagnostic, text_edit
from lawdsl.server.requests import about_document
from lawdsl.server.session import Session

FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.lawdsl"
ALL = "Correct all mistakes that have a safe correction"
OPTIONS = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, FIX_ALL])


@about_document
def code_actions(
    session: Session, document: Document, params: types.CodeActionParams
) -> list[types.CodeAction]:
    """The corrections at a place, and one of all mistakes.

    Args:
        session: the connection.
        document: the document.
        params: the place, and the kinds that the editor asks for.
    """
    uri = params.text_document.uri
    positions = session.positions(document)
    first, last = params.range.start, params.range.end
    span = Span(
        positions.offset(first.line, first.character), positions.offset(last.line, last.character)
    )
    warnings = session.claims(uri).warnings
    actions = []
    if _requested(types.CodeActionKind.QuickFix.value, params.context.only):
        for correction in corrections(document, span, warnings):
            actions.append(
                types.CodeAction(
                    title=correction.title,
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[diagnostic(correction.diagnostic, document, uri, positions)],
                    is_preferred=correction.safe,
                    edit=_workspace_edit(session, uri, correction.edits),
                )
            )
    # editors request actions after each cursor move: the full list only where a correction applies
    is_requested = params.context.only is not None and _requested(FIX_ALL, params.context.only)
    if is_requested or any(action.is_preferred for action in actions):
        every = all_corrected(document, session.documents.opened())
        if every is not None:
            kind = FIX_ALL if is_requested else types.CodeActionKind.QuickFix
            edit = _workspace_edit(session, uri, (every,))
            actions.append(types.CodeAction(title=ALL, kind=kind, edit=edit))
    return actions


def _requested(kind: str, only: Iterable[str] | None) -> bool:
    """Whether the editor asks for a kind: for all, for it, or for a kind that includes it."""
    if only is None:
        return True
    kinds = [str(getattr(w, "value", w)) for w in only]
    return any(w == "" or kind == w or kind.startswith(f"{w}.") for w in kinds)


def _workspace_edit(session: Session, uri: str, edits: Iterable[Edit]) -> types.WorkspaceEdit:
    """Edits of the version that was read, which the editor refuses for another."""
    document = session.documents.by_uri[uri]
    assert document.document is not None
    positions = session.positions(document.document)
    changes = [text_edit(edit, positions) for edit in edits]
    if not session.versioned_edits:
        return types.WorkspaceEdit(changes={uri: changes})
    identifier = types.OptionalVersionedTextDocumentIdentifier(uri, document.read_version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(identifier, [*changes])])
