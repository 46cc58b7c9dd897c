"""`sweep`: the runs of a sweep, done and to come: sizes, tokens, mixtures, cost and losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from lawdsl.figures import theme
from lawdsl.figures.figure import Figure, chart_of
from lawdsl.figures.fitted_variables import MAX_GROUPS
from lawdsl.figures.sweep_runs import COMING, DONE, FAILED, SweepRuns, cells, runs_of

Array = NDArray[np.float64]

PANEL_WIDTH, PANEL_HEIGHT = 280, 170
MAX_LEVELS = 14  # values of an axis that have a place each; more are drawn to scale
MAX_LOSSES = 4
MAX_POINTS = 2_000
MAX_MODELS = 12
LARGEST, SMALLEST = 420, 24  # px² of the marks of cells
ROW = 20
SECONDS = ((86_400 * 2, 86_400, "days"), (5_400, 3_600, "hours"), (90, 60, "minutes"))


def sweep_figure(source: Any) -> Figure:
    """Draw the runs of a sweep.

    Args:
        source: the plan of a sweep, or a table of runs with columns N and D, r_CORPUS, L_VALIDATION,
            run and status, as `lawdsl collect` makes it.

    Raises:
        LawdslError: a table without columns N and D (G0113).
    """
    runs = runs_of(source)
    notes: list[str] = []
    top = [_cells_of(runs, "D", runs.D), *_mixtures(runs)]
    rows: list[Any] = [alt.hconcat(*top, spacing=30), _cost(runs, notes)]
    losses = _losses(runs, notes)
    rows += [losses] if losses is not None else []
    chart: Any = alt.vconcat(*rows, spacing=26).resolve_scale(color="independent", size="shared")
    title, description = _title(runs), _description(runs)
    subtitle = [_legend(runs), *notes]
    drawn = theme.titled(chart, title, subtitle, description, 620)
    return Figure("sweep", title, _table(runs), drawn, description, tuple(notes))


def _table(runs: SweepRuns) -> dict[str, list[Any]]:
    """The tidy table: a row a run."""
    return {
        "model": list(runs.models),
        "N": runs.N.tolist(),
        "D": runs.D.tolist(),
        **{f"r_{name}": values.tolist() for name, values in runs.shares.items()},
        "state": list(runs.states),
        "finished": runs.finished.tolist(),
        "flop": runs.flop.tolist(),
        **{f"L_{name}": values.tolist() for name, values in runs.losses.items()},
    }


# Cells


def _cells_of(runs: SweepRuns, name: str, values: Array) -> Any:
    """The runs at each model size and value of a variable."""
    unit = runs.units.get(name, "")
    title = f"{name} [{unit}]" if unit else name
    return _cell_panel(runs, values, title, [theme.short(n) for n in runs.N], _size_title(runs))


def _size_title(runs: SweepRuns) -> str:
    return f"N [{runs.units['N']}]" if runs.units.get("N") else "N"


def _mixtures(runs: SweepRuns) -> list[Any]:
    """The runs at each share: of one corpus where there are two, else of each of them."""
    varied = {name: v for name, v in runs.shares.items() if len(np.unique(v[np.isfinite(v)])) > 1}
    if not varied:
        return []
    if len(varied) <= 2:
        name = list(varied)[0]
        labels = [theme.short(n) for n in runs.N]
        return [_cell_panel(runs, varied[name], f"r, share of {name}", labels, _size_title(runs))]
    names = list(varied)
    stacked = np.concatenate([varied[name] for name in names])
    repeated = SweepRuns(
        **{
            **vars(runs),
            "states": runs.states * len(names),
            "models": runs.models * len(names),
            "N": np.tile(runs.N, len(names)),
        }
    )
    labels = [name for name in names for _ in range(len(runs))]
    return [_cell_panel(repeated, stacked, "share of a corpus in a run", labels, "", by_size=False)]


def _cell_panel(
    runs: SweepRuns,
    values: Array,
    title: str,
    labels: Sequence[str],
    label_title: str,
    *,
    by_size: bool = True,
) -> Any:
    """Cells of a value across and a label down: a ring for all runs, filled by those done."""
    distinct = np.unique(values[np.isfinite(values)])
    counted = cells([values.tolist(), labels], runs)
    table: dict[str, list[Any]] = {n: [] for n in ("x", "row", "runs", DONE, "bad", "label")}
    for cell in counted:
        table["x"].append(cell["at"][0])
        table["row"].append(cell["at"][1])
        table["runs"].append(cell[DONE] + cell[COMING] + cell[FAILED])
        table[DONE].append(cell[DONE])
        table["bad"].append(cell[FAILED])
        table["label"].append(theme.short(cell["at"][0]))
    if by_size:
        order = list(
            dict.fromkeys(theme.short(n) for n in sorted(set(runs.N.tolist()), reverse=True))
        )
    else:
        order = list(dict.fromkeys(labels))
    y = alt.Y("row:N", sort=order, axis=alt.Axis(title=label_title or None, ticks=False))
    if len(distinct) <= MAX_LEVELS:
        across = list(dict.fromkeys(theme.short(v) for v in distinct))
        angle = -40 if max(map(len, across)) > 4 and len(across) > 7 else 0
        axis = alt.Axis(title=title, labelAngle=angle, labelOverlap=False, ticks=False)
        x: Any = alt.X("label:N", sort=across, axis=axis)
    else:
        x = theme.axis("x", title, distinct)
    most = max(table["runs"])
    size = alt.Scale(
        domain=[0, most], range=[SMALLEST if most > 1 else 90, LARGEST if most > 3 else 160]
    )
    chart = chart_of(table)
    layers: list[Any] = [
        chart.mark_point(color=theme.BLUE, strokeWidth=1.2, opacity=0.9).encode(
            size=alt.Size("runs:Q", scale=size, legend=None)
        ),
        chart.transform_filter(f"datum['{DONE}'] > 0")
        .mark_point(color=theme.BLUE, filled=True, opacity=0.75)
        .encode(size=alt.Size(f"{DONE}:Q", scale=size, legend=None)),
        chart.transform_filter("datum.bad > 0")
        .mark_point(color=theme.VERMILION, shape="cross", angle=45, filled=True, opacity=1)
        .encode(size=alt.Size("bad:Q", scale=size, legend=None)),
    ]
    layered: Any = alt.layer(*[layer.encode(x=x, y=y) for layer in layers])
    return layered.properties(width=PANEL_WIDTH, height=max(90, min(PANEL_HEIGHT, 30 * len(order))))


# Cost


def _cost(runs: SweepRuns, notes: list[str]) -> Any:
    """The compute of each model's runs, done and to come."""
    sizes = {model: size for model, size in zip(runs.models, runs.N, strict=True)}
    models = sorted(sizes, key=lambda model: -sizes[model])
    if len(models) > MAX_MODELS:
        notes.append(f"the cost of {MAX_MODELS} of {len(models)} models is drawn, the largest")
        models = models[:MAX_MODELS]
    names = np.array(runs.models)
    done = runs.flop * runs.finished
    table: dict[str, list[Any]] = {n: [] for n in ("model", "flop", "state", "order")}
    counts: dict[str, list[Any]] = {"model": [], "text": []}
    for model in models:
        chosen = names == model
        spent = float(np.nansum(done[chosen]))
        left = float(np.nansum(runs.flop[chosen])) - spent
        for order, (state, flop) in enumerate((("done", spent), ("to come", max(0.0, left)))):
            table["model"].append(model)
            table["flop"].append(flop)
            table["state"].append(state)
            table["order"].append(order)
        finished = sum(s == DONE for s, c in zip(runs.states, chosen, strict=True) if c)
        counts["model"].append(model)
        counts["text"].append(f"{finished:,} of {int(np.sum(chosen)):,} runs")
    states, colors = ["done", "to come"], [theme.BLUE, "#BBD7EA"]
    width = 2 * PANEL_WIDTH - 40
    y = alt.Y("model:N", sort=models, axis=alt.Axis(title=None, ticks=False))
    x = alt.X("flop:Q", axis=alt.Axis(title="compute [FLOP]", labelExpr=theme.LABELS, tickCount=6))
    color = alt.Color("state:N", scale=alt.Scale(domain=states, range=colors), legend=None)
    bars = chart_of(table).mark_bar(height=13).encode(x=x, y=y, color=color, order="order:O")
    words = chart_of(counts).mark_text(align="left", fontSize=11, color="#222222")
    layered: Any = alt.layer(
        bars,
        words.encode(x=alt.value(width + 8), y=y, text="text:N"),
        *theme.key(states, colors, [[1, 0]] * 2, width, thickness=9),
    )
    return layered.properties(width=width, height=ROW * len(models))


