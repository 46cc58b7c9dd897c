"""Can a discrepancy that is learned from many tables beat that of 2 % per decade?

    python tests/benchmarks/learned_discrepancy.py FOLDER [--worlds 12] [--tables [METHOD...]] [--checkpoints FILE...]

Fits the laws of all tables in ../shared/data and laws/data, and of simulated worlds, to their smaller runs, once:
FOLDER stores what a discrepancy needs of the fits, some megabytes, and the next call continues from there. FILE is a
further table of `lawdsl collect` with checkpoints of its runs; laws/data had one before ffebc7d, which
`git show ffebc7d^:laws/data/python_from_manuals.csv` prints.

Each method of modelling the law's error is judged leave-one-family-out: its numbers are those of the lowest score
on the tables of the other sources, used on those of the source left out. Scores are those of
extrapolation.py; means are over tables of a source, then over sources, geometric for widths and scores. Tables are
excluded whose interval without an error of the law is wider than a factor e: their rows do not determine it.

A method is accepted if it lowers the score by 10 % in the mean over R = 1, 3, 10, its intervals contain 95, 90 and
90 % or no less than the present ones, and are at most 1.3 times as wide as without an error of the law in worlds
where the law is right, at R = 1.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from law_error_variants import Conditioning, Rivals, Variant
from many_tables import FittedCut, all_studies, checkpoints_of, fit_all, worlds
from numpy.typing import NDArray
from rich.console import Console

from lawdsl.comparing.interval_score import MISS
from lawdsl.comparing.largest_first import RATIOS
from lawdsl.reporting.terminal import show_rows

Array = NDArray[np.float64]

MAX_WIDTH = 1.0  # of intervals, in the logarithm, of predictions that the rows determine
COVERAGE = np.array([95.0, 90.0, 90.0])  # that is required at R = 1, 3, 10
GAIN = 0.9  # that a score must fall to
WIDTH_IF_RIGHT = 1.3  # that a width may rise to where the law is right
GEOMETRIC = [1, 3]  # of a score: width and interval score
KERNELS = 30  # drawn at random
PRESENT = Variant()
RIGHT = ("world, right", "world, right, other truth")

out = Console(highlight=False, width=230)


@dataclass(frozen=True, eq=False)
class Task:
    """A table with its largest runs held out, and the laws fitted to the runs below a cut.

    Attributes:
        family, table: its names.
        ratio: R.
        conditioning: of the table's own law.
        rivals: of all laws.
    """

    family: str
    table: str
    ratio: float
    conditioning: Conditioning
    rivals: Rivals

    def scored(self, variant: Variant) -> Array:
        """The score of a variant: coverage, median width, median error, mean score; in per cent."""
        predicting = self.conditioning if variant.rivals is None else self.rivals
        return self._score(*predicting.predict(variant).interval())

    def scored_if_right(self) -> Array:
        """The score without an error of the law."""
        cut, points = self.conditioning.cut, self.conditioning.points
        half = np.hypot(cut.half[points], cut.quantile * cut.noise)
        middle = cut.log_law[points]
        return self._score(middle, middle - half, middle + half)

    def _score(self, middle: Array, low: Array, high: Array) -> Array:
        measured = self.conditioning.cut.log_loss[self.conditioning.points]
        width = high - low
        missed = np.maximum(np.maximum(measured - high, low - measured), 0.0)
        error = np.abs(np.expm1(middle - measured))
        figures = (np.mean(missed == 0), np.median(width), np.median(error))
        return 100 * np.array([*figures, np.mean(width + MISS * missed)])


def stored_tasks(folder: Path) -> Iterator[Task]:
    """The tasks of stored fits in which the table's own law determines the runs held out."""
    for folder_of_table in sorted(path for path in folder.glob("*/*") if path.is_dir()):
        fits: dict[str, dict[float, FittedCut]] = {}
        for law in sorted(folder_of_table.iterdir()):
            fits[law.name] = {float(x.stem): FittedCut.load(x) for x in law.glob("*.npz")}
        cuts = next(iter(fits.values()))
        for ratio in RATIOS:
            if ratio not in cuts:
                continue
            cut = cuts[ratio]
            points = np.flatnonzero(cut.held_out)
            half = np.hypot(cut.half[points], cut.quantile * cut.noise)
            if cut.determined[points].all() and np.max(2 * half) < MAX_WIDTH:
                rivals = Rivals(fits, ratio, points)
                names = (folder_of_table.parent.name, folder_of_table.name)
                yield Task(*names, ratio, Conditioning(cut, points), rivals)


