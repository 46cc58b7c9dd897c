"""Hostile files: each is answered soon, with a code, and nothing in it is executed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import strategies
from hypothesis import given, settings, strategies as st
from quick import without

from lawdsl.core.diagnostics import LawdslError, Text
from lawdsl.language import library, tree
from lawdsl.language.printer import print_document
from lawdsl.law.law import Law

ROOT = Path(__file__).resolve().parent.parent
STORED = sorted(ROOT.glob("tests/fixtures/attacks/*.law"))
SECONDS = 2.0  # of processor time, not of the clock; bytecode is kept
ORDINARY_PARTS = 1_000  # of a long formula
ORDINARY_TIMES = 120  # as long a text may take, where all take long


def answer(text: str, folder: Path) -> list[str]:
    """The codes with which a text is answered when it is read, built, and derived once. What takes
    too long is looked at once more: on a machine at work on other things everything takes longer."""
    codes, longest = answered(text, folder)
    if longest >= SECONDS:
        codes, longest = answered(text, folder)
    if longest >= SECONDS:
        _, ordinary = answered(formula(" + ".join(["N"] * ORDINARY_PARTS)), folder)
        assert longest < ORDINARY_TIMES * ordinary
    return codes


def answered(text: str, folder: Path) -> tuple[list[str], float]:
    """The codes, and the processor time of the longest step in seconds."""
    took: list[float] = []
    try:
        with timed(took):
            declarations, found = library.declared(Text("attack.law", text), folder)
        with timed(took):
            law = Law(declarations)
            sums = law.general.sums.keys() if law.indexed else set()
            assert law.expression.free_symbols <= {*law.symbols.values(), *sums}
            assert repr(law) and law.digest
        with timed(took):
            law.derivative(law.variables[0].name)
    except LawdslError as error:
        assert str(error)
        found = list(error.diagnostics)
    return [d.code for d in found], max(took)


@contextmanager
def timed(took: list[float]) -> Iterator[None]:
    began = time.process_time()
    try:
        yield
    finally:
        took.append(time.process_time() - began)


def lines(*statements: str, equation: str = "L = A/N") -> str:
    return "\n".join(["law attack", "variable N > 0", "parameter A > 0", *statements, equation, ""])


def formula(text: str) -> str:
    return lines(equation=f"L = A/N + {text}")


def lets(count: int, step: str) -> str:
    """a0 = N, and each further let made of the one before it."""
    made = [f"let a{i} = {step.format(f'a{i - 1}')}" for i in range(1, count)]
    return lines("let a0 = N", *made, equation=f"L = A/N + a{count - 1}")


def indexed(*statements: str, formula: str = "N") -> str:
    head = ("law attack", "index i over domain", "index m over 1..100", "variable N > 0")
    names = "parameter c[i], s[m], A > 0"
    equation = f"L = A/N + sum(c[i] for i) + sum(s[m] for m) + {formula}"
    return "\n".join([*head, names, *statements, equation, ""])


LEGAL: list[str] = []
GENERATED: dict[str, tuple[Callable[[], str], list[str] | None]] = {  # None: any answer
    "no text at all": (lambda: "", ["L0401", "L0402"]),
    "a byte order mark alone": (lambda: "\ufeff", ["L0401", "L0402"]),
    "a byte order mark": (lambda: "\ufeff" + lines(), LEGAL),
    "CR LF": (lambda: lines().replace("\n", "\r\n"), LEGAL),
    "CR alone": (lambda: lines().replace("\n", "\r"), ["L0101"]),
    "tabs": (lambda: lines().replace(" ", "\t"), LEGAL),
    "no final newline": (lambda: lines().rstrip(), LEGAL),
    "a lone surrogate": (lambda: formula("\ud800"), ["L0101"]),
    "a lone surrogate in a text": (lambda: lines('source "\udfff"'), ["L0101"]),
    "a number of 5,000 digits": (lambda: formula("9" * 5_000), ["L0106"]),
    "a fraction of 5,000 digits": (lambda: formula("0." + "3" * 5_000), ["L0106"]),
    "an exponent of 5,000 digits": (lambda: formula("1e" + "9" * 5_000), ["L0106"]),
    "1,000 brackets": (lambda: formula("(" * 1_000 + "N" + ")" * 1_000), ["L0104"]),
    "1,000 signs": (lambda: formula("-" * 1_000 + "N"), ["L0104"]),
    "1,000 powers": (lambda: formula("N^" * 1_000 + "N"), ["L0104"]),
    "15,000 functions": (lambda: formula("exp(" * 15_000 + "N" + ")" * 15_000), ["L0104"]),
    "20,000 open brackets": (lambda: formula("(" * 20_000), ["L0104"]),
    "90 brackets": (lambda: formula("(" * 90 + "N" + ")" * 90), LEGAL),
    "90 exp": (lambda: formula("exp(-" * 45 + "N" + ")" * 45), None),
    "95 sin": (lambda: formula("sin(" * 95 + "N" + ")" * 95), None),
    "95 abs": (lambda: formula("abs(" * 95 + "N" + ")" * 95), None),
    "95 sqrt": (lambda: formula("sqrt(" * 95 + "N" + ")" * 95), None),
    "45 powers": (lambda: formula("(1 + N^" * 45 + "A" + ")" * 45), None),
    "90 powers": (lambda: formula("N^" * 90 + "A"), None),
    "a sum of 5,000 terms": (
        lambda: formula(" + ".join(f"N^{i % 50}" for i in range(5_000))),
        LEGAL,
    ),
    "a sum of 5,000 names": (lambda: formula(" + ".join(["N", "A"] * 2_500)), LEGAL),
    "a product of 5,000 names": (lambda: formula("*".join(["N", "A"] * 2_500)), LEGAL),
    "a product of 3,000 sums": (
        lambda: formula("*".join(f"(N + {i})" for i in range(1, 3_001))),
        None,
    ),
    "a formula of 30,000 parts": (lambda: formula("+".join(["N"] * 24_000)), ["L0105"]),
    "2,000 long fractions": (
        lambda: formula(" + ".join(f"1/{n}^80" for n in range(1_001, 3_001))),
        None,
    ),
    "lets that double 40 times": (lambda: lets(40, "{0} + {0}"), ["L0105"]),
    "lets that square 40 times": (lambda: lets(40, "{0}*{0}"), ["L0105"]),
    "lets that double 12 times": (lambda: lets(12, "{0} + sin({0})"), None),
    "lets nested 60 deep": (lambda: lets(60, "exp(-{0}) + 1"), ["L0104"]),
    "lets nested 1,900 deep": (lambda: lets(1_900, "{0} + 1"), ["L0104"]),
    "900 lets": (
        lambda: lines(*(f"let a{i} = N^{i % 9}*A" for i in range(900)), equation="L = A/N"),
        ["L0309"] * 900,
    ),
    "1,900 large lets": (
        lambda: lines(
            "let b0 = sin(N)",
            *(f"let b{i} = sin(b{i - 1}) + b{i - 1}^2" for i in range(1, 12)),
            *(f"let a{i} = b11 + {i}" for i in range(1_900)),
            equation="L = " + " + ".join(f"a{i}" for i in range(1_900)),
        ),
        ["L0105"],
    ),
    "a claim on doubling lets": (
        lambda: lines(
            "let b0 = N",
            *(f"let b{i} = b{i - 1} + b{i - 1}" for i in range(1, 12)),
            "require " + " + ".join(["b11"] * 1_000) + " > 0",
        ),
        ["L0105"],
    ),
    "900 parameters": (
        lambda: lines(
            *(f"parameter p{i} > 0" for i in range(900)),
            equation="L = A/N + " + " + ".join(f"p{i}" for i in range(900)),
        ),
        LEGAL,
    ),
    "900 bounds in a chain": (
        lambda: lines(
            "parameter p0 > 0",
            *(f"parameter p{i} > p{i - 1}" for i in range(1, 900)),
            equation="L = A/N + " + " + ".join(f"p{i}" for i in range(900)),
        ),
        LEGAL,
    ),
    "100,000 declarations": (
        lambda: "law attack\n" + "".join(f"parameter p{i}\n" for i in range(100_000)),
        ["L0103"],
    ),
    "10,000 declarations": (
        lambda: "law attack\n" + "".join(f"parameter p{i}\n" for i in range(10_000)),
        ["L0109"],
    ),
    "20,000 names in one declaration": (
        lambda: lines("parameter " + ", ".join(f"p{i}" for i in range(20_000))),
        ["L0105"],
    ),
    "a line of 1,000,000 characters": (lambda: formula("N" * 1_000_000), ["L0108"]),
    "a line of 1,000,000 mistakes": (lambda: formula("? " * 500_000), ["L0103"]),
    "40 lines of 450 mistakes": (lambda: lines(*["variable" + " a" * 450] * 40), None),
    "40,000 words of piecewise formulas": (lambda: formula("else " * 40_000), None),
    "10,000 lines of a piecewise formula": (
        lambda: formula("a " * 20_000 + "if\n" + "then\n" * 10_000),
        None,
    ),
    "40,000 names without commas": (lambda: lines("variable" + " a" * 40_000), None),
    "fractions of LaTeX 10,000 deep": (
        lambda: formula("\\frac{" * 10_000 + "N" + "}{A}" * 10_000),
        ["L0101"],
    ),
    "40,000 braces of LaTeX": (lambda: formula("\\frac" + "{" * 40_000), ["L0101"]),
    "200,000 digits before a percent sign": (lambda: formula("1" * 200_000 + " x%"), None),
    "1 MiB of comment": (lambda: "#" * (1 << 20), ["L0401", "L0402"]),
    "1 MiB and one byte": (lambda: "#" * ((1 << 20) + 1), ["L0103"]),
    "1 MiB in half as many characters": (lambda: "# " + "é" * (1 << 19), ["L0103"]),
    "1 MiB of newlines": (lambda: "\n" * (1 << 20), ["L0103"]),
    "1 MiB of spaces": (lambda: " " * (1 << 20), ["L0401", "L0402"]),
    "1 MiB of quotes": (lambda: '"' * (1 << 20), ["L0103"]),
    "1 MiB of an open text": (lambda: '"' + "x" * ((1 << 20) - 1), ["L0102", "L0401"]),
    "1 MiB of brackets": (lambda: "(" * (1 << 20), ["L0103"]),
    "1 MiB of NUL": (lambda: "\0" * (1 << 20), ["L0103"]),
    "10,000 unknown names": (
        lambda: formula(" + ".join(f"unknown_name_{i}" for i in range(10_000))),
        ["L0301"] * 101 + ["L0110"],
    ),
    "100 unknown names beside 1,900 others": (
        lambda: lines(
            *(f"parameter some_long_name_{i}" for i in range(1_900)),
            equation="L = " + " + ".join(f"same_long_nome_{i}" for i in range(90)),
        ),
        ["L0301"] * 90,
    ),
    "5,000 broken lines": (
        lambda: "law attack\n" + "A = = 1\n" * 5_000,
        ["L0209"] * 101 + ["L0110"],
    ),
    "a circle of 1,500 lets": (
        lambda: lines(*(f"let c{i} = c{(i + 1) % 1_500}" for i in range(1_500))),
        ["L0307"],
    ),
    "900 circles": (
        lambda: lines(*(f"let c{i} = d{i}\nlet d{i} = c{i}" for i in range(900))),
        ["L0307"] * 101 + ["L0110"],
    ),
    "a dotted name of 10,000 parts": (lambda: formula("a." * 10_000 + "a"), ["L0301"]),
    "extending a law of 10,000 parts": (
        lambda: lines("extends " + "a." * 10_000 + "a"),
        ["L0108"],
    ),
    "a long name": (lambda: lines(f"parameter {'a' * 100_000}"), ["L0108"]),
    "a text of 100,000 characters": (lambda: lines(f'source "{"x" * 100_000}"'), LEGAL),
    "max nested in max": (lambda: formula("max(N, A, " * 40 + "1" + ")" * 40), LEGAL),
    "max of eight powers, nested": (
        lambda: formula(
            "max("
            + ", ".join(f"min({', '.join(f'N^{i}*A^{j}' for j in range(8))})" for i in range(8))
            + ")"
        ),
        None,
    ),
    "exp in exponents": (lambda: formula("exp(N)^" * 20 + "2"), LEGAL),
    "a sum over 10^16 labels": (
        lambda: indexed(
            "index a, b, d, e, f, g over 1..100",
            "parameter t[a], u[b], v[d], w[e], x[f], y[g]",
            formula="sum(t[a]*u[b]*v[d]*w[e]*x[f]*y[g] for a, b, d, e, f, g)^2",
        ),
        ["L0105"],
    ),
    "90 sums in each other": (
        lambda: indexed(formula="sum(" * 90 + "c[i]" + " for i)" * 90),
        ["L0316"] * 89,
    ),
    "1,000 sums in each other": (
        lambda: indexed(formula="sum(" * 1_000 + "c[i]" + " for i)" * 1_000),
        ["L0104"],
    ),
    "90 sums around 5,000 names": (
        lambda: indexed(formula="sum(" * 90 + " + ".join(["c[i]"] * 5_000) + " for i)" * 90),
        ["L0316"] * 89,
    ),
    "a sum over 15,000 indices": (
        lambda: indexed(formula=f"sum(c[i] for {', '.join(['i'] * 15_000)})"),
        ["L0316"],
    ),
    "a sum over 15,000 lost names": (
        lambda: indexed("parameter q q", formula=f"sum(c[i] for {', '.join(['q'] * 15_000)})"),
        None,
    ),
    "15,000 subscripts": (
        lambda: indexed(formula=f"c[{', '.join(['i'] * 15_000)}]"),
        ["L0314"],
    ),
    "15,000 subscripts of a declaration": (
        lambda: indexed(f"parameter t[{', '.join(f'a{i}' for i in range(15_000))}]"),
        ["L0314"],
    ),
    "9,000 labels in a claim": (
        lambda: indexed("require " + " + ".join(f"c[a{i}]" for i in range(9_000)) + " > 0"),
        LEGAL,
    ),
    "2,000 labels in a claim": (
        lambda: indexed("require " + " + ".join(f"c[a{i}]" for i in range(2_000)) + " > 0"),
        LEGAL,
    ),
    "9,000 unknown indices": (
        lambda: indexed(formula=" + ".join(f"c[a{i}]" for i in range(9_000))),
        ["L0315"] * 101 + ["L0110"],
    ),
    "15,000 listed labels": (
        lambda: indexed(f"index g over {{{', '.join(f'a{i}' for i in range(15_000))}}}"),
        ["L0317"],
    ),
    "1e5000 numbered labels": (lambda: indexed(f"index g over 1..{'9' * 5_000}"), ["L0317"]),
    "15,000 indices": (
        lambda: indexed(f"index {', '.join(f'a{i}' for i in range(15_000))} over x"),
        ["L0317"],
    ),
    "1,500 indices": (
        lambda: indexed(*(f"index a{i} over x{i}" for i in range(1_500))),
        ["L0317"] * 101 + ["L0110"],
    ),
    "a python file": (lambda: Path(__file__).read_text(encoding="utf-8"), None),
    "a page": (lambda: "<!doctype html><script>alert('x')</script>\n" * 100, None),
    "JSON": (lambda: '{"law": ["__import__", {"a": 1e999}]}\n' * 100, None),
}


def expected(path: Path) -> list[str]:
    """The first line of a stored attack: the codes, or `ok` for a law that is legal."""
    first = path.read_bytes().splitlines()[0].decode("utf-8").removeprefix("# expect: ")
    return [] if first == "ok" else first.split()


@pytest.mark.parametrize("path", STORED, ids=lambda p: p.stem)
def test_a_stored_attack_is_answered(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """And makes no file where the tool runs: several try to make one called PWNED."""
    monkeypatch.chdir(tmp_path)

    assert answer(path.read_bytes().decode("utf-8"), path.parent) == expected(path)
    assert list(tmp_path.iterdir()) == []


# as long as others of their kind, and each more than half a second
DEAR = (  # a second each, or beside a smaller or larger one of their kind
    "45 powers",
    "1 MiB of an open text",
    "max of eight powers, nested",
    "a circle of 1,500 lets",
    "10,000 declarations",
    "9,000 labels in a claim",
    "100 unknown names beside 1,900 others",
    "lets that double 12 times",
    "9,000 unknown indices",
    "15,000 functions",
    "40,000 names without commas",
    "20,000 names in one declaration",
    "fractions of LaTeX 10,000 deep",
    "40,000 words of piecewise formulas",
    "10,000 lines of a piecewise formula",
    "10,000 unknown names",
    "40 lines of 450 mistakes",
    "a product of 3,000 sums",
    "2,000 long fractions",
    "a formula of 30,000 parts",
    "1,900 large lets",
    "95 sin",
    "90 sums around 5,000 names",
)


@pytest.mark.parametrize("name", without(GENERATED, DEAR))
def test_a_generated_attack_is_answered(name: str, tmp_path: Path):
    make, codes = GENERATED[name]
    found = answer(make(), tmp_path)

    assert codes is None or found == codes


def test_names_of_the_algebra_are_symbols_and_nothing_else(tmp_path: Path):
    """`E` is no 2.718, `I` no root of -1, `S` no class: the law has the value that it is given."""
    text = (ROOT / "tests/fixtures/attacks/sympy_names.law").read_text(encoding="utf-8")
    law = Law(library.declared(Text("attack.law", text), tmp_path)[0])

    assert {s.name for s in law.expression.free_symbols} >= {"E", "I", "S", "Q", "zeta", "lambda"}
    assert law.expression.xreplace(dict.fromkeys(law.expression.free_symbols, 1)) == 9


def test_one_name_is_one_symbol_whatever_its_domains(tmp_path: Path):
    text = lines("parameter x > 0", "let y = x", "parameter x < 9", equation="L = A/N + x - y")
    law = Law(library.declared(Text("attack.law", text), tmp_path)[0])

    assert {s.name for s in law.expression.free_symbols} == {"A", "N"}


WORDS = (
    "law question source extends variable setting parameter let require minimize start index unit "
    "for in is as expect finite increasing convex exp log max diff huber squared pi oo ∞ N D A B "
    "identify measure over simplex against sum prod i c[i] for "
    "uses choose subject to maximize given : "
    "alpha L a.b ∂ ² ( ) [ ] { } , . .. ... = == + - * / ^ ** < <= > >= -> 0 1 2.5 1e-3 1e400 token "
    'Gparam proved α é ! ; " chinchilla dcpt.l3'
).split()
SOUP = st.lists(
    st.sampled_from([*WORDS, '"text"', "# x", "\n", "\n", "\n", "\r", "\0"]), max_size=60
)


@settings(max_examples=150, deadline=None)
@given(SOUP, st.booleans())
def test_any_words_in_any_order_are_answered(words: list[str], within: bool):
    text = " ".join(words)
    text = lines(text) if within else text
    try:
        found = library.declared(Text("soup.law", text), ROOT)[1]
    except LawdslError as error:
        found = list(error.diagnostics)

    assert all(d.help and d.text is not None and d.span is not None for d in found)


@settings(max_examples=50, deadline=None)
@given(strategies.documents())
def test_any_document_is_answered(document: tree.SyntaxTree):
    text = print_document(document)
    try:
        library.declared(Text("random.law", text), ROOT)
    except LawdslError as error:
        assert str(error)
