"""Answer -> sliders for what was given, by which the reader of a page moves the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from lawdsl.core.axes import LOG_SPAN
from lawdsl.core.enumerations import conjunction
from lawdsl.core.files import json_in_page
from lawdsl.reporting.report.answer_table import AnswerTable, Axis, Column, Progress, answer_table
from lawdsl.reporting.report.entries import Entry
from lawdsl.reporting.terminal import number_text
from lawdsl.solving.solve import Asked

DIGITS = 9
"""Of the numbers of a table in a page: ten times fewer bytes, and more than interpolation keeps."""
MAX_NAMED = 4
"""Quantities whose errors of interpolation are named one by one."""


@dataclass(frozen=True)
class QuestionExplorer:
    """An answer that the reader moves.

    Attributes:
        name: what the answer is called.
        table: the answers that were computed.
        level: the level of the intervals.
    """

    name: str
    table: AnswerTable
    level: float

    @property
    def axes(self) -> Sequence[Axis]:
        """What is moved."""
        return self.table.axes

    @property
    def settings(self) -> str:
        """What the script of the page needs to know, as JSON that may stand in a page."""
        content = {
            "level": self.level,
            "log_span": LOG_SPAN,
            "axes": [
                {"name": a.name, "unit": a.unit, "nodes": a.nodes, "start": a.start}
                for a in self.axes
            ],
            "statuses": self.table.statuses,
            "columns": [
                {
                    **{"name": c.name, "unit": c.unit, "error": c.error},
                    **{"values": _short(c.values), "low": _short(c.low), "high": _short(c.high)},
                }
                for c in self.table.columns
            ],
        }
        return json_in_page(content, separators=(",", ":"))

    @property
    def made(self) -> str:
        """How the answers were computed, and how wrong what is between them is."""
        table = self.table
        text = f"{table.count} answers were computed for these sliders; between them they are interpolated."
        if table.checks:
            places = "place" if table.checks == 1 else "places"
            text += f" At {table.checks} {places} in the middle between them, "
            text += f"the interpolation was wrong by at most {_errors(table.columns)}."
        if table.wrong:
            places = "place" if table.wrong == 1 else "places"
            text += (
                f" At {table.wrong} {places} there was no answer, though there is one all around."
            )
        if table.fixed:
            text += f" All else is as it was asked: {conjunction(list(table.fixed))}."
        return text + " The intervals are those of the fitted laws, without the error of the laws."


def _short(values: Sequence[float | None]) -> list[float | None]:
    return [None if x is None else float(f"{x:.{DIGITS}g}") for x in values]


def _errors(columns: Sequence[Column]) -> str:
    if len(columns) > MAX_NAMED:  # the goal, and the worst of the unknowns
        *unknowns, goal = columns
        relative = [c for c in unknowns if c.logarithmic]
        absolute = [c for c in unknowns if not c.logarithmic]
        worst = [max(group, key=lambda c: c.error) for group in (relative, absolute) if group]
        columns = [*worst, goal]
    return conjunction([f"{_error(column)} ({column.name})" for column in columns])


def _error(column: Column) -> str:
    if column.logarithmic:
        return "less than 0.0001 %" if column.error < 1e-6 else f"{100 * column.error:.2g} %"
    return f"{number_text(float(f'{column.error:.2g}'))}{f' {column.unit}' if column.unit else ''}"


def question_explorer_of(entry: Entry, progress: Progress | None = None) -> QuestionExplorer | None:
    """The explorer of an answer; None where its fits are not known, or nothing can be moved.

    Args:
        entry: an answer.
        progress: told how many answers are computed.
    """
    asked = entry.result.asked
    if not isinstance(asked, Asked):
        return None
    table = answer_table(asked, entry.result, progress)
    return None if table is None else QuestionExplorer(entry.name, table, entry.result.level)


def question_scripts(explorers: Sequence[QuestionExplorer]) -> list[tuple[str, str]]:
    """The scripts of a page: type and text.

    Args:
        explorers: in the order in which they stand in the page.
    """
    if not explorers:
        return []
    code = (files(__package__) / "question_explorer.js").read_text(encoding="utf-8")
    calls = "".join(f"lawdslAnswers({number});\n" for number in range(len(explorers)))
    return [("text/javascript", f"{code}{calls}")]
