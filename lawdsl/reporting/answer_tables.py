"""Answers to questions -> the columns and rows of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lawdsl.language.label_texts import split_element, with_subscripts

if TYPE_CHECKING:
    from lawdsl.language.questions import Question
    from lawdsl.solving.result import Answer, Response
    from lawdsl.solving.result_under_law_error import Ends

Columns = tuple[list[str], list[list[Any]]]


def rows_of(answers: Sequence[Answer], varying: Sequence[str]) -> Columns:
    """Tabulate answers, one row each: the varied inputs, the unknowns, their intervals.

    Args:
        answers: the answers to one question.
        varying: names of the givens and settings that differ.

    Returns:
        Headers and rows.
    """
    first = next((a for a in answers if a.unknowns), None)
    names = [u.name for u in first.unknowns] if first else []
    headers = list(varying)
    goal = goal_of(answers)
    for text in (*names, *goal):
        headers += _with_ends(text)
    wrong = any(answer.law_error for answer in answers)
    if wrong:
        ends = (f"{name} {end}, laws wrong" for name in (*names, *goal) for end in ("low", "high"))
        headers += [*ends, "regret", "kept"]
    safe = any(answer.safe for answer in answers)
    if safe:
        headers += [*(f"{name} safe" for name in names), "probability"]
    headers.append("where")
    rows = []
    for answer in answers:
        row: list[Any] = [answer.given(name) for name in varying]
        by_name = {u.name: u for u in answer.unknowns}
        for name in names:
            u = by_name.get(name)
            row += _value_and_ends(u.value, u.ends) if u else [None] * 3
        if goal:
            row += (
                _value_and_ends(answer.goal.value, answer.goal.ends) if answer.goal else [None] * 3
            )
        if wrong:
            row += _values_if_laws_are_wrong(answer, names, with_goal=bool(goal))
        if safe:
            row += _safe_values(answer, names)
        row.append(answer.where or answer.status)
        rows.append(row)
    return headers, rows


def _values_if_laws_are_wrong(
    answer: Answer, names: Sequence[str], *, with_goal: bool
) -> list[float | None]:
    """The cells of an answer with the error of the laws: the intervals of the unknowns and of the
    goal, empty where unknown; the regret; the probability that the answer satisfies its
    constraints.
    """
    wrong = answer.law_error
    if wrong is None:
        return [None] * (2 * (len(names) + with_goal) + 2)
    ends = [wrong.ends.get(name) for name in names] + ([wrong.goal] if with_goal else [])
    cells = [end for pair in ends for end in pair or (None, None)]
    return [*cells, wrong.regret, wrong.kept]


def _safe_values(answer: Answer, names: Sequence[str]) -> list[float | None]:
    """The unknowns of the safe answer, empty where no choice is safe, and its probability."""
    if answer.safe is None:
        return [None] * (len(names) + 1)
    unknowns = answer.safe.unknowns if answer.safe.ok else {}
    return [*(unknowns.get(name) for name in names), answer.safe.probability]


def is_by_label(question: Question) -> bool:
    """Whether all unknowns are indexed by one set and are not shares; each label then has a row."""
    unknowns = question.of_kind("unknown")
    return len({u.indices for u in unknowns}) == 1 and all(
        len(u.indices) == 1 and not u.simplex for u in unknowns
    )


def rows_by_label(question: Question, answers: Sequence[Answer], varying: Sequence[str]) -> Columns:
    """Tabulate answers, one row for each label: the varied inputs, the label, its unknowns.

    Args:
        question: the question whose unknowns are all indexed by one set.
        answers: to it.
        varying: names of the givens and settings that differ.

    Returns:
        Headers and rows.
    """
    names = [u.name for u in question.of_kind("unknown")]
    over = question.indices[question.of_kind("unknown")[0].indices[0]].over
    headers = [*varying, over]
    for name in names:
        headers += [*_with_ends(name), f"where {name}"]
    rows = []
    for answer in answers:
        by_name = {u.name: u for u in answer.unknowns}
        for label in dict.fromkeys(x for n in by_name for x in split_element(n)[1][:1]):
            row: list[Any] = [*(answer.given(name) for name in varying), label]
            for name in names:
                u = by_name.get(with_subscripts(name, (label,)))
                row += [*_value_and_ends(u.value, u.ends), u.place] if u else [None] * 4
            rows.append(row)
    return headers, rows


def curve_of(answers: Sequence[Answer], varying: Sequence[str]) -> Columns:
    """Tabulate response curves, one row for each point.

    Args:
        answers: the answers to one question.
        varying: names of the givens and settings that differ.

    Returns:
        Headers and rows.
    """
    first: Response | None = next((r for a in answers for r in a.response), None)
    goal = goal_of(answers)
    x: Mapping[str, float] = first.x if first else {}
    margins: Mapping[str, float] = first.margins if first else {}
    headers = [*varying, *x, *(h for text in goal for h in _with_ends(text))]
    headers += [f"margin of {text}" for text in margins]
    rows = [
        [
            *(answer.given(name) for name in varying),
            *r.x.values(),
            *(_value_and_ends(r.goal, r.ends) if goal else ()),
            *r.margins.values(),
        ]
        for answer in answers
        for r in answer.response
    ]
    return headers, rows


def goal_of(answers: Sequence[Answer]) -> tuple[str, ...]:
    """The text of the goal; empty where the goal is itself an unknown."""
    first = next((a for a in answers if a.goal), None)
    if first is None or first.goal is None:
        return ("goal",)
    return () if first.goal.text in {u.name for u in first.unknowns} else (first.goal.text,)


def _with_ends(name: str) -> list[str]:
    return [name, f"{name} low", f"{name} high"]


def _value_and_ends(value: float, ends: Ends | None) -> list[float | None]:
    return [value, *(ends or (None, None))]
