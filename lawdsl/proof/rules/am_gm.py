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

MAX_TERMS_BY_MEAN_SIZE = {
    2: 6,
    3: 4,
}  # so many good terms pay together, where there are so many at most


def am_gm(
    signs: Signs, positive: list[sp.Expr], target: sp.Expr
) -> list[tuple[tuple[int, ...], sp.Expr]]:
    """Ratios of a bad term to the geometric means of good ones, and which ones these are.

    Args:
        signs: of the box.
        positive: positive terms.
        target: a positive term.
    """
    ratios = []
    slopes = _logarithmic_slopes(signs, [*positive, target])
    for size, max_terms in MAX_TERMS_BY_MEAN_SIZE.items():
        if len(positive) > max_terms:
            continue
        for indices in combinations(range(len(positive)), size):
            weights = _weights(signs, [slopes[i] for i in indices], slopes[-1])
            if weights is None:
                continue
            mean = sp.Mul(*((positive[i] / w) ** w for i, w in zip(indices, weights, strict=True)))
            ratios.append((indices, merged(signs, target / mean)))
    return ratios


def _logarithmic_slopes(signs: Signs, terms: list[sp.Expr]) -> list[dict[sp.Symbol, sp.Expr]]:
    """x·∂log(term)/∂x for each term and symbol, where that does not change with the symbols."""
    symbols = signs.movable(sp.Add(*terms))
    slopes = []
    for term in terms:
        by_symbol = {}
        for s in symbols:
            slope = sp.expand_mul(log_slope(signs, term, s))
            if s not in slope.free_symbols:
                by_symbol[s] = slope
        slopes.append(by_symbol)
    return slopes


def _weights(
    signs: Signs, positive: list[dict[sp.Symbol, sp.Expr]], target: dict[sp.Symbol, sp.Expr]
) -> list[sp.Expr] | None:
    """The weights that make the mean change with the symbols as the bad term does."""
    unknown = sp.symbols(f"w:{len(positive)}")
    equations = [sp.Add(*unknown) - 1]
    for s, slope in target.items():
        if all(s in slopes for slopes in positive):
            total = sp.Add(*(w * slopes[s] for w, slopes in zip(unknown, positive, strict=True)))
            equations.append(total - slope)
    equations = [e for e in equations if e != 0]
    solutions = [] if len(equations) < len(unknown) else list(sp.linsolve(equations, unknown))
    if not solutions or any(w.free_symbols & set(unknown) for w in solutions[0]):
        return None
    weights = list(solutions[0])
    return weights if all(signs.sign(w) == Sign.POSITIVE for w in weights) else None
