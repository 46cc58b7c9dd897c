"""The noise of a pipeline's measurements drawn again and carried to its end.

A parametric bootstrap: the first step's predictions are drawn from their errors, by Student's t with
the degrees of freedom that these are known with, and every later fit is repeated on what is drawn.
Where the rows of a later step scatter more about its law than their errors say, the excess is drawn
too, row by row.

What it covers is the noise that shows as scatter about the laws. It does not cover what all
checkpoints of a run have in common, nor that a law is wrong so far out, nor that checkpoints of a
longer schedule are no finished runs: their loss is too high, by an amount that no residual shows
(Ye et al. 2024 extrapolate such checkpoints all the same, and note levels that are off).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.intervals.prediction_errors import elsewhere
from lawdsl.pipelines.bootstrap_fits import refitted
from lawdsl.pipelines.groups import Fitted
from lawdsl.pipelines.steps import Stage

Array = NDArray[np.float64]

GAUSSIAN = 1e6  # degrees of freedom from which Student's t is none


@dataclass(frozen=True)
class Drawn:
    """What the draws led to.

    Attributes:
        predicted: for each step with a point, the predictions of the groups that are used, in the
            law's unit, shape (draws, groups); nan where a draw led nowhere.
        theta: for each group of the last step that is used, its parameters, shape
            (draws, parameters); empty where there is one step alone.
        failed: how many draws did not end in a minimum everywhere.
    """

    predicted: tuple[Array, ...]
    theta: tuple[Array, ...]
    failed: int


def drawn(
    stages: Sequence[Stage],
    draws: int,
    seed: int,
    report: Callable[[int, int], None] | None = None,
) -> Drawn:
    """Carry noise through a pipeline.

    Args:
        stages: its steps, the first of which predicts with known errors.
        draws: how many.
        seed: of the draws.
        report: called with how many groups are fitted again, and of how many.
    """
    rng = np.random.default_rng([seed, 0xD4A3])
    made = [_first(stages[0], draws, rng)]
    theta: list[Array] = []
    settled = np.ones(draws, dtype=bool)
    count, total = 0, sum(len(stage.used) for stage in stages[1:])
    for before, stage in zip(stages, stages[1:], strict=False):
        source = made[-1] * (stage.to_law / before.to_law)
        theta, ahead = [], []
        for number, group in stage.used:
            targets = source[:, group.rows]
            targets = _scattered(group, targets, float(stage.scatter[number]), rng)
            assert group.problem is not None
            found, done = refitted(group.problem, group.theta, targets)
            settled &= done
            found[~done] = np.nan
            theta.append(found)
            if group.point is not None:
                there = elsewhere(group.problem, group.point)
                ahead.append(there.predictions(found)[:, 0])
            count += 1
            if report is not None:
                report(count, total)
        if ahead:
            made.append(np.array(ahead).T)
    return Drawn(tuple(made), tuple(theta), int(np.sum(~settled)))


def _first(stage: Stage, draws: int, rng: np.random.Generator) -> Array:
    """The predictions of the first step, drawn from their errors."""
    columns = []
    for number, group in stage.used:
        assert group.ahead is not None
        value, free = float(group.ahead.values[0]), float(stage.freedom[number])
        noise = rng.normal(size=draws) if free >= GAUSSIAN else rng.standard_t(free, size=draws)
        noise *= stage.error(number)
        columns.append(value * np.exp(noise / value) if group.ahead.log else value + noise)
    return np.array(columns).T


def _scattered(group: Fitted, targets: Array, scatter: float, rng: np.random.Generator) -> Array:
    """What is drawn for the rows of a group, with the noise that their errors do not explain."""
    assert group.sigma is not None and group.problem is not None
    excess = np.sqrt(max(scatter - 1, 0.0)) * group.sigma
    noise = excess * rng.normal(size=targets.shape)
    return targets * np.exp(noise) if group.problem.objective.log else targets + noise
