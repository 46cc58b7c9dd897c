"""The answer to a question -> a sum of logarithms of its laws, whose variance runs can lower.

Of a question with one unknown, the true laws are drawn jointly along it, as for the interval of the
answer; the best choice of each draw is regressed on the errors of the laws in that draw, in their
principal components. The slopes are the weights of the laws at values of the unknown:

    choice ≈ Σ_k w_k·log L_k,    rest = the variance of the choices that this leaves

Of a question with several unknowns the targets are its laws at the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.designing.runs.aim import Aim
from lawdsl.designing.runs.hypotheses import LawTarget, check_rows
from lawdsl.designing.runs.records import TargetEstimate
from lawdsl.fitting.extrapolation.discrepancy import DEFAULT_AMPLITUDE
from lawdsl.solving.law_error.choices import Choices
from lawdsl.solving.law_error.draws import drawn_choices
from lawdsl.solving.law_error.law_values import LawValues, NoLawError
from lawdsl.solving.law_error.outcomes import Outcomes
from lawdsl.solving.result import Answer
from lawdsl.solving.solve import Asked

Array = NDArray[np.float64]

COMPONENTS = 12  # of the errors of the laws along the unknown: they are smooth
MIN_ANSWERED = 0.5  # of the draws that must have a choice


def aim_at_answer(
    asked: Asked, values: Mapping[str, Any], discrepancy: float | None = None, seed: int = 0
) -> tuple[Aim, Answer]:
    """The answer to a question as the target.

    Args:
        asked: the question with its fits.
        values: of its givens and settings.
        discrepancy: standard deviation of log L per decade; None for 2 %.
        seed: of the draws.

    Returns:
        The aim, and the answer by the present fits.

    Raises:
        LawdslError: no answer (N0107), or a fit of whose law the error is not known (N0104).
    """
    amplitude = DEFAULT_AMPLITUDE if discrepancy is None else discrepancy
    answer = asked.answer(values, discrepancy=amplitude, seed=seed, proofs=False)
    if not answer.ok:
        message = f"`{answer.question}` has no answer by the present fits: {answer.status}"
        help = "see `lawdsl solve` for what prevents it, or aim at a prediction: --target"
        raise LawdslError(Diagnostic("N0107", message, help=help))
    for fit in asked.fits.values():
        check_rows(fit)
    outcomes = asked.outcomes(values, amplitude)
    try:
        choices = asked.choices(outcomes)
    except NoLawError:
        return _laws_at_answer(outcomes, answer), answer
    aim = _choice(choices, answer, seed)
    return (_undetermined(_laws_at_answer(outcomes, answer)) if aim is None else aim), answer


def _undetermined(aim: Aim) -> Aim:
    """The laws at the answer as targets, as long as the runs leave the answer itself open.

    That the laws are known there does not make the answer known: no interval is said to be.
    """
    unknown = tuple(replace(estimate, half=np.inf) for estimate in aim.estimates)
    return replace(aim, estimates=unknown)


def _choice(choices: Choices, answer: Answer, seed: int) -> Aim | None:
    """The best choice of the one unknown; None if too few draws of the laws have one."""
    name = choices.unknown.name
    chosen = next(u for u in answer.unknowns if u.name == name)
    grid = choices.grid(chosen.value)
    grid = grid[choices.within_reach(grid, chosen.value)]
    drawn = drawn_choices(choices, grid, chosen.value, np.random.default_rng([seed, 0xD351]))
    known = np.isfinite(drawn.best.point)
    half = np.inf
    if (
        answer.law_error is not None
        and name in answer.law_error.ends
        and np.mean(known) >= MIN_ANSWERED
    ):
        low, high = answer.law_error.ends[name]
        half = (high - low) / 2 / abs(chosen.value) if chosen.value else np.inf
    if np.sum(known) < 2 * COMPONENTS:
        return None
    points = drawn.best.point[known]
    weights, rest = _regression(choices.laws, drawn.laws[:, known], points)
    estimate = TargetEstimate(name, chosen.unit, chosen.value, float(half))
    arguments = choices.law_points(drawn.points)
    targets = []
    for fit in choices.laws.fits:
        columns = np.hstack([arguments[i] for i in fit.calls])
        targets.append(
            LawTarget(fit.fit, columns, np.hstack([weights[i] for i in fit.calls])[None])
        )
    return Aim(
        answer.question, (estimate,), (tuple(targets),), (np.array([rest]),), answer.diagnostics
    )


def _regression(laws: LawValues, drawn: Array, points: Array) -> tuple[Array, float]:
    """Weights of the logarithms of the laws at the points of the grid, and the variance left.

    Args:
        laws: the laws at values.
        drawn: their true values, shape (calls, draws, points of the grid).
        points: the best choice of each draw, shape (draws,).

    Returns:
        Shape (calls, points of the grid), and a number.
    """
    calls, draws, width = drawn.shape
    with np.errstate(all="ignore"):
        logs = np.log(drawn) if all(f.of_logs for f in laws.fits) else drawn
    errors = np.nan_to_num(logs - np.mean(logs, axis=1, keepdims=True))
    matrix = np.swapaxes(errors, 0, 1).reshape(draws, calls * width)
    u, s, vt = np.linalg.svd(matrix, full_matrices=False)
    kept = slice(0, min(COMPONENTS, int(np.sum(s > 1e-6 * s[0])) if len(s) else 0))
    centred = points - np.mean(points)
    slopes = u[:, kept].T @ centred
    rest = float(np.sum((centred - u[:, kept] @ slopes) ** 2) / max(1, draws - 1))
    weights = (slopes / s[kept]) @ vt[kept]
    return np.asarray(weights.reshape(calls, width)), rest


def _laws_at_answer(outcomes: Outcomes, answer: Answer) -> Aim:
    """The laws of a question at its answer."""
    laws = outcomes.laws
    inputs = outcomes.inputs_at({u.name: u.value for u in answer.unknowns})
    arguments = laws.arguments(inputs, 1)
    known = laws.at_points(arguments)
    total, estimates, targets = len(laws.calls), list[TargetEstimate](), []
    for i, call in enumerate(laws.calls):
        half = float(np.expm1(1.96 * known.deviations[i, 0]))
        value = float(known.values[i, 0])
        determined = np.isfinite(value)
        text = f"{call.source.use} at the answer"
        estimates.append(TargetEstimate(text, "", value, half if determined else np.inf))
    for fit in laws.fits:
        columns = np.hstack([arguments[i] for i in fit.calls])
        weights = np.zeros((total, len(fit.calls)))
        weights[list(fit.calls), np.arange(len(fit.calls))] = 1.0
        targets.append(LawTarget(fit.fit, columns, weights))
    return Aim(
        answer.question, tuple(estimates), (tuple(targets),), (np.zeros(total),), answer.diagnostics
    )
