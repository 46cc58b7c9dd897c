"""Functions with kinks on a range -> pieces of it on which they are smooth.

abs, min, max and the steps in their derivatives are replaced by the branch that is valid between
two roots of the difference of their arguments, so that each piece is smooth, and the slope of a
constant piece is simplified to 0 by algebra.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sympy as sp

from lawdsl.compiling.intervals import Interval, middle
from lawdsl.law.functions import KINKED
from lawdsl.solving.formulate.closed_form import flatten_powers
from lawdsl.solving.univariate.interval_functions import IntervalFunction, UnivariateExpression
from lawdsl.solving.univariate.roots import interval_order, roots_between

MAX_SMOOTH_PIECES = 200  # greatest number of pieces into which a range is cut


@dataclass(frozen=True)
class SmoothPiece:
    """Functions without kinks between two numbers."""

    low: Any
    high: Any
    functions: tuple[IntervalFunction, ...]


@dataclass
class SmoothPartition:
    """A range cut at the kinks of functions.

    Attributes:
        smooth: the pieces between the kinks, in their order.
        kinks: the points at which two branches meet.
        undecided: pieces on which the branch is not certain.
    """

    smooth: list[SmoothPiece]
    kinks: list[Interval]
    undecided: list[Interval]


def split_at_kinks(functions: Sequence[IntervalFunction], domain: Interval) -> SmoothPartition:
    """Partition a range at the kinks of functions of one unknown.

    Args:
        functions: the functions.
        domain: the range.

    Returns:
        Smooth pieces in ascending order, the kinks, and the undecided pieces.
    """
    partition = SmoothPartition([], [], [])
    _split(tuple(functions), domain, partition)
    partition.smooth.sort(key=lambda s: interval_order(Interval(s.low, s.high)))
    return partition


def _split(
    functions: tuple[IntervalFunction, ...], domain: Interval, partition: SmoothPartition
) -> None:
    kinked = _innermost_kink(functions)
    if kinked is None or not domain.low < domain.high:
        partition.smooth.append(SmoothPiece(domain.low, domain.high, functions))
        return
    if len(partition.smooth) > MAX_SMOOTH_PIECES:
        partition.undecided.append(domain)
        return
    unknown = functions[0].formula.unknown
    difference = _branch_difference(kinked)
    values = {s: x for f in functions for s, x in f.values.items()}
    compared = IntervalFunction(_formula(difference, unknown), values)
    roots = roots_between(compared, domain)
    marks = sorted([*roots.intervals, *roots.undecided], key=interval_order)
    partition.kinks += roots.intervals
    partition.undecided += roots.undecided
    low = domain.low
    for mark in [*marks, None]:
        high = domain.high if mark is None else mark.low
        if low < high:
            piece = Interval(low, high)
            midpoint = middle(piece)
            sign = 0 if roots.identically_zero else compared.sign(Interval(midpoint, midpoint))
            if sign is None:
                partition.undecided.append(piece)
            else:
                branch = {kinked: _branch_for(kinked, sign)}
                chosen = tuple(_with_branch(f, branch) for f in functions)
                _split(chosen, piece, partition)
        low = low if mark is None else mark.high


def _innermost_kink(functions: Sequence[IntervalFunction]) -> sp.Expr | None:
    """A part with a kink that contains no other; None for smooth functions."""
    for function in functions:
        unknown = function.formula.unknown
        parts = [p for p in function.formula.expression.atoms(*KINKED) if p.has(unknown)]
        for part in sorted(parts, key=sp.default_sort_key):
            inner = set().union(*(a.atoms(*KINKED) for a in part.args))
            if not any(p.has(unknown) for p in inner):
                return part
    return None


def _branch_difference(kinked: sp.Expr) -> sp.Expr:
    """The expression whose sign selects the branch: its zeros are the kinks."""
    if isinstance(kinked, (sp.Min, sp.Max)):
        # sorted as in `_branch_for`, which must choose between the same two arguments
        first, second = sorted(kinked.args, key=sp.default_sort_key)[:2]
        return first - second
    return kinked.args[0]


def _branch_for(kinked: sp.Expr, sign: int) -> sp.Expr:
    """The branch of a kinked part for a sign of `_branch_difference`."""
    if isinstance(kinked, (sp.Min, sp.Max)):
        first, second, *others = sorted(kinked.args, key=sp.default_sort_key)
        larger, smaller = (first, second) if sign >= 0 else (second, first)
        return kinked.func(larger if isinstance(kinked, sp.Max) else smaller, *others)
    if isinstance(kinked, sp.Abs):
        return sign * kinked.args[0]
    if isinstance(kinked, sp.Heaviside):
        return sp.Rational(1 + sign, 2)
    return sp.Integer(sign)


def _with_branch(function: IntervalFunction, branch: dict[sp.Expr, sp.Expr]) -> IntervalFunction:
    formula = function.formula
    changed = formula.expression.xreplace(branch)
    if changed == formula.expression:
        return function
    return IntervalFunction(_formula(changed, formula.unknown), function.values)


@lru_cache(maxsize=512)
def _formula(expression: sp.Expr, unknown: sp.Symbol) -> UnivariateExpression:
    return UnivariateExpression(flatten_powers(expression), unknown)
