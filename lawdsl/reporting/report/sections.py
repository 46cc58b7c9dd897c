"""The record of a report: a title, a summary, and sections of blocks."""

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
        blocks: its content.
        explorers: laws with sliders; in HTML only.
        questions: answers with sliders; in HTML only.
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
        summary: the most important results.
        sections: the sections.
    """

    title: str
    summary: Sequence[Block]
    sections: Sequence[Section]
