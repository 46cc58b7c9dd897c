"""Claim `L(r = r0) is chinchilla` -> the parameters of the target law that reproduce the law.

Both sides are written as sums of terms. Each term of the target is matched with the term of the law
in the same variables, which determines the target's parameters; the result is substituted and
compared. Where no assignment is found, a property of every member of the target (mixed derivatives
vanish; c + a·x^b satisfies a relation between its derivatives) is refuted at a verified point.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import sympy as sp

from lawdsl.law.algebra import derivative, merge_powers
from lawdsl.law.law import Law
from lawdsl.law.text import text
from lawdsl.proof.box import Box
from lawdsl.proof.counterexample import Point, WitnessQuery, find_point
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.signs.monomials import expand_products, powers
from lawdsl.proof.signs.sign import Sign

MAX_PATTERN_MATCHES = 5000  # parts of two formulas that are compared with each other
ROUNDING_MARGIN = 1e-9  # a smaller float64 value may be rounding error

Values = dict[sp.Symbol, sp.Expr]
Powers = tuple[tuple[sp.Expr, sp.Expr], ...]


@dataclass(frozen=True)
class ParameterAssignment:
    """The target's parameters as expressions in the law's."""

    values: tuple[tuple[sp.Symbol, sp.Expr], ...]

    def text(self) -> str:
        """The assignments without those of a parameter to one of its name: E = E + F/K0^mu."""
        changed = [f"{s} = {text(v)}" for s, v in self.values if text(v) != s.name]
        return ", ".join(changed) or "the same parameters"


@dataclass(frozen=True)
class _Term:
    """coefficient · Π base^exponent, where only the powers contain variables."""

    coefficient: sp.Expr
    powers: Powers
    variables: frozenset[sp.Symbol]


def reduce_to(signs: SignCalculus, e: sp.Expr, law: Law, target: Law) -> ParameterAssignment | str:
    """The parameters of the target that give e, or the part that fits no term of it.

    Args:
        signs: the signs of the law's domain.
        e: the law (with some variables fixed), in the law's symbols.
        law: the law that e belongs to.
        target: the law that e is to be a member of.
    """
    shape = _in_symbols_of(law, target, target.expression)
    shared = frozenset(law.symbols[q.name] for q in target.variables if q.name in law.symbols)
    parameters = {q.symbol for q in target.parameters}
    guess = _as_written(shape, e, parameters, frozenset(v.symbol for v in law.variables))
    if guess is not None:
        assignment = _admissible_assignment(signs, e, shape, law, target, guess)
        if isinstance(assignment, ParameterAssignment):
            return assignment
    law_terms, target_terms = _terms(signs, e, shared), _terms(signs, shape, shared)
    if isinstance(law_terms, str) or isinstance(target_terms, str):
        return law_terms if isinstance(law_terms, str) else f"{target.name} is no sum of powers"
    values: Values = {}
    for term in target_terms:
        same = [t for t in law_terms if t.variables == term.variables]
        law_term = same[0] if len(same) == 1 else _Term(sp.S.Zero, term.powers, term.variables)
        if len(same) > 1 or not _match(term, law_term, parameters, values):
            return f"the term {text(term.coefficient)} of {target.name}"
    return _admissible_assignment(signs, e, shape, law, target, values)


def _admissible_assignment(
    signs: SignCalculus, e: sp.Expr, shape: sp.Expr, law: Law, target: Law, values: Values
) -> ParameterAssignment | str:
    """The assignment, if it is in the target's domain and reproduces the law; else the obstacle."""
    for q in target.parameters:
        if q.symbol not in values:
            return f"{q.name} of {target.name}"
        value = values[q.symbol]
        if value.free_symbols & {v.symbol for v in law.variables}:
            return f"{text(value)} changes with the variables"
        for bound in q.bounds:
            limit = _in_symbols_of(law, target, bound.limit).xreplace(values)
            room = value - limit if bound.lower else limit - value
            allowed = Sign.POSITIVE if bound.strict else Sign.NONNEGATIVE
            if not signs.sign(signs.box.independent(merge_powers(room))).within(allowed):
                return f"whether {text(value)} {bound.relation} {bound.text} is not known"
    if not _vanishes(signs, shape.xreplace(values) - e):
        return text(e)
    return ParameterAssignment(tuple((q.symbol, values[q.symbol]) for q in target.parameters))