# Losses


def _losses(runs: SweepRuns, notes: list[str]) -> Any:
    """The loss of each run's last evaluation, on each validation set."""
    known = {name: v for name, v in runs.losses.items() if np.isfinite(v).any()}
    if not known:
        return None
    if len(known) > MAX_LOSSES:
        notes.append(f"losses on {MAX_LOSSES} of {len(known)} validation sets are drawn")
    panels = [_loss_panel(runs, name, known[name], notes) for name in list(known)[:MAX_LOSSES]]
    return alt.concat(*panels, columns=2, spacing=24).resolve_scale(color="shared", shape="shared")


def _loss_panel(runs: SweepRuns, validation: str, losses: Array, notes: list[str]) -> Any:
    """One loss against the variable with the most values, coloured by another."""
    x_title, x = _most_varied(runs, validation)
    chosen = np.flatnonzero(np.isfinite(losses) & np.isfinite(x))
    if len(chosen) > MAX_POINTS:
        chosen = chosen[np.linspace(0, len(chosen) - 1, MAX_POINTS).round().astype(int)]
        note = f"{MAX_POINTS:,} of {len(runs):,} runs have a point in the panels of losses"
        notes += [note] if note not in notes else []
    unit = f" [{runs.units['L']}]" if runs.units.get("L") else ""
    title = "loss" if validation == "L" else f"loss on {validation}"
    sizes = [theme.short(n) for n in runs.N]
    table = {"x": x[chosen], "loss": losses[chosen], "N": runs.N[chosen]}
    table["size"] = [sizes[i] for i in chosen]
    encoding: dict[str, Any] = {
        "x": theme.axis("x", x_title, table["x"]),
        "y": theme.axis("loss", title + unit, table["loss"], channel="y", logarithmic=False),
        "color": alt.value(theme.BLUE),
    }
    distinct = list(dict.fromkeys(theme.short(n) for n in np.unique(runs.N)))
    if 1 < len(distinct) <= MAX_GROUPS:
        encoding["color"] = theme.color("size", _size_title(runs), distinct)
        encoding["shape"] = theme.shape("size", _size_title(runs), distinct)
    elif len(distinct) > 1:
        encoding["color"] = theme.color("N", _size_title(runs), runs.N.tolist())
    marks: Any = chart_of(table).mark_point(filled=True, size=28, opacity=0.7)
    return marks.encode(**encoding).properties(width=PANEL_WIDTH - 40, height=PANEL_HEIGHT - 20)


