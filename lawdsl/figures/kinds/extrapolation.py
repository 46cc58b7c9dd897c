"""`extrapolation`: the predictions of a fit from its data to well beyond them, with the trust
horizon.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import counted
from lawdsl.data.read import read_table
from lawdsl.figures import theme
from lawdsl.figures.figure import Figure, chart_of, refuse_own_columns
from lawdsl.figures.fitted_variables import axis_title
from lawdsl.figures.held_out_rows import larger_runs
from lawdsl.figures.measured_range import cautions
from lawdsl.figures.measured_rows import MeasuredRows, measured_rows, median_distance
from lawdsl.figures.options import number_of
from lawdsl.fitting.extrapolation.assess import model_of_horizon
from lawdsl.fitting.extrapolation.discrepancy import DEFAULT_AMPLITUDE
from lawdsl.fitting.extrapolation.fitted_surface import FittedSurface
from lawdsl.fitting.extrapolation.horizon import LEVEL, MAX_DECADES, Horizon, path_of
from lawdsl.fitting.extrapolation.law_error import LawErrorModel
from lawdsl.fitting.prediction_bands import missing_band_diagnostic, missing_rows_diagnostic
from lawdsl.fitting.result import Fit
from lawdsl.fitting.verdicts import subject
from lawdsl.law.law import Law

Array = NDArray[np.float64]

POINTS = 200
# held-out runs whose predictions are computed, which takes a second per 100,000
MAX_TESTED = 20_000
OF_CURVE = ("law", "prediction", "noise_low", "noise_high", "low", "high", "zero", "text")
OF_RUNS = ("measured", "moved", "off", "fitted")
MAX_TIMES = 12  # decades beyond the largest fitted run that can be drawn
LEAST_DECADES = 1.0  # beyond the largest fitted run
BEYOND_REACH = 2.5  # times the last reach that is known
TOP, BOTTOM = 260, 140  # heights of the panels
LABEL_WIDTH, LABEL_HEIGHT = 28, 12  # px of the names of rules


@dataclass(frozen=True)
class _ComputePath:
    """The quantities drawn along the path.

    Attributes:
        fit, law, horizon: the fit, its law and its trust horizon.
        surface: the fitted law and its rows.
        model: the error of the law under which the horizon was computed.
        quantile: half the width of an interval in standard deviations.
        sizes: decimal logarithms of the sizes of runs, shape (points,).
    """

    fit: Fit
    law: Law
    horizon: Horizon
    surface: FittedSurface
    model: LawErrorModel
    quantile: float
    sizes: Array

    @property
    def size(self) -> str:
        """The name of the size of a run, C for compute."""
        return "C" if self.horizon.is_compute else self.horizon.size

    @property
    def unit(self) -> str:
        """The unit of the size; empty where there is none."""
        return self.horizon.unit or ("FLOP" if self.horizon.is_compute else "")

    def size_axis(self, values: Array, *, labels: bool) -> Any:
        """The axis of sizes: logarithmic, with powers of ten for compute, as is usual in papers."""
        name = self.size
        if self.horizon.is_compute and self.horizon.size != name:
            name = f"{name} = {self.horizon.size}"
        title = f"{name} [{self.unit}]" if self.unit else name
        text = (
            "replace(format(datum.value, '.0e'), 'e+', 'e')"
            if self.horizon.is_compute
            else theme.LABELS
        )
        axis = theme.axis(self.size, title if labels else "", values, logarithmic=True)
        return axis.axis(
            title=title if labels else None,
            values=theme.ticks(float(np.min(values)), float(np.max(values)), True),
            labelExpr=text if labels else "''",
        )

    def columns(self, sizes: Array) -> Array:
        """The variables at given sizes, shape (variables, sizes)."""
        return path_of(self.horizon, self.surface, sizes)[0]

    def law_at(self, columns: Array) -> Array:
        """The fitted law at points, shape (points,)."""
        values: Array = self.surface.at(columns).predictions(self.surface.theta[None])[0]
        return values.copy()

    def predicted(self, columns: Array) -> dict[str, Array]:
        """The predictions at points, with their intervals and the part of these due to noise alone."""
        with np.errstate(all="ignore"):  # an extrapolated law may have no value
            law = self.law_at(columns)
            error = self.model.at(self.surface.at(columns), self.surface.theta)
            middle = law * np.exp(error.mean)
            noise = self.quantile * error.parameters
            total = self.quantile * error.curve
            return {
                "law": law,
                "prediction": middle,
                "noise_low": middle * np.exp(-noise),
                "noise_high": middle * np.exp(noise),
                "low": middle * np.exp(-total),
                "high": middle * np.exp(total),
            }


def extrapolation_figure(fit: Fit, *, data: Any = None, times: float | str | None = None) -> Figure:
    """Draw the prediction along the path of the trust horizon, with its interval.

    Args:
        fit: the fit.
        data: the fitted table, to draw all its rows and the larger runs that the conditions of the
            fit exclude; by default the rows that the fit stores.
        times: the multiple of the largest fitted size at which the figure ends; by default 2.5
            times the horizon within 5 %, but at least 10.

    Raises:
        LawdslError: a fit without a trust horizon (G0106), a multiple of 1 or less or beyond all
            numbers (G0104), a name of the law that a column of the figure has (G0107).
    """
    path = _path(fit, None if times is None else _multiple(times))
    # a variable that is the size of a run has its own column
    size_column = {path.size} - {path.horizon.size}
    refuse_own_columns("extrapolation", path.surface.names, (*size_column, *OF_CURVE, *OF_RUNS))
    data = None if data is None else read_table(data)
    rows = measured_rows(fit, path.law, data)
    held_out = [rows] if rows.other else []
    if data is not None and fit.data.where:
        largest = float(np.log10(path.horizon.largest))
        larger = larger_runs(fit, path.law, path.surface.size, largest, data)
        held_out += [] if larger is None else [larger]
    curve = _curve(path)
    rows = rows.thinned()
    points = _points(path, [] if rows.other else [rows], [some.thinned() for some in held_out])
    notes = [*rows.notes, *cautions(fit, "prediction"), *filter(None, [_path_text(path)])]
    if data is None and fit.data.where:
        notes.append("larger runs that the fit left out need the table: lawdsl plot --data TABLE")
    what = f"row of {rows.other}" if rows.other else "larger run"
    missed = _missed_text(path, held_out, what)
    title = f"{path.law.name}: {_reach_text(path.horizon)}{missed}"
    description = (
        f"{path.law.output} predicted against {path.size} from {theme.short(10 ** path.sizes[0])} to "
        f"{theme.short(10 ** path.sizes[-1])}, with {len(rows.target):,} measured runs. "
        f"Predictions are {path.horizon.text}.{_capitalized(missed)}"
    )
    chart = _chart(path, curve, points)
    legend = (
        "line: prediction; dark band: its 95 % interval by noise; light band: with the error of the "
        "law; dashed: the law alone; rules: where predictions are within 1, 2, 5 %; points: measured"
    )
    if missed:
        legend += f"; diamonds: {'runs' if rows.other else 'larger runs'}, not fitted"
    return Figure(
        "extrapolation",
        title,
        curve,
        theme.titled(chart, title, [legend, *notes], description),
        description,
        tuple(notes),
    )


def _multiple(times: float | str) -> float:
    """The option `times`.

    Raises:
        LawdslError: not a number above 1, or one beyond 10**MAX_TIMES (G0104).
    """
    number = number_of(times)
    if not 1 < number <= 10.0**MAX_TIMES:
        shown = times if isinstance(times, str) else repr(times)
        message = f"`{shown}` times the largest fitted run cannot be drawn"
        help = f"give a number above 1, of 1e{MAX_TIMES} at most: times=100"
        raise LawdslError(Diagnostic("G0104", message, help=help))
    return number


def _path(fit: Fit, times: float | None) -> _ComputePath:
    """The path of a fit's trust horizon, from its smallest row to well beyond its largest."""
    horizon = fit.horizon
    if horizon is None or fit.spread is None:
        raise LawdslError(_no_horizon(fit))
    law = fit.law_of_spread()
    values = fit.values | {name: held.value for name, held in fit.held.items()}
    surface = fit.fitted_surface(law, np.array([values[q.name] for q in law.parameters]))
    assert fit.extrapolation is not None
    model = model_of_horizon(surface.law_error(DEFAULT_AMPLITUDE), fit.extrapolation.rolled)
    logs = surface.size.log10(surface.names, surface.columns)
    largest = float(np.log10(horizon.largest))
    end = largest + (_decades(horizon) if times is None else float(np.log10(times)))
    sizes = np.linspace(float(np.min(logs)), end, POINTS)
    if not path_of(horizon, surface, sizes)[1]:
        sizes = np.linspace(largest, end, POINTS)
    return _ComputePath(fit, law, horizon, surface, model, fit.spread.quantile(LEVEL), sizes)


