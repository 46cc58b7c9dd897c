"""Laws + protocol -> rankings: every law on every fold, and the laws in order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.comparing.common_rows import CommonRows
from lawdsl.comparing.cross_validation import ComparisonEntry, fit_and_score
from lawdsl.comparing.paired_bootstrap import bootstrap_means, choose_units, draw_unit_counts
from lawdsl.comparing.protocols import Fold, Protocol
from lawdsl.comparing.ranking import RankingData
from lawdsl.comparing.result import FoldResult, RankedLaw, Ranking
from lawdsl.comparing.scores import aicc, log_likelihood, mean_scores

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
FoldResults = Sequence[Sequence[tuple[FoldResult, Array]]]
"""The result of each law on each fold, and the loss of each tested row."""

# of AICc: laws with a smaller difference share ranks (Burnham and Anderson (2002), section 2.6)
AICC_SUPPORT = 4.0


@dataclass(frozen=True)
class _ResamplingUnit:
    """The unit that is resampled for the intervals.

    Attributes:
        name: the name shown in rankings.
        labels: the unit of each row, shape (rows,).
        count: the number of units with test rows.
        drawn: the count of each unit in each draw, shape (draws, units).
        held_out: whether folds hold out whole units, so that resampling captures the variation
            between folds.
    """

    name: str
    labels: Labels
    count: int
    drawn: Array
    held_out: bool


def rankings_by(
    entries: Sequence[ComparisonEntry],
    data: CommonRows,
    protocol: Protocol,
    folds: Sequence[Fold],
    seed: int,
    starts: int,
    report: Callable[[], None],
) -> list[Ranking]:
    """The ranking of the laws by a protocol, and the rankings by each of its parts.

    Args:
        entries: the laws.
        data: the rows.
        protocol: how rows are held out.
        folds: the folds of the protocol.
        seed: the seed of starts and draws.
        starts: the number of starts of each fit.
        report: called after each fit.
    """
    results: list[list[tuple[FoldResult, Array]]] = []
    for entry in entries:
        results.append([])
        for fold in folds:
            results[-1].append(fit_and_score(entry, fold, seed, starts))
            report()
    unit = _resampling_unit(data, protocol, folds, seed)
    if not protocol.held_out:
        ranking_data = _rank_in_sample(entries, results, unit)
        return [_build_ranking(entries, protocol, "", unit, ranking_data, results)]
    means, drawn_means, reach = _held_out_means(entries, folds, results, unit)
    rankings = []
    for part in dict.fromkeys(["", *(fold.part for fold in folds)]):
        fold_numbers = [k for k, fold in enumerate(folds) if part in ("", fold.part)]
        ranking_data = RankingData(
            scores=np.mean(means[:, fold_numbers], axis=1),
            drawn=np.mean(drawn_means[:, fold_numbers], axis=1),
            units=unit.count,
            by_fold=means[:, [] if unit.held_out else fold_numbers],
            reach=np.mean(reach[:, fold_numbers], axis=1),
            margin=entries[0].problem.exact / data.rows,
        )
        part_results = [[result[k] for k in fold_numbers] for result in results]
        rankings.append(_build_ranking(entries, protocol, part, unit, ranking_data, part_results))
    return rankings


def _resampling_unit(
    data: CommonRows, protocol: Protocol, folds: Sequence[Fold], seed: int
) -> _ResamplingUnit:
    """The unit that is resampled: held-out values if they are enough, as they capture the variation
    between folds; else runs, or curves, which are assumed to be runs; else rows.
    """
    rows = np.unique(np.concatenate([fold.test for fold in folds]))
    curves = ("curves", data.curves(protocol.along(data)))
    if data.runs is not None:
        curves = ("runs", data.runs)
    candidates = [curves, ("rows", np.arange(data.rows))]
    by_value = protocol.kind.column and not protocol.kind.along
    if by_value:
        candidates.insert(0, (f"values of {protocol.column}", data.groups(protocol.column)[0]))
    chosen, labels, count = choose_units([labels for _, labels in candidates], rows)
    name = candidates[chosen][0]
    if name == "curves" and count == len(rows):
        name = "rows"  # each curve has a single row
    drawn = draw_unit_counts(int(labels.max()) + 1, data.rows, seed)
    return _ResamplingUnit(name, labels, count, drawn, held_out=by_value and chosen == 0)


def _rank_in_sample(
    entries: Sequence[ComparisonEntry], results: FoldResults, unit: _ResamplingUnit
) -> RankingData:
    """A ranking by AICc.

    The laws are not refitted to the draws, since the likelihood is stationary in the parameters at
    its maximum. This approximation fails for nested laws of which the larger is not needed; but
    then the difference is small, and small differences are treated as 0.
    """
    values, drawn = [], []
    for entry, ((_, loss),) in zip(entries, results, strict=True):
        if not np.all(np.isfinite(loss)):  # the fit failed, or has no value on some row
            values.append(math.inf)
            drawn.append(np.full(len(unit.drawn), np.nan))
            continue
        likelihood = log_likelihood(loss, entry.problem.objective, entry.problem.exact)
        total = float(np.sum(likelihood))
        values.append(aicc(total, entry.problem.parameters, len(loss)))
        by_unit = np.bincount(unit.labels, likelihood, unit.drawn.shape[1])
        drawn.append(values[-1] + 2 * total - 2 * unit.drawn @ by_unit)
    values_of_laws = np.array(values)
    reach = np.stack([values_of_laws, values_of_laws], axis=1)
    return RankingData(
        values_of_laws, np.stack(drawn), unit.count, values_of_laws[:, None], reach, AICC_SUPPORT
    )


def _held_out_means(
    entries: Sequence[ComparisonEntry],
    folds: Sequence[Fold],
    results: FoldResults,
    unit: _ResamplingUnit,
) -> tuple[Array, Array, Array]:
    """The mean loss of the test rows of each law in each fold, shape (laws, folds); that mean in
    each draw, shape (laws, folds, draws); and its smallest and largest value among equally good
    fits, shape (laws, folds, 2)."""
    shape = len(entries), len(folds)
    means = np.empty(shape)
    drawn = np.full((*shape, len(unit.drawn)), np.nan)
    reach = np.empty((*shape, 2))
    for i, (entry, result) in enumerate(zip(entries, results, strict=True)):
        for k, (fold, (fold_result, loss)) in enumerate(zip(folds, result, strict=True)):
            means[i, k] = np.mean(loss)
            reach[i, k] = fold_result.spread or (means[i, k], means[i, k])
            if not fold_result.failed:
                theta = np.array(list(fold_result.parameters.values()))
                drawn[i, k] = bootstrap_means(
                    entry.law, entry.in_fold(fold), fold, theta, unit.labels, unit.drawn
                )
    return means, drawn, reach


def _build_ranking(
    entries: Sequence[ComparisonEntry],
    protocol: Protocol,
    part: str,
    unit: _ResamplingUnit,
    ranking_data: RankingData,
    results: FoldResults,
) -> Ranking:
    """One ranking of the laws."""
    ranks, values = ranking_data.ranks(), ranking_data.scores
    best = int(np.argmin(values))
    ranked_laws = []
    for i, entry in enumerate(entries):
        folds = tuple(result for result, _ in results[i])
        score = float(values[i])
        ranked_law = RankedLaw(
            law=entry.name,
            rank=ranks[i],
            score=score,
            behind=None if i == best else ranking_data.difference(i, best),
            scores=mean_scores([fold.scores for fold in folds if fold.scores is not None]),
            parameters=entry.problem.parameters,
            aicc=None if protocol.held_out else score,
            folds=folds,
        )
        ranked_laws.append(ranked_law)
    name = entries[0].problem.objective.name.replace("L", entries[0].law.output)
    return Ranking(
        protocol=protocol.name,
        part=part,
        criterion=f"mean {name} of a held-out row" if protocol.held_out else "AICc",
        folds=len(results[0]),
        unit=unit.name,
        units=unit.count,
        standings=tuple(ranked_laws[i] for i in np.argsort(values, kind="stable")),
    )
