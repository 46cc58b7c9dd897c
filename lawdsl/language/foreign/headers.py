"""What other languages write around statements -> the first line of a law, and what to leave out.

Titles on lines of their own, first lines without a keyword, imports and `end`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lawdsl.core.diagnostics import Edit, Span
from lawdsl.language.foreign.functions import IMPORTED
from lawdsl.language.keywords import KEYWORDS
from lawdsl.language.mistakes.whole_lines import STRING, Line, Meant

TITLES = ("title", "description", "desc", "doc", "docs", "summary", "about", "caption", "subtitle")


def _whole(line: Line) -> Span:
    """A line with its line end."""
    return Span(line.start, min(line.start + len(line.text) + 1, len(line.source)))


def _title(line: Line) -> Iterator[Meant]:
    """`title "Loss against size"` on a line of its own"""
    match = re.fullmatch(r'(\w+)\s*[:=]?\s*("[^"]*")\s*', line.text)
    if match is None or match[1].lower() not in (*TITLES, "name"):
        return
    header = re.compile(r"^([ \t]*(law|question|pipeline)\s+[\w.]+)[ \t]*(\"[^\"\n]*\")?", re.M)
    found = header.search(line.source)
    if found is None:
        if match[1].lower() != "name":
            help = f"the title stands after the name: `{line.section} NAME {match[2]}`"
            yield Meant(
                f"unknown statement `{match[1]}`", (0, len(match[1])), "", help, code="L0205"
            )
        return
    number = line.number(found.start())
    message = f"the title stands after the name of the {found[2]}"
    if found[3]:
        help = f"remove this line, or correct the title on line {number}"
        yield Meant(message, (0, len(match[1])), "", help, code="L0205")
        return
    head = re.sub(r"\s+", " ", found[1]).strip()
    help = f"write `{head} {match[2]}` on line {number}, without this line"
    edits = (Edit(Span(found.end(1), found.end(1)), f" {match[2]}"), Edit(_whole(line), ""))
    yield Meant(message, (0, len(match[1])), "", help, code="L0205", elsewhere=edits)


def _header_without_keyword(line: Line) -> Iterator[Meant]:
    """`power "Loss against size"` as the first line"""
    match = re.fullmatch(r'([A-Za-z]\w*)\s*:?\s*("[^"]*")', line.text)
    first = not re.sub(r"#[^\n]*", "", line.source[: line.start]).strip()
    if match is not None and first and not line.has_header and match[1] not in KEYWORDS:
        message = "the first line begins with `law`"
        written = f"law {match[1]} {match[2]}"
        yield Meant(message, match.span(1), written, code="L0401", safe=True)
    elif first and not line.has_header and STRING.fullmatch(line.text):
        help = f"write a name before the title: `law NAME {line.text}`"
        yield Meant("the first line begins with `law`", (0, len(line.text)), "", help, code="L0401")


ENDS = re.compile(
    r"(?:end|END|fi|done|stop|finish|eof|EOF)(?:[\s_]*(?:law|model|question|pipeline|file|module|begin|block|if))?"
    r"\s*[.;]?|end(?:law|model|question|pipeline|module)|`{3,}\w*|-{3,}|={3,}|\\end\{\w+\}"
)


def _end(line: Line) -> Iterator[Meant]:
    """`end` on a line of its own"""
    if not ENDS.fullmatch(line.text.strip()):
        return
    end = min(line.start + len(line.text) + 1, len(line.source))
    dropped = (Edit(Span(line.start, end), ""),)
    help = "leave it out: a statement ends with its line, a law with its file"
    message = f"unknown statement `{line.text.strip()}`"
    yield Meant(message, (0, len(line.text)), "", help, code="L0205", elsewhere=dropped)


IMPORT = re.compile(
    r"from\s+([\w.]+)\s+import\s+(\w+)(?:\s+as\s+\w+)?|"
    r"(?:import|include|using|use|inherits?|extends?)\s+([A-Za-z]\w*(?:\.\w+)*)\s+as\s+\w+"
)


def _import(line: Line) -> Iterator[Meant]:
    """`from dcpt import l3`, `import dcpt.l3 as base`"""
    match = IMPORT.fullmatch(line.masked)
    module = re.match(r"(?:import|from|using|use)\s+(\w+)", line.masked)
    if module is not None and module[1] in IMPORTED:
        help = "leave it out: the functions of the language need no import"
        dropped = (Edit(_whole(line), ""),)
        message = f"unknown statement `{line.keyword}`"
        yield Meant(message, (0, len(line.keyword)), "", help, code="L0205", elsewhere=dropped)
    elif match is not None and line.section == "law":
        law = match[3] or f"{match[1]}.{match[2]}"
        if match[2] is not None and len(match[2]) == 1:  # the name of an output
            law = match[1]
        written = f"extends {law}"
        message = "a law takes over what another declares with `extends`"
        yield Meant(message, (0, len(line.keyword)), written, safe=True, code="L0205")


RULES = (_import, _end, _title, _header_without_keyword)
"""Tried before the rules for statements."""
