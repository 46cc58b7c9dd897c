"""How well predictions hold the largest runs of a table, which no fit has seen.

    python tests/benchmarks/extrapolation.py                       the tables in ../shared/data and laws/data
    python tests/benchmarks/extrapolation.py --worlds 24           simulated worlds, in which the law is nearly right
    python tests/benchmarks/extrapolation.py TABLE LAW COST [NAME=COLUMN...] [--where CONDITION]

The dearest tenth of the runs is held out (of sizes or budgets, the largest), and the law is fitted to the
others that cost at most 1/R of the cheapest one held out, for R = 1, 3 and 10. For predictions without the
error of the law, and with it, the script prints the share of the held-out runs within their 95 % interval, the
median width of the interval, the median error, and the mean interval score, width + 40 times what a run misses
the interval by (Gneiting and Raftery 2007, Journal of the American Statistical Association 102), all in per
cent of the loss. COST is a column, or a product of columns: `6*N*D`.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.data.binding import bind
from lawdsl.data.read import read_table
from lawdsl.fitting.prediction_bands import Band
from lawdsl.fitting.result import Fit
from lawdsl.reporting.terminal import show_rows

Array = NDArray[np.float64]
ROOT = Path(__file__).resolve().parent.parent.parent
SHARED = ROOT.parent / "shared" / "data"
RATIOS = (1.0, 3.0, 10.0)
HELD_OUT = 0.1  # of the runs, the dearest
MISS = 40.0  # the interval score's price of a miss, 2/alpha for 95 %

out = Console(highlight=False, width=200)


@dataclass(frozen=True)
class Replay:
    """A table of finished runs, and the law that is fitted to its smaller ones.

    Attributes:
        name: of the table.
        law: its name.
        columns: variables of the law, and `L`, each shape (rows,), in the law's units.
        cost: of each run, shape (rows,).
        group: what is held out whole: runs of the largest value; None for the dearest tenth.
        runs: labels of the runs, shape (rows,), where rows are checkpoints; else None.
        settings: of the law.
    """

    name: str
    law: str
    columns: Mapping[str, Array]
    cost: Array
    group: Array | None = None
    runs: NDArray[Any] | None = None
    settings: Mapping[str, float] | None = None

    @property
    def held_out(self) -> NDArray[np.bool_]:
        """The rows that are held out, shape (rows,)."""
        if self.group is not None:
            return np.asarray(self.group >= np.max(self.group) * (1 - 1e-9))
        return np.asarray(self.cost >= np.quantile(self.cost, 1 - HELD_OUT))


@dataclass(frozen=True)
class Score:
    """How well a band holds runs: shares, widths, errors and interval scores, in per cent."""

    inside: float
    width: float
    error: float
    score: float

    def __str__(self) -> str:
        return f"{self.inside:.0f} / {self.width:.1f} / {self.error:.2f} / {self.score:.1f}"


def score(predicted: Array, low: Array, high: Array, measured: Array) -> Score:
    """Score the intervals of some runs, in logarithms.

    Args:
        predicted, low, high: predictions and their intervals, shape (runs,).
        measured: shape (runs,).
    """
    low = np.maximum(low, 1e-300)
    width = np.log(high / low)
    missed = np.maximum(np.maximum(np.log(measured / high), np.log(low / measured)), 0.0)
    return Score(
        100 * float(np.mean(missed == 0)),
        100 * float(np.median(width)),
        100 * float(np.median(np.abs(predicted / measured - 1))),
        100 * float(np.mean(width + MISS * missed)),
    )


def replay(table: Replay, ratio: float) -> tuple[Score, Score, int, int] | None:
    """Fit the smaller runs, and score what is predicted of the largest.

    Returns:
        The scores without and with the error of the law, and how many rows were fitted and held out;
        None where the rows left do not determine a fit.
    """
    held_out = table.held_out
    limit = np.min(table.cost[held_out]) / ratio * (1 + 1e-9)
    fitted = ~held_out & ((table.cost <= limit) | (ratio == 1))
    rows: dict[str, Any] = {name: values[fitted] for name, values in table.columns.items()}
    options: dict[str, Any] = {"claims": False, "settings": table.settings}
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
    with_error = fit.predict_with_errors(points)
    assert with_error.run_low is not None and with_error.run_high is not None
    return (
        score(*_with_noise(fit, fit.predict_with_errors(points, discrepancy=0), rows), measured),
        score(with_error.values, with_error.run_low, with_error.run_high, measured),
        int(np.sum(fitted)),
        int(np.sum(held_out)),
    )


def _with_noise(fit: Fit, band: Band, rows: Mapping[str, Array]) -> tuple[Array, Array, Array]:
    """The interval of a further run, were the law right: that of the curve, with the noise of a row."""
    assert fit.spread is not None
    residuals = np.log(rows["L"] / fit.predict({k: v for k, v in rows.items() if k != "L"}))
    noise = np.sqrt(np.sum(residuals**2) / max(len(residuals) - len(fit.parameters), 1))
    quantile = fit.spread.quantile(band.level)
    half = np.hypot(np.log(band.high / band.values), quantile * noise)
    return band.values, band.values * np.exp(-half), band.values * np.exp(half)


def main() -> None:
    """Replay the tables, or the one that is named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("table", nargs="?")
    parser.add_argument("law", nargs="?")
    parser.add_argument("cost", nargs="?")
    parser.add_argument("columns", nargs="*", metavar="NAME=COLUMN")
    parser.add_argument("--where", action="append", default=[])
    parser.add_argument("--worlds", type=int, default=0, help="simulated worlds of each kind")
    asked = parser.parse_args()
    if asked.worlds:
        show_worlds(asked.worlds)
    elif asked.table:
        show_replays([_named(asked)])
    else:
        show_replays(list(shipped_and_shared()))


