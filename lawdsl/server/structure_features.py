"""Answers about whole documents: outline, folding, selection, semantic tokens, formatting, renaming."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified

from lawdsl.core.diagnostics import LawdslError, printable
from lawdsl.editing.document import Document
from lawdsl.editing.formatting import formatting
from lawdsl.editing.hover import file_of
from lawdsl.editing.names import File
from lawdsl.editing.outline import Entry, folds, outline, ranges_around
from lawdsl.editing.positions import BYTE_ORDER_MARK, Positions
from lawdsl.editing.rename import FileEdits, RenameRefused, rename, renamed_word
from lawdsl.editing.semantic_tokens import MODIFIERS, TYPES, semantic_tokens
from lawdsl.language.library import read
from lawdsl.server.conversions import range_of, text_edit
from lawdsl.server.requests import about_document, about_place
from lawdsl.server.session import Session
from lawdsl.server.workspace import (
    Refused,
    Searched,
    files_of,
    search,
    texts_by_path,
    uri_of,
)

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
        Refused: the name cannot be changed, or not to this one, or not everywhere.
        JsonRpcContentModified: a file was changed during the search.
    """
    files = files_of(session)
    try:
        _, target = renamed_word(file_of(document), offset, files)
    except RenameRefused as refused:
        raise Refused(str(refused)) from None
    current = CurrentTexts(texts_by_path(session))
    encoding = session.documents.encoding

    def edits_among(searched: Searched) -> list[tuple[Path, list[types.TextEdit]]]:
        among = list(searched)
        if searched.missing:
            why = f"not all files that may mention `{target.name}` can be searched"
            raise RenameRefused(f"{why}, {searched.missing}: rename it by hand")
        parts = rename(file_of(document), offset, params.new_name, among, files)
        by_path = {file.path: file for file in among}
        return [(p.path, current.edits(p, by_path[p.path], encoding)) for p in parts]

    try:
        parts, _ = await search(session, files, target, edits_among)
    except RenameRefused as refused:
        raise Refused(str(refused)) from None
    changes = {uri_of(session, path): edits for path, edits in parts}
    if not session.versioned_edits:
        return types.WorkspaceEdit(changes=changes)
    documents = []
    for uri, edits in changes.items():
        opened = session.documents.by_uri.get(uri)
        version = opened.version if opened is not None else None
        identifier = types.OptionalVersionedTextDocumentIdentifier(uri, version)
        documents.append(types.TextDocumentEdit(identifier, [*edits]))
    return types.WorkspaceEdit(document_changes=[*documents])


@dataclass(frozen=True)
class CurrentTexts:
    """The texts of files as they are when edits of them are sent.

    Attributes:
        opened: path -> text of a document that is open, with its byte order mark.
    """

    opened: Mapping[Path, str]

    def edits(self, part: FileEdits, file: File, encoding: str) -> list[types.TextEdit]:
        """Edits of a file.

        Args:
            part: the edits.
            file: the file as it was searched.
            encoding: what columns count.

        Raises:
            RenameRefused: the file is read-only.
            JsonRpcContentModified: its text is another by now.
        """
        name = file.path.name
        try:
            text = self.opened.get(file.path)
            text = read(file.path).text if text is None else text
        except LawdslError:
            raise JsonRpcContentModified(f"{name} was removed during the search") from None
        if text.removeprefix(BYTE_ORDER_MARK) != file.text:
            raise JsonRpcContentModified(f"{name} was changed during the search")
        if _is_read_only(file.path):
            raise RenameRefused(f"{name} mentions the name and is read-only")
        positions = Positions(text, encoding)
        return [text_edit(edit, positions) for edit in part.edits]


def _is_read_only(path: Path) -> bool:
    """Whether the file exists and is read-only or not writable for this user."""
    try:
        writable = path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)
    except OSError:  # a document that was never saved
        return False
    return not writable or not os.access(path, os.W_OK)
