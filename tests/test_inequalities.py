"""The rules for inequalities without slack: each proves its own, and nothing that fails by a hair."""

from __future__ import annotations

import random
from fractions import Fraction

import mpmath
import pytest
from proving import decide, on, sign_of

from lawdsl.proof.rules import RULES
from lawdsl.proof.rules.monotone import by_end_points
from lawdsl.proof.rules.orderings import Orthant, context, sign_on
from lawdsl.proof.rules.stationary_points import by_stationary_point
from lawdsl.proof.rules.taylor import by_repeated_derivatives
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.signs.sign import Sign

POSITIVE, NONNEGATIVE, REAL = Sign.POSITIVE, Sign.NONNEGATIVE, Sign.REAL

TRUE = [
    # cases of maxima, minima and moduli, and sides of 0
    ("x, y", "max(x, y) - x", NONNEGATIVE),
    ("x, a, b", "b - min(a*x, b)", NONNEGATIVE),
    ("x, y", "abs(x) + abs(y) - abs(x + y)", NONNEGATIVE),
    ("x, y", "abs(x - y) - abs(x) + abs(y)", NONNEGATIVE),
    ("x, y, z", "abs(x - z) + abs(z - y) - abs(x - y)", NONNEGATIVE),
    ("x, y", "(x^2 + y^2)/2 - abs(x*y)", NONNEGATIVE),
    ("x > 0, y > 0", "max(x, y) - sqrt(x*y)", NONNEGATIVE),
    ("x > 0", "min(1, x) - x/(1 + x)", POSITIVE),
    # polynomials in each order of their parts
    ("x, y", "x^4*y^2 + x^2*y^4 - 3*x^2*y^2 + 1", NONNEGATIVE),
    ("x, y", "x^4*y^2 + x^2*y^4 - 3*x^2*y^2 + 1.000001", POSITIVE),
    ("x", "x^4 - x + 0.4725", POSITIVE),
    ("x in [0, 1]", "4/27 - x^2*(1 - x)", NONNEGATIVE),
    ("x, y", "x^2 + y^2 + 1 - x*y - x - y", NONNEGATIVE),
    ("x, y", "x^4 + y^4 + 2 - 4*x*y", NONNEGATIVE),
    # sums that rise from 0
    ("x > 0", "(exp(x) - 1)/x - 1", POSITIVE),
    ("x > 0", "1 - x/(exp(x) - 1)", POSITIVE),
    ("x > 0", "exp(x) - 1 - x - x^2/2 - x^3/6", POSITIVE),
    ("x >= 0", "exp(x) - 1 - x - x^2/2", NONNEGATIVE),
    ("x > 0", "log(1 + x) - 2*x/(2 + x)", POSITIVE),
    ("x > 0", "x - sin(x)", POSITIVE),
    ("x > 0", "sin(x) - x + x^3/6", POSITIVE),
    ("x in (0, pi)", "sin(x) - x*cos(x)", POSITIVE),
    # sums that are least where their slope is 0
    ("x", "x^2 - log(1 + x^2)", NONNEGATIVE),
    ("x", "exp(x) - 1 - x", NONNEGATIVE),
    ("x > 0; parameter a > 0", "x*log(x/a) - x + a", NONNEGATIVE),
    ("x > 0; parameter a, b > 0", "b*exp(a/b - 1) - x*(a - b*log(x))", NONNEGATIVE),
    ("x > 0; parameter p > 1", "x^p - 1 - p*(x - 1)", NONNEGATIVE),
    # logarithms
    ("x", "log(1 + exp(x)) - x", POSITIVE),
    ("x, y", "log(exp(x) + exp(y)) - x", POSITIVE),
    # angles
    ("x in [1, 3]", "sin(x)", POSITIVE),
    ("x in [0, pi]", "sin(x)", NONNEGATIVE),
    ("x in (pi, 2*pi)", "-sin(x)", POSITIVE),
    ("x in (0, pi/2)", "tan(x)", POSITIVE),
    ("x in (-1, 1)", "cos(x)", POSITIVE),
    ("x in (0, pi/2)", "tan(x) - x", POSITIVE),
]

