"""Box, required signs -> a verified rational point of the domain, preferably of round numbers.

Candidates are sampled in float64, rounded to short rational numbers and verified by interval
arithmetic, so that every reported witness is certain (Rump (2010), "Verification methods: Rigorous
results using floating-point arithmetic", Acta Numerica 19).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.compiling.arrays import evaluate
from lawdsl.compiling.interval_evaluation import certain_text, exact_value, interval_sign
from lawdsl.compiling.tape import compile_tape
from lawdsl.core.diagnostics import LawdslError
from lawdsl.proof.box import Box, Relation
from lawdsl.proof.sampling import draw_round, draw_wide
from lawdsl.proof.signs.calculus import SignCalculus

POINTS_PER_ROUND = 4000  # random points in each of the two rounds of the search
ENDPOINT_RTOL = 1e-12  # relative rounding error of float64 at a closed end; verified exactly later
ZERO_ATOL = 1e-13  # rounding error of float64 in a value of 0; verified exactly later
MAX_VERIFIED_POINTS = 10  # candidates verified in each round; exact arithmetic is slow
WITNESS_DIGITS = 4  # of a value that is printed

Point = dict[sp.Symbol, Fraction]


@dataclass(frozen=True)
class WitnessQuery:
    """An expression and its required signs (-1, 0, 1); `margin` applies to float64 values only."""

    e: sp.Expr
    signs: tuple[int, ...]
    margin: float = 0.0

    def satisfied_by(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether float64 values have one of the required signs; both arrays of shape (points,)."""
        satisfied = np.zeros(values.shape, dtype=bool)
        for sign in self.signs:
            satisfied |= sign * values > self.margin if sign else np.abs(values) < ZERO_ATOL
        return satisfied


def find_point(
    box: Box,
    queries: Sequence[WitnessQuery],
    *,
    accept: Callable[[Point], bool] | None = None,
    seed: int = 0,
    near: Mapping[sp.Symbol, Fraction] | None = None,
) -> Point | None:
    """A rational point of the domain at which expressions have certain signs, verified.

    Args:
        box: the domain. Its lets are expanded, so that a point consists of the law's own
            quantities.
        queries: the expressions and their signs; none for any point of the domain.
        accept: a further condition on points.
        seed: the seed of the search.
        near: a point in independent symbols to be rounded and verified instead of a search.

    Returns:
        The point, with every quantity that decides whether it is one; or None.
    """
    try:
        verifier = _Verifier(box, queries)
        settings = list(box.settings)
        if verifier.unknown_symbols:
            return None
        expressions = [w.e for w in verifier.queries] + [
            r.positive for r in verifier.active_relations
        ]
        tape = compile_tape(
            [box.independent(e) for e in expressions], [*verifier.sampled, *settings]
        )
    except LawdslError:
        return None  # it has parts that cannot be computed
    if near is not None:
        return verifier.first(near, accept)
    numbers = [float(box.settings[s]) for s in settings]
    rng = np.random.default_rng(seed)
    # round numbers first, for a readable witness; then values of all sizes
    for draw in (draw_round, draw_wide):
        columns = [draw(box, s, rng, POINTS_PER_ROUND) for s in verifier.sampled]
        _keep_to_simplexes(box, verifier.sampled, columns)
        candidates = np.ones(POINTS_PER_ROUND, dtype=bool)
        values = evaluate(tape, [*columns, *numbers])
        for w, column in zip(verifier.queries, values, strict=False):
            candidates &= w.satisfied_by(column) & np.isfinite(column)
        for slack in values[len(verifier.queries) :]:
            candidates &= slack > -ENDPOINT_RTOL
        for i in _simplest(columns, candidates):
            point = {
                s: Fraction(float(c[i])) for s, c in zip(verifier.sampled, columns, strict=True)
            }
            rational = verifier.first(point, accept)
            if rational is not None:
                return rational
    return None