class Judge:
    """Tasks, and means of their scores over families."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        """Take the tasks, and score the present discrepancy."""
        self.tasks = tasks
        names = np.array([task.family for task in tasks])
        self.families, self.family = np.unique(names, return_inverse=True)
        self.ratios = np.array([task.ratio for task in tasks])
        self._scored: dict[Variant, Array] = {}
        self._by_family: dict[Variant, Array] = {}
        self.present = self.scored(PRESENT)

    def scored(self, variant: Variant) -> Array:
        """The scores of a variant, shape (tasks, 4)."""
        if variant not in self._scored:
            self._scored[variant] = np.array([task.scored(variant) for task in self.tasks])
            self._by_family[variant] = self._means(self._scored[variant])
        return self._scored[variant]

    def _means(self, scores: Array) -> Array:
        """Means over the tables of each family at each R, shape (3, families, 4), of logarithms for
        GEOMETRIC; NaN where a family has no table."""
        logs = scores.copy()
        logs[:, GEOMETRIC] = np.log(scores[:, GEOMETRIC])
        means = np.full((len(RATIOS), len(self.families), scores.shape[1]), np.nan)
        for j, ratio in enumerate(RATIOS):
            for k in range(len(self.families)):
                chosen = (self.ratios == ratio) & (self.family == k)
                if chosen.any():
                    means[j, k] = np.mean(logs[chosen], axis=0)
        return means

    def means(self, scores: Array) -> Array:
        """Means over families at each R, shape (3, 4)."""
        means = np.nanmean(self._means(scores), axis=1)
        means[:, GEOMETRIC] = np.exp(means[:, GEOMETRIC])
        return means

    def _judged(self, by_family: Array, families: NDArray[np.bool_]) -> tuple[float, bool]:
        """The score relative to that of the present discrepancy, and whether intervals have the required
        coverage, or at least that of the present ones; over some families."""
        new, old = (
            np.nanmean(x[:, families], axis=1) for x in (by_family, self._by_family[PRESENT])
        )
        required = np.minimum(COVERAGE, old[:, 0])
        return float(np.exp(np.mean(new[:, 3] - old[:, 3]))), bool(
            np.all(new[:, 0] >= required - 1e-9)
        )

    def judged(self, scores: Array) -> tuple[float, bool]:
        """The relative score and whether the coverage suffices, of scores of shape (tasks, 4)."""
        return self._judged(self._means(scores), np.ones(len(self.families), dtype=bool))

    def best(self, variants: Sequence[Variant], without: int = -1) -> Variant:
        """The variant of the lowest score; the present one is among them.

        Args:
            variants: to choose from.
            without: the number of a family that is excluded; -1 for none.
        """
        families = np.arange(len(self.families)) != without
        gains = {PRESENT: 1.0}
        for variant in variants:
            self.scored(variant)
            gains[variant] = self._judged(self._by_family[variant], families)[0]
        return min(gains, key=lambda variant: gains[variant])

    def left_out(self, variants: Sequence[Variant]) -> Array:
        """The scores of each family, of the variant that is the best on the others; (tasks, 4)."""
        scores = np.empty_like(self.present)
        for k in range(len(self.families)):
            inside = self.family == k
            scores[inside] = self.scored(self.best(variants, k))[inside]
        return scores

    def gains_without_a_family(self, scores: Array) -> tuple[float, float]:
        """The least and the largest relative score where one family is not counted."""
        every, means = np.arange(len(self.families)), self._means(scores)
        gains = [self._judged(means, every != k)[0] for k in every]
        return min(gains), max(gains)


def methods() -> Mapping[str, list[Variant]]:
    """Methods of modelling the error of the law: name -> the variants that its numbers are chosen from."""
    smaller = PRESENT.times(0.7)
    spread = [replace(v, spread=x) for v in (PRESENT, smaller) for x in (0.2, 0.3)]
    lower = [replace(v, lower_only=True) for v in spread]
    return {
        "s": [PRESENT.times(x) for x in (0.5, 0.6, 0.7, 0.85, 1.2, 1.5)],
        "kernel": random_kernels(),
        "s of the table, posterior mean": spread,
        "s of the table, integrated": [replace(v, integrated=True) for v in spread],
        "s of the table, at most s": lower,
        "the same, integrated": [replace(v, integrated=True) for v in lower],
        "rival laws": [replace(PRESENT, rivals=x) for x in (1.0, 3.0)],
        "Student's t": [replace(v, dof=5.0) for v in (PRESENT, smaller)],
        "parameters drift": [
            replace(PRESENT.times(x), drift=y) for x in (0.0, 1.0) for y in (0.03, 0.06, 0.1)
        ],
        "δ on the loss above E": [
            replace(PRESENT.times(x), reducible=True) for x in (1.0, 2.0, 3.0)
        ],
        "two quantiles": [replace(v, separate_quantiles=True) for v in (PRESENT, smaller)],
        "together": [
            replace(v, dof=dof, integrated=integrated, separate_quantiles=separate)
            for v, dof, integrated, separate in itertools.product(
                (spread[1], lower[1]), (0.0, 5.0), (False, True), (False, True)
            )
        ],
    }


def random_kernels() -> list[Variant]:
    """Amplitudes of each part, and the length, drawn at random around the present ones."""
    rng = np.random.default_rng(0)

    def drawn(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    return [
        Variant(
            anywhere=drawn(0.006, 0.03),
            length=drawn(0.7, 2.0),
            walk=drawn(0.003, 0.03),
            walk_share=drawn(0.005, 0.05),
            products=drawn(0.004, 0.04),
        )
        for _ in range(KERNELS)
    ]


def main() -> None:
    """Fit what is not stored yet, and judge."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where fits are stored")
    parser.add_argument("--worlds", type=int, default=12, help="simulated worlds of each kind")
    parser.add_argument(
        "--tables", nargs="*", metavar="METHOD", help="print the scores of each table"
    )
    parser.add_argument("--checkpoints", type=Path, nargs="*", default=[], metavar="FILE")
    arguments = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # laws without a value far below their rows
        fit_all(all_studies(), arguments.folder / "real")
        for file in arguments.checkpoints:
            fit_all(checkpoints_of(file), arguments.folder / "real")
        fit_all(worlds(arguments.worlds), arguments.folder / "worlds")
    judge = Judge(list(stored_tasks(arguments.folder / "real")))
    simulated = list(stored_tasks(arguments.folder / "worlds"))
    counts = [int(np.sum(judge.ratios == ratio)) for ratio in RATIOS]
    out.print(f"{len(set(judge.families))} families; tables at R = 1, 3, 10: {counts}")
    show_methods(judge, simulated)
    show_worlds(judge, simulated)
    if arguments.tables is not None:
        show_tables(judge, arguments.tables)


