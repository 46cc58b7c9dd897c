"""Random questions with two to four unknowns, and a referee that shares no code with the solver.

Each question is written twice: as text, and as NumPy functions of its unknowns in their natural
size. The referee minimises these by differential evolution and by many local searches from random
starts. It finds points, and so refutes answers: a feasible point that is clearly better than an
answer, a feasible point of a question that is said to have none.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

import lawdsl
from lawdsl.solving.result import Answer

Array = NDArray[np.float64]
Function = Callable[[Array], Array]  # of unknowns, shape (n, points)

KINDS = (
    *("convex", "wavy", "wells", "saddle", "product", "share", "ring", "kink"),
    *("falls", "empty", "allocation", "approached", "hyperbola"),
)
FAR = 20.0  # e-folds over which an unknown without an end is looked at
CLOSE = 1e-6  # relative: a point that is better by more refutes an answer
KEPT = 1e-7  # by so much constraints may be missed


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


@dataclass(frozen=True)
class Found:
    """What the referee has found, in natural units.

    Attributes:
        x: the best feasible point; None where none was found.
        value: of the goal there.
        missed: the least violation that was seen.
    """

    x: Array | None
    value: float
    missed: float


def referee(question: Question, seed: int) -> Found:
    """The best of differential evolution and of local searches from random starts."""
    rng = np.random.default_rng(seed)
    low, high = np.array(question.low), np.array(question.high)
    ends = np.where(np.isfinite(low), np.where(np.isfinite(high), 0.0, 0.0), -FAR)
    tops = np.where(np.isfinite(low) & np.isfinite(high), 1.0, FAR)

    def place(u: Array) -> Array:
        z = np.empty_like(u)
        for i in range(len(low)):
            if np.isfinite(low[i]) and np.isfinite(high[i]):
                z[i] = low[i] + u[i] * (high[i] - low[i])
            elif np.isfinite(low[i]):
                z[i] = low[i] + np.expm1(u[i])
            else:
                z[i] = np.sinh(u[i])
        return z

    def merit(u: Array) -> Array:
        z = place(u if u.ndim == 2 else u[:, None])
        over = missed(question, z)
        value = question.goal(z)
        found: Array = np.where(over > 0, 1e12 * over + np.maximum(value, -1e6), value)
        found = np.nan_to_num(found, nan=1e30, posinf=1e30, neginf=-1e30)
        return found if u.ndim == 2 else found[0]

    starts = [rng.uniform(ends, tops) for _ in range(12)]
    starts += [np.clip(rng.normal(size=len(low)), ends, tops) for _ in range(8)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if not question.zero:
            evolved = scipy.optimize.differential_evolution(
                merit,
                list(zip(ends, tops, strict=True)),
                vectorized=True,
                updating="deferred",
                maxiter=120,
                popsize=25,
                polish=False,
                rng=rng,
            )
            starts.insert(0, evolved.x)
        reached = [np.asarray(s) for s in starts] + [
            _local(question, place, start, ends, tops) for start in starts
        ]
        points = place(np.clip(np.array(reached).T, ends[:, None], tops[:, None]))
        over, values = missed(question, points), question.goal(points)
    kept = (over <= 1e-9) & np.isfinite(values)
    least = float(np.nanmin(np.where(np.isfinite(over), over, np.inf)))
    if not kept.any():
        return Found(None, math.inf, least)
    best = int(np.argmin(np.where(kept, values, np.inf)))
    return Found(points[:, best], float(values[best]), least)


def _local(
    question: Question, place: Callable[[Array], Array], start: Array, ends: Array, tops: Array
) -> Array:
    conditions = [
        {"type": kind, "fun": lambda u, f=f, s=s: s * float(f(place(u[:, None]))[0])}
        for kind, s, functions in (("ineq", -1, question.below), ("eq", 1, question.zero))
        for f in functions
    ]
    found = scipy.optimize.minimize(
        lambda u: float(np.clip(question.goal(place(u[:, None]))[0], -1e30, 1e30)),
        start,
        method="SLSQP",
        bounds=list(zip(ends, tops, strict=True)),
        constraints=conditions,
        options={"maxiter": 60, "ftol": 1e-12},
    )
    return np.asarray(found.x)


def missed(question: Question, z: Array) -> Array:
    """By how much the constraints are missed at points, shape (points,)."""
    over = [np.maximum(f(z), 0.0) for f in question.below]
    over += [np.abs(f(z)) for f in question.zero]
    if not over:
        return np.zeros(z.shape[1])
    found: Array = np.max(np.broadcast_arrays(*over, np.zeros(z.shape[1])), axis=0)
    return found


@dataclass(frozen=True)
class Judged:
    """What is thought of an answer.

    Attributes:
        word: right, wrong or undecided.
        certain: whether the answer was called certain.
        why: what is wrong with it.
    """

    word: str
    certain: bool
    why: str = ""


def answered(question: Question, folder: Path) -> tuple[lawdsl.Asked, Answer]:
    """The answer of the solver to the text."""
    path = folder / "random.law"
    path.write_text(question.text, encoding="utf-8")
    asked = lawdsl.Asked(path)
    return asked, asked.answer(k=question.given)


def judged(question: Question, answer: Answer, seed: int) -> Judged:
    """An answer, against what the referee finds."""
    found = referee(question, seed)
    if answer.status == "undecided":
        return Judged("undecided", answer.certain, "; ".join(answer.proof))
    wrong = _wrong(question, answer, found)
    return Judged("wrong" if wrong else "right", answer.certain, wrong)


def _wrong(question: Question, answer: Answer, found: Found) -> str:
    if answer.status == "infeasible":
        return f"feasible: {found.x}" if found.x is not None else ""
    if answer.status == "unbounded":
        if question.kind == "approached":
            return ""
        falls = found.x is not None and found.value < -1e6
        return "" if falls else f"bounded, as far as the referee sees: {found.value}"
    z = np.array([answer[n] / u for n, u in zip(question.names, question.units, strict=True)])
    sign = -1 if answer.goal is not None and answer.goal.maximize else 1
    over = float(missed(question, z[:, None])[0])
    value = float(question.goal(z[:, None])[0])
    low, high = np.array(question.low), np.array(question.high)
    if (
        over > KEPT * max(1.0, float(np.max(np.abs(z))))
        or np.any(z < low - KEPT)
        or np.any(z > high + KEPT)
    ):
        return f"infeasible by {over}"
    assert answer.goal is not None
    size = max(1.0, abs(value))
    if abs(sign * answer.goal.value / question.size - value) > CLOSE * size:
        return f"the goal is {value}, not {answer.goal.value / question.size}"
    if found.x is not None and found.value < value - CLOSE * size:
        return f"{found.value} at {found.x} is better than {value} at {z}"
    return ""


def sensitivities_off(asked: lawdsl.Asked, answer: Answer, given: float) -> str | None:
    """How sensitivities differ from differences between answers; empty where they agree, None where
    the answer is not smooth there."""
    if answer.status != "answered" or answer.alternatives or not answer.sensitivities:
        return None
    step = 1e-4 * given
    near = [asked.answer(k=given + by * step) for by in (-2, -1, 1, 2)]
    if any(a.status != "answered" or a.where != answer.where for a in near):
        return None
    (told,) = answer.sensitivities
    for name, slope in told.unknowns.items():
        x = [a[name] for a in near]
        wide, narrow = (x[3] - x[0]) / (4 * step), (x[2] - x[1]) / (2 * step)
        size = max(abs(wide), abs(narrow), 1e-6 * abs(answer[name]) / given)
        if abs(wide - narrow) > 3e-5 * size:
            return None
        if abs(slope - narrow) > 1e-4 * size:
            return f"{name}: {slope} where differences say {narrow}"
    return ""
