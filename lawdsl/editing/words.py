"""Text in any state -> its words, each with the part that it plays in its line.

The parts follow from the words of a line alone, so that a line which does not parse has them too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from lark import Token

from lawdsl.core.diagnostics import Span
from lawdsl.core.losses import LOSSES
from lawdsl.core.recent import RecentTexts
from lawdsl.editing.document import tokens_of_text
from lawdsl.language.ast_builder import span_of
from lawdsl.language.edited_tokens import MAX_CHARACTERS, edited_lines
from lawdsl.language.keywords import (
    AGGREGATES,
    CONSTANTS,
    FUNCTIONS,
    SPECIAL,
    ascii_name,
)
from lawdsl.language.label_texts import without_quotes
from lawdsl.language.parser import with_types
from lawdsl.language.size_limits import MAX_BYTES

MAX_REMEMBERED = 1000  # characters of a line whose words are cached
MAX_LINE_CHARACTERS = 200_000  # of all these lines together
CALLED = frozenset((*FUNCTIONS, *AGGREGATES, *SPECIAL))
OPENING = ("LPAR", "LSQB", "LBRACE")
CLOSING = ("RPAR", "RSQB", "RBRACE")
DECLARING = {
    "VARIABLE": "variable",
    "PARAMETER": "parameter",
    "GIVEN": "given",
    "CHOOSE": "unknown",
    "SETTING": "setting",
    "LET": "let",
    "INDEX": "index",
    "USES": "use",
    "STEP": "step",
    "KEEP": "step",
}
"""Terminal that begins a line -> the kind of what the line declares."""
SYMBOLS = frozenset(
    ("RELATION", "UNEQUAL", "EQUAL", "PLUS", "MINUS", "PLUSMINUS", "STAR", "SLASH", "CIRCUMFLEX")
    + ("DEL", "ORDER", "__ANON_0", "__ANON_1", "__ANON_2", "COMMA", "COLON", "DOT")
    + (*OPENING, *CLOSING)
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a line.

    Attributes:
        span: its place; of the name of a law all that its dots join.
        text: the word, names with Greek letters written out.
        role: keyword, symbol, number, string, comment, illegal, unit, verdict, function, constant,
            option (of an objective), header (the name that a file declares), law (another file), name
            (something declared), subscript (an index or a label), label, set (of labels), column
            (of a table), argument (the name before `=` where a law is taken at values).
        declares: the kind of what the word declares, as in `Symbol.kind`; empty for a mention.
        of: of an argument what is called: the name of a use or an output, or of a law.
        line: the number of its logical line.
        alone: whether it stands for the value of the variable of its name: the N of `loss(N, D = 1)`.
        indexed: whether subscripts follow.
    """

    span: Span
    text: str
    role: str
    declares: str = ""
    of: str = ""
    line: int = 0
    alone: bool = False
    indexed: bool = False

    @property
    def name(self) -> str:
        """The text; of a label in quotes that between them."""
        return without_quotes(self.text) if self.text.startswith('"') else self.text


@dataclass(frozen=True)
class Line:
    """A logical line.

    Attributes:
        keyword: what begins it: `variable`, `output` for an equation.
        as_read: its words at the position where this line was first read, in this or another text.
        span: from its first to its last word.
        by: the offset (characters) of this line from that position.
        number: its number.
    """

    keyword: str
    as_read: tuple[Word, ...]
    span: Span
    by: int = 0
    number: int = 0

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """Its words in their order, without comments; most answers need those of few lines."""
        if self.by == 0 and self.as_read[0].line == self.number:
            return self.as_read
        return tuple(self._placed(word) for word in self.as_read)

    def called(self, name: str) -> Iterator[Word]:
        """The words of a name.

        Args:
            name: the name, or a label without quotes.
        """
        return (self._placed(word) for word in self.as_read if word.name == name)

    @property
    def declaring(self) -> Iterator[Word]:
        """The words that declare something."""
        return (self._placed(word) for word in self.as_read if word.declares)

    def _placed(self, word: Word) -> Word:
        start, end = word.span.start + self.by, word.span.end + self.by
        return Word(
            Span(start, end),
            word.text,
            word.role,
            word.declares,
            word.of,
            self.number,
            word.alone,
            word.indexed,
        )


