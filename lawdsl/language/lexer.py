"""Tokens -> logical lines: the extent of each statement, and the comments that belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lark import Token

from lawdsl.core.diagnostics import Diagnostic, Text
from lawdsl.language import size_limits
from lawdsl.language.ast_builder import span_of
from lawdsl.language.keywords import LEADING, PIECEWISE, STATEMENTS

OPENERS = {"(": ")", "[": "]", "{": "}"}
CLOSERS = frozenset(OPENERS.values())
CONTINUES = frozenset("+ - ± * / ^ , = < > <= >= ≤ ≥ != -> for in as is".split())


@dataclass(frozen=True)
class BracketError:
    """An unmatched bracket, or brackets nested too deeply."""

    code: str
    message: str
    token: Token
    help: str | None = None

    def to_diagnostic(self, source: Text) -> Diagnostic:
        """The message for this mistake, at its place in a text."""
        span = span_of(self.token)
        return Diagnostic(self.code, self.message, text=source, span=span, help=self.help)


@dataclass(frozen=True)
class LogicalLine:
    """The tokens of one statement (none for a line with comments alone) and its comments."""

    tokens: tuple[Token, ...]
    above: tuple[str, ...]
    behind: str | None
    gap: bool
    broken: BracketError | None


@dataclass
class _StatementBuffer:
    """The statement being read."""

    tokens: list[Token] = field(default_factory=list)
    brackets: list[Token] = field(default_factory=list)
    above: list[str] = field(default_factory=list)
    inside: list[str] = field(default_factory=list)
    inside_behind: bool = False  # whether the last of them stands behind words of the statement
    behind: str | None = None
    gap: bool = False
    broken: BracketError | None = None
    piecewise: bool = False  # whether there is an `if`

    def closed(self) -> LogicalLine:
        if self.brackets and self.broken is None:
            opener = self.brackets[-1]
            message = f"`{opener}` is never closed"
            self.broken = BracketError(
                "L0202", message, opener, f"close it with `{OPENERS[opener]}`"
            )
        above, behind = (*self.above, *self.inside), self.behind
        if self.inside_behind and len(self.inside) == 1 and behind is None:
            above, behind = tuple(self.above), self.inside[0]
        return LogicalLine(tuple(self.tokens), above, behind, self.gap, self.broken)


def logical_lines(words: Sequence[Token]) -> list[LogicalLine]:
    """Group tokens into statements.

    A line break does not end a statement while a bracket is open or after an operator, unless the
    next line begins a statement; so an unclosed bracket affects its own statement only. A comment
    behind a line inside a statement moves behind it, if that has no other; all others move above it.
    """
    lines: list[LogicalLine] = []
    buffer = _StatementBuffer()
    line_is_empty = True  # nothing but comments since the last line end
    for word, following in zip(words, _followers(words), strict=True):
        if word.type == "NEWLINE":
            if buffer.tokens and not _continues(buffer, following):
                lines.append(buffer.closed())
                buffer = _StatementBuffer()
            elif line_is_empty and not buffer.tokens:  # a blank line ends a paragraph of comments
                if buffer.above:
                    lines.append(buffer.closed())
                    buffer = _StatementBuffer()
                buffer.gap = bool(lines)
            line_is_empty = True
        elif word.type == "COMMENT":
            _add_comment(buffer, word, following)
            line_is_empty = False
        else:
            line_is_empty = False
            buffer.tokens.append(word)
            buffer.piecewise |= word.value == "if"
            _count_bracket(buffer, word)
    if buffer.tokens or buffer.above:
        lines.append(buffer.closed())
    return lines


# the next word, and whether an equation or a statement begins with it
Following = tuple[Token | None, bool, bool]


def _followers(words: Sequence[Token]) -> list[Following]:
    """For each word, the next that is neither line end nor comment."""
    followers: list[Following] = []
    first: Token | None = None
    equation = False  # whether `NAME =` or `NAME[i, j] =` begins with it
    statement = False  # whether it is the keyword of one
    equal = inside = opened = False  # whether `=`, `i, j] =` or `[i, j] =` does
    # backwards, so that one pass knows what follows each word
    for word in reversed(words):
        followers.append((first, equation, statement))
        if word.type in ("NEWLINE", "COMMENT"):
            continue
        # text follows `note`, a name the others
        follower = "STRING" if word.value == "note" else "NAME"
        leads = word.value in LEADING and first is not None and first.type == follower
        statement = word.value in STATEMENTS or leads
        equation = word.type == "NAME" and (equal or opened)
        opened = word.value == "[" and inside
        inside = equal if word.value == "]" else inside and (word.type == "NAME" or word == ",")
        equal = word.value == "="
        first = word
    return followers[::-1]


def _continues(buffer: _StatementBuffer, following: Following) -> bool:
    first, equation, statement = following
    last = buffer.tokens[-1].value
    if first is None or statement:
        return False
    if equation and last not in "(,":
        return False  # an equation begins; `name = value` within a statement stands behind ( or ,
    if last == ":" and buffer.tokens[0].value == "uses":
        return True
    # a piecewise formula goes on behind its words, and before `then` and `else`
    piecewise = buffer.piecewise and (last in PIECEWISE or first.value in PIECEWISE[1:])
    return bool(buffer.brackets) or last in CONTINUES or piecewise


def _add_comment(buffer: _StatementBuffer, word: Token, following: Following) -> None:
    text = str(word.value).rstrip()
    if not buffer.tokens:
        buffer.above.append(text)
    elif _continues(buffer, following):
        buffer.inside.append(text)
        buffer.inside_behind = buffer.tokens[-1].end_line == word.line
    else:
        buffer.behind = text


def _count_bracket(buffer: _StatementBuffer, word: Token) -> None:
    """Keep count of brackets. Any closer closes any opener: intervals are written [0, 1)."""
    if word.value in OPENERS and word.type != "STRING":
        buffer.brackets.append(word)
        if len(buffer.brackets) > size_limits.MAX_NESTING and buffer.broken is None:
            message = f"brackets are nested more than {size_limits.MAX_NESTING} deep"
            help = "name a part of the formula with `let`"
            buffer.broken = BracketError("L0104", message, word, help)
    elif word.value in CLOSERS and word.type != "STRING":
        if buffer.brackets:
            buffer.brackets.pop()
        elif buffer.broken is None:
            buffer.broken = BracketError("L0208", f"`{word}` closes nothing", word, "remove it")
