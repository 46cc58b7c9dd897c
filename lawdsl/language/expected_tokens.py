"""Where the reading of a line stopped, and what could have stood there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lark import Token

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
    "TREND": "increasing, decreasing, convex or concave",
    "KIND": "`law`",
    "$END": "the end of the line",
}

OMITTED = {"ORDER", "DOT"}  # of what may follow


@dataclass(frozen=True)
class ParseFailure:
    """Where reading stopped.

    `token` is the word that does not fit (`$END`: the line ends), `line[position]`; `accepted` is what
    would have fitted.
    """

    token: Token
    line: Sequence[Token]
    position: int
    accepted: Mapping[str, str]

    @property
    def before(self) -> Token | None:
        return self.line[self.position - 1] if self.position else None

    @property
    def after(self) -> Token | None:
        return self.line[self.position + 1] if self.position + 1 < len(self.line) else None

    @property
    def first(self) -> bool:
        """Whether all before it is one name, so that nothing says what statement it is."""
        values = [word.value for word in self.line[: self.position]]
        if self.before is None or self.line[0].type != "NAME":
            return self.before is None
        return self.position == 1 or (
            values[1] == "[" and [*values, "]"].index("]") == self.position - 1
        )

    @property
    def bracket(self) -> Token | None:
        """The innermost bracket that is open."""
        opened: list[Token] = []
        for word in self.line[: self.position]:
            if word.value in ("(", "[", "{"):
                opened.append(word)
            elif word.value in (")", "]", "}") and opened:
                opened.pop()
        return opened[-1] if opened else None

    def both(self, sign: str) -> tuple[Token, Token] | None:
        """The token and one beside it where both are the same sign."""
        for pair in ((self.before, self.token), (self.token, self.after)):
            if all(word is not None and word.value == sign for word in pair):
                return pair  # type: ignore[return-value]
        return None

    @property
    def expected(self) -> str:
        """What could have stood there, in words."""
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
        return listed(sorted(descriptions, key=lambda word: (word.startswith("`"), word)))


def listed(words: Sequence[str]) -> str:
    """`a, b or c`."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]
