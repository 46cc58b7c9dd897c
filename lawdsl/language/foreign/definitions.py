"""Definitions of functions, `let term(x, a) = x^a` -> one message: the language has none.

A definition whose arguments are all names of the file says only what a `let` or the equation says; the
rules for those lines read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lawdsl.language.foreign.conditions import COMMA, closing, parts_of
from lawdsl.language.foreign.functions import ATOM
from lawdsl.language.mistakes.whole_lines import Line, Meant

ARGUMENTS = r"[\[(]\s*([A-Za-z_][\w\s,:=.*]*?)\s*[\])]"
DEFINITIONS = (
    rf"(?:(?:let|setting|def|function|func|fn|define|macro)\s+)?([A-Za-z_]\w*)\s*(?P<at>{ARGUMENTS})\s*"
    r"(?:->\s*\w+\s*)?(?::?=|:|\{)\s*(?:return\b)?\s*(.+?)\s*[;}]*",
    r"(?:(?:let|setting)\s+)?([A-Za-z_]\w*)\s*(?::?=|<-)\s*(?P<at>(?:lambda|function|\\)\s*"
    r"\(?\s*([A-Za-z_][\w\s,]*?)\s*\)?)\s*(?::|(?<=\)))\s*(?:\{\s*)?(?:return\b)?\s*(.+?)\s*[;}]*",
    r"(?:(?:let|setting)\s+)?([A-Za-z_]\w*)\s*(?::?=|<-)\s*(?P<at>\(?\s*([A-Za-z_][\w\s,]*?)\s*\)?\s*"
    r"(?:->|=>))\s*(.+)",
)
"""Name, arguments and formula of a function, as Python, R, JavaScript and Mathematica define it."""


def _function(line: Line) -> Iterator[Meant]:
    """`let term(x, a) = x^a`, `term <- function(x, a) x^a`, `term = lambda x, a: x^a`"""
    if line.section != "law":
        return
    for pattern in DEFINITIONS:
        match = re.fullmatch(pattern, line.masked)
        if match is None:
            continue
        name, arguments, formula = match[1], match[3], match[4]
        names = [re.split(r"[:=]", part)[0].strip().rstrip("_") for part in arguments.split(",")]
        plain = formula.partition(" unit ")[0].partition('"')[0].strip()
        known = line.declared | {line.output}
        if line.keyword != "let" and not line.has_equation:
            return  # it is the law that is defined so
        if name == line.output or known.issuperset(names) or line.formula(plain) is None:
            continue
        if not all(re.fullmatch(r"[A-Za-z]\w*", each) for each in names):
            continue
        help = f"write the formula where it is used: `{plain}` with the values of {_listed(names)}"
        call = _first_call(line.others, name)
        if call is not None and len(call) == len(names):
            written = _with_values(plain, dict(zip(names, call, strict=True)))
            help = (
                f"write the formula where it is used: `{written}` for `{name}({', '.join(call)})`"
            )
        yield Meant("functions cannot be defined", match.span("at"), "", help)
        return


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def _first_call(text: str, name: str) -> list[str] | None:
    """The arguments of the first call of a function in a text; None without one."""
    call = re.search(rf"(?<![\w.]){re.escape(name)}\(", text)
    if call is None:
        return None
    end = closing(text, call.end() - 1)
    return [part.strip() for part in parts_of(text[call.end() : end], COMMA)]


def _with_values(formula: str, values: dict[str, str]) -> str:
    """A formula with values in the place of the arguments of its function."""

    def value(match: re.Match[str]) -> str:
        text = values[match[0]]
        return text if ATOM.fullmatch(text) else f"({text})"

    return re.sub(rf"(?<![\w.])(?:{'|'.join(map(re.escape, values))})(?![\w.(])", value, formula)


RULES = (_function,)
"""Tried before the rules for a `let` and for equations."""