@dataclass(frozen=True)
class Words:
    """The words of a text.

    Attributes:
        lines: the logical lines that have words.
        comments: the comments, in the order of the text.
    """

    lines: tuple[Line, ...]
    comments: tuple[Word, ...]

    def __iter__(self) -> Iterator[Word]:
        for line in self.lines:
            yield from line.words

    def called(self, name: str) -> Iterator[Word]:
        """The words of a name.

        Args:
            name: the name, or a label without quotes.
        """
        for line in self.lines:
            yield from line.called(name)

    def at(self, offset: int) -> Word | None:
        """The word or comment that an offset is in or at the end of; a name before a symbol."""
        touched = [line for line in self.lines if line.span.start <= offset <= line.span.end]
        words = (*(word for line in touched for word in line.words), *self.comments)
        touching = [w for w in words if w.span.start <= offset <= w.span.end]
        touching.sort(key=lambda w: (w.role == "symbol", w.span.end == offset))
        return touching[0] if touching else None


_WORDS: RecentTexts[Words] = RecentTexts(MAX_CHARACTERS)
_LINES: RecentTexts[Line] = RecentTexts(MAX_LINE_CHARACTERS)


def words_of(text: str) -> Words:
    """The words of a text, which may have any mistakes; none of one beyond the limits on size.

    Args:
        text: the text, without a byte order mark.
    """
    if len(text) > MAX_BYTES:
        return Words((), ())
    return _WORDS.get(text, lambda: _words_of(text))


def _words_of(text: str) -> Words:
    tokens = tokens_of_text(text)
    comments = tuple(
        Word(span_of(t), str(t.value), "comment") for t in tokens if t.type == "COMMENT"
    )
    lines: list[Line] = []
    for line in edited_lines(text):
        if not line.tokens:
            continue
        span = span_of(line.tokens)
        short = span.end - span.start <= MAX_REMEMBERED
        if short and all(token.type != "ILLEGAL" for token in line.tokens):
            # an edit leaves most lines as they are: their words are known
            line_text = text[span.start : span.end]
            known = _LINES.get(line_text, partial(words_of_line, line.tokens, len(lines)))
            by = span.start - known.span.start
            lines.append(Line(known.keyword, known.as_read, span, by, len(lines)))
        else:
            lines.append(words_of_line(line.tokens, len(lines)))
    return Words(tuple(lines), comments)


def words_of_line(tokens: Sequence[Token], number: int = 0) -> Line:
    """The words of a logical line.

    Args:
        tokens: its tokens, at least one.
        number: its number.
    """
    words = tuple(_Reader(with_types(tokens), number).read())
    first = tokens[0]
    keyword = str(first.value) if words[0].role == "keyword" else "output"
    return Line(keyword, words, span_of(tokens), number=number)


