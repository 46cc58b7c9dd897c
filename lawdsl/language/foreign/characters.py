"""A character of LaTeX, of a prior, a percentage or an absolute value -> how its line is written."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lawdsl.language.keywords import FUNCTIONS, GREEK
from lawdsl.language.size_limits import MAX_NESTING

COMMANDS = {
    "cdot": "*",
    "times": "*",
    "le": "<=",
    "leq": "<=",
    "ge": ">=",
    "geq": ">=",
    "in": "in",
    "partial": "∂",
    "infty": "oo",
    "to": "->",
    "rightarrow": "->",
    "left": "",
    "right": "",
    "ln": "log",
    "pm": "±",
} | {name: name for name in (*GREEK.values(), *FUNCTIONS)}
"""Commands of LaTeX -> what stands for them here."""
FRACTION = re.compile(r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}")
COMMAND = re.compile(r"\\([A-Za-z]+)")
BRACED = re.compile(r"\\(sqrt|exp|log|ln)\{([^{}]*)\}")
OPERATOR = re.compile(r"%[^%\s]{1,3}%|%%")
PERCENTAGE = re.compile(r"(?<![0-9.])([0-9]+(?:\.[0-9]+)?)[ ]?%")
STRING_OR_COMMENT = re.compile(r'"[^"]*"|#.*')
SIMPLE = re.compile(r"[A-Za-z_]\w*")
PLAIN = re.compile(r"[A-Za-z_]\w*|[0-9]+")
BESIDE = 40  # characters beside a fraction
FACTOR = re.compile(r"\s*\^|[ \t]*[\w(]")


@dataclass(frozen=True)
class Remedy:
    """What to do about a character.

    Attributes:
        help: the advice.
        edits: start and end in the line, and what is to stand there.
        end: up to where the line needs no further message.
    """

    help: str
    edits: tuple[tuple[int, int, str], ...]
    end: int


def spelled(line: str, at: int) -> Remedy | None:
    """The advice about a character in its line; None where it has none of its own.

    Args:
        line: the text of the line.
        at: the position of the character.
    """
    if at >= len(line):  # the end of the line itself
        return None
    char, first = line[at], (line.split() or [""])[0]
    if char == "\\":
        return _backslash(line, at)
    if char == "%":
        return _percent(line, at)
    if char == "~":
        if first in ("prior", "parameter"):
            words = line.split()
            name = words[1].rstrip("~") if len(words) > 1 else ""
            help = (
                f"write a prior as `prior {name or 'alpha'} = 0.35 ± 0.1`: "
                "its center and standard deviation"
            )
            return Remedy(help, (), len(line))
        if first in ("start", "variable", "given", "choose", "index"):
            return Remedy("domains and starts have no distribution", (), len(line))
        if first == "require":
            return Remedy("write a limit as `L -> E as N -> oo`", (), len(line))
        return Remedy("an equation is written with `=`", ((at, at + 1, "="),), at + 1)
    if char == "|" and line.count("|") == 2 and line.index("|") == at:
        end = line.rindex("|")
        sign = "*" if re.search(r"[\w)]$", line[:at]) else ""  # A|N|
        edits = ((at, at + 1, f"{sign}abs("), (end, end + 1, ")"))
        # A/2|N| and N^2|D| have two readings, and log|N| is no product
        unclear = rf"[/^][^+=<>]*$|(?<!\w)(?:{'|'.join(FUNCTIONS)})$"
        certain = not sign or not re.search(unclear, line[:at])
        return Remedy("absolute values are written abs(x)", edits if certain else (), len(line))
    if char == "√":
        word = SIMPLE.match(line, at + 1)
        root = " sqrt" if re.search(r"[^\W\d]\w*$", line[:at]) else "sqrt"  # A√N
        written = ((at, word.end(), f"{root}({word[0]})"),) if word else ((at, at + 1, root),)
        bracket = line[at + 1 : at + 2] == "("
        certain = bracket or (word is not None and not FACTOR.match(line, word.end()))  # √N D
        return Remedy("roots are written sqrt(x)", written if certain else (), at + 1)
    if char == "?" and ":" in line[at:]:
        return Remedy(
            "formulas have no `?`: write `if r > 0.1 then A else B`",
            (),
            len(line),
        )
    if char == "&" and line[at : at + 2] == "&&":
        return Remedy("write a second condition after a comma", ((at, at + 2, ","),), at + 2)
    return None


def _percent(line: str, at: int) -> Remedy:
    operator = OPERATOR.match(line, at)
    if operator:
        written = {"%*%": "*", "%in%": "in"}.get(operator[0])
        help = f"write `{written}`" if written else "the operators are + - * / ^"
        edits = ((at, operator.end(), written),) if written else ()
        return Remedy(help, edits, operator.end())
    found = next((m for m in PERCENTAGE.finditer(line, 0, at + 1) if m.end() == at + 1), None)
    if found is None:
        if not line[:at].strip():
            return Remedy("comments begin with `#`", ((at, at + 1, "#"),), len(line))
        return Remedy("comments begin with `#`; write 0.1 for 10 %", (), len(line))
    plain = STRING_OR_COMMENT.sub(lambda match: " " * len(match[0]), line)
    shares = tuple((m.start(), m.end(), _share(m)) for m in PERCENTAGE.finditer(plain))
    if len(shares) == 1:
        return Remedy(f"numbers have no percent sign: write {shares[0][2]}", shares, at + 1)
    written = re.sub(r"\s+", " ", PERCENTAGE.sub(_share, STRING_OR_COMMENT.sub("", line))).strip()
    return Remedy(f"numbers have no percent sign: write `{written}`", shares, len(line))


def _quotient(fraction: re.Match[str]) -> str:
    """A fraction as a quotient, in brackets where it stands beside a factor or has an exponent."""
    above, below = (
        part if PLAIN.fullmatch(part.lstrip("\\")) else f"({part})" for part in fraction.groups()
    )
    line = fraction.string
    start, end = fraction.span()  # a few characters on each side decide
    before, behind = line[max(start - BESIDE, 0) : start].rstrip(), line[end : end + BESIDE]
    behind = behind.lstrip()[:1]
    begins = before[-1:] in ("", *"+-*=<>(,{") and not re.search(r"[\^/*]\s*[-+]$", before)
    # \log is the name of a function, B one of a factor
    word = re.search(r"(?:(\\)|(?<![\w\\]))(\w+)$", before)
    is_name = word is not None and (
        word[2] in GREEK.values() if word[1] else word[2] not in FUNCTIONS
    )
    factor = is_name and not re.search(r"/\s*\\?\w+$", before)  # A/2\frac{B}{N} is asked about
    alone = begins and behind in ("", *"+-*/=<>),}")
    return f"{above}/{below}" if alone else f"{'*' if factor else ''}({above}/{below})"


def _command(command: re.Match[str]) -> str:
    """What stands for a command, with spaces where it would join the name or number beside it."""
    written = COMMANDS.get(command[1])
    if written is None:
        return command[0]
    line = command.string
    start, end = command.span()
    before, behind = line[max(start - 1, 0) : start], line[end : end + 1]
    joins = written[:1].isalpha() and (before.isalnum() or before == "_")
    return f"{' ' * joins}{written}{' ' * (written[-1:].isalpha() and behind.isdigit())}"


def _share(percentage: re.Match[str]) -> str:
    return f"{float(percentage[1]) / 100:.12g}"


def _backslash(line: str, at: int) -> Remedy:
    rest = line[at + 1 :]
    if not rest.strip() or rest.strip()[0] in "+-*/" or rest[0] == " ":
        help = "leave it out: a line goes on where it ends in an operator or inside brackets"
        return Remedy(help, ((at, at + 1, ""),) if rest.strip() else (), at + 1)
    written = line
    for _ in range(MAX_NESTING):
        before, written = written, BRACED.sub(r"\\\1(\2)", FRACTION.sub(_quotient, written))
        if written == before:
            break
    known = all(name in COMMANDS for name in COMMAND.findall(written))
    written = COMMAND.sub(_command, written)[at:]
    help = "write formulas as plain text: `A/N^alpha` for `\\frac{A}{N^\\alpha}`"
    whole = known and "\\" not in written
    return Remedy(help, ((at, len(line), written),) if whole else (), len(line))