def _as_written(
    shape: sp.Expr, e: sp.Expr, parameters: set[sp.Symbol], variables: frozenset[sp.Symbol]
) -> Values | None:
    """Parameters of the target with which its formula matches the given one part by part.

    The caller verifies the match by substitution.
    """
    comparisons = 0

    def matched(pattern: sp.Expr, instance: sp.Expr, values: Values) -> Iterator[Values]:
        nonlocal comparisons
        comparisons += 1
        if comparisons > MAX_PATTERN_MATCHES:
            return
        if pattern in parameters:
            if pattern in values:
                yield from [values] if values[pattern] == instance else []
            elif not instance.free_symbols & variables:
                yield {**values, pattern: instance}
            return
        if not pattern.free_symbols & parameters:
            yield from [values] if pattern == instance else []
            return
        free = [s for s in pattern.free_symbols & parameters if s not in values]
        share = sp.cancel(pattern.xreplace(values) / free[0]) if len(free) == 1 else None
        if share is not None and not share.free_symbols & parameters:  # a known multiple of one
            yield from matched(free[0], instance / share, values)
        elif pattern.is_Pow and instance.is_Pow:
            yield from all_matched(pattern.args[::-1], instance.args[::-1], values)
        elif pattern.func == instance.func and len(pattern.args) == len(instance.args):
            orders = [instance.args]
            if pattern.is_Add or pattern.is_Mul:
                # n! orders; longer sums are compared in their canonical order alone
                orders = list(permutations(instance.args)) if len(instance.args) <= 4 else orders
            for order in orders:
                yield from all_matched(pattern.args, order, values)

    def all_matched(
        patterns: Sequence[sp.Expr], instance: Sequence[sp.Expr], values: Values
    ) -> Iterator[Values]:
        if not patterns:
            yield values
            return
        for first in matched(patterns[0], instance[0], values):
            yield from all_matched(patterns[1:], instance[1:], first)

    return next(matched(shape, e, {}), None)


def _in_symbols_of(law: Law, target: Law, e: sp.Expr) -> sp.Expr:
    """An expression of the target with the law's variables, and settings where they agree."""
    law_settings = {q.name: q for q in law.settings}
    substitution = {
        q.symbol: law.symbols[q.name] for q in target.variables if q.name in law.symbols
    }
    for q in target.settings:
        if q.name in law_settings and law_settings[q.name].value == q.value:
            substitution[q.symbol] = law_settings[q.name].symbol
        elif q.value is not None:
            substitution[q.symbol] = sp.Rational(repr(q.value))
    return e.xreplace(substitution)


def _terms(signs: SignCalculus, e: sp.Expr, shared: frozenset[sp.Symbol]) -> list[_Term] | str:
    """A sum as terms in powers of the shared variables; or the text of a part without that form."""
    product_form = expand_products(signs, e)
    if product_form is None or product_form[0] != 1:
        return text(e if product_form is None else product_form[0])
    collected: dict[Powers, list[sp.Expr]] = {}
    for monomial in product_form[1]:
        coefficient, varying = [], []
        for base, exponent in powers(monomial):
            if _variables((base, exponent), shared):
                varying.append((base, exponent))
            else:
                coefficient.append(sp.Pow(base, exponent))
        varying.sort(key=lambda power: (sorted(map(str, _variables(power, shared))), str(power)))
        collected.setdefault(tuple(varying), []).append(sp.Mul(*coefficient))
    return [
        _Term(sp.Add(*parts), key, frozenset().union(*(_variables(p, shared) for p in key)))
        for key, parts in collected.items()
    ]


