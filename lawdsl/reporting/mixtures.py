"""Mixtures that were selected, on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from lawdsl.core.diagnostics import printable
from lawdsl.reporting.terminal import show_rows

if TYPE_CHECKING:
    from lawdsl.designing.selection import SelectedMixtures


def show_chosen(found: SelectedMixtures, out: Console) -> None:
    """Which mixtures were chosen, and how well a fit to them does beside others."""
    count = len(found.mixtures)
    head = f"{count} of {found.of} mixtures, those that {found.law} is best fitted to"
    out.print(Text(head, style="bold"))
    out.print(f"  mean absolute error of {found.output} on all {found.of}, fitted ones too")
    rows = [
        (f"these {count}", found.error),
        (f"{count}, median of {len(found.errors)} groups", found.median),
        (f"all {found.of}", found.everything),
    ]
    show_rows(["fit to", "error"], [[what, f"{error:.4g}"] for what, error in rows], out)
    names = "; ".join(found.mixtures) if len(found.by) > 1 else ", ".join(found.mixtures)
    out.print(Text(f"{', '.join(found.by)}: {printable(names)}"), soft_wrap=True)
