"""Blocks -> plain text, for `print`."""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.console import Console

from lawdsl.core.diagnostics import render
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
from lawdsl.reporting.terminal import rows_table

WIDTH = 10_000
"""Width of the console on which tables are laid out: wider than any table, so that no cell is
wrapped.
"""


def text_of(blocks: Iterable[Block]) -> str:
    """Render blocks as text without colour; collapsed blocks are omitted.

    Args:
        blocks: the blocks.
    """
    return "\n".join(filter(None, map(_text, blocks)))


def _text(block: Block) -> str:
    match block:
        case Heading() | Paragraph() | Code():
            return block.text
        case Lines():
            return "\n".join(block.lines)
        case Formula():
            return f"  {block.text}"
        case Findings():
            return "\n".join(map(render, block.diagnostics))
        case Rows():
            return _table(block)
        case Picture():
            return block.description
        case Details():
            return ""


def _table(block: Rows) -> str:
    written = io.StringIO()
    console = Console(file=written, width=WIDTH, color_system=None)
    if block.caption:
        console.print(block.caption, markup=False, highlight=False)
    console.print(rows_table(block.headers, block.cells))
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines())
