"""The appearance of all figures: colours, axes, titles.

Colours are those of Okabe and Ito (2008), which colour-blind readers can distinguish, in an order
whose first four also differ in lightness, for printing without colour. The background is white, so
that a figure can be read on a dark page.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lawdsl.core.axes import spans_decades

if TYPE_CHECKING:
    import altair as alt

BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, YELLOW, GREY = "#E69F00", "#56B4E9", "#F0E442", "#6B6B6B"
CATEGORIES = (BLUE, ORANGE, GREEN, PURPLE, VERMILION, SKY, GREY, "#000000")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke", "arrow")
"""Shapes of groups, in addition to their colours: for print, and for readers who do not see
colours.
"""
SEQUENTIAL_EXTENT = (0.0, 0.88)  # range of viridis, whose last yellow is invisible on white
WIDTH, HEIGHT = 460, 300
PANEL_WIDTH, PANEL_HEIGHT = 250, 160  # of small multiples
TITLE_CHARACTER, SUBTITLE_CHARACTER = 7.0, 5.2  # mean widths in pixels, by which titles are wrapped
MAX_TICKS = 7
MAX_GROUPS = 7  # groups that a reader can distinguish by colour and mark
KEY_LINE, KEY_ROW, KEY_CHARACTER = 22, 16, 5.4  # px of the key of a panel
TAIL = 3.0  # times the central range of the values: a curve is cut off further out


def is_logarithmic(values: ArrayLike) -> bool:
    """Whether values are all positive and span more than one and a half decades."""
    array = np.asarray(values, dtype=np.float64)
    array = array[np.isfinite(array)]
    return bool(array.size and spans_decades(np.min(array), np.max(array)))


def ticks(low: float, high: float, logarithmic: bool) -> list[float] | None:
    """The ticks of an axis from `low` to `high`; None to leave them to Vega."""
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
    "? replace(format(datum.value, '.0e'), 'e+', 'e') : abs(datum.value) >= 1e4 "
    "? replace(format(datum.value, '~s'), 'G', 'B') : format(datum.value, '~g')"
)
"""Labels of ticks, with sizes as in papers: 7B parameters, 1.4T tokens."""


def short(value: float, digits: int = 3) -> str:
    """A number in a title or beside a mark, in so many digits, as axes write it: 9.05B, 0.627, 2e21."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    rounded = float(f"{value:.{digits - 1}e}")
    if 1000 <= abs(rounded) < 1e4:
        return f"{rounded:.0f}"
    if not 1e4 <= abs(rounded) < 1e15:
        return f"{rounded:.{digits}g}".replace("e+", "e").replace("e-0", "e-")
    power = min(int(math.log10(abs(rounded)) / 3 + 1e-9), 4)
    return f"{rounded / 1000**power:.{digits}g}{' kMBT'[power]}"


def label(value: float) -> str:
    """A value of a group, as its legend has it: in four digits, as axes write it."""
    return short(value, 4)


def power(value: float, digits: int = 2) -> str:
    """A number to `digits` digits, with powers of ten as axes show them: 7.6e12, 8.026e-5."""
    return f"{value:.{digits}g}".replace("e+", "e").replace("e-0", "e-").replace("e0", "e")


MARGIN = 0.03  # of a linear axis beyond its values, so that no mark is cut
NARROW = 0.05  # the span of an axis, relative to its values


def axis(
    field: str,
    title: str,
    values: ArrayLike,
    *,
    channel: str = "x",
    zero: bool = False,
    logarithmic: bool | None = None,
    ends: tuple[float, float] | None = None,
) -> Any:
    """A positional channel of numbers; logarithmic if they span decades.

    Args:
        field: the column.
        title: the title of the axis, with its unit.
        values: all values that are drawn.
        channel: "x" or "y".
        zero: whether a linear axis starts at 0.
        logarithmic: True or False to override the choice by the values.
        ends: the ends of a linear axis; by default round numbers around the values.
    """
    import altair as alt

    array = np.asarray(values, dtype=np.float64)
    array = array[np.isfinite(array)]
    low, high = (float(np.min(array)), float(np.max(array))) if array.size else (0.0, 1.0)
    log = is_logarithmic(array) if logarithmic is None else logarithmic and low > 0
    # a domain far wider than the data would hide their variation
    scale = (
        alt.Scale(type="log", domain=padded(low, high), nice=False) if log else alt.Scale(zero=zero)
    )
    if ends is not None and not log:
        scale = alt.Scale(domain=list(ends), nice=False, zero=False)
    shape = alt.Axis(title=title, labelExpr=LABELS)
    if not log and channel == "x" and high - low < NARROW * max(abs(high), abs(low)):
        shape.tickCount = 5  # long labels
    positions = ticks(low, high, log)
    if positions is not None:
        shape.values = positions
    kind = alt.X if channel == "x" else alt.Y
    return kind(f"{escaped(field)}:Q", scale=scale, axis=shape)


