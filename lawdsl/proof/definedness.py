"""Formula -> the parts that may lack a finite real value: divisions, powers, functions.

The formula is examined as it was written, before algebra can cancel undefined parts. If every part
has a value wherever its own parts have one, so has the formula, by structural induction.
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
from lawdsl.proof.counterexample import Point, WitnessQuery, certain_sign, find_point
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.signs.sign import DOMAINS, Sign

Substitution = Mapping[sp.Symbol, sp.Expr]

_SIGN_BITS = {-1: Sign.NEGATIVE, 0: Sign.ZERO, 1: Sign.POSITIVE}


@dataclass(frozen=True)
class Doubt:
    """A part of a formula that has a value where its argument has an allowed sign; not yet proved.

    Attributes:
        node: the part.
        text: the part as text.
        argument: the expression whose sign decides, in the box's symbols.
        allowed: the signs of the argument for which the part has a value.
        argument_text: the argument as text.
    """

    node: tree.Formula
    text: str
    argument: sp.Expr
    allowed: Sign
    argument_text: str

    @property
    def blame(self) -> str:
        """Why the claim is undecided while this part is in doubt."""
        return f"{self.text} may have no value"

    def proved(self, signs: SignCalculus) -> bool:
        """Whether it has a value on the whole box."""
        return signs.sign(signs.box.independent(self.argument)).within(self.allowed)

    def holds(self, box: Box, point: Point) -> bool:
        """Whether it certainly has a value at a point.

        Args:
            box: the domain.
            point: quantity -> its rational value.
        """
        sign = certain_sign(box, self.argument, point)
        return sign is not None and _SIGN_BITS[sign] in self.allowed

    def violation(self, box: Box) -> tuple[Point, str] | None:
        """A verified point at which the part has no value, and the relation that it violates."""
        violating = tuple(sign for sign, bit in _SIGN_BITS.items() if bit not in self.allowed)
        point = find_point(box, [WitnessQuery(self.argument, violating)])
        relation = {(-1,): "< 0", (0,): "= 0", (-1, 0): "<= 0"}[violating]
        return (point, f"{self.argument_text} {relation}") if point else None


@dataclass(frozen=True)
class ArgumentDoubt(Doubt):
    """An argument of an evaluated law, `L(r = 2*r)`, which must be in the variable's domain."""

    @property
    def blame(self) -> str:
        """Why the claim is undecided while this part is in doubt."""
        return f"whether {self.text} lies in the domain is not known"


@dataclass(frozen=True)
class PowerDoubt:
    """A power with a non-integer exponent: requires base > 0, or base = 0 and exponent > 0."""

    node: tree.Formula
    text: str
    base: sp.Expr
    exponent: sp.Expr
    argument_text: str

    @property
    def blame(self) -> str:
        """Why the claim is undecided while this part is in doubt."""
        return f"{self.text} may have no value"

    def proved(self, signs: SignCalculus) -> bool:
        """Whether it has a value on the whole box."""
        box = signs.box
        under = signs.sign(box.independent(self.base))
        exponent = box.independent(self.exponent)
        if under == Sign.POSITIVE:
            return signs.finite(exponent)
        return under.within(Sign.NONNEGATIVE) and signs.sign(exponent) == Sign.POSITIVE

    def holds(self, box: Box, point: Point) -> bool:
        """Whether it certainly has a value at a point.

        Args:
            box: the domain.
            point: quantity -> its rational value.
        """
        under = certain_sign(box, self.base, point)
        return under == 1 or under == 0 and certain_sign(box, self.exponent, point) == 1

    def violation(self, box: Box) -> tuple[Point, str] | None:
        """A verified point at which 0 has a nonpositive exponent, or a negative base a rational
        exponent; or None."""
        # 0^y has a value for y > 0 only
        zero = [WitnessQuery(self.base, (0,)), WitnessQuery(self.exponent, (-1, 0))]
        point = find_point(box, zero)
        if point is not None:
            return point, f"{self.argument_text} = 0"
        if self.exponent.is_Rational:
            point = find_point(box, [WitnessQuery(self.base, (-1,))])
            return (point, f"{self.argument_text} < 0") if point else None
        return None


