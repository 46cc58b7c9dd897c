"""Parser state at a syntax error -> where it stopped, and which tokens would have been accepted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lark import Token

from lawdsl.core.enumerations import disjunction

EXPECTED = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a text in quotes",
    "RELATION": "a relation (<, <=, >, >=)",
    "MINUS": "a formula",
    "LPAR": "a formula",
    "DEL": "a formula",
    "PLUS": "an operator",
    "STAR": "an operator",
    "SLASH": "an operator",
    "CIRCUMFLEX": "an operator",
    "EQUAL": "`=`",
    "PLUSMINUS": "`±` or `+-` with a standard deviation",
    "TREND": "increasing, decreasing, convex or concave",
    "KIND": "`law`",
    "$END": "the end of the line",
}

NUMBER = "a number must follow"
FOLLOWING = (
    ("prior", ("=",), "a number must follow, the center of the prior"),
    ("prior", ("±", "+-"), "a number must follow, the standard deviation of the prior"),
    ("start", ("=",), NUMBER),
    ("fix", ("=",), NUMBER),
    ("setting", ("=",), NUMBER),
)
"""Statement, the last word of its line, the advice what must follow that."""

DOMAINS = ("variable", "parameter", "given", "choose")
BOUNDS = ("<", "<=", ">", ">=", "≤", "≥")
PIECEWISE_BEHIND = ("=", "then", "else")
"""Words that a piecewise formula may follow in a `let` or an equation."""

OMITTED = {"ORDER", "DOT"}  # of what may follow


@dataclass(frozen=True)
class ParseFailure:
    """The state of the parser at a syntax error.

    `token` is the unexpected token (`$END`: the line ends) and `line[position]` in its line;
    `accepted` are the terminals that could have stood in its place, `section` is the kind of the
    file: law, question or pipeline, and `has_header` says whether a line of it names that; `source` is
    the text of the file.
    """

    token: Token
    line: Sequence[Token]
    position: int
    accepted: Mapping[str, str]
    section: str = "law"
    has_header: bool = False
    source: str = ""

    @property
    def statement(self) -> str:
        """The word that begins the line."""
        return str(self.line[0])

    @property
    def before(self) -> Token | None:
        """The token before the unexpected one; None at the start of the line."""
        return self.line[self.position - 1] if self.position else None

    @property
    def after(self) -> Token | None:
        """The token after the unexpected one; None at the end of the line."""
        return self.line[self.position + 1] if self.position + 1 < len(self.line) else None

    @property
    def first(self) -> bool:
        """Whether only a name precedes the unexpected token: the kind of statement is unknown."""
        values = [word.value for word in self.line[: self.position]]
        if self.before is None or self.line[0].type != "NAME":
            return self.before is None
        return self.position == 1 or (
            values[1] == "[" and [*values, "]"].index("]") == self.position - 1
        )

    @property
    def bracket(self) -> Token | None:
        """The innermost bracket that is still open, or None."""
        opened: list[Token] = []
        for word in self.line[: self.position]:
            if word.value in ("(", "[", "{"):
                opened.append(word)
            elif word.value in (")", "]", "}") and opened:
                opened.pop()
        return opened[-1] if opened else None

    def both(self, sign: str) -> tuple[Token, Token] | None:
        """The unexpected token and an adjacent one, where both are the given sign; else None."""
        for pair in ((self.before, self.token), (self.token, self.after)):
            if all(word is not None and word.value == sign for word in pair):
                return pair  # type: ignore[return-value]
        return None

    @property
    def _takes_piecewise(self) -> bool:
        """Whether a piecewise formula may stand in place of the unexpected token."""
        behind = self.before is not None and self.before.value in PIECEWISE_BEHIND
        return behind and (self.statement == "let" or self.line[0].type == "NAME")

    @property
    def expected(self) -> str:
        """The text that lists what could have stood in place of the unexpected token."""
        omitted = set(OMITTED)
        if self.before is not None and self.before.type == "NAME":
            omitted.add("LSQB")
        if not any(a.type == "NAME" and b.value == "[" for a, b in pairwise(self.line)):
            omitted |= {"AGAINST", "SIMPLEX"} | ({"FOR"} if self.bracket else set())
        descriptions = {
            EXPECTED.get(n, text) for n, text in self.accepted.items() if n not in omitted
        }
        if "a formula" in descriptions:
            descriptions -= {"a name", "a number", "`(`"}
            if not self._takes_piecewise:
                descriptions.discard("`if`")
        return disjunction(sorted(descriptions, key=lambda word: (word.startswith("`"), word)))


def what_follows(p: ParseFailure) -> str:
    """The advice what must follow the last word of a line that ends too early.

    Args:
        p: the state of the parser there.
    """
    last = str(p.line[-1])
    if p.statement in DOMAINS and last in BOUNDS:
        return "a number or a formula must follow"
    known = (what for word, signs, what in FOLLOWING if word == p.statement and last in signs)
    return next(known, f"{p.expected} must follow")
