"""Text -> syntax tree and all syntax errors of a file.

The text is tokenized once, the tokens are grouped into logical lines, and each line is parsed
separately by an LALR(1) parser (Aho, Lam, Sethi and Ullman (2006), Compilers: Principles,
Techniques, and Tools, 2nd ed., section 4.7), starting from the grammar's rule `statement`. A line
that does not parse is skipped, so one mistake does not hide those of other lines.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from lark import Token
from lark.exceptions import UnexpectedToken
from lark.lexer import LexerThread

from lawdsl.core.diagnostics import Diagnostic, Edit, Span, Text
from lawdsl.core.lazy_modules import lazy_module
from lawdsl.language import size_limits
from lawdsl.language.ast_builder import span_of
from lawdsl.language.characters import LOOKALIKES
from lawdsl.language.edited_tokens import edited_lines, edited_tokens
from lawdsl.language.keywords import LEADING, PIECEWISE, PLACED, ascii_name, section_of_text
from lawdsl.language.known_lines import KnownLines, known_statement, remember
from lawdsl.language.lexer import LogicalLine, logical_lines
from lawdsl.language.tokens import grammar, lexer, tokens_of
from lawdsl.language.tree import (
    Definition,
    Formula,
    Number,
    SourceLine,
    Statement,
    SyntaxTree,
    UnitOf,
    children,
    walk,
)

if TYPE_CHECKING:
    from lawdsl.language.foreign import functions as foreign_functions, lines as foreign_lines
    from lawdsl.language.mistakes import suggestions, syntax_errors, whole_lines
else:  # they explain mistakes, of which most texts have none
    foreign_functions = lazy_module("lawdsl.language.foreign.functions")
    foreign_lines = lazy_module("lawdsl.language.foreign.lines")
    suggestions = lazy_module("lawdsl.language.mistakes.suggestions")
    syntax_errors = lazy_module("lawdsl.language.mistakes.syntax_errors")
    whole_lines = lazy_module("lawdsl.language.mistakes.whole_lines")

MAX_MISTAKES_IN_LINE = 20  # that are corrected together
MAX_WORDS_READ_AGAIN = 500  # of a line, each time that it is read after a correction
ANYTHING = "*"  # among the unread names: any name may have been declared


def parse(
    text: str, name: str = "<text>", known: KnownLines | None = None
) -> tuple[SyntaxTree, list[Diagnostic]]:
    """Parse a `.law` file.

    Args:
        text: the file's text; a byte order mark is dropped.
        name: under which the file is shown in messages.
        known: the lines of a version before, which need not be parsed again; it is changed to the
            lines of this version.

    Returns:
        The statements that could be read, and a diagnostic for each mistake.
    """
    source = Text(name, text.removeprefix("\ufeff"))
    if len(source.text.encode("utf-8", "surrogatepass")) > size_limits.MAX_BYTES:
        return _TOO_LARGE, [too_large("the file is larger than 1 MiB", source)]
    tokens, diagnostics = tokens_of(source) if known is None else edited_tokens(source)
    if len(tokens) > size_limits.MAX_TOKENS:
        return _TOO_LARGE, [
            too_large(f"the file has more than {size_limits.MAX_TOKENS:,} words", source)
        ]
    lines = []
    before = dict(known) if known is not None else {}
    if known is not None:
        known.clear()
    unread_names: set[str] = set()
    for line in logical_lines(tokens) if known is None else edited_lines(source.text):
        statement = None
        if line.tokens:
            statement = known_statement(before, line, source)
            mistakes: list[Diagnostic] = []
            if statement is None:
                statement, mistakes = _statement(line, source)
            if known is not None and statement is not None and not mistakes:
                remember(known, line, source, statement)
            meant = None if statement is not None else _whole_line(line, source)
            if meant is not None:
                explained_span, mistakes = meant
                diagnostics = [d for d in diagnostics if not _within(d, explained_span)]
            diagnostics += mistakes
            if statement is None:
                unread_names |= _names(line, source)
                if _extends(line.tokens, source):
                    unread_names.add(ANYTHING)  # what the extended law declares
                illegal_here = any(token.type == "ILLEGAL" for token in line.tokens)
                if illegal_here and meant is None:
                    diagnostics = suggestions.with_suggestion(
                        diagnostics, line.tokens, source, _parses, _lexed
                    )
        lines.append(SourceLine(statement, line.above, line.behind, line.gap))
        if len(diagnostics) > size_limits.MAX_ERRORS:
            diagnostics.append(too_many(source))
            unread_names.add(ANYTHING)
            break
    return SyntaxTree(tuple(lines), frozenset(unread_names)), diagnostics


def _whole_line(line: LogicalLine, source: Text) -> tuple[Span, list[Diagnostic]] | None:
    """The place of a line and its one message, where the form of the whole line says what is meant."""
    span = span_of(line.tokens)
    end = source.text.find("\n", span.end)
    text = source.text[span.start : end if end > 0 else None]
    lexed = list(LexerThread.from_text(lexer(), text).lex(None))  # type: ignore[no-untyped-call]
    comment = next((token for token in lexed if token.type == "COMMENT"), None)
    if comment is not None:
        text = text[: comment.start_pos]
        if "\n" in source.text[span.start : span.end]:
            return None
    words = [t for t in lexed if t.type not in ("SPACE", "COMMENT", "NEWLINE")]
    if not words or _parses(text):
        return None
    kind = section_of_text(source.text)
    words = words[:-1] if len(words) > 1 and words[-1].value == ";" else words
    whole = whole_lines.Line(
        text.rstrip().rstrip(";").rstrip(), words, source.text, span.start, kind, _parses, _formula
    )
    several = "\n" in whole.text
    rules = foreign_lines.SEVERAL_LINES_RULES if several else foreign_lines.WHOLE_LINE_RULES
    found = whole_lines.explained(whole, rules, source)
    return None if found is None else (Span(span.start, span.start + len(text)), list(found))


def _extends(tokens: Sequence[Token], source: Text) -> bool:
    """Whether a line begins with `extends`, or with a word that stands for it."""
    words = "extends extend inherits inherit import include from using use".split()
    of_python = len(tokens) > 1 and str(tokens[1]) in foreign_functions.IMPORTED
    law = section_of_text(source.text) == "law"
    return law and str(tokens[0]).lower() in words and not of_python


def _within(diagnostic: Diagnostic, span: Span) -> bool:
    return diagnostic.span is not None and span.start <= diagnostic.span.start < span.end


def _formula(text: str) -> Formula | None:
    """The syntax tree of a formula; None for another text."""
    words = _lexed(text)
    if not words or any(word.type == "ILLEGAL" for word in words) or len(words) > 500:
        return None
    found, failed, _ = _tree_of(with_types(_lexed(f"let x = {text}")))
    if failed is not None or not isinstance(found, Definition) or found.unit or found.doc:
        return None
    return found.formula


def _names(line: LogicalLine, source: Text) -> set[str]:
    """All that may be names in a line that cannot be read, other alphabets' letters replaced."""
    span = span_of(line.tokens)
    end = source.text.find("\n", span.end)
    text = source.text[span.start : end if end > 0 else None]
    plain = unicodedata.normalize("NFKC", text.translate(LOOKALIKES))
    words = {ascii_name(word) for word in re.findall(r"[^\W\d]\w*", plain)}
    return words | {word.rstrip("_") for word in words}


