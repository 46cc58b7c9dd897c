"""Files of the workspace folder and open documents, as `lawdsl.editing` takes them."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types

from lawdsl.core.diagnostics import LawdslError, Span
from lawdsl.editing.hover import file_of
from lawdsl.editing.law_names import files_below
from lawdsl.editing.names import File, Files
from lawdsl.editing.positions import Positions
from lawdsl.server.conversions import range_of
from lawdsl.server.session import Session

MAX_FILES = 500  # of the folder, in which mentions are searched for


def files_of(session: Session) -> Files:
    """How files find each other, open ones first.

    Args:
        session: the connection.
    """
    return Files(session.documents.opened())


def all_files(session: Session, files: Files) -> list[File]:
    """The open documents, and the files of the folder.

    Args:
        session: the connection.
        files: how files find each other.
    """
    found: dict[Path, File] = {}
    for document in session.documents.by_uri.values():
        read = session.current(document.uri)
        if read is not None:
            found[document.path] = file_of(read)
    for path in files_below(session.documents.folder.resolve(), MAX_FILES):
        path = path.resolve()  # one file of several names is edited once
        if path not in found:
            file = files.read(path)
            if file is not None:
                found[path] = file
    return list(found.values())


def uri_of(session: Session, path: Path) -> str:
    """The address of a file, as the editor calls it if it is open.

    Args:
        session: the connection.
        path: the file.
    """
    resolved = path.resolve()
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
