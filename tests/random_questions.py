"""Random questions with one unknown.

A question is drawn as a tree of its own, which is printed as a `.law` text for the solver and computed
by NumPy and mpmath for the referee in `refereeing`.
"""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

Node = tuple[Any, ...]


@dataclass(frozen=True)
class Question:
    """A question, for the solver and for the referee.

    Attributes:
        kind: of formula, for the tables.
        text: of its `.law` file.
        given: name -> value.
        fits: use -> parameters of its law.
        goal: what is made smallest, or largest if `maximize`.
        margins: what must not be below 0.
        low, high: the ends of the range, which `low_open` and `high_open` may leave out.
        unit: the size of the unknown that the formulas are written for.
        borders: the values of the unknown at which a condition changes.
    """

    kind: str
    text: str
    given: Mapping[str, float]
    goal: Node
    maximize: bool
    margins: tuple[Node, ...]
    low: float
    high: float
    low_open: bool
    high_open: bool
    unit: float = 1.0
    fits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    borders: tuple[Fraction, ...] = ()


# ---- formulas


def text_of(node: Node) -> str:
    """A formula as the language writes it."""
    op, *args = node
    match op:
        case "number":
            return str(args[0]) if not str(args[0]).startswith("-") else f"({args[0]})"
        case "name":
            return str(args[0])
        case "+":
            return "(" + " + ".join(map(text_of, args)) + ")"
        case "*":
            return "*".join(map(text_of, args))
        case "/":
            return f"{text_of(args[0])}/({text_of(args[1])})"
        case "^":
            return f"({text_of(args[0])})^({text_of(args[1])})"
        case "call":
            return str(args[1])
        case "if":
            relation, left, right, then, other = args
            condition = f"{text_of(left)} {relation} {text_of(right)}"
            return f"(if {condition} then {text_of(then)} else {text_of(other)})"
    return f"{op}({', '.join(map(text_of, args))})"


RELATIONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
NEGLIGIBLE = 1e8  # exp(-x) and 1 - tanh(x) beyond it are nothing beside all other terms


def value_of(node: Node, at: Mapping[str, Any], exact: bool) -> Any:
    """A formula by NumPy on arrays, or by mpmath on one number."""
    op, *args = node
    if op == "number":
        return mpmath.mpf(args[0]) if exact else float(args[0])
    if op == "name":
        return at[args[0]]
    if op == "call":
        return value_of(args[0], at, exact)
    if op == "if":
        relation, *operands = args
        holds = RELATIONS[relation](*(value_of(x, at, exact) for x in operands[:2]))
        if exact:
            return value_of(operands[2] if holds else operands[3], at, True)
        return np.where(holds, *(value_of(x, at, False) for x in operands[2:]))
    parts = [value_of(part, at, exact) for part in args]
    if op == "+":
        return sum(parts[1:], parts[0])
    if op == "*":
        product = parts[0]
        for part in parts[1:]:
            product = product * part
        return product
    if op == "/":
        return parts[0] / parts[1]
    if op == "^":
        return parts[0] ** parts[1]
    if op in ("min", "max", "abs"):
        if exact:
            return {"min": min, "max": max, "abs": abs}[op](*parts)
        return {"min": np.minimum, "max": np.maximum, "abs": np.abs}[op](*parts)
    if exact and op in ("exp", "tanh") and abs(parts[0]) > NEGLIGIBLE and parts[0] < 0:
        return mpmath.mpf(-1 if op == "tanh" else 0)  # mpmath cannot go so far out
    if exact and op == "tanh" and parts[0] > NEGLIGIBLE:
        return mpmath.mpf(1)
    function = op if exact or op != "atan" else "arctan"
    return getattr(mpmath if exact else np, function)(*parts)


def number(value: float, digits: int = 4) -> Node:
    return ("number", f"{value:.{digits}g}")


X: Node = ("name", "x")


def plus(*terms: Node) -> Node:
    return ("+", *terms)


def times(*factors: Node) -> Node:
    return ("*", *factors)


def power(base: Node, exponent: Node) -> Node:
    return ("^", base, exponent)


# ---- questions


