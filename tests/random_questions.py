"""Random questions with one unknown, and a referee of their answers that shares no code with the solver.

A question is drawn as a tree of its own, which is printed as a `.law` text for the solver and computed
by NumPy and mpmath for the referee. The referee looks at dense grids, evenly and by powers, far out and
close to the ends, and sharpens the best points in 50 digits. It calls an answer wrong where it has found
an allowed point that is better, where what was answered is not allowed or has another value, or where a
question that has no answer has one.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import mpmath
import numpy as np

DIGITS = 50
FAR = (20, 40, 80, 150, 300, 1000)  # powers of ten at which a half-line is looked at
CLOSE = 1e-9  # relative: values as near as this are the same

Node = tuple[Any, ...]
Array = np.ndarray


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
    return f"{op}({', '.join(map(text_of, args))})"


def value_of(node: Node, at: Mapping[str, Any], exact: bool) -> Any:
    """A formula by NumPy on arrays, or by mpmath on one number."""
    op, *args = node
    if op == "number":
        return mpmath.mpf(args[0]) if exact else float(args[0])
    if op == "name":
        return at[args[0]]
    if op == "call":
        return value_of(args[0], at, exact)
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


def questions(count: int, seed: int = 0) -> Iterator[Question]:
    """So many questions; the same for the same seed."""
    for i in range(count):
        rng = random.Random(f"{seed} {i}")
        yield question(rng, rng.choice(KINDS))


def question(rng: random.Random, kind: str) -> Question:
    if kind == "fitted":
        return _fitted(rng)
    make = Maker(rng)
    positive = kind == "difference" or (kind in ("mixed", "scaled") and rng.random() < 0.7)
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
    else:
        goal = plus(*(make.term(positive=positive) for _ in range(rng.randint(1, 4))))
    if kind == "scaled" or rng.random() < 0.1:
        goal = times(("number", rng.choice(("1e20", "1e-20", "3e-21", "7e19"))), goal)
    margins, lines = [], []
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
        left = make.term(positive=positive)
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
    return Question(kind, text, make.given, goal, maximize, tuple(margins), *ends, unit=make.unit)


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


# ---- the referee


class Referee:
    """What is known of one question by computing points."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.sign = -1 if question.maximize else 1
        self.names = {name: np.float64(x) for name, x in question.given.items()}

    def goal(self, x: Any, exact: bool = True) -> Any:
        return self.sign * self._computed(self.question.goal, x, exact)

    def _computed(self, node: Node, x: Any, exact: bool) -> Any:
        if exact:
            at = {n: mpmath.mpf(float(v)) for n, v in self.names.items()}
            return value_of(node, {**at, "x": mpmath.mpf(x)}, True)
        with np.errstate(all="ignore"):
            found = value_of(node, {**self.names, "x": x}, False)
        return np.broadcast_to(np.asarray(found, dtype=np.float64), x.shape)

    def known(self, x: Any) -> tuple[Any, Any] | None:
        """The goal and the least margin at a point in many digits; None where there is no value.

        Far out as many digits cancel as the point has, several times.
        """
        size = abs(int(mpmath.log10(abs(x)))) if x else 0
        try:
            with mpmath.workdps(DIGITS + 6 * size):
                goal = self.goal(x)
                margins = [self._computed(m, x, True) for m in self.question.margins]
        except (ValueError, ZeroDivisionError, OverflowError, TypeError, MemoryError):
            return None
        values = [goal, *margins]
        if any(isinstance(v, mpmath.mpc) or not mpmath.isfinite(v) for v in values):
            return None
        return goal, min(margins, default=mpmath.inf)

    def grid(self) -> Array:
        q = self.question
        powers = np.geomspace(1e-14, 1, 500)
        finite = [abs(e) for e in (q.low, q.high) if math.isfinite(e) and e]
        sizes = [1.0, 1e-9, 1e9] if q.kind in ("scaled", "fitted") else [1.0]
        sizes += finite
        parts = []
        if math.isfinite(q.low) and math.isfinite(q.high):
            width = q.high - q.low
            parts += [np.linspace(q.low, q.high, 4001)]
            parts += [q.low + width * powers, q.high - width * powers]
        else:
            ends = [(q.low, 1)] if math.isfinite(q.low) else []
            ends += [(q.high, -1)] if math.isfinite(q.high) else []
            ends = ends or [(0.0, 1), (0.0, -1)]
            for end, side in ends:
                for size in sizes:
                    parts.append(end + side * size * np.linspace(0, 30, 3001))
                    parts.append(end + side * size * np.geomspace(1e-14, 1e15, 1500))
        x = np.unique(np.concatenate(parts))
        inside = (x > q.low) | ((x == q.low) & (not q.low_open))
        inside &= (x < q.high) | ((x == q.high) & (not q.high_open))
        return x[inside]

    def best(self) -> tuple[Any, Any] | None:
        """The best allowed point that was found, and the goal there; None where none is allowed."""
        x = self.grid()
        goal = self.goal(x, exact=False)
        allowed = np.isfinite(goal)
        for margin in self.question.margins:
            values = self._computed(margin, x, False)
            allowed &= values >= 0
        found: list[tuple[Any, Any]] = []
        height = np.where(allowed, goal, np.inf)
        order = np.argsort(height, kind="stable")[:400]
        starts: list[int] = []
        for i in order:
            if not np.isfinite(height[i]) or len(starts) == 4:
                break
            if all(abs(int(i) - j) > 3 for j in starts):
                starts.append(int(i))
        for i in starts:
            low, high = x[max(i - 1, 0)], x[min(i + 1, len(x) - 1)]
            found += self._sharpened(x[i], low, high)
        for far in self._far():
            known = self.known(far)
            if known is not None and known[1] >= 0:
                found.append((far, known[0]))
        return min(found, key=lambda pair: pair[1]) if found else None

    def _sharpened(self, at: float, low: float, high: float) -> list[tuple[Any, Any]]:
        """The best point between two neighbours, by repeated refinement."""
        start = self.known(at)
        if start is None or start[1] < 0:
            return []
        best = (mpmath.mpf(at), start[0])
        left, right = mpmath.mpf(low), mpmath.mpf(high)
        for _ in range(12):
            step = (right - left) / 10
            for k in range(1, 10):
                point = left + k * step
                known = self.known(point)
                if known is not None and known[1] >= 0 and known[0] < best[1]:
                    best = (point, known[0])
            left, right = max(left, best[0] - step), min(right, best[0] + step)
        return [best]

    def _far(self) -> Iterator[Any]:
        q = self.question
        far = FAR if not any(f in q.text for f in ("exp(", "tanh(")) else (2, 3, 4)
        far = far if not any(f in q.text for f in ("sin(", "cos(")) else (6, 8, 12)
        unit = mpmath.mpf(q.unit)
        for k in far:
            if math.isinf(q.high):
                yield unit * mpmath.mpf(10) ** k
            if math.isinf(q.low):
                yield -unit * mpmath.mpf(10) ** k
            if q.low == 0 and not math.isinf(q.low) and q.low_open:
                yield mpmath.mpf(10) ** -k if mpmath.mpf(10) ** -k < q.high else q.high / 2

    # Judgement

    def wrong(self, answer: Any) -> str | None:
        """What is wrong with an answer; None where nothing is, or that is not known."""
        with mpmath.workdps(DIGITS):
            if answer.status == "undecided" and not answer.unknowns:
                return None
            best = self.best()
            if answer.status == "infeasible":
                return self._not_infeasible(best)
            if answer.status == "unbounded":
                return self._not_unbounded(answer, best)
            return self._not_best(answer, best)

    def _not_infeasible(self, best: tuple[Any, Any] | None) -> str | None:
        if best is None:
            return None
        known = self.known(best[0])
        assert known is not None
        return f"infeasible, but x = {_short(best[0])} is allowed by {_short(known[1])}"

    def _not_unbounded(self, answer: Any, best: tuple[Any, Any] | None) -> str | None:
        said = answer.proof[0]
        side = -1 if said.endswith("-> -oo") else 1
        if "-> oo" not in said and "-> -oo" not in said:
            return self._not_unbounded_at(said)
        unit = mpmath.mpf(self.question.unit)
        points = [side * unit * mpmath.mpf(10) ** k for k in (3, 5, 8, 12, 20, 40, 300, 1000, 3000)]
        near = any(f in self.question.text for f in ("exp(", "tanh("))
        if near:
            points = points[:2]  # mpmath cannot go further out, where it may be allowed only
        values = [known for p in points if (known := self.known(p)) is not None]
        if len(values) < 2:
            return None
        if values[-1][1] < 0 and near:
            return None
        if values[-1][1] < 0:
            return f"{said}: x = {_short(points[len(values) - 1])} is not allowed"
        last = values[-1][0]
        if "nearer" in said:
            limit = self.sign * mpmath.mpf(said.split("nearer to ")[1].split(" as ")[0])
            room = mpmath.mpf(1e-5) * max(abs(limit), abs(last))
            if best is not None and best[1] < limit - room and best[1] < last - room:
                return f"{said}, but x = {_short(best[0])} gives {_short(self.sign * best[1])}"
            return None
        if not values[-1][0] < values[-2][0]:
            return f"{said}, but it rises there"
        return None

    def _not_unbounded_at(self, said: str) -> str | None:
        end = mpmath.mpf(said.split("-> ")[1])
        q = self.question
        side = 1 if float(end) == q.low else -1
        steps = [side * q.unit * mpmath.mpf(10) ** -k for k in (12, 20, 100, 1000)]
        values = [known[0] for s in steps if (known := self.known(end + s)) is not None]
        falling = all(b < a for a, b in zip(values, values[1:], strict=False))
        return None if falling else f"{said}, but it does not fall there"

    def _not_best(self, answer: Any, best: tuple[Any, Any] | None) -> str | None:
        x = answer.unknowns[0].value
        q = self.question
        value = self.sign * mpmath.mpf(answer.goal.value)
        outside = not q.low <= x <= q.high
        if (
            outside
            or answer.status == "answered"
            and (x == q.low and q.low_open or x == q.high and q.high_open)
        ):
            return f"x = {x} is outside the range"
        known = self.known(x)
        room = max(self._rounding(x, known), CLOSE * abs(value) * 1e-3)
        if known is not None:
            if known[1] < -self._margin_rounding(x):
                return f"x = {x} is not allowed: {_short(known[1])}"
            if abs(known[0] - value) > room:
                return f"the goal at x = {x} is {_short(self.sign * known[0])}, not {_short(self.sign * value)}"
        if best is not None and best[1] < value - room:
            return f"x = {x}, goal {_short(self.sign * value)}: x = {_short(best[0])} gives {_short(self.sign * best[1])}"
        return None

    def _rounding(self, x: float, known: tuple[Any, Any] | None) -> Any:
        """How far the goal may be off because numbers are rounded."""
        size = mpmath.mpf(0) if known is None else abs(known[0])
        for other in (x * (1 + 1e-13), x * (1 - 1e-13)):
            near = self.known(other)
            if near is not None and known is not None:
                size = max(size, abs(near[0] - known[0]) / CLOSE)
        terms = self.question.goal
        while terms[0] == "*" and terms[-1][0] == "+":
            scale = abs(value_of(terms[1], {}, True)) if terms[1][0] == "number" else mpmath.mpf(1)
            terms = terms[-1]
            size = max(size, self._largest_term(terms, x, scale))
        if terms[0] == "+":
            size = max(
                size,
                self._largest_term(terms, x, mpmath.mpf(1)) if terms is self.question.goal else 0,
            )
        return CLOSE * size + mpmath.mpf(10) ** -300

    def _largest_term(self, node: Node, x: float, scale: Any) -> Any:
        """Float64 adds these up: 1e-6 of the tolerance of each."""
        largest = mpmath.mpf(0)
        for term in node[1:]:
            try:
                largest = max(largest, abs(self._computed(term, x, True)))
            except (ValueError, ZeroDivisionError, OverflowError, TypeError):
                continue
        return scale * largest * mpmath.mpf(10) ** -5

    def _margin_rounding(self, x: float) -> Any:
        size = mpmath.mpf(10) ** -300
        for margin in self.question.margins:
            for term in margin[1:]:
                try:
                    size = max(size, abs(self._computed(term, x, True)))
                    near = self._computed(term, x * (1 + 1e-13), True)
                    size = max(size, abs(near - self._computed(term, x, True)) / CLOSE)
                except (ValueError, ZeroDivisionError, OverflowError, TypeError):
                    continue
        return CLOSE * size


def _short(x: Any) -> str:
    return mpmath.nstr(mpmath.mpf(x), 12)


Solve = Callable[[Question], Any]


def verdict(question: Question, answer: Any) -> tuple[str, str]:
    """One of: certain, answered, undecided, wrong certain, wrong; and what is wrong."""
    found = Referee(question).wrong(answer)
    if found is None:
        if answer.status == "undecided":
            return "undecided", ""
        return ("certain" if answer.certain else "answered"), ""
    if answer.certain:
        return "wrong certain", found
    return ("undecided, beaten" if answer.status == "undecided" else "wrong"), found