def _decades(horizon: Horizon) -> float:
    """The number of decades drawn beyond the largest run."""
    known = [reach.times for reach in horizon.path if 0 < reach.times < np.inf]
    decades = np.log10(BEYOND_REACH * max(known)) if known else 0.0
    if any(reach.times == np.inf for reach in horizon.path):
        decades = MAX_DECADES
    return float(np.clip(decades, LEAST_DECADES, MAX_DECADES))


def _no_horizon(fit: Fit) -> Diagnostic:
    """The error for a fit without a trust horizon."""
    if fit.rows is None:
        missing = missing_rows_diagnostic(fit)
        return Diagnostic("G0106", missing.message, help=missing.help)
    message = f"this fit of {fit.law.name} has no trust horizon"
    if fit.spread is None:
        rank = next((d for d in fit.diagnostics if subject(d.code) == "rank"), None)
        why = rank or missing_band_diagnostic(fit)
        help = "draw it with --kind fit" + (f"; {why.help}" if rank and rank.help else "")
        return Diagnostic("G0106", f"{message}: {why.message}", help=help)
    help = "its law has no variable that measures the size of a run, or it was fitted without one"
    return Diagnostic("G0106", message, help=f"{help}: draw it with --kind fit")


def _curve(path: _ComputePath) -> dict[str, list[Any]]:
    """The tidy table of the curve."""
    columns = path.columns(path.sizes)
    table = {path.size: 10**path.sizes} | dict(zip(path.surface.names, columns, strict=True))
    table |= path.predicted(columns)
    return {name: values.tolist() for name, values in table.items()}


