"""Blocks -> HTML, without scripts and without network requests."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable
from html import escape
from typing import Any

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


def html_of(blocks: Iterable[Block]) -> str:
    """Render blocks as a fragment of HTML.

    Args:
        blocks: the blocks.
    """
    return "\n".join(RENDERERS[type(block)](block) for block in blocks)


def notebook_html(blocks: Iterable[Block]) -> str:
    """Render blocks for the display of a result in a notebook: a fragment with its own class.

    Dollar signs in text are not interpreted by MathJax, which is enabled for formulas only.
    """
    return f'<div class="lawdsl tex2jax_ignore mathjax_ignore">{html_of(blocks)}</div>'


def _heading(block: Heading) -> str:
    return f"<h{block.level}>{escape(block.text)}</h{block.level}>"


def _paragraph(block: Paragraph) -> str:
    text = escape(block.text)
    return f"<p><strong>{text}</strong></p>" if block.is_strong else f"<p>{text}</p>"


def _lines(block: Lines) -> str:
    # an indented line belongs to the one above
    return "".join(
        f'<div style="padding-left: {len(line) - len(line.lstrip())}ch">{escape(line.strip())}</div>'
        for line in block.lines
    )


def _rows(block: Rows) -> str:
    caption = f"<caption>{escape(block.caption)}</caption>" if block.caption else ""
    heads = "".join(f'<th scope="col">{escape(header)}</th>' for header in block.headers)
    body = "".join("<tr>" + "".join(map(_cell, cells)) + "</tr>" for cells in block.cells)
    return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    # text is left-aligned, whatever the style sheet of a notebook does to cells
    text = cell_text(value)
    align = "right" if is_number(text) else "left"
    return f'<td style="text-align: {align}">{escape(text)}</td>'


def _formula(block: Formula) -> str:
    # MathJax in notebooks and reports renders this; without it, the source is readable
    return f'<p class="formula tex2jax_process mathjax_process">$\\displaystyle {escape(block.latex)}$</p>'


def _code(block: Code) -> str:
    return f"<pre>{escape(block.text)}</pre>"


def _findings(block: Findings) -> str:
    items = "".join(
        f'<li class="{escape(d.severity)}"><strong>{escape(d.severity)} {escape(d.code)}</strong>: '
        f"{escape(d.message)}"
        + "".join(f"<br>{escape(note)}" for note in d.notes)
        + (f"<br><em>{escape(d.help)}</em>" if d.help else "")
        + "</li>"
        for d in block.diagnostics
    )
    return f'<ul class="findings">{items}</ul>' if items else ""


def _details(block: Details) -> str:
    return f"<details><summary>{escape(block.summary)}</summary>{html_of(block.blocks)}</details>"


def _picture(block: Picture) -> str:
    # as an image, not inline: inline figures would share the names of their elements, and an image
    # runs no script and loads nothing
    source = b64encode(block.svg).decode()
    return (
        f'<figure><img src="data:image/svg+xml;base64,{source}" alt="{escape(block.description)}">'
        f"<figcaption>{escape(block.title)}</figcaption></figure>"
    )


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
