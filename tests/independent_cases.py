"""Random cases for the referee: a domain, a claim on it, and points of the domain.

Points lie at ends, near ends, at ties, far out and at random; no sampling of the tool is used.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
from independent_formulas import NoValue, Tree, Values, name, num, placed, text, value


@dataclass(frozen=True)
class Limit:
    """`> at` and so on."""

    relation: str
    at: Tree

    def allows(self, x: Any, at: Values, labels: Sequence[str], places: Values) -> bool:
        y = value(self.at, at, labels, places)
        return {">": x > y, ">=": x >= y, "<": x < y, "<=": x <= y}[self.relation]


@dataclass(frozen=True)
class Quantity:
    """A variable or parameter; `indices` are its subscripts, `simplex` that it sums to 1."""

    name: str
    varies: bool
    limits: tuple[Limit, ...] = ()
    indices: tuple[str, ...] = ()
    simplex: bool = False

    @property
    def shown(self) -> str:
        return f"{self.name}[{', '.join(self.indices)}]" if self.indices else self.name

    def declared(self) -> str:
        word = "variable" if self.varies else "parameter"
        if self.simplex:
            return f"{word} {self.shown} in simplex"
        own = ", ".join(f"{self.shown} {x.relation} {text(x.at)}" for x in self.limits)
        return f"{word} {own or self.shown}"


@dataclass(frozen=True)
class Term:
    """`coefficient·variable^(±exponent)`, or `coefficient·exp(±exponent·variable)`."""

    variable: str
    coefficient: str
    exponent: str
    exponential: bool
    sign: int

    @property
    def formula(self) -> Tree:
        if self.exponential:
            inner = ("*", name(self.exponent), name(self.variable))
            part: Tree = ("exp", inner if self.sign > 0 else ("*", num(-1), inner))
            return ("*", name(self.coefficient), part)
        part = ("^", name(self.variable), name(self.exponent))
        return ("*" if self.sign > 0 else "/", name(self.coefficient), part)


@dataclass(frozen=True)
class Target:
    """Another law, of which the claim says that the first is one: a constant, if it has one, and
    one term in each variable."""

    variables: tuple[Quantity, ...]
    parameters: tuple[Quantity, ...]
    constant: str | None
    terms: tuple[Term, ...]

    @property
    def formula(self) -> Tree:
        parts = [name(self.constant)] if self.constant else []
        return added([*parts, *(term.formula for term in self.terms)])

    def text(self) -> str:
        lines = ["law target", *(q.declared() for q in (*self.variables, *self.parameters))]
        return "\n".join([*lines, f"L = {text(self.formula)}"]) + "\n"


def added(parts: Sequence[Tree]) -> Tree:
    """Their sum."""
    whole = parts[0]
    for part in parts[1:]:
        whole = ("+", whole, part)
    return whole


@dataclass(frozen=True)
class Case:
    """A law with one claim, and what the claim says.

    Attributes:
        listed: the labels of its index set, if it has one; empty for any labels.
        formula: of L, in which lets are written out.
        kind: of the claim: compare, rise, bend, finite, limit, slope, is.
        target: of the claim `L is target`.
        settled: in that claim, variables that keep a value, and the name of the value.
        left, relation, right: of a comparison `left relation right`.
        by: the name by which it rises or bends, or that goes to infinity.
        conditions: on quantities, of the claim.
    """

    quantities: tuple[Quantity, ...]
    formula: Tree
    kind: str
    relation: str = ">"
    left: Tree = ("name", "L")
    right: Tree = ("num", Fraction(0))
    by: str = ""
    indexed: bool = False
    listed: tuple[str, ...] = ()
    conditions: tuple[tuple[str, Limit], ...] = ()
    lets: tuple[tuple[str, Tree], ...] = ()
    written: Tree | None = None
    fresh: tuple[str, ...] = field(default=())
    target: Target | None = None
    settled: tuple[tuple[str, str], ...] = ()

    @property
    def claim(self) -> str:
        settled = ", ".join(f"{n} = {value}" for n, value in self.settled)
        words = {
            "rise": f"L {self.relation} in {self.by}",
            "bend": f"L {self.relation} in {self.by}",
            "finite": "L finite",
            "is": f"L({settled}) is target" if settled else "L is target",
            "limit": f"L -> {text(self.right)} as {self.by} -> oo",
            "slope": f"∂L/∂{self.by} {self.relation} {text(self.right)}",
            "compare": f"{text(self.left)} {self.relation} {text(self.right)}",
        }
        shown = words[self.kind]
        if self.conditions:
            parts = [f"{n} {x.relation} {text(x.at)}" for n, x in self.conditions]
            shown += " for " + ", ".join(parts)
        return shown

    def text(self) -> str:
        lines = ["law example"]
        if self.indexed:
            over = f"{{{', '.join(self.listed)}}}" if self.listed else "training"
            lines.append(f"index j over {over}")
        lines += [q.declared() for q in self.quantities]
        lines += [f"let {n} = {text(tree)}" for n, tree in self.lets]
        lines += [f"L = {text(self.written or self.formula)}", f"require {self.claim}"]
        return "\n".join(lines) + "\n"

    def write(self, folder: Path) -> Path:
        """The file of the law, in a folder that the target's file is written to as well."""
        if self.target:
            (folder / "target.law").write_text(self.target.text(), encoding="utf-8")
        path = folder / "example.law"
        path.write_text(self.text(), encoding="utf-8")
        return path

    def whole(self, tree: Tree) -> Tree:
        """A formula of the claim with L written out."""
        if tree == ("name", "L"):
            return self.formula
        return (tree[0], *(self.whole(t) if isinstance(t, tuple) else t for t in tree[1:]))


