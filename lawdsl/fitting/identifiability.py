"""Which parameters the data determine: directions in parameter space that they do not see."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.diagnostics import Diagnostic
from lawdsl.fitting.intervals.noise import noise_of
from lawdsl.fitting.linear_in import linear_parameters
from lawdsl.fitting.posing import is_large, on_arrays
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.transforms import room
from lawdsl.law import Law
from lawdsl.symmetries import Freedom

Array = NDArray[np.float64]

FLAT = 1e-7  # width of a direction, columns being of length 1: below, it is unseen without noise
EXACT = 1e-12  # the same: below, rounding alone says which parameters are in the direction
SHARE = 0.1  # of an unseen direction: a parameter with less is not named
SHARE_EXACT = 1e-4  # of one that is unseen exactly
WIDE = 1.0  # standard errors of a parameter in units of its own size: above, it says nothing
ALONG = 0.5  # how far a linear parameter goes, in its size, when an exponent goes as far as its own
DEAD = 1e-9  # effect of a parameter, relative to the spread of the output
SUMS = 100  # of so many variables, at most looked at
EFFICIENT = np.sqrt(
    2 / np.pi
)  # noise, in units of the errors of a mean by least absolute residuals
TIED = 1e-2  # relative: how far two variables that move together may be from their line


@dataclass(frozen=True)
class _Columns:
    """What some parameters do to the predictions: one column of the Jacobian each.

    Attributes:
        numbers: which parameters, shape (parameters,).
        jacobian: shape (rows, parameters).
        size: how large each parameter is.
    """

    numbers: NDArray[np.int64]
    jacobian: Array
    size: Array

    @property
    def length(self) -> Array:
        return np.linalg.norm(self.jacobian, axis=0)


def unseen(
    law: Law,
    problem: Problem,
    theta: Array,
    on_bound: Iterable[str],
    elsewhere: Array,
    unknowable: Freedom,
) -> tuple[list[Diagnostic], frozenset[str]]:
    """Directions in parameter space that the data do not see, and the parameters in them.

    A direction is unseen where the noise of the residuals hides a step along it that takes a
    parameter further than its own size; or where nothing changes along it wherever one looks,
    although the fit may have ended where that does not show. Of parameters in which the law is
    linear it is asked with the others as they are, and of those others with the linear ones
    following: so the answer does not depend on the units, on which A in A/N^alpha does.

    Args:
        law: the law.
        problem: its fit.
        theta: the fitted parameters, shape (parameters,).
        on_bound: names of those that lie on a bound, where they are held.
        elsewhere: other parameters in the domain, shape (points, parameters).
        unknowable: what no data could tell. It is no finding here: of each symmetry one parameter
            is held, and the others are judged as they are then.
    """
    names = [q.name for q in law.parameters]
    linear_ones = problem.linear if on_arrays(law) else linear_parameters(law)
    is_linear = np.isin(np.arange(len(names)), linear_ones)
    fixed = np.isin(names, list(unknowable.held))
    held = np.isin(names, list(on_bound)) | fixed
    residual, jacobian = (x[0] for x in problem.slopes(theta[None]))
    jacobian = np.nan_to_num(jacobian)
    spread = np.sqrt(problem.rows) * _spread(problem)
    noise, most = _noise(problem, residual)
    reach = np.where(is_linear, np.inf, np.maximum(1.0, np.abs(theta)))
    with np.errstate(all="ignore"):
        dead = ~(np.linalg.norm(jacobian, axis=0) * reach > DEAD * spread)
    size = np.abs(theta)
    for i, (_, distance) in _rooms(problem, theta).items():
        size[i] = max(size[i], distance)

    def columns(chosen: NDArray[np.bool_]) -> _Columns:
        numbers = np.flatnonzero(chosen & ~dead & ~held)
        return _Columns(numbers, jacobian[:, numbers], size[numbers])

    linear, others = columns(is_linear), columns(~is_linear)

    def directions_of(noise: float) -> list[set[str]]:
        found = [{int(i)} for i in np.flatnonzero(dead & ~held)]
        found += _unseen_linear(linear, spread, noise)
        found += _unseen_others(others, linear, spread, noise, law)
        return [{names[i] for i in direction} for direction in found]

    directions = directions_of(noise)
    if most > noise and not is_large(law):
        # a cause that is seen in the rows decides where the noise is not known so well
        more = directions_of(most)
        if all(causes_of(law, problem, sorted(own)) for own in more):
            directions = more
    count, structural = _nowhere_seen(problem, np.vstack([theta, elsewhere]), names, fixed)
    seen = problem.parameters - unknowable.lost - max(len(directions), count)
    groups = _merged([*directions, *structural])
    causes = _causes(law, problem) if groups and not is_large(law) else []
    findings = [
        _finding(law, [n for n in names if n in group], f"rank {seen} of {len(names)}", causes)
        for group in groups
    ]
    ties = [] if is_large(law) else _tied(law, problem)
    return findings or ties, unknowable.parameters.union(*groups)


def _rooms(problem: Problem, theta: Array) -> dict[int, tuple[str, float]]:
    """Number of each bounded parameter -> its nearer bound and the distance to it."""
    names = [t.name for t in problem.transforms]
    found = room(problem.transforms, dict(zip(names, map(float, theta), strict=True)))
    return {names.index(name): near for name, near in found.items()}


def _unseen_linear(linear: _Columns, spread: float, noise: float) -> list[set[int]]:
    """Directions of the linear parameters, the others being as they are."""
    if not len(linear.numbers):
        return []
    length = linear.length
    size = np.maximum(linear.size, spread / length)  # 0 is a value like any other
    _, widths, rows = _directions(linear.jacobian / length)
    found = []
    for width, row in zip(widths, rows, strict=True):
        step = np.max(np.abs(row) / (length * size)) * noise
        if width < FLAT or step > WIDE * width:
            share = SHARE_EXACT if width < EXACT else SHARE
            found.append({int(linear.numbers[k]) for k in np.flatnonzero(np.abs(row) > share)})
    return found


def _unseen_others(
    others: _Columns, linear: _Columns, spread: float, noise: float, law: Law
) -> list[set[int]]:
    """Directions of the other parameters, the linear ones following each step as they can."""
    if not len(others.numbers):
        return []
    follow = np.linalg.pinv(linear.jacobian / linear.length) / linear.length[:, None]
    follow = follow @ others.jacobian
    left = others.jacobian - linear.jacobian @ follow
    free = np.array([not law.parameters[i].bounds for i in others.numbers])
    length = others.length
    with np.errstate(all="ignore"):  # a free parameter may be 0; its size is then what it can do
        able = np.maximum(others.size, spread / np.linalg.norm(left, axis=0))
    size = np.where(free, able, others.size)
    _, widths, rows = _directions(left / length)
    found = []
    for width, row in zip(widths, rows, strict=True):
        move = row / length
        if not (width < FLAT or np.max(np.abs(move) / size) * noise > WIDE * width):
            continue
        share = SHARE_EXACT if width < EXACT else SHARE
        involved = {int(others.numbers[k]) for k in np.flatnonzero(np.abs(row) > share)}
        following = np.abs(follow @ (move / np.max(np.abs(move) / size)))
        far = following > ALONG * np.maximum(linear.size, spread / linear.length)
        found.append(involved | {int(linear.numbers[k]) for k in np.flatnonzero(far)})
    return found


def _directions(columns: Array) -> tuple[Array, Array, Array]:
    """The singular value decomposition of a tall matrix, but for its left vectors."""
    return np.linalg.svd(np.linalg.qr(columns, mode="r"))


def _nowhere_seen(
    problem: Problem, points: Array, names: list[str], fixed: NDArray[np.bool_]
) -> tuple[int, list[set[str]]]:
    """How many directions change nothing at any of some points, and what is in them."""
    names = [name for name, one in zip(names, fixed, strict=True) if not one]
    if not names:
        return 0, []
    none = problem.parameters + 1
    fewest, involved = none, list[set[str]]()
    for theta in points:
        jacobian = problem.slopes(theta[None])[1][0][:, ~fixed]
        if not np.all(np.isfinite(jacobian)):
            continue
        length = np.linalg.norm(jacobian, axis=0)
        scaled = jacobian / np.where(length > 0, length, 1.0)
        _, widths, rows = _directions(scaled)
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


def _finding(law: Law, involved: list[str], rank: str, causes: Sequence[_Cause]) -> Diagnostic:
    what = "told apart from" if involved[1:] else "determined from"
    told = _touching(law, involved, causes)
    why = f": {'; '.join(cause.short for cause in told)}" if told else ""
    message = f"{_listed(involved)} cannot be {what} these data{why}"
    help = "measure where the law tells them apart, or fit a law without one of them"
    notes = (rank, *(cause.text for cause in told))
    return Diagnostic("F0101", message, notes=notes, help=help)


def causes_of(law: Law, problem: Problem, involved: Sequence[str]) -> tuple[str, ...]:
    """Why the rows may not determine some parameters: what is special about the variables that
    their effects depend on, in words."""
    if is_large(law):
        return ()
    return tuple(cause.text for cause in _touching(law, involved, _causes(law, problem)))


def _touching(law: Law, involved: Sequence[str], causes: Sequence[_Cause]) -> list[_Cause]:
    """The causes about variables that the effects of some parameters depend on."""
    if not causes:
        return []
    slopes = [sp.diff(law.expression, law.symbols[name]).free_symbols for name in involved]
    touched = set().union(*slopes)
    return [cause for cause in causes if cause.variables & touched]


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _spread(problem: Problem) -> float:
    """How far the measured values lie apart, in the units of a residual."""
    return float(np.std(np.log(problem.target) if problem.objective.log else problem.target))


def _noise(problem: Problem, residual: Array) -> tuple[float, float]:
    """The standard deviation of a residual, as far as a few outliers cannot change it: the least
    and the largest that it may be.

    It is known from the median of the residuals. A Huber loss of small delta passes through about
    as many rows as there are parameters, which makes that median far too small where rows are few;
    what standard errors rest on is not.
    """
    count = problem.parameters
    freedom = np.sqrt(len(residual) / max(len(residual) - count, 1))
    least = float(1.4826 * np.median(np.abs(residual)) * freedom)
    if problem.objective.loss != "huber":
        return least, least
    return least, max(least, EFFICIENT * float(np.sqrt(noise_of(problem, residual, count).tau2)))


@dataclass(frozen=True)
class _Cause:
    """Why data may not see a direction: something about the values of some variables."""

    variables: frozenset[sp.Symbol]
    short: str
    text: str


def _causes(law: Law, problem: Problem) -> list[_Cause]:
    """Variables with few values, pairs of them that move together, and fixed sums."""
    causes = []
    for q, column in zip(law.variables, problem.columns, strict=True):
        values = np.unique(column)
        if len(values) < 3:
            short = f"{q.name} has {'one value' if len(values) == 1 else 'two values'}"
            shown = f"{short}: {', '.join(f'{v:g}' for v in values)}"
            causes.append(_Cause(frozenset({q.symbol}), short, shown))
    for pair, text in [*_ties(law, problem), *sums(law, problem)]:
        causes.append(_Cause(frozenset(pair), text, text))
    return causes


def sums(law: Law, problem: Problem) -> list[tuple[set[sp.Symbol], str]]:
    """Variables whose sum is the same in every row, as shares of a whole."""
    moving = [k for k, column in enumerate(problem.columns) if np.ptp(column) > 0]
    found = []
    for count in range(2, len(moving) + 1):
        for chosen in itertools.islice(itertools.combinations(moving, count), SUMS):
            total = np.sum(problem.columns[list(chosen)], axis=0)
            off = np.ptp(total)
            if off < TIED * min(np.ptp(problem.columns[k]) for k in chosen):
                names = [law.variables[k].name for k in chosen]
                sign = "=" if off < 1e-9 * abs(total[0]) else "≈"
                text = f"{' + '.join(names)} {sign} {np.mean(total):.4g} in every row"
                found.append(({law.variables[k].symbol for k in chosen}, text))
    return found


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
