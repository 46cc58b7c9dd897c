"""Law + columns -> reasons in the design why the rows may not determine parameters."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem

MAX_SUMS = 100  # variables: sums of more are not tested
# relative: distance from a common line up to which two variables count as collinear
COLLINEAR_RTOL = 1e-2


@dataclass(frozen=True)
class Cause:
    """A property of the values of some variables because of which data may not determine a
    direction."""

    variables: frozenset[str]
    short: str
    text: str


def causes(law: PreparedLaw, problem: Problem) -> list[Cause]:
    """Find variables with few values, pairs of variables that move together, and constant sums.

    Args:
        law: the law.
        problem: its fit, with the rows.
    """
    found = []
    for q, column in zip(law.variables, problem.columns, strict=True):
        values = np.unique(column)
        if len(values) < 3:
            short = f"{q.name} has {'one value' if len(values) == 1 else 'two values'}"
            shown = f"{short}: {', '.join(f'{v:g}' for v in values)}"
            found.append(Cause(frozenset({q.name}), short, shown))
    for pair, text in [*ties(law, problem), *sums(law, problem)]:
        found.append(Cause(frozenset(pair), text, text))
    return found


def sums(law: PreparedLaw, problem: Problem) -> list[tuple[set[str], str]]:
    """Find variables whose sum is the same in every row, such as the shares of a whole.

    Args:
        law: the law.
        problem: its fit, with the rows.

    Returns:
        The variables of each sum, and the finding as text.
    """
    moving = [k for k, column in enumerate(problem.columns) if np.ptp(column) > 0]
    found = []
    for count in range(2, len(moving) + 1):
        for chosen in itertools.islice(itertools.combinations(moving, count), MAX_SUMS):
            total = np.sum(problem.columns[list(chosen)], axis=0)
            off = np.ptp(total)
            if off < COLLINEAR_RTOL * min(np.ptp(problem.columns[k]) for k in chosen):
                names = [law.variables[k].name for k in chosen]
                sign = "=" if off < 1e-9 * abs(total[0]) else "≈"
                text = f"{' + '.join(names)} {sign} {np.mean(total):.4g} in every row"
                found.append((set(names), text))
    return found


def ties(law: PreparedLaw, problem: Problem) -> list[tuple[set[str], str]]:
    """Find pairs of variables of which one is a power of the other in every row.

    Args:
        law: the law.
        problem: its fit, with the rows.

    Returns:
        The variables of each pair, and the finding as text.
    """
    found = []
    with np.errstate(all="ignore"):
        logs = np.log(problem.columns)
    for i, q in enumerate(law.variables):
        for k in range(i):
            x, y = logs[k], logs[i]
            if not (
                np.all(np.isfinite(x + y))
                and np.ptp(x) > COLLINEAR_RTOL
                and np.ptp(y) > COLLINEAR_RTOL
            ):
                continue
            # centred, so that slope and height are not collinear
            slope, height = np.polyfit(x - x.mean(), y, 1)
            off = float(np.max(np.abs(y - height - slope * (x - x.mean()))))
            # 1.0: over many decades a percent of the range would be a factor
            if off < COLLINEAR_RTOL * min(np.ptp(y), 1.0):
                power = f"^{slope:.3g}" if abs(slope - 1) > COLLINEAR_RTOL else ""
                factor = np.exp(height - slope * x.mean())
                sign = "=" if off < 1e-9 else "≈"
                text = f"{q.name} {sign} {factor:.4g} {law.variables[k].name}{power} in every row"
                found.append(({q.name, law.variables[k].name}, text))
    return found


def causes_of(law: PreparedLaw, problem: Problem, involved: Sequence[str]) -> tuple[str, ...]:
    """Say why the rows may not determine some parameters: by the design of the variables that their
    effects depend on.

    Args:
        law: the law.
        problem: its fit, with the rows.
        involved: names of the parameters.
    """
    if law.is_large:
        return ()
    return tuple(cause.text for cause in touching(law, involved, causes(law, problem)))


def touching(law: PreparedLaw, involved: Sequence[str], causes: Sequence[Cause]) -> list[Cause]:
    """Select the causes about variables that the effects of some parameters depend on.

    Args:
        law: the law.
        involved: names of the parameters.
        causes: to select from.
    """
    if not causes:
        return []
    touched = set[str]().union(*map(law.symbols_of_slope, involved))
    return [cause for cause in causes if cause.variables & touched]
