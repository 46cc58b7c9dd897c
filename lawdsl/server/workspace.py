"""Files of the workspace folder and open documents, as `lawdsl.editing` takes them."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcException

from lawdsl.core.diagnostics import LawdslError, Span
from lawdsl.core.files import real_path
from lawdsl.editing.law_names import Reach, files_below, files_that_may_name
from lawdsl.editing.names import File, Files, Target
from lawdsl.editing.navigation import Place
from lawdsl.editing.positions import BYTE_ORDER_MARK, Positions
from lawdsl.language.library import read as read_file
from lawdsl.server.conversions import range_of
from lawdsl.server.open_documents import OpenDocument
from lawdsl.server.session import Session

MAX_FILES = 5_000  # that one search reads
MAX_CHARACTERS = 16_000_000  # of all these files together
SEARCH_SECONDS = 20.0  # s to read them
LAST_SECONDS = 20.0  # s more, to compute the result
EVERYWHERE = Reach(files=MAX_FILES, folders=20_000, depth=20, subfolders=5_000)
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


@dataclass
class Searched:
    """The files that may mention what a target declares: open documents, then those on disk, each once.

    A name is resolved from a folder downwards: only files in the folders that contain that of the target may
    mention it. What ships with lawdsl may be mentioned everywhere.

    Attributes:
        target: what is declared.
        opened: the documents that are open.
        folder: that of the workspace.
        files: how files find each other.
        over: set when the result is no longer needed.
        until: the time (s, of `time.monotonic`) at which the search ends.
        missing: why some files were not searched; empty if all were.
    """

    target: Target
    opened: Sequence[File]
    folder: Path
    files: Files
    over: threading.Event
    until: float
    missing: str = ""

    def __iter__(self) -> Iterator[File]:
        seen = {file.path for file in self.opened}
        yield from self.opened
        if self.target.file.path not in seen:
            seen.add(self.target.file.path)
            yield self.target.file
        characters = 0
        for path in self._paths():
            path = real_path(path)  # one file of several names is edited once
            if path in seen:
                continue
            seen.add(path)
            if self.over.is_set() or time.monotonic() > self.until:
                self.missing = f"they take more than {SEARCH_SECONDS:g} s"
                return
            file = self.files.read(path)
            if file is None:
                if _is_unreadable(path):
                    self.missing = f"{path.name} cannot be read"
                continue  # it was removed, or is no text of a law
            characters += len(file.text)
            if characters > MAX_CHARACTERS:
                self.missing = f"they have more than {MAX_CHARACTERS:,} characters together"
                return
            yield file

    def _paths(self) -> Iterator[Path]:
        if self.target.file.ships:
            below = files_below(real_path(self.folder), EVERYWHERE)
            self.missing = below.left_out
            yield from below.paths
            return
        paths = files_that_may_name(self.target.file.path, self.folder)
        try:
            for count, path in enumerate(paths):
                if count == MAX_FILES:
                    self.missing = f"there are more than {MAX_FILES:,} files"
                    return
                yield path
        except OSError as error:
            self.missing = f"{error.filename} cannot be listed"


def _is_unreadable(path: Path) -> bool:
    """Whether there may be a file that cannot be read, also in a folder that cannot be entered."""
    try:
        path.stat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return not os.access(path, os.R_OK)


async def search(
    session: Session, files: Files, target: Target, work: Callable[[Searched], T]
) -> tuple[T, str]:
    """The result of a search for mentions, and why it may be incomplete, while requests are answered.

    Args:
        session: the connection.
        files: how files find each other.
        target: what is mentioned.
        work: the files -> the result; called in a thread.

    Returns:
        The result, and the reason why not all files were searched; empty where all were.

    Raises:
        Refused: it takes more than SEARCH_SECONDS + LAST_SECONDS.
        JsonRpcContentModified: a document was edited meanwhile, for which the result would be wrong.
    """
    before = texts_of(session)
    opened = [
        File(path, text.removeprefix(BYTE_ORDER_MARK), path.parent)
        for path, text in texts_by_path(session).items()
    ]
    over, until = threading.Event(), time.monotonic() + SEARCH_SECONDS
    searched = Searched(target, opened, session.documents.folder, files, over, until)
    try:
        limit = SEARCH_SECONDS + LAST_SECONDS
        result = await asyncio.wait_for(asyncio.to_thread(work, searched), limit)
    except TimeoutError:
        raise Refused(f"the answer takes more than {limit:g} s") from None
    finally:
        over.set()  # the thread reads no further files; what it has read is still processed
    if before != texts_of(session):
        raise JsonRpcContentModified("a document was edited during the search")
    return result, searched.missing


def texts_of(session: Session) -> dict[str, str]:
    """Address -> text of the documents that are open, with byte order marks."""
    return {d.uri: d.text for d in session.documents.by_uri.values()}


def texts_by_path(session: Session) -> dict[Path, str]:
    """Path -> text of the documents that are open; of a file that is open twice, the first, as `uri_of`.

    Args:
        session: the connection.
    """
    return {d.path: d.text for d in reversed(session.documents.by_uri.values())}


def uri_of(session: Session, path: Path) -> str:
    """The address of a file, as the editor calls it if it is open.

    Args:
        session: the connection.
        path: the file.
    """
    document = opened_at(session, path)
    return document.uri if document is not None else real_path(path).as_uri()


def opened_at(session: Session, path: Path) -> OpenDocument | None:
    """The document of a file, the first that was opened; None for a file that is not open.

    Args:
        session: the connection.
        path: the file.
    """
    resolved = real_path(path)
    return next((d for d in session.documents.by_uri.values() if d.path == resolved), None)


def positions_of(session: Session, file: File) -> Positions:
    """The lines of a file.

    Args:
        session: the connection.
        file: the file.
    """
    encoding = session.documents.encoding
    document = opened_at(session, file.path)
    read = document.document if document is not None else None
    if read is not None and read.text == file.text:
        return read.positions(encoding)
    try:
        text = document.text if document is not None else read_file(file.path).text
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
