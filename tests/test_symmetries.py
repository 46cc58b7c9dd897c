"""What no data can tell about the parameters of a law is found from the law alone."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from judging import law_of as law_with_header
from planted import grid, law_of

import lawdsl
from lawdsl.language.library import shipped
from lawdsl.law.law import Law
from lawdsl.proof.identifiability import Freedom, findings, freedom

CATALOGUE = Path(__file__).parent / "fixtures" / "catalogue"
IN_CATALOGUE = {  # law -> what moves in each of its symmetries
    "transfer": [("Dc", "k")],
    "downstream": [("E", "k"), ("E", "a", "b", "gamma")],
}


@pytest.mark.parametrize("name", sorted(shipped().keys() - {"mixing.m3"}))
def test_no_shipped_law_has_a_symmetry_but_one(name: str):
    assert freedom(lawdsl.load(name)) == Freedom()


@pytest.mark.parametrize("path", sorted(CATALOGUE.glob("*.law")), ids=lambda p: p.stem)
def test_the_symmetries_of_the_literature(path: Path):
    found = freedom(lawdsl.load(path)).symmetries

    assert sorted(s.parameters for s in found) == sorted(IN_CATALOGUE.get(path.stem, []))
    assert all(s.proved and s.transformation for s in found)


CROSS = """variable k1, k2, N > 0
parameter E, A, alpha, F, mu, w1, w2 > 0
L = E + A/N^alpha + F/(w1/k1 + w2*k2)^mu"""
MIXTURE = """variable r1, r2 in [0, 1]
parameter c0, k > 0
parameter t1, t2, t3
let r3 = 1 - r1 - r2
L = c0 + k*exp(t1*r1 + t2*r2 + t3*r3)"""

KNOWN = {
    "the weights of the cross-domain law": (
        CROSS,
        ["F -> s^mu*F, w1 -> s*w1, w2 -> s*w2"],
        ["fix one of them: --fix w1=1, or `setting w1 = 1` in the law"],
    ),
    "the mixing law on the simplex": (
        MIXTURE,
        ["k -> k*exp(-c), t1 -> t1 + c, t2 -> t2 + c, t3 -> t3 + c"],
        ["fix one of them: --fix t1=0, or `setting t1 = 0` in the law"],
    ),
    "two constants": (
        "variable N > 0\nparameter E1, E2, A, alpha > 0\nL = E1 + E2 + A/N^alpha",
        ["E1 -> E1 + c, E2 -> E2 - c"],
        ["write E1 + E2 as one parameter"],
    ),
    "two constants, one of them doubled": (
        "variable N > 0\nparameter a, b > 0\nL = a + 2*b + 1/N",
        ["a -> a + 2*c, b -> b - c"],
        ["write a + 2*b as one parameter"],
    ),
    "a product": (
        "variable x > 0\nparameter a, b > 0\nL = a*b*x",
        ["a -> s*a, b -> b/s"],
        ["fix one of them: --fix a=1, or `setting a = 1` in the law"],
    ),
    "a product with a share": (
        "variable N > 0\nparameter F > 0\nparameter p in (0, 1)\nL = F*p/N",
        ["F -> s*F, p -> p/s"],
        ["fix one of them: --fix p=0.5, or `setting p = 0.5` in the law"],
    ),
    "a factor in an exponent": (
        "variable x > 0\nparameter A > 0\nparameter b, t\nL = A*exp(b + t*x)",
        ["A -> A*exp(c), b -> b - c"],
        ["fix one of them: --fix b=0, or `setting b = 0` in the law"],
    ),
    "another base": (
        "variable x in [0, 1]\nparameter k > 0\nparameter t1, t2\nL = k*10^(t1*x + t2*(1 - x))",
        ["k -> k*exp(-c), t1 -> t1 + c/log(10), t2 -> t2 + c/log(10)"],
        ["fix one of them: --fix t1=0, or `setting t1 = 0` in the law"],
    ),
    "a unit": (
        "variable N > 0\nparameter E, A, N0, alpha > 0\nL = E + A*(N0/N)^alpha",
        ["A -> s^alpha*A, N0 -> N0/s"],
        ["fix one of them: --fix N0=1, or `setting N0 = 1` in the law"],
    ),
    "two powers": (
        "variable N > 0\nparameter A, b, c, E > 0\nL = E + (A*N^c)^b",
        ["A -> A^s, b -> b/s, c -> s*c"],
        ["fix one of them: --fix b=1, or `setting b = 1` in the law"],
    ),
    "a centre": (
        "variable x > 0\nparameter a, c0, c1, c2\nL = c0 + c1*(x - a) + c2*(x - a)^2",
        ["a -> a + c, c0 -> c0 + c^2*c2 + c*c1, c1 -> c1 + 2*c*c2"],
        ["fix one of them: --fix a=0, or `setting a = 0` in the law"],
    ),
    "two directions": (
        "variable N > 0\nparameter E1, A, B, C, alpha > 0\nL = E1 + A*B + C/N^alpha",
        ["A -> s*A, B -> B/s", "E1 -> E1 + B*c, A -> A - c"],
        [
            "fix one of them: --fix A=1, or `setting A = 1` in the law",
            "fix one of them, such as E1, or write the law without it",
        ],
    ),
    "a sum times a factor": (
        "variable N > 0\nparameter a, b, f, E, alpha > 0\nL = E + (a + b)*f/N^alpha",
        ["a -> a + c, b -> b - c", "a -> s*(a + b) - b, f -> f/s"],
        [
            "write a + b as one parameter",
            "fix one of them: --fix f=1, or `setting f = 1` in the law",
        ],
    ),
    "a circle, which is followed by no formula": (
        "variable x > 0\nparameter a, b, c > 0\nL = c*exp(-x*(a^2 + b^2))",
        [None],
        ["fix one of them, such as a, or write the law without it"],
    ),
    "no effect": (
        "variable x > 0\nparameter a, q > 0\nL = a*x + 0*q",
        ["q -> q + c"],
        ["leave q out of the law"],
    ),
    "names that are taken": (
        "variable x > 0\nparameter s, a > 0\nL = s*a*x",
        ["s -> q*s, a -> a/q"],
        ["fix one of them: --fix s=1, or `setting s = 1` in the law"],
    ),
    "in one branch of a law with a kink": (
        "variable x > 0\nparameter a, b, c > 0\nL = c + max(a*b*x, 1)",
        ["a -> s*a, b -> b/s"],
        ["fix one of them: --fix a=1, or `setting a = 1` in the law"],
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_symmetry_is_named_with_how_it_moves_and_what_to_fix(name: str):
    text, moves, fixing = KNOWN[name]
    found = freedom(law_of(text)).symmetries

    assert [s.transformation for s in found] == moves
    assert [s.fixing for s in found] == fixing
    assert all(s.proved for s in found)


@pytest.mark.parametrize("name", KNOWN)
def test_predictions_do_not_change_along_a_symmetry(name: str):
    follow(law_of(KNOWN[name][0]))


def follow(law: Law) -> None:
    """Along each symmetry of a law the law is the same, to 40 digits."""
    for symmetry in freedom(law).symmetries:
        slopes = {n: sp.diff(law.expression, law.symbols[n]) for n in symmetry.parameters}
        change = sum(rate * slopes[n] for n, rate in symmetry.field.items())
        flow = symmetry.flow
        for seed in range(5):
            at = point(law, random.Random(seed))
            assert abs(sp.N(change.xreplace(at), 50)) < 1e-40
            for amount in (digits(0.3), digits(1.7)) if flow else ():
                there = {
                    s: e.xreplace({flow.group_parameter: amount, **at})
                    for s, e in flow.images.items()
                }
                moved = sp.N(law.expression.xreplace({**at, **there}), 50)
                assert abs(moved - sp.N(law.expression.xreplace(at), 50)) < 1e-40


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_to_be_fixed_ends_the_freedom(name: str):
    law = law_of(KNOWN[name][0])
    found = freedom(law)
    fixed = law.at(**{s.held: 1.5 if s.value is None else s.value for s in found.symmetries})

    assert len(found.held) == found.lost > 0
    assert freedom(fixed) == Freedom()


SUMS_OF_PRODUCTS = {
    "of two": "variable x > 0\nparameter a, b, c, d > 0\nL = (a*b + c*d)*x",
    "of three": "variable x > 0\nparameter a, b, c, d, e, f > 0\nL = (a*b + c*d + e*f)*x",
    "of chains": "variable x > 0\nparameter a, b, c, d > 0\nL = (a*b + b*c + c*d)*x",
    "of labels": "index i over domain\nvariable x > 0\nparameter s[i], c[i] > 0\n"
    "L = sum(s[i]*c[i]*exp(-x) for i)",
}


@pytest.mark.parametrize("name", SUMS_OF_PRODUCTS)
def test_directions_that_share_parameters_each_hold_another_one(name: str):
    law = law_of(SUMS_OF_PRODUCTS[name])
    found = freedom(law)

    assert found.certain
    assert len(found.held) == found.lost > 0
    assert all(symmetry.held in symmetry.parameters for symmetry in found.symmetries)
    if name != "of labels":
        follow(law)
        assert freedom(law.at(**dict.fromkeys(found.held, 1.5))) == Freedom()


# ---- of laws with index sets, at a few labels


def point(law: Law, rng: random.Random) -> dict[sp.Symbol, sp.Float]:
    """Random values, below 1 so that shares are shares."""
    quantities = (*law.parameters, *law.variables)
    return {q.symbol: digits(rng.randint(100, 900) / 1009) for q in quantities}


def digits(number: float) -> sp.Float:
    """A number of 60 digits; SymPy would take powers of fractions apart for hours."""
    return sp.Float(str(number), 60)


NONE = {
    "a sum and its parts": "variable x > 0\nparameter a, b, c > 0\nL = a + b*sqrt(x + c)^a",
    "shares that are free": MIXTURE.replace("let r3 = 1 - r1 - r2\n", "").replace(
        "variable r1, r2 in", "variable r1, r2, r3 in"
    ),
    "a weight that is fixed": CROSS.replace(", w1", "").replace("w1/k1", "1/k1"),
    "a weight that is a setting": "setting w1 = 2.5\n" + CROSS.replace(", w1", ""),
    "branches that differ": "variable x > 0\nparameter a, b > 0\nL = max(a, b)*x",
    "a branch that is seldom met": "variable x > 0\nparameter a, b > 0\nL = max(a, 1000*x) + b*x",
    "no parameters": "variable x > 0\nL = 2*x",
    "an effect in the hundredth digit": (
        "variable x in [1, 2]\nparameter a, b > 0\nL = a + b*(1 - tanh(200*x))"
    ),
    "an effect that has faded away at most places": (
        "variable x > 0\nparameter a, b > 0\nL = a + b*exp(-1e5*x)"
    ),
    "near shares": "variable x in [0, 1]\nparameter k > 0\nparameter t, u\n"
    "L = k*exp(t*x + u*(0.999999 - x)) + 1e-9*t*x",
}


# ---- in a fit

DOMAINS = grid(N=[0.3, 0.5, 1.8, 4.0, 7.0], k1=[1.1, 1.7, 2.4, 3.0, 3.6, 4.5])
DOMAINS |= {"k2": np.repeat([0.3, 0.05, 0.6, 0.15, 0.9, 0.4], 5)}


def cross_table(**changed: np.ndarray) -> dict[str, np.ndarray]:
    c = {**DOMAINS, **changed}
    loss = 1.2 + 0.3 / c["N"] ** 0.5 + 0.5 / (1 / c["k1"] + 2 * c["k2"]) ** 0.8
    return {**c, "L": loss}


def test_a_fit_of_a_law_with_a_symmetry_says_so_once_and_is_not_trusted():
    made = lawdsl.fit(law_of(CROSS), cross_table(), starts=6)

    assert [(d.code, d.severity) for d in made.diagnostics] == [("F0114", "error")]
    assert {n for n, p in made.parameters.items() if not p.identified} == {"F", "w1", "w2"}
    assert made.verdict == "not trusted"


def test_the_same_fit_with_one_of_them_fixed_is_trusted():
    made = lawdsl.fit(law_of(CROSS).at(w1=1), cross_table(), starts=6)

    assert (made.verdict, made.diagnostics) == ("trusted", ())
    assert made.values["w2"] == pytest.approx(2, rel=1e-6)


def test_what_the_data_miss_is_told_beside_what_no_data_tell():
    two = {name: column[DOMAINS["N"] < 1] for name, column in DOMAINS.items()}
    made = lawdsl.fit(law_of(CROSS), cross_table(**two), starts=6)
    known, missed = made.diagnostics

    assert (known.code, missed.code) == ("F0114", "F0101")
    assert missed.message == (
        "E, A and alpha cannot be distinguished with these data: N has two values"
    )
    assert missed.notes == ("rank 5 of 7", "N has two values: 0.3, 0.5")


def test_shares_that_add_up_are_named_as_the_cause():
    """The simplex is in the data here and not in the law: rank 4 of 5."""
    rng = np.random.default_rng(0)
    r1, r2, r3 = rng.dirichlet((1, 1, 1), 40).T
    law = law_of(NONE["shares that are free"])
    loss = 2 + 0.5 * np.exp(-1.2 * r1 + 0.3 * r2 - 0.4 * r3)
    made = lawdsl.fit(law, {"r1": r1, "r2": r2, "r3": r3, "L": loss}, starts=6)
    (found,) = (d for d in made.diagnostics if d.code == "F0101")

    assert found.message == (
        "k, t1, t2 and t3 cannot be distinguished with these data: r1 + r2 + r3 = 1 in every row"
    )
    assert found.notes[0] == "rank 4 of 5"


def test_shares_are_drawn_on_their_simplex():
    # where the last share is negative, mixing.additive has no value
    assert freedom(lawdsl.load("mixing.additive")) == Freedom(certain=True)


def test_parameters_that_sum_to_one_are_drawn_on_their_simplex():
    """Of shares s and factors k of hidden domains, an overall loss has only the products."""
    hidden = "index j over training\nindex i over {a, b, c}\nvariable r[j] in simplex\n"
    text = hidden + "parameter s[i] in simplex\nparameter k[i] > 0, t[i, j]\n"
    law = law_of(
        text
        + "L = sum(s[i]*k[i]*exp(sum(t[i, j]*r[j] for j)) for i)\nidentify sum(t[i, j] for j) = 0"
    )
    free = freedom(law.sample)
    assert free.lost == 2 and free.certain


def test_the_mixing_law_on_the_simplex_lacks_one_rank():
    rng = np.random.default_rng(0)
    r1, r2, r3 = rng.dirichlet((1, 1, 1), 40).T
    loss = 2 + 0.5 * np.exp(-1.2 * r1 + 0.3 * r2 - 0.4 * r3)
    law = law_of(MIXTURE)
    made = lawdsl.fit(law, {"r1": r1, "r2": r2, "L": loss}, starts=6)
    fixed = lawdsl.fit(law.at(t3=0), {"r1": r1, "r2": r2, "L": loss}, starts=6)

    assert [d.code for d in made.diagnostics] == ["F0114"]
    assert fixed.verdict == "trusted"
    assert fixed.values["t1"] == pytest.approx(-0.8, rel=1e-5)


def test_a_parameter_without_effect_is_shown_where_it_is_declared():
    law = law_with_header("law a\nvariable N > 0\nparameter A, C > 0\nL = A*N")
    text = law.declarations.text
    (found,) = findings(law, freedom(law), text=text)
    assert found.span is not None
    assert text.position(found.span.start) == (3, 14)
    assert text.text[found.span.start : found.span.end] == "C"
