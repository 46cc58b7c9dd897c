"""Formula and domains -> the set of its possible signs, without computer algebra.

The sign of a sum or product follows from those of its parts. These signs are needed while a law is
read, before SymPy is loaded, to determine which bounds preserve a domain. Proofs of claims use a
stronger calculus on SymPy expressions (`lawdsl/proof/signs`), with dominance of terms, end points
and limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from lawdsl.core.functions import EXTREMA, FUNCTIONS
from lawdsl.language import tree
from lawdsl.language.constants import TooLarge, Undefined, Value, value
from lawdsl.language.symbols import Symbol
from lawdsl.language.tree import Formula

Sign = frozenset[int]  # those of -1, 0 and 1 that are possible

UNKNOWN = frozenset({-1, 0, 1})
POSITIVE, NEGATIVE = frozenset({1}), frozenset({-1})
MAX_SIGN_DEPTH = 120  # formulas within formulas, by way of the bounds of their names


@dataclass(frozen=True)
class KnownSigns:
    """The known facts about names: the symbols of a law, and the values of its settings."""

    symbols: Mapping[str, Symbol]
    settings: Mapping[str, Value]
    signs: dict[str, Sign] = field(default_factory=dict, compare=False)  # of names, once known

    def number(self, formula: Formula) -> Value:
        """The value of a formula of numbers and settings; None where it is undefined or no number."""
        try:
            return value(formula, self.settings)
        except (Undefined, TooLarge):
            return None

    def sign(self, formula: Formula, depth: int = 0) -> Sign:
        """The set of signs (-1, 0, 1) that a formula may have on the declared domains.

        Args:
            formula: the formula.
            depth: the nesting of formulas through bounds so far.
        """
        exact = self.number(formula)
        if exact is not None:
            return frozenset({(exact > 0) - (exact < 0)})
        if depth > MAX_SIGN_DEPTH:
            return UNKNOWN

        def inner(part: Formula) -> Sign:
            return self.sign(part, depth + 1)

        match formula:
            case tree.Name(text) | tree.Element(text):
                return self._sign_of(text, depth)
            case tree.Aggregate(function, body):
                of_one = inner(body)
                if function == "prod":
                    return of_one if -1 not in of_one else UNKNOWN
                # any number of terms of these signs: two already give every sign that more can
                return frozenset().union(*(_sum(a, b) for a in of_one for b in of_one))
            case tree.Negative(operand):
                return frozenset(-s for s in inner(operand))
            case tree.Sum(terms):
                total = frozenset({0})
                for op, term in terms:
                    part_signs = inner(term)
                    part_signs = part_signs if op == "+" else frozenset(-s for s in part_signs)
                    total = frozenset().union(*(_sum(a, b) for a in total for b in part_signs))
                return total
            case tree.Product(factors):
                signs = [(op, inner(factor)) for op, factor in factors]
                # a quotient by 0 has no value
                if any(op == "/" and 0 in s for op, s in signs):
                    return UNKNOWN
                total = frozenset({1})
                for _, part_signs in signs:
                    total = frozenset(a * b for a in total for b in part_signs)
                return total
            case tree.Power(base, exponent):
                return self._power(inner(base), exponent, depth)
            case tree.Conditional(_, _, _, yes, no):
                return inner(yes) | inner(no)
            case tree.Call(function, arguments):
                return _call(function, [inner(a) for a in arguments])
        return UNKNOWN

    def _sign_of(self, name: str, depth: int) -> Sign:
        if name not in self.signs:
            symbol = self.symbols.get(name)
            self.signs[name] = UNKNOWN if symbol is None else self._of(symbol, depth + 1)
        return self.signs[name]

    def _of(self, symbol: Symbol, depth: int) -> Sign:
        signs = UNKNOWN
        if symbol.kind == "let" and symbol.formula is not None:
            signs = self.sign(symbol.formula, depth)
        for relation, limit in symbol.bounds if symbol.kind in ("parameter", "variable") else ():
            limit_signs = self.sign(limit, depth)
            if relation[0] == ">" and -1 not in limit_signs:
                signs &= POSITIVE if relation == ">" or 0 not in limit_signs else {0, 1}
            elif relation[0] == "<" and 1 not in limit_signs:
                signs &= NEGATIVE if relation == "<" or 0 not in limit_signs else {-1, 0}
        return signs

    def _power(self, base: Sign, exponent: Formula, depth: int) -> Sign:
        power = self.number(exponent)
        if base == POSITIVE:
            return POSITIVE
        if not isinstance(power, Fraction) or power.denominator != 1 or power <= 0:
            return base if -1 not in base and self.sign(exponent, depth) == POSITIVE else UNKNOWN
        return base if power % 2 else frozenset(s * s for s in base)


def _sum(a: int, b: int) -> Sign:
    return frozenset({a or b}) if not a or not b or a == b else UNKNOWN


def _call(function: str, signs: list[Sign]) -> Sign:
    if function in EXTREMA:
        inner = max if function == "max" else min
        low, high = inner(min(s) for s in signs), inner(max(s) for s in signs)
        return frozenset(range(low, high + 1))
    if function not in FUNCTIONS or not signs:
        return UNKNOWN
    row, (argument, *_) = FUNCTIONS[function], signs
    if row.domain != "all" and -1 in argument:
        return UNKNOWN
    if row.zero == 0 and row.monotone:
        return frozenset(row.monotone * s for s in argument)
    if row.range[0] != 0:
        return UNKNOWN
    if row.zero == 0:
        return frozenset(s * s for s in argument)
    return frozenset({0, 1}) if row.reached else POSITIVE


def known_signs_of(symbols: Mapping[str, Symbol], overrides: Mapping[str, float]) -> KnownSigns:
    """The known facts about a law's names, for signs of its formulas.

    Args:
        symbols: name -> symbol.
        overrides: setting -> value that replaces its own.
    """
    settings = {
        s.name: overrides[s.name] if s.name in overrides else value(s.formula)
        for s in symbols.values()
        if s.kind == "setting" and s.formula is not None
    }
    return KnownSigns(symbols, settings)