@dataclass(frozen=True)
class SlopeDoubt:
    """A derivative: it may be infinite where the law is finite, and has no value at a kink.

    Attributes:
        node: the derivative.
        text: the derivative as text.
        slopes: the derivative, and the lower-order ones from which it is formed.
        kinks: expressions that must not be 0, so that no modulus, maximum or minimum has a kink.
    """

    node: tree.Formula
    text: str
    slopes: tuple[sp.Expr, ...]
    kinks: tuple[sp.Expr, ...]

    @property
    def blame(self) -> str:
        """Why the claim is undecided while this part is in doubt."""
        return f"{self.text} may have no value"

    def proved(self, signs: SignCalculus) -> bool:
        """Whether it has a value on the whole box."""
        kinks = [signs.sign(signs.box.independent(kink)) for kink in self.kinks]
        slopes = [signs.finite(signs.box.independent(slope)) for slope in self.slopes]
        return all(kink.within(Sign.NONZERO) for kink in kinks) and all(slopes)

    def holds(self, box: Box, point: Point) -> bool:
        """Whether it certainly has a value at a point.

        Args:
            box: the domain.
            point: quantity -> its rational value.
        """
        kinks = [certain_sign(box, kink, point) in (-1, 1) for kink in self.kinks]
        slopes = [certain_sign(box, slope, point) is not None for slope in self.slopes]
        return all(kinks) and all(slopes)

    def violation(self, box: Box) -> tuple[Point, str] | None:
        """None: a claim that a law is finite does not extend to its derivatives."""
        return None


def _kinks(e: sp.Expr, symbols: set[sp.Symbol]) -> Iterator[sp.Expr]:
    """Expressions that vanish where an expression has a kink in one of the symbols."""
    for part in e.atoms(sp.Abs, sp.Max, sp.Min):
        if isinstance(part, sp.Abs):
            pairs = [(part.args[0], sp.S.Zero)]
        else:
            # at a kink of a maximum two of its arguments are equal
            pairs = list(combinations(part.args, 2))
        yield from (one - other for one, other in pairs if (one - other).free_symbols & symbols)


AnyDoubt = Doubt | PowerDoubt | SlopeDoubt


def parts_of(law: Law, formulas: Sequence[tree.Formula], box: Box) -> list[AnyDoubt]:
    """The parts of formulas, with their lets and laws, that decide whether they have a value.

    Args:
        law: the law.
        formulas: formulas of the law or of a claim.
        box: the domain.
    """
    return [part for formula in formulas for part in _DefinednessConditions(law, box).of(formula)]


class ProvedParts:
    """The parts proved to have a value, by box: most claims of a law share formulas and domain.

    Only proofs are stored. A part that is not proved within the time of one claim may be proved
    within that of the next.
    """

    def __init__(self) -> None:
        self._boxes: list[tuple[Box, dict[AnyDoubt, frozenset[sp.Symbol]]]] = []

    def on(self, box: Box) -> dict[AnyDoubt, frozenset[sp.Symbol]]:
        """Part -> the symbols whose ranges its proof used, for the parts proved on a box."""
        # a list, as boxes hold mappings and have no hash
        for cached_box, parts in self._boxes:
            if cached_box == box:
                return parts
        self._boxes.append((box, {}))
        return self._boxes[-1][1]


def unproved(
    parts: Sequence[AnyDoubt],
    signs: SignCalculus,
    seconds: float = math.inf,
    defined: ProvedParts | None = None,
) -> list[AnyDoubt]:
    """The parts that are not proved to have a value on the whole box, in the time given.

    Args:
        parts: the parts that must have a value.
        signs: the signs on the box.
        seconds: CPU time for all parts.
        defined: proofs of earlier claims; those that are new are added.
    """
    remaining: list[AnyDoubt] = []
    proofs = (defined or ProvedParts()).on(signs.box)
    examined = 0
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
                examined += 1
    except OutOfTime:
        # what the time does not suffice for counts as unproved
        remaining += parts[examined:]
    return remaining


def doubts(law: Law, formulas: Sequence[tree.Formula], signs: SignCalculus) -> list[AnyDoubt]:
    """The parts of formulas, their lets and laws that are not proved to have a value on the box.

    Args:
        law: the law.
        formulas: formulas of the law or of a claim.
        signs: the signs on the box.
    """
    return unproved(parts_of(law, formulas, signs.box), signs)