FALSE = [
    ("x, y", "max(x, y) - x - 1e-9"),
    ("x, y", "abs(x) + abs(y) - 1.000001*abs(x + y)"),
    ("x > 0, y > 0", "max(x, y) - 1.000001*sqrt(x*y)"),
    ("x, y", "x^4*y^2 + x^2*y^4 - 3*x^2*y^2 + 0.999999"),
    ("x, y", "x^4*y^2 + x^2*y^4 - 3.000001*x^2*y^2 + 1"),
    ("x", "x^4 - x + 0.4724"),
    ("x in [0, 1]", "0.148148 - x^2*(1 - x)"),
    ("x, y", "x^2 + y^2 + 1 - x*y - x - y - 1e-12"),
    ("x > 0", "(exp(x) - 1)/x - 1.000001"),
    ("x > 0", "0.999999 - x/(exp(x) - 1)"),
    ("x > 0", "exp(x) - 1 - x - 0.500001*x^2"),
    ("x > 0", "log(1 + x) - 2.000001*x/(2 + x)"),
    ("x > 0", "0.999999*x - sin(x)"),
    ("x in (0, 4.5)", "sin(x) - x*cos(x)"),  # 4.4934 is where it is 0
    ("x", "x^2 - 1.000001*log(1 + x^2)"),
    ("x", "exp(x) - 1.000001 - x"),
    ("x > 0; parameter a > 0", "x*log(x/a) - x + 0.999999*a"),
    ("x > 0; parameter a, b > 0", "0.999999*b*exp(a/b - 1) - x*(a - b*log(x))"),
    ("x > 0; parameter p > 0.999", "x^p - 1 - p*(x - 1)"),
    ("x in (0, 1)", "0.693147 + x*log(x) + (1 - x)*log(1 - x)"),
    ("x", "log(1 + exp(x)) - x - 0.000001"),
    ("x in [1, 3.2]", "sin(x)"),
    ("x in [-0.001, 3]", "sin(x)"),
    ("x in (0, 1.6)", "tan(x)"),
    ("x in (-1.6, 1)", "cos(x)"),
]

TOUCHING = [
    ("x", "exp(x) - 1 - x"),
    ("x, y", "abs(x) + abs(y) - abs(x + y)"),
    ("x, y", "x^4*y^2 + x^2*y^4 - 3*x^2*y^2 + 1"),
    ("x >= 0", "exp(x) - 1 - x - x^2/2"),
    ("x >= 0", "x - sin(x)"),
    ("x in [0, pi]", "sin(x)"),
    ("x in [0, 1]", "x*(1 - x)"),
    ("x > 0; parameter a > 0", "x*log(x/a) - x + a"),
]


@pytest.mark.parametrize(("where", "formula", "expected"), TRUE)
def test_what_is_true_has_a_sign(where: str, formula: str, expected: Sign):
    assert sign_of(where, formula) == expected


@pytest.mark.parametrize(("where", "formula"), FALSE)
def test_what_fails_by_a_hair_has_none(where: str, formula: str):
    found = sign_of(where, formula)

    assert not found.within(NONNEGATIVE)


@pytest.mark.parametrize(("where", "formula"), TOUCHING)
def test_what_is_0_somewhere_is_not_positive(where: str, formula: str):
    assert Sign.ZERO in sign_of(where, formula)


SHARES = "law shares\nindex j over {a, b, c}\nvariable r[j] in simplex\nL = r[a]"


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("sum(r[j]^2 for j) <= 1", "proved"),
        ("sum(r[j]^2 for j) < 1", "refuted"),
        ("sum(r[j]^2 for j) >= 1/3", "proved"),
        ("sum(r[j]^3 for j) >= 1/9", "proved"),
        ("r[a]*r[b] <= 1/4", "proved"),
        ("r[a]*r[b] < 1/4", "refuted"),
        ("r[a]*r[b]*r[c] <= 1/27", "proved"),
        ("r[a]*r[b]*r[c] <= 0.037", "refuted"),
        ("r[a]^2*r[b] <= 4/27", "proved"),
        (
            "r[a] - r[a]^2/2 - r[a]*r[b] + r[b] - 1/2 <= 0",
            "refuted",
        ),  # rises in r[a] on the simplex
        ("r[a]*r[b] + r[b]*r[c] + r[c]*r[a] <= 1/3", "proved"),
    ],
)
def test_polynomials_in_shares(claim: str, expected: str):
    from judging import claims_on

    from lawdsl.proof.indexed_claims import check_indexed

    law, (stated,) = claims_on(SHARES, claim)

    assert check_indexed(law, stated, seconds=5).verdict == expected


@pytest.mark.parametrize(
    ("claim", "slope"),
    [
        ("L increasing in r[a] against r[c]", "∂L/∂r[a] = k"),
        ("L increasing in r[a] against r[b]", "∂L/∂r[a] - ∂L/∂r[b] = k"),
        ("L decreasing in r[c] against r[a]", "-∂L/∂r[a] = -k"),
    ],
)
def test_the_share_that_the_others_leave_has_no_slope_in_a_proof(claim: str, slope: str):
    from judging import claims_on

    from lawdsl.proof.indexed_claims import check_indexed

    law, (stated,) = claims_on(SHARES.replace("L = r", "parameter k > 0\nL = k*r"), claim)

    assert check_indexed(law, stated, seconds=5).proof[0] == slope


