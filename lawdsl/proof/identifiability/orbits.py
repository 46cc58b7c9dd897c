"""A direction followed: how parameters move together, and which of them is best held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy as sp

from lawdsl.law.law import Law, Quantity
from lawdsl.law.text import text

VectorField = Mapping[sp.Symbol, sp.Expr]  # parameter -> how fast it moves

FACTORS, SHIFTS = ("s", "q", "u", "factor"), ("c", "h", "v", "shift")  # the first free one is used


@dataclass(frozen=True)
class Flow:
    """Where parameters go.

    Attributes:
        group_parameter: the free number: a factor s > 0, or a shift c of any sign.
        images: parameter -> where it goes.
        text: the same as text: `w -> s*w, F -> s^mu*F`.
    """

    group_parameter: sp.Symbol
    images: VectorField
    text: str


def flow_of(law: Law, field: VectorField) -> Flow | None:
    """A field integrated, where factors, powers and shifts suffice for it."""
    time = sp.Dummy("time", real=True)
    kinds: dict[sp.Symbol, str] = {}
    solutions: dict[sp.Symbol, sp.Expr] = {}
    while len(solutions) < len(field):
        before = set(solutions)
        for symbol in [s for s in field if s not in before]:
            rate = field[symbol].xreplace(solutions)
            if rate.free_symbols & set(field) - set(solutions) - {symbol}:
                continue  # it waits for others; those that have moved are written as they were
            solution = _solution(symbol, rate, time)
            if solution is not None:
                kinds[symbol], solutions[symbol] = solution
        if before == set(solutions):
            return None
    names = SHIFTS if "shift" in kinds.values() else FACTORS
    name = next((n for n in names if n not in law.declarations.symbols), None)
    if name is None:
        return None
    group_parameter = sp.Symbol(name, real=True, positive=True if names is FACTORS else None)
    images = {
        s: _in_group_parameter(solutions[s], time, group_parameter, names is FACTORS) for s in field
    }
    flow_text = ", ".join(f"{s} -> {_image_text(s, e, kinds[s])}" for s, e in images.items())
    return Flow(group_parameter, images, flow_text)


def _solution(x: sp.Symbol, rate: sp.Expr, time: sp.Symbol) -> tuple[str, sp.Expr] | None:
    """Where a parameter is at a time, its rate depending on it alone and on what stands still."""
    rate = sp.expand(rate)
    if x not in rate.free_symbols:
        still = time not in rate.free_symbols
        return "shift", x + (rate * time if still else sp.integrate(rate, (time, 0, time)))
    slope = sp.diff(rate, x)
    if not slope.free_symbols & {x, time}:
        rest = sp.expand(rate - slope * x)
        if rest == 0:
            return "factor", x * sp.exp(slope * time)
        if time not in rest.free_symbols:
            end = sp.cancel(rest / slope)
            return "sum", (x + end) * sp.exp(slope * time) - end
    speed = sp.expand(rate / (x * sp.log(x)))
    if not speed.free_symbols & {x, time} and x.is_nonnegative:
        return "power", x ** sp.exp(speed * time)
    return None


def _in_group_parameter(
    image: sp.Expr, time: sp.Symbol, group_parameter: sp.Symbol, factor: bool
) -> sp.Expr:
    """A place with the free number in it: a shift c, or a factor s = exp(time)."""
    if not factor:
        return image.xreplace({time: group_parameter})
    return image.replace(sp.exp, lambda e: group_parameter ** sp.expand(e / time))


def _image_text(x: sp.Symbol, image: sp.Expr, kind: str) -> str:
    if kind == "shift":
        shift = sp.expand(image - x)
        shift_text = text(shift)
        minus = shift_text.startswith("-") and not shift.is_Add
        return f"{x} - {shift_text[1:]}" if minus else f"{x} + {shift_text}"
    if kind != "factor":
        return text(image)
    factor = image / x
    if factor.has(sp.exp):
        return f"{x}*{text(factor)}"
    over, under = sp.fraction(factor)
    return f"{text(factor)}*{x}" if over != 1 else f"{x}/{text(under)}"


def fixing_candidates(law: Law, field: VectorField) -> list[tuple[str, float | None]]:
    """The moved parameters, each with a value at which it may be held, the best one first.

    A value will do where the parameter reaches it from everywhere in its domain, and the others
    stay in theirs on the way: by factors from all that is positive, by shifts from anywhere.
    """
    moving = [q for q in law.parameters if q.symbol in field]
    kinds = {q.name: _kind(q, field[q.symbol]) for q in moving}
    obstructed = [q.name for q in moving if not _stays_in_domain(q, kinds[q.name])]

    def rank(q: Quantity) -> tuple[bool, ...]:
        others = [name for name in obstructed if name != q.name]
        return bool(others), _value(q, kinds[q.name]) is None, kinds[q.name] != "shift"

    candidates = []
    for q in sorted(moving, key=rank):
        only_obstacle = all(name == q.name for name in obstructed)
        candidates.append((q.name, _value(q, kinds[q.name]) if only_obstacle else None))
    return candidates


def _kind(q: Quantity, rate: sp.Expr) -> str:
    if rate.is_number:
        return "shift"
    return "factor" if (rate / q.symbol).is_number else "other"


def _stays_in_domain(q: Quantity, kind: str) -> bool:
    """Whether a parameter stays in its domain however far it moves."""
    return not q.bounds or (kind != "shift" and all(b.limit == 0 for b in q.bounds))


def _value(q: Quantity, kind: str) -> float | None:
    """0 for what is shifted, 1 for what is scaled, where that is reached from anywhere."""
    if kind == "shift":
        return None if q.bounds else 0.0
    if kind == "other" or not (q.symbol.is_positive or q.symbol.is_nonnegative or not q.bounds):
        return None
    limits = {b.limit for b in q.bounds}
    if limits <= {sp.S.Zero}:
        return 1.0
    if not all(x.is_number for x in limits):
        return None
    low = max((b.limit for b in q.bounds if b.lower), default=sp.S.Zero)
    high = min((b.limit for b in q.bounds if not b.lower), default=sp.oo)
    if low < 1 < high:
        return 1.0
    return float(low + 1 if high is sp.oo else (low + high) / 2)