class _DefinednessConditions:
    """The parts of a formula that decide whether it has a value."""

    def __init__(self, law: Law, box: Box) -> None:
        self.law = law
        self.opaque = tuple(s.name for s in box.lets if s.name in law.symbols)
        self.extra = {s.name: s for s in box.relations if s.name not in law.symbols}
        self.seen: set[tuple[str, tuple[tuple[sp.Symbol, sp.Expr], ...]]] = set()

    def of(
        self, formula: tree.Formula, substitution: Substitution | None = None
    ) -> Iterator[AnyDoubt]:
        """The parts of a formula after a substitution of its symbols."""
        substitution = substitution or {}
        for node in tree.walk(formula):
            match node:
                case tree.Name(name):
                    yield from self._definition(name, substitution)
                case tree.Derivative(named):
                    yield from self._definition(tree.name_of(named), substitution)
                    yield self._slope(node, substitution)
                case tree.Product(factors):
                    for operator, factor in factors:
                        if operator == "/":
                            yield self._division(factor, substitution)
                case tree.Power(base, exponent):
                    yield from self._power(node, base, exponent, substitution)
                case tree.Call(function, (argument, *_)) if function in FUNCTIONS:
                    yield from self._function(node, function, argument, substitution)
                case tree.Call(output, (), keywords):
                    yield from self._taken_at(node, output, keywords, substitution)

    def _algebra(self, node: tree.Formula, substitution: Substitution) -> sp.Expr:
        return self.law.to_sympy(node, self.opaque, self.extra).xreplace(dict(substitution))

    def _slope(self, node: tree.Derivative, substitution: Substitution) -> SlopeDoubt:
        symbols = {self.law.symbols[tree.name_of(name)] for name in node.wrt}
        opaque = (*self.opaque, *(s.name for s in symbols))
        output = self.law.to_sympy(tree.Name(tree.name_of(node.of)), opaque, self.extra)
        kinks = tuple(kink.xreplace(dict(substitution)) for kink in _kinks(output, symbols))
        # a higher derivative may have a value where the first has none
        first = [tree.Derivative(node.of, (name,), 1) for name in dict.fromkeys(node.wrt)]
        slopes = tuple(self._algebra(part, substitution) for part in (node, *first))
        return SlopeDoubt(node, print_formula(node), slopes, kinks)

    def _definition(self, name: str, substitution: Substitution) -> Iterator[AnyDoubt]:
        symbol = self.law.declarations.symbols.get(name)
        key = name, tuple(substitution.items())
        # once for each substitution: many formulas share their lets
        if symbol and symbol.formula and symbol.kind != "setting" and key not in self.seen:
            self.seen.add(key)
            yield from self.of(symbol.formula, substitution)

    def _division(self, factor: tree.Formula, substitution: Substitution) -> Doubt:
        quotient = tree.Product((("*", tree.Number("1")), ("/", factor)))
        divisor = self._algebra(factor, substitution)
        return Doubt(factor, print_formula(quotient), divisor, Sign.NONZERO, print_formula(factor))

    def _power(
        self,
        node: tree.Formula,
        base: tree.Formula,
        exponent: tree.Formula,
        substitution: Substitution,
    ) -> Iterator[AnyDoubt]:
        under, over = self._algebra(base, substitution), self._algebra(exponent, substitution)
        formula, base_text = print_formula(node), print_formula(base)
        if not over.is_Integer:
            yield PowerDoubt(node, formula, under, over, base_text)
        elif not over.is_positive:
            yield Doubt(node, formula, under, Sign.NONZERO, base_text)

    def _function(
        self, node: tree.Call, function: str, argument: tree.Formula, substitution: Substitution
    ) -> Iterator[Doubt]:
        row, formula, argument_text = (
            FUNCTIONS[function],
            print_formula(node),
            print_formula(argument),
        )
        value = self._algebra(argument, substitution)
        if row.domain != "all":
            yield Doubt(node, formula, value, DOMAINS[row.domain], argument_text)
        if row.divides_by is not None:
            divisor = getattr(SYMPY, row.divides_by)(value)
            yield Doubt(node, formula, divisor, Sign.NONZERO, text(divisor))

    def _taken_at(
        self,
        node: tree.Call,
        output: str,
        keywords: Sequence[tuple[str, tree.Formula]],
        substitution: Substitution,
    ) -> Iterator[AnyDoubt]:
        """The conditions of an evaluated law, `L(r = 2*r)`: those of its arguments, then those of
        its parts."""
        quantities = {q.name: q for q in (*self.law.variables, *self.law.parameters)}
        arguments = {
            self.law.symbols[name]: self._algebra(formula, substitution)
            for name, formula in keywords
        }
        for name, formula in keywords:
            for bound in quantities[name].bounds if name in quantities else ():
                value, limit = arguments[self.law.symbols[name]], bound.limit.xreplace(arguments)
                room = value - limit if bound.lower else limit - value
                allowed = Sign.POSITIVE if bound.strict else Sign.NONNEGATIVE
                yield ArgumentDoubt(
                    node, f"{name} = {print_formula(formula)}", room, allowed, text(room)
                )
        yield from self._definition(output, arguments)
