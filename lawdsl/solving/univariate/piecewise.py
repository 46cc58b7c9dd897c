"""Functions with kinks, cut into pieces on which they have none.

abs, min, max and the steps in their derivatives are replaced by the branch that holds between two
roots of what they compare, so that what is left is smooth, and a flat piece has a slope that algebra
knows to be 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sympy as sp

from lawdsl.compiling.intervals import Interval, middle
from lawdsl.solving.formulate.closed_form import flatten_powers
from lawdsl.solving.univariate.interval_functions import Formula, Function
from lawdsl.solving.univariate.roots import in_order, roots_between

PIECES = 200  # that a range is cut into at most
KINKED = (sp.Abs, sp.Min, sp.Max, sp.sign, sp.Heaviside)


@dataclass(frozen=True)
class Smooth:
    """Functions without kinks between two numbers."""

    low: Any
    high: Any
    functions: tuple[Function, ...]


@dataclass
class Cutting:
    """A range cut at the kinks of functions.

    Attributes:
        smooth: the pieces between the kinks, in their order.
        kinks: the places at which two branches meet.
        unclear: pieces on which the branch is not certain.
    """

    smooth: list[Smooth]
    kinks: list[Interval]
    unclear: list[Interval]


def cut_at_kinks(functions: Sequence[Function], whole: Interval) -> Cutting:
    """A range cut at the kinks of functions of one unknown."""
    found = Cutting([], [], [])
    _cut(tuple(functions), whole, found)
    found.smooth.sort(key=lambda s: in_order(Interval(s.low, s.high)))
    return found


def _cut(functions: tuple[Function, ...], whole: Interval, found: Cutting) -> None:
    kinked = _innermost(functions)
    if kinked is None or not whole.low < whole.high:
        found.smooth.append(Smooth(whole.low, whole.high, functions))
        return
    if len(found.smooth) > PIECES:
        found.unclear.append(whole)
        return
    unknown = functions[0].formula.unknown
    difference = _compared(kinked)
    values = {s: x for f in functions for s, x in f.values.items()}
    compared = Function(_formula(difference, unknown), values)
    roots = roots_between(compared, whole)
    marks = sorted([*roots.places, *roots.unclear], key=in_order)
    found.kinks += roots.places
    found.unclear += roots.unclear
    low = whole.low
    for mark in [*marks, None]:
        high = whole.high if mark is None else mark.low
        if low < high:
            piece = Interval(low, high)
            at = middle(piece)
            sign = 0 if roots.always else compared.sign(Interval(at, at))
            if sign is None:
                found.unclear.append(piece)
            else:
                branch = {kinked: _branch(kinked, sign)}
                chosen = tuple(_replaced(f, branch) for f in functions)
                _cut(chosen, piece, found)
        low = low if mark is None else mark.high


def _innermost(functions: Sequence[Function]) -> sp.Expr | None:
    """A kinked part that has no other inside; None where there is none."""
    for function in functions:
        unknown = function.formula.unknown
        parts = [p for p in function.formula.expression.atoms(*KINKED) if p.has(unknown)]
        for part in sorted(parts, key=sp.default_sort_key):
            inner = set().union(*(a.atoms(*KINKED) for a in part.args))
            if not any(p.has(unknown) for p in inner):
                return part
    return None


def _compared(kinked: sp.Expr) -> sp.Expr:
    """What changes its sign at a kink."""
    if isinstance(kinked, (sp.Min, sp.Max)):
        first, second = sorted(kinked.args, key=sp.default_sort_key)[:2]
        return first - second
    return kinked.args[0]


def _branch(kinked: sp.Expr, sign: int) -> sp.Expr:
    """What a kinked part is where `_compared` has a sign."""
    if isinstance(kinked, (sp.Min, sp.Max)):
        first, second, *others = sorted(kinked.args, key=sp.default_sort_key)
        larger, smaller = (first, second) if sign >= 0 else (second, first)
        return kinked.func(larger if isinstance(kinked, sp.Max) else smaller, *others)
    if isinstance(kinked, sp.Abs):
        return sign * kinked.args[0]
    if isinstance(kinked, sp.Heaviside):
        return sp.Rational(1 + sign, 2)
    return sp.Integer(sign)


def _replaced(function: Function, branch: dict[sp.Expr, sp.Expr]) -> Function:
    formula = function.formula
    changed = formula.expression.xreplace(branch)
    if changed == formula.expression:
        return function
    return Function(_formula(changed, formula.unknown), function.values)


@lru_cache(maxsize=512)
def _formula(expression: sp.Expr, unknown: sp.Symbol) -> Formula:
    return Formula(flatten_powers(expression), unknown)