def _keep_to_simplexes(
    box: Box, symbols: Sequence[sp.Symbol], columns: list[NDArray[np.float64]]
) -> None:
    """Scale down shares that sum to more than 1, as many random ones nearly always do."""
    for formula in box.lets.values():
        parts = formula.as_coefficients_dict()
        shares = [s for s in parts if s != 1]
        if parts[sp.S.One] != 1 or any(parts[s] != -1 or s not in symbols for s in shares):
            continue
        positions = [symbols.index(s) for s in shares]
        total = np.sum([columns[k] for k in positions], axis=0)
        for k in positions:
            columns[k] = columns[k] / np.maximum(1, np.ceil(total))


def certain_sign(box: Box, e: sp.Expr, point: Point) -> int | None:
    """The sign of an expression at a point, with settings at their values.

    Args:
        box: the domain.
        e: the expression.
        point: quantity -> its rational value.

    Returns:
        -1, 0 or 1; None where interval arithmetic does not decide it.
    """
    values = {**box.settings, **point}
    inputs = sorted(values, key=str)
    try:
        return interval_sign(compile_tape([box.declared(e)], inputs), [values[s] for s in inputs])
    except LawdslError:
        return None


def value_text(box: Box, e: sp.Expr, point: Point) -> str:
    """The value of an expression at a point as text: certain digits only, or its sign alone.

    Args:
        box: the domain.
        e: the expression.
        point: quantity -> its rational value.
    """
    values = {**box.settings, **point}
    inputs = sorted(values, key=str)
    tape = compile_tape([box.declared(e)], inputs)
    return certain_text(tape, [values[s] for s in inputs], WITNESS_DIGITS)


