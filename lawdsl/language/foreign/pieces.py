"""Tokens of a formula in Python's spelling -> tokens with piecewise formulas as the language has them.

`a if N > 1 else b`, `np.where(N > 1, a, b)` and SymPy's `Piecewise((a, N > 1), (b, True))` become
`if N > 1 then a else b`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lawdsl.core.diagnostics import Diagnostic, LawdslError, Span, Text
from lawdsl.language.size_limits import MAX_NESTING

RELATIONS = ("<", "<=", ">", ">=")
WHERE, PIECEWISE = "where", "Piecewise"


@dataclass(frozen=True)
class ForeignToken:
    """A token as the language spells it, and its place in the text that was given."""

    text: str
    span: Span


Tokens = Sequence[ForeignToken]


def with_pieces(tokens: Tokens, source: Text) -> list[ForeignToken]:
    """The tokens with piecewise formulas as the language writes them.

    Args:
        tokens: the tokens of a formula.
        source: the text that was given.

    Raises:
        LawdslError: a condition that is no comparison, or pieces that leave out a case (E0201).
    """
    words = [token.text for token in tokens]
    depth = max((depth for _, depth in _with_depths(tokens)), default=0)
    if not {"if", WHERE, PIECEWISE} & set(words) or max(depth, words.count("if")) > MAX_NESTING:
        return list(tokens)  # the parser refuses what is nested too deep
    return _part(tokens, source)


def _part(tokens: Tokens, source: Text) -> list[ForeignToken]:
    """A formula without commas of its own."""
    words = [token.text for token, depth in _with_depths(tokens) if not depth]
    if "if" not in words:
        return _plain(tokens, source)
    at = _position(tokens, "if", 0)
    otherwise = _position(tokens, "else", at)
    if otherwise is None or at is None:
        raise _refused(source, tokens[at or 0].span, "`if` has no `else`")
    condition = tokens[at + 1 : otherwise]
    rest = _part(tokens[otherwise + 1 :], source)
    return _conditional(condition, tokens[:at], rest, tokens[at], source)


def _plain(tokens: Tokens, source: Text) -> list[ForeignToken]:
    """The same inside its brackets."""
    written: list[ForeignToken] = []
    k = 0
    while k < len(tokens):
        token = tokens[k]
        following = tokens[k + 1].text if k + 1 < len(tokens) else ""
        if following == "(" and (end := _closing(tokens, k + 1)) is not None:
            inside = _arguments(tokens[k + 2 : end])
            if token.text == WHERE and len(inside) == 3:
                written.append(_at(token, "("))
                rest = _part(inside[2], source)
                written += _conditional(inside[0], inside[1], rest, token, source)
                written.append(_at(token, ")"))
                k = end + 1
                continue
            if token.text == PIECEWISE:
                written.append(_at(token, "("))
                written += _cases(inside, token, source)
                written.append(_at(token, ")"))
                k = end + 1
                continue
        if token.text == "(" and (end := _closing(tokens, k)) is not None:
            written.append(token)
            for position, argument in enumerate(_arguments(tokens[k + 1 : end])):
                comma = [tokens[k]] if position else []
                written += [_at(one, ",") for one in comma] + _part(argument, source)
            written.append(tokens[end])
            k = end + 1
            continue
        written.append(token)
        k += 1
    return written


def _conditional(
    condition: Tokens, yes: Tokens, rest: Tokens, word: ForeignToken, source: Text
) -> list[ForeignToken]:
    """The piecewise formula of a condition and a part as given, and of a rest as it is written."""
    if not any(token.text in RELATIONS for token, depth in _with_depths(condition) if not depth):
        raise _refused(source, word.span, "a condition is a comparison of two numbers")
    part = _part(yes, source)
    if part[:1] and part[0].text == "if":
        part = [_at(word, "("), *part, _at(word, ")")]
    words = {keyword: _at(word, keyword) for keyword in ("if", "then", "else")}
    return [words["if"], *_part(condition, source), words["then"], *part, words["else"], *rest]


def _cases(pairs: Sequence[Tokens], word: ForeignToken, source: Text) -> list[ForeignToken]:
    """`Piecewise((a, N > 1), (b, True))`: the last pair is for all that is left."""
    cases = []
    for pair in pairs:
        inner = _arguments(pair[1:-1]) if pair and pair[0].text == "(" else []
        if len(inner) != 2:
            raise _refused(source, word.span, "each piece is a formula and its condition")
        cases.append(inner)
    if not cases or [t.text for t in cases[-1][1]] != ["True"]:
        raise _refused(source, word.span, "the pieces leave out a case: the last has no `True`")
    written = _part(cases[-1][0], source)
    for formula, condition in reversed(cases[:-1]):
        written = _conditional(condition, formula, written, word, source)
    return written


def _with_depths(tokens: Tokens) -> list[tuple[ForeignToken, int]]:
    depth, found = 0, []
    for token in tokens:
        depth -= token.text == ")"
        found.append((token, depth))
        depth += token.text == "("
    return found


def _position(tokens: Tokens, word: str, start: int | None) -> int | None:
    """Where a word stands outside of brackets."""
    for k, (token, depth) in enumerate(_with_depths(tokens)):
        if k >= (start or 0) and token.text == word and not depth:
            return k
    return None


def _closing(tokens: Tokens, opening: int) -> int | None:
    """Where the bracket is closed that is opened at a position."""
    depth = 0
    for k in range(opening, len(tokens)):
        depth += (tokens[k].text == "(") - (tokens[k].text == ")")
        if not depth:
            return k
    return None


def _arguments(tokens: Tokens) -> list[Tokens]:
    """The parts between the commas outside of brackets."""
    parts: list[list[ForeignToken]] = [[]]
    for token, depth in _with_depths(tokens):
        if token.text == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return list(parts)


def _at(token: ForeignToken, text: str) -> ForeignToken:
    return ForeignToken(text, token.span)


def _refused(source: Text, span: Span, message: str) -> LawdslError:
    help = "write it as `a if N > 1 else b` or np.where(N > 1, a, b)"
    return LawdslError(Diagnostic("E0201", message, text=source, span=span, help=help))
