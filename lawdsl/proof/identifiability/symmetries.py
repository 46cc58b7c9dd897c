"""Law -> the symmetries of its parameters, and how many directions are lost to any data."""

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
from lawdsl.law.law import Law
from lawdsl.law.text import text
from lawdsl.proof.identifiability.closed_forms import Direction, guesses
from lawdsl.proof.identifiability.null_space import Unclear, Vector, null_vectors, shortened
from lawdsl.proof.identifiability.orbits import Field, Flow, flow_of, holds
from lawdsl.proof.identifiability.points import REACH, WIDEST, NoPoint, Numbers, Point, numbers_of
from lawdsl.proof.identifiability.restrictions import choose_held
from lawdsl.proof.identifiability.result import Freedom, Symmetry
from lawdsl.proof.identifiability.zero_test import vanishes

SECONDS = 2.0  # for one law; those of the papers take a few milliseconds
FORMULAS = 0.5  # part of the time that goes into the formulas of all directions
PROOF_SECONDS = 0.2  # for one identity by algebra
BITS, MANY_BITS = 256, 1024  # of the numbers; many, where a direction seems lost
POINTS = 3  # of the parameters, at which lost directions are counted
CHECKS = 20  # points at which an identity is looked at
DIGITS = 100  # in which it must hold there
SPARE, MANY_SPARE = 4, 24  # places beyond the number of parameters
TRIES = 30  # points at which the law may have no value
ORDERS = 24  # in which columns are looked at, for short directions
TRIED = 8  # directions for which a formula is looked for
KINKS = (sp.Min, sp.Max, sp.Abs, sp.sign, sp.Heaviside)
T = TypeVar("T")
TROUBLES = (OutOfTime, Unclear, NoPoint, NoBall, LawdslError)


def freedom(law: Law, *, seconds: float = SECONDS) -> Freedom:
    """What no data can determine about the parameters of a law, whatever they are.

    Slopes that Arb has found to be independent at one point are so almost everywhere: so it is
    certain that no more directions are lost than there (`certain` says whether that many were
    found). A symmetry with a formula is proved, or
    verified at random points (`proved` says which). A direction without a formula is reported where
    it is lost at all points looked at, to some hundred digits; never in a law with kinks, which
    may differ from piece to piece.

    Args:
        law: the law; settings and fixed parameters are numbers, all other values are open. One
            with index sets is looked at with a few labels in each, on the simplex where it says so.
        seconds: the time allowed. Half of it may go into formulas; a direction whose formula is
            not found until then is reported without. Where all of it is used up, nothing is.

    Raises:
        LawdslError: the law's formula has no value.
    """
    law = law.built().sample  # a mistake in the law itself is not hidden below
    with precision(BITS):
        found = _within(seconds, lambda: _freedom(numbers_of(law), FORMULAS * seconds))
    return found or Freedom(certain=False)


@dataclass(frozen=True)
class _Seen:
    """The slopes at one point of the parameters, and the directions without slope.

    Attributes:
        theta: the point.
        rows: shape (places, parameters).
        vectors: a basis of the directions.
    """

    theta: Point
    rows: list[list[Ball]]
    vectors: list[Vector]


class _Named(NamedTuple):
    """A direction, as numbers at a point and as a formula; none where the field is empty."""

    vector: Vector
    field: Field
    proved: bool


def _freedom(numbers: Numbers, seconds: float) -> Freedom:
    if not numbers.names or _determined(numbers):
        return Freedom()
    with precision(MANY_BITS):
        reach = (*REACH, WIDEST)
        points = [_seen(numbers, seed, MANY_BITS, MANY_SPARE, reach) for seed in range(POINTS)]
    base = min(points, key=lambda seen: len(seen.vectors))
    named: list[_Named] = []
    nameless: list[_Named] = []
    began = time.process_time()
    for _, vectors in itertools.groupby(_circuits(base)[:TRIED], key=len):
        if len(_basis(named, numbers)) == len(base.vectors):
            break
        for vector in vectors:
            left = seconds - (time.process_time() - began)
            found = _formula(numbers, base.theta, tuple(sorted(vector)), left)
            if found is not None:
                named.append(_Named(vector, *found))
            elif len(vector) > 1:  # that one has no effect at all, algebra would have shown
                nameless.append(_Named(vector, {}, False))
        named.sort(key=lambda one: _length(one.field))
    kinked = numbers.expression.has(*KINKS)
    chosen = _basis(named if kinked else [*named, *nameless], numbers)
    return Freedom(_recorded(numbers, chosen), certain=len(chosen) == len(base.vectors))


def _basis(found: Sequence[_Named], numbers: Numbers) -> list[_Named]:
    """Those that say something that the ones before do not."""
    chosen: list[_Named] = []
    for one in found:
        if _independent([*(c.vector for c in chosen), one.vector], range(len(numbers.names))):
            chosen.append(one)
    return chosen


def _determined(numbers: Numbers) -> bool:
    """Whether the slopes at a point are independent for certain, which is soon seen."""
    try:
        return not _seen(numbers, 0, BITS, SPARE, REACH).vectors
    except Unclear:
        return False


def _seen(numbers: Numbers, seed: int, bits: int, spare: int, reach: Sequence[float]) -> _Seen:
    rng = random.Random(seed)
    count = len(numbers.names)
    for _ in range(TRIES):
        theta = numbers.theta(rng)
        try:
            rows = numbers.rows(theta, count + spare, rng, reach)
        except NoPoint:
            continue
        return _Seen(theta, rows, null_vectors(rows, range(count), bits))
    raise NoPoint


