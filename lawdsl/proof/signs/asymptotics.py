"""The leading term of an expression as one symbol goes to infinity, or from above to 0.

e ~ c·x^p·log(x)^l: the limit of e/(x^p·log(x)^l) is c, which is finite and not 0, all other symbols
being fixed (Hardy (1910), Orders of Infinity). p = oo and p = -oo stand for growth and decay beyond
every power: exp(x), exp(-x).
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from lawdsl.law.algebra import derivative, merge_powers
from lawdsl.law.functions import LIKE_ITS_ARGUMENT, ROWS, limit_at
from lawdsl.proof.signs.interface import Signs
from lawdsl.proof.signs.sign import Sign

MAX_DERIVATIVE_DEPTH = 2  # nested uses of l'Hôpital's rule, each of which may double a sum


@dataclass(frozen=True)
class LeadingTerm:
    """c·x^p·l^q, where l is log(x), or log(1/x) for x -> 0; p may be oo or -oo."""

    coefficient: sp.Expr
    power: sp.Expr = sp.S.Zero
    logs: sp.Expr = sp.S.Zero


def limit_of(signs: Signs, e: sp.Expr, x: sp.Symbol, *, at_zero: bool = False) -> sp.Expr | None:
    """The limit of the leading term: 0, a finite expression, oo or -oo; None where not known.

    Args:
        signs: the signs on the box.
        e: the expression.
        x: the symbol.
        at_zero: whether x goes to 0 instead of infinity.
    """
    fixed, varying = e.as_independent(x, as_Add=True)
    if fixed != 0 and varying != 0:
        remainder = limit_of(signs, varying, x, at_zero=at_zero) if signs.finite(fixed) else None
        return (
            None if remainder is None else remainder if remainder.is_infinite else fixed + remainder
        )
    terms = _LeadingTerms(signs, x, -1 if at_zero else 1)
    leading = terms.of(e)
    if leading is None:
        return None
    tendency = terms.tendency(leading)
    if tendency is None:
        return None
    if tendency == 0:
        return leading.coefficient
    if tendency < 0:
        return sp.S.Zero
    sign = signs.sign(leading.coefficient)
    return sp.oo if sign == Sign.POSITIVE else -sp.oo if sign == Sign.NEGATIVE else None


class _LeadingTerms:
    """Leading terms in one symbol; `side` is 1 for x -> oo and -1 for x -> 0."""

    def __init__(self, signs: Signs, x: sp.Symbol, side: int) -> None:
        self.signs, self.x, self.side = signs, x, side
        self.depth = 0  # nested derivatives

    def of(self, e: sp.Expr) -> LeadingTerm | None:
        """The leading term of an expression; None where it is not known."""
        if self.x not in e.free_symbols:
            return LeadingTerm(e) if self.signs.sign(e).definite else None
        if e == self.x:
            return LeadingTerm(sp.S.One, sp.S.One)
        if e.is_Add:
            return self._sum(e)
        if e.is_Mul:
            return self._product(e)
        if e.is_Pow:
            return self._power(e)
        if isinstance(e, sp.exp):
            return self._exponential(e.args[0])
        if isinstance(e, sp.log):
            return self._logarithm(e.args[0])
        return self._continuous(e)

    def tendency(self, g: LeadingTerm) -> int | None:
        """1 where |term| -> oo, 0 where it is constant, -1 where it vanishes; None: not known."""
        power = self._direction(g.power)
        if power == 0:
            return self._direction(g.logs)
        return -power if power is not None and self.side < 0 else power

    def _direction(self, exponent: sp.Expr) -> int | None:
        if exponent.is_infinite:
            return 1 if exponent == sp.oo else -1
        sign = self.signs.sign(exponent)
        return {Sign.POSITIVE: 1, Sign.ZERO: 0, Sign.NEGATIVE: -1}.get(sign)

    def _sum(self, e: sp.Expr) -> LeadingTerm | None:
        """The dominant term; several of the same order add up, unless they may cancel."""
        leading: LeadingTerm | None = None
        for term in e.args:
            candidate = self.of(term)
            if candidate is None:
                return None
            if leading is None:
                leading = candidate
                continue
            comparison = self.tendency(_ratio(candidate, leading))
            if comparison is None:
                return None
            if comparison == 1:
                leading = candidate
            elif comparison == 0:
                # exponentials are known by their direction only, so that two of them may cancel
                if candidate.power.is_infinite:
                    return None
                total = merge_powers(leading.coefficient + candidate.coefficient)
                leading = LeadingTerm(total, leading.power, leading.logs)
        if leading is None or self.signs.sign(leading.coefficient).definite:
            return leading
        if not leading.coefficient.is_zero:
            return None
        if self.tendency(LeadingTerm(sp.S.One, leading.power, leading.logs)) == 0:
            return self._difference(e)
        return self._cancelling(e, leading)

    def _cancelling(self, e: sp.Expr, leading: LeadingTerm) -> LeadingTerm | None:
        """Leading terms that cancel: sqrt(x^2 + x) - x = x·(sqrt(1 + 1/x) - 1).

        With the leading power factored out, the remainder goes to 0 and follows from its
        derivative. The power read off the form may be less than that of the terms: 0 for
        x/(sqrt(x^2 + x) - x) ~ 2·x. Then the remainder need not go to 0, and no leading term is
        known.
        """
        parts = [self._leading(term) for term in e.args]
        powers = [part[0] for part in parts if part is not None]
        if len(powers) < len(e.args):
            return None
        greatest = max(powers, key=lambda p: self.side * p)
        if self.tendency(LeadingTerm(sp.S.One, greatest - leading.power, -leading.logs)) not in (
            0,
            1,
        ):
            return None
        scaled_sum = sp.Add(*(part[1] * self.x ** (part[0] - greatest) for part in parts if part))
        remainder = self._difference(merge_powers(scaled_sum)) if scaled_sum.is_Add else None
        if remainder is None:
            return None
        return LeadingTerm(remainder.coefficient, remainder.power + greatest, remainder.logs)

    def _leading(self, e: sp.Expr) -> tuple[sp.Rational, sp.Expr] | None:
        """(p, r) with e = x^p·r; p is factored out of sums under powers, too."""
        if self.x not in e.free_symbols:
            return sp.S.Zero, e
        if e == self.x:
            return sp.S.One, sp.S.One
        if not (e.is_Mul or e.is_Add or e.is_Pow and e.exp.is_Rational):
            return None
        parts = [self._leading(part) for part in ((e.base,) if e.is_Pow else e.args)]
        if any(part is None for part in parts):
            return None
        factored = [part for part in parts if part is not None]
        if e.is_Mul:
            return sp.Add(*(p for p, _ in factored)), sp.Mul(
                *(cofactor for _, cofactor in factored)
            )
        if e.is_Pow:  # (x^p·r)^q = x^(p·q)·r^q for x > 0
            ((p, cofactor),) = factored
            return p * e.exp, cofactor**e.exp
        greatest = max((p for p, _ in factored), key=lambda p: self.side * p)
        return greatest, sp.Add(*(cofactor * self.x ** (p - greatest) for p, cofactor in factored))

    def _difference(self, e: sp.Expr) -> LeadingTerm | None:
        """If e -> 0 and e' ~ c·x^p, then e ~ c·x^(p + 1)/(p + 1) (l'Hôpital's rule)."""
        if self.depth >= MAX_DERIVATIVE_DEPTH:
            return None
        self.depth += 1
        slope = self.of(derivative(e, self.x))
        self.depth -= 1
        if slope is None or slope.power.is_infinite or not slope.logs.is_zero:
            return None
        power = slope.power + 1
        # e -> 0 requires that x^(p + 1) vanishes
        if self._direction(power) != -self.side:
            return None
        return LeadingTerm(slope.coefficient / power, power)

    def _product(self, e: sp.Expr) -> LeadingTerm | None:
        total = LeadingTerm(sp.S.One)
        for factor in e.args:
            leading = self.of(factor)
            if leading is None:
                return None
            power = total.power + leading.power
            if power is sp.nan:
                return None
            total = LeadingTerm(
                total.coefficient * leading.coefficient, power, total.logs + leading.logs
            )
        return total

    def _power(self, e: sp.Expr) -> LeadingTerm | None:
        base, exponent = e.args
        if self.x in exponent.free_symbols:
            if self.signs.sign(base) != Sign.POSITIVE:
                return None
            return self._exponential(exponent * sp.log(base))
        leading = self.of(base)
        if leading is None:
            return None
        positive = self.signs.sign(leading.coefficient) == Sign.POSITIVE
        # (-c·x)^p has real values for whole p only
        if not positive and not exponent.is_Integer:
            return None
        if leading.power.is_infinite:
            sign = self.signs.sign(exponent)
            if not sign.definite:
                return None
            power = leading.power if sign == Sign.POSITIVE else -leading.power
            return LeadingTerm(sp.S.One if positive else leading.coefficient**exponent, power)
        power = sp.expand_mul(leading.power * exponent)
        return LeadingTerm(
            leading.coefficient**exponent, power, sp.expand_mul(leading.logs * exponent)
        )

    def _exponential(self, inner: sp.Expr) -> LeadingTerm | None:
        """exp(u) exceeds every power where u grows like a power; exp(lim u) where u has a limit."""
        constant, varying = sp.expand_mul(inner).as_independent(self.x, as_Add=True)
        leading = self.of(varying)
        if leading is None:
            return None
        tendency = self.tendency(leading)
        if tendency is None:
            return None
        if tendency <= 0:
            limit = leading.coefficient if tendency == 0 else sp.S.Zero
            return LeadingTerm(sp.exp(constant + limit))
        power = self._direction(leading.power)
        sign = self.signs.sign(leading.coefficient)
        if not power or not sign.definite:
            return None  # a power of the logarithm alone: slower than every power
        return LeadingTerm(sp.S.One, self.side * (sp.oo if sign == Sign.POSITIVE else -sp.oo))

    def _logarithm(self, inner: sp.Expr) -> LeadingTerm | None:
        """log(c·x^p) ~ p·log(x); log(u) ~ u - 1 for u -> 1."""
        leading = self.of(inner)
        if leading is None:
            return None
        tendency = self.tendency(leading)
        if tendency == 0:
            value = sp.log(leading.coefficient)
            if self.signs.sign(value).definite:
                return LeadingTerm(value)
            distance = self.of(inner - 1) if leading.coefficient == 1 else None
            return distance if distance is not None and self.tendency(distance) == -1 else None
        if leading.power.is_infinite or not self._direction(leading.power):
            return None
        return LeadingTerm(self.side * leading.power, sp.S.Zero, sp.S.One)

    def _continuous(self, e: sp.Expr) -> LeadingTerm | None:
        """f(u) ~ f(lim u) by continuity, u itself where f'(0) = 1, or the end of the range of f."""
        row = ROWS.get(type(e))
        inner = self.of(e.args[0]) if row is not None else None
        tendency = None if inner is None else self.tendency(inner)
        if inner is None or row is None or tendency is None or row.steps is not None:
            return None
        if tendency == -1 and isinstance(e, LIKE_ITS_ARGUMENT):
            return inner
        if tendency == 1:
            side = self.signs.sign(inner.coefficient)
            if not side.definite or not row.monotone:
                return None
            value = limit_at(type(e), 1 if side == Sign.POSITIVE else -1)
        else:
            value = e.func(inner.coefficient if tendency == 0 else sp.S.Zero)
        if value.is_infinite or not self.signs.sign(value).definite:
            return None
        return LeadingTerm(value)


def _ratio(one: LeadingTerm, other: LeadingTerm) -> LeadingTerm:
    """The order of one/other; that of two terms beyond every power is not known."""
    if one.power.is_infinite or other.power.is_infinite:
        power = sp.nan if one.power == other.power else one.power - other.power
        return LeadingTerm(
            sp.S.One, power if power is not sp.nan else sp.Dummy("unknown", real=True)
        )
    return LeadingTerm(sp.S.One, sp.expand_mul(one.power - other.power), one.logs - other.logs)
