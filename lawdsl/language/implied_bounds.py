"""Relation between two formulas -> bounds of parameters that are equivalent to it.

`2*A > 0` holds where A > 0 is declared; `A - C > 0` holds where A > C, which can be declared; for
`A^2 - 3*A > 0` no such bound is found. Nothing is approximated: the result is equivalent to the
relation, given the declared domains.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from lawdsl.language import size_limits, tree
from lawdsl.language.constants import TooLarge
from lawdsl.language.declarations import names_in, names_used_by
from lawdsl.language.formula_signs import NEGATIVE, POSITIVE, KnownSigns
from lawdsl.language.symbols import Relation, Symbol
from lawdsl.language.tree import Formula

Additions = list[tuple[str, Relation]]  # bounds of parameters: name, (relation, limit)
Terms = tuple[tuple[str, Formula], ...]

HOLDS = {">": {1}, ">=": {0, 1}, "<": {-1}, "<=": {-1, 0}}  # for the sign of left - right
REVERSED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
ZERO, ONE = tree.Number("0"), tree.Number("1")


@dataclass(frozen=True)
class _Group:
    """Sums, or products: the operation, its inverse, and the part that does nothing."""

    op: str
    inverse: str
    neutral: Formula

    def turned(self, parts: Terms) -> Terms:
        """The terms (or factors) with each operation replaced by its inverse."""
        return tuple((self.inverse if op == self.op else self.op, part) for op, part in parts)


SUM, PRODUCT = _Group("+", "-", ZERO), _Group("*", "/", ONE)
MAX_FORMULA_PARTS = 400  # of a formula that is analysed
MAX_CANDIDATES = 8  # parameters whose bounds are tried
MAX_BOUNDS_TRIED = 30  # bounds that are tried, with those that follow from them


def bounds_that_keep(
    lhs: Formula,
    relation: str,
    rhs: Formula,
    known_signs: KnownSigns,
    tries: Iterator[int] | None = None,
) -> Additions | None:
    """Bounds of parameters under which `lhs relation rhs` holds; empty where it always holds.

    Args:
        lhs: the left-hand side.
        relation: <, <=, > or >=.
        rhs: the right-hand side.
        known_signs: the known facts about names.
        tries: a shared counter that limits the search.

    Returns:
        The bounds, each of one parameter by a formula of others; None where none are found, or the
        relation cannot hold.
    """
    # each added bound may need others in turn, so that the search branches
    tries = tries or itertools.count()
    try:
        lhs, rhs = written_out(lhs, known_signs), written_out(rhs, known_signs)
    except TooLarge:
        return None
    difference = known_signs.sign(minus(lhs, rhs))
    if difference <= HOLDS[relation]:
        return []
    if not difference & HOLDS[relation] or next(tries) > MAX_BOUNDS_TRIED:
        return None
    for name in _parameters_that_occur_once(lhs, rhs, known_signs):
        if _count(lhs, name):
            bound = _isolated(lhs, relation, rhs, name, known_signs)
        else:
            bound = _isolated(rhs, REVERSED[relation], lhs, name, known_signs)
        # a bound by what itself depends on the parameter would be circular
        if bound is None or name in _dependencies(bound[1], known_signs):
            continue
        added = _with_consistent_bounds(name, bound, known_signs, tries)
        if added is not None:
            return added
    return None


def _parameters_that_occur_once(lhs: Formula, rhs: Formula, known_signs: KnownSigns) -> list[str]:
    """The parameters that occur exactly once in the relation, in reverse order of declaration."""
    counted = Counter([*names_in(lhs), *names_in(rhs)])
    names = [n for n, count in counted.items() if count == 1 and n in known_signs.symbols]
    position = {name: i for i, name in enumerate(known_signs.symbols)}
    names = [n for n in names if known_signs.symbols[n].kind == "parameter"]
    return sorted(names, key=lambda n: position[n], reverse=True)[:MAX_CANDIDATES]


def _with_consistent_bounds(
    name: str, bound: Relation, known_signs: KnownSigns, tries: Iterator[int]
) -> Additions | None:
    """The bound, and those that keep something between it and the bounds on the other side."""
    symbol = known_signs.symbols[name]
    if bound in symbol.bounds:
        return []
    added: Additions = [(name, bound)]
    known_signs = KnownSigns(with_bounds(known_signs.symbols, added), known_signs.settings)
    for relation, limit in symbol.bounds:
        if relation[0] != bound[0][0]:
            # the interval may be a single point only if both of its ends belong to it
            needed = bound[0] if len(relation) == len(bound[0]) == 2 else bound[0][0]
            more = bounds_that_keep(limit, needed, bound[1], known_signs, tries)
            if more is None:
                return None
            added += more
            known_signs = KnownSigns(with_bounds(known_signs.symbols, more), known_signs.settings)
    return added


def with_bounds(symbols: Mapping[str, Symbol], added: Additions) -> dict[str, Symbol]:
    """The symbols with additional bounds.

    Args:
        symbols: name -> symbol.
        added: the bounds, each with the name of its parameter.
    """
    changed = dict(symbols)
    for name, bound in added:
        if bound not in changed[name].bounds:
            changed[name] = replace(changed[name], bounds=(*changed[name].bounds, bound))
    return changed


def written_out(formula: Formula, known_signs: KnownSigns) -> Formula:
    """The formula with its lets substituted.

    Args:
        formula: the formula.
        known_signs: the known facts about names.
    """
    count = itertools.count()

    def inner(node: Formula, depth: int) -> Formula:
        if next(count) > MAX_FORMULA_PARTS or depth > size_limits.MAX_NESTING:
            raise TooLarge(formula, "it is too long", "write it shorter")
        match node:
            case tree.Name(text):
                symbol = known_signs.symbols.get(text)
                if symbol is not None and symbol.kind == "let" and symbol.formula is not None:
                    return inner(symbol.formula, depth + 1)
            case tree.Element(name, subscripts):
                symbol = known_signs.symbols.get(name)
                if symbol is not None and symbol.kind == "let" and symbol.formula is not None:
                    if symbol.indices == subscripts:  # others would have to be put in for them
                        return inner(symbol.formula, depth + 1)
            case tree.Conditional():
                return tree.with_parts(node, lambda part: inner(part, depth + 1))
            case tree.Negative(operand):
                return tree.Negative(inner(operand, depth + 1))
            case tree.Sum(terms):
                return tree.Sum(tuple((op, inner(t, depth + 1)) for op, t in terms))
            case tree.Product(factors):
                return tree.Product(tuple((op, inner(f, depth + 1)) for op, f in factors))
            case tree.Power(base, exponent):
                return tree.Power(inner(base, depth + 1), inner(exponent, depth + 1))
            case tree.Call(function, arguments, keywords):
                inside = tuple(inner(a, depth + 1) for a in arguments)
                return tree.Call(function, inside, keywords)
        return node

    return inner(formula, 0)


def bound_of(
    name: str, lhs: Formula, relation: str, rhs: Formula, known_signs: KnownSigns
) -> Relation | None:
    """`lhs relation rhs` as an equivalent bound of a name; None where it is not so simple.

    Args:
        name: a variable or parameter.
        lhs, relation, rhs: the relation.
        known_signs: the known facts about names.
    """
    try:
        lhs, rhs = written_out(lhs, known_signs), written_out(rhs, known_signs)
    except TooLarge:
        return None
    on_left, on_right = _count(lhs, name), _count(rhs, name)
    if on_left + on_right != 1:
        return None
    if on_left:
        return _isolated(lhs, relation, rhs, name, known_signs)
    return _isolated(rhs, REVERSED[relation], lhs, name, known_signs)


def _isolated(
    f: Formula, relation: str, g: Formula, name: str, known_signs: KnownSigns
) -> Relation | None:
    """`f relation g` as a bound of a name that f has once; None where it is not so simple."""
    plain = tree.Name(name)
    indices = known_signs.symbols[name].indices
    while f != (tree.Element(name, indices) if indices else plain):
        if isinstance(f, tree.Element):
            return None  # of another element than the one that has bounds
        step = _move_outermost(f, relation, g, name, known_signs)
        if step is None:
            return None
        f, relation, g = step
    others = {s for n in tree.walk(g) if isinstance(n, tree.Element) for s in n.subscripts}
    return (relation, g) if others <= set(indices) else None


def _move_outermost(
    f: Formula, relation: str, g: Formula, name: str, known_signs: KnownSigns
) -> tuple[Formula, str, Formula] | None:
    """The outermost operation of f brought to the other side."""
    match f:
        case tree.Negative(operand):
            return operand, REVERSED[relation], _negative(g)
        case tree.Sum(terms):
            (op, term), others = _split(terms, name)
            rest = minus(g, tree.Sum(_with_leading_operator(others, ZERO, "+"))) if others else g
            return (
                (term, relation, rest) if op == "+" else (term, REVERSED[relation], _negative(rest))
            )
        case tree.Product(factors):
            (op, factor), others = _split(factors, name)
            rest = (
                tree.Product(_with_leading_operator(others, ONE, "*"))
                if len(others) > 1
                else others[0][1]
            )
            if len(others) == 1 and others[0][0] == "/":
                rest = tree.Product((("*", ONE), others[0]))
            sign = known_signs.sign(rest)
            # division by a factor of unknown sign would leave the relation open
            if sign not in (POSITIVE, NEGATIVE):
                return None
            new_relation = relation if sign == POSITIVE else REVERSED[relation]
            if op == "*":
                return factor, new_relation, _quotient(g, rest)
            # rest/factor relation g, with all three above 0
            if sign == known_signs.sign(factor) == known_signs.sign(g) == POSITIVE:
                return factor, REVERSED[relation], _quotient(rest, g)
        case tree.Power(base, exponent) if _count(base, name):
            sign = known_signs.sign(exponent)
            if known_signs.sign(base) == known_signs.sign(g) == POSITIVE and sign in (
                POSITIVE,
                NEGATIVE,
            ):
                new_relation = relation if sign == POSITIVE else REVERSED[relation]
                return base, new_relation, _power(g, _quotient(ONE, exponent))
        case tree.Power(base, exponent) if known_signs.sign(g) == POSITIVE:
            sign = known_signs.sign(tree.Call("log", (base,)))
            if sign in (POSITIVE, NEGATIVE):
                new_relation = relation if sign == POSITIVE else REVERSED[relation]
                return (
                    exponent,
                    new_relation,
                    _quotient(tree.Call("log", (g,)), tree.Call("log", (base,))),
                )
        case tree.Call("exp", (argument,)) if known_signs.sign(g) == POSITIVE:
            return argument, relation, tree.Call("log", (g,))
        case tree.Call("log", (argument,)):
            return argument, relation, tree.Call("exp", (g,))
    return None


def _split(parts: Terms, name: str) -> tuple[tuple[str, Formula], Terms]:
    """The part with the name, and the others."""
    index = next(i for i, (_, part) in enumerate(parts) if _count(part, name))
    return parts[index], (*parts[:index], *parts[index + 1 :])


def _with_leading_operator(parts: Terms, neutral: Formula, op: str) -> Terms:
    """Parts whose first has the sign that a first one has."""
    return parts if parts[0][0] == op and len(parts) > 1 else ((op, neutral), *parts)


def minus(a: Formula, b: Formula) -> Formula:
    """a - b, with equal terms cancelled."""
    terms = _difference_of_parts(a, b, SUM)
    if not terms:
        return ZERO
    if terms[0][0] == "-":  # no minus in front
        terms[0] = ("+", tree.Negative(terms[0][1]))
    return tree.Sum(tuple(terms)) if len(terms) > 1 else terms[0][1]


def _negative(a: Formula) -> Formula:
    return minus(ZERO, a)


def _quotient(a: Formula, b: Formula) -> Formula:
    """a/b, of a b that is not 0, without what cancels."""
    if a == ZERO:
        return a
    factors = _difference_of_parts(a, b, PRODUCT)
    if not factors or factors[0][0] == "/":  # no division in front
        factors.insert(0, ("*", ONE))
    return tree.Product(tuple(factors)) if len(factors) > 1 else factors[0][1]


def _difference_of_parts(a: Formula, b: Formula, group: _Group) -> list[tuple[str, Formula]]:
    """The parts of a minus those of b, without those that cancel and neutral elements."""
    remaining: list[tuple[str, Formula]] = []
    for op, part in (*_parts(a, group), *group.turned(_parts(b, group))):
        ((opposite, _),) = group.turned(((op, part),))
        if (opposite, part) in remaining:
            remaining.remove((opposite, part))
        elif part != group.neutral:
            remaining.append((op, part))
    return sorted(remaining, key=lambda one: one[0] == group.inverse)


def _parts(a: Formula, group: _Group) -> Terms:
    """The terms of a sum, or the factors of a product, those of sums or products in it included."""
    if isinstance(a, tree.Negative) and group is SUM:
        return group.turned(_parts(a.operand, group))
    if isinstance(a, tree.Sum) and group is SUM:
        parts = a.terms
    elif isinstance(a, tree.Product) and group is PRODUCT:
        parts = a.factors
    else:
        return ((group.op, a),)
    flattened: list[tuple[str, Formula]] = []
    for op, part in parts:
        inner = _parts(part, group)
        flattened += inner if op == group.op else group.turned(inner)
    return tuple(flattened)


def _power(base: Formula, exponent: Formula) -> Formula:
    return base if ONE in (base, exponent) else tree.Power(base, exponent)


def _count(formula: Formula, name: str) -> int:
    return sum(part == name for part in names_in(formula))


def _dependencies(formula: Formula, known_signs: KnownSigns) -> set[str]:
    """All names on which a formula depends, through definitions and bounds."""
    names: set[str] = set()
    waiting = list(names_in(formula))
    while waiting:
        name = waiting.pop()
        if name not in names and name in known_signs.symbols:
            names.add(name)
            waiting += names_used_by(known_signs.symbols[name])
    return names
