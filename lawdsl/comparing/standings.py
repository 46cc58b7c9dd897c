"""One protocol: every law on every fold, and the laws in their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from lawdsl.comparing.folds import Fold, Protocol
from lawdsl.comparing.measured import Measured
from lawdsl.comparing.ranking import Judged, units
from lawdsl.comparing.records import Ranking, Standing, Tested
from lawdsl.comparing.scores import Scores, aicc, log_likelihood, mean_scores
from lawdsl.comparing.testing import Entry, tested

Array = NDArray[np.float64]
Results = Sequence[Sequence[tuple[Tested, Array]]]
"""What came of each law on each fold, and the loss of each tested row."""


def rankings_by(
    entries: Sequence[Entry],
    data: Measured,
    asked: Protocol,
    folds: Sequence[Fold],
    seed: int,
    starts: int,
    report: Callable[[], None],
) -> list[Ranking]:
    """The ranking of the laws by a protocol, and one by each of its parts."""
    results: list[list[tuple[Tested, Array]]] = []
    for entry in entries:
        results.append([])
        for fold in folds:
            results[-1].append(tested(entry, fold, seed, starts))
            report()
    parts = list(dict.fromkeys(fold.part for fold in folds if fold.part))
    rankings = []
    for part in ["", *parts]:
        kept = [i for i, fold in enumerate(folds) if part in ("", fold.part)]
        own = [[result[i] for i in kept] for result in results]
        ranked = _ranking(entries, data, asked, part, [folds[i] for i in kept], own, seed)
        rankings.append(ranked)
    return rankings


def _ranking(
    entries: Sequence[Entry],
    data: Measured,
    asked: Protocol,
    part: str,
    folds: Sequence[Fold],
    results: Results,
    seed: int,
) -> Ranking:
    """One ranking of the laws."""
    unit, judged = _judged(entries, data, asked, folds, results, seed)
    ranks, values = judged.ranks(), judged.scores
    best = int(np.argmin(values))
    standings = [
        Standing(
            law=entry.name,
            rank=ranks[i],
            score=float(values[i]),
            behind=None if i == best else judged.behind(i, best),
            scores=_mean(results[i]),
            parameters=entry.problem.parameters,
            aicc=None if asked.held_out else float(values[i]),
            folds=tuple(result for result, _ in results[i]),
        )
        for i, entry in enumerate(entries)
    ]
    name = entries[0].problem.objective.name.replace("L", entries[0].law.output)
    return Ranking(
        protocol=asked.name,
        part=part,
        criterion=f"mean {name} of a held-out row" if asked.held_out else "AICc",
        folds=len(folds),
        unit=unit,
        units=int(judged.units.max()) + 1,
        standings=tuple(standings[i] for i in np.argsort(values, kind="stable")),
    )


def _unit(
    data: Measured, asked: Protocol, rows: NDArray[np.int64]
) -> tuple[str, NDArray[np.int64]]:
    """What is drawn for the intervals, and which one each of the rows belongs to.

    The values that are left out where there are enough, since they show the noise from fold to
    fold; else curves, of which each is a training run; else rows.
    """
    candidates = [("curves", data.curves(asked.along(data))), ("rows", np.arange(data.rows))]
    if asked.held_out and not asked.kind.along:
        candidates.insert(0, (f"values of {asked.column}", data.groups(asked.column)[0]))
    which, own = units([labels for _, labels in candidates], rows)
    name = candidates[which][0]
    alone = name == "curves" and own.max() + 1 == len(rows)  # each curve is one row
    return "rows" if alone else name, own


def _in_sample(entries: Sequence[Entry], results: Results) -> tuple[Array, Array]:
    """What each row adds to each law's AICc, shape (laws, rows), and the penalties."""
    parts, penalties = [], []
    for entry, ((_, loss),) in zip(entries, results, strict=True):
        likelihood = log_likelihood(loss, entry.problem.objective, entry.problem.exact)
        total = float(np.sum(likelihood))
        parts.append(-2 * likelihood)
        penalties.append(aicc(total, entry.problem.parameters, len(loss)) + 2 * total)
    return np.stack(parts), np.array(penalties)


def _held_out(
    data: Measured, folds: Sequence[Fold], results: Results
) -> tuple[Array, Array, Array]:
    """What each row adds to each law's mean over folds, shape (laws, rows); each law's mean in
    each fold, (laws, folds); and the least and greatest of equally good fits, (laws, 2)."""
    parts = np.zeros((len(results), data.rows))
    by_fold = np.empty((len(results), len(folds)))
    reach = np.empty((len(results), 2))
    for i, result in enumerate(results):
        spreads = []
        for k, (fold, (one, loss)) in enumerate(zip(folds, result, strict=True)):
            parts[i, fold.test] += loss / len(loss) / len(folds)
            by_fold[i, k] = np.mean(loss)
            spreads.append(one.spread or (by_fold[i, k], by_fold[i, k]))
        reach[i] = np.mean(np.array(spreads), axis=0)
    return parts, by_fold, reach


def _judged(
    entries: Sequence[Entry],
    data: Measured,
    asked: Protocol,
    folds: Sequence[Fold],
    results: Results,
    seed: int,
) -> tuple[str, Judged]:
    """What is drawn for the intervals, and what the ranking is made of."""
    rows = np.unique(np.concatenate([fold.test for fold in folds]))
    unit, own = _unit(data, asked, rows)
    if not asked.held_out:
        parts, penalties = _in_sample(entries, results)
        alone = (np.sum(parts, axis=1) + penalties)[:, None]
        return unit, Judged(parts, penalties, own, alone, np.hstack([alone, alone]), seed=seed)
    parts, by_fold, reach = _held_out(data, folds, results)
    if unit.startswith("values"):  # the units show the noise from fold to fold
        by_fold = by_fold[:, :0]
    exact = entries[0].problem.exact / data.rows
    return unit, Judged(parts[:, rows], np.zeros(len(entries)), own, by_fold, reach, exact, seed)


def _mean(results: Sequence[tuple[Tested, Array]]) -> Scores:
    return mean_scores([result.scores for result, _ in results if result.scores is not None])
