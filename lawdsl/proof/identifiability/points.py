"""Law -> its values and derivatives in ball arithmetic at random points of its domain.

Parameters and variables are short random decimals, so that a relation that holds at them by chance
is unlikely.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import sympy as sp

from lawdsl.compiling.balls import Ball, NoBall, ball, slopes, value
from lawdsl.compiling.tape import Tape, compile_tape
from lawdsl.language import tree
from lawdsl.law.law import Law, Quantity
from lawdsl.proof.domain import last_shares

COORDINATE_DIGITS = 7  # of a random number: short, and generic all the same
TRIES_PER_ROW = 8  # the law may have no value at some of the random points
NEAR_FACTOR, WIDE_FACTOR, WIDEST_FACTOR = 4.0, 1e3, 1e9  # by which random numbers differ from 1
# of variables: with values near 1 alone, a decaying term may be negligible at all of them
DEFAULT_REACH = (NEAR_FACTOR, NEAR_FACTOR, WIDE_FACTOR)

Point = tuple[Fraction, ...]


class NoPoint(Exception):
    """No point at which the law has a value could be drawn."""


@dataclass(frozen=True)
class NumericLaw:
    """A law with its settings as numbers.

    Attributes:
        law: the law.
        expression: its right-hand side in parameters, variables and settings without a value.
        tape: the compiled expression, with the parameters first among its inputs.
        drawn: the symbols to which a point assigns values, in the order of the tape's inputs.
        settings: setting -> value.
        simplexes: positions in `drawn` of shares that leave a further share of 1.
    """

    law: Law
    expression: sp.Expr
    tape: Tape
    drawn: tuple[Quantity, ...]
    settings: Mapping[sp.Symbol, Fraction]
    simplexes: tuple[tuple[int, ...], ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of the parameters."""
        return [q.name for q in self.law.parameters]

    def theta(self, rng: random.Random) -> Point:
        """Draw random parameters, near 1 where their domain allows it.

        Raises:
            NoPoint: a bound has no finite value.
        """
        theta = self._draw(self.law.parameters, {}, rng, NEAR_FACTOR)
        return self._within_simplexes(theta, 0)

    def draw_variables(
        self, theta: Point, rng: random.Random, reach: Sequence[float] = DEFAULT_REACH
    ) -> Point:
        """Draw random variables, for given parameters.

        Args:
            theta: the parameters.
            rng: the source of randomness.
            reach: the spreads, as factors, of which one is drawn for all variables.

        Raises:
            NoPoint: a bound has no finite value.
        """
        parameters = {q.symbol: x for q, x in zip(self.law.parameters, theta, strict=True)}
        point = self._draw(self.drawn[len(theta) :], parameters, rng, rng.choice(reach))
        return self._within_simplexes(point, len(theta))

    def _within_simplexes(self, point: Point, first: int) -> Point:
        """Values with shares scaled such that the further share is positive.

        Args:
            point: the values of some of the drawn symbols.
            first: the position in `drawn` of the first of them.
        """
        values = list(point)
        for simplex in self.simplexes:
            places = [k - first for k in simplex if 0 <= k - first < len(values)]
            total = math.floor(sum(values[k] for k in places)) + 1
            for k in places if total > 1 else ():  # random shares nearly always sum to more than 1
                values[k] = _rounded(float(values[k]) / total)
        return tuple(values)

    def value(self, theta: Sequence[Ball], variables: Point) -> Ball:
        """The value of the law at a point.

        Args:
            theta: the parameters, in the law's order.
            variables: the variables.

        Raises:
            NoBall: the law has no value there.
        """
        return value(self.tape, [*theta, *map(ball, variables)])

    def slopes(self, theta: Point, variables: Point) -> list[Ball]:
        """The derivatives of the law by its parameters at a point, shape (parameters,).

        Args:
            theta: the parameters.
            variables: the variables.

        Raises:
            NoBall: the law has no value there.
        """
        return slopes(self.tape, [*map(ball, theta), *map(ball, variables)], len(theta))

    def rows(
        self, theta: Point, count: int, rng: random.Random, reach: Sequence[float] = DEFAULT_REACH
    ) -> list[list[Ball]]:
        """Derivatives of the law by its parameters at random variables, shape (count, parameters).

        Args:
            theta: the parameters.
            count: the number of points.
            rng: the source of randomness.
            reach: the spreads, as factors, of which one is drawn for each row.

        Raises:
            NoPoint: the law has a value at too few of the points.
        """
        rows: list[list[Ball]] = []
        for _ in range(TRIES_PER_ROW * count):
            if len(rows) == count:
                return rows
            try:
                rows.append(self.slopes(theta, self.draw_variables(theta, rng, reach)))
            except NoBall:
                pass
        raise NoPoint

    def _draw(
        self,
        quantities: Sequence[Quantity],
        fixed: Mapping[sp.Symbol, Fraction],
        rng: random.Random,
        factor: float,
    ) -> Point:
        values = {**self.settings, **fixed}
        coordinates = []
        for q in quantities:
            low = [_limit(b.limit, values) for b in q.bounds if b.lower]
            high = [_limit(b.limit, values) for b in q.bounds if not b.lower]
            size = math.exp(rng.uniform(-1, 1) * math.log(factor))
            if low and high:
                share = rng.uniform(0.02, 0.98) if factor == NEAR_FACTOR else size / (1 + size)
                x = max(low) + (min(high) - max(low)) * share
            elif low:
                x = max(low) + max(1.0, abs(max(low))) * size
            elif high:
                x = min(high) - max(1.0, abs(min(high))) * size
            else:
                x = size * rng.choice((-1, 1))
            if not math.isfinite(x):
                raise NoPoint  # the bounds lie beyond the range of floats
            coordinates.append(_rounded(x))
            values[q.symbol] = coordinates[-1]
        return tuple(coordinates)


def numeric_law(law: Law) -> NumericLaw:
    """Compile a law for ball arithmetic; a setting without a value is drawn like a variable."""
    settings = {q.symbol: Fraction(repr(q.value)) for q in law.settings if q.value is not None}
    values = {s: sp.Rational(x.numerator, x.denominator) for s, x in settings.items()}
    expression = law.expression.xreplace(values)
    unknown = [q for q in law.settings if q.value is None]
    drawn = (*law.parameters, *law.variables, *unknown)
    tape = compile_tape([expression], [q.symbol for q in drawn])
    return NumericLaw(law, expression, tape, drawn, settings, _simplexes(law, drawn))


def _simplexes(law: Law, drawn: Sequence[Quantity]) -> tuple[tuple[int, ...], ...]:
    """The positions of the shares s_i of each further share 1 - Σ s_i."""
    positions = {q.symbol: k for k, q in enumerate(drawn)}
    simplexes = []
    for name in last_shares(law):
        parts = law.to_sympy(tree.Name(name)).as_coefficients_dict()
        shares = [s for s in parts if s != 1]
        if parts[sp.S.One] == 1 and all(parts[s] == -1 and s in positions for s in shares):
            simplexes.append(tuple(positions[s] for s in shares))
    return tuple(simplexes)


def _rounded(x: float) -> Fraction:
    return Fraction(f"{x:.{COORDINATE_DIGITS - 1}e}")


def _limit(limit: sp.Expr, values: Mapping[sp.Symbol, Fraction]) -> float:
    used = sorted(limit.free_symbols, key=str)
    if any(s not in values for s in used):
        raise NoPoint
    try:
        if limit.is_Rational:
            return float(limit)
        return float(value(compile_tape([limit], used), [ball(values[s]) for s in used]))
    except (NoBall, OverflowError):
        raise NoPoint from None
