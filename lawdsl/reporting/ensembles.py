"""Ensembles of fits, and their predictions -> text on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from lawdsl.core.diagnostics import printable
from lawdsl.core.enumerations import counted
from lawdsl.fitting.ensembles.kinds import KINDS
from lawdsl.fitting.predicted_points import PredictedPoints
from lawdsl.reporting.terminal import interval_text, number_text, show_data, show_rows

if TYPE_CHECKING:
    from lawdsl.fitting.ensembles.ensemble import Ensemble

MAX_PARTS_SHOWN = 50
NO_INTERVAL = (
    "the spread of the members is not a confidence interval: they share the errors of the law"
)


def show_ensemble(ensemble: Ensemble, out: Console) -> None:
    """Print an ensemble: its members, and its errors beside those of the single fit.

    Args:
        ensemble: the ensemble.
        out: where it is printed.
    """
    first, parts = ensemble.fits[0], ensemble.parts
    show_data(ensemble.fit.law, first.data, out)
    drawn_by = "runs" if first.data.groups is not None else "rows"
    median = "weighted median" if ensemble.kind == "boost" else "median"
    lines = [
        f"  {ensemble.kind}: {counted(ensemble.requested, 'member')}, combined by their {median}",
        f"  {drawn_by} of each: {KINDS[ensemble.kind]}; seed {ensemble.seed}",
    ]
    for line in lines:
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    show_rows(*error_rows(ensemble), out)
    if len(parts) > MAX_PARTS_SHOWN:
        out.print(f"and {len(parts) - MAX_PARTS_SHOWN:,} more")
    out.print(Text(f"verdict of the single fit: {ensemble.verdict}"), soft_wrap=True)


def error_rows(ensemble: Ensemble) -> tuple[list[str], list[list[Any]]]:
    """The headers and rows of a table of errors: one row for each label.

    Args:
        ensemble: the ensemble.
    """
    parts = ensemble.parts[:MAX_PARTS_SHOWN]
    has_labels = any(part.label for part in parts)
    out_of_bag = any(part.out_of_bag is not None for part in parts)
    headers = ["label"] if has_labels else []
    headers += ["members", "mean absolute error", "of the single fit"]
    headers += ["out of bag"] if out_of_bag else []
    rows = []
    for part in parts:
        row = [printable(part.label)] if has_labels else []
        row += [str(len(part.members)), _number(part.error), _number(part.single_error)]
        row += [_number(part.out_of_bag)] if out_of_bag else []
        rows.append(row)
    return headers, rows


def show_ensemble_predictions(predicted: PredictedPoints, out: Console) -> None:
    """Print the predictions of an ensemble with the spread of its members.

    Args:
        predicted: the points, with the arrays `SPREAD_ARRAYS`, or the median alone.
        out: where they are printed.
    """
    has_spread = predicted.arrays.shape[-1] > 1
    if len(predicted.points) == 1 and not predicted.labels:
        value, *spread = predicted.arrays[0].tolist()
        line = f"{predicted.output} {number_text(value)}, the median of the members"
        if has_spread:
            line += f"; {_spread_text(spread)}"
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    else:
        headers = [*predicted.identifiers, f"{predicted.output}, median"]
        headers += ["standard deviation", "5 % to 95 % quantile"] if has_spread else []
        rows = [[*point, *_cells(numbers.tolist())] for point, numbers in predicted.one_by_one()]
        show_rows(headers, rows, out)
    if has_spread:
        out.print(NO_INTERVAL, highlight=False, soft_wrap=True)


def _cells(numbers: Sequence[float]) -> list[Any]:
    value, *spread = numbers
    if not spread:
        return [value]
    return [value, f"{spread[0]:.3g}", interval_text(*spread[1:])]


def _spread_text(spread: Sequence[float]) -> str:
    deviation, low, high = spread
    return f"standard deviation {deviation:.3g}, 5 % to 95 % quantile {interval_text(low, high)}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
