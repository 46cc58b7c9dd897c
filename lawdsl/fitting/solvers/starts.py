"""Law + problem -> starts: chosen from the structure of the law, declared in its file, or given.

A parameter in which the law is linear needs no start: for given others it is solved for. So only
the others are drawn, at a scale that fits their position in the expression, and the best draws are
kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.fitting.build_problem import on_arrays
from lawdsl.fitting.problem import Evaluation, Problem
from lawdsl.fitting.solvers.start_scales import in_terms
from lawdsl.fitting.solvers.variable_projection import solved
from lawdsl.fitting.transforms import to_free
from lawdsl.language import tree
from lawdsl.language.resolver import read_target, spread
from lawdsl.law.law import Law, Quantity

Array = NDArray[np.float64]

DRAWS = 10  # candidates for each start kept
FEWEST = 20  # candidates
ROWS = 1000  # rows on which candidates are compared


def chosen_starts(law: Law, problem: Problem, count: int, seed: int) -> Array:
    """Choose starts for a search.

    Args:
        law: the law.
        problem: its fit.
        count: how many starts.
        seed: of the draws.

    Returns:
        Free numbers, shape (up to count, parameters), in increasing order of the objective but for
        the last quarter, which is drawn from all candidates.
    """
    rng = np.random.default_rng(seed)
    problem = problem.sample(ROWS, seed)
    draws = max(FEWEST, DRAWS * count)
    if on_arrays(law):
        theta = _families(law, draws, rng)
    else:
        near = [np.abs(c[c != 0]) for c in problem.columns if np.any(c != 0)]
        near += [1 / column for column in near]
        theta = np.stack([_draw(law, q, near, draws, rng) for q in law.parameters], axis=1)
        sized = in_terms(law, problem.columns, theta, np.random.default_rng((seed, 1)))
        theta = theta if sized is None else np.concatenate([theta, sized])
    if problem.linear:
        # so that draws are compared at their best linear parameters, as the search will see them
        theta, _ = solved(problem, Evaluation(problem, theta, 0), theta)
    free = to_free(problem.transforms, theta)
    # a solved parameter may be infinite: its start begins at the free number 0 instead
    free[~np.isfinite(free)] = 0.0
    losses = problem.losses(free)
    order = np.argsort(losses, kind="stable")
    order = order[np.isfinite(losses[order])]
    # three quarters from the best, the rest from anywhere: the best may all lie in one valley
    best = order[: count - count // 4]
    others = order[len(best) :]
    more = rng.choice(others, min(len(others), count - len(best)), replace=False)
    return free[np.concatenate([best, more]).astype(int)]


def _draw(law: Law, q: Quantity, near: list[Array], draws: int, rng: np.random.Generator) -> Array:
    """Values of one parameter: of order 1 in an exponent, else also of the size of the data."""
    size = np.exp(rng.uniform(np.log(0.03), np.log(3.0), draws))
    if not _in_exponent(law.expression, q.symbol):
        for sizes in near:
            picked = sizes[rng.integers(len(sizes), size=draws)] * np.exp(rng.uniform(-3, 3, draws))
            size = np.where(rng.uniform(size=draws) < 0.7 / len(near), picked, size)
    lower = [float(b.limit) for b in q.bounds if b.lower and b.limit.is_number]
    upper = [float(b.limit) for b in q.bounds if not b.lower and b.limit.is_number]
    if lower and upper:
        return max(lower) + (min(upper) - max(lower)) * rng.uniform(0.02, 0.98, draws)
    if lower or any(b.lower for b in q.bounds):
        return (max(lower) if lower else 0.0) + size
    if upper or q.bounds:
        return (min(upper) if upper else 0.0) - size
    return size * rng.choice([-1.0, 1.0], draws)


def _families(law: Law, draws: int, rng: np.random.Generator) -> Array:
    """Draw the elements of index sets: in each draw those of one family are of one size, since the
    effects of all domains add up."""
    sizes: dict[str, Array] = {}
    families = []
    for q in law.parameters:
        family = q.name.partition("[")[0]
        if family not in sizes:
            sizes[family] = np.exp(rng.uniform(np.log(0.1), np.log(10.0), draws))
        families.append(_within(q, sizes[family] * rng.normal(size=draws), rng))
    return np.stack(families, axis=1)


def _within(q: Quantity, value: Array, rng: np.random.Generator) -> Array:
    """Map values of any sign into a domain, on the sides on which numbers bound it."""
    lower = [float(b.limit) for b in q.bounds if b.lower and b.limit.is_number]
    upper = [float(b.limit) for b in q.bounds if not b.lower and b.limit.is_number]
    if lower and upper:
        share = rng.uniform(0.02, 0.98, len(value))
        return max(lower) + (min(upper) - max(lower)) * share
    if lower:
        return max(lower) + np.abs(value)
    return min(upper) - np.abs(value) if upper else value


def _in_exponent(expression: sp.Expr, symbol: sp.Symbol) -> bool:
    return any(symbol in power.exp.free_symbols for power in expression.atoms(sp.Pow))


def declared_starts(law: Law, problem: Problem) -> tuple[Array, int]:
    """The starts that the file declares: its points, and the product of its grids.

    A parameter that no `start` names begins at a value of order 1 inside its domain.

    Args:
        law: the law.
        problem: its fit.

    Returns:
        Free numbers, shape (starts, parameters), and how many declared starts were excluded because
        they lie outside the law's domain.

    Raises:
        LawdslError: the law declares no starts.
    """
    declared = list(_points(law)) + list(_grid(law))
    if not declared:
        help = "declare some, as `start log(A) in {0, 5, ..., 25}`, or let the engine choose"
        message = f"`{law.name}` declares no starts"
        raise LawdslError(Diagnostic("F0106", message, help=help))
    rows, outside = [], 0
    for point in declared:
        theta = placed(law, point)
        if theta is None:
            outside += 1
        else:
            rows.append(theta)
    if not rows:
        help = "correct the `start` lines, or let the engine choose"
        message = f"none of the {outside:,} declared starts lies in the domain of `{law.name}`"
        raise LawdslError(Diagnostic("F0106", message, help=help))
    return to_free(problem.transforms, np.array(rows)), outside


def given_start(law: Law, problem: Problem, start: Mapping[str, float]) -> Array:
    """The start given by the caller, as free numbers of shape (1, parameters).

    Args:
        law: the law.
        problem: its fit.
        start: parameter -> value.

    Raises:
        LawdslError: an unknown parameter, or a value outside its domain.
    """
    names = [q.name for q in law.parameters]
    for name in start:
        if name not in names:
            help = f"its parameters are {', '.join(names)}"
            message = f"`{law.name}` has no parameter `{name}`"
            raise LawdslError(Diagnostic("F0106", message, help=help))
        if not np.isfinite(start[name]):
            message = f"the start of `{name}` is not a finite number"
            raise LawdslError(Diagnostic("F0106", message, help="give it a value in its domain"))
    theta = placed(law, {k: sp.Float(float(v), 17) for k, v in start.items()})
    if theta is None:
        domains = "; ".join(q.domain for q in law.parameters if q.bounds)
        message = "the start lies outside the law's domain"
        raise LawdslError(Diagnostic("F0106", message, help=f"the domains are {domains}"))
    return to_free(problem.transforms, np.array([theta]))


def placed(law: Law, point: Mapping[str, sp.Expr]) -> Array | None:
    """Parameter values at a declared start, shape (parameters,); None where they lie outside the
    domain.

    Args:
        law: the law.
        point: parameter -> its value, as an expression.
    """
    substitutions: dict[sp.Symbol, sp.Expr] = {
        q.symbol: sp.Float(q.value, 17) for q in law.settings if q.value is not None
    }
    theta = []
    for q in law.parameters:
        low = [float(b.limit.xreplace(substitutions)) for b in q.bounds if b.lower]
        high = [float(b.limit.xreplace(substitutions)) for b in q.bounds if not b.lower]
        if q.name in point:
            x = float(point[q.name].xreplace(substitutions))
            # equality is judged below, for strict bounds only
            if any(x < b for b in low) or any(x > b for b in high):
                return None
            strict = [float(b.limit.xreplace(substitutions)) for b in q.bounds if b.strict]
            if x in strict:
                return None
        elif low and high:
            x = (max(low) + min(high)) / 2
        elif low:
            x = max(low) + 1.0
        elif high:
            x = min(high) - 1.0
        else:
            x = 1.0
        substitutions[q.symbol] = sp.Float(x, 17)
        theta.append(x)
    return np.array(theta)


def _points(law: Law) -> Iterator[dict[str, sp.Expr]]:
    for point in law.declarations.points:
        yield {tree.name_of(name): law.to_sympy(formula) for name, formula in point.values}


def _grid(law: Law) -> Iterator[dict[str, sp.Expr]]:
    """The cross product of the file's grids, each target's values in their order."""
    axes: dict[str, list[sp.Expr]] = {}
    for grid in law.declarations.grids:
        for target in grid.targets:
            name, values = _axis(law, target, spread(grid.values))
            axes[name] = values
    if axes:
        for combination in itertools.product(*axes.values()):
            yield dict(zip(axes, combination, strict=True))


def _axis(law: Law, target: tree.Formula, numbers: tuple[float, ...]) -> tuple[str, list[sp.Expr]]:
    """Parameter and values of one grid target: A, log(A) or log(A - limit)."""
    found = read_target(target)
    assert found is not None  # the file was checked
    values = [sp.Float(x, 17) for x in numbers]
    if found.log:
        values = [sp.exp(x) for x in values]
    if found.less is not None:
        limit = law.to_sympy(found.less)
        values = [limit + x for x in values]
    return found.name, values
