"""Table of runs -> the same with columns N, D and L, and without rows that are no runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import counted
from lawdsl.core.units import parse_unit, size_and_dimension
from lawdsl.data.missing_columns import no_column
from lawdsl.data.read import read_table
from lawdsl.data.table import Table, bad_rows

SHARES_ATOL = 1e-6
SIZES = ("N", "D")
DROP = "correct the table, or leave such rows out: --drop-bad, in Python drop_bad=True"


def read_runs(source: Any, columns: Mapping[str, str], *, drop_bad: bool) -> tuple[Table, str]:
    """Read a table of runs.

    Args:
        source: the table, or what is read as one.
        columns: N, D or L -> the column that it is, `params_m [Mparam]`, or a formula of columns.
        drop_bad: whether rows that are no runs are left out, instead of refused.

    Returns:
        The table, and how many rows were left out, as text; empty for none.

    Raises:
        LawdslError: no columns N and D (G0113); a column that is not there (D0104); a unit that is
            not known (D0112); a cell that is not a number (D0106); a row without parameters or with
            fewer than 0 tokens (D0108), or whose shares are no mixture (D0121).
    """
    table = _named(read_table(source, columns), columns)
    for name in ("N", "D", "N_active"):
        _check_unit(table, name)
    readable = np.ones(len(table), dtype=bool)
    if drop_bad:
        for name in SIZES:
            readable &= table.readable(name)
    kept = table.keep(readable)
    bad, why = _impossible(kept)
    if bad.any() and not drop_bad:
        raise LawdslError(why)
    kept = kept.keep(~bad)
    dropped = len(table) - len(kept)
    return kept, f"{counted(dropped, 'row')} left out: no runs" if dropped else ""


def _named(table: Table, columns: Mapping[str, str]) -> Table:
    """The table with columns N and D, and L where it is bound."""
    cells, units = dict(table.columns), dict(table.units)
    for name, column in columns.items():
        if column not in table.columns:
            raise LawdslError(no_column(table, column, f"`{name}`", name))
        cells[name] = table.columns[column]
        units[name] = table.units.get(column, "")
    missing = [name for name in SIZES if name not in cells]
    if missing:
        message = f"{table.name} has no column {' and no column '.join(missing)}"
        help = "say which columns they are: 'N=COLUMN [Mparam]' 'D=COLUMN [Gtoken]' L=COLUMN"
        raise LawdslError(Diagnostic("G0113", message, help=help))
    return replace(table, columns=cells, units=units) if columns else table


def _check_unit(table: Table, name: str) -> None:
    unit = table.units.get(name, "")
    try:
        parse_unit(unit or "param")
    except (KeyError, ValueError):
        message = f"column {name}: `{unit}` is not a unit"
        help = "sizes are in param, Mparam, Gparam, …, tokens in token, Mtoken, Gtoken, …"
        raise LawdslError(
            Diagnostic("D0112", message, place=f"{table.name} column {name}", help=help)
        ) from None


def unit_size(unit: str, base: str) -> float:
    """How many base units a unit is, 1e9 for Gparam; nan for one of something else, or none.

    Args:
        unit: as it stands in a header.
        base: param or token.
    """
    if not unit:
        return float("nan")
    size, dimension = size_and_dimension(parse_unit(unit))
    return size if dimension == ((base, 1),) else float("nan")


def _impossible(table: Table) -> tuple[NDArray[np.bool_], Diagnostic]:
    """The rows that are no runs, shape (rows,), and what is wrong with the first kind of them.

    No tokens are a model before training. A missing number, nan, is not wrong.
    """
    sizes, tokens = table.numbers("N"), table.numbers("D")
    with np.errstate(invalid="ignore"):
        found = [
            ("N", (sizes <= 0) | np.isinf(sizes), "D0108", "a model has more than 0 parameters"),
            ("D", (tokens < 0) | np.isinf(tokens), "D0108", "a run has 0 tokens or more"),
        ]
        shares = {
            name: numbers_of(table, name)
            for name in table.columns
            if name.startswith("r_") and name != "r_domain"
        }
        for name, values in shares.items():
            outside = (values < -SHARES_ATOL) | (values > 1 + SHARES_ATOL)
            found.append((name, outside, "D0121", "a share is from 0 to 1"))
        if shares:
            total = np.nansum(list(shares.values()), axis=0)
            first = next(iter(shares))
            found.append((first, total > 1 + SHARES_ATOL, "D0121", "shares sum to 1 at most"))
    bad = np.any([mask for _, mask, _, _ in found], axis=0)
    problem = Diagnostic("D0108", "")
    for name, mask, code, rule in found:
        if mask.any():
            row = int(np.flatnonzero(mask)[0])
            is_sum = rule.startswith("shares")
            value = f"{total[row]:g} in all" if is_sum else f"{numbers_of(table, name)[row]:g}"
            message = f"column {name}: {value}, but {rule}"
            problem = bad_rows(code, table, name, np.flatnonzero(mask), message, DROP)
            break
    return bad, problem


def numbers_of(table: Table, name: str) -> NDArray[np.float64]:
    """A column as numbers, nan where it has none."""
    readable = table.readable(name)
    values = np.full(len(table), np.nan)
    if readable.any():
        values[readable] = table.keep(readable).numbers(name)
    return values
