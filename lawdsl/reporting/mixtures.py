"""Selected mixtures -> text on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from lawdsl.core.diagnostics import printable
from lawdsl.reporting.terminal import show_rows

if TYPE_CHECKING:
    from lawdsl.designing.selection import SelectedMixtures


def show_chosen(selection: SelectedMixtures, out: Console) -> None:
    """Print which mixtures were selected, and the error of a fit to them compared with other
    groups.

    Args:
        selection: the selected group.
        out: where it is printed.
    """
    count = len(selection.mixtures)
    head = f"{count} of {selection.of} mixtures, those that {selection.law} is best fitted to"
    out.print(Text(head, style="bold"))
    out.print(f"  mean absolute error of {selection.output} on all {selection.of}, fitted ones too")
    rows = [
        (f"these {count}", selection.error),
        (f"{count}, median of {len(selection.errors)} groups", selection.median),
        (f"all {selection.of}", selection.everything),
    ]
    show_rows(["fit to", "error"], [[what, f"{error:.4g}"] for what, error in rows], out)
    if selection.ranks:
        out.print(Text(f"  {printable(selection.ranks)}"), soft_wrap=True)
    names = (
        "; ".join(selection.mixtures) if len(selection.by) > 1 else ", ".join(selection.mixtures)
    )
    out.print(Text(f"{', '.join(selection.by)}: {printable(names)}"), soft_wrap=True)
