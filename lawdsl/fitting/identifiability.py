"""Which parameters the data determine: directions in parameter space that they do not see."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.diagnostics import Diagnostic
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.starts import linear_parameters
from lawdsl.fitting.transforms import room
from lawdsl.law import Law

Array = NDArray[np.float64]

FLAT = 1e-7  # smallest over largest singular value: below, a direction is unseen without any noise
WIDE = 2.0  # standard errors of a parameter in units of its own size: above, it says nothing
EXACT = 1e-12  # the same: below, rounding alone says which parameters are in the direction
SHARE = 0.1  # of an unseen direction: a parameter with less is not named
SHARE_EXACT = 1e-4  # of one that is unseen exactly
DEAD = 1e-9  # effect of a parameter, relative to the spread of the output
TIED = 1e-2  # relative: how far two variables that move together may be from their line


def unseen(
    law: Law, problem: Problem, theta: Array, on_bound: Iterable[str], elsewhere: Array
) -> tuple[list[Diagnostic], frozenset[str]]:
    """Directions in parameter space that the data do not see, and the parameters in them.

    A direction is unseen where the noise of the residuals hides a step along it that takes a
    parameter further than twice its own size; or where nothing changes along it wherever one
    looks, although the fit may have ended where that does not show.

    Args:
        law: the law.
        problem: its fit.
        theta: the fitted parameters, shape (parameters,).
        on_bound: names of those that lie on a bound, where they are held.
        elsewhere: other parameters in the domain, shape (points, parameters).
    """
    names = [q.name for q in law.parameters]
    linear = linear_parameters(law)
    residual, jacobian = (x[0] for x in problem.slopes(theta[None]))
    jacobian = np.nan_to_num(jacobian)
    length = np.linalg.norm(jacobian, axis=0)
    spread = np.sqrt(problem.rows) * _spread(problem)
    reach = np.array([np.inf if i in linear else max(1.0, abs(x)) for i, x in enumerate(theta)])
    held = np.array([n in on_bound and i not in linear for i, n in enumerate(names)])
    with np.errstate(all="ignore"):
        dead = ~(length * reach > DEAD * spread)
        size = np.maximum(np.abs(theta), spread / length)  # of a parameter without a scale
    directions = [{names[i]} for i in np.flatnonzero(dead & ~held)]
    alive = np.flatnonzero(~dead & ~held)
    rooms = room(problem.transforms, dict(zip(names, theta, strict=True)))
    for i in alive:
        if names[i] in rooms and names[i] not in on_bound:
            size[i] = max(abs(theta[i]), rooms[names[i]][1])
    if len(alive):
        scaled = jacobian[:, alive] / length[alive]
        _, widths, rows = np.linalg.svd(np.linalg.qr(scaled, mode="r"))
        noise = _noise(residual, problem.parameters)
        for width, row in zip(widths, rows, strict=True):
            step = np.max(np.abs(row) / (length * size)[alive]) * noise
            if width < FLAT * widths[0] or step > WIDE * width:
                share = SHARE_EXACT if width < EXACT * widths[0] else SHARE
                directions.append({names[alive[k]] for k in np.flatnonzero(np.abs(row) > share)})
    count, structural = _nowhere_seen(problem, np.vstack([theta, elsewhere]), names)
    causes = _causes(law, problem)
    rank = f"rank {problem.parameters - max(len(directions), count)} of {problem.parameters}"
    groups = _merged([*directions, *structural])
    found = [_finding([n for n in names if n in group], (rank, *causes)) for group in groups]
    return found or _tied(law, problem), frozenset().union(*groups)


def _nowhere_seen(problem: Problem, points: Array, names: list[str]) -> tuple[int, list[set[str]]]:
    """How many directions change nothing at any of some points, and what is in them."""
    none = problem.parameters + 1
    fewest, involved = none, list[set[str]]()
    for theta in points:
        jacobian = problem.slopes(theta[None])[1][0]
        if not np.all(np.isfinite(jacobian)):
            continue
        length = np.linalg.norm(jacobian, axis=0)
        scaled = jacobian / np.where(length > 0, length, 1.0)
        _, widths, rows = np.linalg.svd(np.linalg.qr(scaled, mode="r"))
        exact = rows[widths < EXACT * max(widths[0], 1.0)]
        found = [{names[k] for k in np.flatnonzero(np.abs(row) > SHARE_EXACT)} for row in exact]
        if len(found) <= fewest:
            involved = [*involved, *found] if len(found) == fewest else found
            fewest = len(found)
        if not fewest:
            break
    return (0, []) if fewest == none else (fewest, involved)


def _merged(sets: list[set[str]]) -> list[set[str]]:
    """Sets that have something in common become one."""
    groups: list[set[str]] = []
    for one in sets:
        apart = [group for group in groups if not group & one]
        groups = [*apart, one.union(*(group for group in groups if group & one))]
    return groups


def _finding(involved: list[str], notes: tuple[str, ...]) -> Diagnostic:
    what = "told apart from" if involved[1:] else "determined from"
    message = f"{_listed(involved)} cannot be {what} these data"
    help = "measure where the law tells them apart, or fit a law without one of them"
    return Diagnostic("F0101", message, notes=notes, help=help)


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _spread(problem: Problem) -> float:
    """How far the measured values lie apart, in the units of a residual."""
    return float(np.std(np.log(problem.target) if problem.objective.log else problem.target))


def _noise(residual: Array, parameters: int) -> float:
    """The standard deviation of a residual, from their median: a few outliers do not matter."""
    rows = len(residual)
    freedom = np.sqrt(rows / max(rows - parameters, 1))
    return float(1.4826 * np.median(np.abs(residual)) * freedom)


def _causes(law: Law, problem: Problem) -> tuple[str, ...]:
    """Why data may not see a direction: a variable with few values, two that move together."""
    causes = []
    for q, column in zip(law.variables, problem.columns, strict=True):
        values = np.unique(column)
        if len(values) < 3:
            word = "one value" if len(values) == 1 else "two values"
            causes.append(f"{q.name} has {word}: {', '.join(f'{v:g}' for v in values)}")
    return (*causes, *(cause for _, cause in _ties(law, problem)))


def _ties(law: Law, problem: Problem) -> list[tuple[set[sp.Symbol], str]]:
    """Pairs of variables of which one is a power of the other in every row."""
    found = []
    with np.errstate(all="ignore"):
        logs = np.log(problem.columns)
    for i, q in enumerate(law.variables):
        for k in range(i):
            x, y = logs[k], logs[i]
            if not (np.all(np.isfinite(x + y)) and np.ptp(x) > TIED and np.ptp(y) > TIED):
                continue
            slope, height = np.polyfit(x - x.mean(), y, 1)
            off = float(np.max(np.abs(y - height - slope * (x - x.mean()))))
            if off < TIED * min(np.ptp(y), 1.0):
                power = f"^{slope:.3g}" if abs(slope - 1) > TIED else ""
                factor = np.exp(height - slope * x.mean())
                sign = "=" if off < 1e-9 else "≈"
                text = f"{q.name} {sign} {factor:.4g} {law.variables[k].name}{power} in every row"
                found.append(({q.symbol, law.variables[k].symbol}, text))
    return found


def _tied(law: Law, problem: Problem) -> list[Diagnostic]:
    """A warning where only the law's form tells the effects of two variables apart."""
    found = []
    for pair, cause in _ties(law, problem):
        slopes = {q.name: law.derivative(q.name).free_symbols for q in law.parameters}
        involved = [name for name, symbols in slopes.items() if symbols & pair]
        if len(involved) > 1:
            message = f"only the form of the law tells {_listed(involved)} apart"
            help = "measure off that line: there the law is a guess"
            found.append(Diagnostic("F0101", message, "warning", notes=(cause,), help=help))
    return found
