"""Fits of a law with index sets + table -> predictions: each row by the fit of its label."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.binding import chosen_rows
from lawdsl.data.covariates import with_columns, without_readings
from lawdsl.data.label_columns import WILDCARD
from lawdsl.data.measured_variables import measured
from lawdsl.data.melt import Labelled, labelled, no_labels
from lawdsl.data.read import read_table
from lawdsl.fitting.extrapolation.range_warnings import departure_warning, departures
from lawdsl.fitting.findings_by_label import label_of, listed_labels
from lawdsl.fitting.fits_record import FitsRecord
from lawdsl.fitting.prediction_bands import BAND_ARRAYS, PLAIN_ARRAYS, missing_band_diagnostic
from lawdsl.fitting.result import Fit
from lawdsl.language.instances.instance import row_indices

if TYPE_CHECKING:
    from lawdsl.law.law import Law

Array = NDArray[np.float64]
PART_WARNING_CODES = (
    "F0110",
    "F0126",
    "F0127",
)  # trust, standard errors, inflections; ranges concern the table
Predicted = tuple[Array, tuple[Diagnostic, ...]]  # the values, and warnings about them


@dataclass(frozen=True)
class MemberOptions:
    """How the members of an ensemble predict.

    Attributes:
        arrays: the number of arrays of a prediction.
        predict: the function from a part, rows and their columns to the arrays, shape (arrays, rows).
    """

    arrays: int
    predict: Callable[[Fit, Any, Mapping[str, str]], Array]


@dataclass(frozen=True)
class BandOptions:
    """The options of the requested intervals.

    Attributes:
        level: 0.95 for 95 % intervals.
        discrepancy: the error of the law per decade; 0 for a law without error; or "learned".
    """

    level: float
    discrepancy: float | Literal["learned"]


def predict_rows(
    fits: FitsRecord,
    table: Any,
    runs: Any,
    columns: Mapping[str, str],
    options: BandOptions | MemberOptions | None = None,
) -> Predicted:
    """Predict the rows of a table by the fits of a law with index sets.

    Args:
        fits: the fits of the law.
        table: the table, as for `Fits.predict`.
        runs: a table of runs of further domains, or None.
        columns: variable or set -> column, or pattern of columns.
        options: the options of the intervals, or of the members of an ensemble; None for the values
            alone.

    Returns:
        The values, or with options the arrays of `Band` in the order of BAND_ARRAYS, or those of the
        members: shape
        (arrays, rows) if the rows contain their labels or the law predicts one number, else
        (arrays, rows, labels); and the warnings.

    Raises:
        LawdslError: a table that cannot be used.
    """
    law = fits.read_law()
    declared = law.declarations
    rows, _ = chosen_rows(read_table(table, columns, fitted=fits.columns), (), drop_bad=False)
    bound = {**_fitted_columns(fits, law, rows.columns), **columns}
    more: tuple[Diagnostic, ...] = ()
    if fits.measured is not None:
        values, more = _measured_values(fits, law, runs, columns)
        rows = with_columns(declared, rows, bound, values)
        bound = without_readings(declared, bound)
    row_label_indices = fits.asked(law)
    free = {declared.indices[i].over for i in row_indices(declared)}
    free -= {declared.indices[i].over for i in row_label_indices}
    known_labels = {over: labels for over, labels in fits.labels.items() if over not in free}
    labelled_rows = labelled(declared, rows, bound, target=False, fit_labels=known_labels)
    more = (*more, *_remaining_share_warnings(fits, labelled_rows))
    missing = [index for index in row_label_indices if index not in labelled_rows.of_rows]
    if not missing:
        values_of_rows, warnings = _predict_by_label_of_row(fits, labelled_rows, options)
        return values_of_rows, (*more, *warnings)
    if missing != list(declared.output.indices) or not fits.apart:
        raise LawdslError(no_labels(declared, missing[0], rows))
    _check_covariances(fits.parts if isinstance(options, BandOptions) else ())
    predictions = [_predict_part(part, labelled_rows, {}, options) for part in fits.parts]
    part_warnings = _distinct_warnings(
        [(label_of(p), more) for p, (_, more) in zip(fits.parts, predictions, strict=True)]
    )
    return np.stack([values for values, _ in predictions], axis=2), (
        *more,
        *labelled_rows.warnings,
        *part_warnings,
    )


def array_count(options: BandOptions | MemberOptions | None) -> int:
    """The number of arrays of a prediction with these options."""
    if options is None:
        return 1
    if isinstance(options, MemberOptions):
        return options.arrays
    return len(BAND_ARRAYS if options.discrepancy else PLAIN_ARRAYS)


def _remaining_share_warnings(fits: FitsRecord, labelled_rows: Labelled) -> list[Diagnostic]:
    """A warning about shares that are 1 minus the others and outside the range of the fitted rows."""
    found = [
        departure
        for name, ends in fits.rests.items()
        if name in labelled_rows.table.columns
        for departure in departures(name, labelled_rows.table.numbers(name), ends)
    ]
    return departure_warning(found)


def _fitted_columns(
    fits: FitsRecord, law: Law, columns_of_fit: Mapping[str, Any]
) -> dict[str, str]:
    """The fitted columns that exist in the table."""
    columns = {}
    for name, column in fits.columns.items():
        before, star, after = column.partition(WILDCARD)
        alike = any(c.startswith(before) and c.endswith(after) for c in columns_of_fit)
        if name != law.output and (column in columns_of_fit or (star and alike)):
            columns[name] = column
    return columns


def _measured_values(
    fits: FitsRecord, law: Law, runs: Any, columns: Mapping[str, str]
) -> tuple[Mapping[str, Mapping[str, float]], tuple[Diagnostic, ...]]:
    """The measured properties of each fitted domain, or of those of further runs, at equal points."""
    assert fits.measured is not None
    if runs is None:
        return fits.measured.values, ()
    table = read_table(runs, columns, fitted=fits.columns)
    fitted_columns = {n: c for n, c in fits.columns.items() if c in table.columns}
    points = fits.measured.points
    measurement = measured(law.declarations, table, {**fitted_columns, **columns}, points=points)
    return measurement.values, measurement.warnings


def _predict_by_label_of_row(
    fits: FitsRecord, labelled_rows: Labelled, options: BandOptions | MemberOptions | None
) -> Predicted:
    """The prediction of each row by the part of its label."""
    values = np.full((array_count(options), len(labelled_rows.table)), np.nan)
    of_parts = []
    parts = [(part, labelled_rows.rows_with(_labels_of_part(part))) for part in fits.parts]
    parts = [(part, has_label) for part, has_label in parts if has_label.any()]
    _check_covariances([part for part, _ in parts] if isinstance(options, BandOptions) else ())
    for part, has_label in parts:
        values[:, has_label], more = _predict_part(
            part, labelled_rows, _labels_of_part(part), options
        )
        of_parts.append((label_of(part), more))
    return values, (*labelled_rows.warnings, *_distinct_warnings(of_parts))


def _distinct_warnings(
    of_parts: Sequence[tuple[str, tuple[Diagnostic, ...]]],
) -> tuple[Diagnostic, ...]:
    """The warnings of parts, each once. If all parts share a warning with different advice, as on
    the precision of the prediction, the label of each part becomes its location.
    """
    alike: dict[tuple[str, str], set[str | None]] = {}
    for _, warnings in of_parts:
        for d in warnings:
            alike.setdefault((d.code, d.message), set()).add(d.help)
    return tuple(
        dict.fromkeys(
            d if len(alike[d.code, d.message]) == 1 or d.place else replace(d, place=label)
            for label, warnings in of_parts
            for d in warnings
        )
    )


def _labels_of_part(part: Fit) -> Mapping[str, str]:
    """The labels of the rows of a part."""
    assert part.law.instance is not None
    return part.law.instance.at


def _predict_part(
    part: Fit,
    labelled_rows: Labelled,
    labels: Mapping[str, str],
    options: BandOptions | MemberOptions | None,
) -> Predicted:
    """The prediction of the rows with some labels by one part."""
    rows = labelled_rows.keep(labels)
    if not isinstance(options, BandOptions):
        values, warnings = part.predict_with_warnings(rows, **labelled_rows.columns)
        predictions = values[None]
        if options is not None:
            predictions = options.predict(part, rows, labelled_rows.columns)
    else:
        columns = labelled_rows.columns
        band = part.band_with_warnings(
            rows, columns, level=options.level, discrepancy=options.discrepancy
        )
        predictions, warnings = band.stacked(), band.warnings
    label = label_of(part)
    return predictions, tuple(
        replace(d, place=label) if d.code in PART_WARNING_CODES else d for d in warnings
    )


def _check_covariances(parts: Sequence[Fit]) -> None:
    """Raise an error for intervals if parts lack a covariance, with each reason once.

    Raises:
        LawdslError: F0125.
    """
    labels_without: dict[Diagnostic, list[str]] = {}
    for part in parts:
        if part.spread is None:
            labels_without.setdefault(missing_band_diagnostic(part), []).append(label_of(part))
    if labels_without:
        diagnostics = [
            replace(d, place=listed_labels(labels, len(parts)))
            for d, labels in labels_without.items()
        ]
        raise LawdslError(diagnostics)
