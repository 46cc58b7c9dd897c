"""The record of predictions at points that a user names, or at the rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.presentation import Presented
from lawdsl.fitting.prediction_bands import BAND_ARRAYS

Array = NDArray[np.float64]

PREDICTED = " predicted"
"""What is added to the name of an output where a table may have a column of that name."""


@dataclass(frozen=True)
class PredictedPoints(Presented):
    """Predictions at the rows of a table or a grid of values.

    Attributes:
        names: the headers of the points.
        points: the cells of each point.
        output: the name of the predicted variable.
        over: the name of the index set whose labels have a prediction each; "" without labels.
        labels: its labels.
        arrays: shape (points, arrays), or (points, labels, arrays): the value, and with intervals
            the arrays of a band, in the order of `BAND_ARRAYS`.
        level: the level of the intervals.
        law: the name of the law.
        units: name -> its unit as text, where it has one, of the points and of the output.
        warnings: about the points.
        variables: those of the names that the law takes; empty for all.
    """

    names: Sequence[str]
    points: Sequence[Sequence[Any]]
    output: str
    over: str
    labels: Sequence[str]
    arrays: Array
    level: float
    law: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[Diagnostic, ...] = field(default=(), repr=False)
    variables: Sequence[str] = ()

    @property
    def has_law_error(self) -> bool:
        """Whether the error of the law is in the predictions."""
        return self.arrays.shape[-1] == len(BAND_ARRAYS)

    @property
    def interval_name(self) -> str:
        """What the interval of the curve is called."""
        return f"{100 * self.level:g} % interval"

    @property
    def identifiers(self) -> list[str]:
        """The headers of the cells that tell one prediction from another."""
        if not self.labels:
            return list(self.names)
        return [*(self.names if len(self.points) > 1 else ()), self.over]

    def one_by_one(self) -> Iterator[tuple[list[Any], Array]]:
        """The cells under the identifiers of each prediction, and its arrays."""
        for point, predicted in zip(self.points, self.arrays, strict=True):
            if not self.labels:
                yield list(point), predicted
                continue
            shared = point if len(self.points) > 1 else ()
            for label, of_label in zip(self.labels, predicted, strict=True):
                yield [*shared, label], of_label
