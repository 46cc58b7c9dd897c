"""Law -> the symmetries of its parameters, and how many directions no data can determine.

A vector field f is a symmetry where Σ f_i·∂L/∂θ_i = 0 for all variables: moving the parameters along
it changes no value of the law, so no data can determine them (structural identifiability: Bellman
and Åström (1970), Mathematical Biosciences 7). Its directions are null vectors of the matrix ∂L/∂θ
at random points.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import sympy as sp
from flint import arb

from lawdsl.compiling.balls import Ball, NoBall, ball, value
from lawdsl.compiling.intervals import precision
from lawdsl.compiling.tape import compile_tape
from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.time_limit import OutOfTime, time_limit
from lawdsl.law.algebra import is_of_sympy
from lawdsl.law.functions import PIECEWISE, without_impulses
from lawdsl.law.law import Law
from lawdsl.law.text import text
from lawdsl.proof.identifiability.closed_forms import Direction, guesses
from lawdsl.proof.identifiability.null_space import Unclear, Vector, null_vectors, shortened
from lawdsl.proof.identifiability.orbits import Flow, VectorField, fixing_candidates, flow_of
from lawdsl.proof.identifiability.points import (
    DEFAULT_REACH,
    WIDEST_FACTOR,
    NoPoint,
    NumericLaw,
    Point,
    numeric_law,
)
from lawdsl.proof.identifiability.restrictions import choose_fixed
from lawdsl.proof.identifiability.result import Freedom, Symmetry
from lawdsl.proof.identifiability.zero_test import vanishes

FREEDOM_SECONDS = 2.0  # for one law; published laws take a few milliseconds
FORMULA_TIME_SHARE = 0.5  # part of the time that goes into the formulas of all directions
PROOF_SECONDS = 0.2  # for one identity by algebra
BALL_BITS, MANY_BITS = 256, 1024  # of the numbers; many, where a direction seems lost
PARAMETER_POINTS = 3  # of the parameters, at which lost directions are counted
CHECK_POINTS = 20  # points at which an identity is tested
CHECK_DIGITS = 100  # in which it must hold there
SPARE_PLACES, MANY_SPARE_PLACES = 4, 24  # rows beyond the number of parameters
MAX_POINT_TRIES = 30  # points at which the law may have no value
MAX_COLUMN_ORDERS = 24  # of elimination, in search of sparse directions
MAX_FORMULA_DIRECTIONS = 8  # directions for which a formula is sought
T = TypeVar("T")
EXPECTED_FAILURES = (OutOfTime, Unclear, NoPoint, NoBall, LawdslError)


def freedom(law: Law, *, seconds: float = FREEDOM_SECONDS) -> Freedom:
    """The directions in the parameters of a law that no data determine, almost everywhere.

    Derivatives that ball arithmetic finds to be independent at one point are independent almost
    everywhere, so the number of lost directions at such a point is a certain upper bound (`certain`
    says whether that many were found). A symmetry with a formula is proved by algebra, or verified
    at random points (`proved` says which). A direction without a formula is reported where it is
    lost at all sampled points, to some hundred digits; never for a law with kinks, whose pieces may
    differ.

    Args:
        law: the law; settings and fixed parameters are numbers, all other values are free. A law
            with index sets is examined with a few labels in each, on the simplex that it declares.
        seconds: the time allowed (s). Half of it may be spent on formulas; a direction whose
            formula is not found by then is reported without one. Where all of it is used up,
            nothing is reported.

    Raises:
        LawdslError: the law's formula has no value.
    """
    law = law.built().sample  # a mistake in the law itself is not hidden below
    with precision(BALL_BITS):
        result = _within_time(
            seconds, lambda: _freedom(numeric_law(law), FORMULA_TIME_SHARE * seconds)
        )
    return result or Freedom(certain=False)


@dataclass(frozen=True)
class _SlopeSample:
    """The slopes at one point of the parameters, and the directions without slope.

    Attributes:
        theta: the point.
        rows: ∂L/∂θ at random values of the variables, shape (rows, parameters).
        vectors: a basis of the directions.
    """

    theta: Point
    rows: list[list[Ball]]
    vectors: list[Vector]


class _FormulaDirection(NamedTuple):
    """A direction, as numbers at a point and as a formula; an empty field stands for no formula."""

    vector: Vector
    field: VectorField
    proved: bool


def _freedom(numbers: NumericLaw, seconds: float) -> Freedom:
    if not numbers.names or _determined(numbers):
        return Freedom()
    with precision(MANY_BITS):
        reach = (*DEFAULT_REACH, WIDEST_FACTOR)
        points = [
            _slope_sample(numbers, seed, MANY_BITS, MANY_SPARE_PLACES, reach)
            for seed in range(PARAMETER_POINTS)
        ]
    # derivatives independent at one point are independent almost everywhere
    base = min(points, key=lambda sample: len(sample.vectors))
    with_formula: list[_FormulaDirection] = []
    without_formula: list[_FormulaDirection] = []
    began = time.process_time()
    for _, vectors in itertools.groupby(_circuits(base)[:MAX_FORMULA_DIRECTIONS], key=len):
        if len(_basis(with_formula, numbers)) == len(base.vectors):
            break
        for vector in vectors:
            remaining = seconds - (time.process_time() - began)
            formula = _formula(numbers, base.theta, tuple(sorted(vector)), remaining)
            if formula is not None:
                with_formula.append(_FormulaDirection(vector, *formula))
            elif len(vector) > 1:  # that one has no effect at all, algebra would have shown
                without_formula.append(_FormulaDirection(vector, {}, False))
        with_formula.sort(key=lambda one: _length(one.field))
    # the pieces of a law with kinks may differ: only formulas hold for all of them
    kinked = numbers.expression.has(*PIECEWISE)
    basis = _basis(with_formula if kinked else [*with_formula, *without_formula], numbers)
    return Freedom(_symmetries(numbers, basis), certain=len(basis) == len(base.vectors))


def _basis(directions: Sequence[_FormulaDirection], numbers: NumericLaw) -> list[_FormulaDirection]:
    """The directions that are independent of those before them."""
    chosen: list[_FormulaDirection] = []
    for one in directions:
        if _independent([*(c.vector for c in chosen), one.vector], range(len(numbers.names))):
            chosen.append(one)
    return chosen


def _determined(numbers: NumericLaw) -> bool:
    """Whether the slopes at a point are certainly independent: a quick test that most laws pass."""
    try:
        return not _slope_sample(numbers, 0, BALL_BITS, SPARE_PLACES, DEFAULT_REACH).vectors
    except Unclear:
        return False


def _slope_sample(
    numbers: NumericLaw, seed: int, bits: int, spare: int, reach: Sequence[float]
) -> _SlopeSample:
    rng = random.Random(seed)
    count = len(numbers.names)
    for _ in range(MAX_POINT_TRIES):
        theta = numbers.theta(rng)
        try:
            rows = numbers.rows(theta, count + spare, rng, reach)
        except NoPoint:
            continue
        return _SlopeSample(theta, rows, null_vectors(rows, range(count), bits))
    raise NoPoint


def _circuits(sample: _SlopeSample) -> list[Vector]:
    """Directions of minimal support (circuits of the column matroid), the smallest first."""
    involved = sorted({i for vector in sample.vectors for i in vector})
    orders = [involved, involved[::-1]]
    for i in involved[:MAX_COLUMN_ORDERS]:
        rest = [k for k in involved if k != i]
        orders += [[i, *rest], [*rest, i], [i, *reversed(rest)]]
    circuits: dict[tuple[int, ...], Vector] = {}
    with precision(MANY_BITS):
        for order in orders:
            for vector in shortened(sample.vectors, order, MANY_BITS):
                circuits.setdefault(tuple(sorted(vector)), vector)
    return [circuits[key] for key in sorted(circuits, key=lambda key: (len(key), key))]


def _independent(vectors: Sequence[Vector], among: Sequence[int]) -> bool:
    """Whether vectors, restricted to some of their entries, are linearly independent."""
    rows = [[vector.get(i, arb(0)) for i in among] for vector in vectors]
    with precision(MANY_BITS):
        return len(null_vectors(rows, range(len(among)), MANY_BITS)) == len(among) - len(vectors)


def _formula(
    numbers: NumericLaw, theta: Point, support: tuple[int, ...], seconds: float
) -> tuple[VectorField, bool] | None:
    """A verified formula for a direction, and whether it is proved."""
    direction = Direction(numbers, support, seed=1, bits=BALL_BITS)
    kinked = numbers.expression.has(*PIECEWISE)

    def first_verified() -> tuple[VectorField, bool] | None:
        for field in guesses(direction, theta, random.Random(2)):
            proved = _within_time(PROOF_SECONDS, lambda: vanishes(_change(numbers, field)))  # noqa: B023
            if proved or not kinked and _vanishes_at_points(numbers, field):
                return field, bool(proved)
        return None

    return _within_time(seconds, first_verified) if seconds > 0 else None


def _within_time(seconds: float, work: Callable[[], T]) -> T | None:
    """The result of some work within a time limit; None where it fails or exceeds the limit."""
    try:
        with time_limit(seconds):
            return work()
    except EXPECTED_FAILURES:
        return None
    except Exception as error:
        if not is_of_sympy(error):
            raise
        return None


def _change(numbers: NumericLaw, field: VectorField) -> sp.Expr:
    """The derivative of the law along a field: Σ f_i·∂L/∂θ_i."""
    return sp.Add(*(rate * sp.diff(numbers.expression, s) for s, rate in field.items()))


def _vanishes_at_points(numbers: NumericLaw, field: VectorField) -> bool:
    """Whether the law does not change along a field, at random points and to many digits."""
    rng = random.Random(3)
    symbols = [q.symbol for q in numbers.law.parameters]
    tapes = {symbols.index(s): compile_tape([rate], symbols) for s, rate in field.items()}
    checked = 0
    with precision(MANY_BITS):
        # at some points the law may have no value
        for _ in range(5 * CHECK_POINTS):
            try:
                theta = numbers.theta(rng)
                slopes = numbers.slopes(theta, numbers.draw_variables(theta, rng))
                inputs = [ball(x) for x in theta]
                terms = [value(tape, inputs) * slopes[i] for i, tape in tapes.items()]
            except NoBall:
                continue
            change, size = sum(terms, arb(0)), sum(map(abs, terms), arb(0))
            # a ball that excludes 0 disproves the formula, a wide one proves nothing
            if change != 0 or not abs(change) < size * arb(10) ** -CHECK_DIGITS:
                return False
            checked += 1
            if checked == CHECK_POINTS:
                return True
    return False


def _length(field: VectorField) -> int:
    """The complexity of a field; simple are scales, shifts and few parameters."""
    return sum(3 + sp.count_ops(rate / s) for s, rate in field.items())


def _symmetries(
    numbers: NumericLaw, directions: Sequence[_FormulaDirection]
) -> tuple[Symmetry, ...]:
    law, names = numbers.law, numbers.names
    vectors = [one.vector for one in directions]
    ranked: list[dict[str, float | None]] = [
        dict(fixing_candidates(law, one.field))
        if one.field
        else {names[i]: None for i in sorted(one.vector)}
        for one in directions
    ]

    def determined(chosen: Sequence[str]) -> bool:
        return _independent(vectors[: len(chosen)], [names.index(name) for name in chosen])

    fixed = choose_fixed([list(values) for values in ranked], names, determined)
    records = []
    for (vector, field, proved), values, name in zip(directions, ranked, fixed, strict=True):
        flow = _within_time(PROOF_SECONDS, lambda: _flow(numbers, field)) if field else None  # noqa: B023
        records.append(
            Symmetry(
                parameters=tuple(names[i] for i in sorted(vector)),
                field={s.name: rate for s, rate in field.items()},
                equation=_equation(law, field),
                proved=proved,
                flow=flow,
                held=name,
                value=values[name],
            )
        )
    return tuple(records)


def _equation(law: Law, field: VectorField) -> str:
    if not field:
        return ""
    terms = []
    for s, rate in field.items():
        rate_text, slope = text(without_impulses(rate)), f"∂{law.output}/∂{s}"
        bracketed = f"({rate_text})" if rate.is_Add else rate_text
        terms.append({"1": slope, "-1": f"-{slope}"}.get(rate_text, f"{bracketed}*{slope}"))
    terms.sort(key=lambda term: term.startswith("-"))
    return " + ".join(terms).replace("+ -", "- ") + " = 0"


def _flow(numbers: NumericLaw, field: VectorField) -> Flow | None:
    flow = flow_of(numbers.law, field)
    return flow if flow and _is_invariant(numbers, flow) else None


def _is_invariant(numbers: NumericLaw, flow: Flow) -> bool:
    """Whether the law has the same value before and after, at a random point."""
    rng = random.Random(4)
    symbols = [q.symbol for q in numbers.law.parameters]
    tapes = [
        compile_tape([flow.images.get(s, s)], [*symbols, flow.group_parameter]) for s in symbols
    ]
    for _ in range(CHECK_POINTS):
        theta = numbers.theta(rng)
        variables = numbers.draw_variables(theta, rng)
        try:
            inputs = [*map(ball, theta), arb(9) / 8]
            before = numbers.value(inputs[:-1], variables)
            after = numbers.value([value(tape, inputs) for tape in tapes], variables)
        except NoBall:
            continue
        return bool(abs(after - before) < (1 + abs(before)) * arb(10) ** -40)
    return False
