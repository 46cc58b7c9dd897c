"""The records of the goal and the constraints as functions of an unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ConstraintCurve:
    """A constraint of a question as a function of an unknown: `left relation right`.

    Attributes:
        name: its name in texts.
        text: the constraint as written, for its label.
        left_text: the left side as written; `right_text` is the right one.
        relation: <=, >=, <, > or =.
        unit: the unit of both sides; empty if there is none, or it is not known.
        left: the values of the left side, shape (points,); `right` are those of the right side.
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
        """The distance of the constraint from its bound, negative if it is violated, shape
        (points,).
        """
        gap = self.right - self.left
        return gap if self.relation.startswith("<") else -gap


@dataclass(frozen=True, eq=False)
class Curve:
    """The goal and the constraints as functions of an unknown, through an answer.

    Attributes:
        unknown: the name of the unknown; `unit` is its unit as text, and `doc` its description.
        x: the values of the unknown, ascending, shape (points,).
        logarithmic: whether these are evenly spaced in the logarithm.
        others: the unknowns that vary with it -> their values: those that equations determine, and
            the other shares of a mixture, which keep their proportions. All others are as in the
            answer.
        goal_text: the goal as written; `goal_unit` is empty if it has none, or it is not known.
        goal: the values of the goal, shape (points,); nan where it is undefined.
        low: the lower end of its interval due to the errors of the fits; nan where it is not known.
        high: the upper end.
        allowed: whether every constraint and every domain is satisfied, except for equations.
        equations: the equations that hold only at the answer, not along the curve, as text.
        constraints: the constraints of the question that vary with the unknown.
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
