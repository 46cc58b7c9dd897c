"""The intervals of a fit, by the method that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from lawdsl.choices import METHODS, is_whole
from lawdsl.diagnostics import Diagnostic, LawdslError
from lawdsl.fitting.intervals.bootstrap import bootstrap
from lawdsl.fitting.intervals.delta import delta
from lawdsl.fitting.intervals.noise import Groups
from lawdsl.fitting.intervals.profile import profile
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.records import Intervals
from lawdsl.fitting.transforms import relaxed
from lawdsl.law import Law

Array = NDArray[np.float64]

LEVELS = (0.5, 0.999)
MOST_RESAMPLES = 1_000_000
FEWEST_RESAMPLES = 100
FAILED = 0.05  # of the resamples: more that end nowhere are worth a word


@dataclass(frozen=True)
class Asked:
    """Which intervals are asked for.

    Attributes:
        method: delta, profile or bootstrap.
        level: 0.95 for 95 % intervals.
        resamples: how many fits of a bootstrap.
        seed: of their draws.
    """

    method: str = "delta"
    level: float = 0.95
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            _refuse(f"`{self.method}` is no kind of interval", f"one of {', '.join(METHODS)}")
        if not (isinstance(self.level, Real) and LEVELS[0] <= self.level <= LEVELS[1]):
            _refuse(
                f"`{self.level}` is no level of an interval",
                f"a number from {LEVELS[0]:g} to {LEVELS[1]:g}, such as 0.95",
            )
        if not (is_whole(self.resamples) and FEWEST_RESAMPLES <= self.resamples <= MOST_RESAMPLES):
            _refuse(
                f"`{self.resamples}` is no number of resamples",
                f"a whole number from {FEWEST_RESAMPLES} to {MOST_RESAMPLES:,}",
            )


def _refuse(message: str, wanted: str) -> None:
    raise LawdslError(Diagnostic("F0120", message, help=f"give {wanted}"))


def intervals(
    law: Law,
    problem: Problem,
    theta: Array,
    held: NDArray[np.bool_],
    asked: Asked,
    groups: Groups = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Intervals, Array | None, list[Diagnostic]]:
    """Intervals of the parameters of a fit.

    Args:
        law: the law.
        problem: its fit.
        theta: the fitted parameters, shape (parameters,).
        held: those that have no interval: on a bound, or not determined by the data.
        asked: of what kind.
        groups: which training run each row is of, shape (rows,).
        progress: called with how many resamples are done, and of how many.

    Returns:
        The intervals; parameters at which the objective is lower than at the fit, where the
        search for them has found some; and what there is to say.
    """
    loose = replace(problem, transforms=relaxed(problem.transforms) or problem.transforms)
    names = [q.name for q in law.parameters]
    lower, notes, failed = None, list[Diagnostic](), 0
    spread = delta(loose, theta, held, asked.level, groups)
    errors, low, high = spread.errors, spread.low, spread.high
    if asked.method == "profile":
        found = profile(loose, theta, held, asked.level, groups)
        low, high, lower = found.low, found.high, found.lower
    elif asked.method == "bootstrap":
        drawn = bootstrap(problem, theta, asked.resamples, asked.seed, groups, progress)
        low, high = drawn.ends(asked.level, int(np.sum(~held)))
        errors = drawn.errors()
        failed = int(np.sum(~drawn.settled))
        if failed > FAILED * asked.resamples:
            message = f"{failed} of {asked.resamples} resamples did not end in a minimum"
            help = "believe the intervals less: compare them with --intervals profile"
            notes.append(Diagnostic("F0121", message, "warning", help=help))
    shown = [i for i in range(len(names)) if not held[i] and not np.isnan(low[i] + high[i])]
    by = "rows" if groups is None else "runs"
    resamples = asked.resamples if asked.method == "bootstrap" else 0
    made = Intervals(
        asked.method,
        asked.level,
        by,
        {names[i]: float(errors[i]) for i in shown if np.isfinite(errors[i])},
        {names[i]: (float(low[i]), float(high[i])) for i in shown},
        resamples,
        failed,
    )
    return made, lower, notes
