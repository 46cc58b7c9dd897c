"""`L(r = r0) is chinchilla`: does some choice of the target's parameters give the law?

Both sides are written as sums of monomials; each term of the target takes one of the law, which
says what the target's parameters are. Where that fails, a property that every member of the target
has (mixed derivatives vanish; x·f''/f' is constant for c·x^a) is refuted at a verified point.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import sympy as sp

from lawdsl.formulas import text
from lawdsl.law import Bound, Law, derivative, merge_powers
from lawdsl.proof.box import Box
from lawdsl.proof.payment import expanded, powers
from lawdsl.proof.sampling import Domain, Point, find_point
from lawdsl.proof.signs import Sign, Signs


@dataclass(frozen=True)
class Choice:
    """The target's parameters in terms of the law's."""

    values: tuple[tuple[sp.Symbol, sp.Expr], ...]

    def shown(self) -> str:
        return ", ".join(f"{s} = {text(v)}" for s, v in self.values)


@dataclass(frozen=True)
class _Term:
    """coefficient · Π variable^exponent"""

    coefficient: sp.Expr
    exponents: tuple[tuple[str, sp.Expr], ...]

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.exponents)


def reduce_to(signs: Signs, e: sp.Expr, law: Law, target: Law) -> Choice | str:
    """The parameters of the target that give e, or the part that fits no term of it.

    Args:
        signs: of the law's domain.
        e: the law (with some variables fixed), in the law's symbols.
        law: the law that e belongs to.
        target: the law that e is to be a member of.
    """
    shared = {q.name for q in target.variables}
    own = _terms(signs, e, shared)
    plain = Signs(Box({q.symbol: signs.box.range(q.symbol) for q in target.variables}))
    theirs = _terms(plain, target.expression, shared)
    if isinstance(own, sp.Expr):
        return text(own)
    if isinstance(theirs, sp.Expr):
        return f"{target.name} is no sum of powers"
    rename = {q.symbol: law.symbols[q.name] for q in target.variables if q.name in law.symbols}
    values: dict[sp.Symbol, sp.Expr] = {}
    parameters = {q.symbol for q in target.parameters}
    for term in theirs:
        same = [t for t in own if t.variables == term.variables]
        if term.coefficient not in parameters or term.coefficient in values or len(same) > 1:
            return f"the term {text(term.coefficient)} of {target.name}"
        values[term.coefficient] = same[0].coefficient if same else sp.S.Zero
        for (_, wanted), (_, given) in zip(
            term.exponents, same[0].exponents if same else (), strict=False
        ):
            sign = -1 if wanted.could_extract_minus_sign() else 1
            if sign * wanted not in parameters:
                if sp.expand_mul(wanted - given) != 0:
                    return text(given)
                continue
            if sign * wanted in values and values[sign * wanted] != sign * given:
                return text(given)
            values[sign * wanted] = sp.expand_mul(sign * given)
    taken = {term.variables for term in theirs}
    for left in own:
        if left.variables not in taken:
            return text(left.coefficient)
    difference = target.expression.xreplace({**rename, **values}) - e
    if not _vanishes(signs, difference):
        return text(e)
    for q in target.parameters:
        if q.symbol not in values or not _admissible(signs, q.bounds, values, q.symbol):
            return f"{q.domain} of {target.name}"
    return Choice(tuple(values.items()))


def _admissible(
    signs: Signs, bounds: Iterable[Bound], values: Mapping[sp.Symbol, sp.Expr], symbol: sp.Symbol
) -> bool:
    for bound in bounds:
        limit = bound.limit.xreplace(values)
        room = values[symbol] - limit if bound.lower else limit - values[symbol]
        allowed = Sign.POSITIVE if bound.strict else Sign.NONNEGATIVE
        if not signs.sign(signs.box.independent(merge_powers(room))).within(allowed):
            return False
    return True


def _vanishes(signs: Signs, e: sp.Expr) -> bool:
    if e == 0:
        return True
    outer, terms = expanded(signs, e)
    return not terms and len(sp.Add.make_args(e)) < 60


def _terms(signs: Signs, e: sp.Expr, shared: set[str]) -> list[_Term] | sp.Expr:
    """A sum as terms by their powers of the shared variables; the part that is no such power."""
    outer, monomials = expanded(signs, e)
    if outer != 1:
        return outer
    found: dict[tuple[tuple[str, sp.Expr], ...], list[sp.Expr]] = {}
    for monomial in monomials:
        coefficient, exponents = [], []
        for base, exponent in powers(monomial):
            names = {s.name for s in base.free_symbols} & shared
            if {s.name for s in exponent.free_symbols} & shared:
                return sp.Pow(base, exponent)
            if not names:
                coefficient.append(sp.Pow(base, exponent))
            elif base.is_Symbol:
                exponents.append((base.name, exponent))
            else:
                return sp.Pow(base, exponent)
        found.setdefault(tuple(sorted(exponents, key=str)), []).append(sp.Mul(*coefficient))
    return [_Term(sp.Add(*parts), key) for key, parts in found.items()]


def never(domain: Domain, e: sp.Expr, law: Law, target: Law) -> tuple[Point, str] | None:
    """A verified point that no member of the target explains, and the property it breaks."""
    theirs = _terms(Signs(Box({})), target.expression, {q.name for q in target.variables})
    if isinstance(theirs, sp.Expr) or any(len(t.exponents) > 1 for t in theirs):
        return None
    shared = [law.symbols[q.name] for q in target.variables if q.name in law.symbols]
    for property_, shown in _properties(e, shared):
        if property_ == 0:
            continue
        found = find_point(domain, property_, lambda v: np.abs(v) > 1e-9, (-1, 1))
        if found is not None:
            return found[0], shown
    return None


def _properties(e: sp.Expr, variables: list[sp.Symbol]) -> Iterator[tuple[sp.Expr, str]]:
    """What vanishes for every sum of c·x^a in single variables."""
    for i, x in enumerate(variables):
        for y in variables[i + 1 :]:
            yield derivative(e, x, y), f"∂²/∂{x}∂{y} is not 0, as it is in the target"
    for x in variables:
        first = derivative(e, x)
        second = derivative(first, x)
        third = derivative(second, x)
        yield (
            merge_powers(first * second + x * third * first - x * second**2),
            f"as a function of {x} it is no constant plus c*{x}^a",
        )
