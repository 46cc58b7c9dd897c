"""Predictions -> printed sentences and tables.

On a terminal an interval is one cell, and labels are rows, to save space. Files and JSON documents
have one column per array of a band.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from lawdsl.fitting.predicted_points import PredictedPoints
from lawdsl.fitting.prediction_bands import BAND_ARRAYS, PART_NAMES
from lawdsl.language.label_texts import with_subscripts
from lawdsl.reporting.terminal import (
    cell_text,
    interval_text,
    number_text,
    rows_table,
)

Array = NDArray[np.float64]

UNLIMITED = 10**6
"""A width in characters that exceeds that of any table."""


def show_predictions(predicted: PredictedPoints, out: Console) -> None:
    """Print predictions: one as a sentence, several as a table, or as sentences if the table is too
    wide.

    Args:
        predicted: the points and the predictions.
        out: where they are printed.
    """
    if predicted.has_law_error and len(predicted.points) == 1 and not predicted.labels:
        print_sentence(predicted.output, predicted.arrays[0], predicted.level, out)
        return
    for headers, rows in _tables(predicted):
        table = rows_table(headers, rows)
        # a table is measured up to the width of its console unless the options override it
        unlimited = out.options.update(width=UNLIMITED)
        if out.measure(table, options=unlimited).maximum <= out.width:
            out.print(table)
            return
    for point, numbers in predicted.one_by_one():
        named = zip(predicted.identifiers, map(cell_text, point), strict=True)
        line = ", ".join(f"{name} = {cell}" for name, cell in named)
        out.print(line, markup=False, highlight=False, soft_wrap=True)
        print_sentence(predicted.output, numbers, predicted.level, out)


def _tables(predicted: PredictedPoints) -> Iterator[tuple[list[str], list[list[Any]]]]:
    """Headers and rows of the possible tables of predictions, the preferred one first."""
    is_plain = predicted.arrays.shape[-1] == 1
    if is_plain and predicted.labels and len(predicted.points) > 1:
        outputs = [with_subscripts(predicted.output, (label,)) for label in predicted.labels]
        values = predicted.arrays[..., 0].tolist()
        rows = [[*point, *row] for point, row in zip(predicted.points, values, strict=True)]
        yield [*predicted.names, *outputs], rows
    headers = [*predicted.identifiers, predicted.output]
    headers += [] if is_plain else [predicted.interval_name]
    if predicted.has_law_error:
        headers += ["a further run", f"± {', '.join(PART_NAMES.values())}", "law alone"]
    yield headers, [[*point, *_cells(numbers)] for point, numbers in predicted.one_by_one()]


def print_sentence(output: str, numbers: Array, level: float, out: Console) -> None:
    """Print one prediction with its intervals, in two lines if they include the error of the law.

    Args:
        output: the name of the predicted variable.
        numbers: the value, or the arrays of its band in the order of `BAND_ARRAYS`.
        level: the level of the intervals.
        out: where it is printed.
    """
    percent = f"{100 * level:g} %"
    if len(numbers) != len(BAND_ARRAYS):
        value, *ends = numbers.tolist()
        interval = f", {percent} {interval_text(*ends)}" if ends else ""
        out.print(f"{output} {number_text(value)}{interval}", markup=False, highlight=False)
        return
    value, low, high, law, run_low, run_high, *parts = numbers.tolist()
    shares = ", ".join(
        f"{name} {x:.2g}" for name, x in zip(PART_NAMES.values(), parts, strict=True)
    )
    lines = (
        f"{output} {number_text(value)}, {percent} {interval_text(low, high)} "
        f"(the law alone: {number_text(law)})",
        f"a further run: {percent} {interval_text(run_low, run_high)}: ± {shares}",
    )
    for line in lines:
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def _cells(numbers: Array) -> list[Any]:
    """The cells of one prediction: the value, its intervals, their parts and the law alone."""
    if len(numbers) == 1:
        return [float(numbers[0])]
    if len(numbers) != len(BAND_ARRAYS):
        value, low, high = numbers.tolist()
        return [value, interval_text(low, high)]
    value, low, high, law, run_low, run_high, *parts = numbers.tolist()
    sizes = ", ".join(f"{x:.2g}" for x in parts)
    return [value, interval_text(low, high), interval_text(run_low, run_high), sizes, law]
