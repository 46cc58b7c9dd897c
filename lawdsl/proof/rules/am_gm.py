"""Inequality of arithmetic and geometric means: several positive terms dominate a negative one.

For g_i > 0 and weights w_i > 0 with Σ w_i = 1:  Σ g_i >= Π (g_i/w_i)^w_i  (Hardy, Littlewood and
Pólya (1952), Inequalities, 2nd ed., theorem 9). The weights are chosen so that the product has the
exponents of the negative term -b; then b/Π (g_i/w_i)^w_i depends on fewer symbols, or on none.
Chandrasekaran and Shah (2016), "Relative entropy relaxations for signomial optimization", SIAM
Journal on Optimization 26, show that such certificates are complete for signomials with one
negative term.
"""

from __future__ import annotations

from itertools import combinations

import sympy as sp

from lawdsl.proof.signs.interface import Signs
from lawdsl.proof.signs.monomials import log_slope, merge_bases
from lawdsl.proof.signs.sign import Sign

# number of terms in a mean -> of how many positive terms they may be chosen: the choices are
# combinations, and each is a system of linear equations
MAX_TERMS_BY_MEAN_SIZE = {2: 6, 3: 4}


def am_gm(
    signs: Signs, positive: list[sp.Expr], target: sp.Expr
) -> list[tuple[tuple[int, ...], sp.Expr]]:
    """The ratios b/Π (g_i/w_i)^w_i of one term to geometric means, each with the indices i.

    Where such a ratio is at most 1, Σ g_i - b >= 0.

    Args:
        signs: the signs on the box.
        positive: positive terms.
        target: b, the modulus of the negative term.
    """
    ratios = []
    slopes = _logarithmic_slopes(signs, [*positive, target])
    for size, max_terms in MAX_TERMS_BY_MEAN_SIZE.items():
        # the number of choices would be too large
        if len(positive) > max_terms:
            continue
        for indices in combinations(range(len(positive)), size):
            weights = _weights(signs, [slopes[i] for i in indices], slopes[-1])
            if weights is None:
                continue
            mean = sp.Mul(*((positive[i] / w) ** w for i, w in zip(indices, weights, strict=True)))
            ratios.append((indices, merge_bases(signs, target / mean)))
    return ratios


def _logarithmic_slopes(signs: Signs, terms: list[sp.Expr]) -> list[dict[sp.Symbol, sp.Expr]]:
    """The exponents x·∂log(term)/∂x, by symbol, of each term; those that vary are left out."""
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
    """The w_i with Σ w_i = 1 and Σ w_i·slopes_i = target slopes, if unique and positive."""
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
