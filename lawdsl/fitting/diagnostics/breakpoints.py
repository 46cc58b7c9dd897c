"""Fitted parameters in the conditions of a piecewise law -> findings about them.

Where such a parameter passes a row, the row changes parts: the objective jumps or has a kink there.
Its minimum in the parameter is that of one of several pieces, and the curvature at the minimum says
nothing of the other pieces.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.enumerations import conjunction
from lawdsl.fitting.prepared_law import PreparedLaw, UnidentifiableDirections
from lawdsl.fitting.problem import Problem

Array = NDArray[np.float64]

RANGE_RTOL = 1e-6  # of a range of equally good values, to which its ends are known
MAX_DOUBLINGS = 40  # of the distance from the optimum
LOSS_RTOL = 1e-12  # of losses that are equal up to rounding


def flat_breakpoints(
    names: Iterable[str], law: PreparedLaw, problem: Problem, theta: Array
) -> set[str]:
    """Those of which no row's prediction depends smoothly: they decide which part holds, no more.

    Args:
        names: parameters in conditions.
        law: the law.
        problem: the objective, with its data.
        theta: the fitted parameters, shape (parameters,).
    """
    chosen = set(names)
    if not chosen:
        return set()
    _, slopes = problem.slopes(theta[None])
    return {
        q.name
        for k, q in enumerate(law.parameters)
        if q.name in chosen and not np.any(slopes[0][:, k])
    }


def without(directions: UnidentifiableDirections, flat: set[str]) -> UnidentifiableDirections:
    """The directions that the rows are not asked for, with those of breakpoints.

    Args:
        directions: those of the law.
        flat: parameters that decide which part holds, and do no more.
    """
    more = flat - directions.fixed
    return replace(directions, count=directions.count + len(more), fixed=directions.fixed | more)


def breakpoint_findings(
    names: tuple[str, ...], flat: Iterable[str], law: PreparedLaw, problem: Problem, theta: Array
) -> list[Diagnostic]:
    """A warning about fitted parameters in conditions, with the values that fit as well.

    Args:
        names: those parameters.
        flat: those that decide which part holds, and do no more.
        law: the law.
        problem: the objective, with its data.
        theta: the fitted parameters, shape (parameters,).
    """
    if not names:
        return []
    notes = []
    for k, q in enumerate(law.parameters):
        if q.name in set(flat):
            low, high = _equally_good(problem, theta, k)
            start = f" from {low:.4g}" if np.isfinite(low) else ""
            stop = f" to {high:.4g}" if np.isfinite(high) else ""
            notes.append(f"any {q.name}{start}{stop} fits as well")
    decide = "decides" if len(names) == 1 else "decide"
    message = f"{conjunction(list(names))} {decide} which part of the law holds for a row"
    notes.append("the intervals are those of a fit in which no row changes parts")
    help = f"compare fits with {names[0]} held, --fix {names[0]}=VALUE"
    return [Diagnostic("F0158", message, "warning", notes=tuple(notes), help=help)]


def _equally_good(problem: Problem, theta: Array, k: int) -> tuple[float, float]:
    """The range about a parameter in which the objective is the same, up to its domain's ends; an
    infinite end where there is none."""
    ends = []
    for side, limit in zip((-1.0, 1.0), problem.transforms[k].sides, strict=True):
        inside, step = 0.0, max(abs(theta[k]), 1.0) * 1e-3
        outside = None
        for _ in range(MAX_DOUBLINGS):
            if not _same(problem, theta, k, side * step):
                outside = step
                break
            inside, step = step, 2 * step
        while outside is not None and outside - inside > RANGE_RTOL * max(abs(theta[k]), inside):
            middle = (inside + outside) / 2
            if _same(problem, theta, k, side * middle):
                inside = middle
            else:
                outside = middle
        room = np.inf if limit is None else side * (float(limit.at(theta[None])[0]) - theta[k])
        ends.append(float(theta[k] + side * min(np.inf if outside is None else inside, room)))
    return ends[0], ends[1]


def _same(problem: Problem, theta: Array, k: int, step: float) -> bool:
    other = theta.copy()
    other[k] += step
    plain = replace(problem, penalty=None)
    with np.errstate(all="ignore"):
        before, after = plain.losses_at(np.stack([theta, other]))
    return bool(abs(after - before) <= LOSS_RTOL * max(abs(before), problem.exact))
