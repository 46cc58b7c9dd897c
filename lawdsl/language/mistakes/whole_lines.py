"""A line that does not parse -> one message with the line that is meant, where a table knows the habit.

Other languages and mathematics say some things by the form of a whole line. Each rule rewrites the
line of one such habit; what it writes is told only where it parses. It is an edit only where it
cannot mean anything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from lark import Token

from lawdsl.core.diagnostics import Diagnostic, Edit, Span, Text
from lawdsl.language.keywords import KEYWORDS, LEADING, SECTIONS, ascii_name
from lawdsl.language.tree import Formula

MAX_CHARACTERS = 2000  # of a line that is rewritten: rules try many splits of it

MANY_SPACES = re.compile(r"\s{100}")  # which the patterns of rules would split in many ways
STRING = re.compile(r'"[^"\n]*"')
DECLARED = re.compile(
    r"^[ \t]*(?:variable|parameter|given|choose|setting|let|index)\s([^\n]*)", re.M
)
DEFINED = re.compile(r"^[ \t]*([A-Za-z_]\w*)(?:\[[^\]\n]*\])?[ \t]*=(?![=>])", re.M)
OF_CLAIM = re.compile(
    r"^[ \t]*(?:require\s+(?:∂[²³]?|diff\()?|minimize\s+\w+\((?:log\()?)([A-Za-z_]\w*)", re.M
)


@dataclass(frozen=True)
class Line:
    """A line that does not parse.

    Attributes:
        text: the line without its comment.
        words: its tokens, with positions in `text`; those that no terminal matches included.
        source: the text of the file.
        start: where the line stands in the file.
        section: the kind of the file.
        parses: whether a text of statements parses.
        formula: the syntax tree of a formula; None where the text is none.
    """

    text: str
    words: Sequence[Token]
    source: str
    start: int
    section: str
    parses: Callable[[str], bool]
    formula: Callable[[str], Formula | None]

    @property
    def keyword(self) -> str:
        """The word that begins the line."""
        return str(self.words[0])

    @cached_property
    def masked(self) -> str:
        """The line with each text in quotes as `"0"`, `"1"`, … so that rules do not read it."""
        counter = iter(range(len(self.text)))
        return STRING.sub(lambda _: f'"{next(counter)}"', self.text)

    def unmasked(self, text: str) -> str:
        """A rewritten line with the texts in quotes as they were."""
        texts = STRING.findall(self.text)
        return re.sub(r'"([0-9]+)"', lambda m: texts[int(m[1])], text)

    @cached_property
    def others(self) -> str:
        """The rest of the file without texts in quotes and comments."""
        rest = self.source[: self.start] + "\n" + self.source[self.start + len(self.text) :]
        return re.sub(r'"[^"\n]*"|#[^\n]*', "", rest)

    @cached_property
    def declared(self) -> frozenset[str]:
        """The names that stand in declarations of the file."""
        declarations = "\n".join(DECLARED.findall(self.others))
        return frozenset(map(ascii_name, set(re.findall(r"[^\W\d]\w*", declarations))))

    @cached_property
    def output(self) -> str:
        """The name of the law's output, from its claims, its objective or another equation; else L."""
        found = [*DEFINED.findall(self.others), *OF_CLAIM.findall(self.others)]
        names = (n for n in found if n not in KEYWORDS and n not in LEADING)
        return next((name for name in names if name not in self.declared), "L")

    @cached_property
    def has_equation(self) -> bool:
        """Whether another line of the file defines the output."""
        return any(name not in KEYWORDS for name in DEFINED.findall(self.others))

    @cached_property
    def has_header(self) -> bool:
        """Whether another line of the file names its section."""
        return bool(re.search(rf"^[ \t]*(?:{'|'.join(SECTIONS)})\s+\w", self.others, re.M))

    def number(self, offset: int) -> int:
        """The number of the line of the file in which an offset lies, counted from 1."""
        return self.source.count("\n", 0, offset) + 1


@dataclass(frozen=True)
class Meant:
    """What a line means.

    Attributes:
        message: what is wrong with it.
        at: start and end, in the line, of what is wrong.
        written: the statements that are meant; empty where only `help` says it.
        help: the advice; by default to write these statements.
        safe: whether they cannot mean anything else, so that they are an edit.
        code: the code of the message.
        elsewhere: further edits, in the file.
    """

    message: str
    at: tuple[int, int]
    written: str = ""
    help: str = ""
    safe: bool = False
    code: str = "L0201"
    elsewhere: tuple[Edit, ...] = ()


TOLD = Meant("", (0, 0))
"""A line whose mistake an earlier line's message explains."""

Rule = Callable[[Line], Iterator[Meant]]


def explained(line: Line, rules: Sequence[Rule], text: Text) -> tuple[Diagnostic, ...] | None:
    """The message about a line, empty where another line's message tells it; None without one.

    Args:
        line: the line.
        rules: the rules, the specific before the general.
        text: the file.
    """
    if len(line.text) > MAX_CHARACTERS or MANY_SPACES.search(line.text):
        return None
    for rule in rules:
        for meant in rule(line):
            if meant is TOLD:
                return ()
            if meant.written and (meant.written == line.text or not line.parses(meant.written)):
                continue
            return (_diagnostic(line, meant, text),)
    return None


def _diagnostic(line: Line, meant: Meant, text: Text) -> Diagnostic:
    start, end = (line.start + offset for offset in meant.at)
    edits = meant.elsewhere
    if meant.safe and meant.written:
        edits = (*edits, _smallest(line, meant.written))
    named = meant.written.startswith((*SECTIONS, "source"))
    help = meant.help or as_advice(meant.written if named else without_text(meant.written))
    span = Span(start, end)
    return Diagnostic(meant.code, meant.message, text=text, span=span, help=help, edits=edits)


def as_advice(written: str) -> str:
    """The advice to write statements, without their units and texts where there are several words.

    Args:
        written: the statements, a line each.
    """
    lines = [re.sub(r"\s+", " ", line).strip() for line in written.split("\n")]
    return f"write {', then '.join(f'`{line}`' for line in lines)}"


def _smallest(line: Line, written: str) -> Edit:
    """The edit of the words that differ, so that the rest of the line keeps its columns."""
    old = line.text
    gap = re.match(r"\w+[ \t]*", old)
    if gap is not None and gap[0][-1] in " \t" and written.startswith(f"{line.keyword} "):
        written = gap[0] + written[len(line.keyword) :].lstrip()
    shortest = min(len(old), len(written))
    first = next((i for i in range(shortest) if old[i] != written[i]), shortest)
    rest = shortest - first
    last = next((i for i in range(rest) if old[-1 - i] != written[-1 - i]), rest)
    span = Span(line.start + first, line.start + len(old) - last)
    return Edit(span, written[first : len(written) - last])


def place(line: Line, text: str) -> tuple[int, int]:
    """Where a text stands first in a line; the first word where it does not.

    Args:
        line: the line.
        text: the text.
    """
    at = line.masked.find(text) if text else -1
    if at < 0:
        return 0, len(line.keyword)
    start = len(line.unmasked(line.masked[:at]))
    return start, start + len(line.unmasked(text))


def without_text(written: str) -> str:
    """Statements without the texts at their ends, as advice quotes them."""
    return "\n".join(re.sub(r'\s*"[^"]*"$', "", line) for line in written.split("\n"))
