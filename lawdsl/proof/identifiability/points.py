"""A law as numbers see it: a tape, and random points of its domain."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import sympy as sp

from lawdsl.compiling.balls import Ball, NoBall, ball, slopes, value
from lawdsl.compiling.tape import Tape, compile_tape
from lawdsl.law.law import Law, Quantity

DIGITS = 7  # of a random number: short, and generic all the same
TRIES = 8  # at each place at which the law must have a value
NEAR, WIDE, WIDEST = 4.0, 1e3, 1e9  # how far random numbers lie apart, as factors
REACH = (NEAR, NEAR, WIDE)  # of places: a term may have faded away at all those near by

Point = tuple[Fraction, ...]


class NoPoint(Exception):
    """No point at which the law has a value was found."""


@dataclass(frozen=True)
class Numbers:
    """A law with its settings as numbers.

    Attributes:
        law: the law.
        expression: its right-hand side in parameters, variables and settings without a value.
        tape: the same, with the parameters first among its inputs.
        drawn: what a point gives a value to, in the order of the tape's inputs.
    """

    law: Law
    expression: sp.Expr
    tape: Tape
    drawn: tuple[Quantity, ...]

    @property
    def names(self) -> list[str]:
        return [q.name for q in self.law.parameters]

    def theta(self, rng: random.Random) -> Point:
        """Parameters at random, near 1 where their domain allows it.

        Raises:
            NoPoint: a bound has no finite value.
        """
        return self._draw(self.law.parameters, {}, rng, NEAR)

    def place(self, theta: Point, rng: random.Random, reach: Sequence[float] = REACH) -> Point:
        """Variables at random, for given parameters.

        Raises:
            NoPoint: a bound has no finite value.
        """
        known = {q.symbol: x for q, x in zip(self.law.parameters, theta, strict=True)}
        return self._draw(self.drawn[len(theta) :], known, rng, rng.choice(reach))

    def value(self, theta: Sequence[Ball], place: Point) -> Ball:
        """The law at a point.

        Raises:
            NoBall: it has no value there.
        """
        return value(self.tape, [*theta, *map(ball, place)])

    def slopes(self, theta: Point, place: Point) -> list[Ball]:
        """Its derivatives by the parameters at a point.

        Raises:
            NoBall: it has no value there.
        """
        return slopes(self.tape, [*map(ball, theta), *map(ball, place)], len(theta))

    def rows(
        self, theta: Point, count: int, rng: random.Random, reach: Sequence[float] = REACH
    ) -> list[list[Ball]]:
        """Its derivatives by the parameters at so many random places, shape (count, parameters).

        Raises:
            NoPoint: it has a value at too few places.
        """
        found: list[list[Ball]] = []
        for _ in range(TRIES * count):
            if len(found) == count:
                return found
            try:
                found.append(self.slopes(theta, self.place(theta, rng, reach)))
            except NoBall:
                pass
        raise NoPoint

    def _draw(
        self,
        quantities: Sequence[Quantity],
        known: Mapping[sp.Symbol, Fraction],
        rng: random.Random,
        factor: float,
    ) -> Point:
        at = {**_settings(self.law), **known}
        found = []
        for q in quantities:
            low = [_limit(b.limit, at) for b in q.bounds if b.lower]
            high = [_limit(b.limit, at) for b in q.bounds if not b.lower]
            size = math.exp(rng.uniform(-1, 1) * math.log(factor))
            if low and high:
                share = rng.uniform(0.02, 0.98) if factor == NEAR else size / (1 + size)
                x = max(low) + (min(high) - max(low)) * share
            elif low:
                x = max(low) + max(1.0, abs(max(low))) * size
            elif high:
                x = min(high) - max(1.0, abs(min(high))) * size
            else:
                x = size * rng.choice((-1, 1))
            if not math.isfinite(x):
                raise NoPoint  # the bounds lie beyond the range of floats
            found.append(Fraction(f"{x:.{DIGITS - 1}e}"))
            at[q.symbol] = found[-1]
        return tuple(found)


def numbers_of(law: Law) -> Numbers:
    """A law as numbers; a setting without a value is drawn like a variable."""
    values = {s: sp.Rational(x.numerator, x.denominator) for s, x in _settings(law).items()}
    expression = law.expression.xreplace(values)
    unknown = [q for q in law.settings if q.value is None]
    drawn = (*law.parameters, *law.variables, *unknown)
    tape = compile_tape([expression], [q.symbol for q in drawn])
    return Numbers(law, expression, tape, drawn)


def _settings(law: Law) -> dict[sp.Symbol, Fraction]:
    return {q.symbol: Fraction(repr(q.value)) for q in law.settings if q.value is not None}


def _limit(limit: sp.Expr, at: Mapping[sp.Symbol, Fraction]) -> float:
    used = sorted(limit.free_symbols, key=str)
    if any(s not in at for s in used):
        raise NoPoint
    try:
        if limit.is_Rational:
            return float(limit)
        return float(value(compile_tape([limit], used), [ball(at[s]) for s in used]))
    except (NoBall, OverflowError):
        raise NoPoint from None
