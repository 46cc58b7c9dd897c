"""The look of all figures: colours, axes, titles.

Colours are those of Okabe and Ito (2008), which colour-blind readers tell from each other, in an
order whose first four differ in lightness too, for print without colour. The background is white,
so that a figure can be read on a dark page.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import altair as alt

BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, YELLOW, GREY = "#E69F00", "#56B4E9", "#F0E442", "#6B6B6B"
CATEGORIES = (BLUE, ORANGE, GREEN, PURPLE, VERMILION, SKY, GREY, "#000000")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke", "arrow")
"""Marks of groups, beside their colours: for print, and for those who see no colours."""
SEQUENTIAL_EXTENT = (0.0, 0.88)  # of viridis, whose last yellow is lost on white
WIDTH, HEIGHT = 460, 300
PANEL_WIDTH, PANEL_HEIGHT = 250, 160  # of small multiples
TITLE_CHARACTER, SUBTITLE_CHARACTER = 7.0, 5.2  # mean widths in pixels, by which titles are wrapped
LOG_SPAN = 30.0  # a positive variable with this ratio of largest to smallest has a log axis
MAX_TICKS = 7


def is_logarithmic(values: ArrayLike) -> bool:
    """Whether values span more than one and a half decades, all of them positive."""
    array = np.asarray(values, dtype=np.float64)
    array = array[np.isfinite(array)]
    return bool(array.size and np.min(array) > 0 and np.max(array) > LOG_SPAN * np.min(array))


def ticks(low: float, high: float, logarithmic: bool) -> list[float] | None:
    """Values of the ticks of an axis from `low` to `high`; None to leave them to Vega."""
    if not logarithmic:
        return None
    decades = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    if len(decades) > MAX_TICKS:
        return [float(10**e) for e in decades[:: int(np.ceil(len(decades) / MAX_TICKS))]]
    steps = (1, 2, 5) if len(decades) <= 3 else (1, 3) if len(decades) <= 4 else (1,)
    values = [step * 10**e for e in decades for step in steps]
    return [float(x) for x in values if low / 1.2 <= x <= high * 1.2]


LABELS = (
    "datum.value == 0 ? '0' : abs(datum.value) >= 1e15 || abs(datum.value) < 1e-4 "
    "? format(datum.value, '.0e') : abs(datum.value) >= 1e4 "
    "? replace(format(datum.value, '~s'), 'G', 'B') : format(datum.value, '~g')"
)
"""Labels of ticks as papers write sizes: 7B parameters, 1.4T tokens."""


_SUFFIXES = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))


def short(value: float) -> str:
    """A number as labels of ticks have it, to three digits: `57.3M`, `5.1e+21`."""
    size = abs(value)
    if size >= 1e15 or 0 < size < 1e-4:
        return f"{value:.2g}"
    if size >= 1e4:
        unit, suffix = next(pair for pair in _SUFFIXES if size >= pair[0])
        return f"{value / unit:.3g}{suffix}"
    return f"{value:.3g}"


def axis(
    field: str,
    title: str,
    values: ArrayLike,
    *,
    channel: str = "x",
    zero: bool = False,
    logarithmic: bool | None = None,
) -> Any:
    """A positional channel of numbers; logarithmic where they span decades.

    Args:
        field: the column.
        title: of the axis, with its unit.
        values: all values that are drawn.
        channel: "x" or "y".
        zero: whether a linear axis begins at 0.
        logarithmic: True or False to override what the values suggest.
    """
    import altair as alt

    array = np.asarray(values, dtype=np.float64)
    array = array[np.isfinite(array)]
    low, high = (float(np.min(array)), float(np.max(array))) if array.size else (0.0, 1.0)
    log = is_logarithmic(array) if logarithmic is None else logarithmic and low > 0
    # the title and the subtitle of a figure leave no room for a domain far wider than the data
    scale = (
        alt.Scale(type="log", domain=padded(low, high), nice=False) if log else alt.Scale(zero=zero)
    )
    shape = alt.Axis(title=title, labelExpr=LABELS)
    positions = ticks(low, high, log)
    if positions is not None:
        shape.values = positions
    kind = alt.X if channel == "x" else alt.Y
    return kind(f"{escaped(field)}:Q", scale=scale, axis=shape)


def padded(low: float, high: float) -> list[float]:
    """The domain of a logarithmic axis: a little wider than the values."""
    margin = (high / low) ** 0.04 if high > low else 1.5
    return [low / margin, high * margin]


def escaped(field: str) -> str:
    """A column's name as Vega-Lite reads it: dots, brackets and colons would be paths and types."""
    return "".join(f"\\{c}" if c in ".[]:\\" else c for c in field)


