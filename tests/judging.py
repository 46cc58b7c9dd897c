"""An independent judge of claims: formulas as they are written, on numbers, with derivatives.

Nothing of the algebra or of the compiled tapes is used: the syntax tree is walked with numbers that
carry derivatives (hyper-dual numbers: exact first and second derivatives, no differences), on
mpmath or float64. What has no value raises `NoValue` on mpmath and is nan on float64.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
from hyperdual import (
    Border,
    Exact,
    Floats,
    Irrational,
    Jet,
    NoValue,
    Rationals,
    jet_image,
    jet_product,
    jet_sum,
)

from lawdsl.core.diagnostics import Text
from lawdsl.language import tree
from lawdsl.language.library import declared
from lawdsl.language.parser import parse
from lawdsl.language.symbols import Claim
from lawdsl.law.law import Law

HERE = Path(__file__).resolve().parent


def law_of(text: str, folder: Path = HERE) -> Law:
    """A law from the text of a file."""
    found, _ = declared(Text("test.law", text), folder)
    return Law(found)


def claims_on(law_text: str, *claims: str) -> tuple[Law, tuple[Claim, ...]]:
    """A law and claims on it; `law_text` has everything but the claims."""
    law = law_of(law_text + "".join(f"\nrequire {claim}" for claim in claims) + "\n")
    own = [claim for claim in law.claims if claim.text == law.declarations.text]
    added = [claim for claim in own if claim.span.start > len(law_text)]
    return law, tuple(sorted(added, key=lambda claim: claim.span.start))


class Judge:
    """Values of a law's formulas at a point, which gives every variable, parameter and setting."""

    def __init__(
        self, law: Law, point: Mapping[str, Any], numbers: Exact | Floats | Rationals
    ) -> None:
        self.symbols = law.declarations.symbols
        self.point = point
        self.on = numbers

    def value(self, formula: tree.Formula) -> Any:
        return self._value(formula, {}, {}).a

    def _value(self, node: tree.Formula, seeds: Mapping[str, Jet], at: Mapping[str, Jet]) -> Jet:
        on = self.on
        match node:
            case tree.Number(text):
                return Jet(on.number(Fraction(text)))
            case tree.Name("pi"):
                return Jet(on.pi)
            case tree.Name(name):
                return self._name(name, seeds, at)
            case tree.Negative(operand):
                return jet_product(Jet(on.number(Fraction(-1))), self._value(operand, seeds, at))
            case tree.Sum(terms):
                total = Jet(on.number(Fraction(0)))
                for sign, term in terms:
                    one = Jet(on.number(Fraction(1 if sign == "+" else -1)))
                    total = jet_sum(total, jet_product(one, self._value(term, seeds, at)))
                return total
            case tree.Product(factors):
                total = Jet(on.number(Fraction(1)))
                for operator, factor in factors:
                    x = self._value(factor, seeds, at)
                    if operator == "/":
                        y = on.inverse(x.a)
                        x = jet_image(x, y, lambda y=y: -y * y, lambda y=y: 2 * y * y * y)
                    total = jet_product(total, x)
                return total
            case tree.Power(base, exponent):
                return self._power(self._value(base, seeds, at), self._value(exponent, seeds, at))
            case tree.Conditional():
                return self._piece(node, seeds, at)
            case tree.Call(function, arguments, ()):
                return self._call(function, [self._value(a, seeds, at) for a in arguments])
            case tree.Call(output, (), keywords):
                places = {name: self._value(place, {}, at) for name, place in keywords}
                return self._value(tree.Name(output), {}, places)
            case tree.Derivative(of, by):
                return self._derivative(of, by, at)
        raise AssertionError(node)

    def _piece(
        self, node: tree.Conditional, seeds: Mapping[str, Jet], at: Mapping[str, Jet]
    ) -> Jet:
        """The part taken, of which alone a value is asked; on float64 each point has its own."""
        lhs, rhs = (self._value(side, seeds, at) for side in (node.lhs, node.rhs))
        moves = any(x is not None for side in (lhs, rhs) for x in (side.b, side.c))
        if isinstance(self.on, Floats):
            yes, no = (self._value(part, seeds, at) for part in (node.yes, node.no))
            holds = HOLDS[node.relation](lhs.a, rhs.a)
            lost = np.isnan(lhs.a - rhs.a)
            parts = [
                None
                if one is None and other is None
                else np.where(
                    lost | (moves & (k > 0) & (lhs.a == rhs.a)),
                    np.nan,
                    np.where(holds, 0.0 if one is None else one, 0.0 if other is None else other),
                )
                for k, (one, other) in enumerate(zip(_parts(yes), _parts(no), strict=True))
            ]
            return Jet(*parts)
        side = self.on.compared(lhs.a, rhs.a)
        if side == 0 and moves:
            raise Border
        return self._value(node.yes if HOLDS[node.relation](side, 0) else node.no, seeds, at)

    def _name(self, name: str, seeds: Mapping[str, Jet], at: Mapping[str, Jet]) -> Jet:
        for known in (seeds, at):
            if name in known:
                return known[name]
        if name in self.point:
            return Jet(self.point[name])
        return self._value(self.symbols[name].formula, seeds, at)

    def _derivative(self, of: str, by: tuple[str, ...], at: Mapping[str, Jet]) -> Jet:
        one = self.on.number(Fraction(1))
        seeds: dict[str, Jet] = {}
        for i, name in enumerate(by):
            jet = seeds.setdefault(name, Jet(self._value(tree.Name(name), {}, at).a))
            if i == 0:
                jet.b = one
            else:
                jet.c = one
        found = self._value(tree.Name(of), seeds, at)
        found = found.b if len(by) == 1 else found.d
        return Jet(self.on.number(Fraction(0)) if found is None else found)

    def _power(self, x: Jet, y: Jet) -> Jet:
        on = self.on
        value = on.power(x.a, y.a)
        if y.b is None and y.c is None and y.d is None:
            return jet_image(x, value, lambda: on.slope(x.a, y.a, 1), lambda: on.slope(x.a, y.a, 2))
        y_log = jet_product(y, self._call("log", [x]))
        return jet_image(y_log, value, lambda: value, lambda: value)

    def _call(self, function: str, arguments: list[Jet]) -> Jet:
        on, x = self.on, arguments[0]
        if function in ("min", "max"):
            return self._extreme(arguments, 1 if function == "max" else -1)
        match function:
            case "exp":
                y = on.exp(x.a)
                return jet_image(x, y, lambda: y, lambda: y)
            case "log":
                i = lambda: on.inverse(x.a)  # noqa: E731
                return jet_image(x, on.log(x.a), i, lambda: -i() * i())
            case "sqrt":
                return self._power(x, Jet(on.number(Fraction(1, 2))))
            case "sin":
                y = on.sin(x.a)
                return jet_image(x, y, lambda: on.cos(x.a), lambda: -y)
            case "cos":
                y = on.cos(x.a)
                return jet_image(x, y, lambda: -on.sin(x.a), lambda: -y)
            case "tanh":
                y = on.tanh(x.a)
                return jet_image(x, y, lambda: 1 - y * y, lambda: -2 * y * (1 - y * y))
            case "atan":
                i = lambda: on.inverse(1 + x.a * x.a)  # noqa: E731
                return jet_image(x, on.atan(x.a), i, lambda: -2 * x.a * i() * i())
            case "abs":
                return jet_image(x, on.absolute(x.a), lambda: on.kink(x.a), lambda: 0 * x.a)
        raise AssertionError(function)

    def _extreme(self, arguments: list[Jet], side: int) -> Jet:
        best = arguments[0]
        for other in arguments[1:]:
            gap = jet_sum(other, jet_product(Jet(self.on.number(Fraction(-1))), best))
            size = jet_image(
                gap, self.on.absolute(gap.a), lambda g=gap: self.on.kink(g.a), lambda g=gap: 0 * g.a
            )
            half = Jet(self.on.number(Fraction(1, 2)))
            turned = jet_product(Jet(self.on.number(Fraction(side))), size)
            best = jet_product(half, jet_sum(jet_sum(best, other), turned))
        return best


