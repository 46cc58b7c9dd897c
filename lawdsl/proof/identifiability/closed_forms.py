"""Direction, known numerically at any point -> candidate formulas for it as a vector field.

Candidates are linear combinations Σ c_k·t_k(θ) of given terms; the coefficients c_k solve linear
equations at a few points, and callers verify each candidate by algebra or at other points.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp
from flint import arb

from lawdsl.compiling.balls import Ball, ball, value
from lawdsl.compiling.tape import compile_tape
from lawdsl.proof.identifiability.null_space import Unclear, Vector, null_vectors
from lawdsl.proof.identifiability.points import NumericLaw, Point

VectorField = dict[sp.Symbol, sp.Expr]  # parameter -> its rate of change

PARAMETER_STEP = Fraction(33, 32)  # factor of a parameter from which exponents are read off
SPARE_ROWS = 4  # equations beyond the number of unknowns: spurious solutions fail these
MAX_COEFFICIENT_DENOMINATOR = 10**9
MAX_ANSATZ_UNKNOWNS = 80  # the cost of an ansatz grows with the cube
MAX_ANSATZ_SUMS = 2  # of parameters, in an ansatz
MAX_ANSATZ_PARAMETERS = 6


@dataclass(frozen=True)
class Direction:
    """A direction of vanishing derivative among some parameters, unique up to its length.

    Attributes:
        numbers: the law.
        support: the indices of the parameters that take part, in the law's order.
        seed: the seed of the points at which derivatives are computed.
        bits: the precision.
    """

    numbers: NumericLaw
    support: tuple[int, ...]
    seed: int
    bits: int

    @property
    def symbols(self) -> list[sp.Symbol]:
        """The symbols of the support."""
        return [self.numbers.law.parameters[i].symbol for i in self.support]

    def at(self, theta: Point) -> list[Ball]:
        """The direction at a point of the parameters, shape (support,), scaled so that the first
        entry is 1.

        Raises:
            Unclear, NoPoint: the direction cannot be determined there.
        """
        rows = self.numbers.rows(theta, len(self.support) + SPARE_ROWS, random.Random(self.seed))
        vectors = null_vectors(rows, self.support, self.bits)
        if len(vectors) != 1 or len(vectors[0]) != len(self.support):
            raise Unclear
        first = vectors[0][self.support[0]]
        return [vectors[0][i] / first for i in self.support]


def guesses(direction: Direction, base: Point, rng: random.Random) -> Iterator[VectorField]:
    """Candidate fields for the direction, the simplest first.

    Args:
        direction: the direction.
        base: the parameters from which exponents are estimated.
        rng: the source of the other points.
    """
    if len(direction.support) == 1:
        yield {direction.symbols[0]: sp.S.One}
        return
    exponents = _monomials(direction, base)
    if exponents is not None:
        yield exponents
    dictionaries: tuple[Callable[..., list[list[sp.Expr]]], ...] = (_affine, _quadratic)
    for dictionary in dictionaries:
        candidate = _spanned(direction, base, dictionary, rng)
        if candidate is not None:
            yield candidate
    candidate = _invariant_of_parts(direction)
    if candidate is not None:
        yield candidate


def _monomials(direction: Direction, base: Point) -> VectorField | None:
    """Each entry as c·A^n·B^m·log(C), with exponents from its ratios as one parameter changes."""
    law = direction.numbers.law
    entries = direction.at(base)
    shapes: list[sp.Expr] = [sp.S.One] * len(entries)
    for k, q in enumerate(law.parameters):
        changed = direction.at(_changed(base, k))
        for i, (before, after) in enumerate(zip(entries, changed, strict=True)):
            shape = _shape(after / before, base[k], q.symbol)
            if shape is None:
                return None
            shapes[i] *= shape
    parameter_values = dict(zip(law.parameters, base, strict=True))
    values = {q.symbol: x for q, x in parameter_values.items()}
    field = {}
    for symbol, entry, shape in zip(direction.symbols, entries, shapes, strict=True):
        number = _number(entry / _evaluated(shape, values), direction)
        if number is None:
            return None
        field[symbol] = number * shape
    return _tidy(field)


def _changed(base: Point, k: int) -> Point:
    return (*base[:k], base[k] * PARAMETER_STEP, *base[k + 1 :])


def _shape(ratio: Ball, before: Fraction, symbol: sp.Symbol) -> sp.Expr | None:
    """x^n or x^n·log(x), whichever changes by the given ratio as x changes by PARAMETER_STEP."""
    step = ball(PARAMETER_STEP)
    shapes = [(sp.S.One, arb(1))]
    if before > 0 and before not in (1, 1 / PARAMETER_STEP):
        shapes.append((sp.log(symbol), ball(before * PARAMETER_STEP).log() / ball(before).log()))
    for shape, factor in shapes:
        residual = ratio / factor
        if not residual > 0:
            continue
        # half-integers too: square roots of parameters are common
        n = _fraction_near(2 * residual.log() / step.log(), 1)
        if n is not None and abs(n) <= 12:
            return shape * symbol ** sp.Rational(n.numerator, 2)
    return None


def _spanned(
    direction: Direction,
    base: Point,
    dictionary: Callable[[Sequence[sp.Symbol], Sequence[sp.Expr]], list[list[sp.Expr]]],
    rng: random.Random,
) -> VectorField | None:
    """Each entry as a sum of terms of a dictionary with fixed coefficients."""
    law = direction.numbers.law
    involved = _involved(direction, base)
    if len(involved) > MAX_ANSATZ_PARAMETERS:
        return None
    sums = [part for part in _parts_in_parameters(direction) if part.is_Add]
    terms = dictionary(direction.symbols, [*involved, *sums[:MAX_ANSATZ_SUMS]])
    unknowns = [(i, term) for i, terms_of_entry in enumerate(terms) for term in terms_of_entry]
    # pivots are taken in this order, so that solutions consist of simple terms
    unknowns.sort(key=lambda unknown: unknown[1].count_ops() + len(unknown[1].free_symbols))
    if len(unknowns) > MAX_ANSATZ_UNKNOWNS:
        return None
    names = [q.symbol for q in law.parameters]
    tapes = [compile_tape([term], names) for _, term in unknowns]
    rows: list[list[Ball]] = []
    while len(rows) < len(unknowns) + SPARE_ROWS:
        theta = direction.numbers.theta(rng)
        entries = direction.at(theta)
        inputs = [ball(x) for x in theta]
        values = [value(tape, inputs) for tape in tapes]
        for j in range(1, len(entries)):  # entry j is entries[j] times the first one
            row = [arb(0)] * len(unknowns)
            for u, ((i, _), x) in enumerate(zip(unknowns, values, strict=True)):
                row[u] = -x if i == j else x * entries[j] if i == 0 else row[u]
            rows.append(row)
    solutions = null_vectors(rows, range(len(unknowns)), direction.bits, first=True)
    return _combined(direction, unknowns, solutions[0]) if solutions else None


def _combined(
    direction: Direction, unknowns: Sequence[tuple[int, sp.Expr]], coefficients: Vector
) -> VectorField | None:
    field: VectorField = dict.fromkeys(direction.symbols, sp.S.Zero)
    for u, entry in coefficients.items():
        i, term = unknowns[u]
        number = _number(entry, direction)
        if number is None:
            return None
        field[direction.symbols[i]] += number * term
    return None if any(e == 0 for e in field.values()) else _tidy(field)


def _involved(direction: Direction, base: Point) -> list[sp.Symbol]:
    """The parameters in the direction, and those on which it depends."""
    entries = direction.at(base)
    involved = []
    for k, q in enumerate(direction.numbers.law.parameters):
        shifted = direction.at(_changed(base, k))
        same = all((x - y).contains(0) for x, y in zip(entries, shifted, strict=True))
        if k in direction.support or not same:
            involved.append(q.symbol)
    return involved


def _affine(symbols: Sequence[sp.Symbol], terms: Sequence[sp.Expr]) -> list[list[sp.Expr]]:
    """For each symbol, the terms of an affine ansatz: 1, the terms, and their products with
    parameters and sums."""
    sums = [e for e in terms if e.is_Add]
    by_sums = [x * e for x in terms for e in sums]
    return [[sp.S.One, *terms, *(x * y for x in terms if x.is_Symbol), *by_sums] for y in symbols]


def _quadratic(directions: Sequence[sp.Symbol], terms: Sequence[sp.Expr]) -> list[list[sp.Expr]]:
    """Products of two parameters, and x·log(x)."""
    symbols = [e for e in terms if e.is_Symbol]
    pairs = itertools.combinations_with_replacement(symbols, 2)
    logs = [x * sp.log(x) for x in symbols if x.is_nonnegative]
    common = [sp.S.One, *symbols, *(x * y for x, y in pairs), *logs]
    return [common for _ in directions]


def _invariant_of_parts(direction: Direction) -> VectorField | None:
    """The direction that changes no part of the law that is made of parameters alone."""
    slopes = [
        [sp.diff(part, s) for s in direction.symbols] for part in _parts_in_parameters(direction)
    ]
    slopes = [row for row in slopes if any(x != 0 for x in row)]
    if not slopes:
        return None
    null_space = sp.Matrix(slopes).nullspace()
    if len(null_space) != 1:
        return None
    entries = [sp.together(x) for x in null_space[0]]
    denominator = sp.S.One
    for x in entries:
        denominator = sp.lcm(denominator, sp.fraction(x)[1])
    field = {s: sp.cancel(x * denominator) for s, x in zip(direction.symbols, entries, strict=True)}
    return None if any(e == 0 for e in field.values()) else _tidy(field)


def _parts_in_parameters(direction: Direction) -> list[sp.Expr]:
    parameters = {q.symbol for q in direction.numbers.law.parameters}
    return sorted(_parameter_parts(direction.numbers.expression, parameters), key=str)


def _parameter_parts(e: sp.Expr, parameters: set[sp.Symbol]) -> set[sp.Expr]:
    """The largest parts of an expression that contain parameters only. The terms of a sum, or the
    factors of a product, that do so count as one part."""
    if not e.free_symbols & parameters:
        return set()
    if e.free_symbols <= parameters:
        return {e}
    parts: set[sp.Expr] = set()
    members = [x for x in e.args if x.free_symbols and x.free_symbols <= parameters]
    if (e.is_Add or e.is_Mul) and len(members) > 1:
        parts.add(e.func(*members))
    else:
        parts |= set(members)
    for x in e.args:
        if x not in members:
            parts |= _parameter_parts(x, parameters)
    return parts


def _tidy(field: VectorField) -> VectorField:
    """The vector field with integer coefficients, few minus signs and no common factors."""
    terms = [term for e in field.values() for term in sp.Add.make_args(sp.expand(e))]
    symbols = {s for term in terms for s in term.free_symbols}
    common = sp.Mul(*(s ** min(_degree(term, s) for term in terms) for s in symbols))
    numbers = [n for term in terms if (n := term.as_coeff_Mul()[0]).is_Rational]
    scale = math.lcm(*(int(n.q) for n in numbers))
    divisor = math.gcd(*(int(n * scale) for n in numbers)) or 1
    minus = sum(1 if n < 0 else -1 for n in numbers)
    sign = -1 if minus > 0 or minus == 0 and numbers and numbers[0] < 0 else 1
    factor = sp.Rational(sign * scale, divisor) / common
    return {s: sp.factor_terms(sp.expand(e * factor)) for s, e in field.items()}


def _degree(term: sp.Expr, symbol: sp.Symbol) -> Any:
    """The power of a symbol among the factors of a term."""
    exponent = term.as_powers_dict().get(symbol, sp.S.Zero)
    return exponent if exponent.is_Rational else sp.S.Zero


def _number(x: Ball, direction: Direction) -> sp.Expr | None:
    """A rational number, or one times a constant of the law such as log(10)."""
    expression = direction.numbers.expression
    constants = expression.atoms(sp.NumberSymbol)
    constants |= {sp.log(p.base) for p in expression.atoms(sp.Pow) if p.base.is_positive}
    constants |= expression.atoms(sp.log)
    candidates = sorted((c for c in constants if c.is_number), key=str)
    for constant in (sp.S.One, *candidates):
        for unit in (constant, 1 / constant):
            fraction = _fraction_near(x / _evaluated(unit, {}), MAX_COEFFICIENT_DENOMINATOR)
            if fraction is not None:
                return sp.Rational(fraction.numerator, fraction.denominator) * unit
    return None


def _fraction_near(number: Ball, max_denominator: int) -> Fraction | None:
    """The fraction that a ball certainly is close to, if one has a denominator within the limit."""
    if (
        not number.is_finite()
        or not number.rad() < arb(10) ** -40
        or not abs(number) < arb(10) ** 12
    ):
        return None
    mantissa, exponent = (int(n) for n in number.mid().man_exp())
    fraction = (Fraction(mantissa) * Fraction(2) ** exponent).limit_denominator(max_denominator)
    return fraction if abs(ball(fraction) - number) < arb(10) ** -40 else None


def _evaluated(e: sp.Expr, values: Mapping[sp.Symbol, Fraction]) -> Ball:
    inputs = sorted(e.free_symbols, key=str)
    return value(compile_tape([e], inputs), [ball(values[s]) for s in inputs])
