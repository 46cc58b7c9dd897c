"""How well fits predict the largest runs of a table, which are held out.

    python tests/benchmarks/extrapolation.py                       the tables in ../shared/data and laws/data
    python tests/benchmarks/extrapolation.py --worlds 24           simulated worlds, in which the law is nearly right
    python tests/benchmarks/extrapolation.py --few-rows 60         small tables whose law is right, between their rows
    python tests/benchmarks/extrapolation.py TABLE LAW COST [NAME=COLUMN...] [--where CONDITION]

What is held out and how it is scored is the protocol `largest` of `lawdsl compare`: the most expensive tenth of the
runs (of sizes or budgets, the largest) is predicted from those that cost at most 1/R of the cheapest one held out, for
R = 1, 3 and 10. For predictions without the error of the law, and with it, the script prints the share of the held-out
rows within their 95 % interval, the median width of the interval, the median error, and the mean interval score, in per
cent of the loss. Then it counts the held-out rows inside the 2 % horizon, at which the interval of the curve is ± 2 %
or less, and those of them whose prediction is within 2 %. COST is a column, or a product of columns: `6*N*D`.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import lawdsl
from lawdsl.comparing.common_rows import common_rows
from lawdsl.comparing.interval_score import further_run_interval, score_intervals
from lawdsl.comparing.largest_first import RATIOS, LargestRuns, largest_runs
from lawdsl.comparing.result import IntervalScores
from lawdsl.comparing.run_cost import costs
from lawdsl.core.diagnostics import LawdslError
from lawdsl.data.read import read_table
from lawdsl.fitting.options import FitOptions
from lawdsl.fitting.result import Fit
from lawdsl.reporting.terminal import show_rows

Array = NDArray[np.float64]
ROOT = Path(__file__).resolve().parent.parent.parent
SHARED = ROOT.parent / "shared" / "data"

TOLERANCE = 0.02  # of the horizon whose rows are counted
HEADERS = ("law taken as right", "with its error", "inside the 2 % horizon, within 2 %")

out = Console(highlight=False, width=200)


@dataclass(frozen=True)
class Replay:
    """A table of finished runs, and the law that is fitted to its smaller ones.

    Attributes:
        name: of the table.
        law: its name.
        columns: variables of the law, and `L`, each shape (rows,), in the law's units.
        cost: of each row, shape (rows,).
        size: by which a run is large, shape (rows,); None for its cost.
        runs: labels of the runs, shape (rows,), where rows are checkpoints; else None.
        settings: of the law.
    """

    name: str
    law: str
    columns: Mapping[str, Array]
    cost: Array
    size: Array | None = None
    runs: NDArray[Any] | None = None
    settings: Mapping[str, float] | None = None

    @property
    def largest(self) -> LargestRuns:
        """The runs that are held out."""
        numbers = None if self.runs is None else np.unique(self.runs, return_inverse=True)[1]
        return largest_runs(self.cost if self.size is None else self.size, numbers, self.cost)


@dataclass(frozen=True)
class Replayed:
    """What was predicted of the largest runs of a table.

    Attributes:
        plain: the scores without an error of the law.
        with_error: the scores with the error of the law.
        fitted: the number of rows that were fitted.
        held_out: the number of rows that were predicted.
        inside_horizon: those of them inside the 2 % horizon.
        within: those of these whose prediction is within 2 %.
    """

    plain: IntervalScores
    with_error: IntervalScores
    fitted: int
    held_out: int
    inside_horizon: int
    within: int


def replay(table: Replay, ratio: float) -> Replayed | None:
    """Fit the smaller runs, and score what is predicted of the largest.

    Returns:
        The scores; None where the other rows do not determine a fit.
    """
    split = table.largest
    held_out, fitted = split.held_out, split.fitted(ratio)
    rows: dict[str, Any] = {name: values[fitted] for name, values in table.columns.items()}
    options: dict[str, Any] = {"claims": False, "rolled_check": False, "settings": table.settings}
    if table.runs is not None:
        rows["run"], options["run"] = table.runs[fitted], "run"
    try:
        fit = lawdsl.fit(table.law, rows, **options)
    except LawdslError as error:
        out.print(f"{table.name}, R = {ratio:g}: {error}")
        return None
    assert isinstance(fit, Fit)
    points = {name: values[held_out] for name, values in table.columns.items() if name != "L"}
    measured = table.columns["L"][held_out]
    without, with_error = (
        score_intervals(
            *further_run_interval(fit, rows, rows["L"], points, discrepancy), measured
        ).summary()
        for discrepancy in (0.0, None)
    )
    band = fit.predict_with_errors(points)
    with np.errstate(all="ignore"):
        inside = np.log(band.high / band.low) / 2 <= np.log1p(TOLERANCE)
    accurate = inside & (np.abs(band.values / measured - 1) <= TOLERANCE)
    counts = (int(np.sum(rows)) for rows in (fitted, held_out, inside, accurate))
    return Replayed(without, with_error, *counts)


def main() -> None:
    """Replay all tables, or that of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("table", nargs="?")
    parser.add_argument("law", nargs="?")
    parser.add_argument("cost", nargs="?")
    parser.add_argument("columns", nargs="*", metavar="NAME=COLUMN")
    parser.add_argument("--where", action="append", default=[])
    parser.add_argument("--worlds", type=int, default=0, help="simulated worlds of each kind")
    parser.add_argument("--few-rows", type=int, default=0, help="small tables of each kind")
    arguments = parser.parse_args()
    if arguments.few_rows:
        show_few_rows(arguments.few_rows)
    elif arguments.worlds:
        show_worlds(arguments.worlds)
    elif arguments.table:
        show_replays([_named(arguments)])
    else:
        show_replays(list(shipped_and_shared()))


