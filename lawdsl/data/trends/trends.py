"""Law, table -> Trends: every claim on a derivative, compared with the differences in the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.enumerations import as_texts
from lawdsl.data.binding import Runs, bind, conversion, readable_rows
from lawdsl.data.header_settings import with_settings_of
from lawdsl.data.read import read_table
from lawdsl.data.table import Table, bad_rows
from lawdsl.data.trends.by_label import trends_by_label
from lawdsl.data.trends.exceptions import ComparedPairs, split
from lawdsl.data.trends.findings import repeat_findings, trend_findings
from lawdsl.data.trends.grid import Axes, distinct_cells, grid_values, run_columns
from lawdsl.data.trends.hypotheses import Slope, claimed_slope, rows_of_claim, why_untestable
from lawdsl.data.trends.inflection import inflection
from lawdsl.data.trends.paired_differences import (
    Array,
    GridValues,
    merge_repeats,
    paired_differences,
    varies_within_labels,
)
from lawdsl.data.trends.result import DifferenceSeries, Trend, Trends
from lawdsl.data.trends.significance import DifferenceScale, difference_scale, difference_series
from lawdsl.data.weights_and_runs import check_columns
from lawdsl.language.claims import claim_text
from lawdsl.language.law_changes import LawChanges
from lawdsl.language.symbols import Claim
from lawdsl.law.law import Law, load, unit_text


def trends(
    law: Law | str | Path,
    table: Any,
    /,
    *,
    se: str | None = None,
    run: str | Sequence[str] = (),
    by: str | Sequence[str] = (),
    where: str | Sequence[str] = (),
    settings: Mapping[str, float] | None = None,
    drop_bad: bool = False,
    columns: Mapping[str, str] | None = None,
    **named_columns: str,
) -> Trends:
    """Compare every trend that a law claims with a table of measurements, without a fit.

    For ∂L/∂D < 0, neighbouring values of D are compared at which all else is equal, and the first
    with the last value if there are three or more; for ∂²L/∂D∂r < 0, the corners of each smallest
    rectangle; for L convex in r, each value with the chord between its neighbours. Repeated
    measurements are averaged.

    A difference within 2 standard errors is inconclusive. Standard errors are those of a column,
    whose errors are assumed to be independent; else they are a pooled estimate from repeats of the
    same differences (other seeds), or, if these have fewer than 5 degrees of freedom, of the same
    rows. With few degrees of freedom the threshold is the corresponding quantile of Student's
    distribution.

    A claim is contradicted if a difference against it is significant at the 1 % level over the
    table (Bonferroni's bound over all differences and claims, which need not be independent), or if
    the differences against it outnumber the others by more than 3 standard deviations under the
    null hypothesis of random signs (sign test). The number of differences in the sign test is that
    without the variable in which most of them are concentrated, since those may come from one run.

    Que et al. (2024), arXiv:2406.01375, appendix I.3 (D-CPT), observed that L rises with D below
    some share, which they call the inflection ratio. It is estimated if the law has a variable that
    is a share, and curves rise significantly at some value of it; see
    `lawdsl.data.trends.inflection`.

    The claims of a law with index sets are tested on the rows of each label, as many times at a
    lower level.

    Args:
        law: the law, or the name or path of one.
        table: a path (CSV, Parquet, SQLite), a data frame, an Arrow table or a mapping of arrays.
        se: the column of the standard errors of the output, in its unit.
        run: columns that identify training runs, and so repeats; by default `run` and `seed`, if
            the table has them. Variables that vary within runs are compared within each run; others
            between runs.
        by: further columns that must be equal within a comparison, such as a schedule; rows that
            differ in them are not repeats.
        where: one condition that rows must meet, or several.
        settings: values of settings that replace the law's own.
        drop_bad: exclude invalid rows, and count them, instead of refusing the table.
        columns: variable or output -> column, where the names differ; for a law with index sets
            also set -> column of labels, and patterns of columns.
        named_columns: variable or output -> column as keyword arguments, L="loss".

    Raises:
        LawdslError: a law or a table that cannot be used.
    """
    bound = {**(columns or {}), **named_columns}
    read = read_table(table, bound)
    law = law if isinstance(law, Law) else load(law)
    law = with_settings_of(LawChanges.of(settings=settings).apply(law), read)
    conditions, request = as_texts(where), _Request(se, as_texts(run), as_texts(by), drop_bad)
    if not law.indexed:
        return _trends(law, read, bound, 1, replace(request, where=conditions))
    return trends_by_label(
        law,
        read,
        bound,
        partial(_trends, request=request),
        where=conditions,
        run=request.run,
        drop_bad=drop_bad,
    )


@dataclass(frozen=True)
class _Request:
    """The options of `trends` by the same names."""

    se: str | None
    run: tuple[str, ...]
    by: tuple[str, ...]
    drop_bad: bool
    where: tuple[str, ...] = ()


def _trends(
    law: Law, read: Table, bound: Mapping[str, str], labels: int, request: _Request
) -> Trends:
    """The trends of a law without index sets, which is tested at so many labels."""
    se, where, drop_bad = request.se, request.where, request.drop_bad
    run_names = tuple(run_columns(law, read, bound, request.run))
    by = tuple(dict.fromkeys(request.by))
    held_columns = tuple(dict.fromkeys((*by, *run_names)))
    unreadable = 0
    if se is not None:
        check_columns(read, [se], "standard errors")
        read, unreadable = readable_rows(read, [se]) if drop_bad else (read, 0)
    runs = bind(law, read, bound, where=where, drop_bad=drop_bad, positive=False, run=held_columns)
    task = _trend_task(law, read.at(runs.rows), runs, se, len(by), labels)
    results = tuple(t for claim in law.claims if (t := _trend(task, claim)) is not None)
    unit = unit_text(law.declarations.output.unit.factors) if law.declarations.output.unit else ""
    return Trends(
        law=law.name,
        digest=law.digest,
        data=runs.name,
        data_digest=runs.digest,
        rows=len(runs.rows),
        dropped=runs.dropped + unreadable,
        where=where,
        columns=dict(runs.bound),
        held=run_names,
        by=by,
        unit=unit,
        trends=results,
        diagnostics=(
            *runs.warnings,
            *repeat_findings(
                runs.name, merge_repeats(task.rows, np.ones(len(held_columns), dtype=bool))[1]
            ),
            *trend_findings(law, runs.name, unit, results),
        ),
    )


@dataclass(frozen=True)
class _TrendTask:
    """The measurements at cells of a grid, and the inputs of the tests of claims."""

    law: Law
    runs: Runs
    axes: Axes
    rows: GridValues
    scale: DifferenceScale
    label_cells: Mapping[str, Sequence[str]]


def _trend_task(
    law: Law, table: Table, runs: Runs, se: str | None, unaveraged: int, labels: int
) -> _TrendTask:
    """The rows at cells of a grid; over the first labels measurements are never averaged."""
    error = np.full(len(table), np.nan) if se is None else _errors(law, table, se) ** 2
    rows, axes = grid_values(law, table, runs, runs.run_columns, error, unaveraged)
    claims = labels * sum(claimed_slope(law, claim.claim) is not None for claim in law.claims)
    label_cells = {name: distinct_cells(table, name) for name in runs.run_columns[:unaveraged]}
    return _TrendTask(law, runs, axes, rows, difference_scale(rows, claims), label_cells)


def _errors(law: Law, table: Table, se: str) -> Array:
    """The standard errors of the rows, in the output's unit.

    Raises:
        LawdslError: a cell that is not a finite number above 0; D0119.
    """
    unit = law.declarations.output.unit
    errors = table.numbers(se) * conversion(table, law.output, se, unit.factors if unit else None)
    bad = np.flatnonzero(~(np.isfinite(errors) & (errors > 0)))
    if len(bad):
        message = f"column {se}: {errors[bad[0]]:g} is not a standard error"
        help = "give a finite number above 0, or choose rows with --where"
        raise LawdslError(bad_rows("D0119", table, se, bad, message, help))
    return errors


def _trend(task: _TrendTask, claim: Claim) -> Trend | None:
    """The comparison for one claim; None where it does not concern a derivative of the output."""
    slope = claimed_slope(task.law, claim.claim)
    if slope is None:
        return None
    text = claim_text(claim)
    why = why_untestable(task.law, slope, claim)
    if why:
        return Trend(text, claim.expect, "nothing to compare", why)
    rows = task.rows.take(rows_of_claim(task.law, claim, task.runs))
    # first the variable that varies within more labels, which is the one along runs
    numbers = [task.axes.names.index(name) for name in slope.wrt]
    order = sorted(numbers, key=lambda i: -int(np.sum(varies_within_labels(task.rows, i))))
    looked_at: list[tuple[DifferenceSeries, ComparedPairs]] = []
    for ends in (False, True) if len(set(order)) == len(order) else (False,):
        pairs, scatter = paired_differences(rows, order, task.axes.levels, ends=ends)
        if len(pairs):
            title = _comparison_title([task.axes.names[i] for i in order], ends)
            one, against = difference_series(
                title, pairs, slope.sense, scatter, task.scale, task.axes
            )
            looked_at.append((one, ComparedPairs(pairs, against, order[0] if ends else -1)))
    if not looked_at:
        return Trend(
            text, claim.expect, "nothing to compare", _untestable_reason(task, slope, rows)
        )
    series = tuple(one for one, _ in looked_at)
    where = split([kind for _, kind in looked_at], task.axes)
    share = inflection(task.law, slope, rows, task.axes, task.scale, task.label_cells)
    return Trend(text, claim.expect, _verdict(series), "", series, where, share)


def _verdict(all_series: Sequence[DifferenceSeries]) -> str:
    if any(series.contradicts for series in all_series):
        return "contradicted"
    if any(series.against for series in all_series):
        return "exceptions"
    return "holds" if any(series.as_claimed for series in all_series) else "too small to tell"


def _comparison_title(names: Sequence[str], ends: bool) -> str:
    """The kind of comparison as text."""
    first, *more = names
    if more == [first]:
        return f"neighbours in {first}, three at a time"
    if ends:
        return ", neighbours in ".join((f"{first} first to last", *more))
    return f"neighbours in {' and '.join(names)}"


def _untestable_reason(task: _TrendTask, slope: Slope, rows: GridValues) -> str:
    """The reason why there is nothing to compare."""
    for name in slope.wrt if len(rows) else ():
        i = task.axes.names.index(name)
        if len(np.unique(rows.low[i])) == 1:
            return f"{name} has one value, {task.axes.text(i, rows.low[i][0])}"
    if not len(rows):
        return "no row meets its condition"
    number = "two" if len(slope.wrt) == 1 else "three" if len(set(slope.wrt)) == 1 else "four"
    return f"no {number} rows differ in {' and '.join(dict.fromkeys(slope.wrt))} alone"
