"""Where a formula has a finite real value: each division, power, root and logarithm is looked at.

The formula is taken as it was written, before algebra can cancel what has no value. If every part
has a value wherever its own parts have, the whole has one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import sympy as sp

from lawdsl.core.functions import FUNCTIONS
from lawdsl.core.time_limit import OutOfTime, time_limit
from lawdsl.language import tree
from lawdsl.language.printer import print_formula
from lawdsl.law.functions import SYMPY
from lawdsl.law.law import Law
from lawdsl.law.text import text
from lawdsl.proof.box import Box
from lawdsl.proof.counterexample import Point, Wanted, certain_sign, find_point
from lawdsl.proof.signs.calculus import Signs
from lawdsl.proof.signs.sign import DOMAINS, Sign

Places = Mapping[sp.Symbol, sp.Expr]

_BITS = {-1: Sign.NEGATIVE, 0: Sign.ZERO, 1: Sign.POSITIVE}


@dataclass(frozen=True)
class Doubt:
    """A part that is not proved to have a value: where its argument has one of the signs, it has.

    Attributes:
        node: the part.
        shown: the part as text.
        argument: what decides whether it has a value, in the box's symbols.
        allowed: the signs of it that are fine.
        said: the argument as text.
    """

    node: tree.Formula
    shown: str
    argument: sp.Expr
    allowed: Sign
    said: str

    @property
    def blame(self) -> str:
        return f"{self.shown} may have no value"

    def proved(self, signs: Signs) -> bool:
        """Whether it has a value on the whole box."""
        return signs.sign(signs.box.independent(self.argument)).within(self.allowed)

    def holds(self, box: Box, point: Point) -> bool:
        """Whether it certainly has a value at a point."""
        sign = certain_sign(box, self.argument, point)
        return sign is not None and _BITS[sign] in self.allowed

    def broken(self, box: Box) -> tuple[Point, str] | None:
        """A verified point at which it has none, and what is wrong there."""
        wrong = tuple(sign for sign, bit in _BITS.items() if bit not in self.allowed)
        found = find_point(box, [Wanted(self.argument, wrong)])
        relation = {(-1,): "< 0", (0,): "= 0", (-1, 0): "<= 0"}[wrong]
        return (found, f"{self.said} {relation}") if found else None


@dataclass(frozen=True)
class Place(Doubt):
    """A place at which a law is taken, which must lie in its domain."""

    @property
    def blame(self) -> str:
        return f"whether {self.shown} lies in the domain is not known"


@dataclass(frozen=True)
class PowerDoubt:
    """A power with an exponent that is no whole number: base > 0, or base = 0 and exponent > 0."""

    node: tree.Formula
    shown: str
    base: sp.Expr
    exponent: sp.Expr
    said: str

    @property
    def blame(self) -> str:
        return f"{self.shown} may have no value"

    def proved(self, signs: Signs) -> bool:
        box = signs.box
        under = signs.sign(box.independent(self.base))
        exponent = box.independent(self.exponent)
        if under == Sign.POSITIVE:
            return signs.finite(exponent)
        return under.within(Sign.NONNEGATIVE) and signs.sign(exponent) == Sign.POSITIVE

    def holds(self, box: Box, point: Point) -> bool:
        under = certain_sign(box, self.base, point)
        return under == 1 or under == 0 and certain_sign(box, self.exponent, point) == 1

    def broken(self, box: Box) -> tuple[Point, str] | None:
        """0 to a power that is not positive; a negative number to the power 1/2."""
        zero = [Wanted(self.base, (0,)), Wanted(self.exponent, (-1, 0))]
        found = find_point(box, zero)
        if found is not None:
            return found, f"{self.said} = 0"
        if self.exponent.is_Rational:
            found = find_point(box, [Wanted(self.base, (-1,))])
            return (found, f"{self.said} < 0") if found else None
        return None


@dataclass(frozen=True)
class SlopeDoubt:
    """A derivative: it may be infinite where the law is not, and has no value at a kink.

    Attributes:
        node: the derivative.
        shown: it as text.
        slopes: it, and the first ones by each name on the way to it.
        kinks: what must not be 0, for the modulus, maximum or minimum not to have a kink.
    """

    node: tree.Formula
    shown: str
    slopes: tuple[sp.Expr, ...]
    kinks: tuple[sp.Expr, ...]

    @property
    def blame(self) -> str:
        return f"{self.shown} may have no value"

    def proved(self, signs: Signs) -> bool:
        kinks = [signs.sign(signs.box.independent(kink)) for kink in self.kinks]
        slopes = [signs.finite(signs.box.independent(slope)) for slope in self.slopes]
        return all(kink.within(Sign.NONZERO) for kink in kinks) and all(slopes)

    def holds(self, box: Box, point: Point) -> bool:
        kinks = [certain_sign(box, kink, point) in (-1, 1) for kink in self.kinks]
        slopes = [certain_sign(box, slope, point) is not None for slope in self.slopes]
        return all(kinks) and all(slopes)

    def broken(self, box: Box) -> tuple[Point, str] | None:
        """Not looked for: a claim that a law is finite says nothing of its derivatives."""
        return None


def _kinks(e: sp.Expr, by: set[sp.Symbol]) -> Iterator[sp.Expr]:
    """What is 0 where an expression has a kink in one of some symbols."""
    for part in e.atoms(sp.Abs, sp.Max, sp.Min):
        if isinstance(part, sp.Abs):
            pairs = [(part.args[0], sp.S.Zero)]
        else:
            pairs = list(combinations(part.args, 2))
        yield from (one - other for one, other in pairs if (one - other).free_symbols & by)


AnyDoubt = Doubt | PowerDoubt | SlopeDoubt


def parts_of(law: Law, formulas: Sequence[tree.Formula], box: Box) -> list[AnyDoubt]:
    """The parts of formulas (lets and laws included) that decide whether they have a value."""
    return [part for formula in formulas for part in _Parts(law, box).of(formula)]


class Defined:
    """Parts proved to have a value, by box: most claims of a law share formulas and domain.

    Only proofs are kept. What is not proved in the time of one claim may be in that of the next.
    """

    def __init__(self) -> None:
        self._boxes: list[tuple[Box, dict[AnyDoubt, frozenset[sp.Symbol]]]] = []

    def on(self, box: Box) -> dict[AnyDoubt, frozenset[sp.Symbol]]:
        """Part -> the symbols whose ranges its proof has used, for the parts proved on a box."""
        for known, parts in self._boxes:
            if known == box:
                return parts
        self._boxes.append((box, {}))
        return self._boxes[-1][1]


def unproved(
    parts: Sequence[AnyDoubt],
    signs: Signs,
    seconds: float = math.inf,
    defined: Defined | None = None,
) -> list[AnyDoubt]:
    """The parts that are not proved to have a value on the whole box, in the time given.

    Args:
        parts: what must have a value.
        signs: on the box.
        seconds: CPU time for all parts.
        defined: proofs of earlier claims; those that are new are added.
    """
    remaining: list[AnyDoubt] = []
    proofs = (defined or Defined()).on(signs.box)
    done = 0
    try:
        with time_limit(seconds) if seconds < math.inf else nullcontext():
            for part in parts:
                if part in proofs:
                    for symbol in proofs[part]:
                        signs.use(symbol)
                else:
                    proved, used = signs.with_used(partial(part.proved, signs))
                    if proved:
                        proofs[part] = used
                    else:
                        remaining.append(part)
                done += 1
    except OutOfTime:
        remaining += parts[done:]
    return remaining


def doubts(law: Law, formulas: Sequence[tree.Formula], signs: Signs) -> list[AnyDoubt]:
    """The parts of formulas (lets and laws included) that may have no value on the box."""
    return unproved(parts_of(law, formulas, signs.box), signs)


class _Parts:
    """The parts of a formula that decide whether it has a value."""

    def __init__(self, law: Law, box: Box) -> None:
        self.law = law
        self.opaque = tuple(s.name for s in box.lets if s.name in law.symbols)
        self.extra = {s.name: s for s in box.relations if s.name not in law.symbols}
        self.seen: set[tuple[str, tuple[tuple[sp.Symbol, sp.Expr], ...]]] = set()

    def of(self, formula: tree.Formula, places: Places | None = None) -> Iterator[AnyDoubt]:
        """The parts of a formula in which symbols stand for what `places` says."""
        places = places or {}
        for node in tree.walk(formula):
            match node:
                case tree.Name(name):
                    yield from self._definition(name, places)
                case tree.Derivative(named):
                    yield from self._definition(tree.name_of(named), places)
                    yield self._slope(node, places)
                case tree.Product(factors):
                    for operator, factor in factors:
                        if operator == "/":
                            yield self._division(factor, places)
                case tree.Power(base, exponent):
                    yield from self._power(node, base, exponent, places)
                case tree.Call(function, (argument, *_)) if function in FUNCTIONS:
                    yield from self._function(node, function, argument, places)
                case tree.Call(output, (), keywords):
                    yield from self._taken_at(node, output, keywords, places)

    def _algebra(self, node: tree.Formula, places: Places) -> sp.Expr:
        return self.law.to_sympy(node, self.opaque, self.extra).xreplace(dict(places))

    def _slope(self, node: tree.Derivative, places: Places) -> SlopeDoubt:
        by = {self.law.symbols[tree.name_of(name)] for name in node.wrt}
        opaque = (*self.opaque, *(s.name for s in by))
        of = self.law.to_sympy(tree.Name(tree.name_of(node.of)), opaque, self.extra)
        kinks = tuple(kink.xreplace(dict(places)) for kink in _kinks(of, by))
        first = [tree.Derivative(node.of, (name,), 1) for name in dict.fromkeys(node.wrt)]
        slopes = tuple(self._algebra(part, places) for part in (node, *first))
        return SlopeDoubt(node, print_formula(node), slopes, kinks)

    def _definition(self, name: str, places: Places) -> Iterator[AnyDoubt]:
        symbol = self.law.declarations.symbols.get(name)
        key = name, tuple(places.items())
        if symbol and symbol.formula and symbol.kind != "setting" and key not in self.seen:
            self.seen.add(key)
            yield from self.of(symbol.formula, places)

    def _division(self, factor: tree.Formula, places: Places) -> Doubt:
        whole = tree.Product((("*", tree.Number("1")), ("/", factor)))
        at = self._algebra(factor, places)
        return Doubt(factor, print_formula(whole), at, Sign.NONZERO, print_formula(factor))

    def _power(
        self, node: tree.Formula, base: tree.Formula, exponent: tree.Formula, places: Places
    ) -> Iterator[AnyDoubt]:
        under, over = self._algebra(base, places), self._algebra(exponent, places)
        shown, said = print_formula(node), print_formula(base)
        if not over.is_Integer:
            yield PowerDoubt(node, shown, under, over, said)
        elif not over.is_positive:
            yield Doubt(node, shown, under, Sign.NONZERO, said)

    def _function(
        self, node: tree.Call, function: str, argument: tree.Formula, places: Places
    ) -> Iterator[Doubt]:
        row, shown, said = FUNCTIONS[function], print_formula(node), print_formula(argument)
        at = self._algebra(argument, places)
        if row.domain != "all":
            yield Doubt(node, shown, at, DOMAINS[row.domain], said)
        if row.divides_by is not None:
            divisor = getattr(SYMPY, row.divides_by)(at)
            yield Doubt(node, shown, divisor, Sign.NONZERO, text(divisor))

    def _taken_at(
        self,
        node: tree.Call,
        output: str,
        keywords: Sequence[tuple[str, tree.Formula]],
        places: Places,
    ) -> Iterator[AnyDoubt]:
        """`L(r = 2*r)`: the places must lie in the domains; then the law is looked at there."""
        known = {q.name: q for q in (*self.law.variables, *self.law.parameters)}
        inner = {self.law.symbols[name]: self._algebra(at, places) for name, at in keywords}
        for name, at in keywords:
            for bound in known[name].bounds if name in known else ():
                value, limit = inner[self.law.symbols[name]], bound.limit.xreplace(inner)
                room = value - limit if bound.lower else limit - value
                allowed = Sign.POSITIVE if bound.strict else Sign.NONNEGATIVE
                yield Place(node, f"{name} = {print_formula(at)}", room, allowed, text(room))
        yield from self._definition(output, inner)