_TOO_LARGE = SyntaxTree((), frozenset({ANYTHING}))


def too_large(message: str, source: Text) -> Diagnostic:
    """The message for a file beyond the limits on its size.

    Args:
        message: the problem.
        source: the text of the file.
    """
    help = "a law is a few lines long; data belong into a table"
    return Diagnostic("L0103", message, text=source, span=Span(0, 0), help=help)


def too_many(source: Text) -> Diagnostic:
    """The message that ends a list of errors that has reached its limit."""
    message = f"after {size_limits.MAX_ERRORS} mistakes the rest of the file is not read"
    end = Span(len(source.text), len(source.text))
    return Diagnostic("L0110", message, text=source, span=end, help="mend those above first")


def _statement(line: LogicalLine, source: Text) -> tuple[Statement | None, list[Diagnostic]]:
    """Parse one logical line, or report why it cannot be parsed."""
    if any(token.type == "ILLEGAL" for token in line.tokens):
        return None, []  # the character has its message; what it spoils needs no second one
    if line.broken is not None:
        broken = line.broken.to_diagnostic(source)
        if line.tokens[0].value in PLACED["simplex"][0]:  # an interval such as [0, 1[
            broken = suggestions.advised(broken, line.tokens, None, _parses, source)
        return None, [broken]
    long = list(_long_names(line.tokens, source))
    if long:
        return None, long
    tokens = with_types(line.tokens)
    tree, failed, previous = _tree_of(tokens)
    if failed is not None:
        accepted = {name: _spellings().get(name, name) for name in _accepted(tokens, previous)}
        message = syntax_errors.unexpected(failed, accepted, tokens, source)
        corrected = _corrected(message.edits, tokens, source) if message.edits else None
        return None, [suggestions.advised(message, tokens, corrected, _parses, source)]
    mistakes = list(_out_of_bounds(tree, source))
    return (None if any(d.severity == "error" for d in mistakes) else tree), mistakes