def _circuits(seen: _Seen) -> list[Vector]:
    """Directions with few parameters, none of which can be left out; the shortest first."""
    involved = sorted({i for vector in seen.vectors for i in vector})
    orders = [involved, involved[::-1]]
    for i in involved[:ORDERS]:
        rest = [k for k in involved if k != i]
        orders += [[i, *rest], [*rest, i], [i, *reversed(rest)]]
    found: dict[tuple[int, ...], Vector] = {}
    with precision(MANY_BITS):
        for order in orders:
            for vector in shortened(seen.vectors, order, MANY_BITS):
                found.setdefault(tuple(sorted(vector)), vector)
    return [found[key] for key in sorted(found, key=lambda key: (len(key), key))]


def _independent(vectors: Sequence[Vector], among: Sequence[int]) -> bool:
    """Whether no vector is a sum of others, as far as some entries of them go."""
    rows = [[vector.get(i, arb(0)) for i in among] for vector in vectors]
    with precision(MANY_BITS):
        return len(null_vectors(rows, range(len(among)), MANY_BITS)) == len(among) - len(vectors)


def _formula(
    numbers: Numbers, theta: Point, support: tuple[int, ...], seconds: float
) -> tuple[Field, bool] | None:
    """A verified formula for a direction, and whether it is proved."""
    direction = Direction(numbers, support, seed=1, bits=BITS)
    kinked = numbers.expression.has(*KINKS)

    def found() -> tuple[Field, bool] | None:
        for field in guesses(direction, theta, random.Random(2)):
            proved = _within(PROOF_SECONDS, lambda: vanishes(_change(numbers, field)))  # noqa: B023
            if proved or not kinked and _checked(numbers, field):
                return field, bool(proved)
        return None

    return _within(seconds, found) if seconds > 0 else None


def _within(seconds: float, work: Callable[[], T]) -> T | None:
    """What is found within a time; None where that fails."""
    try:
        with time_limit(seconds):
            return work()
    except TROUBLES:
        return None
    except Exception as error:
        if not is_of_sympy(error):
            raise
        return None


def _change(numbers: Numbers, field: Field) -> sp.Expr:
    """How fast the law changes along a field."""
    return sp.Add(*(rate * sp.diff(numbers.expression, s) for s, rate in field.items()))


def _checked(numbers: Numbers, field: Field) -> bool:
    """Whether the law does not change along a field, at random points and to many digits."""
    rng = random.Random(3)
    symbols = [q.symbol for q in numbers.law.parameters]
    tapes = {symbols.index(s): compile_tape([rate], symbols) for s, rate in field.items()}
    done = 0
    with precision(MANY_BITS):
        for _ in range(5 * CHECKS):
            try:
                theta = numbers.theta(rng)
                slopes = numbers.slopes(theta, numbers.place(theta, rng))
                inputs = [ball(x) for x in theta]
                terms = [value(tape, inputs) * slopes[i] for i, tape in tapes.items()]
            except NoBall:
                continue
            change, size = sum(terms, arb(0)), sum(map(abs, terms), arb(0))
            if change != 0 or not abs(change) < size * arb(10) ** -DIGITS:
                return False
            done += 1
            if done == CHECKS:
                return True
    return False


def _length(field: Field) -> int:
    """How long a field is to read; scales, shifts and few parameters are short."""
    return sum(3 + sp.count_ops(rate / s) for s, rate in field.items())


def _recorded(numbers: Numbers, found: Sequence[_Named]) -> tuple[Symmetry, ...]:
    law, names = numbers.law, numbers.names
    vectors = [one.vector for one in found]
    ranked: list[dict[str, float | None]] = [
        dict(holds(law, one.field)) if one.field else {names[i]: None for i in sorted(one.vector)}
        for one in found
    ]

    def determined(chosen: Sequence[str]) -> bool:
        return _independent(vectors[: len(chosen)], [names.index(name) for name in chosen])

    held = choose_held([list(values) for values in ranked], names, determined)
    records = []
    for (vector, field, proved), values, name in zip(found, ranked, held, strict=True):
        flow = _within(PROOF_SECONDS, lambda: _flow(numbers, field)) if field else None  # noqa: B023
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


def _equation(law: Law, field: Field) -> str:
    if not field:
        return ""
    terms = []
    for s, rate in field.items():
        shown, slope = text(rate), f"∂{law.output}/∂{s}"
        bracketed = f"({shown})" if rate.is_Add else shown
        terms.append({"1": slope, "-1": f"-{slope}"}.get(shown, f"{bracketed}*{slope}"))
    terms.sort(key=lambda term: term.startswith("-"))
    return " + ".join(terms).replace("+ -", "- ") + " = 0"


def _flow(numbers: Numbers, field: Field) -> Flow | None:
    flow = flow_of(numbers.law, field)
    return flow if flow and _tried(numbers, flow) else None


def _tried(numbers: Numbers, flow: Flow) -> bool:
    """Whether the law has the same value before and after, at a random point."""
    rng = random.Random(4)
    symbols = [q.symbol for q in numbers.law.parameters]
    tapes = [compile_tape([flow.places.get(s, s)], [*symbols, flow.by]) for s in symbols]
    for _ in range(CHECKS):
        theta = numbers.theta(rng)
        place = numbers.place(theta, rng)
        try:
            inputs = [*map(ball, theta), arb(9) / 8]
            before = numbers.value(inputs[:-1], place)
            after = numbers.value([value(tape, inputs) for tape in tapes], place)
        except NoBall:
            continue
        return bool(abs(after - before) < (1 + abs(before)) * arb(10) ** -40)
    return False
