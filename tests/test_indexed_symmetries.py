"""Symmetries of laws with index sets, at a few labels."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator

import mpmath
import pytest
import sympy as sp
from flint import arb
from judging import law_of as law_with_header
from planted import law_of
from quick import some
from random_laws import random_law
from test_symmetries import CROSS, NONE, digits, follow, point

import lawdsl
from lawdsl.law.law import Law
from lawdsl.proof.identifiability import Freedom, findings, freedom, symmetries
from lawdsl.proof.identifiability.null_space import Unclear, null_vectors
from lawdsl.proof.identifiability.zero_test import vanishes

KINKS = (sp.Min, sp.Max, sp.Abs)


GAUGE = ("identify  sum(t[i, j] for j) = 0", "")


def shift(i: str, by: str = "c") -> str:
    """The gauge of the mixing law: what is added to all slopes, k takes back."""
    moved = [f"t[{i}, {j}] -> t[{i}, {j}] + {by}" for j in "abc"]
    return ", ".join([f"k[{i}] -> k[{i}]*exp(-{by})", *moved])


OF_SHIPPED = {
    # shipped law: other lines in it, the symmetries that it then has, what to do about each
    "mixing.m3": (
        [],
        [
            "t[i, a] -> s*t[i, a], t[i, b] -> t[i, b]/s",
            "t[i, a] -> s*t[i, a], t[i, c] -> t[i, c]/s",
        ],
        "identify",
    ),
    "mixing.m4": ([GAUGE], [shift("i")], "identify"),
    "mixing.explicit": ([GAUGE], [shift(i) for i in "abc"], "identify"),
    "mixing.implicit": ([GAUGE], [shift(i, "h") for i in "abc"], "identify"),
    "mixing.bimix": (
        [("identify  A[i] = 1", "")],
        ["A[i] -> A[i]/s, B[i] -> s*B[i], C[i] -> s*C[i]"],
        "identify",
    ),
    "dcpt.cross_k1": (
        [("= 1/k1[d]", "= w1/k1[d]"), ("F, mu > 0", "F, mu, w1 > 0")],
        ["F -> s^mu*F, w1 -> s*w1"],
        "--fix w1=1",
    ),
    "dcpt.cross_k2": (
        [("= k2[d]", "= w2*k2[d]"), ("F, mu > 0", "F, mu, w2 > 0")],
        ["F -> s^mu*F, w2 -> s*w2"],
        "--fix w2=1",
    ),
    "dcpt.cross_k3": (
        [("= 1/k1[d]", "= w1/k1[d]"), ("parameter w2 > 0", "parameter w1, w2 > 0")],
        ["F -> s^mu*F, w1 -> s*w1, w2 -> s*w2"],
        "--fix w1=1",
    ),
    "dcpt.cross_k4": (
        [("= 1/k1[d]", "= w1/k1[d]"), ("parameter w2, w3 > 0", "parameter w1, w2, w3 > 0")],
        ["F -> s^mu*F, w1 -> s*w1, w2 -> s*w2, w3 -> s*w3"],
        "--fix w1=1",
    ),
}


@pytest.mark.parametrize("name", some(list(OF_SHIPPED), 5))
def test_the_symmetries_that_shipped_laws_are_written_without(name: str):
    """The gauge of M4, the scale of BiMix, that of K; and M3, whose factors are one number."""
    changes, moves, fixing = OF_SHIPPED[name]
    text = lawdsl.load(name).declarations.text.text
    for before, after in changes:
        assert text.count(before) == 1
        text = text.replace(before, after)
    law = law_with_header(text)
    found = freedom(law)

    assert found.certain and [s.transformation for s in found.symmetries] == moves
    assert all(s.proved for s in found.symmetries)
    assert all(fixing in (d.help or "") for d in findings(law, found))
    follow(law.sample)


def test_of_the_factors_of_m3_one_number_is_left():
    found = freedom(lawdsl.load("mixing.m3"))
    slopes = [q.name for q in lawdsl.load("mixing.m3").sample.parameters if q.name[0] == "t"]

    assert found.parameters == set(slopes)
    assert len(slopes) - found.lost == 1


PIECES = ("branches that differ",)  # in each of which another parameter is lost


@pytest.mark.parametrize("name", NONE)
def test_a_law_without_symmetry_gets_none(name: str):
    assert freedom(law_of(NONE[name])) == Freedom(certain=name not in PIECES)


def test_settings_are_values():
    """At s = 0 the second term is nothing, and its parameters with it."""
    law = law_of("variable x > 0\nsetting s = 0.1311\nparameter a, b > 0\nL = a*x + s*b")

    assert freedom(law).lost == 0
    assert freedom(law.with_settings(s=0)).parameters == {"b"}
    assert freedom(law.at(b=2)).lost == 0


def test_a_direction_without_a_formula_is_counted_all_the_same():
    law = law_of("variable y > 0\nparameter a, b, c > 0\nL = 2*(y - c)*log(b) - 0.5*a^b")
    (found,) = freedom(law).symmetries

    assert found.parameters == ("a", "c") and not found.field
    (said,) = findings(law, freedom(law))
    assert said.message.startswith("no data can tell a and c apart")
    assert said.notes == ("no formula for the direction was found",)


def shares_of(count: int) -> Law:
    """A mixing law on the simplex of so many domains."""
    shares = [f"r{i}" for i in range(1, count)]
    exponent = " + ".join(f"t{i}*{r}" for i, r in enumerate(shares, start=1))
    slopes = ", ".join(f"t{i}" for i in range(1, count + 1))
    return law_of(
        f"variable {', '.join(shares)} in [0, 1]\nparameter c0, k > 0\nparameter {slopes}\n"
        f"let last = 1 - ({' + '.join(shares)})\nL = c0 + k*exp({exponent} + t{count}*last)"
    )


def test_many_domains():
    (found,) = freedom(shares_of(12)).symmetries

    assert found.parameters == ("k", *(f"t{i}" for i in range(1, 13)))
    assert found.transformation == ", ".join(
        ["k -> k*exp(-c)", *(f"t{i} -> t{i} + c" for i in range(1, 13))]
    )


def test_without_time_for_formulas_a_direction_is_counted_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
):
    law = shares_of(12)
    (found,) = freedom(law).symmetries
    monkeypatch.setattr(symmetries, "FORMULA_TIME_SHARE", 0)
    (nameless,) = freedom(law).symmetries

    assert found.field and not nameless.field and not nameless.proved
    assert nameless.parameters == found.parameters


def test_what_takes_too_long_is_not_taken_for_none():
    law = shares_of(12)
    found = freedom(law, seconds=0)
    (said,) = findings(law, found)

    assert found == Freedom(certain=False) != Freedom() and freedom(law).certain
    assert said.message == "whether data can tell all parameters apart is not certain"
    assert findings(law, found, "error") == []  # a fit has data


def test_a_direction_that_pieces_do_not_share_leaves_a_doubt():
    law = law_of(NONE["branches that differ"])

    assert freedom(law) == Freedom(certain=False)
    assert [d.code for d in findings(law, freedom(law))] == ["F0114"]


BASES = (
    ("variable N, D > 0", ["E", "A", "alpha", "B", "beta"], "E + A/N^alpha + B/D^beta"),
    ("variable r in [0, 1]", ["c", "k", "t"], "c + k*exp(-t*r)"),
    ("variable r in [0, 1]", ["E", "C", "gamma", "epsilon"], "E + C/(r + epsilon)^gamma"),
    ("variable x > 0", ["a", "b", "g"], "a*log(1 + b*x) + g*x"),
)


COMBINATIONS = (  # each loses one direction
    "({a} + {b})",
    "({a} + 3*{b})",
    "{a}*{b}",
    "{a}/{b}",
    "{a}^2*{b}",
    "{a}*exp({b})",
    "{a}^{b}",
    "sqrt({a}*{b})",
    "log(1 + {a}*{b})",
    "({a} + {b}^2)",
    "tanh({a} + {b})",
)


def planted(seed: int) -> tuple[Law, int]:
    """A law in which some parameters are written as a combination of two."""
    rng = random.Random(seed)
    variables, names, formula = rng.choice(BASES)
    split = rng.sample(names, rng.choice((1, 1, 2)))
    words = formula
    parameters = [n for n in names if n not in split]
    for name in split:
        pair = {"a": f"{name}1", "b": f"{name}2"}
        combined = rng.choice(COMBINATIONS).format(**pair)
        words = replaced(words, name, f"({combined})")
        parameters += pair.values()
    return law_of(f"{variables}\nparameter {', '.join(parameters)} > 0\nL = {words}"), len(split)


def replaced(formula: str, name: str, by: str) -> str:
    """A formula with another text in place of a name."""
    words, word = "", ""
    for letter in formula + " ":
        if letter.isalnum():
            word += letter
            continue
        words += (by if word == name else word) + letter
        word = ""
    return words.strip()


@pytest.mark.parametrize("seed", range(40))
def test_what_was_planted_is_found(seed: int):
    law, lost = planted(seed)
    found = freedom(law).symmetries

    assert len(found) == lost
    for symmetry in found:
        assert symmetry.field and symmetry.proved, symmetry.parameters
        at = point(law, random.Random(seed))
        slopes = {n: sp.diff(law.expression, law.symbols[n]) for n in symmetry.parameters}
        change = sum(rate * slopes[n] for n, rate in symmetry.field.items())
        assert abs(sp.N(change.xreplace(at), 40)) < 1e-30


def rank_of(law: Law, seed: int) -> int:
    """The rank of a law's slopes at a random point, by singular values of 60 digits."""
    rng = random.Random(seed)
    settings = {q.symbol: digits(q.value) for q in law.settings}
    e = law.expression.xreplace(settings)
    names = [q.symbol for q in law.parameters]
    slopes = [sp.diff(e, s) for s in names]

    def draw(quantities, known):
        for q in quantities:
            low = [b.limit.xreplace(known) for b in q.bounds if b.lower]
            high = [b.limit.xreplace(known) for b in q.bounds if not b.lower]
            share = digits(rng.randint(50, 950) / 1009)
            if low and high:
                x = max(low) + (min(high) - max(low)) * share
            else:
                x = max(low) + 3 * share if low else min(high) - 3 * share if high else 2 * share
            known = {**known, q.symbol: x}
        return known

    theta = draw(law.parameters, settings)
    rows = []
    for _ in range(len(names) + 4):
        at = draw(law.variables, theta)
        if not sp.N(e.xreplace(at)).is_real:
            raise ValueError("no real value")
        rows.append([sp.N(slope.xreplace(at), 60) for slope in slopes])
    with mpmath.workdps(60):
        matrix = mpmath.matrix([[mpmath.mpf(str(x)) for x in row] for row in rows])
        return sum(1 for width in mpmath.svd_r(matrix, compute_uv=False) if width > 1e-35)


