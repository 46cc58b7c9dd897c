"""The search for a counter-example: points of the domain, round ones first.

Found in float64, then made rational and short, then verified on intervals: a witness that is shown
is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.compiling.arrays import evaluate
from lawdsl.compiling.intervals import interval_sign
from lawdsl.compiling.tape import compile_tape
from lawdsl.law import Bound, Law, Quantity
from lawdsl.proof.box import Box, End

POINTS = 4000  # a round of the search
ROUND = [Fraction(n) for n in ("1", "2", "1/2", "3", "1/10", "10", "1/4", "5", "1/100", "100")]

Point = dict[sp.Symbol, Fraction]


@dataclass(frozen=True)
class Domain:
    """What a search needs to know of a domain: its box, and the relations that hold in it."""

    box: Box
    quantities: tuple[Quantity, ...]
    conditions: tuple[tuple[sp.Symbol, Bound], ...]
    settings: Mapping[sp.Symbol, Fraction]

    def symbols(self, e: sp.Expr) -> list[sp.Symbol]:
        return sorted(self.box.independent(e).free_symbols - set(self.settings), key=str)


def domain_for(law: Law, box: Box, extra: tuple[Quantity, ...] = ()) -> Domain:
    """The domain of a law on a box, `extra` being quantities that a claim brings in."""
    quantities = (*law.variables, *law.parameters, *extra)
    conditions = [(q.symbol, b) for q in quantities for b in q.bounds]
    settings = {q.symbol: Fraction(repr(q.value)) for q in law.settings if q.value is not None}
    return Domain(box, quantities, tuple(conditions), settings)


def find_point(
    domain: Domain, e: sp.Expr, wanted: Callable[[NDArray[np.float64]], NDArray[np.bool_]],
    signs: tuple[int, ...], seed: int = 0,
) -> tuple[Point, float] | None:
    """A rational point of the domain at which e has one of the signs, verified.

    Args:
        domain: where to look.
        e: the expression.
        wanted: which float64 values of e are worth verifying.
        signs: the signs (-1, 0, 1) that e may have there.
        seed: of the search.

    Returns:
        The point, with every quantity that e mentions, and the value of e there; or None.
    """
    symbols = domain.symbols(e)
    known = [s for s in domain.settings]
    independent = domain.box.independent(e)
    tape = compile_tape([independent], [*symbols, *known])
    exact = _Verifier(domain, e)
    given = [float(domain.settings[s]) for s in known]
    rng = np.random.default_rng(seed)
    for draw in (_round, _wide):
        columns = [draw(domain, s, rng) for s in symbols]
        values = np.broadcast_to(evaluate(tape, [*columns, *given])[0], (POINTS,))
        for i in _simplest(columns, wanted(values) & np.isfinite(values)):
            point = {s: Fraction(float(c[i])) for s, c in zip(symbols, columns, strict=True)}
            for rational in exact.near(point):
                if exact.holds(rational) and exact.sign(rational) in signs:
                    return rational, float(values[i])
    return None


class _Verifier:
    """Rational points near a float one, and what is certain there."""

    def __init__(self, domain: Domain, e: sp.Expr) -> None:
        self.domain = domain
        used = set(e.free_symbols)
        chosen = {q.symbol: q for q in domain.quantities}
        while True:  # the limits of used quantities bring in further ones
            limits = [b.limit for s, b in domain.conditions if s in used]
            more = {s for limit in limits for s in limit.free_symbols if s in chosen}
            if more <= used:
                break
            used |= more
        self.symbols = sorted(used - set(domain.settings), key=str)
        inputs = [*self.symbols, *domain.settings]
        self.tape = compile_tape([e], inputs)
        self.relations = [
            (b, compile_tape([s - b.limit if b.lower else b.limit - s], inputs))
            for s, b in self._conditions(used)
        ]

    def _conditions(self, used: set[sp.Symbol]) -> Iterator[tuple[sp.Symbol, Bound]]:
        for symbol, bound in self.domain.conditions:
            if symbol in used:
                yield symbol, bound
        for symbol in used:  # the claim's own conditions narrow the ranges
            domain = self.domain.box.range(symbol)
            for end, relation in ((domain.lower, ">"), (domain.upper, "<")):
                if end is not None:
                    yield symbol, Bound(relation + "=" * end.closed, end.at, "")

    def near(self, point: Mapping[sp.Symbol, Fraction]) -> Iterator[Point]:
        """The point with short numbers, then with longer ones."""
        for digits in (3, 6, 12):
            rounded: Point = {}
            for symbol in self.symbols:
                if symbol in point:
                    rounded[symbol] = _short(point[symbol], digits)
            missing = [s for s in self.symbols if s not in rounded]
            for symbol in missing:  # coupled parameters: just inside their bound, rounded outwards
                value = self._coupled(symbol, point, rounded)
                if value is None:
                    return
                rounded[symbol] = value
            yield rounded

    def _coupled(
        self, symbol: sp.Symbol, point: Mapping[sp.Symbol, Fraction], rounded: Point
    ) -> Fraction | None:
        formula = self.domain.box.slack.get(symbol)
        if formula is None:
            return Fraction(1)
        independent = self.domain.box.independent(formula)
        values = {**self.domain.settings, **rounded, **point}
        inputs = sorted(independent.free_symbols, key=str)
        if any(s not in values for s in inputs):
            values = {**{s: Fraction(1) for s in inputs}, **values}
        tape = compile_tape([independent], inputs)
        number = float(evaluate(tape, [float(values[s]) for s in inputs])[0])
        if not np.isfinite(number):
            return None
        rising = self.domain.box.slack[symbol].coeff(symbol) is not None
        return _short(Fraction(number), 3, up=rising)

    def _inputs(self, point: Point) -> list[Fraction]:
        return [*(point[s] for s in self.symbols), *self.domain.settings.values()]

    def holds(self, point: Point) -> bool:
        """Whether the point certainly lies in the domain."""
        for bound, tape in self.relations:
            sign = interval_sign(tape, self._inputs(point))
            if sign is None or sign < 0 or (sign == 0 and bound.strict):
                return False
        return True

    def sign(self, point: Point) -> int | None:
        return interval_sign(self.tape, self._inputs(point))


def _short(number: Fraction, digits: int, *, up: bool = False) -> Fraction:
    """A number of so many significant digits near a given one; small fractions stay as they are."""
    if number.denominator <= 1000 and abs(number.numerator) <= 10**6 and not up:
        return number
    if number == 0:
        return number
    shown = f"{float(number):.{digits - 1}e}"
    rounded = Fraction(shown)
    if up and rounded < number:
        exponent = int(shown.partition("e")[2])
        rounded += Fraction(10) ** (exponent - digits + 1)
    nearest = rounded.limit_denominator(100)
    return nearest if abs(nearest - rounded) * 10**digits < abs(rounded) and not up else rounded


def _ends(domain: Domain, symbol: sp.Symbol) -> tuple[float | None, float | None, bool, bool]:
    found = domain.box.range(symbol)
    low, low_closed = _end(domain, found.lower)
    high, high_closed = _end(domain, found.upper)
    return low, high, low_closed, high_closed


def _end(domain: Domain, end: End | None) -> tuple[float | None, bool]:
    if end is None:
        return None, False
    value = end.at.xreplace({s: sp.Rational(v) for s, v in domain.settings.items()})
    return (float(value), end.closed) if value.is_number else (None, False)


def _round(domain: Domain, symbol: sp.Symbol, rng: np.random.Generator) -> NDArray[np.float64]:
    """Small fractions and the closed ends of the range."""
    low, high, low_closed, high_closed = _ends(domain, symbol)
    choices = [float(x) for x in ROUND]
    if low is None:
        choices += [0.0, *(-x for x in choices)]
    elif low != 0:
        choices += [low + x for x in choices]
    if high is not None:
        choices += [high - x for x in choices]
    inside = [
        x for x in choices if (low is None or x > low) and (high is None or x < high)
    ]
    if low_closed and low is not None:
        inside.insert(0, low)
    if high_closed and high is not None:
        inside.insert(0, high)
    weights = 1 / (1 + np.arange(len(inside)) / 3)
    return rng.choice(inside or [1.0], size=POINTS, p=weights / weights.sum() if inside else None)


def _wide(domain: Domain, symbol: sp.Symbol, rng: np.random.Generator) -> NDArray[np.float64]:
    """Log-uniform over twelve decades from each finite end, or from 0 to both sides."""
    low, high, low_closed, high_closed = _ends(domain, symbol)
    size = 10 ** rng.uniform(-6, 6, POINTS)
    if low is not None and high is not None:
        share = rng.uniform(size=POINTS)
        share = np.where(rng.uniform(size=POINTS) < 0.5, share, 10 ** rng.uniform(-6, 0, POINTS))
        share = np.where(rng.uniform(size=POINTS) < 0.5, share, 1 - share)
        values = low + (high - low) * share
        values = np.where((values <= low) & (not low_closed), (low + high) / 2, values)
        return np.where((values >= high) & (not high_closed), (low + high) / 2, values)
    if low is not None:
        return low + size
    if high is not None:
        return high - size
    return size * rng.choice([-1.0, 1.0], POINTS)


def _simplest(columns: list[NDArray[np.float64]], found: NDArray[np.bool_]) -> list[int]:
    """Up to ten of the points found, those of the shortest numbers first."""
    places = np.flatnonzero(found)
    if not columns:
        return [int(i) for i in places[:1]]
    cost = np.zeros(len(places))
    for column in columns:
        cost += np.abs(np.log(np.abs(column[places]) + 1e-9))
    return [int(i) for i in places[np.argsort(cost, kind="stable")][:10]]
