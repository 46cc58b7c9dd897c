"""Random questions with two to four unknowns.

Each question is written twice: as text, and as NumPy functions of its unknowns in their natural
size, which the referee (`joint_referee`) minimises.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Function = Callable[[Array], Array]  # of unknowns, shape (n, points)

KINDS = (
    *("convex", "wavy", "wells", "saddle", "product", "share", "ring", "kink"),
    *("falls", "empty", "allocation", "approached", "hyperbola"),
)


@dataclass
class Question:
    """A question, as text and as functions of its unknowns over their units.

    Attributes:
        kind: one of KINDS.
        lines: its text.
        names, units, low, high: of the unknowns; the ends are in units.
        goal: what is least, in its own unit.
        size: the unit of the goal in the text.
        below, zero: functions that are <= 0, and = 0.
        given: the value of the given k.
    """

    kind: str
    lines: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    units: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    goal: Function = lambda z: z[0]
    size: float = 1.0
    below: list[Function] = field(default_factory=list)
    zero: list[Function] = field(default_factory=list)
    given: float = 1.0

    @property
    def text(self) -> str:
        return "\n".join(('question random "Random"', "given k > 0", *self.lines, ""))


class _Maker:
    """What a question is made of: terms as text and as functions."""

    def __init__(self, kind: str, rng: random.Random) -> None:
        self.rng, self.made = rng, Question(kind)
        self.terms: list[tuple[str, Function]] = []

    def unknown(self, low: float, high: float) -> tuple[str, int]:
        """One more unknown, in an arbitrary unit: its text over that unit, and its number."""
        made, number = self.made, len(self.made.names)
        unit = self.rng.choice((1.0, 1.0, 1.0, 1e9, 1e-9))
        name = "xyzw"[number]
        made.names.append(name)
        made.units.append(unit)
        made.low.append(low)
        made.high.append(high)
        bounds = [f"{name} >= {low * unit!r}"] if math.isfinite(low) else []
        bounds += [f"{name} <= {high * unit!r}"] if math.isfinite(high) else []
        domain = f"{name} in [{low * unit!r}, {high * unit!r}]"
        text = domain if len(bounds) == 2 else bounds[0] if bounds else name
        made.lines.append(f"choose {text}")
        return (name if unit == 1 else f"({name}/{unit!r})"), number

    def unknowns(self, count: int) -> list[tuple[str, int]]:
        ends = ((0.0, math.inf), (-math.inf, math.inf), (-3.0, 3.0), (0.0, 5.0), (1.0, 4.0))
        return [self.unknown(*self.rng.choice(ends)) for _ in range(count)]

    def number(self, low: float, high: float) -> float:
        return float(f"{self.rng.uniform(low, high):.3g}")

    def term(self, text: str, function: Function) -> None:
        self.terms.append((text, function))

    def subject(self, relation: str, text: str, function: Function) -> None:
        factor = self.rng.choice((1.0, 1.0, 1e-9, 1e9))
        shown = f"{factor!r}*({text})" if factor != 1 else text
        self.made.lines.append(f"subject to {shown} {relation} 0")
        (self.made.zero if relation == "=" else self.made.below).append(function)

    def finish(self) -> Question:
        made, terms = self.made, self.terms
        made.size = self.rng.choice((1.0, 1.0, 1e20, 1e-20))
        sign = self.rng.choice((1, -1))
        whole = " + ".join(f"({text})" for text, _ in terms)
        verb = "minimize" if sign > 0 else "maximize"
        factor = sign * made.size
        made.lines.append(f"{verb} {factor!r}*({whole})" if factor != 1 else f"{verb} {whole}")
        made.goal = lambda z: np.sum([f(z) for _, f in terms], axis=0)
        return made


def _bowl(m: _Maker, v: tuple[str, int], low: float = 0.2) -> None:
    text, i = v
    a, c = m.number(low, 3), m.number(-2, 4)
    m.term(f"{a}*({text} - {c})^2", lambda z: a * (z[i] - c) ** 2)


def _coupled(m: _Maker, v: tuple[str, int], w: tuple[str, int], most: float) -> None:
    b = m.number(-most, most)
    (s, i), (t, j) = v, w
    m.term(f"{b}*{s}*{t}", lambda z: b * z[i] * z[j])


def _line(m: _Maker, vs: list[tuple[str, int]]) -> None:
    """A half-plane that contains a point of the box."""
    a = [m.number(-2, 2) for _ in vs]
    inside = [_inside(m, i) for _, i in vs]
    room = sum(p * q for p, q in zip(a, inside, strict=True)) + m.number(0, 1)
    text = " + ".join(f"{p}*{t}" for p, (t, _) in zip(a, vs, strict=True))
    m.subject(
        "<=",
        f"{text} - k*{room!r}",
        lambda z: sum(p * z[i] for p, (_, i) in zip(a, vs, strict=True)) - room,
    )


def _inside(m: _Maker, i: int) -> float:
    low, high = max(m.made.low[i], -2.0), min(m.made.high[i], 4.0)
    return m.number(max(low, -2.0), max(high, low + 0.5))


def _convex(m: _Maker) -> None:
    vs = m.unknowns(m.rng.choice((2, 2, 3, 4)))
    for v in vs:
        _bowl(m, v)
    text, i = vs[0]
    a = m.number(0.1, 0.5)
    m.term(f"k*exp(-{a}*{text})", lambda z: np.exp(-a * z[i]))
    for _ in range(m.rng.choice((0, 1, 2))):
        _line(m, vs)


def _wavy(m: _Maker) -> None:
    vs = m.unknowns(m.rng.choice((2, 2, 3)))
    for text, i in vs:
        _bowl(m, (text, i), 0.05)
        a, b = m.number(0.5, 3), m.number(1, 5)
        m.term(f"{a}*sin({b}*{text})", lambda z, a=a, b=b, i=i: a * np.sin(b * z[i]))
    _coupled(m, vs[0], vs[1], 0.05)
    if m.rng.random() < 0.5:
        _line(m, vs)


def _wells(m: _Maker) -> None:
    vs = m.unknowns(2)
    for text, i in vs:
        c, d = m.number(0.5, 2), m.number(-0.3, 0.3)
        m.term(
            f"({text}^2 - {c})^2 + {d}*{text}",
            lambda z, c=c, d=d, i=i: (z[i] ** 2 - c) ** 2 + d * z[i],
        )
    _coupled(m, vs[0], vs[1], 0.5)


def _saddle(m: _Maker) -> None:
    vs = [m.unknown(0.0, m.rng.choice((3.0, 6.0))) for _ in range(2)]
    for text, i in vs:
        a, c = m.number(-1, 1), m.number(-2, 2)
        m.term(f"{a}*{text}^2 + {c}*{text}", lambda z, a=a, c=c, i=i: a * z[i] ** 2 + c * z[i])
    _coupled(m, vs[0], vs[1], 3)
    if m.rng.random() < 0.4:
        _line(m, vs)


def _product(m: _Maker) -> None:
    vs = [m.unknown(0.0, math.inf) for _ in range(2)]
    (s, i), (t, j) = vs
    a, b = m.number(0.2, 3), m.number(0.2, 3)
    m.term(f"{a}*{s} + {b}*{t}", lambda z: a * z[i] + b * z[j])
    c = m.number(0.3, 5)
    relation = m.rng.choice(("=", "<="))
    m.subject(relation, f"{c}*k - {s}*{t}", lambda z: c - z[i] * z[j])


def _share(m: _Maker) -> None:
    vs = [m.unknown(0.0, 1.0) for _ in range(m.rng.choice((3, 4)))]
    for text, i in vs:
        a, p = m.number(0.3, 3), m.number(0.3, 0.9)
        m.term(f"-{a}*{text}^{p}", lambda z, a=a, p=p, i=i: -a * z[i] ** p)
    text = " + ".join(t for t, _ in vs)
    m.subject("=", f"{text} - 1", lambda z: np.sum(z, axis=0) - 1)


def _ring(m: _Maker) -> None:
    vs = [m.unknown(-4.0, 4.0) for _ in range(2)]
    (s, i), (t, j) = vs
    a, b, c = m.number(-2, 2), m.number(-2, 2), m.number(1, 3)
    m.term(f"{a}*{s} + {b}*{t} + 0.1*{s}*{t}", lambda z: a * z[i] + b * z[j] + 0.1 * z[i] * z[j])
    inner = c / 2
    m.subject("<=", f"{s}^2 + {t}^2 - k*{c}", lambda z: z[i] ** 2 + z[j] ** 2 - c)
    m.subject("<=", f"{inner} - {s}^2 - {t}^2", lambda z: inner - z[i] ** 2 - z[j] ** 2)


def _kink(m: _Maker) -> None:
    vs = m.unknowns(2)
    for text, i in vs:
        a, c = m.number(0.5, 2), m.number(-1, 3)
        m.term(f"{a}*abs({text} - {c})", lambda z, a=a, c=c, i=i: a * np.abs(z[i] - c))
    (s, i), (t, j) = vs
    b = m.number(-0.4, 0.4)
    m.term(f"max({b}*{s}, {t} - 1)", lambda z: np.maximum(b * z[i], z[j] - 1))
    if m.rng.random() < 0.5:
        _line(m, vs)


def _falls(m: _Maker) -> None:
    """Unbounded where both grow."""
    vs = [
        m.unknown(0.0, math.inf),
        m.unknown(*m.rng.choice(((0.0, math.inf), (-math.inf, math.inf)))),
    ]
    (s, i), (t, j) = vs
    a, b, c = m.number(0.1, 2), m.number(0.1, 2), m.number(0.2, 2)
    if m.rng.random() < 0.5:
        m.term(
            f"{a}*{s} + {b}*{t}^2 - {c}*{s}^2*(1 + {t}^2)/(1 + {s})^0.5",
            lambda z: (
                a * z[i] + b * z[j] ** 2 - c * z[i] ** 2 * (1 + z[j] ** 2) / (1 + z[i]) ** 0.5
            ),
        )
    else:
        m.term(f"{a}*{s} + {b}*{t} - {c}*{s}*{t}", lambda z: a * z[i] + b * z[j] - c * z[i] * z[j])


def _empty(m: _Maker) -> None:
    vs = m.unknowns(2)
    for v in vs:
        _bowl(m, v)
    (s, i), (t, j) = vs
    c = m.number(0.05, 2)
    form = m.rng.choice((0, 1, 2))
    if form == 0:
        m.subject("<=", f"({s} - {t})^2 + {c}*k", lambda z: (z[i] - z[j]) ** 2 + c)
    elif form == 1:
        m.subject("<=", f"exp({s} - {t}) + {c}", lambda z: np.exp(z[i] - z[j]) + c)
    else:
        m.subject("<=", f"{s} + {t} - 1", lambda z: z[i] + z[j] - 1)
        m.subject("<=", f"{1 + c} - {s} - {t}", lambda z: 1 + c - z[i] - z[j])


def _allocation(m: _Maker) -> None:
    vs = [m.unknown(0.0, math.inf) for _ in range(2)]
    (s, i), (t, j) = vs
    p, q = m.number(0.2, 0.6), m.number(0.2, 0.6)
    a, b, c = m.number(0.3, 3), m.number(0.3, 3), m.number(0.5, 50)
    m.term(
        f"{a}/(0.01 + {s})^{p} + {b}/(0.01 + {t})^{q}",
        lambda z: a / (0.01 + z[i]) ** p + b / (0.01 + z[j]) ** q,
    )
    m.subject(
        "<=",
        f"{s}*{t} + 0.1*{s} + 0.1*{t} - k*{c}",
        lambda z: z[i] * z[j] + 0.1 * (z[i] + z[j]) - c,
    )


def _approached(m: _Maker) -> None:
    (s, i), (t, j) = m.unknown(0.0, math.inf), m.unknown(0.0, 3.0)
    a, c = m.number(0.3, 2), m.number(0.2, 2.5)
    m.term(f"1/(1 + {a}*{s}) + ({t} - {c})^2", lambda z: 1 / (1 + a * z[i]) + (z[j] - c) ** 2)


def _hyperbola(m: _Maker) -> None:
    """A least product of powers, whose size may be far from that of any start."""
    ends = ((0.0, math.inf), (0.0, math.inf), (0.01, math.inf), (0.0, 1e4))
    vs = [m.unknown(*m.rng.choice(ends)) for _ in range(m.rng.choice((2, 2, 3)))]
    powers = [m.rng.choice((0.5, 1.0, 1.0, 2.0)) for _ in vs]
    # what is asked for is met within the ends: each unknown at its share of it
    share = 10.0 ** m.rng.uniform(-2, 2)
    for (text, i), p in zip(vs, powers, strict=True):
        a = m.number(0.2, 3)
        m.term(f"{a}*{text}^{p}", lambda z, a=a, p=p, i=i: a * z[i] ** p)
    least = float(f"{share ** sum(powers):.3g}")
    text = "*".join(f"{t}^{p}" for (t, _), p in zip(vs, powers, strict=True))
    m.subject(
        "<=",
        f"{least!r}*k - {text}",
        lambda z: (
            (least - np.prod([z[i] ** p for (_, i), p in zip(vs, powers, strict=True)], 0))
            / max(least, 1.0)
        ),
    )


_MAKERS: dict[str, Callable[[_Maker], None]] = {
    "convex": _convex,
    "wavy": _wavy,
    "wells": _wells,
    "saddle": _saddle,
    "product": _product,
    "share": _share,
    "ring": _ring,
    "kink": _kink,
    "falls": _falls,
    "empty": _empty,
    "allocation": _allocation,
    "approached": _approached,
    "hyperbola": _hyperbola,
}


def questions(seed: int, count: int) -> Iterator[Question]:
    """So many questions, of all kinds in turn; the same for the same seed."""
    for number in range(count):
        rng = random.Random(f"joint {seed} {number}")
        maker = _Maker(KINDS[number % len(KINDS)], rng)
        _MAKERS[maker.made.kind](maker)
        yield maker.finish()