def show_replays(tables: list[Replay]) -> None:
    """Print the scores of tables for all ratios."""
    for ratio in RATIOS:
        rows, scores = [], []
        for table in tables:
            found = replay(table, ratio)
            if found is None:
                continue
            plain, with_error, fitted, held_out = found
            rows.append((table.name, fitted, held_out, str(plain), str(with_error)))
            scores.append((plain, with_error))
        finite = [pair for pair in scores if np.isfinite([x.score for x in pair]).all()]
        rows.append(("all with finite intervals", "", "", *map(_mean, zip(*finite, strict=True))))
        out.print(f"\nR = {ratio:g}: % inside / width / error / interval score")
        show_rows(
            ("table", "fitted", "held out", "law taken as right", "with its error"), rows, out
        )


def _mean(scores: tuple[Score, ...]) -> str:
    """Mean coverage, geometric means of width and interval score."""
    inside = float(np.mean([x.inside for x in scores]))
    width, score = (
        np.exp(np.mean(np.log(x))) for x in zip(*((s.width, s.score) for s in scores), strict=True)
    )
    error = float(np.mean([x.error for x in scores]))
    return str(Score(inside, float(width), error, float(score)))


# ---- the tables


def shipped_and_shared() -> Iterator[Replay]:
    """The tables in ../shared/data, where it is present, and those that ship."""
    if SHARED.exists():
        table = read_table(SHARED / "chinchilla_points" / "chinchilla_points.csv")
        kept = table.numbers("in240") == 1
        yield _chinchilla("chinchilla_points", table, kept)
        for name in ("comma", "dclm"):
            table = read_table(SHARED / "isoflops_dev" / f"{name}.csv")
            kept = table.numbers("outlier") == 0
            yield _chinchilla(name, table, kept, group=table.numbers("C")[kept])
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
    name: str, table: Any, kept: NDArray[np.bool_], group: Array | None = None
) -> Replay:
    N, D, loss = (table.numbers(column)[kept] for column in ("N", "D", "loss"))
    return Replay(name, "chinchilla", {"N": N, "D": D, "L": loss}, 6 * N * D, group)


def _named(asked: argparse.Namespace) -> Replay:
    """The table, law and cost that the command line names."""
    law = lawdsl.load(asked.law)
    bound = dict(pair.split("=", 1) for pair in asked.columns)
    table = read_table(asked.table)
    rows = bind(law, table, bound, where=asked.where)
    assert rows.target is not None
    columns = dict(zip((q.name for q in law.variables), rows.columns, strict=True))
    cost = np.ones(len(rows.target))
    for factor in asked.cost.split("*"):
        cost = cost * (columns[factor] if factor in columns else float(factor))
    return Replay(asked.table, asked.law, {**columns, "L": rows.target}, cost)


# ---- simulated worlds


def show_worlds(count: int) -> None:
    """Print the scores of simulated worlds, in which the law is right or nearly so."""
    for ratio in (1.0, 10.0):
        rows = []
        for name, loss in WORLDS.items():
            found = [replay(world(name, loss, seed), ratio) for seed in range(count)]
            pairs = [(pair[0], pair[1]) for pair in found if pair is not None]
            rows.append((name, len(pairs), *map(_mean, zip(*pairs, strict=True))))
        out.print(f"\nR = {ratio:g}: % inside / width / error / interval score")
        show_rows(("world", "tables", "law taken as right", "with its error"), rows, out)


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


WORLDS = {"right": _right, "bend": _bend, "cross": _cross, "floor": _floor}


if __name__ == "__main__":
    main()
