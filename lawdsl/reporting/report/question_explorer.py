"""Answer -> sliders for its givens, with which the reader of a page varies the answer."""

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
"""Significant digits of the numbers in a page: a compact size, and more precise than the
interpolation.
"""
MAX_NAMED = 4
"""Number of quantities up to which each interpolation error is stated."""


@dataclass(frozen=True)
class QuestionExplorer:
    """An answer that the reader can vary.

    Attributes:
        name: the name of the answer.
        table: the answers that were computed.
        level: the level of the intervals.
    """

    name: str
    table: AnswerTable
    level: float

    @property
    def axes(self) -> Sequence[Axis]:
        """The givens that can be varied."""
        return self.table.axes

    @property
    def settings(self) -> str:
        """The settings of the page's script, as JSON that is safe inside a page."""
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
                    **{
                        "values": _rounded(c.values),
                        "low": _rounded(c.low),
                        "high": _rounded(c.high),
                    },
                }
                for c in self.table.columns
            ],
        }
        return json_in_page(content, separators=(",", ":"))

    @property
    def made(self) -> str:
        """How the answers were computed, and the error of the interpolation between them."""
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


def _rounded(values: Sequence[float | None]) -> list[float | None]:
    return [None if x is None else float(f"{x:.{DIGITS}g}") for x in values]


def _errors(columns: Sequence[Column]) -> str:
    if len(columns) > MAX_NAMED:  # the goal, and the unknown with the largest error
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
    """The explorer of an answer; None if its fits are not known, or no given can be varied.

    Args:
        entry: an answer.
        progress: called with the number of answers computed, and the total.
    """
    asked = entry.result.asked
    if not isinstance(asked, Asked):
        return None
    table = answer_table(asked, entry.result, progress)
    return None if table is None else QuestionExplorer(entry.name, table, entry.result.level)


def question_scripts(explorers: Sequence[QuestionExplorer]) -> list[tuple[str, str]]:
    """The scripts of a page, as pairs of type and text.

    Args:
        explorers: the explorers in their order on the page.
    """
    if not explorers:
        return []
    code = (files(__package__) / "question_explorer.js").read_text(encoding="utf-8")
    calls = "".join(f"lawdslAnswers({number});\n" for number in range(len(explorers)))
    return [("text/javascript", f"{code}{calls}")]
