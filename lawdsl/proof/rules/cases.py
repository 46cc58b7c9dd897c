"""Sums whose sign is known in each of some cases: of a maximum, a modulus, the side of a symbol."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import sympy as sp

from lawdsl.law.algebra import merge_powers
from lawdsl.proof.box import End, Range
from lawdsl.proof.signs.sign import Sign, largest

if TYPE_CHECKING:
    from lawdsl.proof.box import Box
    from lawdsl.proof.signs.calculus import Signs

KINKED = (sp.Max, sp.Min, sp.Abs)
SIDES = 3  # symbols that may have either sign


def by_cases(signs: Signs, e: sp.Expr) -> Sign | None:
    """A maximum or minimum is one of its arguments, |x| is x or -x: the sum is one of the cases.

    With a coefficient of known sign, c·max(x, y) + r is the larger of c·x + r and c·y + r for
    c >= 0, the smaller for c <= 0. A sum that is the smallest of its cases is looked at first: it
    needs them all; of the largest one case is enough.
    """
    found = sorted(e.atoms(*KINKED), key=lambda part: (-part.count_ops(), str(part)))
    if not found:
        return None
    senses = {part: _sense(signs, e, part) for part in found}
    chosen = min(found, key=lambda part: _RANK[senses[part]])
    cases = [merge_powers(e.xreplace({chosen: case})) for case in _cases(chosen)]
    signed = [signs.sign(case) for case in cases]
    if senses[chosen] == 1:
        possible = largest(signed)
    elif senses[chosen] == -1:
        possible = -largest([-sign for sign in signed])
    else:
        possible = Sign.NONE
        for sign in signed:
            possible |= sign
    return None if Sign.REAL.within(possible) else possible


_RANK = {-1: 0, 0: 1, 1: 2}


def _cases(part: sp.Expr) -> tuple[sp.Expr, ...]:
    return (part.args[0], -part.args[0]) if isinstance(part, sp.Abs) else part.args


def _sense(signs: Signs, e: sp.Expr, part: sp.Expr) -> int:
    """1 where a sum is the largest of its cases, -1 where it is the smallest, 0 where not known."""
    value = sp.Dummy(real=True)
    slope = sp.diff(e.xreplace({part: value}), value)
    if value in slope.free_symbols:
        return 0
    way = signs.sign(slope)
    upward = -1 if isinstance(part, sp.Min) else 1
    if way.within(Sign.NONNEGATIVE):
        return upward
    return -upward if way.within(Sign.NONPOSITIVE) else 0


def by_order(signs: Signs, e: sp.Expr) -> Sign | None:
    """The cases of max(x, y), where two symbols are compared: x = y + d and y = x + d, d >= 0."""
    movable = signs.movable(e)
    for part in sorted(e.atoms(sp.Max, sp.Min), key=str):
        if len(part.args) != 2 or not all(s in movable for s in part.args):
            continue
        possible = Sign.NONE
        for less, more in (part.args, part.args[::-1]):
            distance = sp.Dummy("d", real=True, nonnegative=True)
            ranges = {**signs.box.ranges, distance: Range(End(sp.S.Zero, True))}
            meaning = {**signs.box.meaning, distance: more - less}
            chosen = more if isinstance(part, sp.Max) else less
            case = e.xreplace({part: chosen}).xreplace({more: less + distance})
            possible |= _inside(signs, replace(signs.box, ranges=ranges, meaning=meaning), case)
        if not Sign.REAL.within(possible):
            return possible
    return None


def by_sides(signs: Signs, e: sp.Expr) -> Sign | None:
    """The sign on each side of 0 and at 0, for each symbol that may be on either, or at 0.

    A symbol x is t, -t or 0 with t > 0. Both sides are one case where e depends on |x| alone, if
    the range of x reaches as far on either.
    """
    unsettled = [s for s in signs.movable(e) if not signs.sign(s).definite]
    if not 1 <= len(unsettled) <= SIDES:
        return None
    away = {s: sp.Dummy(s.name, positive=True) for s in unsettled}
    possible = Sign.NONE
    seen: set[tuple[sp.Expr, frozenset[tuple[sp.Symbol, Range]]]] = set()
    for chosen in product((1, -1, 0), repeat=len(unsettled)):
        sides = dict(zip(unsettled, chosen, strict=True))
        ranges, meaning = dict(signs.box.ranges), dict(signs.box.meaning)
        for s, side in sides.items():
            found = _beyond(signs.box.range(s), side) if side else Range()
            if found is None:  # the range ends before it
                break
            ranges[away[s]], meaning[away[s]] = found, side * s
        else:
            case = merge_powers(e.xreplace({s: side * away[s] for s, side in sides.items()}))
            moved = case.free_symbols & set(away.values())
            alike = case, frozenset((t, ranges[t]) for t in moved)
            if alike not in seen:
                seen.add(alike)
                box = replace(signs.box, ranges=ranges, meaning=meaning)
                possible |= _inside(signs, box, case)
        if Sign.REAL.within(possible):
            return None
    for s in unsettled:
        signs.use(s)
    return possible


def _beyond(domain: Range, side: int) -> Range | None:
    """The range of t > 0 for x = side·t: what of a symbol's range is on one side of 0; None where
    that is surely nothing."""
    end = domain.upper if side == 1 else domain.lower
    if end is None:
        return Range(End(sp.S.Zero, False))
    far = side * end.at
    if far.is_nonpositive:
        return None
    upper = End(far, end.closed) if far.is_number and far.is_positive else None
    return Range(End(sp.S.Zero, False), upper)


def _inside(signs: Signs, box: Box, e: sp.Expr) -> Sign:
    """The sign on another box, all of whose own symbols are used already."""
    inner = signs.inside(box)
    found = inner.sign(e)
    for s in inner.used():
        if s in signs.box.ranges:
            signs.use(s)
    return found
