"""Blocks -> Markdown, with the tables of GitHub."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote

from lawdsl.reporting.documents.blocks import (
    Block,
    Code,
    Details,
    Findings,
    Formula,
    Heading,
    Lines,
    Paragraph,
    Picture,
    Rows,
)
from lawdsl.reporting.documents.numbers import is_number
from lawdsl.reporting.terminal import cell_text

_SPECIAL = r"""
    [\\`*|$~]                            # anywhere
  | (?<![^\W_])_ | _(?![^\W_])           # emphasis, but within a word
  | \{(?=[{%#.:!])                       # of templates and attributes
  | ^\[ | \[(?=[\[^]) | \](?=[(\[:])     # boxes, links, footnotes and their definitions
  | <(?=[A-Za-z/!?]) | &(?=[A-Za-z\#])   # HTML
  | :(?=//) | (?i:(?<=www))\.            # addresses, which become links
  | ^> | ^\# | \#(?=[\#\s]*$)            # quotations, headings and their ends
  | ^[-+](?=\s|$) | ^[-:=](?=[-:|=\s]*$) # items, lines, and the heads of tables
"""
SPECIAL = re.compile(f"({_SPECIAL})", re.VERBOSE)
"""Characters where Markdown would read them as its own: anywhere, or at the start of a line."""
IN_BRACKETS = re.compile(rf"({_SPECIAL} | [\[\]])", re.VERBOSE)
"""The same in the text of a picture, which brackets enclose."""
NUMBERED = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")
"""The start of a numbered item."""


def markdown_of(blocks: Iterable[Block]) -> str:
    """Render blocks as Markdown.

    Args:
        blocks: the blocks.
    """
    return "\n\n".join(filter(None, (RENDERERS[type(block)](block) for block in blocks)))


def escaped(text: str, special: re.Pattern[str] = SPECIAL) -> str:
    """A line of text of any origin with a backslash before what Markdown would read as its own.

    Args:
        text: the line.
        special: the characters.
    """
    return NUMBERED.sub(r"\1\\\2", special.sub(r"\\\1", text))


def _plain(text: str, special: re.Pattern[str] = SPECIAL) -> str:
    """Text that Markdown shows as it is, on one line."""
    return escaped(" ".join(text.split()), special)


def _heading(block: Heading) -> str:
    return f"{'#' * block.level} {_plain(block.text)}"


def _paragraph(block: Paragraph) -> str:
    return f"**{_plain(block.text)}**" if block.is_strong else _plain(block.text)


def _lines(block: Lines) -> str:
    # an indented line belongs to the one above: it becomes a list item
    items = ("* " if line.startswith(" ") else "" for line in block.lines)
    pairs = list(zip(items, block.lines, strict=True))
    text = ""
    for (item, line), following in zip(pairs, [*pairs[1:], ("", "")], strict=True):
        gap = "\n" if item and following[0] else "\n\n"
        text += f"{item}{_plain(line)}{gap}"
    return text.strip()


def _rows(block: Rows) -> str:
    numeric = [
        bool(block.cells) and all(is_number(cell_text(cells[k])) for cells in block.cells)
        for k in range(len(block.headers))
    ]
    lines = [
        _line(block.headers),
        "|" + "|".join("---:" if right else "---" for right in numeric) + "|",
        *(_line(cells) for cells in block.cells),
    ]
    caption = f"{_plain(block.caption)}\n\n" if block.caption else ""
    return caption + "\n".join(lines)


def _line(cells: Iterable[Any]) -> str:
    return "| " + " | ".join(_plain(cell_text(cell)) for cell in cells) + " |"


def _formula(block: Formula) -> str:
    return f"$${block.latex}$$"


def _code(block: Code) -> str:
    # a fence longer than any in the text
    longest = max(map(len, re.findall("`+", block.text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{block.text}\n{fence}"


def _findings(block: Findings) -> str:
    lines = []
    for d in block.diagnostics:
        more = [*d.notes, *([d.help] if d.help else [])]
        lines.append(f"* **{d.severity} {d.code}**: {_plain(d.message)}")
        lines += [f"  {_plain(text)}" for text in more]
    return "\n".join(lines)


def _details(block: Details) -> str:
    return f"**{_plain(block.summary)}**\n\n{markdown_of(block.blocks)}"


def _picture(block: Picture) -> str:
    # the file is saved beside the document
    notes = "".join(f"\n\n{_plain(note)}" for note in block.notes)
    return f"![{_plain(block.description, IN_BRACKETS)}](<{quote(block.name)}>)\n\n{_plain(block.title)}{notes}"


RENDERERS: dict[type, Callable[[Any], str]] = {
    Heading: _heading,
    Paragraph: _paragraph,
    Lines: _lines,
    Rows: _rows,
    Formula: _formula,
    Code: _code,
    Findings: _findings,
    Details: _details,
    Picture: _picture,
}
"""Kind of block -> its renderer."""
