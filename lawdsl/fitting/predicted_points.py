"""The record of predictions at points given by a user, or at the rows of a table."""

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
        points: the values of each point.
        output: the name of the predicted variable.
        over: the name of the index set with one prediction per label; "" without labels.
        labels: its labels.
        arrays: shape (points, arrays), or (points, labels, arrays): the value, or with intervals
            the arrays of a band in the order of `BAND_ARRAYS`.
        level: the level of the intervals.
        law: the name of the law.
        units: name of a variable or the output -> its unit as text, if it has one.
        warnings: warnings about the points.
        variables: the names that are variables of the law; empty for all.
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
        """Whether the predictions include the error of the law."""
        return self.arrays.shape[-1] == len(BAND_ARRAYS)

    @property
    def interval_name(self) -> str:
        """The name of the interval of the curve."""
        return f"{100 * self.level:g} % interval"

    @property
    def identifiers(self) -> list[str]:
        """The headers of the columns that distinguish predictions."""
        if not self.labels:
            return list(self.names)
        return [*(self.names if len(self.points) > 1 else ()), self.over]

    def one_by_one(self) -> Iterator[tuple[list[Any], Array]]:
        """The identifying values of each prediction, and its arrays."""
        for point, predicted in zip(self.points, self.arrays, strict=True):
            if not self.labels:
                yield list(point), predicted
                continue
            shared = point if len(self.points) > 1 else ()
            for label, of_label in zip(self.labels, predicted, strict=True):
                yield [*shared, label], of_label
