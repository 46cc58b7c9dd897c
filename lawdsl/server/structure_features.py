"""Answers about whole documents: outline, folding, selection, semantic tokens, formatting, renaming."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from lawdsl.core.diagnostics import printable
from lawdsl.editing.document import Document
from lawdsl.editing.formatting import formatting
from lawdsl.editing.hover import file_of
from lawdsl.editing.names import File
from lawdsl.editing.outline import Entry, folds, outline, ranges_around
from lawdsl.editing.positions import Positions
from lawdsl.editing.rename import FileEdits, RenameRefused, rename, renamed_word
from lawdsl.editing.semantic_tokens import MODIFIERS, TYPES, semantic_tokens
from lawdsl.server.conversions import range_of, text_edit
from lawdsl.server.requests import about_document, about_place
from lawdsl.server.session import Session
from lawdsl.server.workspace import Refused, files_of, positions_of, search, uri_of

RENAME = types.RenameOptions(prepare_provider=True)
LEGEND = types.SemanticTokensLegend(list(TYPES), list(MODIFIERS))
SYMBOLS = {
    "law": types.SymbolKind.Module,
    "question": types.SymbolKind.Module,
    "pipeline": types.SymbolKind.Module,
    "variable": types.SymbolKind.Variable,
    "given": types.SymbolKind.Variable,
    "parameter": types.SymbolKind.TypeParameter,
    "unknown": types.SymbolKind.TypeParameter,
    "setting": types.SymbolKind.Constant,
    "let": types.SymbolKind.Variable,
    "output": types.SymbolKind.Function,
    "index": types.SymbolKind.Enum,
    "use": types.SymbolKind.Function,
    "step": types.SymbolKind.Method,
    "extends": types.SymbolKind.Module,
    "require": types.SymbolKind.Boolean,
}
"""Kind of an entry of an outline -> its symbol; the others are events."""


@about_document
def symbols(
    session: Session, document: Document, params: types.DocumentSymbolParams
) -> list[types.DocumentSymbol]:
    """The outline of a document.

    Args:
        session: the connection.
        document: the document.
        params: the parameters of the request.
    """
    positions = session.positions(document)
    return [_symbol(entry, positions) for entry in outline(document)]


def _symbol(entry: Entry, positions: Positions) -> types.DocumentSymbol:
    return types.DocumentSymbol(
        name=printable(entry.name),
        kind=SYMBOLS.get(entry.kind, types.SymbolKind.Event),
        range=range_of(entry.span, positions),
        selection_range=range_of(entry.selection, positions),
        detail=printable(entry.detail) or None,
        children=[_symbol(each, positions) for each in entry.inside],
    )


@about_document
def folding(
    session: Session, document: Document, params: types.FoldingRangeParams
) -> list[types.FoldingRange]:
    """What may be folded.

    Args:
        session: the connection.
        document: the document.
        params: the parameters of the request.
    """
    positions = session.positions(document)
    kinds = {"comment": types.FoldingRangeKind.Comment, "region": types.FoldingRangeKind.Region}
    ranges = [(range_of(fold.span, positions), kinds[fold.kind]) for fold in folds(document)]
    return [types.FoldingRange(r.start.line, r.end.line, kind=kind) for r, kind in ranges]


@about_document
def selections(
    session: Session, document: Document, params: types.SelectionRangeParams
) -> list[types.SelectionRange]:
    """What contains each of some places, from the word to the whole text.

    Args:
        session: the connection.
        document: the document.
        params: the places.
    """
    positions = session.positions(document)
    answers = []
    for position in params.positions:
        offset = positions.offset(position.line, position.character)
        chain: types.SelectionRange | None = None
        for span in reversed(ranges_around(document, offset)):
            chain = types.SelectionRange(range_of(span, positions), chain)
        answers.append(chain or types.SelectionRange(types.Range(position, position)))
    return answers


@about_document
def tokens(
    session: Session, document: Document, params: types.SemanticTokensParams
) -> types.SemanticTokens:
    """The classes of all words.

    Args:
        session: the connection.
        document: the document.
        params: the parameters of the request.
    """
    positions = session.positions(document)
    data: list[int] = []
    line = column = 0
    for token in semantic_tokens(file_of(document), files_of(session)):
        where = range_of(token.span, positions)
        if where.end.line != where.start.line:
            continue
        down = where.start.line - line
        right = where.start.character - (0 if down else column)
        modifiers = sum(1 << MODIFIERS.index(m) for m in token.modifiers)
        length = where.end.character - where.start.character
        data += [down, right, length, TYPES.index(token.type), modifiers]
        line, column = where.start.line, where.start.character
    return types.SemanticTokens(data)


@about_document
def formatted(
    session: Session, document: Document, params: types.DocumentFormattingParams
) -> list[types.TextEdit] | None:
    """The edit that `lawdsl fmt` would make; None for a text that does not parse.

    Args:
        session: the connection.
        document: the document.
        params: the parameters of the request.
    """
    edit = formatting(document, session.documents.parsed)
    return None if edit is None else [text_edit(edit, session.positions(document))]


@about_place
async def prepare_rename(
    session: Session, document: Document, offset: int, params: types.PrepareRenameParams
) -> types.PrepareRenamePlaceholder:
    """The word that may have another name.

    Args:
        session: the connection.
        document: the document.
        offset: the place.
        params: the parameters of the request.

    Raises:
        Refused: it may not.
    """
    try:
        word, _ = renamed_word(file_of(document), offset, files_of(session))
    except RenameRefused as refused:
        raise Refused(str(refused)) from None
    where = range_of(word.span, session.positions(document))
    written = document.text[word.span.start : word.span.end]
    return types.PrepareRenamePlaceholder(where, written)


@about_place
async def renamed(
    session: Session, document: Document, offset: int, params: types.RenameParams
) -> types.WorkspaceEdit:
    """The edits of all files that give a name another one.

    Args:
        session: the connection.
        document: the document.
        offset: the place.
        params: the new name.

    Raises:
        Refused: the name cannot be changed, or not to this one.
    """
    files = files_of(session)

    def edits_among(searched: Iterator[File]) -> tuple[list[File], tuple[FileEdits, ...]]:
        among = list(searched)
        return among, rename(file_of(document), offset, params.new_name, among, files)

    try:
        among, parts = await search(session, files, edits_among)
    except RenameRefused as refused:
        raise Refused(str(refused)) from None
    paths = {file.path: file for file in among}
    changes = {}
    documents = []
    for part in parts:
        uri = uri_of(session, part.path)
        edits = _edits(part, positions_of(session, paths[part.path]))
        changes[uri] = edits
        opened = session.documents.by_uri.get(uri)
        version = opened.read_version if opened is not None else None
        identifier = types.OptionalVersionedTextDocumentIdentifier(uri, version)
        documents.append(types.TextDocumentEdit(identifier, [*edits]))
    if session.versioned_edits:
        return types.WorkspaceEdit(document_changes=[*documents])
    return types.WorkspaceEdit(changes=changes)


def _edits(part: FileEdits, positions: Positions) -> list[types.TextEdit]:
    return [text_edit(edit, positions) for edit in part.edits]
