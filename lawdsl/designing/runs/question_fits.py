"""A question + a table of runs -> the fits of its laws, or the law whose first runs are needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.designing.runs.first_batch import rows_of_first_fit
from lawdsl.designing.runs.measured_rows import measured_rows
from lawdsl.fitting.fit import fit
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.language.keywords import did_you_mean
from lawdsl.language.law_changes import LawChanges
from lawdsl.language.questions import Question
from lawdsl.law.law import Law


@dataclass(frozen=True)
class UsedLaw:
    """A law that a question uses, and the columns that it is fitted to.

    Attributes:
        use: the name by which the question calls it.
        law: with its changes.
        columns: variable or output -> column.
    """

    use: str
    law: Law
    columns: Mapping[str, str]


def used_laws(
    question: Question, columns: Mapping[str, Mapping[str, str]], changes: LawChanges
) -> tuple[UsedLaw, ...]:
    """The laws of a question, each with the columns of its own.

    Args:
        question: the question.
        columns: use -> variable or output -> column.
        changes: of all these laws.

    Raises:
        LawdslError: a use that the question does not have, or one without columns (N0109).
    """
    names = tuple(question.uses)
    for name in columns:
        if name not in names:
            message = f"`{question.name}` uses no fit `{name}`"
            help = did_you_mean(name, names, f"it uses {', '.join(names)}")
            raise LawdslError(Diagnostic("N0109", message, help=help))
    for name in names:
        if name not in columns:
            output = question.uses[name].output.name
            message = f"the columns of `{name}` are not given"
            help = f'say which column is its loss: --use "{name} {output}=L_{name}"'
            raise LawdslError(Diagnostic("N0109", message, help=help))
    return tuple(
        UsedLaw(name, changes.apply(Law(question.uses[name])), columns[name]) for name in names
    )


def fits_of_uses(
    used: Sequence[UsedLaw], runs: Any, where: Sequence[str]
) -> dict[str, Fit | Fits] | None:
    """The fits of the laws of a question to the runs so far.

    Args:
        used: the laws.
        runs: the table of the runs; None for none.
        where: conditions that rows meet.

    Returns:
        Use -> its fit; None while the runs have fewer rows than a first fit.

    Raises:
        LawdslError: a table that a law cannot use.
    """
    for each in used:
        _, rows = measured_rows(each.law, runs, each.columns, where)
        if rows.shape[1] < rows_of_first_fit(each.law):
            return None
    return {
        each.use: fit(each.law, runs, columns=each.columns, where=tuple(where), claims=False)
        for each in used
    }


def most_demanding(used: Sequence[UsedLaw]) -> UsedLaw:
    """The law that needs the most rows."""
    return max(used, key=lambda each: rows_of_first_fit(each.law))
