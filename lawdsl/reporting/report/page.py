"""Report -> one HTML page without network requests, or Markdown with its figures as files.

The texts of laws, tables and questions are untrusted: each is escaped, by the renderers of blocks
or by the template. The content security policy of the page makes browsers load nothing and run no
script but those of the page, which are identified by their digests.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from html import escape
from importlib.resources import files
from typing import Any

from lawdsl.core.optional_packages import needs
from lawdsl.reporting.documents import render_html
from lawdsl.reporting.documents.blocks import Block, Details, Formula, Heading, Picture, Rows
from lawdsl.reporting.documents.numbers import is_number
from lawdsl.reporting.documents.render_markdown import markdown_of
from lawdsl.reporting.report.explorer import scripts
from lawdsl.reporting.report.question_explorer import question_scripts
from lawdsl.reporting.report.sections import Report
from lawdsl.reporting.terminal import cell_text, number_text

VERDICTS = {
    "trusted": "good",
    "proved": "good",
    "proved inside": "good",
    "conditional": "doubtful",
    "certified": "good",
    "caution": "doubtful",
    "undecided": "doubtful",
    "refuted": "bad",
    "not trusted": "bad",
}
"""Verdict in a cell -> its CSS class; the word itself is always shown."""
VERDICT_END = re.compile(r"[,:]| exactly | where | at | \(")
"""Text that may follow a verdict."""


def html_page(report: Report) -> str:
    """Render a report as one HTML page.

    Args:
        report: the report.

    Raises:
        LawdslError: a library required for HTML pages is not installed (R0101).
    """
    needs("jinja2", "latex2mathml", extra="figures")
    from jinja2 import Environment
    from markupsafe import Markup

    folder = files(__package__)
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((folder / "page.html.jinja").read_text(encoding="utf-8"))
    runs = [
        *question_scripts([each for section in report.sections for each in section.questions]),
        *scripts([each for section in report.sections for each in section.explorers]),
    ]
    return template.render(
        report=report,
        style=(folder / "page.css").read_text(encoding="utf-8"),
        scripts=[{"type": kind, "text": Markup(text)} for kind, text in runs],
        policy=_policy(text for _, text in runs),
        body=_html,
        written=number_text,
    )


def _policy(texts: Iterable[str]) -> str:
    """The content security policy of a page: nothing is loaded, and no other script runs."""
    digests = [b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    return (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {allowed}; "
        "base-uri 'none'; form-action 'none'"
    )


def markdown_page(report: Report) -> tuple[str, list[Picture]]:
    """Render a report as Markdown.

    Args:
        report: the report.

    Returns:
        The text, and the figures that it refers to, which are saved beside it.
    """
    blocks: list[Block] = [Heading(report.title, 1), *report.summary]
    for section in report.sections:
        if not (section.explorers or section.questions):  # only HTML pages have sliders
            blocks += [Heading(section.title, 2), *section.blocks]
    return markdown_of(blocks) + "\n", list(_pictures(blocks))


def _pictures(blocks: Iterable[Block]) -> Iterator[Picture]:
    for block in blocks:
        if isinstance(block, Picture):
            yield block
        elif isinstance(block, Details):
            yield from _pictures(block.blocks)


def _html(blocks: Iterable[Block]) -> Any:
    from markupsafe import Markup

    return Markup("\n".join(map(_block, blocks)))


def _block(block: Block) -> str:
    return (OWN.get(type(block)) or render_html.RENDERERS[type(block)])(block)


def _formula(block: Formula) -> str:
    from latex2mathml.converter import convert

    # also in the syntax of the language: for readers without MathML, and for copying
    latex = block.latex.replace("{aligned}", "{split}")
    mathml = convert(latex, display="block")
    mathml = mathml.replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "", 1)
    return f'<div class="formula">{mathml}</div><p class="source"><code>{escape(block.text)}</code></p>'


def _rows(block: Rows) -> str:
    caption = f"<caption>{escape(block.caption)}</caption>" if block.caption else ""
    numeric = [_is_numeric(block, k) for k in range(len(block.headers))]
    heads = "".join(map(_head, block.headers, numeric))
    body = "".join(
        "<tr>" + "".join(_cell(cell, k, numeric[k]) for k, cell in enumerate(cells)) + "</tr>"
        for cells in block.cells
    )
    label = escape(block.caption or " ".join(filter(None, block.headers)) or "table")
    return (
        # a wide table scrolls, also with the keyboard
        f'<div class="scroll" tabindex="0" role="group" aria-label="{label}"><table>{caption}'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _head(header: str, right: bool) -> str:
    if not header.strip():
        return "<td></td>"
    return f'<th scope="col"{CELL_OF_NUMBERS if right else ""}>{escape(header)}</th>'


CELL_OF_NUMBERS = ' class="num"'


def _is_numeric(block: Rows, k: int) -> bool:
    texts = [cell_text(cells[k]) for cells in block.cells]
    return bool(texts) and all(is_number(text) or not text.strip() for text in texts)


def _cell(value: Any, k: int, right: bool) -> str:
    text = cell_text(value)
    written = "pair" if " ± " in text else ""  # a value and its error stay on one line
    kind = "num" if right else written or VERDICTS.get(VERDICT_END.split(text)[0].strip(), "")
    marked = f' class="{kind}"' if kind else ""
    if k == 0 and text.strip() and not right:
        return f'<th scope="row"{marked}>{escape(text)}</th>'
    return f"<td{marked}>{escape(text)}</td>"


def _details(block: Details) -> str:
    inner = "\n".join(map(_block, block.blocks))
    return f"<details><summary>{escape(block.summary)}</summary>{inner}</details>"


OWN: dict[type, Callable[[Any], str]] = {Formula: _formula, Rows: _rows, Details: _details}
"""Kind of block -> its renderer in a page, if it differs from that of notebooks."""
