"""Law + rows -> rows with a variable at 0 at which the law, or a start of the search, has no value.

At r = 0, log(r) and r^(-s) are infinite whatever the parameters; (r + epsilon)^(-s) is if a start has
epsilon = 0. Both are found by algebra, before a search can meet a NaN.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import abridged
from lawdsl.core.lazy_modules import lazy_module
from lawdsl.core.records import read
from lawdsl.data.binding import Runs
from lawdsl.data.table import MAX_ROWS_NAMED
from lawdsl.fitting.options import FitOptions
from lawdsl.fitting.preparation.cached_algebra import algebra_of
from lawdsl.law.law import Law

if TYPE_CHECKING:
    from lawdsl.fitting.preparation import start_points, undefined_terms
else:  # algebra, which is not needed for a law whose results are kept
    start_points = lazy_module("lawdsl.fitting.preparation.start_points")
    undefined_terms = lazy_module("lawdsl.fitting.preparation.undefined_terms")

MAX_PATTERNS = 8  # sets of variables that are 0 together


def check_rows_at_zero(law: Law, runs: Runs) -> None:
    """Refuse rows with a variable at 0 where the law has no value, whatever its parameters.

    Args:
        law: the law.
        runs: the rows.

    Raises:
        LawdslError: F0107, with the rows and the part of the formula.
    """
    for names, rows in _patterns(law, runs):
        part = _infinite_part(law, names)
        if part:
            raise LawdslError(_diagnostic(law, runs, names, rows, part))


def start_findings(law: Law, runs: Runs, options: FitOptions) -> list[Diagnostic]:
    """A warning (F0106) about starts of the user or the law's file at which the law has no value on
    some rows.

    Args:
        law: the law.
        runs: the rows.
        options: the options of the fit.
    """
    if options.starts == "declared":
        points = start_points.declared_points(law)[0]
        zero = [
            q.name for q, at in zip(law.parameters, (points == 0).any(axis=0), strict=True) if at
        ]
    elif isinstance(options.starts, Mapping):
        zero = [name for name, value in options.starts.items() if value == 0]
    else:
        return []
    known = {q.name for q in law.parameters}
    for name in (n for n in zero if n in known):
        for names, rows in _patterns(law, runs):
            part = _infinite_part(law, [*names, name])
            if part:
                found = _diagnostic(law, runs, names, rows, part)
                message = f"starts with {name} = 0: {found.message}"
                help = f"start above 0, `start {name} in {{0.1, 0.5}}`, or leave these rows out"
                return [
                    replace(found, code="F0106", severity="warning", message=message, help=help)
                ]
    return []


def _patterns(law: Law, runs: Runs) -> Iterator[tuple[list[str], NDArray[np.int64]]]:
    """Yield the variables that are 0 together in some rows, and the positions of these rows."""
    zero = runs.columns == 0
    if not zero.any():
        return
    patterns = np.unique(zero[:, zero.any(axis=0)], axis=1).T
    for pattern in patterns[:MAX_PATTERNS]:
        names = [q.name for q, at in zip(law.variables, pattern, strict=True) if at]
        yield names, np.flatnonzero(np.all(zero == pattern[:, None], axis=0))


def _infinite_part(law: Law, names: list[str]) -> str:
    """The part of the formula that is infinite where some symbols are 0; empty if there is none."""
    return algebra_of(law).get(
        f"infinite where 0: {', '.join(names)}",
        lambda: undefined_terms.infinite_part(law, names),
        str,
        partial(read, str),
    )


def _diagnostic(
    law: Law, runs: Runs, names: list[str], rows: NDArray[np.int64], part: str
) -> Diagnostic:
    where = " and ".join(f"{name} = 0" for name in names)
    lines = np.sort(runs.rows[rows]).tolist()
    count = f"{len(lines):,} rows" if len(lines) > 1 else "the row"
    message = (
        f"`{law.name}` has no value on {count} with {where}: `{part}` is not a finite number there"
    )
    column = runs.bound[names[0]]
    listed = abridged(lines[:MAX_ROWS_NAMED], MAX_ROWS_NAMED, count=len(lines))
    help = (
        f"leave them out, --where '{column} > 0', or write a law with a value there, such as "
        f"({names[0]} + epsilon) in place of {names[0]}"
    )
    return Diagnostic(
        "F0107",
        message,
        place=f"{runs.name}:{lines[0]} column {column}",
        notes=(f"rows {listed}",) if len(lines) > 1 else (),
        help=help,
    )
