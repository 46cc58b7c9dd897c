"""Polynomial on the nonnegative orthant -> its sign, one order of the variables at a time.

Successive difference substitution (L. Yang's method; Yao (2009), "Successive difference substitution
based on column stochastic matrix and mechanical decision for positive semi-definite forms",
arXiv:0904.4030): where x1 >= x2 >= … >= xn >= 0, write xn = vn and x(i) = x(i+1) + vi with v >= 0.
If no coefficient in v is negative in any of the n! orders, p(x) >= 0 for all x >= 0. In orders where
some are negative, the substitution is repeated on the v.

All of it is exact arithmetic on polynomials with rational coefficients.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any

from flint import Ordering, fmpq, fmpq_mpoly_ctx

from lawdsl.proof.signs.sign import Sign

MAX_ORDERED_VARIABLES = 5  # there are n! orders
MAX_CONES = 800  # orders examined for one polynomial, repeated ones included
MAX_CONE_TERMS = 400  # of a polynomial in one order

Polynomial = Any  # fmpq_mpoly, of which python-flint has no annotations
Rows = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Orthant:
    """Points x >= 0 in `size` dimensions.

    Attributes:
        size: the number of variables.
        positive: the variables that are not 0.
        groups: sets of variables that are not all 0 at once.
    """

    size: int
    positive: frozenset[int] = frozenset()
    groups: tuple[frozenset[int], ...] = ()

    def meets(self, rows: Rows, face: Sequence[int]) -> bool:
        """Whether some point rows·v is in the orthant, with v >= 0 and v = 0 outside a face.

        Args:
            rows: the substitution x = rows·v, one row for each x.
            face: the indices of the v that may be positive.
        """
        occupied = {i for i, row in enumerate(rows) if any(row[k] for k in face)}
        return self.positive <= occupied and all(group & occupied for group in self.groups)


def context(size: int) -> Any:
    """The ring of rational polynomials in v0, …, v(size - 1)."""
    return fmpq_mpoly_ctx.get(tuple(f"v{i}" for i in range(size)), Ordering.degrevlex)


def sign_on(orthant: Orthant, p: Polynomial) -> tuple[Sign, int]:
    """The sign of a polynomial on an orthant, and how many orders were examined (0: none).

    p >= 0 if no coefficient is negative after x(i) = v(i) + … + v(n) in every order of the
    variables. POSITIVE, NONNEGATIVE, their opposites and ZERO are certain; REAL says nothing.

    Args:
        orthant: the orthant.
        p: the polynomial.
    """
    if p.is_zero():
        return Sign.ZERO, 0
    for sense in (1, -1):
        sign, cones = _least_sign(orthant, p * sense)
        if sign != Sign.REAL:
            return (sign if sense == 1 else -sign), cones
    return Sign.REAL, 0


def _least_sign(orthant: Orthant, p: Polynomial) -> tuple[Sign, int]:
    size = orthant.size
    unit = tuple(tuple(int(i == k) for k in range(size)) for i in range(size))
    if _is_nonnegative(p):
        return _strictly(orthant, unit, p), 0
    # negative at a small integer point: no order can succeed
    if any(_value_at(p, point) < 0 for point in product((0, 1, 2), repeat=size) if any(point)):
        return Sign.REAL, 0
    degrees = {sum(exponents) for exponents in p.monoms()}
    if len(degrees) > 1:  # homogenized: one more variable, which is 1
        p, unit = _homogeneous(p, max(degrees)), (*(row + (0,) for row in unit), (0,) * size + (1,))
        orthant = Orthant(size + 1, orthant.positive | {size}, orthant.groups)
    return _in_orders(orthant, unit, p) if orthant.size <= MAX_ORDERED_VARIABLES else (Sign.REAL, 0)


def _in_orders(orthant: Orthant, unit: Rows, p: Polynomial) -> tuple[Sign, int]:
    waiting, sign, cones = [(unit, p)], Sign.POSITIVE, 0
    while waiting:
        # breadth first: an order with a negative value is met before any is refined far
        rows, q = waiting.pop(0)
        for cone_rows, difference_form in _ordered(rows, q):
            cones += 1
            if cones > MAX_CONES or len(difference_form) > MAX_CONE_TERMS:
                return Sign.REAL, cones
            if _is_nonnegative(difference_form):
                sign |= _strictly(orthant, cone_rows, difference_form)
            elif any(c < 0 and sum(map(bool, m)) == 1 for m, c in difference_form.terms()):
                return Sign.REAL, cones  # negative where all but one of v are 0
            else:
                waiting.append((cone_rows, difference_form))
    return sign, cones


def _ordered(rows: Rows, p: Polynomial) -> Iterator[tuple[Rows, Polynomial]]:
    """The polynomial with its variables in each order, as differences."""
    ring = p.context()
    gens = ring.gens()
    size = len(gens)
    for order in permutations(range(size)):
        ranks = [0] * size  # of each variable in the order, the greatest first
        for rank, i in enumerate(order):
            ranks[i] = rank
        sums = [sum(gens[rank:], start=ring.constant(0)) for rank in ranks]
        cone_rows = tuple(
            tuple(sum(row[i] for i in range(size) if ranks[i] <= k) for k in range(size))
            for row in rows
        )
        yield cone_rows, p.compose(*sums, ctx=ring)


def _is_nonnegative(p: Polynomial) -> bool:
    """Whether no coefficient is negative."""
    return all(c >= 0 for c in p.coeffs())


def _strictly(orthant: Orthant, rows: Rows, p: Polynomial) -> Sign:
    """POSITIVE, if on each face that meets the orthant there is a term that is not 0 on it."""
    supports = [{k for k, power in enumerate(m) if power} for m in p.monoms()]
    size = len(rows[0])
    for chosen in product((False, True), repeat=size):
        face = [k for k in range(size) if chosen[k]]
        if orthant.meets(rows, face) and not any(s <= set(face) for s in supports):
            return Sign.NONNEGATIVE
    return Sign.POSITIVE


def _value_at(p: Polynomial, point: Sequence[int]) -> fmpq:
    return p(*map(fmpq, point))


def _homogeneous(p: Polynomial, degree: int) -> Polynomial:
    ring = context(len(p.context().gens()) + 1)
    return ring.from_dict({(*map(int, m), degree - int(sum(m))): c for m, c in p.terms()})
