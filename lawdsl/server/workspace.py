"""Files of the workspace folder and open documents, as `lawdsl.editing` takes them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcException

from lawdsl.core.diagnostics import LawdslError, Span
from lawdsl.core.files import real_path
from lawdsl.editing.hover import file_of
from lawdsl.editing.law_names import files_below
from lawdsl.editing.names import File, Files
from lawdsl.editing.navigation import Place
from lawdsl.editing.positions import Positions
from lawdsl.server.conversions import range_of
from lawdsl.server.session import Session

MAX_FILES = 500  # of the folder, in which mentions are searched for
SEARCH_SECONDS = 20.0  # for a search in them
T = TypeVar("T")


class Refused(JsonRpcException):
    """A request that is understood, but not carried out."""

    CODE = -32803  # RequestFailed of the protocol
    MESSAGE = "request failed"


def files_of(session: Session) -> Files:
    """How files find each other, open ones first.

    Args:
        session: the connection.
    """
    return Files(session.documents.opened())


async def search(session: Session, files: Files, work: Callable[[Iterator[File]], T]) -> T:
    """The result of a search in the open documents and the files of the folder, while requests are answered.

    Args:
        session: the connection.
        files: how files find each other.
        work: the files -> the result; called in a thread.

    Raises:
        Refused: it takes too long.
        JsonRpcContentModified: a document was edited meanwhile, for which the result would be wrong.
    """
    before = _revisions(session)  # those in which the place was looked up
    opened: list[File] = []
    for document in list(session.documents.by_uri.values()):
        read = session.current(document.uri)
        if read is not None:
            opened.append(file_of(read))
        await asyncio.sleep(0)  # reading one is short; other requests come between
    folder = session.documents.folder
    over = threading.Event()
    try:
        reading = asyncio.to_thread(work, _files(opened, folder, files, over))
        result = await asyncio.wait_for(reading, SEARCH_SECONDS)
    except TimeoutError:
        raise Refused(f"the files of the folder take more than {SEARCH_SECONDS:g} s") from None
    finally:
        over.set()  # a thread for which nobody waits ends at its next file
    if before != _revisions(session):
        raise JsonRpcContentModified("a document was edited during the search")
    return result


def _revisions(session: Session) -> dict[str, int]:
    return {d.uri: d.revision for d in session.documents.by_uri.values()}


def _files(opened: list[File], folder: Path, files: Files, over: threading.Event) -> Iterator[File]:
    """The open documents, then the other files of the folder, until the search is over."""
    seen = {file.path for file in opened}
    yield from opened
    for path in files_below(real_path(folder), MAX_FILES):
        if over.is_set():
            raise Refused("the search was ended")
        path = real_path(path)  # one file of several names is edited once
        file = files.read(path) if path not in seen else None
        seen.add(path)
        if file is not None:
            yield file


def uri_of(session: Session, path: Path) -> str:
    """The address of a file, as the editor calls it if it is open.

    Args:
        session: the connection.
        path: the file.
    """
    resolved = real_path(path)
    uris = (d.uri for d in session.documents.by_uri.values() if d.path == resolved)
    return next(uris, resolved.as_uri())


def positions_of(session: Session, file: File) -> Positions:
    """The lines of a file.

    Args:
        session: the connection.
        file: the file.
    """
    encoding = session.documents.encoding
    for document in session.documents.by_uri.values():
        read = document.document
        if document.path == file.path and read is not None and read.text == file.text:
            return read.positions(encoding)
    try:
        text = session.documents.opened().read(file.path).text
    except LawdslError:
        text = file.text
    return Positions(text if text.endswith(file.text) else file.text, encoding)


def location(session: Session, file: File, span: Span) -> types.Location:
    """A place in a file.

    Args:
        session: the connection.
        file: the file.
        span: the place.
    """
    where = range_of(span, positions_of(session, file))
    return types.Location(uri_of(session, file.path), where)


async def locations(session: Session, places: Iterable[Place]) -> list[types.Location]:
    """Places in files; other requests come between two files.

    Args:
        session: the connection.
        places: the places, those of a file together.
    """
    located = []
    for _, group in groupby(places, key=lambda place: place.file.path):
        first, *others = group
        positions = positions_of(session, first.file)
        uri = uri_of(session, first.file.path)
        located += [types.Location(uri, range_of(p.span, positions)) for p in (first, *others)]
        await asyncio.sleep(0)
    return located
