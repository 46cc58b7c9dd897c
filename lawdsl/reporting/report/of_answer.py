"""Answers -> their part of a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lawdsl.reporting.answers import show_answer
from lawdsl.reporting.answers_if_laws_are_wrong import law_error_heading, rounded_ends
from lawdsl.reporting.documents.blocks import Block, Details, Findings, Heading, Rows
from lawdsl.reporting.documents.recorder import recorded
from lawdsl.reporting.report.entries import Entry
from lawdsl.reporting.report.of_fit import ends_text
from lawdsl.reporting.report.pictures import pictures
from lawdsl.reporting.terminal import number_text
from lawdsl.solving.result import Answer

MAX_ROWS = 10
"""Largest number of rows of a table of an answer that is not collapsed."""


def answer_blocks(entry: Entry) -> Iterator[Block]:
    """An answer: the unknowns, the reason, and the sensitivities.

    Args:
        entry: an answer.
    """
    answer: Answer = entry.result
    yield Heading(f"{answer.question}: {answer.title}", 3)
    assert answer.declared is not None
    # the first block is the heading
    first, *blocks = recorded(show_answer, answer.declared, answer)
    captions = iter(["The answer"])
    drawn = list(pictures(answer, entry.name))
    for block in blocks:
        if not isinstance(block, Rows):
            yield block
            continue
        if block.headers[0].startswith("1 % more"):
            yield replace(block, caption="How the answer moves with what is given")
        elif len(block.cells) > MAX_ROWS:
            caption = "The goal along the unknowns"
            yield Details(caption, [replace(block, caption=caption)])
        else:
            yield replace(block, headers=_with_headers(block.headers), caption=next(captions, ""))
    yield from drawn
    if answer.diagnostics:
        yield Findings(answer.diagnostics)


def _with_headers(headers: Sequence[str]) -> list[str]:
    """Headers for columns that have none on a terminal."""
    first, *rest = ("" if header.strip() == "" else header for header in headers)
    if first or not rest or rest[0]:
        return [first, *rest]
    names = ["name", "value", *rest[1:]]
    return [*names[:-1], names[-1] or "meaning"]


def answer_glance(entries: Sequence[Entry]) -> Iterator[Block]:
    """All answers of a report in one table.

    Args:
        entries: answers.
    """
    rows: list[list[str]] = []
    levels = {entry.result.level for entry in entries}
    for entry in entries:
        answer: Answer = entry.result
        under = answer.law_error
        if not answer.unknowns:
            rows.append([answer.title, answer.status, "", "", "", ""])
        for unknown in answer.unknowns[:MAX_ROWS]:
            value, ends = number_text(unknown.value), ends_text(unknown.ends)
            wide = rounded_ends(under.ends.get(unknown.name)) if under else ""
            # the unknowns of one family share a description
            name = f"{unknown.name}, {unknown.doc}" if unknown.doc else unknown.name
            rows.append([answer.title, name, value, ends, wide, unknown.unit])
    level = f"{100 * min(levels):g} % interval" if len(levels) == 1 else "interval"
    errors = {law_error_heading(entry.result.law_error) for entry in entries} - {""}
    error = errors.pop() if len(errors) == 1 else "with the error of the laws"
    headers = ["question", "answer", "value", level, error, "unit"]
    # the title of the page is the question if there is only one
    shown = [k for k in range(len(headers)) if (k or len(entries) > 1) and any(r[k] for r in rows)]
    cells = [[row[k] for k in shown] for row in rows]
    caption = "The answers"
    most = max((len(entry.result.unknowns) for entry in entries), default=0)
    if most > MAX_ROWS:
        caption += f": the first {MAX_ROWS} of {most} unknowns, the others in the section below"
    yield Rows([headers[k] for k in shown], cells, caption)
