"""The inequality of arithmetic and geometric means: several good terms pay for a bad one together.

With weights w that add up to 1, Σ g >= Π (g/w)^w. Where the weights are chosen so that the product
has the powers of the bad term, the ratio of the two does not change with any symbol, or less.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import sympy as sp

from lawdsl.proof.signs.monomials import log_slope, merged
from lawdsl.proof.signs.sign import Sign

if TYPE_CHECKING:
    from lawdsl.proof.signs.calculus import Signs

TOGETHER = {2: 6, 3: 4}  # so many good terms pay together, where there are so many at most


def means(signs: Signs, good: list[sp.Expr], bad: sp.Expr) -> list[tuple[tuple[int, ...], sp.Expr]]:
    """Ratios of a bad term to the geometric means of good ones, and which ones these are.

    Args:
        signs: of the box.
        good: positive terms.
        bad: a positive term.
    """
    found = []
    slopes = _slopes(signs, [*good, bad])
    for size, most in TOGETHER.items():
        if len(good) > most:
            continue
        for chosen in combinations(range(len(good)), size):
            weights = _weights(signs, [slopes[i] for i in chosen], slopes[-1])
            if weights is None:
                continue
            mean = sp.Mul(*((good[i] / w) ** w for i, w in zip(chosen, weights, strict=True)))
            found.append((chosen, merged(signs, bad / mean)))
    return found


def _slopes(signs: Signs, terms: list[sp.Expr]) -> list[dict[sp.Symbol, sp.Expr]]:
    """x·∂log(term)/∂x for each term and symbol, where that does not change with the symbols."""
    symbols = signs.movable(sp.Add(*terms))
    found = []
    for term in terms:
        own = {}
        for s in symbols:
            slope = sp.expand_mul(log_slope(signs, term, s))
            if s not in slope.free_symbols:
                own[s] = slope
        found.append(own)
    return found


def _weights(
    signs: Signs, good: list[dict[sp.Symbol, sp.Expr]], bad: dict[sp.Symbol, sp.Expr]
) -> list[sp.Expr] | None:
    """The weights that make the mean change with the symbols as the bad term does."""
    unknown = sp.symbols(f"w:{len(good)}")
    equations = [sp.Add(*unknown) - 1]
    for s, slope in bad.items():
        if all(s in own for own in good):
            total = sp.Add(*(w * own[s] for w, own in zip(unknown, good, strict=True)))
            equations.append(total - slope)
    equations = [e for e in equations if e != 0]
    solutions = [] if len(equations) < len(unknown) else list(sp.linsolve(equations, unknown))
    if not solutions or any(w.free_symbols & set(unknown) for w in solutions[0]):
        return None
    weights = list(solutions[0])
    return weights if all(signs.sign(w) == Sign.POSITIVE for w in weights) else None
