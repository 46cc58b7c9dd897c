"""Answers -> their part of a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lawdsl.language.kept_texts import texts_of
from lawdsl.language.library import ships
from lawdsl.reporting.answers import show_answer, show_answers
from lawdsl.reporting.answers_if_laws_are_wrong import law_error_heading, rounded_ends
from lawdsl.reporting.documents.blocks import Block, Code, Details, Findings, Heading, Rows
from lawdsl.reporting.documents.recorder import recorded
from lawdsl.reporting.report.entries import Entry
from lawdsl.reporting.report.of_fit import ends_text
from lawdsl.reporting.report.pictures import pictures
from lawdsl.reporting.terminal import number_text
from lawdsl.solving.result import Answer

MAX_ROWS = 10
"""Rows of a table of an answer that is not folded."""
MAX_ANSWERS = 24
"""Rows of a table of several answers that is not folded."""


def answer_blocks(entry: Entry, fits: Sequence[Entry] = ()) -> Iterator[Block]:
    """Answers to a question: the unknowns, why, and how they move; of several values of the givens
    a table, and the figure against these.

    Args:
        entry: an answer, or several.
        fits: those of the report, whose laws are printed with them.
    """
    first = entry.answers[0]
    yield Heading(f"{first.question}: {first.title}", 3)
    yield from _one(entry) if isinstance(entry.result, Answer) else _several(entry.answers, entry)
    found = dict.fromkeys(d for answer in entry.answers for d in answer.diagnostics)
    if found:
        yield Findings(tuple(found))
    yield from _texts(first, fits)


def _several(answers: Sequence[Answer], entry: Entry) -> Iterator[Block]:
    declared, caption = answers[0].declared, "The answers"
    assert declared is not None
    _, *blocks = recorded(show_answers, declared, answers, entry.result.varying)
    for block in blocks:
        if isinstance(block, Rows):
            block = replace(block, caption=caption)
            long = len(block.cells) > MAX_ANSWERS
            yield Details(caption, [block]) if long else block
        else:
            yield block
    yield from pictures(entry.result, entry.name)


def _one(entry: Entry) -> Iterator[Block]:
    answer: Answer = entry.result
    assert answer.declared is not None
    _, *blocks = recorded(show_answer, answer.declared, answer)  # the first is the heading
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


def _texts(answer: Answer, fits: Sequence[Entry]) -> Iterator[Block]:
    """The question as it is written, and those of its laws that neither ship nor stand with a fit."""
    assert answer.declared is not None
    yield Details("The question as written", [Code(answer.declared.text.text.rstrip())])
    texts = texts_of(answer.declared)
    for name in own_laws(answer, fits):
        yield Details(f"The law {name} as written", [Code(texts.laws[name].rstrip())])


def own_laws(answer: Answer, fits: Sequence[Entry]) -> list[str]:
    """The laws of a question that do not ship, and of which no fit of a report has the text.

    Args:
        answer: to the question.
        fits: those of the report.
    """
    if answer.declared is None:
        return []
    shown = {text for fit in fits for text in fit.result.law.texts.values()}
    laws = texts_of(answer.declared).laws
    return [name for name, text in laws.items() if text not in shown and not ships(name, text)]


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