class _Verifier:
    """Rational points near a floating-point one, and certified tests of them.

    Attributes:
        queries: the required signs, in the law's own quantities.
        symbols: the quantities of a point: those in the queries, and those that decide whether the
            point is in the domain.
        sampled: the independent symbols behind them.
        active_relations: the relations among them that hold in the domain.
        unknown_symbols: symbols that are not quantities of the law.
    """

    def __init__(self, box: Box, queries: Sequence[WitnessQuery]) -> None:
        self.box = box
        self.queries = [WitnessQuery(box.declared(w.e), w.signs, w.margin) for w in queries]
        stated = {
            s: tuple(Relation(box.declared(r.positive), r.strict) for r in relations)
            for s, relations in box.relations.items()
        }
        used: set[sp.Symbol] = set().union(*(w.e.free_symbols for w in self.queries))
        if not queries:
            used |= set(stated) - set(box.lets)
        before: set[sp.Symbol] = set()
        while used != before:
            before = set(used)
            for symbol, relations in stated.items():
                if symbol in used or self._binding(symbol, relations):
                    used |= {s for r in relations for s in r.positive.free_symbols}
        used -= set(box.settings)
        self.unknown_symbols = used - set(stated)
        self.symbols = [s for s in stated if s in used]
        self.active_relations = [
            r for s, relations in stated.items() for r in relations if s in used or s in box.lets
        ]
        independent = {x for s in self.symbols for x in box.independent(s).free_symbols}
        self.sampled = sorted(independent - set(box.settings), key=str)
        inputs = [*self.symbols, *box.settings]
        self.relations = [
            (r.strict, compile_tape([r.positive], inputs)) for r in self.active_relations
        ]
        self.tapes = [(w.signs, compile_tape([w.e], inputs)) for w in self.queries]

    def _binding(self, symbol: sp.Symbol, relations: Sequence[Relation]) -> bool:
        """Whether values of other quantities may leave none for this one.

        A single bound, or several on one side, never do: values far enough from them satisfy all,
        if the bounds have values themselves.
        """
        if symbol in self.box.lets:
            return True
        others = {s for r in relations for s in r.positive.free_symbols} - {symbol}
        if not others - set(self.box.settings):
            return False
        if len({r.positive.coeff(symbol) for r in relations}) > 1:
            return True
        limits = [self.box.independent(r.positive.xreplace({symbol: sp.S.Zero})) for r in relations]
        return not all(map(SignCalculus(self.box).finite, limits))

    def first(
        self, point: Mapping[sp.Symbol, Fraction], accept: Callable[[Point], bool] | None
    ) -> Point | None:
        """The shortest rational point near a float one at which all requirements certainly hold."""
        rng = np.random.default_rng(0)
        missing = [s for s in self.sampled if s not in point]
        defaults = {s: Fraction(float(draw_round(self.box, s, rng, 1)[0])) for s in missing}
        for rational in self.near({**defaults, **point}):
            if self.holds(rational) and (accept is None or accept(rational)):
                return rational
        return None

    def near(self, point: Mapping[sp.Symbol, Fraction]) -> Iterator[Point]:
        """The point with short numbers, then with longer ones."""
        # short numbers first: people read the witness
        for digits in (3, 6, 12):
            rounded = {s: _short(v, digits) for s, v in point.items() if s in self.symbols}
            waiting = [s for s in self.symbols if s not in rounded]
            while waiting:
                ready = [s for s in waiting if not self.box.slack[s].free_symbols & set(waiting)]
                for symbol in ready:
                    value = self._coupled_value(
                        symbol, {**self.box.settings, **point, **rounded}, digits
                    )
                    if value is None:
                        return
                    rounded[symbol] = value
                    waiting.remove(symbol)
                if not ready:
                    return
            yield rounded

    def _coupled_value(
        self, symbol: sp.Symbol, values: Mapping[sp.Symbol, Fraction], digits: int
    ) -> Fraction | None:
        """A coupled quantity: rounded away from its bound, unless it is on it or between two."""
        formula = self.box.slack[symbol]
        inputs = sorted(formula.free_symbols, key=str)
        if any(s not in values for s in inputs):
            return None
        tape = compile_tape([formula], inputs)
        s = next(s for s in inputs if s in self.box.meaning)
        slack = formula.coeff(s) in (1, -1)
        if values[s] == 0 or not slack:
            exact = exact_value(tape, [values[s] for s in inputs])
            # on its bound, or between two, no rounding is allowed
            if exact is not None and (values[s] in (0, 1) or exact.denominator <= 1000):
                return exact
        number = float(evaluate(tape, [float(values[s]) for s in inputs])[0])
        if not np.isfinite(number):
            return None
        side = 1 if formula.coeff(s) == 1 else -1
        return _short(Fraction(number), digits, side=side if slack else 0)

    def _inputs(self, point: Point) -> list[Fraction]:
        return [*(point[s] for s in self.symbols), *self.box.settings.values()]

    def holds(self, point: Point) -> bool:
        """Whether the point is certainly in the domain and certainly satisfies the queries."""
        inputs = self._inputs(point)
        for strict, tape in self.relations:
            sign = interval_sign(tape, inputs)
            if sign is None or sign < 0 or (sign == 0 and strict):
                return False
        return all(interval_sign(tape, inputs) in signs for signs, tape in self.tapes)


def _short(number: Fraction, digits: int, *, side: int = 0) -> Fraction:
    """A number rounded to some significant digits; small fractions are returned unchanged.

    `side` says on which side of the number it must be: 1 above, -1 below, 0 either.
    """
    if number == 0 or (not side and number.denominator <= 1000 and abs(number.numerator) <= 10**6):
        return number
    scientific = f"{float(number):.{digits - 1}e}"
    rounded = Fraction(scientific)
    if side:
        if (rounded - number) * side < 0:
            rounded += side * Fraction(10) ** (int(scientific.partition("e")[2]) - digits + 1)
        return rounded
    nearest = rounded.limit_denominator(100)
    return nearest if abs(nearest - rounded) * 10**digits < abs(rounded) else rounded


def _simplest(columns: list[NDArray[np.float64]], candidates: NDArray[np.bool_]) -> list[int]:
    """Indices of at most MAX_VERIFIED_POINTS candidates, those nearest to 1 in logarithm first."""
    positions = np.flatnonzero(candidates)
    if not columns:
        return [int(i) for i in positions[:1]]
    cost = np.zeros(len(positions))
    for column in columns:
        size = np.abs(column[positions])
        cost += np.abs(np.log(np.where(size == 0, 1, size)))
    return [int(i) for i in positions[np.argsort(cost, kind="stable")][:MAX_VERIFIED_POINTS]]
