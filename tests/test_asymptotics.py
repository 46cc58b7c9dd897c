"""How fast expressions grow: limits to infinity and to 0 from above, where rules alone say nothing."""

from __future__ import annotations

import random

import mpmath
import pytest
import sympy as sp
from hyperdual import Exact
from judging import Judge, formula_of
from proving import algebra, decide, domain, limit_of, on

from lawdsl.proof.signs import asymptotics

CASES = [
    # powers, logarithms and exponentials against one another
    ("x > 0", "x^2 - x", "oo", "oo"),
    ("x > 0", "x - x^2", "oo", "-oo"),
    ("x > 0", "x - x^2", "0", "0"),
    ("x > 0", "1/x - 1/x^2", "0", "-oo"),
    ("x > 0", "1/x - 1/sqrt(x)", "0", "oo"),
    ("x > 0", "log(x)/x", "oo", "0"),
    ("x > 0", "log(x)/x", "0", "-oo"),
    ("x > 0", "log(x)^3/x^0.1", "oo", "0"),
    ("x > 0", "x^0.1*log(x)^3", "0", "0"),
    ("x > 0", "x^(-0.1)*log(x)^2", "0", "oo"),
    ("x > 0", "x^(-0.1)*log(x)^3", "0", "-oo"),
    ("x > 0", "log(x)^2/log(1 + x)", "oo", "oo"),
    ("x > 0", "log(1 + x)/log(x)", "oo", "1"),
    ("x > 0", "x^2*exp(-x)", "oo", "0"),
    ("x > 0", "exp(x)/x^10", "oo", "oo"),
    ("x > 0", "exp(x) - x^5", "oo", "oo"),
    ("x > 0", "x^5 - exp(x)", "oo", "-oo"),
    ("x > 0", "exp(-1/x)/x", "0", "0"),
    ("x > 0", "exp(-1/x)/x", "oo", "0"),
    ("x > 0", "x*exp(1/x)", "0", "oo"),
    ("x > 0", "x*exp(1/x)", "oo", "oo"),
    ("x > 0", "exp(x - log(x)^2)", "oo", "oo"),
    # bases and exponents that both move
    ("x > 0", "x^(1/x)", "oo", "1"),
    ("x > 0", "x^(1/x)", "0", "0"),
    ("x > 0", "x^x", "0", "1"),
    ("x > 0", "x^x", "oo", "oo"),
    ("x > 0", "x^(-x)", "oo", "0"),
    ("x > 0", "(1 + x)^(1/x)", "0", "exp(1)"),
    ("x > 0", "log(x)^x", "oo", None),  # negative for x < 1
    # leading powers that cancel
    ("x > 0", "sqrt(x^2 + x) - x", "oo", "1/2"),
    ("x > 0; parameter a > 0", "sqrt(x^2 + a*x) - x", "oo", "a/2"),
    ("x > 0", "sqrt(x^2 + 1) - x", "oo", "0"),
    ("x > 0", "x*(sqrt(x^2 + 1) - x)", "oo", "1/2"),
    ("x > 0", "(x^3 + x^2)^(1/3) - x", "oo", "1/3"),
    ("x > 0", "sqrt(1/x^2 + 1/x) - 1/x", "0", "1/2"),
    ("x > 0", "sqrt(x^4 + x^3) - x^2", "oo", "oo"),
    ("x > 0", "sqrt(x + sqrt(x)) - sqrt(x)", "oo", "1/2"),
    # functions like their argument at 0, and bounded ones
    ("x > 0", "sin(x)/x", "0", "1"),
    ("x > 0", "sin(x)/x", "oo", "0"),
    ("x > 0", "tanh(2*x)/x", "0", "2"),
    ("x > 0", "(1 - cos(x))/x^2", "0", "1/2"),
    ("x > 0", "x*sin(1/x)", "oo", "1"),
    ("x > 0", "x*sin(1/x)", "0", "0"),
    ("x > 0", "1 + exp(-x)*cos(x)^2", "oo", "1"),
    ("x > 0", "x*sin(x)", "oo", None),
    ("x > 0", "sin(x)", "oo", None),
    # factors that may be 0
    ("x > 0; parameter a >= 0", "a*x*exp(-x)", "oo", "0"),
    ("x > 0; parameter a >= 0", "(a*x + 1)/(x + 1)", "oo", "a"),
    ("x > 0; parameter a", "a*log(x)/x", "oo", "0"),
    ("x > 0; parameter a >= 0", "a*x", "oo", None),  # 0 for a = 0
    ("x > 0; parameter a >= 0", "1 + a*x/log(1 + x)", "oo", None),
    # what cancels is known by its slope
    ("x > 0", "(exp(x) - 1)/x", "0", "1"),
    ("x > 0", "(1 - exp(-x))/x", "0", "1"),
    ("x > 0", "(exp(x) - 1 - x)/x^2", "0", "1/2"),
    ("x > 0", "log(1 + x)/x", "0", "1"),
    ("x > 0", "x*log(1 + 1/x)", "oo", "1"),
    ("x > 0", "x*(exp(1/x) - 1)", "oo", "1"),
    ("x > 0", "x*(exp(1/x) - 1)", "0", "oo"),
    ("x > 0", "(sqrt(1 + x) - 1)/x", "0", "1/2"),
    ("x > 0", "x*(sqrt(1 + 1/x) - 1)", "oo", "1/2"),
    ("x > 0", "x*(atan(x) - pi/2)", "oo", "-1"),
    ("x > 0; parameter a > 0", "x*((1 + a/x)^2 - 1)", "oo", "2*a"),
    # exponents and coefficients that are parameters
    ("x > 0; parameter a > 0", "x^a*exp(-x)", "oo", "0"),
    ("x > 0; parameter a", "x^a*exp(-x)", "oo", "0"),
    ("x > 0; parameter a", "x^a*exp(-1/x)", "0", "0"),
    ("x > 0; parameter a", "x^a*exp(-x)", "0", None),
    ("x > 0; parameter a > 0; parameter b", "x^a*exp(-b*x)", "oo", None),
    ("x > 0; parameter a > 1", "a^x/x^3", "oo", "oo"),
    ("x > 0; parameter a in (0, 1)", "a^x*x^3", "oo", "0"),
    ("x > 0; parameter a > 0", "a^x*x^3", "oo", None),
    ("x > 0; parameter a > 0; parameter b > a", "x^a - x^b", "oo", "-oo"),
    ("x > 0; parameter a > 0; parameter b > a", "x^(-a) - x^(-b)", "0", "-oo"),
    ("x > 0; parameter a, b > 0", "x^a - x^b", "oo", None),
    ("x > 0; parameter a > 0; parameter b > a", "b*x - a*x", "oo", "oo"),
    ("x > 0; parameter a, b > 0", "a*x - b*x", "oo", None),
    ("x > 0; parameter a", "a*x^2 + x", "oo", None),
    ("x > 0; parameter a, b > 0", "(x + a)^b/x^b", "oo", "1"),
    ("x > 0, y > 0", "y + x*exp(-x)", "oo", "y"),
    # at the end of a range, from the side that the domain has
    ("x > 1", "log(x)/(x - 1)", "1", "1"),
    ("x < 1", "(1 - x)*log(1 - x)", "1", "0"),
    ("x < 1", "1/log(1 - x)", "1", "0"),
    ("x in (0, 1)", "(1 - x)^0.5*log(1 - x)", "1", "0"),
    ("x in [0, 1)", "exp(-1/(1 - x))/(1 - x)^3", "1", "0"),
    # no answer
    ("x > 0", "exp(x) - exp(2*x)", "oo", None),  # both are beyond every power
    ("x > 0", "exp(log(x)^2)/x", "oo", None),  # between powers and exponentials
    ("x > 0", "x*sin(x)", "oo", None),
    ("x > 0", "(1 + 1/x)^x", "oo", "exp(1)"),  # 1^oo
    ("x", "x*exp(1/x)", "0", None),  # it is 0 from below, oo from above
    ("x", "(exp(x) - 1)/x", "0", None),  # inside of a range
]


