"""Files of results -> the entries of a report: a name, a record, and its file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations
from pathlib import Path
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.files import read_json
from lawdsl.core.records import read
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits, load_fit
from lawdsl.fitting.storage import NO_FIT, READERS
from lawdsl.language import library
from lawdsl.law.law import Law
from lawdsl.solving.result import ANSWER_SCHEMA, Answer
from lawdsl.solving.solve import Asked

SAME = 1e-6
"""Relative tolerance within which an answer equals that of the same question solved again."""

MAX_ASSIGNMENTS = 24
"""Number of assignments of the fits of a report to the uses of an answer that are tried."""


@dataclass(frozen=True)
class Entry:
    """A result in a report.

    Attributes:
        name: its name in the report.
        result: a fit, fits, an answer, or any other record that has a document.
        file: the file it was read from; empty if it was not read from a file.
        fits: use -> file of its fit, for an answer whose fits are known.
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
        return Entry(name, load_fit(path), path)  # raises an error that describes the problem
    if not isinstance(content, Mapping) or "schema" not in content:
        return Entry(name, load_fit(path), path)
    if content.get("command") == "solve":
        content = content.get("result")
    elif "question" not in content:
        return Entry(name, load_fit(path), path)
    return Entry(name, _answer(content, path), path)


def _answer(content: Any, path: str) -> Answer:
    """The answer rebuilt from plain data, with its question."""
    if isinstance(content, list):
        message = f"the file has {len(content)} answers"
        help = "ask with one value for each given, and report that answer"
        raise LawdslError(Diagnostic("G0122", message, place=path, help=help))
    try:
        if content["schema"] != ANSWER_SCHEMA:
            raise ValueError(f"schema {content['schema']!r:.40}")
        answer = read(
            Answer, {**content, "declared": None, "curves_of": None, "asked": None}, READERS
        )
    except NO_FIT as error:
        message = f"the answer cannot be read: {str(error)[:160]}"
        help = "make it again: `lawdsl solve QUESTION … --json > ANSWER.json`"
        raise LawdslError(Diagnostic("G0122", message, place=path, help=help)) from None
    return with_question(answer, path)


def with_question(answer: Answer, path: str = "") -> Answer:
    """The answer with its question as declared, which displays require.

    Args:
        answer: the answer.
        path: the path of its file, for the error.

    Raises:
        LawdslError: its question is not one that ships (G0122).
    """
    if answer.declared is not None:
        return answer
    try:
        question, _ = library.question(answer.question)
    except LawdslError:
        message = f"the question `{answer.question}` is not one that ships"
        help = "name its file: `lawdsl report FIT.json --question FILE.law fit=FIT.json …`"
        raise LawdslError(Diagnostic("G0122", message, place=path, help=help)) from None
    return replace(answer, declared=question)


def with_fits(entry: Entry, fits: Sequence[Entry]) -> Entry:
    """The answer with its question, its fits and the curves that figures draw, if its fits are in
    the report.

    The question is solved again; if the values differ, the fits are not those of the answer.

    Args:
        entry: an answer with its question.
        fits: the fits of the report.
    """
    answer: Answer = entry.result
    if answer.asked is not None or answer.declared is None or not answer.ok:
        return entry
    given = {name: value for name, value in answer.values.items() if "." not in name}
    for chosen in _assignments(answer, fits):
        asked = Asked(answer.declared, **{use: fit.result for use, fit in chosen.items()})
        point = asked.point(given, level=answer.level)
        if point.ok and all(
            math.isclose(a.value, b.value, rel_tol=SAME, abs_tol=SAME)
            for a, b in zip(answer.unknowns, point.unknowns, strict=True)
        ):
            return replace(entry, result=replace(answer, asked=asked, curves_of=point.curves_of))
    return entry


def rests_on_others(answer: Answer) -> bool:
    """Whether the fits of the report do not reproduce an answer, after `with_fits`."""
    return answer.ok and answer.declared is not None and answer.asked is None


def _assignments(answer: Answer, fits: Sequence[Entry]) -> Iterator[dict[str, Entry]]:
    """Assign fits of a report to the uses of a question: fits of the same name first, and each fit
    to one use as long as there are enough.
    """
    named = {
        use: fit
        for use, law in answer.fits.items()
        for fit in fits
        if fit.name == use and fit.result.law.name == law
    }
    open_uses = {use: law for use, law in answer.fits.items() if use not in named}
    left = [fit for fit in fits if fit not in named.values()]
    for chosen in islice(permutations(left, len(open_uses)), MAX_ASSIGNMENTS):
        pairs = list(zip(open_uses.items(), chosen, strict=True))
        if all(fit.result.law.name == law for (_, law), fit in pairs):
            yield named | {use: fit for (use, _), fit in pairs}
    alone = {use: fit_of_use(use, law, fits) for use, law in answer.fits.items()}
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