def show_replays(tables: list[Replay]) -> None:
    """Print the scores of tables for all ratios."""
    for ratio in RATIOS:
        rows: list[tuple[Any, ...]] = []
        done = []
        for table in tables:
            replayed = replay(table, ratio)
            if replayed is None:
                continue
            done.append(replayed)
            texts = _text(replayed.plain), _text(replayed.with_error), _horizon_text([replayed])
            rows.append((table.name, replayed.fitted, replayed.held_out, *texts))
        rows.append(("all with finite intervals", "", "", *_means(done), _horizon_text(done)))
        out.print(f"\nR = {ratio:g}: % inside / width / error / interval score")
        show_rows(("table", "fitted", "held out", *HEADERS), rows, out)


def _means(done: list[Replayed]) -> tuple[str, str]:
    """The means of both scores over tables whose intervals are finite."""
    pairs = [(replayed.plain, replayed.with_error) for replayed in done]
    finite = [pair for pair in pairs if np.isfinite([x.score for x in pair]).all()]
    if not finite:
        return "none", "none"
    plain, with_error = map(_mean, zip(*finite, strict=True))
    return plain, with_error


def _horizon_text(done: list[Replayed]) -> str:
    """How many rows inside the 2 % horizon are predicted within 2 %."""
    inside, within = (sum(getattr(x, name) for x in done) for name in ("inside_horizon", "within"))
    return f"{within} of {inside} ({100 * within / inside:.0f} %)" if inside else "none"


def _mean(scores: tuple[IntervalScores, ...]) -> str:
    """Mean coverage and error, geometric means of width and interval score."""
    inside, error = (
        float(np.mean([getattr(x, name) for x in scores])) for name in ("inside", "error")
    )
    width, score = (
        float(np.exp(np.mean(np.log([getattr(x, name) for x in scores]))))
        for name in ("width", "score")
    )
    return _text(IntervalScores(error, inside, width, score))


