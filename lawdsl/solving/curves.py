"""The records of the goal and the constraints along an unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ConstraintCurve:
    """A constraint of a question along an unknown: `left relation right`.

    Attributes:
        name: what a reader calls it.
        text: as it is written, at its label.
        left_text: the left side as it is written; `right_text` the right one.
        relation: <=, >=, <, > or =.
        unit: the unit of both sides; empty where it has none, or it is not known.
        left: its values, shape (points,); `right` those of the right side.
    """

    name: str
    text: str
    left_text: str
    relation: str
    right_text: str
    unit: str
    left: Array
    right: Array

    @property
    def margin(self) -> Array:
        """How far the constraint is from its bound, negative where it is broken, shape (points,)."""
        gap = self.right - self.left
        return gap if self.relation.startswith("<") else -gap


@dataclass(frozen=True, eq=False)
class Curve:
    """The goal and the constraints along an unknown, through an answer.

    Attributes:
        unknown: its name; `unit` is text, and `doc` says what it is.
        x: its values, ascending, shape (points,).
        logarithmic: whether these are even in the logarithm.
        others: the unknowns that move with it -> their values: those that equations determine, and
            the other shares of a mixture, in their proportions. All others are as in the answer.
        goal_text: as it is written; `goal_unit` is empty where it has none, or it is not known.
        goal: its values, shape (points,); nan where it has none.
        low: the lower end of its interval from the errors of the fits, nan where it is not known.
        high: the upper end.
        allowed: whether every constraint and every domain is satisfied, equations left out.
        equations: those that the curve leaves, as text: it is on them at the answer only.
        constraints: those of the question that move along the unknown.
    """

    unknown: str
    unit: str
    doc: str | None
    x: Array
    logarithmic: bool
    others: Mapping[str, Array]
    goal_text: str
    goal_unit: str
    goal: Array
    low: Array
    high: Array
    allowed: NDArray[np.bool_]
    equations: tuple[str, ...]
    constraints: tuple[ConstraintCurve, ...]
