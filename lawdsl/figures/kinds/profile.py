"""`profile`: the profile of the objective along each parameter, or over two parameters, with the
intervals of the fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.figures import theme
from lawdsl.figures.contours import LevelLine, Mesh, level_lines, rectangle
from lawdsl.figures.figure import Figure, chart_of, refuse_own_columns
from lawdsl.figures.fitted_problem import FittedProblem, fitted_problem
from lawdsl.figures.options import names_of
from lawdsl.fitting.intervals.profile_curve import (
    ProfiledFit,
    joint_ratio,
    least_objectives,
    moved_to_minimum,
    profiled_fit,
)
from lawdsl.fitting.result import Fit
from lawdsl.fitting.transforms import to_free, to_parameters
from lawdsl.language.keywords import did_you_mean

Array = NDArray[np.float64]

POINTS = 31  # of a curve
GRID = 37  # points along each axis of a surface
REACH = 2.0  # length of the curve, in half-widths of the interval
ACROSS = 3.5  # extent of a surface across its ridge, in half-widths with the other parameter fixed
MAX_ROWS = 4_000
MAX_PANELS = 9
TOP = 3.0  # end of the axis of the rise; at 1 the rise is that at an end of the interval


def profile_figure(
    fit: Fit, *, data: Any = None, parameters: str | Sequence[str] | None = None
) -> Figure:
    """Draw the profile of the objective along each parameter, or its level lines over two.

    Args:
        fit: the fit.
        data: the table that was fitted; by default the rows that the fit stores.
        parameters: a list of names, or text with commas: two for a joint figure, `alpha,beta`;
            by default all that have an interval.

    Raises:
        LawdslError: a fit without intervals (G0106) or rows (G0103), a parameter that it does not
            have (G0104), a table that is not the fitted one (G0108).
    """
    names = names_of("parameters", parameters)
    fitted = fitted_problem(fit, fit.read_law(), data)
    if fitted.other:
        message = (
            f"{fitted.other} is not the table that was fitted: its objective has another minimum"
        )
        help = "give the fitted table, or fit the law to this one and draw that fit"
        raise LawdslError(Diagnostic("G0108", message, help=help))
    chosen = _chosen(fit, names)
    followed, scale, notes = _profiled(fit, fitted)
    if len(chosen) == 2 and names is not None:
        return _pair(fit, fitted, followed, scale, (chosen[0], chosen[1]), notes)
    if names is None:
        without = [name for name in fit.parameters if name not in chosen]
        notes += [f"{', '.join(without)}: no interval, not drawn"] if without else []
    title = _title(fit, chosen)
    if len(chosen) > MAX_PANELS:
        notes.append(f"without {', '.join(chosen[MAX_PANELS:])}: name them, parameters=…")
        chosen = chosen[:MAX_PANELS]
    curves = _curves(fit, followed, scale, chosen)
    panels = [_panel(fit, curves, name) for name in chosen]
    level = f"{100 * fit.intervals.level:g} %"
    legend = (
        f"line: least objective, its rise over that at the ends of a {level} interval by profile; "
        f"dashed: of the linearised fit; shaded: interval by {fit.intervals.method}; point: estimate"
    )
    columns = min(3, len(panels))
    chart = alt.concat(*panels, columns=columns, spacing=16)
    listed = ", ".join(f"{name} {_interval(fit, name)}" for name in chosen)
    description = (
        f"The objective along each parameter of {fit.law.name}. {level} intervals: {listed}."
    )
    return Figure(
        "profile",
        title,
        curves,
        theme.titled(
            chart, title, [legend, *notes], description, columns * (theme.PANEL_WIDTH * 0.75 + 60)
        ),
        description,
        tuple(notes),
    )


def _chosen(fit: Fit, names: list[str] | None) -> list[str]:
    """The parameters that are drawn."""
    with_interval = [name for name in fit.parameters if name in fit.intervals.ends]
    if not with_interval:
        message = f"this fit of {fit.law.name} has no intervals"
        raise LawdslError(
            Diagnostic("G0106", message, help="see what `lawdsl fit` said of them (F0122, F0130)")
        )
    if not names:
        return with_interval
    for name in names:
        if name not in with_interval:
            message = f"this fit of {fit.law.name} has no interval of {name!r}"
            help = did_you_mean(name, with_interval, f"it has {', '.join(with_interval)}")
            raise LawdslError(Diagnostic("G0104", message, help=help))
    return list(dict.fromkeys(names))


def _profiled(fit: Fit, fitted: FittedProblem) -> tuple[ProfiledFit, float, list[str]]:
    """The fit whose profiles are computed, the factor by which rises are multiplied, and notes."""
    problem, groups, notes = fitted.problem, fitted.groups, []
    if problem.rows > MAX_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(problem.rows, MAX_ROWS, replace=False))
        problem = problem.subset(rows)
        groups = None if groups is None else groups[rows]
    if problem.rows < fitted.total:
        problem = moved_to_minimum(problem, fitted.theta)
        notes.append(
            f"from {problem.rows:,} of {fitted.total:,} rows, moved so that the fit is their minimum, "
            "and the rise of all"
        )
    if problem.penalty is not None:
        share = problem.rows / fitted.total
        problem = replace(problem, penalty=replace(problem.penalty, share=share))
    on_bound = np.array(
        [fit.parameters[q.name].at_bound is not None for q in fitted.law.parameters]
    )
    followed = profiled_fit(problem, fitted.theta, on_bound, fit.intervals.level, groups)
    return followed, fitted.total / problem.rows, notes


def _free_range(fit: Fit, followed: ProfiledFit, name: str) -> tuple[int, float, float]:
    """The position of a parameter, and the range of its unconstrained value that is drawn."""
    transforms = followed.problem.transforms
    number = [t.name for t in transforms].index(name)
    centre = float(followed.free[number])
    sides = []
    for end in fit.intervals.ends[name]:
        theta = followed.theta.copy()
        theta[number] = end
        with np.errstate(all="ignore"):
            free = float(to_free(transforms, theta[None])[0, number]) if np.isfinite(end) else end
        sides.append(abs(free - centre))
    known = [side for side in sides if np.isfinite(side) and 0 < side < 40]
    usual = max(known, default=float(followed.half[number]))
    low, high = (side if side in known else usual for side in sides)
    return number, centre - REACH * low, centre + REACH * high


def _curves(
    fit: Fit, followed: ProfiledFit, scale: float, chosen: list[str]
) -> dict[str, list[Any]]:
    """The tidy table of the curves."""
    table: dict[str, list[Any]] = {"parameter": [], "value": [], "rise": [], "linearised": []}
    for name in chosen:
        number, low, high = _free_range(fit, followed, name)
        free = np.unique([*np.linspace(low, high, POINTS), followed.free[number]])
        losses = least_objectives(followed, (number,), free[:, None])
        rows = np.repeat(followed.free[None], len(free), axis=0)
        rows[:, number] = free
        values = to_parameters(followed.problem.transforms, rows)[:, number]
        rise = scale * (losses - followed.base) / followed.rise[number]
        half = followed.half[number] / np.sqrt(scale)
        table["parameter"] += [name] * len(free)
        table["value"] += values.tolist()
        table["rise"] += np.maximum(rise, 0.0).tolist()
        table["linearised"] += (((free - followed.free[number]) / half) ** 2).tolist()
    return table


def _panel(fit: Fit, curves: dict[str, list[Any]], name: str) -> Any:
    """The curve of one parameter, its interval and its estimate."""
    rows = [i for i, other in enumerate(curves["parameter"]) if other == name]
    table = {field: [values[i] for i in rows] for field, values in curves.items()}
    x = theme.axis("value", name, table["value"])
    scale = alt.Scale(domain=[0, TOP], nice=False)
    y = {
        field: alt.Y(f"{field}:Q", scale=scale, axis=alt.Axis(title="rise", tickCount=4))
        for field in ("rise", "linearised", "one", "zero")
    }
    low, high = np.clip(fit.intervals.ends[name], min(table["value"]), max(table["value"]))
    interval = chart_of({"value": [low], "high": [high]})
    level = chart_of({"one": [1.0]})
    drawn = chart_of(table)
    estimate = chart_of({"value": [fit.values[name]], "zero": [0.0]})
    layers = [
        interval.mark_rect(color=theme.SKY, opacity=0.25).encode(x=x, x2="high:Q"),
        level.mark_rule(color=theme.GREY, strokeDash=[2, 2]).encode(y=y["one"]),
        drawn.mark_line(color=theme.GREY, strokeDash=[5, 3], strokeWidth=1.2, clip=True).encode(
            x=x, y=y["linearised"]
        ),
        drawn.mark_line(color=theme.BLUE, strokeWidth=2, clip=True).encode(x=x, y=y["rise"]),
        estimate.mark_point(size=40, filled=True, color="black", opacity=1).encode(
            x=x, y=y["zero"]
        ),
    ]
    width, height = theme.PANEL_WIDTH * 0.75, theme.PANEL_HEIGHT * 0.8
    return alt.layer(*layers).properties(width=width, height=height)


def _interval(fit: Fit, name: str) -> str:
    """The interval of a parameter as text."""
    low, high = fit.intervals.ends[name]
    return f"{low:.3g} to {high:.3g}"


def _title(fit: Fit, chosen: list[str]) -> str:
    """The parameter with the widest interval relative to its value."""

    def width(name: str) -> float:
        low, high = fit.intervals.ends[name]
        return (high - low) / abs(fit.values[name]) if fit.values[name] else float("inf")

    widest = max(chosen, key=width)
    what = f"{100 * fit.intervals.level:g} % interval by {fit.intervals.method}"
    if len(chosen) == 1:
        return f"{fit.law.name}: {widest}, {what} {_interval(fit, widest)}"
    return f"{fit.law.name}: the widest {what}, relative to its value, is that of {widest}, {_interval(fit, widest)}"


def _pair(
    fit: Fit,
    fitted: FittedProblem,
    followed: ProfiledFit,
    scale: float,
    names: tuple[str, str],
    notes: list[str],
) -> Figure:
    """The level lines of the profile of the objective over two parameters."""
    refuse_own_columns("profile", names, ("region", "line", "order", "high"))
    ranges = [_free_range(fit, followed, name) for name in names]
    numbers = (ranges[0][0], ranges[1][0])
    correlation, mesh = _mesh(followed, numbers, ranges[0][1:], np.sqrt(scale))
    losses = least_objectives(followed, numbers, np.stack([mesh.x, mesh.y], axis=1))
    rise = scale * (losses - followed.base) / float(np.mean(followed.rise[list(numbers)]))
    ratio = joint_ratio(followed, fit.intervals.level)
    level = f"{100 * fit.intervals.level:g} %"
    lines = level_lines(mesh, np.maximum(rise, 0.0), [1.0, ratio])
    table = _lines_table(followed, numbers, lines, {1.0: "intervals", ratio: "joint"}, names)
    title = (
        f"{fit.law.name}: {names[0]} and {names[1]} have correlation {_correlation(correlation)} in "
        "the linearised fit"
    )
    if fitted.groups is not None:
        notes.append("rows of a run are dependent: the lines are for the mean of both parameters")
    if any(t.coupled for t in followed.bounded.transforms):
        notes.append("without the bounds that depend on other parameters")
    legend = (
        f"solid: joint {level} region; dashed: its projections are intervals by profile; cross: "
        f"estimate and intervals by {fit.intervals.method}"
    )
    description = (
        f"{title}. The {level} region of both parameters, from the profile of the objective."
    )
    every = {
        name: [*table[name], *np.clip(fit.intervals.ends[name], *_span(table[name]))]
        for name in names
    }
    x, y = (
        theme.axis(name, name, every[name], channel=channel)
        for name, channel in zip(names, ("x", "y"), strict=True)
    )
    drawn = chart_of(table)
    layers: list[Any] = [
        drawn.transform_filter(f"datum.region == '{region}'")
        .mark_line(color=theme.BLUE, strokeWidth=2, strokeDash=dash)
        .encode(x=x, y=y, detail="line:N", order="order:Q")
        for region, dash in (("joint", [1, 0]), ("intervals", [5, 3]))
    ]
    for k, name in enumerate(names):
        low, high = np.clip(fit.intervals.ends[name], *_span(every[name]))
        other = names[1 - k]
        bar = chart_of({name: [low], "high": [high], other: [fit.values[other]]})
        encoding = {"x": x, "y": y, ("x2", "y2")[k]: "high:Q"}
        layers.append(bar.mark_rule(color=theme.VERMILION, strokeWidth=1.6).encode(**encoding))
    estimate = chart_of({name: [fit.values[name]] for name in names})
    layers.append(
        estimate.mark_point(size=45, filled=True, color="black", opacity=1).encode(x=x, y=y)
    )
    chart = alt.layer(*layers).properties(width=theme.HEIGHT, height=theme.HEIGHT)
    return Figure(
        "profile",
        title,
        table,
        theme.titled(chart, title, [legend, *notes], description),
        description,
        tuple(notes),
    )


def _correlation(value: float) -> str:
    """A correlation in two digits, or in as many as tell it from 1 and -1."""
    texts = (f"{value:.{digits}g}" for digits in range(2, 7))
    return next((text for text in texts if text not in ("1", "-1")), f"{value:.9g}")


def _lines_table(
    followed: ProfiledFit,
    numbers: tuple[int, int],
    lines: list[LevelLine],
    regions: dict[float, str],
    names: tuple[str, str],
) -> dict[str, list[Any]]:
    """The tidy table of lines over two unconstrained parameters, in the units of the parameters."""
    table: dict[str, list[Any]] = {
        names[0]: [],
        names[1]: [],
        "region": [],
        "line": [],
        "order": [],
    }
    for k, line in enumerate(lines):
        rows = np.repeat(followed.free[None], len(line.x), axis=0)
        rows[:, numbers[0]], rows[:, numbers[1]] = line.x, line.y
        values = to_parameters(followed.problem.transforms, rows)
        for name, number in zip(names, numbers, strict=True):
            table[name] += values[:, number].tolist()
        table["region"] += [regions[line.level]] * len(line.x)
        table["line"] += [k] * len(line.x)
        table["order"] += list(range(len(line.x)))
    return table


def _span(values: list[float]) -> tuple[float, float]:
    return (min(values), max(values)) if values else (-np.inf, np.inf)


def _mesh(
    followed: ProfiledFit, numbers: tuple[int, int], ends: tuple[float, float], root: float
) -> tuple[float, Mesh]:
    """The correlation of two unconstrained parameters, and mesh points along the ridge of the
    objective.

    Args:
        followed: the fit.
        numbers: the positions of both.
        ends: the range of the first.
        root: the factor by which intervals from the sampled rows are too wide.
    """
    i, k = numbers
    covariance = followed.covariance
    slope = covariance[i, k] / covariance[i, i]
    correlation = float(covariance[i, k] / np.sqrt(covariance[i, i] * covariance[k, k]))
    across = ACROSS * followed.half[k] / root * max(np.sqrt(1 - correlation**2), 1e-3)
    flat = rectangle(np.linspace(*ends, GRID), np.linspace(-across, across, GRID))
    ridge = followed.free[k] + slope * (flat.x - followed.free[i])
    return correlation, Mesh(flat.x, ridge + flat.y, flat.triangles)
