"""Table, law -> the arrays of a fit: columns in the units of the law, with every row checked.

Rows outside the declared domains are reported by their numbers; values are converted by x_law =
x_column·(size of the column's unit)/(size of the law's unit).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Context
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.meant_units import dimension_of, same_prefix
from lawdsl.core.units import Dimension, is_unit, parse_unit, size_and_dimension, unit_text
from lawdsl.data.bad_lines import with_bad_lines
from lawdsl.data.columns import UnitFactors, split_header
from lawdsl.data.exchanged_columns import with_exchanged
from lawdsl.data.missing_columns import binding, no_columns, other_unit, unknown_unit
from lawdsl.data.premises.findings import prediction_findings, premise_findings
from lawdsl.data.quality_checks import duplicates, other_units, perplexities, two_scales
from lawdsl.data.rounding import steps
from lawdsl.data.row_filter import ORDER_RELATIONS, parse_condition
from lawdsl.data.table import Table, bad_rows
from lawdsl.data.unknown_variables import unknown_variables
from lawdsl.data.weights_and_runs import (
    check_columns,
    rows_of_known_runs,
    rows_of_positive_weight,
    run_numbers,
    with_weights,
)

if TYPE_CHECKING:
    from lawdsl.law.law import Bound, Law, Quantity

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Runs:
    """The rows of a table as inputs and outputs of a law.

    Measured rows are sorted by their values, so that no result depends on the order of the table.
    Rows to predict keep their order.

    Attributes:
        name: the table's name.
        columns: the law's variables in its order and units, shape (variables, rows).
        target: the measured output, shape (rows,); None where only predictions are requested.
        bound: variable or output -> the column it was read from.
        ranges: variable or output -> its smallest and largest value.
        digest: SHA-256 of the numbers.
        rows: the number by which the user identifies each row, shape (rows,).
        dropped: the number of invalid rows that were excluded.
        warnings: suspicious but usable data.
        weights: the weight of each row, shape (rows,); None where all are equal.
        groups: the number of the training run of each row, shape (rows,), from 0 in the order of
            their labels; None where the runs are unknown.
        weighted: the column of the weights, or their description.
        run_columns: the columns that identify training runs.
        steps: the rounding step of each measured output, shape (rows,); 0 where none is detected.
    """

    name: str
    columns: Array
    target: Array | None
    bound: Mapping[str, str]
    ranges: Mapping[str, tuple[float, float]]
    digest: str
    dropped: int = 0
    warnings: tuple[Diagnostic, ...] = ()
    rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    weights: Array | None = None
    groups: NDArray[np.int64] | None = None
    weighted: str | None = None
    run_columns: tuple[str, ...] = ()
    steps: Array = field(default_factory=lambda: np.zeros(0))


def bind(
    law: Law,
    table: Table,
    columns: Mapping[str, str],
    *,
    where: Sequence[str] = (),
    drop_bad: bool = False,
    target: bool = True,
    positive: bool = True,
    weights: str | Array | None = None,
    run: Sequence[str] = (),
    warn: bool = True,
) -> Runs:
    """Read the columns that a law needs in its units, and check every row against its domains.

    Args:
        law: the law.
        table: the table.
        columns: variable or output -> column, for those whose names differ.
        where: conditions on rows, `size = 70M`, `step > 0`.
        drop_bad: exclude invalid rows, and count them, instead of refusing the table.
        target: whether to read the output, too.
        positive: whether the output must be above 0, as required for logarithms.
        weights: the column of the weights, or an array of them, shape (rows,); rows of weight 0 are
            excluded.
        run: the columns that identify the training run of a row.
        warn: whether to compare rows with each other, to detect rounding and to issue warnings.

    Raises:
        LawdslError: with every column and row that cannot be used.
    """
    names = [q.name for q in law.variables] + ([law.output] if target else [])
    bound = _bound_columns(law, table, columns, names)
    table, weighted = with_weights(table, weights)
    check_columns(table, run, "run")
    table, dropped = chosen_rows(table, where, drop_bad)
    if weighted is not None:
        table, more = rows_of_positive_weight(table, weighted, drop_bad)
        dropped += more
    if run:
        table, more = rows_of_known_runs(table, run, drop_bad)
        dropped += more
    unread: list[str] = []
    if drop_bad:
        unread = [c for c in bound.values() if len(table) and not table.readable(c).any()]
        table, more = readable_rows(table, list(bound.values()))
        dropped += more
    values, problems, good = _values(law, table, bound, positive)
    if drop_bad:
        dropped += int(np.sum(~good))
        table = table.keep(good)
        values = {name: column[good] for name, column in values.items()}
        # those are about single rows, which are excluded; the others are about whole columns
        of_rows = [p for p in problems if p.code in ("D0107", "D0108", "D0109", "D0124")]
        problems = [p for p in problems if p not in of_rows]
        if len(table) == 0 and not problems:
            problems.append(_every_row_bad(table, unread, of_rows))
    if problems:
        raise LawdslError(problems)
    data = np.array([values[q.name] for q in law.variables]).reshape(-1, len(table))
    output = values.get(law.output)
    warnings: list[Diagnostic] = []
    rows, rounded = table.rows, np.zeros(0 if output is None else len(output))
    counts = None if weighted is None else table.numbers(weighted)
    groups = run_numbers(table, run) if run else None
    if output is None and warn:
        warnings = prediction_findings(law, table, bound, values)
    if output is not None:
        problems = two_scales(law, table, values, bound, positive)
        if problems:
            raise LawdslError(problems)
        unit = law.declarations.output.unit
        factor = conversion(table, law.output, bound[law.output], unit.factors if unit else None)
        # in the column's own unit, in which its numbers are decimal
        if warn:
            rounded = steps(output / factor) * factor
            warnings = [*other_units(law, table, values, bound)]
            warnings += perplexities(law, table, values, bound)
            warnings += duplicates(table, data, output, rounded)
            warnings += premise_findings(law, table, bound, values)
        # rows of equal values may differ in run or weight: these determine their order, so that the
        # digest and all sums are the same for a shuffled table
        beside = [column for column in (groups, counts) if column is not None]
        order = sorted_order((*beside, *data[::-1], output))
        data, output, rows = data[:, order], output[order], rows[order]
        rounded = rounded[order]
        counts = None if counts is None else counts[order]
        groups = None if groups is None else groups[order]
    return Runs(
        name=table.name,
        columns=data,
        target=output,
        bound=bound,
        ranges={n: (float(v.min()), float(v.max())) for n, v in values.items()},
        digest=_digest(law, data, output, counts),
        dropped=dropped,
        warnings=tuple(warnings),
        rows=rows,
        weights=counts,
        groups=groups,
        weighted=weighted,
        run_columns=tuple(run),
        steps=rounded,
    )


def sorted_order(keys: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Return `np.lexsort(keys)`, several times as fast if few values of the last key are equal.

    Args:
        keys: the keys, each of shape (rows,) and without nan; the last key is the primary one.
    """
    first = keys[-1]
    order = np.argsort(first)
    ordered = first[order]
    same = ordered[1:] == ordered[:-1]
    # rows with equal primary keys exchange their positions
    tied = np.zeros(len(order), dtype=bool)
    tied[1:] |= same
    tied[:-1] |= same
    rows = np.sort(order[tied])
    order[tied] = rows[np.lexsort([key[rows] for key in keys])]
    return order