def ranged_y(
    field: str, title: str, low: float, high: float, *, logarithmic: bool = False
) -> alt.Y:
    """A vertical channel of numbers with given ends.

    Args:
        field: the column.
        title: the title of the axis.
        low, high: its ends.
        logarithmic: whether the axis is logarithmic.
    """
    import altair as alt

    kind: Any = "log" if logarithmic else "linear"
    scale = alt.Scale(type=kind, domain=[low, high], nice=False, zero=False)
    shape = alt.Axis(title=title, labelExpr=LABELS, tickCount=5)
    positions = ticks(low, high, logarithmic)
    if positions is not None:
        shape.values = positions
    return alt.Y(f"{escaped(field)}:Q", scale=scale, axis=shape)


def key(
    names: Sequence[str],
    colors: Sequence[str],
    dashes: Sequence[Sequence[int]],
    width: int,
    thickness: float = 2.0,
) -> list[Any]:
    """The key of the lines of a panel, as layers above it; a Vega legend would be placed above all
    panels.

    Args:
        names: the names of the lines.
        colors, dashes: the colours and dash patterns of the lines.
        width: the width of the panel, px.
        thickness: the thickness of the lines, px; larger where they represent bars.

    Returns:
        Layers of marks and texts, in rows above the panel.
    """
    import altair as alt

    rows: list[list[tuple[int, int]]] = [[]]  # index of the name, and its start
    start = 0
    for i, name in enumerate(names):
        length = KEY_LINE + 6 + round(KEY_CHARACTER * len(name)) + 12
        if rows[-1] and start + length > width:
            rows.append([])
            start = 0
        rows[-1].append((i, start))
        start += length
    layers = []
    for n, row in enumerate(rows):
        y = -10 - KEY_ROW * (len(rows) - 1 - n)
        for i, x in row:
            at = alt.Chart(alt.InlineData([{"name": names[i]}]))
            line = at.mark_rule(color=colors[i], strokeDash=list(dashes[i]), strokeWidth=thickness)
            ends = {"x": alt.value(x), "x2": alt.value(x + KEY_LINE), "y": alt.value(y)}
            layers.append(line.encode(**ends))
            text = at.mark_text(align="left", baseline="middle", fontSize=11, color=_TEXT)
            place = {"x": alt.value(x + KEY_LINE + 6), "y": alt.value(y)}
            layers.append(text.encode(text="name:N", **place))
    return layers


def visible_range(
    columns: Sequence[NDArray[np.float64]], centre: float | None = None
) -> tuple[float, float]:
    """The ends of an axis that covers the values except for tails that would compress all others.

    Args:
        columns: at least one array of values, each of shape (points,); values that are not finite
            are ignored.
        centre: a value that must be visible.

    Returns:
        The ends; 0 and 1 where no value is finite.
    """
    values = np.concatenate([column[np.isfinite(column)] for column in columns])
    if centre is not None and np.isfinite(centre):
        values = np.append(values, centre)
    if not values.size:
        return 0.0, 1.0
    first, last = np.quantile(values, [0.1, 0.9])
    room = TAIL * (last - first)
    low = max(float(np.min(values)), float(first - room))
    high = min(float(np.max(values)), float(last + room))
    if centre is not None and np.isfinite(centre):
        low, high = min(low, centre), max(high, centre)
    margin = 0.06 * (high - low) or 0.1 * abs(low) or 1.0
    return low - margin, high + margin


def padded(low: float, high: float) -> list[float]:
    """The domain of a logarithmic axis: slightly wider than the values."""
    margin = (high / low) ** 0.04 if high > low else 1.5
    return [low / margin, high * margin]


def escaped(field: str) -> str:
    """A column's name escaped for Vega-Lite, where dots, brackets and colons denote paths and
    types.
    """
    return "".join(f"\\{c}" if c in ".[]:\\" else c for c in field)