class _Reader:
    """Goes once through the words of a line."""

    def __init__(self, tokens: Sequence[Token], number: int) -> None:
        self.tokens = tokens
        self.types = [token.type for token in tokens]
        self.number = number
        self.head = self.types[0]
        self.clause = self.head  # the word that says what follows: BY, WHERE, AT, UNIT, FOR, …
        self.calls: list[str] = []  # what each open bracket belongs to: "(" or "[", "{", a name
        self.seen: set[str] = set()  # names that the line declares
        self.law = ""  # the law of a step
        self.equals = False  # whether the `=` behind what is defined was read

    def read(self) -> Iterator[Word]:
        """The words in their order."""
        position = 0
        while position < len(self.tokens):
            token = self.tokens[position]
            if token.type == "NAME":
                length = self._path_length(position)
                yield self._name(position, length)
                position += length
                continue
            yield self._other(position, token)
            position += 1

    def _type(self, position: int) -> str:
        return self.types[position] if 0 <= position < len(self.types) else ""

    def _other(self, position: int, token: Token) -> Word:
        kind = token.type
        span = span_of(token)
        if kind in OPENING:
            self.calls.append(self._called(position))
        elif kind in CLOSING and self.calls:
            self.calls.pop()
        elif kind == "EQUAL" and not self.calls:
            self.equals = True
        if kind in SYMBOLS:
            return Word(span, str(token), "symbol", line=self.number)
        if kind in ("NUMBER", "STRING", "ILLEGAL"):
            role = kind.lower()
            if kind == "STRING" and self.calls and self.calls[-1] == "[":
                role = "label"
            return Word(span, str(token), role, line=self.number)
        if kind == "FOR" and self.calls:
            self.calls[-1] = "for"
        elif not self.calls:
            self.clause = kind
        return Word(span, str(token), "keyword", line=self.number)

    def _called(self, position: int) -> str:
        """What an opening bracket belongs to: the name before it, or the bracket itself."""
        bracket = {"LSQB": "[", "LBRACE": "{"}.get(self.types[position], "(")
        if bracket != "(":
            behind_name = self._type(position - 1) == "NAME"
            return bracket if bracket == "{" or behind_name else "("  # an interval
        before = position - 1
        if self._type(before) == "RSQB":  # loss[i](r[j])
            while before > 0 and self._type(before) != "LSQB":
                before -= 1
            before -= 1
        return ascii_name(self.tokens[before]) if self._type(before) == "NAME" else "("

    def _path_length(self, position: int) -> int:
        """How many tokens the dotted name takes that begins at a position."""
        length = 1
        while self._type(position + length) == "DOT":
            length += 1
            if self._type(position + length) != "NAME":
                return length  # a name that is being written: `dcpt.`
            length += 1
        return length

    def _name(self, position: int, length: int) -> Word:
        tokens = self.tokens[position : position + length]
        text = "".join(ascii_name(t) for t in tokens)
        word = Word(span_of(tokens), text, "name", line=self.number)
        word = replace(word, indexed=self._type(position + length) == "LSQB")
        return self._placed(word, position, position + length)

    def _placed(self, word: Word, position: int, end: int) -> Word:
        """A name with its role."""
        before, behind = self._type(position - 1), self._type(end)
        inside = self.calls[-1] if self.calls else ""
        if self.clause == "UNIT":
            return replace(word, role="unit")
        if before == "EXPECT":
            return replace(word, role="verdict")
        if before == "KIND":
            return replace(word, role="header")
        if before in ("EXTENDS", "IS") or (self.head == "USES" and before == "COLON"):
            return replace(word, role="law")
        if self.head == "STEP" and self.clause == "STEP":
            return self._of_step(word, position, behind)
        if inside == "[":
            return replace(word, role="subscript")
        if inside == "{" and self.head == "INDEX":
            return replace(word, role="label")
        if "." in word.text:
            return replace(word, role="law")
        if behind == "LPAR" and word.text in CALLED:
            return replace(word, role="function")
        if word.text in CONSTANTS:
            return replace(word, role="constant")
        if inside and behind == "EQUAL" and inside != "{":
            option = inside in LOSSES and word.text == "over"
            return replace(word, role="option" if option else "argument", of=inside)
        if not self.calls:
            word = self._outside(word, before, behind)
        alone = before in ("LPAR", "COMMA") and behind in ("RPAR", "COMMA", "LSQB", "")
        called = inside not in ("", "(", "{", "for") and inside not in CALLED
        return replace(word, alone=alone and called, of=inside if alone and called else word.of)

    def _of_step(self, word: Word, position: int, behind: str) -> Word:
        if position == 1 and behind == "COLON":
            return replace(word, declares="step")
        self.law = word.text
        return replace(word, role="law")

    def _outside(self, word: Word, before: str, behind: str) -> Word:
        """A name outside brackets: of a declaration, an assignment, or a formula."""
        if self.head in ("STEP", "KEEP"):
            if self.clause == "KEEP" and before == "KEEP":
                return replace(word, declares="step")
            if self.clause == "BY" or (self.clause == "WHERE" and before in ("WHERE", "COMMA")):
                return replace(word, role="column", of=self.law)
            if self.clause in ("AT", "SINCE") and before in ("AT", "SINCE", "COMMA"):
                return replace(word, role="argument", of=self.law)
            return word
        first = before in ("", self.head, "COMMA")
        if self.head == "INDEX" and self.clause == "OVER":
            return replace(word, role="set")
        if self.head in ("SETTING", "LET"):
            return replace(word, declares=DECLARING[self.head]) if before == self.head else word
        if self.head in DECLARING and first and word.text not in self.seen:
            self.seen.add(word.text)
            return replace(word, declares=DECLARING[self.head])
        if before == "" and behind in ("EQUAL", "LSQB", ""):
            return replace(word, declares="output")
        return word


def header_of(words: Words) -> Word | None:
    """The word of the name that a file declares.

    Args:
        words: the words of the file.
    """
    return next((word for word in words if word.role == "header"), None)
