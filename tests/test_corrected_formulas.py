"""Formulas in foreign spellings with known meanings: what a safe correction makes of them has that meaning.

Random formulas are written as Python, LaTeX, handwriting or Unicode has them, only where that writing has one
meaning; their values come from Python's arithmetic. Where a writing has two meanings, no safe correction may decide.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lawdsl.core.diagnostics import Diagnostic, Text
from lawdsl.language import tree
from lawdsl.language.fixes import FixedText, diagnostics_of, fix_text
from lawdsl.language.library import warnings_of
from lawdsl.language.parser import parse

NAMES = ("N", "D", "E", "A", "B", "alpha")
HEAD = "law x\nvariable N, D > 0\nparameter E, A, B, alpha > 0\nL = "
FUNCTIONS: dict[str, Callable[[float], float]] = {
    "log": math.log,
    "exp": math.exp,
    "sqrt": math.sqrt,
    "tanh": math.tanh,
}
OPERATORS: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "^": lambda a, b: math.pow(a, b),
}
SUPERSCRIPTS = {"2": "²", "3": "³", "4": "⁴"}
Node = tuple[Any, ...]
Writer = Callable[[Node], str]


def value(node: Node, at: dict[str, float]) -> float:
    kind = node[0]
    if kind == "number":
        return float(node[1])
    if kind == "name":
        return at[node[1]]
    if kind in FUNCTIONS:
        return FUNCTIONS[kind](value(node[1], at))
    return OPERATORS[kind](value(node[1], at), value(node[2], at))


def read_value(formula: tree.Formula, at: dict[str, float]) -> float:
    """The value of a formula of the language, by Python's arithmetic."""
    match formula:
        case tree.Number(text):
            return float(text)
        case tree.Name(text):
            return at[text]
        case tree.Negative(operand):
            return -read_value(operand, at)
        case tree.Sum(terms):
            return sum((-1 if sign == "-" else 1) * read_value(term, at) for sign, term in terms)
        case tree.Product(factors):
            product = 1.0
            for sign, factor in factors:
                number = read_value(factor, at)
                product = product / number if sign == "/" else product * number
            return product
        case tree.Power(base, exponent):
            return math.pow(read_value(base, at), read_value(exponent, at))
        case tree.Call(function, (argument,)):
            return FUNCTIONS[function](read_value(argument, at))
    raise AssertionError(formula)


def random_formula(rng: random.Random, depth: int) -> Node:
    if depth == 0 or rng.random() < 0.2:
        if rng.random() < 0.3:
            return ("number", rng.choice(("2", "3", "4", "0.5", "10", "1.5")))
        return ("name", rng.choice(NAMES))
    if rng.random() < 0.2:
        return (rng.choice([*FUNCTIONS]), random_formula(rng, depth - 1))
    kind = rng.choice("+-**//^")
    right = random_formula(rng, depth - 1)
    if kind == "^" and rng.random() < 0.6:
        right = ("number", rng.choice("234"))
    return (kind, random_formula(rng, depth - 1), right)


def bracketed(text: str, needed: bool) -> str:
    return f"({text})" if needed else text


def is_sum(node: Node) -> bool:
    return node[0] in ("+", "-")


def is_atom(node: Node) -> bool:
    return node[0] in ("number", "name") or node[0] in FUNCTIONS


def python(node: Node) -> str:
    """`A*math.log(N)/N**2`, as Python reads it."""
    kind = node[0]
    if kind in ("number", "name"):
        return str(node[1])
    if kind in FUNCTIONS:
        return f"{'math' if kind == 'log' else 'np'}.{kind}({python(node[1])})"
    left, right = node[1:]
    if kind == "^":
        return f"{bracketed(python(left), not is_atom(left))}**{bracketed(python(right), not is_atom(right))}"
    if kind in "*/":
        first = bracketed(python(left), is_sum(left))
        return f"{first}{kind}{bracketed(python(right), not is_atom(right) and right[0] != '^')}"
    return f"{python(left)} {kind} {bracketed(python(right), is_sum(right))}"


def without_signs(node: Node) -> str:
    """`2 N D²/(A B)`: products without a sign, never behind a division."""
    kind = node[0]
    if kind in ("number", "name"):
        return str(node[1])
    if kind in FUNCTIONS:
        return f"{kind}({without_signs(node[1])})"
    left, right = node[1:]
    first, second = without_signs(left), without_signs(right)
    if kind == "^":
        base = bracketed(first, left[0] != "name")
        raised = SUPERSCRIPTS.get(second)
        return f"{base}{raised}" if raised else f"{base}^({second})"
    if kind == "/":
        return f"{bracketed(first, is_sum(left) or left[0] == '/')}/{bracketed(second, not is_atom(right))}"
    if kind == "*":
        first = bracketed(first, is_sum(left) or left[0] == "/")
        second = bracketed(second, is_sum(right) or right[0] == "/")
        # E(…) would be a call, and 2 3 a number; what ends in an exponent has its space
        if left[0] == "name" and second[0] == "(" or second[0].isdigit():
            return f"{first} * {second}"
        tight = left[0] == "number" and second[0] in "NDABa("
        return f"{first}{second}" if tight else f"{first} {second}"
    return f"{first} {kind} {bracketed(second, is_sum(right))}"


