"""The sign calculus, rule by rule: what it must say, and what it must not."""

from __future__ import annotations

import pytest
import sympy as sp
from proving import domain, on, sign_of

from lawdsl.proof.box import Box, Endpoint, SymbolRange
from lawdsl.proof.rules.cases import by_sign_split
from lawdsl.proof.rules.polynomials import by_successive_differences
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.signs.limits import at_zero
from lawdsl.proof.signs.sign import Sign, above, add, below, largest, multiply

NEGATIVE, ZERO, POSITIVE = Sign.NEGATIVE, Sign.ZERO, Sign.POSITIVE
NONNEGATIVE, NONPOSITIVE, REAL, UNKNOWN = (
    Sign.NONNEGATIVE,
    Sign.NONPOSITIVE,
    Sign.REAL,
    Sign.UNKNOWN,
)

CASES = [
    # symbols: a closed end is in the domain, an open one is not
    ("x > 0", "x", POSITIVE),
    ("x >= 0", "x", NONNEGATIVE),
    ("x < 0", "x", NEGATIVE),
    ("x <= 0", "x", NONPOSITIVE),
    ("x >= 1", "x", POSITIVE),
    ("x in [-1, 1]", "x", REAL),
    ("x", "x", REAL),
    ("setting s = 0.5; x >= s", "x", POSITIVE),
    ("setting s = -2; x <= s", "x", NEGATIVE),
    ("setting s = -2; x >= s", "x", REAL),
    # sums and products of known signs
    ("x > 0, y >= 0", "x + y", POSITIVE),
    ("x >= 0, y >= 0", "x + y", NONNEGATIVE),
    ("x > 0, y >= 0", "-x - y", NEGATIVE),
    ("x > 0, y > 0", "x - y", REAL),
    ("x > 0, y >= 0", "x*y", NONNEGATIVE),
    ("x < 0, y < 0", "x*y", POSITIVE),
    ("x < 0, y > 0", "x*y", NEGATIVE),
    ("x <= 0, y >= 0", "x*y", NONPOSITIVE),
    ("x > 0, y", "x*y", REAL),
    ("x > 0, y", "x*log(y)", UNKNOWN),
    # powers
    ("x > 0, y", "x^y", POSITIVE),
    ("x > 0, y", "x^log(y)", UNKNOWN),
    ("x > 0, y", "x^(1/y)", UNKNOWN),
    ("x >= 0, y > 0", "x^y", NONNEGATIVE),
    ("x >= 0, y >= 0", "x^y", UNKNOWN),  # 0^0
    ("x >= 0; parameter a >= 0", "x^a", NONNEGATIVE),  # from d(x^1)/dx, where it is 1
    ("x >= 0; parameter a > -1", "x^a", UNKNOWN),
    ("x >= 0", "x^2", NONNEGATIVE),
    ("x >= 0", "x^0.5", NONNEGATIVE),
    ("x >= 0", "x^(-2)", UNKNOWN),
    ("x >= 0", "x^(-0.5)", UNKNOWN),
    ("x > 0", "x^(-0.5)", POSITIVE),
    ("x", "x^2", NONNEGATIVE),
    ("x", "x^3", REAL),
    ("x", "x^(-2)", UNKNOWN),
    ("x", "x^0.5", UNKNOWN),
    ("y > 0, x", "x^y", UNKNOWN),
    ("x < 0", "x^3", NEGATIVE),
    ("x < 0", "x^(-1)", NEGATIVE),
    ("x < 0", "x^(-2)", POSITIVE),
    ("x < 0", "x^0.5", UNKNOWN),
    # functions, from their rows
    ("x", "exp(x)", POSITIVE),
    ("x", "exp(1/x)", UNKNOWN),
    ("x > 1", "log(x)", POSITIVE),
    ("x >= 1", "log(x)", NONNEGATIVE),
    ("x in (0, 1)", "log(x)", NEGATIVE),
    ("x > 0", "log(x)", REAL),
    ("x >= 0", "log(x)", UNKNOWN),
    ("x > 10", "log10(x)", POSITIVE),
    ("x >= 0", "sqrt(x)", NONNEGATIVE),
    ("x >= 0", "tanh(x)", NONNEGATIVE),
    ("x < 0", "tanh(x)", NEGATIVE),
    ("x > 0", "atan(x)", POSITIVE),
    ("x", "atan(x)", REAL),
    ("x", "sin(x) + cos(x)", REAL),
    ("x", "tan(x)", UNKNOWN),
    ("x", "abs(x)", NONNEGATIVE),
    ("x > 1", "abs(1 - x)", POSITIVE),
    ("x in [0, 1]", "abs(x^2 - 4)", POSITIVE),
    ("x >= 1", "abs(1 - x)", NONNEGATIVE),
    ("x", "max(x, 1)", POSITIVE),
    ("x", "max(x, 0)", NONNEGATIVE),
    ("x", "min(x, 0)", NONPOSITIVE),
    ("x", "max(x, -1)", REAL),
    ("x > 0", "min(x, 1)", POSITIVE),
    ("x >= 0", "min(x, 1)", NONNEGATIVE),
    ("x", "max(x, log(x))", UNKNOWN),
    # one of the cases of a maximum, minimum or modulus
    ("x >= 1", "max(x, 1) - 1", NONNEGATIVE),
    ("x > 2", "min(x, 2) - 1", POSITIVE),
    ("x > 0", "abs(x - 1) + x - 1", NONNEGATIVE),  # the larger of 0 and 2*(x - 1)
    ("x", "abs(x) + x", NONNEGATIVE),
    # between the ends of a symbol in which it is affine
    ("x in [0, 1]", "1 - x", NONNEGATIVE),
    ("x in [0, 1)", "1 - x", POSITIVE),
    ("x in [0, 1]", "2 - x", POSITIVE),
    ("x in [0, 1]", "x - 0.5", REAL),
    ("x in [0, 1], y > 0", "x*y + 2*(1 - x)", POSITIVE),
    ("x in [0, 1], y >= 0", "x*y + 2*(1 - x)", NONNEGATIVE),
    ("x in [0, 1], y > 0", "x*y + 1 - x^2", NONNEGATIVE),  # not affine in x
    ("x in [0, 1), y >= 0", "y*(1 - x)", NONNEGATIVE),
    ("x in (0, 1)", "x - x^2", POSITIVE),
    # from inequalities between parameters
    ("parameter a; parameter b >= a; parameter b <= 1", "1 - a", NONNEGATIVE),
    ("parameter a; parameter b >= a; parameter b <= 1", "2 - a", POSITIVE),
    # between the bounds of a function in which it is affine
    ("x", "2 + sin(x)", POSITIVE),
    ("x", "1 + cos(x)", NONNEGATIVE),
    ("x", "1 - tanh(x)", POSITIVE),
    ("x", "atan(x) - 2", NEGATIVE),
    ("x", "0.5 + tanh(x)", REAL),
    ("x", "1 - tanh(x)^2", POSITIVE),  # not affine in tanh(x)
    # rising or falling towards an end
    ("x >= 0", "exp(x) - 1 - x", NONNEGATIVE),
    ("x > 0", "exp(x) - 1 - x", POSITIVE),
    ("x >= 0", "x - log(1 + x)", NONNEGATIVE),
    ("x > 0", "x - log(1 + x)", POSITIVE),
    ("x < 0", "exp(x) - 1 - x", POSITIVE),
    ("x", "exp(x) - 1 - x", NONNEGATIVE),  # it falls before 0 and rises after it
    ("x > 0", "log(1 + 1/x) - 1/(1 + x)", POSITIVE),  # it falls to its limit 0
    ("x >= 0", "tanh(x) - 1", NEGATIVE),
    ("x", "exp(x) - 1", REAL),
    # the closed face x = 0 makes it 0
    ("x in [0, 2], y > 0", "y*(1 - exp(-x*y))", NONNEGATIVE),
    ("x in (0, 2], y > 0", "y*(1 - exp(-x*y))", POSITIVE),
    ("x in [0, 2], y >= 0", "y*(1 - exp(-x*y))", NONNEGATIVE),
    # bounds that name other parameters, or settings
    ("parameter a; parameter b > a", "b - a", POSITIVE),
    ("parameter a; parameter b >= a", "b - a", NONNEGATIVE),
    ("parameter a; parameter b < a", "b - a", NEGATIVE),
    ("parameter a; parameter b > a; parameter c > b", "c - a", POSITIVE),
    ("parameter a > 0; parameter b in (0, a)", "b", POSITIVE),
    ("parameter a > 0; parameter b in (0, a)", "a - b", POSITIVE),
    ("parameter a > 0; parameter b in [0, a]", "a - b", NONNEGATIVE),
    ("parameter a; parameter b in (0, a)", "b", POSITIVE),
    ("parameter a; parameter b in (0, a)", "a", POSITIVE),  # else there is no b
    ("parameter a; parameter b in [0, a]", "a", NONNEGATIVE),
    ("parameter a > 0; parameter b > a, b < 1", "1 - b", POSITIVE),
    ("parameter a > 0; parameter b > a, b < 1", "1 - a", POSITIVE),
    ("x > 0; parameter a > 0; parameter b > a, b <= 1", "2*x - b*x", POSITIVE),
    ("parameter a, c; parameter b > a, b > c", "b - a", POSITIVE),
    ("parameter a, c; parameter b > a, b >= c", "b - c", NONNEGATIVE),
    ("parameter a, c; parameter b >= a, b >= c", "3*b - 3*c + 1/4", POSITIVE),
    ("parameter a, c; parameter b >= a, b >= c, b < 2", "2 - c", POSITIVE),
    ("parameter a, c; parameter b >= a, b >= c", "b - a - 1", REAL),
    ("parameter a, c; parameter b >= a, b >= c", "2*b - c", REAL),
    ("setting s = 0.5; x >= s", "x - s", NONNEGATIVE),
    ("setting s = 0.5; x > s", "x - s", POSITIVE),
    ("setting s = 0.5; x >= s", "x - 0.4", REAL),  # settings are taken by their sign only
]


