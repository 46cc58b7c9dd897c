"""Answers about a place: hover, completion, definition, references, highlights."""

from __future__ import annotations

import asyncio

from lsprotocol import types

from lawdsl.core.diagnostics import printable
from lawdsl.editing.completion import completions
from lawdsl.editing.completion_place import Completion
from lawdsl.editing.document import Document, unread_document
from lawdsl.editing.hover import Block, Hover, Known, file_of, hover
from lawdsl.editing.navigation import Place, definition, highlights, references
from lawdsl.server.conversions import code_block, escaped, range_of
from lawdsl.server.requests import about_place, offset_of
from lawdsl.server.session import LARGE, Session
from lawdsl.server.workspace import Searched, files_of, location, locations, search

COMPLETION = types.CompletionOptions(trigger_characters=[".", "∂", "["])
COMPUTING = "its derivative is being computed"
KINDS = {
    "keyword": types.CompletionItemKind.Keyword,
    "function": types.CompletionItemKind.Function,
    "constant": types.CompletionItemKind.Constant,
    "unit": types.CompletionItemKind.Unit,
    "verdict": types.CompletionItemKind.EnumMember,
    "law": types.CompletionItemKind.Module,
    "label": types.CompletionItemKind.EnumMember,
    "column": types.CompletionItemKind.Field,
    "snippet": types.CompletionItemKind.Snippet,
    "setting": types.CompletionItemKind.Constant,
    "index": types.CompletionItemKind.TypeParameter,
    "use": types.CompletionItemKind.Function,
    "step": types.CompletionItemKind.Module,
    "output": types.CompletionItemKind.Value,
}


@about_place
async def hover_at(
    session: Session, document: Document, offset: int, params: types.HoverParams
) -> types.Hover | None:
    """What is known about a word.

    It does not wait for what the worker has not computed yet: an editor shows a hover at once or too late.

    Args:
        session: the connection.
        document: the document.
        offset: the place.
        params: the parameters of the request.
    """
    uri = params.text_document.uri
    answer = _hover(session, uri, document, offset)
    if answer is None:
        return None
    name = answer.derivative_of
    if name:
        session.derivatives.request(session, document, name)
    blocks = answer.blocks
    if name and session.derivatives.is_computing(document, name):
        blocks = (*blocks, Block("text", COMPUTING))
    content = markdown(blocks) if session.markdown else plain(blocks)
    kind = types.MarkupKind.Markdown if session.markdown else types.MarkupKind.PlainText
    where = range_of(answer.span, session.positions(document))
    return types.Hover(types.MarkupContent(kind, content), where)


def _hover(session: Session, uri: str, document: Document, offset: int) -> Hover | None:
    claims = session.claims(uri)
    derivatives = session.derivatives.of(document).items()
    known = Known(
        claims.of_line,
        {name: derivative for name, derivative in derivatives if derivative is not None},
        claims.warnings,
        claims.deciding,
    )
    return hover(document, offset, files_of(session), known)


def markdown(blocks: tuple[Block, ...]) -> str:
    """An answer as Markdown; nothing in it is interpreted.

    Args:
        blocks: its parts.
    """
    languages = {"code": "law", "latex": "latex", "proof": "text"}
    parts = [
        escaped(printable_lines(block.text))
        if block.kind == "text"
        else code_block(printable_lines(block.text), languages[block.kind])
        for block in blocks
    ]
    return "\n\n".join(parts)


def plain(blocks: tuple[Block, ...]) -> str:
    """An answer as plain text, without LaTeX.

    Args:
        blocks: its parts.
    """
    return "\n".join(printable_lines(b.text) for b in blocks if b.kind != "latex")


def printable_lines(text: str) -> str:
    """A text with control characters escaped, but for line ends.

    Args:
        text: the text.
    """
    return "\n".join(printable(line) for line in text.split("\n"))


async def completion(
    session: Session, params: types.CompletionParams
) -> types.CompletionList | None:
    """What may be written at a place.

    Proposals follow from the words of the text. They are those of the present text also while a large
    one is not yet read again, and those of a large one are collected in a thread.

    Args:
        session: the connection.
        params: the place.
    """
    opened = session.documents.by_uri.get(params.text_document.uri)
    if opened is None:
        return None
    is_large = len(opened.text) > LARGE
    document = (
        unread_document(opened.text, opened.path) if is_large else session.current(opened.uri)
    )
    assert document is not None
    offset = offset_of(session, document, params)
    files = files_of(session)
    if is_large:
        proposals = await asyncio.to_thread(completions, document, offset, files)
    else:
        proposals = completions(document, offset, files)
    positions = session.positions(document)
    if not proposals:
        return types.CompletionList(is_incomplete=False, items=[])
    where = range_of(proposals[0].span, positions)
    items = [_item(proposal, where, session.snippets) for proposal in proposals]
    return types.CompletionList(is_incomplete=False, items=items)


def _item(proposal: Completion, where: types.Range, snippets: bool) -> types.CompletionItem:
    pattern = proposal.snippet if snippets else ""
    formats = types.InsertTextFormat
    return types.CompletionItem(
        label=printable(proposal.text),
        kind=KINDS.get(proposal.kind, types.CompletionItemKind.Variable),
        detail=printable(proposal.detail) or None,
        sort_text=f"{proposal.rank}{proposal.text}",
        filter_text=proposal.text,
        insert_text_format=formats.Snippet if pattern else formats.PlainText,
        text_edit=types.TextEdit(where, pattern or proposal.text),
    )


@about_place
async def definition_of(
    session: Session, document: Document, offset: int, params: types.DefinitionParams
) -> types.Location | None:
    """Where the word at a place is declared; of a law, its file.

    Args:
        session: the connection.
        document: the document.
        offset: the place.
        params: the parameters of the request.
    """
    target = definition(file_of(document), offset, files_of(session))
    return None if target is None else location(session, target.file, target.span)


@about_place
async def references_to(
    session: Session, document: Document, offset: int, params: types.ReferenceParams
) -> list[types.Location] | None:
    """The mentions of what the word at a place names, in all files; a warning if some were not searched.

    Args:
        session: the connection.
        document: the document.
        offset: the place.
        params: whether the declaration is listed.
    """
    files = files_of(session)
    target = definition(file_of(document), offset, files)
    if target is None:
        return None

    def mentions(searched: Searched) -> list[Place]:
        return list(references(target, searched, files))

    places, missing = await search(session, files, target, mentions)
    if missing:
        session.client.warn(f"not all references to `{target.name}` are listed: {missing}")
    with_declaration = params.context.include_declaration
    return await locations(session, (p for p in places if with_declaration or not p.declares))


@about_place
async def highlights_of(
    session: Session, document: Document, offset: int, params: types.DocumentHighlightParams
) -> list[types.DocumentHighlight]:
    """The mentions in one document of what the word at a place names.

    Args:
        session: the connection.
        document: the document.
        offset: the place.
        params: the parameters of the request.
    """
    positions = session.positions(document)
    kinds = types.DocumentHighlightKind
    return [
        types.DocumentHighlight(
            range_of(p.span, positions), kinds.Write if p.declares else kinds.Read
        )
        for p in highlights(file_of(document), offset, files_of(session))
    ]
