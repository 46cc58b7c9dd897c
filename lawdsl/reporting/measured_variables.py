"""Measured variables on a terminal and as a table: a line for each label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from lawdsl.core.diagnostics import printable
from lawdsl.language.printer import print_unit
from lawdsl.language.symbols import Declarations
from lawdsl.reporting.terminal import show_rows

if TYPE_CHECKING:
    from lawdsl.data.measured_variables import Measured


def cells(
    declared: Declarations, measured: Measured, *, units: bool = False
) -> tuple[list[str], list[list[Any]]]:
    """The names of columns, with their units where wanted, and a row for each label."""
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
    """The rules, where each was read, and the values."""
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
