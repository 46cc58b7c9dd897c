"""Table + law -> the arrays a fit is made of; every row that breaks a promise is refused by name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import sympy as sp
from numpy.typing import NDArray

from lawdsl.data.tables import Table, bad_rows
from lawdsl.diagnostics import Diagnostic, LawdslError
from lawdsl.language.words import nearest
from lawdsl.law import Law, Quantity, unit_text
from lawdsl.units import parse_unit, size_and_dimension

Array = NDArray[np.float64]

GAP = 1e4  # two clouds of values further apart than this are two scales
REPEATS = 0.25  # of the rows: fewer may well be equal measurements
RELATIONS: Mapping[str, Callable[[Array, float], NDArray[np.bool_]]] = {
    ">": np.greater,
    ">=": np.greater_equal,
    "<": np.less,
    "<=": np.less_equal,
}


@dataclass(frozen=True)
class Runs:
    """The rows of a table as a law sees them.

    Attributes:
        name: of the table.
        columns: the law's variables in its order and units, shape (variables, rows).
        target: the measured output, shape (rows,); None where only predictions are asked for.
        bound: variable or output -> the column it was read from.
        rows: the user's number of each row.
        digest: SHA-256 of the numbers.
        dropped: how many rows were left out because they were bad.
        warnings: what is odd but usable.
    """

    name: str
    columns: Array
    target: Array | None
    bound: Mapping[str, str]
    rows: NDArray[np.int64]
    digest: str
    dropped: int = 0
    warnings: tuple[Diagnostic, ...] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def bind(
    law: Law,
    table: Table,
    columns: Mapping[str, str],
    *,
    where: Sequence[str] = (),
    drop_bad: bool = False,
    target: bool = True,
    positive: bool = True,
) -> Runs:
    """Read the columns that a law needs, in its units, and check every row against its domains.

    Args:
        law: the law.
        table: the table.
        columns: variable or output -> column, for those whose names differ.
        where: conditions that rows must meet, `size = 70M`, `step > 0`.
        drop_bad: leave bad rows out, and count them, instead of refusing the table.
        target: whether the output is read too.
        positive: whether the output must be above 0, as logarithms need.

    Raises:
        LawdslError: with every column and row that cannot be used.
    """
    wanted = [q.name for q in law.variables] + ([law.output] if target else [])
    bound = _bound_columns(law, table, columns, wanted)
    for condition in where:
        table = table.keep(np.flatnonzero(matching(table, condition)))
    if len(table) == 0:
        message = "no row is left" if where else "the table has no rows"
        help = f"the conditions were: {'; '.join(where)}" if where else None
        raise LawdslError(Diagnostic("D0103", message, place=table.name, help=help))
    before = len(table)
    if drop_bad:
        table = table.keep(np.flatnonzero(_readable(table, bound.values())))
    values, problems, good = _values(law, table, bound, positive)
    if drop_bad:
        table = table.keep(np.flatnonzero(good))
        values = {name: column[good] for name, column in values.items()}
        problems = [p for p in problems if p.code not in ("D0107", "D0108", "D0109")]
        if len(table) == 0:
            problems.append(Diagnostic("D0103", "every row is bad", place=table.name))
    if any(p.severity == "error" for p in problems):
        raise LawdslError(problems)
    data = np.array([values[q.name] for q in law.variables]).reshape(len(law.variables), -1)
    output = values.get(law.output)
    problems += _two_scales(law, table, values, bound)
    if any(p.severity == "error" for p in problems):
        raise LawdslError(problems)
    problems += _duplicates(table, data, output)
    return Runs(
        name=table.name,
        columns=data,
        target=output,
        bound=bound,
        rows=table.rows,
        digest=_digest(law, values),
        dropped=before - len(table),
        warnings=tuple(problems),
        ranges={n: (float(v.min()), float(v.max())) for n, v in values.items() if len(v)},
    )


def _bound_columns(
    law: Law, table: Table, columns: Mapping[str, str], wanted: Sequence[str]
) -> dict[str, str]:
    """Variable -> column, or what is missing."""
    problems = []
    for name in columns:
        if name not in wanted:
            alike = nearest(name, wanted)
            help = f"did you mean `{alike}`?" if alike else f"it has {', '.join(wanted)}"
            message = f"`{law.name}` has no variable `{name}`"
            problems.append(Diagnostic("D0116", message, help=help))
    bound = {name: columns.get(name, name) for name in wanted}
    for name, column in bound.items():
        if column in table.columns:
            continue
        listed = ", ".join(table.columns)
        alike = nearest(column, table.columns)
        help = f"the columns are {listed}; bind one: {name}={alike or 'COLUMN'}"
        kind = "output" if name == law.output else "variable"
        message = f"there is no column `{column}` for the {kind} `{name}`"
        problems.append(Diagnostic("D0104", message, place=table.name, help=help))
    if problems:
        raise LawdslError(problems)
    return bound


_CONDITION = re.compile(r"\s*(?P<column>[^<>=!]+?)\s*(?P<op><=|>=|!=|==|=|<|>)\s*(?P<value>.*?)\s*")


def matching(table: Table, condition: str) -> NDArray[np.bool_]:
    """Which rows meet a condition such as `size = 70M` or `step > 0`.

    Raises:
        LawdslError: no such form or column.
    """
    found = _CONDITION.fullmatch(condition)
    if found is None or not found["value"]:
        help = "write COLUMN, a relation (= != < <= > >=) and a value, as `step > 0`"
        raise LawdslError(Diagnostic("D0115", f"`{condition}` is no condition", help=help))
    name, op, value = found["column"], found["op"], found["value"].strip("\"'")
    if name not in table.columns:
        listed = ", ".join(table.columns)
        alike = nearest(name, table.columns)
        help = f"did you mean `{alike}`?" if alike else f"the columns are {listed}"
        message = f"`{condition}` names no column of the table"
        raise LawdslError(Diagnostic("D0115", message, place=table.name, help=help))
    if op in ("=", "==", "!="):
        try:
            same = table.numbers(name) == float(value)
        except (LawdslError, ValueError):
            same = np.array([cell.strip() == value for cell in table.texts(name)], dtype=bool)
        return ~same if op == "!=" else same
    try:
        limit = float(value)
    except ValueError:
        message = f"`{value}` in `{condition}` is no number"
        raise LawdslError(Diagnostic("D0115", message, help="compare text with = or !=")) from None
    return RELATIONS[op](table.numbers(name), limit)


def _readable(table: Table, columns: object) -> NDArray[np.bool_]:
    """Which rows have a number in each of the columns."""
    good = np.ones(len(table), dtype=bool)
    for name in columns:  # type: ignore[attr-defined]
        try:
            table.numbers(name)
        except LawdslError:
            for i, cell in enumerate(table.texts(name)):
                try:
                    float(cell)
                except ValueError:
                    good[i] = False
    return good


def _values(
    law: Law, table: Table, bound: Mapping[str, str], positive: bool
) -> tuple[dict[str, Array], list[Diagnostic], NDArray[np.bool_]]:
    """Columns in the law's units, what is wrong with them, and which rows are good."""
    values: dict[str, Array] = {}
    problems: list[Diagnostic] = []
    good = np.ones(len(table), dtype=bool)
    quantities = {q.name: q for q in law.variables}
    for name, column in bound.items():
        try:
            numbers = table.numbers(column)
        except LawdslError as error:
            problems += error.diagnostics
            continue
        unit = law.declarations.output.unit if name == law.output else None
        factors = unit.factors if unit else None
        factors = quantities[name].unit if name in quantities else factors
        try:
            numbers = numbers * _conversion(table, name, column, factors)
        except LawdslError as error:
            problems += error.diagnostics
            continue
        values[name] = numbers
        finite = np.isfinite(numbers)
        _note(problems, good, finite, "D0107", table, column, "is not a finite number",
              "correct it, or leave such rows out with --drop-bad")
        if name in quantities:
            _domain(law, quantities[name], table, column, numbers, finite, problems, good)
        elif positive:
            above = (numbers > 0) | ~finite
            _note(problems, good, above, "D0109", table, column,
                  "is not above 0, so it has no logarithm",
                  "correct it, or fit raw residuals: --objective squared")
    return values, problems, good


