"""The `require` lines of a document, and what their verdicts depend on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from lark import Token

from lawdsl.core.diagnostics import LawdslError, Span
from lawdsl.editing.document import Document
from lawdsl.editing.positions import BYTE_ORDER_MARK
from lawdsl.language.ast_builder import span_of
from lawdsl.language.claim_texts import claim_text
from lawdsl.language.keywords import ascii_name
from lawdsl.language.lexer import LogicalLine
from lawdsl.language.library import OpenFiles
from lawdsl.language.symbols import Claim, Declarations

WITHOUT_EFFECT = ("require", "note", "source")
"""Statements that no verdict depends on, but for the one on a claim itself."""
OF_FITS = ("law", "minimize", "start", "prior")
"""Further statements that no proof reads: they change warnings only."""


@dataclass(frozen=True)
class RequireLine:
    """A `require` line.

    Attributes:
        words: its words between single spaces, without comments.
        span: from its first to its last word, which may be on further lines.
    """

    words: str
    span: Span


def require_lines(document: Document) -> Iterator[RequireLine]:
    """The `require` lines, those with mistakes too, in the order of the file.

    Args:
        document: the document.
    """
    for line in document.logical_lines:
        if line.tokens and line.tokens[0].value == "require":
            yield RequireLine(_words(line), span_of(line.tokens))


def claim_key(claim: Claim) -> str:
    """What distinguishes the verdicts on the claims of one law.

    Args:
        claim: the claim.
    """
    return f"{claim_text(claim)} expect {claim.expect}"


def claimed_lines(document: Document) -> Mapping[str, str]:
    """Words of a `require` line -> the key of its claim, for a law without errors.

    Args:
        document: its document.
    """
    law = document.declarations
    assert law is not None
    claims = [c for c in law.claims if c.text.text == document.text]
    keys = {}
    for line in require_lines(document):
        for claim in claims:
            if line.span.start <= claim.span.start < line.span.end:
                keys[line.words] = claim_key(claim)
    return keys


def law_key(law: Declarations, document: Document) -> str:
    """A digest of all that the verdicts on claims of a law depend on, besides the claims.

    Args:
        law: the law.
        document: its document.
    """
    lines = [line for line in document.logical_lines if line.tokens]
    parts = [_words(line) for line in lines if line.tokens[0].value not in WITHOUT_EFFECT]
    parts += [repr((name, base.text.text)) for name, base in sorted(law.laws.items())]
    return _digest(parts)


def premises(document: Document, opened: OpenFiles) -> Mapping[str, str]:
    """Words of a `require` line -> a digest of all that a verdict on its claim depends on.

    It follows from the words of the lines alone, so that also a text with mistakes has it: a line
    that does not parse changes the digests of those claims only that may depend on what it names.

    Args:
        document: the document, in any state.
        opened: the texts of open files.
    """
    lines = [line for line in document.logical_lines if line.tokens]
    read = [_Line.of(line) for line in lines if _keyword(line) not in (*WITHOUT_EFFECT, *OF_FITS)]
    mentions: dict[str, list[int]] = {}  # name -> the lines that may say something about it
    for number, line in enumerate(read):
        for name in (line.defines,) if line.defines else line.names:
            mentions.setdefault(name, []).append(number)
    names_in_formula = {line.defines: line.names for line in read if line.defines}
    for number, line in enumerate(read):
        for name in () if line.defines else _reached(line.names, names_in_formula) - line.names:
            mentions.setdefault(name, []).append(number)  # a bound by way of a let
    always = [number for number, line in enumerate(read) if line.keyword == "extends"]
    texts = "\n".join(_texts_of_laws(document, opened))
    premises_of: dict[str, str] = {}
    digests: dict[tuple[str, ...], str] = {}
    reached: dict[str, tuple[set[str], set[int]]] = {}
    for claim in (line for line in lines if _keyword(line) == "require"):
        names = tuple(dict.fromkeys(_names(claim.tokens)))
        if names not in digests:
            known: set[str] = set()
            needed = set(always)
            for name in names:
                if name not in known:  # else all that it depends on is known, too
                    if name not in reached:
                        reached[name] = _connected(name, read, mentions)
                    known |= reached[name][0]
                    needed |= reached[name][1]
            digests[names] = _digest([*(read[number].words for number in sorted(needed)), texts])
        premises_of[_words(claim)] = digests[names]
    return premises_of


@dataclass(frozen=True)
class _Line:
    """A line that verdicts may depend on.

    Attributes:
        keyword: its first word.
        words: as in `RequireLine`.
        names: the names in it.
        defines: the name that a let, a setting or an equation defines; empty for other lines, which
            may say something about each of their names.
        declares: the names that a declaration only lists: `N` and `D` of `variable N, D > D_min`.
    """

    keyword: str
    words: str
    names: frozenset[str]
    defines: str
    declares: frozenset[str]

    @classmethod
    def of(cls, line: LogicalLine) -> _Line:
        tokens = line.tokens
        keyword = _keyword(line)
        names = frozenset(_names(tokens))
        second = str(tokens[1].value) if len(tokens) > 1 else ""
        defines = ""
        if keyword in ("let", "setting") and len(tokens) > 1:
            defines = ascii_name(str(tokens[1].value))
        elif tokens[0].type == "NAME" and second in ("=", "["):
            defines = ascii_name(keyword)
        return cls(keyword, _words(line), names, defines, _listed(line))

    def depends_on(self, name: str) -> frozenset[str]:
        """The names on which one of its names depends by this line."""
        return self.names - self.declares if name in self.declares else self.names


def _listed(line: LogicalLine) -> frozenset[str]:
    """The names that a declaration begins its items with, unless its bounds name them too."""
    if _keyword(line) not in ("variable", "parameter"):
        return frozenset()
    depth = 0
    first: set[str] = set()
    other: set[str] = set()
    for before, token in pairwise(line.tokens):
        if before.value in ("(", "[", "{"):
            depth += 1
        elif before.value in (")", "]", "}"):
            depth -= 1
        if token.type == "NAME":
            begins = not depth and (before is line.tokens[0] or before.value == ",")
            (first if begins else other).add(ascii_name(str(token.value)))
    return frozenset(first - other)


def _connected(
    name: str, lines: list[_Line], mentions: Mapping[str, list[int]]
) -> tuple[set[str], set[int]]:
    """The names on which a name depends, and the numbers of the lines that say something of them."""
    known = {name}
    needed: set[int] = set()
    waiting = [name]
    while waiting:
        name = waiting.pop()
        for number in mentions.get(name, ()):
            needed.add(number)
            new = lines[number].depends_on(name) - known
            waiting += new
            known |= new
    return known, needed


def _reached(names: frozenset[str], names_in_formula: Mapping[str, frozenset[str]]) -> set[str]:
    """Names, and those that their formulas depend on."""
    known = set(names)
    waiting = list(names)
    while waiting:
        new = names_in_formula.get(waiting.pop(), frozenset()) - known
        known |= new
        waiting += new
    return known


def _texts_of_laws(document: Document, opened: OpenFiles) -> Iterator[str]:
    """The laws that a document names, with their present texts; of the last ones that are known."""
    law = document.good.declarations if document.good is not None else None
    for name, base in sorted(law.laws.items()) if law is not None else ():
        text = base.text.text
        if document.declarations is None:  # read before the last edit: it may have changed since
            try:
                text = opened.read(Path(base.text.name)).text.removeprefix(BYTE_ORDER_MARK)
            except LawdslError:
                text = ""
        yield repr((name, text))


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _keyword(line: LogicalLine) -> str:
    return str(line.tokens[0].value)


def _names(tokens: Iterable[Token]) -> Iterator[str]:
    return (ascii_name(str(token.value)) for token in tokens if token.type == "NAME")


def _words(line: LogicalLine) -> str:
    return " ".join(str(token.value) for token in line.tokens)
