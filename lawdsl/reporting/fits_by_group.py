"""The fits of many groups -> text on a terminal: a row for each group, findings merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from lawdsl.core.diagnostics import Diagnostic, printable
from lawdsl.core.enumerations import abridged, counted
from lawdsl.fitting.storage import VERDICTS
from lawdsl.reporting.fits import parameter_cell
from lawdsl.reporting.terminal import show_rows

if TYPE_CHECKING:
    from lawdsl.fitting.fits_by_group import FitsByGroup, FittedGroup

MAX_GROUPS_SHOWN = 50
MAX_PARAMETERS_SHOWN = 12  # in the columns of a table
MAX_GROUPS_NAMED = 8  # in the place of a finding


def show_fits_by_group(fits: FitsByGroup, out: Console) -> None:
    """Print the fits of many groups: a row for each, with its parameters and verdict.

    Args:
        fits: the fits.
        out: where they are printed.
    """
    text = f"{fits.law.name} fitted to {counted(len(fits), 'group')}, by {', '.join(fits.by)}"
    out.print(Text(printable(text), style="bold"), soft_wrap=True)
    if fits.failures:
        out.print(f"  {counted(len(fits.failures), 'group')} could not be fitted")
    show_rows(*group_rows(fits, fits.groups[:MAX_GROUPS_SHOWN]), out)
    if len(fits) > MAX_GROUPS_SHOWN:
        out.print(f"and {len(fits) - MAX_GROUPS_SHOWN:,} more")
    counts = Counter(group.fit.verdict for group in fits.groups)
    verdicts = [f"{counts[verdict]:,} {verdict}" for verdict in VERDICTS if counts[verdict]]
    out.print(f"verdicts: {', '.join(verdicts) or 'none'}")


def group_rows(
    fits: FitsByGroup, groups: Sequence[FittedGroup]
) -> tuple[list[str], list[list[str]]]:
    """The headers and the rows of a table of fits.

    Args:
        fits: the fits of all groups.
        groups: those of the rows.
    """
    names = fits.parameter_names
    shown = names if len(names) <= MAX_PARAMETERS_SHOWN else []
    headers = [*map(printable, fits.by), "rows", "objective", *shown, "verdict"]
    rows = []
    for group in groups:
        part_of = {name: part for part in group.parts for name in (*part.parameters, *part.held)}
        codes = ", ".join(dict.fromkeys(d.code for d in group.fit.diagnostics))
        rows.append(
            [
                *map(printable, group.labels),
                f"{group.rows:,}",
                f"{group.objective:.4g}",
                *(parameter_cell(part_of[x], x) if x in part_of else "" for x in shown),
                ": ".join(filter(None, (group.fit.verdict, codes))),
            ]
        )
    return headers, rows


def findings_by_group(fits: FitsByGroup) -> list[Diagnostic]:
    """The reasons why groups were not fitted, and the findings of the fits, each code once, with
    the groups that it concerns.

    Args:
        fits: the fits.
    """
    found: dict[tuple[str, str], list[tuple[str, Diagnostic]]] = {}
    for failure in fits.failures:
        for d in failure.diagnostics:
            found.setdefault((d.code, "failure"), []).append((", ".join(failure.labels), d))
    for group in fits.groups:
        for code, d in {d.code: d for d in reversed(group.fit.diagnostics)}.items():
            found.setdefault((code, "fit"), []).append((", ".join(group.labels), d))
    separator = ", " if len(fits.by) == 1 else "; "
    return [_merged(labelled, separator) for labelled in found.values()]


def _merged(labelled: Sequence[tuple[str, Diagnostic]], separator: str) -> Diagnostic:
    """The first of several diagnostics with one code, with the groups that have them."""
    labels, first = [label for label, _ in labelled], labelled[0][1]
    place = abridged(list(dict.fromkeys(labels)), MAX_GROUPS_NAMED, separator)
    if len(labelled) == 1:
        return replace(first, place=place)
    same = all(d.message == first.message for _, d in labelled)
    message = first.message if same else f"{first.message} (the first of {len(labelled):,} groups)"
    return replace(first, message=message, place=place, notes=first.notes if same else ())
