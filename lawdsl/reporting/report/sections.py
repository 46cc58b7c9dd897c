"""The record of a report: a title, what comes first, and sections of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lawdsl.reporting.documents.blocks import Block
from lawdsl.reporting.report.explorer import Explorer
from lawdsl.reporting.report.question_explorer import QuestionExplorer


@dataclass(frozen=True)
class Section:
    """A part of a report.

    Attributes:
        anchor: its name in links within the page.
        title: its heading.
        blocks: what it says.
        explorers: laws that the reader evaluates; in HTML alone.
        questions: answers that the reader moves; in HTML alone.
    """

    anchor: str
    title: str
    blocks: Sequence[Block]
    explorers: Sequence[Explorer] = ()
    questions: Sequence[QuestionExplorer] = ()


@dataclass(frozen=True)
class Report:
    """A report.

    Attributes:
        title: the title of the page.
        summary: what a reader who reads nothing else should know.
        sections: the parts.
    """

    title: str
    summary: Sequence[Block]
    sections: Sequence[Section]
