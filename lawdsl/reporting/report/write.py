"""Results -> the file of a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.files import write, write_bytes
from lawdsl.core.output_files import writing
from lawdsl.reporting.documents.blocks import Picture
from lawdsl.reporting.report.answer_table import Progress
from lawdsl.reporting.report.contents import report_of
from lawdsl.reporting.report.entries import Entry, entries_of
from lawdsl.reporting.report.page import html_page, markdown_page

SUFFIXES = {".html": "html", ".htm": "html", ".md": "markdown"}


def report(result: Any, path: str | Path, /, *others: Any) -> Path:
    """Write a report of results in memory.

    Args:
        result: a fit, an answer, or another public record.
        path: .html or .md.
        others: more results: the fits that an answer depends on, further answers.

    Returns:
        The path.

    Raises:
        LawdslError: as `write_report`.
    """
    return write_report(entries_of([result, *others]), path)[0]


def check_suffix(path: str | Path) -> str:
    """The format of a report by its file suffix: html or markdown.

    Raises:
        LawdslError: another suffix (G0121).
    """
    form = SUFFIXES.get(Path(path).suffix.lower())
    if form is None:
        message = f"a report cannot be written as {Path(path).suffix or Path(path).name!r}"
        help = "end the name of the file in .html or .md"
        if Path(path).suffix.lower() == ".pdf":
            help = (
                f"write {Path(path).with_suffix('.html')}, and print the page to PDF in a browser"
            )
        raise LawdslError(Diagnostic("G0121", message, help=help))
    return form


def write_report(
    entries: Sequence[Entry], path: str | Path, progress: Progress | None = None
) -> list[Path]:
    """Write a report.

    Args:
        entries: the results.
        progress: called with the number of answers for sliders computed, and the total.
        path: .html, one page without network requests; .md, with the figures as files beside it.

    Returns:
        The files that were written, the report first.

    Raises:
        LawdslError: another suffix (G0121), an answer read from a file whose question is not a
            shipped one (G0122), libraries that are not installed (R0101), or a file that cannot be
            written (L0313).
    """
    path, form = Path(path), check_suffix(path)
    content = report_of(entries, path.name, sliders=form == "html", progress=progress)
    pictures: list[Picture] = []
    if form == "html":
        text = html_page(content)
    else:
        text, pictures = markdown_page(content)
    with writing(path):
        # first, so that no pictures are left behind if the report cannot be written
        write(path, text)
        for picture in pictures:
            write_bytes(path.parent / picture.name, picture.svg)
    return [path, *(path.parent / picture.name for picture in pictures)]