def _bound_columns(
    law: Law, table: Table, columns: Mapping[str, str], needed: Sequence[str]
) -> dict[str, str]:
    """Variable -> column.

    Raises:
        LawdslError: a name that the law lacks, or a missing column.
    """
    problems, corrected = unknown_variables(law, table, columns, needed)
    bound = {name: columns.get(name, name) for name in needed}
    missing = []
    for name, column in bound.items():
        # the message about the unknown name says what to bind
        if column not in table.columns and name not in corrected:
            kind = "output" if name == law.output else "variable"
            missing.append((name, column, f"the {kind} `{name}`", _unit_factors(law, name)))
    if missing:
        problems.append(no_columns(table, missing))
    if problems:
        raise LawdslError(problems)
    return bound


def chosen_rows(table: Table, where: Sequence[str], drop_bad: bool) -> tuple[Table, int]:
    """The rows that satisfy the conditions, and the number of unreadable rows that were dropped.

    Args:
        table: the table.
        where: the conditions.
        drop_bad: exclude rows without a number in a column that a condition compares with a number.

    Raises:
        LawdslError: an invalid condition; no remaining row, D0103.
    """
    dropped = 0
    for text in where:
        row_condition = parse_condition(text, table)
        if drop_bad and row_condition.is_order:
            table, more = readable_rows(table, [row_condition.column])
            dropped += more
        table = table.keep(row_condition.holds(table))
    if len(table) == 0:
        message = "no row is left" if where else "the table has no rows"
        help = f"the conditions were: {'; '.join(where)}" if where else "add the measurements"
        raise LawdslError(Diagnostic("D0103", message, place=table.name, help=help))
    return table, dropped


def readable_rows(table: Table, columns: Sequence[str]) -> tuple[Table, int]:
    """The rows with a number in each of the columns, and the number of other rows.

    Args:
        table: the table.
        columns: the columns.
    """
    good = np.ones(len(table), dtype=bool)
    for name in columns:
        good &= table.readable(name)
    return table.keep(good), int(np.sum(~good))