def _variables(power: tuple[sp.Expr, sp.Expr], shared: frozenset[sp.Symbol]) -> set[sp.Symbol]:
    base, exponent = power
    return (base.free_symbols | exponent.free_symbols) & shared


def _match(pattern: _Term, term: _Term, parameters: set[sp.Symbol], values: Values) -> bool:
    """Read off the parameters with which one term is the other."""
    if len(pattern.powers) != len(term.powers):
        return False
    pairs = [(pattern.coefficient, term.coefficient)]
    for (base, exponent), (term_base, term_exponent) in zip(
        pattern.powers, term.powers, strict=True
    ):
        pairs += [(base, term_base), (exponent, term_exponent)]
    return all(_solve(one, other, parameters, values) for one, other in pairs)


def _solve(
    pattern: sp.Expr, expression: sp.Expr, parameters: set[sp.Symbol], values: Values
) -> bool:
    """Solve pattern = expression for at most one unknown parameter p, which may occur as p, -p or r
    + p."""
    unknown = [s for s in pattern.free_symbols & parameters if s not in values]
    if not unknown:
        return bool(sp.expand_mul(pattern.xreplace(values) - expression) == 0)
    sign = pattern.coeff(unknown[0])
    if len(unknown) > 1 or sign not in (1, -1):
        return False
    rest = pattern - sign * unknown[0]
    values[unknown[0]] = sp.expand_mul(sign * (expression - rest.xreplace(values)))
    return unknown[0] not in rest.free_symbols


def _vanishes(signs: SignCalculus, e: sp.Expr) -> bool:
    product_form = expand_products(signs, e)
    return product_form is not None and not product_form[1]


def structural_counterexample(
    box: Box, e: sp.Expr, law: Law, target: Law
) -> tuple[Point, str] | None:
    """A verified point that no member of the target explains, and the property violated there.

    Args:
        box: the domain.
        e: the law with some variables fixed, in the law's symbols.
        law: the law.
        target: the law that e should be a member of.
    """
    shared = [law.symbols[q.name] for q in target.variables if q.name in law.symbols]
    target_terms = _terms(
        SignCalculus(box), _in_symbols_of(law, target, target.expression), frozenset(shared)
    )
    others = [q.symbol for q in law.variables if q.symbol not in shared]
    properties = [
        (derivative(e, z), f"it changes with {z}, which the target does not know") for z in others
    ]
    if not isinstance(target_terms, str) and _sums_of_single_powers(target_terms):
        properties += _properties(e, shared)
    for property_, description in properties:
        if property_ == 0:
            continue
        point = find_point(box, [WitnessQuery(property_, (-1, 1), ROUNDING_MARGIN)])
        if point is not None:
            return point, description
    return None


def _sums_of_single_powers(terms: list[_Term]) -> bool:
    """Whether a sum consists of a constant and at most one term c·x^a for each variable x."""
    counts = Counter(s for term in terms for s in term.variables)
    are_powers = all(
        b.is_Symbol and not x.free_symbols & t.variables for t in terms for b, x in t.powers
    )
    distinct = all(count == 1 for count in counts.values())
    return are_powers and distinct and all(len(t.powers) < 2 for t in terms)


def _properties(e: sp.Expr, variables: list[sp.Symbol]) -> Iterator[tuple[sp.Expr, str]]:
    """The expressions that vanish for every sum of c·x^a with one term for each variable."""
    for i, x in enumerate(variables):
        for y in variables[i + 1 :]:
            yield derivative(e, x, y), f"∂²/∂{x}∂{y} is not 0, as it is in the target"
    for x in variables:
        first = derivative(e, x)
        second = derivative(first, x)
        third = derivative(second, x)
        yield (
            merge_powers(first * second + x * third * first - x * second**2),
            f"as a function of {x} it is not a constant plus c*{x}^a",
        )
