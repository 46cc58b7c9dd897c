"""Tapes on intervals: a sign is given only where it is certain."""

from __future__ import annotations

import contextlib
import random
from fractions import Fraction
from typing import Literal

import flint
import mpmath
import pytest
import sympy as sp
from flint import arb

from lawdsl.compiling import intervals
from lawdsl.compiling.interval_evaluation import interval_sign
from lawdsl.compiling.intervals import OPERATIONS, Interval, NoInterval
from lawdsl.compiling.tape import OPERATIONS as NAMES, compile_tape
from lawdsl.core.functions import DERIVED, EXTREMA, FUNCTIONS, Function
from lawdsl.core.time_limit import OutOfTime, time_limit

x, y = sp.symbols("x y", real=True)
PRIMES = (2, 3, 5, 7, 11)


def sign(e: sp.Expr, **values: str) -> int | None:
    symbols = sorted(e.free_symbols, key=str)
    return interval_sign(compile_tape([e], symbols), [Fraction(values[s.name]) for s in symbols])


CASES = [
    (x, {"x": "-1/3"}, -1),
    (x - x / 3 * 3, {"x": "1/7"}, 0),
    (x**2 - 2, {"x": "1414213562373095048801688724209698078569/1000000000000000000000000000000000000000"}, -1),
    (x**2 - 2, {"x": "1414213562373095048801688724209698078570/1000000000000000000000000000000000000000"}, 1),
    (sp.Pow(x, y), {"x": "0", "y": "1/2"}, 0),
    (sp.Pow(x, y), {"x": "0", "y": "-1/2"}, None),
    (sp.Pow(x, y), {"x": "0", "y": "-1"}, None),
    (sp.Pow(x, y), {"x": "0", "y": "0"}, 1),  # x^0 is 1, as the derivative of x is
    (sp.Pow(x, y), {"x": "-2", "y": "3"}, -1),
    (sp.Pow(x, y), {"x": "-2", "y": "-2"}, 1),
    (sp.Pow(x, y), {"x": "-2", "y": "1/2"}, None),
    (sp.log(x), {"x": "0"}, None),
    (sp.log(x), {"x": "-1"}, None),
    (sp.log(x), {"x": "999999/1000000"}, -1),
    (sp.exp(x), {"x": "-100000"}, 1),
    (1 / (x - 1), {"x": "1"}, None),
    (sp.tan(x), {"x": "1"}, 1),
    (sp.tan(x), {"x": "2"}, -1),
    (sp.atan(x) - sp.pi / 4, {"x": "1000001/1000000"}, 1),
    (sp.atan(x) - sp.pi / 4, {"x": "999999/1000000"}, -1),
    (sp.atan(x) - sp.pi / 4, {"x": "1"}, None),  # it is 0, but not certainly
    (sp.tanh(x) - 1, {"x": "20"}, -1),
    (sp.Abs(x), {"x": "-1/2"}, 1),
    (sp.Abs(x), {"x": "0"}, 0),
    (sp.Max(x, y), {"x": "-1", "y": "-1/2"}, -1),
    (sp.Min(x, y), {"x": "1", "y": "0"}, 0),
    (sp.sign(x), {"x": "-2"}, -1),
    (sp.sign(x), {"x": "0"}, None),
    (sp.Heaviside(x), {"x": "2"}, 1),
    (sp.Heaviside(x), {"x": "-2"}, 0),
    (sp.Heaviside(x), {"x": "0"}, None),
    (sp.sin(x) ** 2 + sp.cos(x) ** 2 - 1, {"x": "1"}, None),
]  # fmt: skip


@pytest.mark.parametrize(("e", "values", "expected"), CASES)
def test_the_certain_sign(e: sp.Expr, values: dict[str, str], expected: int | None):
    assert sign(e, **values) == expected


def test_constants_carry_their_error():
    """Numbers that cancel to 0 are not certainly anything."""
    roots = sp.sqrt(2) + sp.sqrt(3)

    assert sign(roots**2 - 5 - 2 * sp.sqrt(6)) is None
    assert sign(sp.log(8) - 3 * sp.log(2)) in (0, None)
    assert sign(sp.pi - sp.Rational(314159265358979323846264338327950288419, 10**38)) == 1
    assert sign(sp.E - sp.Rational(271828182845904523536028747135266249775, 10**38)) == 1


@pytest.mark.parametrize("p", PRIMES)
def test_what_cancels_is_never_certain(p: int):
    z = sp.Symbol("z", real=True)
    for q in PRIMES:
        for e in (sp.log(x) + sp.log(y) - sp.log(z), sp.sqrt(x) * sp.sqrt(y) - sp.sqrt(z)):
            assert sign(e, x=str(p), y=str(q), z=str(p * q)) in (0, None)


def test_large_whole_numbers_are_bounded_and_not_rounded():
    big = 10**80 + 1

    assert sign(x - 10**80, x=str(big)) in (1, None)
    assert sign(x - 10**80, x=str(10**80)) in (0, None)


def test_every_operation_has_an_interval():
    """But the logarithm that is 0 at 0: it stands in derivatives alone, which no proof looks at."""
    assert set(NAMES.values()) - {"finite log"} == set(OPERATIONS)
    assert {*FUNCTIONS, *DERIVED, *EXTREMA} - {"log10", "sqrt"} <= set(OPERATIONS)


SEVERAL = {"add", "multiply", "power", "min", "max", "choice"}
ONE_ARGUMENT = sorted(set(OPERATIONS) - SEVERAL - {"sign", "step"})