def _points(
    path: _ComputePath, of_fit: Sequence[MeasuredRows], held_out: Sequence[MeasuredRows]
) -> dict[str, list[Any]]:
    """The tidy table of the measured runs, adjusted to the path by the prediction (partial
    residuals).
    """
    parts = []
    for some, fitted in [*((rows, True) for rows in of_fit), *((rows, False) for rows in held_out)]:
        sizes = path.surface.size.log10(some.names, some.columns)
        # a run tests the prediction at the run's own point
        ratio = some.target / path.predicted(some.columns)["prediction"]
        parts.append(
            {
                path.size: 10**sizes,
                **dict(zip(some.names, some.columns, strict=True)),
                "measured": some.target,
                "moved": path.predicted(path.columns(sizes))["prediction"] * ratio,
                "off": 100 * (ratio - 1),
                "fitted": np.full(len(sizes), fitted),
            }
        )
    return {name: [x for part in parts for x in part[name].tolist()] for name in parts[0]}


def _missed_text(path: _ComputePath, held_out: Sequence[MeasuredRows], what: str) -> str:
    """The median error of the predictions of the held-out runs, as text; empty without any."""
    if not held_out:
        return ""
    columns = np.concatenate([rows.columns for rows in held_out], axis=1)
    target = np.concatenate([rows.target for rows in held_out])
    count = len(target)
    tested = np.linspace(0, count - 1, min(count, MAX_TESTED)).round().astype(np.int64)
    off = median_distance(target[tested], path.predicted(columns[:, tested])["prediction"])
    noun, _, of = what.partition(" of ")
    runs = counted(count, noun) + (f" of {of}" if of else "")
    some = "" if len(tested) == count else f" of {len(tested):,}"
    return f"; {runs} missed by {100 * off:.2g} % in the median{some}"