def latex(node: Node) -> str:
    r"""`\frac{A}{N^2} D`, as TeX sets it."""
    kind = node[0]
    if kind in ("number", "name"):
        return r"\alpha" if node[1] == "alpha" else str(node[1])
    if kind == "sqrt":
        return rf"\sqrt{{{latex(node[1])}}}"
    if kind in FUNCTIONS:
        return rf"\{kind}({latex(node[1])})"
    left, right = node[1:]
    first, second = latex(left), latex(right)
    if kind == "^":
        exponent = second if right[0] == "/" else f"{{{second}}}"
        return f"{bracketed(first, not is_atom(left))}^{exponent}"
    if kind == "/":
        return rf"\frac{{{first}}}{{{second}}}"
    if kind == "*":
        first, second = bracketed(first, is_sum(left)), bracketed(second, is_sum(right))
        tight = second.startswith((r"\frac", r"\sqrt"))
        sign = (
            r" \cdot " if second[0] in "(0123456789" or left[0] == "number" else " " * (not tight)
        )
        return f"{first}{sign}{second}"
    return f"{first} {kind} {bracketed(second, is_sum(right))}"


def unicode(node: Node) -> str:
    """`A × √(N) ÷ D²`, every sign written."""
    kind = node[0]
    if kind in ("number", "name"):
        return "α" if node[1] == "alpha" else str(node[1])
    if kind in FUNCTIONS:
        return f"{'√' if kind == 'sqrt' else kind}({unicode(node[1])})"
    left, right = node[1:]
    first, second = unicode(left), unicode(right)
    if kind == "^":
        base = bracketed(first, left[0] != "name")
        return f"{base}{SUPERSCRIPTS.get(second) or f'^({second})'}"
    if kind in "*/":
        sign = {"*": "×", "/": "÷"}[kind]
        return f"{bracketed(first, is_sum(left))}{sign}{bracketed(second, not is_atom(right))}"
    return f"{first} {kind.replace('-', '−')} {bracketed(second, is_sum(right))}"


def without_brackets(node: Node) -> str:
    """`E + A*log N - sqrt D`: functions of one name without brackets, where a term ends behind them."""
    if is_sum(node):
        right = node[2] if not is_sum(node[2]) else ("*", ("number", "1"), node[2])
        return f"{without_brackets(node[1])} {node[0]} {without_brackets(right)}"
    if node[0] == "*" and node[2][0] in FUNCTIONS and node[2][1][0] == "name":
        left = bracketed(plain(node[1]), not is_atom(node[1]))
        return f"{left}*{node[2][0]} {node[2][1][1]}"
    if node[0] in FUNCTIONS and node[1][0] == "name":
        return f"{node[0]} {node[1][1]}"
    return plain(node)


def plain(node: Node) -> str:
    """The formula with all signs and brackets, which is right in the language."""
    if node[0] in ("number", "name"):
        return str(node[1])
    if node[0] in FUNCTIONS:
        return f"{node[0]}({plain(node[1])})"
    return f"({plain(node[1])}) {node[0]} ({plain(node[2])})".replace(" ^ ", "^")


def read(text: Text) -> list[Diagnostic]:
    return list(warnings_of(text, Path()))


def corrected(formula: str) -> FixedText:
    return fix_text(Text("x.law", f"{HEAD}{formula}\n"), read)


def errors_of(messages: tuple[Diagnostic, ...]) -> list[Diagnostic]:
    return [d for d in messages if d.severity == "error"]


def value_of(text: str, at: dict[str, float]) -> float:
    document, errors = parse(text)
    assert not errors
    (equation,) = [s for s in document.statements if isinstance(s, tree.Definition)]
    return read_value(equation.formula, at)


WRITERS: tuple[Writer, ...] = (python, without_signs, latex, unicode, without_brackets)


def check_formulas(seed: int, count: int, writer: Writer) -> None:
    """Most formulas are corrected, and each that is has its value."""
    rng = random.Random(f"{seed} {writer.__name__}")
    changed = checked = 0
    for _ in range(count):
        function = (rng.choice([*FUNCTIONS]), ("name", rng.choice(NAMES)))
        node = ("+", random_formula(rng, rng.choice((2, 3, 4))), ("*", ("name", "B"), function))
        at = {name: rng.uniform(0.5, 2.0) for name in NAMES}
        try:
            meant = value(node, at)
        except (ValueError, OverflowError, ZeroDivisionError):
            continue
        if not math.isfinite(meant) or abs(meant) > 1e12:
            continue
        written = writer(node)
        result = corrected(written)
        checked += 1
        if errors_of(result.left):
            continue
        changed += bool(result.fixed)
        found = value_of(result.text.text, at)
        assert math.isclose(found, meant, rel_tol=1e-9, abs_tol=1e-12), (written, result.text.text)
    assert changed >= 0.3 * checked, (changed, checked)