@pytest.mark.parametrize("name", ONE_ARGUMENT)
def test_an_interval_contains_the_values_of_the_points_in_it(name: str):
    function = getattr(mpmath, {"abs": "fabs"}.get(name, name))
    rng = random.Random(5)
    for _ in range(60):
        low = rng.uniform(0.01, 3) if name == "log" else rng.uniform(-3, 3)
        high = low + rng.choice((0, 1e-9, 0.3, 3))
        try:
            found = OPERATIONS[name](Interval(arb(low), arb(high)))
        except NoInterval:
            assert name == "tan"
            continue
        for share in (0, 0.3, 1):
            with mpmath.workdps(60):
                assert _within(function(low + share * (high - low)), found)


@pytest.mark.parametrize("seed", range(400))
def test_sums_powers_and_products_contain_the_values_of_the_points_in_them(seed: int):
    rng = random.Random(seed)
    x, y = (_random_interval(rng) for _ in range(2))
    for name, function in (("power", _power), ("multiply", mpmath.fmul), ("add", mpmath.fadd)):
        try:
            found = OPERATIONS[name](x, y)
        except NoInterval:
            continue
        for _ in range(6):
            a, b = (_random_point(rng, i) for i in (x, y))
            with mpmath.workdps(60), contextlib.suppress(ZeroDivisionError):
                assert _within(function(a, b), found), (name, x, y, a, b)


def _power(a: float, b: float) -> mpmath.mpf:
    if a == 0 and b < 0:
        raise ZeroDivisionError
    return mpmath.mpf(a) ** mpmath.mpf(b)


def _random_interval(rng: random.Random) -> Interval:
    ends = sorted(rng.choice((0, 1, 2, -1, -3, 0.5, rng.uniform(-2, 4))) for _ in range(2))
    high = arb.pos_inf() if rng.random() < 0.2 else arb(ends[1])
    low = arb.neg_inf() if rng.random() < 0.1 else arb(ends[0])
    return Interval(low, high)


def _random_point(rng: random.Random, within: Interval) -> float:
    low, high = (float(end.mid()) if end.is_finite() else None for end in within)
    low = high - 10 ** rng.uniform(-2, 2) if low is None and high is not None else low or 0.0
    high = low + 10 ** rng.uniform(-2, 2) if high is None else high
    return rng.choice((low, high, low + rng.random() * (high - low)))


def _within(value: mpmath.mpf, found: Interval) -> bool:
    low, high = (_as_mpf(end) for end in found)
    return bool(low <= value <= high)


def _as_mpf(end: arb) -> mpmath.mpf:
    if not end.is_finite():
        return mpmath.inf if end > 0 else -mpmath.inf
    mantissa, exponent = end.man_exp()
    return mpmath.ldexp(int(mantissa), int(exponent))


def test_intervals_may_be_infinite():
    everything = Interval(arb.neg_inf(), arb.pos_inf())
    positive = Interval(arb(0), arb.pos_inf())
    power, exp, multiply = (OPERATIONS[name] for name in ("power", "exp", "multiply"))
    minus_two = Interval(arb(-2), arb(-2))

    assert exp(everything) == positive
    assert power(Interval(arb(2), arb.pos_inf()), minus_two) == Interval(arb(0), arb(0.25))
    assert power(everything, Interval(arb(2), arb(2))) == positive
    assert multiply(Interval(arb(0), arb(0)), positive) == Interval(arb(0), arb(0))
    assert OPERATIONS["tanh"](everything) == Interval(arb(-1), arb(1))
    assert OPERATIONS["log"](positive) == everything


def test_the_precision_of_others_is_left_alone():
    before = flint.ctx.prec
    sign(x, x="1")

    assert flint.ctx.prec == before


def test_intervals_without_negative_numbers_take_two_products(monkeypatch: pytest.MonkeyPatch):
    """Most of those that proofs meet are such; the general case takes four."""
    counted: list[object] = []
    plain = intervals._times
    monkeypatch.setattr(intervals, "_times", lambda a, b: counted.append(a) or plain(a, b))
    for (a, b), (c, d), products in (
        ((0, 2), (0, 3), 2),
        ((0, 2), (1, 3), 2),
        ((1, 2), (0, 3), 2),
        ((-1, 2), (0, 3), 4),
        ((0, 2), (-1, 3), 4),
    ):
        counted.clear()
        found = intervals.multiply(
            intervals.Interval(arb(a), arb(b)), intervals.Interval(arb(c), arb(d))
        )
        assert (found.low, found.high) == (min(a * c, a * d, b * c, b * d), b * d)
        assert len(counted) == products


@pytest.mark.parametrize("times", [15, pytest.param(60, marks=pytest.mark.slow)])
def test_a_time_limit_leaves_the_precision_as_it_was(times: int):
    """Wherever it strikes, and however long the error is kept: more bits hide what rounding does."""
    before, kept = flint.ctx.prec, []
    for _ in range(times):
        try:
            with time_limit(0.001):
                while True:
                    with intervals.precision(170):
                        pass
        except OutOfTime as error:
            kept.append(error)
        assert flint.ctx.prec == before


@pytest.mark.parametrize("monotone", [0, 1])
def test_a_formula_of_others_without_a_value_gives_no_interval(
    monotone: Literal[0, 1], monkeypatch: pytest.MonkeyPatch
):
    row = Function(
        derivative=lambda m, x, y: 1 / (1 + m.abs(x)) ** 2,
        value=lambda m, x: x / (1 + m.abs(x)),
        monotone=monotone,
        range=(-1, 1),
    )
    monkeypatch.setitem(FUNCTIONS, "softsign", row)
    softsign = intervals._of_row("softsign", row)
    with pytest.raises(NoInterval):
        softsign(Interval(arb(0), arb(0)))
    inside = softsign(Interval(arb(1), arb(3)))
    assert inside.low <= 0.5 and inside.high >= 0.75
