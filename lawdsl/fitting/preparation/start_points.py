"""Law -> the starts that its file declares, and parameter values inside their domains."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.language import tree
from lawdsl.language.resolver import read_target, spread
from lawdsl.law.law import Law

Array = NDArray[np.float64]


def declared_points(law: Law) -> tuple[Array, int]:
    """The starts that the file declares: its points, and the product of its grids.

    A parameter without a `start` statement starts at a value of order 1 inside its domain.

    Args:
        law: the law.

    Returns:
        Parameters, shape (starts, parameters), and the number of declared starts excluded because
        they are outside the law's domain.

    Raises:
        LawdslError: the law declares no starts, or none inside its domain (F0106).
    """
    declared = list(_points(law)) + list(_grid(law))
    if not declared:
        help = "declare some, as `start log(A) in {0, 5, ..., 25}`, or let the engine choose"
        message = f"`{law.name}` declares no starts"
        raise LawdslError(Diagnostic("F0106", message, help=help))
    rows, outside = [], 0
    for point in declared:
        theta = values_at_start(law, point)
        if theta is None:
            outside += 1
        else:
            rows.append(theta)
    if not rows:
        help = "correct the `start` lines, or let the engine choose"
        message = f"none of the {outside:,} declared starts lies in the domain of `{law.name}`"
        raise LawdslError(Diagnostic("F0106", message, help=help))
    return np.array(rows), outside


def values_at_start(law: Law, point: Mapping[str, sp.Expr]) -> Array | None:
    """Parameter values at a declared start, shape (parameters,); None if it is outside the domain.

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
            # equality is checked below, for strict bounds only
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


def values_at_numbers(law: Law, values: Mapping[str, float]) -> Array | None:
    """Parameter values at given numbers; see `values_at_start`.

    Args:
        law: the law.
        values: parameter -> its value.
    """
    return values_at_start(law, {k: sp.Float(float(x), 17) for k, x in values.items()})


def _points(law: Law) -> Iterator[dict[str, sp.Expr]]:
    for point in law.declarations.points:
        yield {tree.name_of(name): law.to_sympy(formula) for name, formula in point.values}


def _grid(law: Law) -> Iterator[dict[str, sp.Expr]]:
    """The Cartesian product of the file's grids, the values of each target in their order."""
    axes: dict[str, list[sp.Expr]] = {}
    for grid in law.declarations.grids:
        for target in grid.targets:
            name, values = _axis(law, target, spread(grid.values))
            axes[name] = values
    if axes:
        for combination in itertools.product(*axes.values()):
            yield dict(zip(axes, combination, strict=True))


def _axis(law: Law, target: tree.Formula, numbers: tuple[float, ...]) -> tuple[str, list[sp.Expr]]:
    """The parameter and the values of one grid target: A, log(A) or log(A - limit)."""
    parsed = read_target(target)
    assert parsed is not None  # the file has been checked
    values = [sp.Float(x, 17) for x in numbers]
    if parsed.log:
        values = [sp.exp(x) for x in values]
    if parsed.less is not None:
        limit = law.to_sympy(parsed.less)
        values = [limit + x for x in values]
    return parsed.name, values
