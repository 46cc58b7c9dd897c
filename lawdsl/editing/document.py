"""Text in an editor -> Document: all that the language knows about it, whatever state it is in."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from lark import Token

from lawdsl.core.diagnostics import Diagnostic, LawdslError, Text, ordered
from lawdsl.core.recent import RecentTexts
from lawdsl.editing.positions import BYTE_ORDER_MARK, Positions
from lawdsl.language import size_limits
from lawdsl.language.edited_tokens import MAX_CHARACTERS, edited_lines, edited_tokens
from lawdsl.language.file_names import warnings_of_file_name
from lawdsl.language.keywords import section_of_text
from lawdsl.language.lexer import LogicalLine
from lawdsl.language.library import OpenFiles, declared_section
from lawdsl.language.pipeline_records import Pipeline
from lawdsl.language.questions import Question
from lawdsl.language.symbols import Declarations
from lawdsl.language.tree import SyntaxTree


@dataclass(frozen=True)
class Document:
    """A `.law` file at one moment of its editing.

    Spans and offsets count characters of `text`, which is without a byte order mark.

    Attributes:
        path: its file, which need not exist; laws that it names are searched for beside it.
        source: its text under the name that messages show.
        tree: the statements that could be read; those with a syntax error are missing.
        declared: the law, question or pipeline; None for a text with errors.
        diagnostics: all mistakes and warnings that `lawdsl check --syntax` reports, by place.
        named: the paths at which laws that it names, directly or not, were searched for.
        last_good: the last version of the document without errors, for answers about half-written
            text; None if there was none, or if this one has no errors.
    """

    path: Path
    source: Text
    tree: SyntaxTree
    declared: Declarations | Question | Pipeline | None
    diagnostics: tuple[Diagnostic, ...]
    named: frozenset[Path] = frozenset()
    last_good: Document | None = field(default=None, repr=False)
    mark: str = ""  # the byte order mark, if the editor's text begins with one

    @property
    def text(self) -> str:
        """The text, without a byte order mark."""
        return self.source.text

    @property
    def declarations(self) -> Declarations | None:
        """The law; None for another section, and for a text with errors."""
        return self.declared if isinstance(self.declared, Declarations) else None

    @property
    def question(self) -> Question | None:
        """The question; None for another section, and for a text with errors."""
        return self.declared if isinstance(self.declared, Question) else None

    @property
    def pipeline(self) -> Pipeline | None:
        """The pipeline; None for another section, and for a text with errors."""
        return self.declared if isinstance(self.declared, Pipeline) else None

    @property
    def good(self) -> Document | None:
        """This version, if it has no errors, or the last that had none."""
        return self if self.declared is not None else self.last_good

    @cached_property
    def section(self) -> str:
        """law, question or pipeline."""
        return section_of_text(self.text)

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """Words, strings, comments (COMMENT) and line ends (NEWLINE), without spaces; what no
        terminal matches is ILLEGAL. Empty for a text beyond the limits on size.
        """
        if self.too_large:
            return ()
        return tokens_of_text(self.text)

    @cached_property
    def logical_lines(self) -> tuple[LogicalLine, ...]:
        """The tokens of each statement and its comments, also where it has mistakes."""
        return edited_lines(self.text) if not self.too_large else ()

    @property
    def too_large(self) -> bool:
        """Whether the text is beyond the limits on size, so that nothing of it is read."""
        return any(d.code == "L0103" for d in self.diagnostics)

    def positions(self, encoding: str = "utf-16") -> Positions:
        """The lines and columns of the text in the editor, one record for each encoding."""
        if encoding not in self._positions:
            self._positions[encoding] = Positions(self.mark + self.text, encoding)
        return self._positions[encoding]

    @cached_property
    def _positions(self) -> dict[str, Positions]:
        return {}

    def tokens_before(self, offset: int) -> tuple[Token, ...]:
        """The tokens that end before an offset or there."""
        return self.tokens[: bisect_right(self.tokens, offset, key=_end)]

    def line_before(self, offset: int) -> tuple[Token, ...]:
        """The tokens behind the last line end that begin before an offset."""
        end = bisect_left(self.tokens, offset, key=_start)
        start = end
        while start and self.tokens[start - 1].type != "NEWLINE":
            start -= 1
        return self.tokens[start:end]

    def token_at(self, offset: int) -> Token | None:
        """The word, string or comment that an offset is in, or ends at; None for a space.

        Between two words it is the one that a name or keyword is: an editor's cursor stands behind
        what was written.
        """
        touching = [t for t in self.tokens if _start(t) <= offset <= _end(t)]
        touching = [t for t in touching if t.type != "NEWLINE"]
        inside = [t for t in touching if offset < _end(t)]
        names = [t for t in touching if t.value[:1].isalpha() or t.value[:1] == "_"]
        return next(iter([*names, *inside, *touching]), None)


_TOKENS: RecentTexts[tuple[Token, ...]] = RecentTexts(MAX_CHARACTERS)


def tokens_of_text(text: str) -> tuple[Token, ...]:
    """The words, strings, comments and line ends of a text; several answers need them.

    Args:
        text: the text, without a byte order mark.
    """
    return _TOKENS.get(text, lambda: tuple(edited_tokens(Text("", text))[0]))


def _start(token: Token) -> int:
    assert token.start_pos is not None
    return token.start_pos


def _end(token: Token) -> int:
    assert token.end_pos is not None
    return token.end_pos


def read_document(
    text: str,
    path: Path,
    *,
    name: str | None = None,
    opened: OpenFiles | None = None,
    last: Document | None = None,
    on_disk: bool = True,
) -> Document:
    """Read a text in whatever state it is; nothing is raised for a mistake in it.

    Args:
        text: the text of the editor.
        path: its file.
        name: under which messages show the file; its path by default.
        opened: the texts of all open files, which count instead of those on disk.
        last: the version before, from which the last good one is taken.
        on_disk: whether the path is that of a file; False for an unsaved document.
    """
    opened = OpenFiles() if opened is None else opened
    reading = replace(opened, named=set())
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    source = Text(str(path) if name is None else name, text.removeprefix(BYTE_ORDER_MARK))
    declared: Declarations | Question | Pipeline | None = None
    diagnostics: Sequence[Diagnostic]
    try:
        declared, diagnostics = declared_section(source, path.parent, reading)
        if on_disk:
            diagnostics = [*diagnostics, *warnings_of_file_name(declared, path)]
    except LawdslError as error:
        diagnostics = error.diagnostics
    tree, _ = reading.parsed.parse(source.text, source.name)
    good = None if declared is not None or last is None else last.good
    return Document(
        path=path,
        source=source,
        tree=tree,
        declared=declared,
        diagnostics=tuple(ordered(diagnostics)),
        named=frozenset(reading.named),
        last_good=good,
        mark=mark,
    )


def unread_document(text: str, path: Path) -> Document:
    """A text of which only the words are known, for answers that need no more.

    Args:
        text: the text of the editor.
        path: its file.
    """
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    source = Text(str(path), text.removeprefix(BYTE_ORDER_MARK))
    return Document(path, source, SyntaxTree(()), None, (), mark=mark)


def within_limits(text: str) -> bool:
    """Whether a text is small enough to be read; a longer one has one message, and no more."""
    return len(text) <= size_limits.MAX_BYTES
