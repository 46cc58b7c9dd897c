"""Points at which laws of a pipeline are evaluated -> warnings about those beyond the fitted rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.fitting.extrapolation.range_warnings import OTHER_UNIT_FACTOR
from lawdsl.law.law import Law

Array = NDArray[np.float64]

NEAR_FACTOR = 1.05  # times the last row: a prediction further out is extrapolated
FAR_FACTOR = 100.0  # times the last row, or below the first: nothing that rows say reaches there


@dataclass(frozen=True)
class Extrapolation:
    """A point beyond the rows of a fit.

    Attributes:
        subject: what is evaluated there, as the beginning of a sentence.
        variable: the variable.
        value: its value at the point.
        low, high: its smallest and its largest value in the rows.
        where: the labels of the group, as text; empty for a single group.
    """

    subject: str
    variable: str
    value: float
    low: float
    high: float
    where: str = ""

    @property
    def times(self) -> float:
        """How many times as far as the rows, or below them, the point is; 1 inside them, and where a
        ratio means nothing."""
        if self.value > self.high > 0:
            return self.value / self.high
        return self.low / self.value if 0 < self.value < self.low else 1.0

    @property
    def far(self) -> bool:
        """Whether the rows say nothing of the point."""
        return self.times >= FAR_FACTOR


def extrapolations(
    subject: str, law: Law, columns: Array, point: Iterable[float], labels: Mapping[str, str]
) -> Iterator[Extrapolation]:
    """The variables of a law that are beyond its rows at a point.

    Args:
        subject: what is evaluated there.
        law: the law.
        columns: its variables in the rows, shape (variables, rows).
        point: its variables at the point; nan where they are not known.
        labels: those of the group.
    """
    where = ", ".join(f"{n} = {x}" for n, x in labels.items())
    for q, column, number in zip(law.variables, columns, point, strict=True):
        extrapolation = Extrapolation(
            subject, q.name, float(number), float(np.min(column)), float(np.max(column)), where
        )
        if extrapolation.value > NEAR_FACTOR * extrapolation.high or extrapolation.far:
            yield extrapolation


def extrapolation_warnings(
    points: Sequence[Extrapolation], groups: int, place: str
) -> Iterator[Diagnostic]:
    """A warning for each point, whatever the number of groups: F0414 where it is far, else F0413.

    Args:
        points: those of a step.
        groups: the number of groups of the step.
        place: the name of the table.
    """
    alike: dict[tuple[str, str, float], list[Extrapolation]] = {}
    for each in points:
        alike.setdefault((each.subject, each.variable, each.value), []).append(each)
    for several in alike.values():
        furthest = max(several, key=lambda e: e.times)
        above = furthest.value > furthest.high
        end = f"end at {furthest.high:g}" if above else f"begin at {furthest.low:g}"
        at = f"{furthest.subject} at {furthest.variable} = {furthest.value:g}"
        where = f" for {furthest.where}" if furthest.where else ""
        if groups > 1 and len(several) > 1:
            where = f" (in {len(several)} of {groups} groups)"
        if not furthest.far:
            help = "its curve is extrapolated: measure up to there, or ask for less"
            message = f"{at}, and its rows {end}{where}"
            yield Diagnostic("F0413", message, "warning", place=place, help=help)
            continue
        times = f"{furthest.times:,.0f} times {'as far as' if above else 'below'} its rows"
        notes: tuple[str, ...] = ()
        if furthest.times >= OTHER_UNIT_FACTOR:
            span = f"{furthest.variable} from {furthest.low:g} to {furthest.high:g}"
            notes = (f"is it in another unit? the rows have {span}",)
        yield Diagnostic(
            "F0414",
            f"{at}, {times}, which {end}{where}",
            "warning",
            place=place,
            notes=notes,
            help="the rows say nothing so far out, and what follows from it is no result: ask for less, "
            "or measure nearer to it",
        )


def is_far(diagnostics: Sequence[Diagnostic]) -> bool:
    """Whether some warning is about a point of which the rows say nothing."""
    return any(d.code == "F0414" for d in diagnostics)
