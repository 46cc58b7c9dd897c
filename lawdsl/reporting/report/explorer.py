"""Fit -> sliders that evaluate its law in the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lawdsl.reporting.report.sections import Explorer, Report


def explorer_scripts(report: Report) -> Iterator[tuple[str, str]]:
    """The scripts of a page: type and text."""
    return iter(())


def explorer_html(explorer: Explorer, number: int) -> Any:
    return ""