def show_methods(judge: Judge, simulated: Sequence[Task]) -> None:
    """Print the scores of all methods on families that are left out, and which are accepted."""
    right = np.array([task.scored_if_right() for task in judge.tasks])
    widths = width_if_right(simulated, PRESENT)
    rows = [
        (
            "law taken as right",
            *_cells(judge.means(right)),
            f"{judge.judged(right)[0]:.3f}",
            "",
            "1.00",
        ),
        ("present: 2 % per decade", *_cells(judge.means(judge.present)), "1", "", f"{widths:.2f}"),
    ]
    notes = []
    for name, variants in methods().items():
        scores, chosen = judge.left_out(variants), judge.best(variants)
        (gain, covers), width = judge.judged(scores), width_if_right(simulated, chosen)
        least, largest = judge.gains_without_a_family(scores)
        cells = _cells(judge.means(scores))
        range_of_gains = f"{least:.3f} to {largest:.3f}"
        rows.append((name, *cells, f"{gain:.3f}", range_of_gains, f"{width:.2f}"))
        failed = [
            what
            for what, holds in (
                ("score", gain <= GAIN),
                ("coverage", covers),
                ("width if right", width <= WIDTH_IF_RIGHT),
            )
            if not holds
        ]
        verdict = f"not accepted ({', '.join(failed)})" if failed else "accepted"
        learned, covered = judge.judged(judge.scored(chosen))
        fewer = "" if covered else ", with less coverage"
        notes.append(
            f"{name}: {verdict}. Best on all families, {learned:.3f}{fewer}: {_differences(chosen)}"
        )
    out.print("\n% inside / width / error / score, leave-one-family-out")
    titles = ("method", "R = 1", "R = 3", "R = 10", "score", "one family less", "width if right")
    show_rows(titles, rows, out)
    out.print("", *notes, sep="\n")


