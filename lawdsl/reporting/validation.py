"""Validation sets as text on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lawdsl.core.diagnostics import printable
from lawdsl.reporting.terminal import number_text

HEADERS = ("model", "tokens", "loss", "median perplexity", "worst from")


def show_set(selection: Mapping[str, Any], out: Console) -> None:
    """Print the number of samples drawn, their scores by the models, and the selection.

    Args:
        selection: the content of selection.json, with the tokens and the folder of the set.
    """
    cut = f"{selection['cut']:,} cut, "
    out.print(_drawn(selection, cut), soft_wrap=True)
    if selection["models"]:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for header in HEADERS:
            table.add_column(header, justify="left" if header == "model" else "right")
        for model in selection["models"]:
            table.add_row(*_row(model))
        out.print(table)
        dropped, models = f"{selection['dropped']:,} dropped", len(selection["models"])
        out.print(f"{dropped}: among the worst under {models} models", soft_wrap=True)
    kept_count = f"{selection['kept']:,} kept of {selection['left']:,}"
    out.print(f"{kept_count}: {selection['tokens']:,} tokens", soft_wrap=True)
    folder = printable(selection["folder"])
    out.print(
        Text(f"wrote {folder}; make training corpora with `lawdsl corpus --against`"),
        soft_wrap=True,
    )


def show_forecast(plan: Mapping[str, Any], out: Console) -> None:
    """Print the cost of a validation set: samples, and for each model tokens and time.

    Args:
        plan: the plan of the set.
        out: where it is printed.
    """
    out.print(_drawn(plan), soft_wrap=True)
    for model in plan["models"]:
        name, tokens = printable(model["name"]), f"{model['tokens']:,} tokens"
        out.print(Text(f"{name}: {tokens}, {_time(model['seconds'])}"), soft_wrap=True)
    if plan["models"]:
        total_time = f"about {_time(plan['seconds'])} in all"
        out.print(f"{total_time}, and the time to load the models", soft_wrap=True)


def _drawn(selection: Mapping[str, Any], cut: str = "") -> str:
    short = f"({cut}{selection['short']:,} too short left out)"
    return f"{selection['documents']:,} documents, {selection['samples']:,} samples {short}"


def _row(model: Mapping[str, Any]) -> tuple[str, ...]:
    worst, median = model["threshold"], model["perplexity"]["median"]
    least = "-" if worst is None else number_text(worst)
    tokens = f"{model['tokens']:,}"
    return printable(model["name"]), tokens, number_text(model["loss"]), number_text(median), least


def _time(seconds: float) -> str:
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"