def _capitalized(missed: str) -> str:
    text = missed.removeprefix("; ")
    return f" {text[0].upper()}{text[1:]}." if text else ""


def _reach_text(horizon: Horizon) -> str:
    """The size up to which predictions are within 2 %, or within 5 % where they are nowhere within
    2 %.
    """
    what = "compute" if horizon.is_compute else horizon.size
    given = f"{100 * LEVEL:g} %, {_error_words(horizon)}"
    for reach in horizon.path[1:]:
        if reach.times == np.inf:
            return (
                f"within {100 * reach.within:g} % ({given}) beyond 10,000 times the largest {what}"
            )
        if reach.times:
            unit = horizon.unit or ("FLOP" if horizon.is_compute else "")
            end = f"{theme.power(reach.times * horizon.largest)} {unit}".rstrip()
            return (
                f"within {100 * reach.within:g} % ({given}) up to {reach.times:.2g} times the "
                f"largest {what}, {end}"
            )
    return f"not within 5 % ({given}) even at the largest {what}"


def _error_words(horizon: Horizon) -> str:
    """The error of the law that the horizon is about, as the table of a fit calls it."""
    if not horizon.discrepancy:
        return "law taken as right"
    widened = "" if horizon.widening == 1 else f" widened {horizon.widening:.2g} times"
    return f"law wrong by {100 * horizon.discrepancy:g} %/decade{widened}"


def _path_text(path: _ComputePath) -> str:
    """The path of the curve, to which the measured runs are adjusted."""
    if len(path.surface.names) == 1:
        return ""
    held = [name for name in path.surface.names if name not in path.surface.size.variables]
    (start,) = path.columns(np.array([np.log10(path.horizon.largest)])).T
    values = [f"{name} = {theme.short(start[path.surface.names.index(name)])}" for name in held]
    text = " and ".join(filter(None, [path.horizon.path_text, ", ".join(values)]))
    return f"{text}; the prediction moves the measured runs there"


def _chart(path: _ComputePath, curve: dict[str, Any], points: dict[str, Any]) -> Any:
    """The predictions, and below them the same relative to the prediction."""
    above, x = (path.size_axis(curve[path.size], labels=labels) for labels in (False, True))
    output = path.law.output
    every = [*curve["low"], *curve["high"], *points["moved"]]
    title = axis_title(path.law, output)

    def y(field: str) -> Any:
        return theme.axis(field, title, every, channel="y")

    top = alt.layer(
        *_bands(curve, above, y),
        chart_of(curve)
        .mark_line(color=theme.BLUE, strokeWidth=2, clip=True)
        .encode(x=above, y=y("prediction")),
        chart_of(curve)
        .mark_line(color="black", strokeWidth=1.2, strokeDash=[5, 3], clip=True)
        .encode(x=above, y=y("law")),
        *_runs(path, points, above, y("moved")),
        *_rules(path, above, labels=True),
    ).properties(width=theme.WIDTH, height=TOP)
    relative = _relative_to_prediction(curve)
    limit = _relative_limit(path, points)

    def below(field: str) -> Any:
        scale = alt.Scale(domain=[-limit, limit], nice=False)
        axis = alt.Axis(title="against prediction [%]", tickCount=5)
        return alt.Y(f"{field}:Q", scale=scale, axis=axis)

    bottom = alt.layer(
        *_bands(relative, x, below),
        chart_of(relative)
        .mark_line(color=theme.BLUE, strokeWidth=1.5)
        .encode(x=x, y=below("zero")),
        chart_of(relative)
        .mark_line(color="black", strokeWidth=1.2, strokeDash=[5, 3], clip=True)
        .encode(x=x, y=below("law")),
        *_runs(path, points, x, below("off")),
        *_rules(path, x, labels=False),
    ).properties(width=theme.WIDTH, height=BOTTOM)
    return alt.vconcat(top, bottom, spacing=12)


