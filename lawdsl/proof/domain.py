"""(law, claim) -> Box: the domain of the claim."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

import sympy as sp

from lawdsl.language import tree
from lawdsl.language.printer import print_formula
from lawdsl.language.symbols import Claim
from lawdsl.law.algebra import merge_powers
from lawdsl.law.functions import CONSTANTS
from lawdsl.law.law import Bound, Law
from lawdsl.law.text import text
from lawdsl.proof.box import Box, Endpoint, Relation, SymbolRange, settings_sign
from lawdsl.proof.implied_bounds import implied_bounds
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.signs.sign import Sign

Settings = Mapping[sp.Symbol, Fraction]


def domain_of(law: Law, claim: Claim | None = None) -> Box:
    """The domain of a law, narrowed by the conditions of a claim.

    The names that the claim introduces (the r0 of `L(r = r0)`) are variables with the domain of the
    variable that they replace. A let that it differentiates by, fixes or narrows becomes a symbol
    of its own.

    Args:
        law: the law.
        claim: the claim; None for the whole domain.
    """
    builder = _BoxBuilder(law)
    narrowed = _conditions(law, claim)
    quantities = (*law.parameters, *law.variables)  # conditions on variables may name parameters
    stated = {q.symbol: (*q.bounds, *narrowed.pop(q.name, ())) for q in quantities}
    varying = {q.symbol for q in law.variables}
    # bounds of variables do not bound parameters: where they conflict, the domain is empty
    implied = implied_bounds({s: bounds for s, bounds in stated.items() if s not in varying})
    for symbol, bounds in stated.items():
        plain = not any(b.limit.free_symbols for b in bounds)
        follows = implied.get(symbol, ()) if plain else ()
        builder.add(symbol, (*bounds, *follows), varies=symbol in varying)
    declared = {q.name: q.bounds for q in (*law.variables, *law.parameters)}
    fresh = fresh_names(law, claim)
    for symbol, names in fresh.items():
        bounds_of_names = [
            (*declared.get(n, ()), *_conditions(law, claim).get(n, ())) for n in names
        ]
        builder.add(symbol, tuple(b for bounds in bounds_of_names for b in bounds), varies=True)
    for name in dict.fromkeys((*opaque_lets(law, claim), *last_shares(law))):
        formula = law.to_sympy(tree.Name(name))
        stated_bounds = tuple(_stated(law, name))
        bounds = (*stated_bounds, *narrowed.get(name, ()))
        standing_for_it = [s for s, names in fresh.items() if name in names]
        builder.fresh |= set(standing_for_it)
        for symbol in (law.symbols[name], *standing_for_it):
            builder.add_let(symbol, formula, bounds, share=bool(stated_bounds))
    return builder.box()


def fresh_names(law: Law, claim: Claim | None) -> dict[sp.Symbol, list[str]]:
    """Symbol of a name that a claim introduces -> the names that it replaces.

    Args:
        law: the law.
        claim: the claim, if any.
    """
    origins: dict[str, list[str]] = {}
    for node in tree.walk(claim.claim) if claim else ():
        for name, argument in node.keywords if isinstance(node, tree.Call) else ():
            if isinstance(argument, tree.Name) and argument.text not in law.declarations.symbols:
                if argument.text not in CONSTANTS:
                    origins.setdefault(argument.text, []).append(name)
    return {
        sp.Symbol(text, **law.symbols[names[0]].assumptions0): names
        for text, names in origins.items()
    }


def opaque_lets(law: Law, claim: Claim | None) -> list[str]:
    """The lets by which a claim differentiates, which it fixes, or on which it has a condition.

    Args:
        law: the law.
        claim: the claim, if any.
    """
    names: list[tree.Named] = [name for name, _ in claim.conditions] if claim else []
    for node in tree.walk(claim.claim) if claim else ():
        if isinstance(node, tree.Derivative):
            names += node.wrt
        elif isinstance(node, tree.TrendNode) and node.against is None:
            names.append(node.name)  # else a share: 1 minus the others is nothing by itself
        elif isinstance(node, tree.Call):
            names += [name for name, _ in node.keywords]
        elif isinstance(node, tree.LimitNode):
            names += [name for name, _ in node.approaches]
    kinds = law.declarations.symbols
    plain = map(tree.name_of, names)
    return [name for name in dict.fromkeys(plain) if kinds[name].kind == "let"]


def last_shares(law: Law) -> list[str]:
    """The shares that are 1 minus two or more others; one that is 1 minus a single share needs no
    symbol, since the range of that share determines it."""
    shares = [s.name for s in law.declarations.symbols.values() if s.kind == "let" and s.bounds]
    return [name for name in shares if len(law.to_sympy(tree.Name(name)).free_symbols) > 1]


def _stated(law: Law, name: str) -> Iterator[Bound]:
    """The bounds that are declared for a let; only shares have any."""
    for relation, limit in law.declarations.symbols[name].bounds:
        yield Bound.of(relation, law.to_sympy(limit), print_formula(limit))


def _conditions(law: Law, claim: Claim | None) -> dict[str, list[Bound]]:
    bounds: dict[str, list[Bound]] = {}
    for name, relations in claim.conditions if claim else ():
        for relation, limit in relations:
            bound = Bound.of(relation, law.to_sympy(limit), print_formula(limit))
            bounds.setdefault(tree.name_of(name), []).append(bound)
    return bounds


class _BoxBuilder:
    """The parts of a box, collected quantity by quantity."""

    def __init__(self, law: Law) -> None:
        self.settings: dict[sp.Symbol, Fraction] = {}
        self.ranges: dict[sp.Symbol, SymbolRange] = {}
        self.slack: dict[sp.Symbol, sp.Expr] = {}
        self.meaning: dict[sp.Symbol, sp.Expr] = {}
        self.relations: dict[sp.Symbol, tuple[Relation, ...]] = {}
        self.lets: dict[sp.Symbol, sp.Expr] = {}
        self.fresh: set[sp.Symbol] = set()
        self.facts: dict[sp.Symbol, str] = {}
        self.variables: set[sp.Symbol] = set()
        self.tied = self.ragged = False
        for q in law.settings:
            if q.value is None:
                continue
            value = self.settings[q.symbol] = Fraction(repr(q.value))
            exact = sp.Rational(value.numerator, value.denominator)
            # a proof by the sign of a setting holds for all its values of that sign; where that
            # does not suffice, the value is substituted later
            point = SymbolRange(Endpoint(exact, True), Endpoint(exact, True))
            self.ranges[q.symbol] = SymbolRange(Endpoint(sp.S.Zero, False)) if value > 0 else point

    def box(self) -> Box:
        """The box of the quantities collected so far."""
        first = {s: fact for s, fact in self.facts.items() if s in self.variables}
        facts = first | self.facts  # variables first in a proof, settings last
        for s, value in self.settings.items():
            facts[s] = f"{s} > 0" if value > 0 else f"{s} = {float(value):g}"
        return Box(
            ranges=self.ranges,
            slack=self.slack,
            meaning=self.meaning,
            variables=frozenset(self.variables),
            settings=self.settings,
            lets=self.lets,
            fresh=frozenset(self.fresh),
            relations=self.relations,
            tied=self.tied,
            ragged=self.ragged,
            facts=facts,
        )

    def add(self, symbol: sp.Symbol, bounds: tuple[Bound, ...], *, varies: bool) -> None:
        """A variable or parameter: its range, or the slack that replaces it."""
        self.relations[symbol] = tuple(_relation(symbol, bound) for bound in bounds)
        if varies:
            self.variables.add(symbol)
        if any(b.limit.free_symbols - set(self.settings) for b in bounds):
            bounds = self._needed(bounds)
        coupled = [b for b in bounds if b.limit.free_symbols - set(self.settings)]
        if not coupled:
            self.ranges[symbol], fact = _range(symbol, bounds, self.settings)
            if fact:
                self.facts[symbol] = fact
            return
        ends = self._both_ends(bounds)
        if ends is not None:
            self._share(symbol, *ends)
        else:
            self._slack(symbol, coupled[0])
        tied = ends is None and len(bounds) > 1
        self.tied |= tied
        self.ragged |= varies and tied
        s = next(iter(self.slack[symbol].free_symbols & set(self.meaning)))
        self.facts[s] = self.facts[symbol] = ", ".join(
            f"{symbol} {b.relation} {b.text}" for b in bounds
        )
        if varies or any(b.limit.free_symbols & self.variables for b in coupled):
            self.ragged |= not varies
            self.variables.add(s)

    def _needed(self, bounds: tuple[Bound, ...]) -> tuple[Bound, ...]:
        """The bounds that no other bound on the same side certainly implies."""
        box = self.box()
        signs = SignCalculus(box)
        needed = list(bounds)
        for bound in bounds:
            side = 1 if bound.lower else -1
            for other in needed:
                if other is bound or other.lower != bound.lower:
                    continue
                room = signs.sign(box.independent(side * (other.limit - bound.limit)))
                at_least_as_strict = other.strict or not bound.strict
                if room == Sign.POSITIVE or at_least_as_strict and room.within(Sign.NONNEGATIVE):
                    needed = [b for b in needed if b is not bound]
                    break
        return tuple(needed)

    def _both_ends(self, bounds: tuple[Bound, ...]) -> tuple[Bound, Bound] | None:
        """The lower and the upper bound, if both exist and the upper one is certainly greater."""
        lower, upper = ([b for b in bounds if b.lower is side] for side in (True, False))
        if len(lower) != 1 or len(upper) != 1:
            return None
        so_far = self.box()
        room = so_far.independent(merge_powers(upper[0].limit - lower[0].limit))
        return (lower[0], upper[0]) if SignCalculus(so_far).sign(room) == Sign.POSITIVE else None

    def _share(self, symbol: sp.Symbol, lower: Bound, upper: Bound) -> None:
        """A quantity between two bounds, as lower + (upper - lower)·s with s in [0, 1]."""
        room = upper.limit - lower.limit
        name = f"({symbol}/{_bracketed(upper)})"
        if not lower.limit.is_zero:
            name = f"(({symbol} - {_bracketed(lower)})/({text(room)}))"
        s = sp.Symbol(
            name, real=True, nonnegative=True, **({"positive": True} if lower.strict else {})
        )
        self.ranges[s] = SymbolRange(
            Endpoint(sp.S.Zero, not lower.strict), Endpoint(sp.S.One, not upper.strict)
        )
        self.slack[symbol] = lower.limit + room * s
        self.meaning[s] = (symbol - lower.limit) / room

    def _slack(self, symbol: sp.Symbol, bound: Bound) -> None:
        """A quantity beyond a bound, as bound + s with s >= 0 or s > 0."""
        assumptions = (
            {"nonnegative": True, "positive": True} if bound.strict else {"nonnegative": True}
        )
        limit = _bracketed(bound)
        name = f"({symbol} - {limit})" if bound.lower else f"({limit} - {symbol})"
        s = sp.Symbol(name, real=True, **assumptions)
        self.ranges[s] = SymbolRange(Endpoint(sp.S.Zero, not bound.strict))
        self.slack[symbol] = bound.limit + s if bound.lower else bound.limit - s
        self.meaning[s] = symbol - bound.limit if bound.lower else bound.limit - symbol

    def add_let(
        self, symbol: sp.Symbol, formula: sp.Expr, bounds: tuple[Bound, ...], *, share: bool
    ) -> None:
        """A let as a symbol: with its formula's sign, and within the claim's conditions.

        The bounds of a share are declared; to derive the sign of 1 minus many others takes long.
        """
        so_far = self.box()
        sign = Sign.REAL if share else SignCalculus(so_far).sign(so_far.independent(formula))
        stated = tuple(_relation(formula, bound) for bound in bounds)
        self.relations[symbol] = self.relations.get(symbol, ()) + stated
        self.lets[symbol] = formula
        self.variables.add(symbol)
        plain = [b for b in bounds if not b.limit.free_symbols - set(self.settings)]
        if sign.within(Sign.NONNEGATIVE):
            plain.append(Bound.of(">" if sign == Sign.POSITIVE else ">=", sp.S.Zero, "0"))
        elif sign.within(Sign.NONPOSITIVE):
            plain.append(Bound.of("<" if sign == Sign.NEGATIVE else "<=", sp.S.Zero, "0"))
        self.ranges[symbol], fact = _range(symbol, plain, self.settings)
        if fact:
            self.facts[symbol] = fact
        if not all(b.lower and b.limit.is_zero and sign == Sign.POSITIVE for b in bounds):
            self.tied = self.ragged = True


def _bracketed(bound: Bound) -> str:
    return bound.text if bound.text.isidentifier() else f"({bound.text})"


def _relation(e: sp.Expr, bound: Bound) -> Relation:
    return Relation(e - bound.limit if bound.lower else bound.limit - e, bound.strict)


def _range(
    symbol: sp.Symbol, bounds: Iterable[Bound], settings: Settings
) -> tuple[SymbolRange, str | None]:
    """The intersection of plain bounds, and what it says as text."""
    lower = _tightest([b for b in bounds if b.lower], settings, 1)
    upper = _tightest([b for b in bounds if not b.lower], settings, -1)
    domain = SymbolRange(_end(lower), _end(upper))
    if lower and upper:
        if lower.limit == upper.limit and not (lower.strict or upper.strict):
            return domain, f"{symbol} = {lower.text}"
        opening, closing = "(" if lower.strict else "[", ")" if upper.strict else "]"
        return domain, f"{symbol} in {opening}{lower.text}, {upper.text}{closing}"
    single = lower or upper
    return domain, f"{symbol} {single.relation} {single.text}" if single else None


def _end(bound: Bound | None) -> Endpoint | None:
    return None if bound is None else Endpoint(bound.limit, not bound.strict)


def _tightest(bounds: Iterable[Bound], settings: Settings, side: int) -> Bound | None:
    """The innermost of bounds on one side, at the values of the settings.

    Where that is not certain, either one bounds the domain, and the first is kept.
    """
    best: Bound | None = None
    for bound in bounds:
        if best is None:
            best = bound
            continue
        inside = settings_sign(settings, side * (bound.limit - best.limit))
        if inside == 1 or inside == 0 and bound.strict:
            best = bound
    return best