HOLDS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def _parts(jet: Jet) -> tuple[Any, Any, Any, Any]:
    return jet.a, jet.b, jet.c, jet.d


def formula_of(text: str) -> tree.Formula:
    """A formula from its text."""
    document, mistakes = parse(f"let x = {text}\n", "formula")
    assert not mistakes, (text, mistakes)
    return document.statements[0].formula


# Points of a domain


@dataclass(frozen=True)
class Bound:
    name: str
    relation: str
    limit: tree.Formula


def bounds_of(law: Law, claim: Claim | None = None) -> dict[str, list[Bound]]:
    """Name -> its bounds, those of the claim included; parameters before variables."""
    found: dict[str, list[Bound]] = {}
    declared = law.declarations.symbols.values()
    for kind in ("parameter", "variable"):
        for s in declared:
            if s.kind == kind:
                found[s.name] = [Bound(s.name, r, at) for r, at in s.bounds]
    for name, relations in claim.conditions if claim else ():
        found.setdefault(name, [])
        found[name] = found[name] + [Bound(name, r, at) for r, at in relations]
    return found


def draw_point(
    law: Law, bounds: Mapping[str, list[Bound]], rng: random.Random, fixed: Mapping[str, Fraction]
) -> dict[str, Fraction] | None:
    """A random point of a domain, corners and extremes often; None where one was missed."""
    point: dict[str, Fraction] = {
        q.name: Fraction(repr(q.value)) for q in law.settings if q.value is not None
    }
    for name, stated in bounds.items():
        if law.declarations.symbols[name].kind == "let":
            continue
        if name in fixed:
            point[name] = fixed[name]
            continue
        low = high = None
        low_closed = high_closed = True
        for bound in stated:
            try:
                limit = _rational(law, point, bound.limit)
            except (NoValue, KeyError, OverflowError):
                return None
            closed = "=" in bound.relation
            if bound.relation.startswith(">"):
                if low is None or limit > low or (limit == low and not closed):
                    low, low_closed = limit, closed
            elif high is None or limit < high or (limit == high and not closed):
                high, high_closed = limit, closed
        value = _drawn(rng, low, high, low_closed, high_closed)
        if value is None:
            return None
        point[name] = value
    return point if inside(law, bounds, point) else None