@pytest.mark.parametrize(("where", "formula", "to", "expected"), CASES)
def test_the_limit(where: str, formula: str, to: str, expected: str | None):
    found = limit_of(where, formula, {"x": to})

    assert found == (None if expected is None else algebra(where, expected))


def test_a_limit_has_nothing_left_of_what_moves():
    found = limit_of("x > 0; parameter a > 0", "x*exp((1 + a)/x)/(1 + x)", {"x": "oo"})

    assert found is None or "x" not in {s.name for s in found.free_symbols}


@pytest.mark.parametrize("name", ["b", "unknown"])
def test_no_name_of_a_law_decides_between_two_exponentials(name: str):
    law = f"setting s = 0.5\nparameter {name} < s - 1\nvariable x > 0\nL = exp(2*x) - exp(x)"

    assert decide(law, "L -> oo as x -> oo").verdict in ("proved", "undecided")


TERMS = (
    "x^2 x sqrt(x) 1 2 1/x x^(-0.5) log(x) log(1+x) log(2+1/x) exp(x) exp(-x) exp(1/x) exp(-2*x)"
)
TERMS += " (1+x)^0.5 (2+1/x) atan(x) 0.5^x tanh(x) (exp(1/x)-1) (1-exp(-x)) (sqrt(1+x)-sqrt(x))"


def random_formula(rng: random.Random) -> str:
    products = [
        "*".join(rng.sample(TERMS.split(), rng.choice((1, 2, 3))))
        for _ in range(rng.choice((1, 2, 3)))
    ]
    whole = "".join(f" {rng.choice('+-')} {product}" for product in products)
    return rng.choice(("{}", "{}", "({})/(x + 1)", "({})*exp(-x)", "x*({})")).format(f"0{whole}")


@pytest.mark.parametrize("at_zero", [False, True])
def test_values_far_out_come_near_to_the_limit(at_zero: bool):
    rng = random.Random(3)
    law, _ = domain("x > 0")
    known = 0
    for formula in [random_formula(rng) for _ in range(120)]:
        signs, e = on("x > 0", formula)
        limit = e.free_symbols and asymptotics.limit_of(signs, e, *e.free_symbols, at_zero=at_zero)
        if isinstance(limit, sp.Expr):
            known += 1
            gaps = [gap_at(law, formula, limit, -k if at_zero else k) for k in (4, 8, 12)]
            assert gaps[2] < 0.9 * gaps[0] or gaps[2] < 1e-9, (formula, limit, gaps)
    assert known > 60


def gap_at(law: object, formula: str, limit: sp.Expr, power: int) -> mpmath.mpf:
    """How far a value is from the limit, or its inverse from that of infinity."""
    with mpmath.workdps(300):
        at = Judge(law, {"x": mpmath.mpf(10) ** power}, Exact()).value(formula_of(formula))
        if limit.is_infinite:
            return 1 / at if at * limit > 0 else mpmath.inf
        return abs(at - mpmath.mpf(str(sp.N(limit, 60))))
