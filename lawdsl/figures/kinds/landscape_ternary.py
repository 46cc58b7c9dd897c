"""`landscape` of a law of mixtures: lines of equal output over three shares, in a triangle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.figures import theme
from lawdsl.figures.contours import LevelLine, in_triangle, level_lines, nice_levels, ternary
from lawdsl.figures.figure import Figure, chart_of, refuse_own_columns
from lawdsl.figures.kinds.landscape import level_layers
from lawdsl.figures.labelled_rows import LabelledRows, labelled_rows
from lawdsl.figures.options import names_of, values_of
from lawdsl.fitting.prediction_inputs import PredictionInputs, prediction_inputs
from lawdsl.fitting.result_by_label import Fits
from lawdsl.language.label_texts import split_element

Array = NDArray[np.float64]

CELLS = 60  # along a side of the triangle
LEVELS = 12
TICKS = (0.2, 0.4, 0.6, 0.8)
STAR = "M0,-1L.24,-.31L.95,-.31L.38,.12L.59,.81L0,.4L-.59,.81L-.38,.12L-.95,-.31L-.24,-.31Z"
NEAR = 0.05  # largest difference of the other shares of a measured mixture from the fixed ones
LEFT: dict[str, Any] = {"dx": -6, "align": "right"}  # where ticks of a side are
RIGHT: dict[str, Any] = {"dx": 6, "align": "left"}
BELOW: dict[str, Any] = {"dy": 11, "align": "center"}
ROOM = 0.09  # relative to the side of the triangle, for ticks and names


@dataclass(frozen=True)
class _Mixtures:
    """Measured mixtures: shares, shape (mixtures, shares), and their mean output; NaN where a label
    is missing.
    """

    shares: Array
    output: Array


@dataclass(frozen=True)
class _Simplex:
    """The contents of the figure.

    Attributes:
        fits: the fits of the figure.
        inputs: the inputs of their predictions.
        names: the three shares.
        held: the fixed values of the other shares and variables.
        free: the sum of the three shares.
        label: the label of the output that is drawn; "" for the mean over all labels.
    """

    fits: Fits
    inputs: PredictionInputs
    names: tuple[str, ...]
    held: dict[str, float]
    free: float
    label: str

    @property
    def output(self) -> str:
        """The name of the quantity that is drawn."""
        if self.label:
            return f"{self.inputs.output} on {self.label}"
        return f"mean {self.inputs.output}" if self.inputs.outputs else self.inputs.output

    def values(self, shares: Array) -> Array:
        """The output at three shares, shape (3, points), which sum to 1: shape (points,)."""
        count = shares.shape[1]
        columns = {name: np.full(count, value) for name, value in self.held.items()}
        columns |= dict(zip(self.names, self.free * shares, strict=True))
        values = self.fits.predict_with_warnings(columns)[0]
        if values.ndim == 1:
            return values
        if self.label:
            return values[:, list(self.inputs.outputs).index(self.label)]
        return np.asarray(np.mean(values, axis=1))


def ternary_figure(
    fits: Fits,
    *,
    data: Any = None,
    x: str | Sequence[str] | None = None,
    label: str | None = None,
    held: str | Mapping[str, float] | None = None,
) -> Figure:
    """Draw lines of equal output over three shares of a mixture, with the measured and best ones.

    Args:
        fits: the fits of a law whose shares sum to 1.
        data: the table that was fitted; by default the rows that the fits store.
        x: the three domains, as a list or as a text, `web,code,books`; by default those whose
            measured shares differ most.
        label: the label of the output that is drawn, if the law predicts several; by default their
            mean.
        held: fixed values of other shares, as a mapping or text, `web=0.1,maths=0`; by default their means over
            the measured mixtures.

    Raises:
        LawdslError: a law without three shares (G0106), unknown names or invalid shares (G0104),
            fits without rows (G0103).
    """
    names, at = names_of("x", x), values_of("held", held)
    inputs = prediction_inputs(fits)
    simplex = next((names for names in inputs.shares if len(names) >= 3), None)
    if simplex is None or (inputs.sets and not inputs.outputs):
        message = f"{inputs.law} has no three shares of a mixture that alone decide its outputs"
        raise LawdslError(Diagnostic("G0106", message, help="draw it with --kind fit"))
    if label is not None and label not in inputs.outputs:
        known = f"one of {', '.join(inputs.outputs)}" if inputs.outputs else "it has one"
        message = f"{inputs.law} has no output {label!r}"
        raise LawdslError(Diagnostic("G0104", message, help=known))
    rows = labelled_rows(fits, data)
    measured = _measured_mixtures(rows, simplex, label)
    drawn = _simplex(fits, inputs, simplex, rows, measured, names, label, at)
    return _figure(drawn, simplex, measured)


def _measured_mixtures(
    rows: Sequence[LabelledRows], simplex: Sequence[str], label: str | None
) -> _Mixtures:
    """The measured mixtures, with the mean output over all labels, or the output of one label."""
    found: dict[tuple[float, ...], dict[str, list[float]]] = {}
    for group in rows:
        shares = _shares(group, simplex)
        for mixture, target in zip(shares, group.rows.target, strict=True):
            key = tuple(np.round(mixture, 9).tolist())
            found.setdefault(key, {}).setdefault(group.label, []).append(float(target))
    wanted = [label] if label else [group.label for group in rows]
    outputs = [
        np.mean([np.mean(of[name]) for name in wanted]) if set(wanted) <= set(of) else np.nan
        for of in found.values()
    ]
    return _Mixtures(np.array(list(found)), np.array(outputs, dtype=np.float64))


def _shares(group: LabelledRows, simplex: Sequence[str]) -> Array:
    """All shares of the rows of a label; the law computes the last share from the others."""
    known = {n: group.rows.values(n) for n in simplex if n in group.rows.names}
    rest = 1 - np.sum(list(known.values()), axis=0)
    return np.stack([known.get(name, rest) for name in simplex], axis=1)


def _simplex(
    fits: Fits,
    inputs: PredictionInputs,
    simplex: Sequence[str],
    rows: Sequence[LabelledRows],
    measured: _Mixtures,
    asked: list[str] | None,
    label: str | None,
    held: Mapping[str, float],
) -> _Simplex:
    """Choose the three shares, and fix all others."""
    labels = [_domain(name) for name in simplex]
    by_spread = np.argsort(-np.std(measured.shares, axis=0), kind="stable")[:3]
    chosen = [simplex[k] for k in sorted(by_spread.tolist())]
    if asked is not None:
        if len(asked) != 3 or len(set(asked)) != 3 or not set(asked) <= {*labels, *simplex}:
            message = f"{','.join(asked)!r} does not name three of its shares"
            help = f"write three of {', '.join(labels)}: x={','.join(labels[:3])}"
            raise LawdslError(Diagnostic("G0104", message, help=help))
        chosen = [simplex[labels.index(n)] if n in labels else n for n in asked]
    others = [k for k, name in enumerate(simplex) if name not in chosen]
    at = {simplex[k]: float(np.mean(measured.shares[:, k])) for k in others}
    at |= _fixed_shares(held, {simplex[k]: labels[k] for k in others})
    free = 1 - sum(at.values())
    if not 0 < free <= 1 + 1e-12:
        message = f"the shares held leave {free:.4g} for the other three"
        raise LawdslError(Diagnostic("G0104", message, help="hold shares that sum to less than 1"))
    first = rows[0].rows
    for name in inputs.variables:
        if name not in simplex:
            at[name] = float(np.sort(first.values(name))[(len(first.target) - 1) // 2])
    return _Simplex(fits, inputs, tuple(chosen), at, free, label or "")


def _fixed_shares(held: Mapping[str, float], names: dict[str, str]) -> dict[str, float]:
    """The shares that the user fixes, by domain."""
    values: dict[str, float] = {}
    for label, value in held.items():
        name = next((n for n, domain in names.items() if label in (n, domain)), None)
        if name is None or not 0 <= value < 1:
            message = f"'{label}={value:g}' is not another share and its value"
            known = ", ".join(names.values()) or "none is left"
            help = f"held=DOMAIN=0.1, of {known}"
            raise LawdslError(Diagnostic("G0104", message, help=help))
        values[name] = value
    return values


def _domain(name: str) -> str:
    """The label of a share: `web` of `r[web]`."""
    return ", ".join(split_element(name)[1]) or name


def _figure(drawn: _Simplex, simplex: Sequence[str], measured: _Mixtures) -> Figure:
    mesh, shares = ternary(CELLS)
    values = drawn.values(shares)
    lines = level_lines(mesh, values, nice_levels(values, LEVELS))
    if not np.any(np.isfinite(values)):
        message = f"{drawn.inputs.law} has no value at these mixtures"
        raise LawdslError(Diagnostic("G0106", message, help="hold other shares: held=DOMAIN=0.1"))
    best = int(np.nanargmin(values))
    table, inside = _points(drawn, simplex, measured)
    title = _title(drawn, shares[:, best], float(values[best]))
    notes = _notes(drawn)
    legend = (
        f"lines: equal {drawn.output}; points: measured mixtures, filled where the other shares are "
        f"within {NEAR:g} of those held; star: the least on the law"
    )
    if len(drawn.names) == len(simplex):
        legend = (
            f"lines: equal {drawn.output}; points: measured mixtures; star: the least on the law"
        )
    description = f"{title}. {legend}."
    chart = _chart(drawn, lines, table, inside, shares[:, [best]])
    return Figure(
        "landscape",
        title,
        table,
        theme.titled(chart, title, [legend, *notes], description),
        description,
        tuple(notes),
    )


def _chart(
    drawn: _Simplex,
    lines: list[LevelLine],
    table: dict[str, list[Any]],
    inside: NDArray[np.bool_],
    best: Array,
) -> Any:
    """Frame, lines, measured mixtures and the best one."""
    position = {
        "x": alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-ROOM, 1 + ROOM], nice=False)),
        "y": alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-ROOM, 0.866 + ROOM], nice=False)),
    }
    x, y = in_triangle(best)
    star = chart_of({"x": x, "y": y}).mark_point(
        shape=STAR,
        size=170,
        filled=True,
        color=theme.VERMILION,
        opacity=1,
    )
    layers = [
        *_frame(drawn, position),
        *level_layers(lines, ("x", "y"), position),
        *_marks(table, inside, position),
        star.encode(**position),
    ]
    layered: Any = alt.layer(*layers)
    side = theme.WIDTH
    return layered.properties(width=side, height=side * (0.866 + 2 * ROOM) / (1 + 2 * ROOM))


def _points(
    drawn: _Simplex, simplex: Sequence[str], measured: _Mixtures
) -> tuple[dict[str, list[Any]], NDArray[np.bool_]]:
    """The tidy table of the measured mixtures, and which of them have the fixed shares."""
    numbers = [list(simplex).index(name) for name in drawn.names]
    three = measured.shares[:, numbers]
    total = np.sum(three, axis=1)
    others = [k for k in range(len(simplex)) if k not in numbers]
    at = np.array([drawn.held[simplex[k]] for k in others])
    near = np.all(np.abs(measured.shares[:, others] - at) <= NEAR, axis=1)
    seen = total > 1e-9  # other mixtures are not in the plane of the triangle
    x, y = in_triangle(three[seen].T / total[seen])
    refuse_own_columns("ternary", (*simplex, drawn.output), ("x", "y"))
    table: dict[str, list[Any]] = {
        name: measured.shares[seen, k].tolist() for k, name in enumerate(simplex)
    }
    table |= {drawn.output: measured.output[seen].tolist()}
    table |= {"x": x.tolist(), "y": y.tolist()}
    return table, near[seen]


def _marks(
    table: dict[str, list[Any]], inside: NDArray[np.bool_], position: dict[str, Any]
) -> list[Any]:
    """The measured mixtures."""
    tooltip = [
        alt.Tooltip(f"{theme.escaped(name)}:Q", title=name, format=".4~g")
        for name in table
        if name not in ("x", "y")
    ]
    layers = []
    styles: tuple[dict[str, Any], ...] = ({"filled": False}, {"filled": True})
    # mixtures in the plane are drawn on top
    for mask, style in zip((~inside, inside), styles, strict=True):
        if np.any(mask):
            kept = {
                name: [v for v, m in zip(of, mask, strict=True) if m] for name, of in table.items()
            }
            marks = chart_of(kept).mark_point(size=28, color="black", opacity=0.7, **style)
            layers.append(marks.encode(**position, tooltip=tooltip))
    return layers


def _line(*points: Array) -> dict[str, Any]:
    """A line through mixtures of the three, in order."""
    x, y = in_triangle(np.stack(points, axis=1))
    return {"x": x, "y": y, "order": list(range(len(points)))}


def _frame(drawn: _Simplex, position: dict[str, Any]) -> list[Any]:
    """The triangle, its grid, ticks along each side, and the domains at its corners."""
    corners = np.eye(3)
    layers: list[Any] = []
    ticks: list[tuple[float, float, str, dict[str, Any]]] = []
    # a side, along which the share of the domain at its end grows
    for end, start, side in ((0, 2, LEFT), (1, 0, BELOW), (2, 1, RIGHT)):
        other = 3 - end - start
        for tick in TICKS:
            here = tick * corners[end] + (1 - tick) * corners[start]
            there = tick * corners[end] + (1 - tick) * corners[other]
            line = chart_of(_line(here, there)).mark_line(color="#E4E4E4", strokeWidth=1)
            layers.append(line.encode(**position, order="order:Q"))
            x, y = in_triangle(here[:, None])
            ticks.append((float(x[0]), float(y[0]), f"{drawn.free * tick:.2g}", side))
    edge = chart_of(_line(*corners, corners[0])).mark_line(color=theme.GREY, strokeWidth=1.2)
    layers.append(edge.encode(**position, order="order:Q"))
    words: list[tuple[float, float, str, dict[str, Any]]]
    words = [(*tick[:3], {"fontSize": 10, "color": theme.GREY} | tick[3]) for tick in ticks]
    for end, start, angle, dx, dy, text in (
        (0, 2, 300, -58, -34, "← share of {}"),
        (1, 0, 0, 0, 30, "share of {} →"),
        (2, 1, 60, 58, -34, "← share of {}"),
    ):
        middle = (corners[:, [end]] + corners[:, [start]]) / 2
        x, y = in_triangle(middle)
        along: dict[str, Any] = {
            "fontSize": 11,
            "angle": angle,
            "dx": dx,
            "dy": dy,
            "color": theme.GREY,
        }
        words.append((float(x[0]), float(y[0]), text.format(_domain(drawn.names[end])), along))
    for k, dy in enumerate((26, 26, -12)):
        x, y = in_triangle(corners[:, [k]])
        style: dict[str, Any] = {"fontSize": 12, "dy": dy, "color": "#222222", "fontWeight": "bold"}
        words.append((float(x[0]), float(y[0]), _domain(drawn.names[k]), style))
    for at_x, at_y, text, mark in words:
        one = chart_of({"x": [at_x], "y": [at_y], "text": [text]}).mark_text(**mark)
        layers.append(one.encode(**position, text="text:N"))
    return layers


def _title(drawn: _Simplex, shares: Array, least: float) -> str:
    """The mixture with the smallest predicted output, and whether it is on an edge."""
    parts = [
        f"{_domain(name)} {drawn.free * share:.2g}"
        for name, share in zip(drawn.names, shares, strict=True)
    ]
    unit = f" {drawn.inputs.output_unit}" if drawn.inputs.output_unit else ""
    edge = ", at the edge" if np.min(shares) < 0.5 / CELLS else ""
    return (
        f"{drawn.inputs.law}: least {drawn.output} on the fitted law, {least:.4g}{unit}, "
        f"at {', '.join(parts)}{edge}"
    )


def _notes(drawn: _Simplex) -> list[str]:
    """Notes on the fixed values."""
    notes = []
    if drawn.held:
        values = [f"{_domain(name)} = {theme.short(v)}" for name, v in drawn.held.items()]
        notes.append(f"with {', '.join(values)}")
    return notes