def _values(
    law: Law, table: Table, bound: Mapping[str, str], positive: bool
) -> tuple[dict[str, Array], list[Diagnostic], Mask]:
    """Columns in the law's units, messages about invalid values, the mask of valid rows."""
    values: dict[str, Array] = {}
    problems: list[Diagnostic] = []
    good = np.ones(len(table), dtype=bool)
    quantities = {q.name: q for q in law.variables}
    units = {column: _unit_factors(law, name) for name, column in bound.items()}
    dimensions = {c: size_and_dimension(u)[1] if u else None for c, u in units.items()}
    for name, column in bound.items():
        try:
            factor = conversion(table, name, column, _unit_factors(law, name))
            numbers = table.numbers(column, dimensions[column]) * factor
        except LawdslError as error:
            problems += error.diagnostics
            continue
        values[name] = numbers
        checks = [(np.isfinite(numbers), "D0107", "is not a finite number", "")]
        if name in quantities:
            checks += _bound_checks(law, quantities[name], numbers)
        elif positive:
            why = "is not above 0, so it has no logarithm"
            # raw residuals of values that the law cannot give are refused as well
            is_low = numbers <= 0
            can_be = not is_low.any() or _attainable(law, numbers)[is_low].all()
            raw = "fit raw residuals: --objective squared" if can_be else ""
            checks.append((numbers > 0, "D0109", why, raw))
        elif np.any(numbers < 0):
            why = f"is below 0, which `{law.name}` cannot give"
            checks.append((_attainable(law, numbers), "D0124", why, ""))
        # a row is reported for the first check that it fails, since nan fails all checks
        fine = np.ones(len(table), dtype=bool)
        for passed, code, why, help in checks:
            if not (passed | ~fine).all():
                bad = fine & ~passed
                problems.append(
                    _contradicted_property(table, column, bad, code, why, help, law.output in bound)
                )
            fine &= passed
        good &= fine
    if len(values) == len(bound):
        problems = with_exchanged(
            problems,
            values,
            bound,
            table.units,
            lambda name, column: _allowed(law, name, column, positive),
        )
    return values, with_bad_lines(table, dimensions, problems), good


def _every_row_bad(
    table: Table, unread: Sequence[str], of_rows: Sequence[Diagnostic]
) -> Diagnostic:
    """The message where no row is left, with the reasons."""
    reasons = [f"column {column} has no number" for column in unread]
    reasons += [p.message for p in of_rows]
    message = f"every row is bad{': ' if reasons else ''}{'; '.join(reasons)}"
    # whatever else helps: there are no other rows to choose
    helps = [part for p in of_rows for part in (p.help or "").split(", or ") if "percent" in part]
    help = helps[0] if helps else "correct the table: there is nothing left to use"
    # no single row: each is bad
    _, column, name = (of_rows[0].place or "").partition(" column ") if of_rows else ("", "", "")
    place = f"{table.name}{column}{name}"
    return Diagnostic("D0103", message, place=place, help=help)


def _allowed(law: Law, name: str, numbers: Array, positive: bool) -> Mask:
    """The mask of values that a variable or the output may have, shape (rows,)."""
    quantity = next((q for q in law.variables if q.name == name), None)
    if quantity is None:
        return numbers > 0 if positive else np.isfinite(numbers)
    checks = _bound_checks(law, quantity, numbers)
    return np.logical_and.reduce([np.isfinite(numbers), *(check[0] for check in checks)])


def _unit_factors(law: Law, name: str) -> UnitFactors | None:
    """The unit of a variable or of the output as (unit name, power) pairs; None without a unit."""
    if name in {q.name for q in law.variables}:
        return next(q.unit for q in law.variables if q.name == name)
    unit = law.declarations.output.unit
    return unit.factors if unit else None


def _attainable(law: Law, numbers: Array) -> Mask:
    """The mask of measured values that the law can produce up to noise, shape (rows,).

    All values pass unless declared signs prove that the law is never negative. Then value >=
    -scatter is required, with scatter = max - min of the nonnegative values, and scatter = 0 if the
    smallest of these exceeds it: noise makes a measurement negative only if others are near 0, and
    by no more than their spread. A difference of two losses may be measured as -0.001 nat.
    """
    if not law.expression.is_nonnegative:
        return np.ones(len(numbers), dtype=bool)
    others = numbers[numbers >= 0]
    scatter = float(np.ptp(others)) if len(others) else np.inf
    noise = 0.0 if len(others) and np.min(others) > scatter else scatter
    possible: Mask = numbers >= -noise
    return possible


def _contradicted_property(
    table: Table, column: str, bad: Mask, code: str, why: str, help: str, fitting: bool
) -> Diagnostic:
    """The message about values that contradict a declared property; only a fit can exclude their
    rows.
    """
    rows = np.flatnonzero(bad)
    cell = str(table.columns[column][int(rows[0])].as_py()).strip()
    remedies = ["correct it", help]
    if fitting:
        remedies[1:1] = ["choose rows with --where", "leave such rows out with --drop-bad"]
    advice = ", or ".join(remedy for remedy in remedies if remedy)
    return bad_rows(code, table, column, rows, f"column {column}: {cell[:40]} {why}", advice)


