"""The domain that a claim speaks of, as a product of intervals: plain data that every rule reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import sympy as sp

from lawdsl.algebra import merge_powers
from lawdsl.compiling.certain import interval_sign
from lawdsl.compiling.tape import compile_tape


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
class Relation:
    """`positive > 0` in the domain; not strict: `positive >= 0`."""

    positive: sp.Expr
    strict: bool


@dataclass(frozen=True)
class Box:
    """Ranges of symbols, and what ties them to the quantities of a law.

    A parameter whose bound names others (C > C0) is written as that bound and a slack, C = C0 + s
    with s > 0. After that every symbol ranges over its interval whatever the others are; an end
    point names settings only. The box contains the domain, and is the domain itself unless
    `relations` says more than the ranges do.

    Attributes:
        ranges: symbol -> its range. A symbol without one is any real number.
        slack: quantity -> the expression that replaces it.
        meaning: slack symbol -> what it is: C - C0.
        variables: the symbols that a condition on the parameters may not mention.
        settings: setting or fixed parameter -> its value. Proofs use its sign only, where that is
            enough.
        lets: let that stands for itself (∂L/∂K) -> its formula. Its range may be too large.
        relations: quantity -> the relations that its domain and the claim's conditions state.
        tied: whether some quantity has relations beyond its range or slack.
        ragged: whether the variables' domain changes with the parameters in a way that the ranges
            do not show; a condition is then never called necessary.
        facts: symbol -> its domain as text, for proofs.
    """

    ranges: Mapping[sp.Symbol, Range] = field(default_factory=dict)
    slack: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)
    meaning: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)
    variables: frozenset[sp.Symbol] = frozenset()
    settings: Mapping[sp.Symbol, Fraction] = field(default_factory=dict)
    lets: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)
    relations: Mapping[sp.Symbol, tuple[Relation, ...]] = field(default_factory=dict)
    tied: bool = False
    ragged: bool = False
    facts: Mapping[sp.Symbol, str] = field(default_factory=dict)

    def range(self, symbol: sp.Symbol) -> Range:
        return self.ranges.get(symbol, Range())

    @property
    def parameters(self) -> frozenset[sp.Symbol]:
        """The symbols with a range of their own that are parameters, or stand for one."""
        return frozenset(self.ranges.keys() | self.meaning.keys() | self.relations.keys()) - (
            self.variables | self.settings.keys() | self.lets.keys()
        )

    def fixed(self) -> frozenset[sp.Symbol]:
        """Symbols that end points of other ranges mention: they are not moved."""
        ends = [end for r in self.ranges.values() for end in (r.lower, r.upper) if end]
        return frozenset(s for end in ends for s in end.at.free_symbols)

    def independent(self, e: sp.Expr) -> sp.Expr:
        """The expression with every coupled quantity written as bound plus slack."""
        for _ in self.slack:  # a bound may name further coupled quantities
            if not e.free_symbols & set(self.slack):
                break
            e = merge_powers(e.xreplace(self.slack))
        return e

    def declared(self, e: sp.Expr) -> sp.Expr:
        """The expression in the law's own quantities: slacks and lets written out."""
        return e.xreplace(self.meaning).xreplace(self.lets)

    def contradiction(self) -> sp.Symbol | None:
        """A symbol to which its range leaves no value."""
        for symbol, found in self.ranges.items():
            if found.lower is not None and found.upper is not None:
                room = order(self.settings, found.upper.at - found.lower.at)
                if room == -1 or room == 0 and not (found.lower.closed and found.upper.closed):
                    return symbol
        return None


def order(settings: Mapping[sp.Symbol, Fraction], difference: sp.Expr) -> int | None:
    """The certain sign of an expression of numbers and settings; None where it is not certain."""
    known = sorted(settings, key=str)
    if difference.free_symbols - set(known):
        return None
    return interval_sign(compile_tape([difference], known), [settings[s] for s in known])
