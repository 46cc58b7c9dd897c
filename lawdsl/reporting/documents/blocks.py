"""The blocks of a document: its content, independent of how it is rendered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lawdsl.core.diagnostics import Diagnostic


@dataclass(frozen=True)
class Heading:
    """A heading.

    Attributes:
        text: the heading.
        level: 1 for the title of the document.
    """

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """A line of text.

    Attributes:
        text: plain text.
        is_strong: whether it is emphasised.
    """

    text: str
    is_strong: bool = False


@dataclass(frozen=True)
class Lines:
    """Lines of a report, indented below the line that they belong to.

    Attributes:
        lines: plain text; a line that belongs to the line above starts with spaces.
    """

    lines: Sequence[str]


@dataclass(frozen=True)
class Rows:
    """A table.

    Attributes:
        headers: the headers of the columns.
        cells: the rows; floats are printed to six digits, and numbers are aligned to the right.
        caption: the caption of the table; "" for none.
    """

    headers: Sequence[str]
    cells: Sequence[Sequence[Any]]
    caption: str = ""


@dataclass(frozen=True)
class Formula:
    """A displayed formula.

    Attributes:
        latex: the formula in LaTeX, without delimiters.
        text: the formula in the syntax of the language, for readers without LaTeX.
    """

    latex: str
    text: str


@dataclass(frozen=True)
class Code:
    """Text that is shown verbatim.

    Attributes:
        text: the lines.
    """

    text: str


@dataclass(frozen=True)
class Findings:
    """Warnings and errors about a result.

    Attributes:
        diagnostics: the findings.
    """

    diagnostics: Sequence[Diagnostic]


@dataclass(frozen=True)
class Details:
    """Blocks that can be collapsed, where the output format supports it.

    Attributes:
        summary: the heading of the collapsed blocks.
        blocks: the blocks.
    """

    summary: str
    blocks: Sequence[Block] = field(default=())


@dataclass(frozen=True)
class Picture:
    """A figure.

    Attributes:
        name: the name of its file if it is saved separately: `fit.svg`.
        title: the title, a sentence.
        description: the alternative text.
        svg: the figure with its title, as SVG.
        notes: which data were thinned or left out.
    """

    name: str
    title: str
    description: str
    svg: bytes = field(repr=False)
    notes: Sequence[str] = ()


Block = Heading | Paragraph | Lines | Rows | Formula | Code | Findings | Details | Picture