def _text(scores: IntervalScores) -> str:
    """Coverage, width, error and interval score in per cent."""
    inside, width, error, score = (
        100 * x for x in (scores.inside, scores.width, scores.error, scores.score)
    )
    return f"{inside:.0f} / {width:.1f} / {error:.2f} / {score:.1f}"


# ---- the tables


def shipped_and_shared() -> Iterator[Replay]:
    """The tables in ../shared/data, where it is present, and those that ship."""
    if SHARED.exists():
        table = read_table(SHARED / "chinchilla_points" / "chinchilla_points.csv")
        selected = table.numbers("in240") == 1
        yield _chinchilla("chinchilla_points", table, selected)
        for name in ("comma", "dclm"):
            table = read_table(SHARED / "isoflops_dev" / f"{name}.csv")
            selected = table.numbers("outlier") == 0
            yield _chinchilla(name, table, selected, size=table.numbers("C")[selected])
        table = read_table(SHARED / "datablations" / "runs_182_outliers_removed.csv")
        N, D, U, loss = (table.numbers(name) for name in ("N", "D", "U", "loss"))
        yield Replay("datablations", "repeated", {"N": N, "D": D, "U": U, "L": loss}, 6 * N * D)
    table = read_table(ROOT / "laws" / "data" / "code_and_english.csv")
    ends = (np.asarray(table.texts("phase")) == "end") & (table.numbers("step") >= 400)
    for loss_name in ("code", "general"):
        N, D = table.numbers("N")[ends] / 1e9, table.numbers("D")[ends] / 1e9
        r, L = (table.numbers(f"{x}_{loss_name}")[ends] for x in ("r", "L"))
        columns = {"N": N, "D": D, "r": r, "L": L}
        # the branches of a stable run have all but their ends in common
        runs = np.array([f"{n:g} {share:g}" for n, share in zip(N, r, strict=True)])
        settings = {"D_min": 4e-4}
        yield Replay(f"code_and_english, {loss_name}", "dcpt.l3", columns, N * D, N, runs, settings)


def _chinchilla(
    name: str, table: Any, selected: NDArray[np.bool_], size: Array | None = None
) -> Replay:
    N, D, loss = (table.numbers(column)[selected] for column in ("N", "D", "loss"))
    return Replay(name, "chinchilla", {"N": N, "D": D, "L": loss}, 6 * N * D, size)


def _named(arguments: argparse.Namespace) -> Replay:
    """The table, law and cost that the command line names."""
    law = lawdsl.load(arguments.law)
    bound = dict(pair.split("=", 1) for pair in arguments.columns)
    data = common_rows(
        [law],
        read_table(arguments.table),
        FitOptions(columns=bound, where=tuple(arguments.where)),
        positive=True,
        cost=arguments.cost,
    )
    columns = dict(zip((q.name for q in law.variables), data.columns[0], strict=True))
    measured = {**columns, "L": data.target}
    return Replay(arguments.table, arguments.law, measured, costs(data), runs=data.runs)


# ---- simulated worlds


def show_worlds(count: int) -> None:
    """Print the scores of simulated worlds, in which the law is right or nearly so."""
    for ratio in (1.0, 10.0):
        rows = []
        for name, loss in WORLDS.items():
            replays = [replay(world(name, loss, seed), ratio) for seed in range(count)]
            done = [replayed for replayed in replays if replayed is not None]
            rows.append((name, len(done), *_means(done), _horizon_text(done)))
        out.print(f"\nR = {ratio:g}: % inside / width / error / interval score")
        show_rows(("world", "tables", *HEADERS), rows, out)


def world(
    name: str, loss: Callable[[Array, Array, np.random.Generator], Array], seed: int
) -> Replay:
    """42 runs at 7 budgets from 6e18 to 3e21 FLOP, with noise of 0.4 %, Student's t with 5 degrees."""
    rng = np.random.default_rng(seed)
    C = np.repeat(np.geomspace(6e18, 3e21, 7), 6)
    N = np.sqrt(C / 120) * np.tile(np.geomspace(0.2, 5, 6), 7)
    D = C / (6 * N)
    L = loss(N, D, rng) * np.exp(0.004 / np.sqrt(5 / 3) * rng.standard_t(5, size=len(C)))
    return Replay(f"{name} {seed}", "chinchilla", {"N": N, "D": D, "L": L}, C, C)


