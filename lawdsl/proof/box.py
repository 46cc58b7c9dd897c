"""Box: the domain of a claim as a product of intervals; plain data that every rule reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import sympy as sp

from lawdsl.compiling.interval_evaluation import interval_sign
from lawdsl.compiling.tape import compile_tape
from lawdsl.law.algebra import merge_powers


@dataclass(frozen=True)
class Endpoint:
    """One end of an interval: its value, and whether the interval contains it (`closed`)."""

    value: sp.Expr
    closed: bool


@dataclass(frozen=True)
class SymbolRange:
    """The interval of one symbol; None: no bound on that side."""

    lower: Endpoint | None = None
    upper: Endpoint | None = None


@dataclass(frozen=True)
class Relation:
    """`positive > 0` in the domain; not strict: `positive >= 0`."""

    positive: sp.Expr
    strict: bool


@dataclass(frozen=True)
class Box:
    """Ranges of symbols, and their relations to the quantities of a law.

    A parameter whose bound names others (C > C0) is written as that bound and a slack, C = C0 + s
    with s > 0. After that every symbol ranges over its interval independently of the others; an end
    point names settings only. The box contains the domain, and is the domain itself unless
    `relations` says more than the ranges do.

    Attributes:
        ranges: symbol -> its range. A symbol without one is any real number.
        slack: quantity -> the expression that replaces it: C0 + s.
        meaning: slack symbol -> its expression in quantities: C - C0.
        variables: the symbols that a condition on the parameters may not mention.
        settings: setting or fixed parameter -> its value. Proofs use its sign only, where that is
            enough.
        lets: let that is a symbol of its own (for ∂L/∂K) -> its formula. Its range may be too
            large.
        fresh: those of `lets` that a claim names (the K0 of `L(K = K0)`). They are values of the
            formula at any point of the domain, not at the point of the other variables.
        relations: quantity -> the relations that its domain and the claim's conditions state.
        tied: whether some quantity has relations beyond its range or slack.
        ragged: whether the variables' domain changes with the parameters in a way that the ranges
            do not show; a condition is then never called necessary.
        facts: symbol -> its domain as text, for proofs.
    """

    ranges: Mapping[sp.Symbol, SymbolRange] = field(default_factory=dict)
    slack: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)
    meaning: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)
    variables: frozenset[sp.Symbol] = frozenset()
    settings: Mapping[sp.Symbol, Fraction] = field(default_factory=dict)
    lets: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)
    fresh: frozenset[sp.Symbol] = frozenset()
    relations: Mapping[sp.Symbol, tuple[Relation, ...]] = field(default_factory=dict)
    tied: bool = False
    ragged: bool = False
    facts: Mapping[sp.Symbol, str] = field(default_factory=dict)

    def range(self, symbol: sp.Symbol) -> SymbolRange:
        """The range of a symbol; unbounded for one that is not in the box."""
        return self.ranges.get(symbol, SymbolRange())

    @property
    def parameters(self) -> frozenset[sp.Symbol]:
        """The symbols with a range of their own that are parameters, or stand for one."""
        return frozenset(self.ranges.keys() | self.meaning.keys() | self.relations.keys()) - (
            self.variables | self.settings.keys() | self.lets.keys()
        )

    def fixed(self) -> frozenset[sp.Symbol]:
        """The symbols that occur in end points of other ranges, which rules do not vary."""
        ends = [end for r in self.ranges.values() for end in (r.lower, r.upper) if end]
        return frozenset(s for end in ends for s in end.value.free_symbols)

    def independent(self, e: sp.Expr) -> sp.Expr:
        """The expression with every coupled quantity written as bound plus slack."""
        for _ in self.slack:  # a bound may name further coupled quantities
            if not e.free_symbols & set(self.slack):
                break
            e = merge_powers(e.xreplace(self.slack))
        return e

    def declared(self, e: sp.Expr) -> sp.Expr:
        """The expression in the law's own quantities: slacks and lets expanded.

        For points only: there a fresh symbol is given the value of its let at the same point.
        """
        return e.xreplace(self.meaning).xreplace(self.lets)

    def without_lets(self, e: sp.Expr) -> sp.Expr:
        """The expression with lets expanded, as long as its values on the domain remain the same.

        A fresh symbol is expanded only where its formula shares no variable with the rest of the
        expression, and none that a relation ties to one of these.
        """
        e = e.xreplace({s: formula for s, formula in self.lets.items() if s not in self.fresh})
        fresh = sorted(e.free_symbols & self.fresh, key=str)
        tied = {s: self._tied_to(self.lets[s].free_symbols) for s in fresh}
        separable = {}
        for s in fresh:
            shared = (e.free_symbols & self.variables) - self.fresh
            shared |= {x for other in fresh if other != s for x in tied[other]}
            if not tied[s] & shared:
                separable[s] = self.lets[s]
        return e.xreplace(separable)

    def _tied_to(self, symbols: set[sp.Symbol]) -> set[sp.Symbol]:
        """The variables among the symbols, and those coupled to them by relations, transitively."""
        coupled = symbols & self.variables
        groups = [
            {q, *(s for r in relations for s in r.positive.free_symbols)} & self.variables
            for q, relations in self.relations.items()
        ]
        while True:
            enlarged = coupled.union(*(group for group in groups if group & coupled))
            if enlarged == coupled:
                return coupled
            coupled = enlarged

    def contradiction(self) -> sp.Symbol | None:
        """A symbol whose range is certainly empty, or None."""
        for symbol, domain in self.ranges.items():
            if domain.lower is not None and domain.upper is not None:
                width = settings_sign(self.settings, domain.upper.value - domain.lower.value)
                if width == -1 or width == 0 and not (domain.lower.closed and domain.upper.closed):
                    return symbol
        return None


def settings_sign(settings: Mapping[sp.Symbol, Fraction], difference: sp.Expr) -> int | None:
    """The certain sign of an expression in numbers and settings.

    Args:
        settings: setting -> its value.
        difference: the expression.

    Returns:
        -1, 0 or 1; None where the sign is not certain, or the expression has other symbols.
    """
    symbols = sorted(settings, key=str)
    if difference.free_symbols - set(symbols):
        return None
    return interval_sign(compile_tape([difference], symbols), [settings[s] for s in symbols])
