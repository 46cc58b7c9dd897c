"""The blocks of a document: what is said, apart from how it is rendered."""

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
        is_strong: whether it matters more than what surrounds it.
    """

    text: str
    is_strong: bool = False


@dataclass(frozen=True)
class Lines:
    """Lines of a report, indented by what they belong to.

    Attributes:
        lines: plain text, with spaces before what belongs to the line above.
    """

    lines: Sequence[str]


@dataclass(frozen=True)
class Rows:
    """A table.

    Attributes:
        headers: the headers of the columns.
        cells: the rows; floats are printed to six digits, and numbers are aligned to the right.
        caption: what the table has; "" for none.
    """

    headers: Sequence[str]
    cells: Sequence[Sequence[Any]]
    caption: str = ""


@dataclass(frozen=True)
class Formula:
    """A displayed formula.

    Attributes:
        latex: in LaTeX, without delimiters.
        text: as the language writes it, for readers without LaTeX.
    """

    latex: str
    text: str


@dataclass(frozen=True)
class Code:
    """Text that is typed or kept as it is.

    Attributes:
        text: lines.
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
    """Blocks that are folded where the reader can unfold them.

    Attributes:
        summary: what is folded.
        blocks: the blocks.
    """

    summary: str
    blocks: Sequence[Block] = field(default=())


@dataclass(frozen=True)
class Picture:
    """A figure.

    Attributes:
        name: the name of its file, where it has one of its own: `fit.svg`.
        title: what it shows, as a sentence.
        description: for readers who do not see it.
        svg: the figure, with its title.
        notes: what was thinned or left out.
    """

    name: str
    title: str
    description: str
    svg: bytes = field(repr=False)
    notes: Sequence[str] = ()


Block = Heading | Paragraph | Lines | Rows | Formula | Code | Findings | Details | Picture
