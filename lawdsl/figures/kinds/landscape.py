"""`landscape`: lines of equal output over two variables, with the compute-optimal path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.figures import theme
from lawdsl.figures.contours import LevelLine, level_lines, nice_levels, rectangle
from lawdsl.figures.figure import Figure, chart_of, refuse_own_columns
from lawdsl.figures.fitted_variables import axis_title, check_variable, middle
from lawdsl.figures.measured_range import FRAME, cautions, frame
from lawdsl.figures.measured_rows import MeasuredRows, law_values, measured_rows
from lawdsl.fitting.extrapolation.fitted_surface import size_variables
from lawdsl.fitting.extrapolation.horizon import SPLIT_DECADES, SPLIT_POINTS, size_path
from lawdsl.fitting.extrapolation.run_size import RunSize, run_size
from lawdsl.fitting.result import Fit
from lawdsl.law.law import Law

Array = NDArray[np.float64]

GRID = 70  # points along each axis
LEVELS = 12
OWN_COLUMNS = ("fitted", "compute", "level", "line", "order")
MARGIN = 3.0  # factor by which a logarithmic axis extends beyond the rows
PATH_POINTS = 60
STEP, REFINEMENTS = SPLIT_DECADES / (SPLIT_POINTS - 1), 51  # decades, of the search for optima
MIN_LABELLED = 8  # points: shorter lines have no room for a label
LABEL_PLACE = 0.25  # relative position along a line, away from the diagonal on which optima lie


@dataclass(frozen=True)
class _Landscape:
    """The contents of the figure.

    Attributes:
        fit, law, rows: the fit, its law and the measured rows.
        names: the variables of both axes.
        logarithmic: which of the axes are logarithmic.
        ends: the ends of both axes.
        others: the other variables and their values.
        size: the size of a run.
    """

    fit: Fit
    law: Law
    rows: MeasuredRows
    names: tuple[str, str]
    logarithmic: tuple[bool, bool]
    ends: tuple[tuple[float, float], tuple[float, float]]
    others: dict[str, float]
    size: RunSize

    @property
    def has_compute(self) -> bool:
        """Whether the product of both axes determines the compute of a run."""
        return self.size.is_compute and set(self.size.variables) == set(self.names)

    def columns(self, x: Array, y: Array) -> Array:
        """Points given by both axes, as the law takes them, shape (variables, points)."""
        given = {self.names[0]: x, self.names[1]: y}
        return np.stack(
            [given.get(n, np.full(len(x), self.others.get(n, np.nan))) for n in self.rows.names]
        )

    def inside(self, x: Array, y: Array) -> NDArray[np.bool_]:
        """Which points lie within both axes."""
        (a, b), (c, d) = self.ends
        return (x >= a) & (x <= b) & (y >= c) & (y <= d)


def landscape_figure(
    fit: Fit, *, data: Any = None, x: str | None = None, y: str | None = None
) -> Figure:
    """Draw lines of equal output over two variables of a fitted law.

    If the variables are a model size and tokens, the lines of equal compute and the compute-optimal
    path are drawn too.

    Args:
        fit: the fit.
        data: the table that was fitted; by default the rows that the fit stores.
        x, y: the variables of both axes; by default those that determine the size of a run, else
            the two with the most values.

    Raises:
        LawdslError: a law with one variable (G0106), a variable that it does not have (G0104), a
            fit without rows (G0103), a name of the law that is also a column of the figure (G0107).
    """
    law = fit.read_law()
    names = (*(q.name for q in law.variables), law.output)
    refuse_own_columns("landscape", names, OWN_COLUMNS)
    drawn = _landscape(fit, law, measured_rows(fit, law, data).thinned(), x, y)
    lines, low, high = _lines(drawn)
    points = _points(drawn)
    path, no_path = _path(drawn)
    title = _title(drawn, path, low, high)
    notes = [*drawn.rows.notes, *cautions(fit, "prediction")]
    if drawn.others:
        notes.append("at " + ", ".join(f"{n} = {theme.short(v)}" for n, v in drawn.others.items()))
    legend = [f"lines: equal {law.output} on the fitted law", "points: measured", FRAME]
    if drawn.has_compute:
        legend.append(f"dotted: equal compute, {drawn.size.text}")
        legend.append("thick line: compute-optimal" if path else no_path)
    description = (
        f"{title}. Lines of equal {law.output} over {drawn.names[0]} and {drawn.names[1]}, "
        f"with {len(points[drawn.names[0]]):,} measured runs."
    )
    return Figure(
        "landscape",
        title,
        points,
        theme.titled(
            _chart(drawn, lines, points, path), title, ["; ".join(legend), *notes], description
        ),
        description,
        tuple(notes),
    )


def _landscape(fit: Fit, law: Law, rows: MeasuredRows, x: str | None, y: str | None) -> _Landscape:
    """Choose the axes."""
    for name in (x, y):
        check_variable(law, name)
    if len(rows.names) < 2:
        message = f"{law.name} has one variable: there are no lines of equal {law.output} over two"
        raise LawdslError(Diagnostic("G0106", message, help="draw it with --kind fit"))
    if x is not None and x == y:
        message = f"both axes are {x}"
        raise LawdslError(Diagnostic("G0104", message, help="name two variables: x=N y=D"))
    size = run_size(size_variables(law), rows.columns)
    counts = {name: len(np.unique(rows.values(name))) for name in rows.names}
    by_count = sorted(rows.names, key=lambda name: (-counts[name], rows.names.index(name)))
    preferred = list(size.variables) if size.is_compute and len(size.variables) == 2 else []
    given = [name for name in (x, y) if name is not None]
    free = [name for name in dict.fromkeys([*preferred, *by_count]) if name not in given]
    first = x if x is not None else free.pop(0)
    second = y if y is not None else free.pop(0)
    shares = {q.name for q in law.variables if q.is_share}
    names = first, second
    logarithmic = tuple(
        name not in shares and float(np.min(rows.values(name))) > 0 for name in names
    )
    ends = tuple(
        _ends(rows.values(name), log, name in shares)
        for name, log in zip(names, logarithmic, strict=True)
    )
    others = {name: middle(rows.values(name)) for name in rows.names if name not in names}
    return _Landscape(
        fit,
        law,
        rows,
        names,
        (logarithmic[0], logarithmic[1]),
        (ends[0], ends[1]),
        others,
        size,
    )


def _ends(values: Array, logarithmic: bool, share: bool) -> tuple[float, float]:
    """The ends of an axis: those of the rows, slightly extended on a logarithmic axis."""
    low, high = float(np.min(values)), float(np.max(values))
    if logarithmic:  # far below the rows the law may be undefined
        return theme.padded(low, high * MARGIN)[0], high * MARGIN
    if share:
        return low - 0.02, high + 0.02
    margin = 0.05 * (high - low) or 1.0
    return low - margin, high + margin


def _lines(drawn: _Landscape) -> tuple[list[LevelLine], float, float]:
    """Lines of equal output, in the units of the axes, and the range of the output."""

    # in the coordinates of the figure, in which lines are straight between points
    def along(name: str, ends: tuple[float, float], log: bool) -> Array:
        if name in shares:  # the axis has room for points at 0 and 1, beyond which there is no law
            ends = max(0.0, ends[0]), min(1.0, ends[1])
        low, high = (float(np.log10(end)) if log else end for end in ends)
        return np.linspace(low, high, GRID)

    shares = {q.name for q in drawn.law.variables if q.is_share}
    mesh = rectangle(*map(along, drawn.names, drawn.ends, drawn.logarithmic))
    x, y = (
        10**at if log else at for at, log in zip((mesh.x, mesh.y), drawn.logarithmic, strict=True)
    )
    values = law_values(drawn.fit, drawn.law, drawn.columns(x, y))
    lines = [
        LevelLine(
            line.level,
            10**line.x if drawn.logarithmic[0] else line.x,
            10**line.y if drawn.logarithmic[1] else line.y,
        )
        for line in level_lines(mesh, values, nice_levels(values, LEVELS))
    ]
    finite = values[np.isfinite(values)]
    return lines, float(np.min(finite)), float(np.max(finite))


def _points(drawn: _Landscape) -> dict[str, list[Any]]:
    """The tidy table of the measured rows."""
    rows = drawn.rows
    table = dict(zip(rows.names, rows.columns, strict=True))
    table |= {drawn.law.output: rows.target, "fitted": rows.fitted}
    return {name: values.tolist() for name, values in table.items()}


def _path(drawn: _Landscape) -> tuple[dict[str, list[float]], str]:
    """The compute-optimal path within the axes; if there is none, an empty one and the reason."""
    if not drawn.has_compute:
        return {}, ""
    if drawn.fit.rows is None:
        return {}, "compute-optimal sizes not computed: the fit keeps no rows"
    law = drawn.law
    theta = np.array([drawn.fit.values[q.name] for q in law.parameters])
    surface = drawn.fit.fitted_surface(law, theta)
    corners = drawn.columns(*(np.array(ends) for ends in drawn.ends))
    low, high = drawn.size.log10(drawn.rows.names, corners)
    sizes = np.linspace(low, high, PATH_POINTS)
    columns, optimal = size_path(surface, sizes, split=True)
    numbers = [drawn.rows.names.index(name) for name in drawn.names]
    if optimal:
        columns = _refined_optima(drawn, columns, numbers)
    x, y = (columns[k] for k in numbers)
    inside = drawn.inside(x, y)
    if not optimal:
        return {}, "no optimal size at each compute"
    if np.sum(inside) < 2:
        return {}, "compute-optimal sizes lie beyond the axes"
    table = {"C": 10**sizes, drawn.names[0]: x, drawn.names[1]: y}
    return {name: values[inside].tolist() for name, values in table.items()}, ""


def _refined_optima(drawn: _Landscape, columns: Array, numbers: list[int]) -> Array:
    """The optima at equal compute, refined from those of a coarse grid."""
    shifts = np.linspace(-STEP, STEP, REFINEMENTS)
    grid = np.repeat(columns, REFINEMENTS, axis=1)
    for k, sign in zip(numbers, (1, -1), strict=True):
        grid[k] *= 10 ** (sign * np.tile(shifts, columns.shape[1]))
    values = law_values(drawn.fit, drawn.law, grid).reshape(-1, REFINEMENTS)
    best = np.argmin(values, axis=1) + REFINEMENTS * np.arange(columns.shape[1])
    return grid[:, best]


def _compute_lines(drawn: _Landscape) -> dict[str, list[Any]]:
    """Lines of equal compute, at decades."""
    (a, b), (c, d) = drawn.ends
    x = np.geomspace(a, b, 200)
    unit = float(10 ** drawn.size.log10(drawn.rows.names, drawn.columns(np.ones(1), np.ones(1)))[0])
    first, last = np.log10(unit * a * c), np.log10(unit * b * d)
    table: dict[str, list[Any]] = {drawn.names[0]: [], drawn.names[1]: [], "compute": []}
    for decade in range(int(np.ceil(first)), int(np.floor(last)) + 1):
        y = 10.0**decade / unit / x
        inside = drawn.inside(x, y)
        table[drawn.names[0]] += x[inside].tolist()
        table[drawn.names[1]] += y[inside].tolist()
        table["compute"] += [f"1e{decade}"] * int(np.sum(inside))
    return table


def _title(drawn: _Landscape, path: dict[str, list[float]], low: float, high: float) -> str:
    """The growth of the optimum with compute, else the range of the output."""
    law = drawn.law
    if path:
        logs = np.log10([path["C"], path[drawn.names[0]], path[drawn.names[1]]])
        slopes = [float(np.polyfit(logs[0], values, 1)[0]) for values in logs[1:]]
        verbs = ["grows" if slope > 0 else "falls" for slope in slopes]
        verbs[1] = "" if verbs[1] == verbs[0] else f" {verbs[1]}"
        first, second = (f"C^{slope:.2f}" for slope in slopes)
        return (
            f"{law.name}: on the fitted law, compute-optimal {drawn.names[0]} {verbs[0]} as {first}, "
            f"{drawn.names[1]}{verbs[1]} as {second}"
        )
    unit = axis_title(law, law.output).partition(" [")[2].removesuffix("]")
    return (
        f"{law.name}: on the fitted law, {law.output} from {low:.3g} to {high:.3g} {unit}".rstrip()
        + f" over {drawn.names[0]} and {drawn.names[1]}"
    )


def _chart(
    drawn: _Landscape,
    lines: list[LevelLine],
    points: dict[str, list[Any]],
    path: dict[str, list[float]],
) -> Any:
    """Level lines, rows and path in one panel."""
    x, y = (
        theme.axis(name, axis_title(drawn.law, name), ends, channel=channel, logarithmic=log).scale(
            domain=list(ends), nice=False, type="log" if log else "linear"
        )
        for name, ends, channel, log in zip(
            drawn.names, drawn.ends, ("x", "y"), drawn.logarithmic, strict=True
        )
    )
    measured = [(float(np.min(v)), float(np.max(v))) for v in map(drawn.rows.values, drawn.names)]
    layers: list[Any] = [frame(drawn.names, (measured[0], measured[1]), {"x": x, "y": y})]
    if drawn.has_compute:
        table = _compute_lines(drawn)
        layers.append(
            chart_of(table)
            .mark_line(color=theme.GREY, strokeWidth=1, strokeDash=[1, 3])
            .encode(x=x, y=y, detail="compute:N")
        )
        first = [table["compute"].index(text) for text in dict.fromkeys(table["compute"])]
        ends = chart_of({name: [values[i] for i in first] for name, values in table.items()})
        placed = ends.encode(x=x, y=y, text="compute:N")
        layers += theme.labelled(placed, align="left", dx=4, dy=-2, fontSize=9, color=theme.GREY)
    layers += level_layers(lines, drawn.names, {"x": x, "y": y})
    tooltip = [
        alt.Tooltip(f"{theme.escaped(name)}:Q", title=name, format=".5~g") for name in points
    ]
    layers.append(
        chart_of(points)
        .mark_point(size=16, filled=True, color="black", opacity=0.55)
        .encode(x=x, y=y, tooltip=tooltip)
    )
    if path:
        layers.append(
            chart_of(path).mark_line(color=theme.VERMILION, strokeWidth=2.5).encode(x=x, y=y)
        )
    return alt.layer(*layers).properties(width=theme.WIDTH, height=theme.WIDTH * 0.75)


def level_layers(
    lines: list[LevelLine], names: tuple[str, str], position: dict[str, Any]
) -> list[Any]:
    """Layers of lines of equal value, each labelled with its level.

    Args:
        lines: the lines, in the units of the axes.
        names: the fields of both axes.
        position: the channels x and y.
    """
    if not lines:
        return []
    table: dict[str, list[Any]] = {names[0]: [], names[1]: [], "level": [], "line": [], "order": []}
    labels: dict[str, list[Any]] = {names[0]: [], names[1]: [], "level": []}
    longest = {
        line.level: max(len(other.x) for other in lines if other.level == line.level)
        for line in lines
    }
    for number, line in enumerate(lines):
        table[names[0]] += line.x.tolist()
        table[names[1]] += line.y.tolist()
        table["level"] += [line.level] * len(line.x)
        table["line"] += [number] * len(line.x)
        table["order"] += list(range(len(line.x)))
        if len(line.x) == longest[line.level] and len(line.x) > MIN_LABELLED:
            place = int(LABEL_PLACE * len(line.x))
            labels[names[0]].append(float(line.x[place]))
            labels[names[1]].append(float(line.y[place]))
            labels["level"].append(f"{line.level:.6g}")
    color = theme.gradient("level", "", table["level"]).legend(None)
    drawn = chart_of(table).mark_line(strokeWidth=1.6)
    marked = drawn.encode(**position, color=color, detail="line:N", order="order:Q")
    placed = chart_of(labels).encode(**position, text="level:N")
    return [marked, *theme.labelled(placed)]