def color(field: str, title: str, values: Sequence[Any]) -> alt.Color:
    """The colour of groups of labels."""
    import altair as alt

    domain = list(dict.fromkeys(values))
    scale = alt.Scale(domain=domain, range=[CATEGORIES[i % 8] for i in range(len(domain))])
    return alt.Color(f"{escaped(field)}:N", title=title, scale=scale)


def gradient(field: str, title: str, values: ArrayLike) -> alt.Color:
    """The colour of groups of numbers.

    All marks that have it must be of one kind, strokes (lines and hollow points) or fills: Vega
    draws no gradient for a legend of both.

    Args:
        field: the column.
        title: of the legend.
        values: all values that are drawn.
    """
    import altair as alt

    array = np.asarray(values, dtype=np.float64)
    low, high = float(np.min(array)), float(np.max(array))
    logarithmic = is_logarithmic(array)
    scheme = alt.SchemeParams(name="viridis", extent=list(SEQUENTIAL_EXTENT))
    kind: Any = "log" if logarithmic else "linear"
    scale = alt.Scale(type=kind, scheme=scheme, nice=False, domain=[low, high])
    inside = [x for x in ticks(low, high, logarithmic) or () if low <= x <= high]
    legend = alt.Legend(
        labelExpr=LABELS, type="gradient", values=inside or alt.Undefined, gradientOpacity=1
    )
    return alt.Color(f"{escaped(field)}:Q", title=title, scale=scale, legend=legend)


def shape(field: str, title: str, values: Sequence[str]) -> alt.Shape:
    """The marks of groups."""
    import altair as alt

    domain = list(dict.fromkeys(values))
    scale = alt.Scale(domain=domain, range=[SHAPES[i % 8] for i in range(len(domain))])
    return alt.Shape(f"{escaped(field)}:N", title=title, scale=scale)


def labelled(chart: alt.Chart, **mark: Any) -> list[alt.Chart]:
    """Layers of text on a white halo, which is read in front of other marks.

    Args:
        chart: a chart with its encoding of positions and text.
        mark: properties of the text, such as align and dy.
    """
    properties: dict[str, Any] = {"fontSize": 10, "color": _TEXT} | mark
    halo = {"stroke": "white", "strokeWidth": 3, "strokeJoin": "round"}
    return [chart.mark_text(**(properties | halo)), chart.mark_text(**properties)]


def titled(
    chart: alt.TopLevelMixin,
    title: str,
    subtitle: Sequence[str],
    description: str,
    width: float = WIDTH,
) -> Any:
    """A chart with its title, its description for screen readers, and the theme of all figures.

    Args:
        chart: the chart, without a configuration.
        title: what it shows.
        subtitle: further lines: what the marks are, what was left out.
        description: for readers who do not see it.
        width: of the chart in pixels, to which titles are wrapped.
    """
    import altair as alt

    characters = int(width / SUBTITLE_CHARACTER)
    lines = [line for text in subtitle for line in textwrap.wrap(text, characters)]
    heading = alt.TitleParams(textwrap.wrap(title, int(width / TITLE_CHARACTER)), subtitle=lines)
    named: Any = chart
    return named.properties(title=heading, description=description).configure(**CONFIG)


_TEXT = "#222222"
_GRID = "#E4E4E4"
CONFIG: Mapping[str, Any] = {
    "background": "white",
    "font": "Helvetica, Arial, sans-serif",
    # a figure has a description; one for each mark would make files many times larger
    "mark": {"aria": False},
    "view": {"stroke": None, "continuousWidth": WIDTH, "continuousHeight": HEIGHT},
    "axis": {
        "labelColor": _TEXT,
        "titleColor": _TEXT,
        "titleFontWeight": "normal",
        "titleFontSize": 12,
        "labelFontSize": 11,
        "gridColor": _GRID,
        "domainColor": GREY,
        "tickColor": GREY,
        "labelOverlap": True,
    },
    "title": {
        "anchor": "start",
        "color": _TEXT,
        "fontSize": 14,
        "subtitleColor": "#444444",
        "subtitleFontSize": 11,
        "offset": 12,
    },
    "legend": {
        "labelColor": _TEXT,
        "titleColor": _TEXT,
        "titleFontWeight": "normal",
        "labelFontSize": 11,
        "symbolOpacity": 1,
    },
}


def grid(low: float, high: float, count: int, *, logarithmic: bool) -> NDArray[np.float64]:
    """Points from `low` to `high`, even on their axis: shape (count,)."""
    if logarithmic:
        return np.geomspace(low, high, count)
    return np.linspace(low, high, count)
