"""Results -> the sections of their report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lawdsl.core.enumerations import abridged, conjunction
from lawdsl.designing.runs.records import Design
from lawdsl.fitting.verdicts import NEEDS
from lawdsl.language.printer import print_unit
from lawdsl.reporting.documents.blocks import Block, Heading, Paragraph
from lawdsl.reporting.documents.document_of import document_of
from lawdsl.reporting.report.answer_table import Progress
from lawdsl.reporting.report.commands import made_by
from lawdsl.reporting.report.entries import Entry, rests_on_others, with_fits, with_question
from lawdsl.reporting.report.explorer import Explorer, explorer_of
from lawdsl.reporting.report.of_answer import answer_blocks, answer_glance
from lawdsl.reporting.report.of_fit import (
    USES,
    data_blocks,
    distrust_blocks,
    fit_blocks,
    fit_glance,
)
from lawdsl.reporting.report.of_law import law_blocks, source_note
from lawdsl.reporting.report.pictures import pictures
from lawdsl.reporting.report.question_explorer import QuestionExplorer, question_explorer_of
from lawdsl.reporting.report.sections import Report, Section
from lawdsl.reporting.terminal import number_text
from lawdsl.solving.result import Answer

EXPLORER = (
    "Move a value, or type one. The interval is that of the fitted laws by the noise of their rows: "
    "the error of the law is not in it."
)
OTHER_FITS = "does not follow from the fits of this report: asked with them, its question has another answer."
MAX_GIVEN = 8  # givens that a summary names


def report_of(
    entries: Sequence[Entry], output: str, *, sliders: bool = True, progress: Progress | None = None
) -> Report:
    """Assemble the report of some results.

    Args:
        entries: fits, answers to questions about them, and other results; at least one.
        output: the name of its file.
        sliders: whether the report has sliders for laws and answers.
        progress: called with the number of answers for sliders computed, and the total.

    Raises:
        LawdslError: a fit whose law was altered, or an answer whose question cannot be read again.
    """
    fits = [entry for entry in entries if entry.is_fit]
    answers = [
        with_fits(e.with_answers([with_question(a, e.file) for a in e.answers]), fits)
        for e in entries
        if e.answers
    ]
    others = [e for e in entries if not e.is_fit and not e.answers]
    explorers: tuple[list[Explorer], list[QuestionExplorer]] = [], []
    if sliders:
        made = (explorer_of(entry) for entry in fits)
        # sliders say more than the same question asked for several values
        alone = (entry for entry in answers if isinstance(entry.result, Answer))
        moved = (question_explorer_of(entry, progress) for entry in alone)
        explorers = [e for e in made if e], [e for e in moved if e]
    return Report(
        _title(fits, answers, others),
        list(_summary(fits, answers)),
        list(_sections(fits, answers, others, output, explorers)),
    )


def _title(fits: Sequence[Entry], answers: Sequence[Entry], others: Sequence[Entry]) -> str:
    if answers:
        return conjunction(list(dict.fromkeys(entry.answers[0].title for entry in answers)))
    if fits:
        return conjunction(list(dict.fromkeys(entry.law.title for entry in fits)))
    return conjunction([entry.name for entry in others])


def _summary(fits: Sequence[Entry], answers: Sequence[Entry]) -> Iterator[Block]:
    """The summary at the top of the report: the questions and the results."""
    for entry in answers:
        yield Paragraph(f"Asked: {_asked(entry.answers)}.")
        # without fits there is nothing that could contradict it
        if fits and rests_on_others(entry):
            yield Paragraph(f"{entry.name} {OTHER_FITS}", is_strong=True)
    alone = [entry for entry in answers if isinstance(entry.result, Answer)]
    if alone:
        yield from answer_glance(alone)
    if fits:
        yield from fit_glance(fits)
    for entry in fits:
        if entry.result.verdict != "trusted":
            yield Paragraph(
                f"{entry.name}: {_verdict_note(entry)}. See what to distrust.", is_strong=True
            )


def _asked(answers: Sequence[Answer]) -> str:
    """A question with what was given."""
    answer = answers[0]
    units = answer.declared.units if answer.declared else {}
    given = []
    for name in answer.values:
        if "." in name:
            continue
        values = dict.fromkeys(each.values[name] for each in answers)
        unit = units.get(name.partition("[")[0])
        text = abridged([number_text(value) for value in values], MAX_GIVEN)
        given.append(f"{name} = {text}{f' {print_unit(unit)}' if unit else ''}")
    return f"{answer.title}, at {abridged(given, MAX_GIVEN)}" if given else answer.title


def _verdict_note(entry: Entry) -> str:
    """The verdict on a fit that is not fully trusted, with the use that it concerns."""
    result = entry.result
    uses = [USES[use] for use in NEEDS if result.verdict_for(use) != "trusted"]
    about = f" about {conjunction(uses)}" if uses else ""
    return f"{result.verdict}{about}" if result.verdict == "caution" else result.verdict + about


def _sections(
    fits: Sequence[Entry],
    answers: Sequence[Entry],
    others: Sequence[Entry],
    output: str,
    explorers: tuple[Sequence[Explorer], Sequence[QuestionExplorer]],
) -> Iterator[Section]:
    if answers:
        blocks = [block for entry in answers for block in answer_blocks(entry, fits)]
        one = sum(len(entry.answers) for entry in answers) == 1
        yield Section("answers", "The answer" if one else "The answers", blocks)
    if fits:
        yield Section("law", "The law", [*law_blocks(fits), *source_note(fits)])
        yield Section("data", "The data", list(data_blocks(fits)))
        one = len(fits) == 1
        blocks = [block for entry in fits for block in fit_blocks(entry)]
        yield Section("fit", "The fit" if one else "The fits", blocks)
        blocks = [block for entry in fits for block in distrust_blocks(entry)]
        yield Section("distrust", "What to distrust", blocks)
    if any(explorers):
        yield Section("explorer", "Try values", [Paragraph(EXPLORER)], *explorers)
    designs = [entry for entry in others if isinstance(entry.result, Design)]
    if designs:
        blocks = [block for entry in designs for block in _further_blocks(entry)]
        yield Section("design", "The next runs", blocks)
    further = [entry for entry in others if entry not in designs]
    if further:
        blocks = [block for entry in further for block in _further_blocks(entry)]
        yield Section("further", "Further results", blocks)
    made = list(made_by([*fits, *answers, *designs], output))
    yield Section("made", "How this report was made", made)


def _further_blocks(entry: Entry) -> Iterator[Block]:
    """A result that is neither a fit nor an answer, with its figures."""
    yield Heading(entry.name, 3)
    yield from document_of(entry.result)
    yield from pictures(entry.result, entry.name)
