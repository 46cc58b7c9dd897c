"""Fits -> sliders by which the reader of a page evaluates their laws.

The law is the JavaScript module that `lawdsl export --to javascript` writes, so that the page predicts
what `fit.predict` does, with the interval that the noise of the fitted rows gives.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from lawdsl.core.axes import spans_decades
from lawdsl.core.files import json_in_page
from lawdsl.exporting.build import exported
from lawdsl.exporting.content import Exported, ExportedVariable
from lawdsl.exporting.javascript_module import javascript_module
from lawdsl.fitting.extrapolation.horizon import Horizon
from lawdsl.reporting.report.entries import Entry

LEVEL = 0.95
WIDEST = 0.05
"""Predictions at the end of a slider are known within 5 %, where the fit has a trust horizon."""
MOST_TIMES = 1e4
"""How far beyond the largest fitted value a slider goes at most."""
MAX_SLIDERS = 40
"""Sliders of a law; one of more variables has no explorer."""
END_OF_SCRIPT = re.compile(r"<(?=/?script|!--)", re.IGNORECASE)
"""What could end the script of a module, in whose comments are texts of laws."""


@dataclass(frozen=True)
class Slider:
    """A variable that the reader moves.

    Attributes:
        variable: the variable of the law.
        label: where the variable has a value for each label; else empty.
        unit: as text.
        doc: what it is.
        low, high: the ends.
        fitted: the range of the fitted rows; None where it is not known: of the share that is 1
            minus the others.
        start: its value at first.
        logarithmic: whether equal steps are equal ratios.
        simplex: whether it is one of shares that sum to 1.
    """

    variable: str
    label: str
    unit: str
    doc: str
    low: float
    high: float
    fitted: tuple[float, float] | None
    start: float
    logarithmic: bool
    simplex: bool

    @property
    def name(self) -> str:
        """What the reader calls it: `N`, `r[code]`."""
        return f"{self.variable}[{self.label}]" if self.label else self.variable


@dataclass(frozen=True)
class Explorer:
    """A law that the reader evaluates.

    Attributes:
        name: what the fit is called.
        output: what is predicted.
        unit: its unit, as text.
        module: the law in JavaScript.
        sliders: its variables.
        rows: name of an index set -> the labels, of each of which there is a prediction.
        level: the level of the interval; None where the fit has none.
    """

    name: str
    output: str
    unit: str
    module: str
    sliders: tuple[Slider, ...]
    rows: Mapping[str, Sequence[str]]
    level: float | None

    @property
    def settings(self) -> str:
        """What the script of the page needs to know, as JSON that may stand in a page."""
        content = {
            "output": self.output,
            "unit": self.unit,
            "rows": {name: list(labels) for name, labels in self.rows.items()},
            "level": self.level,
            "sliders": [
                {
                    **{"variable": s.variable, "label": s.label, "name": s.name},
                    **{"low": s.low, "high": s.high, "fitted": s.fitted, "start": s.start},
                    **{"logarithmic": s.logarithmic, "simplex": s.simplex},
                }
                for s in self.sliders
            ],
        }
        return json_in_page(content)


def explorer_of(entry: Entry) -> Explorer | None:
    """The explorer of a fit; None where its law has too many variables for sliders.

    Args:
        entry: a fit.
    """
    made = exported(entry.result, LEVEL)
    sliders = tuple(_sliders(made, [part.horizon for part in entry.parts if part.horizon]))
    if not 0 < len(sliders) <= MAX_SLIDERS:
        return None
    return Explorer(
        entry.name,
        made.output.partition("[")[0] if made.rows else made.output,
        made.unit,
        javascript_module(made),
        sliders,
        {name: made.labels[made.index_sets[index]] for index, name in made.rows.items()},
        made.level if made.errors else None,
    )


def _sliders(made: Exported, horizons: Sequence[Horizon]) -> Iterator[Slider]:
    for variable in made.variables:
        labels: Sequence[str] = made.labels[variable.over] if variable.over else ("",)
        for label in labels:
            yield _slider(made, variable, label, len(labels), horizons)


def _slider(
    made: Exported,
    variable: ExportedVariable,
    label: str,
    count: int,
    horizons: Sequence[Horizon],
) -> Slider:
    ranges = made.fit.ranges if made.fit else {}
    name = f"{variable.name}[{label}]" if label else variable.name
    simplex = variable.left_out is not None
    # none of the share that is 1 minus the others: the rows' range of it is not in the fit
    fitted = ranges.get(name)
    low, high = fitted or (0.0, 1.0)
    if simplex:
        low, high = 0.0, 1.0
    else:
        # of several labels, as far as predictions of all of them are known
        reaches = [
            horizon.variables[variable.name] * _times(horizon, variable.name)
            for horizon in horizons
            if variable.name in horizon.variables
        ]
        high = max(high, min(reaches, default=high))
    if not low < high:  # one fitted value
        low, high = (low / 2, low * 2) if low > 0 else (low - 1.0, high + 1.0)
    for bound in variable.bounds:
        if bound.relation in ("<", "<="):
            high = min(high, bound.limit)
        else:
            low = max(low, bound.limit)
    logarithmic = spans_decades(low, high)
    least, most = fitted or (low, high)
    middle = math.sqrt(least * most) if logarithmic else (least + most) / 2
    start = 1 / count if simplex else min(max(middle, low), high)
    return Slider(
        variable=variable.name,
        label=label,
        unit=variable.unit,
        doc=variable.doc,
        low=float(low),
        high=float(high),
        fitted=fitted,
        start=start,
        logarithmic=logarithmic,
        simplex=simplex,
    )


def _times(horizon: Horizon, name: str) -> float:
    """How far one variable leads before predictions are wrong by more than 5 %, as a multiple."""
    reaches = horizon.by_variable.get(name, horizon.path)
    times = {reach.within: reach.times for reach in reaches}[WIDEST]
    return float(np.clip(times, 1.0, MOST_TIMES))


def scripts(explorers: Sequence[Explorer]) -> list[tuple[str, str]]:
    """The scripts of a page: type and text.

    Args:
        explorers: in the order in which they stand in the page.
    """
    if not explorers:
        return []
    code = (files(__package__) / "explorer.js").read_text(encoding="utf-8")
    modules = [
        f"{explorer.module}\nglobalThis.lawdslExplore({number}, predict, "
        f"{'predictWithInterval' if explorer.level else 'null'});\n"
        for number, explorer in enumerate(explorers)
    ]
    # no comment or text of a module may end its script
    return [
        ("text/javascript", code),
        *(("module", END_OF_SCRIPT.sub(r"<\\", text)) for text in modules),
    ]