def _note(
    problems: list[Diagnostic], good: NDArray[np.bool_], passed: NDArray[np.bool_], code: str,
    table: Table, column: str, why: str, help: str,
) -> None:
    if not passed.all():
        bad = np.flatnonzero(~passed)
        cell = table.columns[column][int(bad[0])].as_py()
        message = f"column {column}: {str(cell)[:40]} {why}"
        problems.append(bad_rows(code, table, column, bad, message, help))
        good &= passed


def _domain(
    law: Law, q: Quantity, table: Table, column: str, numbers: Array,
    finite: NDArray[np.bool_], problems: list[Diagnostic], good: NDArray[np.bool_],
) -> None:
    settings = {s.symbol: sp.Float(s.value, 17) for s in law.settings if s.value is not None}
    for b in q.bounds:
        limit = float(b.limit.xreplace(settings))
        inside = RELATIONS[b.relation](numbers, limit) | ~finite
        unit = f" {unit_text(q.unit)}" if q.unit else ""
        shown = b.text if b.limit.is_number else f"{b.text} = {limit:g}{unit}"
        help = "correct it, choose rows with --where, or leave such rows out with --drop-bad"
        if b.limit.free_symbols:
            help += f", or change the setting: --set {b.text}=…"
        _note(problems, good, inside, "D0108", table, column,
              f"is outside the domain {q.name} {b.relation} {shown}", help)


