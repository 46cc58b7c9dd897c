"""Files of results -> the entries of a report: a name, a record, and its file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations, takewhile
from pathlib import Path
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError, printable
from lawdsl.core.files import read_json
from lawdsl.core.records import read
from lawdsl.designing.runs.records import DESIGN_SCHEMA, Design
from lawdsl.fitting.fits_by_group import FitsByGroup
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits, load_fit
from lawdsl.fitting.storage import FITS_BY_GROUP_SCHEMA, NO_FIT, OTHER_FILES, READERS
from lawdsl.language import library
from lawdsl.language.kept_texts import QuestionTexts, question_of
from lawdsl.law.law import Law
from lawdsl.solving.result import ANSWER_SCHEMA, Answer, Answers
from lawdsl.solving.solve import Asked

SAME = 1e-6
"""Relative tolerance within which an answer equals that of the same question solved again."""

MAX_ASSIGNMENTS = 24
"""Number of assignments of the fits of a report to the uses of an answer that are tried."""


@dataclass(frozen=True)
class Entry:
    """A result in a report.

    Attributes:
        name: what the report calls it.
        result: a fit, fits, an answer or answers; any other record that has a document.
        file: where it was read from; empty where it was not.
        fits: use -> file, for an answer whose fits are known.
    """

    name: str
    result: Any
    file: str = ""
    fits: Mapping[str, str] | None = None

    @property
    def is_fit(self) -> bool:
        """Whether it is a fit, or fits of a law with index sets."""
        return isinstance(self.result, (Fit, Fits))

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers to one question: one, or one for each value of what varies; none of a fit."""
        if isinstance(self.result, Answers):
            return self.result.answers
        return (self.result,) if isinstance(self.result, Answer) else ()

    def with_answers(self, answers: Sequence[Answer]) -> Entry:
        """The entry with other records of its answers."""
        if isinstance(self.result, Answers):
            return replace(self, result=replace(self.result, answers=tuple(answers)))
        (answer,) = answers
        return replace(self, result=answer)

    @property
    def law(self) -> Law:
        """The law of a fit."""
        law: Law = self.result.read_law()
        return law

    @property
    def parts(self) -> tuple[Fit, ...]:
        """The fits of the labels; the fit itself if there are no labels."""
        return self.result.parts if isinstance(self.result, Fits) else (self.result,)


def read_entries(paths: Iterable[str]) -> list[Entry]:
    """Read the files of a report, each file once.

    Args:
        paths: files of fits, and of answers as printed by `lawdsl solve … --json`.

    Raises:
        LawdslError: a file that is neither (F0108, G0122).
    """
    files = {Path(path).resolve(): path for path in reversed(list(paths))}
    return [_read(path) for path in reversed(files.values())]


def entries_of(results: Iterable[Any]) -> list[Entry]:
    """Name results that were not read from files, each once: fits by their laws, answers by their
    questions.
    """
    entries: list[Entry] = []
    for result in {id(result): result for result in results}.values():
        if isinstance(result, (Fit, Fits)):
            name = result.law.name
        elif isinstance(result, Answers):
            name = result.answers[0].question
        elif isinstance(result, FitsByGroup):
            name = f"{result.law.name} by {', '.join(result.by)}"
        else:
            name = getattr(result, "question", None) or type(result).__name__.lower()
        names = {entry.name for entry in entries}
        number = next(n for n in range(1, len(names) + 2) if _numbered(name, n) not in names)
        entries.append(Entry(_numbered(name, number), result))
    return entries


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name} {number}"


def _read(path: str) -> Entry:
    name = Path(path).stem
    try:
        content = read_json(Path(path))
    except (OSError, ValueError):
        if _is_printed(Path(path)):
            message = f"{path} is neither a fit nor an answer"
            help = "`lawdsl solve … --json > answer.json` writes an answer that is read here"
            raise LawdslError(Diagnostic("F0108", message, place=path, help=help)) from None
        return Entry(name, load_fit(path), path)  # raises an error that describes the problem
    if not isinstance(content, Mapping) or "schema" not in content:
        return Entry(name, load_fit(path), path)
    if content["schema"] == FITS_BY_GROUP_SCHEMA:
        return Entry(name, FitsByGroup.load(path), path)
    if {"command", "result"} <= content.keys():
        if content["command"] == "design" and isinstance(content["result"], Mapping):
            return Entry(name, _design(content["result"], path), path)
        content = _printed_result(content, path)
    elif "question" not in content:
        return Entry(name, load_fit(path), path)
    if isinstance(content, list) and len(content) > 1:
        answers = tuple(_answer(each, path) for each in content)
        return Entry(name, Answers(answers, varying(answers)), path)
    return Entry(name, _answer(content[0] if isinstance(content, list) else content, path), path)


