"""Terminal report -> blocks: what the report functions print, recorded as lines and tables.

The functions of this package print to a console; a `Recorder` stores the output as data, which is
then rendered in notebooks, reports and strings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lawdsl.reporting.documents.blocks import Block, Lines, Paragraph, Rows

STRONG = "bold"


class Recorder(Console):
    """A console that stores its output as blocks, in `blocks`."""

    def __init__(self) -> None:
        super().__init__(color_system=None, width=10_000)
        self.blocks: list[Block] = []

    def print(self, *objects: Any, **options: Any) -> None:
        """Store a table, or a line of text."""
        for printed in objects:
            if isinstance(printed, Table):
                self.blocks.append(_rows(printed))
                continue
            text = printed.plain if isinstance(printed, Text) else str(printed)
            is_strong = isinstance(printed, Text) and _is_strong(printed)
            for line in text.splitlines():
                self._store(line, is_strong)

    def _store(self, line: str, is_strong: bool) -> None:
        if is_strong:
            self.blocks.append(Paragraph(line, is_strong=True))
        elif self.blocks and isinstance(self.blocks[-1], Lines):
            self.blocks[-1] = Lines([*self.blocks[-1].lines, line])
        elif line.strip():
            self.blocks.append(Lines([line]))


def recorded(show: Callable[..., None], *arguments: Any, **options: Any) -> tuple[Block, ...]:
    """The blocks that a report function prints.

    Args:
        show: the function that prints a report to the console `out`.
        arguments, options: its remaining arguments.
    """
    recorder = Recorder()
    show(*arguments, out=recorder, **options)
    return tuple(recorder.blocks)


def _is_strong(text: Text) -> bool:
    """Whether a line is a heading: bold from its start."""
    begins = (span.start == 0 and STRONG in str(span.style) for span in text.spans)
    return STRONG in str(text.style) or any(begins)


def _rows(table: Table) -> Rows:
    headers = [_plain(column.header) for column in table.columns]
    columns = [[_plain(cell) for cell in column.cells] for column in table.columns]
    return Rows(headers, [list(cells) for cells in zip(*columns, strict=True)])


def _plain(cell: Any) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)