POLYNOMIALS = [
    # a part of a polynomial is no square of anything
    ("x", "x", None),
    ("x; y > 0", "x^3 + exp(x) + y", None),
    ("x; y > 0", "x + sqrt(abs(x)) + y", None),
    # a root is a part of its own where its base may be negative: then it has no value
    ("x", "sqrt(x) + x^0.25 + 1", None),
    ("x >= 0", "sqrt(x) + x^0.25 + 1", POSITIVE),
    ("x > 0", "sqrt(x) - 2*x^0.25 + 1", NONNEGATIVE),
    # a slack stays one where no shares sum to 1
    ("parameter a > 0; parameter b > a", "b^2 - a*b", POSITIVE),
]


@pytest.mark.parametrize(("where", "formula", "expected"), POLYNOMIALS)
def test_the_sign_of_a_polynomial_in_parts(where: str, formula: str, expected: Sign | None):
    assert by_successive_differences(*on(where, formula)) == expected


def test_a_finite_limit_at_zero():
    signs, e = on("x > 0; y > 0", "y + exp(-x)")
    x, y = (next(s for s in e.free_symbols if s.name == name) for name in "xy")

    assert at_zero(signs, e, x) == y + 1
    assert at_zero(signs, e + 1 / x, x) is None


@pytest.mark.parametrize(("where", "formula", "expected"), CASES)
def test_the_sign_on_a_domain(where: str, formula: str, expected: Sign):
    assert sign_of(where, formula) == expected