def _is_printed(path: Path) -> bool:
    """Whether a file is text that is no JSON, as commands print it, and no other kind of file."""
    try:
        with path.open("rb") as file:
            start = file.read(1000).decode("utf-8", errors="ignore").lstrip()
    except OSError:
        return False
    return path.suffix.lower() not in OTHER_FILES and start[:1] not in ("", "{", "[")


def _design(content: Mapping[str, Any], path: str) -> Design:
    """The design in plain data.

    Raises:
        LawdslError: data of another form (G0122).
    """
    try:
        if content["schema"] != DESIGN_SCHEMA:
            raise ValueError(f"schema {content['schema']!r:.40}")
        return Design.of_json(content)
    except NO_FIT as error:
        message = f"the design cannot be read: {_reason(error)[:160]}"
        help = "make it again: `lawdsl design … --json > DESIGN.json`"
        raise LawdslError(Diagnostic("G0122", message, place=path, help=help)) from None


def _printed_result(document: Mapping[str, Any], path: str) -> Any:
    """What `lawdsl solve … --json` printed as the result of its document.

    Raises:
        LawdslError: that of another command, or of one that failed (G0122).
    """
    command, result = document["command"], document["result"]
    takes = "a report takes fits, as `-o FIT.json` writes them, and answers: "
    help = f"{takes}`lawdsl solve QUESTION … --json > ANSWER.json`"
    name = printable(str(command))[:40]
    if result is None or result == []:
        found = document.get("diagnostics")
        first = found[0] if isinstance(found, list) and found else None
        why = first.get("message") if isinstance(first, Mapping) else None
        message = f"`lawdsl {name}` failed, and this is the document of its error"
        message += f": {printable(str(why))[:200]}" if why else ""
        help = f"mend that, and run the command again; {help}"
    elif command != "solve":
        message = (
            f"this is what `lawdsl {name} --json` printed, which is neither a fit nor an answer"
        )
    elif isinstance(result, Mapping) and "status" not in result and "uses" in result:
        message = "the file says what a question needs, and has no answer"
    else:
        return result
    raise LawdslError(Diagnostic("G0122", message, place=path, help=help))


def varying(answers: Sequence[Answer]) -> tuple[str, ...]:
    """The givens and settings that differ among answers, without labels; the fastest last."""
    first_change: dict[str, int] = {}
    for name, value in answers[0].values.items():
        changes = (k for k, each in enumerate(answers) if each.values.get(name) != value)
        if (k := next(changes, None)) is not None:
            base = name.partition("[")[0]
            first_change[base] = min(k, first_change.get(base, k))
    return tuple(sorted(first_change, key=lambda name: -first_change[name]))


def _answer(content: Any, path: str) -> Answer:
    """The answer in plain data, with its question where the data have its texts.

    Raises:
        LawdslError: data of another form (G0122).
    """
    try:
        if content["schema"] != ANSWER_SCHEMA:
            raise ValueError(f"schema {content['schema']!r:.40}")
        answer = read(
            Answer,
            {**content, "declared": None, "curves_of": None, "asked": None, "limit": None},
            READERS,
        )
        texts = content.get("question_texts")
        declared = None if texts is None else question_of(read(QuestionTexts, texts))
        if declared is not None and declared.name != answer.question:
            raise ValueError(f"its question is `{declared.name}`, not `{answer.question}`")
    except (*NO_FIT, LawdslError) as error:
        message = f"the answer cannot be read: {_reason(error)[:160]}"
        help = "make it again: `lawdsl solve QUESTION … --json > ANSWER.json`"
        raise LawdslError(Diagnostic("G0122", message, place=path, help=help)) from None
    return replace(answer, declared=declared)


def _reason(error: Exception) -> str:
    if isinstance(error, LawdslError):
        return error.diagnostics[0].message
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)


