"""A direction followed: how parameters move together, and which of them is best held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy as sp

from lawdsl.law.law import Law, Quantity
from lawdsl.law.text import text

Field = Mapping[sp.Symbol, sp.Expr]  # parameter -> how fast it moves

FACTORS, SHIFTS = ("s", "q", "u", "factor"), ("c", "h", "v", "shift")  # the first free one is used


@dataclass(frozen=True)
class Flow:
    """Where parameters go.

    Attributes:
        by: the free number: a factor s > 0, or a shift c of any sign.
        places: parameter -> where it goes.
        text: the same as text: `w -> s*w, F -> s^mu*F`.
    """

    by: sp.Symbol
    places: Field
    text: str


def flow_of(law: Law, field: Field) -> Flow | None:
    """A field integrated, where factors, powers and shifts suffice for it."""
    time = sp.Dummy("time", real=True)
    kinds: dict[sp.Symbol, str] = {}
    moved: dict[sp.Symbol, sp.Expr] = {}
    while len(moved) < len(field):
        before = set(moved)
        for symbol in [s for s in field if s not in before]:
            rate = field[symbol].xreplace(moved)
            if rate.free_symbols & set(field) - set(moved) - {symbol}:
                continue  # it waits for others; those that have moved are written as they were
            found = _moved(symbol, rate, time)
            if found is not None:
                kinds[symbol], moved[symbol] = found
        if before == set(moved):
            return None
    names = SHIFTS if "shift" in kinds.values() else FACTORS
    name = next((n for n in names if n not in law.declarations.symbols), None)
    if name is None:
        return None
    by = sp.Symbol(name, real=True, positive=True if names is FACTORS else None)
    places = {s: _at(moved[s], time, by, names is FACTORS) for s in field}
    shown = ", ".join(f"{s} -> {_shown(s, e, kinds[s])}" for s, e in places.items())
    return Flow(by, places, shown)


def _moved(x: sp.Symbol, rate: sp.Expr, time: sp.Symbol) -> tuple[str, sp.Expr] | None:
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


def _at(place: sp.Expr, time: sp.Symbol, by: sp.Symbol, factor: bool) -> sp.Expr:
    """A place with the free number in it: a shift c, or a factor s = exp(time)."""
    if not factor:
        return place.xreplace({time: by})
    return place.replace(sp.exp, lambda e: by ** sp.expand(e / time))


def _shown(x: sp.Symbol, place: sp.Expr, kind: str) -> str:
    if kind == "shift":
        way = sp.expand(place - x)
        shown = text(way)
        minus = shown.startswith("-") and not way.is_Add
        return f"{x} - {shown[1:]}" if minus else f"{x} + {shown}"
    if kind != "factor":
        return text(place)
    factor = place / x
    if factor.has(sp.exp):
        return f"{x}*{text(factor)}"
    over, under = sp.fraction(factor)
    return f"{text(factor)}*{x}" if over != 1 else f"{x}/{text(under)}"


def holds(law: Law, field: Field) -> list[tuple[str, float | None]]:
    """The moved parameters, each with a value at which it may be held, the best one first.

    A value will do where the parameter reaches it from everywhere in its domain, and the others
    stay in theirs on the way: by factors from all that is positive, by shifts from anywhere.
    """
    moved = [q for q in law.parameters if q.symbol in field]
    kinds = {q.name: _kind(q, field[q.symbol]) for q in moved}
    stuck = [q.name for q in moved if not _roams(q, kinds[q.name])]

    def rank(q: Quantity) -> tuple[bool, ...]:
        others = [name for name in stuck if name != q.name]
        return bool(others), _value(q, kinds[q.name]) is None, kinds[q.name] != "shift"

    found = []
    for q in sorted(moved, key=rank):
        alone = all(name == q.name for name in stuck)
        found.append((q.name, _value(q, kinds[q.name]) if alone else None))
    return found


def _kind(q: Quantity, rate: sp.Expr) -> str:
    if rate.is_number:
        return "shift"
    return "factor" if (rate / q.symbol).is_number else "other"


def _roams(q: Quantity, kind: str) -> bool:
    """Whether a parameter stays in its domain however far it moves."""
    return not q.bounds or (kind != "shift" and all(b.limit == 0 for b in q.bounds))


def _value(q: Quantity, kind: str) -> float | None:
    """0 for what is shifted, 1 for what is scaled, where that is reached from anywhere."""
    if kind == "shift":
        return None if q.bounds else 0.0
    if kind == "other" or not (q.symbol.is_positive or q.symbol.is_nonnegative or not q.bounds):
        return None
    at = {b.limit for b in q.bounds}
    if at <= {sp.S.Zero}:
        return 1.0
    if not all(x.is_number for x in at):
        return None
    low = max((b.limit for b in q.bounds if b.lower), default=sp.S.Zero)
    high = min((b.limit for b in q.bounds if not b.lower), default=sp.oo)
    if low < 1 < high:
        return 1.0
    return float(low + 1 if high is sp.oo else (low + high) / 2)
