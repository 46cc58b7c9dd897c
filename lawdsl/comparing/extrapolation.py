"""Laws + folds that hold out the largest runs -> rankings by the intervals of their predictions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lawdsl.comparing.common_rows import CommonRows
from lawdsl.comparing.cross_validation import ComparisonEntry
from lawdsl.comparing.interval_score import LEVEL, further_run_interval, score_intervals
from lawdsl.comparing.paired_bootstrap import MAX_UNITS, draw_unit_counts
from lawdsl.comparing.protocols import Fold, Protocol
from lawdsl.comparing.ranking import RankingData
from lawdsl.comparing.result import FoldResult, IntervalScores, RankedLaw, Ranking
from lawdsl.comparing.scores import mean_scores, scores
from lawdsl.core.diagnostics import LawdslError
from lawdsl.data.default_runs import NO_RUNS
from lawdsl.fitting.extrapolation.discrepancy import DEFAULT_AMPLITUDE
from lawdsl.fitting.fit_single import fit_one
from lawdsl.fitting.options import LEARNED, FitOptions
from lawdsl.fitting.result import Fit

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Results = Sequence[Sequence[tuple[FoldResult, Array]]]
"""The result of each law on each fold, and the interval score of each tested row."""

# fits that fail for these reasons have too few rows, or rows that determine too little
UNDETERMINED = ("D0110", "F0125")
NO_SCORES = IntervalScores(math.nan, math.nan, math.inf, math.inf)


@dataclass(frozen=True)
class FoldFits:
    """How the laws are fitted in each fold.

    Attributes:
        starts: the starts of each fit.
        seed: the seed of the starts and draws.
        discrepancy: the error of the law per decade, as `Fit.predict_with_errors` takes it.
        report: called after each fit.
    """

    starts: int
    seed: int
    discrepancy: float | Literal["learned"] | None
    report: Callable[[], None]

    @property
    def assumption(self) -> str:
        """What the intervals assume about the laws, as text."""
        if isinstance(self.discrepancy, str):
            return "laws as wrong as the smaller runs show"
        amplitude = DEFAULT_AMPLITUDE if self.discrepancy is None else self.discrepancy
        if not amplitude:
            return "laws taken as right"
        return f"laws wrong by {100 * amplitude:g} % per decade"


def rankings_by_intervals(
    entries: Sequence[ComparisonEntry],
    data: CommonRows,
    protocol: Protocol,
    folds: Sequence[Fold],
    fits: FoldFits,
) -> list[Ranking]:
    """The ranking of the laws by the mean over all folds, and one by each fold.

    Folds in which the rows determine no law are left out of the mean. The intervals of differences
    have the noise of the held-out runs alone: the fits are not repeated.

    Args:
        entries: the laws.
        data: the rows.
        protocol: how rows are held out.
        folds: the folds of the protocol, all with the same test rows.
        fits: how the laws are fitted.
    """
    results: list[list[tuple[FoldResult, Array]]] = []
    for entry in entries:
        results.append([])
        for fold in folds:
            results[-1].append(_fit_and_score(entry, data, fold, fits))
            fits.report()
    rankings = []
    for part in ("", *(fold.part for fold in folds)):
        numbers = [k for k, fold in enumerate(folds) if part in ("", fold.part)]
        part_results = [[result[k] for k in numbers] for result in results]
        rankings.append(_ranking(entries, data, protocol, part, folds[0].test, part_results, fits))
    return rankings


def _fit_and_score(
    entry: ComparisonEntry, data: CommonRows, fold: Fold, fits: FoldFits
) -> tuple[FoldResult, Array]:
    """One law on one fold; scores are inf where the rows do not determine its predictions."""
    tested = len(fold.test)
    result = FoldResult(fold.label, fold.part, len(fold.fit), tested, {}, None, starts=fits.starts)
    without_score = np.full(tested, np.inf)
    if not len(fold.fit):
        return replace(result, undetermined="no run is as cheap"), without_score
    law = entry.law
    columns = {n: data.bound[n] for n in (law.output, *(q.name for q in law.variables))}
    variable_columns = {q.name: columns[q.name] for q in law.variables}
    options = FitOptions(
        starts=fits.starts,
        seed=fits.seed,
        claims=False,
        rolled_check=fits.discrepancy == LEARNED,
        columns=columns,
        run=data.run_columns or NO_RUNS,
    )
    all_rows = data.table
    if entry.measured is not None:
        all_rows = entry.measured.table_in_fold(all_rows, data.bound, fold)
    table, points = (all_rows.at(all_rows.rows[rows]) for rows in (fold.fit, fold.test))
    target = entry.problem.target
    try:
        fit = fit_one(law, table, entry.problem.objective, options)
        result = _with_fit(result, fit)
        predicted, low, high = further_run_interval(
            fit, table, target[fold.fit], points, fits.discrepancy, **variable_columns
        )
    except LawdslError as error:
        first = error.diagnostics[0]
        if first.code in UNDETERMINED:
            return replace(result, undetermined=first.message), without_score
        return replace(result, failed=first.message), without_score
    rows = score_intervals(predicted, low, high, target[fold.test])
    undetermined = int(np.sum(~np.isfinite(rows.width)))
    if undetermined:
        message = f"infinite intervals of {undetermined} of {tested} rows"
        result = replace(result, undetermined=message)
    return (
        replace(
            result,
            scores=scores(target[fold.test], predicted, entry.problem.objective),
            interval_scores=rows.summary(),
        ),
        rows.score,
    )


def _with_fit(result: FoldResult, fit: Fit) -> FoldResult:
    return replace(
        result,
        parameters=fit.values,
        agreed=fit.agreement.agreed,
        starts=fit.agreement.starts,
        converged=fit.converged,
    )


def _ranking(
    entries: Sequence[ComparisonEntry],
    data: CommonRows,
    protocol: Protocol,
    part: str,
    test: Labels,
    results: Results,
    fits: FoldFits,
) -> Ranking:
    """One ranking of the laws, by the mean over the held-out rows and then over the folds."""
    by_row = np.array([[score for _, score in result] for result in results])
    unit, drawn = _drawn_units(data, test, fits.seed)
    means = np.mean(by_row, axis=2)
    is_scored = np.isfinite(means).any(axis=0)
    counted = is_scored if is_scored.any() else np.ones(len(is_scored), dtype=bool)
    weights = drawn[:, unit] / np.sum(drawn[:, unit], axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):  # 0 times an infinite score: no interval
        drawn_means = np.mean(by_row[:, counted], axis=1) @ weights.T
    values = np.mean(means[:, counted], axis=1)
    ranking_data = RankingData(
        scores=values,
        drawn=drawn_means,
        units=drawn.shape[1],
        by_fold=means[:, counted],
        reach=np.stack([values, values], axis=1),
    )
    ranks, best = ranking_data.ranks(), int(np.argmin(values))
    laws = []
    for i, entry in enumerate(entries):
        fold_results = tuple(result for result, _ in results[i])
        law = RankedLaw(
            law=entry.name,
            rank=ranks[i],
            score=float(values[i]),
            behind=None if i == best else ranking_data.difference(i, best),
            scores=mean_scores([f.scores for f in fold_results if f.scores is not None]),
            parameters=entry.problem.parameters,
            aicc=None,
            folds=fold_results,
            interval_scores=_mean_intervals(
                [f for f, k in zip(fold_results, counted, strict=True) if k]
            ),
        )
        laws.append(law)
    count = drawn.shape[1]
    return Ranking(
        protocol=protocol.name,
        part=part,
        criterion=f"interval score ({100 * LEVEL:g} %) of a held-out row, {fits.assumption}",
        folds=int(np.sum(counted)),
        unit="rows" if data.runs is None else "runs",
        units=count,
        standings=tuple(laws[i] for i in np.argsort(values, kind="stable")),
    )


def _drawn_units(data: CommonRows, test: Labels, seed: int) -> tuple[Labels, Array]:
    """The unit of each tested row, a run or the row itself, and how often each draw has it."""
    labels = np.arange(len(test)) if data.runs is None else data.runs[test]
    unit = np.unique(labels, return_inverse=True)[1] % MAX_UNITS
    return unit, draw_unit_counts(int(unit.max()) + 1, len(test), seed)


def _mean_intervals(folds: Sequence[FoldResult]) -> IntervalScores:
    """The mean of each score over folds; a fold without a fit has an infinite width and score."""
    parts = [fold.interval_scores or NO_SCORES for fold in folds]
    return IntervalScores(
        *(
            float(np.mean([getattr(part, name) for part in parts]))
            for name in ("error", "inside", "width", "score")
        )
    )