def _rational(law: Law, point: Mapping[str, Fraction], formula: tree.Formula) -> Fraction:
    """A bound as a fraction; near it where it is none."""
    try:
        return Judge(law, point, Rationals()).value(formula)
    except Irrational:
        pass
    with mpmath.workdps(30):
        on = Exact()
        values = {k: on.number(v) for k, v in point.items()}
        found = Judge(law, values, on).value(formula)
        if found and not -300 < mpmath.log10(abs(found)) < 300:
            raise OverflowError
        return Fraction(mpmath.nstr(found, 25, min_fixed=-40, max_fixed=40))


def _drawn(
    rng: random.Random,
    low: Fraction | None,
    high: Fraction | None,
    low_closed: bool,
    high_closed: bool,
) -> Fraction | None:
    """A value in a range: an end, near an end, round, small or large."""
    if low is not None and high is not None:
        if low > high or (low == high and not (low_closed and high_closed)):
            return None
        kind = rng.randrange(8)
        if kind == 0 and low_closed:
            return low
        if kind == 1 and high_closed:
            return high
        near = Fraction(1, 10 ** rng.choice((2, 4, 7)))
        share = {2: near, 3: 1 - near, 4: Fraction(1, 2)}.get(
            kind, Fraction(rng.randrange(1, 100), 100)
        )
        return low + (high - low) * share
    size = rng.choice(
        (
            Fraction(1),
            Fraction(2),
            Fraction(1, 2),
            Fraction(rng.randrange(1, 400), 100),
            Fraction(rng.randrange(1, 400), 100),
            Fraction(1, 10 ** rng.randrange(1, 7)),
            Fraction(10 ** rng.randrange(1, 5)),
        )
    )
    if low is not None:
        return low if low_closed and rng.random() < 0.15 else low + size
    if high is not None:
        return high if high_closed and rng.random() < 0.15 else high - size
    return rng.choice((Fraction(0), size, -size, size, -size))


def inside(law: Law, bounds: Mapping[str, list[Bound]], point: Mapping[str, Fraction]) -> bool:
    """Whether a point lies in a domain: exactly, or as far as 60 digits can tell."""
    with mpmath.workdps(60):
        for bound in (b for stated in bounds.values() for b in stated):
            of = tree.Name(bound.name)
            try:
                try:
                    judge = Judge(law, point, Rationals())
                    gap = judge.value(of) - judge.value(bound.limit)
                except Irrational:
                    on = Exact()
                    judge = Judge(law, {k: on.number(v) for k, v in point.items()}, on)
                    gap = judge.value(of) - judge.value(bound.limit)
            except NoValue:
                return False
            gap = gap if bound.relation.startswith(">") else -gap
            if gap < 0 or (gap == 0 and "=" not in bound.relation):
                return False
    return True
