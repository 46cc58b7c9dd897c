"""What is wrong with a fit, by name: each finding with its evidence and what to do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.diagnostics import Diagnostic
from lawdsl.fitting.descent import weights
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.transforms import room, to_free, to_parameters
from lawdsl.law import Law

Array = NDArray[np.float64]

FLAT = 1e-7  # smallest over largest singular value of the scaled Jacobian: below, a direction is unseen
SHARE = 0.1  # of an unseen direction: a parameter with less is not named
BOUND = 1e-9  # relative change of the predictions when a parameter is put on its bound


def too_little(law: Law, problem: Problem) -> list[Diagnostic]:
    """What makes a fit impossible before it begins."""
    rows, count = problem.rows, problem.parameters
    if rows < count:
        message = f"{rows} rows, {count} parameters: `{law.name}` needs at least {count} rows"
        return [Diagnostic("D0110", message, help="measure more, or fit a smaller law")]
    if np.ptp(problem.target) == 0:
        message = f"the output has no variation: every row says {problem.target[0]:g}"
        return [Diagnostic("D0111", message, help="bind another column")]
    return []


def unseen(law: Law, problem: Problem, free: Array) -> tuple[list[Diagnostic], frozenset[str]]:
    """Directions in parameter space that the data do not see, and the parameters in them."""
    residual, slopes = problem.residuals_and_slopes(free[None])
    names = [t.name for t in problem.transforms]
    jacobian = slopes[0] * np.sqrt(weights(problem, residual[0]))[:, None]
    jacobian = np.nan_to_num(jacobian)
    length = np.linalg.norm(jacobian, axis=0)
    dead = [i for i in range(len(names)) if length[i] <= 1e-14 * max(length.max(), 1e-300)]
    lost = {names[i] for i in dead}
    alive = [i for i in range(len(names)) if i not in dead]
    directions = [[names[i]] for i in dead]
    if len(alive) > 1:
        _, sizes, rows = np.linalg.svd(jacobian[:, alive] / length[alive], full_matrices=False)
        for size, row in zip(sizes, rows, strict=True):
            if size < FLAT * sizes[0]:
                involved = [names[alive[k]] for k in np.flatnonzero(np.abs(row) > SHARE)]
                directions.append(involved)
                lost |= set(involved)
    found = []
    causes = _causes(law, problem)
    for involved in directions:
        listed = " and ".join(
            [", ".join(involved[:-1]), involved[-1]] if involved[1:] else involved
        )
        rank = problem.parameters - len(directions)
        message = f"{listed} cannot be told apart from these data"
        if len(involved) == 1:
            message = f"{listed} cannot be determined from these data"
        notes = (f"rank {rank} of {problem.parameters}", *causes)
        help = "measure where the law tells them apart, or fit a law without one of them"
        found.append(Diagnostic("F0101", message, notes=notes, help=help))
    return found, frozenset(lost)


def _causes(law: Law, problem: Problem) -> tuple[str, ...]:
    """Why data may not see a direction: a variable with few values, two that move together."""
    causes = []
    with np.errstate(all="ignore"):
        logs = np.log(problem.columns)
    for i, q in enumerate(law.variables):
        values = np.unique(problem.columns[i])
        if len(values) < 3:
            word = "one value" if len(values) == 1 else "two values"
            causes.append(f"{q.name} has {word}: {', '.join(f'{v:g}' for v in values)}")
        for k in range(i):
            ratio = logs[i] - logs[k]
            if np.all(np.isfinite(ratio)) and len(values) > 1 and np.ptp(ratio) < 1e-9:
                other = law.variables[k].name
                causes.append(f"{q.name} = {np.exp(ratio[0]):g} {other} in every row")
    return tuple(causes)


def at_bounds(law: Law, problem: Problem, theta: Array) -> tuple[list[Diagnostic], dict[str, str]]:
    """Parameters that the fit has pushed onto a bound of their domain: name -> lower | upper."""
    values = dict(zip((t.name for t in problem.transforms), theta, strict=True))
    base = problem.predictions(theta[None])[0]
    found, where = [], {}
    for i, q in enumerate(law.parameters):
        near = room(problem.transforms, values).get(q.name)
        if near is None:
            continue
        side, distance = near
        moved = theta.copy()
        moved[i] += -distance if side == "lower" else distance
        there = problem.predictions(moved[None])[0]
        on_it = distance <= 1e-12 * max(abs(theta[i]), 1e-300)
        same = np.all(np.isfinite(there)) and np.max(np.abs(there - base)) <= BOUND * np.max(
            np.abs(base)
        )
        if on_it or same:
            where[q.name] = side
            bound = next((b for b in q.bounds if b.lower == (side == "lower")), q.bounds[0])
            message = f"{q.name} lies on its bound {q.name} {bound.relation} {bound.text}"
            help = "the data would take it further: question the bound, or the law"
            found.append(Diagnostic("F0103", message, "warning", help=help))
    return found, where


def on_bounds(problem: Problem, free: Array, loss: float) -> Array:
    """The same fit with parameters that have run off towards a bound put where rounding ends.

    A bound that is only approached leaves its free number at an arbitrary large value; this makes
    the result the same from every start.
    """
    settled = free.copy()
    for i, transform in enumerate(problem.transforms):
        if transform.lower is None and transform.upper is None:
            continue
        for extreme in (
            (-60.0, 60.0)
            if transform.lower is not None and transform.upper is not None
            else (-60.0,)
        ):
            trial = settled.copy()
            trial[i] = extreme
            theta = to_parameters(problem.transforms, trial[None])
            kept = problem.losses(to_free(problem.transforms, theta)[0][None])[0]
            if abs(settled[i]) > 15 and kept <= loss * (1 + 1e-10):
                settled = trial
                break
    return settled


def agreement_findings(starts: int, agreed: int, given: bool) -> list[Diagnostic]:
    """How far the number of starts that reached the best minimum can be trusted."""
    if given or agreed > max(1, starts // 20):
        return []
    message = f"only {agreed} of {starts} starts reached the best minimum"
    help = "ask for more: --starts 100"
    return [Diagnostic("F0104", message, "warning", help=help)]
