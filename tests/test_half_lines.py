"""Questions on half-lines, flat pieces and ties: limits are decided, and certain only where proved."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest
import sympy as sp

import lawdsl
from lawdsl.compiling.tape import compile_tape
from lawdsl.solving.univariate.asymptotics import Approach, limit, sign_near_end
from lawdsl.solving.univariate.roots import as_float

x = sp.Symbol("x", positive=True)
PEAK = {"alpha2": 1, "s2": 1, "alpha3": -1, "s3": 0.5, "beta2": 0}


def load_question(folder: Path, *lines: str) -> lawdsl.Asked:
    path = folder / "plain.law"
    path.write_text("\n".join(("question plain", *lines, "")), encoding="utf-8")
    return lawdsl.Asked(path)


UNBOUNDED = [
    ("x >= 0", "minimize x - x^2"),
    ("x >= 0", "maximize x^0.7 - x^0.3"),
    ("x > 0", "maximize x - sqrt(x)"),
    ("x", "minimize x^3 - 50*x^2"),
    ("x <= 2", "maximize abs(x) - 20*abs(x)^0.5"),
    ("x >= 1", "minimize 100*log(x) - x^0.01"),
    ("x > 0", "minimize x^5 - exp(0.01*x)"),
    ("x > 0", "maximize 1/x - log(x)^2"),
    ("x >= 0", "minimize log(x + 1) - log(x + 2)*log(x + 3)"),
    ("x >= 0", "minimize max(x, 3) - 1.0001*x"),
]


@pytest.mark.parametrize(("domain", "goal"), UNBOUNDED)
def test_a_goal_that_goes_on_without_bound_is_unbounded(domain: str, goal: str, tmp_path: Path):
    answer = load_question(tmp_path, f"choose {domain}", goal).answer()

    assert answer.status == "unbounded" and answer.certain and not answer.unknowns
    assert "unbounded" in answer.proof[0]


def test_goals_with_givens_and_shipped_questions_are_unbounded(tmp_path: Path):
    lines = ("given p, q > 0", "choose N >= 0", "maximize p*N^0.7 - q*N^0.3")
    assert load_question(tmp_path, *lines).answer(p=1, q=1).status == "unbounded"
    assert lawdsl.solve("cmr.general_peak", general=PEAK).status == "unbounded"
    domain = {"alpha1": -0.1, "s1": 0.3, "beta1": 0}
    answer = lawdsl.solve("cmr.turning_point", domain=domain, general=PEAK, **{"lambda": 1000})
    assert answer.status == "unbounded" and answer.certain


def test_a_sum_is_unbounded_where_one_of_its_unknowns_is(tmp_path: Path):
    lines = ("choose x >= 0", "choose y >= 0", "minimize x - x^2 + y")
    answer = load_question(tmp_path, *lines).answer()

    assert answer.status == "unbounded" and answer.goal is None


ATTAINED = [
    ("x >= 0", "minimize exp(-x)*x^5", 0, 0),
    ("x >= 0", "maximize exp(-x)*x^5", 5, 5**5 * math.exp(-5)),
    pytest.param(
        *("x >= 0", "minimize sqrt(x^2 + 1) - x + 2*exp(-x)*x", None, None),
        marks=pytest.mark.slow,
    ),
    ("x >= 0", "minimize exp(-x)", None, None),
    ("x >= 0", "minimize x*exp(-x)", 0, 0),
    ("x >= 1", "maximize log(x)/x", math.e, 1 / math.e),
    ("x >= 0", "minimize x^0.7 - x^0.3", (3 / 7) ** 2.5, (3 / 7) ** 1.75 - (3 / 7) ** 0.75),
    ("x", "minimize x^4 - x", 0.25 ** (1 / 3), -0.75 * 0.25 ** (1 / 3)),
]


@pytest.mark.parametrize(("domain", "goal", "best", "value"), ATTAINED)
def test_a_limit_at_infinity_is_compared_with_what_is_attained(
    domain: str, goal: str, best: float | None, value: float | None, tmp_path: Path
):
    answer = load_question(tmp_path, f"choose {domain}", goal).answer()

    if best is None:
        assert answer.status == "unbounded" and "comes nearer and nearer to 0 as" in answer.proof[0]
        return
    assert answer.status == "answered" and answer.certain and answer.goal
    assert answer["x"] == pytest.approx(best, rel=1e-9, abs=1e-15)
    assert answer.goal.value == pytest.approx(value, rel=1e-12, abs=1e-15)


PLATEAUS = [
    ("x in [-3, 5]", "minimize abs(x - 0.3) + abs(x - 0.7)", 0.3, 0.7, 0.4),
    ("x in [-3, 5]", "minimize 0.1*abs(x - 0.3) + 0.1*abs(x - 0.7)", 0.3, 0.7, 0.04),
    ("x", "minimize max(abs(x), 2)", -2, 2, 2),
    ("x in [0, 9]", "maximize min(x, 4)", 4, 9, 4),
    ("x in [0, 9]", "minimize max(x, 4) + max(3, 5 - x)", 2, 4, 7),
    ("x in [0, 1]", "maximize min(x, 2) - x", 0, 1, 0),
]


@pytest.mark.parametrize(("domain", "goal", "low", "high", "value"), PLATEAUS)
def test_a_plateau_of_optima_is_an_answer(
    domain: str, goal: str, low: float, high: float, value: float, tmp_path: Path
):
    answer = load_question(tmp_path, f"choose {domain}", goal).answer()

    assert answer.ok and answer.certain and answer.goal
    assert answer.goal.value == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert low <= answer["x"] <= high
    said = f"every x from {low:g} to {high:g} is optimal: the goal is constant there"
    assert said in answer.proof


def test_a_kink_moves_with_its_givens(tmp_path: Path):
    lines = ("given a, b", "choose x in [-9, 9]", "minimize 3*abs(x - a*b) + 2*a*x + b^2")
    ready = load_question(tmp_path, *lines)
    here = ready.answer(a=1.2, b=0.7)
    found = {s.name: s for s in here.sensitivities}

    assert here["x"] == pytest.approx(0.84) and here.where == "inside, at a kink"
    for name, base in (("a", 1.2), ("b", 0.7)):
        given = {"a": 1.2, "b": 0.7}
        ahead, behind = (ready.answer({**given, name: base + s}) for s in (1e-6, -1e-6))
        assert ahead.goal and behind.goal
        step = (ahead["x"] - behind["x"]) / 2e-6
        assert found[name].unknowns["x"] == pytest.approx(step, rel=1e-6)
        step = (ahead.goal.value - behind.goal.value) / 2e-6
        assert found[name].goal == pytest.approx(step, rel=1e-6)


@pytest.mark.parametrize(
    ("goal", "certain"),
    [
        ("minimize x^4 - x^2", True),  # it is the same at -x
        ("minimize x*(x - 1)*(1 + x)*x", True),
        ("minimize cos(2*pi*x)", False),
        ("minimize (x - 1)^2*(x + 2)^2*(x^2 + 3)", True),  # exactly 0 at both
    ],
)
def test_of_equal_optima_certain_are_those_that_are_proved_equal(
    goal: str, certain: bool, tmp_path: Path
):
    answer = load_question(tmp_path, "choose x in [-2.3, 2.3]", goal).answer()
    said = " ".join(answer.proof)

    assert answer.status == "answered"
    assert answer.certain == certain
    assert ("equally good" in said) == certain
    assert ("not certain: equal to within" in said) == (not certain)


UNDECIDED = [
    pytest.param("x >= 0", "minimize x*sin(x)", marks=pytest.mark.slow),
    ("x >= 0", "minimize sin(x) + sin(1.4142135*x)"),
    pytest.param("x in (0, 1]", "minimize sin(1/x) + 0.1*x", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("domain", "goal"), UNDECIDED)
def test_what_is_not_decided_is_not_beaten_by_its_own_table(domain: str, goal: str, tmp_path: Path):
    answer = load_question(tmp_path, f"choose {domain}", goal).answer()

    assert not answer.certain
    if answer.goal is not None:
        assert all(r.goal >= answer.goal.value for r in answer.response if r.allowed)


def test_places_that_a_bound_rules_out_are_not_said_to_be_known(tmp_path: Path):
    """x*sin(1/x) turns again and again near 0, where it is never as low as at its best place."""
    answer = load_question(tmp_path, "choose x in (0, 1]", "minimize x*sin(1/x)").answer()

    assert answer.certain and answer["x"] == pytest.approx(0.222548, rel=1e-5)
    assert "a bound of the goal proves that no place elsewhere is better" in answer.proof
    assert not any("the list is complete" in line for line in answer.proof)


# ---- signs and limits at infinity

EXPRESSIONS: dict[str, float | None] = {
    "x - x**2": -math.inf,
    "exp(-x)*x**5": 0,
    "log(x)/x**0.01": 0,
    "x**0.01 + 1e300/x**0.003": math.inf,
    "log(1 + x) - log(x)": 0,
    "sqrt(x**2 + x) - x": 0.5,
    "exp(x + 1/x) - exp(x)": math.inf,
    "(1 + 1/x)**x": math.e,
    "x*log(1 + 1/x) - 1": 0,
    "2**x - exp(x*log(2))": 0,
    "2**x - 3**x": -math.inf,
    "atan(x) - pi/2": 0,
    "x*tanh(x) - x": 0,
    "exp(sqrt(log(x))) - x**0.001": -math.inf,
    "x + 2*sin(x)": math.inf,
    "x*sin(x)": None,
    "Abs(x - 3) - x": -3,
    "Max(x, x**2/5) - x**2/5": 0,
    "(x**3 + 1)**(1/3) - x": 0,
    "x**2*(cos(1/x) - 1)": -0.5,
    "x**x - exp(x*log(x) + 1)": -math.inf,
    "log(log(x + 3)) - log(log(x))": 0,
}

SLOW = {  # where mpmath needs very many digits
    *("log(x)/x**0.01", "log(1 + x) - log(x)", "x*log(1 + 1/x) - 1", "atan(x) - pi/2"),
    *("(x**3 + 1)**(1/3) - x", "log(log(x + 3)) - log(log(x))", "x*tanh(x) - x"),
}
TEXTS = [pytest.param(t, marks=pytest.mark.slow) if t in SLOW else t for t in EXPRESSIONS]


@pytest.mark.parametrize("text", TEXTS)
def test_signs_and_limits_at_infinity_are_those_of_mpmath(text: str):
    """The sign holds from the place on that is told, not only in the limit."""
    expression = sp.sympify(text, locals={"x": x}, rational=True)
    tape = compile_tape([expression], [x])
    to_infinity = Approach(Fraction(0), Fraction(1), inverse=False)
    value, near = limit(tape, [], to_infinity), sign_near_end(tape, [], to_infinity)
    expected = EXPRESSIONS[text]

    assert (value is None) == (expected is None)
    if value is not None:
        assert as_float(value.low) == pytest.approx(expected, rel=1e-15)
        assert as_float(value.high) == pytest.approx(expected, rel=1e-15)
    if near is None or near.boundary > 1e5:
        return
    number = sp.lambdify(x, expression, "mpmath")
    with mpmath.workdps(12_000):
        for factor in (1, 3):
            found = number(mpmath.mpf(as_float(near.boundary)) * factor)
            assert abs(found) < mpmath.mpf(10) ** -150 if not near.sign else found * near.sign > 0
