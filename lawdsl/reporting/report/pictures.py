"""Result -> the figures of it in a report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.optional_packages import missing
from lawdsl.figures.draw import INSTALL, draw, kinds_of
from lawdsl.reporting.documents.blocks import Block, Paragraph, Picture

KINDS = (
    "fit",
    "groups",
    "residuals",
    "extrapolation",
    "answer",
    "design",
    "comparison",
    "trends",
    "certificate",
)
"""The kinds of figures in reports."""
DRAWING = ("altair", "vl_convert")


def pictures(result: Any, name: str) -> Iterator[Block]:
    """The figures of a result.

    Args:
        result: a public record.
        name: its name in the report, from which file names are made.
    """
    kinds = [kind.name for kind in kinds_of(result) if kind.name in KINDS]
    if kinds and missing(*DRAWING):
        yield Paragraph(f"Figures are left out: {INSTALL}")
        return
    for kind in kinds:
        try:
            figure = draw(result, kind)
            svg = figure.encoded("svg")
        except LawdslError as error:
            yield Paragraph(f"No figure of kind {kind}: {error.diagnostics[0].message}.")
            continue
        file = re.sub(r"[^\w.-]+", "_", f"{name}-{kind}") + ".svg"
        yield Picture(file, figure.title, figure.description, svg, figure.notes)