def test_a_kink_has_no_slope():
    x = sp.Symbol("x", real=True)
    everywhere = SignCalculus(Box())
    right = SignCalculus(Box({x: SymbolRange(Endpoint(sp.S.One, False))}))
    left = SignCalculus(Box({x: SymbolRange(None, Endpoint(sp.S.One, False))}))

    for kinked in (sp.sign(x - 1), sp.Heaviside(x - 1)):
        assert everywhere.sign(kinked) == UNKNOWN
        assert right.sign(kinked) == POSITIVE
    assert left.sign(sp.sign(x - 1)) == NEGATIVE
    assert left.sign(sp.Heaviside(x - 1)) == ZERO


def test_infinity_and_what_is_no_number_have_no_sign():
    for strange in (sp.oo, sp.zoo, sp.nan, sp.I, sp.Function("f")(sp.Symbol("x"))):
        assert SignCalculus(Box()).sign(strange) == UNKNOWN


def test_numbers_have_certain_signs():
    signs = SignCalculus(Box())
    root = sp.sqrt(2) * sp.sqrt(3)

    assert signs.sign(sp.Rational(-1, 3)) == NEGATIVE
    assert signs.sign(sp.log(2) - sp.Rational(6931471805599453, 10**16)) == POSITIVE
    assert signs.sign((sp.sqrt(2) + sp.sqrt(3)) ** 2 - 5 - 2 * root) == REAL  # 0, but not certain


def test_steps_end_in_not_known_and_not_in_a_hang():
    signs, e = on("x in [0, 1]", "x^2 - x + 1")
    signs._steps = 10**9

    assert signs.sign(e) == UNKNOWN


def test_only_facts_that_were_used_are_named():
    signs, e = on("x in [0, 1], y > 0; parameter a > 0", "exp(-a*x)*y + 0*a")

    assert signs.sign(e) == POSITIVE
    assert {s.name for s in signs.used()} == {"y"}


def test_a_value_at_an_open_end_is_asked_of_every_part():
    """0·(1/0) and x^0 are not simplified away."""
    signs, e = on("x in [0, 1), y >= 1", "(1 - x)/(y - x)^2")
    x = next(s for s in e.free_symbols if s.name == "x")

    assert signs.at(e, x, Endpoint(sp.S.One, False)) is None
    assert signs.at(e, x, Endpoint(sp.S.Zero, True)) is not None

    signs, e = on("x in [0, 1], y in (0, 1]", "x^y")
    y = next(s for s in e.free_symbols if s.name == "y")

    assert signs.limit_at(e, y, sp.S.Zero) is None