def color(field: str, title: str, values: Sequence[Any]) -> alt.Color:
    """The colour channel of groups of labels."""
    import altair as alt

    domain = list(dict.fromkeys(values))
    scale = alt.Scale(domain=domain, range=[CATEGORIES[i % 8] for i in range(len(domain))])
    return alt.Color(f"{escaped(field)}:N", title=title, scale=scale)


def gradient(field: str, title: str, values: ArrayLike) -> alt.Color:
    """The colour channel of groups of numbers.

    All marks that use it must be of one kind, strokes (lines and hollow points) or fills: Vega
    draws no gradient legend for both.

    Args:
        field: the column.
        title: the title of the legend.
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
    """The shape channel of groups."""
    import altair as alt

    domain = list(dict.fromkeys(values))
    scale = alt.Scale(domain=domain, range=[SHAPES[i % 8] for i in range(len(domain))])
    return alt.Shape(f"{escaped(field)}:N", title=title, scale=scale)


def apart(places: ArrayLike, gap: float) -> list[float]:
    """By how much labels are moved so that none covers another.

    Args:
        places: of the labels along one direction, px, shape (labels,).
        gap: the least distance between two, px.

    Returns:
        The shift of each, px, in the same direction.
    """
    wanted = np.asarray(places, dtype=np.float64)
    order = np.argsort(wanted, kind="stable")
    placed = wanted[order]
    for _ in range(len(placed)):  # two that are close move away from each other, alike
        for k in range(len(placed) - 1):
            lack = gap - (placed[k + 1] - placed[k])
            if lack > 1e-9:
                placed[k] -= lack / 2
                placed[k + 1] += lack / 2
    shifts = np.empty(len(placed))
    shifts[order] = placed - wanted[order]
    return [round(float(shift), 1) for shift in shifts]


def labelled(chart: alt.Chart, **mark: Any) -> list[alt.Chart]:
    """Layers of text with a white halo, legible in front of other marks.

    Args:
        chart: a chart that encodes positions and text.
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
        subtitle: further lines: the meaning of the marks, what was left out.
        description: the alternative text.
        width: the width of the chart in pixels, to which titles are wrapped.
    """
    import altair as alt

    characters = int(width / SUBTITLE_CHARACTER)
    lines = [line for text in subtitle for line in wrapped(text, characters)]
    heading = alt.TitleParams(wrapped(title, int(width / TITLE_CHARACTER)), subtitle=lines)
    named: Any = chart
    return named.properties(title=heading, description=description).configure(**CONFIG)


def add_to_subtitle(chart: Any, lines: Sequence[str], description: str) -> None:
    """Put lines above the subtitle of a chart that `titled` has made.

    Args:
        chart: it is changed.
        lines: each is wrapped to the width of a figure.
        description: of the chart with them.
    """
    characters = int(WIDTH / SUBTITLE_CHARACTER)
    added = [part for line in lines for part in wrapped(line, characters)]
    title = chart["title"]
    title["subtitle"] = [*added, *title["subtitle"]]
    chart["description"] = description


def wrapped(text: str, characters: int) -> list[str]:
    """A text wrapped to lines of at most `characters` characters and about equal length, as titles
    require.

    An equation, `D = 0.064`, stays on one line, R² with its value, and a number with its %/decade.
    """
    joined = text.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
    joined = joined.replace("R² ", "R²\N{NO-BREAK SPACE}")
    joined = joined.replace(" %/decade", "\N{NO-BREAK SPACE}%/decade")
    lines = _wrapper(characters).wrap(joined)
    longest = max(len(word) for word in [*joined.split(" "), ""])
    for fewer in range(characters - 1, longest, -1):
        narrower = _wrapper(fewer).wrap(joined)
        if len(narrower) > len(lines):
            break
        lines = narrower
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def _wrapper(characters: int) -> textwrap.TextWrapper:
    return textwrap.TextWrapper(characters, break_on_hyphens=False)


_TEXT = "#222222"
_GRID = "#E4E4E4"
CONFIG: Mapping[str, Any] = {
    "background": "white",
    "font": "Helvetica, Arial, sans-serif",
    # a figure has one description; one for each mark would make files many times larger
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
    """Points from `low` to `high`, evenly spaced on their axis: shape (count,)."""
    if logarithmic:
        return np.geomspace(low, high, count)
    return np.linspace(low, high, count)