def judged(seeds: Iterable[int]) -> Iterator[tuple[int, int, int]]:
    """(seed, directions found, singular values that vanish) of the random laws that are smooth and
    have a real value."""
    for seed in seeds:
        text, _ = random_law(random.Random(seed))
        try:
            law = law_with_header(text)
            if not law.expression.has(*KINKS):
                yield seed, freedom(law).lost, len(law.parameters) - rank_of(law, seed)
        except (lawdsl.LawdslError, TypeError, ValueError):  # 1/0, or no real value there
            continue


def test_random_laws_lose_as_many_directions_as_singular_values_vanish():
    answers = list(itertools.islice(judged(itertools.count()), 40))

    assert [seed for seed, found, vanishing in answers if found != vanishing] == []
    assert sum(vanishing > 0 for _, _, vanishing in answers) >= 20


@pytest.mark.slow
def test_more_random_laws_lose_as_many():
    answers = list(itertools.islice(judged(itertools.count(1000)), 600))

    assert [seed for seed, found, vanishing in answers if found != vanishing] == []


def test_what_is_found_in_random_laws_with_kinks_is_proved():
    kinked = 0
    for seed in range(200):
        try:
            law = law_with_header(random_law(random.Random(seed))[0])
            if law.expression.has(*KINKS):
                assert all(s.proved for s in freedom(law).symmetries), seed
                kinked += 1
        except lawdsl.LawdslError:
            continue
    assert kinked >= 10


