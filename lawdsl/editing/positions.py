"""Offsets in a text <-> lines and columns, as editors count them.

The Language Server Protocol counts lines and columns from 0, ends lines at \\n, \\r\\n and \\r, and counts
columns in UTF-16 code units, unless client and server agree on bytes of UTF-8 or on code points
(Language Server Protocol Specification 3.17, "Text Documents").
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from lawdsl.language.characters import BYTE_ORDER_MARK as BYTE_ORDER_MARK

LINE_END = re.compile(r"\r\n|\r|\n")


def _utf8(char: str) -> int:
    code = ord(char)
    return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4


UNITS: Mapping[str, Callable[[str], int]] = {
    "utf-16": lambda char: 2 if ord(char) > 0xFFFF else 1,
    "utf-8": _utf8,
    "utf-32": lambda char: 1,
}
"""Encoding -> how many units of a column a character has in it."""


@dataclass(frozen=True)
class Positions:
    """The lines of a text, for one way to count columns.

    Offsets are those of diagnostics and trees: characters of the text behind its byte order mark, if
    it has one. Lines and columns include the mark, which the editor shows as a character.

    Attributes:
        text: the text, with its byte order mark.
        encoding: what columns count, a key of `UNITS`.
    """

    text: str
    encoding: str = "utf-16"

    @cached_property
    def _starts(self) -> list[int]:
        """Where each line begins, in characters of the whole text."""
        return [0, *(match.end() for match in LINE_END.finditer(self.text))]

    @cached_property
    def _mark(self) -> int:
        return len(BYTE_ORDER_MARK) if self.text.startswith(BYTE_ORDER_MARK) else 0

    @property
    def lines(self) -> int:
        """The number of lines; the last may be empty."""
        return len(self._starts)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 0; an offset beyond the text is its end."""
        at = min(max(offset, 0) + self._mark, len(self.text))
        line = bisect.bisect_right(self._starts, at) - 1
        before = self.text[self._starts[line] : at]
        return line, self._width(before)

    def offset(self, line: int, column: int) -> int:
        """The offset of a position; one beyond its line is the end of the line, one beyond the text
        the end of the text, and one inside a character the start of that character.
        """
        if line < 0:
            return 0
        if line >= len(self._starts):
            return len(self.text) - self._mark
        start, end = self._starts[line], self._end(line)
        at = start + characters_before(self.text[start:end], column, self.encoding)
        return max(at - self._mark, 0)

    def line_start(self, line: int) -> int:
        """The offset at which a line begins."""
        return max(self._starts[line] - self._mark, 0)

    def line_end(self, line: int) -> int:
        """The offset at which a line ends, before its line break."""
        return max(self._end(line) - self._mark, 0)

    def _end(self, line: int) -> int:
        if line + 1 >= len(self._starts):
            return len(self.text)
        end = self._starts[line + 1]
        return end - (2 if self.text[end - 2 : end] == "\r\n" else 1)

    def _width(self, text: str) -> int:
        if text.isascii() or self.encoding == "utf-32":
            return len(text)
        units = UNITS[self.encoding]
        return sum(units(char) for char in text)


def characters_before(content: str, column: int, encoding: str) -> int:
    """How many whole characters of a line stand before a column; beyond the line, all of them.

    Args:
        content: the line, without its end.
        column: a column.
        encoding: what columns count, a key of `UNITS`.
    """
    if content.isascii() or encoding == "utf-32":
        return min(max(column, 0), len(content))
    units = UNITS[encoding]
    width = 0
    for count, char in enumerate(content):
        width += units(char)
        if width > column:
            return count
    return len(content)
