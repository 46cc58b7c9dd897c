"""A formula in LaTeX -> the same in Python's spelling, as advice: `A N^{-\\alpha}` is A*N**(-alpha)."""

from __future__ import annotations

import re

from lawdsl.language.keywords import GREEK

MAX_LENGTH = 2000  # characters of a formula that is translated
MAX_DEPTH = 40  # groups inside each other

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[0-9]*\.?[0-9]+|[^\W\d_]|\S")
_POWER_OF_TEN = re.compile(r"[0-9][eE][-+]?[0-9]")  # which LaTeX has not: e would be a factor
_LEFT_SIDE = re.compile(r"[\s$]*([A-Za-z]\w*)\s*\(([\w\s,]*)\)\s*=")
_SKIPPED = ("$", r"\left", r"\right", r"\,", r"\;", r"\:", r"\!", r"\ ", r"\quad", r"\displaystyle")
_SKIPPED_BEFORE_GROUPS = (
    r"\mathrm",
    r"\text",
    r"\operatorname",
    r"\mathit",
    r"\mathbf",
    r"\mathcal",
)
_FUNCTIONS = {
    rf"\{name}": name for name in ("exp", "log", "sqrt", "tanh", "sin", "cos", "tan", "min", "max")
} | {r"\ln": "log"}
_SIGNS = {
    r"\cdot": "*",
    r"\times": "*",
    r"\div": "/",
    r"\leq": "<=",
    r"\geq": ">=",
} | {sign: sign for sign in "+-*/=,<>"}
_FRACTIONS = (r"\frac", r"\dfrac", r"\tfrac")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_GREEK = frozenset(GREEK.values())


def is_latex(text: str) -> bool:
    """Whether a text has marks of LaTeX that no formula of Python has."""
    return re.search(r"\\[A-Za-z]|[\^_]\s*\{|\$", text) is not None


def from_latex(text: str) -> str | None:
    """The formula in Python's spelling; None where it is not understood.

    Args:
        text: the formula in LaTeX.
    """
    if len(text) > MAX_LENGTH or _POWER_OF_TEN.search(text):
        return None
    left = _LEFT_SIDE.match(text)  # `L(N, D) =` is no product
    if left is not None:
        right = from_latex(text[left.end() :])
        return f"{left[1]}({left[2]}) = {right}" if right else None
    reader = _Reader(_TOKEN.findall(text))
    try:
        written = reader.formula("")
    except _Unread:
        return None
    return written if written and reader.at_end() else None


class _Unread(Exception):
    """The text is not a formula that this module understands."""


class _Reader:
    """Reads the tokens of a formula from left to right."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = [token for token in tokens if token not in _SKIPPED]
        self.position = 0
        self.depth = 0

    def at_end(self) -> bool:
        """Whether all tokens are read."""
        return self.position == len(self.tokens)

    def formula(self, closing: str) -> str:
        """The text up to a closing bracket, which is read too; up to the end for none."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _Unread
        written, operand = "", False
        while not self.at_end():
            token = self._next()
            if token == closing:
                self.depth -= 1
                return written
            sign = _SIGNS.get(token)
            if sign is not None:
                spaced = sign in "+-=" and operand
                written += f" {sign} " if spaced else f"{sign} " if sign == "," else sign
                operand = False
                continue
            factor = self._with_exponent(self._operand(token))
            written += f"*{factor}" if operand else factor
            operand = True
        if closing:
            raise _Unread
        return written

    def _next(self) -> str:
        if self.at_end():
            raise _Unread
        self.position += 1
        return self.tokens[self.position - 1]

    def _peek(self) -> str:
        return "" if self.at_end() else self.tokens[self.position]

    def _operand(self, token: str) -> str:
        if token in _FRACTIONS:
            quotient = f"{_bracketed(self._argument())}/{_bracketed(self._argument())}"
            return f"({quotient})" if self._peek() == "^" else quotient
        if token in _FUNCTIONS:
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise _Unread
            called = self._call(token)
            self.depth -= 1
            return called
        if token in _CLOSING:
            return f"({self.formula(_CLOSING[token])})"
        if token in _SKIPPED_BEFORE_GROUPS and self._peek() == "{":
            return self._subscripted(_name(self._letters()))
        if token[:1] == "\\":
            return self._subscripted(_name(token[1:]) if token[1:] in _GREEK else _refuse())
        if token.isalpha():
            return self._subscripted(token)
        if re.fullmatch(r"[0-9]*\.?[0-9]+", token):
            return token
        raise _Unread

    def _call(self, token: str) -> str:
        function = _FUNCTIONS[token]
        if token == r"\sqrt" and self._peek() == "[":  # another root
            raise _Unread
        if function == "log" and self._peek() == "_":
            self._next()
            if self._argument() != "10":
                raise _Unread
            function = "log10"
        if self._peek() == "^":  # of the value, which is written behind the argument here
            raise _Unread
        if self._peek() in _CLOSING:
            return f"{function}({self.formula(_CLOSING[self._next()])})"
        return f"{function}({self._with_exponent(self._operand(self._next()))})"

    def _argument(self) -> str:
        """A group in braces, or one token: of a number its first digit."""
        token = self._next()
        if token[:1].isdigit() and len(token) > 1:
            raise _Unread
        return self.formula("}") if token == "{" else self._operand(token)

    def _subscripted(self, name: str) -> str:
        if self._peek() != "_":
            return name
        self._next()
        return f"{name}_{_name(self._letters())}"

    def _letters(self) -> str:
        """The letters of a group in braces, or of one token, without commands for fonts."""
        token = self._next()
        if token in _SKIPPED_BEFORE_GROUPS:
            return self._letters()
        if token != "{":
            return token.lstrip("\\")
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _Unread
        text = ""
        while self._peek() != "}":
            text += self._letters()
        self._next()
        self.depth -= 1
        return text

    def _with_exponent(self, base: str) -> str:
        if self._peek() != "^":
            return base
        self._next()
        return f"{base}**{_bracketed(self._argument())}"


def _name(text: str) -> str:
    return text if re.fullmatch(r"\w+", text.lstrip("\\")) else _refuse()


def _refuse() -> str:
    raise _Unread


def _bracketed(text: str) -> str:
    """A text in brackets, unless it is a name, a number or a call."""
    return text if re.fullmatch(r"\w+(?:\.\w+)?", text) else f"({text})"
