"""Sums that are rational in some generators: p/q with the sign of p·q by exact polynomial algebra.

A generator is a symbol, a root of one, or an expression that is not rational: exp(x), x^alpha,
log(x). Generators are treated as independent variables of known sign or range: an inequality that
holds for all such values holds for those that occur. Ranges are mapped to the nonnegative orthant
(x = (low·v + high·u)/(u + v) for low <= x <= high), where `orderings` decides the sign. Shares that
sum to 1 are the exception: a polynomial in them is homogenized with their sum (Pólya's reduction;
Hardy, Littlewood and Pólya (1952), Inequalities, 2nd ed., section 2.24).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

import sympy as sp
from flint import fmpq

from lawdsl.law.text import text
from lawdsl.proof.box import Box, SymbolRange
from lawdsl.proof.rules.orderings import Orthant, Polynomial, context, sign_on
from lawdsl.proof.signs.interface import Signs
from lawdsl.proof.signs.sign import Sign, multiply

MAX_SHARE_RULE_DEPTH = 2  # nesting of rules down to which shares are tried first
MAX_GENERATORS = 7  # of one sum; more variables than can be ordered help only where all terms agree
MAX_POLYNOMIAL_OPERATIONS = 150  # operations of one sum
MAX_GENERATOR_DEGREE = 16  # in one part
MAX_POLYNOMIAL_TERMS = 300  # of a polynomial
MAX_SIGNED_GENERATORS = 3  # parts that may have either sign


class _NotPolynomial(Exception):
    """The expression is not rational in few generators, or it is too large."""


@dataclass(frozen=True)
class _OrthantForm:
    """A generator as a fraction of polynomials on the orthant: above/below with below > 0.

    `group`: generators with the same number share their denominator: shares that sum to 1.
    """

    above: Polynomial
    below: Polynomial
    group: int


@dataclass
class _Generators:
    """The generators of a sum.

    Attributes:
        signs: the signs of the box.
        roots: generator -> the least common denominator n of its exponents; its variable is the
            n-th root.
    """

    signs: Signs
    roots: dict[sp.Expr, int] = field(default_factory=dict)

    def collect(self, e: sp.Expr) -> None:
        """Find the generators of an expression.

        Raises:
            _NotPolynomial: an exponent is not rational, or there are too many generators.
        """
        if e.is_Add or e.is_Mul or (e.is_Pow and e.exp.is_Integer and e.base.is_Add):
            for part in e.args[:1] if e.is_Pow else e.args:
                self.collect(part)
            return
        for part, exponent in self.split(e):
            self.roots[part] = math.lcm(self.roots.get(part, 1), int(exponent.q))
            if len(self.roots) > MAX_GENERATORS:
                raise _NotPolynomial

    def split(self, e: sp.Expr) -> Iterator[tuple[sp.Expr, sp.Rational]]:
        """A factor as generators and their rational powers: x^(alpha + 2) as x^alpha and x^2."""
        if e.is_Rational:
            return
        base, exponent = (e.base, e.exp) if e.is_Pow else (e, sp.S.One)
        if isinstance(e, sp.exp):
            base, exponent = sp.E, e.args[0]
        for term in sp.Add.make_args(exponent):
            number, rest = term.as_coeff_Mul()
            part = sp.Pow(base, rest)
            if not number.is_Rational or part.is_Rational:
                raise _NotPolynomial
            if (not number.is_Integer or rest != 1) and self.signs.sign(base) != Sign.POSITIVE:
                yield sp.Pow(base, term), sp.S.One
            else:
                yield part, number


def by_successive_differences(signs: Signs, e: sp.Expr) -> Sign | None:
    """e = p/q in its generators has the sign of p times that of q, each by its factors.

    For a factor f: f(x) >= 0 for all x >= 0 if no coefficient is negative after x(i) = v(i) + … +
    v(n) in every order of the variables (Yao (2009); see `orderings`).
    """
    if e.count_ops() > MAX_POLYNOMIAL_OPERATIONS:
        return None
    try:
        return _RationalForm(signs, e).sign()
    except _NotPolynomial:
        return None


def by_simplex_shares(signs: Signs, e: sp.Expr) -> Sign | None:
    """The sign by `by_successive_differences` for shares x_i >= 0 with Σ x_i = 1, homogenized by
    x_i/Σ x_j.

    Tried first, because a box overestimates the range of shares.
    """
    if signs.displacing or signs.depth > MAX_SHARE_RULE_DEPTH or not shares_of(signs.box, e):
        return None
    return by_successive_differences(signs, e)


class _RationalForm:
    """One sum as a fraction of polynomials in its generators."""

    def __init__(self, signs: Signs, e: sp.Expr) -> None:
        self.signs = signs
        self.e, self.groups = (e, []) if signs.displacing else _with_shares(signs, e)
        self.generators = _Generators(signs)
        self.generators.collect(self.e)
        for group in self.groups:
            for share in group:
                self.generators.roots.setdefault(share, 1)
        self.names = sorted(self.generators.roots, key=str)
        if not self.names or len(self.names) > MAX_GENERATORS:
            raise _NotPolynomial
        if not all(signs.sign(part).within(Sign.REAL) for part in self.names):
            raise _NotPolynomial  # it may have no value
        self.ring = context(len(self.names))
        self.number = {part: i for i, part in enumerate(self.names)}

    def sign(self) -> Sign | None:
        """The possible signs over all choices of sides; None where they are not restricted."""
        fraction = self._fraction(self.e)
        possible = Sign.NONE
        orders = 0
        for sides in self._sides(*fraction):
            orthant, forms = self._orthant_forms(sides)
            below, _ = self._sign_of(fraction[1], orthant, forms)
            above, cones = self._sign_of(fraction[0], orthant, forms)
            if not below.definite:
                return None
            possible |= multiply(above, below)
            orders += cones
            if Sign.REAL.within(possible):
                return None
        for part in self.names:
            for s in part.free_symbols:
                self.signs.use(s)
        if self.e in self.signs.explained or orders:
            self._add_note(orders)
        return possible

    def _add_note(self, orders: int) -> None:
        formulas = [text(part.xreplace(self.signs.box.meaning)) for part in self.names]
        reason = "no term has the other sign"
        if orders:
            reason = f"in each of {orders} orders of these and 1, no coefficient of the differences"
            reason += " has the other sign"
        self.signs.notes.append(f"a polynomial in {', '.join(formulas)}: {reason}")

    # From an expression to a polynomial

    def _fraction(self, e: sp.Expr) -> tuple[Polynomial, Polynomial]:
        one = self.ring.constant(1)
        if e.is_Rational:
            return self.ring.constant(fmpq(int(e.p), int(e.q))), one
        if e.is_Add:
            above, below = self.ring.constant(0), one
            for term in e.args:
                a, b = self._fraction(term)
                common = below.gcd(b)
                above = above * (b / common) + a * (below / common)
                below = below * (b / common)
                _check_size(above, below)
            return above, below
        if e.is_Mul:
            above, below = one, one
            for factor in e.args:
                a, b = self._fraction(factor)
                above, below = above * a, below * b
                _check_size(above, below)
            return above, below
        if e.is_Pow and e.exp.is_Integer and e.base.is_Add:
            a, b = self._fraction(e.base)
            power = int(e.exp)
            if abs(power) > MAX_GENERATOR_DEGREE or len(a) ** abs(power) > MAX_POLYNOMIAL_TERMS**2:
                raise _NotPolynomial
            return (a**power, b**power) if power > 0 else (b**-power, a**-power)
        above, below = one, one
        for part, exponent in self.generators.split(e):
            power = int(exponent * self.generators.roots[part])
            if abs(power) > MAX_GENERATOR_DEGREE:
                raise _NotPolynomial
            gen = self.ring.gens()[self.number[part]]
            above, below = (
                (above * gen**power, below) if power > 0 else (above, below * gen**-power)
            )
        return above, below

    # From a polynomial in generators to one on an orthant

    def _sides(self, above: Polynomial, below: Polynomial) -> Iterator[dict[sp.Expr, int]]:
        """The choices of a side of 0 for generators of unknown sign; one where only even powers of
        them appear in numerator and denominator."""
        degrees = [*above.monoms(), *below.monoms()]
        both = []
        for part, i in self.number.items():
            if self.signs.sign(part).within(Sign.NONNEGATIVE) or self._ends(part) is not None:
                continue
            if self.signs.sign(part).within(Sign.NONPOSITIVE) or self._group(part) is not None:
                continue
            odd = any(int(m[i]) % 2 for m in degrees)
            both.append((part, (1, -1) if odd else (1,)))
        if len(both) > MAX_SIGNED_GENERATORS:
            raise _NotPolynomial
        for chosen in product(*(sides for _, sides in both)):
            yield {part: side for (part, _), side in zip(both, chosen, strict=True)}

    def _ends(self, part: sp.Expr) -> tuple[fmpq | None, fmpq | None] | None:
        """The range of a symbol, if it has an end that is a number other than 0."""
        if (
            not part.is_Symbol
            or self.generators.roots[part] != 1
            or part in self.signs.box.settings
        ):
            return None
        domain = self.signs.box.range(part)
        ends = [end.value if end is not None else None for end in (domain.lower, domain.upper)]
        if not all(value is None or value.is_Rational for value in ends) or not any(ends):
            return None
        self.signs.use(part)
        low, high = (None if x is None else fmpq(int(x.p), int(x.q)) for x in ends)
        return low, high

    def _group(self, part: sp.Expr) -> int | None:
        numbers = [k for k, group in enumerate(self.groups) if part in group]
        return numbers[0] if numbers else None

    def _orthant_forms(
        self, sides: Mapping[sp.Expr, int]
    ) -> tuple[Orthant, dict[sp.Expr, _OrthantForm]]:
        size = len(self.names) + sum(
            ends is not None and None not in ends for ends in map(self._ends, self.names)
        )
        ring = context(size)
        gens = list(ring.gens())
        one, spare = ring.constant(1), len(self.names)
        positive: set[int] = set()
        groups = [frozenset(self.number[share] for share in group) for group in self.groups]
        forms: dict[sp.Expr, _OrthantForm] = {}
        for part, i in self.number.items():
            x, sign, ends = gens[i], self.signs.sign(part), self._ends(part)
            own_group, group = len(self.groups) + i, self._group(part)
            if group is not None:
                total = sum((gens[k] for k in groups[group]), start=ring.constant(0))
                forms[part] = _OrthantForm(x, total, group)
            elif ends is not None:
                low, high = ends
                open_low, open_high = _open_ends(self.signs.box.range(part))
                if low is not None and high is not None:  # (low·y + high·x)/(x + y)
                    y = gens[spare]
                    forms[part] = _OrthantForm(low * y + high * x, x + y, own_group)
                    groups.append(frozenset({i, spare}))
                    positive |= ({i} if open_low else set()) | ({spare} if open_high else set())
                    spare += 1
                else:
                    positive |= {i} if open_low or open_high else set()
                    forms[part] = _OrthantForm(
                        low + x if low is not None else high - x, one, own_group
                    )
            else:
                side = sides.get(part, -1 if sign.within(Sign.NONPOSITIVE) else 1)
                positive |= {i} if sign.definite else set()
                forms[part] = _OrthantForm(side * x, one, own_group)
        return Orthant(size, frozenset(positive), tuple(groups)), forms

    def _sign_of(
        self, p: Polynomial, orthant: Orthant, forms: Mapping[sp.Expr, _OrthantForm]
    ) -> tuple[Sign, int]:
        """The sign of a polynomial in the generators by its factors, and the number of orders."""
        substituted = self._substituted(p, orthant, forms)
        if substituted.is_zero():
            return Sign.ZERO, 0
        number, factors = substituted.factor()
        product_sign = Sign.POSITIVE if number > 0 else Sign.NEGATIVE
        total = 0
        for factor, power in factors:
            sign, orders = sign_on(*_without_unused(orthant, factor))
            total += orders
            if power % 2 == 0:
                sign = Sign.POSITIVE if sign.definite else Sign.NONNEGATIVE
            product_sign = multiply(product_sign, sign)
        return product_sign, total

    def _substituted(
        self, p: Polynomial, orthant: Orthant, forms: Mapping[sp.Expr, _OrthantForm]
    ) -> Polynomial:
        """The polynomial with its generators substituted, times a power of each denominator."""
        degree: dict[int, int] = {}
        terms = [(tuple(map(int, m)), c) for m, c in p.terms()]
        for m, _ in terms:
            powers: dict[int, int] = {}
            for part, i in self.number.items():
                powers[forms[part].group] = powers.get(forms[part].group, 0) + m[i]
            for group, power in powers.items():
                degree[group] = max(degree.get(group, 0), power)
        total = context(orthant.size).constant(0)
        for m, c in terms:
            missing, term = dict(degree), context(orthant.size).constant(c)
            for part, i in self.number.items():
                term *= forms[part].above ** m[i]
                missing[forms[part].group] -= m[i]
            for group, below in {
                forms[part].group: forms[part].below for part in self.number
            }.items():
                term *= below ** missing[group]
            total += term
            _check_size(total)
        return total


def _without_unused(orthant: Orthant, p: Polynomial) -> tuple[Orthant, Polynomial]:
    """The orthant and the polynomial without the variables that do not occur in it.

    A group that loses a variable is dropped: the others may then all be 0. A variable of even
    powers only is replaced by its square.
    """
    used = [i for i, degree in enumerate(p.degrees()) if degree]
    position = {i: k for k, i in enumerate(used)}
    even = [i for i in used if all(int(m[i]) % 2 == 0 for m in p.monoms())]
    terms = {tuple(int(m[i]) // (2 if i in even else 1) for i in used): c for m, c in p.terms()}
    positive = frozenset(position[i] for i in orthant.positive if i in position)
    groups = tuple(
        frozenset(position[i] for i in group)
        for group in orthant.groups
        if group <= position.keys()
    )
    return Orthant(len(used), positive, groups), context(len(used)).from_dict(terms)


def _open_ends(domain: SymbolRange) -> tuple[bool, bool]:
    """Whether there is a lower end, and an upper one, that the range does not contain."""
    low, high = (end is not None and not end.closed for end in (domain.lower, domain.upper))
    return low, high


def _check_size(*polynomials: Polynomial) -> None:
    for p in polynomials:
        if len(p) > MAX_POLYNOMIAL_TERMS or max(p.degrees(), default=0) > 3 * MAX_GENERATOR_DEGREE:
            raise _NotPolynomial


def shares_of(box: Box, e: sp.Expr) -> list[tuple[sp.Symbol, ...]]:
    """The shares that sum to 1, for each simplex with quantities in an expression.

    Args:
        box: the domain.
        e: the expression.
    """
    groups = []
    for last, formula in box.lets.items():
        others = tuple(sorted(formula.free_symbols, key=str))
        inner = {s for t in others for s in box.slack.get(t, t).free_symbols} | {last}
        if last in box.fresh or not others or not e.free_symbols & inner:
            continue
        sums = sp.expand(formula - 1 + sp.Add(*others)) == 0
        if sums and all(_not_negative(box, s) for s in (*others, last)):
            groups.append((*others, last))
    return groups


def _with_shares(signs: Signs, e: sp.Expr) -> tuple[sp.Expr, list[tuple[sp.Symbol, ...]]]:
    """The expression in the shares that the law declares, and these shares, simplex by simplex.

    In a box all but one are quantities of their own, and the last is a let: 1 minus the others. A
    share may also be written there as a fraction of what the others leave.
    """
    box = signs.box
    groups = shares_of(box, e)
    shares = [s for group in groups for s in group]
    if len(set(shares)) < len(shares):
        return e, []
    meanings = {s: box.meaning[s] for s in e.free_symbols & set(box.meaning)}
    meanings = {s: meaning for s, meaning in meanings.items() if meaning.free_symbols & set(shares)}
    if meanings:
        e = sp.expand(e.xreplace(meanings))
    return e, groups


def _not_negative(box: Box, symbol: sp.Symbol) -> bool:
    """Whether a domain says of a share that it is not negative."""
    stated = [r.positive for r in box.relations.get(symbol, ())]
    return any(p in (symbol, box.lets.get(symbol)) for p in stated)