def _cells(means: Array) -> list[str]:
    return [f"{a:.0f} / {b:.1f} / {c:.2f} / {d:.1f}" for a, b, c, d in means]


def _differences(variant: Variant) -> str:
    """What distinguishes a variant from the present one."""
    pairs = ((name, value) for name, value in vars(variant).items())
    changed = [
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in pairs
        if value != getattr(PRESENT, name)
    ]
    return ", ".join(changed) or "the present one"


def width_if_right(simulated: Sequence[Task], variant: Variant) -> float:
    """The width of intervals where the law is right, relative to that without its error, at R = 1."""
    tasks = [task for task in simulated if task.family in RIGHT and task.ratio == 1]
    logs = [np.log(x.scored(variant)[1] / x.scored_if_right()[1]) for x in tasks]
    return float(np.exp(np.mean(logs))) if logs else float("nan")


def show_worlds(judge: Judge, simulated: Sequence[Task]) -> None:
    """Print the scores of simulated worlds, for what is chosen on all tables."""
    if not simulated:
        return
    chosen = {name: judge.best(variants) for name, variants in methods().items()}
    kinds = sorted({task.family for task in simulated})
    for ratio in RATIOS:
        rows = []
        for name, variant in {"law taken as right": None, "present": PRESENT, **chosen}.items():
            cells = []
            for kind in kinds:
                tasks = [x for x in simulated if x.family == kind and x.ratio == ratio]
                scores = np.array(
                    [x.scored_if_right() if variant is None else x.scored(variant) for x in tasks]
                )
                mean = np.mean(scores, axis=0)
                mean[GEOMETRIC] = np.exp(np.mean(np.log(scores[:, GEOMETRIC]), axis=0))
                cells += _cells(mean[None])
            rows.append((name, *cells))
        out.print(f"\nR = {ratio:g}: % inside / width / error / score")
        show_rows(("method", *kinds), rows, out)


def show_tables(judge: Judge, names: Sequence[str]) -> None:
    """Print the scores of each table: the present ones, and those of some methods.

    Args:
        judge: of the tables.
        names: of methods; where empty, the two of the lowest scores.
    """
    scores_of_method = {name: judge.left_out(variants) for name, variants in methods().items()}
    best = (
        names
        or sorted(scores_of_method, key=lambda name: judge.judged(scores_of_method[name])[0])[:2]
    )
    right = np.array([task.scored_if_right() for task in judge.tasks])
    columns = (right, judge.present, *(scores_of_method[name] for name in best))
    for ratio in RATIOS:
        rows = [
            (task.family, task.table, *(_cells(scores[k : k + 1])[0] for scores in columns))
            for k, task in enumerate(judge.tasks)
            if task.ratio == ratio
        ]
        out.print(f"\nR = {ratio:g}: % inside / width / error / score, leave-one-family-out")
        show_rows(("family", "table", "law taken as right", "present", *best), rows, out)


if __name__ == "__main__":
    main()
