"""The values of measured variables, as a record and as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.records import read

Point = Mapping[str, float]
"""Values of the variables that a measure leaves open, in the law's units: N = 1.8, r = 1."""


@dataclass(frozen=True)
class Measured:
    """The values of measured variables.

    Attributes:
        values: variable -> label -> value, in the variable's unit.
        points: variable -> the points over which its values are means; empty for a variable given
            by a column. Later measurements are comparable only at the same points.
        warnings: suspicious but usable data.
    """

    values: Mapping[str, Mapping[str, float]]
    points: Mapping[str, tuple[Point, ...]]
    warnings: tuple[Diagnostic, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The values and points as plain data for JSON; warnings are omitted."""
        points = {
            name: [dict(point) for point in means_over] for name, means_over in self.points.items()
        }
        return {
            "values": {n: dict(by_label) for n, by_label in self.values.items()},
            "points": points,
        }

    @classmethod
    def of_json(cls, content: Any) -> Measured:
        """The record from the plain data of `to_json`, without the warnings of the original table.

        Raises:
            ValueError: the content does not have that form.
        """
        stored = read(_StoredMeasured, content)
        return cls(stored.values, stored.points)


@dataclass(frozen=True)
class _StoredMeasured:
    """The form in which measured values are stored."""

    values: Mapping[str, Mapping[str, float]]
    points: Mapping[str, tuple[Mapping[str, float], ...]]
