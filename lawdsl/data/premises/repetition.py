"""Rows of runs -> whether they have seen their data more often than once, which the law ignores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.units import PREFIXES, Dimension, parse_unit, size_and_dimension
from lawdsl.data.drafts.column_names import read_name
from lawdsl.data.premises.column_roles import numbers_or_none, words_of
from lawdsl.data.premises.rows import PremiseRows

Array = NDArray[np.float64]

TOKEN: Dimension = (("token", 1),)
MORE_THAN_ONCE = 1.05  # epochs, so that rounding is none
CHEAP_EPOCHS = (
    4.0  # up to which repetition costs little: Muennighoff et al. (2023), arXiv:2305.16264
)
MAX_EPOCHS = 1e5  # a larger ratio to unique tokens is one of different units


def repetition_findings(rows: PremiseRows) -> list[Diagnostic]:
    """A warning (D0144) if rows of a law of tokens have repeated data, unless the law has a variable
    for it.

    Epochs are those of columns such as `epochs`, or tokens divided by unique tokens. The same number
    of up to 4 epochs in all rows is taken for a choice of units.

    Args:
        rows: the rows.
    """
    if set(rows.table.source_columns) <= set(rows.bound.values()):
        return []  # only values of the variables, without a column that tells of repetition
    if rows.mentions("unique", "epoch", "repeat", "repetition"):
        return []
    tokens = _tokens(rows)
    if tokens is None:
        return []
    found = _most_repeated(rows, tokens)
    if found is None:
        return []
    column, epochs = found
    repeated = int(np.sum(epochs > MORE_THAN_ONCE))
    most = float(np.nanmax(epochs))
    message = (
        f"{repeated:,} of {len(epochs):,} rows have seen data more than once, up to {most:.3g} epochs: "
        f"`{rows.law.name}` has no term for repetition"
    )
    notes: tuple[str, ...] = ()
    if most <= CHEAP_EPOCHS:
        notes = (
            f"up to about {CHEAP_EPOCHS:g} epochs a repetition costs little (arXiv:2305.16264)",
        )
    help = (
        "fit rows of one epoch with --where, or a law with unique tokens, such as `repeated`; and use "
        "the fit for the number of epochs that it has seen"
    )
    place = f"{rows.table.name} column {column}"
    return [Diagnostic("D0144", message, "warning", place=place, notes=notes, help=help)]


def _tokens(rows: PremiseRows) -> str | None:
    """The variable that is the number of training tokens."""
    for q in rows.law.variables:
        if q.unit and size_and_dimension(q.unit)[1] == TOKEN:
            return q.name
        if not q.unit and q.name == "D" and read_name(rows.bound.get("D", "D")).quantity == "D":
            return q.name
    return None


def _most_repeated(rows: PremiseRows, tokens: str) -> tuple[str, Array] | None:
    """The column with the most epochs, and the epochs of each row; None without repetition."""
    found: list[tuple[str, Array]] = []
    for column in rows.table.source_columns:
        if rows.uses(column):
            continue
        epochs = _epochs(rows, column, tokens)
        if epochs is None or not np.isfinite(epochs).any():
            continue
        known = epochs[np.isfinite(epochs)]
        most = float(np.max(known))
        if np.min(known) < 0 or not MORE_THAN_ONCE < most < MAX_EPOCHS:
            continue
        if np.ptp(known) == 0 and most <= CHEAP_EPOCHS:
            continue
        found.append((column, epochs))
    return max(found, key=lambda pair: float(np.nanmax(pair[1]))) if found else None


def _epochs(rows: PremiseRows, column: str, tokens: str) -> Array | None:
    """The epochs of the rows by a column; None if it does not say them."""
    first, *more = words_of(column).split() or [""]
    if column in rows.columns("epochs") or (first == "epochs" and len(more) == 1):
        return numbers_or_none(rows.table, column)
    if column not in rows.columns("unique tokens"):
        return None
    unique = numbers_or_none(rows.table, column)
    bound = rows.bound[tokens]
    header, trained_header = (rows.table.units.get(name, "") for name in (column, bound))
    if unique is None or not np.nanmin(unique) > 0 or (header and not trained_header):
        return None
    trained = rows.values[tokens]
    if header or trained_header or read_name(bound).prefix:
        size = _tokens_of(header, column)
        law_unit = next(q.unit for q in rows.law.variables if q.name == tokens)
        # values with a header are converted to the unit of the law; others are as they stand
        trained_size = (
            size_and_dimension(law_unit or ())[0] if trained_header else _tokens_of("", bound)
        )
        if size is None or trained_size is None:
            return None
        trained, unique = trained * trained_size, unique * size
    return np.asarray(trained / unique)


def _tokens_of(header: str, column: str) -> float | None:
    """The tokens in one unit of a column, by its header or by its name such as `tokens_B`; None if
    neither says it."""
    if not header:
        return PREFIXES.get(read_name(column).prefix)
    try:
        size, dimension = size_and_dimension(parse_unit(header))
    except (KeyError, ValueError, LawdslError):
        return None
    return size if dimension == TOKEN else None
