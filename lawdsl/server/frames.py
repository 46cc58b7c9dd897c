"""Bytes of a connection -> messages: headers, lengths and JSON, and what is wrong with them.

The headers are those of the Base Protocol (Language Server Protocol Specification 3.17). Where one is
malformed, the connection goes on at the next header: valid JSON contains no `Content-Length: 5` that a
line end follows, since within its strings line ends are escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MAX_MESSAGE = 128 << 20  # bytes; editors do not synchronise larger texts
MAX_LINE = 1 << 16  # bytes of a header; a longer one is searched in parts
LONGEST_LENGTH = 64  # bytes of a Content-Length header that may be split between two parts
PIECE = 1 << 16  # bytes that are read at once

LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d+)\s*", re.IGNORECASE)
BROKEN_LENGTH = re.compile(rb"content-length[ \t]*:", re.IGNORECASE)
HEADER = re.compile(rb"[A-Za-z][A-Za-z0-9-]*[ \t]*:.*\s*")
EMBEDDED_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*\d+[ \t]*\r?\n", re.IGNORECASE)
HTTP = re.compile(rb"[A-Z]+ \S+ HTTP/\d")


@dataclass(frozen=True)
class Message:
    """What was read as JSON.

    Attributes:
        value: the plain data.
        size: its length (bytes).
    """

    value: Any
    size: int


@dataclass(frozen=True)
class Fault:
    """Why bytes are no message.

    Attributes:
        reason: what is wrong, and what would be right.
        in_body: whether the headers are valid and the fault is in the body.
    """

    reason: str
    in_body: bool = False


class Frames:
    """Reads messages from a stream, one after the other."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        """Read from a stream.

        Args:
            read: largest number of bytes -> at least one byte, once available; empty at the end.
        """
        self._read = read
        self._bytes = bytearray()
        self._lost = False  # whether a fault was reported and no valid header has followed

    def next(self) -> Message | Fault | None:
        """The next message, or what is wrong with it; None at the end, also within a message."""
        while True:
            length = self._header()
            if not isinstance(length, int):
                if length is None or not self._lost:
                    self._lost = True
                    return length
                continue
            body = self._take(length)
            part = None if body is None else self._parsed(body)
            self._lost = isinstance(part, Fault)  # perhaps the length was wrong
            return part

    def _header(self) -> int | Fault | None:
        """The length of the next message (bytes)."""
        lengths: set[int] = set()
        is_begun = False
        fault = ""
        while line := self._line():
            if not line.strip():
                if is_begun:
                    break
                continue
            if match := LENGTH.fullmatch(line):
                lengths.add(int(match[1][:20]))  # a longer one is too large, anyway
            elif BROKEN_LENGTH.match(line):
                fault = f"`{_shown(line)}` is not a length: write `Content-Length: BYTES`"
            elif HTTP.match(line):
                self._read, self._bytes = _nothing, bytearray()
                return Fault("this is HTTP; the server speaks the Language Server Protocol")
            elif (embedded := EMBEDDED_LENGTH.search(line)) or not HEADER.fullmatch(line):
                if embedded is not None:
                    self._bytes[:0] = line[embedded.start() :]
                elif len(line) == MAX_LINE and not line.endswith(b"\n"):
                    self._bytes[:0] = line[-LONGEST_LENGTH:]
                return Fault(f"`{_shown(line)}` is not a header: write `Content-Length: BYTES`")
            is_begun = True
        else:
            return None
        if fault:
            return Fault(fault)
        if not lengths:
            return Fault("the headers have no `Content-Length: BYTES`")
        if len(lengths) > 1:
            return Fault(f"the headers have several lengths: {sorted(lengths)}")
        length = lengths.pop()
        if length > MAX_MESSAGE:
            return Fault(f"a message of {length} bytes is too large: at most {MAX_MESSAGE}")
        return length

    def _parsed(self, body: bytes) -> Message | Fault:
        """A message. If its length is too large, the bytes after its JSON are read again."""
        try:
            encoding = json.detect_encoding(body)
            text = body.decode(encoding, "surrogatepass")
            try:
                return Message(json.loads(text), len(body))
            except json.JSONDecodeError as error:
                if not error.msg.startswith("Extra data"):
                    raise
                value = json.loads(text[: error.pos])
                self._bytes[:0] = text[error.pos :].encode(encoding, "surrogatepass")
                return Message(value, len(body))
        except (ValueError, RecursionError, MemoryError) as error:
            return Fault(f"the message cannot be read as JSON: {error}", in_body=True)

    def _line(self) -> bytes:
        """The next line with its end, or a part of a long one; empty at the end of the stream."""
        while (end := self._bytes.find(b"\n", 0, MAX_LINE) + 1) == 0:
            if len(self._bytes) >= MAX_LINE:
                end = MAX_LINE
                break
            if not self._more():
                end = len(self._bytes)
                break
        return self._cut(end)

    def _take(self, length: int) -> bytes | None:
        while len(self._bytes) < length:
            if not self._more():
                return None
        return self._cut(length)

    def _cut(self, length: int) -> bytes:
        part = bytes(memoryview(self._bytes)[:length])
        del self._bytes[:length]
        return part

    def _more(self) -> bool:
        part = self._read(PIECE)
        self._bytes += part
        return bool(part)


def _nothing(size: int) -> bytes:
    return b""


def _shown(line: bytes) -> str:
    """The beginning of a line, with all but printable ASCII escaped."""
    text = line.strip()[:60].decode("ascii", "backslashreplace")
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