def _tree_of(tokens: Sequence[Token]) -> tuple[Any, Token | None, Token | None]:
    """The statement of a line; where there is none, the token that failed and the one before it."""
    # each line has a parser of its own, so that an error cannot spread to other lines
    parser = grammar().parse_interactive(start="statement")
    previous: Token | None = None
    try:
        for token in tokens:
            parser.feed_token(token)
            previous = token
        tree = parser.feed_eof(tokens[-1])  # type: ignore[no-untyped-call]
    except UnexpectedToken as error:
        return None, error.token, previous
    return tree, None, previous


def _lexed(text: str) -> list[Token]:
    """The tokens of a line's text, without its comment."""
    tokens = LexerThread.from_text(lexer(), text).lex(None)  # type: ignore[no-untyped-call]
    return [token for token in tokens if token.type not in ("SPACE", "COMMENT", "NEWLINE")]


def _parses(text: str) -> bool:
    return _first_failure(text) is None


def _corrected(edits: Sequence[Edit], tokens: Sequence[Token], source: Text) -> str | None:
    """A line after edits, and after those of the mistakes that they uncover; None where it does not
    parse even then."""
    start = min(span_of(tokens).start, *(edit.span.start for edit in edits))
    end = max(span_of(tokens).end, *(edit.span.end for edit in edits))
    text = source.text[start:end]
    moved = [Edit(Span(e.span.start - start, e.span.end - start), e.text) for e in edits]
    reached = -1
    # a long line has its first mistake corrected, not many
    rounds = min(MAX_MISTAKES_IN_LINE, max(1, MAX_WORDS_READ_AGAIN // len(tokens)))
    for _ in range(rounds):
        text = _edited(text, moved)
        failed = _first_failure(text)
        if failed is None:
            return text if suggestions.sensible(text) else None
        token, line, accepted = failed
        if token is None:
            return None
        # the section and the declared names decide about some advice
        whole = Text("", f"{text}\n{source.text}")
        message = syntax_errors.unexpected(token, accepted, line, whole)
        place = token.start_pos if token.type != "$END" else len(text)
        if message.suggested and (place or 0) > reached:
            return text  # what follows is asked about once this is corrected
        if not message.edits or (place or 0) <= reached:
            return None
        reached, moved = place or 0, list(message.edits)
    return None


def _edited(text: str, edits: Sequence[Edit]) -> str:
    for edit in sorted(edits, key=lambda e: e.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def _first_failure(text: str) -> tuple[Token | None, list[Token], dict[str, str]] | None:
    """Where a text of statements fails: the token (None for a character), its line and what was
    accepted; None where all parses."""
    lexed = LexerThread.from_text(lexer(), text).lex(None)  # type: ignore[no-untyped-call]
    for line in logical_lines([t for t in lexed if t.type != "SPACE"]):
        if not line.tokens:
            continue
        if line.broken is not None or any(t.type == "ILLEGAL" for t in line.tokens):
            return None, [], {}
        tokens = with_types(line.tokens)
        _, failed, previous = _tree_of(tokens)
        if failed is not None:
            accepted = {n: _spellings().get(n, n) for n in _accepted(tokens, previous)}
            return failed, tokens, accepted
    return None


def with_types(tokens: Sequence[Token]) -> list[Token]:
    """The tokens of a line; a keyword where a name may not stand has the type of the keyword.

    Args:
        tokens: those of one logical line.
    """
    typed: list[Token] = []
    in_piecewise = False  # whether an `if` stands before
    for position, token in enumerate(tokens):
        statements, behind = PLACED.get(token.value, ((), ()))
        following = tokens[position + 1] if position + 1 < len(tokens) else None
        if token.type == "NAME" and token.value in PIECEWISE:
            if typed and _is_piecewise(typed[-1], token, following, in_piecewise):
                token = token.update(type=token.value.upper())
                in_piecewise = True
        elif token.type == "NAME" and typed and tokens[0].value in statements:
            of_derivative = [t.type for t in typed[-2:]] == ["DEL", "ORDER"]  # ∂²at/∂x²
            if typed[-1].type in behind and not of_derivative:
                token = token.update(type=token.value.upper())
        elif not typed and leads(tokens):
            token = token.update(type=token.value.upper())
        elif typed and _is_plus_minus(typed, token):
            token = typed.pop().update(type="PLUSMINUS", value="+-")
        typed.append(token)
    return typed


def _is_piecewise(before: Token, token: Token, following: Token | None, in_piecewise: bool) -> bool:
    """Whether `if` is followed by a formula, or `then` or `else` stands behind such an `if`."""
    if before.value == "." or following is not None and following.value == ".":
        return False  # a part of the name of a law
    if token.value != "if":
        return in_piecewise
    return following is not None and following.type in ("NAME", "NUMBER", "LPAR", "MINUS", "DEL")


def _is_plus_minus(typed: Sequence[Token], token: Token) -> bool:
    """Whether `+` and `-` stand together in a prior, where they are `±`; elsewhere `-` is a sign."""
    pair = typed[-1].type == "PLUS" and token.type == "MINUS"
    return pair and typed[0].type == "PRIOR" and typed[-1].end_pos == token.start_pos


def leads(tokens: Sequence[Token]) -> bool:
    """Whether the first token is the keyword of a statement, not a name: `step mixing.size`."""
    if tokens[0].value not in LEADING:
        return False
    return len(tokens) == 1 or tokens[1].value not in ("=", "[", "(")


def accepted_after(tokens: Sequence[Token]) -> set[str]:
    """The terminals that may follow the beginning of a line, `$END` among them where it may end.

    Args:
        tokens: its words, with their types.

    Returns:
        The terminals; none for a beginning of no statement.
    """
    try:
        return _accepted(tokens, tokens[-1] if tokens else None)
    except UnexpectedToken:
        return set()


def _accepted(tokens: Sequence[Token], last: Token | None) -> set[str]:
    """The terminals that may follow the words up to `last`."""
    parser = grammar().parse_interactive(start="statement")
    for token in tokens if last is not None else ():
        parser.feed_token(token)
        if token is last:
            break
    return set(parser.accepts())  # type: ignore[no-untyped-call]


@cache
def _spellings() -> dict[str, str]:
    """Each terminal of the grammar as a user writes it."""
    placed = {word.upper(): f"`{word}`" for word in (*PLACED, *LEADING, *PIECEWISE)}
    terminals = grammar().terminals
    return {t.name: f"`{t.pattern.value}`".replace("\\", "") for t in terminals} | placed


def _out_of_bounds(statement: Statement, source: Text) -> Iterator[Diagnostic]:
    """The limits that a single statement can break."""
    # before all else, since what follows may recurse into the statement
    for node, depth in _with_depth(statement):
        if depth > size_limits.MAX_NESTING:
            message = f"this is nested more than {size_limits.MAX_NESTING} deep"
            help = "name a part of the formula with `let`"
            yield Diagnostic("L0104", message, text=source, span=node.span, help=help)
            return
    for count, node in enumerate(walk(statement)):
        if count > size_limits.MAX_NODES:
            message = f"the statement has more than {size_limits.MAX_NODES:,} parts"
            help = "simplify it, or name parts of it with `let`"
            yield Diagnostic("L0105", message, text=source, span=statement.span, help=help)
            return
        if isinstance(node, Number):
            yield from _number(node, source)
        elif isinstance(node, UnitOf) and not all(
            0 < abs(power) <= size_limits.MAX_UNIT_POWER for _, power in node.factors
        ):
            message = (
                f"the power of a unit is a whole number from 1 to {size_limits.MAX_UNIT_POWER}"
            )
            help = "write it as token^2"
            yield Diagnostic("L0409", message, text=source, span=node.span, help=help)


def _long_names(tokens: Sequence[Token], source: Text) -> Iterator[Diagnostic]:
    for token in tokens:
        if token.type == "NAME" and len(ascii_name(token)) > size_limits.MAX_NAME_LENGTH:
            yield long_name(span_of(token), source)


def long_name(span: Span, source: Text) -> Diagnostic:
    """The message for a name longer than the limit, plain or dotted.

    Args:
        span: the place of the name.
        source: the text of the file.
    """
    message = f"this name is longer than {size_limits.MAX_NAME_LENGTH} characters"
    return Diagnostic("L0108", message, text=source, span=span, help="shorten it")


def _number(node: Number, source: Text) -> Iterator[Diagnostic]:
    mantissa = node.text.lower().partition("e")[0]
    digits = mantissa.replace(".", "").lstrip("0")
    if len(digits) > size_limits.MAX_DIGITS:
        message = f"a number has at most {size_limits.MAX_DIGITS} digits"
        help = "write large numbers with an exponent, as 1e20"
        yield Diagnostic("L0106", message, text=source, span=node.span, help=help)
        return
    value = float(node.text)
    if value == float("inf"):
        message = "this number is larger than any that can be computed with"
        help = "numbers go up to 1.8e308"
        yield Diagnostic("L0106", message, text=source, span=node.span, help=help)
    elif value == 0 and digits:
        message = "this number is so small that it becomes 0"
        help = "write 0, or a number from 5e-324 on"
        yield Diagnostic("L0107", message, "warning", text=source, span=node.span, help=help)


def _with_depth(statement: Statement) -> Iterator[tuple[Any, int]]:
    # with a stack: recursion could overflow on the very input that is refused here
    stack: list[tuple[Any, int]] = [(statement, 0)]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        if depth <= size_limits.MAX_NESTING:
            stack.extend((child, depth + 1) for child in children(node))
