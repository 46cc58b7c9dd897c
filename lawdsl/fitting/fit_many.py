"""Law + many tables, or a table with groups -> FitsByGroup: one fit each, with the law compiled once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import abridged, as_texts
from lawdsl.core.warning_categories import NotTrustedWarning, warn
from lawdsl.data.binding import chosen_rows
from lawdsl.data.groups import grouped
from lawdsl.data.read import read_table
from lawdsl.data.weights_and_runs import with_weights
from lawdsl.fitting.fit import objective_of
from lawdsl.fitting.fit_processes import Group, fit_group, fit_in_processes
from lawdsl.fitting.fits_by_group import FailedGroup, FitsByGroup, FittedGroup
from lawdsl.fitting.options import OPTIONS, FitOptions
from lawdsl.fitting.processes import check_processes
from lawdsl.fitting.storage import fitted_law
from lawdsl.fitting.verdicts import NOT_TRUSTED
from lawdsl.language.law_changes import LawChanges
from lawdsl.law.law import Law, load

Labels = tuple[str, ...]

CHANGES = ("settings", "without", "fix", "tie", "priors")
"""Arguments of `fit` that change the law."""
SEVERAL = ("where", "run")
"""Options that may be one text or several."""
SEPARATE_TABLES = ("table",)
"""In place of columns, where each table is a group."""
MAX_GROUPS_LISTED = 8  # groups named in a message


def fit_many(
    law: Law | str | Path,
    tables: Any,
    /,
    *,
    by: str | Sequence[str] = (),
    processes: int = 1,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> FitsByGroup:
    """Fit a law to many tables, or separately to the groups of a table.

    Each fit equals that of `fit` to the rows of the group alone, with its verdict and diagnostics.
    A group that cannot be fitted does not end the others: it is listed in `failures`.

    Args:
        law: a law, or the name or path of one.
        tables: a table, as `fit` takes it, with `by`; else several tables: a sequence, or a mapping
            of names to tables.
        by: the column that tells the groups of the table apart, or several.
        processes: the number of processes that share the work; the result is the same for any
            number. Each takes a second or two to start.
        progress: called with the number of groups done, and of all groups.
        options: the other arguments of `fit`, and columns of the law: L="loss".

    Returns:
        The fits, a mapping of groups to fits. If some fits are not trusted, a `NotTrustedWarning`
        names their groups.

    Raises:
        LawdslError: a law or table that cannot be used; an unknown column; a reason for which no
            group can be fitted.
        TypeError: several tables together with `by`, or neither.
        ValueError: a number of processes that is not a whole number from 1.
    """
    law, fit_options = read_arguments(law, options, "fit_many")
    result = fit_groups(law, tables, as_texts(by), fit_options, processes, progress)
    warn(result_warnings(result), NotTrustedWarning)
    return result


def fit_groups(
    law: Law,
    tables: Any,
    by: tuple[str, ...],
    options: FitOptions,
    processes: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> FitsByGroup:
    """Fit a law to many tables, with the options as one record.

    Args:
        law: the law, after its changes.
        tables: the tables, as `fit_many` takes them.
        by: the columns that tell groups apart; none for separate tables.
        options: the options of each fit.
        processes: the number of processes.
        progress: called with the number of groups done, and of all groups.

    Raises:
        LawdslError, TypeError, ValueError: as `fit_many` raises them.
    """
    check_processes(processes)
    # a mistake in the options concerns all groups
    objective_of(law, options)
    parts, options = _divided(tables, by, options)
    results: list[Group]
    if processes > 1 and len(parts) > 1:
        results = fit_in_processes(law, parts, options, processes, progress)
    else:
        results = []
        for number, (labels, table) in enumerate(parts, 1):
            results.append(fit_group(law, labels, table, options))
            if progress is not None:
                progress(number, len(parts))
    failures = tuple(r for r in results if isinstance(r, FailedGroup))
    _raise_common_failure(failures, len(results))
    return FitsByGroup(
        fitted_law(law),
        by or SEPARATE_TABLES,
        tuple(r for r in results if isinstance(r, FittedGroup)),
        failures,
    )


def result_warnings(fits: FitsByGroup) -> list[Diagnostic]:
    """A warning that names the groups whose fits are not trusted."""
    untrusted = [group for group in fits.groups if group.fit.verdict == "not trusted"]
    if not untrusted:
        return []
    codes = dict.fromkeys(
        d.code for group in untrusted for d in group.fit.diagnostics if d.severity == "error"
    )
    names = abridged([", ".join(group.labels) for group in untrusted], MAX_GROUPS_LISTED, "; ")
    message = (
        f"{len(untrusted):,} of {len(fits):,} fits are not trusted ({', '.join(codes)}): {names}"
    )
    return [Diagnostic(NOT_TRUSTED, message, "warning")]


def read_arguments(
    law: Law | str | Path, options: Mapping[str, Any], function: str
) -> tuple[Law, FitOptions]:
    """The changed law, and the options of each fit.

    Args:
        law: a law, or the name or path of one.
        options: arguments of `fit`, and columns.
        function: the name of the function that takes them, for messages.

    Raises:
        TypeError: an unknown argument.
    """
    changes = LawChanges.of(**{name: options[name] for name in CHANGES if name in options})
    given = {name: x for name, x in options.items() if name in OPTIONS and name != "columns"}
    given |= {name: as_texts(given[name]) for name in SEVERAL if name in given}
    named = {name: x for name, x in options.items() if name not in CHANGES and name not in OPTIONS}
    for name, column in named.items():
        if not isinstance(column, str):
            message = (
                f"{function}() got an unexpected argument {name!r}; a column is named by a text"
            )
            raise TypeError(message)
    columns = {**(options.get("columns") or {}), **named}
    read_law = law if isinstance(law, Law) else load(law)
    return changes.apply(read_law), FitOptions(**given, columns=columns)


def _divided(
    tables: Any, by: tuple[str, ...], options: FitOptions
) -> tuple[list[tuple[Labels, Any]], FitOptions]:
    """The rows of each group with its labels, and the options for them."""
    if not by:
        return list(_separate(tables, options)), options
    table = read_table(tables, options.columns)
    table, weights = with_weights(table, options.weights)
    # a group without rows that satisfy the conditions is none
    table, _ = chosen_rows(table, options.where, options.drop_bad)
    return list(grouped(table, by).items()), replace(options, weights=weights)


def _separate(tables: Any, options: FitOptions) -> Iterable[tuple[Labels, Any]]:
    """Separate tables, with the name or the number of each.

    Raises:
        TypeError: a single table.
        ValueError: two tables of one name.
    """
    if not isinstance(tables, (Mapping, list, tuple)):
        message = "fit_many() takes several tables, or one table with by=COLUMN"
        raise TypeError(message)
    named = list(tables.items() if isinstance(tables, Mapping) else enumerate(tables))
    if isinstance(tables, Mapping) and any(_is_column(x) for x in tables.values()):
        message = "fit_many() takes several tables: a mapping of columns is one; say by=COLUMN"
        raise TypeError(message)
    if options.weights is not None and not isinstance(options.weights, str):
        raise TypeError("weights of several tables are given by the name of their column")
    labels = [str(name) for name, _ in named]
    if len(set(labels)) < len(labels):
        raise ValueError(f"fit_many() takes tables with different names, not {', '.join(labels)}")
    return [((label,), table) for label, (_, table) in zip(labels, named, strict=True)]


def _is_column(values: Any) -> bool:
    """Whether the value of a mapping is a column and not a table."""
    if isinstance(values, (list, tuple)):
        return True
    return getattr(values, "ndim", 2) == 1  # arrays and series


def _raise_common_failure(failures: Sequence[FailedGroup], groups: int) -> None:
    """Raise the error for which no group could be fitted, if there is only one.

    Raises:
        LawdslError: the reason.
    """
    first = {failure.diagnostics[0] for failure in failures}
    reasons = {(d.code, d.message) for d in first}
    if groups and len(failures) == groups and len(reasons) == 1:
        raise LawdslError(failures[0].diagnostics)
