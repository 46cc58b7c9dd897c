"""`sweep`: the finished and remaining runs of a sweep: sizes, tokens, mixtures, cost and losses."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from lawdsl.figures import theme
from lawdsl.figures.figure import Figure, chart_of
from lawdsl.figures.sweep_runs import (
    COMING,
    DONE,
    FAILED,
    STATE_NAMES,
    Levels,
    SweepRuns,
    counted,
    levels_of,
    runs_of,
)

Array = NDArray[np.float64]

PANEL_WIDTH, PANEL_HEIGHT = 280, 170
MAX_LEVELS, MAX_SIZES = 14, 8  # values with a place each; more are grouped into ranges
MAX_LOSSES = 4
MAX_POINTS = 2_000
ENOUGH_SHARES = 4  # values of a share, above which losses are drawn against it
MAX_MODELS = 12
LARGEST, SMALLEST = 420, 24  # px² of the marks of cells
LABEL_CHARACTER = 6.5  # px of a character of a label, with its share of the space beside it
GAP = 3  # px between them
ROW = 20
FLOP_LABELS = "datum.value == 0 ? '0' : replace(format(datum.value, '.2~e'), 'e+', 'e')"
SECONDS = ((86_400 * 2, 86_400, "days"), (5_400, 3_600, "hours"), (90, 60, "minutes"))


def sweep_figure(
    source: Any,
    *,
    N: str | None = None,
    D: str | None = None,
    L: str | None = None,
    drop_bad: bool = False,
) -> Figure:
    """Draw the runs of a sweep.

    Args:
        source: the plan of a sweep, or a table of runs with columns N and D, r_CORPUS, L_VALIDATION,
            run and status, as `lawdsl collect` makes it.
        N, D, L: which columns these are in another table, with a unit where the header has none:
            `params_m [Mparam]`.
        drop_bad: leave out rows that are no runs, instead of refusing the table.

    Raises:
        LawdslError: a table without columns N and D, or without a row that has both (G0113); rows
            that are no runs (D0106, D0108, D0121); a unit that is not known (D0112).
    """
    columns = {name: c for name, c in (("N", N), ("D", D), ("L", L)) if c is not None}
    runs = runs_of(source, columns, drop_bad=drop_bad)
    notes: list[str] = [runs.note] if runs.note else []
    tokens = levels_of(runs.D, MAX_LEVELS)
    top = [_cells_of(runs, _tokens_title(runs), tokens), *_mixtures(runs)]
    ranges = {"D": tokens, "N": levels_of(runs.N, MAX_SIZES)}
    parts = [f"{name} in {len(of.labels)}" for name, of in ranges.items() if of.are_ranges]
    if parts:
        notes.append(f"{' and '.join(parts)} ranges, named by their middles")
    rows: list[Any] = [alt.hconcat(*top, spacing=30)]
    if _has_cost(runs):
        rows.append(_cost(runs))
    else:
        why = (
            "N is not in param, or D not in token"
            if runs.units["N"] and runs.units["D"]
            else "N and D have no units: N [param], D [token]"
        )
        notes.append(f"without compute, since {why}")
    losses = _losses(runs, notes)
    rows += [losses] if losses is not None else []
    chart: Any = alt.vconcat(*rows, spacing=26).resolve_scale(
        color="independent", shape="independent", size="shared"
    )
    title, description = _title(runs), _description(runs)
    subtitle = [_legend(runs), *notes]
    drawn = theme.titled(chart, title, subtitle, description, 620)
    return Figure("sweep", title, _table(runs), drawn, description, tuple(notes))


def _table(runs: SweepRuns) -> dict[str, list[Any]]:
    """The tidy table: one row per run."""
    return {
        "model": np.array(runs.models, dtype=object)[runs.model].tolist(),
        "N": runs.N.tolist(),
        "D": runs.D.tolist(),
        **{f"r_{name}": values.tolist() for name, values in runs.shares.items()},
        "state": np.array(STATE_NAMES, dtype=object)[runs.state].tolist(),
        "finished": runs.finished.tolist(),
        "flop": runs.flop.tolist(),
        **{f"L_{name}": values.tolist() for name, values in runs.losses.items()},
    }


# Cells


def _cells_of(runs: SweepRuns, title: str, levels: Levels) -> Any:
    """The number of runs at each model size and level of a variable."""
    sizes = levels_of(runs.N, MAX_SIZES)
    return _cell_panel(title, levels, _size_title(runs), sizes, runs.state)


def _tokens_title(runs: SweepRuns) -> str:
    return f"D [{runs.units['D']}]" if runs.units.get("D") else "D"


def _size_title(runs: SweepRuns) -> str:
    return f"N [{runs.units['N']}]" if runs.units.get("N") else "N"


def _mixtures(runs: SweepRuns) -> list[Any]:
    """The number of runs at each share: of one corpus if there are two, else of each."""
    varied = {name: v for name, v in runs.shares.items() if len(np.unique(v[np.isfinite(v)])) > 1}
    if not varied:
        return []
    if len(varied) <= 2:
        name = runs.domain if runs.domain in varied else list(varied)[-1]
        levels = levels_of(varied[name], MAX_LEVELS, linear=True)
        return [_cells_of(runs, f"r, share of {name}", levels)]
    names = list(varied)[:MAX_LEVELS]
    together = np.concatenate([varied[name] for name in names])
    shares = levels_of(together, MAX_LEVELS, linear=True)
    # each corpus is a row in which every run is counted once
    lines = Levels(tuple(names), np.repeat(np.arange(len(names)), len(runs)), are_ranges=False)
    return [_cell_panel("share of a corpus", shares, "", lines, np.tile(runs.state, len(names)))]


def _cell_panel(
    title: str, across: Levels, down_title: str, down: Levels, state: NDArray[np.int64]
) -> Any:
    """Cells of two variables: a ring for all runs, filled according to the finished ones."""
    found = counted(across, down, state)
    table: dict[str, list[Any]] = {name: [cell[name] for cell in found] for name in found[0]}
    table["runs"] = [cell[DONE] + cell[COMING] + cell[FAILED] for cell in found]
    order = list(reversed(down.labels)) if down_title else list(down.labels)
    y = alt.Y("down:N", sort=order, axis=alt.Axis(title=down_title or None, ticks=False))
    long = LABEL_CHARACTER * max(map(len, across.labels)) > PANEL_WIDTH / len(across.labels)
    shape = alt.Axis(title=title, labelAngle=-40 if long else 0, labelOverlap=False, ticks=False)
    x = alt.X("across:N", sort=list(across.labels), axis=shape)
    most = max(table["runs"])
    height = max(90, min(PANEL_HEIGHT, 30 * len(order)))
    cell = min(PANEL_WIDTH / len(across.labels), height / len(order)) - GAP
    largest = min(LARGEST if most > 3 else 160, math.pi / 4 * cell**2)
    ends = [min(SMALLEST if most > 1 else 90, largest / 2), largest]
    size = alt.Scale(domain=[0, most], range=ends)
    chart = chart_of(table)
    layers: list[Any] = [
        chart.mark_point(color=theme.BLUE, strokeWidth=1.2, opacity=0.9).encode(
            size=alt.Size("runs:Q", scale=size, legend=None)
        ),
        chart.transform_filter(f"datum['{DONE}'] > 0")
        .mark_point(color=theme.BLUE, filled=True, opacity=0.75)
        .encode(size=alt.Size(f"{DONE}:Q", scale=size, legend=None)),
        chart.transform_filter(f"datum['{FAILED}'] > 0")
        .mark_point(color=theme.VERMILION, shape="cross", angle=45, filled=True, opacity=1)
        .encode(size=alt.Size(f"{FAILED}:Q", scale=size, legend=None)),
    ]
    layered: Any = alt.layer(*[layer.encode(x=x, y=y) for layer in layers])
    return layered.properties(width=PANEL_WIDTH, height=height)


# Cost


def _has_cost(runs: SweepRuns) -> bool:
    """Whether the compute of some run is known."""
    return bool(np.any(np.isfinite(runs.flop)))


def _cost(runs: SweepRuns) -> Any:
    """The compute of the finished and remaining runs of each model, or of ranges of sizes if there
    are many models.
    """
    labels, of_run, title = runs.models, runs.model, None
    sized = np.isfinite(runs.N)
    named = np.unique(of_run[sized]).tolist()
    order_of = {k: -float(np.max(runs.N[sized & (of_run == k)])) for k in named}
    if len(order_of) > MAX_MODELS:
        sizes = levels_of(runs.N, MAX_SIZES)
        labels, of_run, title = sizes.labels, sizes.codes, _size_title(runs)
        order_of = {k: -float(k) for k in np.unique(of_run[sized]).tolist()}
    chosen = sorted(order_of, key=lambda k: order_of[k])
    done, coming = runs.flop * runs.finished, _remaining_flop(runs)
    table: dict[str, list[Any]] = {n: [] for n in ("model", "flop", "state", "order")}
    counts: dict[str, list[Any]] = {"model": [], "text": []}
    for k in chosen:
        rows = of_run == k
        for order, (state, flop) in enumerate((("done", done), ("to come", coming))):
            table["model"].append(labels[k])
            table["flop"].append(float(np.nansum(flop[rows])))
            table["state"].append(state)
            table["order"].append(order)
        finished = int(np.sum(runs.are(DONE) & rows))
        counts["model"].append(labels[k])
        counts["text"].append(f"{finished:,} of {int(np.sum(rows)):,} runs")
    models = counts["model"]
    states, colors = ["done", "to come"], [theme.BLUE, "#BBD7EA"]
    width = 2 * PANEL_WIDTH - 40
    y = alt.Y("model:N", sort=models, axis=alt.Axis(title=title, ticks=False))
    x = alt.X("flop:Q", axis=alt.Axis(title="compute [FLOP]", labelExpr=FLOP_LABELS, tickCount=6))
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
    """One loss against the variable with the most values, coloured by another variable."""
    x_title, x, is_share = _most_varied(runs, validation)
    chosen = np.flatnonzero(np.isfinite(losses) & np.isfinite(x))
    if len(chosen) > MAX_POINTS:
        chosen = chosen[np.linspace(0, len(chosen) - 1, MAX_POINTS).round().astype(int)]
        note = f"{MAX_POINTS:,} of {len(runs):,} runs have a point in the panels of losses"
        notes += [note] if note not in notes else []
    unit = f" [{runs.units['L']}]" if runs.units.get("L") else ""
    title = "loss" if validation == "L" else f"loss on {validation}"
    sizes = levels_of(runs.N, theme.MAX_GROUPS)
    table: dict[str, Any] = {"x": x[chosen], "loss": losses[chosen], "N": runs.N[chosen]}
    table["failed"] = runs.are(FAILED)[chosen]
    encoding: dict[str, Any] = {
        "x": theme.axis("x", x_title, table["x"], logarithmic=False if is_share else None),
        "y": theme.axis("loss", title + unit, table["loss"], channel="y", logarithmic=False),
        "color": alt.value(theme.BLUE),
    }
    if sizes.are_ranges:
        encoding["color"] = theme.gradient("N", _size_title(runs), runs.N[np.isfinite(runs.N)])
    elif len(sizes.labels) > 1:
        table["size"] = [sizes.labels[code] for code in sizes.codes[chosen]]
        encoding["color"] = theme.color("size", _size_title(runs), sizes.labels)
        encoding["shape"] = theme.shape("size", _size_title(runs), sizes.labels)
    drawn = chart_of(table)
    marks = drawn.transform_filter("!datum.failed").mark_point(filled=True, size=28, opacity=0.7)
    crosses = drawn.transform_filter("datum.failed").mark_point(
        shape="cross", angle=45, filled=True, size=40, color=theme.VERMILION, opacity=1
    )
    place = {name: encoding[name] for name in ("x", "y")}
    layered: Any = alt.layer(marks.encode(**encoding), crosses.encode(**place))
    return layered.properties(width=PANEL_WIDTH - 40, height=PANEL_HEIGHT - 20)


def _most_varied(runs: SweepRuns, validation: str) -> tuple[str, Array, bool]:
    """The share of the corpus that a loss belongs to, if it has about as many values as the tokens,
    else the tokens; and whether it is a share.
    """
    counts = {name: len(np.unique(values)) for name, values in runs.shares.items()}
    name = validation if validation in counts else max(counts, key=lambda n: counts[n], default="")
    if counts.get(name, 0) >= min(len(np.unique(runs.D)), ENOUGH_SHARES) > 0 and counts[name] > 1:
        return f"r, share of {name}", runs.shares[name], True
    return _tokens_title(runs), runs.D, False


# Words


def _title(runs: SweepRuns) -> str:
    """The progress of the sweep, and what remains."""
    done, failed = runs.count(DONE), runs.count(FAILED)
    left = len(runs) - done - failed
    text = f"{runs.name}: {done:,} of {len(runs):,} runs done"
    if failed:
        text += f", {failed:,} failed"
    if not _has_cost(runs):
        return text
    if not left:
        return f"{text}, {_flop(float(np.nansum(runs.flop * runs.finished)))} in all"
    text += f"; {_flop(float(np.nansum(_remaining_flop(runs))))} to come"
    return text + (f", about {_duration(runs.seconds)}" if runs.seconds else "")


def _remaining_flop(runs: SweepRuns) -> Array:
    """The compute that each run still requires: 0 if it is finished or has failed."""
    return np.where(runs.are(COMING), runs.flop * (1 - runs.finished), 0.0)


def _flop(value: float) -> str:
    """Compute as in papers: 2.8e14 FLOP."""
    return f"{value:.2g}".replace("e+", "e") + " FLOP"


def _legend(runs: SweepRuns) -> str:
    """The meaning of the marks of cells."""
    parts = ["area: the number of runs; filled: done"]
    if runs.count(COMING):
        parts.append("ring: to come")
    if runs.count(FAILED):
        parts.append("red crosses: failed")
    return "; ".join(parts)


def _duration(seconds: float) -> str:
    """A duration in rounded units: 3 hours."""
    for least, unit, name in SECONDS:
        if seconds >= least:
            return f"{seconds / unit:.3g} {name}"
    return f"{math.ceil(seconds)} seconds"


def _description(runs: SweepRuns) -> str:
    """The alternative text of the figure."""
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
