"""The documents that the editor has open: their texts, edits of them, and what each declares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.uris import to_fs_path

from lawdsl.core.files import real_path
from lawdsl.editing.document import Document, read_document
from lawdsl.editing.positions import LINE_END, characters_before
from lawdsl.language.library import OpenFiles
from lawdsl.language.parse_cache import ParseCache
from lawdsl.server.verdict_memory import ClaimStates

MAX_PARSED_CHARACTERS = 200_000  # of all texts together whose syntax trees are cached


@dataclass
class OpenDocument:
    """One document.

    Attributes:
        uri: its address in messages of the protocol.
        path: its file, with symbolic links resolved; a path in `folder` for a document without a file.
        name: under which messages show a document that has no file, as the editor does; None for a file.
        version: the number of the text, which the editor counts; two texts may have one number.
        text: the text, as it is now.
        document: what it declares; None until it is read.
        read_version: the number of the text that was read.
        revision: counts its texts, and those of the laws that it names.
        read_revision: the one that was read.
        claims: the verdicts on its claims, for the version `claims_of`.
    """

    uri: str
    path: Path
    name: str | None
    version: int
    text: str
    document: Document | None = None
    read_version: int | None = None
    revision: int = 0
    read_revision: int | None = None
    claims: ClaimStates = field(default_factory=ClaimStates)
    claims_of: Document | None = None

    @property
    def on_disk(self) -> bool:
        """Whether the address is that of a file."""
        return self.name is None

    @property
    def stale(self) -> bool:
        """Whether the text, or that of a law that it names, was edited since it was read."""
        return self.document is None or self.read_revision != self.revision


@dataclass
class OpenDocuments:
    """All of them, by address.

    Attributes:
        folder: where documents without a file look for the laws that they name.
        encoding: what columns count, a key of `lawdsl.editing.positions.UNITS`.
    """

    folder: Path = field(default_factory=Path.cwd)
    encoding: str = "utf-16"
    by_uri: dict[str, OpenDocument] = field(default_factory=dict)
    parsed: ParseCache = field(
        default_factory=lambda: ParseCache(MAX_PARSED_CHARACTERS, edited=True)
    )

    def open(self, uri: str, version: int, text: str) -> OpenDocument:
        """Add a document, or replace it."""
        path = path_of(uri)
        shown = None if path is not None else name_of(uri)
        if path is None:
            name = "".join(c if c.isalnum() else "_" for c in uri)[:64]
            path = real_path(self.folder) / f"{name}.law"
        self.by_uri[uri] = OpenDocument(uri, path, shown, version, text)
        return self.by_uri[uri]

    def change(
        self, uri: str, version: int, changes: Iterable[types.TextDocumentContentChangeEvent]
    ) -> OpenDocument | None:
        """Make the edits of a message, one after the other; None for a document that is not open."""
        document = self.by_uri.get(uri)
        if document is None:
            return None
        document.text = edited(document.text, changes, self.encoding)
        document.version = version
        document.revision += 1
        return document

    def close(self, uri: str) -> OpenDocument | None:
        """Forget a document; its file counts again."""
        return self.by_uri.pop(uri, None)

    def opened(self) -> OpenFiles:
        """The texts of all documents, as the readers of laws take them."""
        texts = {d.path: d.text for d in self.by_uri.values() if d.on_disk}
        return OpenFiles(texts, parsed=self.parsed)

    def read(self, document: OpenDocument) -> Document:
        """What a document declares, read again if it was edited."""
        if document.stale or document.document is None:
            document.document = self.reading(document)()
            document.read_version, document.read_revision = document.version, document.revision
        return document.document

    def reading(self, document: OpenDocument) -> Callable[[], Document]:
        """What reads a document as it is now; another thread may call it while edits arrive."""
        return partial(
            read_document,
            document.text,
            document.path,
            name=document.name,
            opened=self.opened(),
            last=document.document,
            on_disk=document.on_disk,
        )

    def naming(self, path: Path, but: str) -> Iterator[OpenDocument]:
        """The documents that name the law in a file, directly or not."""
        for document in self.by_uri.values():
            named = document.document.named if document.document is not None else frozenset()
            if document.uri != but and path in named:
                yield document


def path_of(uri: str) -> Path | None:
    """The file of an address; None for one that no file can have.

    Args:
        uri: the address, as the editor writes it.
    """
    try:
        uri = uri.replace("file://localhost/", "file:///", 1)  # RFC 8089: this machine
        file = to_fs_path(uri) if uri.startswith("file:") else None
        if not file:
            return None
        path = real_path(Path(file))
        path.is_file()  # some names are only found to be impossible when they are looked for
    except (ValueError, OSError, RuntimeError):
        return None
    return path


def name_of(uri: str) -> str:
    """What editors call a document without a file: `Untitled-1` for `untitled:Untitled-1`.

    Args:
        uri: its address.
    """
    try:
        path = urlsplit(uri).path
    except ValueError:
        path = ""
    return unquote(path).rstrip("/").rpartition("/")[2] or uri


def edited(
    text: str, changes: Iterable[types.TextDocumentContentChangeEvent], encoding: str
) -> str:
    """A text after the edits of a message, one after the other.

    Only the lines around an edit are looked at: a message may have thousands of edits.

    Args:
        text: the text, with its byte order mark.
        changes: the edits; one without a range replaces all of the text.
        encoding: what columns count.
    """
    lines = _lines(text)
    for change in changes:
        if isinstance(change, types.TextDocumentContentChangePartial):
            _edit(lines, change, encoding)
        else:
            lines = _lines(change.text)
    return "".join(lines)


def _lines(text: str) -> list[str]:
    """The lines of a text with their ends; the last has none, and may be empty."""
    starts = [0, *(match.end() for match in LINE_END.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(starts)]


def _edit(lines: list[str], change: types.TextDocumentContentChangePartial, encoding: str) -> None:
    """Make one edit; a range that is reversed is empty."""
    first, last = change.range.start, change.range.end
    start = _place(lines, first.line, first.character, encoding)
    end = max(_place(lines, last.line, last.character, encoding), start)
    # a line more on both sides, since \r and \n may become one line end, or be one no more
    top, bottom = max(start[0] - 1, 0), min(end[0] + 2, len(lines))
    parts = [
        *lines[top : start[0]],
        lines[start[0]][: start[1]],
        change.text,
        lines[end[0]][end[1] :],
        *lines[end[0] + 1 : bottom],
    ]
    changed = _lines("".join(parts))
    if bottom < len(lines):
        changed.pop()  # the empty rest after the last line end; the next line is unchanged
    lines[top:bottom] = changed


def _place(lines: list[str], line: int, column: int, encoding: str) -> tuple[int, int]:
    """The line of a position, and how many characters stand before it there."""
    if line >= len(lines):
        return len(lines) - 1, len(lines[-1])
    return line, characters_before(lines[line].rstrip("\r\n"), column, encoding)
