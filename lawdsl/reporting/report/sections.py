"""The record of a report: a title, what comes first, and sections of blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lawdsl.reporting.documents.blocks import Block


@dataclass(frozen=True)
class Explorer:
    """A law that the reader evaluates with sliders.

    Attributes:
        name: what the fit is called.
        output: the name of what is predicted, with its unit.
        module: the law as a JavaScript module, as `lawdsl export --to javascript` writes it.
        sliders: the variables.
        rows: index set of the row -> its labels, for a law that predicts each of them.
        has_interval: whether the module gives intervals.
        level: of the interval, 0.95 for 95 %.
    """

    name: str
    output: str
    module: str
    sliders: tuple[Slider, ...]
    rows: Mapping[str, Sequence[str]]
    has_interval: bool
    level: float


@dataclass(frozen=True)
class Slider:
    """A variable that the reader moves.

    Attributes:
        variable: of the law.
        label: where the variable has one value for each label; else empty.
        unit: as text.
        doc: what it is.
        low, high: the ends.
        fitted: the range of the fitted rows.
        start: its value at first.
        is_logarithmic: whether equal steps are equal ratios.
        left_out: whether it is a share that is 1 minus the others.
    """

    variable: str
    label: str
    unit: str
    doc: str
    low: float
    high: float
    fitted: tuple[float, float]
    start: float
    is_logarithmic: bool
    left_out: bool = False

    @property
    def name(self) -> str:
        """What the reader calls it: `N`, `r[code]`."""
        return f"{self.variable}[{self.label}]" if self.label else self.variable


@dataclass(frozen=True)
class Section:
    """A part of a report.

    Attributes:
        anchor: its name in links within the page.
        title: its heading.
        blocks: what it says.
        explorers: laws to evaluate; in HTML alone.
    """

    anchor: str
    title: str
    blocks: Sequence[Block]
    explorers: tuple[Explorer, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Report:
    """A report.

    Attributes:
        title: of the page.
        summary: what a reader who reads nothing else should know.
        sections: the parts.
    """

    title: str
    summary: Sequence[Block]
    sections: Sequence[Section]
