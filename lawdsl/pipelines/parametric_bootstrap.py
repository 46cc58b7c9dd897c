"""Stages of a pipeline -> draws of its predictions and last parameters under its noise.

It is a parametric bootstrap (Efron and Tibshirani (1993), An Introduction to the Bootstrap, section
6.5): the first step's predictions are drawn as prediction + error·t, t from Student's t with the
degrees of freedom of the error, and every later fit is repeated on the draws. If the rows of a
later step scatter more about its law than their errors explain, the excess is drawn too.

It accounts for noise that is visible as scatter about the laws. It accounts for neither errors
common to all checkpoints of a run, nor the error of an extrapolated law, nor the bias of
checkpoints of a longer schedule, which are not finished runs: their loss is too high, by an amount
that no residual reveals (Ye et al. (2024) extrapolate such checkpoints nevertheless, and note
levels that are off).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.intervals.prediction_errors import problem_at
from lawdsl.pipelines.bootstrap_fits import refit
from lawdsl.pipelines.groups import GroupFit
from lawdsl.pipelines.steps import Stage

Array = NDArray[np.float64]

GAUSSIAN_FREEDOM = 1e6  # degrees of freedom above which Student's t is taken as Gaussian


@dataclass(frozen=True)
class BootstrapDraws:
    """The results of the draws.

    Attributes:
        predicted: for each step with a point, the predictions of the groups that are used, in the
            law's unit, shape (draws, groups); nan where a draw did not converge.
        theta: for each group of the last step that is used, its parameters, shape (draws,
            parameters); empty for a single step.
        failed: how many draws did not converge in every group.
    """

    predicted: tuple[Array, ...]
    theta: tuple[Array, ...]
    failed: int


def propagate_noise(
    stages: Sequence[Stage],
    draws: int,
    seed: int,
    report: Callable[[int, int], None] | None = None,
) -> BootstrapDraws:
    """Propagate noise through a pipeline.

    Args:
        stages: its steps, the first of which predicts with known errors.
        draws: the number of draws.
        seed: the seed of the draws.
        report: called with the number of groups refitted, and their total.
    """
    # a stream of its own, so that draws are independent of the starts of the same seed
    rng = np.random.default_rng([seed, 0xD4A3])
    predicted = [_draw_first_predictions(stages[0], draws, rng)]
    theta: list[Array] = []
    settled = np.ones(draws, dtype=bool)
    count, total = 0, sum(len(stage.fitted_groups) for stage in stages[1:])
    for previous_stage, stage in zip(stages, stages[1:], strict=False):
        source = predicted[-1] * (stage.to_law / previous_stage.to_law)
        theta, point_predictions = [], []
        for number, group in stage.fitted_groups:
            targets = source[:, group.rows]
            targets = _add_excess_noise(group, targets, float(stage.scatter[number]), rng)
            assert group.problem is not None
            parameters, is_settled = refit(group.problem, group.theta, targets)
            settled &= is_settled
            # nan excludes the draw from every later step and interval
            parameters[~is_settled] = np.nan
            theta.append(parameters)
            if group.point is not None:
                point_problem = problem_at(group.problem, group.point)
                point_predictions.append(point_problem.predictions(parameters)[:, 0])
            count += 1
            if report is not None:
                report(count, total)
        if point_predictions:
            predicted.append(np.array(point_predictions).T)
    return BootstrapDraws(tuple(predicted), tuple(theta), int(np.sum(~settled)))


def _draw_first_predictions(stage: Stage, draws: int, rng: np.random.Generator) -> Array:
    """The predictions of the first step, drawn from their errors."""
    columns = []
    for number, group in stage.fitted_groups:
        assert group.prediction is not None
        value, freedom = float(group.prediction.values[0]), float(stage.degrees_of_freedom[number])
        noise = (
            rng.normal(size=draws)
            if freedom >= GAUSSIAN_FREEDOM
            else rng.standard_t(freedom, size=draws)
        )
        noise *= stage.error(number)
        # in a law of logarithms the error is relative: noise/value is its error in log(value)
        columns.append(value * np.exp(noise / value) if group.prediction.log else value + noise)
    return np.array(columns).T


def _add_excess_noise(
    group: GroupFit, targets: Array, scatter: float, rng: np.random.Generator
) -> Array:
    """The measured values drawn for the rows of a group, with the noise that their errors do not
    explain.
    """
    assert group.sigma is not None and group.problem is not None
    excess_sigma = np.sqrt(max(scatter - 1, 0.0)) * group.sigma
    noise = excess_sigma * rng.normal(size=targets.shape)
    return targets * np.exp(noise) if group.problem.objective.log else targets + noise