def _conversion(
    table: Table, name: str, column: str, factors: tuple[tuple[str, int], ...] | None
) -> float:
    """The number that turns the column's unit into the law's."""
    header = table.units.get(column)
    if not header:
        return 1.0
    try:
        size, dimension = size_and_dimension(parse_unit(header))
    except (KeyError, ValueError):
        help = "units are built from param, token, FLOP, nat, bit, step, byte, with prefixes k M G T P E"
        message = f"column {column}: `{header}` is no unit"
        raise LawdslError(Diagnostic("D0112", message, place=table.name, help=help)) from None
    if factors is None:
        message = f"column {column} is in {header}, but the law gives `{name}` no unit"
        help = f"declare it in the law: `unit {header}`"
        raise LawdslError(Diagnostic("D0112", message, place=table.name, help=help))
    own, own_dimension = size_and_dimension(factors)
    if dimension != own_dimension:
        message = f"column {column} is in {header}, the law's `{name}` in {unit_text(factors)}"
        help = "bind another column, or correct the header"
        raise LawdslError(Diagnostic("D0112", message, place=table.name, help=help))
    return size / own


def _two_scales(
    law: Law, table: Table, values: Mapping[str, Array], bound: Mapping[str, str]
) -> list[Diagnostic]:
    """A column whose values lie in two clouds far apart: a unit changed on the way."""
    found = []
    for name, numbers in values.items():
        sizes = np.unique(np.abs(numbers[numbers != 0]))
        if len(sizes) < 2:
            continue
        ratios = sizes[1:] / sizes[:-1]
        widest = int(np.argmax(ratios))
        if ratios[widest] >= GAP:
            split = sizes[widest + 1]
            rows = np.flatnonzero(np.abs(numbers) >= split)
            if len(rows) > len(numbers) / 2:
                rows = np.flatnonzero(np.abs(numbers) < split)
            message = (
                f"column {bound[name]} has two scales: nothing lies between "
                f"{sizes[widest]:g} and {split:g}"
            )
            help = "give all rows one unit"
            found.append(bad_rows("D0113", table, bound[name], rows, message, help))
    return found


def _duplicates(table: Table, data: Array, output: Array | None) -> list[Diagnostic]:
    if output is None:
        return []
    cells = pa.table({str(i): column for i, column in enumerate((*data, output))})
    distinct = cells.group_by(cells.column_names).aggregate([]).num_rows
    count = cells.num_rows - distinct
    if count < REPEATS * cells.num_rows:
        return []
    message = f"{count:,} of {cells.num_rows:,} rows repeat another row exactly"
    help = "keep one of each: repeated rows count as new measurements, which they are not"
    return [Diagnostic("D0114", message, "warning", place=table.name, help=help)]


def _digest(law: Law, values: Mapping[str, Array]) -> str:
    digest = hashlib.sha256()
    for name in sorted(values):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(values[name], dtype="<f8").tobytes())
    return digest.hexdigest()