class Maker:
    """One random question."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.given: dict[str, float] = {}
        self.unit = 1.0
        self.x: Node = X
        self.borders: list[Fraction] = []

    def coefficient(self, low: float = 0.01, high: float = 100.0, *, signed: bool = True) -> Node:
        value = float(f"{low * (high / low) ** self.rng.random():.{self.rng.randint(1, 6)}g}")
        if signed and self.rng.random() < 0.45:
            value = -value
        return self.named(value)

    def named(self, value: float) -> Node:
        """A number, written or given."""
        if self.rng.random() < 0.2 and len(self.given) < 5:
            name = "abcdefg"[len(self.given)]
            self.given[name] = value
            return ("name", name)
        return ("number", repr(value))

    def place(self) -> Node:
        """A number in the middle of what the unknown runs over."""
        return ("number", f"{self.rng.uniform(-3, 5):.{self.rng.randint(1, 4)}g}")

    def exponent(self, *, whole: bool = False) -> Node:
        if whole:
            return number(self.rng.choice((1, 2, 2, 3, 3, 4, 5)))
        r = self.rng
        kind = r.random()
        if kind < 0.4:
            return number(r.choice((0.5, 1, 1.5, 2, 2.5, 3, -0.5, -1, -2, 1 / 4)))
        if kind < 0.9:
            return number(r.uniform(-1.5, 2.5), r.randint(1, 4))
        return number(r.choice((1.001, 0.999, 0.01, -0.01, 0.03, 1.02)), 6)

    def term(self, *, positive: bool) -> Node:
        """One term; of a range that is not positive without logarithms and fractional powers."""
        r, x = self.rng, self.x
        c = self.coefficient()
        rate = self.coefficient(0.05, 3, signed=False)
        wild = [
            lambda: times(c, power(x, self.exponent(whole=True))),
            lambda: times(c, x),
            lambda: times(c, ("exp", times(("number", "-1"), rate, x))),
            lambda: times(c, ("abs", plus(x, self.place()))),
            lambda: times(c, ("max", plus(x, self.place()), times(rate, x))),
            lambda: times(c, ("min", x, self.place())),
            lambda: times(c, ("tanh", times(rate, x))),
            lambda: times(
                c, power(plus(power(x, number(2)), number(r.uniform(0.1, 4))), number(0.5))
            ),
            lambda: ("/", times(c, x), plus(power(x, number(2)), number(r.uniform(0.1, 4)))),
            lambda: times(c, ("log", plus(power(x, number(2)), number(r.uniform(0.1, 4))))),
            lambda: times(c, ("atan", times(rate, x))),
        ]
        tame = [
            lambda: times(c, power(x, self.exponent())),
            lambda: times(c, power(x, self.exponent())),
            lambda: times(c, ("log", plus(x, number(r.uniform(0.1, 3))))),
            lambda: times(c, ("log", x)),
            lambda: times(c, power(x, self.exponent()), ("exp", times(("number", "-1"), rate, x))),
            lambda: times(c, power(x, self.exponent()), ("log", plus(x, number(1)))),
            lambda: times(c, ("exp", times(("number", "-1"), rate, power(x, number(0.5))))),
            lambda: times(c, power(plus(x, number(r.uniform(0.1, 3))), self.exponent())),
        ]
        return r.choice(tame + tame + wild if positive else wild)()

    def waves(self) -> Node:
        parts = [
            times(
                self.coefficient(0.1, 5),
                (
                    self.rng.choice(("sin", "cos")),
                    times(self.coefficient(0.3, 6, signed=False), self.x),
                ),
            )
            for _ in range(self.rng.randint(1, 2))
        ]
        return plus(*parts, times(self.coefficient(0.05, 2), self.x))

    def kinks(self) -> Node:
        """abs, min and max, often with flat pieces."""
        c = self.coefficient(0.1, 5, signed=False)
        places = [self.place() for _ in range(self.rng.randint(1, 3))]
        parts = [times(c, ("abs", plus(self.x, place))) for place in places]
        if self.rng.random() < 0.4:
            parts.append(("max", self.x, self.place()))
        if self.rng.random() < 0.3:
            parts.append(times(self.coefficient(0.1, 2), self.x))
        return plus(*parts)

    def choice(self, *, positive: bool, depth: int = 1) -> Node:
        """if x < border then … else …, of terms or of another choice."""
        r, limit = self.rng, self.place()
        rate = number(r.choice((1, 1, 2, 0.5)))
        left = self.x if rate == number(1) else times(rate, self.x)
        self.borders.append(Fraction(limit[1]) / Fraction(rate[1]))
        then, other = (self.term(positive=positive) for _ in range(2))
        if r.random() < 0.3:  # which often makes a better part end at its border
            then = plus(then, self.coefficient(0.1, 5))
        if depth and r.random() < 0.3:
            other = self.choice(positive=positive, depth=depth - 1)
        return ("if", r.choice(list(RELATIONS)), left, limit, then, other)

    def difference(self) -> Node:
        """A sum of terms that grow without bound against each other."""
        r = self.rng
        p, q = self.exponent(), self.exponent()
        a, b = self.coefficient(signed=False), self.coefficient(signed=False)
        minus = ("number", "-1")
        near = plus(self.x, number(r.uniform(0.1, 9)))
        options = [
            plus(times(a, power(self.x, p)), times(minus, b, power(self.x, q))),
            plus(times(a, power(near, p)), times(minus, a, power(self.x, p))),
            plus(times(a, ("log", near)), times(minus, a, ("log", plus(self.x, number(1))))),
            plus(times(a, power(self.x, p)), times(minus, b, ("log", near))),
            plus(
                times(a, power(plus(power(self.x, number(2)), near), number(0.5))),
                times(minus, a, self.x),
            ),
            plus(times(a, self.x, ("log", near)), times(minus, b, power(self.x, number(1.1)))),
        ]
        return r.choice(options)


def _range(rng: random.Random, positive: bool) -> tuple[float, float, bool, bool, str]:
    """Ends, whether they are left out, and the domain as text for an unknown x."""
    kind = rng.random()
    if positive:
        low = rng.choice((0.0, 0.0, 0.0, 0.1, 1.0, 0.37))
        if kind < 0.55:
            strict = rng.random() < 0.5 or low == 0
            return low, math.inf, strict, True, f"x {'>' if strict else '>='} {low:g}"
        high = float(f"{low + rng.choice((0.5, 1.0, 3.0, 20.0, 1e4)):g}")
        opened = rng.random() < 0.5 or low == 0, rng.random() < 0.3
        left, right = "(["[not opened[0]], ")]"[not opened[1]]
        return low, high, *opened, f"x in {left}{low:g}, {high:g}{right}"
    if kind < 0.2:
        return -math.inf, math.inf, True, True, "x"
    if kind < 0.5:
        low = rng.choice((0.0, -2.0, 1.0, 0.0))
        strict = rng.random() < 0.3
        return low, math.inf, strict, True, f"x {'>' if strict else '>='} {low:g}"
    if kind < 0.6:
        high = rng.choice((0.0, 2.0))
        return -math.inf, high, True, False, f"x <= {high:g}"
    low, width = rng.choice((-5.0, -1.0, 0.0, 1.0)), rng.choice((1.0, 4.0, 10.0))
    opened = rng.random() < 0.2, rng.random() < 0.2
    left, right = "(["[not opened[0]], ")]"[not opened[1]]
    return low, low + width, *opened, f"x in {left}{low:g}, {low + width:g}{right}"


KINDS = (
    "polynomial",
    "mixed",
    "mixed",
    "difference",
    "difference",
    "waves",
    "kinks",
    "scaled",
    "fitted",
)
PIECEWISE = ("pieces",)


def questions(count: int, seed: int = 0, kinds: Sequence[str] = KINDS) -> Iterator[Question]:
    """So many questions of some kinds; the same for the same seed."""
    for i in range(count):
        rng = random.Random(f"{seed} {i}")
        yield question(rng, rng.choice(kinds))


def question(rng: random.Random, kind: str) -> Question:
    if kind == "fitted":
        return _fitted(rng)
    make = Maker(rng)
    positive = kind == "difference" or (
        kind in ("mixed", "scaled", "pieces") and rng.random() < 0.7
    )
    low, high, low_open, high_open, domain = _range(rng, positive)
    if kind == "scaled":
        make.unit = rng.choice((1e-9, 1e9))
        make.x = times(("number", f"{1 / make.unit:g}"), X)
    if kind == "polynomial":
        degree = rng.randint(2, 5)
        terms = [
            times(make.coefficient(0.1, 10), power(make.x, number(k))) for k in range(1, degree + 1)
        ]
        goal = plus(*terms)
    elif kind == "waves":
        goal = make.waves()
    elif kind == "kinks":
        goal = make.kinks()
    elif kind == "difference":
        goal = make.difference()
    elif kind == "pieces":
        goal = make.choice(positive=positive)
        goal = plus(goal, *(make.term(positive=positive) for _ in range(rng.randint(0, 2))))
    else:
        goal = plus(*(make.term(positive=positive) for _ in range(rng.randint(1, 4))))
    if kind == "scaled" or rng.random() < 0.1:
        goal = times(("number", rng.choice(("1e20", "1e-20", "3e-21", "7e19"))), goal)
    margins, lines = [], []
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
        piecewise = kind == "pieces" and rng.random() < 0.5
        left = (make.choice if piecewise else make.term)(positive=positive)
        limit = make.coefficient(0.1, 30)
        below = rng.random() < 0.5
        lines.append(f"subject to {text_of(left)} {'<=' if below else '>='} {text_of(limit)}")
        minus = ("number", "-1")
        margins.append(
            plus(limit, times(minus, left)) if below else plus(left, times(minus, limit))
        )
    if make.unit != 1.0:
        low, high = low * make.unit, high * make.unit
        domain = _scaled_domain(low, high, low_open, high_open)
    maximize = rng.random() < 0.35
    given = [f"given {name}" for name in make.given]
    goal_line = f"{'maximize' if maximize else 'minimize'} {text_of(goal)}"
    text = "\n".join(["question random", *given, f"choose {domain}", goal_line, *lines, ""])
    ends = low, high, low_open, high_open
    further = {"unit": make.unit, "borders": tuple(make.borders)}
    return Question(kind, text, make.given, goal, maximize, tuple(margins), *ends, **further)


def _scaled_domain(low: float, high: float, low_open: bool, high_open: bool) -> str:
    if math.isinf(low) and math.isinf(high):
        return "x"
    if math.isinf(high):
        return f"x {'>' if low_open else '>='} {low!r}"
    if math.isinf(low):
        return f"x {'<' if high_open else '<='} {high!r}"
    return f"x in {'(' if low_open else '['}{low!r}, {high!r}{')' if high_open else ']'}"


def _fitted(rng: random.Random) -> Question:
    """A question about Chinchilla's law with random parameters."""
    p = {
        "E": round(rng.uniform(1, 2), 4),
        "A": round(rng.uniform(100, 800), 2),
        "B": round(rng.uniform(100, 3000), 2),
        "alpha": round(rng.uniform(0.2, 0.5), 4),
        "beta": round(rng.uniform(0.2, 0.5), 4),
    }
    x, other = X, ("number", f"{10 ** rng.uniform(8, 12):.4g}")
    data = rng.random() < 0.5
    n, d = (other, x) if data else (x, other)

    def minus(name: str) -> Node:
        return ("number", repr(-p[name]))

    def of(n: Node, d: Node) -> Node:
        return plus(
            ("number", repr(p["E"])),
            times(("number", repr(p["A"])), power(n, minus("alpha"))),
            times(("number", repr(p["B"])), power(d, minus("beta"))),
        )

    loss: Node = ("call", of(n, d), f"loss(N = {text_of(n)}, D = {text_of(d)})")
    budget = ("number", f"{10 ** rng.uniform(17, 24):.4g}")
    split = ("/", budget, times(("number", "6"), x))
    on_budget: Node = ("call", of(x, split), f"loss(N = x, D = {text_of(split)})")
    cost = ("number", f"{10 ** rng.uniform(-14, -8):.3g}")
    target = ("number", f"{p['E'] + 10 ** rng.uniform(-1.2, 0.3):.4g}")
    margins: tuple[Node, ...] = ()
    lines: list[str] = []
    kind = rng.random()
    if kind < 0.3:
        goal = on_budget
    elif kind < 0.6:
        goal = plus(loss, times(cost, x))
    else:
        goal = x
        margins = (plus(target, times(("number", "-1"), loss)),)
        lines = [f"subject to {loss[2]} <= {text_of(target)}"]
    unit = "token" if data and kind >= 0.3 else "param"
    text = "\n".join(
        [
            "question random",
            "uses loss : chinchilla",
            f"choose x > 0 unit {unit}",
            f"minimize {text_of(goal)}",
            *lines,
            "",
        ]
    )
    return Question(
        "fitted", text, {}, goal, False, margins, 0.0, math.inf, True, True, fits={"loss": p}
    )
