"""Measured variables -> text on a terminal and a table, one row per label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from lawdsl.core.diagnostics import printable
from lawdsl.language.printer import print_unit
from lawdsl.language.symbols import Declarations
from lawdsl.reporting.terminal import show_rows

if TYPE_CHECKING:
    from lawdsl.data.measured_values import Measured


def cells(
    declared: Declarations, measured: Measured, *, units: bool = False
) -> tuple[list[str], list[list[Any]]]:
    """Tabulate measured variables, one row per label.

    Args:
        declared: the declarations of the law.
        measured: the values.
        units: whether headers include units.

    Returns:
        Headers and rows.
    """
    over = [declared.indices[declared.measures[name].index].over for name in measured.values]
    headers = [" ".join(dict.fromkeys(over))]
    for name in measured.values:
        unit = declared.symbols[name].unit
        headers.append(f"{name} [{print_unit(unit)}]" if units and unit else name)
    labels = dict.fromkeys(label for values in measured.values.values() for label in values)
    rows = [
        [label, *(values.get(label, "") for values in measured.values.values())]
        for label in sorted(labels)
    ]
    return headers, rows


def show_measured(declared: Declarations, data: str, measured: Measured, out: Console) -> None:
    """Print the rules of measurement, the points of measurement, and the values.

    Args:
        declared: the declarations of the law.
        data: the name of the table.
        measured: the values.
        out: where they are printed.
    """
    out.print(Text(f"{declared.name} and {printable(data)}", style="bold"), soft_wrap=True)
    for name, measure in declared.measures.items():
        out.print(Text(f"  {measure.text}{_where(name, measured)}"), soft_wrap=True)
    headers, rows = cells(declared, measured)
    show_rows(headers, [[printable(str(label)), *values] for label, *values in rows], out)


def _where(name: str, measured: Measured) -> str:
    if name not in measured.points:
        return ", as a column says"
    points = measured.points[name]
    if len(points) > 1:
        return f", the mean over {len(points)} points"
    point = ", ".join(f"{variable} = {x:g}" for variable, x in points[0].items())
    return f" at {point}" if point else ""
