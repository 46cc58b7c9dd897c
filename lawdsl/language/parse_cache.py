"""Text of a law -> its syntax tree, parsed once however often the text is read.

A command meets the same text several times: as a file of the library, as a law that other laws are
built on, and in each fit that stores it. All of them read it here.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.language import size_limits
from lawdsl.language.known_lines import KnownLines
from lawdsl.language.parser import parse
from lawdsl.language.tree import SyntaxTree

MAX_EDITED = 64  # names of texts whose lines are known


@dataclass(frozen=True)
class ParseCache:
    """The syntax trees of the texts that were read last.

    Attributes:
        max_characters: of all texts together whose trees are kept; a tree takes memory in
            proportion to its text, so this bounds the memory.
        edited: whether texts are edited: of a text of the same name as one before, only the lines are
            parsed that this one did not have.

    Of the texts with mistakes, the last is kept: an editor reads one several times.
    """

    max_characters: int
    edited: bool = False
    _trees: OrderedDict[bytes, tuple[SyntaxTree, int]] = field(default_factory=OrderedDict)
    _mistaken: dict[tuple[str, str], tuple[SyntaxTree, list[Diagnostic]]] = field(
        default_factory=dict
    )
    _lines: OrderedDict[str, KnownLines] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def parse(self, text: str, name: str = "<text>") -> tuple[SyntaxTree, list[Diagnostic]]:
        """Parse a `.law` file, unless the tree of its text is known.

        Args:
            text: the file's text; a byte order mark is dropped.
            name: under which the file is shown in messages.

        Returns:
            The statements that could be read, and a diagnostic for each mistake.
        """
        text = text.removeprefix("\ufeff")
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        with self._lock:
            if key in self._trees:
                self._trees.move_to_end(key)
                return self._trees[key][0], []
            if (known := self._mistaken.get((name, text))) is not None:
                return known[0], list(known[1])
        if self.edited:
            document, mistakes = parse(text, name, self._known(name))
        else:
            document, mistakes = parse(text, name)
        if not mistakes:  # diagnostics show the name of the file, which another file does not share
            self._add(key, document, len(text))
        else:
            with self._lock:
                self._mistaken.clear()
                self._mistaken[name, text] = document, list(mistakes)
        return document, mistakes

    def _known(self, name: str) -> KnownLines:
        """The lines of the text before, of the same name."""
        with self._lock:
            lines = self._lines.pop(name, {})
            self._lines[name] = lines
            if len(self._lines) > MAX_EDITED:
                self._lines.popitem(last=False)
            return lines

    def clear(self) -> None:
        """Forget all trees."""
        with self._lock:
            self._trees.clear()
            self._mistaken.clear()
            self._lines.clear()

    def _add(self, key: bytes, document: SyntaxTree, characters: int) -> None:
        """Keep a tree, and forget those read longest ago beyond the limit."""
        with self._lock:
            self._trees[key] = document, characters
            total = sum(size for _, size in self._trees.values())
            while total > self.max_characters:
                _, (_, size) = self._trees.popitem(last=False)
                total -= size


CACHE = ParseCache(size_limits.MAX_BYTES)
"""That of the library and of stored fits. A law may be built on texts of this size together."""