def _most_varied(runs: SweepRuns, validation: str) -> tuple[str, Array]:
    """The share of the corpus that a loss is of, where it varies enough, else the tokens."""
    candidates = {name: v for name, v in runs.shares.items() if len(np.unique(v)) >= 4}
    if candidates:
        name = validation if validation in candidates else next(iter(candidates))
        return f"r, share of {name}", candidates[name]
    unit = runs.units.get("D", "")
    return f"D [{unit}]" if unit else "D", runs.D


# Words


def _title(runs: SweepRuns) -> str:
    """How far the sweep is, and what remains."""
    done, failed = runs.states.count(DONE), runs.states.count(FAILED)
    left = len(runs) - done - failed
    text = f"{runs.name}: {done:,} of {len(runs):,} runs done"
    if failed:
        text += f", {failed:,} failed"
    if not left:
        return f"{text}, {theme.short(float(np.nansum(runs.flop)))} FLOP in all"
    flop = float(np.nansum(runs.flop * (1 - runs.finished)))
    text += f"; {theme.short(flop)} FLOP to come"
    return text + (f", about {_duration(runs.seconds)}" if runs.seconds else "")


def _legend(runs: SweepRuns) -> str:
    """What the marks of cells are."""
    parts = ["area: the number of runs; filled: done"]
    if COMING in runs.states:
        parts.append("ring: to come")
    if FAILED in runs.states:
        parts.append("red crosses: failed")
    return "; ".join(parts)


def _duration(seconds: float) -> str:
    """A time as people say it: 3 hours."""
    for least, unit, name in SECONDS:
        if seconds >= least:
            return f"{seconds / unit:.3g} {name}"
    return f"{math.ceil(seconds)} seconds"


def _description(runs: SweepRuns) -> str:
    """The figure for those who do not see it."""
    parts = [f"{_title(runs)}."]
    for name, unit, values in (("N", runs.units["N"], runs.N), ("D", runs.units["D"], runs.D)):
        low, high = theme.short(float(np.nanmin(values))), theme.short(float(np.nanmax(values)))
        parts.append(f"{name} is from {low} to {high} {unit}".rstrip() + ".")
    if runs.shares:
        parts.append(f"The corpora are {', '.join(runs.shares)}.")
    for name, values in runs.losses.items():
        finite = values[np.isfinite(values)]
        if len(finite):
            low, high = theme.short(float(finite.min())), theme.short(float(finite.max()))
            parts.append(f"Losses on {name} are from {low} to {high}.")
    return " ".join(parts)