def test_blame_is_the_smallest_part_of_unknown_sign():
    signs, e = on("x > 0, y > 0", "x*(x - y)*exp(x)")

    assert signs.sign(e) == REAL
    assert str(signs.blame) == "x - y"


# The arithmetic of signs

SIGNS = [Sign(bits) for bits in range(1, 8)]
SAMPLES = {NEGATIVE: (-2.0, -1.0), ZERO: (0.0,), POSITIVE: (1.0, 2.0)}


def numbers(sign: Sign) -> list[float]:
    return [x for one, values in SAMPLES.items() if one in sign for x in values]


def is_consistent(x: float, sign: Sign) -> bool:
    return (NEGATIVE if x < 0 else POSITIVE if x > 0 else ZERO) in sign


@pytest.mark.parametrize("one", SIGNS)
@pytest.mark.parametrize("other", SIGNS)
def test_arithmetic_contains_every_outcome(one: Sign, other: Sign):
    for x in numbers(one):
        for y in numbers(other):
            assert is_consistent(x + y, add([one, other]))
            assert is_consistent(x * y, multiply(one, other))
            assert is_consistent(max(x, y), largest([one, other]))
            assert is_consistent(min(x, y), -largest([-one, -other]))


def test_not_known_contains_every_sign():
    for sign in (*SIGNS, Sign.UNDEFINED):
        assert sign.within(UNKNOWN)
        assert sign & UNKNOWN == sign


def test_arithmetic_is_as_sharp_as_it_can_be():
    for one in SIGNS:
        for other in SIGNS:
            products = {x * y for x in numbers(one) for y in numbers(other)}
            assert all(
                any(is_consistent(p, s) for p in products)
                for s in SAMPLES
                if s in multiply(one, other)
            )
    assert add([POSITIVE, NONNEGATIVE]) == POSITIVE
    assert add([ZERO, ZERO]) == ZERO
    assert largest([POSITIVE, REAL]) == POSITIVE
    assert largest([NEGATIVE, NEGATIVE]) == NEGATIVE
    assert largest([ZERO, NEGATIVE]) == ZERO
    assert largest([NONPOSITIVE, NEGATIVE]) == NONPOSITIVE


@pytest.mark.parametrize("combine", [add, largest, lambda signs: multiply(*signs)])
def test_what_may_have_no_value_stays_so(combine):
    for sign in (ZERO, POSITIVE, REAL):
        assert combine([sign, UNKNOWN]) == UNKNOWN


def test_above_and_below_a_limit():
    assert above(ZERO, closed=False) == POSITIVE
    assert above(ZERO, closed=True) == NONNEGATIVE
    assert above(NONNEGATIVE, closed=True) == NONNEGATIVE
    assert above(NEGATIVE, closed=True) == REAL
    assert above(UNKNOWN, closed=True) == REAL
    assert below(ZERO, closed=False) == NEGATIVE
    assert below(NONPOSITIVE, closed=True) == NONPOSITIVE
    assert below(POSITIVE, closed=False) == REAL


def test_symbols_without_a_range_are_any_real_number():
    law, box = domain("x > 0")

    assert SignCalculus(box).sign(sp.Symbol("elsewhere", real=True)) == REAL


def test_what_a_known_sign_rests_on_is_remembered_by_what_asks_for_it():
    """Here -x*y is first looked at within a logarithm without a value, x within another."""
    signs, x = on("x > 0; y > 0", "x")
    _, y = on("x > 0; y > 0", "y")
    assert signs.sign(sp.log(-x)) == signs.sign(sp.log(-x * y)) == Sign.UNKNOWN
    assert signs.used() == frozenset()

    assert signs.sign(-x * y) == NEGATIVE
    assert signs.used() == {x, y}


@pytest.mark.parametrize(
    "domain, possible",
    [
        ("x in [-1, 1]", NONNEGATIVE),
        ("x in [-10, 1]", None),  # the right side alone would say >= 0
        ("x in [-1, 10]", None),
        ("x in (-1, 1]", NONNEGATIVE),
        ("x in [-1, 1], y in [-2, 2]", NONNEGATIVE),
    ],
)
def test_both_sides_of_0_are_one_case_only_where_the_range_reaches_as_far(domain, possible):
    signs, e = on(domain, "1 - x^2")

    assert by_sign_split(signs, e) == possible