@pytest.mark.parametrize("writer", WRITERS)
def test_a_safe_correction_has_the_meaning_of_what_is_written(writer: Writer):
    check_formulas(1, 60, writer)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
@pytest.mark.parametrize("writer", WRITERS)
def test_many_safe_corrections_have_the_meaning_of_what_is_written(writer: Writer, seed: int):
    check_formulas(seed, 600, writer)


# what is written, with its readings: other languages and people have each of them
AMBIGUOUS = [
    ("{a}/2{x}", "{a}/(2*{x})", "{a}/2*{x}"),
    ("{a}/{x} {y}", "{a}/({x}*{y})", "{a}/{x}*{y}"),
    ("{a}/{x}²{y}", "{a}/({x}^2*{y})", "{a}/{x}^2*{y}"),
    ("{a}/{x}^2 {y}", "{a}/({x}^2*{y})", "{a}/{x}^2*{y}"),
    ("{a}/2({x}+1)", "{a}/(2*({x}+1))", "{a}/2*({x}+1)"),
    ("{a}/½{x}", "{a}/((1/2)*{x})", "{a}/(1/2)*{x}"),
    ("{a}÷2{x}", "{a}/(2*{x})", "{a}/2*{x}"),
    ("{a}/exp({x}) {y}", "{a}/(exp({x})*{y})", "{a}/exp({x})*{y}"),
    ("{a}/({x}+1) {y}", "{a}/(({x}+1)*{y})", "{a}/({x}+1)*{y}"),
    ("{a}/({x}+1)({y}+1)", "{a}/(({x}+1)*({y}+1))", "{a}/({x}+1)*({y}+1)"),
    ("{a}*{y}/3{x}", "{a}*{y}/(3*{x})", "{a}*{y}/3*{x}"),
    (r"{a}/2\alpha", "{a}/(2*alpha)", "{a}/2*alpha"),
    ("{a}*log 2{x}", "{a}*log(2*{x})", "{a}*log(2)*{x}"),
    ("{a}*log {x} {y}", "{a}*log({x}*{y})", "{a}*log({x})*{y}"),
    ("{a}*sqrt {x}/{y}", "{a}*sqrt({x}/{y})", "{a}*sqrt({x})/{y}"),
    ("{a}*log {x}^2", "{a}*log({x}^2)", "{a}*log({x})^2"),
    ("{x}^2{y}", "{x}^2*{y}", "{x}^(2*{y})"),
    ("{x}**2{y}", "{x}^2*{y}", "{x}^(2*{y})"),
]
CONTEXTS = ("{}", "E + {}", "{} - B", "B - {}", "(E + {})*D", "exp({})", "E + {} + B*N^-alpha")


def readings_of(text: str) -> list[str]:
    """The texts in which questions are answered in each way, with what is safe corrected."""
    result = fix_text(Text("x.law", text), read)
    errors = errors_of(result.left)
    if not errors:
        return [result.text.text]
    fixed = result.text.text
    edits = errors[0].suggested
    answers = [fixed[: e.span.start] + e.text + fixed[e.span.end :] for e in edits]
    return [reading for answer in answers for reading in readings_of(answer)]


@pytest.mark.parametrize(("written", "one", "other"), AMBIGUOUS, ids=[a[0] for a in AMBIGUOUS])
@pytest.mark.parametrize("context", CONTEXTS)
def test_what_has_two_readings_is_asked_about(written: str, one: str, other: str, context: str):
    names = {"a": "A", "x": "N", "y": "D"}
    formula = context.format(written.format(**names))
    result = corrected(formula)
    assert errors_of(result.left), f"{formula} is corrected to {result.text.text}"
    at = {"N": 1.7, "D": 0.6, "E": 1.3, "A": 0.8, "B": 1.9, "alpha": 0.4}
    meant = [HEAD + context.format(reading.format(**names)) + "\n" for reading in (one, other)]
    expected = {round(value_of(text, at), 9) for text in meant}
    assert len(expected) == 2
    found = {round(value_of(text, at), 9) for text in readings_of(f"{HEAD}{formula}\n")}
    assert expected <= found


def test_a_safe_correction_asks_nothing():
    for text in ("A/2N", "EA + A/N", "A//N^alpha", "1.5e A/N", "A*log 2N"):
        messages = diagnostics_of(Text("x.law", f"{HEAD}{text}\n"), read)
        assert errors_of(tuple(messages)) and not any(d.edits for d in messages)


@pytest.mark.parametrize(
    "formula",
    ["A N" + "^N" * 3000, "A/2 N" + "^N" * 3000, "log " * 3000 + "N", r"\frac{A}{N}" * 3000],
)
def test_a_long_formula_has_its_messages(formula: str):
    messages = diagnostics_of(Text("x.law", f"{HEAD}{formula}\n"), read)
    assert messages and all(d.code.startswith("L0") for d in messages)
