"""Trend of a piecewise law, border between two parts -> whether the law jumps against the trend."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import sympy as sp

from lawdsl.language import tree
from lawdsl.language.formula_signs import known_signs_of
from lawdsl.language.implied_bounds import bound_of
from lawdsl.language.pieces import Condition, depends_on
from lawdsl.language.printer import print_formula
from lawdsl.law.algebra import derivative
from lawdsl.law.law import Law
from lawdsl.proof.box import Box, Relation
from lawdsl.proof.counterexample import (
    Point,
    WitnessQuery,
    certain_sign,
    find_point,
    value_text,
)
from lawdsl.proof.definedness import parts_of
from lawdsl.proof.goals import formulas
from lawdsl.proof.pieces import Piece, pieces_of, sides_text
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.signs.sign import Sign
from lawdsl.proof.verdict import Verdict, refuted

PIECES = 2000  # into which the box of a jump may be cut
MAX_OPEN_CONDITIONS = 4  # that are settled at one border
DISTANCES = (Fraction(1, 100), Fraction(1, 10_000), Fraction(1, 1_000_000))
"""Of two points from the border between them, times 1 or the border itself."""


Place = dict[sp.Symbol, sp.Expr]
"""A quantity at a border, in terms of the others; empty where it cannot be solved for."""


class BorderNotKnown(Exception):
    """Whether the law keeps a trend across a border is not known; the text says why."""


@dataclass(frozen=True)
class Trend:
    """`formula` increases (sense 1) or decreases (-1) in the quantity of a name."""

    formula: tree.Formula
    name: str
    sense: int


def borders_kept(piece: Piece, trend: Trend) -> Iterator[str]:
    """The steps of a proof that a law does not jump against a trend, border by border.

    Args:
        piece: a part of the domain on whose own parts the trend is proved.
        trend: the trend.

    Raises:
        BorderNotKnown: at some border it may jump.
    """
    condition = piece.condition()
    if condition is None:
        return
    parts = piece.split(condition)
    if len(parts) == 2 and depends_on(condition.sides, (trend.name,), piece.law.declarations):
        yield _step(piece, condition, trend)
    for part in parts.values():
        yield from borders_kept(part, trend)


def _step(piece: Piece, condition: Condition, trend: Trend) -> str:
    where = sides_text(condition)
    allowed = _allowed_jump(piece, condition, trend)
    if not _jump(piece, condition, trend).within(allowed):
        raise BorderNotKnown(f"whether {print_formula(trend.formula)} jumps where {where}")
    other = "up" if trend.sense < 0 else "down"
    word = f"does not jump {other} as {trend.name} rises"
    if allowed == Sign.ZERO:
        word = "is continuous"
    return f"where {where}: {print_formula(trend.formula)} {word}"


def _allowed_jump(piece: Piece, condition: Condition, trend: Trend) -> Sign:
    """The signs that the first part minus the second may have where they meet."""
    box = piece.box
    slope = derivative(piece.above(condition), piece.law.symbols[trend.name])
    sign = SignCalculus(box, valued=True).sign(box.independent(slope))
    # along a name by which the sides of the condition cross once, the law goes from part to part once
    for direction, one_way in ((1, Sign.POSITIVE), (-1, Sign.NEGATIVE)):
        if sign.within(one_way):
            return Sign.NONNEGATIVE if direction == trend.sense else Sign.NONPOSITIVE
    return Sign.ZERO


def _jump(piece: Piece, condition: Condition, trend: Trend) -> Sign:
    """The signs of the first part minus the second where the sides of the condition are equal."""
    first, second = (piece.where(condition, holds) for holds in (True, False))
    place = _solved(piece.law, condition, trend.name)
    both = replace(first, claim=piece.claim)
    possible = Sign.NONE
    # the parts may be piecewise themselves
    for box, one, other in _together(both, first, second, place, MAX_OPEN_CONDITIONS):
        jump = (_value(one) - _value(other)).xreplace(place)
        possible |= SignCalculus(box, valued=True, pieces=PIECES).sign(box.independent(jump))
    return possible


def _value(piece: Piece) -> sp.Expr:
    """The formula of a trend, as it is on a part."""
    stated = piece.claim.claim
    assert isinstance(stated, tree.TrendNode)
    return piece.law.to_sympy(stated.formula)


def _together(
    both: Piece, first: Piece, second: Piece, place: Place, remaining: int
) -> Iterator[tuple[Box, Piece, Piece]]:
    """The parts that meet at a border, without open conditions, and a domain of the points there.

    Args:
        both: a domain of the border.
        first: the part on one side.
        second: the part on the other side.
        place: a quantity at the border, in terms of the others.
        remaining: how many further conditions may be settled.

    Raises:
        BorderNotKnown: more than these are open.
    """
    condition = first.condition() or second.condition()
    if condition is None:
        yield both.box, first, second
        return
    if not remaining:
        raise BorderNotKnown("too many parts meet at one border")
    ones, others = (_at_border(side, condition, both.box, place) for side in (first, second))
    alike = first.above(condition) == second.above(condition)
    if alike and not (len(ones) == len(others) == 1 and ones != others):
        # a condition that changes here too has a border of its own in one of the parts
        pairs = [(part, holds, holds) for holds, part in both.split(condition).items()]
    else:  # it changes with this border, or is another condition on the other side
        pairs = [(both, one, other) for one in ones for other in others]
    for part, one, other in pairs:
        first_part, second_part = first.where(condition, one), second.where(condition, other)
        yield from _together(part, first_part, second_part, place, remaining - 1)


def _at_border(side: Piece, condition: Condition, box: Box, place: Place) -> set[bool]:
    """Whether a condition holds on one side of a border, beside it: True, False, or either."""
    above = side.above(condition).xreplace(place)
    sign = SignCalculus(box, valued=True).sign(box.independent(above))
    if sign in (Sign.POSITIVE, Sign.NEGATIVE):
        return {sign == Sign.POSITIVE}
    return set(side.split(condition))


def _solved(law: Law, condition: Condition, name: str) -> Place:
    """A quantity at the border, in terms of the others; nothing where it cannot be solved for."""
    known_signs = known_signs_of(law.declarations.symbols, dict(law.given))
    names = [name, *(q.name for q in (*law.variables, *law.parameters) if q.name != name)]
    for each in names:
        bound = bound_of(each, condition.greater, ">", condition.less, known_signs)
        if bound is not None:
            return {law.symbols[each]: law.to_sympy(bound[1])}
    return {}


def wrong_jump(piece: Piece, trend: Trend) -> Verdict | None:
    """A refutation: two points on either side of a border that contradict a trend, verified.

    Args:
        piece: the whole domain, with the law.
        trend: the trend.
    """
    for condition in dict.fromkeys(_conditions(piece)):
        if depends_on(condition.sides, (trend.name,), piece.law.declarations):
            verdict = _wrong_at(piece, condition, trend)
            if verdict is not None:
                return verdict
    return None


def _conditions(piece: Piece) -> Iterator[Condition]:
    condition = piece.condition()
    if condition is not None:
        yield condition
        for part in piece.split(condition).values():
            yield from _conditions(part)


def _wrong_at(piece: Piece, condition: Condition, trend: Trend) -> Verdict | None:
    law, box = piece.law, piece.box
    symbol = law.symbols[trend.name]
    place = _solved(law, condition, trend.name).get(symbol)
    if place is None or symbol in place.free_symbols:
        return None
    formula = law.to_sympy(trend.formula)
    below, above = (sp.Dummy(trend.name, **symbol.assumptions0) for _ in range(2))
    rise = trend.sense * (formula.xreplace({symbol: above}) - formula.xreplace({symbol: below}))
    for scale in (sp.S.One, place):
        for distance in DISTANCES:
            step = sp.Rational(distance.numerator, distance.denominator) * scale
            ends = {below: place - step, above: place + step}
            needs = [
                WitnessQuery(r.positive.xreplace({symbol: end}), (1,) if r.strict else (0, 1))
                for r in _relations_with(box, symbol)
                for end in ends.values()
            ]
            against = WitnessQuery(rise.xreplace(ends), (-1,))
            ordered = WitnessQuery(step, (1,))
            point = find_point(_without(box, symbol), [against, ordered, *needs])
            if point is not None:
                found = _at_two_points(piece, trend, point, ends, rise)
                if found is not None:
                    return found
    return None


def _relations_with(box: Box, symbol: sp.Symbol) -> Iterator[Relation]:
    for relations in box.relations.values():
        yield from (r for r in relations if symbol in box.declared(r.positive).free_symbols)


def _without(box: Box, symbol: sp.Symbol) -> Box:
    """The box without the relations that name a symbol: they are asked for at two values of it."""
    kept = {
        s: tuple(r for r in relations if symbol not in box.declared(r.positive).free_symbols)
        for s, relations in box.relations.items()
        if s != symbol
    }
    return replace(box, relations=kept)


def _has_value(piece: Piece, point: Point) -> bool:
    """Whether the formulas of a claim certainly have a value at a point, on the part it lies on."""
    for part in pieces_of(piece.law, piece.claim):
        signs = [(one, certain_sign(part.box, one.above, point)) for one in part.settled]
        if all(sign == 1 if one.holds else sign in (-1, 0) for one, sign in signs):
            doubts = parts_of(part.law, formulas(part.claim.claim), part.box)
            return all(doubt.holds(part.box, point) for doubt in doubts)
    return False


def _at_two_points(
    piece: Piece,
    trend: Trend,
    point: Point,
    ends: dict[sp.Symbol, sp.Expr],
    rise: sp.Expr,
) -> Verdict | None:
    """The refutation at two values of a quantity, exact in all of them."""
    law, box = piece.law, piece.box
    # what cancels in the jump has a value too
    whole = find_point(
        _without(box, law.symbols[trend.name]),
        [],
        near=point,
        accept=lambda other: point.items() <= other.items(),
    )
    point = {**(whole or {}), **point}
    values = {**box.settings, **point}
    exact = {s: sp.Rational(v.numerator, v.denominator) for s, v in values.items()}
    numbers: dict[sp.Symbol, Fraction] = {}
    for symbol, end in ends.items():
        number = sp.nsimplify(sp.N(end.xreplace(exact), 15), rational=True)
        if not number.is_Rational:
            return None
        numbers[symbol] = Fraction(int(number.p), int(number.q)).limit_denominator(10**9)
    low, high = numbers.values()
    symbol = law.symbols[trend.name]
    if not low < high:
        return None
    for relation in _relations_with(box, symbol):
        for value in (low, high):
            sign = certain_sign(box, relation.positive, {**point, symbol: value})
            if sign is None or sign < 0 or (sign == 0 and relation.strict):
                return None
    at = {**point, **numbers}
    if certain_sign(box, rise, at) != -1:
        return None
    # algebra may have cancelled what has no value at a point
    if not all(_has_value(piece, {**point, symbol: value}) for value in (low, high)):
        return None
    change = value_text(box, trend.sense * rise, at)
    text = f"its change from {trend.name} = {low} to {trend.name} = {high} {change}"
    return refuted({**point, symbol: low}, text)