def _bound_checks(law: Law, q: Quantity, numbers: Array) -> list[tuple[Mask, str, str, str]]:
    """For each bound of a variable the mask of rows that satisfy it, and the message for others."""
    settings = {s.name: s.value for s in law.settings if s.value is not None}
    checks = []
    for b in q.bounds:
        limit = b.at(settings)
        unit = f" {unit_text(q.unit)}" if q.unit else ""
        bound_text = b.text if b.number is not None else f"{b.text} = {limit:g}{unit}"
        why = f"is outside the domain {q.name} {b.relation} {bound_text}"
        change = (
            f"change the setting: {_extending_option(b, numbers)}" if b.name is not None else ""
        )
        largest = np.max(numbers[np.isfinite(numbers)], initial=0.0)
        if b.relation in ("<=", "<") and limit == 1 and 5 <= largest <= 100:
            change = f"divide percentages by 100: bind `{q.name}={q.name}/100`"
        checks.append((ORDER_RELATIONS[b.relation](numbers, limit), "D0108", why, change))
    return checks


def _extending_option(bound: Bound, numbers: Array) -> str:
    """The option that extends a domain to all of these numbers, if its bound is a setting."""
    above = numbers[np.isfinite(numbers) & (numbers > 0)]
    if bound.relation != ">=" or not len(above):
        return f"--set {bound.text}=…"
    # rounded down, so that the smallest value is inside the extended domain
    down = Context(prec=6, rounding=ROUND_FLOOR).create_decimal_from_float(float(above.min()))
    return f"--set {bound.text}={float(down):g}, the smallest here"


def conversion(
    table: Table, name: str, column: str, factors: tuple[tuple[str, int], ...] | None
) -> float:
    """The factor that converts the column's unit to the law's.

    Args:
        table: the table.
        name: the variable or output, for messages.
        column: the column.
        factors: the law's unit as (unit name, power) pairs; None without a unit.
    """
    header = table.units.get(column)
    if not header:
        return 1.0
    header_place = f"{table.name} column {column}"
    try:
        size, dimension = size_and_dimension(parse_unit(header))
    except (KeyError, ValueError):
        raise LawdslError(unknown_unit(table, name, column, header, factors)) from None
    if factors is None:
        message = f"column {column} is in {header}, but the law gives `{name}` no unit"
        help = f"declare it in the law: `unit {header}`"
        if column in table.computed:
            help = f"leave the unit out, or {help}"
        raise LawdslError(Diagnostic("D0112", message, place=header_place, help=help))
    own_size, own_dimension = size_and_dimension(factors)
    if dimension != own_dimension:
        message = f"column {column} is in {header}, the law's `{name}` in {unit_text(factors)}"
        help = _right_unit(table, name, column, header, own_dimension)
        raise LawdslError(Diagnostic("D0112", message, place=header_place, help=help))
    return size / own_size


def _right_unit(table: Table, name: str, column: str, unit: str, dimension: Dimension) -> str:
    """The advice about a column whose unit is of another dimension than the law's."""
    own, _ = split_header(column)
    likely = same_prefix(unit, dimension)
    right = next(
        (c for c in table.source_columns if _dimension_of_header(table, c) == dimension), None
    )
    if likely is None and right is None:
        return other_unit(name, own, unit, dimension)
    advice = []
    if right is not None:
        advice.append(f"bind the column that is in it, {binding(name, right)}")
    if likely is not None and column in table.computed:
        advice.append(f"write the unit of the column: {binding(name, f'{own} [{likely}]')}")
    elif likely is not None:
        advice.append(f"correct the header, `{own} [{likely}]`")
        advice += [] if right is not None else ["bind another column"]
    return ", or ".join(advice)


def _dimension_of_header(table: Table, column: str) -> Dimension | None:
    unit = table.units.get(column)
    return dimension_of(unit) if unit and is_unit(unit) else None


def _digest(law: Law, data: Array, output: Array | None, weights: Array | None) -> str:
    """SHA-256 of the names and numbers that a law is fitted to."""
    digest = hashlib.sha256()
    named = [*zip((q.name for q in law.variables), data, strict=True)]
    named += [] if output is None else [(law.output, output)]
    named += [] if weights is None else [("weights of the rows", weights)]
    for name, values in named:
        digest.update(f"{name}\n".encode())
        # little-endian on every machine, since digests are compared between machines
        digest.update(np.ascontiguousarray(values, dtype="<f8").data)
    return digest.hexdigest()