def test_what_is_declared_of_several_symbols_does_not_hold_where_one_is_moved():
    """1 - x - y > 0 is declared, and x*(1 - x - y) > 0: not at x = 1, whatever y is."""
    signs, e = on("parameter x in (0, 1), y > 0, y < 1 - x", "1 - x - y")
    there = signs.sign(e)
    signs.displacing += 1

    assert there == POSITIVE
    assert signs.sign(e) in (POSITIVE, REAL)  # POSITIVE where the bound is a slack of its own
    displacing = {rule.sign for rule in RULES if rule.displaces}
    assert displacing >= {by_end_points, by_repeated_derivatives, by_stationary_point}


def test_pieces_of_a_box_do_not_assume_what_is_declared_where_one_symbol_is_moved():
    """(2*x - y)^2 + x*(2*x - y) < 0 at x = 0.1, y = 0.25, where 2*x > y is declared."""
    signs, e = on(
        "parameter x in (0, 1), y in (0, 1), y < 1 - x, y < 2*x", "(2*x - y)^2 + x*(2*x - y)"
    )
    displaced = SignCalculus(signs.box, valued=True, pieces=400)
    displaced.displacing += 1

    assert signs.box.tied
    assert displaced.sign(e) == REAL
    displaced.displacing -= 1
    assert displaced.sign(e) == POSITIVE


@pytest.mark.parametrize("count", [60, pytest.param(150, marks=pytest.mark.slow)])
def test_random_polynomials_on_orthants(count: int):
    """What the orders of the variables say is never contradicted by a point."""
    rng = random.Random(3)
    settled = 0
    for _ in range(count):
        size = rng.choice((1, 2, 2, 3))
        ring = context(size)
        square = sum(rng.choice((-2, -1, 1, 2)) * g for g in ring.gens()) + rng.randint(-2, 2)
        p = square * square * rng.choice((1, ring.gens()[0])) + rng.choice((0, 0, 1, -1, 3)) * (
            ring.gens()[-1] ** rng.randint(0, 3)
        )
        positive = frozenset(i for i in range(size) if rng.random() < 0.5)
        found, _ = sign_on(Orthant(size, positive), p)
        if found == REAL:
            continue
        settled += 1
        for _ in range(25):
            point = [Fraction(rng.randint(0, 8), rng.choice((1, 2, 3))) for _ in range(size)]
            point = [x or Fraction(i in positive) for i, x in enumerate(point)]
            value = sum(
                Fraction(int(c.p), int(c.q))
                * _product(x ** int(k) for x, k in zip(point, m, strict=True))
                for m, c in p.terms()
            )
            sign = POSITIVE if value > 0 else Sign.NEGATIVE if value < 0 else Sign.ZERO
            assert sign in found, (p, point, found)

    assert settled > 4 / 15 * count


def _product(numbers) -> Fraction:
    total = Fraction(1)
    for x in numbers:
        total *= x
    return total


SHAPES = [
    ("{c}*exp(x) - {d} - {f}*x", lambda c, d, f, x: c * mpmath.exp(x) - d - f * x),
    ("{c}*x*log(x) - {d}*x + {f}", lambda c, d, f, x: c * x * mpmath.log(x) - d * x + f),
    (
        "{c}*x - {d}*log(1 + x) + {f}*x^2",
        lambda c, d, f, x: c * x - d * mpmath.log(1 + x) + f * x**2,
    ),
    ("{c}*x - {d}*sin(x) + {f}*x^3", lambda c, d, f, x: c * x - d * mpmath.sin(x) + f * x**3),
    ("{c}*x^3 - {d}*x + {f}", lambda c, d, f, x: c * x**3 - d * x + f),
    ("{c}*abs(x - 1) - {d}*abs(x) + {f}", lambda c, d, f, x: c * abs(x - 1) - d * abs(x) + f),
    ("{c}*sqrt(1 + x) - {d} - {f}*x", lambda c, d, f, x: c * mpmath.sqrt(1 + x) - d - f * x),
    ("({c}*exp(x) - {d})/x - {f}", lambda c, d, f, x: (c * mpmath.exp(x) - d) / x - f),
]


@pytest.mark.parametrize(("shape", "value"), SHAPES, ids=[s for s, _ in SHAPES])
def test_random_inequalities_against_values(shape, value):
    rng = random.Random(shape)
    definite = 0
    for _ in range(12):
        numbers = {name: rng.randint(1, 3) for name in "cdf"}
        found = sign_of("x > 0", shape.format(**numbers))
        definite += found != REAL
        with mpmath.workdps(40):
            for k in range(-40, 41):
                at = value(**numbers, x=mpmath.mpf(10) ** (mpmath.mpf(k) / 16))
                sign = POSITIVE if at > 1e-25 else Sign.NEGATIVE if at < -1e-25 else Sign.ZERO
                assert sign in found or sign == Sign.ZERO, (numbers, k, found)

    assert definite > 1


def test_a_proof_says_what_it_rests_on():
    found = decide("variable x, y\nL = x^4*y^2 + x^2*y^4 - 3*x^2*y^2 + 1", "L >= 0")

    assert "order" in found.proof[1] and found.verdict == "proved"
