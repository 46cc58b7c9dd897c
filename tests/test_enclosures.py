"""Expressions on pieces of a box: what is said of a piece is true of every point in it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
import pytest
import sympy as sp
from claim_sampling import Case, sampled, sign_at
from hyperdual import Exact, NoValue
from judging import Judge
from random_sums import sums

from lawdsl.compiling.intervals import (
    INFINITY,
    MINUS_INFINITY,
    Interval,
    as_interval,
    multiply,
    precision,
)
from lawdsl.language import tree
from lawdsl.proof.box import Box
from lawdsl.proof.branch_and_bound.enclosures import EnclosedSum
from lawdsl.proof.branch_and_bound.log_enclosures import LogEnclosure
from lawdsl.proof.branch_and_bound.products import Enclosure, Factors, negative
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.signs.sign import Sign

BITS, DIGITS = 80, 60
COUNTS = pytest.mark.parametrize("count", [60, pytest.param(200, marks=pytest.mark.slow)])
"""How many random sums are looked at."""
L = tree.Name("L")


@dataclass
class Seen:
    """A law on a piece of its domain, and a few points in the piece."""

    case: Case
    box: Box
    piece: dict[sp.Symbol, Interval]
    points: list[dict[str, Fraction]]

    @property
    def e(self) -> sp.Expr:
        return self.case.law.expression

    def values(self, formula: tree.Formula) -> Iterator[tuple[dict[str, Fraction], mpmath.mpf]]:
        for point in self.points:
            with mpmath.workdps(DIGITS):
                numbers = {k: Exact().number(v) for k, v in point.items()}
                try:
                    yield point, Judge(self.case.law, numbers, Exact()).value(formula)
                except (NoValue, OverflowError):
                    continue

    def holds(self, found: Interval | None, formula: tree.Formula) -> None:
        for point, value in self.values(formula) if found is not None else ():
            assert contains(found, value), (str(self.case), self.piece, point, found, value)


def pieces(seed: int, terms: int, count: int) -> Iterator[Seen]:
    """Pieces often end where the box does, at closed, open and infinite ends."""
    rng = random.Random(seed)
    for case, box in sums(seed, count, (terms,)):
        points = sampled(case, rng, 5)
        piece = {}
        for s in case.law.expression.free_symbols - set(box.settings):
            low, high = (as_interval(end([p[s.name] for p in points])) for end in (min, max))
            ends = [
                Interval(infinite, infinite) if end is None else Enclosure(box, end.value).on({})
                for end, infinite in (
                    (box.range(s).lower, MINUS_INFINITY),
                    (box.range(s).upper, INFINITY),
                )
            ]
            low, high = (
                own if rng.random() < 0.6 else far
                for own, far in zip((low, high), ends, strict=True)
            )
            piece[s] = Interval(low.low, high.high)
        if piece and points:
            yield Seen(case, box, piece, points)


def contains(found: Interval, value: mpmath.mpf) -> bool:
    with mpmath.workdps(DIGITS):
        near = abs(value) * mpmath.mpf(10) ** -40
        low, high = map(as_mpf, found)
        return bool(low - near <= value <= high + near)


def as_mpf(end: Any) -> mpmath.mpf:
    if not end.is_finite():
        return mpmath.inf if end > 0 else -mpmath.inf
    mantissa, exponent = end.man_exp()
    return mpmath.ldexp(int(mantissa), int(exponent))


@COUNTS
def test_an_expression_lies_in_its_enclosure(count: int):
    with precision(BITS):
        for seen in pieces(11, 3, count):
            seen.holds(Enclosure(seen.box, seen.e).on(seen.piece), L)


@COUNTS
def test_a_product_lies_in_what_its_parts_say(count: int):
    with precision(BITS):
        for seen in pieces(12, 1, count):
            parts = Factors(SignCalculus(seen.box))
            size, sign, rest = parts.split(seen.e)
            view = LogEnclosure(parts, seen.piece)
            for found in (view.value(size), view.at_monotone_ends(size)):
                left = Enclosure(seen.box, rest).on(seen.piece)
                whole = None if left is None else multiply(found, left)
                seen.holds(whole if whole is None or sign == Sign.POSITIVE else negative(whole), L)
            size = parts.with_modulus(size, rest)
            for found in (view.value(size), view.at_monotone_ends(size)):
                seen.holds(found, tree.Call("abs", (L,), ()))


@COUNTS
@pytest.mark.parametrize("name", ["x", "y"])
def test_the_slope_of_a_logarithm_lies_in_what_its_parts_say(name: str, count: int):
    slope = tree.Product((("*", tree.Derivative("L", (name,), 1)), ("/", L)))
    with precision(BITS):
        for seen in pieces(13, 1, count):
            s = seen.case.law.symbols[name]
            if s in seen.piece:
                parts = Factors(SignCalculus(seen.box))
                size, _, rest = parts.split(seen.e)
                scaled = parts.signs.sign(s).within(Sign.NONNEGATIVE)
                formula = tree.Product((("*", tree.Name(name)), ("*", slope))) if scaled else slope
                seen.holds(
                    LogEnclosure(parts, seen.piece).slope(parts.with_modulus(size, rest), s),
                    formula,
                )


@COUNTS
@pytest.mark.parametrize("terms", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_sum_has_the_sign_that_it_is_said_to_have(terms: int, count: int):
    known = 0
    with precision(BITS):
        for seen in pieces(14, terms, count):
            parts = Factors(SignCalculus(seen.box))
            found = EnclosedSum(parts, seen.e).sign(LogEnclosure(parts, seen.piece))
            known += found != Sign.REAL
            for point, _ in seen.values(L) if found != Sign.REAL else ():
                sign = sign_at(seen.case, point)
                bit = {-1: Sign.NEGATIVE, 0: Sign.ZERO, 1: Sign.POSITIVE, None: found}[sign]
                assert bit in found, (str(seen.case), seen.piece, point, found)
    assert known > count / 4