def with_question(answer: Answer, path: str = "") -> Answer:
    """The answer with its question as declared, which displays require.

    Args:
        answer: the answer.
        path: the path of its file, for the error.

    Raises:
        LawdslError: its question does not ship, and its file is older than those that have its text
            (G0122).
    """
    if answer.declared is not None:
        return answer
    if answer.question not in library.shipped("question"):
        message = f"the question `{answer.question}` does not ship, and the file lacks its text"
        help = "make the answer again: `lawdsl solve FILE.law … --json > ANSWER.json`"
        raise LawdslError(Diagnostic("G0122", message, place=path, help=help))
    question, _ = library.question(answer.question)
    return replace(answer, declared=question)


def with_fits(entry: Entry, fits: Sequence[Entry]) -> Entry:
    """The answer with its question, its fits and the curves that figures draw, if its fits are in
    the report.

    The question is solved again; if the values differ, the fits are not those of the answer.

    Args:
        entry: an answer with its question, or several.
        fits: those of the report.
    """
    known = [answer for answer in entry.answers if answer.ok]
    question = known[0].declared if known else None
    if question is None or known[0].asked is not None:
        return entry
    numbers = {use: fit.values for use, fit in known[0].asked_fits.items() if fit.values}
    laws = {use: law for use, law in known[0].fits.items() if use not in numbers}
    for chosen in _assignments(laws, fits):
        found_fits = {use: fit.result for use, fit in chosen.items()}
        asked = Asked(question, **found_fits, **numbers)
        again = (_asked_again(asked, answer) for answer in entry.answers)
        found = [answer for answer in takewhile(lambda answer: answer is not None, again) if answer]
        if len(found) == len(entry.answers):
            return entry.with_answers(found)
    return entry


def _asked_again(asked: Asked, answer: Answer) -> Answer | None:
    """An answer with the question that gives it; None where that has another answer."""
    if not answer.ok:
        return answer
    try:
        point = asked.point(_given(asked, answer), level=answer.level)
    except LawdslError:  # values that these fits, or an edited file, do not have
        return None
    chosen = {unknown.name: unknown.value for unknown in point.unknowns}
    if not point.ok or any(
        not math.isclose(u.value, chosen.get(u.name, math.nan), rel_tol=SAME, abs_tol=SAME)
        for u in answer.unknowns
    ):
        return None
    return replace(answer, asked=asked, curves_of=point.curves_of)


def _given(asked: Asked, answer: Answer) -> dict[str, float]:
    """The values for which an answer holds, of names that the question has for these fits."""
    return {name: x for name, x in answer.values.items() if name in asked.formulated.names}


def rests_on_others(entry: Entry) -> bool:
    """Whether the fits of a report do not give the values of answers, after `with_fits`."""
    return any(a.ok and a.declared is not None and a.asked is None for a in entry.answers)


def _assignments(laws: Mapping[str, str], fits: Sequence[Entry]) -> Iterator[dict[str, Entry]]:
    """Fits of a report for the uses of a question: those of the same name first; each fit for one use,
    while there are enough.

    Args:
        laws: use -> the name of its law.
        fits: those of the report.
    """
    named = {
        use: fit
        for use, law in laws.items()
        for fit in fits
        if fit.name == use and fit.result.law.name == law
    }
    open_uses = {use: law for use, law in laws.items() if use not in named}
    left = [fit for fit in fits if fit not in named.values()]
    for chosen in islice(permutations(left, len(open_uses)), MAX_ASSIGNMENTS):
        pairs = list(zip(open_uses.items(), chosen, strict=True))
        if all(fit.result.law.name == law for (_, law), fit in pairs):
            yield named | {use: fit for (use, _), fit in pairs}
    alone = {use: fit_of_use(use, law, fits) for use, law in laws.items()}
    found = {use: fit for use, fit in alone.items() if fit is not None}
    if len(left) < len(open_uses) and len(found) == len(alone):  # one fit serves several uses
        yield found


def fit_of_use(use: str, law: str, fits: Sequence[Entry]) -> Entry | None:
    """The fit of a report that a question uses: the fit of that name, or the only fit of that law.

    Args:
        use: the name in the question.
        law: the name of the law that the question declares.
        fits: the fits of the report.
    """
    named = [fit for fit in fits if fit.name == use and fit.result.law.name == law]
    alike = named or [fit for fit in fits if fit.result.law.name == law]
    return alike[0] if len(alike) == 1 else None
