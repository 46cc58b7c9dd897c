"""The domain that a claim speaks of, as a product of intervals.

A bound that couples parameters (C > C0) is made independent by a slack: C = C0 + s with s > 0.
After that every symbol ranges over its interval whatever the others are, except that an end point
may name settings (D >= D_min), which are never moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import sympy as sp

from lawdsl.law import Bound, Law, Quantity
from lawdsl.language.resolving import Claim


@dataclass(frozen=True)
class End:
    """One end of an interval; `closed` where the interval contains it."""

    at: sp.Expr
    closed: bool


@dataclass(frozen=True)
class Range:
    """The values of one symbol; None: no bound on that side."""

    lower: End | None = None
    upper: End | None = None


@dataclass(frozen=True)
class Box:
    """Ranges of symbols, and the slacks by which coupled bounds were made independent.

    Attributes:
        ranges: symbol -> its range. A symbol without one is any real number.
        slack: parameter -> the expression that replaces it.
        variables: the symbols that a claim's condition may not mention.
        exact: whether the box is the domain itself; it may be larger where a parameter has both a
            coupled bound and others.
        facts: the bounds as text, by symbol, for proofs.
    """

    ranges: Mapping[sp.Symbol, Range]
    slack: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)
    variables: frozenset[sp.Symbol] = frozenset()
    exact: bool = True
    facts: Mapping[sp.Symbol, str] = field(default_factory=dict)

    def independent(self, expression: sp.Expr) -> sp.Expr:
        """The expression with every coupled parameter written as bound plus slack."""
        for symbol, replacement in reversed(list(self.slack.items())):
            expression = expression.xreplace({symbol: replacement})
        return expression

    def range(self, symbol: sp.Symbol) -> Range:
        return self.ranges.get(symbol, Range())

    def fixed(self) -> frozenset[sp.Symbol]:
        """Symbols that end points of other ranges mention: they are not moved."""
        ends = [end for r in self.ranges.values() for end in (r.lower, r.upper) if end]
        return frozenset(s for end in ends for s in end.at.free_symbols)


def domain_of(law: Law, claim: Claim | None = None, extra: Iterable[Quantity] = ()) -> Box:
    """The domain of a law, narrowed by the conditions of a claim.

    Args:
        law: the law.
        claim: whose `for` conditions narrow it.
        extra: quantities that the claim brings in, such as the r0 of `L(r = r0)`.
    """
    ranges: dict[sp.Symbol, Range] = {}
    slack: dict[sp.Symbol, sp.Expr] = {}
    facts: dict[sp.Symbol, str] = {}
    exact = True
    settings = {q.symbol for q in law.settings}
    for q in law.settings:
        above = q.value is not None and q.value > 0
        ranges[q.symbol] = Range(End(sp.S.Zero, False)) if above else _at(q)
        facts[q.symbol] = f"{q.name} > 0" if above else f"{q.name} = {q.value}"
    for q in (*law.variables, *law.parameters, *extra):
        bounds = (*q.bounds, *_conditions(law, claim, q.name))
        coupled = [b for b in bounds if b.limit.free_symbols - settings]
        plain = [b for b in bounds if b not in coupled]
        if bounds:
            facts[q.symbol] = ", ".join(f"{q.name} {b.relation} {b.text}" for b in bounds)
        if coupled:
            first = coupled[0]
            exact = exact and len(coupled) == 1 and _implied(plain, first)
            s = sp.Symbol(f"({q.name} - {first.text})", nonnegative=True)
            if first.strict:
                s = sp.Symbol(f"({q.name} - {first.text})", positive=True)
            ranges[s] = Range(End(sp.S.Zero, not first.strict))
            slack[q.symbol] = first.limit + s if first.lower else first.limit - s
        else:
            ranges[q.symbol] = _range(plain)
    for name, bounds in _opaque(law, claim):
        ranges[law.symbols[name]] = _range(bounds)
        facts[law.symbols[name]] = ", ".join(f"{name} {b.relation} {b.text}" for b in bounds)
    variables = frozenset(q.symbol for q in (*law.variables, *extra))
    return Box(ranges, slack, variables, exact, facts)


def _at(setting: Quantity) -> Range:
    value = sp.Rational(str(setting.value)) if setting.value is not None else sp.S.Zero
    return Range(End(value, True), End(value, True))


def _implied(plain: list[Bound], coupled: Bound) -> bool:
    """Whether the plain bounds say nothing that the coupled one does not: C > 0 beside C > C0 > 0."""
    for bound in plain:
        nonnegative = bound.limit.is_zero and bound.lower and coupled.lower
        if not (nonnegative and coupled.limit.is_nonnegative):
            return False
    return True


def _conditions(law: Law, claim: Claim | None, name: str) -> list[Bound]:
    found = []
    for of, relations in claim.conditions if claim else ():
        if of == name:
            for relation, limit in relations:
                from lawdsl.language.printing import print_formula

                found.append(Bound(relation, law.to_sympy(limit), print_formula(limit)))
    return found


def _opaque(law: Law, claim: Claim | None) -> list[tuple[str, list[Bound]]]:
    """Lets that the claim treats as variables of their own, with the conditions on them."""
    found = []
    for name, symbol in law.declarations.symbols.items():
        if symbol.kind == "let":
            bounds = _conditions(law, claim, name)
            if law.symbols[name].is_positive:
                bounds.append(Bound(">", sp.S.Zero, "0"))
            found.append((name, bounds))
    return found


def _range(bounds: Iterable[Bound]) -> Range:
    """The intersection of bounds; of two on one side the tighter, where that is known."""
    lower = upper = None
    for bound in bounds:
        end = End(bound.limit, not bound.strict)
        if bound.lower:
            lower = end if lower is None else _tighter(lower, end, 1)
        else:
            upper = end if upper is None else _tighter(upper, end, -1)
    return Range(lower, upper)


def _tighter(one: End, other: End, side: int) -> End:
    """The inner of two ends. Where neither is known to be, either is a bound, and the first is kept."""
    difference = side * (other.at - one.at)
    if difference.is_zero:
        return one if not one.closed else other
    return other if difference.is_positive else one
