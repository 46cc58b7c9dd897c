"""Fits -> sliders with which the reader of a page evaluates their laws.

The law is the JavaScript module that `lawdsl export --to javascript` writes, so that predictions in
the page equal those of `fit.predict`, with the interval due to the noise of the fitted rows.
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
from lawdsl.language.label_texts import with_subscripts
from lawdsl.reporting.report.entries import Entry

LEVEL = 0.95
WIDEST = 0.05
"""Predictions at the end of a slider are known within 5 %, if the fit has a trust horizon."""
MOST_TIMES = 1e4
"""Largest multiple of the largest fitted value at the end of a slider."""
MAX_SLIDERS = 40
"""Largest number of sliders; a law with more variables has no explorer."""
END_OF_SCRIPT = re.compile(r"<(?=/?script|!--)", re.IGNORECASE)
"""Text that could end the script of a module, whose comments contain text from law files."""


@dataclass(frozen=True)
class Slider:
    """A variable that the reader can vary.

    Attributes:
        variable: the variable of the law.
        label: the label, if the variable has a value for each label; else empty.
        unit: the unit as text.
        doc: the description.
        low, high: the ends of the slider.
        fitted: the range of the fitted rows; None for the share that is 1 minus the others, whose
            range is not known.
        start: the initial value.
        logarithmic: whether equal steps of the slider are equal ratios.
        simplex: whether it is one of several shares that sum to 1.
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
        """The name shown to the reader: `N`, `r[code]`."""
        return with_subscripts(self.variable, (self.label,) if self.label else ())


@dataclass(frozen=True)
class Explorer:
    """A law that the reader can evaluate.

    Attributes:
        name: the name of the fit.
        output: the name of the predicted quantity.
        unit: its unit as text.
        module: the JavaScript module of the law.
        sliders: the sliders, one per variable.
        rows: index set -> its labels, each of which has a prediction.
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
        """The settings of the page's script, as JSON that is safe inside a page."""
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
    """The explorer of a fit; None if its law has too many variables for sliders.

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
    name = with_subscripts(variable.name, (label,) if label else ())
    simplex = variable.left_out is not None
    # None for the share that is 1 minus the others, whose range is not stored in the fit
    fitted = ranges.get(name)
    low, high = fitted or (0.0, 1.0)
    if simplex:
        low, high = 0.0, 1.0
    else:
        # for several labels, the range within which the predictions of all of them are known
        reaches = [
            horizon.variables[variable.name] * _reach_multiple(horizon, variable.name)
            for horizon in horizons
            if variable.name in horizon.variables
        ]
        high = max(high, min(reaches, default=high))
    if not low < high:  # a single fitted value
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


def _reach_multiple(horizon: Horizon, name: str) -> float:
    """The multiple of the largest fitted value of one variable up to which predictions are within 5
    %.
    """
    reaches = horizon.by_variable.get(name, horizon.path)
    times = {reach.within: reach.times for reach in reaches}[WIDEST]
    return float(np.clip(times, 1.0, MOST_TIMES))


def scripts(explorers: Sequence[Explorer]) -> list[tuple[str, str]]:
    """The scripts of a page, as pairs of type and text.

    Args:
        explorers: the explorers in their order on the page.
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