def _relative_to_prediction(curve: dict[str, Any]) -> dict[str, Any]:
    """The bands and the law, in percent of the prediction."""
    middle = np.array(curve["prediction"])
    names = ("law", "noise_low", "noise_high", "low", "high")
    with np.errstate(all="ignore"):
        table = {name: 100 * (np.array(curve[name]) / middle - 1) for name in names}
    first = next(iter(curve))
    return {first: curve[first], "zero": np.zeros(len(middle)), **table}


def _relative_limit(path: _ComputePath, points: dict[str, Any]) -> float:
    """The end of the axis in percent: it covers the last tolerance and most points."""
    off = np.abs(np.array(points["off"], dtype=np.float64))
    return float(max(6.0, 1.15 * np.nanquantile(off, 0.98)))


def _bands(table: dict[str, Any], x: Any, y: Callable[[str], Any]) -> list[Any]:
    """The interval, and the part of it due to noise alone."""
    drawn = chart_of(table)
    return [
        drawn.mark_area(color=theme.SKY, opacity=opacity, clip=True).encode(
            x=x, y=y(low), y2=f"{high}:Q"
        )
        for low, high, opacity in (("low", "high", 0.3), ("noise_low", "noise_high", 0.75))
    ]


def _runs(path: _ComputePath, points: dict[str, Any], x: Any, y: Any) -> list[Any]:
    """The measured runs; larger ones that were not fitted are diamonds."""
    tooltip = [
        alt.Tooltip(f"{theme.escaped(name)}:Q", title=name, format=".5~g")
        for name in (path.size, *path.surface.names, "measured", "off")
    ]
    rows = chart_of(points)
    return [
        rows.transform_filter("datum.fitted")
        .mark_point(size=14, filled=True, color=theme.GREY, opacity=0.6, clip=True)
        .encode(x=x, y=y, tooltip=tooltip),
        rows.transform_filter("!datum.fitted")
        .mark_point(
            size=60, shape="diamond", filled=True, color=theme.VERMILION, opacity=0.9, clip=True
        )
        .encode(x=x, y=y, tooltip=tooltip),
    ]


def _rules(path: _ComputePath, x: Any, *, labels: bool) -> list[Any]:
    """The largest fitted run, and the sizes up to which predictions are within 1, 2 and 5 %."""
    horizon = path.horizon
    at, text = [], []
    for reach in horizon.path:
        if 0 < reach.times < np.inf and reach.times * horizon.largest <= 10 ** path.sizes[-1]:
            at.append(reach.times * horizon.largest)
            text.append(f"{100 * reach.within:g} %")
    ends = chart_of({path.size: at, "text": text})
    # of rules that are close, the names stand below each other
    decades = float(np.ptp(path.sizes))
    near = [
        LABEL_WIDTH > theme.WIDTH * abs(np.log10(b / a)) / decades
        for a, b in zip(at, at[1:], strict=False)
    ]
    rows = [0]
    for close in near:
        rows.append(rows[-1] + 1 if close else 0)
    largest = chart_of({path.size: [horizon.largest]})
    layers: list[Any] = []
    for rules in (ends, largest):
        rule = rules.mark_rule(color=theme.GREY, strokeDash=[2, 2], strokeWidth=1.2)
        layers.append(rule.encode(x=x))
    if labels:
        named = [(horizon.largest, "largest fitted run", "right", 0)]
        named += [(a, words, "left", row) for a, words, row in zip(at, text, rows, strict=False)]
        for place, words, align, row in named:
            one = chart_of({path.size: [place], "text": [words]})
            placed = one.encode(x=x, y=alt.value(0), text="text:N")
            shift = 3 if align == "left" else -3
            dy = 2 + LABEL_HEIGHT * row
            layers += theme.labelled(placed, align=align, baseline="top", dx=shift, dy=dy)
    return layers
