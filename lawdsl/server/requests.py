"""Handlers of requests about a document, or about a position in it.

The functions that answer take both; the decorators here make handlers of them, which take the session and
the parameters of the request, and answer nothing about a document that is not open.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Protocol, TypeVar

from lsprotocol import types

from lawdsl.editing.document import Document
from lawdsl.server.session import Session


class DocumentParams(Protocol):
    """Parameters of a request about a document."""

    text_document: types.TextDocumentIdentifier


class PositionParams(DocumentParams, Protocol):
    """Parameters of a request about a place in a document."""

    position: types.Position


D = TypeVar("D", bound=DocumentParams)
P = TypeVar("P", bound=PositionParams)
T = TypeVar("T")


def about_document(
    answer: Callable[[Session, Document, D], T],
) -> Callable[[Session, D], T | None]:
    """A handler that answers at once, about a large document as it was last read.

    Args:
        answer: session, document, parameters -> answer.
    """

    @wraps(answer)
    def handler(session: Session, params: D) -> T | None:
        document = session.current(params.text_document.uri)
        return None if document is None else answer(session, document, params)

    return handler


def about_place(
    answer: Callable[[Session, Document, int, P], Coroutine[Any, Any, T]],
) -> Callable[[Session, P], Coroutine[Any, Any, T | None]]:
    """A handler that answers once a large document is read, since an edit may move the position.

    There is no answer if the document is edited while it is read.

    Args:
        answer: session, document, offset of the place, parameters -> answer.
    """

    @wraps(answer)
    async def handler(session: Session, params: P) -> T | None:
        document = await session.once_read(params.text_document.uri)
        if document is None:
            return None
        return await answer(session, document, offset_of(session, document, params), params)

    return handler


def offset_of(session: Session, document: Document, params: PositionParams) -> int:
    """The offset of the place that a request is about.

    Args:
        session: the connection.
        document: the document.
        params: the parameters of the request.
    """
    position = params.position
    return session.positions(document).offset(position.line, position.character)
