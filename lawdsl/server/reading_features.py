"""Answers about a place: hover, completion, definition, references, highlights."""

from __future__ import annotations

from lsprotocol import types

from lawdsl.core.diagnostics import printable
from lawdsl.editing.completion import completions
from lawdsl.editing.completion_place import Completion
from lawdsl.editing.document import Document
from lawdsl.editing.hover import Block, Hover, Known, file_of, hover
from lawdsl.editing.navigation import Place, definition, highlights, references
from lawdsl.server.conversions import code_block, escaped, range_of
from lawdsl.server.session import Session
from lawdsl.server.workspace import Searched, files_of, location, locations, read_now, search

COMPLETION = types.CompletionOptions(trigger_characters=[".", "∂", "["])
WAIT_SECONDS = 0.015  # for the worker, before an answer without the derivative
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


def place(session: Session, uri: str, position: types.Position) -> tuple[Document, int] | None:
    """A document as it is now, and an offset in it.

    Args:
        session: the connection.
        uri: the address of the document.
        position: the place.
    """
    document = session.current(uri)
    if document is None:
        return None
    return document, session.positions(document).offset(position.line, position.character)


async def hover_at(session: Session, params: types.HoverParams) -> types.Hover | None:
    """What is known about a word.

    Args:
        session: the connection.
        params: the place.
    """
    uri = params.text_document.uri
    edited = uri in session.documents.by_uri and session.documents.by_uri[uri].stale
    document = await session.once_read(uri)
    if document is None:
        return None
    position = params.position
    offset = session.positions(document).offset(position.line, position.character)
    found = _hover(session, uri, document, offset)
    if found is not None and found.derivative_of and document.declarations is not None:
        name = found.derivative_of
        if name not in session.derivatives.of(document):
            # reading took its time; what a busy worker does takes longer than a moment
            seconds = 0.0 if edited or session.worker_is_busy else WAIT_SECONDS
            known = await session.derivatives.ask(session, document, name, seconds)
            opened = session.documents.by_uri.get(uri)
            if opened is None:  # closed meanwhile
                return None
            if known and opened.document is document:
                found = _hover(session, uri, document, offset)
            blocks = found.blocks if found is not None else ()
            if found is not None and not known:
                found = Hover(found.span, (*blocks, Block("text", COMPUTING)))
    if found is None:
        return None
    content = markdown(found.blocks) if session.markdown else plain(found.blocks)
    kind = types.MarkupKind.Markdown if session.markdown else types.MarkupKind.PlainText
    where = range_of(found.span, session.positions(document))
    return types.Hover(types.MarkupContent(kind, content), where)


def _hover(session: Session, uri: str, document: Document, offset: int) -> Hover | None:
    claims = session.claims(uri)
    derivatives = session.derivatives.of(document).items()
    known = Known(
        claims.of_line,
        {name: derivative for name, derivative in derivatives if derivative is not None},
        claims.warnings,
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


def completion(session: Session, params: types.CompletionParams) -> types.CompletionList | None:
    """What may be written at a place.

    Args:
        session: the connection.
        params: the place.
    """
    at = place(session, params.text_document.uri, params.position)
    if at is None:
        return None
    document, offset = at
    proposals = completions(document, offset, files_of(session))
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


def definition_of(session: Session, params: types.DefinitionParams) -> types.Location | None:
    """Where the word at a place is declared; of a law, its file.

    Args:
        session: the connection.
        params: the place.
    """
    at = place(session, params.text_document.uri, params.position)
    if at is None:
        return None
    target = definition(file_of(at[0]), at[1], files_of(session))
    return None if target is None else location(session, target.file, target.span)


async def references_to(
    session: Session, params: types.ReferenceParams
) -> list[types.Location] | None:
    """The mentions of what the word at a place names, in all files; a warning if some were not searched.

    Args:
        session: the connection.
        params: the place, and whether the declaration is listed.
    """
    await read_now(session, params.text_document.uri)
    at = place(session, params.text_document.uri, params.position)
    if at is None:
        return None
    files = files_of(session)
    target = definition(file_of(at[0]), at[1], files)
    if target is None:
        return None

    def mentions(searched: Searched) -> list[Place]:
        return list(references(target, searched, files))

    places, missing = await search(session, files, target, mentions)
    if missing:
        session.client.warn(f"not all references to `{target.name}` are listed: {missing}")
    with_declaration = params.context.include_declaration
    return await locations(session, (p for p in places if with_declaration or not p.declares))


def highlights_of(
    session: Session, params: types.DocumentHighlightParams
) -> list[types.DocumentHighlight] | None:
    """The mentions in one document of what the word at a place names.

    Args:
        session: the connection.
        params: the place.
    """
    at = place(session, params.text_document.uri, params.position)
    if at is None:
        return None
    document, offset = at
    positions = session.positions(document)
    kinds = types.DocumentHighlightKind
    return [
        types.DocumentHighlight(
            range_of(p.span, positions), kinds.Write if p.declares else kinds.Read
        )
        for p in highlights(file_of(document), offset, files_of(session))
    ]