def holds_in(case: Case, at: Values, labels: Sequence[str]) -> bool:
    """Whether a point lies in the domain that the claim speaks of."""
    try:
        for q in case.quantities:
            for places in label_choices(q, labels):
                x = at[placed(q.shown, places)]
                if not all(limit.allows(x, at, labels, places) for limit in q.limits):
                    return False
                if q.simplex and not 0 <= x <= 1:
                    return False
            if q.simplex and mpmath.fsum(at[f"{q.name}[{one}]"] for one in labels) != 1:
                return False
        renamed = dict(zip(case.fresh, labels, strict=False))
        for n, limit in case.conditions:
            if not limit.allows(at[placed(n, renamed)], at, labels, renamed):
                return False
    except (NoValue, OverflowError):
        return False
    return True


def label_choices(q: Quantity, labels: Sequence[str]) -> list[dict[str, str]]:
    return [{q.indices[0]: one} for one in labels] if q.indices else [{}]


def points(case: Case, rng: random.Random, labels: Sequence[str], count: int) -> Iterator[Values]:
    """Points of the domain, exact to all digits: corners, ties, near ends, far out, at random."""
    for _ in range(count):
        style = rng.random()
        at: dict[str, Any] = {}
        for q in case.quantities:
            if q.simplex:
                for one, share in zip(labels, shares(rng, len(labels)), strict=True):
                    at[f"{q.name}[{one}]"] = share
                continue
            for places in label_choices(q, labels):
                at[placed(q.shown, places)] = drawn_value(q, rng, at, labels, places, style)
        if holds_in(case, at, labels):
            yield at


def shares(rng: random.Random, count: int) -> list[Any]:
    """Some of them are 0, or all but one."""
    parts = [rng.choice((0, 0, 1, 1, 2, 3, rng.randint(1, 10**6))) for _ in range(count)]
    if not any(parts):
        parts[rng.randrange(count)] = 1
    total = 2 ** max(1, math.ceil(math.log2(sum(parts) + 1)))
    parts[max(range(count), key=parts.__getitem__)] += total - sum(parts)
    return [mpmath.mpf(p) / total for p in parts]


def drawn_value(
    q: Quantity,
    rng: random.Random,
    at: dict[str, Any],
    labels: Sequence[str],
    places: Values,
    style: float,
) -> Any:
    try:
        ends = [(x.relation, value(x.at, at, labels, places)) for x in q.limits]
    except (NoValue, OverflowError):
        return mpmath.mpf(1)
    lows = [x for relation, x in ends if relation[0] == ">"]
    highs = [x for relation, x in ends if relation[0] == "<"]
    low, high = max(lows, default=None), min(highs, default=None)
    if style < 0.2 and at and rng.random() < 0.6:
        return rng.choice(list(at.values()))  # a tie
    pick = rng.random()
    if low is not None and high is not None:
        room = high - low
        if pick < 0.3:
            return rng.choice((low, high))
        if pick < 0.5:
            return rng.choice(
                (low + room * mpmath.mpf(2) ** -30, high - room * mpmath.mpf(2) ** -30)
            )
        return low + room * rng.randint(0, 2**20) / 2**20
    size = mpmath.mpf(rng.choice((1, 2, 3, 10, 0.5, 0.25)))
    if pick < 0.4:
        size = mpmath.mpf(2) ** rng.randint(-40, 40)
    elif pick < 0.7:
        size = mpmath.mpf(rng.randint(1, 2**20)) / 2 ** rng.randint(8, 20)
    if low is not None:
        return low if pick > 0.9 else low + size
    if high is not None:
        return high if pick > 0.9 else high - size
    return 0 * size if pick > 0.93 else size * rng.choice((-1, 1))


def far_value(
    q: Quantity, rng: random.Random, at: Values, labels: Sequence[str], places: Values
) -> Any:
    """A value at an end of a range, very near to one, or very far out."""
    ends = [(x.relation, value(x.at, at, labels, places)) for x in q.limits]
    low = max((x for relation, x in ends if relation[0] == ">"), default=None)
    high = min((x for relation, x in ends if relation[0] == "<"), default=None)
    closed = [x for relation, x in ends if relation[1:] == "=" and x in (low, high)]
    if closed and rng.random() < 0.4:
        return rng.choice(closed)
    size = mpmath.mpf(2) ** rng.randint(1, 150)
    if low is not None and high is not None:
        near = (high - low) / size
        return low + near if rng.random() < 0.5 else high - near
    if rng.random() < 0.5:
        size = 1 / size
    if low is not None:
        return low + size
    return size * rng.choice((1, -1)) if high is None else high - size