def show_few_rows(count: int) -> None:
    """Print the coverage of the curve, and of a further run, between the rows of small tables."""
    rows = []
    N = np.array([1.0e8, 1.8e8, 1.2e8, 3.0e8])
    points = {"N": N, "D": N * np.array([20.0, 30.0, 65.0, 10.0])}
    for sizes, ratios in FEW_ROWS:
        for noise in (0.001, 0.004, 0.015):
            scores = np.zeros((count, 2, 3))
            for seed in range(count):
                rng = np.random.default_rng(seed)
                truth = _right(N, points["D"], rng)
                runs = truth * np.exp(noise * rng.standard_normal(len(N)))
                fit = lawdsl.fit(
                    "chinchilla", _grid(sizes, ratios, noise, rng), claims=False, rolled_check=False
                )
                assert isinstance(fit, Fit)
                for i, discrepancy in enumerate((0.0, None)):
                    band = fit.predict_with_errors(points, discrepancy=discrepancy)
                    inside = (band.low <= truth) & (truth <= band.high)
                    width = np.median(np.log(band.high / band.low))
                    run_inside = np.nan
                    if band.run_low is not None and band.run_high is not None:
                        run_inside = np.mean((band.run_low <= runs) & (runs <= band.run_high))
                    scores[seed, i] = np.mean(inside), run_inside, width
            means = 100 * np.mean(scores, axis=0)
            texts = (f"{curve:.0f} / {width:.2f}" for curve, _, width in means)
            rows.append((sizes * len(ratios), f"{100 * noise:g} %", *texts, f"{means[1, 1]:.0f}"))
    out.print("\n% of curves inside / width")
    show_rows(("rows", "noise", *HEADERS[:2], "further runs inside"), rows, out)


def _grid(sizes: int, ratios: Sequence[int], noise: float, rng: np.random.Generator) -> Any:
    """Runs of so many sizes, at ratios of tokens to parameters."""
    N, ratio = (x.ravel() for x in np.meshgrid(np.geomspace(5e7, 4e8, sizes), ratios))
    L = _right(N, N * ratio, rng) * np.exp(noise * rng.standard_normal(len(N)))
    return {"N": N, "D": N * ratio, "L": L}


def _right(N: Array, D: Array, rng: np.random.Generator) -> Array:
    return 1.82 + 482 / N**0.348 + 2085 / D**0.366


def _bend(N: Array, D: Array, rng: np.random.Generator) -> Array:
    """Exponents drift by a standard deviation of 0.06 a decade."""
    a, b = 0.06 * rng.normal(size=2)
    n, d = np.log10(N / 1e9), np.log10(D / 2e10)
    return 1.82 + 482 / N ** (0.348 + a * n / 10) + 2085 / D ** (0.366 + b * d / 10)


def _cross(N: Array, D: Array, rng: np.random.Generator) -> Array:
    """The exponent of D depends on N."""
    b = 0.02 * rng.normal()
    return 1.82 + 482 / N**0.348 + 2085 / D ** (0.366 + b * np.log10(N / 1e9) / 2)


def _floor(N: Array, D: Array, rng: np.random.Generator) -> Array:
    """A slow power of compute lies under E."""
    return 1.82 * (6 * N * D / 1e21) ** -0.04 + 482 / N**0.348 + 2085 / D**0.366


FEW_ROWS = ((3, (5, 20, 80)), (4, (5, 20, 80)), (4, (5, 20, 80, 200)), (6, (5, 20, 80, 200)))
WORLDS = {"right": _right, "bend": _bend, "cross": _cross, "floor": _floor}


if __name__ == "__main__":
    main()