x, y, a, b, m = sp.symbols("x y a b m", positive=True)


t = sp.Symbol("t", real=True)


@pytest.mark.parametrize(
    "e",
    [
        (a * x + b) ** (-m - 1) * (a * x + b) - (a * x + b) ** (-m),
        a * (a + b) ** sp.Rational(1, 3) / (a + b) - a / (a + b) ** sp.Rational(2, 3),
        sp.exp(t * x + a) - sp.exp(a) * sp.exp(t * x),
        sp.log(a * x**m) - sp.log(a) - m * sp.log(x),
        (x + y) ** 2 - x**2 - 2 * x * y - y**2,
    ],
)
def test_an_identity_is_shown(e: sp.Expr):
    assert vanishes(e)


@pytest.mark.parametrize(
    "e", [x - y, sp.exp(t * x) - sp.exp(t * y), x**m - y**m, sp.log(x) - 1, (x + y) ** m - x**m]
)
def test_what_is_no_identity_is_not(e: sp.Expr):
    assert not vanishes(e)


def test_null_vectors_are_short_and_have_their_own_column():
    rows = [[arb(1), arb(2), arb(0)], [arb(2), arb(4), arb(1)]]
    (found,) = null_vectors(rows, range(3), 53)

    assert {i: float(x) for i, x in found.items()} == {0: -2.0, 1: 1.0}


def test_too_few_digits_are_no_answer():
    with pytest.raises(Unclear):
        null_vectors([[arb(0, 1)]], [0], 53)


def test_the_message_and_its_notes():
    law = law_of(CROSS)
    (said,) = findings(law, freedom(law), text=law.declarations.text)

    assert said.code == "F0114" and said.severity == "warning"
    assert said.message == (
        "no data can tell F, w1 and w2 apart: "
        "F -> s^mu*F, w1 -> s*w1, w2 -> s*w2 changes no prediction"
    )
    assert said.notes == ("F*mu*∂L/∂F + w1*∂L/∂w1 + w2*∂L/∂w2 = 0",)
    assert findings(law.at(w1=1), freedom(law.at(w1=1))) == []


def test_what_is_printed_of_a_symmetry_reads_back():
    law = law_of(CROSS)
    (found,) = freedom(law).symmetries
    shown = found.to_json()

    assert shown["field"] == {"F": "F*mu", "w1": "w1", "w2": "w2"}
    assert shown["parameters"] == ["F", "w1", "w2"] and shown["proved"]
