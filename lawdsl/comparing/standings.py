"""One protocol: every law on every fold, and the laws in their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.comparing.common_rows import Measured
from lawdsl.comparing.cross_validation import Entry, tested
from lawdsl.comparing.paired_bootstrap import drawn_means, draws, units
from lawdsl.comparing.protocols import Fold, Protocol
from lawdsl.comparing.ranking import Judged
from lawdsl.comparing.result import Ranking, Standing, Tested
from lawdsl.comparing.scores import aicc, log_likelihood, mean_scores

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Results = Sequence[Sequence[tuple[Tested, Array]]]
"""What came of each law on each fold, and the loss of each tested row."""

SUPPORT = 4.0  # of AICc: a law that is less far behind has support still (Burnham, Anderson 2002)


@dataclass(frozen=True)
class _Unit:
    """What is drawn for the intervals.

    Attributes:
        name: what it is called.
        labels: the unit of each row, shape (rows,).
        count: how many are tested.
        drawn: how often each is in each draw, shape (draws, units).
        held_out: whether it is what folds leave out, and so shows the noise from fold to fold.
    """

    name: str
    labels: Labels
    count: int
    drawn: Array
    held_out: bool


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
    unit = _unit(data, asked, folds, seed)
    if not asked.held_out:
        judged = _in_sample(entries, results, unit)
        return [_ranking(entries, asked, "", unit, judged, results)]
    means, drawn, reach = _held_out(entries, folds, results, unit)
    rankings = []
    for part in dict.fromkeys(["", *(fold.part for fold in folds)]):
        kept = [k for k, fold in enumerate(folds) if part in ("", fold.part)]
        judged = Judged(
            scores=np.mean(means[:, kept], axis=1),
            drawn=np.mean(drawn[:, kept], axis=1),
            units=unit.count,
            by_fold=means[:, [] if unit.held_out else kept],
            reach=np.mean(reach[:, kept], axis=1),
            margin=entries[0].problem.exact / data.rows,
        )
        own = [[result[k] for k in kept] for result in results]
        rankings.append(_ranking(entries, asked, part, unit, judged, own))
    return rankings


def _unit(data: Measured, asked: Protocol, folds: Sequence[Fold], seed: int) -> _Unit:
    """The values that are left out, where there are enough: they show the noise from fold to fold;
    else curves, of which each is a training run; else rows."""
    rows = np.unique(np.concatenate([fold.test for fold in folds]))
    candidates = [("curves", data.curves(asked.along(data))), ("rows", np.arange(data.rows))]
    by_value = asked.kind.column and not asked.kind.along
    if by_value:
        candidates.insert(0, (f"values of {asked.column}", data.groups(asked.column)[0]))
    which, labels, count = units([labels for _, labels in candidates], rows)
    name = candidates[which][0]
    if name == "curves" and count == len(rows):
        name = "rows"  # each curve is one
    drawn = draws(int(labels.max()) + 1, data.rows, seed)
    return _Unit(name, labels, count, drawn, held_out=by_value and which == 0)


def _in_sample(entries: Sequence[Entry], results: Results, unit: _Unit) -> Judged:
    """A ranking by AICc.

    The fits owe little to their noise here: at its maximum the likelihood does not change with
    the parameters. It does where one law contains the other and needs not; there the difference
    is small, and small ones are taken for none.
    """
    values, drawn = [], []
    for entry, ((_, loss),) in zip(entries, results, strict=True):
        likelihood = log_likelihood(loss, entry.problem.objective, entry.problem.exact)
        total = float(np.sum(likelihood))
        values.append(aicc(total, entry.problem.parameters, len(loss)))
        by_unit = np.bincount(unit.labels, likelihood, unit.drawn.shape[1])
        drawn.append(values[-1] + 2 * total - 2 * unit.drawn @ by_unit)
    alone = np.array(values)
    reach = np.stack([alone, alone], axis=1)
    return Judged(alone, np.stack(drawn), unit.count, alone[:, None], reach, SUPPORT)


def _held_out(
    entries: Sequence[Entry], folds: Sequence[Fold], results: Results, unit: _Unit
) -> tuple[Array, Array, Array]:
    """The mean loss of the tested rows of each law in each fold, shape (laws, folds); the same in
    each draw, (laws, folds, draws); and its least and greatest among fits that are equally good,
    (laws, folds, 2)."""
    shape = len(entries), len(folds)
    means = np.empty(shape)
    drawn = np.full((*shape, len(unit.drawn)), np.nan)
    reach = np.empty((*shape, 2))
    for i, (entry, result) in enumerate(zip(entries, results, strict=True)):
        for k, (fold, (one, loss)) in enumerate(zip(folds, result, strict=True)):
            means[i, k] = np.mean(loss)
            reach[i, k] = one.spread or (means[i, k], means[i, k])
            if not one.failed:
                theta = np.array(list(one.parameters.values()))
                drawn[i, k] = drawn_means(
                    entry.law, entry.problem, fold, theta, unit.labels, unit.drawn
                )
    return means, drawn, reach


def _ranking(
    entries: Sequence[Entry],
    asked: Protocol,
    part: str,
    unit: _Unit,
    judged: Judged,
    results: Results,
) -> Ranking:
    """One ranking of the laws."""
    ranks, values = judged.ranks(), judged.scores
    best = int(np.argmin(values))
    standings = []
    for i, entry in enumerate(entries):
        folds = tuple(result for result, _ in results[i])
        score = float(values[i])
        standing = Standing(
            law=entry.name,
            rank=ranks[i],
            score=score,
            behind=None if i == best else judged.behind(i, best),
            scores=mean_scores([fold.scores for fold in folds if fold.scores is not None]),
            parameters=entry.problem.parameters,
            aicc=None if asked.held_out else score,
            folds=folds,
        )
        standings.append(standing)
    name = entries[0].problem.objective.name.replace("L", entries[0].law.output)
    return Ranking(
        protocol=asked.name,
        part=part,
        criterion=f"mean {name} of a held-out row" if asked.held_out else "AICc",
        folds=len(results[0]),
        unit=unit.name,
        units=unit.count,
        standings=tuple(standings[i] for i in np.argsort(values, kind="stable")),
    )
