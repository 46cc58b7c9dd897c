"""The values of a measured variable for all labels, with the readings and points that they are
based on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lawdsl.data.evaluations import RunReading
from lawdsl.data.measured_values import Point
from lawdsl.language import tree
from lawdsl.language.symbols import Measure

Between = tuple[tree.Call, tuple[float, float]]
"""A reading, and the two evaluations between which it was interpolated."""

Read = Mapping[tree.Call, Mapping[int, RunReading]]
"""Reading -> run -> the value read."""


@dataclass(frozen=True)
class Means:
    """The values of one variable.

    Attributes:
        measure: the rule by which it is measured.
        values: label -> value.
        points: the points over which each value is the mean.
        lacking: label -> points of other labels at which it has no runs; these points were
            excluded.
        between: (reading, the two evaluations between which it was interpolated) -> labels.
    """

    measure: Measure
    values: Mapping[str, float]
    points: tuple[Point, ...]
    lacking: Mapping[str, tuple[Point, ...]]
    between: Mapping[Between, tuple[str, ...]]
