"""Sums split into cases: which argument of a maximum is attained, on which side of 0 a symbol lies.

The identities are those of a totally ordered field: |x| = max(x, -x), min(x, y) = -max(-x, -y),
c + max(x, y) = max(c + x, c + y), and c·max(x, y) = max(c·x, c·y) for c >= 0.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import sympy as sp

from lawdsl.law.algebra import merge_powers
from lawdsl.proof.box import Box, Endpoint, SymbolRange
from lawdsl.proof.signs.interface import Signs
from lawdsl.proof.signs.sign import Sign, decided, largest

MAXIMA = (sp.Max, sp.Min, sp.Abs)  # each a maximum, or the negative of one
MAX_SIGN_SPLITS = 3  # symbols of unknown sign; there are 3^n cases


def by_cases(signs: Signs, e: sp.Expr) -> Sign | None:
    """c·max(x, y) + r = max(c·x + r, c·y + r) for c >= 0, and the minimum of these for c <= 0.

    Likewise for min and |x| = max(x, -x). Where the sign of c is not known, the sum is one of its
    cases. A part for which the sum is the minimum of its cases is expanded first: the sum is
    positive only if all of them are; of a maximum one case is enough.
    """
    parts = sorted(e.atoms(*MAXIMA), key=lambda part: (-part.count_ops(), str(part)))
    if not parts:
        return None
    monotonicity = {part: _monotonicity(signs, e, part) for part in parts}
    chosen = min(parts, key=lambda part: _RANK[monotonicity[part]])
    cases = [merge_powers(e.xreplace({chosen: case})) for case in _cases(chosen)]
    case_signs = [signs.sign(case) for case in cases]
    if monotonicity[chosen] == 1:
        possible = largest(case_signs)
    elif monotonicity[chosen] == -1:
        possible = -largest([-sign for sign in case_signs])
    else:
        possible = Sign.NONE
        for sign in case_signs:
            possible |= sign
    return decided(possible)


# -1: the sum is the minimum of its cases, 0: one of them, 1: the maximum
_RANK = {-1: 0, 0: 1, 1: 2}


def _cases(part: sp.Expr) -> tuple[sp.Expr, ...]:
    return (part.args[0], -part.args[0]) if isinstance(part, sp.Abs) else part.args


def _monotonicity(signs: Signs, e: sp.Expr, part: sp.Expr) -> int:
    """1 where a sum is the maximum of its cases, -1 where it is the minimum, 0 where not known."""
    value = sp.Dummy(real=True)
    slope = sp.diff(e.xreplace({part: value}), value)
    if value in slope.free_symbols:
        return 0
    slope_sign = signs.sign(slope)
    orientation = -1 if isinstance(part, sp.Min) else 1
    if slope_sign.within(Sign.NONNEGATIVE):
        return orientation
    return -orientation if slope_sign.within(Sign.NONPOSITIVE) else 0


def by_symbol_order(signs: Signs, e: sp.Expr) -> Sign | None:
    """max(x, y) of two symbols: x = y + d or y = x + d with d >= 0; the sign in both cases."""
    movable = signs.movable(e)
    for part in sorted(e.atoms(sp.Max, sp.Min), key=str):
        if len(part.args) != 2 or not all(s in movable for s in part.args):
            continue
        possible = Sign.NONE
        for less, more in (part.args, part.args[::-1]):
            distance = sp.Dummy("d", real=True, nonnegative=True)
            ranges = {**signs.box.ranges, distance: SymbolRange(Endpoint(sp.S.Zero, True))}
            meaning = {**signs.box.meaning, distance: more - less}
            chosen = more if isinstance(part, sp.Max) else less
            case = e.xreplace({part: chosen}).xreplace({more: less + distance})
            possible |= _sign_on(signs, replace(signs.box, ranges=ranges, meaning=meaning), case)
        if not Sign.REAL.within(possible):
            return possible
    return None


def by_sign_split(signs: Signs, e: sp.Expr) -> Sign | None:
    """x is t, -t or 0 with t > 0: the union of the signs of e(t), e(-t) and e(0).

    This is done for each symbol whose sign is not known. An even function of x has one case for
    both sides, if the range of x extends as far on either.
    """
    undetermined = [s for s in signs.movable(e) if not signs.sign(s).definite]
    if not 1 <= len(undetermined) <= MAX_SIGN_SPLITS:
        return None
    positives = {s: sp.Dummy(s.name, positive=True) for s in undetermined}
    possible = Sign.NONE
    examined: set[tuple[sp.Expr, frozenset[tuple[sp.Symbol, SymbolRange]]]] = set()
    for chosen in product((1, -1, 0), repeat=len(undetermined)):
        sides = dict(zip(undetermined, chosen, strict=True))
        ranges, meaning = dict(signs.box.ranges), dict(signs.box.meaning)
        for s, side in sides.items():
            half_range = _positive_side(signs.box.range(s), side) if side else SymbolRange()
            if half_range is None:  # the range ends before it
                break
            ranges[positives[s]], meaning[positives[s]] = half_range, side * s
        else:
            case = merge_powers(e.xreplace({s: side * positives[s] for s, side in sides.items()}))
            case_symbols = case.free_symbols & set(positives.values())
            case_key = case, frozenset((t, ranges[t]) for t in case_symbols)
            # an even function has equal cases on both sides of 0
            if case_key not in examined:
                examined.add(case_key)
                box = replace(signs.box, ranges=ranges, meaning=meaning)
                possible |= _sign_on(signs, box, case)
        if Sign.REAL.within(possible):
            return None
    for s in undetermined:
        signs.use(s)
    return possible


def _positive_side(domain: SymbolRange, side: int) -> SymbolRange | None:
    """The range of t > 0 with x = side·t in the domain of x; None where it certainly is empty."""
    end = domain.upper if side == 1 else domain.lower
    if end is None:
        return SymbolRange(Endpoint(sp.S.Zero, False))
    distance = side * end.value
    if distance.is_nonpositive:
        return None
    upper = Endpoint(distance, end.closed) if distance.is_number and distance.is_positive else None
    return SymbolRange(Endpoint(sp.S.Zero, False), upper)


def _sign_on(signs: Signs, box: Box, e: sp.Expr) -> Sign:
    """The sign on another box; symbols that both boxes share are recorded as used."""
    inner = signs.on_part(box)
    sign = inner.sign(e)
    for s in inner.used():
        if s in signs.box.ranges:
            signs.use(s)
    return sign
